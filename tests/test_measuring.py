"""Measuring: turns, warm-up, what is void, and that breaking off changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlint.reproducers.engine import (
    Arm,
    Counters,
    EngineError,
    EngineGoneError,
    Request,
    Sample,
    Sampling,
    UnsupportedError,
)
from benchlint.reproducers.journal import (
    End,
    Header,
    Journal,
    JournalError,
    Measured,
    Parted,
    Reading,
    Scored,
    Started,
    Void,
    create,
    read,
    resume,
)
from benchlint.reproducers.llama_server_engine import LlamaServerEngine
from benchlint.reproducers.measuring import Engines, Progress, Settings, measure, request_of
from benchlint.reproducers.plan import Cell, Circumstances, Plan, scoring_of
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.server_flags import ServerSetup
from benchlint.reproducers.telemetry import SharedServerError
from benchlint.reproducers.voiding import fault_of
from benchlint.reproducers.warm_up import LEAST, MOST
from benchlint.reproducers.workloads import Prompt, PromptSet
from benchlint.reproducers.workloads.texts import Text
from tests.fake_engine import FakeEngine, World, answer

HERE = Path(__file__).parent
PROMPTS = PromptSet("two", (Prompt("a", "import os"), Prompt("b", "def f(")))
GREEDY = Sampling(temperature=0.0)
PLAIN = Arm("plain", sampling=GREEDY)
FAST = Arm("K=4", "draft_model", 4, sampling=GREEDY)
WHERE = Circumstances(max_tokens=8)
SLOW = "plain on two"
QUICK = "K=4 on two"


def cell(arm: Arm, pairs: int = 4, series: str = "two", where: Circumstances = WHERE) -> Cell:
    return Cell(f"{arm.name} on {series}", series, arm, PROMPTS, where, pairs)


def two_arms(pairs: int = 4) -> Plan:
    return Plan((cell(PLAIN, pairs), cell(FAST, pairs)))


def header(plan: Plan) -> Header:
    return Header(plan.sha256, "0", 0.0)


class Bench:
    """One journal, measured in one session or several."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.path = folder / "samples.jsonl"
        self.plan = plan

    def run(self, world: World, engines: Engines | None = None, **settings: Any) -> End:
        engine = FakeEngine(world)
        told = {"clock": world.clock, "now": world.clock, **settings}
        writer = (
            resume(self.path, header(self.plan))[0]
            if self.path.exists()
            else create(self.path, header(self.plan))
        )
        with writer:
            return measure(self.plan, engines or (lambda _: engine), writer, Settings(**told))

    @property
    def journal(self) -> Journal:
        return read(self.path)

    @property
    def steps(self) -> list[tuple[str, int, str]]:
        """Cell, round and prompt of each answer that is no warm-up, also void ones."""
        answers = (each for each in self.journal.of_kind(Measured) if not each.warm_up)
        return [(each.cell, each.pair, each.prompt) for each in answers]

    @property
    def warm_ups(self) -> list[Measured]:
        return [each for each in self.journal.of_kind(Measured) if each.warm_up]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, two_arms())


# In turns


def test_arms_take_turns(bench: Bench) -> None:
    end = bench.run(World())
    assert end.reason == "last_look"
    assert bench.steps == [
        (f"{arm.name} on two", pair, prompt)
        for arm, pair in (
            *((PLAIN, 0), (FAST, 0), (FAST, 1), (PLAIN, 1)),
            *((FAST, 2), (PLAIN, 2), (PLAIN, 3), (FAST, 3)),
        )
        for prompt in "ab"
    ]
    assert [s.position for s in bench.journal.samples[::2]] == list(range(8))
    assert bench.journal.records[-1] == end


def test_an_engine_is_set_up_when_its_turn_comes(bench: Bench) -> None:
    world = World()
    bench.run(world)
    assert world.starts == ["plain", "K=4", "plain", "K=4", "plain", "K=4"]
    started = bench.journal.of_kind(Started)
    assert [each.cell for each in started] == [f"{arm} on two" for arm in world.starts]
    assert [each.description.version for each in started] == list("012345")


