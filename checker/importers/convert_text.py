"""What `benchlint convert` says of a report that it made: where it comes from, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from benchlint.checker.finding import Finding
from benchlint.checker.formats.escape import terminal, width
from benchlint.checker.formats.room import Room, widths_of
from benchlint.checker.importers.converting import Converted
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.traced import Block, Leaf, Part, shown
from benchlint.checker.secrets import redact

#: So many fields of a report are listed with where they come from.
LISTED = 400

#: Longest name, remark and advice, and longest value, in characters.
_LONGEST = 1_000
_LONGEST_VALUE = 48


def as_lines(made: Converted, columns: int | None = None) -> Iterator[str]:
    """Where each field comes from, what was decided, and what is still missing.

    columns: how wide the terminal is, None for no limit.
    """
    room = Room(columns)
    yield from _origins(made, room)
    for remark in made.remarks():
        yield from room.paragraph(_escaped(f"note: {remark}"))
    missing = made.missing()
    if missing:
        yield "still missing:"
    for finding in missing:
        yield from _lacking(finding, room)


def _origins(made: Converted, room: Room) -> Iterator[str]:
    """What each file is, then a line for each field: where in which file it comes from."""
    for part in made.parts:
        yield from room.paragraph(_escaped(f"{part.name}: {_kind(part)}"))
    left = LISTED
    for name, block in made.merged.pieces.blocks():
        rows = {n: leaf for n, leaf in block.items() if n not in _OWN_NAMES}
        if rows and left > 0:
            yield from room.paragraph(_escaped(_heading(name, block)))
            yield from _listing(rows, left, room)
        left -= len(rows)
    if left < 0:
        yield f"and {-left:,} more fields"


#: Names that importers give, and the version of the format.
_OWN_NAMES = frozenset({("benchlint",), ("id",), ("configuration",), ("workload",)})


def _kind(part: Part) -> str:
    return "a report" if part.importer is None else part.importer.title


def _heading(name: str, block: Block) -> str:
    named = block.get(("id",))
    return (name or "report") if named is None else f"{name} {shown(named.value)}"


def _listing(rows: Block, limit: int, room: Room) -> Iterator[str]:
    cells = [_cells(".".join(names), leaf) for names, leaf in islice(rows.items(), limit)]
    widths = widths_of(cells)
    for field, value, origin in cells:
        if room.takes(widths):
            yield from room.row((field, value, origin), widths)
        else:
            yield from room.paragraph(f"{field}: {value}", 2)
            yield from room.paragraph(f"from {origin}", 4)


def _cells(field: str, leaf: Leaf) -> tuple[str, str, str]:
    value = _short(redact(shown(leaf.value), field))
    return _escaped(field), _escaped(value), _escaped(_origin(leaf))


def _origin(leaf: Leaf) -> str:
    """The place in the file; what holds of all output of a tool has none."""
    part, document = leaf.part, leaf.part.document
    if isinstance(document, ImportedDocument) and leaf.at not in document.imported.places:
        return f"{document.importer.name}: always so"
    place = leaf.location()
    return f"{part.name}:{place.line}:{place.column}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"


def _lacking(finding: Finding, room: Room) -> Iterator[str]:
    code = _escaped(finding.code)
    text = _escaped(f"{finding.message}: {finding.help}")
    yield from room.hanging(f"  {code}", 4, text, width(code) - 1)


def _escaped(text: str) -> str:
    return terminal(text, _LONGEST)
