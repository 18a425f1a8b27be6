"""Estimates with their errors, from pairs, prompts, chunks and counts.

Speeds are compared as natural logarithms of ratios within pairs, accepted length and acceptance
rate as ratios of sums over prompts, match rates as binomial shares. An estimate can say two
things: an interval for a confidence, and how improbable it is that the truth lies in a given
range. Verdicts need no more than that (`Evidence`).

Bad series are the normal case. Too few units give an interval that is the whole line; numbers
that no measurement yields (a speed of 0, more matches than trials) raise ValueError.

Quantiles of Student's t, the beta and the binomial distribution come from scipy (extra
`reproduce`), imported at first use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import NormalDist, fmean, median
from typing import Protocol

from benchlint.checker.numbers import EVERYTHING, Interval

#: Lag-1 autocorrelation between consecutive pairs from which the error is widened.
AUTOCORRELATED = 0.3

#: A modified z above this flags a value (Iglewicz and Hoaglin 1993, How to Detect and Handle
#: Outliers, with the two constants below).
FLAGGED_Z = 3.5
_MEDIAN_DEVIATION_SCALE = 0.6745
_MEAN_DEVIATION_SCALE = 1 / 1.253314

#: A drift is told when its slope has p below the first and its total exceeds the second (share).
DRIFT_P = 0.01
DRIFT_TOTAL = 0.02

#: A warm engine: rolling median within this share of the median of the second half.
STEADY_SHARE = 0.02


class Evidence(Protocol):
    """What a verdict asks of a measurement, all on the scale of the zone it is held against."""

    @property
    def value(self) -> float:
        """The point estimate."""

    @property
    def units(self) -> int:
        """How many independent units it rests on: pairs, prompts, chunks."""

    def interval(self, confidence: float) -> Interval:
        """The central two-sided interval, `confidence` in (0, 1)."""

    def tail(self, zone: Interval) -> float:
        """One-sided p-value of the nearest end of `zone`; 1 when the value lies inside."""

    def agrees_outside(self, zone: Interval) -> bool:
        """Whether a robust estimate lies outside `zone` on the same side as the value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with a Student t error.

    value: the estimate, in its own unit or as a natural logarithm.
    error: standard error in the same unit; 0 for an exact number, infinite when unknown.
    freedom: degrees of freedom of the error.
    units: independent units it rests on.
    middle: a robust estimate of the same quantity (median of the units), where there is one.
    widened: the factor by which `error` was widened for autocorrelation; 1 when it was not.
    """

    value: float
    error: float
    freedom: float
    units: int
    middle: float | None = None
    widened: float = 1.0

    def interval(self, confidence: float) -> Interval:
        """value ± t · error; the whole line when the error is unknown."""
        if self.error == 0:
            return Interval(self.value, self.value)
        if not math.isfinite(self.error):
            return EVERYTHING
        return Interval.around(self.value, _t_quantile(self.freedom, confidence) * self.error)

    def tail(self, zone: Interval) -> float:
        """Probability of an estimate this far outside, were the truth at the zone's near end."""
        distance = max(zone.low - self.value, self.value - zone.high)
        if distance <= 0 or not math.isfinite(self.error):
            return 1.0
        return 0.0 if self.error == 0 else _t_tail(self.freedom, distance / self.error)

    def agrees_outside(self, zone: Interval) -> bool:
        """Whether the median of the units, if known, leaves `zone` on the value's side."""
        if self.middle is None:
            return True
        return self.middle < zone.low if self.value < zone.low else self.middle > zone.high

    def log(self) -> Estimate:
        """The natural logarithm, by the delta method. Raises ValueError unless value > 0."""
        if not self.value > 0:
            raise ValueError(f"{self.value:g} has no logarithm")
        middle = math.log(self.middle) if self.middle is not None and self.middle > 0 else None
        error = self.error / self.value
        return replace(self, value=math.log(self.value), error=error, middle=middle)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of trials that succeeded, each trial independent: prompts that matched, say.

    Token-level percentages are no such share: after the first divergence tokens depend on
    each other.
    """

    successes: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.trials or self.trials < 1:
            raise ValueError(f"{self.successes} of {self.trials} is no share")

    @property
    def value(self) -> float:
        """The share, 0 to 1."""
        return self.successes / self.trials

    @property
    def units(self) -> int:
        """The number of trials."""
        return self.trials

    def interval(self, confidence: float) -> Interval:
        """Clopper-Pearson where no or every trial succeeded, else Wilson."""
        if self.successes in (0, self.trials):
            return clopper_pearson(self.successes, self.trials, confidence)
        return wilson(self.successes, self.trials, confidence)

    def tail(self, zone: Interval) -> float:
        """Exact binomial probability of so few (or many) successes at the zone's near end."""
        if self.value < zone.low:
            return _binomial_at_most(self.successes, self.trials, zone.low)
        if self.value > zone.high:
            return _binomial_at_most(self.trials - self.successes, self.trials, 1 - zone.high)
        return 1.0

    def agrees_outside(self, zone: Interval) -> bool:  # noqa: ARG002 - counts have no outliers
        """Always: a count has no outliers."""
        return True


