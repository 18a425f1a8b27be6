"""Canonical counts of speculative decoding, and what follows from them.

Every source counts something else; all are converted to these (see `definitions`). A request's
first token comes from prefill; each target pass then emits one token of its own and the draft
tokens it accepted. So `output = requests + steps + plain_steps + accepted - cut`, where `cut`
is what an end of the text inside an accepted draft takes away, at most K tokens a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class CanonicalCounts:
    """Counters of one request, or sums over several. None where it is not known.

    steps: verify steps that carried a draft (s).
    plain_steps: target passes without a draft (s0).
    drafted: draft tokens sent to verification (D).
    accepted: draft tokens accepted, a prefix of each draft; no token of the target's own (A).
    output: output tokens, the first one included (N).
    requests: requests that the counts are summed over.
    k: configured maximum draft length in tokens (K).
    decode_s: seconds from the first to the last token, summed over requests (t).
    """

    steps: float | None = None
    plain_steps: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    output: float | None = None
    requests: float | None = 1
    k: int | None = None
    decode_s: float | None = None

    @property
    def accepted_length(self) -> float | None:
        """τ = 1 + A/s: tokens per verify step, the target's own included."""
        more = _ratio(self.accepted, self.steps)
        return None if more is None else 1 + more

    @property
    def passes(self) -> float | None:
        """Target passes s + s0, else from the tokens: N - requests - A.

        The second form needs no count of steps. It holds for chains, trees, any draft length
        and old llama-server, which runs two passes a cycle, up to K tokens a request; it does
        not hold where a pass is repeated after a rejection (llama.cpp on recurrent targets,
        tools/server/server-context.cpp).
        """
        if self.steps is not None and self.plain_steps is not None:
            return self.steps + self.plain_steps
        return passes_from_tokens(self.output, self.accepted, self.requests)

    @property
    def accepted_length_all(self) -> float | None:
        """τ_all = (passes + A)/passes: tokens per target pass, plain passes included. ≤ τ."""
        more = _ratio(self.accepted, self.passes)
        return None if more is None else 1 + more

    @property
    def rate(self) -> float | None:
        """Acceptance rate A/D, 0 to 1; None when nothing was drafted."""
        return _ratio(self.accepted, self.drafted)

    @property
    def seconds_per_pass(self) -> float | None:
        """Mean wall time of a target pass in seconds: t/(s + s0), else t/(N - requests - A).

        The one speed of a step that every server's own numbers give; no rule asks for it so far.
        """
        return _ratio(self.decode_s, self.passes)

    @property
    def tok_s(self) -> float | None:
        """Decode speed in tokens per second; the first token of a request is prefill's."""
        if self.output is None or self.requests is None:
            return None
        return _ratio(self.output - self.requests, self.decode_s)

    def __add__(self, other: CanonicalCounts) -> CanonicalCounts:
        """Pooled counts; a sum is unknown where a part is, and K where the parts differ."""
        sums = {
            each.name: _sum(getattr(self, each.name), getattr(other, each.name))
            for each in fields(self)
            if each.name != "k"
        }
        return CanonicalCounts(**sums, k=self.k if self.k == other.k else None)


def pooled(parts: Iterable[CanonicalCounts]) -> CanonicalCounts:
    """The sums over `parts`, of which there is at least one."""
    return reduce(CanonicalCounts.__add__, parts)


def passes_from_tokens(
    output: float | None, accepted: float | None, requests: float | None = 1
) -> float | None:
    """Target passes = N - requests - A; None where one is unknown or nothing is left.

    `requests` is 0 for engines whose counter has no token from prefill (MLX).
    """
    if output is None or accepted is None or requests is None:
        return None
    passes = output - requests - accepted
    return passes if passes > 0 else None


def from_histogram(histogram: Sequence[float], k: int | None = None) -> CanonicalCounts:
    """Steps and accepted tokens of a histogram whose index j counts steps that accepted j."""
    return CanonicalCounts(
        steps=float(sum(histogram)),
        accepted=sum(j * float(n) for j, n in enumerate(histogram)),
        requests=None,
        k=len(histogram) - 1 if k is None and histogram else k,
    )


def per_position(histogram: Sequence[float]) -> list[float]:
    """p_i = n_i/s for i = 1 … K: share of steps that accepted at least i draft tokens."""
    steps = float(sum(histogram))
    if not steps:
        return []
    at_least = list(accumulate(reversed(histogram)))  # K, K - 1, … 0 tokens accepted
    return [n / steps for n in at_least[-2::-1]]


def _ratio(above: float | None, below: float | None) -> float | None:
    if above is None or below is None or below <= 0:
        return None
    return above / below


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b
