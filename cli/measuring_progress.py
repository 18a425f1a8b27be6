"""How far measuring is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from benchlint.checker.formats.escape import terminal
from benchlint.durations import in_words
from benchlint.reproducers.warm_up import MOST

if TYPE_CHECKING:
    from benchlint.reproducers.measuring import Progress

_ERASE = "\r\x1b[K"
_WIDTH = 24

#: Seconds between two lines where there is no terminal.
EVERY_S = 30.0

#: Seconds of reading a file before anything is said of it.
DELAY_S = 1.0


class MeasuringProgress:
    """Shows each answer on a terminal, and what there is to wait for; elsewhere writes a line
    every half minute.

    The first line comes with the first answer, since what cannot be measured has nothing to
    report, or after half a minute without one.
    """

    def __init__(
        self, stream: TextIO, *, bar: bool, clock: Callable[[], float] = monotonic
    ) -> None:
        self._stream = stream
        self._bar = bar
        self._clock = clock
        self._next = clock()
        self._long = self._next + EVERY_S
        self._began_hash = 0.0
        self._shown = False

    def show(self, progress: Progress) -> None:
        """Note how far measuring is."""
        if self._bar:
            self._shown = True
            self._write(f"{_ERASE}{self._fitting(progress)}")
        elif (now := self._clock()) >= self._due(progress):
            self._next = now + EVERY_S
            self._write(f"benchlint: {_line(progress)}\n")

    def _due(self, progress: Progress) -> float:
        began = progress.done or progress.scoring
        return self._next if began else max(self._next, self._long)

    def hash(self, name: str, share: float) -> None:
        """Note how much of a model file is read for its hash: shown where that takes long."""
        if share == 0:
            self._began_hash = self._clock()
        elif share == 1:
            self.clear()
        elif self._bar and self._clock() - self._began_hash >= DELAY_S:
            self._shown = True
            words = f"reading {terminal(name)} for its hash, {100 * share:.0f} %"
            self._write(f"{_ERASE}{words}"[: len(_ERASE) + get_terminal_size().columns - 1])

    def _fitting(self, progress: Progress) -> str:
        """What fits into one line of the terminal: a line that is wrapped cannot be taken back."""
        columns, words = get_terminal_size().columns, _words(progress)
        bar = f"{_drawn(progress)} " if columns > _WIDTH + 3 + len(words) else ""
        return f"{bar}{words}"[: columns - 1]

    def clear(self) -> None:
        """Take the bar away, so that something else can be written."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody looks; measuring goes on
            self._bar, self._shown, self._next = False, False, float("inf")


def _drawn(progress: Progress) -> str:
    share = progress.done / progress.planned if progress.planned else 1.0
    full = int(share * _WIDTH)
    return f"[{'█' * full}{'·' * (_WIDTH - full)}]"


def _line(progress: Progress) -> str:
    """What is waited for, behind how many answers are there: no bar shows it."""
    words, counted = _words(progress), _counted(progress)
    return f"{counted}; {words}" if progress.done and words != counted else words


def _words(progress: Progress) -> str:
    if progress.scoring:
        return f"measuring the {terminal(progress.scoring)}"
    if progress.starting:
        return f"starting the engine for {terminal(progress.starting)}"
    if progress.warm_ups is not None:
        return f"warming up, speed not steady yet ({progress.warm_ups} of at most {MOST})"
    return _counted(progress)


def _counted(progress: Progress) -> str:
    """ "120 of at most 480 answers, about 12 min left": an early decision may end it before."""
    if not progress.done:
        return f"measuring, at most {progress.planned:,} answers"
    told = f"{progress.done:,} of at most {progress.planned:,} answers"
    if progress.seconds_left is None:
        return told
    return f"{told}, about {in_words(progress.seconds_left)} left"
