"""How lines are made to fit a terminal, for everything that is written for people.

What is laid out has gone through `escape.terminal` before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlint.checker.formats.escape import width

# Under this many columns a line is not made to fit.
NARROWEST = 16

_GAP = "  "
#: How far the lines of a paragraph after its first stand to the right of it.
_FURTHER = 2
#: A space at which no line is broken.
_TIED = "\u00a0"


@dataclass(frozen=True, slots=True)
class Room:
    """The columns that a line may take; None where they are not known, so that none is broken.

    Lines are broken at spaces alone: a word that is too long has a line to itself.
    """

    columns: int | None = None

    def fits(self, line: str) -> bool:
        """Whether a line need not be broken."""
        return self.columns is None or width(line) <= max(NARROWEST, self.columns)

    def lines(self, text: str, indent: int = 0, taken: int = 0) -> list[str]:
        """The text in lines, without the indent behind which they fit.

        taken: columns of the first line, behind the indent, that are not free.
        """
        if self.columns is None:
            return [text]
        return lines_of(text, max(NARROWEST, self.columns - indent), taken)

    def hanging(self, lead: str, indent: int, text: str, taken: int = 0) -> Iterator[str]:
        """`lead` and the text; where that is too long, further lines at the indent.

        taken: columns of the first line, behind the indent, that belong to `lead`.
        """
        if self.columns is None:
            yield f"{lead} {text}"
            return
        first, *others = self.lines(text, indent, taken)
        yield f"{lead} {first}".rstrip()
        for line in others:
            yield " " * indent + line

    def item(self, lead: str, taken: int, text: str) -> Iterator[str]:
        """A row of a list, whose text stays in its column if that has room.

        taken: columns before the text, the space behind `lead` with them.
        """
        if self._has_room_behind(taken):
            yield from self.hanging(lead, taken, text)
        else:
            yield from self.hanging(lead, 6, text, taken - 6)

    def paragraph(self, text: str, indent: int = 0, further: int = _FURTHER) -> Iterator[str]:
        """The text at an indent, its further lines by so much more to the right, if that fits."""
        if self.columns and self.columns - indent - further < NARROWEST:
            further = 0
        first, *others = self.lines(text, indent + further, -further)
        yield " " * indent + first
        for line in others:
            yield " " * (indent + further) + line

    def enumeration(self, items: Sequence[str], indent: int = 0) -> Iterator[str]:
        """The items with semicolons, broken between them, within one only where it is too long."""
        room = self.columns and self.columns - indent - _FURTHER - len(";")
        whole = (
            each.replace(" ", _TIED) if room and width(each) <= room else each for each in items
        )
        for line in self.paragraph("; ".join(whole), indent):
            yield line.replace(_TIED, " ")

    def row(self, cells: Sequence[str], widths: Sequence[int], indent: int = 2) -> Iterator[str]:
        """A row of a table that fits (see `takes`); only its last cell is broken."""
        *before, last = cells
        sized = zip(before, widths[:-1], strict=True)
        padded = (f"{cell}{' ' * (size - width(cell))}{_GAP}" for cell, size in sized)
        lead = " " * indent + "".join(padded)
        first, *others = lines_of(last, self.columns - width(lead)) if self.columns else [last]
        yield f"{lead}{first}".rstrip()
        for line in others:
            yield " " * width(lead) + line

    def takes(self, widths: Sequence[int], indent: int = 2) -> bool:
        """Whether a table of such columns fits, if need be with its last cells in several lines."""
        before = indent + sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        return (
            self.columns is None
            or before + widths[-1] <= self.columns
            or self._has_room_behind(before)
        )

    def _has_room_behind(self, taken: int) -> bool:
        return self.columns is None or self.columns - taken >= 2 * NARROWEST


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that each cell of these rows takes at most."""
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def lines_of(text: str, room: int, taken: int = 0) -> list[str]:
    """Lines of at most `room` columns, broken at spaces; a longer word has a line to itself.

    taken: columns of the first line that are not free. It may be left empty.
    """
    lines: list[list[str]] = [[]]
    used = taken
    for word in text.split(" "):
        size = width(word)
        if (lines[-1] or taken > 0) and used + size > room:
            lines.append([])
            used = 0
        lines[-1].append(word)
        used += size + 1
    return [" ".join(line) for line in lines]
