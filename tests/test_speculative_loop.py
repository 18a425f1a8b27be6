"""The loop against a model in a few lines, whose KV cache is a list."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from benchlint.reproducers.prompt_lookup import PromptLookup
from benchlint.reproducers.rejection import Distribution, certain
from benchlint.reproducers.speculative_loop import (
    Answer,
    Draft,
    Drafter,
    ModelDrafter,
    Task,
    answer,
)

END = 0
VOCABULARY = 4


def next_token(context: Sequence[int], salt: int, skew: float = 1.0) -> Distribution:
    """A distribution that every token of the context bears on; `skew` makes it more certain."""
    noise = random.Random(str((salt, *context)))
    weights = np.array([noise.random() ** skew + 0.01 for _ in range(VOCABULARY)])
    return Distribution(np.arange(VOCABULARY, dtype=np.int32), weights / weights.sum())


class ListModel:
    """A model whose answers depend on what is in its KV cache, right or wrong."""

    def __init__(self, salt: int = 1, *, greedy: bool = False, skew: float = 1.0) -> None:
        self.cache: list[int] = []
        self.accepted: list[int] = []
        self.batches: list[int] = []
        self._kept = 0
        self._salt, self._greedy, self._skew = salt, greedy, skew

    def clear(self) -> None:
        self.cache.clear()
        self.accepted.clear()

    def prefill(self, tokens: Sequence[int]) -> None:
        assert tokens
        self.cache.extend(tokens)
        self._kept = 1

    def evaluate(self, tokens: Sequence[int]) -> None:
        self.cache.extend(tokens)
        self.batches.append(len(tokens))
        self._kept = len(tokens)

    def truncate(self, length: int) -> None:
        assert length <= len(self.cache)
        del self.cache[length:]

    def distribution(self, index: int) -> Distribution:
        assert 0 <= index < self._kept
        seen = self.cache[: len(self.cache) - self._kept + index + 1]
        found = next_token(seen, self._salt, self._skew)
        return certain(int(found.probabilities.argmax())) if self._greedy else found

    def confidence(self, index: int) -> float:
        seen = self.cache[: len(self.cache) - self._kept + index + 1]
        return float(next_token(seen, self._salt, self._skew).probabilities.max())

    def accept(self, token: int) -> None:
        self.accepted.append(token)


class Bounded:
    """Drafts whatever it likes, at most so many: to bring any pattern of lengths about."""

    def __init__(self, lengths: Sequence[int], tokens: Callable[[], int]) -> None:
        self.draft_length = max([1, *lengths])
        self._lengths = itertools.cycle(lengths)
        self._tokens = tokens

    def begin(self, prompt: Sequence[int]) -> None:
        """Has nothing to forget."""

    def draft(
        self,
        context: Sequence[int],  # noqa: ARG002  as the protocol has it
        most: int,
        uniform: Callable[[], float],  # noqa: ARG002
    ) -> Sequence[Draft]:
        drawn = [self._tokens() for _ in range(min(next(self._lengths), most))]
        return [Draft(token, certain(token)) for token in drawn]


def _clock() -> Callable[[], float]:
    ticks: Iterator[int] = itertools.count()
    return lambda: float(next(ticks))


def _task(seed: int, most: int = 20, prompt: Sequence[int] = (1, 2, 3), end: int = END) -> Task:
    return Task(prompt, most, {end}, random.Random(seed).random, _clock())


def _drafters(greedy: bool) -> dict[str, Drafter]:
    noise = random.Random(7)
    return {
        "model": ModelDrafter(ListModel(2, greedy=greedy), 4),
        "same model": ModelDrafter(ListModel(1, greedy=greedy), 4),
        "sure model": ModelDrafter(ListModel(2, greedy=greedy, skew=3), 4, p_min=0.5),
        "prompt lookup": PromptLookup(5),
        "noise": Bounded([3, 0, 1, 2], lambda: noise.randrange(VOCABULARY)),
    }


KINDS = ["model", "same model", "sure model", "prompt lookup", "noise"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prompt", [(1,), (1, 2, 3), (1, 2, 1, 2, 1)])
def test_greedy_output_is_that_of_plain_decoding(kind: str, prompt: tuple[int, ...]) -> None:
    plain = answer(ListModel(greedy=True), None, _task(0, 40, prompt, end=-1))
    drafter = _drafters(greedy=True)[kind]
    for seed in range(3):  # the drafter is used again
        found = answer(ListModel(greedy=True), drafter, _task(seed, 40, prompt, end=-1))
        assert found.tokens == plain.tokens
    assert len(plain.tokens) == 40


@pytest.mark.parametrize("kind", KINDS)
def test_the_cache_holds_all_but_the_last_token(kind: str) -> None:
    model = ListModel()
    found = answer(model, _drafters(greedy=False)[kind], _task(5, 30, end=-1))
    assert model.cache == [1, 2, 3, *found.tokens[:-1]]
    assert model.accepted == [1, 2, 3, *found.tokens]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), st.floats(0, 0.5))
def test_every_draft_token_is_drawn_after_the_very_tokens_before_it(
    verdicts: list[tuple[int, int]], p_min: float
) -> None:
    drafter, context, uniform = ModelDrafter(ListModel(2), 3, p_min), [1, 2], random.Random(1)
    drafter.begin(context)
    for accepted, own in verdicts:
        drafts = drafter.draft(context, 3, uniform.random)
        tokens = [draft.token for draft in drafts]
        for i, draft in enumerate(drafts):
            due = next_token([*context, *tokens[:i]], 2).probabilities
            assert draft.distribution.probabilities.tolist() == due.tolist()
            assert due.max() >= p_min
        context += [*tokens[:accepted], own]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.integers(1, 30),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_the_counts_add_up(lengths: list[int], most: int, seed: int, ends: bool) -> None:
    noise = random.Random(seed)
    model, drafter = ListModel(), Bounded(lengths, lambda: noise.randrange(VOCABULARY))
    found = answer(model, drafter, _task(seed, most, end=END if ends else -1))
    counts = found.counters
    assert counts.drafted is not None
    assert counts.accepted is not None
    assert counts.verify_steps is not None
    assert counts.plain_steps is not None
    assert counts.at_least is not None
    passes = counts.verify_steps + counts.plain_steps
    assert len(found.tokens) == 1 + passes + counts.accepted - found.cut
    assert len(model.batches) == passes
    assert sum(model.batches) == passes + counts.drafted
    assert counts.accepted == sum(counts.at_least) <= counts.drafted
    assert len(counts.at_least) == drafter.draft_length
    assert [counts.verify_steps, *counts.at_least] == sorted(
        [counts.verify_steps, *counts.at_least], reverse=True
    )
    assert len(found.marks) == 2 + passes
    assert len(found.tokens) <= most
    assert (found.finish_reason == "stop") == (ends and found.tokens[-1] == END)
    assert END not in found.tokens[:-1] or not ends
    assert 0 <= found.cut <= 1
    assert found.cut == 0 or found.finish_reason == "stop"


def test_plain_decoding_counts_plain_steps() -> None:
    found = answer(ListModel(), None, _task(3, 12, end=-1))
    assert found.counters.plain_steps == 11
    assert found.counters.drafted == found.counters.accepted == 0
    assert found.counters.verify_steps == 0
    assert found.counters.at_least == ()
    assert (found.prefill_s, found.decode_s) == (1.0, 11.0)


def test_a_drafter_that_is_the_target_is_always_right() -> None:
    found = answer(ListModel(), ModelDrafter(ListModel(), 4), _task(3, 21, end=-1))
    assert found.counters.drafted == found.counters.accepted == 16
    assert found.counters.at_least == (4, 4, 4, 4)
    assert found.cut == 0


def test_the_last_token_is_not_drafted() -> None:
    found = answer(ListModel(), ModelDrafter(ListModel(), 4), _task(3, 4, end=-1))
    assert found.counters.at_least == (1, 1, 0, 0)
    assert len(found.tokens) == 4


def test_one_token_is_prefill_alone() -> None:
    found = answer(ListModel(), ModelDrafter(ListModel(), 4), _task(3, 1, end=-1))
    assert len(found.tokens) == 1
    assert found.decode_s == 0


@pytest.mark.parametrize("length", range(1, 12))
def test_an_accepted_end_token_stands_for_the_targets_own(length: int) -> None:
    """All counts as llama.cpp has them: nothing behind it is accepted."""
    whole = answer(ListModel(greedy=True), None, _task(0, 13, end=-1)).tokens
    place = next(i for i in range(2, 12) if whole.index(whole[i]) == i)
    drafter = ModelDrafter(ListModel(greedy=True), length)
    model = ListModel(greedy=True)
    found = answer(model, drafter, _task(0, 13, end=whole[place]))
    assert found.tokens == whole[: place + 1]
    assert found.finish_reason == "stop"
    full, last = divmod(place - 1, length + 1)  # place of the end token in its step, from 0
    is_last = last == length - 1
    assert found.counters.accepted == full * length + last + is_last
    assert found.cut == is_last
    assert model.cache[: 3 + place] == [1, 2, 3, *whole[:place]]


def test_equal_seeds_give_equal_answers() -> None:
    def once(seed: int) -> Answer:
        return answer(ListModel(), ModelDrafter(ListModel(2), 4), _task(seed, 30, end=-1))

    assert once(4) == once(4)
    assert once(4).tokens != once(5).tokens


def _law(length: int) -> dict[tuple[int, ...], float]:
    """The exact probability of each output of so many tokens under the target alone."""
    law = {}
    for tokens in itertools.product(range(VOCABULARY), repeat=length):
        steps = (next_token((1, 2, *tokens[:i]), 1).of(t) for i, t in enumerate(tokens))
        law[tokens] = float(np.prod(list(steps)))
    return law


@pytest.mark.parametrize("kind", [None, "sampled", "argmax", "sure", "prompt lookup"])
def test_sampled_output_is_distributed_as_the_targets(kind: str | None) -> None:
    """χ² over all outputs of four tokens, 4,000 seeds; 256 cells pooled to 5 expected each."""
    kinds: dict[str, Drafter] = {
        "sampled": ModelDrafter(ListModel(2), 3),
        "argmax": ModelDrafter(ListModel(2, greedy=True), 3),
        "sure": ModelDrafter(ListModel(2, skew=3), 3, p_min=0.6),
        "prompt lookup": PromptLookup(3),
    }
    drafter = kinds.get(kind or "")
    seeds = range(4000)
    outputs = Counter(
        answer(ListModel(), drafter, _task(seed, 4, (1, 2), end=-1)).tokens for seed in seeds
    )
    law = {tokens: p * len(seeds) for tokens, p in _law(4).items()}
    cells = [tokens for tokens, expected in law.items() if expected >= 5]
    seen = [outputs[tokens] for tokens in cells]
    expected = [law[tokens] for tokens in cells]
    seen.append(len(seeds) - sum(seen))
    expected.append(len(seeds) - sum(expected))
    assert chisquare(seen, expected).pvalue > 0.001
