"""A line that says how far a long run is, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TextIO

#: Seconds before the line appears, and between its changes.
DELAY = 1.0
INTERVAL = 0.1

_ERASE = "\r\x1b[K"


class Progress:
    """Counts files, and shows the count when the run takes longer than a second."""

    def __init__(
        self, stream: TextIO, *, enabled: bool, clock: Callable[[], float] = monotonic
    ) -> None:
        self._stream = stream
        self._enabled = enabled
        self._clock = clock
        self._next = clock() + DELAY
        self._shown = False

    def show(self, files: int) -> None:
        """Note that so many files have been checked."""
        if not self._enabled:
            return
        now = self._clock()
        if now >= self._next:
            self._next = now + INTERVAL
            self._shown = True
            self._stream.write(f"{_ERASE}checked {files:,} files …")
            self._stream.flush()

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._shown:
            self._shown = False
            self._stream.write(_ERASE)
            self._stream.flush()
