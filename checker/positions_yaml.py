"""YAML composed from its events: values, and where each of them stands.

Values are read by the core schema of YAML 1.2 (section 10.3), not by that of YAML 1.1, so
`no`, `off`, `2024-05-01` and `1:30` are strings. Nothing is ever constructed from a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from benchlint.checker.lines import Span
from benchlint.checker.loaded import (
    Fault,
    FaultError,
    depth_fault,
    duplicate_fault,
    not_finite_fault,
    short,
)
from benchlint.checker.pointers import pointer
from benchlint.checker.positions import Node
from benchlint.checker.tree import MAX_DEPTH, NOT_FINITE, Digits, decimal, fits_double, whole

#: How many values aliases may stand for, all of them together.
MAX_ALIASED = 100_000

_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class YamlEvent:
    """An event of a YAML parser: the start or end of something, a scalar, or an alias.

    kind: PyYAML's name of the event without "Event". text: of a scalar, unescaped.
    is_plain: a scalar without quotes and without a tag, whose type its text says.
    """

    kind: str
    span: Span
    text: str = ""
    tag: str | None = None
    is_plain: bool = False
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Composed:
    """A value with its node; `size` values are in it, itself included, `height` levels deep."""

    node: Node
    value: object
    size: int = 1
    height: int = 0


def not_yaml(what: str, span: Span, hint: str = "") -> Fault:
    """The fault of a text that is not YAML, or not the part of it that reports may use."""
    return Fault("BL001", f"not YAML: {what}", span, help=hint)


class Composer:
    """Makes one value of a stream of events.

    Raises FaultError where reading must stop; `faults` holds what it goes on after.
    """

    def __init__(self, events: Iterator[YamlEvent]) -> None:
        self.faults: list[Fault] = []
        self._events = events
        self._anchors: dict[str, Composed | None] = {}
        self._path: list[str | int] = []
        self._aliased = 0

    def document(self) -> Composed | None:
        """The one document of the stream; None when there is none."""
        next(self._events)  # the stream starts
        if next(self._events).kind == "StreamEnd":
            return None
        root = self._value(next(self._events))
        next(self._events)  # the document ends
        after = next(self._events)
        if after.kind != "StreamEnd":
            hint = "a file holds one report; make a file of each"
            raise FaultError(not_yaml("a second document starts here", after.span, hint))
        return root

    def _value(self, event: YamlEvent) -> Composed:
        if event.kind == "Alias":
            return self._alias(event)
        if event.anchor:
            self._anchors[event.anchor] = None  # open: an alias to it would be inside itself
        composed = self._scalar(event) if event.kind == "Scalar" else self._container(event)
        if event.anchor:
            self._anchors[event.anchor] = composed
        return composed

    def _container(self, event: YamlEvent) -> Composed:
        if len(self._path) >= MAX_DEPTH:
            raise FaultError(depth_fault(event.span))
        is_list = event.kind == "SequenceStart"
        if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
            raise FaultError(_refused_tag(event))
        return self._sequence(event) if is_list else self._mapping(event)

    def _alias(self, event: YamlEvent) -> Composed:
        name, span = short(event.anchor), event.span
        if event.anchor not in self._anchors:
            raise FaultError(not_yaml(f"no anchor stands before `*{name}`", span))
        composed = self._anchors[event.anchor]
        if composed is None:
            raise FaultError(Fault("BL008", f"`*{name}` stands inside itself", span))
        self._aliased += composed.size
        if self._aliased > MAX_ALIASED:
            what = f"aliases stand for more than {MAX_ALIASED:,} values"
            raise FaultError(Fault("BL008", what, span, "write out what is meant"))
        if len(self._path) + composed.height > MAX_DEPTH:
            raise FaultError(depth_fault(span))
        return replace(composed, node=Node(span, children=composed.node.children))

    def _scalar(self, event: YamlEvent) -> Composed:
        value = scalar_value(event)
        if value is NOT_FINITE:
            at = pointer(*self._path)
            self.faults.append(not_finite_fault(at, event.text, event.span))
        return Composed(Node(event.span), value)

    def _inside(self, part: str | int, event: YamlEvent) -> Composed:
        self._path.append(part)
        composed = self._value(event)
        self._path.pop()
        return composed

    def _sequence(self, start: YamlEvent) -> Composed:
        items: list[Composed] = []
        while (event := next(self._events)).kind != "SequenceEnd":
            items.append(self._inside(len(items), event))
        children = {str(index): item.node for index, item in enumerate(items)}
        node = Node((start.span[0], event.span[1]), children=children)
        return _enclosing(node, [item.value for item in items], items)

    def _mapping(self, start: YamlEvent) -> Composed:
        members: dict[str, Composed] = {}
        merged: list[Composed] = []
        while (event := next(self._events)).kind != "MappingEnd":
            if _is_merge(event):
                merged.append(self._merged(event))
            else:
                self._member(members, event)
        for source in merged:
            for mapping in _mappings(source):
                for name, member in _parts(mapping):
                    members.setdefault(name, member)
        children = {name: member.node for name, member in members.items()}
        node = Node((start.span[0], event.span[1]), children=children)
        values = {name: member.value for name, member in members.items()}
        return _enclosing(node, values, [*members.values(), *merged])

    def _member(self, members: dict[str, Composed], event: YamlEvent) -> None:
        name = self._name(event)
        member = self._inside(name, next(self._events))
        member.node.key = event.span
        if name in members:
            first = members[name].node.key or members[name].node.span
            at = pointer(*self._path, name)
            self.faults.append(duplicate_fault(at, name, event.span, first))
        members.setdefault(name, member)

    def _name(self, event: YamlEvent) -> str:
        """A member's name. One that is a number, true or null counts by its text."""
        if event.kind == "Scalar" and event.tag in (None, "!", f"{_TAG}str"):
            self._anchors[event.anchor] = Composed(Node(event.span), event.text)
            return printable(event.text)
        if event.kind == "Alias":
            value = self._alias(event).value
            if isinstance(value, str):
                return value
        raise FaultError(not_yaml("a member's name is not text", event.span))

    def _merged(self, key: YamlEvent) -> Composed:
        """What `<<` takes members from: a mapping, or a list of them."""
        source = self._inside("<<", next(self._events))
        mappings = _mappings(source)
        if not mappings or not all(isinstance(each.value, dict) for each in mappings):
            hint = "give it a mapping, or a list of mappings"
            raise FaultError(not_yaml("`<<` has nothing to merge", key.span, hint))
        return source


