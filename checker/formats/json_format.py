"""`--format json`: one object, described by schemas/findings-v1.json.

Files are written as they come, so the output is valid JSON only when `end` was reached. A
file that holds several reports has one entry for each of them.
"""

from __future__ import annotations

from typing import TextIO

from benchlint.checker.finding import FileResult, Finding, Related
from benchlint.checker.formats.base import TOOL_NAME, Options, Summary
from benchlint.checker.formats.escape import to_json

OUTPUT_VERSION = "1"

#: A longer pointer has a name in it that is none, and every finding below it would repeat it.
LONGEST_POINTER = 2_000

JsonObject = dict[str, object]


class JsonFormat:
    """Writes the object with two spaces of indent, one file at a time."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._version = options.tool_version
        self._any_file = False

    def begin(self) -> None:
        """Write the head, up to the open list of files."""
        tool = to_json({"name": TOOL_NAME, "version": self._version})
        self._stream.write(f'{{\n  "version": "{OUTPUT_VERSION}",\n  "tool": {tool},\n  "files": [')

    def add(self, result: FileResult) -> None:
        """Write the entry of one file."""
        entry = {
            "path": result.path,
            "findings": [finding_object(finding) for finding in result.findings],
            "suppressed": result.suppressed,
        }
        # No string of the entry holds a raw newline, so each one is the indent's own.
        text = to_json(entry, indent=2).replace("\n", "\n    ")
        self._stream.write(("," if self._any_file else "") + "\n    " + text)
        self._any_file = True

    def end(self, summary: Summary) -> None:
        """Close the list and write the totals."""
        totals = {
            "files": summary.files,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "notes": summary.notes,
            "suppressed": summary.suppressed,
        }
        closing = "\n  ]" if self._any_file else "]"
        self._stream.write(f'{closing},\n  "summary": {to_json(totals)}\n}}\n')


def finding_object(finding: Finding) -> JsonObject:
    """The finding as the schema has it. Positions are null where there is no place to show."""
    at = finding.location
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "pointer": _shortened(finding.pointer),
        "line": at.line if at else None,
        "column": at.column if at else None,
        "end_column": at.end_column if at else None,
        "related": [_related_object(related) for related in finding.related],
        "help": finding.help,
    }


def _related_object(related: Related) -> JsonObject:
    at = related.location
    return {
        "pointer": _shortened(related.pointer),
        "message": related.message,
        "line": at.line if at else None,
        "column": at.column if at else None,
    }


def _shortened(pointer: str) -> str:
    """The pointer; where it is too long, that of the nearest value around."""
    if len(pointer) <= LONGEST_POINTER:
        return pointer
    return pointer[: LONGEST_POINTER + 1].rpartition("/")[0]
