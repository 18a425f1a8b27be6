"""How far repeated measurements of one number lie apart.

What a report states comes first: a standard deviation, samples, a range. Where it states none,
the default is what public repeats show: a coefficient of variation of 3 % for speeds with
speculation, 1 % without (ollama#18541: 3.1 % at identical acceptance; vllm#53436: 7 to 20 % at
concurrency 1 to 4; kekzl/imp#1011: 11 % across restarts with speculation, 0.5 % without).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlint.checker.facts import RunFacts, Tri
from benchlint.checker.metrics import block_of, drafter_moves, is_speed
from benchlint.checker.model import MeasuredObject
from benchlint.checker.numbers import Interval, Reported

SPECULATIVE_CV = 0.03
PLAIN_CV = 0.01

#: Accepted length and acceptance rate of the same prompts: reruns agree within 2 to 3 %.
ACCEPTANCE_CV = 0.015

#: Device memory after the same fill.
MEMORY_CV = 0.01

#: A range of few values spans about this many standard deviations.
RANGE_IN_DEVIATIONS = 4.0


@dataclass(frozen=True, slots=True)
class Noise:
    """The standard error of a number as a share of it.

    stated: the report's own figures give it, not a default.
    """

    share: float
    stated: bool


def noise_of(number: Reported, run: RunFacts, path: str) -> Noise | None:
    """The noise of a run's number; None where neither the report nor a default gives one."""
    repeats = _repeats(number.detail, run)
    stated = _stated_share(number, repeats)
    if stated is not None:
        return Noise(stated, stated=True)
    default = default_cv(path, run.speculates)
    return None if default is None else Noise(default / math.sqrt(repeats), stated=False)


def stated_deviation(number: Reported) -> float:
    """Standard deviation of one repeat as a share of the number; 0 where the report has none."""
    deviation = None if number.detail is None else _deviation(number.detail)
    share = deviation / abs(number.value) if deviation and number.value else 0.0
    return share if math.isfinite(share) else 0.0


def of_difference(a: Noise, b: Noise) -> float:
    """Standard error of the logarithm of a ratio of two independent numbers, as a share."""
    return math.hypot(a.share, b.share)


def default_cv(path: str, speculates: Tri) -> float | None:
    """The coefficient of variation assumed of single measurements where none is stated.

    Speculation that is not known counts as speculation.
    """
    if is_speed(path):
        plain = speculates is False or not drafter_moves(path)
        return PLAIN_CV if plain else SPECULATIVE_CV
    if path in ("speculation.accepted_length", "speculation.acceptance_rate"):
        return ACCEPTANCE_CV
    return MEMORY_CV if block_of(path) == "memory" else None


def extent(number: Reported) -> Interval:
    """All values the report gives for this number: its digits, range, samples, ± stdev."""
    detail, span = number.detail, number.span
    if detail is None:
        return span
    ends = [*(detail.range or ()), *(detail.samples or ())]
    if detail.stdev is not None:
        ends += [number.value - abs(detail.stdev), number.value + abs(detail.stdev)]
    return Interval(min([span.low, *ends]), max([span.high, *ends]))


def _repeats(detail: MeasuredObject | None, run: RunFacts) -> int:
    """How many measurements the number is a summary of; 1 where that is not said."""
    if detail is not None and detail.repeats is not None:
        return max(detail.repeats, 1)
    if detail is not None and detail.samples:
        return len(detail.samples)
    conditions = run.model.conditions
    return max((conditions.repeats if conditions is not None else None) or 1, 1)


def _stated_share(number: Reported, repeats: int) -> float | None:
    """Standard error over the number, from the spread that stands beside it."""
    deviation = None if number.detail is None else _deviation(number.detail)
    if deviation is None or number.value == 0:
        return None
    share = deviation / abs(number.value) / math.sqrt(repeats)
    return share if math.isfinite(share) else None


def _deviation(detail: MeasuredObject) -> float | None:
    if detail.stdev is not None:
        return abs(detail.stdev)
    if detail.samples and len(detail.samples) > 1:
        return _sample_deviation(detail.samples)
    if detail.range and len(detail.range) > 1:
        return (max(detail.range) - min(detail.range)) / RANGE_IN_DEVIATIONS
    return None


def _sample_deviation(samples: Sequence[float]) -> float:
    mean = sum(samples) / len(samples)
    squares = sum((s - mean) * (s - mean) for s in samples)
    return math.sqrt(squares / (len(samples) - 1))
