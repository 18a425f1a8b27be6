"""BL210 to BL219: rates against times, parts against wholes, and what a number is called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from benchlint.checker.count_checks import rate_from_counts, rate_of_others
from benchlint.checker.definitions import (
    RATE_SLACK,
    Definition,
    LengthReading,
    RateReading,
    printed_by,
    rate_from_tau,
)
from benchlint.checker.facts import MANY_RUNS, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.length_checks import fits_as, meets, rise_of, target_of, taus_of
from benchlint.checker.measured_objects import Measurement, measurements_of
from benchlint.checker.numbers import (
    Interval,
    Reported,
    printed,
    shown,
    shown_interval,
    unit_of_last_digit,
)
from benchlint.checker.pointers import pointer as make_pointer
from benchlint.checker.rate_checks import (
    MEAN_OF_RATES,
    TIMER,
    Related,
    first_token_share,
    of_one_request,
    rate_of,
    rate_problems,
)
from benchlint.checker.rate_definitions import definition_of_others, fitting_definition
from benchlint.checker.readings import Readings
from benchlint.checker.registry import Problem, rule
from benchlint.checker.shares import mix_in_percent, sum_of

# --- BL210 -----------------------------------------------------------------------------------


@rule(
    "BL210",
    "rate-times-time",
    Severity.ERROR,
    "run",
    yields_to=["BL223"],
    needs=[
        "decode.seconds | prefill.seconds | prefill.ttft_ms | throughput.seconds"
        " | throughput.requests_per_s | step_time_ms"
    ],
)
def rate_times_time(run: RunFacts) -> Iterator[Problem]:
    """A rate that its own tokens and seconds do not give.

    What it does:
        tok/s × seconds must be the tokens, with or without the first token of each request, in
        decode, prefill and throughput; a time to first token holds the prefill; at concurrency
        1 a step time is at most τ/(tok/s), since each step yields τ tokens (a warning when it
        is far shorter). An error for one request or a pooled figure; a warning where the seconds
        may be the wall time of several streams. Over several requests a mean of rates is not
        tokens over seconds: a warning beyond 25 %.
    Why it matters:
        Two of the three numbers are from different windows, requests or runs, and nobody can
        say which one is the speed.
    Example:
        1024 tokens in 12.0 s at 61.5 tok/s: 61.5 × 12.0 = 738.
    Instead:
        Tokens, seconds and tok/s of one window, or `"estimator": "mean"` beside a mean of rates.
    Sources:
        llama.cpp tools/server timings (n/t through 0.3.31, (n - 1)/t after); vllm bench serve;
        ml-explore/mlx-lm#1211, where the time includes prefill.
    """
    yield from rate_problems(run)


# --- BL211 -----------------------------------------------------------------------------------


@rule(
    "BL211",
    "shares-do-not-sum",
    Severity.ERROR,
    "report",
    yields_to=["BL208", "BL223"],
    needs=["workloads.mix"],
)
def shares_do_not_sum(report: ReportFacts) -> Iterator[Problem]:
    """A workload mix whose shares do not sum up to 1.

    What it does:
        Adds up the shares of each workload's mix; each may be off by a unit of its last digit.
    Why it matters:
        A speed over a mix is a weighted mean: with wrong weights nobody can rebuild it.
    Example:
        `{"code": 0.7, "prose": 0.5}`: 1.2.
    Instead:
        Shares of the prompts (or of output tokens) that sum up to 1, the rest named `other`; or
        a list of names where shares are not known.
    Sources:
        The report format, version 1.
    """
    for name, workload in (report.model.workloads or {}).items():
        mix = workload.mix
        if not isinstance(mix, dict) or not mix or mix_in_percent(mix) or min(mix.values()) < 0:
            continue
        if not sum_of(mix).meets(1.0):
            at = make_pointer("workloads", name)
            added = " + ".join(printed(v) for v in mix.values())
            yield Problem(
                f"{at}/mix",
                f"the shares of workload {name!r} sum up to {added} = {shown(sum(mix.values()))}",
                related=[(make_pointer("workloads", name, "mix", each), each) for each in mix],
                help="shares of 1 by kind; name the rest, or list the kinds without shares",
                subject=at,
            )


# --- BL212 -----------------------------------------------------------------------------------


@rule(
    "BL212",
    "pooled-outside-parts",
    Severity.ERROR,
    "run",
    yields_to=["BL208", "BL223"],
    needs=["parts"],
)
def pooled_outside_parts(run: RunFacts) -> Iterator[Problem]:
    """A pooled figure that lies outside the runs it pools.

    What it does:
        Where a run names its `parts`, each of its rates, lengths and times must lie between the
        smallest and the largest of the parts, and each counter must be their sum. Compared only
        where all parts have the number, with the same definition and estimator. Where none is
        said the parts may be means over requests and the whole sums: a note within 20 %, else a
        warning.
    Why it matters:
        Any weighted mean lies between its parts, whatever the weights. Outside it, a part is
        missing or the number is of something else.
    Example:
        80.9 tok/s pooled from 38.3 and 74.1 tok/s.
    Instead:
        Sums divided by sums over all parts.
    Sources:
        Arithmetic; ΣN/Σt for speed, Σ(s + A)/Σs for accepted length, ΣA/ΣD for the rate.
    """
    if not run.model.parts or not run.parts:
        return
    for block, name, what in _POOLED:
        whole = run.number(block, name)
        parts = [p.number(block, name) for p in run.parts]
        if whole is not None and all(p is not None for p in parts):
            yield from _outside(run, whole, [p for p in parts if p is not None], what)
    yield from _pooled_acceptance(run)
    yield from _pooled_counts(run)


_POOLED = (
    ("decode", "tok_s", "decode speed"),
    ("decode", "time_per_output_token_ms", "time per output token"),
    ("prefill", "tok_s", "prefill speed"),
)


def _outside(
    run: RunFacts, whole: Reported, parts: Sequence[Reported], what: str
) -> Iterator[Problem]:
    if any(p.estimator != whole.estimator for p in parts):
        return
    low = min(parts, key=lambda p: p.span.low)
    high = max(parts, key=lambda p: p.span.high)
    wide = whole.span.widened(TIMER)
    severity = _outside_severity(run, whole, Interval(low.span.low, high.span.high))
    if severity is not None:
        side = (
            f"below the lowest of its parts, {low}"
            if wide.below(low.span.low)
            else (f"above the highest of its parts, {high}")
        )
        yield Problem(
            whole,
            f"{what} {whole} is {side}",
            related=[(p, "part") for p in parts],
            help=_OUTSIDE if whole.estimator else f"{_OUTSIDE}; or say `estimator` in each",
            severity=severity,
        )


_OUTSIDE = "a pooled figure is the sums over all parts divided by each other"


def _outside_severity(run: RunFacts, whole: Reported, parts: Interval) -> Severity | None:
    """An error unless the parts may be means over requests, which need not enclose a sum."""

    def fits(slack: float) -> bool:
        return whole.span.widened(max(slack, TIMER)).meets(parts)

    if fits(0.0):
        return None
    if whole.estimator is not None or all(p.readings.single for p in run.parts):
        return Severity.ERROR
    return run.readings.verdict(fits, whole, beside_sums=True)


def _pooled_acceptance(run: RunFacts) -> Iterator[Problem]:
    if run.model.speculation is None:
        return
    parts = run.parts
    pairs = (
        ([r.readings.length for r in (run, *parts)], "accepted length τ", "counts_bonus_token"),
        ([r.readings.rate for r in (run, *parts)], "acceptance rate", "acceptance_rate_of"),
    )
    for numbers, what, stated in pairs:
        known = [n for n in numbers if n is not None]
        same = len({getattr(r, stated) for r in (run, *parts)}) == 1
        if len(known) == len(numbers) and same:
            yield from _outside(run, known[0], known[1:], what)
    yield from _pooled_positions(run)


def _pooled_positions(run: RunFacts) -> Iterator[Problem]:
    if len({r.positions_kind for r in (run, *run.parts)}) > 1:
        return
    for i, whole in enumerate(run.readings.positions):
        parts = [p.readings.positions for p in run.parts]
        if all(len(p) > i for p in parts):
            yield from _outside(
                run, whole, [p[i] for p in parts], f"acceptance at position {i + 1}"
            )


def _pooled_counts(run: RunFacts) -> Iterator[Problem]:
    if run.counts is None:
        return
    for name in ("drafted", "accepted", "verify_steps", "plain_steps", "output_tokens", "requests"):
        whole = run.count(name)
        found = [p.count(name) for p in run.parts]
        parts = [p for p in found if p is not None]
        if whole is None or len(parts) < len(found):
            continue
        total = sum(p.value for p in parts)
        if total != whole.value:
            added = " + ".join(str(p) for p in parts)
            yield Problem(
                whole,
                f"{name} of the pooled run is {whole}, but its parts give {added} = {total:.0f}",
                related=[(p, "part") for p in parts],
                help="name all parts, or count the same runs",
            )


# --- BL213 -----------------------------------------------------------------------------------


@rule(
    "BL213",
    "mean-outside-samples",
    Severity.ERROR,
    "run",
    yields_to=["BL208", "BL223"],
    needs=["*.samples | *.range | *.percentiles | throughput.peak_tok_s"],
)
def mean_outside_samples(run: RunFacts) -> Iterator[Problem]:
    """A number that its own samples, range, deviation or percentiles rule out.

    What it does:
        A value lies within its samples and its range, samples lie within the range, a standard
        deviation over n values is at most (max - min)/2 · √(n/(n - 1)), percentiles do not fall
        (of a speed they may fall throughout, where p99 is meant as the slow end), and a peak
        that counts tokens is not below the mean.
    Why it matters:
        These hold for any data at all. When one breaks, a number was mistyped or belongs to
        another run.
    Example:
        `{"value": 59.2, "range": [52.0, 58.4]}`
    Instead:
        Value, range and deviation of the same measurements.
    Sources:
        Popoviciu's inequality on variances; Brown and Heathers 2017 (GRIM); vllm#37666, where a
        peak of 113 stands beside a mean of 410.61.
    """
    for found in measurements_of(run):
        yield from _value_and_samples(found)
        yield from _deviation(found)
        yield from _percentiles(found)
    peak, mean = run.peak_tok_s, run.throughput_tok_s
    if peak is None or mean is None or not peak.span.below(mean.span):
        return
    if run.model.throughput is not None and run.model.throughput.peak_counts == "tokens":
        yield Problem(
            peak,
            f"peak {peak} tok/s is below the mean {mean} tok/s",
            related=[(mean, "mean throughput")],
            help="the peak seems to count streamed chunks: state peak_counts: chunks",
        )


def _ends(values: Sequence[float]) -> tuple[Interval, Interval]:
    """The smallest and the largest, each with a unit of its last digit.

    Of numbers with unlike digits, as 581 beside 580.9, any may be the smallest.
    """
    each = [_near(value) for value in values]
    low = Interval(min(e.low for e in each), min(e.high for e in each))
    return low, Interval(max(e.low for e in each), max(e.high for e in each))


def _value_and_samples(found: Measurement) -> Iterator[Problem]:
    detail, number = found.detail, found.number
    for name, values in (("samples", detail.samples), ("range", detail.range)):
        if not values:
            continue
        low, high = _ends(values)
        text = f"{printed(min(values))} to {printed(max(values))}"
        at = f"{found.pointer}/{name}"
        outside = number is not None and (number.span.below(low) or number.span.above(high))
        if detail.value is not None and number is not None and outside:
            yield _not_within(number, f"{found.what} {number}", name, text, at)
            return
        if name == "range" and detail.samples:
            first, last = _ends(detail.samples)
            if first.below(low) or last.above(high):
                yield _not_within(f"{found.pointer}/samples", "a sample", name, text, at)


def _not_within(at: Reported | str, what: str, name: str, text: str, related: str) -> Problem:
    return Problem(
        at,
        f"{what} lies outside its own {name}, {text}",
        related=[(related, name)],
        help="give value, samples and range of the same measurements",
    )


def _deviation(found: Measurement) -> Iterator[Problem]:
    detail = found.detail
    values = detail.samples or detail.range
    if detail.stdev is None or not values or detail.stdev < 0:
        return
    low, high = _ends(values)
    n = len(detail.samples) if detail.samples else max(detail.repeats or 2, 2)
    if n < 2:
        return
    # Popoviciu's inequality, with n - 1 in the denominator.
    most = (high.high - low.low) / 2 * math.sqrt(n / (n - 1))
    if float(detail.stdev) - unit_of_last_digit(detail.stdev) > most * (1 + 1e-9):
        spread = f"({printed(max(values))} - {printed(min(values))})/2 · √({n}/{n - 1})"
        yield Problem(
            f"{found.pointer}/stdev",
            f"standard deviation {printed(detail.stdev)} of {found.what} is more than "
            f"{n} values in that range can have: {spread} = {shown(most)} at most",
            related=[(found.values_pointer, "samples or range")],
            help="give deviation and range of the same measurements",
        )


def _percentiles(found: Measurement) -> Iterator[Problem]:
    ranked = sorted((rank, name) for name in found.detail.percentiles or {} for rank in _rank(name))
    if len(ranked) < 2:
        return
    values = found.detail.percentiles or {}
    falls = [
        (a, b) for (_, a), (_, b) in pairwise(ranked) if _near(values[b]).below(_near(values[a]))
    ]
    rises = any(_near(values[b]).above(_near(values[a])) for (_, a), (_, b) in pairwise(ranked))
    if not falls or (found.is_rate and not rises):
        return
    a, b = falls[0]
    yield Problem(
        f"{found.pointer}{make_pointer('percentiles', b)}",
        f"{b} {printed(values[b])} of {found.what} is below {a} {printed(values[a])}",
        related=[(f"{found.pointer}{make_pointer('percentiles', a)}", a)],
        help="percentiles of one set of measurements do not fall",
    )


def _near(value: float) -> Interval:
    return Interval.around(float(value), unit_of_last_digit(value))


def _rank(name: str) -> Iterator[float]:
    """The rank in a percentile's name: p99.9 gives 99.9; nothing for other names."""
    digits = name.strip().lower().removeprefix("p").removesuffix("th").replace("_", ".")
    try:
        rank = float(digits)
    except ValueError:
        return
    if 0 <= rank <= 100:
        yield rank


