"""Perplexity of a text as llama-perplexity measures it (tools/perplexity/perplexity.cpp).

The text is cut into windows without overlap. The first token of each gives way to BOS where the
model wants one, and the tokens after the middle one are scored, each given all before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchlint.reproducers.engine import EngineError
from benchlint.reproducers.llama_cpp_model import Context, ContextSettings, Weights
from benchlint.reproducers.llama_cpp_sampler import GREEDY

#: Tokens whose logits are kept at a time.
_SCORED_AT_ONCE = 256

#: The smallest window of which a token is scored that has some before it.
_SHORTEST = 4


def negative_log_likelihoods(
    weights: Weights, settings: ContextSettings, text: str
) -> tuple[float, ...]:
    """The mean over each full window (nats a token); a window fills the context.

    Empty where the text is shorter than a window. Raises EngineError for windows below 4 tokens.
    """
    size = settings.context_tokens
    if size < _SHORTEST:
        raise EngineError(f"perplexity needs windows of at least {_SHORTEST} tokens")
    windows = list(_windows(weights.tokenize(text), size, _bos(weights)))
    if not windows:  # and a context of that size may not even be possible
        return ()
    context = Context(weights, settings, GREEDY)
    try:
        return tuple(_negative_log_likelihood(context, window) for window in windows)
    finally:
        context.close()


def _bos(weights: Weights) -> int | None:
    llama, vocabulary = weights.llama, weights.vocabulary
    if not llama.llama_vocab_get_add_bos(vocabulary):
        return None
    return int(llama.llama_vocab_bos(vocabulary))


def _windows(tokens: Sequence[int], size: int, first: int | None) -> Iterator[list[int]]:
    for start in range(0, len(tokens) - size + 1, size):
        window = list(tokens[start : start + size])
        yield window if first is None else [first, *window[1:]]


def _negative_log_likelihood(context: Context, window: Sequence[int]) -> float:
    """The mean over the tokens after the one in the middle, each given all before it."""
    middle = len(window) // 2
    context.clear()
    context.prefill(window[:middle])
    total = 0.0
    step = min(_SCORED_AT_ONCE, context.pass_tokens)
    for start in range(middle, len(window) - 1, step):
        given = window[start : min(start + step, len(window) - 1)]
        context.evaluate(given)
        for index in range(len(given)):
            logits = context.logits(index).astype(np.float64)
            top = logits.max()
            total += top + np.log(np.exp(logits - top).sum()) - logits[window[start + index + 1]]
    return float(total / (len(window) - 1 - middle))
