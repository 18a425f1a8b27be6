"""Printed numbers as intervals: whatever was rounded or truncated honestly is inside."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchlint.checker.document import Digits
from benchlint.checker.model import MeasuredObject
from benchlint.checker.numbers import (
    EVERYTHING,
    Interval,
    Reported,
    reported,
    shown,
    shown_interval,
    unit_of_last_digit,
)

finite = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    a, b = draw(finite), draw(finite)
    return Interval(min(a, b), max(a, b))


@st.composite
def inside(draw: st.DrawFn) -> tuple[Interval, float]:
    """An interval and a value in it."""
    interval = draw(intervals())
    return interval, draw(st.floats(interval.low, interval.high))


def holds(interval: Interval, value: float) -> bool:
    slack = 1e-9 * max(1.0, abs(value), abs(interval.low), abs(interval.high))
    return interval.low - slack <= value <= interval.high + slack


@given(inside(), inside())
def test_arithmetic_keeps_every_possibility(
    a: tuple[Interval, float], b: tuple[Interval, float]
) -> None:
    (x, u), (y, v) = a, b
    assert holds(x + y, u + v)
    assert holds(x - y, u - v)
    assert holds(x * y, u * v)
    if abs(v) > 1e-6:
        assert holds(x / y, u / v)


anything = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def unbounded(draw: st.DrawFn) -> tuple[Interval, float]:
    """An interval that may lack bounds, or reach to the largest numbers, and a value in it."""
    low, value, high = sorted(draw(st.tuples(anything, anything, anything)))
    ends = draw(st.sampled_from(["both", "low", "high", "none"]))
    return Interval(
        low if ends in ("both", "low") else -math.inf,
        high if ends in ("both", "high") else math.inf,
    ), value


@st.composite
def endless(draw: st.DrawFn) -> Interval:
    """Any interval at all, also of ends that are both the same infinity."""
    ends = st.floats(allow_nan=False)
    return Interval(*sorted(draw(st.tuples(ends, ends))))


def within(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


@given(unbounded(), unbounded(), st.floats(0, 10), anything)
def test_no_bound_and_no_size_loses_a_possibility(
    a: tuple[Interval, float], b: tuple[Interval, float], share: float, point: float
) -> None:
    (x, u), (y, v) = a, b
    assert within(x + y, u + v)
    assert within(x - y, u - v)
    assert within(x * y, u * v)
    assert within(x + point, u + point)
    assert within(point - x, point - u)
    assert within(point * x, point * u)
    if v != 0:
        assert within(x / y, u / v)
        assert within(point / y, point / v)
    wide = x.widened(share)
    assert wide.low <= x.low
    assert x.high <= wide.high
    assert within(x.clamped(min(u, v), max(u, v)), u)


@given(endless(), endless(), st.floats(0, 10), st.floats(allow_nan=False))
def test_ends_are_never_nan(x: Interval, y: Interval, share: float, point: float) -> None:
    made = [x + y, x - y, x * y, x / y, x + point, x - point, point - x, x * point, x / point]
    made += [point / x, x.widened(share), x.clamped(min(y.low, y.high), y.high)]
    for interval in made:
        assert interval.low <= interval.high
        assert not math.isnan(interval.middle)


def test_division_by_what_may_be_zero_says_nothing() -> None:
    assert Interval(1, 2) / Interval(-1, 1) == EVERYTHING
    assert not (Interval(1, 2) / Interval(0, 1)).above(1e300)


@given(inside(), inside())
def test_below_and_above_are_certain(a: tuple[Interval, float], b: tuple[Interval, float]) -> None:
    (x, u), (y, v) = a, b
    if x.below(y):
        assert u < v
        assert y.above(x)
        assert not x.meets(y)
    if u == v:
        assert x.meets(y)


def test_float_noise_is_no_difference() -> None:
    assert Interval.of(0.1 + 0.2).meets(0.3)
    assert not Interval.of(0.3).below(0.1 + 0.2)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("36.300", 0.001),
        ("36.3", 0.1),
        ("4.", 1.0),
        ("1e3", 1000.0),
        ("1.50E-2", 0.0001),
        ("-0.5", 0.1),
    ],
)
def test_unit_of_printed_fractions(text: str, unit: float) -> None:
    assert unit_of_last_digit(Digits(text)) == pytest.approx(unit)


@pytest.mark.parametrize(
    ("number", "unit"), [(2000, 1000), (2050, 10), (17, 1), (0, 1), (-300, 100), (10**40, 10**40)]
)
def test_trailing_zeros_of_whole_numbers_do_not_count(number: int, unit: int) -> None:
    assert unit_of_last_digit(number) == pytest.approx(unit)
    assert unit_of_last_digit(number, count=True) == 0


def test_whole_shares_have_two_decimals() -> None:
    assert unit_of_last_digit(1, share=True) == pytest.approx(0.01)


@given(st.decimals("0.0001", "99999", places=6), st.integers(0, 5), st.booleans())
def test_honest_printing_stays_inside(value: Decimal, places: int, truncates: bool) -> None:
    rounding = ROUND_DOWN if truncates else ROUND_HALF_EVEN
    text = str(value.quantize(Decimal(1).scaleb(-places), rounding=rounding))
    number = Digits(text) if "." in text else int(text)
    result = reported(number, "/x")
    assert result is not None
    assert holds(result.span, float(value))
    if not truncates:
        assert holds(result.near, float(value))


def test_approx_adds_five_percent() -> None:
    plain = reported(Digits("58.5"), "/x")
    about = reported(MeasuredObject(value=Digits("58.5"), approx=True), "/x")
    assert plain is not None
    assert about is not None
    assert plain.span == Interval(58.4, 58.6)
    assert about.span.low == pytest.approx(58.4 - 2.925)
    assert about.span.high == pytest.approx(58.6 + 2.925)
    assert about.pointer == "/x/value"
    assert about.approx


def test_a_range_is_judged_by_its_ends() -> None:
    result = reported(MeasuredObject(range=[Digits("58.5"), Digits("60.3")]), "/x")
    assert result is not None
    assert result.span == Interval(pytest.approx(58.4), pytest.approx(60.4))
    assert result.from_range
    assert str(result) == "58.5 to 60.3"
    assert result.pointer == "/x/range"


def test_nothing_usable_is_none() -> None:
    assert reported(None, "/x") is None
    assert reported(MeasuredObject(approx=True), "/x") is None


def test_counts_are_exact() -> None:
    result = reported(1000, "/x", count=True)
    assert isinstance(result, Reported)
    assert result.span == Interval(1000, 1000)


@given(finite)
def test_shown_values_are_near_what_they_show(value: float) -> None:
    assume(abs(value) > 1e-3)
    assert math.isclose(float(shown(value)), value, rel_tol=1e-3)


def test_shown_interval() -> None:
    assert shown_interval(Interval(4.4961, 4.4988)) == "4.496 to 4.499"
    assert shown_interval(Interval(5, 5)) == "5"
