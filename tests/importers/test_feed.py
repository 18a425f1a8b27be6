"""A stream of bytes that is looked at first and then read line by line."""

from __future__ import annotations

import io
import tracemalloc
from typing import BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlint.checker.importers import feed as feeds
from benchlint.checker.importers.feed import HEAD_BYTES, LONGEST_LINE, Feed


def _lines(data: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in Feed(io.BytesIO(data)).lines()]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(1, 50))
def test_what_is_looked_at_is_read_again(data: bytes, head: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feeds, "HEAD_BYTES", head)
        assert Feed(io.BytesIO(data)).replay().read() == data


def test_lines_have_numbers_and_no_ends() -> None:
    assert _lines(b"a\r\n\nb\rc\nd") == [(1, "a"), (2, ""), (3, "b\rc"), (4, "d")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_other_encodings(encoding: str) -> None:
    text = "tok/s τ\nzwölf\n"
    assert _lines(text.encode(encoding)) == [(1, "tok/s τ"), (2, "zwölf")]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert _lines(b"a\xff\nb") == [(1, "a\ufffd"), (2, "b")]


def test_a_line_without_end_is_cut() -> None:
    (first, second) = _lines(b"x" * (LONGEST_LINE + 5) + b"\ny")
    assert (first[0], len(first[1])) == (1, LONGEST_LINE)
    assert second == (2, "y")


class _Endless(io.RawIOBase):
    """Lines of a log, made when they are asked for."""

    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        length = min(len(view), self._left)
        view[:length] = (b"slot print_timing: eval time = 12.5 ms\n" * (length // 38 + 1))[:length]
        self._left -= length
        return length


def test_memory_does_not_grow_with_the_stream() -> None:
    size = 24 * HEAD_BYTES
    feed = Feed(cast("BinaryIO", io.BufferedReader(_Endless(size))))
    tracemalloc.start()
    count = sum(1 for _ in feed.lines())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > size // 40
    assert peak < 4 * HEAD_BYTES
