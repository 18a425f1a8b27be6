"""Reading the one report that a command is about; for commands that cannot go on without it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits, Document, Parsed, parse_text
from benchlint.checker.errors import CannotRunError
from benchlint.checker.facts import ReportFacts
from benchlint.checker.files import STDIN, STDIN_NAME
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.reading import reports
from benchlint.checker.validate import validate


@dataclass(frozen=True, slots=True)
class OneReport:
    """A report that was read, its facts, and what the rules find in it.

    left_out: how many members the facts lack, since the format does not have them or their type.
    """

    document: Document
    facts: ReportFacts
    left_out: int = 0

    @property
    def findings(self) -> list[Finding]:
        """All findings, none left out by a configuration; without locations."""
        return check_tree(self.document.tree)

    def as_json(self) -> str:
        """The report as JSON text; numbers keep their digits."""
        if self.document.language == "json":
            return self.document.text
        return json_with_digits(self.document.tree) + "\n"


def read_one(path: str, *, limit_bytes: int) -> OneReport:
    """The only report in a file ("-" is standard input).

    Raises CannotRunError, with what is wrong and where, when there is no report, more than
    one, or one that is not of the format.
    """
    name, found = called(path), list(read_all(path, limit_bytes))
    held = [p.report for p in found if p.report is not None]
    if len(held) != 1:
        raise CannotRunError(f"{name} holds {len(held)} reports; this command takes one")
    return resolved(name, _original(held[0]))


def called(path: str) -> str:
    """A path as messages have it."""
    return STDIN_NAME if path == STDIN else path


def read_all(path: str, limit_bytes: int, tool: str = "") -> Iterator[Parsed]:
    """What is in a file ("-" is standard input), for commands that cannot go on without it.

    tool: the importer to read with, "" for whichever knows the file. Raises CannotRunError, with
    what is wrong, where, and what to do, at what cannot be read or is no result.
    """
    stdin = sys.stdin.buffer if path == STDIN else None
    name = called(path)
    for parsed in reports(name, limit_bytes=limit_bytes, stdin=stdin, tool=tool):
        for finding in parsed.findings:
            if finding.severity is Severity.ERROR or finding.code == "BL014":
                raise CannotRunError(_refused(name, finding))
        yield parsed


def _refused(name: str, finding: Finding) -> str:
    advice = f"; {finding.help}" if finding.help else ""
    place = "" if finding.location is None else f":{finding.location.line}"
    return f"{name}{place}: {finding.message}{advice}"


def _original(document: Document) -> Document:
    """The document; where it was made of another tool's output, as a text of its own."""
    if document.is_original:
        return document
    text = json_with_digits(document.tree) + "\n"
    return parse_text(text, document.path).document or document


def resolved(name: str, document: Document) -> OneReport:
    """The report of a document. Raises CannotRunError where it is not of the format."""
    report, findings = validate(document.tree)
    if report is None:
        message = findings[0].message if findings else "it is not of the report format"
        raise CannotRunError(f"{name}: {message}; `benchlint check` says more")
    return OneReport(document, ReportFacts(report), len(findings))


def json_with_digits(tree: object, indent: int = 0) -> str:
    """JSON text of a tree, in which numbers keep their digits."""
    pad = "  " * (indent + 1)
    if isinstance(tree, Digits):
        return json.dumps(float(tree)) if _odd(tree.text) else tree.text
    if isinstance(tree, dict) and tree:
        members = [
            f"{pad}{json.dumps(k)}: {json_with_digits(v, indent + 1)}" for k, v in tree.items()
        ]
        return "{\n" + ",\n".join(members) + "\n" + "  " * indent + "}"
    if isinstance(tree, list) and tree:
        items = [pad + json_with_digits(v, indent + 1) for v in tree]
        return "[\n" + ",\n".join(items) + "\n" + "  " * indent + "]"
    return json.dumps(tree, ensure_ascii=False)


def _odd(text: str) -> bool:
    """YAML and TOML have forms of numbers that JSON does not have (.5, 1_000.0, +1.0)."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False
