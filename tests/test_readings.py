"""What a run's words leave to its numbers."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.definitions import ALL_RATES, LengthReading, RateReading
from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.finding import Severity
from benchlint.checker.model import Report
from benchlint.checker.readings import Readings
from tests.mutations import complete_report
from tests.simulator import dumps

Tree = dict[str, Any]


def with_digits(tree: Tree) -> Tree:
    """The tree as a reader gives it."""
    return dict(json.loads(dumps(tree), parse_float=Digits))


def readings(run: Tree, configuration: Tree | None = None, **report: Any) -> Readings:
    """The readings of one run."""
    tree = with_digits(
        {
            "benchlint": "1",
            "configurations": {"c": configuration or {}},
            "runs": [{"id": "a", "configuration": "c", **run}],
            **report,
        }
    )
    return ReportFacts(Report.model_validate(tree)).runs[0].readings


def speaking(**speculation: Any) -> Tree:
    """A run with only a speculation block."""
    return {"speculation": speculation}


def errors(tree: Tree) -> set[str]:
    """Codes of the errors of a report."""
    found = check_tree(with_digits(tree))
    return {f.code for f in found if f.severity is Severity.ERROR and f.code.startswith("BL2")}


# --- whose definitions -----------------------------------------------------------------------


def test_a_client_may_define_anything() -> None:
    run = speaking(acceptance_rate=0.5)
    assert readings(run, engine={"name": "vllm"}).rates != ALL_RATES
    own = {**run, "measurement": {"by": "client"}}
    assert readings(own, engine={"name": "vllm"}).rates == ALL_RATES


@pytest.mark.parametrize("tool", ["vllm bench serve", "sglang.bench_serving 0.5.6"])
def test_a_client_that_hands_on_counters_defines_nothing(tool: str) -> None:
    run = {**speaking(acceptance_rate=0.5), "measurement": {"by": "client", "tool": tool}}
    assert RateReading.OUTPUT not in readings(run, engine={"name": "vllm"}).rates


def test_a_tool_adds_its_own_definitions() -> None:
    run = {**speaking(acceptance_rate=0.5), "measurement": {"tool": "AIPerf 0.13"}}
    found = readings(run, engine={"name": "sglang", "version": "0.5.4"})
    assert set(found.rates) == {RateReading.SLOTS, RateReading.DRAFTED}
    assert readings(run).rates == ALL_RATES


def test_a_configuration_may_have_another_engine() -> None:
    found = readings(
        speaking(acceptance_rate=0.5), {"engine": {"name": "mlx-lm"}}, engine={"name": "vllm"}
    )
    assert found.rates == (RateReading.OUTPUT, RateReading.DRAFTED)


# --- draft length ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configuration", "k"),
    [
        ({"draft_length": 7}, 7),
        ({"draft_length": {"max": 7, "tree": {"depth": 5, "draft_tokens": 60}}}, 5),
        ({"draft_length": 7, "drafter": [{"method": "ngram"}, {"method": "mtp"}]}, None),
        ({"draft_length": 0}, None),
        ({}, None),
    ],
)
def test_the_most_that_a_step_can_accept(configuration: Tree, k: int | None) -> None:
    assert readings({}, configuration).k_value == k


def test_the_draft_tokens_of_sglang_may_hold_the_root() -> None:
    assert readings({}, {"draft_length": 4}, engine={"name": "sglang"}).k_values == (4, 3)
    assert readings({}, {"draft_length": 4}, engine={"name": "vllm"}).k_values == (4,)


@pytest.mark.parametrize(
    ("configuration", "chain"),
    [
        ({"drafter": {"method": "mtp"}}, True),
        ({"drafter": {"method": "eagle"}}, False),
        ({"drafter": {"method": "mtp"}, "draft_length": {"tree": {"depth": 4}}}, False),
        ({"drafter": {"method": "eagle3"}, "draft_length": 3}, None),
        ({"drafter": {"method": "eagle3"}, "draft_length": {"max": 3, "policy": "fixed"}}, True),
        ({"drafter": {"model": "unnamed"}}, None),
        ({}, True),
    ],
)
def test_chains_and_trees(configuration: Tree, chain: bool | None) -> None:
    assert readings({}, configuration).chain is chain


@pytest.mark.parametrize(
    ("configuration", "counts", "plain"),
    [
        ({"drafter": {"method": "mtp"}}, {}, False),
        ({"drafter": {"method": "ngram"}}, {}, True),
        ({"drafter": {"method": "draft_model"}}, {}, True),
        ({"drafter": {"method": "draft_model"}, "draft_length": {"policy": "fixed"}}, {}, False),
        ({"drafter": {"method": "mtp"}, "draft_length": {"policy": "adaptive"}}, {}, True),
        ({"drafter": {"method": "mtp"}}, {"plain_steps": 3}, True),
        ({"drafter": {"method": "ngram"}}, {"plain_steps": 0}, False),
    ],
)
def test_passes_without_a_draft(configuration: Tree, counts: Tree, plain: bool) -> None:
    assert readings(speaking(counts=counts), configuration).plain_passes is plain


# --- accepted length -------------------------------------------------------------------------


def test_tau_as_printed() -> None:
    stated = readings(speaking(accepted_length={"value": 3.92, "counts_bonus_token": True})).tau
    unsaid = readings(speaking(accepted_length=3.92)).tau
    without = readings(speaking(accepted_length={"value": 2.92, "counts_bonus_token": False})).tau
    assert stated is not None
    assert unsaid is not None
    assert without is not None
    assert (stated.span.low, stated.span.high) == pytest.approx((3.91, 3.93))
    assert (unsaid.span.low, unsaid.span.high) == pytest.approx((3.91, 4.93))
    assert (without.span.low, without.span.high) == pytest.approx((3.91, 3.93))


@pytest.mark.parametrize(
    ("speculation", "value"),
    [
        ({"counts": {"accepted": 538, "verify_steps": 220}}, 1 + 538 / 220),
        ({"histogram": [20, 20, 20, 40]}, 2.8),
        ({"per_position": {"values": [0.90, 0.60, 0.41], "kind": "cumulative"}}, 2.91),
        ({"acceptance_rate": {"value": 0.630, "of": "drafted"}}, 2.89),
    ],
)
def test_tau_from_what_there_is(speculation: Tree, value: float) -> None:
    tau = readings({"speculation": speculation}, {"draft_length": 3}).tau
    assert tau is not None
    assert tau.near.middle == pytest.approx(value)


def test_a_rate_that_may_be_anything_gives_no_tau() -> None:
    assert readings(speaking(acceptance_rate=0.63), {"draft_length": 3}).tau is None


def test_a_list_has_one_number_of_digits() -> None:
    found = readings(speaking(per_position={"values": [0.7, 0.65, 0.5]})).positions
    assert [p.span.high - p.value for p in found] == pytest.approx([0.01] * 3)


def test_percentages_are_no_shares() -> None:
    found = readings(speaking(acceptance_rate=86.4, per_position={"values": [90.5, 0.6]}))
    assert found.rate is None
    assert found.positions == ()


def test_a_short_sglang_run_may_exceed_k() -> None:
    speculation = speaking(
        accepted_length=4.1, counts={"verify_steps": 10, "accepted": 30, "requests": 1}
    )
    taus = dict(readings(speculation, {"draft_length": 3}, engine={"name": "sglang"}).taus)
    assert taus[LengthReading.OVER_VERIFY].low < 4 < taus[LengthReading.PER_STEP].high + 0.01


# --- averaging -------------------------------------------------------------------------------


def verdict(run: Tree, off_by: float, **report: Any) -> Severity | None:
    """How severe it is that figures part by this share."""
    r = readings(run, **report)
    return r.verdict(lambda slack: slack >= off_by, r.length)


def test_means_over_prompts_need_not_agree() -> None:
    several = {"workloads": {"w": {"prompt_count": 9}}}
    unsaid = {"workload": "w", **speaking(accepted_length=3.2)}
    mean = {"workload": "w", **speaking(accepted_length={"value": 3.2, "estimator": "mean"})}
    vllm = {"engine": {"name": "vllm"}, **several}
    sums = {"workload": "w", **speaking(accepted_length={"value": 3.2, "estimator": "pooled"})}
    assert verdict(sums, 0.05, **vllm) is Severity.ERROR
    assert verdict(unsaid, 0.05, **vllm) is Severity.NOTE
    assert verdict(unsaid, 0.05, **several) is Severity.NOTE
    assert verdict(unsaid, 0.25, **several) is Severity.WARNING
    assert verdict(speaking(accepted_length=3.2), 0.05) is Severity.NOTE
    assert verdict(speaking(accepted_length=3.2), 0.15) is Severity.ERROR
    assert verdict(mean, 0.15, **vllm) is None
    assert verdict(mean, 0.25, **vllm) is Severity.WARNING


def test_one_prompt_has_one_mean() -> None:
    one = {"workloads": {"w": {"prompt_count": 1}}}
    run = {"workload": "w", **speaking(accepted_length={"value": 3.2, "estimator": "mean"})}
    assert verdict(run, 0.02, **one) is Severity.ERROR


# --- laws ------------------------------------------------------------------------------------

two_digits = st.integers(0, 100).map(lambda n: n / 100)


@st.composite
def any_report(draw: st.DrawFn) -> Tree:
    """One run with a rate, a length and positions that need not agree."""
    k = draw(st.integers(1, 8))
    positions = draw(st.lists(two_digits, min_size=1, max_size=k))
    speculation: Tree = {
        "acceptance_rate": {"value": draw(two_digits)},
        "accepted_length": {"value": draw(st.integers(0, 100 * (k + 2))) / 100},
        "per_position": {"values": positions},
    }
    length = {"max": k, "policy": draw(st.sampled_from(["fixed", "adaptive"]))}
    return {
        "benchlint": "1",
        "configurations": {"c": {"drafter": {"method": "mtp"}, "draft_length": length}},
        "runs": [{"id": "a", "configuration": "c", "speculation": speculation}],
    }


def _state_engine(tree: Tree) -> None:
    tree["engine"] = {"name": "vllm", "version": "0.32.0"}


def _state_old_engine(tree: Tree) -> None:
    tree["engine"] = {"name": "sglang", "version": "0.5.6"}


def _state_denominator(tree: Tree) -> None:
    tree["runs"][0]["speculation"]["acceptance_rate"]["of"] = "drafted"


def _state_bonus(tree: Tree) -> None:
    tree["runs"][0]["speculation"]["accepted_length"]["counts_bonus_token"] = True


STATEMENTS = (_state_engine, _state_old_engine, _state_denominator, _state_bonus)


_BELOW_ONE = {
    "benchlint": "1",
    "configurations": {
        "c": {"drafter": {"method": "mtp"}, "draft_length": {"max": 2, "policy": "fixed"}}
    },
    "runs": [
        {"id": "a", "configuration": "c", **speaking(acceptance_rate=0.0, accepted_length=0.32)}
    ],
}


@example(_BELOW_ONE, _state_engine)
@given(any_report(), st.sampled_from(STATEMENTS))
def test_saying_more_only_takes_readings_away(tree: Tree, state: Any) -> None:
    """What is an error with less said is one with more said, if perhaps by another rule."""
    said = copy.deepcopy(tree)
    state(said)
    if errors(tree):
        assert errors(said), (tree, said)


ENGINES = ("sglang 0.4.0", "sglang 0.5.6", "sglang 0.5.23", "mlx-lm 0.28", "EAGLE", "vllm 0.6.3")


@st.composite
def counted_run(draw: st.DrawFn) -> Tree:
    """Counters of one request, with rate, length and list as the textbook has them."""
    k, steps = draw(st.integers(1, 8)), draw(st.integers(50, 5000))
    accepted = draw(st.lists(st.integers(0, steps), min_size=k, max_size=k).map(sorted))[::-1]
    drafted = draw(st.integers(max(sum(accepted), 1), k * steps))
    name, _, version = draw(st.sampled_from(ENGINES)).partition(" ")
    method = draw(st.sampled_from(["mtp", "draft_model", "eagle3"]))
    return {
        "benchlint": "1",
        "engine": {"name": name, "version": version or "1.0.0"},
        "configurations": {"c": {"drafter": {"method": method}, "draft_length": k}},
        "runs": [
            {
                "id": "a",
                "configuration": "c",
                "conditions": {"concurrency": 1},
                "speculation": {
                    "acceptance_rate": round(sum(accepted) / drafted, 3),
                    "accepted_length": round(1 + sum(accepted) / steps, 3),
                    "per_position": {"values": [round(n / steps, 3) for n in accepted]},
                    "counts": {
                        "accepted": sum(accepted),
                        "drafted": drafted,
                        "verify_steps": steps,
                        "output_tokens": 1 + steps + sum(accepted),
                        "requests": 1,
                    },
                },
            }
        ],
    }


@given(counted_run(), st.lists(st.sampled_from(["counts", "acceptance_rate", "accepted_length"])))
def test_the_textbook_definitions_stay_with_any_engine(tree: Tree, left_out: list[str]) -> None:
    """Whatever an engine prints, accepted over drafted and 1 + A/s of its counters are right."""
    for name in left_out:
        tree["runs"][0]["speculation"].pop(name, None)
    assert errors(tree) == set()


@given(st.integers(50, 5000), st.integers(1, 5000), st.data())
def test_tokens_per_pass_are_no_error_where_passes_are_counted(
    steps: int, plain: int, data: st.DataObject
) -> None:
    accepted = data.draw(st.integers(0, 8 * steps))
    counts = {"verify_steps": steps, "plain_steps": plain, "accepted": accepted}
    length = round(1 + accepted / (steps + plain), 2)
    tree = {
        "benchlint": "1",
        "engine": {"name": "llama.cpp", "version": "b11549"},
        "configurations": {"c": {"drafter": {"method": data.draw(st.sampled_from(METHODS))}}},
        "runs": [{"id": "a", "configuration": "c", **speaking(accepted_length=length)}],
    }
    tree["runs"][0]["speculation"]["counts"] = counts
    assert errors(tree) == set()


METHODS = ("ngram", "suffix", "draft_model", "mtp")


@pytest.mark.parametrize("seed", range(20))
def test_leaving_out_fields_accuses_nobody(seed: int) -> None:
    """An honest report stays honest when any of its fields is left out."""
    whole = complete_report(seed)
    for field in ("counts", "accepted_length", "acceptance_rate", "per_position"):
        tree = copy.deepcopy(whole)
        for run in tree["runs"][1:]:
            del run["speculation"][field]
        assert errors(tree) == set(), field
    for field in ("engine", "workloads"):
        tree = {k: v for k, v in whole.items() if k != field}
        assert errors(tree) == set(), field
