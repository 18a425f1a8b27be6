"""A report without its secrets, and as a journal carries it.

Secrets are taken out before anything is made of the report, so that the plan, the journal and
the verdict all speak of one text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import PurePath

from benchlint.checker.document import Document, Language, parse_text
from benchlint.checker.errors import CannotRunError
from benchlint.checker.one_report import OneReport, json_with_digits, resolved
from benchlint.checker.rules.bl70_hygiene import texts
from benchlint.checker.secrets import REDACTED, find_secrets, redact
from benchlint.reproducers.journal import SHORTEST_SECRET, JournalError, ReportText


def without_secrets(report: OneReport, secrets: Collection[str] = ()) -> OneReport:
    """The report with every secret in it blanked; the same one where there is none.

    secrets: texts to be blanked beside what looks like a secret. The text keeps its lines where
    that can be done. Raises CannotRunError where the rest is no report.
    """
    document = report.document
    given = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    changes, found = _changes(document.tree, given)
    if not changes:
        return report
    tree = _mapped(document.tree, lambda text: changes.get(text, text))
    return resolved(document.path, _blanked(document, tree, found))


def _changes(tree: object, given: Collection[str]) -> tuple[dict[str, str], set[str]]:
    """Texts of the tree that hold a secret by what becomes of them, and the secrets."""
    changes, found = dict[str, str](), set(given)
    for each in texts(tree):
        secrets = find_secrets(each.text, each.name, forms_only=each.is_content)
        if secrets:
            found |= {each.text[s.start : s.end] for s in secrets}
            changes[each.text] = redact(each.text, each.name, forms_only=each.is_content)

    def note(text: str) -> str:
        clean = _without(changes.get(text, text), given)
        if clean != text:
            changes[text] = clean
        return text

    _mapped(tree, note)
    return changes, found


def _without(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return text


def _mapped(value: object, change: Callable[[str], str]) -> object:
    """A copy of the tree in which texts and names of members are changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(each, change) for key, each in value.items()}
    return [_mapped(each, change) for each in value] if isinstance(value, list) else value


def _blanked(document: Document, tree: object, secrets: Collection[str]) -> Document:
    """The document of the blanked tree, its text as close to the old one as can be."""
    escaped = {json.dumps(secret)[1:-1] for secret in secrets}
    text = _without(document.text, escaped | set(secrets))
    kept = _parsed(text, document.path, document.language, document.line_offset)
    if kept is not None and kept.tree == tree:
        return kept
    return Document(document.path, json_with_digits(tree) + "\n", tree, "json")


def _parsed(text: str, name: str, language: Language, line_offset: int) -> Document | None:
    return parse_text(text, name, language=language, line_offset=line_offset).document


# In a journal


def report_text(report: OneReport) -> ReportText:
    """The report for a journal: its file without the folder."""
    document = report.document
    name = PurePath(document.path).name
    return ReportText(document.text, name, document.language, document.line_offset)


def report_of(record: ReportText, path: str) -> OneReport:
    """The report that a journal carries.

    path: what to call the journal in messages. Raises JournalError where it carries none, which
    nothing but a change of the file can be the reason of.
    """
    document = _parsed(record.text, record.name, record.language, record.line_offset)
    if document is None:
        raise JournalError(f"{path}: the report in it was damaged or changed")
    try:
        return resolved(record.name, document)
    except CannotRunError as error:
        raise JournalError(f"{path}: the report in it was damaged or changed: {error}") from None
