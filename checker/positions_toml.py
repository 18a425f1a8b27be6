"""Where the values of a TOML text stand: one pass over the text, by TOML 1.0.0."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from benchlint.checker.lines import Span
from benchlint.checker.positions import Node

#: A name that is given twice: its path, its second place and its first.
Repeated = tuple[tuple[str, ...], Span, Span]


@dataclass(slots=True)
class _Table(Node):
    """A node of the text. `is_list`: an array of tables; `is_given`: it has a place of its own."""

    is_list: bool = False
    is_given: bool = False


class _NotTomlError(Exception):
    """The text is no TOML from here on."""


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name])


_PATTERNS = {
    "space": r"[ \t]*+",
    "lines": r"(?:[ \t\r\n]|#[^\n]*+)*+",
    "key": r"""[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'""",
    "string": r'''"""(?:[^"\\]|\\(?s:.)|"{1,2}(?!"))*+"{3,5}'''
    r"""|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'""",
    "bare": r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*+|[^\s,\]}#]++",
}


def scan(text: str) -> tuple[Node, Repeated | None]:
    """The nodes of a TOML text, and the first name in it that is given twice.

    Of a text that is not TOML, the nodes up to where it stops being so. A table stands at its
    header; one that no header names stands where its name is first used.
    """
    scanner = _Scanner(text)
    with suppress(_NotTomlError):
        scanner.statements()
    return scanner.root, scanner.repeated


class _Scanner:
    def __init__(self, text: str) -> None:
        self.root = _Table((0, 0))
        self.repeated: Repeated | None = None
        self._text = text
        self._at = 0
        self._table = self.root
        self._table_path: tuple[str, ...] = ()

    def statements(self) -> None:
        """All lines of the text."""
        self._take("lines")
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                self._header()
            else:
                self._member(self._table, self._table_path)
            self._take("lines")

    def _take(self, name: str) -> Span:
        match = _pattern(name).match(self._text, self._at)
        if match is None:
            raise _NotTomlError
        self._at = match.end()
        return match.span()

    def _sees(self, symbol: str) -> bool:
        return self._text.startswith(symbol, self._at)

    def _pass(self, symbol: str) -> None:
        if not self._sees(symbol):
            raise _NotTomlError
        self._at += len(symbol)

    def _names(self) -> list[tuple[str, Span]]:
        """A dotted key: each part unquoted, with its place."""
        names: list[tuple[str, Span]] = []
        while True:
            self._take("space")
            span = self._take("key")
            names.append((_unquoted(self._text[slice(*span)]), span))
            self._take("space")
            if not self._sees("."):
                return names
            self._at += 1

    def _header(self) -> None:
        start = self._at
        is_list = self._sees("[[")
        self._at += 2 if is_list else 1
        names = self._names()
        self._pass("]]" if is_list else "]")
        span = (start, self._at)
        parent, path = self._below(self.root, (), names[:-1])
        name, key = names[-1]
        self._table_path = (*path, name)
        if is_list:
            self._table = self._added(parent, name, key, span)
        else:
            self._table = self._opened(parent, name, key, span)

    def _opened(self, parent: Node, name: str, key: Span, span: Span) -> _Table:
        table = _child(parent, name, key)
        if table.is_given:
            self._note(self._table_path, key, table.key or table.span)
        else:
            table.span, table.key, table.is_given = span, key, True
        return table

    def _added(self, parent: Node, name: str, key: Span, span: Span) -> _Table:
        tables = _child(parent, name, key)
        if not tables.children:
            tables.span, tables.is_list = span, True
        index = str(len(tables.children))
        self._table_path = (*self._table_path, index)
        table = tables.children[index] = _Table(span)
        return table

    def _below(
        self, table: Node, path: tuple[str, ...], names: Sequence[tuple[str, Span]]
    ) -> tuple[Node, tuple[str, ...]]:
        """The table that these names lead to, and its path; of a list of tables, the last."""
        for name, key in names:
            child = _child(table, name, key)
            path = (*path, name)
            if child.is_list and child.children:
                index = str(len(child.children) - 1)
                table, path = child.children[index], (*path, index)
            else:
                table = child
        return table, path

    def _member(self, table: Node, path: tuple[str, ...]) -> None:
        names = self._names()
        self._pass("=")
        self._take("space")
        table, path = self._below(table, path, names[:-1])
        name, key = names[-1]
        value = self._value((*path, name))
        value.key = key
        first = table.children.setdefault(name, value)
        if first is not value:
            self._note((*path, name), key, first.key or first.span)

    def _note(self, path: tuple[str, ...], again: Span, first: Span) -> None:
        self.repeated = self.repeated or (path, again, first)

    def _value(self, path: tuple[str, ...]) -> _Table:
        symbol = self._text[self._at : self._at + 1]
        if symbol == "[":
            return self._list(path)
        if symbol == "{":
            return self._inline(path)
        return _Table(self._take("string" if symbol in ("'", '"') else "bare"), is_given=True)

    def _list(self, path: tuple[str, ...]) -> _Table:
        node = _Table((self._at, self._at), is_given=True)

        def item() -> None:
            index = str(len(node.children))
            node.children[index] = self._value((*path, index))

        self._enclosed("[]", "lines", item)
        node.span = (node.span[0], self._at)
        return node

    def _inline(self, path: tuple[str, ...]) -> _Table:
        node = _Table((self._at, self._at), is_given=True)
        self._enclosed("{}", "lines", lambda: self._member(node, path))
        node.span = (node.span[0], self._at)
        return node

    def _enclosed(self, brackets: str, gap: str, part: Callable[[], None]) -> None:
        """Parts between brackets with commas between them."""
        self._pass(brackets[0])
        self._take(gap)
        while not self._sees(brackets[1]):
            part()
            self._take(gap)
            if not self._sees(","):
                break
            self._at += 1
            self._take(gap)
        self._pass(brackets[1])


def _child(table: Node, name: str, key: Span) -> _Table:
    """The member of a table, made where its name is first used."""
    child = table.children.get(name)
    if not isinstance(child, _Table):
        child = table.children[name] = _Table(key, key)
    return child


def _unquoted(key: str) -> str:
    if key[0] == "'" or (key[0] == '"' and "\\" not in key):
        return key[1:-1]
    if key[0] != '"':
        return key
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        raise _NotTomlError from None
