"""How much of a text a perplexity is of."""

from __future__ import annotations


def scored_tokens(window: int) -> int:
    """How many tokens of a window are scored: those after its middle, but for the last.

    Source: llama.cpp tools/perplexity/perplexity.cpp, `first = n_ctx/2`.
    """
    return max(window - 1 - window // 2, 0)
