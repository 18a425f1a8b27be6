"""From a report to a plan: which of its numbers and claims can be tested here, and how.

Every measured number of every run gets a check or a reason, every claim too. Nothing is
measured twice: runs of one configuration, workload and position share a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from benchlint.checker.claims import Gap, Statement
from benchlint.checker.facts import ClaimFacts, QualityFacts, ReportFacts, RunFacts, metric
from benchlint.checker.metrics import (
    higher_is_better,
    is_perplexity,
    known_metrics,
    quality_higher_is_better,
)
from benchlint.checker.noise import stated_deviation
from benchlint.checker.numbers import Reported
from benchlint.reproducers.claimed import (
    error_of,
    error_of_claim,
    instead_of,
    least_tolerance,
    path_of,
    relation_tested,
    rivals_of,
    runs_of,
    tested_of,
    value_tested,
    words_of,
)
from benchlint.reproducers.conditions import of_configuration
from benchlint.reproducers.design import BLOCK
from benchlint.reproducers.plan import (
    Cell,
    Check,
    Plan,
    Scoring,
    Untestable,
    check_of,
    scoring_of,
)
from benchlint.reproducers.report_cells import (
    RunCell,
    Wishes,
    apart,
    kv_types_of,
    plain_cell,
    scoring_barrier,
    scorings_apart,
)
from benchlint.reproducers.verdicts import Quantity, transfer
from benchlint.reproducers.workloads.published import published_text

#: What the numbers of a run are, by their path.
QUANTITIES = {
    "decode.tok_s": Quantity.SPEED,
    "decode.time_per_output_token_ms": Quantity.SPEED,
    "prefill.tok_s": Quantity.SPEED,
    "prefill.ttft_ms": Quantity.SPEED,
    "step_time_ms": Quantity.SPEED,
    "speedup": Quantity.SPEEDUP,
    "speculation.accepted_length": Quantity.ACCEPTANCE,
    "speculation.acceptance_rate": Quantity.ACCEPTANCE,
    "losslessness.match_rate": Quantity.MATCH_RATE,
    "memory.device_used_mib": Quantity.MEMORY,
    "memory.device_used_gib": Quantity.MEMORY,
}

#: Acceptance by position stands in a list, which has no path of its own.
POSITIONS = "speculation.per_position.values"

#: Why a number that people publish is not tested; by path, or by the block it stands in.
_NOT_MEASURED = {
    "throughput": "aggregate figures are not measured: requests are sent one at a time",
    "power": "power is recorded beside the measurements, not tested",
    "decode.inter_token_latency_ms": "may be the gap between tokens or between chunks",
    "decode.inter_chunk_latency_ms": "depends on how the engine groups tokens into chunks",
    "losslessness.first_divergence": "one differing near-tie moves it anywhere",
}

#: Amounts, which say how much was run and claim nothing.
_AMOUNTS = ("throughput.tokens", "throughput.seconds", "throughput.completed_requests")

#: Quantities that are counted in several ways.
_DEFINED = (Quantity.ACCEPTANCE, Quantity.MATCH_RATE)

#: Unknown conditions that move nothing but speeds.
_OF_SPEEDS = ("concurrency", "other load")

#: Speeds of more than one request at once are others than those of one.
_ONE_AT_A_TIME = (Quantity.SPEED, Quantity.SPEEDUP)

#: What a tolerance of the user's own is for; of the others every difference is one.
_TOLERANT = (Quantity.SPEED, Quantity.SPEEDUP, Quantity.ACCEPTANCE, Quantity.MEMORY)

_SAME_CELL = "compares runs that differ in nothing that is measured"
_NO_DIRECTION = "whether more of it is better is not known"


def report_plan(report: ReportFacts, wishes: Wishes | None = None) -> Plan:
    """The plan to reproduce a report. It depends on nothing but its arguments and the files
    of prompts that the report names beside it.
    """
    return _Planner(report, wishes or Wishes()).plan()


class _Planner:
    def __init__(self, report: ReportFacts, wishes: Wishes) -> None:
        self.report = report
        self.wishes = wishes
        self.runs = dict[str, RunCell]()
        for run in report.runs:
            self.runs.setdefault(run.id, RunCell(run, wishes))
        self.cells = {cell.name: cell for cell in _with_baselines(self._cells())}
        self.texts = {
            row.index: published_text(row.model.text, wishes.folder, wishes.text)
            for row in report.quality
        }
        self.scorings = dict(self._scorings())

    def plan(self) -> Plan:
        parts = [*self._numbers(), *self._quality(), *map(self._claim, self.report.claims)]
        if self.wishes.runs:
            return self._narrowed([part for part in parts if self._is_wanted(part.pointer)])
        scorings = (each for each in self.scorings.values() if each is not None)
        return self._of(parts, self.cells.values(), dict.fromkeys(scorings))

    def _of(
        self,
        parts: Sequence[Check | Untestable],
        cells: Collection[Cell],
        scorings: Iterable[Scoring] = (),
    ) -> Plan:
        checks = tuple(self._tolerant(part) for part in parts if isinstance(part, Check))
        untestable = tuple(part for part in parts if isinstance(part, Untestable))
        return Plan(tuple(_paced(cells, checks)), checks, untestable, tuple(scorings))

    # what the user wants of it

    def _is_wanted(self, pointer: str) -> bool:
        """Whether it is a number of a wanted run, or a claim about one."""
        runs = [run for run in self.report.all_runs if run.id in self.wishes.runs]
        of_runs = (f"{pointer}/".startswith(f"{run.pointer}/") for run in runs)
        claims = (each for each in self.report.claims if each.pointer == pointer)
        return any(of_runs) or any(each.of in runs for each in claims)

    def _narrowed(self, parts: Sequence[Check | Untestable]) -> Plan:
        """The plan of some parts: their cells, what those are compared with, and baselines."""
        ids = self.wishes.runs
        named = {name for p in parts if isinstance(p, Check) for name in (*p.of, *p.to)}
        cells = self.cells.values()
        kept = {cell.name for cell in cells if not ids.isdisjoint(cell.runs)} | named
        series = {cell.series for cell in cells if cell.name in kept}
        for cell in cells:
            if cell.series in series and cell.arm.method is None:
                series.remove(cell.series)
                kept.add(cell.name)
        return self._of(
            [_showing(part, kept) for part in parts], [c for c in cells if c.name in kept]
        )

    def _tolerant(self, check: Check) -> Check:
        wished = self.wishes.tolerance
        if wished is None or check.quantity not in _TOLERANT:
            return check
        return replace(check, tolerance=wished)

    # cells

    def _cells(self) -> Iterator[Cell]:
        """A cell for each run that can be repeated; runs of one cell are put together."""
        found: dict[str, Cell] = {}
        for each in self.runs.values():
            if not each.barrier:
                cell = each.cell
                found[cell.name] = _merged(found[cell.name], cell) if cell.name in found else cell
        yield from found.values()

    def _names(self, runs: Iterable[RunFacts]) -> tuple[str, ...]:
        """The cells that repeat these runs, as far as there are any."""
        known = (self.runs[run.id] for run in runs if run.id in self.runs)
        return tuple(dict.fromkeys(each.name for each in known if not each.barrier))

    # numbers of runs

    def _numbers(self) -> Iterator[Check | Untestable]:
        for run in self.report.all_runs:
            if run.model.void is not None:
                yield Untestable(run.pointer, str(run), f"withdrawn: {run.model.void}")
            elif run is not self.runs[run.id].run:
                yield Untestable(run.pointer, str(run), "another run has the same id")
            elif self.runs[run.id].barrier:
                yield Untestable(run.pointer, str(run), self.runs[run.id].barrier)
            else:
                yield from self._numbers_of(run)

    def _numbers_of(self, run: RunFacts) -> Iterator[Check | Untestable]:
        for path in known_metrics():
            number = metric(run, path)
            if number is not None and path not in _AMOUNTS:
                yield from self._number(run, path, number)
        for i, position in enumerate(run.positions):
            yield from self._number(run, f"{POSITIONS}.{i}", position)

    def _number(self, run: RunFacts, path: str, number: Reported) -> Iterator[Check | Untestable]:
        quantity, says = _quantity(path), f"{path} {number} of {run}"
        if quantity is None:
            reason = _not_measured(path)
            if reason:
                yield Untestable(number.pointer, says, reason, self._names([run]))
            return
        others = _compared_with(run, quantity)
        reason = self._barrier([run, *others], quantity, path) or _no_baseline(quantity, others)
        if reason:
            yield Untestable(number.pointer, says, reason, self._names([run]))
            return
        yield check_of(
            number.pointer,
            says,
            quantity,
            path,
            self._names([run]),
            claimed=number,
            error=error_of(number, run, path),
            to=self._names(others),
            withheld=self._withheld([run, *others], quantity, path),
            definition=definition_of(run, path),
            spread=stated_deviation(number),
        )

    # what stands in the way

    def _barrier(self, runs: Sequence[RunFacts], quantity: Quantity, path: str) -> str:
        """Why a number of these runs cannot be tested here, or ""."""
        reasons = (self._barrier_of(run, quantity, path) for run in runs)
        pairs = (apart(runs[0], other) for other in runs[1:])
        return next(filter(None, (*reasons, *pairs)), "")

    def _barrier_of(self, run: RunFacts, quantity: Quantity, path: str) -> str:
        known = self.runs.get(run.id)
        if known is None or known.barrier:
            return f"{run} {known.barrier if known is not None else 'was withdrawn'}"
        return _way_of_measuring(run, quantity, path) or _transfer_barrier(known, quantity)

    def _withheld(self, runs: Iterable[RunFacts], quantity: Quantity, path: str) -> tuple[str, ...]:
        """Conditions of any of the runs that are not known to be equal."""
        found = dict[str, None]()
        for run in runs:
            known = self.runs[run.id]
            found |= dict.fromkeys(transfer(quantity, known.same).withheld)
            found |= dict.fromkeys(_that_matter(known, quantity))
        if quantity in _DEFINED and any(_undefined(run, path) for run in runs):
            found["definition"] = None
        return tuple(found)

    # claims

    def _claim(self, claim: ClaimFacts) -> Check | Untestable:
        return replace(self._held(claim), tested=tested_of(claim))

    def _held(self, claim: ClaimFacts) -> Check | Untestable:
        statement = claim.statement
        if isinstance(statement, Gap):
            reason = f"it {statement.reason}"
            return Untestable(claim.pointer, words_of(claim), reason, self._names(runs_of(claim)))
        if isinstance(statement.subject, QualityFacts):
            return self._quality_claim(statement, statement.subject)
        return self._run_claim(statement, statement.subject)

    def _run_claim(self, statement: Statement, subject: RunFacts) -> Check | Untestable:
        claim, path = statement.claim, path_of(statement)
        quantity, to = _tested_as(statement, subject)
        shown = self._names([subject, *to])
        if quantity is None:
            reason = _not_measured(path) or f"{path} is not measured"
            return Untestable(claim.pointer, words_of(claim), reason, shown)
        of, reason = self._usable([subject, *instead_of(statement)], to, quantity, path)
        if statement.relation == "best":
            rest = [run for run in to if not _meet(self._names([run]), self._names(of))]
            reason = reason or _nothing_left(to, rest)
            to = rest
        meet = _meet(self._names(of), self._names(to))
        reason = reason or _no_baseline(quantity, to) or (_SAME_CELL if meet else "")
        if reason:
            return Untestable(claim.pointer, words_of(claim), reason, shown)
        return self._claim_check(statement, quantity, of, to)

    def _usable(
        self, of: Sequence[RunFacts], to: Sequence[RunFacts], quantity: Quantity, path: str
    ) -> tuple[list[RunFacts], str]:
        """Those of the runs that can be tested, or why the first of them cannot."""
        reasons = [self._barrier([run, *to], quantity, path) for run in of]
        usable = [run for run, reason in zip(of, reasons, strict=True) if not reason]
        return usable, "" if usable else reasons[0]

    def _claim_check(
        self,
        statement: Statement,
        quantity: Quantity,
        of: Sequence[RunFacts],
        to: Sequence[RunFacts],
    ) -> Check | Untestable:
        path = path_of(statement)
        sides = self._names(of), self._names(to)
        inverted = statement.holds_as == "inverted"
        relation = relation_tested(statement, higher_is_better(path))
        if relation is None:
            return Untestable(statement.claim.pointer, words_of(statement.claim), _NO_DIRECTION)
        return check_of(
            statement.claim.pointer,
            words_of(statement.claim),
            quantity,
            path,
            sides[1] if inverted else sides[0],
            relation=relation,
            claimed=value_tested(statement),
            base=statement.to,
            error=error_of_claim(statement),
            least_tolerance=least_tolerance(statement),
            to=sides[0] if inverted else sides[1],
            withheld=self._withheld([*of, *to], quantity, path),
            definition=definition_of(of[0], path),
            spread=0.0 if statement.of is None else stated_deviation(statement.of),
        )

    # quality

    def _scorings(self) -> Iterator[tuple[int, Scoring | None]]:
        """The scoring of each quality row; rows that differ in nothing that is scored share it."""
        known: dict[tuple[object, ...], Scoring] = {}
        for row in self.report.quality:
            made = self._scoring(row)
            if made is None:
                yield row.index, None
            else:
                key = made.arm.kv_types, made.context_tokens, made.text.sha256
                yield row.index, known.setdefault(key, made)

    def _scoring(self, row: QualityFacts) -> Scoring | None:
        found = self.texts[row.index]
        if found.text is None or self._quality_barrier(row):
            return None
        window = row.model.context_tokens or self.wishes.context_tokens
        name, kv_types = str(row.model.configuration), kv_types_of(row.configuration)
        return scoring_of(name, kv_types, window, found.text, published=found.same)

    def _quality_barrier(self, row: QualityFacts) -> str:
        """Why nothing like it can be measured here, or ""."""
        data = row.model.dataset or "its data"
        if not is_perplexity(row):
            return f"the tasks of {data} are not here"
        if self.texts[row.index].text is None:
            return f"the text of {data} is not here: {self.texts[row.index].reason}"
        return scoring_barrier(row.configuration, self.wishes.here)

    def _number_barrier(self, row: QualityFacts) -> str:
        """Why it cannot be held against a number that is measured here, or ""."""
        found = self.texts[row.index]
        return "" if found.same else f"the text may be another one: {found.reason}"

    def _quality(self) -> Iterator[Check | Untestable]:
        for row in self.report.quality:
            number = row.value
            if number is None:
                continue
            says = f"{row.model.metric} {number} of {row}"
            reason = self._quality_barrier(row) or self._number_barrier(row)
            if reason:
                yield Untestable(number.pointer, says, reason, self._scored_for([row]))
            else:
                yield self._scored(number.pointer, says, [row], claimed=number)

    def _scored(
        self,
        pointer: str,
        says: str,
        rows: Sequence[QualityFacts],
        *,
        relation: str | None = None,
        claimed: Reported | None = None,
        base: Reported | None = None,
        least_tolerance: float = 0.0,
    ) -> Check | Untestable:
        """A check of perplexities: of the first row, compared with the others."""
        names = self._scored_for(rows)
        return check_of(
            pointer,
            says,
            Quantity.PERPLEXITY,
            rows[0].model.metric or "perplexity",
            names[:1],
            relation=relation,
            claimed=claimed,
            base=base,
            error=self._quality_error(rows[0]),
            least_tolerance=least_tolerance,
            to=names[1:],
            withheld=tuple(dict.fromkeys(name for row in rows for name in self._open(row))),
        )

    def _scored_for(self, rows: Iterable[QualityFacts]) -> tuple[str, ...]:
        """The scorings that repeat these rows, as far as there are any."""
        found = (self.scorings[row.index] for row in rows)
        return tuple(scoring.name for scoring in found if scoring is not None)

    def _quality_error(self, row: QualityFacts) -> float:
        """The stated standard error as a share: of other texts, so none on the report's own.

        Of paired texts it is far smaller, so never more.
        """
        value, error = row.value, row.model.error
        if self.texts[row.index].same or value is None or error is None or value.value == 0:
            return 0.0
        return min(abs(error / value.value), 0.005)

    def _open(self, row: QualityFacts) -> Iterator[str]:
        """Conditions of a perplexity that are not known to be equal."""
        same = of_configuration(row.configuration, self.wishes.here)
        # Another text is no barrier to a comparison; nothing is refuted with it.
        same["text"] = True if self.texts[row.index].same else None
        yield from transfer(Quantity.PERPLEXITY, same).withheld
        if row.model.context_tokens is None:
            yield "context length"

    def _quality_claim(self, statement: Statement, row: QualityFacts) -> Check | Untestable:
        pointer, says = statement.claim.pointer, words_of(statement.claim)
        rows = [row, *(each for each in rivals_of(statement) if isinstance(each, QualityFacts))]
        reason = next(filter(None, map(self._quality_barrier, rows)), "")
        apart_ = (self._scorings_apart(row, each) for each in rows[1:])
        reason = reason or next(filter(None, apart_), "")
        relation = relation_tested(statement, quality_higher_is_better(row))
        if reason or relation is None:
            return Untestable(pointer, says, reason or _NO_DIRECTION)
        return self._scored(
            pointer,
            says,
            rows,
            relation=relation,
            claimed=value_tested(statement),
            base=statement.to,
            least_tolerance=least_tolerance(statement),
        )

    def _scorings_apart(self, a: QualityFacts, b: QualityFacts) -> str:
        """Why the two cannot be compared window by window, or ""."""
        first, second = self.scorings[a.index], self.scorings[b.index]
        if first is None or second is None:
            return ""
        if first.text.sha256 != second.text.sha256:
            return "compares two texts"
        if first.context_tokens != second.context_tokens:
            return "compares two context lengths"
        return scorings_apart(a.configuration, b.configuration)


def _showing(part: Check | Untestable, cells: Collection[str]) -> Check | Untestable:
    """The part, which shows no other cells than these."""
    if isinstance(part, Check):
        return part
    return replace(part, shown=tuple(name for name in part.shown if name in cells))


# Cells


def _merged(a: Cell, b: Cell) -> Cell:
    """Two runs that are measured alike as one cell, with the larger KV cache."""
    context = max(a.arm.context_tokens, b.arm.context_tokens)
    return replace(a, runs=a.runs + b.runs, arm=replace(a.arm, context_tokens=context))


def _with_baselines(cells: Iterable[Cell]) -> Iterator[Cell]:
    """The cells, and a plain one for each series that has only speculative ones."""
    cells = tuple(cells)
    taken = {cell.arm.name for cell in cells}
    plain = {cell.series for cell in cells if cell.arm.method is None}
    for cell in cells:
        if cell.series not in plain:
            plain.add(cell.series)
            yield plain_cell(cell, taken)
        yield cell


def _paced(cells: Collection[Cell], checks: Sequence[Check]) -> Iterator[Cell]:
    """The cells; one block of a series that is only shown, or measured for its memory."""
    repeated = (check for check in checks if check.quantity is not Quantity.MEMORY)
    needed = {name for check in repeated for name in (*check.of, *check.to)}
    tested = {cell.series for cell in cells if cell.name in needed}
    for cell in cells:
        pairs = cell.pairs if cell.series in tested else min(cell.pairs, BLOCK)
        yield replace(cell, pairs=pairs)


# Numbers


def _quantity(path: str) -> Quantity | None:
    if path.startswith(POSITIONS):
        return Quantity.ACCEPTANCE
    return QUANTITIES.get(path)


def _not_measured(path: str) -> str:
    """Why a number of this path is not tested, or "" where it claims nothing."""
    return _NOT_MEASURED.get(path) or _NOT_MEASURED.get(path.partition(".")[0]) or ""


def definition_of(run: RunFacts, path: str) -> str | None:
    """What the report says of how an acceptance figure or a match is counted."""
    if path == "speculation.acceptance_rate":
        return run.acceptance_rate_of
    if path == "speculation.accepted_length":
        counts = run.counts_bonus_token
        return None if counts is None else ("with bonus token" if counts else "drafts only")
    if path == "losslessness.match_rate" and run.losslessness is not None:
        return run.losslessness.model.compared
    return run.positions_kind if path.startswith(POSITIONS) else None


def _undefined(run: RunFacts, path: str) -> bool:
    """Whether the run has the number and does not say how it is counted."""
    has = path.startswith(POSITIONS) or metric(run, path) is not None
    return has and definition_of(run, path) is None


def _compared_with(run: RunFacts, quantity: Quantity) -> list[RunFacts]:
    """The run that a speed-up is over, or an output is compared with."""
    if quantity is Quantity.SPEEDUP:
        found = run.baseline
    elif quantity is Quantity.MATCH_RATE and run.losslessness is not None:
        found = run.report.run(run.losslessness.model.baseline)
    else:
        found = None
    return [] if found is None or found is run else [found]


def _no_baseline(quantity: Quantity, others: Collection[RunFacts]) -> str:
    needs = quantity in (Quantity.SPEEDUP, Quantity.MATCH_RATE)
    return "no baseline is named" if needs and not others else ""


def _way_of_measuring(run: RunFacts, quantity: Quantity, path: str) -> str:
    """What was measured there in another way than it is here."""
    if quantity in _ONE_AT_A_TIME and (run.concurrency or 1) > 1:
        return f"{run} had {run.concurrency} requests at once, here it is one"
    conditions, measurement = run.model.conditions, run.model.measurement
    if path.startswith("prefill.") and conditions is not None and conditions.prompt_cache:
        return f"the prefill of {run} used a prompt cache"
    with_prefill = measurement is not None and measurement.window == "with_prefill"
    if path.startswith("decode.") and with_prefill:
        return f"the decode time of {run} holds prefill too"
    return ""


def _transfer_barrier(known: RunCell, quantity: Quantity) -> str:
    """The conditions that forbid it; of prompts what exactly is the matter with them."""
    others = {**known.same, "prompts": True}
    barrier = transfer(quantity, others).barrier
    if not barrier and transfer(quantity, known.same).barrier:
        return known.published.reason
    return barrier


def _that_matter(known: RunCell, quantity: Quantity) -> Iterator[str]:
    """Unknown conditions that move a quantity: load moves speeds, not acceptance."""
    if quantity is Quantity.MEMORY:
        yield from () if known.states_context else ("context length",)
        return
    speeds = quantity in _ONE_AT_A_TIME
    yield from (name for name in known.unknown if speeds or name not in _OF_SPEEDS)


# Claims


def _tested_as(statement: Statement, subject: RunFacts) -> tuple[Quantity | None, list[RunFacts]]:
    """What a claim about runs is about, and the runs that it compares with."""
    to = [run for run in rivals_of(statement) if isinstance(run, RunFacts)]
    quantity = _quantity(path_of(statement))
    if quantity is Quantity.SPEED and to:
        return Quantity.SPEEDUP, to
    if quantity is Quantity.SPEEDUP and not to:
        return quantity, _compared_with(subject, quantity)
    return quantity, to


def _meet(of: Sequence[str], to: Sequence[str]) -> bool:
    """Whether something would be compared with itself."""
    return not set(of).isdisjoint(to)


def _nothing_left(rivals: Sequence[RunFacts], rest: Sequence[RunFacts]) -> str:
    """Why there is nothing to be the best among, or ""."""
    if rest:
        return ""
    return _SAME_CELL if rivals else "names nothing to be the best among"