# --- BL214 -----------------------------------------------------------------------------------


@rule(
    "BL214",
    "arithmetic-mean-of-rates",
    Severity.WARNING,
    "run",
    yields_to=["BL210", "BL212"],
    needs=["decode.tok_s", "parts | decode.seconds"],
)
def arithmetic_mean_of_rates(run: RunFacts) -> Iterator[Problem]:
    """A speed that is the arithmetic mean of speeds.

    What it does:
        Warns where a pooled run's tok/s is the arithmetic mean of its parts and not tokens over
        time, and where tok/s over several prompts is above its own tokens over seconds. Silent
        where `estimator` says mean.
    Why it matters:
        Fast parts take little time, so the mean of rates overstates what a user gets: 1000
        tokens at 80.9 and 1000 at 28 tok/s are 41.6 tok/s together, not 54.4.
    Example:
        Parts of 80.87 and 28.0 tok/s, pooled as 54.4.
    Instead:
        ΣN/Σt, the tokens of all parts over their seconds; or `"estimator": "mean"`.
    Sources:
        Public harnesses: 73.97 as a mean of rates where tokens over time are 69.81.
    """
    tok_s = run.decode_tok_s
    if tok_s is None or tok_s.estimator is not None:
        return
    if run.parts:
        yield from _mean_of_parts(run, tok_s)
    elif (run.readings.requests or 0) > 1 and (run.concurrency or 1) == 1:
        rate = rate_of(run, "decode", "decoded tokens")
        if rate is not None and (rate.tok_s.near * rate.seconds.near).above(
            (rate.tokens.span + 1).widened(TIMER)
        ):
            pooled = shown(rate.tokens.value / rate.seconds.value)
            yield Problem(
                tok_s,
                f"{tok_s} tok/s is above tokens over seconds, "
                f"{rate.tokens}/{rate.seconds} = {pooled}: a mean of rates?",
                related=rate.related,
                help="give tokens over seconds, or state estimator: mean",
            )


