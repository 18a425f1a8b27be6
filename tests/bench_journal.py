"""Journals of benches whose truth is known, to try estimates and judgements on.

A bench accepts draft tokens with a known probability at each position, takes known times for a
plain pass and a verify step, and writes what an engine would count. It knows nothing of pairs,
looks or verdicts, and shares no code with what estimates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Truth:
    """What an arm is like.

    chances: probability that the draft token at each position is accepted, once all before it
    were; none for a plain arm. pass_ms: time of a target pass or verify step.
    """

    chances: tuple[float, ...] = ()
    pass_ms: float = 25.0

    @property
    def tau(self) -> float:
        """Expected tokens of a verify step."""
        return 1 + sum(self.at_least)

    @property
    def at_least(self) -> list[float]:
        """Expected share of steps that accept at least 1, 2, … tokens."""
        return [math.prod(self.chances[: i + 1]) for i in range(len(self.chances))]

    @property
    def tok_s(self) -> float:
        """Expected tokens a second."""
        return 1000 * self.tau / self.pass_ms


@dataclass(slots=True)
class Bench:
    """A machine on one day.

    noise: standard deviation of the logarithm of a round's speed. drift: change of all speeds
    over a hundred measurements, as a share. greedy: answers repeat in every round.
    """

    truths: Mapping[str, Truth]
    seed: int = 0
    noise: float = 0.01
    drift: float = 0.0
    greedy: bool = True
    tokens: int = 256
    counts_steps: bool = True
    counts_drafts: bool = True
    time: float = 1e9
    position: int = field(default=0)

    def rounds(
        self, arms: Mapping[str, str], prompts: Sequence[str], pairs: range
    ) -> Iterator[Json]:
        """The lines of some rounds; arms: name of the arm by cell, the baseline first."""
        for pair in pairs:
            cells = list(arms) if pair % 4 in (0, 3) else list(arms)[::-1]
            for cell in cells:
                yield from self._round(cell, arms[cell], prompts, pair)

    def _round(self, cell: str, arm: str, prompts: Sequence[str], pair: int) -> Iterator[Json]:
        weather = math.exp(Random(f"{self.seed} {cell} {pair}").gauss(0, self.noise))
        weather *= 1 - self.drift * self.position / 100
        for prompt in prompts:
            sample = self._answer(arm, prompt, pair, weather)
            self.time += 1
            yield {
                "kind": "sample",
                "cell": cell,
                "arm": arm,
                "prompt": prompt,
                "pair": pair,
                "position": self.position,
                "time": self.time,
                "warm_up": False,
                "sample": sample,
            }
        self.position += 1

    def _answer(self, arm: str, prompt: str, pair: int, weather: float) -> Json:
        truth = self.truths[arm]
        draw = Random(f"{self.seed} {arm} {prompt} {'' if self.greedy else pair}")
        accepted = self._steps(truth, draw) if truth.chances else []
        passes = len(accepted) or self.tokens - 1
        seconds = passes * truth.pass_ms / 1000 / weather
        answer: Json = {"text": f"answer to {prompt}", "output_tokens": self.tokens}
        answer |= {"prompt_tokens": 100, "prefill_s": 0.05 / weather, "ttft_s": 0.06 / weather}
        answer |= {"decode_s": seconds, "counters": self._counters(truth, accepted)}
        if truth.chances:
            answer["output_tokens"] = 1 + passes + sum(accepted)
        return answer

    def _steps(self, truth: Truth, draw: Random) -> list[int]:
        """Accepted tokens of each verify step, until there are enough tokens."""
        steps: list[int] = []
        while 1 + len(steps) + sum(steps) < self.tokens:
            taken = 0
            while taken < len(truth.chances) and draw.random() < truth.chances[taken]:
                taken += 1
            steps.append(taken)
        return steps

    def _counters(self, truth: Truth, steps: Sequence[int]) -> Json:
        if not truth.chances or not self.counts_drafts:
            return {}
        told: Json = {"drafted": len(steps) * len(truth.chances), "accepted": sum(steps)}
        if self.counts_steps:
            at_least = [sum(n > i for n in steps) for i in range(len(truth.chances))]
            told |= {"verify_steps": len(steps), "plain_steps": 0, "at_least": at_least}
        return told


def lines(
    plan: str, records: Iterator[Json] | Sequence[Json], machine: Json | None = None
) -> bytes:
    """A whole journal: header and records."""
    header = {"kind": "header", "plan": plan, "tool": "0.1.0", "time": 1e9, "version": "1"}
    header["machine"] = machine or {"device": "Bench", "device count": 1}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (header, *records))


def started(cell: str, arm: str) -> Json:
    """An engine that was started for a cell."""
    description = {"engine": "llama.cpp", "version": "b9000", "sampler": {"temperature": 0.0}}
    return {"kind": "engine", "cell": cell, "arm": arm, "time": 1e9, "description": description}


def end(reason: str = "last_look") -> Json:
    """Measuring ended."""
    return {"kind": "end", "reason": reason, "time": 2e9}
