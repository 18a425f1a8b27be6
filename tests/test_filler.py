"""Text that fills the KV cache."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlint.reproducers.workloads import filler

SEEDS = st.integers(min_value=0, max_value=2**64 - 1)


def words(content: str) -> int:
    return len(content.split())


@given(SEEDS, st.integers(0, 40))
def test_a_seed_always_gives_the_same_text_and_a_longer_one_begins_like_it(
    seed: int, count: int
) -> None:
    content = filler.text(seed, count)
    assert filler.text(seed, count) == content
    assert filler.text(seed, count + 7).startswith(content)


def test_the_text_of_a_seed_never_changes() -> None:
    expected = "Slowly, the ropemaker from Kelley recorded a weathered oar near the bakery."
    assert filler.text(0, 1) == expected


@given(SEEDS)
@settings(max_examples=20)
def test_no_run_of_eight_words_occurs_twice(seed: int) -> None:
    found = filler.words_of(filler.text(seed, 300))
    runs = list(filler.runs_of(found, 8))
    assert len(runs) > 3000
    assert len(set(runs)) == len(runs)


def test_no_run_occurs_twice_in_a_long_text_either() -> None:
    runs = list(filler.runs_of(filler.words_of(filler.text(1, 5000)), filler.UNIQUE_RUN))
    assert len(runs) > 60_000
    assert len(set(runs)) == len(runs)


def test_short_runs_are_seldom_copied_either() -> None:
    runs = list(filler.runs_of(filler.words_of(filler.text(1, 600)), 4))
    assert len(set(runs)) / len(runs) > 0.9


@given(SEEDS, SEEDS)
def test_other_seeds_begin_differently(a: int, b: int) -> None:
    first, second = (filler.text(seed, 3)[:80] for seed in (a, b))
    assert (first == second) == (a == b)


NAMES = st.lists(st.integers() | st.text(), max_size=3)


@given(NAMES, NAMES)
def test_a_seed_comes_from_names(a: list[str | int], b: list[str | int]) -> None:
    assert (filler.seed_of(*a) == filler.seed_of(*b)) == (a == b)
    assert filler.seed_of("code/lru-cache", 3) == 2180715417446096266


@given(SEEDS)
def test_it_looks_like_sentences(seed: int) -> None:
    for sentence in islice(filler.sentences(seed), 20):
        assert sentence.endswith(".")
        assert not sentence[0].islower()
        assert 8 <= words(sentence) <= 30
        assert "_" not in sentence


@given(SEEDS, st.integers(0, 2000))
@settings(max_examples=30)
def test_it_fills_up_to_a_position_and_one_sentence_more_would_be_too_long(
    seed: int, tokens: int
) -> None:
    content = filler.fill(tokens, seed, words)
    assert words(content) <= tokens
    assert words(content) > tokens - 30
    assert content == filler.text(seed, content.count("."))


def test_any_counter_will_do() -> None:
    assert filler.estimated_tokens(filler.fill(900, 1)) in range(860, 901)
    assert len(filler.fill(100_000, 1, len)) in range(99_800, 100_001)
    assert filler.fill(10, 1, lambda content: 3 * len(content)) == ""


@pytest.mark.parametrize("tokens", [0, 5, -3])
def test_a_prompt_that_is_too_long_stands_alone(tokens: int) -> None:
    assert filler.filled_prompt("Tell me more about it.", tokens, 1, words) == (
        "Tell me more about it."
    )


@given(SEEDS, st.integers(100, 1000))
@settings(max_examples=20)
def test_a_prompt_behind_filler_ends_near_the_position(seed: int, tokens: int) -> None:
    prompt = "Tell me more about it."
    filled = filler.filled_prompt(prompt, tokens, seed, words)
    assert filled.endswith(f".\n\n{prompt}")
    assert tokens - 30 < words(filled) <= tokens
