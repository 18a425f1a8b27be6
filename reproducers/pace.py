"""How long what is left to measure will take, by how long the cells took so far."""

from __future__ import annotations

from collections.abc import Mapping


class Pace:
    """Seconds an answer takes, by cell, with the starts and warm-ups of the cell's turns in them.

    A cell that had no turn yet is taken to be as fast as the others together.
    """

    def __init__(self) -> None:
        self._took = dict[str, tuple[float, int]]()
        self._all = (0.0, 0)

    def add(self, cell: str, seconds: float, answers: int) -> None:
        """A turn of a cell is over, or was broken off."""
        self._took[cell] = _sum(self._took.get(cell, (0.0, 0)), seconds, answers)
        self._all = _sum(self._all, seconds, answers)

    @property
    def is_known(self) -> bool:
        """Whether a turn with an answer in it is over."""
        return self._all[1] > 0

    def of(self, cell: str) -> float:
        """Seconds of one answer of a cell; once that `is_known`."""
        seconds, answers = self._took.get(cell, self._all)
        return seconds / answers if answers else self._all[0] / self._all[1]

    def needed(self, left: Mapping[str, int]) -> float:
        """Seconds for so many answers of each cell; once that `is_known`."""
        return sum(count * self.of(cell) for cell, count in left.items())


def _sum(so_far: tuple[float, int], seconds: float, answers: int) -> tuple[float, int]:
    return so_far[0] + seconds, so_far[1] + answers
