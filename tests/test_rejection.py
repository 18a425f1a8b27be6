"""Whatever is drafted, what is emitted is distributed as the target's own tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.rejection import Distribution, accepts, certain, residual, softmax

VOCABULARY = 6


def distribution(weights: dict[int, float]) -> Distribution:
    values = np.array(list(weights.values()), dtype=np.float64)
    return Distribution(np.array(list(weights), dtype=np.int32), values / values.sum())


#: Tokens with weights, some of them without any; each distribution leaves out others.
distributions = (
    st.dictionaries(
        st.integers(0, VOCABULARY - 1),
        st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
        min_size=1,
    )
    .filter(lambda weights: sum(weights.values()) > 0)
    .map(distribution)
)
uniforms = st.floats(0, 1, exclude_max=True)


def _accepted(target: Distribution, draft: Distribution, token: int) -> float:
    """The probability that `accepts` says yes, found by bisection of its threshold."""
    if accepts(target, draft, token, math.nextafter(1.0, 0.0)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if accepts(target, draft, token, middle) else (low, middle)
    return high


@given(distributions, distributions)
def test_what_is_emitted_is_distributed_as_the_target(p: Distribution, q: Distribution) -> None:
    kept = {x: q.of(x) * _accepted(p, q, x) for x in range(VOCABULARY) if q.of(x) > 0}
    rejected = 1.0 - sum(kept.values())
    rest = residual(p, q)
    for x in range(VOCABULARY):
        assert kept.get(x, 0.0) + rejected * rest.of(x) == pytest.approx(p.of(x), abs=1e-9)


@given(distributions, distributions)
def test_the_rest_is_a_distribution(p: Distribution, q: Distribution) -> None:
    rest = residual(p, q)
    assert rest.probabilities.min() >= 0
    assert rest.probabilities.sum() == pytest.approx(1.0)


@given(distributions, uniforms)
def test_equal_distributions_reject_nothing(p: Distribution, uniform: float) -> None:
    assert accepts(p, p, p.draw(uniform), uniform)


@given(distributions, uniforms, uniforms)
def test_a_rejected_token_is_not_drawn_again(p: Distribution, u: float, v: float) -> None:
    for token in range(VOCABULARY):
        looked_up = certain(token)
        if not accepts(p, looked_up, token, u):
            assert residual(p, looked_up).draw(v) != token


@pytest.mark.parametrize("uniform", [0.0, 0.5, math.nextafter(1.0, 0.0)])
def test_greedy_accepts_the_argmax_alone(uniform: float) -> None:
    target, draft = certain(3), distribution({2: 0.7, 3: 0.3})
    assert accepts(target, draft, 3, uniform)
    assert not accepts(target, draft, 2, uniform)
    assert residual(target, draft).draw(uniform) == 3


@given(distributions, uniforms)
def test_a_token_without_probability_is_never_drawn(p: Distribution, uniform: float) -> None:
    assert p.of(p.draw(uniform)) > 0


@given(distributions)
def test_the_ends_of_the_unit_interval_draw_the_first_and_last(p: Distribution) -> None:
    possible = p.tokens[p.probabilities > 0]
    assert p.draw(0.0) == possible[0]
    assert p.draw(math.nextafter(1.0, 0.0)) == possible[-1] or p.probabilities.min() < 1e-15


def test_draws_follow_the_cumulated_probabilities() -> None:
    p = distribution({4: 0.25, 1: 0.5, 0: 0.25})
    assert [p.draw(u) for u in (0.0, 0.2, 0.25, 0.7, 0.75, 0.99)] == [4, 4, 1, 1, 0, 0]


def test_softmax_of_logits() -> None:
    logits = np.array([1000.0, 1000.0 + math.log(3), -math.inf], dtype=np.float32)
    found = softmax(np.array([7, 8, 9], dtype=np.int32), logits)
    assert [found.of(t) for t in (7, 8, 9, 10)] == pytest.approx([0.25, 0.75, 0, 0], abs=1e-4)
