"""A journal put in order: the answers of each cell by round, and at which rounds looks are due.
Texts are scored outside of rounds, once.

A round of a series counts once every prompt of every cell in it was answered; a cell that is
void as a whole is left out, so that an arm which cannot be set up does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from benchlint.checker.counts import CanonicalCounts, pooled
from benchlint.reproducers.design import look_schedule
from benchlint.reproducers.engine import Sample
from benchlint.reproducers.journal import (
    Journal,
    JournalError,
    Measured,
    Scored,
    name_in_journal,
)
from benchlint.reproducers.plan import Cell, Plan, Scoring


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer with its counts in canonical form."""

    prompt: str
    position: int
    sample: Sample
    counts: CanonicalCounts

    @property
    def drafted(self) -> int | None:
        """Draft tokens that were verified; None where the engine does not tell."""
        return self.sample.counters.drafted


#: The answers of a cell in one round, by prompt, in the order of the plan.
Round = Mapping[str, Answer]


class Rounds:
    """What a journal holds for a plan. Raises JournalError for a journal of another plan."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        if journal.header is not None and journal.header.plan != plan.sha256:
            raise JournalError("the journal holds measurements of another plan")
        self.plan = plan
        self.journal = journal
        self.cells = {cell.name: cell for cell in plan.cells}
        self.scorings = {scoring.name: scoring for scoring in plan.scorings}

    @cached_property
    def void(self) -> dict[str, str]:
        """Cells and scorings that do not count as a whole, and why."""
        reasons = self.journal.void_cells
        names = ((name, name_in_journal(name)) for name in (*self.cells, *self.scorings))
        return {name: reasons[written] for name, written in names if written in reasons}

    @cached_property
    def scored(self) -> dict[str, Scored]:
        """What counts of the scored texts, by the names of their scorings."""
        first = {each.scoring: each for each in reversed(self.journal.of_kind(Scored))}
        found = {name: first.get(name_in_journal(name)) for name in self.scorings}
        return {
            name: each
            for name, each in found.items()
            if each is not None and name not in self.void and _is_of(each, self.scorings[name])
        }

    def plain_of(self, cell: Cell) -> Cell | None:
        """The baseline of a cell's series: its first cell without a drafter."""
        cells = self.plan.series[cell.series]
        return next((each for each in cells if each.arm.method is None), None)

    @cached_property
    def looks(self) -> dict[str, tuple[int, ...]]:
        """For each series the numbers of rounds at which its data are looked at, five at most."""
        return {
            name: look_schedule(self.journal.pairs_at_ends(self.prompts_of(name)))
            for name in self.plan.series
        }

    @cached_property
    def whole(self) -> dict[str, int]:
        """For each series how many rounds are complete, void ones included."""
        return {name: self.journal.whole_pairs(self.prompts_of(name)) for name in self.plan.series}

    def prompts_of(self, series: str) -> dict[str, tuple[str, ...]]:
        """The ids of the prompts that make a round of a series, by cell."""
        cells = (cell for cell in self.plan.series[series] if cell.name not in self.void)
        return {cell.name: tuple(p.id for p in cell.prompts.prompts) for cell in cells}

    def reached(self, series: str) -> tuple[int, ...]:
        """The looks that the data have reached so far."""
        return tuple(look for look in self.looks[series] if look <= self.whole[series])

    def of(self, name: str) -> dict[int, Round]:
        """The valid rounds of a cell by their number, in order; only complete ones."""
        return self._rounds.get(name, {})

    @cached_property
    def _rounds(self) -> dict[str, dict[int, Round]]:
        answers = {(s.cell, s.pair, s.prompt): s for s in self.journal.samples if s.pair >= 0}
        return {
            cell.name: dict(self._rounds_of(cell, answers))
            for cell in self.plan.cells
            if cell.name not in self.void
        }

    def _rounds_of(
        self, cell: Cell, answers: Mapping[tuple[str, int, str], Measured]
    ) -> list[tuple[int, Round]]:
        names = [(p.id, name_in_journal(p.id)) for p in cell.prompts.prompts]
        written = name_in_journal(cell.name)
        found: list[tuple[int, Round]] = []
        for pair in range(self.whole[cell.series]):
            keys = {prompt: (written, pair, name) for prompt, name in names}
            if all(key in answers for key in keys.values()):
                found.append((pair, {p: _answer(cell, answers[k]) for p, k in keys.items()}))
        return found


def _is_of(scored: Scored, scoring: Scoring) -> bool:
    """Whether it is of the text and the windows that were to be scored."""
    wanted = scoring.text.sha256, scoring.context_tokens
    return (scored.text_sha256, scored.context_tokens) == wanted


def _answer(cell: Cell, measured: Measured) -> Answer:
    counts = counts_of(measured.sample, cell)
    return Answer(measured.prompt, measured.position, measured.sample, counts)


def counts_of(sample: Sample, cell: Cell) -> CanonicalCounts:
    """The counts of one answer. Without a drafter every target pass is a plain one."""
    told, plain = sample.counters, cell.arm.method is None
    return CanonicalCounts(
        steps=0 if plain else told.verify_steps,
        plain_steps=max(sample.output_tokens - 1, 0) if plain else told.plain_steps,
        drafted=0 if plain else told.drafted,
        accepted=0 if plain else told.accepted,
        output=sample.output_tokens,
        k=cell.arm.draft_length,
        decode_s=sample.decode_s,
    )


def pooled_counts(rounds: Mapping[int, Round]) -> CanonicalCounts | None:
    """The counts of all rounds together; None where there is none."""
    counts = [answer.counts for each in rounds.values() for answer in each.values()]
    return pooled(counts) if counts else None
