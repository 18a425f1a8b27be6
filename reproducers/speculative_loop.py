"""The loop of speculative decoding: draft, verify in one target pass, keep what is accepted.

Every target pass after prefill evaluates the last token and up to K draft tokens, and emits the
accepted prefix and one token of the target's own: K + 1 positions, of which the KV cache keeps
those that were accepted. Counts are exact: output tokens = 1 + verify steps + plain steps +
accepted - cut, the 1 being prefill's token.

An accepted end token ends the step and stands for the target's own, as in llama.cpp
(common/sampling.cpp, common_sampler_sample_and_accept_n): nothing after it is accepted. Only
where it is the last of its draft it counts as accepted, and the target's own token after it is
what is `cut` off. vLLM goes on after it, and counts the whole accepted prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from benchlint.reproducers.engine import Counters
from benchlint.reproducers.rejection import Distribution, accepts, residual


class Model(Protocol):
    """A language model and its KV cache of one sequence."""

    def clear(self) -> None:
        """Empty the KV cache and forget what was accepted."""

    def prefill(self, tokens: Sequence[int]) -> None:
        """Append tokens to the KV cache, keeping the logits of the last one alone."""

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Append tokens to the KV cache in one pass, keeping the logits of each."""

    def truncate(self, length: int) -> None:
        """Cut the KV cache to its first `length` tokens."""

    def distribution(self, index: int) -> Distribution:
        """What the next token is drawn from after the token at `index` of those kept."""

    def accept(self, token: int) -> None:
        """Note a token as part of the text, for samplers that look back."""


class DraftingModel(Model, Protocol):
    """A model that can say how sure it is."""

    def confidence(self, index: int) -> float:
        """Probability of the most probable next token, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft token and what it was drawn from."""

    token: int
    distribution: Distribution


class Drafter(Protocol):
    """What proposes tokens.

    draft_length: most draft tokens a verify step (K), from 1.
    """

    draft_length: int

    def begin(self, prompt: Sequence[int]) -> None:
        """Forget the last answer and take in a prompt; this time counts as prefill."""

    def draft(
        self, context: Sequence[int], most: int, uniform: Callable[[], float]
    ) -> Sequence[Draft]:
        """Up to `most` tokens to follow the context: prompt and output so far.

        The context of one call begins with that of the call before. How many tokens there are
        may depend on the distributions, not on what was drawn from them: a token that is drawn
        and then dropped for being improbable would bias the output.
        """


class ModelDrafter:
    """A smaller model that drafts one token after the other.

    p_min: no further token where the drafter's most probable one is below it, in [0, 1].
    """

    def __init__(self, model: DraftingModel, draft_length: int, p_min: float = 0.0) -> None:
        self.draft_length = draft_length
        self.p_min = p_min
        self._model = model
        self._cached: list[int] = []
        self._settled = 0

    def begin(self, prompt: Sequence[int]) -> None:
        """Prefill the drafter."""
        self._model.clear()
        self._cached.clear()
        self._extend(prompt)
        self._settled = len(prompt)

    def draft(
        self, context: Sequence[int], most: int, uniform: Callable[[], float]
    ) -> Sequence[Draft]:
        """Tokens after the context, drawn one by one."""
        self._catch_up(context)
        drafts: list[Draft] = []
        while self._confident():
            drafted = self._model.distribution(0)
            drafts.append(Draft(drafted.draw(uniform()), drafted))
            if len(drafts) == most:
                break
            self._extend([drafts[-1].token])
        return drafts

    def _confident(self) -> bool:
        return self.p_min <= 0 or self._model.confidence(0) >= self.p_min

    def _catch_up(self, context: Sequence[int]) -> None:
        """Drop drafts that were rejected from the KV cache and append what came instead."""
        most = min(len(self._cached), len(context) - 1)
        agreed = min(self._settled, most)
        while agreed < most and self._cached[agreed] == context[agreed]:
            agreed += 1
        if agreed < len(self._cached):
            self._model.truncate(agreed)
            del self._cached[agreed:]
        self._extend(context[agreed:])
        self._settled = len(context)

    def _extend(self, tokens: Sequence[int]) -> None:
        self._model.prefill(tokens)
        self._cached.extend(tokens)


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt to be answered.

    prompt: its tokens, at least one. max_tokens: most output tokens, from 1. end_tokens: those
    after which the answer ends. uniform: random numbers in [0, 1). clock: monotonic, seconds.
    """

    prompt: Sequence[int]
    max_tokens: int
    end_tokens: Container[int]
    uniform: Callable[[], float]
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out and what it took.

    tokens: the output, an end token included. cut: tokens that an end token cut off, 0 or 1.
    marks: clock readings at the start, after prefill's token, and after each step.
    """

    tokens: tuple[int, ...]
    finish_reason: Literal["stop", "length"]
    counters: Counters
    cut: int
    marks: tuple[float, ...]

    @property
    def prefill_s(self) -> float:
        """Seconds until the first token, the drafter's prefill included as in llama-server."""
        return self.marks[1] - self.marks[0]

    @property
    def decode_s(self) -> float:
        """Seconds from the first token to the last."""
        return self.marks[-1] - self.marks[1]