def test_engines_of_their_own_are_set_up_once(bench: Bench) -> None:
    world = World()
    own = {arm.name: FakeEngine(world) for arm in (PLAIN, FAST)}
    bench.run(world, lambda arm: own[arm.name])
    assert world.starts == ["plain", "K=4"]
    assert len(bench.warm_ups) == 2 * LEAST
    assert len(bench.steps) == 16


def test_each_answer_is_in_the_file_before_the_next_is_asked_for(bench: Bench) -> None:
    world, seen = World(), list[int]()
    world.before = lambda *_: seen.append(len(bench.journal.of_kind(Measured)))
    bench.run(world)
    assert seen == list(range(len(world.calls)))
    assert len(world.calls) == 16 + 6 * LEAST


def test_series_are_walked_through_together(tmp_path: Path) -> None:
    cells = (cell(arm, pairs, str(pairs)) for pairs in (4, 12, 6) for arm in (PLAIN, FAST))
    bench = Bench(tmp_path, Plan(tuple(cells)))
    asked = list[list[int]]()

    def decided(journal: Journal) -> bool:
        asked.append(list(Rounds(bench.plan, journal).whole.values()))
        return False

    bench.run(World(), decided=decided)
    assert asked == [[4, 4, 4], [4, 8, 6], [4, 12, 6]]


def test_the_cache_is_filled_with_other_text_in_each_round() -> None:
    where = Circumstances(filled_tokens=400, max_tokens=8)
    plain, fast = (cell(arm, where=where) for arm in (PLAIN, FAST))
    prompt = PROMPTS.prompts[0]
    first, again, later = (
        request_of(each, prompt, pair, len).prompt
        for each, pair in ((plain, 0), (fast, 0), (plain, 1))
    )
    assert first == again != later
    assert first.endswith(f"\n\n{prompt.text}")
    assert 200 < len(first) <= 400


def test_a_request_is_what_the_plan_says() -> None:
    where = Circumstances(max_tokens=9, ignore_eos=True, chat=False)
    asked = request_of(cell(PLAIN, where=where), PROMPTS.prompts[1], 0, len)
    assert asked == Request("def f(", 9, chat=False, ignore_eos=True, prompt_id="b")


# Warm-up


def test_an_engine_is_warmed_up_with_a_text_of_its_own(bench: Bench) -> None:
    world = World()
    bench.run(world)
    assert world.calls[: LEAST + 2] == [("plain", "warm-up")] * LEAST + [("plain", c) for c in "ab"]
    texts = {request.prompt for request in world.requests if request.prompt_id == "warm-up"}
    assert len(texts) == 1
    assert not texts & {prompt.text for prompt in PROMPTS.prompts}
    assert len(bench.warm_ups) == 6 * LEAST
    assert all(each.sample.output_tokens == WHERE.max_tokens for each in bench.warm_ups)


def test_a_cold_engine_is_asked_until_it_is_steady(bench: Bench) -> None:
    world = World()
    cold = FakeEngine(world, lambda n: 0.5 if n >= 4 else 2.0 / (n + 1))
    bench.run(world, lambda _: cold)
    first = bench.journal.of_kind(Started)[1]
    warm_ups = [each for each in bench.warm_ups if each.time < first.time]
    assert LEAST < len(warm_ups) < MOST
    assert len(bench.steps) == 16


def test_one_that_never_gets_steady_is_measured_all_the_same(bench: Bench) -> None:
    world = World()
    restless = FakeEngine(world, lambda n: 1.5**n)
    bench.run(world, lambda _: restless)
    assert len(bench.warm_ups) == 6 * MOST
    assert len(bench.steps) == 16


# Broken off and resumed


class Killed(BaseException):
    """As if the process had ended: nothing more is written."""


def broken_off(bench: Bench, error: BaseException, calls: int) -> None:
    """A session that ends in a call, and one that goes on."""
    try:
        end = bench.run(World(script={calls: error}))
    except Killed:
        assert not bench.journal.of_kind(End)
    else:
        assert end.reason == "interrupted"
    assert bench.run(World()).reason == "last_look"


