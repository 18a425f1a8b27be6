"""Whether speculation leaves the output as it is, and whether the output repeats.

Greedy answers of a cell are compared with plain decoding of the same prompts, and with its own
answers in other rounds. Where they part, the distribution has usually a near-tie: a pass over
K + 1 positions rounds otherwise than one over a single position, and of two tokens that are
almost equally probable the other one comes first. That is no corruption of the output, so each
difference is shown with its margin where the engine can tell it. Above temperature 0 equal
texts are not to be expected: lossless then means the same distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from benchlint.reproducers.engine import Sample
from benchlint.reproducers.journal import Parted, name_in_journal
from benchlint.reproducers.plan import Cell
from benchlint.reproducers.rounds import Round, Rounds

#: Two tokens whose logits lie closer than this (nats) are a near-tie. In bfloat16, which many
#: engines compute logits in, those between 16 and 32 lie 0.125 apart, and both may be off by
#: two such steps.
NEAR_TIE = 0.5

Unit = Literal["tokens", "text"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two answers to one prompt part.

    token: index of the first differing token in the output, from 0; None where the engine gives
    no tokens. character: the same in the text. margin: difference of the logits of the two
    tokens in nats, never negative; None where the engine cannot tell.
    """

    prompt: str
    token: int | None
    character: int
    margin: float | None = None

    @property
    def is_near_tie(self) -> bool | None:
        """Whether rounding explains it; None where the margin is not known."""
        return None if self.margin is None else self.margin <= NEAR_TIE


@dataclass(frozen=True, slots=True)
class Comparison:
    """The greedy answers of a cell beside those of another one, or in several of its rounds.

    baseline: the other cell; None for the cell itself. rounds: how many were compared: the first
    one that both have, or all. prompts: how many were compared; those not among `differences`
    had the same answer each time. by: what was compared.
    """

    cell: str
    baseline: str | None
    rounds: int
    prompts: int
    by: Unit
    differences: tuple[Difference, ...]

    @property
    def alike(self) -> int:
        """How many prompts were answered alike."""
        return self.prompts - len(self.differences)

    @property
    def first(self) -> Difference | None:
        """The difference that comes earliest in an answer."""
        return min(self.differences, key=lambda d: (d.token or 0, d.character), default=None)

    @property
    def largest_margin(self) -> float | None:
        """Of the differences; None where there are none or the margin of one is not known."""
        margins = [difference.margin for difference in self.differences]
        known = [margin for margin in margins if margin is not None]
        return max(known) if known and len(known) == len(margins) else None


@dataclass(frozen=True, slots=True)
class Parting:
    """Two greedy answers with tokens that are not alike, the baseline's first."""

    cell: Cell
    baseline: Cell
    prompt: str
    pair: int
    first: Sample
    second: Sample


def comparisons(rounds: Rounds) -> tuple[Comparison, ...]:
    """Every greedy cell with a drafter beside plain decoding, and every greedy cell by itself."""
    return (*_beside_plain(rounds), *_by_themselves(rounds))


def partings(rounds: Rounds) -> Iterator[Parting]:
    """Answers that part from plain decoding at a token, whose margin the journal does not hold."""
    told = {(each.cell, each.prompt) for each in rounds.journal.of_kind(Parted)}
    for cell, plain in _pairs(rounds):
        pair = _first_common(rounds, cell, plain)
        if pair is None:
            continue
        first, second = rounds.of(plain.name)[pair], rounds.of(cell.name)[pair]
        for prompt, answer in first.items():
            a, b = answer.sample, second[prompt].sample
            known = (name_in_journal(cell.name), name_in_journal(prompt)) in told
            if not known and _token(a, b) is not None:
                yield Parting(cell, plain, prompt, pair, a, b)


def _pairs(rounds: Rounds) -> Iterator[tuple[Cell, Cell]]:
    """The greedy cells with a drafter, each with the plain one of its series."""
    for cell in rounds.plan.cells:
        plain = rounds.plain_of(cell)
        if plain is None or cell.arm.method is None:
            continue
        if _is_greedy(rounds, cell) and _is_greedy(rounds, plain):
            yield cell, plain


def _is_greedy(rounds: Rounds, cell: Cell) -> bool:
    """As was asked for, else as the engine said that it works."""
    asked = cell.arm.sampling.temperature
    description = rounds.journal.descriptions.get(name_in_journal(cell.name))
    told = None if description is None else description.sampler.get("temperature")
    return (told if asked is None else asked) == 0


def _first_common(rounds: Rounds, cell: Cell, plain: Cell) -> int | None:
    return min(rounds.of(cell.name).keys() & rounds.of(plain.name).keys(), default=None)


def _beside_plain(rounds: Rounds) -> Iterator[Comparison]:
    for cell, plain in _pairs(rounds):
        pair = _first_common(rounds, cell, plain)
        if pair is None:
            continue
        first, second = rounds.of(plain.name)[pair], rounds.of(cell.name)[pair]
        if _show_something(first, second):
            margins = _margins(rounds, cell, plain, pair)
            found = tuple(_differences(first, second, margins))
            yield Comparison(cell.name, plain.name, 1, len(first), _unit(first, second), found)


def _margins(rounds: Rounds, cell: Cell, plain: Cell, pair: int) -> dict[str, float]:
    """By the names of prompts as they stand in the journal."""
    names = name_in_journal(cell.name), name_in_journal(plain.name), pair
    parted = rounds.journal.of_kind(Parted)
    return {p.prompt: abs(p.margin) for p in parted if (p.cell, p.baseline, p.pair) == names}


def _by_themselves(rounds: Rounds) -> Iterator[Comparison]:
    """Where the cache is filled each round has another text, and nothing repeats."""
    for cell in rounds.plan.cells:
        each = list(rounds.of(cell.name).values())
        repeats = cell.circumstances.filled_tokens is None and _is_greedy(rounds, cell)
        if len(each) > 1 and repeats and _show_something(*each):
            found: dict[str, Difference] = {}
            for other in each[1:]:
                found = {d.prompt: d for d in _differences(each[0], other, {})} | found
            by = _unit(*each)
            yield Comparison(cell.name, None, len(each), len(each[0]), by, tuple(found.values()))


def _show_something(*rounds: Round) -> bool:
    return are_comparable(answer.sample for each in rounds for answer in each.values())


def _unit(*rounds: Round) -> Unit:
    answers = (answer for each in rounds for answer in each.values())
    return "tokens" if all(a.sample.token_ids is not None for a in answers) else "text"


def _differences(first: Round, second: Round, margins: Mapping[str, float]) -> Iterator[Difference]:
    for prompt, answer in first.items():
        a, b = answer.sample, second[prompt].sample
        if not alike(a, b):
            margin = margins.get(name_in_journal(prompt))
            yield Difference(prompt, _token(a, b), _common(a.text, b.text), margin)


def are_comparable(samples: Iterable[Sample]) -> bool:
    """Whether there is anything in these answers: those that a server hides are all alike."""
    return any(sample.text or sample.token_ids for sample in samples)


def alike(a: Sample, b: Sample) -> bool:
    """Whether two answers are the same, by token where the engine gives tokens."""
    if a.token_ids is not None and b.token_ids is not None:
        return a.token_ids == b.token_ids
    return a.text == b.text


def _token(a: Sample, b: Sample) -> int | None:
    """Index of the first differing token; None where they are alike or not told."""
    if a.token_ids is None or b.token_ids is None or a.token_ids == b.token_ids:
        return None
    return _common(a.token_ids, b.token_ids)


def _common(a: Sequence[object], b: Sequence[object]) -> int:
    """How far two sequences agree."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
