"""Tables in text, with the place of every cell: Markdown, consoles, CSV, `key=value` lines.

Markdown is read here and not with a library: a table is a matter of lines and bars (GFM 4.10),
what is wanted are the columns that each cell stands in, which no Markdown parser gives, and
`check` stays without a dependency more. Tests compare with markdown-it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchlint.checker.importers.cells import plain
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.table_rows import (
    csv_cells,
    is_delimiter,
    markdown_cells,
    row_cells,
)

#: A table with more rows is data, and not for people; the rest is left out.
MOST_ROWS = 2_000
MOST_COLUMNS = 60


@dataclass
class Table:
    """A table.

    title: the heading above it. lines: as they stand there, with what follows. form: how it was
    told from prose: "page" by Markdown's line under the head, "csv", "bars", "blanks", "pairs".
    """

    head: list[Found]
    rows: list[list[Found]] = field(default_factory=list)
    title: Found | None = None
    lines: list[Line] = field(default_factory=list)
    form: str = "page"

    @property
    def words(self) -> list[str]:
        """The heads without markup."""
        return [plain(str(cell.value)) for cell in self.head]


@dataclass
class Fence:
    """A fenced block of a page: what was pasted into it."""

    lines: list[Line]
    title: Found | None = None


_FENCE = re.compile(r"[ \t>]*+(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r"[ \t>]{0,9}#{1,6}[ \t]+(.{0,300})")


_OTHER_BLOCK = re.compile(r" {0,3}(?:#{1,6}\s|>|[-*+]\s|\d+[.)]\s|<|(?:[-*_]\s*){3,}$)")


def page_parts(lines: Iterable[Line]) -> Iterator[Table | Fence]:
    """The tables and fenced blocks of a Markdown page, in order."""
    reader = _PageReader()
    for line in lines:
        yield from reader.take(line)
    yield from reader.end()


class _PageReader:
    """What a page has been so far: in a table, in a block, or in prose."""

    def __init__(self) -> None:
        self._title: Found | None = None
        self._before: Line | None = None
        self._table: Table | None = None
        self._is_below = False
        self._fence: tuple[str, Fence] | None = None

    def take(self, line: Line) -> Iterator[Table | Fence]:
        """Read one line; what it ends is handed out."""
        if self._fence is not None:
            yield from self._in_fence(line, *self._fence)
        elif opening := _FENCE.match(line.text):
            yield from self._end_table()
            self._fence = opening[1], Fence([], self._title)
        elif self._table is not None and not self._is_below and self._is_row(line):
            self._add_row(self._table, line)
        else:
            yield from self._prose(line)
        self._before = line

    def end(self) -> Iterator[Table | Fence]:
        """What the end of the page ends."""
        yield from self._end_table()
        if self._fence is not None:
            yield self._fence[1]

    def _in_fence(self, line: Line, mark: str, fence: Fence) -> Iterator[Fence]:
        text = line.text.strip(" \t>")
        if len(text) >= len(mark) and set(text) == {mark[0]}:
            self._fence = None
            yield fence
        else:
            fence.lines.append(line)

    def _prose(self, line: Line) -> Iterator[Table]:
        if self._before is not None and is_delimiter(line):
            head = markdown_cells(self._before)
            if len(head) == len(markdown_cells(line)) <= MOST_COLUMNS:
                yield from self._end_table()
                self._table = Table(head, [], self._title, [self._before, line])
                self._is_below = False
                return
        if self._table is not None:
            self._is_below = True
            if line.text.strip():
                self._table.lines.append(line)  # such as the build below llama-bench's
                yield from self._end_table()
        if heading := _HEADING.match(line.text):
            self._title = line.found(heading[1].rstrip(" \t#"), heading.span(1))

    @staticmethod
    def _is_row(line: Line) -> bool:
        """A table goes on to the first empty line, or another block (GFM 4.10)."""
        return "|" in line.text or (bool(line.text.strip()) and not _OTHER_BLOCK.match(line.text))

    def _add_row(self, table: Table, line: Line) -> None:
        table.lines.append(line)
        if len(table.rows) < MOST_ROWS:
            table.rows.append(_of_width(row_cells(line), len(table.head), line))

    def _end_table(self) -> Iterator[Table]:
        if self._table is not None:
            yield self._table
        self._table = None


def _of_width(cells: list[Found], width: int, line: Line) -> list[Found]:
    """The row with empty cells added, or those behind the last head left out (GFM 4.10)."""
    missing = [line.found("", (len(line.text), len(line.text)))] * (width - len(cells))
    return cells[:width] + missing


# --- consoles --------------------------------------------------------------------------------

_BOX = str.maketrans({"│": "|", "┃": "|", "║": "|", "┆": "|", "┊": "|", "¦": "|"})
_RULE_SIGNS = frozenset("+-=─━═┄┈┼╋╬┬┴├┤┌┐└┘╔╗╚╝╠╣╦╩╪╫╟╢┏┓┗┛┣┫┳┻╇╈╉╊┡┢┩┪╞╡╤╧╒╕╘╛|: ")
_GAP = re.compile(r"\t+|[ ]{2,}")
_PAIR = re.compile(r"(?:^|(?<=[\s,;(|]))([A-Za-z][\w./%-]*)\s?=\s*([^\s,;)|]+)")


def console_tables(lines: Iterable[Line]) -> Iterator[Table]:
    """Tables in what a program printed: with bars, by blanks, and `key=value` on each line."""
    block: list[Line] = []
    for line in lines:
        if line.text.strip():
            if len(block) <= MOST_ROWS:
                block.append(line)
        elif block:
            yield from _of_block(block)
            block = []
    if block:
        yield from _of_block(block)


def _of_block(block: list[Line]) -> Iterator[Table]:
    kinds = [_kind(line) for line in block]
    start = 0
    for end in range(1, len(block) + 1):
        if end == len(block) or (kinds[end] != kinds[start] and kinds[end] != "rule"):
            run = [
                line
                for line, kind in zip(block[start:end], kinds[start:end], strict=True)
                if kind != "rule"
            ]
            found = _READERS[kinds[start]](run) if run else None
            if found is not None:
                found.form = kinds[start]
                yield found
            start = end


def _kind(line: Line) -> str:
    text = line.text.translate(_BOX).strip()
    if set(text) <= _RULE_SIGNS:
        return "rule"
    if text.count("|") >= 2:
        return "bars"
    if len(_PAIR.findall(text)) >= 2:
        return "pairs"
    return "blanks" if len(_GAP.split(text)) >= 3 else "prose"


def _by_bars(lines: Sequence[Line]) -> Table | None:
    boxed = [Line(line.number, line.text.translate(_BOX)) for line in lines]
    head, *rows = [markdown_cells(line) for line in boxed]
    width = len(head)
    same = [
        _of_width(r, width, line)
        for r, line in zip(rows, boxed[1:], strict=True)
        if len(r) == width
    ]
    return Table(head, same, None, list(lines)) if same and width <= MOST_COLUMNS else None


def _by_blanks(lines: Sequence[Line]) -> Table | None:
    head, *rows = [_split(line) for line in lines]
    same = [row for row in rows if len(row) == len(head)]
    return Table(head, same, None, list(lines)) if same and len(head) <= MOST_COLUMNS else None


def _split(line: Line) -> list[Found]:
    found, at = [], 0
    for gap in [*_GAP.finditer(line.text), None]:
        end = len(line.text) if gap is None else gap.start()
        if line.text[at:end].strip():
            found.append(line.found(line.text[at:end].strip(), (at, end)))
        at = end if gap is None else gap.end()
    return found


def _by_pairs(lines: Sequence[Line]) -> Table | None:
    """Lines that give the same keys; what stands in front of the first is a label."""
    head: list[Found] = []
    rows: list[list[Found]] = []
    for line in lines:
        pairs = list(_PAIR.finditer(line.text))
        label = line.found(line.text[: pairs[0].start()].strip(" :-"), (0, pairs[0].start()))
        keys = [line.found(pair[1], pair.span(1)) for pair in pairs]
        if not head:
            head = [line.found("name", (0, 0)), *keys]
        if [k.value for k in keys] == [h.value for h in head[1:]]:
            rows.append([label, *(line.found(pair[2], pair.span(2)) for pair in pairs)])
    return Table(head, rows, None, list(lines)) if rows and len(head) <= MOST_COLUMNS else None


def _nothing(_: Sequence[Line]) -> Table | None:
    return None


_READERS = {
    "bars": _by_bars,
    "blanks": _by_blanks,
    "pairs": _by_pairs,
    "prose": _nothing,
    "rule": _nothing,
}


def csv_table(lines: Iterable[Line]) -> Table | None:
    """The table of a CSV text: its first line that is not empty is the head."""
    head: list[Found] = []
    rows: list[list[Found]] = []
    kept: list[Line] = []
    for line in lines:
        if not line.text.strip() or len(rows) >= MOST_ROWS:
            continue
        cells = csv_cells(line)
        kept.append(line)
        if not head:
            head = cells
        elif len(cells) == len(head):
            rows.append(cells)
    return Table(head, rows, None, kept, "csv") if 2 <= len(head) <= MOST_COLUMNS and rows else None
