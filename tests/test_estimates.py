"""Evidence from journals of benches whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from benchlint.checker.numbers import Interval
from benchlint.reproducers.cell_readings import MachineState
from benchlint.reproducers.estimates import Estimates, Repeated, difference
from benchlint.reproducers.journal import JournalError, parse
from benchlint.reproducers.plan import Check, Plan
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.statistics import Estimate
from benchlint.reproducers.verdicts import Case
from tests.bench_journal import Bench, Json, Truth, end, lines, started
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, check, plan_of

FAST_TRUTH = Truth((0.8, 0.7, 0.6, 0.5), 40.0)
TRUTHS = {"plain": Truth(pass_ms=25.0), "fast": FAST_TRUTH}


def bench(**more: Any) -> Bench:
    return Bench(TRUTHS, **more)


def estimates(plan: Plan, made: Bench, pairs: int = 20, extra: tuple[Json, ...] = ()) -> Estimates:
    records = [*made.rounds(ARMS, PROMPTS, range(pairs)), *extra]
    return Estimates(Rounds(plan, parse(lines(plan.sha256, records), "samples.jsonl")))


def first_case(plan: Plan, made: Bench, pairs: int = 20, extra: tuple[Json, ...] = ()) -> Case:
    return estimates(plan, made, pairs, extra).parts(plan.checks[0])[0].cases[0]


def test_a_speedup_rests_on_rounds_at_each_look() -> None:
    looks = first_case(plan_of([check("speedup", "1.5")]), bench()).looks
    assert [look.units for look in looks] == [4, 8, 12, 16, 20]
    true = FAST_TRUTH.tok_s / TRUTHS["plain"].tok_s
    assert math.exp(looks[-1].value) == pytest.approx(true, rel=0.05)


def test_drift_common_to_both_arms_leaves_a_speedup_alone() -> None:
    plan = plan_of([check("speedup", "1.5")])
    still = first_case(plan, bench(noise=0)).looks[-1]
    drifting = first_case(plan, bench(noise=0, drift=0.3)).looks[-1]
    assert drifting.value == pytest.approx(still.value, abs=0.001)


@pytest.mark.parametrize(
    ("metric", "world", "spread", "moves"),
    [
        ("decode.tok_s", {}, 0.0, 0.0),
        ("decode.tok_s", {"drift": 0.5}, 0.0, 0.2),
        ("decode.tok_s", {"noise": 0.1}, 0.0, 0.15),
        ("prefill.tok_s", {"noise": 0.1}, 0.0, 0.15),
        ("decode.tok_s", {}, 0.1, 0.15),
        ("decode.tok_s", {}, 0.04, 0.0),
        ("speedup", {"drift": 0.5, "noise": 0.1}, 0.1, 0.0),
    ],
)
def test_how_far_a_speed_moves_by_itself(
    metric: str, world: dict[str, Any], spread: float, moves: float
) -> None:
    """By the drift here, or by 1.5 times the spread of rounds here and in the report."""
    tested = replace(check(metric, "50" if "tok_s" in metric else "1.5"), spread=spread)
    case = first_case(plan_of([tested]), bench(**world))
    assert case.unsteady == pytest.approx(moves, rel=0.3)


@pytest.mark.parametrize(
    ("noise", "fast", "plain", "moves"),
    [
        (0.1, 1.5, 2.0, 0.5),  # both are off, the tested one by half
        (0.1, 2.0, 1.5, 0.5),
        (0.1, 2.0, 1.0, 0.15),  # it alone: what is left is the spread
        (0.1, 2.0, 0.5, 0.15),
        (0.01, 2.0, 1.5, 0.0),  # a steady machine does not do that
    ],
)
def test_an_unsteady_machine_moves_all_speeds_alike(
    noise: float, fast: float, plain: float, moves: float
) -> None:
    """fast, plain: the printed speeds over the true ones."""
    printed_fast = f"{fast * FAST_TRUTH.tok_s:.1f}"
    printed_plain = f"{plain * TRUTHS['plain'].tok_s:.1f}"
    checks = [
        check("decode.tok_s", printed_fast),
        check("decode.tok_s", printed_plain, of=(PLAIN,), pointer="/runs/0/decode/tok_s"),
    ]
    case = first_case(plan_of(checks), bench(noise=noise))
    assert case.unsteady == pytest.approx(moves, rel=0.3)


def test_a_broken_off_series_is_looked_at_where_it_ended() -> None:
    plan = plan_of([check("speedup", "1.5")])
    looks = first_case(plan, bench(), 7, (end("interrupted"),)).looks
    assert [look.units for look in looks] == [4, 6]


def test_what_is_not_a_whole_round_does_not_count() -> None:
    plan = plan_of([check("speedup", "1.5")])
    records = [*bench().rounds(ARMS, PROMPTS, range(8))][:-1]
    journal = parse(lines(plan.sha256, records), "samples.jsonl")
    rounds = Rounds(plan, journal)
    assert rounds.whole == {"code": 7}
    assert sorted(rounds.of(FAST)) == list(range(7))
    assert rounds.reached("code") == (4,)


def test_a_void_round_is_left_out() -> None:
    plan = plan_of([check("speedup", "1.5")])
    void = {"kind": "void", "cell": FAST, "reason": "others", "time": 1e9, "pair": 2}
    assert [e.units for e in first_case(plan, bench(), 8, (void,)).looks] == [3, 7]


@pytest.mark.parametrize(
    ("metric", "true"),
    [
        ("speculation.accepted_length", FAST_TRUTH.tau),
        ("speculation.acceptance_rate", (FAST_TRUTH.tau - 1) / 4),
        ("speculation.per_position.values.0", 0.8),
        ("step_time_ms", math.log(40.0)),
        ("decode.tok_s", math.log(FAST_TRUTH.tok_s)),
        ("prefill.tok_s", math.log(2000)),
    ],
)
@pytest.mark.parametrize("greedy", [True, False])
def test_the_truth_is_found(metric: str, true: float, greedy: bool) -> None:
    plan = plan_of([check(metric, "1")], temperature=0.0 if greedy else 0.8)
    evidence = first_case(plan, bench(greedy=greedy)).looks[-1]
    assert evidence.value == pytest.approx(true, rel=0.05)


def test_own_prompts_are_no_sample() -> None:
    metric = "speculation.accepted_length"
    made = {"greedy": False}
    rerun = first_case(plan_of([check(metric, "3")], temperature=0.8), bench(**made)).looks[-1]
    others = first_case(
        plan_of([check(metric, "3")], temperature=0.8, published=None), bench(**made)
    ).looks[-1]
    assert isinstance(rerun, Repeated)
    assert isinstance(others, Repeated)
    assert rerun.estimate.freedom == 12 * 19
    assert others.estimate.freedom == 11


def test_an_exact_rerun_is_refuted_only_beyond_the_error_of_its_steps() -> None:
    evidence = first_case(plan_of([check("speculation.accepted_length", "3")]), bench()).looks[-1]
    tau = evidence.value
    assert evidence.interval(0.9) == Interval(tau, tau)
    assert evidence.tail(Interval(0, tau * 0.99)) > 0.1
    assert evidence.tail(Interval(0, tau * 0.8)) < 1e-6


def test_an_engine_that_counts_nothing_cannot_be_tested() -> None:
    case = first_case(
        plan_of([check("speculation.accepted_length", "3")]), bench(counts_drafts=False)
    )
    assert "does not count" in case.barrier


def test_a_speedup_without_counts_cannot_be_refuted() -> None:
    case = first_case(plan_of([check("speedup", "1.5")]), bench(counts_drafts=False))
    assert case.looks
    assert "that drafts were made" in case.withheld


def test_accepted_length_without_a_count_of_steps() -> None:
    plan = plan_of([check("speculation.accepted_length", "3")])
    parts = estimates(plan, bench(counts_steps=False)).parts(plan.checks[0])
    assert {part.reading.partition(",")[0] for part in parts} == {"tokens per target pass"}
    value = parts[0].cases[0].looks[-1].value
    assert value == pytest.approx(FAST_TRUTH.tau, rel=0.05)


def test_matches_are_of_prompts() -> None:
    plan = plan_of([check("losslessness.match_rate", "1.0")])
    records = [*bench().rounds(ARMS, PROMPTS, range(4))]
    for record in records:
        if record["cell"] == FAST and record["prompt"] == "p3":
            record["sample"]["text"] = "another answer"
    journal = parse(lines(plan.sha256, records), "samples.jsonl")
    evidence = Estimates(Rounds(plan, journal)).parts(plan.checks[0])[0].cases[0].looks[-1]
    assert (evidence.units, evidence.value) == (12, pytest.approx(11 / 12))
    assert evidence.interval(0.9) == Interval(evidence.value, evidence.value)
    assert evidence.tail(Interval(0.99, 1.0)) > 0.05, "one of twelve may fall otherwise elsewhere"
    assert evidence.tail(Interval(0.0, 0.2)) < 1e-4


@pytest.mark.parametrize(
    ("more", "rounds"),
    [({"published": None}, range(4)), ({"temperature": 0.7}, range(4)), ({}, range(2))],
    ids=["other prompts", "drawn", "not repeated"],
)
def test_matches_of_other_prompts_are_a_sample(more: Any, rounds: range) -> None:
    plan = plan_of([check("losslessness.match_rate", "1.0")], **more)
    records = [*bench().rounds(ARMS, PROMPTS, range(4))]
    for record in records:
        if record["cell"] == FAST and record["prompt"] == "p3" and record["pair"] in rounds:
            record["sample"]["text"] = "another answer"
    journal = parse(lines(plan.sha256, records), "samples.jsonl")
    evidence = Estimates(Rounds(plan, journal)).parts(plan.checks[0])[0].cases[0].looks[-1]
    interval = evidence.interval(0.9)
    assert interval.low < 11 / 12 < interval.high


@pytest.mark.parametrize(
    ("text", "counts_drafts", "reason"),
    [
        ("the same", False, "does not tell that it drafted"),
        ("", True, "have no text to be compared"),
        ("the same", True, ""),
    ],
)
def test_equal_answers_are_evidence_only_where_something_was_drafted_and_said(
    text: str, counts_drafts: bool, reason: str
) -> None:
    plan = plan_of([check("losslessness.match_rate", "1.0")])
    records = [*bench(counts_drafts=counts_drafts).rounds(ARMS, PROMPTS, range(4))]
    for record in records:
        record["sample"]["text"] = text
    journal = parse(lines(plan.sha256, records), "samples.jsonl")
    [part] = Estimates(Rounds(plan, journal)).parts(plan.checks[0])
    assert reason in part.cases[0].barrier
    assert bool(part.cases[0].barrier) == bool(reason)


def test_memory_is_what_the_devices_held_while_an_arm_was_set_up() -> None:
    plan = plan_of([check("memory.device_used_mib", "4000")])
    readings = [
        started(PLAIN, "plain"),
        {"kind": "machine", "device": "0", "time": 1e9, "values": {"memory_used_mib": 9000}},
        started(FAST, "fast"),
        {"kind": "machine", "device": "0", "time": 1e9, "values": {"memory_used_mib": 3000}},
        {"kind": "machine", "device": "0", "time": 1e9, "values": {"memory_used_mib": 2900}},
        {"kind": "machine", "device": "1", "time": 1e9, "values": {"memory_used_mib": 1000.0}},
    ]
    case = first_case(plan, bench(), 4, tuple(readings))
    assert case.looks[0].value == 4000
    assert case.withheld, "other programs may use the device"


def test_a_cell_knows_what_the_machine_said_meanwhile() -> None:
    values = [
        {"power_w": 300.0, "temperature_c": 60, "throttled": "no", "memory_used_mib": 5},
        {"power_w": 400.0, "temperature_c": 71, "throttled": "power cap, thermal slowdown"},
    ]
    readings = [
        started(FAST, "fast"),
        *({"kind": "machine", "device": "0", "time": 1e9, "values": each} for each in values),
        {"kind": "machine", "device": "1", "time": 1e9, "values": {"power_w": 90.0, "x": True}},
        started(PLAIN, "plain"),
        {"kind": "machine", "device": "p", "time": 1e9, "values": {"process_rss_mib": 900.5}},
    ]
    found = estimates(plan_of([]), bench(), 4, tuple(readings))
    fast, plain = (found.machine_state(found.rounds.cells[name]) for name in (FAST, PLAIN))
    assert fast == MachineState(5, None, 440.0, 71, ("power cap", "thermal slowdown"))
    assert plain == MachineState(process_mib=900.5)


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("memory.device_used_mib", "no device said how much memory was in use"),
    ],
)
def test_what_nobody_measured_is_not_testable(metric: str, reason: str) -> None:
    case = first_case(plan_of([check(metric, "4000")]), bench(), 4)
    assert (case.barrier, list(case.looks)) == (reason, [])


def test_an_engine_that_does_not_time_decode_cannot_be_tested() -> None:
    plan = plan_of([check("decode.tok_s", "70")])
    records = [*bench().rounds(ARMS, PROMPTS, range(4))]
    for record in records:
        del record["sample"]["decode_s"]
    journal = parse(lines(plan.sha256, records), "samples.jsonl")
    (part,) = Estimates(Rounds(plan, journal)).parts(plan.checks[0])
    assert part.cases[0].barrier == f"{FAST} gives no decode.tok_s"


def test_a_journal_of_another_plan_is_refused() -> None:
    plan = plan_of([])
    with pytest.raises(JournalError, match="another plan"):
        Rounds(plan, parse(lines("0" * 64, []), "samples.jsonl"))


def test_a_difference_of_independent_estimates() -> None:
    a, b = Estimate(3, 0.3, 10, 11, 3), Estimate(1, 0.4, 10, 11, 1)
    found = difference(a, b)
    assert (found.value, found.error, found.middle) == (2, pytest.approx(0.5), 2)
    assert found.freedom == pytest.approx(0.5**4 / (0.3**4 / 10 + 0.4**4 / 10))
    assert difference(a, Estimate(1, 0.0, math.inf, 1)).freedom == pytest.approx(10)
    assert difference(a, Estimate(1, math.inf, 0, 1)).interval(0.9).high == math.inf


FAR = {"plain": Truth(pass_ms=50.0), "fast": Truth((0.8, 0.7, 0.6, 0.5), 60.0)}


def two_series(check_: Check, pairs: int = 8) -> Case:
    """The evidence on a check where both arms are measured on a second series too."""
    far = [replace(cell, name=f"{cell.arm.name} far", series="far") for cell in plan_of([]).cells]
    plan = Plan((*plan_of([]).cells, *far), (check_,))
    near = bench().rounds(ARMS, PROMPTS, range(pairs))
    other = Bench(FAR, seed=7).rounds(
        {"plain far": "plain", "fast far": "fast"}, PROMPTS, range(pairs)
    )
    journal = parse(lines(plan.sha256, [*near, *other]), "samples.jsonl")
    return Estimates(Rounds(plan, journal)).parts(check_)[0].cases[0]


@pytest.mark.parametrize(
    ("metric", "of", "to", "true"),
    [
        ("decode.tok_s", "fast far", FAST, 40 / 60),
        ("speedup", "fast far", PLAIN, FAST_TRUTH.tau * 50 / 60),
        ("speedup", "fast far", FAST, 50 / 60 * 40 / 25),
        ("speculation.accepted_length", "fast far", FAST, 1.0),
    ],
)
def test_cells_of_two_series_are_compared_as_two_samples(
    metric: str, of: str, to: str, true: float
) -> None:
    case = two_series(check(metric, "1", of=(of,), to=(to,)))
    assert [look.units for look in case.looks] in ([4, 8], [12, 12])
    assert math.exp(case.looks[-1].value) == pytest.approx(true, rel=0.05)
    assert case.looks[-1].interval(0.9).low > -math.inf
