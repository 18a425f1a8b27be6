"""For each check of a plan the evidence that a journal holds, at each look.

Speeds and ratios of speeds rest on rounds: within one round all arms meet the same prompts and
the same weather, so the logarithm of a ratio within a round is one unit. Acceptance rests on
prompts: where they are the report's own, what varies is only one rerun from the next; else they
are a sample. Everything is a function of the plan and the journal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

from benchlint.checker.counts import pooled
from benchlint.checker.numbers import Interval
from benchlint.reproducers.cell_readings import (
    MachineState,
    machine_state,
    other_load,
    readings_by_cell,
)
from benchlint.reproducers.conditions import MODEL_FREE
from benchlint.reproducers.journal import Reading as MachineReading
from benchlint.reproducers.journal import name_in_journal
from benchlint.reproducers.losslessness import alike, are_comparable
from benchlint.reproducers.perplexity import perplexity_case
from benchlint.reproducers.plan import Cell, Check
from benchlint.reproducers.rounds import Answer, Round, Rounds
from benchlint.reproducers.statistics import (
    Drift,
    Estimate,
    Evidence,
    Share,
    cluster_ratio,
    drift,
    exact,
    mean_of,
    replicated_ratio,
)
from benchlint.reproducers.terms import SPEEDS, Reading, readings_of
from benchlint.reproducers.verdicts import Case, Quantity

#: Decode speed of a round, all of its requests together.
DECODE_METRIC = "decode.tok_s"
DECODE = Reading("over all requests together", SPEEDS[DECODE_METRIC])

_RATIOS = (Quantity.SPEED, Quantity.SPEEDUP)

#: What a device's memory may hold beside the engine is told nowhere.
_OTHER_PROGRAMS = "what else uses the device"

#: Where rounds vary by more than this (standard deviation, a share), minutes do too: two sessions
#: lie as far apart as single rounds of theirs. The interval and the tolerance come on top.
_STEADY_SPREAD = 0.05
_SESSIONS_APART = 1.5

#: Of the processors' time others may take this share before speeds here are in doubt.
_OTHER_LOAD = 0.1
_BUSY = "what else runs here"

_NO_MEMORY = "no device said how much memory was in use"
_UNKNOWN_STEPS = "passes without a draft"
_UNSEEN = "that drafts were made"
_NO_DRAFT = "nothing was drafted, so nothing shows that speculation ran"
_MAYBE_PLAIN = "the engine does not tell that it drafted, so equal answers would show nothing"
_NO_TEXT = "the answers have no text to be compared"


@dataclass(frozen=True, slots=True)
class Part:
    """A way in which a check may hold: all of its cases together.

    reading: words for what was counted, or "". cases: one for each cell compared with.
    """

    reading: str
    cases: tuple[Case, ...]


class Estimates:
    """The evidence on the checks of a plan."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds

    def parts(self, check: Check) -> tuple[Part, ...]:
        """The ways in which a check may hold; any one is enough."""
        if check.quantity is Quantity.PERPLEXITY:
            return tuple(self._perplexity(check, name) for name in check.of)
        cells = [self.rounds.cells[name] for name in check.of]
        others = [self.rounds.cells[name] for name in check.to]
        return tuple(self._parts(check, cells, others))

    def _parts(self, check: Check, of: Sequence[Cell], to: Sequence[Cell]) -> Iterator[Part]:
        if check.quantity is Quantity.MATCH_RATE:
            yield from (Part("", tuple(self._match(check, a, b) for b in to)) for a in of)
        elif check.quantity is Quantity.MEMORY:
            yield from (Part("", self._memory(check, a, to)) for a in of)
        else:
            for cell in of:
                yield from self._readings(check, cell, to)

    def _readings(self, check: Check, cell: Cell, to: Sequence[Cell]) -> Iterator[Part]:
        """One part for each reading that the engine counts; the first one where it counts none."""
        parts = [Part(r.words, self._cases(check, r, cell, to)) for r in readings_of(check)]
        yield from [p for p in parts if not any(c.barrier for c in p.cases)] or parts[:1]

    def _cases(
        self, check: Check, reading: Reading, cell: Cell, to: Sequence[Cell]
    ) -> tuple[Case, ...]:
        make = self._speed if check.quantity in _RATIOS else self._acceptance
        others: Sequence[Cell | None] = to or (None,)
        return tuple(self._guarded(check, cell, b, make(check, reading, cell, b)) for b in others)

    # what stands in the way

    def _guarded(self, check: Check, cell: Cell, other: Cell | None, case: Case) -> Case:
        """The case with what the journal says against it."""
        if case.barrier:
            return case
        cells = [cell] if other is None else [cell, other]
        reason = next(filter(None, (self.barrier(each, check) for each in cells)), "")
        doubts = (doubt for each in cells for doubt in self._doubts(each, check))
        withheld = tuple(dict.fromkeys((*case.withheld, *doubts)))
        return replace(case, barrier=reason, withheld=withheld)

    def barrier(self, cell: Cell, check: Check) -> str:
        """Why measurements of a cell say nothing of a check, or ""."""
        if cell.name in self.rounds.void:
            return self.rounds.void[cell.name]
        drafted = [answer.drafted for answer in self._answers(cell)]
        if cell.arm.method is None or not drafted or check.metric.startswith("prefill."):
            return ""
        return "" if any(each is None or each > 0 for each in drafted) else _NO_DRAFT

    def _doubts(self, cell: Cell, check: Check) -> Iterator[str]:
        """Conditions that the journal leaves open."""
        answers = self._answers(cell)
        if check.quantity in _RATIOS and self._is_disturbed(cell):
            yield _BUSY
        if cell.arm.method is None or not answers or check.metric.startswith("prefill."):
            return
        if all(answer.drafted is None for answer in answers):
            yield _UNSEEN
        skips = cell.arm.p_min > 0 or cell.arm.method in MODEL_FREE
        unknown = any(answer.counts.steps is None for answer in answers)
        if check.quantity is Quantity.ACCEPTANCE and skips and unknown:
            yield _UNKNOWN_STEPS

    def _is_disturbed(self, cell: Cell) -> bool:
        """Whether other programs took much of the processors that did the work."""
        share = other_load(self._readings_by_cell.get(name_in_journal(cell.name), ()))
        return share is not None and share > _OTHER_LOAD

    def _answers(self, cell: Cell) -> list[Answer]:
        return [answer for each in self.rounds.of(cell.name).values() for answer in each.values()]

    # speeds

    def _speed(self, check: Check, reading: Reading, cell: Cell, other: Cell | None) -> Case:
        unsteady = 0.0
        if other is None:
            units = self.logs(cell, reading)
            looks: Sequence[Evidence] = self._looks([cell], lambda look: _mean(units, look))
            unsteady = self._unsteadiness(check, cell.series, units.values())
        else:
            looks = self._compared(check, reading, cell, other)
        silent = [c for c in (cell, other) if c is not None and self._is_silent(c, reading)]
        barrier = f"{silent[0].name} gives no {check.metric}" if silent else ""
        return Case(check.zone.log(), looks, check.withheld, barrier, unsteady)

    def _unsteadiness(self, check: Check, series: str, logs: Collection[float]) -> float:
        """How far an absolute speed moves by itself from one session to the next, as a share.

        logs: of its rounds. 0 on a steady machine. A ratio of arms that take turns does not have
        it.
        """
        spread = math.hypot(stdev(logs) if len(logs) > 1 else 0.0, check.spread)
        trend = self.drifts[series]
        drifted = abs(trend.total) if trend is not None and trend.notable else 0.0
        if spread <= _STEADY_SPREAD:
            return drifted
        return max(_SESSIONS_APART * spread, self._shifts.get(series, 0.0), drifted)

    @cached_property
    def _shifts(self) -> Mapping[str, float]:
        """By series how far all decode speeds are off alike, as a share; see `_common_shift`."""
        gaps: dict[str, dict[str, float]] = {}
        for check in self.rounds.plan.checks:
            if check.metric == DECODE_METRIC and check.relation is None:
                cell = self.rounds.cells[check.of[0]]
                logs = self.logs(cell, DECODE).values()
                if logs and check.claimed is not None and check.claimed.value > 0:
                    gap = fmean(logs) - math.log(check.claimed.value)
                    gaps.setdefault(cell.series, {})[cell.name] = gap
        return {series: _common_shift(list(each.values())) for series, each in gaps.items()}

    @cached_property
    def drifts(self) -> Mapping[str, Drift | None]:
        """The trend of decode speeds over all runs of each series; None without any."""
        return {series: self._drift(series) for series in self.rounds.plan.series}

    def _drift(self, series: str) -> Drift | None:
        runs = [(cell, speed) for _, cell, speed in sorted(self._runs(series))]
        return drift(runs) if runs else None

    def _runs(self, series: str) -> Iterator[tuple[int, str, float]]:
        """Position, cell and decode speed of each valid round of each cell of a series."""
        for cell in self.rounds.plan.series[series]:
            for each in self.rounds.of(cell.name).values():
                speed = DECODE.value(each.values())
                if speed is not None and 0 < speed < math.inf:
                    yield min(answer.position for answer in each.values()), cell.name, speed

    def _compared(
        self, check: Check, reading: Reading, cell: Cell, other: Cell
    ) -> Sequence[Evidence]:
        """Within rounds where both are measured in turns, else as two independent series."""
        if check.metric == "speedup" and cell.series != other.series:
            return self._speedups_apart(reading, cell, other)
        first, second = self.logs(cell, reading), self.logs(other, reading)
        if cell.series == other.series:
            units = {pair: first[pair] - second[pair] for pair in first.keys() & second.keys()}
            return self._looks([cell], lambda look: _mean(units, look))
        return self._looks([cell, other], lambda *n: _apart(first, second, *n))

    def _speedups_apart(self, reading: Reading, cell: Cell, other: Cell) -> Sequence[Evidence]:
        """A speed-up is over the baseline of its own series, wherever the claim took its number.

        Compared with a run of another series that has a speed-up itself, it is that of both.
        """
        first = self._over_plain(cell, reading)
        if other.arm.method is None:
            return self._looks([cell], lambda look: _mean(first, look))
        second = self._over_plain(other, reading)
        return self._looks([cell, other], lambda *n: _apart(first, second, *n))

    def _over_plain(self, cell: Cell, reading: Reading) -> dict[int, float]:
        plain = self.rounds.plain_of(cell)
        if plain is None:
            return {}
        first, second = self.logs(cell, reading), self.logs(plain, reading)
        return {pair: first[pair] - second[pair] for pair in first.keys() & second.keys()}

    def logs(self, cell: Cell, reading: Reading) -> dict[int, float]:
        """For each valid round the logarithm of what the reading says of it."""
        values = {p: reading.value(r.values()) for p, r in self.rounds.of(cell.name).items()}
        return {p: math.log(v) for p, v in values.items() if v and 0 < v < math.inf}

    def _is_silent(self, cell: Cell, reading: Reading) -> bool:
        """Whether there are answers, none of which tells what the reading needs."""
        rounds = self.rounds.of(cell.name)
        return bool(rounds) and not self.logs(cell, reading)

    # acceptance

    def _acceptance(self, check: Check, reading: Reading, cell: Cell, other: Cell | None) -> Case:
        cells = [cell] if other is None else [cell, other]
        terms = [self._terms(each, reading) for each in cells]
        if any(self.rounds.of(c.name) and not t for c, t in zip(cells, terms, strict=True)):
            reason = f"the engine does not count what makes {check.metric}"
            return Case(check.zone, (), check.withheld, reason)
        if other is None:
            looks = self._looks(cells, lambda look: _accepted(cell, terms[0], check.metric, look))
            return Case(check.zone, looks, check.withheld)
        looks = self._looks(cells, lambda *n: _ratio_of(cells, terms, check.metric, *n))
        return Case(check.zone.log(), looks, check.withheld)

    def _terms(self, cell: Cell, reading: Reading) -> Terms:
        """For each valid round the terms of its answers, where every one of them tells them."""
        rounds = self.rounds.of(cell.name).items()
        found = ((pair, _terms_of(each, reading)) for pair, each in rounds)
        return {pair: terms for pair, terms in found if terms is not None}

    # the rest

    def _perplexity(self, check: Check, name: str) -> Part:
        others: Sequence[str | None] = check.to or (None,)
        return Part("", tuple(perplexity_case(self.rounds, check, name, b) for b in others))

    def _match(self, check: Check, cell: Cell, other: Cell) -> Case:
        """A prompt is the unit: in the first round that has both answers."""
        if check.definition == "token":
            reason = "after the first token that differs, later ones depend on it"
            return Case(check.zone, (), check.withheld, reason)
        if cell.series != other.series:
            return Case(check.zone, (), check.withheld, "the two runs have other prompts")
        if reason := self._says_nothing(cell, other):
            return Case(check.zone, (), check.withheld, reason)
        first, second = self.rounds.of(cell.name), self.rounds.of(other.name)
        both = sorted(first.keys() & second.keys())
        own = bool(cell.prompts_are_published) and cell.arm.sampling.temperature == 0
        filled = cell.circumstances.filled_tokens is not None

        def matches(look: int) -> Share | RepeatedShare | None:
            pairs = [pair for pair in both if pair < look]
            # Where the cache is filled each round has another text.
            return _matches(first, second, pairs[:1] if filled else pairs, own)

        looks = self._looks([cell], matches)
        return self._guarded(check, cell, other, Case(check.zone, looks, check.withheld))

    def _says_nothing(self, *cells: Cell) -> str:
        """Why equal answers of these cells would be no evidence, or ""."""
        answers = {cell.name: self._answers(cell) for cell in cells}
        for cell in cells:
            told = [answer.drafted is not None for answer in answers[cell.name]]
            if cell.arm.method is not None and told and not any(told):
                return _MAYBE_PLAIN
        samples = [answer.sample for each in answers.values() for answer in each]
        return _NO_TEXT if samples and not are_comparable(samples) else ""

    def _memory(self, check: Check, cell: Cell, to: Sequence[Cell]) -> tuple[Case, ...]:
        unit = 1024.0 if check.metric.endswith("_gib") else 1.0
        withheld = (*check.withheld, _OTHER_PROGRAMS)
        used = self.memory_mib(cell)
        if not to:
            looks = [] if used is None else [exact(used / unit)]
            case = Case(check.zone, looks, withheld, self._no_memory([cell]))
            return (self._guarded(check, cell, None, case),)
        return tuple(self._memory_ratio(check, cell, b, withheld) for b in to)

    def _memory_ratio(
        self, check: Check, cell: Cell, other: Cell, withheld: tuple[str, ...]
    ) -> Case:
        first, second = self.memory_mib(cell), self.memory_mib(other)
        looks = [exact(math.log(first / second))] if first and second else []
        case = Case(check.zone.log(), looks, withheld, self._no_memory([cell, other]))
        return self._guarded(check, cell, other, case)

    def _no_memory(self, cells: Sequence[Cell]) -> str:
        """Why nothing is known of memory where there are answers, or ""."""
        silent = (self._answers(cell) and not self.memory_mib(cell) for cell in cells)
        return _NO_MEMORY if any(silent) else ""

    def memory_mib(self, cell: Cell) -> float | None:
        """Most memory in use while an engine was set up for a cell, in MiB, over all devices."""
        return self.machine_state(cell).memory_mib

    def machine_state(self, cell: Cell) -> MachineState:
        """The machine while an engine was set up for a cell."""
        return machine_state(self._readings_by_cell.get(name_in_journal(cell.name), ()))

    @cached_property
    def _readings_by_cell(self) -> dict[str, list[MachineReading]]:
        return readings_by_cell(self.rounds.journal)

    # looks

    def _looks(self, cells: Sequence[Cell], estimate: AtLook) -> list[Evidence]:
        """The evidence at each look that the series of all cells have reached."""
        steps = zip(*(self.rounds.reached(cell.series) for cell in cells), strict=False)
        found = (estimate(*step) for step in steps)
        return [each for each in found if each is not None]


