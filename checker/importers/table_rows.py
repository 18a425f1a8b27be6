"""Rows of tables in text, each cell with the columns it stands in: CSV, Markdown, SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.found import Found, Line

Row = dict[str, Found]

#: A cell of CSV (RFC 4180): in quotes, where a quote is written twice, or without.
_CSV_CELL = re.compile(r'\s*"((?:[^"]|"")*+)"\s*(?:,|$)|([^,]*+)(?:,|$)')

#: What may stand in front of a table's lines: quotation, comment and list marks.
_PREFIX = re.compile(r"[ \t]*+(?:[#*+-]++[ \t]++|>[ \t]*+|\d++\.[ \t]++)*+")

_DELIMITER = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+")

#: Between two cells; a bar behind a backslash is part of a cell (GFM 4.10).
_BAR = re.compile(r"(?<!\\)\|")


def csv_cells(line: Line) -> list[Found]:
    """The cells of a line of CSV. A quoted cell ends with its line at the latest."""
    found: list[Found] = []
    at, more = 0, True
    while more and (match := _CSV_CELL.match(line.text, at)):
        which = 1 if match[1] is not None else 2
        value = match[which].replace('""', '"') if which == 1 else match[2].strip()
        found.append(line.found(value, match.span(which)))
        at, more = match.end(), match[0].endswith(",")
    return found


def markdown_cells(line: Line) -> list[Found]:
    """The cells of a row of a Markdown table, without the blanks around them.

    Empty where the line has no bar.
    """
    text = line.text
    start = _prefix_end(text)
    bars = [m.start() for m in _BAR.finditer(text, start)]
    if not bars:
        return []
    inner = text[start : bars[0]].strip() == ""
    starts = [] if inner else [start]
    starts += [bar + 1 for bar in bars]
    ends = bars[1:] if inner else bars
    if text[bars[-1] + 1 :].strip():
        ends = [*ends, len(text)]
    return [_trimmed(line, a, b) for a, b in zip(starts, ends, strict=False)]


def row_cells(line: Line) -> list[Found]:
    """The same of a line that is known to be a row: without a bar it is one cell."""
    return markdown_cells(line) or [_trimmed(line, _prefix_end(line.text), len(line.text))]


def is_delimiter(line: Line) -> bool:
    """Whether the line is what stands under the head of a Markdown table."""
    text = line.text[_prefix_end(line.text) :].rstrip()
    return "-" in text and "|" in text and _DELIMITER.fullmatch(text) is not None


def _prefix_end(text: str) -> int:
    match = _PREFIX.match(text)
    return 0 if match is None else match.end()


def _trimmed(line: Line, start: int, end: int) -> Found:
    raw = line.text[start:end]
    text = raw.strip()
    at = start + len(raw) - len(raw.lstrip()) if text else start
    return line.found(text.replace("\\|", "|"), (at, at + len(text)))


_INSERT = re.compile(r"\s*INSERT INTO \w+ \(([^)]*)\) VALUES \(", re.IGNORECASE)
_SQL_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*+)'|([^,')]+))\s*[,)]")


def sql_row(line: Line) -> Row | None:
    """The values of an INSERT of one row by the names of their columns, or None."""
    head = _INSERT.match(line.text)
    if head is None:
        return None
    values: list[Found] = []
    at = head.end()
    while match := _SQL_VALUE.match(line.text, at):
        which = 1 if match[1] is not None else 2
        values.append(line.found(match[which].replace("''", "'").strip(), match.span(which)))
        at = match.end()
    names = [name.strip().strip('"`') for name in head[1].split(",")]
    return dict(zip(names, values, strict=False)) if len(names) == len(values) else None


def csv_rows(
    lines: Iterator[Line], header: tuple[str, ...]
) -> Iterator[tuple[list[str], list[Found]]]:
    """Every row below a line that starts with these column names, with the names.

    Rows may have more or fewer cells than there are names. Another such line begins a new table.
    """
    names: list[str] = []
    for line in lines:
        cells = csv_cells(line)
        words = [str(cell.value) for cell in cells]
        if words[: len(header)] == list(header):
            names = words
        elif names and line.text.strip():
            yield names, cells