@pytest.mark.parametrize("error", [Killed(), KeyboardInterrupt()], ids=["killed", "interrupted"])
def test_killed_at_any_call_it_measures_the_same(tmp_path: Path, error: BaseException) -> None:
    whole = Bench(tmp_path, two_arms())
    whole.run(world := World())
    for calls in range(len(world.calls)):
        folder = tmp_path / str(calls)
        folder.mkdir()
        bench = Bench(folder, two_arms())
        broken_off(bench, error, calls)
        assert bench.steps == whole.steps


def test_broken_off_at_every_call_it_still_comes_to_an_end(bench: Bench) -> None:
    sessions = 0
    while bench.run(World(script={LEAST + 1: KeyboardInterrupt()})).reason == "interrupted":
        sessions += 1
    assert 10 < sessions < 17, "one answer a session, more where the last one is at the end"
    assert len(bench.steps) == len(set(bench.steps)) == 16


def test_what_is_done_is_not_measured_again(bench: Bench) -> None:
    bench.run(World())
    again = World()
    assert bench.run(again).reason == "last_look"
    assert (again.calls, again.starts) == ([], [])


def test_an_end_takes_the_place_of_a_look(tmp_path: Path) -> None:
    bench = Bench(tmp_path, two_arms(20))
    bench.run(World(), readings=stop_after(12))
    assert Rounds(bench.plan, bench.journal).whole == {"two": 6}
    bench.run(World())
    assert Rounds(bench.plan, bench.journal).whole == {"two": 16}


def stop_after(turns: int) -> Callable[[], tuple[Reading, ...]]:
    """Ctrl-C after so many turns."""
    left = iter(range(turns))

    def readings() -> tuple[Reading, ...]:
        if next(left) == turns - 1:
            raise KeyboardInterrupt
        return ()

    return readings


def test_a_journal_of_another_plan_is_refused(bench: Bench) -> None:
    with create(bench.path, Header("other", "0", 0.0)) as writer, pytest.raises(JournalError):
        measure(bench.plan, lambda _: FakeEngine(World()), writer)


# Texts

TEXT = Text("t", "x" * 300)
SCORINGS = tuple(scoring_of(n, None, 100, TEXT, published=True) for n in ("plain", "other"))


@pytest.fixture
def scoring_bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, replace(two_arms(), scorings=SCORINGS))


def test_texts_are_scored_once_and_first(scoring_bench: Bench) -> None:
    world, told = World(), list[Progress]()
    end = scoring_bench.run(world, progress=told.append, readings=lambda: [Reading("d", 0.0)])
    assert end.reason == "last_look"
    assert world.starts[:3] == ["plain", "other", "plain"]
    first, second = scoring_bench.journal.of_kind(Scored)
    assert (first.scoring, first.text_sha256) == (SCORINGS[0].name, TEXT.sha256)
    assert (second.arm, second.context_tokens, second.nll) == ("other", 100, (2.0, 2.0, 2.0))
    assert [type(each) for each in scoring_bench.journal.records[1:4]] == [Started, Scored, Reading]
    names = [each.name for each in SCORINGS]
    assert [(each.starting, each.scoring) for each in told[:5]] == [
        *((names[0], ""), ("", names[0]), (names[1], ""), ("", names[1])),
        ("", ""),
    ]
    assert len(scoring_bench.steps) == 16
    scoring_bench.run(again := World())
    assert (again.scored, again.starts) == ([], [])


