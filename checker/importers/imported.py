"""An imported report as a document that the rules run on and findings point into."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from benchlint.checker.document import Document
from benchlint.checker.finding import Finding, Location
from benchlint.checker.formats.base import BY_HAND, MISSING_FAMILY
from benchlint.checker.importers.importer import Imported, Importer

#: How the rules of what is missing say what to add (`missing.Item.advice`).
_ADVICE = re.compile(r"add `([^`]+)`")

_START = Location(1, 1, 1)


class ImportedDocument(Document):
    """A report that was made of another tool's output.

    Its tree is the report; its places are in the original file.
    """

    def __init__(self, path: str, imported: Imported, importer: Importer) -> None:
        super().__init__(path, "", imported.tree, "json")
        self.imported = imported
        self.importer = importer

    @property
    def is_original(self) -> bool:
        """False: there is no text of the report."""
        return False

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be taken over."""
        return tuple(f"{self.path}: {remark}" for remark in self.imported.remarks)

    def _locate(self, pointer: str, *, key: bool) -> Location:  # noqa: ARG002 - names are not ours
        places = self.imported.places
        while pointer not in places and pointer:
            pointer = pointer.rpartition("/")[0]
        place = places.get(pointer)
        return _START if place is None else place.location()

    def advised(self, findings: list[Finding]) -> list[Finding]:
        """The findings; what is missing is asked of the tool instead of the report's author."""
        return [
            asked_of_tools(f, (self.importer,), BY_HAND) if f.code.startswith(MISSING_FAMILY) else f
            for f in findings
        ]


def asked_of_tools(finding: Finding, importers: Sequence[Importer], by_hand: str) -> Finding:
    """The finding with how the tools can be made to say what is missing.

    by_hand: what stands in front of the fields that can be added by hand; "" for "add".
    """
    paths = list(dict.fromkeys(_ADVICE.findall(finding.help)))
    if not paths:
        return finding
    hints = [hint for path in paths for each in importers if (hint := hint_for(each, path))]
    fields = ", ".join(f"`{path}`" for path in paths)
    return replace(finding, help="; ".join([*dict.fromkeys(hints), f"{by_hand or 'add'} {fields}"]))


def hint_for(importer: Importer, path: str) -> str:
    """How the tool can be made to say what belongs at a path; "" where nothing is known.

    path: as the rules of what is missing write it, with NAME for any configuration or workload.
    """
    path = path.replace(".NAME", ".*")
    while path:
        if path in importer.hints:
            return importer.hints[path]
        path = path.rpartition(".")[0]
    return ""
