"""Lossless acceptance of draft tokens: what is emitted is distributed as by the target alone.

A draft token x that was drawn from the drafter's distribution q is accepted with probability
min(1, p(x)/q(x)), p being the target's. A rejected one is replaced by a token drawn from the
rest, max(0, p - q) over its sum (Leviathan et al. 2023, arXiv:2211.17192, algorithm 1; Chen et
al. 2023, arXiv:2302.01318, algorithm 2).

Greedy decoding is the case of a p with all its mass on the argmax: a draft token is accepted
when it is that token, and replaced by it otherwise. A drafter that takes its own argmax, or looks
its drafts up, has a q of that kind: x is accepted with probability p(x), which is what llama.cpp
does when it draws from p and compares (common/sampling.cpp, common_sampler_sample_and_accept_n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Probabilities of the next token; tokens left out have none.

    tokens: distinct ids of shape (n,), n ≥ 1. probabilities: of the same shape, from 0, with sum
    1 but for rounding.
    """

    tokens: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    def of(self, token: int) -> float:
        """The probability of one token."""
        if len(self.tokens) == 1:
            return float(self.probabilities[0]) if self.tokens[0] == token else 0.0
        return float(self.probabilities[self.tokens == token].sum())

    def at(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        """The probabilities of tokens, in their order."""
        dense = np.zeros(max(int(tokens.max()), int(self.tokens.max())) + 1)
        dense[self.tokens] = self.probabilities
        wanted: NDArray[np.float64] = dense[tokens]
        return wanted

    def draw(self, uniform: float) -> int:
        """The token at `uniform` in [0, 1) of the cumulated probabilities."""
        if len(self.tokens) == 1:
            return int(self.tokens[0])
        cumulated = np.cumsum(self.probabilities)
        # Below the total, so that rounding never ends at a token without probability.
        height = min(uniform * cumulated[-1], np.nextafter(cumulated[-1], 0.0))
        return int(self.tokens[np.searchsorted(cumulated, height, side="right")])


_CERTAIN = np.ones(1)


def certain(token: int) -> Distribution:
    """All probability on one token: an argmax, or a draft that was looked up."""
    return Distribution(np.array([token], dtype=np.int32), _CERTAIN)


def softmax(tokens: NDArray[np.int32], logits: NDArray[np.float32]) -> Distribution:
    """The distribution of tokens with the given logits (nats); -inf gives none."""
    raised = np.exp(logits - logits.max(), dtype=np.float64)
    return Distribution(tokens, raised / raised.sum())


def accepts(target: Distribution, draft: Distribution, token: int, uniform: float) -> bool:
    """Whether a token drawn from `draft` is accepted, for `uniform` in [0, 1)."""
    return uniform * draft.of(token) < target.of(token)


def residual(target: Distribution, draft: Distribution) -> Distribution:
    """What a token is drawn from in place of a rejected one: max(0, p - q) over its sum.

    Where nothing is left, nothing is ever rejected but by rounding: the target then.
    """
    rest = np.maximum(target.probabilities - draft.at(target.tokens), 0.0)
    total = rest.sum()
    return Distribution(target.tokens, rest / total) if total > 0 else target
