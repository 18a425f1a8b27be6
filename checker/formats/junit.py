"""`--format junit`: XML for test dashboards. One suite a report, one case a finding.

Findings at or over `--fail-on` (errors, unless told otherwise) are failures. The others are
cases that pass, their text in `system-out`: a note says what a reader cannot check, and a
dashboard that counted it as a failure would be turned off. A clean report is one passing case.
"""

from __future__ import annotations

from typing import TextIO

from benchlint.checker.finding import FileResult, Finding
from benchlint.checker.formats.base import TOOL_NAME, Options, Summary
from benchlint.checker.formats.escape import xml

_MAX_TEXT = 4_000


class JunitFormat:
    """Writes each suite as soon as its report is added; the totals stand at the suites."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._fail_on = options.fail_on

    def begin(self) -> None:
        """Open the list of suites."""
        self._stream.write(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="{TOOL_NAME}">\n'
        )

    def add(self, result: FileResult) -> None:
        """Write the suite of one report."""
        path = xml(result.path)
        failures = sum(map(self._fails, result.findings))
        tests = len(result.findings) or 1
        self._stream.write(
            f'  <testsuite name="{path}" tests="{tests}" failures="{failures}"'
            ' errors="0" skipped="0">\n'
        )
        for finding in result.findings:
            self._stream.write(self._case(path, finding))
        if not result.findings:
            self._stream.write(f'    <testcase classname="{path}" name="no findings"/>\n')
        self._stream.write("  </testsuite>\n")

    def end(self, summary: Summary) -> None:  # noqa: ARG002
        """Close the list of suites."""
        self._stream.write("</testsuites>\n")

    def _fails(self, finding: Finding) -> bool:
        return self._fail_on is not None and finding.severity.rank >= self._fail_on.rank

    def _case(self, path: str, finding: Finding) -> str:
        name = xml(f"{finding.code} {finding.name} {_place(finding)}".strip())
        line = f' line="{finding.location.line}"' if finding.location else ""
        head = f'    <testcase classname="{path}" name="{name}" file="{path}"{line}>\n'
        return f"{head}{self._outcome(finding)}    </testcase>\n"

    def _outcome(self, finding: Finding) -> str:
        text = _text(finding)
        if not self._fails(finding):
            return f"      <system-out>{text}</system-out>\n"
        message = xml(finding.message, _MAX_TEXT)
        return f'      <failure type="{xml(finding.code)}" message="{message}">{text}</failure>\n'


def _place(finding: Finding) -> str:
    if finding.location:
        return f"{finding.location.line}:{finding.location.column}"
    return finding.pointer


def _text(finding: Finding) -> str:
    lines = [f"{finding.severity.value}: {xml(finding.message, _MAX_TEXT)}"]
    for related in finding.related:
        where = f"{related.location.line}:{related.location.column}: " if related.location else ""
        lines.append(where + xml(related.message))
    if finding.help:
        lines.append("help: " + xml(finding.help, _MAX_TEXT))
    return "\n".join(lines)
