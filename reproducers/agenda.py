"""What is still to be measured of a plan, in which order.

Series are walked through together, from look to look, so that all of them have the same number
of rounds when the data are looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, zip_longest

from benchlint.reproducers.design import Step, blocks
from benchlint.reproducers.journal import Journal, Void, name_in_journal
from benchlint.reproducers.plan import Plan
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.workloads import Prompt


class Agenda:
    """The prompts that each cell has still to answer in each round.

    What the journal holds already, void or not, is not asked for again: an answer that was
    taken twice would be a choice between two. Raises JournalError for a journal of another plan.

    done: answers that are there. left: answers to come, left_of: the same by cell.
    """

    def __init__(self, plan: Plan, journal: Journal) -> None:
        rounds = Rounds(plan, journal)
        self.done = len(journal.measured)
        self._blocks = {name: _blocks(rounds, name) for name in plan.series}
        self._open: dict[str, dict[int, deque[Prompt]]] = {}
        for step in chain(*chain(*self._blocks.values())):
            self._open.setdefault(step.arm, {})[step.pair] = deque(
                prompt
                for prompt in rounds.cells[step.arm].prompts.prompts
                if not journal.is_done(step.arm, step.pair, prompt.id)
            )
        self.left_of = {cell: sum(map(len, each.values())) for cell, each in self._open.items()}
        self.left = sum(self.left_of.values())
        self._drop_void(rounds)

    def blocks(self) -> Iterator[tuple[Step, ...]]:
        """All measurements, done ones too, in blocks that each end at a look. Cells are arms."""
        for parts in zip_longest(*self._blocks.values(), fillvalue=()):
            yield tuple(chain(*parts))

    def next(self, cell: str, pair: int) -> Prompt | None:
        """The prompt that a cell has to answer next in a round; None where it has all."""
        prompts = self._open[cell][pair]
        return prompts[0] if prompts else None

    def check_off(self, cell: str, pair: int, prompt: Prompt) -> None:
        """A prompt was answered."""
        self._open[cell][pair].remove(prompt)
        self._count_off(cell, 1)
        self.done += 1

    def drop(self, cell: str, pair: int | None = None) -> None:
        """A round of a cell is void, or all of them: nothing more is asked of it."""
        for number, prompts in self._open.get(cell, {}).items():
            if pair in (None, number):
                self._count_off(cell, len(prompts))
                prompts.clear()

    def _count_off(self, cell: str, answers: int) -> None:
        self.left_of[cell] -= answers
        self.left -= answers

    def _drop_void(self, rounds: Rounds) -> None:
        voids = {(void.cell, void.pair) for void in rounds.journal.of_kind(Void)}
        for cell in rounds.cells:
            for name, pair in voids:
                if name == name_in_journal(cell):
                    self.drop(cell, pair)


def _blocks(rounds: Rounds, series: str) -> list[tuple[Step, ...]]:
    cells = rounds.plan.series[series]
    most = max(cell.pairs for cell in cells)
    looks = [look for look in rounds.looks[series] if look < most]
    ends = (*looks, min(most, rounds.looks[series][-1])) if looks else (most,)
    return list(blocks([cell.name for cell in cells], tuple(dict.fromkeys(ends))))
