"""The order of arms, and when data are looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.design import (
    FULL,
    LOOKS,
    Step,
    block_of,
    blocks,
    look_schedule,
    round_of,
)
from benchlint.reproducers.verdicts import MAX_LOOKS

TWO = ("A", "B")
arms_of_any_number = st.integers(2, 6).map(lambda n: tuple("ABCDEF"[:n]))


def test_two_arms_run_as_abba_baab() -> None:
    steps = [step for block in blocks(TWO) for step in block]
    assert "".join(step.arm for step in steps) == "ABBABAAB" * 5
    assert steps[5] == Step(pair=2, arm="A", position=5)
    assert [step.position for step in steps] == list(range(2 * FULL))


@given(arms_of_any_number, st.integers(0, 100))
def test_every_round_has_every_arm_once(arms: tuple[str, ...], pair: int) -> None:
    steps = round_of(arms, pair)
    assert sorted(step.arm for step in steps) == list(arms)
    assert {step.pair for step in steps} == {pair}


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("look", LOOKS)
def test_linear_and_quadratic_drift_cancel_at_every_look(look: int, power: int) -> None:
    steps = [step for pair in range(look) for step in round_of(TWO, pair)]
    a, b = (sum(s.position**power for s in steps if s.arm == arm) for arm in TWO)
    assert a == b


@given(arms_of_any_number, st.integers(0, 9))
def test_linear_drift_cancels_at_every_even_pair(arms: tuple[str, ...], half: int) -> None:
    steps = [step for pair in range(2 * half) for step in round_of(arms, pair)]
    assert len({sum(s.position for s in steps if s.arm == arm) for arm in arms}) == 1


def test_blocks_end_at_looks() -> None:
    assert LOOKS == (4, 8, 12, 16, 20)
    assert [len(block) for block in blocks(TWO)] == [8] * 5
    assert [len(block) for block in blocks(TWO, (4, 6, 8))] == [8, 4, 4]


def test_a_resumed_series_goes_on_where_it_stopped() -> None:
    whole = [step for block in blocks(TWO) for step in block]
    assert list(block_of(TWO, 6)) == whole[12:16]
    assert block_of(TWO, 20) == ()


@pytest.mark.parametrize(
    ("ends", "looks"),
    [
        ((), (4, 8, 12, 16, 20)),
        ((3,), (4, 8, 12, 16, 20)),  # nothing was shown
        ((7,), (4, 6, 8, 12, 16)),
        ((8,), (4, 8, 12, 16, 20)),
        ((19,), (4, 8, 12, 16, 18)),
        ((20,), (4, 8, 12, 16, 20)),
        ((6, 10, 14), (4, 6, 8, 10, 12)),
    ],
)
def test_an_interruption_takes_the_place_of_a_look(
    ends: tuple[int, ...], looks: tuple[int, ...]
) -> None:
    assert look_schedule(ends) == looks


@given(st.lists(st.integers(0, 25)))
def test_a_later_interruption_never_changes_an_earlier_look(ends: list[int]) -> None:
    ends = sorted(ends)
    for count in range(len(ends)):
        end = ends[count]
        before = [look for look in look_schedule(ends[:count]) if look <= end - end % 2]
        after = [look for look in look_schedule(ends[: count + 1]) if look <= end - end % 2]
        assert set(before) <= set(after)
        assert len(after) <= MAX_LOOKS