def _mean_of_parts(run: RunFacts, tok_s: Reported) -> Iterator[Problem]:
    speeds = [p.decode_tok_s for p in run.parts]
    known = [s for s in speeds if s is not None and s.span.low > 0]
    if len(known) < len(speeds) or len(known) < 2:
        return
    mean = sum((s.near for s in known), start=Interval(0, 0)) / len(known)
    pooled = _pooled_speed(run, known)
    if not tok_s.near.meets(mean) or tok_s.near.meets(pooled.widened(TIMER)):
        return
    added = " + ".join(str(s) for s in known)
    yield Problem(
        tok_s,
        f"{tok_s} tok/s is the arithmetic mean of its parts, ({added})/{len(known)}; "
        f"their tokens over their time give {shown_interval(pooled)}",
        related=[(s, "part") for s in known],
        help="give tokens over seconds of all parts, or state estimator: mean",
    )


def _pooled_speed(run: RunFacts, speeds: Sequence[Reported]) -> Interval:
    """Tokens over time of the parts; of equal tokens each where they are not stated."""
    tokens = [p.decode_tokens for p in run.parts]
    known = [t.value for t in tokens if t is not None and t.value > 0]
    weights = known if len(known) == len(speeds) else [1.0] * len(speeds)
    times = [Interval.of(w) / s.near for w, s in zip(weights, speeds, strict=True)]
    return sum(weights) / sum(times, start=Interval(0, 0))


