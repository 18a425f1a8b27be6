"""What every output format shares: its interface, its options, and the totals."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from benchlint.checker.finding import FileResult, Finding, Severity

TOOL_NAME = "benchlint"
MISSING_FAMILY = "BL1"

#: How the help of what another tool's output lacks ends: the fields to add follow.
BY_HAND = "`benchlint convert` it and add"


class Shown(IntEnum):
    """How much an output shows of a finding that something is missing (BL1).

    NAME: only what is missing. PLACE: also where. ALL: also every other place that lacks it.
    """

    NAME = 0
    PLACE = 1
    ALL = 2


class Format(Protocol):
    """A writer of findings: `begin`, then `add` for each file as it is checked, then `end`.

    Constructed with a text stream and `Options`. The stream must be able to hold any Unicode
    text, so open it as UTF-8: lone surrogates never reach it, everything else may. Nothing a
    format keeps grows with the number of files.
    """

    def begin(self) -> None:
        """Write what comes before the first file."""

    def add(self, result: FileResult) -> None:
        """Write, or note, the findings of one file."""

    def end(self, summary: Summary) -> None:
        """Write what comes after the last file."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can choose about the output. Each format takes what concerns it.

    color: ANSI colours (text).
    show_help: the help lines (text, markdown, github).
    tool_version: benchlint's own version (json, sarif).
    base: the folder that paths are made relative to (sarif, github), usually the root of the
        repository; None takes the current folder.
    fail_on: findings this severe are failures (junit); None for no failure at all.
    max_bytes: size limit of the output in bytes of UTF-8 (markdown). A step summary may have
        1 MiB, a comment some 60,000.
    columns: the width of the terminal that is written to (text); None for no limit.
    """

    color: bool = False
    show_help: bool = True
    tool_version: str = ""
    base: str | os.PathLike[str] | None = None
    fail_on: Severity | None = Severity.ERROR
    max_bytes: int = 1_000_000
    columns: int | None = None


@dataclass(slots=True)
class Summary:
    """Totals over all files. A file that holds several reports counts once.

    fixable: how many values --fix would write.
    """

    files: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    suppressed: int = 0
    fixable: int = 0
    _last_path: str | None = None

    def add(self, result: FileResult) -> None:
        """Count the findings of `result`. Reports of one file must come one after another."""
        if result.path != self._last_path:
            self.files += 1
            self._last_path = result.path
        counts = count_severities(result.findings)
        self.errors += counts[Severity.ERROR]
        self.warnings += counts[Severity.WARNING]
        self.notes += counts[Severity.NOTE]
        self.suppressed += result.suppressed
        self.fixable += result.fixable

    @property
    def findings(self) -> int:
        """Errors, warnings and notes together."""
        return self.errors + self.warnings + self.notes

    @property
    def counts(self) -> dict[Severity, int]:
        """The totals by severity, the worst first."""
        return {
            Severity.ERROR: self.errors,
            Severity.WARNING: self.warnings,
            Severity.NOTE: self.notes,
        }


#: An enumeration is asked for its members by a function in Python.
_SEVERITIES = tuple(Severity)


def count_severities(findings: tuple[Finding, ...] | list[Finding]) -> dict[Severity, int]:
    """How many findings there are of each severity, the worst first."""
    counts = dict.fromkeys(_SEVERITIES, 0)
    for finding in findings:
        counts[finding.severity] += 1
    return counts


def count_phrase(counts: dict[Severity, int]) -> str:
    """The counts in words, leaving out zeros: "2 errors, 1 warning"."""
    return ", ".join(plural(n, severity.value) for severity, n in counts.items() if n)


def plural(count: int, noun: str) -> str:
    """The count with its noun: "1 file", "1,200 files"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def split_missing(findings: tuple[Finding, ...]) -> tuple[list[Finding], list[Finding]]:
    """The findings that stand at a place, and those that say something is missing (BL1).

    The latter are sorted by severity, the worst first, and then by code.
    """
    placed = [f for f in findings if not f.code.startswith(MISSING_FAMILY)]
    missing = [f for f in findings if f.code.startswith(MISSING_FAMILY)]
    return placed, sorted(missing, key=lambda each: (-each.severity.rank, each.code))


def relative_path(path: str, base: str | os.PathLike[str] | None) -> str | None:
    """`path` below `base` with forward slashes, or None when it lies elsewhere."""
    # Not Path.resolve: a symbolic link in the repository belongs to the repository.
    root = os.path.abspath(base if base is not None else os.curdir)  # noqa: PTH100
    try:
        relative = os.path.relpath(os.path.abspath(path), root)  # noqa: PTH100
    except ValueError:  # another drive of Windows
        return None
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return relative.replace(os.sep, "/")
