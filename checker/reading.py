"""What a file holds for `check`: reports of our own, or another tool's output as reports.

A report of our own is handed on as it was read; what imports other tools' output is loaded
only for a file that holds none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from benchlint.checker.document import Parsed, documents
from benchlint.checker.files import is_report

#: Files with these endings are read as what the ending says before anything else is tried.
_DATA_SUFFIXES = (".json", ".yaml", ".yml", ".toml")


def reports(
    path: str | Path, *, limit_bytes: int, stdin: BinaryIO | None = None, tool: str = ""
) -> Iterator[Parsed]:
    """The reports in a file, one by one; what cannot be read is told by their findings.

    limit_bytes, stdin: see `documents`. The limit does not hold for logs, which are read line
    by line. tool: the importer to read with, whatever the file looks like.
    Raises CannotRunError where there is no such importer.
    """
    name = str(path)
    if tool or stdin is not None or not name.lower().endswith(_DATA_SUFFIXES):
        from benchlint.checker.importers.reading import read

        yield from read(path, limit_bytes, stdin, tool)
        return
    for parsed in documents(path, limit_bytes=limit_bytes):
        if parsed.document is not None and is_report(parsed.document.tree):
            yield parsed
        else:
            from benchlint.checker.importers.reading import instead_of

            yield from instead_of(parsed, limit_bytes)
