"""Drafts are what followed the same tokens the first time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.prompt_lookup import PromptLookup


def _never() -> float:
    raise AssertionError("a look-up draws nothing")


def _drafted(drafter: PromptLookup, context: Sequence[int], most: int = 10) -> list[int]:
    return [draft.token for draft in drafter.draft(context, most, _never)]


@pytest.mark.parametrize(
    ("context", "drafted"),
    [
        ([1, 2, 3, 9, 8, 1, 2, 3], [9, 8, 1, 2, 3]),
        ([1, 2, 3, 4], []),
        ([5], []),
        ([5, 5], [5]),
        ([7, 1, 4, 7, 2, 5, 7, 1], [4, 7, 2, 5, 7, 1]),  # (7, 1), not the latest 7
        ([3, 1, 8, 3, 1, 9, 3, 1], [8, 3, 1, 9, 3, 1]),  # the first of two occurrences
        ([2, 6, 0, 1, 2, 7, 0, 1, 2], [7, 0, 1, 2]),  # the longest n-gram before an earlier one
    ],
)
def test_what_is_looked_up(context: list[int], drafted: list[int]) -> None:
    drafter = PromptLookup()
    drafter.begin(context)
    assert _drafted(drafter, context) == drafted


def test_no_more_than_asked_for() -> None:
    drafter = PromptLookup()
    drafter.begin([1, 2, 3, 4])
    assert _drafted(drafter, [1, 2, 3, 4, 1], most=2) == [2, 3]


def test_nothing_is_kept_from_the_last_answer() -> None:
    drafter = PromptLookup()
    drafter.begin([1, 2, 3])
    drafter.begin([4, 5, 1])
    assert _drafted(drafter, [4, 5, 1]) == []
    drafter.begin([6, 7, 6])
    assert _drafted(drafter, [6, 7, 6]) == [7, 6]


def _by_search(context: Sequence[int], longest: int) -> list[int]:
    """The same by search through the whole context, as Saxena wrote it."""
    for size in range(min(longest, len(context)), 0, -1):
        for start in range(len(context) - size):
            if context[start : start + size] == context[-size:]:
                return list(context[start + size :])
    return []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 4), st.integers(1, 39))
def test_learning_step_by_step_is_searching_anew(
    context: list[int], longest: int, first: int
) -> None:
    drafter = PromptLookup(longest=longest)
    drafter.begin(context[:first])
    for length in range(min(first, len(context)), len(context) + 1):
        assert _drafted(drafter, context[:length], most=99) == _by_search(context[:length], longest)
