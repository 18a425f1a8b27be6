"""Estimates and intervals: known values, laws, and how often intervals hold the truth."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchlint.checker.numbers import EVERYTHING, Interval
from benchlint.reproducers.statistics import (
    Estimate,
    Share,
    clopper_pearson,
    cluster_ratio,
    drift,
    exact,
    flagged,
    lag1,
    logarithms,
    mean_of,
    modified_z,
    perplexity_log_ratio,
    replicated_ratio,
    steady_from,
    widening,
    wilson,
)
from tests.verdict_simulator import Bench, World, prompts, true_accepted_length

series = st.lists(st.floats(-1, 1), min_size=2, max_size=20)
thousandths = st.integers(-1000, 1000).map(lambda n: n / 1000)


def holds(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def close(interval: Interval, low: float, high: float) -> bool:
    return interval.low == pytest.approx(low, abs=5e-5) and interval.high == pytest.approx(
        high, abs=5e-5
    )


# Pairs


def test_a_known_t_interval() -> None:
    estimate = mean_of([0.1, 0.3, 0.2, 0.4])
    assert (estimate.units, estimate.freedom, estimate.middle) == (4, 3, 0.25)
    assert estimate.error == pytest.approx(0.0645497)
    assert close(estimate.interval(0.95), 0.25 - 3.18245 * 0.0645497, 0.25 + 3.18245 * 0.0645497)


@given(st.lists(thousandths, min_size=3, max_size=20, unique=True), st.floats(0.5, 0.999))
def test_the_interval_is_that_of_scipy(values: list[float], confidence: float) -> None:
    estimate = mean_of(values)
    theirs = stats.t.interval(
        confidence, estimate.freedom, estimate.value, estimate.error / estimate.widened
    )
    ours = Estimate(estimate.value, estimate.error / estimate.widened, estimate.freedom, 0)
    assert ours.interval(confidence).low == pytest.approx(theirs[0])
    assert ours.interval(confidence).high == pytest.approx(theirs[1])


@given(series, st.floats(-1, 1), st.floats(0.1, 10))
def test_a_mean_moves_and_stretches_with_its_values(
    values: list[float], by: float, factor: float
) -> None:
    before, moved = mean_of(values), mean_of([v * factor + by for v in values])
    assert moved.value == pytest.approx(before.value * factor + by, abs=1e-9)
    if before.widened == moved.widened == 1:
        assert moved.error == pytest.approx(before.error * factor, abs=1e-9)


@given(series)
def test_swapping_the_arms_mirrors_everything(values: list[float]) -> None:
    there, back = mean_of(values), mean_of([-v for v in values])
    assert (back.value, back.error, back.widened) == (-there.value, there.error, there.widened)
    interval = there.interval(0.9)
    assert back.interval(0.9) == Interval(-interval.high, -interval.low)


@given(series, st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_more_confidence_is_a_wider_interval(values: list[float], a: float, b: float) -> None:
    wide, narrow = (mean_of(values).interval(c) for c in (max(a, b), min(a, b)))
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@given(series, st.floats(-2, 2), st.floats(0.001, 0.4))
def test_the_p_value_and_the_interval_say_the_same(
    values: list[float], bound: float, p: float
) -> None:
    estimate, zone = mean_of(values), Interval(-math.inf, bound)
    if abs(2 * estimate.tail(zone) - p) > 1e-9:
        low = estimate.interval(1 - p).low
        assert (2 * estimate.tail(zone) < p) == (low > bound)


def test_one_pair_says_nothing_and_no_pair_is_an_error() -> None:
    assert mean_of([0.3]).interval(0.9) == EVERYTHING
    assert mean_of([0.3]).tail(Interval(1, 2)) == 1
    with pytest.raises(ValueError, match="no values"):
        mean_of([])


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_speed_is_a_positive_number(bad: float) -> None:
    with pytest.raises(ValueError, match=r"value 2, .* is not a positive number"):
        logarithms([1.0, bad])


def test_autocorrelation_widens_above_a_threshold() -> None:
    rising = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert lag1(rising) == pytest.approx(0.625)
    assert mean_of(rising).widened == pytest.approx(math.sqrt(1.625 / 0.375))
    plain = math.sqrt(6 / 8)
    assert mean_of(rising).error == pytest.approx(plain * math.sqrt(1.625 / 0.375))
    assert (widening(0.3), widening(-0.9)) == (1, 1)
    assert (lag1([1, 1, 1, 1]), lag1([1, 2]), lag1([])) == (0, 0, 0)


@given(st.lists(st.floats(-1, 1), max_size=30))
def test_autocorrelation_stays_where_the_widening_is_defined(values: list[float]) -> None:
    assert -1 < lag1(values) < 1 or values == []
    assert widening(lag1(values)) >= 1


@pytest.mark.parametrize(("heavy", "least"), [(False, 0.94), (True, 0.94)])
def test_intervals_of_speed_ups_hold_the_true_ratio(heavy: bool, least: float) -> None:
    rng, held = Random(11), 0
    for _ in range(2000):
        bench = Bench(World(ratio=2.0, noise=0.03, heavy=heavy), rng)
        estimate = mean_of([math.log(bench.run("fast") / bench.run("plain")) for _ in range(8)])
        held += holds(estimate.interval(0.95), math.log(2))
    assert least <= held / 2000 <= 0.985


# Prompts


@pytest.mark.parametrize(
    ("count", "times"), [(5, 2000), (8, 2000), (12, 1500), (20, 1000), (40, 600), (80, 400)]
)
def test_intervals_of_accepted_length_hold_the_true_one(count: int, times: int) -> None:
    rng, held = Random(count), 0
    for _ in range(times):
        length = 1 + cluster_ratio(*prompts(count, rng)).interval(0.95)
        held += holds(length, true_accepted_length())
    assert 0.90 <= held / times <= 0.98


def test_accepted_length_of_counts() -> None:
    estimate = cluster_ratio([538, 722], [220, 300])  # ik_llama.cpp#2156, code and extract
    assert estimate.value == pytest.approx(1260 / 520)
    rest = 538 - 1260 / 520 * 220
    assert estimate.error == pytest.approx(math.sqrt(2 * 2 * rest**2) / 520)
    assert (estimate.freedom, estimate.units) == (1, 2)


@given(st.lists(st.tuples(st.integers(0, 700), st.integers(1, 100)), min_size=2, max_size=12))
def test_equal_prompts_leave_no_error_and_order_does_not_matter(
    counts: list[tuple[int, int]],
) -> None:
    accepted, steps = [a for a, _ in counts], [s for _, s in counts]
    assert cluster_ratio(accepted[:1] * 5, steps[:1] * 5).error == pytest.approx(0, abs=1e-12)
    there, back = cluster_ratio(accepted, steps), cluster_ratio(accepted[::-1], steps[::-1])
    assert (there.value, there.error) == (back.value, back.error)


def test_one_prompt_has_no_known_error_and_no_steps_no_length() -> None:
    assert cluster_ratio([30], [10]).interval(0.9) == EVERYTHING
    with pytest.raises(ValueError, match="nothing to divide by"):
        cluster_ratio([0, 0], [0, 0])
    with pytest.raises(ValueError, match="1 numerators, 2 denominators"):
        cluster_ratio([1], [1, 2])


def test_differences_between_the_same_prompts_are_no_error() -> None:
    accepted, steps = [[90, 90], [10, 10]], [[20, 20], [20, 20]]
    rerun = replicated_ratio(accepted, steps)
    assert (rerun.value, rerun.error, rerun.freedom) == (2.5, 0, 2)
    assert cluster_ratio([180, 20], [40, 40]).error > 1
    seeds = replicated_ratio([[90, 94], [10, 12]], steps)
    assert seeds.error == pytest.approx(math.sqrt(2 * 8 + 2 * 2) / 80)


def test_a_prompt_measured_once_leaves_the_error_unknown() -> None:
    assert replicated_ratio([[90, 91], [10]], [[20, 20], [20]]).interval(0.9) == EVERYTHING


def test_perplexities_are_paired_by_chunk() -> None:
    first, tokens = [900.0, 2100.0, 1500.0], [500.0, 1000.0, 700.0]
    second = [nll - 0.01 * n for nll, n in zip(first, tokens, strict=True)]
    ratio = perplexity_log_ratio(first, second, tokens)
    assert ratio.value == pytest.approx(0.01)
    assert ratio.error == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="3 and 2 chunks"):
        perplexity_log_ratio(first, second[:2], tokens)


def test_the_logarithm_of_an_estimate() -> None:
    tau = Estimate(4.0, 0.2, 11, 12, middle=3.9).log()
    assert tau == Estimate(math.log(4), 0.05, 11, 12, math.log(3.9))
    with pytest.raises(ValueError, match="no logarithm"):
        exact(0).log()


def test_an_exact_number_is_its_own_interval() -> None:
    assert exact(6.42).interval(0.99) == Interval(6.42, 6.42)
    assert (exact(6.42).tail(Interval(1, 6)), exact(6.42).tail(Interval(6, 7))) == (0, 1)


def test_a_median_on_the_other_side_does_not_agree() -> None:
    outlier = mean_of([0.0, 0.0, 0.0, 0.0, 5.0])
    assert not outlier.agrees_outside(Interval(-0.1, 0.1))
    assert mean_of([1.0, 1.1]).agrees_outside(Interval(-0.1, 0.1))
    assert mean_of([-1.0, -1.1]).agrees_outside(Interval(-0.1, 0.1))


# Shares


def test_known_binomial_intervals() -> None:
    assert close(wilson(8, 10, 0.95), 0.4902, 0.9433)
    assert close(clopper_pearson(0, 10, 0.95), 0, 0.3085)
    assert clopper_pearson(0, 300, 0.90).high == pytest.approx(3 / 300, rel=0.01)


@given(st.integers(1, 60), st.data(), st.floats(0.5, 0.999))
def test_binomial_intervals_are_those_of_scipy(n: int, data: st.DataObject, c: float) -> None:
    k = data.draw(st.integers(0, n))
    for method, ours in (("wilson", wilson(k, n, c)), ("exact", clopper_pearson(k, n, c))):
        theirs = stats.binomtest(k, n).proportion_ci(c, method=method)
        assert ours.low == pytest.approx(theirs.low, abs=1e-9)
        assert ours.high == pytest.approx(theirs.high, abs=1e-9)


def coverage(interval: Callable[[int, int, float], Interval], n: int, p: float) -> float:
    """Probability, added up over all outcomes, that the 90 % interval holds the true share."""
    chances = stats.binom.pmf(range(n + 1), n, p)
    return float(sum(c for k, c in enumerate(chances) if holds(interval(k, n, 0.9), p)))


@pytest.mark.parametrize("n", [5, 12, 40])
def test_the_exact_interval_covers_always_and_wilson_on_average(n: int) -> None:
    shares = [i / 50 for i in range(1, 50)]
    assert min(coverage(clopper_pearson, n, p) for p in shares) >= 0.9
    assert sum(coverage(wilson, n, p) for p in shares) / len(shares) >= 0.89


def test_a_share_chooses_the_exact_interval_at_the_ends() -> None:
    assert Share(0, 12).interval(0.9) == clopper_pearson(0, 12, 0.9)
    assert Share(12, 12).interval(0.9) == clopper_pearson(12, 12, 0.9)
    assert Share(11, 12).interval(0.9) == wilson(11, 12, 0.9)
    assert (Share(11, 12).value, Share(11, 12).units) == (11 / 12, 12)


@given(st.integers(1, 40), st.data(), st.floats(0.01, 0.99), st.floats(0.001, 0.2))
def test_the_tail_of_a_share_and_the_exact_interval_say_the_same(
    n: int, data: st.DataObject, bound: float, p: float
) -> None:
    share, zone = Share(data.draw(st.integers(0, n)), n), Interval(bound, 1.0)
    tail = share.tail(zone)
    assert share.agrees_outside(zone)
    if abs(2 * tail - p) > 1e-9:
        assert (2 * tail < p) == (clopper_pearson(share.successes, n, 1 - p).high < bound)


def test_too_many_successes_are_as_improbable_as_too_few() -> None:
    assert Share(9, 10).tail(Interval(0, 0.4)) == Share(1, 10).tail(Interval(0.6, 1))
    assert Share(5, 10).tail(Interval(0.4, 0.6)) == 1


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, 0)])
def test_what_is_no_share(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        Share(successes, trials)


# Run hygiene


def test_a_drift_is_measured_within_arms() -> None:
    runs = [(arm, level * math.exp(-0.002 * i)) for i, (arm, level) in enumerate(_abba(40))]
    trend = drift(runs)
    assert trend.total == pytest.approx(math.expm1(-0.002 * 39))
    assert trend.notable


def test_a_small_or_doubtful_drift_is_not_told() -> None:
    small = [(arm, level * math.exp(-0.0004 * i)) for i, (arm, level) in enumerate(_abba(40))]
    assert drift(small).p < 0.01
    assert not drift(small).notable
    assert not drift([("a", 40.0), ("b", 20.0), ("a", 30.0)]).notable
    assert not drift([]).notable


def test_noise_alone_rarely_looks_like_a_drift() -> None:
    rng, told = Random(3), 0
    for _ in range(1000):
        bench = Bench(World(ratio=2.0, noise=0.03), rng)
        told += drift([(arm, bench.run(arm)) for arm, _ in _abba(24)]).p < 0.01
    assert 0.003 <= told / 1000 <= 0.02


def _abba(runs: int) -> list[tuple[str, float]]:
    order = "abbabaab" * (runs // 8)
    return [(arm, 40.0 if arm == "a" else 90.0) for arm in order]


def test_modified_z_flags_what_lies_far_out() -> None:
    assert modified_z([1.0, 2.0, 3.0, 4.0, 11.0]) == pytest.approx(
        [-1.349, -0.6745, 0, 0.6745, 5.396]
    )
    assert flagged([1.0, 2.0, 3.0, 4.0, 11.0]) == [4]
    assert flagged([1.0, 2.0, 3.0, 4.0, 5.0]) == []


def test_modified_z_where_most_values_are_equal() -> None:
    assert flagged([1.0] * 9 + [2.0]) == [9]
    assert modified_z([1.0, 1.0, 1.0]) == [0, 0, 0]
    assert modified_z([]) == []


@pytest.mark.parametrize(
    ("speeds", "start"),
    [
        ([100.0, 100.0, 100.0, 100.0], 1),  # the first is dropped even when it is as fast
        ([50.0, 60.0, 100.0, 101.0, 99.0, 100.0], 2),
        ([50.0, 100.0, 101.0, 99.0, 100.0], 1),
        ([130.0, 120.0, 110.0, 100.0, 101.0, 100.0, 99.0, 100.0], 3),  # a boost clock that ends
        ([60.0, 70.0, 80.0, 90.0, 100.0], 3),
        ([100.0, 50.0, 100.0, 100.0, 100.0], 1),  # one slow request is no warm-up
        ([10.0, 20.0, 40.0], None),
        ([100.0, 100.0], None),
        ([], None),
    ],
)
def test_warm_up_ends_when_the_rolling_median_settles(
    speeds: list[float], start: int | None
) -> None:
    assert steady_from(speeds) == start


def test_scipy_waits_until_a_quantile_is_asked_for() -> None:
    code = (
        "import sys, benchlint.reproducers.verdicts; assert not {'scipy', 'numpy'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_distributions_are_loaded_in_a_fresh_process() -> None:
    """They are loaded before measuring: Ctrl-C in an import would spoil it for the verdict."""
    code = (
        "import sys; from benchlint.reproducers.statistics import load_distributions\n"
        "assert 'scipy.special' not in sys.modules\n"
        "load_distributions()\n"
        "assert 'scipy.special' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