# --- BL215 -----------------------------------------------------------------------------------


@rule(
    "BL215",
    "positions-vs-draft-length",
    Severity.ERROR,
    "run",
    yields_to=["BL203"],
    needs=["speculation.per_position | speculation.histogram"],
)
def positions_vs_draft_length(run: RunFacts) -> Iterator[Problem]:
    """Acceptance at positions, or steps that accepted more, beyond the draft length.

    What it does:
        A list by position, and a histogram, hold nothing but zeros beyond K (a tree: beyond its
        depth). A list of K + 1 numbers that starts with 1 is read as one that starts with the
        target's own token: a warning.
    Why it matters:
        A token that was not drafted cannot be accepted: the list or K is of another run.
    Example:
        `"draft_length": 4` with five positions 0.80, 0.61, 0.47, 0.38, 0.30.
    Instead:
        The K that the run was started with. SGLang's number of draft tokens is K + 1.
    Sources:
        vLLM v1/spec_decode/metrics.py (one counter a position); DFlash: K is the block size
        less one.
    """
    block = run.model.speculation
    if block is None or (block.per_position is None and not block.histogram):
        return
    r = run.readings
    if r.k is None:
        return
    k = int(r.k.value)
    beyond = [p for p in r.positions[k:] if p.span.low > 0]
    if beyond:
        yield _beyond_k(r, r.k, beyond[0])
    steps = r.histogram[k + 1 :]
    if any(n > 0 for n in steps):
        j = next(j for j, n in enumerate(r.histogram) if j > k and n > 0)
        yield Problem(
            run.at("speculation", "histogram", j),
            f"{r.histogram[j]} steps accepted {j} draft tokens, more than {r.k_name} = {r.k}",
            related=[(r.k, "most draft tokens a step can accept")],
            help="index 0 counts the steps that accepted none; give the run's own K",
            severity=None if r.k_is_a_cap else Severity.WARNING,
        )


def _beyond_k(r: Readings, k: Reported, beyond: Reported) -> Problem:
    i = r.positions.index(beyond) + 1
    from_root = len(r.positions) == k.value + 1 and r.positions[0].value == 1
    advice = "give the K that the run was started with"
    if from_root:
        advice = "leave out the first number, the target's own token, which is always accepted"
    return Problem(
        beyond,
        f"acceptance {beyond} at position {i}, beyond {r.k_name} = {k}",
        related=[(k, "most draft tokens a step can accept")],
        help=advice,
        severity=Severity.WARNING if from_root or not r.k_is_a_cap else None,
    )


