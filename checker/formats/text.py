"""`--format text`: for people, like a compiler.

Each finding has its place, what is wrong with the arithmetic, the lines the numbers stand in,
and what to do. What is merely missing (BL1) is listed in one block at the end of its file:
fourteen excerpts of the same closing brace would bury the one real error. Of many findings of
one rule in a file the first few are shown in full and the others in a line each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Location, Related, Severity
from benchlint.checker.formats.base import (
    BY_HAND,
    Options,
    Summary,
    count_phrase,
    count_severities,
    plural,
    split_missing,
)
from benchlint.checker.formats.escape import terminal, visible, width
from benchlint.checker.formats.room import NARROWEST, Room, lines_of

MAX_RELATED = 8
# Findings of one rule in one file that are shown with their excerpts.
MAX_IN_FULL = 3
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
        self._room = Room(options.columns)
        self._worst: Finding | None = None
        self._path = ""
        # By code: how many were shown in full in this file, and the help of the last.
        self._in_full: dict[str, tuple[int, str]] = {}

    def begin(self) -> None:
        """Nothing comes before the first finding."""

    def add(self, result: FileResult) -> None:
        """Write the findings of one file, and then what it lacks."""
        placed, missing = split_missing(result.findings)
        path = _at_line_start(terminal(result.path))
        if result.path != self._path:
            self._path = result.path
            self._in_full.clear()
        lines = [*self._placed(path, placed)]
        if missing:
            lines += [*self._missing(path, missing), ""]
        self._stream.write("\n".join([*lines, ""]))
        for finding in placed:
            if self._worst is None or finding.severity.rank > self._worst.severity.rank:
                self._worst = finding

    def _placed(self, path: str, findings: list[Finding]) -> Iterator[str]:
        """Findings; what follows the first few of a rule, without a blank line between."""
        is_open = False
        for finding in findings:
            shown, help_ = self._in_full.get(finding.code, (0, ""))
            is_brief = shown == MAX_IN_FULL
            if is_brief:
                yield from self._brief(path, finding, help_)
            else:
                self._in_full[finding.code] = shown + 1, finding.help
                yield from [""] * is_open
                yield from self._finding(path, finding)
                yield ""
            is_open = is_brief
        yield from [""] * is_open

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
        if summary.fixable:
            line += f"; {plural(summary.fixable, 'value')} fixable with --fix"
        self._stream.write(line + "\n")
        if self._worst and self._show_help:
            code = terminal(self._worst.code)
            hint = f"`benchlint explain {code}` says why this matters and how to fix it"
            for each in self._room.lines(hint):
                self._stream.write(self._paint(each, _DIM) + "\n")

    def _paint(self, text: str, color: str) -> str:
        return f"{color}{text}{_RESET}" if self._color and text else text

    def _head(self, path: str, finding: Finding, more: str = "") -> Iterator[str]:
        """Place and rule in a line; in more, with the place whole, where one is too narrow."""
        at = finding.location
        place = f"{path}:{at.line}:{at.column}" if at else path
        rule = f"{finding.severity.value} {terminal(finding.code)}"
        name = f"{terminal(finding.name)}{more}"
        painted = self._paint(rule, _SEVERITY[finding.severity])
        if self._room.fits(f"{place}: {rule} {name}"):
            yield f"{self._paint(place, _BOLD)}: {painted} {name}"
            return
        yield f"{self._paint(place, _BOLD)}:"
        yield from self._room.hanging(f"  {painted}", 2, name, width(rule) + 1)

    def _brief(self, path: str, finding: Finding, known_help: str) -> Iterator[str]:
        """A line with the message, and the help where it is not the one that was shown."""
        text = terminal(finding.message)
        if self._show_help and finding.help not in ("", known_help):
            text += f" ({terminal(finding.help)})"
        yield from self._head(path, finding, f": {text}")

    def _finding(self, path: str, finding: Finding) -> Iterator[str]:
        at = finding.location
        color = _SEVERITY[finding.severity]
        yield from self._head(path, finding)
        for line in self._room.lines(terminal(finding.message), 2):
            yield f"  {self._paint(line, _BOLD)}"
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
        room = self._window(len(margin) + 1)
        window = _Window.around([mark.at for mark in marks], room)
        yield f"{self._paint(margin, _GUTTER)} {window.text}".rstrip()
        empty = self._paint(f"{'|':>{len(margin)}}", _GUTTER)
        for mark in marks:
            for indent, drawing in _drawing(mark, *window.span(mark.at), room):
                yield f"{empty} {' ' * indent}{self._paint(drawing, mark.color)}"

    def _footer(self, finding: Finding, told: list[Related], gutter: int) -> Iterator[str]:
        equals = " " * (gutter + 1) + self._paint("=", _GUTTER)
        for related in told[:MAX_RELATED]:
            at = related.location
            place = f"{at.line}:{at.column}: " if at else ""
            yield from self._room.hanging(equals, gutter + 3, f"{place}{terminal(related.message)}")
        if len(told) > MAX_RELATED:
            yield f"{equals} and {plural(len(told) - MAX_RELATED, 'more number')}"
        if finding.help and self._show_help:
            lead = f"{equals} {self._paint('help:', _HELP)}"
            yield from self._room.hanging(lead, gutter + 3, terminal(finding.help), len("help: "))

    def _window(self, indent: int) -> int:
        """Columns for source text behind the indent, its ellipses not counted."""
        if self._room.columns is None:
            return _WINDOW
        return max(NARROWEST, min(_WINDOW, self._room.columns - indent - len("……")))

    def _missing(self, path: str, findings: list[Finding]) -> Iterator[str]:
        counts = count_phrase(count_severities(findings))
        yield f"{self._paint(path, _BOLD)}: {self._paint('missing', _BOLD)} ({counts})"
        labels = _severity_labels(findings)
        longest = max([_word(finding.name)[1] for finding in findings])
        for label, finding in zip(labels, findings, strict=True):
            (code, code_size), (name, size) = _word(finding.code), _word(finding.name)
            shown = self._paint(label + code, _SEVERITY[finding.severity])
            lead = f"  {shown} {name}{' ' * (longest - size)} "
            taken = len(label) + code_size + longest + 5
            yield from self._room.item(lead, taken, terminal(finding.message))
            if BY_HAND in finding.help:
                yield from self._tool_hint(finding)
        if self._show_help:
            first = terminal(findings[0].code)
            advice = (
                f"`benchlint explain {first}` shows how to add one, "
                "`benchlint init` writes a skeleton with all of them"
            )
            lead = f"  {self._paint('help:', _HELP)}"
            yield from self._room.hanging(lead, 4, advice, len("help: ") - 2)

    def _tool_hint(self, finding: Finding) -> Iterator[str]:
        """How the tool that wrote the file can be made to say what is missing, where known."""
        hint, by_hand, _ = finding.help.partition(f"; {BY_HAND}")
        if by_hand and self._show_help:
            yield from self._room.hanging(f"     {self._paint('=', _HELP)}", 7, terminal(hint), 0)


@lru_cache(maxsize=1_024)
def _word(text: str) -> tuple[str, int]:
    """A code or name as it is shown, and its columns: there are some hundred of them."""
    shown = terminal(text)
    return shown, width(shown)


def _severity_labels(findings: list[Finding]) -> list[str]:
    """The severity of each, in a column; nothing where all have the same."""
    if findings[0].severity is findings[-1].severity:  # they are sorted by it
        return [""] * len(findings)
    words = [finding.severity.value for finding in findings]
    longest = max(map(len, words))
    return [f"{word:<{longest}} " for word in words]


def _at_line_start(path: str) -> str:
    """The path so that no line starts as a command of a workflow does, whose log this may be."""
    return path if path.lstrip()[:1] not in (":", "#") else f"./{path}"


def _drawing(mark: _Mark, column: int, length: int, room: int) -> list[tuple[int, str]]:
    """The mark with its label, in rows with their indents.

    The label stands behind the mark, or before it where that is far to the right, or under it
    where a narrow terminal has room for neither.
    """
    symbols = mark.symbol * length
    label = terminal(mark.label)
    size = width(label)
    if not label or column + length + 1 + size <= room:
        return [(column, f"{symbols} {label}".rstrip())]
    if column > size:
        return [(column - size - 1, f"{label} {symbols}")]
    if room == _WINDOW:
        return [(column, f"{symbols} {label}")]
    return [(column, symbols), *((0, line) for line in lines_of(label, room))]


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
    def around(cls, places: list[Location], room: int = _WINDOW) -> _Window:
        """A window on the line of `places` (all of one line) that holds the first of them.

        room: how many characters are shown, and where that is less than usual, in how many
        columns.
        """
        excerpt = places[0].excerpt.rstrip("\r\n")
        mark = places[0].excerpt_column - 1
        first = 0
        if len(excerpt) > room:
            first = max(0, min(mark - room * _BEFORE_MARK // _WINDOW, len(excerpt) - room))
        last = min(len(excerpt), first + room)
        shown = excerpt[first:last]
        plain = shown.isprintable() and "##[" not in shown
        cells = tuple(shown if plain else _cells(shown))
        if room < _WINDOW:
            first, cells = _narrowed(cells, first, mark, room)
            last = first + len(cells)
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


def _cells(text: str) -> Iterator[str]:
    """How each character is shown; see `escape.uncommanded` for what stands before a bracket."""
    for i, char in enumerate(text):
        if text.startswith("#[", i) and text[i - 1 : i] == "#":
            yield " #"
        else:
            yield _TAB if char == "\t" else visible(char)


def _narrowed(
    cells: tuple[str, ...], first: int, mark: int, room: int
) -> tuple[int, tuple[str, ...]]:
    """The cells, without those that stand too far from the marked one to have room."""
    sizes = [width(cell) for cell in cells]
    start, end, total = 0, len(cells), sum(sizes)
    at = min(max(mark - first, 0), len(cells))
    while total > room and end - start > 1:
        if at - start > end - at:
            total -= sizes[start]
            start += 1
        else:
            end -= 1
            total -= sizes[end]
    return first + start, cells[start:end]
