"""The files of a verdict, made from samples.jsonl alone.

The same journal gives the same bytes, on any machine: verdict.json, verdict.md and verdict.html,
whose drawings are as the installed matplotlib makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchlint.checker.atomic import write
from benchlint.checker.one_report import OneReport
from benchlint.reproducers.journal import End, Journal, Scored, Void, read
from benchlint.reproducers.judgement import Judgement, judge
from benchlint.reproducers.plan_data import journal_plan
from benchlint.reproducers.report_environment import stated_environment
from benchlint.reproducers.report_text import report_of
from benchlint.reproducers.verdict_json import verdict_bytes, verdict_data
from benchlint.reproducers.verdict_markdown import verdict_markdown

#: The journal's name in its folder.
SAMPLES = "samples.jsonl"

PAGE = "verdict.html"
_DATA, _TEXT = "verdict.json", "verdict.md"

#: The files of a verdict, beside its journal.
RESULTS = (_DATA, _TEXT, PAGE)


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, the journal that it is on, and the report that was run again, if one was."""

    judgement: Judgement
    journal: Journal
    report: OneReport | None

    @property
    def failure(self) -> str:
        """Why nothing at all could be measured, or "".

        Whoever stops before the first answer gets the verdict on nothing instead.
        """
        journal, ends = self.journal, self.journal.of_kind(End)
        stopped = bool(ends) and ends[-1].reason in ("budget", "interrupted")
        if stopped or journal.samples or len(journal.of_kind(Scored)):
            return ""
        return first_fault(journal)


def first_fault(journal: Journal) -> str:
    """What first went wrong: why something is void, else why measuring ended; or ""."""
    ends = journal.of_kind(End)
    voids = (void.reason for void in journal.of_kind(Void))
    return next(voids, "") or (ends[-1].message if ends else "")


def judged(folder: Path) -> Judged:
    """The judgement on the journal of a folder. Raises JournalError."""
    path = folder / SAMPLES
    journal = read(path)
    plan = journal_plan(journal, str(path))
    text = None if journal.planned is None else journal.planned.report
    report = None if text is None else report_of(text, str(path))
    facts = None if report is None else report.facts
    stated = {} if facts is None else stated_environment(facts)
    return Judged(judge(plan, journal, stated, facts), journal, report)


def write_verdict(folder: Path, found: Judged) -> Exception | None:
    """Write the three files, each whole or not at all. Raises OSError.

    The page comes last: whatever the libraries that draw it may do, the verdict is there. What
    kept the page from being drawn is returned.
    """
    for name, data in _data_files(found).items():
        write(str(folder / name), data)
    try:
        page = _page(found).encode()
    except Exception as error:
        (folder / PAGE).unlink(missing_ok=True)  # of another verdict
        return error
    write(str(folder / PAGE), page)
    return None


def _data_files(found: Judged) -> dict[str, bytes]:
    return {
        _DATA: verdict_bytes(found.judgement),
        _TEXT: verdict_markdown(found.judgement).encode(),
    }


def _page(found: Judged) -> str:
    # It imports what draws, which takes a second.
    from benchlint.reproducers.verdict_page import TITLE, verdict_page

    planned, report = found.journal.planned, found.report
    title = None if report is None else report.facts.model.title
    return verdict_page(
        verdict_data(found.judgement),
        [] if report is None else [report.document.placed(each) for each in report.findings],
        () if planned is None else planned.repeat,
        TITLE if title is None else f"{TITLE}: {title}",
    )
