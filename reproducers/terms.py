"""What each measured number is a ratio of, for one answer; and the readings that a name allows.

Every number of a run is Σa/Σb over answers: tokens over seconds, accepted over drafted. Where a
report does not say how it pooled (all tokens over all time, the mean of requests, their median)
or what it counted, each reading is tried: a claim is refuted only where all of them are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchlint.checker.definitions import LengthReading, RateReading
from benchlint.reproducers.plan import Check
from benchlint.reproducers.rounds import Answer

#: Numerator and denominator of one answer's value; None where the engine does not tell.
Pair = tuple[float, float] | None
Terms = Callable[[Answer], Pair]
Pooling = Literal["pooled", "mean", "median"]

POOLINGS: Mapping[Pooling, str] = {
    "pooled": "over all requests together",
    "mean": "mean of the requests",
    "median": "median of the requests",
}

_POSITION = re.compile(r"speculation\.per_position\.values\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Reading:
    """A meaning of a number. words: for readers. terms: of one answer."""

    words: str
    terms: Terms
    pooling: Pooling = "pooled"

    def value(self, answers: Iterable[Answer]) -> float | None:
        """The number over some answers, in its own unit; None where nothing tells it."""
        pairs = [self.terms(answer) for answer in answers]
        known = [pair for pair in pairs if pair is not None and pair[1] > 0]
        if not known or None in pairs:
            return None
        ratios = [a / b for a, b in known]
        if self.pooling == "median":
            return median(ratios)
        return sum(ratios) / len(ratios) if self.pooling == "mean" else _pooled(known)

    def weighed(self, answer: Answer) -> Pair:
        """Numerator and denominator, so that sums over answers give the number as pooled."""
        pair = self.terms(answer)
        if pair is None or self.pooling == "pooled":
            return pair
        return (pair[0] / pair[1], 1.0) if pair[1] > 0 else (0.0, 0.0)


def _pooled(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs)


def readings_of(check: Check) -> tuple[Reading, ...]:
    """All readings of a speed, a speed-up or an acceptance figure that its words allow.

    Raises ValueError where its metric is none of these.
    """
    if check.metric in SPEEDS:
        terms = SPEEDS[check.metric]
        return tuple(Reading(words, terms, pooling) for pooling, words in POOLINGS.items())
    if check.metric == "speculation.accepted_length":
        return _twice(_lengths(check.definition))
    if check.metric == "speculation.acceptance_rate":
        return _twice(_rates(check.definition))
    position = _POSITION.fullmatch(check.metric)
    if position is None:
        raise ValueError(f"{check.metric[:80]!r} is nothing that answers tell")
    return tuple(_positions(int(position[1]), check.definition))


def _twice(readings: Iterable[tuple[str, Terms]]) -> tuple[Reading, ...]:
    """Pooled, as engines count, and as the mean of requests, as DFlash's own script does."""
    poolings: tuple[Pooling, ...] = ("pooled", "mean")
    found = tuple(readings)
    return tuple(
        Reading(words if p == "pooled" else f"{words}, {POOLINGS[p]}", terms, p)
        for p in poolings
        for words, terms in found
    )


# Speeds


def _decode(answer: Answer) -> Pair:
    """Tokens and seconds; an answer of one token has no decode."""
    tokens, seconds = answer.sample.output_tokens - 1, answer.sample.decode_s
    if tokens < 1:
        return 0.0, 0.0
    return None if seconds is None else (tokens, seconds)


def _token_time(answer: Answer) -> Pair:
    pair = _decode(answer)
    return None if pair is None else (1000 * pair[1], pair[0])


def _prefill(answer: Answer) -> Pair:
    return _ratio(answer.sample.prompt_tokens, answer.sample.prefill_s)


def _first_token(answer: Answer) -> Pair:
    """The client's time to first token, else the engine's prefill, in ms."""
    sample = answer.sample
    seconds = sample.prefill_s if sample.ttft_s is None else sample.ttft_s
    return None if seconds is None else (1000 * seconds, 1.0)