@dataclass(slots=True)
class _Tally:
    """Counts of one answer; lengths: accepted tokens of each verify step."""

    drafted: int = 0
    plain_steps: int = 0
    lengths: list[int] = field(default_factory=list)

    def count(self, drafted: int, accepted: int) -> None:
        if not drafted:
            self.plain_steps += 1
            return
        self.drafted += drafted
        self.lengths.append(accepted)

    def counters(self, draft_length: int) -> Counters:
        reached = (sum(n > i for n in self.lengths) for i in range(draft_length))
        return Counters(
            drafted=self.drafted,
            accepted=sum(self.lengths),
            verify_steps=len(self.lengths),
            plain_steps=self.plain_steps,
            at_least=tuple(reached),
        )


class _Text:
    """The tokens so far and whether more may follow."""

    def __init__(self, task: Task) -> None:
        self.context = list(task.prompt)
        self.cut = 0
        self.ended = False
        self._task = task
        self._limit = len(self.context) + task.max_tokens

    @property
    def left(self) -> int:
        """How many more tokens may be emitted."""
        return 0 if self.ended else self._limit - len(self.context)

    def emit(self, tokens: Sequence[int]) -> None:
        """Append tokens up to the first end token."""
        for count, token in enumerate(tokens, 1):
            self.context.append(token)
            if token in self._task.end_tokens:
                self.ended, self.cut = True, len(tokens) - count
                return


def answer(model: Model, drafter: Drafter | None, task: Task) -> Answer:
    """Answer one prompt, by plain decoding where there is no drafter.

    The KV cache must hold prompt and `max_tokens`. Nothing is taken over from the call before.
    """
    _begin(model, task.prompt)
    text, tally, marks = _Text(task), _Tally(), [task.clock()]
    text.emit([_prefill(model, drafter, task)])
    marks.append(task.clock())
    while text.left > 0:
        drafts = _draft(drafter, text, task)
        emitted = _verify(model, text.context, drafts, task)
        tally.count(len(drafts), len(emitted) - 1)
        text.emit(emitted)
        marks.append(task.clock())
    return Answer(
        tokens=tuple(text.context[len(task.prompt) :]),
        finish_reason="stop" if text.ended else "length",
        counters=tally.counters(drafter.draft_length if drafter else 0),
        cut=text.cut,
        marks=tuple(marks),
    )


def _begin(model: Model, prompt: Sequence[int]) -> None:
    model.clear()
    for token in prompt:
        model.accept(token)


def _prefill(model: Model, drafter: Drafter | None, task: Task) -> int:
    """The first output token."""
    model.prefill(task.prompt)
    if drafter:
        drafter.begin(task.prompt)
    return _own_token(model, 0, task.uniform)


def _draft(drafter: Drafter | None, text: _Text, task: Task) -> Sequence[Draft]:
    """No more tokens than may still be emitted beside the target's own."""
    most = min(drafter.draft_length, text.left - 1) if drafter else 0
    return drafter.draft(text.context, most, task.uniform) if drafter and most else ()


def _verify(model: Model, context: Sequence[int], drafts: Sequence[Draft], task: Task) -> list[int]:
    """The accepted draft tokens and the target's own token after them."""
    model.evaluate([context[-1], *(draft.token for draft in drafts)])
    emitted = _judge(model, drafts, task)
    model.truncate(len(context) + len(emitted) - 1)
    return emitted


def _judge(model: Model, drafts: Sequence[Draft], task: Task) -> list[int]:
    emitted: list[int] = []
    uniform = task.uniform
    for index, draft in enumerate(drafts):
        target = model.distribution(index)
        if not accepts(target, draft.distribution, draft.token, uniform()):
            token = residual(target, draft.distribution).draw(uniform())
            model.accept(token)
            return [*emitted, token]
        model.accept(draft.token)
        emitted.append(draft.token)
        if index + 1 < len(drafts) and draft.token in task.end_tokens:
            return emitted
    return [*emitted, _own_token(model, len(drafts), uniform)]


def _own_token(model: Model, index: int, uniform: Callable[[], float]) -> int:
    token = model.distribution(index).draw(uniform())
    model.accept(token)
    return token
