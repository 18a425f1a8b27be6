"""Reports taken apart into single values that know their file, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, cast

from benchlint.checker.document import Document
from benchlint.checker.engines import parse_version
from benchlint.checker.finding import Location
from benchlint.checker.importers.importer import Importer
from benchlint.checker.numbers import printed, reported
from benchlint.checker.pointers import pointer

#: Member names from the top of a block to a value in it.
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """One report out of one file. importer: None for a report of our own."""

    document: Document
    importer: Importer | None = None

    @property
    def name(self) -> str:
        """The file."""
        return self.document.path

    @property
    def stem(self) -> str:
        """The file's name without folder and ending, to tell things of two files apart."""
        return PurePath(self.name).stem or "stdin"

    @property
    def is_companion(self) -> bool:
        """Whether it is about what another file's tool measured, as a server's log is."""
        return self.importer is not None and self.importer.companion

    def goes_with(self, result: Part) -> bool:
        """Whether this log may be about what the tool of `result` measured."""
        is_alone = result.importer is not None and result.importer.alone
        return not (is_alone and cast("dict[str, Any]", self.document.tree).get("runs"))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that is no object, out of a part's report. at: where in that report it stands."""

    value: object
    part: Part
    at: str

    def location(self) -> Location:
        """Where in the file it stands."""
        return self.part.document.locate(self.at)

    def gives_way(self, names: Names) -> bool:
        """Whether it holds only where no other file says otherwise. names: in a configuration."""
        importer = self.part.importer
        return importer is not None and names[:1] != () and names[0] in importer.gives_way

    def __str__(self) -> str:
        """The value and where it stands, in a line."""
        at = self.location()
        return f"{shown(self.value)} ({self.part.name}:{at.line}:{at.column})"


Block = dict[Names, Leaf]


@dataclass
class Pieces:
    """A report taken apart. top: what is in no collection."""

    top: Block = field(default_factory=dict)
    configurations: dict[str, Block] = field(default_factory=dict)
    workloads: dict[str, Block] = field(default_factory=dict)
    runs: list[Block] = field(default_factory=list)
    quality: list[Block] = field(default_factory=list)
    claims: list[Block] = field(default_factory=list)

    def tree(self) -> dict[str, Any]:
        """The report."""
        tree: dict[str, Any] = _nested(self.top)
        for name in ("configurations", "workloads"):
            if blocks := getattr(self, name):
                tree[name] = {key: _nested(block) for key, block in blocks.items()}
        for name in ("runs", "quality", "claims"):
            if rows := getattr(self, name):
                tree[name] = [_nested(block) for block in rows]
        return tree

    def blocks(self) -> Iterator[tuple[str, Block]]:
        """Every block with what to call it: "" for the top, `runs[0]`."""
        yield "", self.top
        for name in ("configurations", "workloads"):
            for key, block in getattr(self, name).items():
                yield f"{name}.{key}", block
        for name in ("runs", "quality", "claims"):
            for i, block in enumerate(getattr(self, name)):
                yield f"{name}[{i}]", block


_MAPS = ("configurations", "workloads")
_LISTS = ("runs", "quality", "claims")


def taken_apart(part: Part) -> Pieces:
    """The report of a part in pieces. What does not fit the format stays where it is."""
    tree = cast("dict[str, Any]", part.document.tree)
    pieces = Pieces()
    for name, value in tree.items():
        if name in _MAPS and isinstance(value, dict):
            blocks = {str(k): _flat(v, part, (name, k)) for k, v in value.items()}
            setattr(pieces, name, blocks)
        elif name in _LISTS and isinstance(value, list):
            setattr(pieces, name, [_flat(v, part, (name, i)) for i, v in enumerate(value)])
        else:
            pieces.top |= {
                (name, *rest): leaf for rest, leaf in _flat(value, part, (name,)).items()
            }
    return pieces


def _flat(value: object, part: Part, path: tuple[str | int, ...]) -> Block:
    if not isinstance(value, dict):
        return {(): Leaf(value, part, pointer(*path))}
    found: Block = {}
    for name, each in value.items():
        found |= {(name, *rest): leaf for rest, leaf in _flat(each, part, (*path, name)).items()}
    return found


def _nested(block: Mapping[Names, Leaf]) -> Any:
    if set(block) == {()}:
        return block[()].value
    tree: dict[str, Any] = {}
    for names, leaf in block.items():
        inner = tree
        for name in names[:-1]:
            inner = inner.setdefault(name, {})
        inner[names[-1]] = leaf.value
    return tree


def shown(value: object) -> str:
    """A value for a line of text."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, (int, float)):
        return printed(value)
    if isinstance(value, list):
        return f"{len(value)} values" if len(value) != 1 else shown(value[0])
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(each)}" for name, each in value.items())
    return str(value)


# --- the same, or not ------------------------------------------------------------------------


def agreed(one: Leaf, other: Leaf) -> Leaf | None:
    """The one of two values for one thing that says more; None where they contradict.

    Numbers agree where their printed digits allow one value, names where they differ in case
    or folders only, versions where they are one version.
    """
    a, b = one.value, other.value
    if a == b and type(a) is type(b):
        return one
    if _is_number(a) and _is_number(b):
        # Whole numbers of a setup are counts; a whole number beside a fraction is rounded.
        return None if isinstance(a, int) and isinstance(b, int) else _finer(one, other)
    if isinstance(a, str) and isinstance(b, str):
        return one if _same_name(a, b) else None
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finer(one: Leaf, other: Leaf) -> Leaf | None:
    first, second = (reported(cast("float", leaf.value), leaf.at) for leaf in (one, other))
    if first is None or second is None or not first.span.meets(second.span):
        return None
    widths = [each.span.high - each.span.low for each in (first, second)]
    return one if widths[0] <= widths[1] else other


def _same_name(a: str, b: str) -> bool:
    if a.casefold() == b.casefold():
        return True
    last = [each.replace("\\", "/").rpartition("/")[2].casefold() for each in (a, b)]
    if last[0] == last[1] != "":
        return True
    version = parse_version(a)
    return version is not None and version == parse_version(b)
