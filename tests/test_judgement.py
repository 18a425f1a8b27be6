"""Judgements on reports of benches whose truth is known: the lies and only the lies fall."""

from __future__ import annotations

import random
from statistics import geometric_mean
from typing import Any

import pytest

from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import Judgement, is_decided, judge, needless_series
from benchlint.reproducers.plan import Plan, Untestable
from benchlint.reproducers.verdicts import Outcome
from tests.bench_journal import Bench, Json, Truth, end, lines, started
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, check, plan_of

FAST_TRUTH = Truth((0.8, 0.7, 0.6, 0.5), 40.0)
TRUTHS = {"plain": Truth(pass_ms=25.0), "fast": FAST_TRUTH}
TAU = "speculation.accepted_length"
RATE = "speculation.acceptance_rate"


def records(pairs: int = 20, **more: Any) -> list[Json]:
    bench = Bench(TRUTHS, **more)
    starts = [started(PLAIN, "plain"), started(FAST, "fast")]
    return [*starts, *bench.rounds(ARMS, PROMPTS, range(pairs))]


def judged(plan: Plan, found: list[Json], **more: Any) -> Judgement:
    return judge(plan, parse(lines(plan.sha256, found), "samples.jsonl"), **more)


def measured(found: list[Json]) -> dict[str, float]:
    """What an author would print, worked out anew from the raw lines."""
    sums = {PLAIN: [0.0] * 3, FAST: [0.0] * 3}
    for each in (r for r in found if r["kind"] == "sample"):
        sample, total = each["sample"], sums[each["cell"]]
        total[0] += sample["output_tokens"] - 1
        total[1] += sample["decode_s"]
        total[2] += sample["counters"].get("accepted", 0)
    fast, plain = sums[FAST], sums[PLAIN]
    steps = fast[0] - fast[2]
    speeds = fast[0] / fast[1], plain[0] / plain[1]
    return {
        "decode.tok_s": speeds[0],
        "speedup": speeds[0] / speeds[1],
        TAU: fast[0] / steps,
        RATE: fast[2] / steps / 4,
        "step_time_ms": 1000 * fast[1] / steps,
    }


def printed(values: dict[str, float], times: dict[str, float] | None = None) -> Plan:
    factors = times or {}
    return plan_of([check(m, f"{v * factors.get(m, 1):.3g}") for m, v in values.items()])


def outcomes(found: Judgement) -> dict[str, Outcome]:
    return {r.pointer.removeprefix("/runs/1/"): r.verdict.outcome for r in found.rulings}


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("world", [{}, {"drift": 0.2}, {"noise": 0.03}, {"counts_steps": False}])
def test_what_was_printed_in_good_faith_is_never_refuted(
    greedy: bool, world: dict[str, Any]
) -> None:
    """The author's run and the rerun are two days of one machine."""
    for seed in range(4):
        plan = printed(measured(records(greedy=greedy, seed=seed)))
        found = judged(plan, records(greedy=greedy, seed=100 + seed, **world))
        assert Outcome.REFUTED not in outcomes(found).values()


def test_the_same_run_is_reproduced() -> None:
    found = judged(printed(measured(records())), records())
    assert set(outcomes(found).values()) == {Outcome.REPRODUCED}
    assert (found.outcome, found.exit_code) == (Outcome.REPRODUCED, 0)
    assert found.settled


@pytest.mark.parametrize(
    ("metric", "factor"),
    [(TAU, 1.3), ("decode.tok_s", 1.5), ("decode.tok_s", 0.6), ("speedup", 1.3), (RATE, 1.3)],
)
@pytest.mark.parametrize("greedy", [True, False])
def test_an_inflated_number_falls_alone(metric: str, factor: float, greedy: bool) -> None:
    values = measured(records(greedy=greedy, seed=1))
    found = judged(printed(values, {metric: factor}), records(greedy=greedy, seed=2))
    refuted = {name for name, outcome in outcomes(found).items() if outcome is Outcome.REFUTED}
    assert refuted == {metric}
    assert (found.outcome, found.exit_code) == (Outcome.REFUTED, 1)


def test_two_lies_fall_and_the_rest_stands() -> None:
    values = measured(records())
    found = judged(printed(values, {TAU: 1.3, "decode.tok_s": 1.5}), records())
    assert outcomes(found) == {
        **dict.fromkeys(values, Outcome.REPRODUCED),
        TAU: Outcome.REFUTED,
        "decode.tok_s": Outcome.REFUTED,
    }


def test_an_unknown_condition_keeps_a_lie_from_being_refuted() -> None:
    plan = plan_of([check("decode.tok_s", "500", withheld=("engine",))])
    found = judged(plan, records())
    assert outcomes(found) == {"decode.tok_s": Outcome.INCONCLUSIVE}
    assert "engine" in found.rulings[0].verdict.reason
    assert found.exit_code == 3


