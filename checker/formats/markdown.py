"""`--format markdown`: tables for a pull request comment or a step summary.

The totals come first, then one table a report, the reports with the worst findings first and
the worst findings of a report first, then what is missing (BL1) as a folded list. At the size
limit (`Options.max_bytes`) the output ends at a row, and a line says how many were left out.
Whatever may quote a report stands in a code span, see `escape.markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Related, Severity
from benchlint.checker.formats.base import (
    Options,
    Summary,
    count_phrase,
    count_severities,
    plural,
    split_missing,
)
from benchlint.checker.formats.escape import markdown

MAX_RELATED = 8
# Kept free for the totals and for the line that says what was left out.
_RESERVE = 500
# What is wrong comes before where: on a phone, only the first columns are seen.
_TABLE_HEAD = "| | finding | place and rule |\n|---|---|---|\n"
_LABELS = {
    Severity.ERROR: "❌ error",
    Severity.WARNING: "⚠️ warning",
    Severity.NOTE: "ℹ️ note",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows that stand or fall with what opens and closes them."""

    opening: str
    rows: tuple[str, ...]
    closing: str = ""


class MarkdownFormat:
    """Keeps rows up to the size limit for each severity, and writes at the end."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._show_help = options.show_help
        self._room = max(0, options.max_bytes - _RESERVE)
        self._blocks: dict[Severity, list[_Block]] = {severity: [] for severity in Severity}
        self._kept = dict.fromkeys(Severity, 0)
        self._left_out = 0

    def begin(self) -> None:
        """Nothing comes before the totals, which are known last."""

    def add(self, result: FileResult) -> None:
        """Keep the tables of one report, if they can still have room."""
        if result.worst is None:
            return
        for block in self._report(result):
            size = sum(map(_size, block.rows))
            if self._kept[result.worst] > self._room:
                self._left_out += len(block.rows)
            else:
                self._blocks[result.worst].append(block)
                self._kept[result.worst] += size

    def end(self, summary: Summary) -> None:
        """Write the totals and all rows that have room."""
        found = count_phrase(summary.counts) or "no findings"
        suppressed = f" ({summary.suppressed:,} suppressed)" if summary.suppressed else ""
        self._stream.write(f"**{found}** in {plural(summary.files, 'file')}{suppressed}\n")
        for blocks in self._blocks.values():
            for block in blocks:
                self._write(block)
        if self._left_out:
            rows = plural(self._left_out, "finding")
            self._stream.write(f"\n… and {rows} more, left out to keep this short.\n")

    def _write(self, block: _Block) -> None:
        frame = _size(block.opening) + _size(block.closing)
        rows = list(self._fitting(block.rows, self._room - frame))
        if rows:
            self._stream.write(block.opening + "".join(rows) + block.closing)
            self._room -= frame + sum(map(_size, rows))
        if len(rows) < len(block.rows):
            self._left_out += len(block.rows) - len(rows)
            self._room = 0  # the cut is final: a later block may lack its heading

    def _fitting(self, rows: tuple[str, ...], room: int) -> Iterator[str]:
        for row in rows:
            room -= _size(row)
            if room < 0:
                return
            yield row

    def _report(self, result: FileResult) -> Iterator[_Block]:
        placed, missing = split_missing(result.findings)
        title = f"\n### {markdown(result.path)}\n\n"
        if placed:
            rows = tuple(self._row(finding) for finding in _worst_first(placed))
            yield _Block(title + _TABLE_HEAD, rows)
        if missing:
            counts = count_phrase(count_severities(missing))
            opening = f"<details><summary>missing: {counts}</summary>\n\n"
            items = tuple(map(_item, missing))
            yield _Block(("\n" if placed else title) + opening, items, "\n</details>\n")

    def _row(self, finding: Finding) -> str:
        at = finding.location
        rule = f"{markdown(finding.code)} {markdown(finding.name)}"
        lines = [markdown(finding.message), *_related(finding.related)]
        if finding.help and self._show_help:
            lines.append(f"help: {markdown(finding.help)}")
        place = f"{at.line}:{at.column}<br>" if at else ""
        return f"| {_LABELS[finding.severity]} | {'<br>'.join(lines)} | {place}{rule} |\n"


def _related(related: tuple[Related, ...]) -> Iterator[str]:
    for each in related[:MAX_RELATED]:
        at = each.location
        yield (f"{at.line}:{at.column} " if at else "") + markdown(each.message)
    if len(related) > MAX_RELATED:
        yield f"and {plural(len(related) - MAX_RELATED, 'more number')}"


def _item(finding: Finding) -> str:
    rule = f"{markdown(finding.code)} {markdown(finding.name)}"
    return f"- {_LABELS[finding.severity]} {rule}: {markdown(finding.message)}\n"


def _worst_first(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -finding.severity.rank)


def _size(text: str) -> int:
    return len(text.encode())
