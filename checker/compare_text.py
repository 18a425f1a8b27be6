"""A comparison of two reports in words: for a terminal, and as Markdown for a pull request.

What comes from the reports is hostile: every name, value and message is escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchlint.checker.compare import (
    ClaimChange,
    Comparison,
    Direction,
    FindingChange,
    NumberChange,
    SettingChange,
)
from benchlint.checker.finding import Severity
from benchlint.checker.formats.base import plural
from benchlint.checker.formats.escape import at_line_start, markdown, terminal, width
from benchlint.checker.formats.room import Room, widths_of
from benchlint.checker.numbers import shown

#: Where a report does not state a value.
NOT_STATED: Final = "not stated"

#: Columns that a cell may take where others stand behind it.
_WIDEST = 60

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_RED = "\x1b[1;91m"
_YELLOW = "\x1b[1;33m"
_CYAN = "\x1b[1;36m"
_GREEN = "\x1b[1;32m"

_SEVERITY: dict[str, str] = {
    Severity.ERROR: _RED,
    Severity.WARNING: _YELLOW,
    Severity.NOTE: _CYAN,
}
_DIRECTIONS: tuple[tuple[Direction, str, str], ...] = (
    ("worse", "worse", _RED),
    ("better", "better", _GREEN),
    ("changed", "moved", _YELLOW),
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and rows of cells under column names. All text is raw.

    one: the noun of one row, for "and 3 more numbers".
    """

    title: str
    one: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    color: str = ""


def sections(comparison: Comparison) -> list[Section]:
    """What changed, the bad news first; empty sections are left out."""
    found = [
        _names("contradicted now", "claim", comparison.contradicted, _RED),
        *(_numbers(comparison, *each) for each in _DIRECTIONS),
        _findings("findings new", comparison.findings_new),
        _findings("findings gone", comparison.findings_gone),
        _settings(comparison.settings, comparison.runs_compared),
        _names("runs added", "run", comparison.runs_added),
        _names("runs removed", "run", comparison.runs_removed),
        _names("claims added", "claim", comparison.claims_added),
        _names("claims removed", "claim", comparison.claims_removed),
        _claims(comparison.claims_changed),
    ]
    return [section for section in found if section.rows]


def headline(comparison: Comparison) -> str:
    """One sentence: whether there is a regression, and what it consists of."""
    compared = f"({plural(comparison.runs_compared, 'run')} compared)"
    if comparison.empty:
        return f"nothing changed {compared}"
    said = ", ".join(_counted(comparison)) or "no number moved beyond noise"
    if comparison.runs_removed:
        said += f", {plural(len(comparison.runs_removed), 'run')} gone"
    return f"{'' if comparison.regressions else 'no '}regression: {said} {compared}"


def _counted(comparison: Comparison) -> Iterator[str]:
    others = [f for f in comparison.new_errors if f.code != "BL601"]
    doubted = sum(bool(each.errors) for each in comparison.moved("better"))
    but = f" ({doubted:,} in an error)" if doubted else ""
    counts = (
        (len(comparison.moved("worse")), "number", " worse"),
        (len(comparison.moved("better")), "number", f" better{but}"),
        (len(comparison.moved("changed")), "number", " moved"),
        (len(comparison.contradicted), "claim", " contradicted now"),
        (len(others), "other error" if comparison.contradicted else "new error", ""),
    )
    for count, noun, what in counts:
        if count:
            yield plural(count, noun) + what


# --- sections ----------------------------------------------------------------------------------


def _numbers(comparison: Comparison, direction: Direction, title: str, color: str) -> Section:
    moved = comparison.moved(direction)
    columns = ("run", "metric", "old", "new", "change", "noise explains")
    if any(each.errors for each in moved):
        rows = tuple((*_number(each), _doubted(each)) for each in moved)
        return Section(title, "number", (*columns, "but"), rows, color)
    return Section(title, "number", columns, tuple(map(_number, moved)), color)


def _doubted(change: NumberChange) -> str:
    """That the new report contradicts itself about the number."""
    return f"error {', '.join(change.errors)}" if change.errors else ""


def _number(change: NumberChange) -> tuple[str, ...]:
    moved = "" if change.change is None else _percent(change.change, sign=True)
    limit = _percent(change.limit) if change.limit else "rounding"
    return change.subject, change.metric, change.old, change.new, moved, limit


def _percent(share: float, *, sign: bool = False) -> str:
    text = shown(abs(share) * 100, 3)
    mark = ("+" if share > 0 else "-") if sign else ""
    return f"{mark}{text} %"


def _names(title: str, one: str, names: Sequence[str], color: str = "") -> Section:
    return Section(title, one, (one,), tuple((n,) for n in names), color)


def _findings(title: str, findings: Sequence[FindingChange]) -> Section:
    rows = tuple((f.severity.value, f.code, f.subject, f.message) for f in findings)
    return Section(title, "finding", ("severity", "rule", "subject", "finding"), rows)


