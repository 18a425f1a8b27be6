"""YAML composed from its events: values, and where each of them stands.

Values are read by the core schema of YAML 1.2 (section 10.3), not by that of YAML 1.1, so
`no`, `off`, `2024-05-01` and `1:30` are strings. Nothing is ever constructed from a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from benchlint.checker.lines import Span
from benchlint.checker.loaded import (
    Fault,
    FaultError,
    depth_fault,
    duplicate_fault,
    not_finite_fault,
)
from benchlint.checker.pointers import pointer
from benchlint.checker.positions import Node
from benchlint.checker.tree import MAX_DEPTH, NOT_FINITE, Digits, decimal, fits_double, whole

if TYPE_CHECKING:
    from yaml.events import Event

#: How many values aliases may stand for, all of them together.
MAX_ALIASED = 100_000

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = (None, "!")


@dataclass(slots=True)
class YamlNode(Node):
    """A node with its value; `size` values are in it, itself included, `height` levels deep."""

    value: object = None
    size: int = 1
    height: int = 0


def _span(event: Event) -> Span:
    return event.start_mark.index, event.end_mark.index


def not_yaml(what: str, span: Span, hint: str = "") -> Fault:
    """The fault of a text that is not YAML, or not the part of it that reports may use."""
    return Fault("BL001", f"not YAML: {what}", span, help=hint)


class Composer:
    """Makes one node of a stream of events.

    Raises FaultError where reading must stop; `faults` holds what it goes on after.
    """

    def __init__(self, events: Iterator[Event]) -> None:
        self.faults: list[Fault] = []
        self._events = events
        self._anchors: dict[str, YamlNode | None] = {}
        self._path: list[str | int] = []
        self._aliased = 0

    def document(self) -> YamlNode | None:
        """The one document of the stream; None when there is none."""
        next(self._events)  # the stream starts
        if _kind(next(self._events)) == "StreamEnd":
            return None
        root = self._node(next(self._events))
        next(self._events)  # the document ends
        after = next(self._events)
        if _kind(after) != "StreamEnd":
            hint = "a file holds one report; make a file of each"
            raise FaultError(not_yaml("a second document starts here", _span(after), hint))
        return root

    def _node(self, event: Event) -> YamlNode:
        kind, anchor = _kind(event), getattr(event, "anchor", None)
        if kind == "Alias":
            return self._alias(event)
        if anchor is not None:
            self._anchors[anchor] = None  # open: an alias to it would be inside itself
        node = self._of_kind(kind, event)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _of_kind(self, kind: str, event: Event) -> YamlNode:
        if kind == "Scalar":
            return self._scalar(event)
        if len(self._path) >= MAX_DEPTH:
            raise FaultError(depth_fault(_span(event)))
        if kind == "SequenceStart":
            _check_tag(event, "seq")
            return self._sequence(event)
        _check_tag(event, "map")
        return self._mapping(event)

    def _alias(self, event: Event) -> YamlNode:
        name, span = event.anchor, _span(event)
        if name not in self._anchors:
            raise FaultError(not_yaml(f"`*{name}` has no anchor `&{name}` before it", span))
        node = self._anchors[name]
        if node is None:
            raise FaultError(Fault("BL008", f"`*{name}` stands inside itself", span))
        self._aliased += node.size
        if self._aliased > MAX_ALIASED:
            what = f"aliases stand for more than {MAX_ALIASED:,} values"
            raise FaultError(Fault("BL008", what, span, "write out what is meant"))
        if len(self._path) + node.height > MAX_DEPTH:
            raise FaultError(depth_fault(span))
        return replace(node, span=span, key=None)

    def _scalar(self, event: Event) -> YamlNode:
        value = scalar_value(event)
        if value is NOT_FINITE:
            self.faults.append(
                not_finite_fault(pointer(*self._path), str(event.value), _span(event))
            )
        return YamlNode(_span(event), value=value)

    def _sequence(self, start: Event) -> YamlNode:
        items: list[YamlNode] = []
        while _kind(event := next(self._events)) != "SequenceEnd":
            items.append(self._inside(len(items), event))
        children = {str(index): item for index, item in enumerate(items)}
        return _container(start, event, children, [item.value for item in items])

    def _inside(self, part: str | int, event: Event) -> YamlNode:
        self._path.append(part)
        node = self._node(event)
        self._path.pop()
        return node

    def _mapping(self, start: Event) -> YamlNode:
        children: dict[str, Node] = {}
        merged: list[YamlNode] = []
        while _kind(event := next(self._events)) != "MappingEnd":
            if _is_merge(event):
                merged += self._merged(event)
            else:
                self._member(children, event)
        for source in merged:
            for name, child in source.children.items():
                children.setdefault(name, child)
        values = {name: child.value for name, child in _yaml_nodes(children)}
        return _container(start, event, children, values)

    def _member(self, children: dict[str, Node], event: Event) -> None:
        name, span = self._name(event), _span(event)
        node = self._inside(name, next(self._events))
        first = children.setdefault(name, node)
        if first is node:
            node.key = span
        else:
            at = pointer(*self._path, name)
            self.faults.append(duplicate_fault(at, name, span, first.key or first.span))

    def _name(self, event: Event) -> str:
        """A member's name. Numbers, true and null are names by their text, as JSON would have it."""
        if _kind(event) == "Scalar":
            node = self._node(event)
            return printable(str(event.value)) if node is not None else ""
        if _kind(event) == "Alias":
            value = self._alias(event).value
            if isinstance(value, str):
                return value
        raise FaultError(not_yaml("a member's name is not text", _span(event)))

    def _merged(self, key: Event) -> list[YamlNode]:
        """The mappings that `<<` takes members from, the one that counts most first."""
        event = next(self._events)
        node = self._inside("<<", event)
        sources = [node] if isinstance(node.value, dict) else _nodes_of(node)
        if not all(isinstance(source.value, dict) for source in sources) or not sources:
            hint = "give it a mapping, or a list of mappings"
            raise FaultError(not_yaml("`<<` has nothing to merge", _span(key), hint))
        return sources


