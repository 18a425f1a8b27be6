"""Values out of a source, each with the place it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from benchlint.checker.finding import Location
from benchlint.checker.lines import Lines, Span
from benchlint.checker.pointers import pointer

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from benchlint.checker.document import Document


class Place(Protocol):
    """Where in the original a value stands; put in lines and columns only when asked."""

    def location(self) -> Location:
        """Line and columns, from 1, with an excerpt."""


@dataclass(slots=True, unsafe_hash=True)
class Line:
    """A line of a text, without its end. number: from 1."""

    number: int
    text: str

    def found(self, value: object, span: Span) -> Found:
        """A value that stands at these columns (from 0, end exclusive) of the line."""
        return Found(value, InLine(self, span))

    def group(self, match: re.Match[str], name: str | int) -> Found | None:
        """What a group of a match in this line holds; None where it took no part."""
        text = match[name]
        return None if text is None else self.found(text, match.span(name))

    def groups(self, match: re.Match[str]) -> dict[str, Found]:
        """What the named groups of a match in this line hold."""
        return {
            name: self.found(text, match.span(name))
            for name, text in match.groupdict().items()
            if text is not None
        }


@dataclass(slots=True, unsafe_hash=True)
class InLine:
    """A place in a line of text. span: columns from 0, end exclusive."""

    line: Line
    span: Span

    def location(self) -> Location:
        """See Place."""
        return Lines(self.line.text, self.line.number - 1).location(self.span)


@dataclass(slots=True, unsafe_hash=True)
class InTree:
    """A place in a JSON text. at: JSON Pointer into it."""

    document: Document
    at: str

    def location(self) -> Location:
        """See Place."""
        return self.document.locate(self.at)


@dataclass(slots=True, unsafe_hash=True)
class Found:
    """A value of a source. place: None for what holds of every output of the tool."""

    value: object
    place: Place | None = None

    def to(self, value: object) -> Found:
        """Another value read out of the same place."""
        return Found(value, self.place)

    def part(self, value: object, span: Span) -> Found:
        """A value that stands at these columns of a text in a line."""
        if isinstance(self.place, InLine):
            start = self.place.span[0]
            return self.place.line.found(value, (start + span[0], start + span[1]))
        return self.to(value)


class Record(Protocol):
    """Named values of a source: a JSON object, a row of a table, the groups of a match."""

    def get(self, name: str) -> Found | None:
        """The value of that name; None where there is none, or null."""


class JsonRecord:
    """An object in a JSON text. Names are paths with dots: "aggregate.mean"."""

    __slots__ = ("_at", "_document", "tree")

    def __init__(self, document: Document, tree: Mapping[str, object], at: str = "") -> None:
        """at: JSON Pointer of the object in the document."""
        self._document = document
        self._at = at
        self.tree = tree

    def get(self, name: str) -> Found | None:
        """See Record. A member whose name has dots in it is found by its whole name."""
        parts = [name] if name in self.tree else name.split(".")
        value: object = self.tree
        for part in parts:
            value = _member(value, part)
        return None if value is None else self._found(value, parts)

    def record(self, name: str) -> JsonRecord | None:
        """The object of that name; None where there is no object."""
        found = self.get(name)
        if found is None or not isinstance(found.value, dict):
            return None
        parts = [name] if name in self.tree else name.split(".")
        return JsonRecord(self._document, found.value, self._at + pointer(*parts))

    def records(self, name: str) -> Iterator[JsonRecord]:
        """The objects in the list of that name; others in it are passed over."""
        found = self.get(name)
        parts = [name] if name in self.tree else name.split(".")
        if found is not None:
            yield from records_of(self._document, found.value, self._at + pointer(*parts))

    def _found(self, value: object, parts: Iterable[str]) -> Found:
        return Found(value, InTree(self._document, self._at + pointer(*parts)))


def _member(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return None


def records_of(document: Document, tree: object, at: str = "") -> Iterator[JsonRecord]:
    """The objects of a list, or the one object that is there. at: JSON Pointer of `tree`."""
    if isinstance(tree, dict):
        yield JsonRecord(document, tree, at)
    elif isinstance(tree, list):
        for i, each in enumerate(tree):
            if isinstance(each, dict):
                yield JsonRecord(document, each, f"{at}/{i}")
