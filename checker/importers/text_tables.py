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
from benchlint.checker.importers.found import Found, InLine, Line
from benchlint.checker.importers.html_tables import html_table
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

    title: the heading above it. caption: the line above it in what a program printed.
    lines: as they stand there, with what follows. form: how it was told from prose: "page" by
    Markdown's line under the head, "html", "csv", "json", "bars", "blanks", "pairs".
    """

    head: list[Found]
    rows: list[list[Found]] = field(default_factory=list)
    title: Found | None = None
    lines: list[Line] = field(default_factory=list)
    form: str = "page"
    caption: Found | None = None

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

#: Where a table in HTML begins, and where it ends.
HTML_TABLE = re.compile(r"(?m)^[ \t>]*+(?:<[^<>\n]*+>[ \t]*+)*?<table\b", re.IGNORECASE)
_HTML_END = re.compile(r"</table\s*>", re.IGNORECASE)
MOST_HTML_LINES = 20_000

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
        self._html: list[Line] = []

    def take(self, line: Line) -> Iterator[Table | Fence]:
        """Read one line; what it ends is handed out."""
        if self._fence is not None:
            yield from self._in_fence(line, *self._fence)
        elif self._html or HTML_TABLE.match(line.text):
            yield from self._end_table()
            yield from self._in_html(line)
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
        if self._html:
            yield from self._end_html()

    def _in_html(self, line: Line) -> Iterator[Table]:
        self._html.append(line)
        if _HTML_END.search(line.text) or len(self._html) > MOST_HTML_LINES:
            yield from self._end_html()

    def _end_html(self) -> Iterator[Table]:
        found = html_table(self._html)
        table = with_joined_head(found.head, found.rows, self._html[0])
        if table is not None:
            table.title, table.form, table.lines = self._title, "html", self._html
            yield table
        self._html = []

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


# --- heads of several rows ----------------------------------------------------------------------


def with_joined_head(
    head: Sequence[Sequence[Found]], rows: Sequence[Sequence[Found]], line: Line
) -> Table | None:
    """A table whose head has several rows: the words above each other are the head of a column.

    None where there is no row, or too many columns.
    """
    width = max(map(len, head), default=0)
    if not rows or not 1 <= width <= MOST_COLUMNS:
        return None
    columns = [[row[i] for row in head if i < len(row)] for i in range(width)]
    body = [_of_width(list(row), width, line) for row in rows[:MOST_ROWS]]
    return Table([_joined(cells) for cells in columns], body)


_UNIT = re.compile(r"(?:ms|sec|s|seconds|%|x)", re.IGNORECASE)


def _joined(cells: Sequence[Found]) -> Found:
    """The words from above to below, units in brackets behind them."""
    words = list(dict.fromkeys(str(cell.value) for cell in cells if str(cell.value).strip()))
    units = [f"({word})" for word in words[1:] if _UNIT.fullmatch(word)]
    named = [word for i, word in enumerate(words) if not i or not _UNIT.fullmatch(word)]
    last = next((cell for cell in reversed(cells) if str(cell.value).strip()), cells[-1])
    return last.to(" ".join([*named, *units]))


# --- consoles --------------------------------------------------------------------------------

_BOX = str.maketrans({"│": "|", "┃": "|", "║": "|", "┆": "|", "┊": "|", "¦": "|"})
_RULE_SIGNS = frozenset("+-=─━═┄┈┼╋╬┬┴├┤┌┐└┘╔╗╚╝╠╣╦╩╪╫╟╢┏┓┗┛┣┫┳┻╇╈╉╊┡┢┩┪╞╡╤╧╒╕╘╛|: ")
_GAP = re.compile(r"\t+|[ ]{2,}")
_PAIR = re.compile(r"(?:^|(?<=[\s,;(|]))([A-Za-z][\w./%-]*)\s?=\s*([^\s,;)|]*[^\s,;:)|])")


def console_tables(lines: Iterable[Line]) -> Iterator[Table]:
    """Tables in what a program printed: with bars, by blanks, and `key=value` on each line.

    A line such as `=== Results ===` above them is their caption.
    """
    caption: Found | None = None
    for block in _blocks(lines):
        headings = [each for line in block if (each := _underlined(line)) is not None]
        for table in _of_block(block):
            above = [each for each in headings if _number(each) < table.lines[0].number]
            table.caption = above[-1] if above else caption
            yield table
        caption = headings[-1] if headings else caption


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines without an empty one between them; of a very long block the beginning."""
    block: list[Line] = []
    for line in lines:
        if line.text.strip():
            if len(block) <= MOST_ROWS:
                block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


_UNDERLINED = re.compile(r"\s{0,8}(?:={2,80}|-{2,80}|#{2,80}|\*{2,80})\s+(\S.{0,80}?)\s*[=#*-]*\s*")


def _underlined(line: Line) -> Found | None:
    match = _UNDERLINED.fullmatch(line.text) if len(line.text) < 300 else None
    known = match is not None and "|" not in line.text
    return line.found(match[1], match.span(1)) if match is not None and known else None


def _number(found: Found) -> int:
    return found.place.line.number if isinstance(found.place, InLine) else 0


def _of_block(block: list[Line]) -> Iterator[Table]:
    kinds = [_kind(line) for line in block]
    start = 0
    for end in range(1, len(block) + 1):
        if end == len(block) or (kinds[end] != kinds[start] and kinds[end] != "rule"):
            part = list(zip(block[start:end], kinds[start:end], strict=True))
            run = [line for line, kind in part if kind != "rule"]
            if kinds[start] == "rule" and run:
                kinds[start] = kinds[block.index(run[0])]
            heads = _head_lines([kind for _, kind in part])
            if kinds[start] == "bars" and heads > 1:
                found = _by_bars_below(run, heads)
            else:
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


_MOST_HEAD_LINES = 5


def _head_lines(kinds: Sequence[str]) -> int:
    """How many lines stand between the rule above a table, if any, and the next: its head."""
    inner = kinds[1:] if kinds[:1] == ["rule"] else kinds
    lines = next((i for i, kind in enumerate(inner) if kind == "rule"), 0)
    return lines if lines <= _MOST_HEAD_LINES and lines < len(inner) - 1 else 0


def _by_bars_below(lines: Sequence[Line], heads: int) -> Table | None:
    """A table whose head has several lines; cells with nothing between their bars are merged."""
    boxed = [Line(line.number, line.text.translate(_BOX)) for line in lines]
    head = [_unmerged(line) for line in boxed[:heads]]
    width = len(head[-1])
    rows = [row for line in boxed[heads:] if len(row := markdown_cells(line)) == width]
    if any(len(row) != width for row in head):
        return None
    table = with_joined_head(head, rows, boxed[0])
    if table is not None:
        table.lines = list(lines)
    return table


def _unmerged(line: Line) -> list[Found]:
    """The cells of a line, what is left of `||` in both."""
    cells: list[Found] = []
    for cell in markdown_cells(line):
        at = cell.place.span[0] if isinstance(cell.place, InLine) else 0
        merged = cells and not cell.value and line.text[at : at + 1] == "|"
        cells.append(cells[-1] if merged else cell)
    return cells


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
