"""What tests of importers share: a text in, reports out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchlint.checker.document import Parsed
from benchlint.checker.finding import Finding
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.reading import reports


def imported(
    folder: Path, text: str | bytes, name: str = "results.txt", tool: str = ""
) -> list[ImportedDocument]:
    """The reports that are made of a file with this content."""
    found = [p.document for p in _parsed(folder, text, name, tool)]
    assert all(isinstance(each, ImportedDocument) for each in found), found
    return [each for each in found if isinstance(each, ImportedDocument)]


def findings(
    folder: Path, text: str | bytes, name: str = "results.txt", tool: str = ""
) -> list[Finding]:
    """What reading a file with this content says, without any rule on a report."""
    return [f for p in _parsed(folder, text, name, tool) for f in p.findings]


def _parsed(folder: Path, text: str | bytes, name: str, tool: str) -> list[Parsed]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return list(reports(path, limit_bytes=1_000_000, tool=tool))


def value(document: ImportedDocument, pointer: str) -> object:
    """The value at a JSON Pointer; KeyError or IndexError where there is none."""
    tree: Any = document.tree
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    return tree


def place(document: ImportedDocument, pointer: str) -> tuple[int, str]:
    """The line that a value stands in, and the text that is marked there."""
    at = document.locate(pointer)
    start = at.excerpt_column - 1
    return at.line, at.excerpt[start : start + at.end_column - at.column]
