"""How an engine is warmed up before its answers count, and when it is warm.

The same text is asked for again and again, so that its speeds can be compared: it is no prompt
of any set, since an engine may remember what it answered. All of these answers are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlint.reproducers.engine import Sample
from benchlint.reproducers.statistics import steady_from
from benchlint.reproducers.workloads import Prompt, filler

#: An engine is asked at least and at most this often before its answers count. One that is not
#: steady by then is as steady as it gets; the journal shows it.
LEAST, MOST = 3, 10

#: Output tokens of a warm-up answer are at most so many.
OUTPUT_TOKENS = 64

#: By this name warm-up answers stand in a journal.
NAME = "warm-up"

_SENTENCES = 4


def warm_up_prompt() -> Prompt:
    """The text that is asked for."""
    story = filler.text(filler.seed_of(NAME), _SENTENCES)
    return Prompt(NAME, f"Go on with this story for as long as you can.\n\n{story}")


def is_warm(samples: Sequence[Sample]) -> bool:
    """Whether an engine is steady after these answers, the first ones since it was started.

    At least half of them must be steady ones: of five speeds that only grow, the fourth is
    always the median of the second half.
    """
    if len(samples) < LEAST or len(samples) >= MOST:
        return len(samples) >= MOST
    speeds = _speeds(samples)
    start = steady_from(speeds) if speeds is not None else 0
    return start is not None and start <= len(samples) // 2


def _speeds(samples: Sequence[Sample]) -> list[float] | None:
    """Target passes per second, else tokens per second; None where an answer tells neither.

    Passes are steady where tokens are not: how many tokens a pass gives depends on the drafts.
    """
    for speed in (_passes_per_s, _tokens_per_s):
        speeds = [each for each in map(speed, samples) if each is not None]
        if len(speeds) == len(samples):
            return speeds
    return None


def _passes_per_s(sample: Sample) -> float | None:
    verify, plain = sample.counters.verify_steps, sample.counters.plain_steps
    if verify is None or plain is None or not sample.decode_s or not verify + plain:
        return None
    return (verify + plain) / sample.decode_s


def _tokens_per_s(sample: Sample) -> float | None:
    return sample.decode_tok_s
