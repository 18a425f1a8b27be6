"""An engine without a model: deterministic answers, a clock that it moves, scripted failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchlint.reproducers.engine import (
    Arm,
    Counters,
    Description,
    Divergence,
    EngineError,
    Request,
    Sample,
)

#: What happens at a call: something to return, or to raise.
Outcome = Sample | BaseException


@dataclass
class World:
    """What engines of one test share: the time, and everything that was asked of them.

    script: what happens at the nth call of `generate` (from 0) instead of an answer.
    at_starts: the same for the nth start. answers: what is answered where it says nothing.
    before: called as each call begins. windows: what comes of a text that is scored.
    scored: those texts. replays: raised when answers that part are asked about.
    replayed: ids and texts of their prompts.
    """

    time_s: float = 0.0
    script: Mapping[int, Outcome] = field(default_factory=dict)
    at_starts: Mapping[int, BaseException] = field(default_factory=dict)
    answers: Callable[[Arm, Request], Sample] | None = None
    before: Callable[[Arm, Request], None] = lambda _arm, _request: None
    windows: Callable[[str], tuple[float, ...] | BaseException | None] = lambda _text: None
    scored: list[str] = field(default_factory=list)
    replays: BaseException | None = None
    replayed: list[tuple[str, str]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)

    def clock(self) -> float:
        """Seconds: each answer takes one, each start ten."""
        return self.time_s


class FakeEngine:
    """Answers each request in one second. Implements Engine.

    decode_s: seconds of decoding of the nth answer since the engine was started.
    """

    scores_texts = True

    def __init__(self, world: World, decode_s: Callable[[int], float] = lambda _: 0.5) -> None:
        self.world = world
        self._decode_s = decode_s
        self._arm: Arm | None = None
        self._answers = 0

    def start(self, arm: Arm) -> Description:
        """Note it and take ten seconds."""
        world = self.world
        number = len(world.starts)
        world.starts.append(arm.name)
        world.time_s += 10
        if number in world.at_starts:
            raise world.at_starts[number]
        self._arm, self._answers = arm, 0
        return Description("fake", version=str(number))

    def generate(self, request: Request) -> Sample:
        """What the script says, else an answer."""
        world, arm = self.world, self._arm
        if arm is None:
            raise EngineError("the engine is not started")
        world.before(arm, request)
        number = len(world.calls)
        world.calls.append((arm.name, request.prompt_id))
        world.requests.append(request)
        world.time_s += 1
        outcome = world.script.get(number, self._answer(arm, request))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _answer(self, arm: Arm, request: Request) -> Sample:
        self._answers += 1
        if self.world.answers is not None:
            return self.world.answers(arm, request)
        return answer(arm, request, self._decode_s(self._answers - 1))

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """What the world says of the text, else two nats a token; a character is a token."""
        world = self.world
        world.scored.append(text)
        world.time_s += 5
        windows = world.windows(text)
        if isinstance(windows, BaseException):
            raise windows
        return (2.0,) * (len(text) // context_tokens) if windows is None else windows

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """A margin of a hundredth a token before it."""
        assert self._arm is not None
        assert self._arm.method is None
        world, pairs = self.world, zip(first.token_ids or (), second.token_ids or (), strict=False)
        world.replayed.append((request.prompt_id, request.prompt))
        world.time_s += 1
        if isinstance(world.replays, BaseException):
            raise world.replays
        found = (Divergence(i, a, b, i / 100) for i, (a, b) in enumerate(pairs) if a != b)
        return next(found, None)

    def close(self) -> None:
        """Forget the arm."""
        self._arm = None


def answer(arm: Arm, request: Request, decode_s: float = 0.5, **more: Any) -> Sample:
    """An answer as long as was asked for; half of the drafts of an arm with a drafter hold."""
    output = request.max_tokens
    counters = Counters(0, 0, 0, output - 1, ())
    if arm.method is not None:
        accepted = (output - 1) // 2
        counters = Counters(2 * accepted, accepted, output - 1 - accepted, 0)
    told = {"prompt_tokens": 8, "cached_tokens": 0, "counters": counters, **more}
    return Sample("x" * output, output, decode_s=decode_s, total_s=1.0, **told)