# --- BL216 -----------------------------------------------------------------------------------


@rule(
    "BL216",
    "definition-inferred",
    Severity.NOTE,
    "run",
    yields_to=["BL204", "BL206", "BL208"],
    needs=[
        "speculation.acceptance_rate | speculation.accepted_length | speculation.per_position",
        "speculation.accepted_length | speculation.counts | speculation.per_position",
    ],
)
def definition_inferred(run: RunFacts) -> Iterator[Problem]:
    """A number that fits its neighbours under another definition than the usual one.

    What it does:
        Where `of` is not stated and the rate is not accepted/drafted by the counts, or by τ and
        K, tries the other definitions in turn: τ without the bonus token, share of output
        (τ - 1)/τ, τ/(K + 1), per-token α, acceptance at the first position; where the engine
        is stated and none of its own fits, those of other engines; or vLLM V0's rate, which goes
        on past a rejection, where every draft is known to have had K tokens. Where some passes
        carry no draft, τ may be tokens per target pass. Where `kind` is not stated and a
        per-position list cannot be cumulative, says that it is read as conditional. Names the
        definition that fits, and gives accepted/drafted.
    Why it matters:
        A share of output of 0.75 is an accepted length of 4, whatever K is; accepted/drafted of
        0.75 is 4 at K = 4 and 12.25 at K = 15.
    Example:
        Rate 0.75 with τ 4.0 and K = 7: (4 - 1)/4 = 0.75, while accepted/drafted is 0.43.
    Instead:
        `{"value": 0.75, "of": "output"}`, or accepted/drafted.
    Sources:
        LM Studio docs and mlx_lm/generate.py (share of output); SGLang
        scheduler_metrics_mixin.py (τ/(K + 1)), sgl-project/sglang#11948; NeMo Skills docs.
    """
    if run.model.speculation is None:
        return
    yield from _rate_definition(run)
    yield from _length_definition(run.readings)
    yield from _kind_definition(run.readings)


def _rate_definition(run: RunFacts) -> Iterator[Problem]:
    r = run.readings
    rate = r.rate
    if rate is None or run.acceptance_rate_of is not None:
        return
    accepted, drafted = run.count("accepted"), run.count("drafted")
    if accepted is not None and drafted is not None and drafted.value > 0:
        yield from _definition_by_counts(r, rate, accepted, drafted)
    elif r.length is not None and r.k is not None and r.chain is not False:
        yield from _definition_by_length(r, rate, r.length, r.k)


def _definition_by_counts(
    r: Readings, rate: Reported, accepted: Reported, drafted: Reported
) -> Iterator[Problem]:
    ratio = accepted.value / drafted.value
    if rate.span.meets(ratio) or not 0 <= ratio <= 1:
        return
    if RateReading.CONFIGURED in r.rates and rate.near.widened(0.1).meets(ratio):
        return  # all but the last drafts have K tokens: the same number
    reading = _reading_by_counts(r, rate) or rate_of_others(r, rate)
    if reading is not None:
        yield Problem(
            rate,
            f"acceptance rate {rate} is read as {_read_as(r, reading)}; "
            f"accepted/drafted is {accepted}/{drafted} = {shown(ratio)}",
            related=[(accepted, "accepted tokens"), (drafted, "drafted tokens")],
            help=_say(reading),
        )


def _reading_by_counts(r: Readings, rate: Reported) -> RateReading | None:
    """The first of its readings that the counters give; one that fits a wide range says little."""
    for reading in r.rates:
        value = rate_from_counts(r, reading)
        if value is not None and rate.span.meets(value) and value.high - value.low < 0.1:
            return reading
    return None


def _read_as(r: Readings, reading: RateReading) -> str:
    """The definition in words and as a formula, and whose it is where not the engine's own."""
    words = f"{reading.words}, {reading.formula}"
    if reading in r.rates:
        return words
    return f"{words}, as {' and '.join(printed_by(reading))} define it"


#: Definitions that every draft of K tokens makes one.
_USUAL = (RateReading.DRAFTED, RateReading.CONFIGURED)


def _definition_by_length(
    r: Readings, rate: Reported, length: Reported, k: Reported
) -> Iterator[Problem]:
    found = fitting_definition(r, (rate, length), r.rates) if r.chain else None
    if found is None or found.factor != 1:
        found = definition_of_others(r, rate, length)
    if found is None:
        yield from _past_a_rejection(r, rate, length, k)
        return
    usual = found.rate in r.rates and found.rate in _USUAL
    if usual and found.length is not LengthReading.DRAFTS_ONLY:
        return
    if found.length is LengthReading.DRAFTS_ONLY and r.run.configuration.fixed_k:
        return  # BL207 says so
    yield _inferred(r, found, (rate, length, k))


