"""Where the values of a JSON text stand, found from the text when a place is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from json.scanner import make_scanner

from benchlint.checker.lines import Span
from benchlint.checker.loaded import Fault, depth_fault, duplicate_fault, not_finite_fault
from benchlint.checker.pointers import pointer
from benchlint.checker.tree import MAX_DEPTH, NOT_FINITE, decimal

# Reads past a value at the speed of the C scanner and builds as little as that allows: numbers
# of any length stay text, objects become the count of their members.
_reader = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=len
)
_past = make_scanner(_reader)  # type: ignore[arg-type]  # typed as taking its own kind


#: A string; nothing in it is tried twice.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_WHITE = r"[ \t\n\r]*+"
#: A value that is no container: what the text is known to hold needs no closer look.
_PLAIN = rf"{_STRING}|[^][{{}}\", \t\n\r]++"

# One match for a member with its value costs a third of several calls for its parts. A value
# that is a container is left unmatched: it starts where the match ends.
_match_member = re.compile(rf"[ \t\n\r,]*+({_STRING}){_WHITE}:{_WHITE}({_PLAIN})?", re.DOTALL).match
_match_item = re.compile(rf"[ \t\n\r,]*+(?:({_PLAIN})|(?=[\[{{]))", re.DOTALL).match
_match_white = re.compile(_WHITE).match


class JsonPositions:
    """Positions in a text that is known to be JSON.

    A container is read up to the member asked for and no further, and remembers how far it
    was read: a place costs one pass over what stands before it, at most.
    """

    __slots__ = ("_root", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        white = _match_white(text)
        self._root = _Value(white.end() if white else 0)

    def span(self, parts: Sequence[str], *, key: bool) -> Span:
        """See Positions. Of members with the same name the first is meant."""
        value, text = self._root, self._text
        for part in parts:
            child = value.known.get(part) or value.child(text, part)
            if child is None:
                break
            value = child
        else:
            if key and value.key:
                return value.key
        return value.start, value.end or value.end_in(text)


class _Value:
    """A value by where it starts, with those of its members that were read so far.

    end: where it ends; 0 until somebody asks.
    """

    __slots__ = ("_unread", "end", "key", "known", "start")

    def __init__(self, start: int, end: int = 0, key: Span | None = None) -> None:
        self.start = start
        self.end = end
        self.key = key
        self.known: dict[str, _Value] = _NONE_READ
        self._unread: Iterator[tuple[str, _Value]] | None = None

    def child(self, text: str, name: str) -> _Value | None:
        """The member with this name or index, if it is not known yet."""
        if self._unread is None:
            self.known, self._unread = {}, _members(text, self.start)
        for each, value in self._unread:
            self.known.setdefault(each, value)
            if each == name:
                return value
        return None

    def end_in(self, text: str) -> int:
        """Where the value ends."""
        if not self.end:
            self.end = _past(text, self.start)[1]
        return self.end


#: Shared by all values of which no member was asked for: most of them.
_NONE_READ: dict[str, _Value] = {}


def _members(text: str, start: int) -> Iterator[tuple[str, _Value]]:
    if text[start] == "{":
        return _object_members(text, start + 1)
    return _items(text, start + 1) if text[start] == "[" else iter(())


def _object_members(text: str, at: int) -> Iterator[tuple[str, _Value]]:
    while found := _match_member(text, at):
        name, key = found[1], found.span(1)
        at = found.end()
        value = _Value(at, key=key) if found[2] is None else _Value(found.start(2), at, key)
        yield json.loads(name) if "\\" in name else name[1:-1], value
        at = value.end or value.end_in(text)


def _items(text: str, at: int) -> Iterator[tuple[str, _Value]]:
    index = 0
    while found := _match_item(text, at):
        at = found.end()
        value = _Value(at) if found[1] is None else _Value(found.start(1), at)
        yield str(index), value
        index += 1
        at = value.end or value.end_in(text)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_STRING + r"|-?(?:\d[\d.eE+-]*|Infinity)|NaN|[][{},]", re.DOTALL)


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