@pytest.mark.parametrize("error", [Killed(), KeyboardInterrupt(), None])
def test_a_text_whose_scoring_was_broken_off_is_scored_again(
    scoring_bench: Bench, error: BaseException | None
) -> None:
    world = World()
    answers = iter([None, error])
    world.windows = lambda _: next(answers)
    if error is None:
        assert scoring_bench.run(world, budget_s=12.0).reason == "budget"
        assert len(world.scored) == 1
    elif isinstance(error, KeyboardInterrupt):
        assert scoring_bench.run(world).reason == "interrupted"
    else:
        with pytest.raises(Killed):
            scoring_bench.run(world)
    assert len(scoring_bench.journal.of_kind(Scored)) == 1
    scoring_bench.run(World())
    assert [s.scoring for s in scoring_bench.journal.of_kind(Scored)] == [s.name for s in SCORINGS]
    assert scoring_bench.journal.void_cells == {}


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ((), "the text is shorter than a window of 100 tokens"),
        ((2.0, math.nan), "the likelihood of a window is no number"),
        (EngineError("out of memory"), "out of memory"),
        (UnsupportedError("not this model"), "not this model"),
    ],
)
def test_what_gives_no_score_is_void_and_the_rest_is_measured(
    scoring_bench: Bench, outcome: tuple[float, ...] | EngineError, reason: str
) -> None:
    world = World(windows=lambda _: outcome)
    assert scoring_bench.run(world).reason == "last_look"
    assert scoring_bench.journal.void_cells == {s.name: reason for s in SCORINGS}
    assert len(scoring_bench.steps) == 16
    scoring_bench.run(again := World())
    assert again.scored == [], "what failed is not tried again"


def test_an_engine_that_is_gone_while_scoring_ends_it(scoring_bench: Bench) -> None:
    world = World(windows=lambda _: EngineGoneError("it ended"))
    assert scoring_bench.run(world).reason == "engine_gone"
    assert scoring_bench.journal.void_cells == {SCORINGS[0].name: "it ended"}


def test_an_engine_that_scores_no_texts_is_not_started_for_one(scoring_bench: Bench) -> None:
    engine = FakeEngine(world := World())
    engine.scores_texts = False
    assert scoring_bench.run(world, lambda _: engine).reason == "last_look"
    assert set(scoring_bench.journal.void_cells) == {s.name for s in SCORINGS}
    assert "other" not in world.starts


# Where answers part

EQUAL, OTHER = (answer(FAST, Request("", 8), token_ids=(1, 2, last)) for last in (3, 4))


@pytest.fixture
def parting() -> World:
    """A world in which the answers to one of two prompts part."""
    world = World()

    def answers(arm: Arm, request: Request) -> Sample:
        parts = arm.method is not None and request.prompt_id == "b"
        ids = (OTHER if parts else EQUAL).token_ids
        return replace(answer(arm, request), token_ids=ids)

    world.answers = answers
    return world


def test_where_answers_part_is_asked_in_the_end(bench: Bench, parting: World) -> None:
    assert bench.run(parting).reason == "last_look"
    [found] = bench.journal.of_kind(Parted)
    assert found == Parted(QUICK, SLOW, "b", 0, 2, 3, 4, 0.02, found.time)
    assert parting.replayed == [("b", "def f(")]
    assert parting.starts[-1] == "plain"
    assert bench.run(again := World(answers=parting.answers)).reason == "last_look"
    assert (again.starts, again.replayed) == ([], []), "once"


def test_it_is_asked_of_what_settled_early_too(tmp_path: Path, parting: World) -> None:
    bench = Bench(tmp_path, two_arms(20))
    assert bench.run(parting, decided=lambda _: True).reason == "settled"
    assert len(bench.journal.of_kind(Parted)) == 1


@pytest.mark.parametrize("error", [EngineGoneError("x"), EngineError("x"), UnsupportedError("x")])
def test_what_cannot_be_told_of_a_parting_stays_untold(
    bench: Bench, parting: World, error: Exception
) -> None:
    parting.replays = error
    assert bench.run(parting).reason == "last_look"
    assert bench.journal.of_kind(Parted) == ()
    assert bench.journal.of_kind(Void) == ()


def test_no_budget_is_left_to_ask(bench: Bench, parting: World) -> None:
    assert bench.run(parting, budget_s=10 * 6 + 3 * 6 + 16).reason == "last_look"
    assert bench.journal.of_kind(Parted) == ()


def test_an_engine_that_tells_no_likelihoods_is_not_asked(bench: Bench, parting: World) -> None:
    engine = FakeEngine(parting)
    engine.scores_texts = False
    bench.run(parting, lambda _: engine)
    assert parting.starts[-1] == "K=4"
    assert parting.replayed == []


