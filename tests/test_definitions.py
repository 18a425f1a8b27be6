"""Definitions: conversions there and back, ranges, sources, and which definition fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.definitions import (
    ALL_LENGTHS,
    ALL_RATES,
    SOURCES,
    Definition,
    LengthReading,
    RateReading,
    infer_definition,
    length_readings,
    output_share_from_tau,
    per_token_from_tau,
    position_readings,
    rate_from_tau,
    rate_range,
    rate_readings,
    slots_from_tau,
    sources_of,
    tau_from_accepted_per_step,
    tau_from_completion,
    tau_from_conditional,
    tau_from_cumulative,
    tau_from_output_share,
    tau_from_per_token,
    tau_from_rate,
    tau_from_slots,
    tau_range,
)
from benchlint.checker.document import Digits
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import Interval

ks = st.integers(1, 64)
shares = st.floats(0, 1)
falling = st.lists(shares, min_size=1, max_size=16).map(lambda p: sorted(p, reverse=True))


@st.composite
def lengths_and_ks(draw: st.DrawFn) -> tuple[float, int]:
    """An accepted length that drafts of this length can have."""
    k = draw(ks)
    return 1 + k * draw(shares), k


# --- there and back --------------------------------------------------------------------------


@given(lengths_and_ks())
def test_rate_and_back(pair: tuple[float, int]) -> None:
    tau, k = pair
    assert tau_from_rate(rate_from_tau(tau, k), k) == pytest.approx(tau)
    assert tau_from_slots(slots_from_tau(tau, k), k) == pytest.approx(tau)
    assert tau_from_output_share(output_share_from_tau(tau)) == pytest.approx(tau)


@given(st.floats(0, 0.999), ks)
def test_per_token_and_back(alpha: float, k: int) -> None:
    tau = tau_from_per_token(alpha, k)
    assert 1 <= tau <= k + 1
    assert tau == pytest.approx(1 + sum(alpha**i for i in range(1, k + 1)))
    assert tau_from_per_token(per_token_from_tau(tau, k), k) == pytest.approx(tau, abs=1e-6)


def test_per_token_at_the_ends() -> None:
    assert tau_from_per_token(0.0, 5) == 1
    assert tau_from_per_token(1.0, 5) == 6
    assert tau_from_per_token(0.5, 10**9) == pytest.approx(2)


@given(falling)
def test_cumulative_and_conditional_are_one_list(cumulative: list[float]) -> None:
    before = [1.0, *cumulative[:-1]]
    conditional = [p / q if q else 0.0 for p, q in zip(cumulative, before, strict=True)]
    assert tau_from_conditional(conditional) == pytest.approx(tau_from_cumulative(cumulative))


@given(falling)
def test_a_length_lies_within_its_bounds(cumulative: list[float]) -> None:
    tau = tau_from_cumulative(cumulative)
    assert 1 <= tau <= len(cumulative) + 1
    mean = (tau - 1) / len(cumulative)
    assert cumulative[0] + 1e-9 >= mean >= cumulative[-1] - 1e-9


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=8))
def test_intervals_hold_every_value(ends: list[tuple[float, float]]) -> None:
    lists = [Interval(min(e), max(e)) for e in ends]
    for tau, low, high in (
        (
            tau_from_cumulative(lists),
            *map(tau_from_cumulative, zip(*map(sorted, ends), strict=True)),
        ),
        (
            tau_from_conditional(lists),
            *map(tau_from_conditional, zip(*map(sorted, ends), strict=True)),
        ),
    ):
        assert tau.low == pytest.approx(low)
        assert tau.high == pytest.approx(high)


def test_published_conversions() -> None:
    assert tau_from_rate(0.3618, 15) == pytest.approx(6.427)
    assert tau_from_slots(0.80, 3) == pytest.approx(3.20)  # SGLang 0.5.6 with D_cfg = 4
    assert tau_from_output_share(0.75) == pytest.approx(4)  # LM Studio
    assert tau_from_slots(0.598, 3) == pytest.approx(2.39, abs=5e-3)  # vLLM 0.6.3, vllm#9565
    assert tau_from_conditional([0.7, 0.75, 0.5]) == pytest.approx(2.4875)
    assert tau_from_accepted_per_step(48028 / 30852) == pytest.approx(2.557, abs=5e-4)
    assert tau_from_completion(121 / 30, 30) == pytest.approx(4)


# --- ranges ----------------------------------------------------------------------------------


@given(lengths_and_ks(), st.sampled_from(ALL_RATES))
def test_a_range_is_one_of_shares(pair: tuple[float, int], reading: RateReading) -> None:
    tau, k = pair
    found = rate_range(reading, Interval(tau, tau), k)
    assert -1e-6 <= found.low <= found.high + 1e-6
    assert found.high <= 1 + 1e-6


@given(st.lists(st.integers(0, 500), min_size=2, max_size=12).filter(any))
def test_ranges_hold_what_steps_of_fixed_length_give(histogram: list[int]) -> None:
    k, steps = len(histogram) - 1, sum(histogram)
    accepted = sum(j * n for j, n in enumerate(histogram))
    tau = Interval.of(1 + accepted / steps)
    examined = accepted + steps - histogram[-1]
    expected = {
        RateReading.DRAFTED: accepted / (steps * k),
        RateReading.CONFIGURED: accepted / (steps * k),
        RateReading.SLOTS: (accepted + steps) / (steps * (k + 1)),
        RateReading.ROOT: accepted / (steps * (k + 1)),
        RateReading.OUTPUT: accepted / (accepted + steps),
        RateReading.FIRST: 1 - histogram[0] / steps,
        RateReading.REACHED: accepted / examined if examined else 0,
    }
    for reading, rate in expected.items():
        found = rate_range(reading, tau, k)
        assert found.low - 1e-9 <= rate <= found.high + 1e-9, reading


@given(lengths_and_ks(), shares)
def test_shorter_drafts_only_raise_the_rate(pair: tuple[float, int], kept: float) -> None:
    """With a mean draft between τ - 1 and K, A/D is never below (τ - 1)/K."""
    tau, k = pair
    mean_draft = (tau - 1) + (k - (tau - 1)) * kept
    rate = (tau - 1) / mean_draft if mean_draft else 0.0
    assert rate >= rate_range(RateReading.DRAFTED, Interval(tau, tau), k).low - 1e-9


def test_passes_without_drafts_lower_a_share_of_output() -> None:
    tau = Interval(4, 4)
    assert rate_range(RateReading.OUTPUT, tau, 7) == Interval(0.75, 0.75)
    assert rate_range(RateReading.OUTPUT, tau, 7, plain_passes=True) == Interval(0, 0.75)


@pytest.mark.parametrize(
    ("reading", "low", "high"),
    [
        (LengthReading.PER_STEP, 3.1, 3.3),
        (LengthReading.DRAFTS_ONLY, 4.1, 4.3),
        (LengthReading.PER_CYCLE, 2.1, 2.3),
        (LengthReading.PER_PASS, 3.1, 8),
    ],
)
def test_length_readings(reading: LengthReading, low: float, high: float) -> None:
    found = tau_range(reading, Interval(3.1, 3.3), 7, None)
    assert (found.low, found.high) == pytest.approx((low, high))


@given(st.integers(1, 8), st.integers(1, 400), st.data())
def test_output_over_steps_leaves_the_true_length(k: int, steps: int, data: st.DataObject) -> None:
    accepted = data.draw(st.integers(0, k * steps))
    cut = data.draw(st.integers(0, min(k, accepted)))
    printed = (1 + steps + accepted - cut) / steps
    found = tau_range(LengthReading.OVER_VERIFY, Interval(printed, printed), k, steps)
    assert found.low - 1e-9 <= 1 + accepted / steps <= found.high + 1e-9


# --- sources ---------------------------------------------------------------------------------


def test_every_source_says_where_it_was_read() -> None:
    assert all(s.where for s in SOURCES)
    assert all(s.rates or s.lengths for s in SOURCES)


@pytest.mark.parametrize(
    ("name", "version", "rates"),
    [
        ("vllm", "0.32.0", (RateReading.DRAFTED,)),
        (
            "vLLM",
            "0.6.3",
            (RateReading.ANY_POSITION, RateReading.SLOTS, RateReading.DRAFTED),
        ),
        ("vllm", None, (RateReading.DRAFTED, RateReading.ANY_POSITION, RateReading.SLOTS)),
        ("sglang", "0.5.23", (RateReading.CONFIGURED, RateReading.DRAFTED)),
        ("SGLang", "v0.5.4", (RateReading.SLOTS, RateReading.DRAFTED)),
        (
            "sglang",
            "0.5.10",
            (RateReading.CONFIGURED, RateReading.SLOTS, RateReading.DRAFTED),
        ),
        ("sglang", "0.5.11", (RateReading.CONFIGURED, RateReading.DRAFTED)),
        ("llama-server", "b11549", (RateReading.DRAFTED,)),
        ("LM Studio", None, (RateReading.OUTPUT, RateReading.DRAFTED)),
        ("mlx-lm", "0.28", (RateReading.OUTPUT, RateReading.DRAFTED)),
        ("AIPerf", None, (RateReading.DRAFTED,)),
        ("a harness of our own", None, ALL_RATES),
        (None, None, ALL_RATES),
    ],
)
def test_an_engine_leaves_its_own_rates(
    name: str | None, version: str | None, rates: tuple[RateReading, ...]
) -> None:
    assert rate_readings(sources_of(name, version)) == rates


def test_a_stated_denominator_leaves_one_rate() -> None:
    assert rate_readings((), "output") == (RateReading.OUTPUT,)
    assert rate_readings(sources_of("vllm", None), "output") == (RateReading.OUTPUT,)
    assert rate_readings((), "configured") == (RateReading.CONFIGURED,)


def test_the_bonus_token_is_left_open_until_stated() -> None:
    vllm = sources_of("vllm", "0.32.0")
    assert length_readings(vllm) == (LengthReading.PER_STEP, LengthReading.DRAFTS_ONLY)
    assert length_readings(vllm, True) == (LengthReading.PER_STEP,)
    assert length_readings(vllm, False) == (LengthReading.DRAFTS_ONLY,)
    assert set(length_readings(())) == set(ALL_LENGTHS)


def test_old_llama_cpp_may_count_two_passes() -> None:
    assert LengthReading.PER_CYCLE in length_readings(sources_of("llama.cpp", "b6100"))
    assert LengthReading.PER_CYCLE not in length_readings(sources_of("llama.cpp", "b11549"))


def test_the_kind_of_a_list() -> None:
    assert position_readings(sources_of("vllm", "0.32.0")) == ("cumulative",)
    assert position_readings(sources_of("vllm", "0.32.0"), "conditional") == ("conditional",)
    assert position_readings(sources_of("NeMo Skills", None)) == ("conditional", "cumulative")
    assert position_readings(()) == ("cumulative", "conditional")


# --- inference -------------------------------------------------------------------------------


def rounded(value: float, unit: float = 0.005) -> Interval:
    """A value with half a unit of its last digit."""
    return Interval(value - unit, value + unit)


@pytest.mark.parametrize(
    ("rate", "length", "k", "first", "expected"),
    [
        (0.741, 6.19, 7, None, (RateReading.DRAFTED, LengthReading.PER_STEP)),
        (0.482, 3.37, 7, None, (RateReading.DRAFTED, LengthReading.DRAFTS_ONLY)),
        (0.896, 9.615, 15, None, (RateReading.OUTPUT, LengthReading.PER_STEP)),
        (0.80, 3.20, 3, None, (RateReading.SLOTS, LengthReading.PER_STEP)),
        (0.728, 2.638, 3, None, (RateReading.PER_TOKEN, LengthReading.PER_STEP)),
        (0.87, 4.82, 7, 0.87, (RateReading.FIRST, LengthReading.PER_STEP)),
    ],
)
def test_which_definition_fits(
    rate: float,
    length: float,
    k: int,
    first: float | None,
    expected: tuple[RateReading, LengthReading],
) -> None:
    found = infer_definition(
        rounded(rate),
        rounded(length),
        k,
        first=None if first is None else rounded(first),
    )
    assert found == Definition(*expected)


def test_a_percentage_is_tried_last() -> None:
    found = infer_definition(Interval(54.5, 54.7), rounded(4.82), 7)
    assert found == Definition(RateReading.DRAFTED, LengthReading.PER_STEP, 0.01)


def test_two_definitions_may_fit_until_the_engine_is_known() -> None:
    """sgl-project/sglang#11948: 2.17/4 = 0.54, and (2.17 - 1)/2.17 is 0.54 as well."""
    pair = (rounded(0.54), rounded(2.17))
    sglang = rate_readings(sources_of("sglang", None))
    output = Definition(RateReading.OUTPUT, LengthReading.PER_STEP)
    assert infer_definition(*pair, 3) == output
    slots = Definition(RateReading.SLOTS, LengthReading.PER_STEP)
    assert infer_definition(*pair, 3, rates=sglang) == slots


