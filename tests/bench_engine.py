"""An engine without a model whose truth is known: what it accepts, and how long a pass takes.

It answers as a llama-server on the processor would, so that a report of it can be written, run
again and judged in a second. It knows nothing of rounds, looks or verdicts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.discreet_engine import DiscreetEngine
from benchlint.reproducers.engine import (
    Arm,
    Counters,
    Description,
    Divergence,
    EngineError,
    Request,
    Sample,
    UnsupportedError,
)
from benchlint.reproducers.engine_choice import ChosenEngines
from tests.bench_journal import Truth

MODELS = Path(__file__).parent / "models"
TARGET, DRAFTER = MODELS / "target-q8_0.gguf", MODELS / "draft-q8_0.gguf"

#: What is accepted at each position, for any draft length up to 8.
CHANCES = (0.85, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5, 0.5)

_DEFAULTS: Mapping[str, float | int | None] = {
    "temperature": 0.8,
    "top_p": 0.95,
    "top_k": 40,
    "min_p": 0.05,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": None,
}


@dataclass
class BenchEngine:
    """Implements Engine.

    seed: of the weather, another one on another day. noise: standard deviation of the logarithm
    of an answer's speed. scores: whether it scores texts. speed: of this machine, as a factor.
    """

    seed: int = 1
    noise: float = 0.01
    scores: bool = False
    speed: float = 1.0
    draft_lengths: tuple[int, ...] = tuple(range(1, 9))
    asked: list[Request] = field(default_factory=list)
    _arm: Arm | None = None

    @property
    def scores_texts(self) -> bool:
        """As it was made."""
        return self.scores

    def start(self, arm: Arm) -> Description:
        """Say what is in effect."""
        if arm.method not in (None, "draft_model", "prompt_lookup"):
            raise UnsupportedError(f"no way to draft by {arm.method}")
        if arm.draft_length is not None and arm.draft_length not in self.draft_lengths:
            raise UnsupportedError(f"a draft length of {arm.draft_length} is too long")
        self._arm = arm
        wished = {name: getattr(arm.sampling, name) for name in _DEFAULTS}
        by_model = arm.method == "draft_model"
        return Description(
            "llama.cpp",
            version="b11549",
            backend="CPU",
            command_line=("llama-server", "--model", str(TARGET)),
            sampler={**_DEFAULTS, **{k: v for k, v in wished.items() if v is not None}},
            speculation=_speculation(arm),
            target={"name": TARGET.name, "quantization": "Q8_0", "parameters": 7_344_384},
            drafter={"name": DRAFTER.name} if by_model else {},
            context_tokens=arm.context_tokens,
            threads=1,
            telemetry="bench",
        )

    def generate(self, request: Request) -> Sample:
        """An answer of exactly as many tokens as were asked for, the same each time."""
        arm = self._arm
        if arm is None:
            raise EngineError("the engine is not started")
        self.asked.append(request)
        truth = truth_of(arm)
        drawn = Random(f"{arm.method} {arm.draft_length} {_hash(request.prompt)}")
        steps = list(_steps(truth, drawn, request.max_tokens)) if arm.method else []
        passes = len(steps) or request.max_tokens - 1
        weather = Random(f"{self.seed} {len(self.asked)}").gauss(0, self.noise)
        slow = math.exp(weather) / self.speed
        tokens = len(request.prompt.split())
        return Sample(
            text=f"an answer to {_hash(request.prompt)}",
            output_tokens=request.max_tokens,
            prompt_tokens=tokens,
            cached_tokens=0,
            prefill_s=tokens / 2000 * slow,
            decode_s=passes * truth.pass_ms / 1000 * slow,
            ttft_s=(tokens / 2000 + 0.002) * slow,
            finish_reason="length",
            counters=_counters(arm, steps, request.max_tokens),
        )

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """Around 2.5 nats a token."""
        windows = max(len(text) // (4 * context_tokens), 1)
        return tuple(2.5 + Random(n).gauss(0, 0.1) for n in range(windows))

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """It never diverges."""
        del request, first, second
        return None

    def close(self) -> None:
        """Forget the arm."""
        self._arm = None


def truth_of(arm: Arm) -> Truth:
    """A verify step of K tokens takes K parts in twenty longer than a plain pass."""
    length = arm.draft_length or 0
    return Truth(CHANCES[:length] if arm.method else (), pass_ms=10 * (1 + length / 20))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _speculation(arm: Arm) -> dict[str, str | float | int | None]:
    if arm.method is None:
        return {}
    told: dict[str, str | float | int | None] = {
        "draft_length": arm.draft_length,
        "acceptance_rule": "lossless",
    }
    if arm.method == "draft_model":
        told |= {"p_min": arm.p_min, "draft_selection": arm.draft_selection or "cpu"}
        told |= {"draft_method": "argmax", "drafter_kv_type": "f16"}
    return told


def _steps(truth: Truth, drawn: Random, most: int) -> list[int]:
    """Accepted tokens of each step; the last drafts are cut to what is still wanted."""
    steps: list[int] = []
    left = most - 1
    while left > 0:
        chances = truth.chances[: left - 1]
        taken = 0
        while taken < len(chances) and drawn.random() < chances[taken]:
            taken += 1
        steps.append(taken)
        left -= taken + 1
    return steps


def _counters(arm: Arm, steps: list[int], output: int) -> Counters:
    length = arm.draft_length or 0
    if arm.method is None:
        return Counters(0, 0, 0, output - 1, ())
    at_least = tuple(sum(n > i for n in steps) for i in range(length))
    return Counters(len(steps) * length, sum(steps), len(steps), 0, at_least)


def chosen(engine: BenchEngine | None = None) -> ChosenEngines:
    """The engine as a user would choose it, for the tiny models."""
    discreet = DiscreetEngine(engine or BenchEngine(), {str(TARGET): TARGET.name})
    return ChosenEngines(discreet, target=TARGET, drafter=DRAFTER, here=Here(threads=1))