def _past_a_rejection(
    r: Readings, rate: Reported, length: Reported, k: Reported
) -> Iterator[Problem]:
    """A rate above accepted/drafted where all drafts are known to have had K tokens (vLLM V0)."""
    drafted, steps = r.run.count("drafted"), r.run.count("verify_steps")
    if RateReading.ANY_POSITION not in r.rates or drafted is None or steps is None:
        return
    most = rate_from_tau(length.span.high, k.value) * (1 + RATE_SLACK)
    if drafted.value != k.value * steps.value or rate.span.low <= most:
        return
    strict = shown((length.value - 1) / k.value, 3)
    yield Problem(
        rate,
        f"acceptance rate {rate} with τ {length} and K = {k} is read as "
        f"{RateReading.ANY_POSITION.words} (vLLM V0); accepted/drafted is "
        f"({length} - 1)/{k} = {strict}",
        related=[(length, "accepted length"), (k, "draft length K"), (drafted, "drafted tokens")],
        help=_say(RateReading.ANY_POSITION),
    )


def _inferred(
    r: Readings, found: Definition, numbers: tuple[Reported, Reported, Reported]
) -> Problem:
    rate, length, k = numbers
    tau = length.value + (1 if r.run.counts_bonus_token is False else 0)
    if found.length is LengthReading.DRAFTS_ONLY:
        text = (
            f"τ {length} is read as {found.length.words}: K × rate = {k} × {rate} = "
            f"{shown(k.value * rate.value)}"
        )
        related: Related = [(rate, "acceptance rate"), (k, "draft length K")]
        return Problem(length, text, related, "state counts_bonus_token: false, or add 1")
    strict = shown((tau - 1) / k.value)
    return Problem(
        rate,
        f"acceptance rate {rate} with τ {length} and K = {k} is read as {_read_as(r, found.rate)}; "
        f"accepted/drafted is ({shown(tau)} - 1)/{k} = {strict}",
        related=[(length, "accepted length"), (k, "draft length K")],
        help=_say(found.rate),
    )


def _say(reading: RateReading) -> str:
    stated = {RateReading.OUTPUT: "output", RateReading.CONFIGURED: "configured"}.get(reading)
    if stated is not None:
        return f"state of: {stated}, or give accepted/drafted"
    return "give accepted/drafted, or say what the rate is a share of"


def _length_definition(r: Readings) -> Iterator[Problem]:
    """τ over all target passes, where the counters give it only so."""
    counted, length = r.counted_tau, r.length
    if counted is None or length is None or LengthReading.PER_PASS not in r.lengths:
        return
    over_steps = [t for t in r.taus if t[0] is not LengthReading.PER_PASS]
    if meets(over_steps, counted.span) or not meets(r.taus, counted.span):
        return
    plain, per_step = r.run.count("plain_steps"), f"{counted.text} per verify step"
    related = [*counted.evidence]
    if plain is not None:
        related.append((plain, "passes without a draft"))
    yield Problem(
        length,
        f"τ {length} is read as {LengthReading.PER_PASS.words}; it is {per_step}",
        related=related,
        help="give τ = 1 + accepted/verify steps; passes without a draft are plain_steps",
    )


def _kind_definition(r: Readings) -> Iterator[Problem]:
    if len(r.positions) < 2 or len(r.kinds) < 2:
        return
    conditional = fits_as(r, "conditional")
    rise = rise_of(r.positions)
    if rise is None and (not conditional or meets(taus_of(r), target_of(r, "cumulative"))):
        return
    if conditional is False:
        return
    why = "it rises" if rise is not None else "1 + Σp is not τ"
    related: Related = [] if r.length is None else [(r.length, "accepted length")]
    yield Problem(
        r.run.at("speculation", "per_position", "values"),
        f"the per-position list is read as conditional: {why}, as no cumulative list may",
        related=[*related, *((p, "position") for p in rise or ())],
        help="state kind: conditional, or give the share of steps that accepted at least i",
    )


# --- BL217 -----------------------------------------------------------------------------------


@rule(
    "BL217",
    "end-to-end-exceeds-decode",
    Severity.ERROR,
    "run",
    yields_to=["BL223"],
    needs=["throughput.end_to_end_tok_s", "decode.tok_s"],
)
def end_to_end_exceeds_decode(run: RunFacts) -> Iterator[Problem]:
    """An end-to-end speed, or speed-up, above that of decode alone.

    What it does:
        Per stream, output tokens over the whole latency cannot exceed tokens over decode time
        (with or without the first token). And where only decode is accelerated, the end-to-end
        speed-up cannot exceed the decode speed-up S ≥ 1, given the same number of tokens and no
        shorter prefill. A warning where means over several requests, or the speed of all streams
        together, may explain it.
    Why it matters:
        S_e = 1/((1 - f) + f/S) ≤ S, with f the share of decode in the baseline's time. More
        means that the prefill was cached, or the windows differ.
    Example:
        Decode 61.2 tok/s, end to end 64.0 tok/s.
    Instead:
        Both of the same requests; the end-to-end figure with prefill in its window.
    Sources:
        Amdahl's law; ml-explore/mlx-lm#1211; vllm#17202 (offline and online speed-ups differ).
    """
    whole = run.number("throughput", "end_to_end_tok_s")
    decode = run.decode_tok_s
    if whole is None or decode is None or decode.span.low <= 0:
        return
    if whole.span.low > decode.span.high * first_token_share(run) * (1 + _mean_slack(run)):
        yield Problem(
            whole,
            f"end to end {whole} tok/s > decode {decode} tok/s",
            related=[(decode, "decode speed")],
            help="end to end is output tokens over latency with prefill, per stream",
            severity=_mean_severity(run, whole, decode),
        )
        return
    yield from _speedup_end_to_end(run, whole, decode)


