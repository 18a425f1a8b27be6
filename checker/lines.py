"""From offsets in a text to lines, columns and excerpts."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from benchlint.checker.finding import Location

#: Start and end of something, in characters from the start of the text.
Span = tuple[int, int]

#: Longest excerpt, in characters, and how many of them stand before the marked place.
EXCERPT = 160
_BEFORE = 60


#: So many places are looked for in the text itself. Of more the lines are found all at once.
_FEW = 16


class Lines:
    """The lines of a text. A line ends at a line feed, as it does for editors and for grep."""

    __slots__ = ("_asked", "_offset", "_starts", "_text")

    def __init__(self, text: str, line_offset: int = 0) -> None:
        self._text = text
        self._offset = line_offset
        self._asked = 0
        self._starts: list[int] = []

    def location(self, span: Span) -> Location:
        """Where the span is. Of a span over several lines, the part in the first."""
        start = min(span[0], len(self._text))
        line, first, end = self._line_at(start)
        last = max(end, start)
        column = start - first + 1
        end_column = column + max(0, min(span[1], last) - start)
        low = self._window(first, last, start)
        excerpt = self._text[low : min(last, low + EXCERPT)]
        return Location(line + self._offset, column, end_column, excerpt, start - low + 1)

    def start_of(self, line: int) -> int:
        """The offset at which a line (from 1) starts; the text's end for a line beyond it."""
        starts = self._all_starts()
        return starts[line - 1] if line <= len(starts) else len(self._text)

    def _line_at(self, at: int) -> tuple[int, int, int]:
        """The number of the line with this offset, where it starts, and where its text ends."""
        text = self._text
        self._asked += 1
        if self._asked <= _FEW:
            first = text.rfind("\n", 0, at) + 1
            line = text.count("\n", 0, first) + 1
            end = text.find("\n", at)
        else:
            starts = self._all_starts()
            line = bisect_right(starts, at)
            first = starts[line - 1]
            end = starts[line] - 1 if line < len(starts) else -1
        end = len(text) if end < 0 else end
        return line, first, end - 1 if text[end - 1 : end] == "\r" and end > first else end

    def _all_starts(self) -> list[int]:
        if not self._starts:
            ends = accumulate(map((1).__add__, map(len, self._text.split("\n"))))  # no bytecode
            self._starts = [0, *ends]
            self._starts.pop()  # behind the last line there is none
        return self._starts

    @staticmethod
    def _window(first: int, last: int, start: int) -> int:
        """Where the excerpt starts: at the line's start, or nearer to a place far along it."""
        return max(first, min(start - _BEFORE, last - EXCERPT))