# At one look, which sees the rounds before it


@dataclass(frozen=True, slots=True)
class Repeated:
    """An acceptance figure, with a second error for where an exact rerun proves too little.

    estimate: with what varied between repeats. steps_error: what it would vary by if every
    answer took another course, in the same unit. Greedy answers repeat to the last digit on one
    machine, while a near-tie that falls otherwise on another one changes the rest of the answer.
    So what repeats is reproduced, but is refuted only beyond both errors.
    """

    estimate: Estimate
    steps_error: float = 0.0

    @property
    def value(self) -> float:
        """The figure."""
        return self.estimate.value

    @property
    def units(self) -> int:
        """The number of prompts."""
        return self.estimate.units

    def interval(self, confidence: float) -> Interval:
        """What repeats tell."""
        return self.estimate.interval(confidence)

    def tail(self, zone: Interval) -> float:
        """The larger of the tails under either error."""
        other = replace(self.estimate, error=self.steps_error, freedom=math.inf)
        return max(self.estimate.tail(zone), other.tail(zone))

    def agrees_outside(self, zone: Interval) -> bool:
        """Whether the estimate does."""
        return self.estimate.agrees_outside(zone)

    def log(self) -> Repeated:
        """The natural logarithm."""
        return Repeated(self.estimate.log(), self.steps_error / self.value)


