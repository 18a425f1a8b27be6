"""`--format text`: for people, like a compiler.

Each finding has its place, what is wrong with the arithmetic, the lines the numbers stand in,
and what to do. What is merely missing (BL1) is listed in one block at the end of its file:
fourteen excerpts of the same closing brace would bury the one real error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Location, Related, Severity
from benchlint.checker.formats.base import (
    Options,
    Summary,
    count_phrase,
    count_severities,
    plural,
    split_missing,
)
from benchlint.checker.formats.escape import terminal, visible, width

MAX_RELATED = 8
# How much of a long line is shown, and how much of that before the mark, in characters.
_WINDOW = 96
_BEFORE_MARK = 48
_TAB = "    "

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
# Bright blue and red: the plain ones are hard to read on a dark ground.
_GUTTER = "\x1b[94m"
_RELATED = "\x1b[1;94m"
_HELP = "\x1b[1;32m"
_SEVERITY = {
    Severity.ERROR: "\x1b[1;91m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;36m",
}


@dataclass(frozen=True, slots=True)
class _Mark:
    """A marked place: which line, what to draw under it, in which colour, with which label."""

    at: Location
    symbol: str
    color: str
    label: str = ""


class TextFormat:
    """Writes findings for a terminal, one file at a time."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._color = options.color
        self._show_help = options.show_help
        self._worst: Finding | None = None

    def begin(self) -> None:
        """Nothing comes before the first finding."""

    def add(self, result: FileResult) -> None:
        """Write the findings of one file, and then what it lacks."""
        placed, missing = split_missing(result.findings)
        path = terminal(result.path)
        for finding in placed:
            self._lines(self._finding(path, finding))
        if missing:
            self._lines(self._missing(path, missing))
        for finding in placed:
            if self._worst is None or finding.severity.rank > self._worst.severity.rank:
                self._worst = finding

    def end(self, summary: Summary) -> None:
        """Write the totals, and where to read more."""
        found = ", ".join(
            self._paint(plural(count, severity.value), _SEVERITY[severity])
            for severity, count in summary.counts.items()
            if count
        )
        line = f"{found or 'no findings'} in {plural(summary.files, 'file')}"
        if summary.suppressed:
            line += f" ({summary.suppressed:,} suppressed)"
        self._stream.write(line + "\n")
        if self._worst and self._show_help:
            code = terminal(self._worst.code)
            hint = f"`benchlint explain {code}` says why this matters and how to fix it"
            self._stream.write(self._paint(hint, _DIM) + "\n")

    def _lines(self, lines: Iterator[str]) -> None:
        """Write a block and the blank line that ends it."""
        self._stream.writelines(line + "\n" for line in lines)
        self._stream.write("\n")

    def _paint(self, text: str, color: str) -> str:
        return f"{color}{text}{_RESET}" if self._color and text else text

    def _finding(self, path: str, finding: Finding) -> Iterator[str]:
        color = _SEVERITY[finding.severity]
        at = finding.location
        place = f"{path}:{at.line}:{at.column}" if at else path
        rule = self._paint(f"{finding.severity.value} {terminal(finding.code)}", color)
        yield f"{self._paint(place, _BOLD)}: {rule} {terminal(finding.name)}"
        yield f"  {self._paint(terminal(finding.message), _BOLD)}"
        drawn, told = _sort_related(finding)
        marks = [_Mark(at, "^", color)] if at else []
        marks += [_Mark(place, "-", _RELATED, related.message) for related, place in drawn]
        gutter = max((len(str(mark.at.line)) for mark in marks), default=1) + 2
        yield from self._excerpts(marks, gutter)
        yield from self._footer(finding, told, gutter)

    def _excerpts(self, marks: list[_Mark], gutter: int) -> Iterator[str]:
        """Each line once, in the order of the file, with a row for each mark under it."""
        ordered = sorted(marks, key=lambda mark: (mark.at.line, mark.at.column))
        for (line, excerpt), group in groupby(ordered, lambda m: (m.at.line, m.at.excerpt)):
            if not excerpt.strip():
                continue
            yield from self._excerpt(f"{line:>{gutter}} |", list(group))

    def _excerpt(self, margin: str, marks: list[_Mark]) -> Iterator[str]:
        window = _Window.around([mark.at for mark in marks])
        yield f"{self._paint(margin, _GUTTER)} {window.text}".rstrip()
        empty = self._paint(f"{'|':>{len(margin)}}", _GUTTER)
        for mark in marks:
            indent, drawing = _drawing(mark, *window.span(mark.at))
            yield f"{empty} {' ' * indent}{self._paint(drawing, mark.color)}"

    def _footer(self, finding: Finding, told: list[Related], gutter: int) -> Iterator[str]:
        equals = " " * (gutter + 1) + self._paint("=", _GUTTER)
        for related in told[:MAX_RELATED]:
            at = related.location
            place = f"{at.line}:{at.column}: " if at else ""
            yield f"{equals} {place}{terminal(related.message)}"
        if len(told) > MAX_RELATED:
            yield f"{equals} and {plural(len(told) - MAX_RELATED, 'more number')}"
        if finding.help and self._show_help:
            yield f"{equals} {self._paint('help:', _HELP)} {terminal(finding.help)}"

    def _missing(self, path: str, findings: list[Finding]) -> Iterator[str]:
        counts = count_phrase(count_severities(findings))
        yield f"{self._paint(path, _BOLD)}: {self._paint('missing', _BOLD)} ({counts})"
        longest = max(width(terminal(finding.name)) for finding in findings)
        for finding in findings:
            name = terminal(finding.name)
            code = self._paint(terminal(finding.code), _SEVERITY[finding.severity])
            yield f"  {code} {name}{' ' * (longest - width(name))}  {terminal(finding.message)}"
        if self._show_help:
            first = terminal(findings[0].code)
            advice = (
                f"`benchlint explain {first}` shows how to add one, "
                "`benchlint init` writes a skeleton with all of them"
            )
            yield f"  {self._paint('help:', _HELP)} {advice}"