# What is void


def answers_of(bench: Bench, name: str) -> list[tuple[int, str]]:
    return [(pair, prompt) for cell_, pair, prompt in bench.steps if cell_ == name]


WHOLE = [(pair, prompt) for pair in range(4) for prompt in "ab"]
FIRST_FAST = 2 * LEAST + 2  # the first answer of the arm with a drafter


def a_fast(**more: Any) -> Sample:
    return answer(FAST, Request("", 8), **more)


@pytest.mark.parametrize(
    ("outcome", "reason", "kept"),
    [
        (SharedServerError("others use it"), "others use it", []),
        (UnsupportedError("no chat template"), "no chat template", []),
        (a_fast(cached_tokens=7), "7 tokens of a prompt came from a cache", [(0, "a")]),
    ],
)
def test_a_cell_that_is_void_is_given_up_and_the_other_is_not(
    bench: Bench, outcome: Sample | Exception, reason: str, kept: list[tuple[int, str]]
) -> None:
    assert bench.run(World(script={FIRST_FAST: outcome})).reason == "last_look"
    assert bench.journal.void_cells == {QUICK: reason}
    assert answers_of(bench, QUICK) == kept
    assert answers_of(bench, SLOW) == WHOLE
    again = World()
    bench.run(again)
    assert again.calls == []
    assert len(bench.journal.of_kind(Void)) == 1


def test_a_cache_hit_while_warming_up_is_no_fault(bench: Bench) -> None:
    bench.run(World(script={1: a_fast(cached_tokens=7)}))
    assert bench.journal.void_cells == {}


def test_speculation_that_never_ran(bench: Bench) -> None:
    idle = a_fast(counters=Counters(0, 0, 0, 7, ()))
    bench.run(World(script=dict.fromkeys((FIRST_FAST, FIRST_FAST + 1), idle)))
    reason = "speculation never ran: nothing was drafted in a whole round"
    assert bench.journal.void_cells == {QUICK: reason}
    assert answers_of(bench, QUICK) == [(0, "a"), (0, "b")]


def test_an_arm_that_cannot_be_set_up_is_void(bench: Bench) -> None:
    world = World(at_starts={1: UnsupportedError("no drafter given")})
    assert bench.run(world).reason == "last_look"
    assert bench.journal.void_cells == {QUICK: "no drafter given"}
    assert answers_of(bench, SLOW) == WHOLE
    assert world.starts == ["plain", "K=4", "plain"]


def test_a_fault_that_was_not_written_any_more_is_found_later(bench: Bench) -> None:
    cached = Measured(QUICK, "K=4", "b", 0, 1, 1.0, a_fast(cached_tokens=3))
    with create(bench.path, header(bench.plan)) as writer:
        writer.write(cached)
    bench.run(World())
    assert bench.journal.void_cells == {QUICK: "3 tokens of a prompt came from a cache"}
    assert answers_of(bench, QUICK) == [(0, "b")]


# Failures


def test_a_request_that_fails_is_not_tried_again(bench: Bench) -> None:
    world = World(script={FIRST_FAST + 1: EngineError("500")})
    assert bench.run(world).reason == "last_look"
    assert [(v.cell, v.reason, v.pair) for v in bench.journal.of_kind(Void)] == [(QUICK, "500", 0)]
    assert answers_of(bench, QUICK) == [(0, "a"), *WHOLE[2:]]
    assert answers_of(bench, SLOW) == WHOLE
    assert world.starts[:3] == ["plain", "K=4", "K=4"], "it is set up anew"
    rounds = Rounds(bench.plan, bench.journal)
    assert rounds.whole == {"two": 4}
    assert list(rounds.of(QUICK)) == [1, 2, 3]
    again = World()
    bench.run(again)
    assert again.calls == []


def test_a_cell_that_fails_again_and_again_is_given_up(bench: Bench) -> None:
    world = World()

    def fails(arm: Arm, request: Request) -> None:
        if arm is FAST and request.prompt_id == "a":
            raise EngineError("too long")

    world.before = fails
    assert bench.run(world).reason == "last_look"
    assert bench.journal.void_cells == {QUICK: "2 rounds failed, the last one so: too long"}
    assert answers_of(bench, QUICK) == []
    assert answers_of(bench, SLOW) == WHOLE


