"""What a journal holds so far, by cell and round, kept up while it grows; texts are scored once."""

from __future__ import annotations

from benchlint.reproducers.engine import Sample
from benchlint.reproducers.journal import Journal, Scored, Void, name_in_journal


class History:
    """What was answered and what is void, by cell and round."""

    def __init__(self, journal: Journal) -> None:
        self._answers: dict[str, dict[int, list[Sample]]] = {}
        self._voids: dict[str, list[int | None]] = {}
        self._scored = {each.scoring for each in journal.of_kind(Scored)}
        for each in journal.measured:
            self.add(each.cell, each.pair, each.sample)
        for void in journal.of_kind(Void):
            self.add_void(void)

    def add(self, cell: str, pair: int, sample: Sample) -> None:
        """One more answer."""
        rounds = self._answers.setdefault(name_in_journal(cell), {})
        rounds.setdefault(pair, []).append(sample)

    def add_void(self, void: Void) -> None:
        """A round or a cell was found void."""
        self._voids.setdefault(name_in_journal(void.cell), []).append(void.pair)

    def answers(self, cell: str, pair: int) -> list[Sample]:
        """The answers of one round so far."""
        return self._answers.get(name_in_journal(cell), {}).get(pair, [])

    def pairs_of(self, cell: str) -> tuple[int, ...]:
        """Rounds of which there are answers."""
        return tuple(self._answers.get(name_in_journal(cell), ()))

    def is_scored(self, scoring: str) -> bool:
        """Whether the journal held the score of a text."""
        return name_in_journal(scoring) in self._scored

    def is_void(self, cell: str) -> bool:
        """Whether a cell or a scoring is void as a whole."""
        return None in self._voids.get(name_in_journal(cell), ())

    def failures(self, cell: str) -> int:
        """How many rounds of a cell failed."""
        return len(self._voids.get(name_in_journal(cell), ()))
