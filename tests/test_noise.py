"""How far repeated measurements lie apart."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.facts import ReportFacts, RunFacts, metric
from benchlint.checker.model import Report
from benchlint.checker.noise import Noise, default_cv, extent, noise_of, of_difference
from benchlint.checker.numbers import Interval, Reported


def run_of(speed: Any, drafter: Any = None, **more: Any) -> RunFacts:
    tree = {
        "configurations": {"c": {"drafter": drafter}},
        "runs": [{"id": "a", "configuration": "c", "decode": {"tok_s": speed}, **more}],
    }
    return ReportFacts(Report.model_validate(tree)).runs[0]


def speed_of(run: RunFacts) -> Reported:
    found = metric(run, "decode.tok_s")
    assert found is not None
    return found


def noise(run: RunFacts) -> Noise:
    found = noise_of(speed_of(run), run, "decode.tok_s")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("speed", "share"),
    [
        ({"value": 50.0, "stdev": 2.0}, 0.04),
        ({"value": 50.0, "stdev": -2.0}, 0.04),
        ({"value": 50.0, "stdev": 2.0, "repeats": 4}, 0.02),
        ({"value": 50.0, "samples": [49.0, 51.0]}, math.sqrt(2.0) / 50 / math.sqrt(2)),
        ({"value": 50.0, "range": [48.0, 52.0]}, 0.02),
    ],
)
def test_what_is_stated_comes_first(speed: Any, share: float) -> None:
    found = noise(run_of(speed))
    assert found.stated
    assert found.share == pytest.approx(share)


def test_the_default_is_larger_with_a_drafter_and_smaller_with_repeats() -> None:
    assert noise(run_of(50.0)) == Noise(0.01, stated=False)
    assert noise(run_of(50.0, {"method": "mtp"})) == Noise(0.03, stated=False)
    repeated = run_of(50.0, {"method": "mtp"}, conditions={"repeats": 9})
    assert noise(repeated).share == pytest.approx(0.01)


def test_one_sample_and_a_zero_state_no_spread() -> None:
    assert not noise(run_of({"value": 50.0, "samples": [50.0]})).stated
    assert not noise(run_of({"value": 0.0, "stdev": 1.0})).stated


@pytest.mark.parametrize(
    ("path", "speculates", "cv"),
    [
        ("prefill.tok_s", True, 0.01),
        ("decode.tok_s", None, 0.03),
        ("speculation.accepted_length", True, 0.015),
        ("memory.device_used_mib", False, 0.01),
        ("losslessness.match_rate", True, None),
        ("decode.inter_token_latency_ms", True, None),
    ],
)
def test_defaults_by_metric(path: str, speculates: bool | None, cv: float | None) -> None:
    assert default_cv(path, speculates) == cv


def test_the_extent_holds_all_that_is_stated() -> None:
    assert extent(speed_of(run_of(50.5))) == Interval(50.4, 50.6)
    spread = {"value": 50.0, "range": [48.0, 51.0], "samples": [47.0, 53.0], "stdev": 1.0}
    assert extent(speed_of(run_of(spread))) == Interval(47.0, 53.0)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_difference_is_noisier_than_either(a: float, b: float) -> None:
    both = of_difference(Noise(a, stated=True), Noise(b, stated=False))
    assert max(a, b) <= both <= a + b + 1e-12