def test_an_engine_that_is_gone_midway(bench: Bench) -> None:
    end = bench.run(World(script={FIRST_FAST + 3: EngineGoneError("it ended: out of memory")}))
    assert (end.reason, end.message) == ("engine_gone", "it ended: out of memory")
    assert bench.journal.records[-1] == end
    before = bench.steps
    assert before == [
        (SLOW, 0, "a"),
        (SLOW, 0, "b"),
        *((QUICK, 0, p) for p in "ab"),
        (QUICK, 1, "a"),
    ]
    assert bench.run(World()).reason == "last_look"
    assert bench.steps[: len(before)] == before
    assert answers_of(bench, QUICK) == [*WHOLE[:3], *WHOLE[4:]], "what failed is not tried again"
    assert answers_of(bench, SLOW) == WHOLE


@pytest.mark.parametrize(
    ("error", "reason"),
    [(EngineError("no such file"), "error"), (EngineGoneError("x"), "engine_gone")],
)
def test_an_engine_that_does_not_start_voids_nothing(
    bench: Bench, error: EngineError, reason: str
) -> None:
    assert bench.run(World(at_starts={1: error})).reason == reason
    assert bench.journal.of_kind(Void) == ()
    assert bench.run(World()).reason == "last_look"
    assert len(bench.steps) == 16


# When it ends


def test_it_ends_when_everything_is_decided(tmp_path: Path) -> None:
    bench = Bench(tmp_path, two_arms(20))
    asked = list[int]()

    def decided(journal: Journal) -> bool:
        asked.append(journal.whole_pairs({SLOW: "ab", QUICK: "ab"}))
        return asked[-1] >= 12

    assert bench.run(World(), decided=decided).reason == "settled"
    assert asked == [4, 8, 12]
    again = World()
    assert bench.run(again, decided=decided).reason == "settled"
    assert again.calls == []


def test_a_series_that_no_open_claim_needs_is_left(tmp_path: Path) -> None:
    plan = Plan(tuple(cell(arm, 20, series) for series in "xy" for arm in (PLAIN, FAST)))
    bench = Bench(tmp_path, plan)
    told = list[Progress]()
    bench.run(World(), needless=lambda _: {"x"}, progress=told.append)
    assert Rounds(plan, bench.journal).whole == {"x": 4, "y": 20}
    assert bench.journal.of_kind(Void) == ()
    assert told[-1] == Progress(16 + 80, 16 + 80, 0.0)


def test_the_budget_ends_it(bench: Bench) -> None:
    world = World()
    end = bench.run(world, budget_s=10 + LEAST + 1.5)
    assert (end.reason, end.message) == ("budget", "the budget of 14.5 s is spent")
    assert bench.steps == [(SLOW, 0, "a"), (SLOW, 0, "b")]
    assert world.starts == ["plain"]
    assert bench.run(World(), budget_s=10 + LEAST + 0.5).reason == "budget"
    assert bench.steps[2:] == [(QUICK, 0, "a")], "in the middle of a turn too"
    assert bench.run(later := World(), budget_s=0.0).reason == "budget"
    assert later.starts == []
    assert bench.run(World(), budget_s=1e6).reason == "last_look"
    assert len(bench.steps) == 16


def of_answers(told: Sequence[Progress]) -> list[Progress]:
    """What was told first with each number of answers."""
    return list({each.done: each for each in reversed(told)}.values())[::-1]


def test_what_there_is_to_wait_for_is_told(bench: Bench) -> None:
    told = list[Progress]()
    bench.run(World(), progress=told.append)
    first = told[: 3 + LEAST]
    assert [each.starting for each in first] == ["", SLOW, *[""] * (1 + LEAST)]
    assert [each.warm_ups for each in first] == [None, None, *range(LEAST), None]
    assert {each.done for each in first} == {0}
    assert [each.starting for each in told if each.starting][1] == QUICK