@dataclass(frozen=True, slots=True)
class RepeatedShare:
    """A share of a report's own prompts, which an exact rerun gives again.

    So it is reproduced where every round gave it, but is refuted only as a share of a sample
    of prompts would be: on another machine near-ties fall otherwise.
    """

    share: Share

    @property
    def value(self) -> float:
        """The share, 0 to 1."""
        return self.share.value

    @property
    def units(self) -> int:
        """The number of prompts."""
        return self.share.units

    def interval(self, confidence: float) -> Interval:  # noqa: ARG002 - there is no other value
        """What repeats tell: the share itself."""
        return Interval(self.value, self.value)

    def tail(self, zone: Interval) -> float:
        """As of a sample."""
        return self.share.tail(zone)

    def agrees_outside(self, zone: Interval) -> bool:
        """As of a sample."""
        return self.share.agrees_outside(zone)


@dataclass(frozen=True, slots=True)
class _Term:
    """What one answer adds to a ratio of sums."""

    answer: Answer
    above: float
    below: float


Terms = Mapping[int, Sequence[_Term]]
AtLook = Callable[..., Evidence | None]


def _common_shift(gaps: Sequence[float]) -> float:
    """The least of several differences of logarithms as a share; 0 where their signs differ.

    An unsteady machine moves all speeds at once; one number that is wrong is off by more.
    """
    if len(gaps) < 2 or min(gaps) <= 0 <= max(gaps):
        return 0.0
    return math.expm1(min(map(abs, gaps)))


