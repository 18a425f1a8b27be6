"""What was measured and what is missing, in words for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchlint.checker.finding import Finding
from benchlint.checker.formats.escape import at_line_start, terminal, width
from benchlint.checker.profiles import MISSING
from benchlint.what_is_missing import Missing

_HEAD = ("run", "tok/s", "accepted length", "speed-up")

#: What this program can measure itself.
_HINTS = {
    "BL111": " (--engine llama-cpp measures a perplexity)",
    "BL114": " (measure again: with --baseline-endpoint URL, or without --no-baseline)",
}

#: Longest name of a run in the table.
_LONGEST = 60


def table(report: dict[str, Any]) -> str:
    """A line for each run that counts: decode speed, τ, and speed-up; and what ± means."""
    rows = [_HEAD, *(_row(run) for run in report.get("runs", ()) if "void" not in run)]
    if len(rows) == 1:
        return ""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = (*(_aligned(row, widths) for row in rows), *_footnote(report))
    return "".join(f"{line}\n" for line in lines)


def _footnote(report: dict[str, Any]) -> Iterator[str]:
    """What ± is of, where there is one."""
    speeds = [_speed(run) for run in report.get("runs", ()) if "void" not in run]
    rounds = sorted({each["repeats"] for each in speeds if "stdev" in each})
    if rounds:
        many = f"{rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else f"{rounds[0]}"
        yield f"±: standard deviation between the {many} rounds of a run, no confidence interval"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (cell + " " * (w - width(cell)) for cell, w in zip(row, widths, strict=True))
    return "  ".join((first, *rest)).rstrip()


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    speed = _speed(run)
    length = run.get("speculation", {}).get("accepted_length", {})
    spread = f" ± {_digits(speed['stdev'])}" if "stdev" in speed else ""
    return (
        at_line_start(terminal(run["id"], _LONGEST)),
        _digits(speed.get("value")) + spread,
        _digits(length.get("value")),
        _digits(run.get("speedup", {}).get("value")),
    )


def _speed(run: dict[str, Any]) -> dict[str, Any]:
    """The decode speed as a measured object, or nothing."""
    found: dict[str, Any] = run.get("decode", {}).get("tok_s", {})
    return found


def _digits(number: object) -> str:
    return "" if number is None else str(getattr(number, "text", number))


def withdrawn(report: dict[str, Any]) -> Iterator[str]:
    """Runs that do not count, and why."""
    for run in report.get("runs", ()):
        if "void" in run:
            yield f"{run['id']} was not measured: {run['void']}"


def said_of(findings: Sequence[Finding], missing: Sequence[Missing], folder: Path) -> Iterator[str]:
    """What `check --profile publish` says of the report, and how to tell what is missing.

    folder: of the run.
    """
    for each in findings:
        if not each.code.startswith(MISSING) and each.severity.rank > 1:
            yield f"check: {each.severity} {each.code}: {each.message}"
    if missing:
        command = shlex.join(("benchlint", "measure", "--resume", "--out", str(folder)))
        yield f"still missing; `{command}` takes it with (values are examples)"
    for lack in missing:
        yield f"  {lack.weighs} {lack.code} {lack.text}{_HINTS.get(lack.code, '')}"
        yield from (f"    {each.option}" for each in lack.lacking)
