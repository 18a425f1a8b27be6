"""`--format jsonl`: one finding a line, for `grep` and `jq`.

A line is a finding as in `--format json` with the `path` of its file in front. There is
nothing else: no head, no totals, and no line for a clean file, so the number of lines is the
number of findings.
"""

from __future__ import annotations

from typing import TextIO

from benchlint.checker.finding import FileResult
from benchlint.checker.formats.base import Options, Summary
from benchlint.checker.formats.escape import to_json
from benchlint.checker.formats.json_format import finding_object


class JsonLinesFormat:
    """Writes each finding as soon as its file is added."""

    def __init__(self, stream: TextIO, options: Options) -> None:  # noqa: ARG002
        self._stream = stream

    def begin(self) -> None:
        """Nothing comes before the first finding."""

    def add(self, result: FileResult) -> None:
        """Write one line for each finding of the file."""
        for finding in result.findings:
            line = to_json({"path": result.path, **finding_object(finding)})
            self._stream.write(line + "\n")

    def end(self, summary: Summary) -> None:
        """Nothing comes after the last finding."""
