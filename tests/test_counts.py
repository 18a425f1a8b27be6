"""Canonical counts and what follows from them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.counts import (
    CanonicalCounts,
    from_histogram,
    passes_from_tokens,
    per_position,
    pooled,
)
from tests.simulator import Bench, Counters
from tests.simulator import pooled as pooled_counters

histograms = st.lists(st.integers(0, 500), min_size=2, max_size=17).filter(any)


def counts_of(counted: Counters) -> CanonicalCounts:
    """The simulator's counters in canonical form."""
    return CanonicalCounts(
        steps=counted.verify_steps,
        plain_steps=counted.plain_steps,
        drafted=counted.drafted,
        accepted=counted.accepted,
        output=counted.output,
        requests=counted.requests,
        k=counted.k,
        decode_s=counted.decode_s,
    )


def test_a_published_row() -> None:
    """ikawrakow/ik_llama.cpp#2156, task code."""
    row = CanonicalCounts(steps=220, plain_steps=0, drafted=660, accepted=538, output=759, k=3)
    assert row.accepted_length == pytest.approx(3.445, abs=5e-4)
    assert row.rate == pytest.approx(0.8152, abs=5e-5)
    assert row.passes == 220


def test_a_published_run_with_k_15() -> None:
    row = CanonicalCounts(steps=1968, drafted=1968 * 15, accepted=6845, k=15)
    assert row.accepted_length == pytest.approx(4.48, abs=5e-3)
    assert row.rate == pytest.approx(0.2319, abs=5e-5)


def test_empty_drafts_lower_only_the_length_over_all_passes() -> None:
    """vLLM n-gram: 2.70 per drafting step, 127 tokens in 76 passes."""
    row = CanonicalCounts(steps=30, plain_steps=46, accepted=51, output=128)
    assert row.accepted_length == pytest.approx(2.70)
    assert row.accepted_length_all == pytest.approx(127 / 76)


def test_old_llama_server_runs_two_passes_a_cycle() -> None:
    """Cycles of a plain and a verify pass emit 2 + A/s tokens: τ_all = 1 + A/(2s)."""
    cycles, accepted = 100, 150
    row = CanonicalCounts(steps=cycles, accepted=accepted, output=1 + 2 * cycles + accepted)
    assert row.passes == 2 * cycles
    assert row.accepted_length_all == pytest.approx(1 + accepted / (2 * cycles))


def test_nothing_drafted_gives_no_rate() -> None:
    row = CanonicalCounts(steps=0, plain_steps=99, drafted=0, accepted=0, output=100)
    assert row.rate is None
    assert row.accepted_length is None
    assert row.accepted_length_all == 1


def test_what_is_unknown_stays_unknown() -> None:
    empty = CanonicalCounts()
    derived = (
        empty.accepted_length,
        empty.passes,
        empty.accepted_length_all,
        empty.rate,
        empty.seconds_per_pass,
        empty.tok_s,
    )
    assert derived == (None,) * 6


@pytest.mark.parametrize(
    ("output", "accepted", "requests", "passes"),
    [(759, 538, 1, 220), (759, 538, 0, 221), (10, 12, 1, None), (None, 5, 1, None)],
)
def test_passes_from_tokens(
    output: float | None, accepted: float, requests: float, passes: float | None
) -> None:
    assert passes_from_tokens(output, accepted, requests) == passes


@pytest.mark.parametrize("style", ["fixed", "adaptive", "ngram"])
@pytest.mark.parametrize("seed", range(20))
def test_passes_follow_from_output_and_accepted(style: str, seed: int) -> None:
    """The universal conversion, off by what the end of a text cuts: K tokens a request."""
    rng = Random(seed)
    bench = Bench(rng, style)
    counted = pooled_counters(bench.run(bench.drafting(5), bench.clock()))
    passes = passes_from_tokens(counted.output, counted.accepted, counted.requests)
    assert passes is not None
    cut = counted.verify_steps + counted.plain_steps - passes
    assert 0 <= cut <= 5 * counted.requests


@pytest.mark.parametrize("seed", range(10))
def test_pooling_is_summing(seed: int) -> None:
    bench = Bench(Random(seed), "adaptive")
    requests = bench.run(bench.drafting(4), bench.clock())
    total = pooled(map(counts_of, requests))
    assert total == counts_of(pooled_counters(requests))


def test_pooling_forgets_what_a_part_does_not_know() -> None:
    total = CanonicalCounts(steps=5, accepted=7, k=3) + CanonicalCounts(steps=6, k=4)
    assert (total.steps, total.accepted, total.k, total.requests) == (11, None, None, 2)


@given(histograms)
def test_a_histogram_gives_length_and_positions(histogram: list[int]) -> None:
    counts = from_histogram(histogram)
    positions = per_position(histogram)
    assert counts.k == len(positions) == len(histogram) - 1
    assert counts.accepted_length == pytest.approx(1 + sum(positions))
    assert positions == sorted(positions, reverse=True)
    assert all(0 <= p <= 1 for p in positions)


@given(st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any), min_size=2))
def test_a_pooled_length_lies_between_its_parts(parts: list[list[int]]) -> None:
    lengths = [from_histogram(p).accepted_length or 0 for p in parts]
    whole = pooled(from_histogram(p) for p in parts).accepted_length
    assert whole is not None
    assert min(lengths) - 1e-9 <= whole <= max(lengths) + 1e-9


def test_an_empty_histogram_has_no_positions() -> None:
    assert per_position([0, 0, 0]) == []
    assert per_position([]) == []


def test_speed_does_not_count_first_tokens() -> None:
    """1000 tokens at 80.87 and 1000 at 28 tok/s are 41.6 tok/s, not the mean 54.4."""
    fast = CanonicalCounts(output=1001, requests=1, decode_s=1000 / 80.87)
    slow = CanonicalCounts(output=1001, requests=1, decode_s=1000 / 28)
    assert fast.tok_s == pytest.approx(80.87)
    assert (fast + slow).tok_s == pytest.approx(41.6, abs=0.05)
