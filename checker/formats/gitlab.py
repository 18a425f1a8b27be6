"""`--format gitlab`: a code quality report, which GitLab shows on merge requests.

An array of issues of the Code Climate form, as far as GitLab reads it: description, check_name,
fingerprint, severity, and location (GitLab's documentation, "Code Quality", "Code Quality report
format").
"""

from __future__ import annotations

from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Severity
from benchlint.checker.formats.base import Options, Summary, relative_path
from benchlint.checker.formats.escape import terminal, to_json
from benchlint.checker.formats.fingerprints import Fingerprints

MAX_MESSAGE = 2_000
_MAX_PATH = 1_000

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


class GitlabFormat:
    """Writes one issue a line, as they come."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._options = options
        self._any = False

    def begin(self) -> None:
        """Open the array."""
        self._stream.write("[")

    def add(self, result: FileResult) -> None:
        """Write the issues of one file."""
        path = terminal(relative_path(result.path, self._options.base) or result.path, _MAX_PATH)
        fingerprints = Fingerprints(path)
        for finding in result.findings:
            issue = self._issue(path, finding, fingerprints.of(finding))
            self._stream.write(("," if self._any else "") + "\n" + to_json(issue))
            self._any = True

    def end(self, summary: Summary) -> None:  # noqa: ARG002
        """Close the array."""
        self._stream.write("\n]\n" if self._any else "]\n")

    def _issue(self, path: str, finding: Finding, fingerprint: str) -> dict[str, object]:
        message = terminal(finding.message, MAX_MESSAGE)
        if finding.help and self._options.show_help:
            message += f"; help: {terminal(finding.help, MAX_MESSAGE)}"
        line = finding.location.line if finding.location else 1
        return {
            "description": message,
            "check_name": terminal(f"{finding.code} {finding.name}"),
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {"path": path, "lines": {"begin": line}},
        }
