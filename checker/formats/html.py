"""`--format html`: one page to open in a browser, for a whole folder of reports.

What is wrong and what to do come first, then a list of the files, then the findings file by
file, files with errors first, and the text of each rule that fired. No script, and no request
to anywhere. Files wait in temporary ones until the totals are known; after 25,000 findings of files
with the same worst severity, further such files are only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TextIO

from benchlint.checker.finding import FileResult, Finding, Severity
from benchlint.checker.formats.base import (
    MISSING_FAMILY,
    Options,
    Summary,
    count_phrase,
    count_severities,
    plural,
    split_missing,
)
from benchlint.checker.formats.spool import spool
from benchlint.checker.html_pages import as_markup, need_templates, page, write_page

MAX_FINDINGS = 25_000
#: Findings of one rule in one file that are shown with their excerpts.
MAX_IN_FULL = 3
#: Files that are unfolded from the start.
MAX_UNFOLDED = 3
#: Rules that are named in the summary.
MAX_NAMED = 5

_CHUNK = 1 << 16
#: Where a folded file may be unfolded; no text of a report comes with this character.
_FOLD = "\0"


@dataclass(slots=True)
class Tally:
    """How often a rule fired, and its first finding.

    path, id: the file of that, and the element with the findings of the file, if it has one.
    """

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    id: str
    count: int = 0


class HtmlFormat:
    """Renders each file as it is checked, and writes the page at the end."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        need_templates()
        self._stream = stream
        self._show_help = options.show_help
        self._tallies: dict[str, Tally] = {}
        self._reports = 0
        self._affected = dict.fromkeys(Severity, 0)
        self._findings = dict.fromkeys(Severity, 0)
        self._left_out = 0
        self._rows: dict[Severity, IO[str]] = {}
        self._bodies: dict[Severity, IO[str]] = {}

    def begin(self) -> None:
        """Nothing comes before the totals, which are known last."""

    def add(self, result: FileResult) -> None:
        """Lay by the row and the findings of one file, beside those as bad as it."""
        self._reports += 1
        worst = result.worst
        if worst is None:
            return
        self._affected[worst] += 1
        has_room = self._findings[worst] < MAX_FINDINGS
        self._count(result, self._id(worst) if has_room else "")
        if not has_room:
            self._left_out += 1
            return
        if worst not in self._bodies:
            self._rows[worst], self._bodies[worst] = spool(), spool()
        values = self._values(result, worst)
        self._findings[worst] += len(result.findings)
        self._rows[worst].write(page("findings_row.html", values))
        self._bodies[worst].write(page("findings_file.html", values))

    def end(self, summary: Summary) -> None:
        """Write the page, and remove what was laid by."""
        tallies = sorted(self._tallies.values(), key=lambda t: (-t.severity.rank, -t.count, t.code))
        values: dict[str, object] = {
            "headline": _headline(summary, self._reports, self._affected),
            "tone": next((s.value for s, count in summary.counts.items() if count), "clean"),
            "summary": summary,
            "totals": _totals(summary),
            "tallies": tallies,
            "named": tallies[:MAX_NAMED],
            "missing": any(t.code.startswith(MISSING_FAMILY) for t in tallies),
            "show_help": self._show_help,
            "left_out": self._left_out,
            "rows": map(as_markup, _pieces(self._rows)),
            "bodies": map(as_markup, _unfolded(_pieces(self._bodies))),
        }
        write_page(self._stream, "findings_page.html", values)

    def _values(self, result: FileResult, worst: Severity) -> dict[str, object]:
        placed, missing = split_missing(result.findings)
        in_full, brief = _split_brief(placed)
        return {
            "id": self._id(worst),
            "path": result.path,
            "counts": count_severities(result.findings),
            "phrase": count_phrase(count_severities(result.findings)),
            "fold": as_markup(_FOLD),
            "in_full": in_full,
            "brief": brief,
            "missing": missing,
            "show_help": self._show_help,
        }

    def _id(self, worst: Severity) -> str:
        return f"{worst.value}-{self._affected[worst]}"

    def _count(self, result: FileResult, element: str) -> None:
        for finding in result.findings:
            tally = self._tallies.get(finding.code)
            if tally is None:
                first = finding.message, result.path, element
                tally = Tally(finding.code, finding.name, finding.severity, *first)
                self._tallies[finding.code] = tally
            tally.count += 1


def _pieces(files: dict[Severity, IO[str]]) -> Iterator[str]:
    """What was laid by, files with the worst findings first."""
    for severity in Severity:
        if severity in files:
            with files.pop(severity) as file:
                file.seek(0)
                while piece := file.read(_CHUNK):
                    yield piece


def _unfolded(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces with the first files unfolded."""
    left = MAX_UNFOLDED
    for piece in pieces:
        here = min(left, piece.count(_FOLD))
        left -= here
        yield piece.replace(_FOLD, " open", here).replace(_FOLD, "")


def _headline(summary: Summary, reports: int, affected: dict[Severity, int]) -> str:
    """ "3 errors in 2 of 500 reports", of the worst severity there is."""
    for severity, count in summary.counts.items():
        if count:
            of = f"{affected[severity]:,} of " if reports > 1 else ""
            return f"{plural(count, severity.value)} in {of}{plural(reports, 'report')}"
    return f"No findings in {plural(reports, 'report')}"


def _totals(summary: Summary) -> str:
    """ "2 errors, 1 note in 3 files; 1 suppressed" """
    found = count_phrase(summary.counts) or "no findings"
    suppressed = f"; {summary.suppressed:,} suppressed" if summary.suppressed else ""
    return f"{found} in {plural(summary.files, 'file')}{suppressed}"


def _split_brief(findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The first few of each rule, and the others; the worst first."""
    ordered = sorted(findings, key=lambda finding: -finding.severity.rank)
    seen: Counter[str] = Counter()
    in_full: list[Finding] = []
    brief: list[Finding] = []
    for finding in ordered:
        seen[finding.code] += 1
        (in_full if seen[finding.code] <= MAX_IN_FULL else brief).append(finding)
    return in_full, brief
