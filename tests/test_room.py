"""Lines that fit a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.formats.escape import width
from benchlint.checker.formats.room import NARROWEST, Room, widths_of

texts = st.text("ab推 ", max_size=120)


def _words(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


@given(texts, st.integers(1, 60), st.integers(0, 8), st.integers(0, 4))
def test_a_paragraph_is_all_there_and_only_a_long_word_is_too_wide(
    text: str, columns: int, indent: int, further: int
) -> None:
    lines = list(Room(columns).paragraph(text, indent, further))
    assert _words(lines) == text.split()
    most = max(columns, NARROWEST + indent + further)
    assert all(width(line.rstrip()) <= most or len(line.split()) == 1 for line in lines)


def test_a_word_that_is_too_long_leaves_no_empty_line() -> None:
    assert list(Room(20).paragraph("x" * 30 + " y")) == ["x" * 30, "  y"]


def test_nothing_is_broken_where_no_width_is_known() -> None:
    room, text = Room(), "word " * 100
    assert list(room.paragraph(text, 2)) == [f"  {text}"]
    assert list(room.enumeration(["a", "b c"], 2)) == ["  a; b c"]
    assert room.takes([1_000, 1_000])
    assert list(room.row(["a", text], [1, 500])) == [f"  a  {text.rstrip()}"]


def test_an_enumeration_is_broken_between_its_items() -> None:
    items = ["old: 1 2", "new: 3 4", "a long one: " + "5 " * 12 + "6", "the end"]
    assert list(Room(24).enumeration(items, 2)) == [
        "  old: 1 2; new: 3 4; a",
        "    long one: 5 5 5 5 5",
        "    5 5 5 5 5 5 5 6;",
        "    the end",
    ]


@pytest.mark.parametrize(
    ("columns", "taken"), [(None, True), (45, True), (44, False), (60, True), (20, False)]
)
def test_a_table_is_taken_where_its_last_column_has_room(columns: int | None, taken: bool) -> None:
    assert Room(columns).takes([9, 50]) is taken


def test_a_table_is_taken_where_it_fits_whole() -> None:
    assert Room(22).takes([9, 9])
    assert not Room(21).takes([9, 9])


def test_the_last_cell_of_a_row_stays_in_its_column() -> None:
    rows = [["name", "a text that goes on for a little longer"], ["推", "other"]]
    widths = widths_of(rows)
    assert list(Room(40).row(rows[0], widths)) == [
        "  name  a text that goes on for a little",
        "        longer",
    ]
    assert list(Room(40).row(rows[1], widths)) == ["  推    other"]
