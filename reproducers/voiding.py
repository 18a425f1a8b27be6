"""Why what was measured does not count, as far as the answers themselves show it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchlint.reproducers.engine import Arm, Sample

#: A cell whose requests fail in this many rounds is given up.
FAILED_ROUNDS = 2


def fault_of(arm: Arm, round_: Sequence[Sample], whole: bool) -> str:
    """Why the cell of these answers is void, or "".

    round_: the answers of one round so far. whole: whether they are all answers of it. A prompt
    that came from a cache is not prefilled, and its drafts may come from a cache too. What an
    engine does not tell is no fault.
    """
    cached = max((each.cached_tokens or 0 for each in round_), default=0)
    if cached:
        return f"{cached} tokens of a prompt came from a cache"
    drafted = [each.counters.drafted for each in round_]
    if arm.method is None:
        return "the engine drafts though no drafter is asked for" if any(drafted) else ""
    if whole and drafted and not any(drafted) and None not in drafted:
        return "speculation never ran: nothing was drafted in a whole round"
    return ""


def fault_of_windows(nll: Sequence[float], context_tokens: int) -> str:
    """Why these likelihoods of the windows of a text do not count, or ""."""
    if not nll:
        return f"the text is shorter than a window of {context_tokens} tokens"
    return "" if all(map(math.isfinite, nll)) else "the likelihood of a window is no number"