def test_nothing_fits() -> None:
    assert infer_definition(rounded(0.417, 0.0005), rounded(4.82), 7) is None


def test_no_definition_makes_a_length_below_one() -> None:
    assert (
        infer_definition(rounded(0.0), rounded(0.32), 2, lengths=[LengthReading.PER_STEP]) is None
    )


def test_only_readings_that_are_left_are_tried() -> None:
    found = infer_definition(
        rounded(0.54), rounded(2.17), 3, rates=[RateReading.DRAFTED, RateReading.CONFIGURED]
    )
    assert found is None


# --- published reports -----------------------------------------------------------------------

FIXED_7 = {"drafter": {"method": "mtp"}, "draft_length": {"max": 7, "policy": "fixed"}}


def errors(speculation: dict[str, Any], configuration: object, engine: object = None) -> list[str]:
    """Codes of the errors about one run."""
    tree: dict[str, Any] = {
        "benchlint": "1",
        "configurations": {"c": configuration},
        "runs": [{"id": "a", "configuration": "c", "speculation": speculation}],
    }
    if engine is not None:
        tree["engine"] = engine
    kept = json.loads(json.dumps(tree), parse_float=Digits)
    return [f.code for f in check_tree(kept) if f.severity is Severity.ERROR]


def block(k: int, method: str = "dflash") -> dict[str, Any]:
    """A configuration with drafts of fixed length."""
    return {"drafter": {"method": method}, "draft_length": {"max": k, "policy": "fixed"}}