def _step_time(answer: Answer) -> Pair:
    seconds, passes = answer.counts.decode_s, _passes(answer)
    return None if seconds is None else _ratio(1000 * seconds, passes)


SPEEDS: Mapping[str, Terms] = {
    "decode.tok_s": _decode,
    "decode.time_per_output_token_ms": _token_time,
    "prefill.tok_s": _prefill,
    "prefill.ttft_ms": _first_token,
    "step_time_ms": _step_time,
    "speedup": _decode,
}


# Acceptance


def _per_step(answer: Answer) -> Pair:
    steps, accepted = answer.counts.steps, answer.counts.accepted
    return None if steps is None or accepted is None else (steps + accepted, steps)


def _passes(answer: Answer) -> float | None:
    """Target passes; 0 where so short an answer does not tell them."""
    counts = answer.counts
    return counts.passes or (None if counts.accepted is None else 0.0)


def _per_pass(answer: Answer) -> Pair:
    passes, accepted = _passes(answer), answer.counts.accepted
    return None if passes is None or accepted is None else (passes + accepted, passes)


def _over_verify(answer: Answer) -> Pair:
    return _ratio(answer.counts.output, answer.counts.steps)


def _drafts_only(answer: Answer) -> Pair:
    return _ratio(answer.counts.accepted, answer.counts.steps)


def _drafts_per_pass(answer: Answer) -> Pair:
    return _ratio(answer.counts.accepted, _passes(answer))


def _lengths(definition: str | None) -> list[tuple[str, Terms]]:
    with_bonus: list[tuple[str, Terms]] = [
        (LengthReading.PER_STEP.words, _per_step),
        (LengthReading.PER_PASS.words, _per_pass),
        (LengthReading.OVER_VERIFY.words, _over_verify),
    ]
    without: list[tuple[str, Terms]] = [
        (LengthReading.DRAFTS_ONLY.words, _drafts_only),
        ("accepted draft tokens per target pass", _drafts_per_pass),
    ]
    if definition is None:
        return with_bonus + without
    return with_bonus if definition == "with bonus token" else without


def _drafted(answer: Answer) -> Pair:
    return _ratio(answer.counts.accepted, answer.counts.drafted)


def _configured(answer: Answer) -> Pair:
    steps, k = answer.counts.steps, answer.counts.k
    return None if steps is None or k is None else _ratio(answer.counts.accepted, k * steps)


def _output(answer: Answer) -> Pair:
    return _ratio(answer.counts.accepted, answer.counts.output)


_RATES: Mapping[str, tuple[str, Terms]] = {
    "drafted": (RateReading.DRAFTED.words, _drafted),
    "configured": (RateReading.CONFIGURED.words, _configured),
    "output": (RateReading.OUTPUT.words, _output),
}


def _rates(definition: str | None) -> list[tuple[str, Terms]]:
    known = _RATES.get(definition or "")
    return list(_RATES.values()) if known is None else [known]


def _positions(index: int, definition: str | None) -> Iterable[Reading]:
    if definition != "conditional":
        yield Reading("share of verify steps", lambda answer: _position(answer, index, None))
    if definition != "cumulative" and (index > 0 or definition == "conditional"):
        before = index - 1
        words = "share of the steps that accepted the position before"
        yield Reading(words, lambda answer: _position(answer, index, before))


def _position(answer: Answer, index: int, before: int | None) -> Pair:
    counts, steps = answer.sample.counters.at_least, answer.counts.steps
    if counts is None or steps is None:
        return None
    reached = steps if before is None or before < 0 else _at(counts, before)
    return _at(counts, index), reached


def _at(counts: Sequence[int], index: int) -> float:
    """An engine may leave out positions that nothing reached."""
    return counts[index] if index < len(counts) else 0.0


def _ratio(above: float | None, below: float | None) -> Pair:
    return None if above is None or below is None else (above, below)
