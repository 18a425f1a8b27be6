"""Shapes: what does not fit is named, and does not hide what the rest says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.document import Digits
from benchlint.checker.validate import LISTED, MANY, validate

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)

GOOD: dict[str, Any] = {
    "benchlint": "1",
    "configurations": {"a": {"drafter": None, "draft_length": 4}},
    "runs": [{"id": "x", "configuration": "a", "decode": {"tok_s": 30.5}}],
}


def test_a_good_report_has_no_findings() -> None:
    report, findings = validate(GOOD)
    assert findings == []
    assert report is not None


@pytest.mark.parametrize(
    ("name", "nearest"), [("decoed", "decode"), ("Decode", "decode"), ("step_time", "step_time_ms")]
)
def test_unknown_fields_come_with_the_nearest_name(name: str, nearest: str) -> None:
    _, findings = validate({"runs": [{"id": "x", name: {}}]})
    assert [f.code for f in findings] == ["BL004"]
    assert findings[0].pointer == f"/runs/0/{name}"
    assert f"did you mean '{nearest}'" in findings[0].help


def test_extensions_are_free_everywhere() -> None:
    report, findings = validate(
        {"extensions": {"x": [1]}, "runs": [{"id": "x", "decode": {"extensions": {"y": None}}}]}
    )
    assert findings == []
    assert report is not None


def test_what_does_not_fit_is_left_out_and_the_rest_is_kept() -> None:
    report, findings = validate(
        {
            "title": 3,
            "runs": [
                {"id": "a", "decode": {"tok_s": "80", "seconds": 2.5}},
                {"configuration": "c"},
                {"id": "b", "speculation": {"per_position": {"values": [0.9, "x"]}}},
            ],
        }
    )
    assert {f.pointer: f.code for f in findings} == {
        "/title": "BL005",
        "/runs/0/decode/tok_s": "BL005",
        "/runs/1": "BL005",
        "/runs/2/speculation/per_position/values/1": "BL005",
    }
    assert report is not None
    assert report.runs is not None
    assert [r.id for r in report.runs] == ["a", "", "b"]
    assert report.runs[0].decode is not None
    assert report.runs[0].decode.tok_s is None
    assert report.runs[0].decode.seconds == 2.5
    speculation = report.runs[2].speculation
    assert speculation is not None
    assert speculation.per_position is not None
    assert speculation.per_position.values is None  # its other items would have moved


def test_a_choice_is_explained() -> None:
    _, findings = validate({"configurations": {"a": {"drafter": {"method": "magic"}}}})
    assert "'draft_model'" in findings[0].message
    assert "not the string 'magic'" in findings[0].message


RUN: dict[str, Any] = {"id": "x"}


@pytest.mark.parametrize(
    ("tree", "advice"),
    [
        ({"benchlint": 1}, 'put it in quotes: "1"'),
        ({"machine": {"driver": Digits("550.90")}}, 'put it in quotes: "550.90"'),
        ({"source": 3}, 'put it in quotes: "3"'),
        ({"machine": {"os": True}}, "put the word in quotes"),
        ({"runs": [{**RUN, "decode": {"tok_s": "80 tok/s"}}]}, "write 80, the unit is in the name"),
        ({"runs": [{**RUN, "decode": {"tok_s": "80.87"}}]}, "write 80.87, without quotes"),
        (
            {"runs": [{**RUN, "decode": {"tok_s": {"value": "80.0 t/s"}}}]},
            "write 80.0, the unit is in the name",
        ),
        (
            {"runs": [{**RUN, "decode": {"tok_s": "≈ 80"}}]},
            'write {"value": 80, "approx": true}',
        ),
        (
            {"runs": [{**RUN, "speculation": {"acceptance_rate": "62%"}}]},
            "write 0.62: shares are fractions of 1",
        ),
        (
            {"runs": [{**RUN, "speculation": {"acceptance_rate": {"value": "36.10 %"}}}]},
            "write 0.3610: shares are fractions of 1",
        ),
        ({"machine": {"devices": [{"memory_gb": "24GB"}]}}, "write 24, the unit is in the name"),
        ({"machine": {"devices": [{"count": "2"}]}}, "write 2, without quotes"),
        ({"configurations": {"a": {"drafter": {"method": "EAGLE-3"}}}}, "did you mean 'eagle3'?"),
        (
            {"configurations": {"a": {"drafter": {"method": "draft-model"}}}},
            "did you mean 'draft_model'?",
        ),
        ({"configurations": {"a": {"acceptance_rule": "Lossless"}}}, "did you mean 'lossless'?"),
        ({"configurations": {"a": {"drafter": "eagle3"}}}, 'write an object: {"method"'),
        ({"target": "Aurora-9B"}, 'write {"name": …, "quantization"'),
        ({"machine": {"devices": ["RTX 3090"]}}, 'write {"name": …, "count": …}'),
        ({"claims": ["twice as fast"]}, 'write {"text": …, "metric"'),
        ({"quality": "good"}, 'write [{"metric": …'),
        ({"workloads": {"w": {"mix": "code"}}}, 'write a list of kinds, ["code"]'),
        ({"runs": [{**RUN, "conditions": {"warm": "yes"}}]}, "write true, without quotes"),
    ],
)
def test_advice_fits_the_case(tree: dict[str, Any], advice: str) -> None:
    _, findings = validate(tree)
    assert [f.code for f in findings] == ["BL005"]
    assert findings[0].help.startswith(advice)


@pytest.mark.parametrize(
    "tree",
    [
        # another unit than the field's, a separator that may be a decimal comma, no share
        {"machine": {"devices": [{"memory_gb": "24 GiB"}]}},
        {"runs": [{**RUN, "decode": {"tok_s": "1,234"}}]},
        {"runs": [{**RUN, "decode": {"tok_s": {"stdev": "2%"}}}]},
        {"claims": [{"value": "88%"}]},
    ],
)
def test_advice_gives_no_number_that_may_be_wrong(tree: dict[str, Any]) -> None:
    _, findings = validate(tree)
    assert findings[0].help.startswith("write ")
    assert not any(c.isdecimal() for c in findings[0].help)


@given(JSON)
def test_any_tree_gives_findings_or_a_report(tree: object) -> None:
    report, findings = validate(tree)
    assert report is not None or findings


@given(st.sampled_from(["runs", "configurations", "machine", "claims", "quality"]), JSON)
def test_any_member_gives_findings_or_a_report(member: str, value: object) -> None:
    report, findings = validate({**GOOD, member: value})
    assert report is not None
    for finding in findings:
        assert finding.pointer.startswith(f"/{member}")


@pytest.mark.parametrize("number", [10**61, -(10**308), 1e61, Digits("1e-61"), Digits("-5e-324")])
def test_numbers_that_no_arithmetic_takes_do_not_fit(number: float) -> None:
    tree = {"runs": [{"id": "a", "decode": {"tok_s": number}, "conditions": {"warm": True}}]}
    report, findings = validate(tree)
    assert [f.code for f in findings] == ["BL005"]
    assert "of a size from 1e-60 to 1e60" in findings[0].message
    assert report is not None
    assert report.runs is not None
    assert report.runs[0].conditions is not None


def test_zero_and_the_largest_number_fit() -> None:
    numbers = [0, 0.0, Digits("-0.0"), 10**59, Digits("1e-60")]
    runs = [{"id": f"r{i}", "decode": {"tok_s": number}} for i, number in enumerate(numbers)]
    assert validate({"runs": runs})[1] == []


def test_so_many_misfits_are_listed_and_then_counted() -> None:
    report, findings = validate(
        {"runs": [{"id": "a", **{f"x{i}": 1 for i in range(LISTED + 500)}}]}
    )
    assert report is not None
    assert len(findings) == LISTED + 1
    assert findings[-1].message == "and 500 more members that do not fit the format"


def test_what_fits_nowhere_is_no_report() -> None:
    report, findings = validate({"runs": [1] * (MANY + 1)})
    assert report is None
    assert [f.message[:7] for f in findings] == ["100,001"]


def test_each_run_keeps_what_fits() -> None:
    runs = [{"id": f"r{i}", "x": 1} if i % 2 else {"notes": "no id"} for i in range(100)]
    report, findings = validate({"runs": runs})
    assert report is not None
    assert report.runs is not None
    assert [run.id for run in report.runs] == [f"r{i}" if i % 2 else "" for i in range(100)]
    assert len(findings) == 100