def _mean_slack(run: RunFacts) -> float:
    """How far means of different kinds over several requests may part."""
    whole, decode = run.number("throughput", "end_to_end_tok_s"), run.decode_tok_s
    if whole is None or decode is None or of_one_request(run, decode, whole):
        return TIMER
    return 0.05 if whole.estimator == decode.estimator else MEAN_OF_RATES


def _mean_severity(run: RunFacts, whole: Reported, decode: Reported) -> Severity | None:
    """An error of one request, and far off; means of different kinds may part by less."""
    if run.concurrency != 1 and not run.readings.single:
        return Severity.WARNING  # it may be that of all streams
    if of_one_request(run, decode, whole):
        return None
    same = decode.estimator == whole.estimator
    far = whole.span.low > decode.span.high * (1 + MEAN_OF_RATES)
    return None if same and far else Severity.WARNING


def _speedup_end_to_end(run: RunFacts, whole: Reported, decode: Reported) -> Iterator[Problem]:
    base = run.baseline
    if base is None or base.model.void is not None:
        return
    base_whole, base_decode = base.number("throughput", "end_to_end_tok_s"), base.decode_tok_s
    if base_whole is None or base_decode is None:
        return
    if base_whole.span.low <= 0 or base_decode.span.low <= 0:
        return
    fast, end_to_end = decode.span / base_decode.span, whole.span / base_whole.span
    if fast.high < 1 or not end_to_end.widened(TIMER).above(fast.widened(TIMER)):
        return
    numbers = (whole, base_whole, decode, base_decode)
    yield Problem(
        whole,
        f"end-to-end speed-up {_quotient(whole, base_whole)} > decode speed-up "
        f"{_quotient(decode, base_decode)}",
        related=[(n, "speed") for n in numbers[1:]],
        help="speculation leaves prefill as it is: compare the windows and the prompt cache",
        severity=None if _only_decode_differs(run, base, numbers) else Severity.WARNING,
    )


def _quotient(above: Reported, below: Reported) -> str:
    return f"{above}/{below} = {shown(above.value / below.value)}"


def _only_decode_differs(run: RunFacts, base: RunFacts, numbers: Sequence[Reported]) -> bool:
    """Whether both arms are known to have the same tokens and no shorter prefill."""
    tokens, base_tokens = run.decode_tokens, base.decode_tokens
    same = (
        tokens is not None
        and base_tokens is not None
        and tokens.span.meets(base_tokens.span.widened(0.02))
    )
    ttft, base_ttft = run.ttft_ms, base.ttft_ms
    no_gain = ttft is not None and base_ttft is not None and not ttft.span.below(base_ttft.span)
    pooled = len({n.estimator for n in numbers}) == 1
    return same and no_gain and pooled


# --- BL218 -----------------------------------------------------------------------------------


@rule(
    "BL218",
    "latency-per-chunk",
    Severity.WARNING,
    "run",
    yields_to=["BL213", "BL223"],
    needs=["decode.inter_token_latency_ms | throughput.peak_tok_s"],
)
def latency_per_chunk(run: RunFacts) -> Iterator[Problem]:
    """A latency or peak that counts streamed chunks, called one of tokens.

    What it does:
        With speculation a chunk carries several tokens. Warns where inter-token latency is
        about τ times the time per output token, and where a peak throughput that is not said
        to count tokens is below the mean.
    Why it matters:
        The gap between chunks grows with accepted length: a better drafter looks slower (a
        median gap of 22.4 ms became 159.6 ms while throughput rose by 30 %).
    Example:
        `"time_per_output_token_ms": 2.38` with `"inter_token_latency_ms": 8.23` at τ 3.4.
    Instead:
        `inter_chunk_latency_ms`, and `"peak_counts": "chunks"`.
    Sources:
        vllm#37666, vllm#48892, vllm#51742 (`vllm bench serve` counts chunks).
    """
    if not run.speculates:
        return
    gap = run.inter_token_latency_ms
    token = None if gap is None else _time_per_token(run)
    if gap is not None and token is not None and token[0].low > 0:
        yield from _gap_of_chunks(run, gap, token)
    peak, mean = run.peak_tok_s, run.throughput_tok_s
    if peak is None or mean is None or not peak.span.below(mean.span):
        return
    if run.model.throughput is None or run.model.throughput.peak_counts is not None:
        return
    ratio = shown(mean.value / peak.value) if peak.value else "many"
    yield Problem(
        peak,
        f"peak {peak} is below the mean {mean} tok/s: it counts chunks of at least {ratio} tokens",
        related=[(mean, "mean throughput")],
        help="state peak_counts: chunks; a peak of tokens cannot be below the mean",
    )