def test_a_number_pooled_in_another_way_is_not_refuted() -> None:
    """Two kinds of prompts, one of which gives few tokens at a high speed."""
    found = records()
    rng = random.Random(5)
    rates = []
    for each in (r for r in found if r["kind"] == "sample" and r["cell"] == FAST):
        sample = each["sample"]
        if each["prompt"] in PROMPTS[:6]:
            sample["decode_s"] *= 3
        rates.append((sample["output_tokens"] - 1) / sample["decode_s"] * rng.gauss(1, 1e-6))
    mean = sum(rates) / len(rates)
    pooled = measured(found)["decode.tok_s"]
    assert mean > 1.2 * pooled
    for value in (mean, pooled):
        plan = plan_of([check("decode.tok_s", f"{value:.4g}")])
        assert outcomes(judged(plan, found)) == {"decode.tok_s": Outcome.REPRODUCED}


def test_what_cannot_be_tested_says_why() -> None:
    plan = plan_of([check("speedup", "1.7")])
    reason = "other device"
    plan = Plan(plan.cells, plan.checks, (Untestable("/runs/9", "tok/s 80", reason, (FAST,)),))
    found = judged(plan, records())
    ruling = found.rulings[-1]
    assert (ruling.verdict.outcome, ruling.verdict.reason) == (Outcome.NOT_TESTABLE, reason)
    assert found.counts[Outcome.NOT_TESTABLE] == 1


def test_a_void_cell_takes_its_claims_with_it_and_no_others() -> None:
    plan = plan_of([check("speedup", "1.7"), check("decode.tok_s", "40", of=(PLAIN,))])
    void = {"kind": "void", "cell": FAST, "reason": "others used the server", "time": 1e9}
    without_fast = [r for r in records() if r.get("cell") != FAST]
    found = judged(plan, [*without_fast, void])
    verdicts = {r.check.metric: r.verdict for r in found.rulings if r.check is not None}
    assert verdicts["speedup"].outcome is Outcome.NOT_TESTABLE
    assert verdicts["speedup"].reason == "others used the server"
    assert verdicts["decode.tok_s"].outcome is Outcome.REPRODUCED
    assert {cell.cell: cell.void for cell in found.cells}[FAST] == "others used the server"


def test_speculation_that_never_drafted_is_not_tested() -> None:
    found = records()
    for each in (r for r in found if r["kind"] == "sample" and r["cell"] == FAST):
        each["sample"]["counters"] = {"drafted": 0, "accepted": 0, "verify_steps": 0}
    assert outcomes(judged(plan_of([check("speedup", "5")]), found)) == {
        "speedup": Outcome.NOT_TESTABLE
    }


def test_up_to_holds_where_one_cell_shows_it() -> None:
    one = check("decode.tok_s", "40", relation="up_to", of=(FAST, PLAIN), pointer="/claims/0")
    none = check("decode.tok_s", "400", relation="up_to", of=(FAST, PLAIN), pointer="/claims/1")
    found = judged(plan_of([one, none]), records())
    assert [r.verdict.outcome for r in found.rulings] == [Outcome.REPRODUCED, Outcome.REFUTED]
    assert all(ruling.is_claim for ruling in found.rulings)


@pytest.mark.parametrize("kept", [0, 1, 30, 97, 100, 150, 300])
@pytest.mark.parametrize("cut", [0, 5])
def test_an_interrupted_journal_gives_a_judgement(kept: int, cut: int) -> None:
    plan = printed(measured(records()), {"speedup": 2.0})
    whole = lines(plan.sha256, records()[:kept])
    journal = parse(whole[: len(whole) - cut], "samples.jsonl")
    found = judge(plan, journal)
    allowed = {Outcome.INCONCLUSIVE, Outcome.REPRODUCED}
    honest = {o for metric, o in outcomes(found).items() if metric != "speedup"}
    assert honest <= allowed
    assert bool(found.warnings) == bool(cut)
    early = kept < 2 + 4 * 24
    assert (set(outcomes(found).values()) == {Outcome.INCONCLUSIVE}) == early
    assert found.exit_code == (3 if early else 1)


def test_an_empty_file_gives_a_judgement() -> None:
    found = judge(printed({"speedup": 1.7}), parse(b"", "samples.jsonl"))
    assert (found.exit_code, found.tool, found.ended) == (3, "", "")


@pytest.mark.parametrize("world", [{}, {"drift": 0.3}, {"noise": 0.05}])
def test_a_speedup_is_accepted_length_over_step_cost(world: dict[str, Any]) -> None:
    found = judged(printed({"speedup": 1.7}), records(**world))
    (parts,) = found.decompositions
    ratio = parts.accepted_length_all.value / parts.step_cost.value
    assert parts.speedup.value == pytest.approx(ratio, rel=1e-12)
    assert parts.accepted_length_all.value == pytest.approx(FAST_TRUTH.tau, rel=0.05)
    assert parts.step_cost.value == pytest.approx(40 / 25, rel=0.05)
    assert (parts.cell, parts.baseline, parts.rounds) == (FAST, PLAIN, 20)


