"""The outcome as Markdown: for the step summary, and for the comment on a pull request.

The verdict comes first, then what a re-run said, what changed in reports that were there before,
the findings with the worst first, and notices. All of it is cut at a row when there is too much.
Whatever may come from a report stands in code spans (`escape.markdown`).
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator

from benchlint.action.outcome import RERUN_OUTCOMES, ChangedReport, Outcome, Rerun, Ruling
from benchlint.checker.compare_text import as_markdown, headline
from benchlint.checker.finding import FileResult, Severity
from benchlint.checker.formats.base import Options, Summary, count_phrase, plural
from benchlint.checker.formats.escape import markdown
from benchlint.checker.formats.markdown import MarkdownFormat
from benchlint.checker.numbers import shown

#: A step summary may have 1 MiB; more fails the upload.
SUMMARY_BYTES = 900_000

#: A comment may have 65,536 characters, of which this leaves some room.
COMMENT_BYTES = 60_000

_MOST_LISTED = 20
_MOST_NOTICES = 10
_ROWS = (200, 50, 10, 3)
_MARKS = {"errors": "❌", "warnings": "⚠️", "clean": "✅", "nothing": "✅"}
_ADVICE = {
    "refuted": (
        "Correct what did not hold when it was run again, or state the machine and the settings "
        "with which it does."
    ),
    "errors": (
        "Mend the errors. Each is a contradiction that no reading and no rounding of the printed "
        "digits explains; its row says with which numbers, and what to report instead."
    ),
    "warnings": (
        "Nothing contradicts itself. Each row says what to add or to measure, so that others can "
        "trust the numbers and repeat them."
    ),
}
_RERUN_MARKS = {"reproduced": "✅", "refuted": "❌", "failed": "❌"}
_RULINGS = (
    "| | what the report says | measured | why | tolerance | rounds |\n|---|---|---|---|---|---|"
)


def summary_markdown(outcome: Outcome, max_bytes: int, run_url: str = "") -> str:
    """The outcome in at most `max_bytes` bytes of UTF-8."""
    head = "\n\n".join(_within(max_bytes // 3, _head(outcome)))
    foot = _foot(run_url)
    room = max_bytes - _size(head) - _size(foot) - 200
    reruns = _reruns(outcome.reruns, room // 3)
    room -= _size(reruns)
    changed = _changed(outcome.changed, room // 2)
    findings = _findings(outcome, room - _size(changed))
    return "\n\n".join(part for part in (head, reruns, findings, changed, foot) if part) + "\n"


def _head(outcome: Outcome) -> Iterator[str]:
    yield f"## {_worst_mark(outcome)} benchlint: {_sentence(outcome)}{_said_again(outcome.reruns)}"
    if advice := " ".join(_advice(outcome)):
        yield f"**What to do:** {advice}"
    moved = [each for each in outcome.changed if each.comparison and each.comparison.regressions]
    if moved:
        yield _listed("Worse than before in", [each.path for each in moved])
    if outcome.deleted:
        yield _listed("Deleted:", outcome.deleted)
    yield from (f"> {markdown(notice)}" for notice in outcome.notices[:_MOST_NOTICES])


def _within(room: int, parts: Iterable[str]) -> Iterator[str]:
    """The first parts, as many as there is room for."""
    for part in parts:
        room -= _size(part) + 2
        if room < 0:
            return
        yield part


def _worst_mark(outcome: Outcome) -> str:
    if _is_refuted(outcome):
        return _MARKS["errors"]
    failed = any(each.outcome == "failed" for each in outcome.reruns)
    is_good = outcome.verdict in ("clean", "nothing")
    return _MARKS["warnings" if failed and is_good else outcome.verdict]


def _is_refuted(outcome: Outcome) -> bool:
    return any(each.outcome == "refuted" for each in outcome.reruns)


def _advice(outcome: Outcome) -> Iterator[str]:
    if _is_refuted(outcome):
        yield _ADVICE["refuted"]
    if outcome.verdict == "errors" or (outcome.verdict == "warnings" and not _is_refuted(outcome)):
        yield _ADVICE[outcome.verdict]


def _sentence(outcome: Outcome) -> str:
    if not outcome.reports:
        return "no report changed" if outcome.scope == "changed" else "no report to check"
    counts = {severity: outcome.count(severity) for severity in Severity}
    reports = plural(outcome.reports, "report")
    which = f"changed {reports.partition(' ')[2]}" if outcome.scope == "changed" else ""
    where = f"{outcome.reports:,} {which}" if which else reports
    return f"{count_phrase(counts) or 'nothing found'} in {where}"


def _said_again(reruns: list[Rerun]) -> str:
    """What came out when reports were run again, for the end of the first line."""
    if not reruns:
        return ""
    counts = Counter[str](each.outcome for each in reruns)
    words = {"refuted": "refuted", "failed": "not run", "reproduced": "reproduced"}
    said = [f"{counts[outcome]:,} {word}" for outcome, word in words.items() if counts[outcome]]
    return f"; run again: {', '.join(said) or 'nothing decided'}"


def _listed(title: str, paths: list[str]) -> str:
    rest = len(paths) - _MOST_LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{title} {', '.join(markdown(path, 200) for path in paths[:_MOST_LISTED])}{more}"


# What came out when reports were run again


def _reruns(reruns: list[Rerun], room: int) -> str:
    """A row for each report, the refuted first, and for each what came out of what it says."""
    if not reruns:
        return ""
    ordered = sorted(reruns, key=lambda each: (each.outcome != "refuted", each.outcome != "failed"))
    names = "| | report | reproduced | refuted | inconclusive | not testable |"
    head = ["### Run again", "", names, "|---|---|---|---|---|---|"]
    rows = list(_within(room // 2, map(_rerun, ordered[:_MOST_LISTED])))
    rest = len(ordered) - len(rows)
    parts = ["\n".join([*head, *rows]), *([f"… and {rest:,} more."] if rest else [])]
    room -= sum(map(_size, parts))
    for each in ordered[: len(rows)]:
        texts = (_rulings(each, count) for count in _ROWS if each.rulings)
        part = next((text for text in texts if _size(text) <= room), "")
        room -= _size(part) + 2
        parts += [part] * bool(part)
    return "\n\n".join(parts)


def _rerun(each: Rerun) -> str:
    mark = _mark(each.outcome)
    counts = " | ".join(str(each.counts.get(name, 0)) for name in RERUN_OUTCOMES)
    note = f"<br>{markdown(each.note)}" if each.note else ""
    return f"| {mark} {each.outcome} | {markdown(each.path, 200)}{note} | {counts} |"


def _rulings(each: Rerun, most: int) -> str:
    """The table of one report; unfolded where something does not hold."""
    refuted = each.outcome == "refuted"
    said = "claims and numbers" + (", first those that did not hold" if refuted else "")
    rows = [_ruling(ruling) for ruling in each.rulings[:most]]
    rest = len(each.rulings) - len(rows)
    more = f"\n\n… and {rest:,} more in `verdict.html`." if rest else ""
    opening = f"<details{' open' * refuted}><summary>{_mark(each.outcome)} {said}</summary>"
    table = "\n".join([_RULINGS, *rows])
    return f"{markdown(each.path, 200)}\n{opening}\n\n{table}{more}\n\n</details>"


def _ruling(ruling: Ruling) -> str:
    cells = (
        f"{_mark(ruling.outcome)} {ruling.outcome}",
        markdown(ruling.says),
        "" if ruling.value is None else shown(ruling.value),
        markdown(ruling.reason),
        "" if ruling.tolerance is None else f"{100 * ruling.tolerance:.3g} %",
        str(ruling.units or ""),
    )
    return f"| {' | '.join(cells)} |"


def _mark(outcome: str) -> str:
    return _RERUN_MARKS.get(outcome, "❔")


# What was found


def _findings(outcome: Outcome, room: int) -> str:
    """The tables of findings; their first line, which counts them, stands in the head already."""
    results = [file.result() for file in outcome.files]
    if not any(result.findings for result in results):
        return ""
    text = io.StringIO()
    writer = MarkdownFormat(text, Options(max_bytes=room))
    _write(writer, results)
    return text.getvalue().partition("\n")[2].strip()


def _write(writer: MarkdownFormat, results: Iterable[FileResult]) -> None:
    totals = Summary()
    writer.begin()
    for result in results:
        totals.add(result)
        writer.add(result)
    writer.end(totals)


# What changed


def _changed(reports: list[ChangedReport], room: int) -> str:
    told = [each for each in reports if each.note or _differs(each)]
    if not told:
        return ""
    parts, room = ["### What changed"], room - 200
    for number, each in enumerate(told):
        part = _fitting(each, room)
        if not part:
            parts.append(f"… and {plural(len(told) - number, 'more changed report')}.")
            break
        room -= _size(part) + 2
        parts.append(part)
    return "\n\n".join(parts)


def _differs(report: ChangedReport) -> bool:
    return report.comparison is not None and not report.comparison.empty


def _fitting(report: ChangedReport, room: int) -> str:
    """As much of the comparison as there is room for; "" where there is none."""
    texts = (_comparison(report, rows) for rows in _ROWS)
    return next((text for text in texts if _size(text) <= room), "")


def _comparison(report: ChangedReport, rows: int) -> str:
    name = markdown(report.path, 200)
    if report.comparison is None:
        return f"{name}: cannot be compared with what it was: {markdown(report.note)}"
    details = as_markdown(report.comparison, report.old, report.path, max_rows=rows)
    parts = details.split("\n\n")[1 if report.old != report.path else 2 :]
    tables = "\n\n".join(parts).replace("### ", "#### ")
    # GitHub shows Markdown within <summary> as text, and the headline is our own words.
    said = headline(report.comparison)
    mark = "❌" if report.comparison.regressions else "✅"
    summary = f"<details><summary>{mark} {said}</summary>"
    return f"{name}\n{summary}\n\n{tables}\n</details>"


def _foot(run_url: str) -> str:
    return f"<sub>[The run]({run_url}) has the page with all findings.</sub>" if run_url else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