def exact(value: float, units: int = 1) -> Estimate:
    """A number without sampling error: perplexity of the same text, bytes of the same file."""
    return Estimate(value, 0.0, math.inf, units)


# Pairs


def logarithms(values: Iterable[float]) -> list[float]:
    """Natural logarithms. Raises ValueError for a number that is not positive and finite."""
    kept = list(values)
    for index, value in enumerate(kept):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"value {index + 1}, {value:g}, is not a positive number")
    return [math.log(value) for value in kept]


def mean_of(values: Sequence[float]) -> Estimate:
    """Mean of independent units with its t error: mean ± t_{n-1} · sd / √n.

    Where consecutive units hang together (lag-1 autocorrelation ρ above 0.3) the error is
    widened by √((1+ρ)/(1-ρ)), the asymptotic factor of a first-order process. Short series
    show less correlation than there is: at ρ = 0.5 a claim at the very end of its tolerance is
    refuted in about 11 % of series, where independent pairs give 2 % (simulated).
    Raises ValueError for an empty series.
    """
    if not values:
        raise ValueError("no values to take the mean of")
    units, mean = len(values), fmean(values)
    if units < 2:
        return Estimate(mean, math.inf, 0, units, middle=mean)
    widened = widening(lag1(values))
    error = math.sqrt(_squares(values, mean) / (units - 1) / units) * widened
    return Estimate(mean, error, units - 1, units, median(values), widened)