def _settings(changes: Sequence[SettingChange], runs: int) -> Section:
    rows = tuple(_setting(change, runs) for change in changes)
    return Section("settings", "setting", ("setting", "old", "new", "runs"), rows)


def _setting(change: SettingChange, runs: int) -> tuple[str, ...]:
    names = ", ".join(change.runs[:4])
    rest = len(change.runs) - 4
    some = f"{names} and {rest} more" if rest > 0 else names
    where = "all runs" if len(change.runs) == runs > 1 else some
    return change.name, _stated(change.old), _stated(change.new), where


def _claims(changes: Sequence[ClaimChange]) -> Section:
    rows = tuple((c.claim, _stated(c.old), _stated(c.new)) for c in changes)
    return Section("claims changed", "claim", ("claim", "old", "new"), rows)


def _stated(text: str | None) -> str:
    return NOT_STATED if text is None else text


# --- terminal ----------------------------------------------------------------------------------


def as_text(
    comparison: Comparison, old: str, new: str, *, color: bool = False, columns: int | None = None
) -> str:
    """The comparison for a terminal.

    old, new: what the reports are called. columns: how wide the terminal is, None for no limit.
    """
    lines = _lines(comparison, old, new, _painter(color=color), Room(columns))
    return "\n".join(lines) + "\n"


def _painter(*, color: bool) -> Callable[[str, str], str]:
    def paint(text: str, code: str) -> str:
        return f"{code}{text}{_RESET}" if color and code and text else text

    return paint


def _lines(
    comparison: Comparison, old: str, new: str, paint: Callable[[str, str], str], room: Room
) -> Iterator[str]:
    for line in room.paragraph(f"{at_line_start(terminal(old))} → {terminal(new)}"):
        yield paint(line, _BOLD)
    for section in sections(comparison):
        yield ""
        yield paint(section.title, section.color or _BOLD)
        yield from _table_lines(section, paint, room)
    yield ""
    for line in room.paragraph(headline(comparison)):
        yield paint(line, _RED if comparison.regressions else _GREEN)


def _table_lines(section: Section, paint: Callable[[str, str], str], room: Room) -> Iterator[str]:
    """The columns under each other, or their names in each row where they have no room.

    A row with a cell that would push all others far apart, as a command line, is one of these.
    """
    rows = [(at_line_start(terminal(first)), *map(terminal, rest)) for first, *rest in section.rows]
    slim = list(filter(_is_slim, rows))
    widths = _widths(section.columns, slim)
    aligned = len(widths) > 1 and len(slim) > 0 and room.takes(widths)
    if aligned:
        yield from (paint(line, _DIM) for line in room.row(section.columns, widths))
    for row in rows:
        placed = aligned and _is_slim(row)
        first, *others = room.row(row, widths) if placed else _named(row, section.columns, room)
        severity = _SEVERITY.get(row[0], "") if section.one == "finding" else ""
        yield f"  {paint(row[0], severity)}{first[2 + len(row[0]) :]}" if severity else first
        yield from others


def _is_slim(row: Sequence[str]) -> bool:
    return all(width(cell) <= _WIDEST for cell in row[:-1])


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """What each column takes; the name of the last may be broken, which no other cell is."""
    *names, last = columns
    return widths_of([(*names, max(last.split(), key=len)), *rows])


def _named(row: Sequence[str], columns: Sequence[str], room: Room) -> Iterator[str]:
    """A row of a table as a list: the first cell, and the others with what they are."""
    yield from room.paragraph(row[0], 2)
    named = [f"{name}: {cell}" for name, cell in zip(columns[1:], row[1:], strict=True) if cell]
    if named:
        yield from room.enumeration(named, 4)


# --- Markdown ----------------------------------------------------------------------------------


def as_markdown(comparison: Comparison, old: str, new: str, *, max_rows: int = 200) -> str:
    """The comparison as Markdown tables for a comment or a step summary.

    max_rows: how many rows of each table are written; a line says how many were left out.
    """
    mark = "❌" if comparison.regressions else "✅"
    parts = [f"{mark} **{headline(comparison)}**", f"{markdown(old)} → {markdown(new)}"]
    parts += [_table(section, max_rows) for section in sections(comparison)]
    return "\n\n".join(parts) + "\n"


def _table(section: Section, max_rows: int) -> str:
    lines = [f"### {section.title}", ""]
    lines += [f"| {' | '.join(section.columns)} |", "|---" * len(section.columns) + "|"]
    lines += [_cells(row) for row in section.rows[:max_rows]]
    rest = len(section.rows) - max_rows
    if rest > 0:
        lines += ["", f"… and {plural(rest, f'more {section.one}')}, left out to keep this short."]
    return "\n".join(lines)


def _cells(row: Sequence[str]) -> str:
    return f"| {' | '.join(markdown(cell) if cell else '' for cell in row)} |"