def _mappings(source: Composed) -> list[Composed]:
    """The mappings to merge, the one that counts most first."""
    if isinstance(source.value, dict):
        return [source]
    return [item for _, item in _parts(source)]


def _parts(composed: Composed) -> Iterator[tuple[str, Composed]]:
    """The members or items of a container. Their sizes count where the container's does."""
    value = composed.value
    if isinstance(value, dict):
        yield from ((n, Composed(composed.node.children[n], v)) for n, v in value.items())
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield str(index), Composed(composed.node.children[str(index)], item)


def _enclosing(node: Node, value: object, parts: list[Composed]) -> Composed:
    size = 1 + sum(part.size for part in parts)
    return Composed(node, value, size, 1 + max((part.height for part in parts), default=0))


def _is_merge(event: YamlEvent) -> bool:
    return event.text == "<<" and (event.is_plain or event.tag == f"{_TAG}merge")


def _refused_tag(event: YamlEvent) -> Fault:
    tag = short(str(event.tag).replace(_TAG, "!!"))
    return not_yaml(f"the tag `{tag}` is not read", event.span, "write a plain value")


def scalar_value(event: YamlEvent) -> object:
    """The value of a scalar; NOT_FINITE for a number that no double can hold."""
    text = printable(event.text)
    if event.is_plain:
        return plain_value(text)
    if event.tag in (None, "!", f"{_TAG}str"):
        return text
    kind, value = str(event.tag).removeprefix(_TAG), plain_value(text)
    if kind not in _TYPES or not _TYPES[kind](value):
        raise FaultError(_refused_tag(event))
    return decimal(text) if kind == "float" and isinstance(value, int) else value


def printable(text: str) -> str:
    """The text with surrogates joined to characters, or replaced by U+FFFD where they cannot be.

    Only the Python parser lets them through; the C parser refuses their escapes.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, Digits)) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: _is_number(value) and not isinstance(value, float),
    "float": lambda value: value is NOT_FINITE or _is_number(value),
}

_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@cache
def _number() -> re.Pattern[str]:
    return re.compile(
        r"(?P<whole>[-+]?[0-9]+)"
        r"|(?P<octal>0o[0-7]+)|(?P<hex>0x[0-9a-fA-F]+)"
        r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
        r"|(?P<other>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
    )


def plain_value(text: str) -> object:
    """The value of an unquoted scalar in the core schema; numbers keep their digits."""
    if text in _WORDS:
        return _WORDS[text]
    match = _number().fullmatch(text) if text[0] in "+-.0123456789" else None
    if match is None:
        return text
    return _READERS[match.lastgroup or ""](text)


def _based(text: str) -> object:
    number = int(text, 0)
    return number if fits_double(number) else NOT_FINITE


_READERS: dict[str, Callable[[str], object]] = {
    "whole": whole,
    "octal": _based,
    "hex": _based,
    "float": decimal,
    "other": lambda _: NOT_FINITE,
}