def lag1(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, -1 to 1; 0 for constant or very short series."""
    mean = fmean(values) if values else 0.0
    squares = _squares(values, mean)
    if len(values) < 3 or squares == 0:
        return 0.0
    products = ((a - mean) * (b - mean) for a, b in pairwise(values))
    return math.fsum(products) / squares


def widening(correlation: float) -> float:
    """The factor on a standard error for lag-1 autocorrelation; 1 up to 0.3."""
    if correlation <= AUTOCORRELATED:
        return 1.0
    return math.sqrt((1 + correlation) / (1 - correlation))


# Prompts as clusters


def cluster_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Ratio of sums Σa/Σb with prompts as clusters, by the delta method.

    error = √(n/(n-1) · Σe²) / Σb with e = a - ratio · b, and n - 1 degrees of freedom (Cochran
    1977, Sampling Techniques, section 6.4). Steps within a prompt depend on each other:
    treating them as independent covers 36 % where this covers 92 to 95 %.
    Raises ValueError when the lengths differ or the denominators have no positive sum.
    """
    ratio, total = _ratio_of_sums(numerators, denominators)
    units = len(numerators)
    if units < 2:
        return Estimate(ratio, math.inf, 0, units)
    pairs = zip(numerators, denominators, strict=True)
    squares = math.fsum((a - ratio * b) ** 2 for a, b in pairs)
    return Estimate(ratio, math.sqrt(units / (units - 1) * squares) / total, units - 1, units)


def replicated_ratio(
    numerators: Sequence[Sequence[float]], denominators: Sequence[Sequence[float]]
) -> Estimate:
    """Ratio of sums over a fixed list of prompts, each measured several times.

    numerators, denominators: one series of repeats (seeds) for each prompt. The prompts are
    strata, not a sample: only what varies between repeats of one prompt counts as error. Right
    when a report's own prompts are rerun. For τ, add 1 to the value.
    Raises ValueError as `cluster_ratio` does.
    """
    ratio, total = _ratio_of_sums(_flat(numerators), _flat(denominators))
    freedom, variance = 0, 0.0
    for tops, bottoms in zip(numerators, denominators, strict=True):
        rest = [a - ratio * b for a, b in zip(tops, bottoms, strict=True)]
        if len(rest) > 1:
            freedom += len(rest) - 1
            variance += len(rest) * _squares(rest, fmean(rest)) / (len(rest) - 1)
    repeated = freedom > 0 and all(len(tops) > 1 for tops in numerators)
    error = math.sqrt(variance) / total if repeated else math.inf
    return Estimate(ratio, error, freedom, len(numerators))


def perplexity_log_ratio(
    first: Sequence[float], second: Sequence[float], tokens: Sequence[float]
) -> Estimate:
    """ln(PPL first / PPL second) of one text, paired by chunk.

    first, second: negative log-likelihood in nats of each chunk. tokens: scored tokens in it.
    The same text, context length, stride and BOS are required; the unpaired error of a
    perplexity is many times larger. (llama.cpp prints the same ratio by token under
    --kl-divergence.)
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} chunks do not make pairs")
    return cluster_ratio([a - b for a, b in zip(first, second, strict=True)], tokens)


# Shares


def wilson(successes: int, trials: int, confidence: float) -> Interval:
    """Wilson's score interval for a binomial share (Wilson 1927, JASA 22:209)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / trials + spread / trials / 4) / (1 + spread)
    return Interval.around(centre, half).clamped(0, 1)


def clopper_pearson(successes: int, trials: int, confidence: float) -> Interval:
    """The exact binomial interval (Clopper and Pearson 1934, Biometrika 26:404).

    0 of n bounds the share near 3/n at 95 % one-sided.
    """
    tail, failures = (1 - confidence) / 2, trials - successes
    beta = _special().betaincinv
    low = float(beta(successes, failures + 1, tail)) if successes else 0.0
    high = float(beta(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(low, high)


# Run hygiene


@dataclass(frozen=True, slots=True)
class Drift:
    """A linear trend of speed over a series of runs.

    total: change from the first run to the last as a share (-0.05: 5 % slower at the end).
    p: two-sided p-value of the slope; 1 when there are too few runs to tell.
    """

    total: float
    p: float

    @property
    def notable(self) -> bool:
        """Whether it is worth a warning: p < 0.01 and more than 2 % in total."""
        return self.p < DRIFT_P and abs(self.total) > DRIFT_TOTAL


def drift(runs: Sequence[tuple[str, float]]) -> Drift:
    """Trend of ln(speed) on the index of the run, with a level of its own for each arm.

    runs: (arm, speed) in the order they ran. Raises ValueError for a speed that is not positive.
    """
    arms = [arm for arm, _ in runs]
    speeds = _centred(arms, logarithms(speed for _, speed in runs))
    indices = _centred(arms, [float(i) for i in range(len(runs))])
    freedom, spread = len(runs) - len(set(arms)) - 1, _squares(indices, 0.0)
    if freedom < 1 or spread == 0:
        return Drift(0.0, 1.0)
    slope = math.fsum(x * y for x, y in zip(indices, speeds, strict=True)) / spread
    rest = math.fsum((y - slope * x) ** 2 for x, y in zip(indices, speeds, strict=True))
    slope_of = Estimate(slope, math.sqrt(rest / freedom / spread), freedom, len(runs))
    p = min(1.0, 2 * slope_of.tail(Interval(0.0, 0.0)))
    return Drift(math.expm1(slope * (len(runs) - 1)), p)


def modified_z(values: Sequence[float]) -> list[float]:
    """Distance of each value from the median, in robust standard deviations.

    Where more than half of the values are equal the mean absolute deviation takes the place
    of the median one; where all are, every distance is 0.
    """
    if not values:
        return []
    centre = median(values)
    distances = [abs(value - centre) for value in values]
    scale = median(distances) / _MEDIAN_DEVIATION_SCALE or fmean(distances) / _MEAN_DEVIATION_SCALE
    return [(value - centre) / scale if scale else 0.0 for value in values]


def flagged(values: Sequence[float]) -> list[int]:
    """Indices of values that lie far out (modified z above 3.5). They are told, never deleted."""
    return [i for i, z in enumerate(modified_z(values)) if abs(z) > FLAGGED_Z]


def steady_from(speeds: Sequence[float]) -> int | None:
    """Index of the first request after warm-up; None while the engine is not yet steady.

    The first request is always dropped, then every leading one until the median of it and its
    two neighbours lies within 2 % of the median of the second half.
    """
    if len(speeds) < 3:
        return None
    settled = median(speeds[len(speeds) // 2 :])
    for index in range(1, len(speeds) - 1):
        if abs(median(speeds[index - 1 : index + 2]) - settled) <= STEADY_SHARE * settled:
            return index
    return None


# Arithmetic


def _squares(values: Iterable[float], centre: float) -> float:
    return math.fsum((value - centre) ** 2 for value in values)


def _flat(series: Iterable[Iterable[float]]) -> list[float]:
    return [value for each in series for value in each]


def _ratio_of_sums(
    numerators: Sequence[float], denominators: Sequence[float]
) -> tuple[float, float]:
    """The ratio and the sum it was divided by."""
    if len(numerators) != len(denominators):
        raise ValueError(f"{len(numerators)} numerators, {len(denominators)} denominators")
    total = math.fsum(denominators)
    if not (total > 0 and math.isfinite(total)):
        raise ValueError(f"the denominators sum to {total:g}: nothing to divide by")
    return math.fsum(numerators) / total, total


def _centred(groups: Sequence[str], values: Sequence[float]) -> list[float]:
    """Each value less the mean of its group."""
    members: dict[str, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    means = {group: fmean(each) for group, each in members.items()}
    return [value - means[group] for group, value in zip(groups, values, strict=True)]


class _Special(Protocol):
    """The functions used of scipy.special, which ships no types."""

    def stdtr(self, df: float, t: float) -> float: ...
    def stdtrit(self, df: float, p: float) -> float: ...
    def bdtr(self, k: int, n: int, p: float) -> float: ...
    def betaincinv(self, a: float, b: float, y: float) -> float: ...


def load_distributions() -> None:
    """Import scipy now: an import that Ctrl-C breaks off leaves modules that never work again."""
    _special()


@cache
def _special() -> _Special:
    from scipy import special  # type: ignore[import-untyped] # scipy ships no types

    functions: _Special = special
    return functions


@cache
def _t_quantile(freedom: float, confidence: float) -> float:
    """t with `confidence` between -t and t; 1.96 for 95 % and many degrees of freedom."""
    if math.isinf(freedom):
        return NormalDist().inv_cdf((1 + confidence) / 2)
    return float(_special().stdtrit(freedom, (1 + confidence) / 2))


def _t_tail(freedom: float, t: float) -> float:
    """P(T > t)."""
    if math.isinf(freedom):
        return NormalDist().cdf(-t)
    return float(_special().stdtr(freedom, -t))


def _binomial_at_most(successes: int, trials: int, share: float) -> float:
    """P(X ≤ successes) for X binomial."""
    if successes < 0:
        return 0.0
    return float(_special().bdtr(successes, trials, min(max(share, 0.0), 1.0)))
