"""Numbers with the digits that their error leaves."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.checker.model import MeasuredObject
from benchlint.checker.numbers import printed, reported, unit_of_last_digit
from benchlint.reproducers.printed_numbers import repeated, rounded, share, summed_up


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (128.4437, 0.31, "128.44"),
        (128.4, 0.031, "128.400"),
        (128.4437, None, "128.4"),
        (128.4437, math.inf, "128.4"),
        (128.4437, 1e-9, "128.444"),
        (128.4437, 12.0, "128"),
        (1284.437, 120.0, "1280"),
        (0.012345, 0.0005, "0.01235"),
        (0.5, 40.0, "0.5"),
        (123456789.0, None, "123500000"),
        (0.0, 1.0, "0"),
    ],
)
def test_digits_end_at_the_second_one_of_the_error(
    value: float, error: float | None, text: str
) -> None:
    assert printed(rounded(value, error)) == text


@given(st.floats(1e-9, 1e9), st.none() | st.floats(1e-12, 1e9))
@example(999999500.0, 1.0)
def test_what_is_printed_allows_what_was_measured(value: float, error: float | None) -> None:
    number = rounded(value, error)
    found = reported(number, "")
    assert found is not None
    assert found.span.low <= value <= found.span.high
    # What is rounded up to a power of ten is printed with zeros, which count as no digits.
    assert unit_of_last_digit(number) <= max(value, float(number), (error or value) * 10)


@given(st.lists(st.floats(1.0, 1e6), min_size=2, max_size=20))
def test_a_mean_fits_its_samples(samples: list[float]) -> None:
    mean = sum(samples) / len(samples)
    found = MeasuredObject.model_validate(repeated(mean, samples, "mean"))
    assert found.repeats == len(samples)
    if found.samples is not None:
        units = [unit_of_last_digit(each) for each in (found.value or 0.0, *found.samples)]
        assert found.value is not None
        assert min(found.samples) - sum(units) <= found.value <= max(found.samples) + sum(units)


def test_one_measurement_has_no_spread() -> None:
    assert repeated(20.5, [20.5], "pooled") == {"value": 20.5, "repeats": 1, "estimator": "pooled"}
    assert "stdev" not in repeated(20.5, [20.5, 20.5], "pooled")


def test_shares_have_four_decimals() -> None:
    assert [printed(share(each)) for each in (1.0, 2 / 3, 0.0)] == ["1.0000", "0.6667", "0.0000"]


def test_counts_are_one_number_or_a_mean_with_ends() -> None:
    assert summed_up([7, 7]) == 7
    assert summed_up([1, 2, 6]) == {"value": 3.0, "range": [1, 6], "estimator": "mean"}


def test_what_is_no_number_is_not_printed() -> None:
    with pytest.raises(ValueError, match="inf is no measured number"):
        rounded(math.inf)
