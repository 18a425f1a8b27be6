"""A simulator of speculative decoding, and honest reports of what it did.

It draws verify steps and tokens one by one and counts what an engine counts. It shares nothing
with the code that checks: no identity of accepted length, rate or speed is used to make a
number, only sums over drawn steps. Numbers are then printed with few digits, rounded or
truncated, as people print them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from random import Random
from statistics import fmean
from typing import Any


class Printed(str):
    """A number as it stands on paper; goes into JSON as it is."""


def printed(rng: Random, value: float, low: int = 1, high: int = 4) -> Printed:
    """`value` with `low` to `high` digits after the first, rounded or truncated."""
    digits = rng.randint(low, high)
    exponent = math.floor(math.log10(abs(value))) if value else 0
    places = max(digits - max(exponent, 0), 0) if exponent >= 0 else digits
    rounding = ROUND_DOWN if rng.random() < 0.3 else ROUND_HALF_EVEN
    return Printed(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=rounding))


def share(rng: Random, value: float) -> Printed:
    """A share of 1, printed with two to four decimals."""
    rounding = ROUND_DOWN if rng.random() < 0.3 else ROUND_HALF_EVEN
    places = rng.randint(2, 4)
    return Printed(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=rounding))


def dumps(tree: object) -> str:
    """JSON text in which printed numbers keep their digits."""
    if isinstance(tree, Printed):
        return str(tree)
    if isinstance(tree, Mapping):
        members = (f"{json.dumps(k)}: {dumps(v)}" for k, v in tree.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(tree, (list, tuple)):
        return "[" + ", ".join(map(dumps, tree)) + "]"
    return json.dumps(tree)


@dataclass
class Counters:
    """What an engine counts over one request or several."""

    k: int
    verify_steps: int = 0
    plain_steps: int = 0
    drafted: int = 0
    accepted: int = 0
    output: int = 0
    requests: int = 0
    decode_s: float = 0.0
    at_least: list[int] = field(default_factory=list)
    histogram: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at_least = self.at_least or [0] * self.k
        self.histogram = self.histogram or [0] * (self.k + 1)

    def add(self, other: Counters) -> None:
        """Sum another request's counters into these."""
        for name in ("verify_steps", "plain_steps", "drafted", "accepted", "output", "requests"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.decode_s += other.decode_s
        self.at_least = [a + b for a, b in zip(self.at_least, other.at_least, strict=True)]
        self.histogram = [a + b for a, b in zip(self.histogram, other.histogram, strict=True)]


@dataclass(frozen=True)
class Drafting:
    """How drafts are made and how often they are right.

    style: fixed (K tokens each step), adaptive (stops early), ngram (often no draft at all).
    """

    style: str
    k: int
    right: Sequence[float]
    hit: float = 1.0

    def draft(self, rng: Random, room: int) -> int:
        """Draft tokens of this step, at most `room`."""
        if self.style == "ngram" and rng.random() > self.hit:
            return 0
        length = self.k
        if self.style == "adaptive":
            length = 1
            while length < self.k and rng.random() < 0.8:
                length += 1
        return max(min(length, room), 0)

    def accept(self, rng: Random, length: int, ease: float) -> int:
        """How long a prefix of the draft the target agrees with."""
        accepted = 0
        while accepted < length and rng.random() < min(self.right[accepted] * ease, 0.995):
            accepted += 1
        return accepted


@dataclass(frozen=True)
class Clock:
    """Seconds of a plain pass, and what one more verified or drafted token costs."""

    plain_s: float
    verify_share: float
    draft_s: float

    def step(self, rng: Random, drafted: int) -> float:
        noise = 1 + rng.gauss(0, 0.01)
        return (self.plain_s * (1 + self.verify_share * drafted) + self.draft_s) * max(noise, 0.9)


def request(rng: Random, drafting: Drafting, clock: Clock, tokens: int, ease: float) -> Counters:
    """One answer of at most `tokens` tokens; its first token comes from prefill."""
    out = Counters(drafting.k, output=1, requests=1)
    while out.output < tokens:
        room = tokens - out.output - 1
        drafted = drafting.draft(rng, room)
        accepted = drafting.accept(rng, drafted, ease)
        out.decode_s += clock.step(rng, drafted)
        if drafted:
            out.verify_steps += 1
            out.drafted += drafted
            out.accepted += accepted
            out.histogram[accepted] += 1
            for i in range(accepted):
                out.at_least[i] += 1
        else:
            out.plain_steps += 1
        out.output += accepted + 1
        if accepted and rng.random() < 0.002:  # the end token was inside the accepted draft
            out.output -= rng.randint(1, accepted)
            break
    return out


#: Real cards as everyone knows them: name, memory in GB, bandwidth in GB/s, its vendor's figure.
CARDS = (
    ("NVIDIA GeForce RTX 4090", 24, 1008),
    ("NVIDIA GeForce RTX 3090", 24, 936),
    ("NVIDIA H100 SXM", 80, 3350),
    ("NVIDIA A100 80GB SXM", 80, 2039),
    ("NVIDIA L4", 24, 300),
)

METHODS = {
    "fixed": ("draft_model", "dflash", "mtp", "eagle3"),
    "adaptive": ("draft_model", "mtp"),
    "ngram": ("ngram", "suffix", "prompt_lookup"),
}


@dataclass
class Bench:
    """One machine, one target, and runs on it."""

    rng: Random
    style: str

    def __post_init__(self) -> None:
        rng = self.rng
        self.card, self.memory_gb, bandwidth = rng.choice(CARDS)
        self.parameters_b = rng.choice(
            [x for x in (3.2, 8.0, 14.8, 32.8) if x * 0.6 < self.memory_gb]
        )
        weights_gb = self.parameters_b * 0.6
        self.plain_s = weights_gb / bandwidth / rng.uniform(0.4, 0.9)
        self.prompts = rng.randint(1, 10)
        self.tokens = rng.choice([128, 256, 512, 777])
        self.eases = [rng.uniform(0.75, 1.05) for _ in range(self.prompts)]

    def drafting(self, k: int) -> Drafting:
        """A drafter whose survivors are a little easier, as in real mixtures."""
        start = self.rng.uniform(0.35, 0.92)
        drift = self.rng.uniform(-0.05, 0.03)
        right = [min(max(start + drift * i, 0.05), 0.97) for i in range(k)]
        return Drafting(self.style, k, right, hit=self.rng.uniform(0.2, 0.8))

    def run(self, drafting: Drafting, clock: Clock) -> list[Counters]:
        """One request a prompt."""
        return [request(self.rng, drafting, clock, self.tokens, ease) for ease in self.eases]

    def clock(self) -> Clock:
        return Clock(
            self.plain_s, self.rng.uniform(0.01, 0.08), self.plain_s * self.rng.uniform(0.05, 0.4)
        )


def pooled(requests: Sequence[Counters]) -> Counters:
    """The sums over all requests."""
    total = Counters(requests[0].k)
    for each in requests:
        total.add(each)
    return total


def averaged(rng: Random, requests: Sequence[Counters]) -> Sequence[Counters]:
    """What one figure is worked out of: sums, or each request for a mean that does not say so."""
    drafting = [each for each in requests if each.verify_steps]
    return [pooled(requests)] if rng.random() < 0.7 else drafting


def speculation(rng: Random, requests: Sequence[Counters], engine: str) -> dict[str, Any]:
    """What the report says of drafting, in the words of that engine."""
    total = pooled(requests)
    steps, drafted, accepted = total.verify_steps, total.drafted, total.accepted
    out: dict[str, Any] = {}
    if rng.random() < 0.8:
        more = fmean(each.accepted / each.verify_steps for each in averaged(rng, requests))
        length: dict[str, Any] = {
            "value": printed(rng, 1 + more),
            "counts_bonus_token": True,
        }
        if rng.random() < 0.15:
            length = {"value": share(rng, more), "counts_bonus_token": False}
        elif rng.random() < 0.3:
            del length["counts_bonus_token"]
        out["accepted_length"] = length if len(length) > 1 else length["value"]
    if rng.random() < 0.8:
        out["acceptance_rate"] = rate(rng, averaged(rng, requests), engine)
    if rng.random() < 0.5:
        kept = total.k if rng.random() < 0.7 else rng.randint(1, total.k)
        values = [share(rng, n / steps) for n in total.at_least[:kept]]
        out["per_position"] = {"values": monotone(values), "kind": "cumulative"}
    if rng.random() < 0.5:
        out["counts"] = {
            "drafted": drafted,
            "accepted": accepted,
            "verify_steps": steps,
            "plain_steps": total.plain_steps,
            "output_tokens": total.output,
            "requests": total.requests,
        }
    if rng.random() < 0.2:
        out["histogram"] = total.histogram
    return out


def monotone(values: list[Printed]) -> list[Printed]:
    """One number of digits for a whole list, as a table has it."""
    places = min(len(v.partition(".")[2]) for v in values)
    step = Decimal(1).scaleb(-places)
    return [Printed(Decimal(v).quantize(step, rounding=ROUND_DOWN)) for v in values]


def rate(rng: Random, parts: Sequence[Counters], engine: str) -> Any:
    """The acceptance rate as that engine defines it, or its mean over several parts."""
    if engine == "sglang":
        return share(rng, fmean(c.accepted / (c.verify_steps * c.k) for c in parts))
    if engine == "sglang-old":
        emitted = ((c.accepted + c.verify_steps, c.verify_steps * (c.k + 1)) for c in parts)
        return share(rng, fmean(tokens / slots for tokens, slots in emitted))
    if engine == "lmstudio":
        return {"value": share(rng, fmean(c.accepted / c.output for c in parts)), "of": "output"}
    value = share(rng, fmean(c.accepted / c.drafted for c in parts))
    return {"value": value, "of": "drafted"} if rng.random() < 0.3 else value


ENGINES = {
    "llama.cpp": {"name": "llama.cpp", "version": "b11549"},
    "vllm": {"name": "vllm", "version": "0.32.0"},
    "sglang": {"name": "sglang", "version": "0.5.23"},
    "sglang-old": {"name": "sglang", "version": "0.5.6"},
    "lmstudio": {"name": "LM Studio"},
    "own": {"name": "a harness of our own"},
    "none": None,
}


def honest_report(seed: int) -> str:
    """A report of one simulated bench, as JSON text. The same seed gives the same report."""
    rng = Random(seed)
    style = rng.choice(["fixed", "fixed", "adaptive", "ngram"])
    bench = Bench(rng, style)
    engine = rng.choice(list(ENGINES))
    method = rng.choice(METHODS[style])
    lengths = sorted(rng.sample([1, 2, 3, 4, 5, 7, 8, 10, 15], rng.randint(1, 3)))
    plain = pooled(bench.run(Drafting("ngram", 1, [0.0], hit=0.0), Clock(bench.plain_s, 0, 0)))
    clock = bench.clock()
    drafting = bench.drafting(max(lengths))
    report = _setup(bench, engine)
    report["configurations"] = {"plain": {"drafter": None, "sampler": {"temperature": 0}}}
    report["runs"] = [_plain_run(rng, plain)]
    report["claims"] = []
    for k in lengths:
        arm = Drafting(style, k, drafting.right, drafting.hit)
        requests = bench.run(arm, clock)
        total = pooled(requests)
        report["configurations"][f"k{k}"] = _configuration(rng, method, style, k)
        report["runs"].append(_speculative_run(rng, requests, plain, engine))
        report["claims"] += _claims(rng, total, plain)
    return dumps(report)


def _setup(bench: Bench, engine: str) -> dict[str, Any]:
    report: dict[str, Any] = {
        "benchlint": "1",
        "title": "A simulated bench",
        "machine": {"devices": [{"name": bench.card, "count": 1, "memory_gb": bench.memory_gb}]},
        "target": {
            "name": "simulated",
            "parameters_b": bench.parameters_b,
            "architecture": "dense",
            "quantization": {"recipe": "Q4_K_M"},
        },
        "workloads": {"w": {"mix": {"code": 1.0}, "prompt_count": bench.prompts}},
    }
    if ENGINES[engine] is not None:
        report["engine"] = ENGINES[engine]
    return report


def _configuration(rng: Random, method: str, style: str, k: int) -> dict[str, Any]:
    policy = {"fixed": "fixed", "adaptive": "adaptive"}.get(style)
    length: Any = {"max": k, "policy": policy} if policy and rng.random() < 0.8 else k
    return {"based_on": "plain", "drafter": {"method": method}, "draft_length": length}


def _conditions() -> dict[str, Any]:
    return {"warm": True, "concurrency": 1}


def _plain_run(rng: Random, plain: Counters) -> dict[str, Any]:
    return {
        "id": "plain",
        "configuration": "plain",
        "workload": "w",
        "conditions": _conditions(),
        "decode": _decode(rng, plain),
    }


def _speed(total: Counters) -> float:
    return (total.output - total.requests) / total.decode_s


def _decode(rng: Random, total: Counters) -> dict[str, Any]:
    decode: dict[str, Any] = {"tok_s": printed(rng, _speed(total))}
    if rng.random() < 0.4:
        decode["tokens"] = total.output
        decode["seconds"] = printed(rng, total.decode_s)
        if rng.random() < 0.3:  # llama-server through 0.3.31 counted the first token too
            decode["tok_s"] = printed(rng, total.output / total.decode_s)
    return decode


def _speculative_run(
    rng: Random, requests: Sequence[Counters], plain: Counters, engine: str
) -> dict[str, Any]:
    total = pooled(requests)
    run: dict[str, Any] = {
        "id": f"k{total.k}",
        "configuration": f"k{total.k}",
        "workload": "w",
        "conditions": _conditions(),
        "decode": _decode(rng, total),
        "speculation": speculation(rng, requests, engine),
    }
    if rng.random() < 0.3:
        passes = total.verify_steps + total.plain_steps
        run["step_time_ms"] = printed(rng, total.decode_s / passes * 1000)
    if rng.random() < 0.3:
        run["speedup"] = {"value": printed(rng, _speed(total) / _speed(plain)), "over": "plain"}
    return run


def _claims(rng: Random, total: Counters, plain: Counters) -> list[dict[str, Any]]:
    """Claims worked out from the full values, not from the printed ones."""
    ratio = _speed(total) / _speed(plain)
    base = {"metric": "decode.tok_s", "of": f"k{total.k}", "to": "plain"}
    options: list[dict[str, Any]] = [
        {**base, "relation": "ratio", "value": printed(rng, ratio, 1, 2)},
        {**base, "relation": "percent_more", "value": printed(rng, (ratio - 1) * 100, 1, 3)},
        {**base, "relation": "greater" if ratio > 1 else "less"},
    ]
    if ratio > 1.05:
        options.append({**base, "relation": "at_least", "value": Printed(f"{ratio - 0.05:.1f}")})
    return [c for c in options if rng.random() < 0.4]
