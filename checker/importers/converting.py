"""`benchlint convert`: from files to one report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from benchlint.checker.check import check_tree
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import STDIN, absolute
from benchlint.checker.finding import Finding
from benchlint.checker.formats.base import MISSING_FAMILY
from benchlint.checker.importers.imported import ImportedDocument, asked_of_tools
from benchlint.checker.importers.merging import Merged, merged
from benchlint.checker.importers.traced import Part
from benchlint.checker.model import Report
from benchlint.checker.one_report import json_with_digits, read_all

#: Each result is compared with all before it.
MOST_PARTS = 2_000


@dataclass(frozen=True)
class Converted:
    """One report made of files."""

    parts: tuple[Part, ...]
    merged: Merged

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The report, its members in the order of the format."""
        tree = self.merged.pieces.tree()
        order = {name: i for i, name in enumerate(Report.model_fields)}
        return dict(sorted(tree.items(), key=lambda each: order.get(each[0], len(order))))

    def as_json(self) -> str:
        """The report as text; numbers keep their digits."""
        return json_with_digits(self.tree) + "\n"

    def missing(self) -> list[Finding]:
        """What the report still lacks, with how the tools can be made to say it."""
        importers = tuple(p.importer for p in self.parts if p.importer is not None)
        found = [f for f in check_tree(self.tree) if f.code.startswith(MISSING_FAMILY)]
        return [asked_of_tools(each, importers, "") for each in found]

    def remarks(self) -> Iterator[str]:
        """What could not be taken over, and what was decided."""
        for part in self.parts:
            if isinstance(part.document, ImportedDocument):
                yield from (f"{part.name}: {each}" for each in part.document.imported.remarks)
        yield from self.merged.remarks


def convert(paths: Sequence[str], *, limit_bytes: int, tool: str = "") -> Converted:
    """The report that the files make together, each once. "-" is standard input.

    tool: the importer to read all of them with, "" for whichever knows each.
    Raises CannotRunError where a file cannot be read or holds no result, and where two files
    that speak of one setup contradict each other.
    """
    read = tuple(islice(_all_parts(paths, limit_bytes, tool), MOST_PARTS + 1))
    if len(read) > MOST_PARTS:
        raise CannotRunError(f"over {MOST_PARTS:,} results are too many for one report; give fewer")
    parts, remarks = _subtracted(read)
    made = merged(parts)
    if made.conflicts:
        raise CannotRunError(_contradiction(made))
    made.remarks[:0] = remarks
    return Converted(parts, made)


def _subtracted(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], list[str]]:
    """The parts, the two among them whose counters go on from one to the other as one of both."""
    counting = [p for p in parts if p.importer is not None and p.importer.between is not None]
    if len(counting) != 2 or counting[0].importer is not counting[1].importer:
        return parts, []
    before, after = counting
    between = _between(before, after)
    if between is None:
        return parts, [f"{before.name} is not subtracted from {after.name}: {_NOT_SUBTRACTED}"]
    left = tuple(between if p is after else p for p in parts if p is not before)
    return left, [f"{after.name} counts from {before.name} on"]


_NOT_SUBTRACTED = "give one reply of one server each, the earlier first"


def _between(before: Part, after: Part) -> Part | None:
    """What was counted from one file to the other; places are in the second."""
    importer, first, second = after.importer, before.document, after.document
    if importer is None or importer.between is None:
        return None
    if not isinstance(first, ImportedDocument) or not isinstance(second, ImportedDocument):
        return None
    found = importer.between(first.imported, second.imported)
    return None if found is None else Part(ImportedDocument(after.name, found, importer), importer)


def _all_parts(paths: Sequence[str], limit_bytes: int, tool: str) -> Iterator[Part]:
    once: dict[str, str] = {}
    for path in paths:
        once.setdefault(path if path == STDIN else absolute(path), path)
    return (part for path in once.values() for part in _parts(path, limit_bytes, tool))


def _parts(path: str, limit_bytes: int, tool: str) -> Iterable[Part]:
    for parsed in read_all(path, limit_bytes, tool):
        document = parsed.report
        if isinstance(document, ImportedDocument):
            yield Part(document, document.importer)
        elif document is not None:
            yield Part(document)


def _contradiction(made: Merged) -> str:
    first = "; ".join(map(str, made.conflicts[:3]))
    more = f"; and {len(made.conflicts) - 3} more" if len(made.conflicts) > 3 else ""
    return f"the files contradict each other: {first}{more}; convert files of one setup together"
