"""When an engine is warm."""

from __future__ import annotations

import pytest

from benchlint.reproducers.engine import Counters, Sample
from benchlint.reproducers.warm_up import LEAST, MOST, is_warm


def at(*speeds: float) -> list[Sample]:
    """Answers of which only the speed is known, in tokens per second."""
    return [Sample("", 101, decode_s=100 / speed) for speed in speeds]


@pytest.mark.parametrize(
    ("speeds", "warm"),
    [
        ((), False),
        ((50, 50), False),
        ((50, 50, 50), True),
        ((30, 50, 50), True),
        ((30, 50, 60), False),
        ((30, 40, 50, 50), True),
        ((20, 30, 40, 50, 50), False),
        ((20, 30, 40, 50, 50, 50), True),
        ((10, 20, 30, 40, 50), False),
        ((10, 20, 30, 40, 50, 60, 70, 80, 90, 100), True),
    ],
)
def test_steady_for_at_least_half_of_its_answers(speeds: tuple[float, ...], warm: bool) -> None:
    assert is_warm(at(*speeds)) == warm


@pytest.mark.parametrize(("known", "count"), [(True, 4), (False, MOST)])
def test_passes_are_steady_where_tokens_are_not(known: bool, count: int) -> None:
    def sample(n: int) -> Sample:
        passes = 10 + n
        counters = Counters(verify_steps=passes, plain_steps=0 if known else None)
        return Sample("", 20 * 2**n, decode_s=passes / 10, counters=counters)

    samples = [sample(n) for n in range(MOST)]
    assert not is_warm(samples[:2])
    assert is_warm(samples[:count])
    assert is_warm(samples[: count - 1]) == known


def test_warm_up_where_no_speed_is_told() -> None:
    samples = [Sample("x", 8)] * LEAST
    assert is_warm(samples)
    assert not is_warm(samples[1:])
