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


class Lines:
    """The lines of a text. A line ends at a line feed, as it does for editors and for grep."""

    __slots__ = ("_offset", "_starts", "_text")

    def __init__(self, text: str, line_offset: int = 0) -> None:
        self._text = text
        self._offset = line_offset
        ends = accumulate(map((1).__add__, map(len, text.split("\n"))))  # no bytecode a line
        self._starts = [0, *ends]
        self._starts.pop()  # behind the last line there is none

    def location(self, span: Span) -> Location:
        """Where the span is. Of a span over several lines, the part in the first."""
        start = min(span[0], len(self._text))
        line = bisect_right(self._starts, start)
        first = self._starts[line - 1]
        last = max(self._end(line), start)
        column = start - first + 1
        end_column = column + max(0, min(span[1], last) - start)
        low = self._window(first, last, start)
        excerpt = self._text[low : min(last, low + EXCERPT)]
        return Location(line + self._offset, column, end_column, excerpt, start - low + 1)

    def start_of(self, line: int) -> int:
        """The offset at which a line (from 1) starts; the text's end for a line beyond it."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self._text)

    def _end(self, line: int) -> int:
        """The end of a line's text, without the characters that break it."""
        end = self._starts[line] - 1 if line < len(self._starts) else len(self._text)
        return (
            end - 1 if self._text[end - 1 : end] == "\r" and end > self._starts[line - 1] else end
        )

    @staticmethod
    def _window(first: int, last: int, start: int) -> int:
        """Where the excerpt starts: at the line's start, or nearer to a place far along it."""
        return max(first, min(start - _BEFORE, last - EXCERPT))
