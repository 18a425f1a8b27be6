"""From a plan to a journal: every answer is measured once, in turns, and written at once.

Each turn is a cell in a round: its engine is set up and warmed up where it did not just work
for that cell, then it answers all prompts. What is measured does not depend on how often it was
broken off: the journal says what is done, and nothing that failed is tried again, since an
answer that was slow enough to fail would be replaced by a faster one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from benchlint.reproducers.agenda import Agenda
from benchlint.reproducers.design import Step
from benchlint.reproducers.engine import (
    Arm,
    Divergence,
    Engine,
    EngineError,
    EngineGoneError,
    Request,
    Sample,
    UnsupportedError,
)
from benchlint.reproducers.history import History
from benchlint.reproducers.journal import (
    End,
    Journal,
    Measured,
    Parted,
    Reading,
    Scored,
    Started,
    Void,
    Writer,
    read,
)
from benchlint.reproducers.losslessness import Parting, partings
from benchlint.reproducers.pace import Pace
from benchlint.reproducers.plan import Cell, Plan, Scoring
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.telemetry import SharedServerError
from benchlint.reproducers.token_factor import counted_request, factor_of, token_factor
from benchlint.reproducers.voiding import FAILED_ROUNDS, fault_of, fault_of_windows
from benchlint.reproducers.warm_up import OUTPUT_TOKENS, is_warm, warm_up_prompt
from benchlint.reproducers.workloads import Prompt
from benchlint.reproducers.workloads.filler import estimated_tokens, filled_prompt, seed_of

#: The engine for an arm. One engine may serve several arms: it is started again for each.
Engines = Callable[[Arm], Engine]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far measuring is, in answers beside the warm-up.

    planned: at most, since an early decision ends it. seconds_left: until all of them are
    there or the budget is spent, at the pace so far; None before the first turn is over.
    scoring: the text that is being scored, or "". starting: what an engine is being set up for,
    or "". warm_ups: answers of a warm-up that goes on since the engine is not known to be steady;
    None outside of one.
    """

    done: int
    planned: int
    seconds_left: float | None
    scoring: str = ""
    starting: str = ""
    warm_ups: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What is decided outside of measuring.

    budget_s: seconds after which no request is sent. decided: whether a journal settles
    everything; asked at each look. needless: names of series that no open claim needs any more;
    asked then too. progress: told of each answer, and of what there is to wait for before one.
    readings: what the devices say of themselves, asked after each turn. count: tokens of a text,
    for filling the KV cache; what an engine counts in a text like the filler corrects it. clock:
    seconds that only grow. now: seconds since 1970 in UTC.
    """

    budget_s: float = math.inf
    decided: Callable[[Journal], bool] = lambda _: False
    needless: Callable[[Journal], Collection[str]] = lambda _: ()
    progress: Callable[[Progress], None] = lambda _: None
    readings: Callable[[], Iterable[Reading]] = tuple
    count: Callable[[str], int] = estimated_tokens
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time


def measure(plan: Plan, engines: Engines, writer: Writer, settings: Settings | None = None) -> End:
    """Measure what the journal does not hold yet, and say why measuring ended.

    engines: gives the same engine each time that it is asked for an arm.
    writer: of a journal that was just created or resumed. Whatever ends it, Ctrl-C too, the
    journal is whole and its last record is what is returned. Engines are left for the caller to
    close. Raises JournalError where the journal cannot be written or is of another plan.
    """
    settings = settings or Settings()
    end = _ended(_Measuring(plan, engines, writer, settings), settings)
    writer.write(end)
    return end


def _ended(measuring: _Measuring, settings: Settings) -> End:
    try:
        settled = measuring.run()
        return End("settled" if settled else "last_look", settings.now())
    except KeyboardInterrupt:
        return End("interrupted", settings.now())
    except _BudgetSpentError:
        return End("budget", settings.now(), f"the budget of {settings.budget_s:g} s is spent")
    except EngineGoneError as error:
        return End("engine_gone", settings.now(), str(error))
    except EngineError as error:
        return End("error", settings.now(), str(error))


class _BudgetSpentError(Exception):
    """No time is left for another request."""


class _Measuring:
    """One session of measuring."""

    def __init__(self, plan: Plan, engines: Engines, writer: Writer, settings: Settings) -> None:
        journal = read(writer.path)
        self._plan = plan
        self._cells = {cell.name: cell for cell in plan.cells}
        self._engines = engines
        self._writer = writer
        self._settings = settings
        self._agenda = Agenda(plan, journal)
        self._history = History(journal)
        self._warm_for = dict[int, str]()  # the cell that an engine is set up and warm for
        self._began_s = settings.clock()
        self._answered = 0
        self._pace = Pace()
        self._needed_s: float | None = None
        self._token_factor = token_factor(journal, settings.count)

    def run(self) -> bool:
        """Measure up to the last look. Whether everything is settled."""
        settled = self._measure()
        self._explain()
        return settled

    def _measure(self) -> bool:
        self._void_what_is_there()
        for scoring in self._plan.scorings:
            self._score(scoring)
        self._tell()
        seen = 0
        for block in self._agenda.blocks():
            if self._agenda.done > seen:
                seen = self._agenda.done
                if self._look():
                    return True
            for step in block:
                self._turn(self._cells[step.arm], step)
        return self._look()

    def _look(self) -> bool:
        """Whether everything is settled; if not, series that are settled are left."""
        journal = read(self._writer.path)
        if self._settings.decided(journal):
            return True
        needless = self._settings.needless(journal)
        for cell in self._plan.cells:
            if cell.series in needless:
                self._agenda.drop(cell.name)
        return False

    # one text

    def _score(self, scoring: Scoring) -> None:
        """Score a text once, before the answers: it is the same at any time."""
        if self._history.is_void(scoring.name) or self._history.is_scored(scoring.name):
            return
        engine = self._engines(scoring.arm)
        if not engine.scores_texts:
            self._void(scoring.name, "this engine does not tell the likelihood of a given text")
        elif self._set_up(engine, scoring.name, scoring.arm):
            self._write_score(engine, scoring)
            self._write_readings()

    def _write_score(self, engine: Engine, scoring: Scoring) -> None:
        self._tell(scoring=scoring.name)
        try:
            windows = engine.perplexity(scoring.text.text, scoring.context_tokens)
        except (EngineError, UnsupportedError) as error:
            self._void(scoring.name, str(error))
            if isinstance(error, EngineGoneError):
                raise
            return
        fault = fault_of_windows(windows, scoring.context_tokens)
        if fault:
            self._void(scoring.name, fault)
            return
        what = scoring.name, scoring.arm.name, scoring.text.sha256, scoring.context_tokens
        self._writer.write(Scored(*what, windows, self._settings.now()))

    # one cell in one round

    def _turn(self, cell: Cell, step: Step) -> None:
        if self._agenda.next(cell.name, step.pair) is not None:
            began_s, answered = self._settings.clock(), self._answered
            self._take_turn(cell, step)
            took_s = self._settings.clock() - began_s
            self._pace.add(cell.name, took_s, self._answered - answered)
            if self._pace.is_known:
                self._needed_s = self._pace.needed(self._agenda.left_of)

    def _take_turn(self, cell: Cell, step: Step) -> None:
        engine = self._ready(cell)
        if engine is None:
            return
        try:
            self._learn_tokens(engine, cell, step)
            self._warm_up(engine, cell, step)
            while prompt := self._agenda.next(cell.name, step.pair):
                self._ask(engine, cell, step, prompt)
        except (UnsupportedError, SharedServerError) as error:
            self._void(cell.name, str(error))
        except EngineError as error:
            self._failed(cell, step.pair, error)
            if isinstance(error, EngineGoneError):
                raise
        self._write_readings()

    def _write_readings(self) -> None:
        for reading in self._settings.readings():
            self._writer.write(reading)

    def _ready(self, cell: Cell) -> Engine | None:
        """The engine, set up for a cell; None where that cannot be."""
        engine = self._engines(cell.arm)
        if self._warm_for.get(id(engine)) == cell.name:
            return engine
        return engine if self._set_up(engine, cell.name, cell.arm) else None

    def _set_up(self, engine: Engine, name: str, arm: Arm) -> bool:
        """Whether the engine could be started for a cell or a scoring."""
        self._check_budget()
        self._warm_for.pop(id(engine), None)
        self._tell(starting=name)
        try:
            description = engine.start(arm)
        except (UnsupportedError, SharedServerError) as error:
            self._void(name, str(error))
            return False
        self._writer.write(Started(name, arm.name, self._settings.now(), description))
        return True

    def _learn_tokens(self, engine: Engine, cell: Cell, step: Step) -> None:
        """Where the cache is to be filled, ask once how many tokens a text is to this engine."""
        filled = (each.circumstances.filled_tokens for each in self._plan.cells)
        if self._token_factor is not None or not any(filled):
            return
        request = counted_request(cell.circumstances.chat)
        sample = self._generated(engine, request)
        self._write(cell, step, request, sample, warm_up=True)
        self._token_factor = factor_of(sample, self._settings.count)

    def _count(self, text: str) -> int:
        """Tokens of a text, about."""
        return math.ceil((self._token_factor or 1.0) * self._settings.count(text))

    def _warm_up(self, engine: Engine, cell: Cell, step: Step) -> None:
        """Ask an engine that was just set up until it is steady."""
        if id(engine) in self._warm_for:
            return
        request, samples = self._warm_up_request(cell, step), list[Sample]()
        while not is_warm(samples):
            self._tell(warm_ups=len(samples))
            samples.append(self._generated(engine, request))
            self._write(cell, step, request, samples[-1], warm_up=True)
        self._warm_for[id(engine)] = cell.name
        self._tell()

    def _ask(self, engine: Engine, cell: Cell, step: Step, prompt: Prompt) -> None:
        request = request_of(cell, prompt, step.pair, self._count)
        sample = self._generated(engine, request)
        self._write(cell, step, request, sample)
        self._agenda.check_off(cell.name, step.pair, prompt)
        self._history.add(cell.name, step.pair, sample)
        self._answered += 1
        if self._needed_s is not None:
            self._needed_s -= self._pace.of(cell.name)
        self._void_for_fault(cell, step.pair, newest=True)
        self._tell()

    def _warm_up_request(self, cell: Cell, step: Step) -> Request:
        request = request_of(cell, warm_up_prompt(), step.pair, self._count)
        return replace(request, max_tokens=min(request.max_tokens, OUTPUT_TOKENS))

    def _generated(self, engine: Engine, request: Request) -> Sample:
        self._check_budget()
        return engine.generate(request)

    def _write(
        self, cell: Cell, step: Step, request: Request, sample: Sample, warm_up: bool = False
    ) -> None:
        names = cell.name, cell.arm.name, request.prompt_id
        numbers = step.pair, step.position, self._settings.now()
        self._writer.write(Measured(*names, *numbers, sample, warm_up))

    # where answers part

    def _explain(self) -> None:
        """Ask how near a tie it was where answers part from plain decoding.

        It is no part of what claims rest on, so what cannot be told just stays untold.
        """
        found = partings(Rounds(self._plan, read(self._writer.path)))
        for plain, each in groupby(found, lambda parting: parting.baseline):
            if self._engines(plain.arm).scores_texts:
                with suppress(_BudgetSpentError, EngineError, UnsupportedError):
                    self._write_divergences(plain, each)

    def _write_divergences(self, plain: Cell, found: Iterable[Parting]) -> None:
        engine = self._ready(plain)
        if engine is None:
            return
        for parting in found:
            self._check_budget()
            request = self._request(plain, parting.prompt, parting.pair)
            told = engine.divergence(request, parting.first, parting.second)
            if told is not None and math.isfinite(told.margin):
                self._write_divergence(parting, told)

    def _write_divergence(self, parting: Parting, told: Divergence) -> None:
        where = parting.cell.name, parting.baseline.name, parting.prompt, parting.pair
        tokens = told.position, told.first_token, told.second_token
        self._writer.write(Parted(*where, *tokens, told.margin, self._settings.now()))

    def _request(self, cell: Cell, prompt: str, pair: int) -> Request:
        [asked] = [each for each in cell.prompts.prompts if each.id == prompt]
        return request_of(cell, asked, pair, self._count)

    # what does not count

    def _void_what_is_there(self) -> None:
        """Void what was broken off between an answer and its being found void."""
        for cell in self._plan.cells:
            for pair in self._history.pairs_of(cell.name):
                self._void_for_fault(cell, pair)

    def _void_for_fault(self, cell: Cell, pair: int, *, newest: bool = False) -> None:
        """newest: whether the answers before the last one were looked at already."""
        answers = self._history.answers(cell.name, pair)
        whole = len(answers) == len(cell.prompts)
        fault = fault_of(cell.arm, answers[-1:] if newest and not whole else answers, whole)
        if fault:
            self._void(cell.name, fault)

    def _failed(self, cell: Cell, pair: int, error: EngineError) -> None:
        """The round is void, and the cell too if it fails again and again."""
        self._warm_for.clear()
        self._void(cell.name, str(error), pair)
        if self._history.failures(cell.name) >= FAILED_ROUNDS:
            reason = f"{FAILED_ROUNDS} rounds failed, the last one so: {error}"
            self._void(cell.name, reason)

    def _void(self, name: str, reason: str, pair: int | None = None) -> None:
        """name: of a cell or a scoring."""
        if self._history.is_void(name):
            return
        void = Void(name, reason, self._settings.now(), pair)
        self._writer.write(void)
        self._history.add_void(void)
        self._agenda.drop(name, pair)

    # time

    def _check_budget(self) -> None:
        if self._elapsed_s() >= self._settings.budget_s:
            raise _BudgetSpentError

    def _elapsed_s(self) -> float:
        return self._settings.clock() - self._began_s

    def _tell(self, *, scoring: str = "", starting: str = "", warm_ups: int | None = None) -> None:
        done, left = self._agenda.done, self._agenda.left
        far = done, done + left, self._seconds_left()
        self._settings.progress(Progress(*far, scoring, starting, warm_ups))

    def _seconds_left(self) -> float | None:
        if self._needed_s is None:
            return None
        needed_s = self._needed_s if self._agenda.left else 0.0
        return max(min(needed_s, self._settings.budget_s - self._elapsed_s()), 0.0)


def request_of(cell: Cell, prompt: Prompt, pair: int, count: Callable[[str], int]) -> Request:
    """What an engine is asked: a prompt, behind filler where the KV cache is to be filled.

    All cells of a series get the same text, and no two rounds do.
    """
    where, text = cell.circumstances, prompt.text
    if where.filled_tokens is not None:
        seed = seed_of(cell.prompts.sha256, prompt.id, pair)
        text = filled_prompt(text, where.filled_tokens, seed, count)
    return Request(text, where.max_tokens, where.chat, where.ignore_eos, prompt.id)
