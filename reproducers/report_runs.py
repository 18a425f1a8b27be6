"""The runs of a report, one for each cell that was measured, and what can be claimed of them.

Numbers are sums over sums of all answers that count, with what each round gave beside them.
What the engine does not tell is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from benchlint.checker.counts import CanonicalCounts
from benchlint.checker.numbers import Interval, shown_interval
from benchlint.reproducers.engine import Description
from benchlint.reproducers.estimates import Estimates
from benchlint.reproducers.journal import Journal, Measured, Started, Void, name_in_journal
from benchlint.reproducers.judgement import SHOWN_CONFIDENCE, Judgement, Measurements, judge
from benchlint.reproducers.losslessness import Comparison
from benchlint.reproducers.plan import Cell, Plan
from benchlint.reproducers.printed_numbers import repeated, rounded, share, summed_up
from benchlint.reproducers.rounds import Answer, Rounds
from benchlint.reproducers.statistics import Estimate, mean_of
from benchlint.reproducers.terms import SPEEDS, Reading
from benchlint.reproducers.workloads import BUNDLED

Json = dict[str, Any]

#: A speed with how it is pooled: a time to first token is the mean of those of the requests.
_POOLED = {name: Reading("", terms) for name, terms in SPEEDS.items()}
_ESTIMATORS = {"prefill.ttft_ms": "mean"}

_DECODE = _POOLED["decode.tok_s"]


class Found:
    """What a journal holds for a plan, as far as it counts."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        """Raises JournalError for a journal of another plan."""
        self.plan = plan
        self.journal = journal
        self.rounds = Rounds(plan, journal)
        self.estimates = Estimates(self.rounds)

    @cached_property
    def judgement(self) -> Judgement:
        """What else the journal says: drift, outliers, what is void."""
        return judge(self.plan, self.journal)

    def measurements(self, cell: Cell) -> Measurements:
        """The sums over what was measured in a cell."""
        return next(each for each in self.judgement.cells if each.cell == cell.name)

    def is_measured(self, cell: Cell) -> bool:
        """Whether there is a whole round of a cell that counts."""
        return bool(self.rounds.of(cell.name))

    def answers(self, cell: Cell) -> list[Answer]:
        """All answers of a cell that count."""
        return [answer for each in self.rounds.of(cell.name).values() for answer in each.values()]

    def plain_of(self, cell: Cell) -> Cell | None:
        """The baseline that a cell with a drafter is compared with, where it was measured."""
        plain = self.estimates.rounds.plain_of(cell)
        if cell.arm.method is None or plain is None or not self.is_measured(plain):
            return None
        return plain

    def descriptions(self, arm: str) -> tuple[Description, ...]:
        """What the engine said of itself each time that it was started for an arm."""
        # A text is scored with another context.
        cells = {name_in_journal(c.name) for c in self.plan.cells if c.arm.name == arm}
        starts = self.journal.of_kind(Started)
        return tuple(each.description for each in starts if each.cell in cells)


# Runs


def runs_of(found: Found) -> Iterator[Json]:
    """A run for each cell that was measured or withdrawn, in the order of the plan."""
    for cell in found.plan.cells:
        head = {"id": cell.name, "configuration": cell.arm.name, "workload": cell.prompts.name}
        if cell.name in found.rounds.void:
            yield {**head, "void": found.rounds.void[cell.name]}
        elif found.is_measured(cell):
            blocks = _blocks(found, cell).items()
            yield {**head, **{name: block for name, block in blocks if block not in (None, {})}}


def _blocks(found: Found, cell: Cell) -> Json:
    whole = found.measurements(cell)
    return {
        "conditions": _conditions(found, cell, whole),
        "prefill": _known(
            {
                "tok_s": _speed(found, cell, "prefill.tok_s"),
                "ttft_ms": _speed(found, cell, "prefill.ttft_ms"),
            }
        ),
        "decode": _decode(found, cell),
        "speculation": _speculation(cell, whole),
        "step_time_ms": _speed(found, cell, "step_time_ms") if cell.arm.method else None,
        "memory": _memory(found, cell),
        "losslessness": _losslessness(found, cell),
        "measurement": _measurement(found, cell),
        "finish_reasons": _finish_reasons(found, cell),
        "speedup": _speedup(found, cell),
        "notes": list(_notes(found, cell, whole)) or None,
    }


def _known(members: Mapping[str, Any]) -> Json:
    """The members that say something."""
    return {name: value for name, value in members.items() if value is not None}


def _conditions(found: Found, cell: Cell, whole: Measurements) -> Json:
    answers = found.answers(cell)
    cached = [answer.sample.cached_tokens for answer in answers]
    cells = found.plan.series[cell.series]
    return _known(
        {
            "warm": True,
            "warmup_requests": _warm_up_requests(found, cell),
            "repeats": whole.rounds,
            "restarts": max(whole.starts - 1, 0),
            "concurrency": 1,
            # An answer in which a cached token was found would have withdrawn the cell.
            "prompt_cache": False if None not in cached else None,
            "kv_position": _position(cell, answers),
            "arm_order": "interleaved, ABBA BAAB" if len(cells) > 1 else None,
        }
    )


def _warm_up_requests(found: Found, cell: Cell) -> int:
    """How many answers were dropped after a start, the least of all starts that were needed."""
    written, dropped, now = name_in_journal(cell.name), list[int](), 0
    for record in found.journal.records:
        if isinstance(record, Started) and record.cell == written:
            now = 0
        elif isinstance(record, Measured) and record.cell == written:
            now += record.warm_up
            if not record.warm_up and now:
                dropped.append(now)
                now = 0
    return min(dropped, default=0)


def _position(cell: Cell, answers: Sequence[Answer]) -> Json | None:
    """Where a filled cache stood, as counted, and where it was to be filled to."""
    meant = cell.circumstances.filled_tokens
    if meant is None:
        return None
    lengths = [prompt_length(answer) for answer in answers]
    known = [each for each in lengths if each is not None]
    actual = round(sum(known) / len(known)) if len(known) == len(lengths) else None
    return _known({"filled_tokens": actual, "fill_to_tokens": meant})


def prompt_length(answer: Answer) -> int | None:
    """Tokens in the KV cache before decode; None where the engine does not count them."""
    sample = answer.sample
    return (
        None if sample.prompt_tokens is None else sample.prompt_tokens + (sample.cached_tokens or 0)
    )


# Speeds


def _by_round(found: Found, cell: Cell, reading: Reading) -> dict[int, float]:
    """What a reading gives for each round in which all answers tell it."""
    rounds = found.rounds.of(cell.name)
    values = {pair: reading.value(each.values()) for pair, each in rounds.items()}
    return {pair: value for pair, value in values.items() if value and math.isfinite(value)}


def _speed(found: Found, cell: Cell, path: str) -> Json | None:
    """A speed or a time over all answers; None where some of them do not tell."""
    whole = _POOLED[path].value(found.answers(cell))
    samples = _by_round(found, cell, _POOLED[path])
    if not whole or not math.isfinite(whole) or len(samples) < len(found.rounds.of(cell.name)):
        return None
    return repeated(whole, list(samples.values()), _ESTIMATORS.get(path, "pooled"))


def _decode(found: Found, cell: Cell) -> Json:
    """Tokens after the first one of each answer, the seconds they took, and their ratio."""
    speed = _speed(found, cell, "decode.tok_s")
    pairs = [_DECODE.terms(answer) for answer in found.answers(cell)]
    if speed is None or None in pairs:
        return {}
    tokens, seconds = (sum(column) for column in zip(*cast("Any", pairs), strict=True))
    return {"tokens": int(tokens), "seconds": rounded(seconds), "tok_s": speed}


def _speedup(found: Found, cell: Cell) -> Json | None:
    """The ratio to the baseline of the series, of all answers and of each round."""
    plain = found.plain_of(cell)
    if plain is None:
        return None
    first, second = (_by_round(found, each, _DECODE) for each in (cell, plain))
    pooled = [_DECODE.value(found.answers(each)) for each in (cell, plain)]
    if not first or not second or not all(pooled):
        return None
    ratio = cast("float", pooled[0]) / cast("float", pooled[1])
    pairs = sorted(first) if first.keys() == second.keys() else []
    samples = [first[pair] / second[pair] for pair in pairs]
    # Rounds that only one arm has, or of other lengths, may put the ratio outside its samples.
    fits = bool(samples) and min(samples) <= ratio <= max(samples)
    told = repeated(ratio, samples, "pooled") if fits else {"value": rounded(ratio)}
    return {**told, "over": plain.name}


# Acceptance


def _speculation(cell: Cell, whole: Measurements) -> Json | None:
    if cell.arm.method is None or whole.counts is None:
        return None
    counts = whole.counts
    length, rate = counts.accepted_length, counts.rate
    positions = _positions(cell, whole)
    return _known(
        {
            "acceptance_rate": None if rate is None else {"value": share(rate), "of": "drafted"},
            "accepted_length": None
            if length is None
            else {"value": share(length), "counts_bonus_token": True},
            "per_position": {"values": positions, "kind": "cumulative"} if positions else None,
            "counts": _counts(counts),
        }
    )


def _positions(cell: Cell, whole: Measurements) -> list[Any]:
    """Shares of verify steps from position 1 on; engines leave out what nothing reached."""
    told = list(whole.per_position)
    rest = max((cell.arm.draft_length or 0) - len(told), 0) if told else 0
    return [share(each) for each in told + [0.0] * rest]


def _counts(counts: CanonicalCounts) -> Json:
    members = {
        "drafted": counts.drafted,
        "accepted": counts.accepted,
        "verify_steps": counts.steps,
        "plain_steps": counts.plain_steps,
        "output_tokens": counts.output,
        "requests": counts.requests,
    }
    return {name: int(number) for name, number in members.items() if number is not None}


# Output


def _losslessness(found: Found, cell: Cell) -> Json:
    """Whether greedy answers are the baseline's, and whether they repeat.

    Drawn answers differ by chance, so there is nothing to compare.
    """
    told: Json = {}
    for each in found.judgement.losslessness:
        if each.cell == cell.name:
            told |= _repeats(each) if each.baseline is None else _matches(each, each.baseline)
    return told


def _matches(found: Comparison, baseline: str) -> Json:
    """By prompt, in the first round that has both: later rounds repeat the same prompts."""
    first = found.first
    return _known(
        {
            "baseline": baseline,
            "compared": "prompt",
            "match_rate": share(found.alike / found.prompts),
            "n": found.prompts,
            "first_divergence": None if first is None else first.token,
            "explanation": _explanation(found),
        }
    )


def _explanation(found: Comparison) -> str | None:
    """Why answers differ, where the engine told the margin of every difference."""
    margin = found.largest_margin
    if margin is None or not all(each.is_near_tie for each in found.differences):
        return None
    return f"near-ties: where answers part, the two tokens' logits are {margin:.2g} apart or less"


def _repeats(found: Comparison) -> Json:
    return {"repeat_identical": not found.differences}


# The rest


def _memory(found: Found, cell: Cell) -> Json:
    """Device memory after answers, when the cache holds them."""
    used = found.estimates.memory_mib(cell)
    return {} if used is None else {"device_used_mib": round(used), "measured": "after_fill"}


def _measurement(found: Found, cell: Cell) -> Json:
    clocks = {answer.sample.timed_by for answer in found.answers(cell)}
    by = {frozenset({"engine"}): "engine_counter", frozenset({"client"}): "client"}
    bundled = cell.prompts.name in BUNDLED and cell.circumstances.filled_tokens is None
    return _known(
        {
            "by": by.get(frozenset(clocks)),
            "counters": "per_run" if clocks == {"engine"} else None,
            "window": "decode_only",
            "prompt_kind": "natural" if bundled else None,
            "tool": f"benchlint {found.judgement.tool}",
        }
    )


def _finish_reasons(found: Found, cell: Cell) -> Json:
    reasons = [answer.sample.finish_reason for answer in found.answers(cell)]
    return dict(Counter(each for each in reasons if each)) if None not in reasons else {}


def _notes(found: Found, cell: Cell, whole: Measurements) -> Iterator[str]:
    """What a reader should know that no field holds."""
    written = name_in_journal(cell.name)
    for void in found.journal.of_kind(Void):
        if void.cell == written and void.pair is not None:
            yield f"round {void.pair + 1} does not count: {void.reason}"
    if whole.outliers:
        named = ", ".join(str(pair + 1) for pair in whole.outliers)
        yield f"rounds that lie far out, and count: {named}"


# Claims


def claims_of(found: Found) -> Iterator[Json]:
    """The speed-up of each arm, where its 95 % interval over rounds leaves out 1."""
    for cell in found.plan.cells:
        plain, told = found.plain_of(cell), _speedup(found, cell)
        ratio = None if plain is None else _log_ratio(found, cell, plain)
        if plain is None or told is None or ratio is None:
            continue
        interval = ratio.interval(SHOWN_CONFIDENCE)
        if not interval.low <= 0 <= interval.high:
            yield _claim(cell, plain, told, interval)


def _log_ratio(found: Found, cell: Cell, plain: Cell) -> Estimate | None:
    first, second = (_by_round(found, each, _DECODE) for each in (cell, plain))
    logs = [math.log(first[p] / second[p]) for p in sorted(first.keys() & second.keys())]
    estimate = mean_of(logs) if len(logs) > 1 else None
    return None if estimate is None or not estimate.error else estimate


def _claim(cell: Cell, plain: Cell, told: Json, interval: Interval) -> Json:
    ends = shown_interval(Interval(math.exp(interval.low), math.exp(interval.high)), 3)
    value = {name: told[name] for name in ("value", "stdev", "repeats") if name in told}
    rounds = f" over {told['repeats']} rounds" if "repeats" in told else ""
    return {
        "text": f"{cell.name} decodes {_text(told['value'])} times as fast as {plain.name} "
        f"({100 * SHOWN_CONFIDENCE:.0f} % interval {ends}{rounds})",
        "metric": "decode.tok_s",
        "of": cell.name,
        "relation": "ratio",
        "to": plain.name,
        "value": value,
        "scope": {"serving": "single_stream", "workloads": [cell.prompts.name]},
    }


def _text(number: float) -> str:
    return str(getattr(number, "text", number))


def output_lengths(answers: Sequence[Answer]) -> int | Json:
    """Tokens of an answer, the first one included."""
    return summed_up([answer.sample.output_tokens for answer in answers])