def _drawing(mark: _Mark, column: int, length: int) -> tuple[int, str]:
    """The mark with its label, and where it starts: left of a mark that is far to the right."""
    symbols = mark.symbol * length
    label = terminal(mark.label)
    room_left = column - width(label) - 1
    if label and room_left >= 0 and column + length + 1 + width(label) > _WINDOW:
        return room_left, f"{label} {symbols}"
    return column, f"{symbols} {label}".rstrip()


def _sort_related(finding: Finding) -> tuple[list[tuple[Related, Location]], list[Related]]:
    """The related numbers to draw, each with its place, and those to name in a line.

    A number in a line that is already shown for the finding itself is named, not drawn: in a
    report that is all one line, everything would be.
    """
    drawn: list[tuple[Related, Location]] = []
    told: list[Related] = []
    own_line = finding.location.line if finding.location else None
    for related in finding.related:
        at = related.location
        if at and at.line != own_line and at.excerpt.strip() and len(drawn) < MAX_RELATED:
            drawn.append((related, at))
        elif related.message:
            told.append(related)
    return drawn, told


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a source line that is shown, escaped, and where its characters came to stand.

    first, last: the source characters shown are excerpt[first:last].
    cells: how each of them is shown. lead: what stands for the cut-off start.
    """

    first: int
    last: int
    cells: tuple[str, ...]
    lead: str
    trail: str

    @classmethod
    def around(cls, places: list[Location]) -> _Window:
        """A window on the line of `places` (all of one line) that holds the first of them."""
        excerpt = places[0].excerpt.rstrip("\r\n")
        first = 0
        if len(excerpt) > _WINDOW:
            first = max(0, min(places[0].excerpt_column - 1 - _BEFORE_MARK, len(excerpt) - _WINDOW))
        last = min(len(excerpt), first + _WINDOW)
        cells = tuple(_TAB if c == "\t" else visible(c) for c in excerpt[first:last])
        return cls(first, last, cells, "…" * (first > 0), "…" * (last < len(excerpt)))

    @property
    def text(self) -> str:
        """What is shown of the line."""
        return f"{self.lead}{''.join(self.cells)}{self.trail}"

    def span(self, at: Location) -> tuple[int, int]:
        """Column (from 0) and width of the mark under `at`, within the window."""
        start = min(max(at.excerpt_column - 1 - self.first, 0), len(self.cells))
        marked = self.cells[start : start + max(1, at.end_column - at.column)]
        column = width(self.lead) + width("".join(self.cells[:start]))
        return column, max(1, width("".join(marked)))
