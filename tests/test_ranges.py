"""Numbers that cannot be, and shares written as percentages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Block, Report
from benchlint.checker.ranges import BOUNDS, Bound, out_of_range_numbers
from benchlint.checker.shares import is_percent, mix_in_percent, percent_slips, sum_of


def facts(**report: object) -> ReportFacts:
    """The facts of a report with these members."""
    return ReportFacts(Report.model_validate({"benchlint": "1", **report}))


@pytest.mark.parametrize("model", BOUNDS, ids=lambda m: m.__name__)
def test_every_bound_is_of_a_field(model: type[Block]) -> None:
    assert set(BOUNDS[model]) <= set(model.model_fields)


@pytest.mark.parametrize(
    ("bound", "value", "text"),
    [
        (Bound(0), -3, "is negative"),
        (Bound(0), 0, None),
        (Bound(1), 0, "is less than 1"),
        (Bound(0, above=True), 0, "is not above 0"),
        (Bound(0, 1), 1.2, "is more than 1"),
        (Bound(0, 1), 1, None),
        (Bound(-1), -1, None),
    ],
)
def test_bounds(bound: Bound, value: float, text: str | None) -> None:
    assert bound.broken_by(value) == text


def test_every_place_is_looked_at() -> None:
    report = facts(
        machine={"devices": [{"count": 0}]},
        configurations={"c": {"draft_length": {"tree": {"depth": 0}}, "engine": {"threads": -2}}},
        workloads={"w": {"mix": {"code": -1.0, "prose": 2.0}}},
        runs=[
            {"id": "a", "decode": {"tok_s": {"samples": [3.0, -1.0]}}, "finish_reasons": {"x": -1}}
        ],
        quality=[{"error": -0.1}],
    )
    assert {f.pointer for f in out_of_range_numbers(report)} == {
        "/machine/devices/0/count",
        "/configurations/c/draft_length/tree/depth",
        "/configurations/c/engine/threads",
        "/workloads/w/mix/code",
        "/runs/0/decode/tok_s/samples/1",
        "/runs/0/finish_reasons/x",
        "/quality/0/error",
    }


def test_the_subject_of_a_run_s_number_is_the_run() -> None:
    report = facts(runs=[{"id": "a", "decode": {"tok_s": -1.0}}], target={"parameters_b": -1.0})
    assert {f.subject for f in out_of_range_numbers(report)} == {"/runs/0", "/target/parameters_b"}


@given(st.integers(-100000, 100000).map(lambda n: n / 100))
def test_a_share_is_accused_once(value: float) -> None:
    """A number in a field of shares is a share, a percentage or neither, never two of them."""
    report = facts(runs=[{"id": "a", "speculation": {"acceptance_rate": value}}])
    slips = len(list(percent_slips(report)))
    wrong = len(list(out_of_range_numbers(report)))
    assert slips + wrong <= 1
    assert (slips == 1) == is_percent(value)
    if 0 <= value <= 1:
        assert slips + wrong == 0
    if value < 0 or 1.2 < value < 2 or value > 100:
        assert wrong == 1


@given(st.lists(st.integers(0, 10000), min_size=1, max_size=6))
def test_percentages_in_a_list_are_accused_once(hundredths: list[int]) -> None:
    values = [n / 100 for n in hundredths]
    report = facts(runs=[{"id": "a", "speculation": {"per_position": {"values": values}}}])
    found = list(percent_slips(report)) + list(out_of_range_numbers(report))
    may_be_one = {101, 110}  # 1.01 and 1.1 are 1, a unit of their last digit lower
    assert (len(found) > 0) == any(n > 100 and n not in may_be_one for n in hundredths)
    if max(values) >= 2:
        assert [f.pointer for f in found] == ["/runs/0/speculation/per_position/values"]


def test_mixes() -> None:
    assert mix_in_percent({"code": 60, "prose": 40})
    assert mix_in_percent({"code": Digits("33.3"), "prose": Digits("33.3"), "chat": Digits("33.3")})
    assert not mix_in_percent({"code": Digits("0.6"), "prose": Digits("0.4")})
    assert not mix_in_percent({"code": 3, "prose": 1})
    assert not mix_in_percent({})


def test_a_sum_keeps_what_rounding_leaves() -> None:
    thirds = sum_of(dict.fromkeys("abc", Digits("0.33")))
    assert thirds.meets(1.0)
    assert not sum_of({"code": Digits("0.70"), "prose": Digits("0.50")}).meets(1.0)