def _mean(units: Mapping[int, float], look: int) -> Estimate | None:
    kept = [units[pair] for pair in sorted(units) if pair < look]
    return mean_of(kept) if kept else None


def _apart(
    first: Mapping[int, float], second: Mapping[int, float], look: int, other: int
) -> Estimate | None:
    a, b = _mean(first, look), _mean(second, other)
    return None if a is None or b is None else difference(a, b)


def difference(a: Estimate, b: Estimate) -> Estimate:
    """a - b of two independent estimates, with Welch's degrees of freedom (1947, Biometrika
    34:28).
    """
    middle = None if a.middle is None or b.middle is None else a.middle - b.middle
    error, units = math.hypot(a.error, b.error), min(a.units, b.units)
    return Estimate(a.value - b.value, error, _freedom(a, b), units, middle)


def _freedom(a: Estimate, b: Estimate) -> float:
    if not 0 < math.hypot(a.error, b.error) < math.inf:
        return min(a.freedom, b.freedom)
    shares = [each.error / math.hypot(a.error, b.error) for each in (a, b)]
    parts = [s**4 / e.freedom for s, e in zip(shares, (a, b), strict=True) if e.freedom > 0]
    return 1 / sum(parts) if sum(parts) > 0 else math.inf


def _terms_of(answers: Round, reading: Reading) -> list[_Term] | None:
    pairs = [(answer, reading.weighed(answer)) for answer in answers.values()]
    terms = [_Term(answer, *pair) for answer, pair in pairs if pair is not None]
    return terms if len(terms) == len(pairs) else None


