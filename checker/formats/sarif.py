"""`--format sarif`: SARIF 2.1.0, one run, for code scanning.

GitHub takes at most 25,000 results a run. Errors are written as they come; warnings and notes
wait in temporary files (on disk beyond 1 MiB) and follow while there is room, so what is cut
is the least severe. The rules that fired are known only then, so `tool` comes after `results`.
Nothing depends on the clock, the machine or the order of files within a severity.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from benchlint.checker.finding import FileResult, Finding, Location, Related, Severity
from benchlint.checker.formats.base import TOOL_NAME, Options, Summary, plural, relative_path
from benchlint.checker.formats.escape import terminal, to_json
from benchlint.checker.formats.fingerprints import Fingerprints
from benchlint.checker.formats.spool import spool
from benchlint.checker.registry import rule_by_code

MAX_RESULTS = 25_000
MAX_RELATED = 50
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "benchlint/v1"
_SOURCE_ROOT = "%SRCROOT%"
_MAX_TEXT = 4_000
# The bytes of a file name that is not UTF-8 arrive as U+DC80 to U+DCFF; other lone surrogates
# have no bytes at all.
_NO_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")

JsonObject = dict[str, object]


class SarifFormat:
    """Writes results, then the rules they name, then how many results were left out."""

    def __init__(self, stream: TextIO, options: Options) -> None:
        self._stream = stream
        self._options = options
        self._rules: dict[str, Finding] = {}
        self._indexes: dict[str, int] = {}
        self._written = 0
        self._seen = 0
        self._waiting: dict[Severity, _Spool] = {}

    def begin(self) -> None:
        """Write the head, up to the open list of results."""
        self._stream.write(
            f'{{\n  "$schema": "{_SCHEMA}",\n  "version": "2.1.0",\n'
            '  "runs": [\n    {\n      "results": ['
        )

    def add(self, result: FileResult) -> None:
        """Write the errors of one file and lay its other findings by."""
        place = _artifact(result.path, self._options.base)
        fingerprints = Fingerprints(str(place["uri"]))
        for finding in result.findings:
            self._seen += 1
            fingerprint = fingerprints.of(finding)
            line = to_json(_result(finding, place, self._rule_index(finding), fingerprint))
            self._take(finding.severity, line)

    def end(self, summary: Summary) -> None:  # noqa: ARG002
        """Write what was laid by, while there is room, and close the run."""
        for severity in (Severity.WARNING, Severity.NOTE):
            if severity in self._waiting:
                with closing(self._waiting.pop(severity)) as lines:
                    for line in lines:
                        self._write(line)
        self._stream.write("\n      ]" if self._written else "]")
        for key, value in self._run_members().items():
            text = to_json(value, indent=2).replace("\n", "\n      ")
            self._stream.write(f',\n      "{key}": {text}')
        self._stream.write("\n    }\n  ]\n}\n")

    def _take(self, severity: Severity, line: str) -> None:
        if severity is Severity.ERROR:
            self._write(line)
        else:
            if severity not in self._waiting:
                self._waiting[severity] = _Spool()
            self._waiting[severity].append(line)

    def _write(self, line: str) -> None:
        if self._written < MAX_RESULTS:
            comma = "," if self._written else ""
            self._stream.write(f"{comma}\n        {line}")
            self._written += 1

    def _rule_index(self, finding: Finding) -> int:
        self._rules.setdefault(finding.code, finding)
        return self._indexes.setdefault(finding.code, len(self._indexes))

    def _run_members(self) -> JsonObject:
        driver: JsonObject = {"name": TOOL_NAME}
        if self._options.tool_version:
            driver["version"] = self._options.tool_version
        driver["rules"] = [_rule(finding) for finding in self._rules.values()]
        root = {"description": {"text": "The folder that the paths are relative to."}}
        return {
            "tool": {"driver": driver},
            "invocations": [self._invocation()],
            "originalUriBaseIds": {_SOURCE_ROOT: root},
            "columnKind": "unicodeCodePoints",
        }

    def _invocation(self) -> JsonObject:
        left_out = self._seen - self._written
        invocation: JsonObject = {"executionSuccessful": True}
        if left_out:
            text = (
                f"{plural(left_out, 'result')} of {self._seen:,} left out: a run may have "
                f"{MAX_RESULTS:,}. Errors were kept first, then warnings."
            )
            notification = {"level": "warning", "message": {"text": text}}
            invocation["toolExecutionNotifications"] = [notification]
        return invocation


class _Spool:
    """Lines laid by in a temporary file, as many as a run may have results."""

    def __init__(self) -> None:
        self._file = spool()
        self._count = 0

    def append(self, line: str) -> None:
        """Keep the line, unless there are already more than a run may have."""
        if self._count < MAX_RESULTS:
            self._file.write(line + "\n")
            self._count += 1

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        for line in self._file:
            yield line.rstrip("\n")

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def _result(finding: Finding, place: JsonObject, index: int, fingerprint: str) -> JsonObject:
    location = _location(place, finding.location)
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": terminal(finding.pointer)}]
    result: JsonObject = {
        "ruleId": terminal(finding.code),
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": _message(finding)},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }
    if finding.related:
        numbered = enumerate(finding.related[:MAX_RELATED], start=1)
        result["relatedLocations"] = [_related(place, number, each) for number, each in numbered]
    return result


def _location(place: JsonObject, at: Location | None) -> JsonObject:
    """One region on one line: GitHub shows no other. What has no place stands at line 1."""
    line, first, last = (at.line, at.column, at.end_column) if at else (1, 1, 1)
    region = {"startLine": line, "startColumn": first, "endLine": line, "endColumn": last}
    return {"physicalLocation": {"artifactLocation": place, "region": region}}


def _related(place: JsonObject, number: int, related: Related) -> JsonObject:
    message = {"text": _plain(terminal(related.message))}
    return {"id": number, "message": message, **_location(place, related.location)}


def _message(finding: Finding) -> str:
    message = terminal(finding.message, _MAX_TEXT)
    if finding.help:
        message += f"\nhelp: {terminal(finding.help, _MAX_TEXT)}"
    return _plain(message)


def _plain(text: str) -> str:
    """`text` without the links that SARIF reads in messages: [text](target), section 3.11.6."""
    return text.replace("](", "] (")


def _artifact(path: str, base: str | os.PathLike[str] | None) -> JsonObject:
    relative = relative_path(path, base)
    if relative is None:
        absolute = Path(path).absolute().as_posix().lstrip("/")
        return {"uri": f"file:///{_percent(absolute)}"}
    return {"uri": _percent(relative), "uriBaseId": _SOURCE_ROOT}


def _percent(path: str) -> str:
    """The path's bytes, percent-encoded. A colon too: before a slash it would end a scheme."""
    return quote(_NO_BYTES.sub("\ufffd", path).encode("utf-8", "surrogateescape"), safe="/")


def _rule(finding: Finding) -> JsonObject:
    """The rule's own text where the registry has it, else what its first finding tells."""
    rule = rule_by_code(finding.code)
    text = inspect.cleandoc(rule.text) if rule else ""
    summary = text.partition("\n\n")[0].replace("\n", " ") or terminal(finding.name)
    severity = rule.severity if rule else finding.severity
    return {
        "id": terminal(finding.code),
        "name": terminal(finding.name),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "help": {"text": text or summary, "markdown": _sections(text) or summary},
        "defaultConfiguration": {"level": severity.value},
    }


def _sections(text: str) -> str:
    """A rule's text with its headings in bold and what stands under them not indented."""
    bold = re.sub(r"\n+(\w[^\n]*):\n", r"\n\n**\1**\n\n", text)
    return re.sub("(?m)^    ", "", bold)
