"""Where the values of a JSON text stand, found from the text when a place is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from benchlint.checker.lines import Span
from benchlint.checker.loaded import Fault, depth_fault, duplicate_fault, not_finite_fault
from benchlint.checker.pointers import pointer
from benchlint.checker.tree import MAX_DEPTH, NOT_FINITE, decimal

# Reads past a value at the speed of the C scanner and builds as little as that allows: numbers
# of any length stay text, objects become the count of their members.
_past = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=len
).raw_decode


class JsonPositions:
    """Positions in a text that is known to be JSON.

    A container is read up to the member asked for and no further, and remembers how far it
    was read: a place costs one pass over what stands before it, at most.
    """

    __slots__ = ("_root", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = _Value(_next(text, 0))

    def span(self, parts: Sequence[str], *, key: bool) -> Span:
        """See Positions. Of members with the same name the first is meant."""
        value = self._root
        for part in parts:
            child = value.child(self._text, part)
            if child is None:
                break
            value = child
        else:
            if key and value.key:
                return value.key
        return value.start, value.end_in(self._text)


@dataclass(slots=True)
class _Value:
    """A value by where it starts, with those of its members that were read so far.

    end: where it ends; 0 until somebody asks.
    """

    start: int
    key: Span | None = None
    end: int = 0
    known: dict[str, _Value] = field(default_factory=dict)
    unread: Iterator[tuple[str, _Value]] | None = None

    def child(self, text: str, name: str) -> _Value | None:
        """The member with this name or index."""
        if name in self.known:
            return self.known[name]
        if self.unread is None:
            self.unread = _members(text, self.start)
        for each, value in self.unread:
            self.known.setdefault(each, value)
            if each == name:
                return value
        return None

    def end_in(self, text: str) -> int:
        """Where the value ends."""
        if not self.end:
            self.end = _past(text, self.start)[1]
        return self.end


def _members(text: str, start: int) -> Iterator[tuple[str, _Value]]:
    if text[start] == "{":
        yield from _object_members(text, _next(text, start + 1))
    elif text[start] == "[":
        yield from _items(text, _next(text, start + 1))


def _object_members(text: str, at: int) -> Iterator[tuple[str, _Value]]:
    while text[at] != "}":
        name, end = _past(text, at)
        value = _Value(_next(text, end), key=(at, end))
        yield name, value
        at = _next(text, value.end_in(text))


def _items(text: str, at: int) -> Iterator[tuple[str, _Value]]:
    index = 0
    while text[at] != "]":
        value = _Value(at)
        yield str(index), value
        index += 1
        at = _next(text, value.end_in(text))


#: What stands between names and values.
_BETWEEN = re.compile(r"[ \t\n\r]*[,:]?[ \t\n\r]*")


def _next(text: str, at: int) -> int:
    """Past white space and the comma or colon in it, to what comes next."""
    found = _BETWEEN.match(text, at)
    return at if found is None else found.end()


@cache
def _token() -> re.Pattern[str]:
    return re.compile(
        r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(?:\d[\d.eE+-]*|Infinity)|NaN|[][{},]', re.DOTALL
    )


@dataclass(slots=True)
class _Open:
    """A container that is being read: at which member, and which names it had."""

    start: int
    names: dict[str, Span] | None
    part: str | int = 0
    awaits_name: bool = False


def faults(text: str) -> list[Fault]:
    """Every duplicate member and every number that is not finite, in one pass.

    Called only when parsing met one: the pass is some twenty times slower than parsing.
    """
    return list(_faults(text))


def _faults(text: str) -> Iterator[Fault]:
    stack: list[_Open] = []
    for match in _token().finditer(text):
        symbol, top = match[0], stack[-1] if stack else None
        if symbol in "{[":
            stack.append(_opened(symbol, match.start()))
        elif symbol in "}]":
            stack.pop()
        elif symbol == "," and top:
            _to_next(top)
        elif symbol[0] == '"':
            if top and top.awaits_name and top.names is not None:
                yield from _name(stack, json.loads(symbol), match.span())
        elif symbol[0] in "NI-0123456789" and decimal(symbol) is NOT_FINITE:
            yield not_finite_fault(_path(stack), symbol, match.span())


def _opened(symbol: str, start: int) -> _Open:
    if symbol == "{":
        return _Open(start, {}, "", awaits_name=True)
    return _Open(start, None)


def _to_next(top: _Open) -> None:
    if isinstance(top.part, int):
        top.part += 1
    else:
        top.awaits_name = True


def _name(stack: Sequence[_Open], name: str, span: Span) -> Iterator[Fault]:
    top = stack[-1]
    top.part, top.awaits_name = name, False
    names = top.names if top.names is not None else {}
    if name in names:
        yield duplicate_fault(_path(stack), name, span, names[name])
    names.setdefault(name, span)


def _path(stack: Sequence[_Open]) -> str:
    return pointer(*(each.part for each in stack))


def open_containers(text: str, end: int) -> list[int]:
    """Where the containers start that are open at `end`, the outermost first.

    Made for texts that are not JSON: what closes is not compared with what opened.
    """
    stack: list[int] = []
    for match in _token().finditer(text, 0, end):
        if match[0] in "{[":
            stack.append(match.start())
        elif match[0] in "}]" and stack:
            stack.pop()
    return stack


def too_deep(text: str) -> Fault:
    """The fault at the first container that lies too deep."""
    stack: list[int] = []
    for match in _token().finditer(text):
        if match[0] in "{[":
            stack.append(match.start())
            if len(stack) > MAX_DEPTH:
                return depth_fault(match.span())
        elif match[0] in "}]" and stack:
            stack.pop()
    return depth_fault((0, 1))