def _accepted(cell: Cell, terms: Terms, metric: str, look: int) -> Repeated | None:
    kept = [terms[pair] for pair in sorted(terms) if pair < look]
    if not sum(term.below for each in kept for term in each) > 0:
        return None
    prompts = [prompt.id for prompt in cell.prompts.prompts]
    columns = [[each[i] for each in kept] for i in range(len(prompts))]
    above = [[term.above for term in column] for column in columns]
    below = [[term.below for term in column] for column in columns]
    if not cell.prompts_are_published:
        return Repeated(cluster_ratio([sum(a) for a in above], [sum(b) for b in below]))
    estimate = replicated_ratio(above, below)
    exact_rerun = cell.arm.sampling.temperature == 0 or estimate.error == 0
    return Repeated(estimate, _steps_error(estimate, kept, metric) if exact_rerun else 0.0)


def _ratio_of(
    cells: Sequence[Cell], terms: Sequence[Terms], metric: str, *looks: int
) -> Repeated | None:
    """The logarithm of the ratio of two figures. What their prompts share makes it narrower
    than this says.
    """
    found = [_accepted(c, t, metric, look) for c, t, look in zip(cells, terms, looks, strict=True)]
    logs = [each.log() for each in found if each is not None and each.value > 0]
    if len(logs) < 2:
        return None
    steps_error = math.hypot(*(each.steps_error for each in logs))
    return Repeated(difference(logs[0].estimate, logs[1].estimate), steps_error)


