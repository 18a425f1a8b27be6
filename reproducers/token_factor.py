"""How many tokens of its own an engine makes of a text, learnt from one answer of it.

The KV cache is filled with text, and a vocabulary of 4,000 entries makes twice as many tokens of
it as one of 150,000. So an engine is asked once, before anything is filled, with a fixed text by
the same grammar as the filler's; what it counts is in the journal, so that a run that is resumed,
and one that repeats it, fill with the same text.
"""

from __future__ import annotations

from collections.abc import Callable

from benchlint.reproducers.engine import Request, Sample
from benchlint.reproducers.journal import Journal, Measured
from benchlint.reproducers.workloads import filler

#: By this name the answer stands in a journal, among the warm-up.
NAME = "token-count"

#: No tokenizer makes more or fewer tokens of a text, as a factor of the estimate.
_LEAST, _MOST = 0.25, 4.0

_SENTENCES = 40


def counted_request(chat: bool) -> Request:
    """What an engine is asked; of its answer nothing but the length of the prompt is of use."""
    text = filler.text(filler.seed_of(NAME), _SENTENCES)
    return Request(text, max_tokens=2, chat=chat, prompt_id=NAME)


def factor_of(sample: Sample, count: Callable[[str], int]) -> float:
    """Tokens as the engine counts them over those that are estimated; 1 where it tells none.

    A chat template around the text adds a percent.
    """
    tokens = (sample.prompt_tokens or 0) + (sample.cached_tokens or 0)
    if not tokens:
        return 1.0
    estimated = count(counted_request(chat=False).prompt)
    return min(max(tokens / max(estimated, 1), _LEAST), _MOST)


def token_factor(journal: Journal, count: Callable[[str], int]) -> float | None:
    """The factor that a journal was measured with; None where nothing was filled yet."""
    for each in journal.of_kind(Measured):
        if each.warm_up and each.prompt == NAME:
            return factor_of(each.sample, count)
    return None
