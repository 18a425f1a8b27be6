"""What a journal says of a plan: a verdict on each claim and number, and what it rests on.

Everything here is a function of the plan and the journal, so that a verdict can be given again
elsewhere and comes out the same to the last byte. A journal that ends early gives the verdicts
that its data allow so far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchlint.checker.counts import CanonicalCounts
from benchlint.checker.facts import ReportFacts
from benchlint.checker.numbers import Interval
from benchlint.reproducers.cell_readings import MachineState
from benchlint.reproducers.engine import Description
from benchlint.reproducers.estimates import DECODE, Estimates, Part
from benchlint.reproducers.journal import (
    End,
    Journal,
    Known,
    Measured,
    name_in_journal,
)
from benchlint.reproducers.losslessness import Comparison, comparisons
from benchlint.reproducers.perplexity import windows_of
from benchlint.reproducers.plan import Cell, Check, Plan, Scoring, Untestable
from benchlint.reproducers.rooflines import Roofline, ceiling_here, roofline_of
from benchlint.reproducers.rounds import Rounds, pooled_counts
from benchlint.reproducers.statistics import Drift, Estimate, flagged, mean_of
from benchlint.reproducers.verdicts import (
    Case,
    Outcome,
    Verdict,
    all_of,
    any_of,
    decide,
    not_testable,
    overall,
)

#: Confidence of intervals that only describe.
SHOWN_CONFIDENCE = 0.95

#: Answers shorter than these say little of speed (tokens a request, verify steps a cell).
SHORT_TOKENS = 256
FEW_STEPS = 50

#: What a command returns for an outcome. Nothing tested is nothing reproduced.
EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.REPRODUCED: 0,
    Outcome.REFUTED: 1,
    Outcome.INCONCLUSIVE: 3,
    Outcome.NOT_TESTABLE: 3,
}


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on a claim or a printed number.

    pointer, says: where it stands in the report, and in words. tested: what of a sentence is
    tested, or "". check: None where the plan has
    no way to test it. reading: how the number was counted where several ways are possible.
    withheld: conditions not known to be equal, from the report and from the journal.
    of, to: cells that were measured for it.
    """

    pointer: str
    says: str
    verdict: Verdict
    check: Check | None = None
    reading: str = ""
    withheld: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    tested: str = ""

    @property
    def is_claim(self) -> bool:
        """Whether it is one of the report's claims rather than a number of a run."""
        return self.pointer.startswith("/claims/")


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with its 95 % interval; the interval is None where there is none."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Where a speed-up comes from: S = τ_all/r, exactly, in each round and in the means.

    speedup: S, the ratio of decode speeds. accepted_length_all: τ_all, tokens a target pass.
    step_cost: r, the time of a pass over that of a pass of the baseline. rounds: it rests on.
    """

    cell: str
    baseline: str
    rounds: int
    speedup: Figure
    accepted_length_all: Figure
    step_cost: Figure


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was measured in a cell.

    rounds: valid ones, complete in its series. starts: how often its engine was started.
    void: why nothing of it counts, or "". tok_s: decode speed. counts: sums over rounds.
    per_position: share of verify steps that accepted at least 1, 2, … tokens.
    speeds: decode speed of each round, with its number. outliers: rounds that lie far out; they
    are told and never left out. machine: what it said of itself meanwhile. roofline: the speed
    under the ceiling of the device here; None where device or weights are not known.
    stated: the same of the report's runs that this repeats, by their ids, each under the ceiling
    of its own device. notes: what a reader should know of these measurements.
    """

    cell: str
    series: str
    arm: str
    method: str | None
    draft_length: int | None
    filled_tokens: int | None
    rounds: int
    starts: int
    void: str
    tok_s: Figure | None
    counts: CanonicalCounts | None
    per_position: tuple[float, ...]
    speeds: tuple[tuple[int, float], ...]
    outliers: tuple[int, ...]
    machine: MachineState
    roofline: Roofline | None
    stated: tuple[tuple[str, Roofline], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The perplexity of a text as it was measured.

    windows: of `context_tokens`, each scored in its second half. perplexity: its interval takes
    the windows as a sample of such text. void: why nothing of it counts, or "".
    """

    scoring: str
    arm: str
    text: str
    text_sha256: str
    context_tokens: int
    windows: int
    perplexity: Figure | None
    void: str


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """How far a series got. whole: complete rounds. looks: rounds at which data were looked at."""

    name: str
    whole: int
    looks: tuple[int, ...]
    drift: Drift | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the environment side by side; None where a side does not say."""

    name: str
    report: Known
    here: Known


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that a journal says of a plan.

    ended: why measuring ended last, or "" where it did not (a killed run).
    warnings: of the journal and of the measurements as a whole.
    """

    plan: str
    tool: str
    ended: str
    rulings: tuple[Ruling, ...]
    decompositions: tuple[Decomposition, ...]
    cells: tuple[Measurements, ...]
    series: tuple[SeriesSummary, ...]
    perplexities: tuple[Scores, ...]
    losslessness: tuple[Comparison, ...]
    environment: tuple[Line, ...]
    warnings: tuple[str, ...] = field(default=())

    @property
    def outcome(self) -> Outcome:
        """One outcome for the whole report.

        Where measurements that were to be made are void, what is left does not reproduce it:
        with speculation silently off, that would be the baseline alone.
        """
        found = overall([ruling.verdict.outcome for ruling in self.rulings])
        spoiled = found is Outcome.REPRODUCED and self._is_spoiled
        return Outcome.INCONCLUSIVE if spoiled else found

    @property
    def exit_code(self) -> int:
        """0 all that is testable was reproduced, 1 something was refuted, else 3."""
        return EXIT_CODES[self.outcome]

    @property
    def _is_spoiled(self) -> bool:
        void = {cell.cell for cell in self.cells if cell.void}
        tested = (ruling for ruling in self.rulings if ruling.check is not None)
        return any(not void.isdisjoint((*each.of, *each.to)) for each in tested)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many rulings have each outcome."""
        found = Counter(ruling.verdict.outcome for ruling in self.rulings)
        return {outcome: found[outcome] for outcome in Outcome}

    @property
    def settled(self) -> bool:
        """Whether more measuring cannot change any verdict."""
        return all(ruling.verdict.settled for ruling in self.rulings)


def judge(
    plan: Plan,
    journal: Journal,
    stated: Mapping[str, Known] | None = None,
    report: ReportFacts | None = None,
) -> Judgement:
    """The judgement on a plan by a journal. Raises JournalError for a journal of another plan.

    stated: what the report says of its environment, by the names of `environment_here`.
    report: the one that is run again, for what its own device could do.
    """
    rounds = Rounds(plan, journal)
    estimates = Estimates(rounds)
    ends = journal.of_kind(End)
    cells = tuple(_measurements(rounds, estimates, cell, report) for cell in plan.cells)
    series = tuple(_series(estimates, name) for name in plan.series)
    return Judgement(
        plan.sha256,
        journal.header.tool if journal.header is not None else "",
        ends[-1].reason if ends else "",
        rulings_of(estimates),
        tuple(_decompositions(rounds)),
        cells,
        series,
        tuple(_scores(rounds, scoring) for scoring in plan.scorings),
        comparisons(rounds),
        _side_by_side(stated or {}, environment_here(journal)),
        tuple(_warnings(journal, series)),
    )


# While measuring


def is_decided(plan: Plan, journal: Journal) -> bool:
    """Whether no further round can change a verdict. A plan that tests nothing never is."""
    return bool(plan.checks) and not _open_checks(plan, journal)


def needless_series(plan: Plan, journal: Journal) -> frozenset[str]:
    """Series of which no check that is still open needs another round.

    Those that are only shown are not among them: they are measured as the plan says.
    """
    tested = _series_of(plan, plan.checks)
    return tested - _series_of(plan, _open_checks(plan, journal))


def _open_checks(plan: Plan, journal: Journal) -> list[Check]:
    rulings = rulings_of(Estimates(Rounds(plan, journal)))
    return [r.check for r in rulings if r.check is not None and not r.verdict.settled]


def _series_of(plan: Plan, checks: Iterable[Check]) -> frozenset[str]:
    names = {name for check in checks for name in (*check.of, *check.to)}
    return frozenset(cell.series for cell in plan.cells if cell.name in names)


# Verdicts


def rulings_of(estimates: Estimates) -> tuple[Ruling, ...]:
    """The verdicts on all checks, decided together, and what is not testable."""
    plan = estimates.rounds.plan
    parts = {check.pointer: estimates.parts(check) for check in plan.checks}
    verdicts = decide({name: case for p, each in parts.items() for name, case in _named(p, each)})
    checked = (_ruling(check, parts[check.pointer], verdicts) for check in plan.checks)
    return (*checked, *map(_untested, plan.untestable))


def _untested(each: Untestable) -> Ruling:
    verdict = not_testable(each.reason)
    return Ruling(each.pointer, each.says, verdict, of=each.shown, tested=each.tested)


def _named(pointer: str, parts: Sequence[Part]) -> Iterator[tuple[str, Case]]:
    for i, part in enumerate(parts):
        yield from ((_name(pointer, i, j), case) for j, case in enumerate(part.cases))


def _name(pointer: str, part: int, case: int) -> str:
    return f"{pointer} {part} {case}"


def _ruling(check: Check, parts: Sequence[Part], verdicts: Mapping[str, Verdict]) -> Ruling:
    each = [
        all_of([verdicts[_name(check.pointer, i, j)] for j in range(len(part.cases))])
        for i, part in enumerate(parts)
    ]
    verdict = any_of(each)
    leading = next(
        (p for p, v in zip(parts, each, strict=True) if v.reason == verdict.reason), None
    )
    withheld = dict.fromkeys(name for p in parts for case in p.cases for name in case.withheld)
    return Ruling(
        check.pointer,
        check.says,
        verdict,
        check,
        "" if leading is None or verdict.evidence is None else leading.reading,
        tuple(withheld),
        check.of,
        check.to,
        check.tested,
    )


# Where speed-ups come from


def _decompositions(rounds: Rounds) -> Iterator[Decomposition]:
    for cell in rounds.plan.cells:
        plain = rounds.plain_of(cell)
        if cell.arm.method is not None and plain is not None:
            yield from _decomposition(rounds, cell, plain)


def _decomposition(rounds: Rounds, cell: Cell, plain: Cell) -> Iterator[Decomposition]:
    """One, where rounds have both cells and the engine counts accepted tokens."""
    first, second = (_pass_logs(rounds, each) for each in (cell, plain))
    both = sorted(first.keys() & second.keys())
    if not both:
        return
    lengths = [first[pair][0] - second[pair][0] for pair in both]
    costs = [first[pair][1] - second[pair][1] for pair in both]
    speedups = [length - cost for length, cost in zip(lengths, costs, strict=True)]
    figures = (_exponential(mean_of(each)) for each in (speedups, lengths, costs))
    yield Decomposition(cell.name, plain.name, len(both), *figures)


def _pass_logs(rounds: Rounds, cell: Cell) -> dict[int, tuple[float, float]]:
    """For each round the logarithms of tokens a pass and of seconds a pass."""
    found: dict[int, tuple[float, float]] = {}
    for pair, each in rounds.of(cell.name).items():
        counts = pooled_counts({pair: each})
        passes = None if counts is None else counts.passes
        if counts is None or not passes or not counts.decode_s or counts.tok_s is None:
            continue
        if counts.tok_s > 0:
            seconds = counts.decode_s / passes
            found[pair] = math.log(counts.tok_s * seconds), math.log(seconds)
    return found


# What was measured


def _measurements(
    rounds: Rounds, estimates: Estimates, cell: Cell, report: ReportFacts | None
) -> Measurements:
    logs = estimates.logs(cell, DECODE)
    counts, pairs = pooled_counts(rounds.of(cell.name)), sorted(logs)
    state = estimates.machine_state(cell)
    speed = _exponential(mean_of([logs[pair] for pair in pairs])) if pairs else None
    return Measurements(
        cell.name,
        cell.series,
        cell.arm.name,
        cell.arm.method,
        cell.arm.draft_length,
        cell.circumstances.filled_tokens,
        len(rounds.of(cell.name)),
        rounds.journal.starts.get(name_in_journal(cell.name), 0),
        rounds.void.get(cell.name, ""),
        speed,
        counts,
        _per_position(rounds, cell, counts),
        tuple((pair, math.exp(logs[pair])) for pair in pairs),
        tuple(pairs[i] for i in flagged([logs[pair] for pair in pairs])),
        state,
        _roofline(rounds, cell, speed, counts, report),
        tuple(_stated_rooflines(cell, report)),
        (*_notes(rounds, cell, counts), *_throttling(state)),
    )


def _scores(rounds: Rounds, scoring: Scoring) -> Scores:
    windows = windows_of(rounds, scoring.name)
    return Scores(
        scoring.name,
        scoring.arm.name,
        scoring.text.name,
        scoring.text.sha256,
        scoring.context_tokens,
        len(windows),
        _exponential(mean_of(windows)) if windows else None,
        rounds.void.get(scoring.name, ""),
    )


def _roofline(
    rounds: Rounds,
    cell: Cell,
    speed: Figure | None,
    counts: CanonicalCounts | None,
    report: ReportFacts | None,
) -> Roofline | None:
    """The speed of a cell under the ceiling of the device here."""
    description = rounds.journal.descriptions.get(name_in_journal(cell.name))
    header = rounds.journal.header
    if speed is None or counts is None or description is None or header is None:
        return None
    run = None if report is None else next(filter(None, map(report.run, cell.runs)), None)
    stated = None if run is None else run.configuration
    ceiling = ceiling_here(header.machine, description, stated)
    tau = counts.accepted_length_all
    passes = speed.value / tau if tau is not None else None
    return None if ceiling is None else Roofline(ceiling, speed.value, passes)


def _stated_rooflines(cell: Cell, report: ReportFacts | None) -> Iterator[tuple[str, Roofline]]:
    for name in cell.runs if report is not None else ():
        run = report.run(name) if report is not None else None
        found = None if run is None else roofline_of(run)
        if found is not None:
            yield name, found


def _per_position(rounds: Rounds, cell: Cell, counts: CanonicalCounts | None) -> tuple[float, ...]:
    answers = [answer for each in rounds.of(cell.name).values() for answer in each.values()]
    told = [answer.sample.counters.at_least for answer in answers]
    if counts is None or not counts.steps or None in told:
        return ()
    known = [at_least for at_least in told if at_least is not None]
    longest = max(map(len, known), default=0)
    sums = (sum(each[i] for each in known if i < len(each)) for i in range(longest))
    return tuple(total / counts.steps for total in sums)


def _notes(rounds: Rounds, cell: Cell, counts: CanonicalCounts | None) -> Iterator[str]:
    answers = [answer for each in rounds.of(cell.name).values() for answer in each.values()]
    if not answers or counts is None:
        return
    mean = sum(answer.sample.output_tokens for answer in answers) / len(answers)
    if mean < SHORT_TOKENS:
        yield f"answers of {mean:.0f} tokens on average: {SHORT_TOKENS} tell more of speed"
    if cell.arm.method is not None and counts.steps is not None and counts.steps < FEW_STEPS:
        yield f"{counts.steps:.0f} verify steps: {FEW_STEPS} tell more of acceptance"
    if any(answer.sample.timed_by == "client" for answer in answers):
        yield "decode was timed by the client, not the engine"
    if cell.arm.method is not None and counts.drafted is None:
        yield "the engine does not tell what it drafted"


def _throttling(state: MachineState) -> Iterator[str]:
    if state.throttled:
        yield f"the device held its clocks down: {', '.join(state.throttled)}"


def _exponential(estimate: Estimate) -> Figure:
    """An estimate of a logarithm in the unit of the number."""
    interval = estimate.interval(SHOWN_CONFIDENCE)
    known = math.isfinite(interval.low) and math.isfinite(interval.high) and interval.high < 700
    ends = Interval(math.exp(interval.low), math.exp(interval.high)) if known else None
    return Figure(math.exp(estimate.value), ends)


def _series(estimates: Estimates, name: str) -> SeriesSummary:
    rounds = estimates.rounds
    return SeriesSummary(name, rounds.whole[name], rounds.reached(name), estimates.drifts[name])


def _warnings(journal: Journal, series: Sequence[SeriesSummary]) -> Iterator[str]:
    if journal.warning:
        yield "the journal ended within a line, which was dropped"
    for each in series:
        if each.drift is not None and each.drift.notable:
            yield f"{each.name}: speeds drifted by {100 * each.drift.total:+.1f} % while measuring"


# Environment


def environment_here(journal: Journal) -> dict[str, Known]:
    """What is known of the machine and the engines, by name; texts where engines differ."""
    machine = {} if journal.header is None else dict(journal.header.machine)
    told: dict[str, dict[Known, None]] = {}
    descriptions = _answering(journal)
    if descriptions and all(each.backend == "CPU" for each in descriptions) and "cpu" in machine:
        machine |= {"device": machine["cpu"], "device count": 1}
    for description in descriptions:
        known: dict[str, Known] = {
            "engine": description.engine,
            "engine version": description.version,
            "engine commit": description.commit,
            "backend": description.backend,
            "telemetry": description.telemetry,
            **{f"sampler {name}": value for name, value in description.sampler.items()},
            **{f"target {name}": value for name, value in description.target.items()},
            **{f"drafter {name}": value for name, value in description.drafter.items()},
        }
        for name, value in known.items():
            if value is not None:
                told.setdefault(name, {})[value] = None
    return {**machine, **{name: _one(list(values)) for name, values in told.items()}}


def _answering(journal: Journal) -> list[Description]:
    """Of cells, while there are any; texts are scored without a sampler."""
    answered = {each.cell for each in journal.of_kind(Measured)}
    told = journal.descriptions.items()
    return [each for name, each in told if name in answered] or [each for _, each in told]


def _one(values: Sequence[Known]) -> Known:
    return values[0] if len(values) == 1 else ", ".join(map(str, values))


def _side_by_side(stated: Mapping[str, Known], here: Mapping[str, Known]) -> tuple[Line, ...]:
    names = dict.fromkeys((*stated, *here))
    return tuple(Line(name, stated.get(name), here.get(name)) for name in names)