def test_drift_and_outliers_are_told_and_left_in() -> None:
    found = records(drift=0.3)
    for each in (r for r in found if r["kind"] == "sample" and r["cell"] == FAST):
        each["sample"]["decode_s"] *= 4 if each["pair"] == 9 else 1
    result = judged(printed({"decode.tok_s": 60}), found)
    fast = next(cell for cell in result.cells if cell.cell == FAST)
    assert fast.outliers == (9,)
    assert [pair for pair, _ in fast.speeds] == list(range(20))
    assert fast.tok_s is not None
    assert fast.tok_s.value == pytest.approx(geometric_mean(v for _, v in fast.speeds))
    drifting = judged(printed({"decode.tok_s": 60}), records(drift=0.3))
    (series,) = drifting.series
    assert series.drift is not None
    assert series.drift.total == pytest.approx(-0.12, abs=0.02)
    assert any("drifted by -1" in warning for warning in drifting.warnings)


def test_where_the_processor_works_it_is_the_device() -> None:
    starts = [started(cell, arm) for cell, arm in ARMS.items()]
    for each in starts:
        each["description"]["backend"] = "CPU"
    scored = started("a scoring", "plain")
    scored["description"]["sampler"] = {"temperature": 0.8}
    plan = plan_of([])
    machine = {"cpu": "EPYC", "device": "NVIDIA H200", "device count": 2}
    data = lines(plan.sha256, [scored, *starts, *records(4)[2:]], machine=machine)
    sides = {e.name: e.here for e in judge(plan, parse(data, "s")).environment}
    assert (sides["device"], sides["device count"]) == ("EPYC", 1)
    assert sides["sampler temperature"] == 0.0, "a text is scored without a sampler"


def test_clocks_that_were_held_down_are_told() -> None:
    reading = {"kind": "machine", "device": "0", "time": 1e9, "values": {"throttled": "power cap"}}
    result = judged(plan_of([]), [started(FAST, "fast"), reading, *records(4)])
    notes = {cell.cell: cell.notes for cell in result.cells}
    assert "the device held its clocks down: power cap" in notes[FAST]
    assert not [note for note in notes[PLAIN] if "clocks" in note]


def test_the_sides_of_the_environment() -> None:
    stated = {"engine": "vllm", "target name": "T"}
    found = judged(plan_of([]), [*records(4), end("budget")], stated=stated)
    sides = {line.name: (line.report, line.here) for line in found.environment}
    assert sides["engine"] == ("vllm", "llama.cpp")
    assert sides["target name"] == ("T", None)
    assert sides["device"] == (None, "Bench")
    assert sides["sampler temperature"] == (None, 0.0)
    assert found.ended == "budget"


def test_nothing_to_test_is_nothing_reproduced() -> None:
    found = judged(plan_of([]), records(4))
    assert (found.outcome, found.exit_code) == (Outcome.NOT_TESTABLE, 3)


def test_measuring_may_stop_once_every_check_is_settled() -> None:
    clear = plan_of([check("speedup", "9.9")])
    close = plan_of([check(TAU, "2.80")], published=None)
    for plan, settled in ((clear, True), (close, False)):
        early = parse(lines(plan.sha256, records(3)), "samples.jsonl")
        looked = parse(lines(plan.sha256, records(4)), "samples.jsonl")
        assert not is_decided(plan, early)
        assert needless_series(plan, early) == frozenset()
        assert is_decided(plan, looked) is settled
        assert needless_series(plan, looked) == (frozenset({"code"}) if settled else frozenset())


def test_a_plan_that_tests_nothing_is_measured_to_its_end() -> None:
    plan = plan_of([])
    journal = parse(lines(plan.sha256, records(20)), "samples.jsonl")
    assert not is_decided(plan, journal)
    assert needless_series(plan, journal) == frozenset()


def test_what_was_to_be_tested_and_is_void_is_not_reproduced() -> None:
    """Speculation that silently was off would leave only the baseline, which is easy."""
    values = measured(records())
    plan = plan_of(
        [
            check("decode.tok_s", f"{values['decode.tok_s']:.4g}", pointer="/runs/0/a", of=(FAST,)),
            check("step_time_ms", "25.0", pointer="/runs/1/b", of=(PLAIN,)),
        ]
    )
    void: Json = {"kind": "void", "cell": FAST, "reason": "speculation never ran", "time": 1.0}
    whole = judged(plan, records())
    found = judged(plan, [*records(), void])
    assert (whole.outcome, whole.exit_code) == (Outcome.REPRODUCED, 0)
    assert (found.outcome, found.exit_code) == (Outcome.INCONCLUSIVE, 3)