def _kind(event: Event) -> str:
    return type(event).__name__.removesuffix("Event")


def _yaml_nodes(children: dict[str, Node]) -> Iterator[tuple[str, YamlNode]]:
    return ((name, child) for name, child in children.items() if isinstance(child, YamlNode))


def _nodes_of(node: YamlNode) -> list[YamlNode]:
    return [child for _, child in _yaml_nodes(node.children)]


def _container(start: Event, end: Event, children: dict[str, Node], value: object) -> YamlNode:
    nodes = [child for _, child in _yaml_nodes(children)]
    return YamlNode(
        (start.start_mark.index, end.end_mark.index),
        children=children,
        value=value,
        size=1 + sum(node.size for node in nodes),
        height=1 + max((node.height for node in nodes), default=0),
    )


def _is_merge(event: Event) -> bool:
    if _kind(event) != "Scalar" or event.value != "<<":
        return False
    return bool(event.implicit[0]) and event.tag is None or event.tag == f"{_TAG}merge"


def _check_tag(event: Event, kind: str) -> None:
    if event.tag not in (*_PLAIN_TAGS, _TAG + kind):
        raise FaultError(_refused_tag(event))


def _refused_tag(event: Event) -> Fault:
    tag = str(event.tag).replace(_TAG, "!!")
    return not_yaml(f"the tag `{tag}` is not read", _span(event), "write a plain value")


def scalar_value(event: Event) -> object:
    """The value of a scalar; NOT_FINITE for a number that no double can hold."""
    text = printable(str(event.value))
    if event.tag in _PLAIN_TAGS:
        return plain_value(text) if event.implicit[0] and event.tag is None else text
    kind = str(event.tag).removeprefix(_TAG)
    if kind == "str":
        return text
    value = plain_value(text)
    if not _TYPES.get(kind, lambda _: False)(value):
        raise FaultError(_refused_tag(event))
    return decimal(text) if kind == "float" and isinstance(value, int) else value


def printable(text: str) -> str:
    """The text with surrogates joined to characters, or replaced by U+FFFD where they cannot be.

    Only the Python parser lets them through; the C parser refuses their escapes.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: (
        value is NOT_FINITE or isinstance(value, (int, Digits)) and not isinstance(value, bool)
    ),
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