_TimePerToken = tuple[Interval, str, Reported]


def _time_per_token(run: RunFacts) -> _TimePerToken | None:
    """Milliseconds per output token of one stream, in words, and the number it rests on."""
    token = run.time_per_output_token_ms
    if token is not None:
        return token.near, f"{token} ms a token", token
    speed = run.decode_tok_s
    if speed is None or speed.near.low <= 0:
        return None
    return 1000 / speed.near, f"1000/{speed} = {shown(1000 / speed.value)} ms a token", speed


def _gap_of_chunks(run: RunFacts, gap: Reported, token: _TimePerToken) -> Iterator[Problem]:
    near, words, number = token
    ratio = gap.near / near
    tau = run.readings.tau
    if ratio.low < (1.3 if tau is not None else 1.5):
        return
    if tau is not None and not ratio.meets(tau.near.widened(0.4)):
        return  # medians and means part by so much
    about = "" if tau is None else f", about {tau.text}"
    yield Problem(
        gap,
        f"inter-token latency {gap} ms is {shown(ratio.middle, 3)} × {words}{about}: "
        "the gap between chunks",
        related=[(number, "time per output token"), *(tau.evidence if tau is not None else ())],
        help="give it as inter_chunk_latency_ms; the latency per token is the smaller one",
    )


# --- BL219 -----------------------------------------------------------------------------------


@rule(
    "BL219",
    "same-acceptance-two-speeds",
    Severity.WARNING,
    "report",
    needs=[
        "runs.decode.tok_s",
        "runs.speculation.acceptance_rate | runs.speculation.accepted_length",
    ],
)
def same_acceptance_two_speeds(report: ReportFacts) -> Iterator[Problem]:
    """One acceptance figure that stands beside two speeds.

    What it does:
        Looks for runs of the same configuration, workload and conditions whose rate and
        accepted length are equal to the last of at least three digits, and whose speeds are
        more than 5 % apart.
    Why it matters:
        Equal acceptance means equal text. Then the speeds differ by noise alone, which makes
        every smaller difference in the report noise as well; or one figure was copied.
    Example:
        0.3618 beside 80.87 and beside 74.90 tok/s.
    Instead:
        Repeats with their spread, or the acceptance that each run had.
    Sources:
        ollama#18541: 106.9 to 115.2 tok/s at identical acceptance.
    """
    groups: dict[tuple[object, ...], list[RunFacts]] = {}
    for run in report.runs:
        key = _same_acceptance(run)
        if key is not None:
            groups.setdefault(key, []).append(run)
    for runs in groups.values():
        if len(runs) > 1 and _is_exact(runs[0]):
            for a, b in combinations(runs[:MANY_RUNS], 2):
                yield from _two_speeds(a, b)


def _is_exact(run: RunFacts) -> bool:
    """Whether the acceptance is given to three digits."""
    numbers = (run.acceptance_rate, run.accepted_length)
    return any(n is not None and _digits(n.text) >= 3 for n in numbers)


def _same_acceptance(run: RunFacts) -> tuple[object, ...] | None:
    """What runs with the same text have in common; None without any acceptance."""
    rate, length = run.acceptance_rate, run.accepted_length
    if rate is None and length is None:
        return None
    if run.decode_tok_s is None or run.model.workload is None or run.model.configuration is None:
        return None
    texts = (None if rate is None else rate.text, None if length is None else length.text)
    return (*texts, run.model.configuration, run.model.workload, *_setting(run))


def _digits(text: str) -> int:
    return len("".join(filter(str.isdigit, text.partition("e")[0])).lstrip("0"))


def _setting(run: RunFacts) -> tuple[object, ...]:
    """The conditions that change the speed of the same text."""
    conditions = run.model.conditions
    if conditions is None:
        return ()
    position = conditions.kv_position
    filled = None if position is None else position.filled_tokens
    return (conditions.warm, conditions.concurrency, conditions.prompt_cache, filled)


def _two_speeds(a: RunFacts, b: RunFacts) -> Iterator[Problem]:
    fast, slow = a.decode_tok_s, b.decode_tok_s
    if fast is None or slow is None:
        return
    if fast.value < slow.value:
        (a, b), (fast, slow) = (b, a), (slow, fast)
    if slow.near.high <= 0 or fast.near.low <= 1.05 * slow.near.high:
        return
    same = a.acceptance_rate or a.accepted_length
    other = b.acceptance_rate or b.accepted_length
    if same is None or other is None:
        return
    apart = shown(100 * (fast.value / slow.value - 1), 2)
    yield Problem(
        slow,
        f"{a} and {b} have the same acceptance {same}, but {fast} and {slow} tok/s, "
        f"{apart} % apart",
        related=[(fast, str(a)), (same, str(a)), (other, str(b))],
        help="give repeats and their spread; a smaller difference than this is noise here",
        subject=b.pointer,
    )
