"""Where the values of a document stand in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from benchlint.checker.lines import Span


class Positions(Protocol):
    """Finds the text of a value by its path."""

    def span(self, parts: Sequence[str], *, key: bool) -> Span:
        """The span of the value at the path, or of its nearest ancestor that exists.

        key: the span of the member's name instead, where the value exists and has one.
        """


@dataclass(slots=True)
class Node:
    """A value in a text: its span, the span of its name, and the values inside it.

    children: by member name, or by index in decimal digits.
    """

    span: Span
    key: Span | None = None
    children: dict[str, Node] = field(default_factory=dict)


class NodePositions:
    """Positions out of a tree of nodes."""

    __slots__ = ("_root",)

    def __init__(self, root: Node) -> None:
        self._root = root

    def span(self, parts: Sequence[str], *, key: bool) -> Span:
        """See Positions."""
        node = self._root
        for part in parts:
            child = node.children.get(part)
            if child is None:
                return node.span
            node = child
        return node.key if key and node.key else node.span
