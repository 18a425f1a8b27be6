"""Tables in HTML, as README files have them between their Markdown.

What the cells of a head span is repeated, so that each column has its words; what a cell of the
body spans to the right is left empty, as in a row that is a heading, and downwards repeated.

Tags are found here and not with html.parser, whose time grows with the square of a broken text;
of a table no more is wanted than its rows, cells and what they span.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import accumulate

from benchlint.checker.importers.found import Found, Line

#: Nothing spans more, and no row is wider.
MOST_SPANNED = 60
MOST_CELLS = 61

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)(?P<attributes>[^<>]*+)>|<!--")
_SPAN = re.compile(r"\b(col|row)span\s*=\s*[\"']?(\d{1,4})\b", re.IGNORECASE)

_Grid = list[list[Found]]


@dataclass
class HtmlTable:
    """A table: the rows of its head, and the others. Rows need not have one width."""

    head: _Grid = field(default_factory=list)
    rows: _Grid = field(default_factory=list)


def html_table(lines: Sequence[Line]) -> HtmlTable:
    """The first table of these lines; tables within its cells are part of their text."""
    text = _Text(lines)
    reader = _Reader(text)
    for tag in text.tags():
        if reader.take(tag):
            break
    reader.end_cell(len(text.text))
    return _spread(reader.rows, text)


class _Text:
    """Lines as one text, in which comments are blank."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self.text = "\n".join(line.text for line in lines)
        self._starts = [0, *accumulate(len(line.text) + 1 for line in lines)]

    def tags(self) -> Iterator[re.Match[str]]:
        """The tags, without those in comments."""
        at = 0
        while match := _TAG.search(self.text, at):
            at = match.end()
            if match["name"]:
                yield match
            else:
                end = self.text.find("-->", at)
                at = len(self.text) if end < 0 else end

    def found(self, start: int, end: int) -> Found:
        """The words between two places, which are marked as far as the first line goes."""
        raw = self.text[start:end]
        value = _TAG.sub(" ", raw) if "<" in raw else raw
        value = " ".join((unescape(value) if "&" in value else value).split())
        start += len(raw) - len(raw.lstrip())
        i = min(bisect_right(self._starts, start) - 1, len(self._lines) - 1)
        line, column = self._lines[i], start - self._starts[i]
        marked = line.text[column : end - self._starts[i]].rstrip()
        return line.found(value, (column, column + len(marked)))


@dataclass
class _Cell:
    """A cell. start, end: of its text. right, down: how many columns and rows it is."""

    is_head: bool
    right: int
    down: int
    start: int
    end: int = 0


class _Reader:
    """The rows of cells of the outermost table."""

    def __init__(self, text: _Text) -> None:
        self.rows: list[list[_Cell]] = []
        self._text = text
        self._cell: _Cell | None = None
        self._depth = 0
        self._in_head = False

    def take(self, tag: re.Match[str]) -> bool:
        """Read a tag; True where the table ends."""
        name, is_end = tag["name"].lower(), bool(tag["end"])
        if name == "table":
            self._depth += -1 if is_end else 1
            if self._depth <= 0:
                self.end_cell(tag.start())
            return self._depth <= 0
        if self._depth == 1 and name in ("td", "th", "tr", "thead", "tbody", "tfoot"):
            self.end_cell(tag.start())
            self._part(name, tag, is_end=is_end)
        return False

    def end_cell(self, at: int) -> None:
        """The text of a cell ends, where one is open."""
        if self._cell is not None:
            self._cell.end = at
        self._cell = None

    def _part(self, name: str, tag: re.Match[str], *, is_end: bool) -> None:
        if name in ("td", "th"):
            if not is_end:
                self._begin_cell(name, tag)
        elif name == "tr":
            if not is_end:
                self.rows.append([])
        else:
            self._in_head = name == "thead" and not is_end

    def _begin_cell(self, name: str, tag: re.Match[str]) -> None:
        spans = {m[1].lower(): _span(m[2]) for m in _SPAN.finditer(tag["attributes"])}
        is_head = name == "th" or self._in_head
        self._cell = _Cell(is_head, spans.get("col", 1), spans.get("row", 1), tag.end())
        if not self.rows:
            self.rows.append([])
        if len(self.rows[-1]) < MOST_CELLS:
            self.rows[-1].append(self._cell)


def _span(digits: str) -> int:
    return min(max(int(digits), 1), MOST_SPANNED)


#: Column → how many rows more a cell reaches down there, and what it is.
_Below = dict[int, tuple[int, Found]]


def _spread(rows: Sequence[Sequence[_Cell]], text: _Text) -> HtmlTable:
    """Each row with a cell for each column."""
    table = HtmlTable()
    below: _Below = {}
    for row in rows:
        cells = list(_row(row, below, text))
        is_head = bool(row) and all(cell.is_head for cell in row) and not table.rows
        if cells:
            (table.head if is_head else table.rows).append(cells)
    if not table.head and table.rows:
        table.head.append(table.rows.pop(0))
    return table


def _row(row: Sequence[_Cell], below: _Below, text: _Text) -> Iterator[Found]:
    """The cells of a row, with those that reach down into it."""
    is_head = all(cell.is_head for cell in row)
    parts = (part for cell in row for part in _parts(cell, text, is_head=is_head))
    own = next(parts, None)
    for at in range(MOST_CELLS):
        if at in below:
            down, found = below.pop(at)
        elif own is not None:
            (found, down), own = own, next(parts, None)
        else:
            return
        if down > 1:
            below[at] = (down - 1, found)
        yield found


def _parts(cell: _Cell, text: _Text, *, is_head: bool) -> Iterator[tuple[Found, int]]:
    found = text.found(cell.start, cell.end)
    yield found, cell.down
    for _ in range(cell.right - 1):
        yield (found if is_head else found.to("")), cell.down
