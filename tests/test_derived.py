"""What a run gives without stating it, as against what it does give."""

from __future__ import annotations

from typing import Any

import pytest

from benchlint.checker.derived import gives_acceptance_rate, gives_accepted_length, is_given
from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.model import MeasuredObject, Report

FIXED = {"max": 2, "policy": "fixed"}
TREE = {"tree": {"depth": 2, "draft_tokens": 6}}


def run(speculation: dict[str, Any], draft_length: Any = 2) -> RunFacts:
    configuration = {"drafter": {"method": "mtp"}, "draft_length": draft_length}
    tree = {
        "configurations": {"c": configuration},
        "runs": [{"id": "a", "configuration": "c", "speculation": speculation}],
    }
    return ReportFacts(Report.model_validate(tree)).runs[0]


@pytest.mark.parametrize(
    ("measured", "given"),
    [
        (None, False),
        (0, True),
        (MeasuredObject(), False),
        (MeasuredObject(stdev=0.2, repeats=5), False),
        (MeasuredObject(value=0), True),
        (MeasuredObject(range=[1, 2]), True),
        (MeasuredObject(percentiles={"p50": 3}), True),
    ],
)
def test_is_given(measured: Any, given: bool) -> None:
    assert is_given(measured) is given


@pytest.mark.parametrize(
    ("speculation", "draft_length", "length", "rate"),
    [
        ({}, FIXED, False, False),
        ({"acceptance_rate": 0.5}, FIXED, False, True),
        ({"acceptance_rate": {"value": 0.5, "of": "configured"}}, 2, True, True),
        ({"acceptance_rate": {"value": 0.5, "of": "output"}}, 2, False, True),
        ({"accepted_length": 2.0}, FIXED, False, True),
        ({"accepted_length": 2.0}, 2, False, False),
        ({"accepted_length": 1.7}, 1, False, True),
        ({"accepted_length": 2.0}, TREE, False, True),
        ({"histogram": [1, 2, 3]}, FIXED, True, True),
        ({"histogram": [1, 2, 3]}, 2, True, False),
        ({"histogram": []}, FIXED, False, False),
        ({"per_position": {"values": [0.8, 0.6]}}, FIXED, True, True),
        ({"per_position": {"values": [0.8]}}, FIXED, False, False),
        ({"per_position": {"values": [0.8]}}, {"policy": "fixed"}, False, False),
        ({"counts": {"accepted": 5}}, FIXED, False, False),
        ({"counts": {"accepted": 5, "verify_steps": 4}}, FIXED, True, True),
        ({"counts": {"accepted": 0, "verify_steps": 0}}, FIXED, False, False),
        ({"counts": {"accepted": 5, "output_tokens": 9}}, 2, True, False),
        ({"counts": {"accepted": 5, "drafted": 8}}, 2, False, True),
    ],
)
def test_what_follows(
    speculation: dict[str, Any], draft_length: Any, length: bool, rate: bool
) -> None:
    assert gives_accepted_length(run(speculation, draft_length)) is length
    assert gives_acceptance_rate(run(speculation, draft_length)) is rate
