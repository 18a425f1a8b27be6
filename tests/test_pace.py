"""How long what is left will take."""

from __future__ import annotations

import pytest

from benchlint.reproducers.pace import Pace


def test_nothing_is_known_before_an_answer() -> None:
    pace = Pace()
    assert not pace.is_known
    pace.add("failed", 30.0, 0)
    assert not pace.is_known


def test_each_cell_goes_at_its_own_pace() -> None:
    pace = Pace()
    pace.add("plain", 12.0, 6)
    pace.add("fast", 6.0, 6)
    pace.add("plain", 6.0, 6)
    assert (pace.of("plain"), pace.of("fast")) == (1.5, 1.0)
    assert pace.needed({"plain": 4, "fast": 10}) == 16.0


def test_one_that_had_no_turn_goes_at_the_pace_of_all() -> None:
    pace = Pace()
    pace.add("plain", 12.0, 6)
    pace.add("broken", 3.0, 0)
    assert pace.of("next") == pace.of("broken") == 2.5


def test_an_estimate_is_right_where_all_turns_are_alike() -> None:
    pace, left = Pace(), {"a": 40, "b": 40}
    for cell, seconds in (("a", 8.0), ("b", 2.0)) * 4:
        pace.add(cell, seconds, 4)
        left[cell] -= 4
        if len(set(left.values())) == 1:
            assert pace.needed(left) == pytest.approx(left["a"] * (8 + 2) / 4)