def _steps_error(estimate: Estimate, kept: Sequence[Sequence[_Term]], metric: str) -> float:
    """The error of the figure over one round, with each verify step as a draw of its own."""
    if metric.startswith("speculation.per_position"):
        trials = sum(term.below for each in kept for term in each) / len(kept)
        return math.sqrt(max(estimate.value * (1 - estimate.value), 0.0) / trials)
    counts = pooled(term.answer.counts for each in kept for term in each)
    steps, accepted = counts.passes or counts.steps, counts.accepted
    if not steps or not accepted:
        return 0.0
    spread = math.sqrt(steps * len(kept) * _variance(steps, accepted, kept))
    if metric == "speculation.accepted_length":
        return spread / steps  # the target's own token of each step is certain
    return estimate.value * spread / accepted


def _variance(steps: float, accepted: float, kept: Sequence[Sequence[_Term]]) -> float:
    """Variance of accepted tokens over steps; the largest there can be where it is not told."""
    mean = accepted / steps
    told = [term.answer.sample.counters.at_least for each in kept for term in each]
    if None not in told:
        known = (counts for counts in told if counts is not None)
        squares = sum((2 * i + 1) * n for counts in known for i, n in enumerate(counts))
        return max(squares / steps - mean * mean, 0.0)
    longest = max(term.answer.counts.k or 0 for each in kept for term in each) or 2 * mean
    return max(mean * (longest - mean), 0.0)


def _matches(
    first: Mapping[int, Round], second: Mapping[int, Round], pairs: Sequence[int], own: bool
) -> Share | RepeatedShare | None:
    """How many prompts were answered alike, in the first of these rounds.

    Later rounds repeat the same prompts, so they are no more trials. own: whether these are the
    report's own prompts under greedy decoding, which later rounds can only confirm.
    """
    rounds = [_alike(first[pair], second[pair]) for pair in pairs]
    if not rounds:
        return None
    share = Share(sum(rounds[0]), len(rounds[0]))
    repeats = all(each == rounds[0] for each in rounds)
    return RepeatedShare(share) if own and repeats else share


def _alike(first: Round, second: Round) -> list[bool]:
    return [alike(a.sample, second[prompt].sample) for prompt, a in first.items()]