def test_progress_is_told_after_each_answer(bench: Bench) -> None:
    all_told = list[Progress]()
    bench.run(World(), progress=all_told.append)
    told = of_answers(all_told)
    assert [each.done for each in told] == list(range(17))
    assert {each.planned for each in told} == {16}
    assert {each.seconds_left for each in told[:3]} == {None}, "no turn is over"
    # One start, three warm-up answers and two answers took 15 seconds; 13 are left.
    assert told[3].seconds_left == 15 / 2 * 13
    # After one turn of either arm the estimate only falls, by what each answer takes.
    estimates = [each.seconds_left for each in told[5:]]
    assert estimates == sorted(estimates, reverse=True)
    assert told[-1].seconds_left == 0


def test_progress_knows_the_budget_and_what_was_given_up(bench: Bench) -> None:
    told = list[Progress]()
    world = World(script={FIRST_FAST: SharedServerError("others")})
    bench.run(world, progress=told.append, budget_s=60.0)
    assert of_answers(told)[3] == Progress(3, 8, 60.0 - 43.0), "43 seconds are over"
    assert told[-1] == Progress(8, 8, 0.0)


def test_no_answer_costs_more_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = list[int]()

    def counted(arm: Arm, round_: Sequence[Sample], whole: bool) -> str:
        looked_at.append(len(round_))
        return fault_of(arm, round_, whole)

    monkeypatch.setattr("benchlint.reproducers.measuring.fault_of", counted)
    many = PromptSet("many", tuple(Prompt(str(i), f"text {i}") for i in range(100)))
    bench = Bench(tmp_path, Plan((replace(cell(PLAIN, 1, "x"), prompts=many),)))
    assert bench.run(World()).reason == "last_look"
    assert len(bench.steps) == 100
    assert sum(looked_at) == 199, "each answer as it comes, and all once when they are there"


def test_readings_are_taken_after_each_turn(bench: Bench) -> None:
    bench.run(World(), readings=lambda: [Reading("gpu0", 0.0, {"power_w": 90})])
    readings = bench.journal.of_kind(Reading)
    assert len(readings) == 8
    assert readings[0].values == {"power_w": 90}


def test_the_journal_is_whole_after_ctrl_c_while_looking(bench: Bench) -> None:
    def decided(_: Journal) -> bool:
        raise KeyboardInterrupt

    end = bench.run(World(), decided=decided)
    assert end.reason == "interrupted"
    assert bench.journal.warning == ""
    assert bench.journal.records[-1] == end


# A real engine


@pytest.fixture
def real(tmp_path: Path) -> Iterator[tuple[Bench, Engines]]:
    """Two arms of the tiny pair on a real llama-server."""
    pytest.importorskip("xllamacpp")
    target, drafter = (HERE / "models" / f"{name}-q8_0.gguf" for name in ("target", "draft"))
    where = Circumstances(max_tokens=48, ignore_eos=True, chat=False)
    arms = (
        Arm("plain", sampling=GREEDY, context_tokens=1024),
        Arm("K=4", "draft_model", 4, sampling=GREEDY, context_tokens=1024),
    )
    plan = Plan(tuple(cell(arm, where=where) for arm in arms))
    engine = LlamaServerEngine(ServerSetup(target, drafter, threads=1), start_s=60)
    with closing(engine):
        yield Bench(tmp_path, plan), lambda _: engine


def test_a_real_engine_is_measured(real: tuple[Bench, Engines]) -> None:
    bench, engines = real
    end = bench.run(World(), engines)
    assert (end.reason, bench.journal.of_kind(Void)) == ("last_look", ())
    rounds = Rounds(bench.plan, bench.journal)
    assert rounds.whole == {"two": 4}
    for name in (SLOW, QUICK):
        for round_ in rounds.of(name).values():
            samples = [each.sample for each in round_.values()]
            assert [sample.output_tokens for sample in samples] == [48, 48]
            assert all(0 < (sample.decode_tok_s or 0) < math.inf for sample in samples)
    for each in bench.journal.samples:
        assert bool(each.sample.counters.drafted) == (each.cell == QUICK)
