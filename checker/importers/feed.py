"""The bytes of a file or a pipe, looked at before it is known what they are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from typing import BinaryIO, cast

from benchlint.checker.encoding import encoding_of
from benchlint.checker.importers.found import Line

#: So much is looked at to recognise a tool, in bytes. Servers write a lot before they serve.
HEAD_BYTES = 1 << 20

#: Of a longer line the rest is dropped, in characters.
LONGEST_LINE = 1 << 20


class Feed:
    """A stream of bytes whose beginning can be looked at first."""

    def __init__(self, stream: BinaryIO) -> None:
        self.head = stream.read(HEAD_BYTES)
        self._stream = stream

    @classmethod
    def of(cls, data: bytes) -> Feed:
        """What is read already."""
        feed = cls(io.BytesIO())
        feed.head, feed._stream = data, io.BytesIO()
        return feed

    @cached_property
    def text(self) -> str:
        """The beginning, decoded; what cannot be decoded is U+FFFD."""
        encoding = encoding_of(self.head[:16])
        return self.head[encoding.mark :].decode(encoding.name, "replace")

    @property
    def is_whole(self) -> bool:
        """Whether there is no more than the beginning."""
        return len(self.head) < HEAD_BYTES

    def replay(self) -> BinaryIO:
        """The whole stream from its beginning; once."""
        return cast("BinaryIO", io.BufferedReader(_Joined(self.head, self._stream), 1 << 16))

    def lines(self) -> Iterator[Line]:
        """The lines of the whole stream, decoded, one at a time; once.

        A line ends at a line feed; a carriage return before it is dropped.
        """
        encoding = encoding_of(self.head[:16])
        replay = self.replay()
        replay.read(encoding.mark)
        reader = io.TextIOWrapper(replay, encoding.name, "replace", newline="\n")
        return _numbered(reader)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the stream they came from."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._stream = stream

    def readable(self) -> bool:
        """True: it is a stream to read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer as far as there is something, and say how far."""
        view = memoryview(cast("bytearray", buffer))
        data = self._head.read(len(view)) or self._stream.read(len(view))
        view[: len(data)] = data
        return len(data)


def _numbered(reader: io.TextIOWrapper) -> Iterator[Line]:
    number = 0
    while text := reader.readline(LONGEST_LINE):
        number += 1
        if not text.endswith("\n"):
            _drop_rest(reader)
        yield Line(number, text.rstrip("\r\n"))


def _drop_rest(reader: io.TextIOWrapper) -> None:
    while (rest := reader.readline(LONGEST_LINE)) and not rest.endswith("\n"):
        pass