DFLASH2 = {
    1: (1.87, 0.870, [0.87]),
    3: (2.98, 0.660, [0.80, 0.64, 0.54]),
    4: (3.24, 0.560, [0.77, 0.62, 0.49, 0.36]),
    7: (3.92, 0.417, [0.77, 0.60, 0.50, 0.42, 0.29, 0.19, 0.15]),
    10: (3.84, 0.284, [0.69, 0.54, 0.41, 0.32, 0.25, 0.19, 0.14]),
}


@pytest.mark.parametrize("k", DFLASH2)
def test_rows_of_a_published_sweep_pass(k: int) -> None:
    """τ falls from K = 7 to K = 10, since a block drafter sees K."""
    tau, rate, positions = DFLASH2[k]
    speculation = {
        "accepted_length": {"value": tau, "counts_bonus_token": True},
        "acceptance_rate": rate,
        "per_position": {"values": positions, "kind": "cumulative"},
    }
    assert errors(speculation, block(k), {"name": "vllm"}) == []


@pytest.mark.parametrize(
    ("speculation", "configuration", "engine"),
    [
        ({"accepted_length": 6.39, "acceptance_rate": 0.3618}, block(15), {"name": "llama.cpp"}),
        ({"accepted_length": 6.39, "acceptance_rate": 0.3618}, block(15), None),
        (
            {
                "accepted_length": 3.41,
                "acceptance_rate": 0.8031,
                "per_position": {"values": [0.913, 0.800, 0.696]},
                "counts": {
                    "accepted": 722,
                    "drafted": 899,
                    "verify_steps": 300,
                    "output_tokens": 1024,
                    "requests": 1,
                },
            },
            block(3, "mtp"),
            {"name": "ik_llama.cpp"},
        ),
        ({"accepted_length": 3.20, "acceptance_rate": 0.80}, block(3), {"name": "sglang"}),
        (
            {"accepted_length": 3.20, "acceptance_rate": 0.80},
            block(4),
            {"name": "sglang", "version": "0.5.6"},
        ),
        ({"accepted_length": 4.0, "acceptance_rate": 0.75}, {}, {"name": "LM Studio"}),
        ({"accepted_length": 4.0, "acceptance_rate": 0.75}, block(3), None),
        ({"acceptance_rate": 0.0, "counts": {"drafted": 0, "accepted": 0}}, block(3), None),
        ({"accepted_length": 6.19, "acceptance_rate": 0.741}, block(7), None),
        ({"accepted_length": 2.37, "acceptance_rate": 0.091}, block(15), None),
        (
            {"accepted_length": 5.00, "per_position": {"values": [1.0, 1.0, 1.0, 1.0]}},
            block(4),
            None,
        ),
    ],
)
def test_published_rows_pass(
    speculation: dict[str, Any], configuration: object, engine: object
) -> None:
    assert errors(speculation, configuration, engine) == []


@pytest.mark.parametrize(
    ("code", "speculation", "configuration"),
    [
        ("BL201", {"accepted_length": 5.3}, block(4)),
        ("BL204", {"accepted_length": 4.82, "acceptance_rate": 0.417}, FIXED_7),
        (
            "BL203",
            {
                "accepted_length": 2.95,
                "per_position": {"values": [0.7, 0.75, 0.5], "kind": "cumulative"},
            },
            block(3),
        ),
        (
            "BL202",
            {
                "accepted_length": 4.5,
                "per_position": {"values": DFLASH2[7][2], "kind": "cumulative"},
            },
            block(7),
        ),
        ("BL206", {"counts": {"accepted": 700, "drafted": 660}}, {}),
        ("BL204", {"accepted_length": 1.86, "acceptance_rate": 0.0}, block(3)),
    ],
)
def test_contradictions_fail_for_one_reason(
    code: str, speculation: dict[str, Any], configuration: object
) -> None:
    assert errors(speculation, configuration) == [code]
