"""`--format github`: workflow commands, which GitHub shows as annotations.

GitHub keeps ten annotations a severity and step and drops the rest in silence, so at most ten
are written: where there are more, nine and one that says how many more. They are written at
the end, errors first; nothing else is written, so no text of a report can become a command.
"""

from __future__ import annotations

from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Severity
from benchlint.checker.formats.base import TOOL_NAME, Options, Summary, plural, relative_path
from benchlint.checker.formats.escape import cut, github_data, github_property, terminal

MAX_ANNOTATIONS = 10
# The runner cuts at 4,096 UTF-16 units; 2,000 characters are at most 4,000 of them.
MAX_MESSAGE = 2_000
_MAX_PATH = 1_000

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


class GithubFormat:
    """Keeps the first ten findings of each severity, and counts the others."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._options = options
        self._lines: dict[Severity, list[str]] = {severity: [] for severity in Severity}
        self._counts = dict.fromkeys(Severity, 0)

    def begin(self) -> None:
        """Nothing comes before the annotations."""

    def add(self, result: FileResult) -> None:
        """Note the findings of one file."""
        for finding in result.findings:
            self._counts[finding.severity] += 1
            if self._counts[finding.severity] <= MAX_ANNOTATIONS:
                self._lines[finding.severity].append(self._annotation(result.path, finding))

    def end(self, summary: Summary) -> None:  # noqa: ARG002
        """Write the annotations, errors first."""
        for severity, lines in self._lines.items():
            left_out = self._counts[severity] - (MAX_ANNOTATIONS - 1)
            if self._counts[severity] > MAX_ANNOTATIONS:
                lines[-1] = _more(severity, left_out)
            self._stream.writelines(line + "\n" for line in lines)

    def _annotation(self, path: str, finding: Finding) -> str:
        shown_path = relative_path(path, self._options.base) or path
        properties = {"file": terminal(shown_path, _MAX_PATH)}
        if finding.location:
            properties["line"] = str(finding.location.line)
            properties["col"] = str(finding.location.column)
            properties["endColumn"] = str(finding.location.end_column)
        properties["title"] = terminal(f"{finding.code} {finding.name}")
        return _command(finding.severity, properties, self._message(finding))

    def _message(self, finding: Finding) -> str:
        message = terminal(finding.message, MAX_MESSAGE)
        if finding.help and self._options.show_help:
            message += f"\nhelp: {terminal(finding.help, MAX_MESSAGE)}"
        return cut(message, MAX_MESSAGE)


def _more(severity: Severity, count: int) -> str:
    message = f"and {plural(count, f'more {severity.value}')}, which GitHub would not show"
    return _command(severity, {"title": TOOL_NAME}, message)


def _command(severity: Severity, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={github_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[severity]} {listed}::{github_data(message)}"
