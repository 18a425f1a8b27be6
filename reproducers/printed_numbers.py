"""Measured numbers as a report prints them: with the digits that their error leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev
from typing import Any

from benchlint.checker.tree import Digits

#: Significant digits where no error is known, and the most that any number gets.
_DIGITS, _MOST_DIGITS = 4, 6

#: Decimals of shares and ratios of counts; the counts themselves stand beside them.
_DECIMALS = 4


def rounded(value: float, error: float | None = None) -> Digits | int:
    """The number to the second digit of its standard error, which is in the same unit.

    Without an error to four digits, and never to more than six. A whole number is one whose
    last digit is no smaller than 1. Raises ValueError where the value is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no measured number")
    if value == 0:
        return 0
    size = math.floor(math.log10(abs(value)))
    place = size - _DIGITS + 1
    if error is not None and 0 < error < math.inf:
        place = math.floor(math.log10(error)) - 1
    place = min(max(place, size - _MOST_DIGITS + 1), size)
    return round(value / 10**place) * 10**place if place >= 0 else Digits(f"{value:.{-place}f}")


def share(value: float) -> Digits:
    """A share of 1, or another figure that repeats exactly, to four decimals."""
    return Digits(f"{value:.{_DECIMALS}f}")


def repeated(value: float, samples: Sequence[float], estimator: str) -> dict[str, Any]:
    """A measured object: the number over all repeats, and what each of them gave.

    samples: one for each repeat, in the unit of the value. estimator: pooled, mean or median.
    """
    spread = stdev(samples) if len(samples) > 1 else 0.0
    if not spread:  # one measurement, or a clock that knows no finer time, tells no error
        return {"value": rounded(value), "repeats": len(samples), "estimator": estimator}
    return {
        "value": rounded(value, spread / math.sqrt(len(samples))),
        "stdev": rounded(spread, spread),
        "samples": [rounded(each, spread) for each in samples],
        "repeats": len(samples),
        "estimator": estimator,
    }


def summed_up(values: Sequence[int]) -> int | dict[str, Any]:
    """Counts that may differ: the one that all are, or their mean with the ends."""
    low, high = min(values), max(values)
    if low == high:
        return low
    mean = sum(values) / len(values)
    return {"value": rounded(mean), "range": [low, high], "estimator": "mean"}
