"""What counters, rate, length, positions and histogram of one run say of each other."""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker.counts import per_position
from benchlint.checker.definitions import LengthReading, RateReading, rate_range
from benchlint.checker.facts import RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.length_checks import INFINITE, fits_as, meets
from benchlint.checker.numbers import Interval, Reported, shown
from benchlint.checker.readings import Readings
from benchlint.checker.registry import Problem


def count_problems(run: RunFacts) -> Iterator[Problem]:
    """Everything that the counters and the histogram of a run contradict."""
    if run.model.speculation is None:
        return
    counts, histogram = run.model.speculation.counts, run.model.speculation.histogram
    if counts is None and not histogram:
        return
    r = run.readings
    if counts is not None:
        yield from _accepted_and_drafted(run)
        yield from _drafted_and_steps(r)
        yield from _accepted_and_output(r)
        yield from _tokens(r)
    if counts is not None and histogram:
        yield from _histogram_and_counts(r)
    yield from _rate_and_counts(r)
    yield from _length_and_counts(r)
    if histogram:
        yield from _positions_and_histogram(r)


#: A range narrower than this tells one definition from another.
EXACTLY = 0.02

#: How much further a rate's mean over requests lies from the pooled rate than that of τ, which
#: holds a 1 that is the same in all (a published pair: 0.664 and 0.727, 9.5 % apart).
MORE_THAN_TAU = 4 / 3

#: How closely a per-token rate is known from a mean length.
SAME_NUMBER = 0.005


def _accepted_and_drafted(run: RunFacts) -> Iterator[Problem]:
    accepted, drafted = run.count("accepted"), run.count("drafted")
    if accepted is not None and drafted is not None and accepted.value > drafted.value >= 0:
        yield Problem(
            accepted,
            f"{accepted} draft tokens accepted > {drafted} drafted",
            related=[(drafted, "drafted tokens")],
            help="count accepted draft tokens without the target's own token, over the same "
            "window as the drafted ones",
        )


def _drafted_and_steps(r: Readings) -> Iterator[Problem]:
    """No step drafts, or accepts, more than K tokens (a tree: than it has) for each request."""
    steps, k = r.run.count("verify_steps"), _most_drafted(r)
    if steps is None or k is None:
        return
    most = k.value * steps.value * _requests_a_step(r)
    for name in ("drafted", "accepted"):
        tokens = r.run.count(name)
        if tokens is not None and tokens.value > most >= 0:
            yield _too_many(r, tokens, name, steps, k)
            return


def _requests_a_step(r: Readings) -> float:
    """Requests that one counted step may stand for, as far as that is stated."""
    return 1.0 if r.steps_per_request else float(max(r.run.concurrency or 1, 1))


def _most_drafted(r: Readings) -> Reported | None:
    length = r.run.configuration.draft_length
    if length is not None and length.model.tree is not None:
        at = length.at("tree", "draft_tokens")
        tokens = length.model.tree.draft_tokens
        return None if tokens is None else Reported(tokens, *_point(tokens), str(tokens), at)
    return r.k


def _point(value: float) -> tuple[Interval, Interval]:
    return Interval(value, value), Interval(value, value)


def _too_many(r: Readings, tokens: Reported, name: str, steps: Reported, k: Reported) -> Problem:
    text = (
        f"{tokens} tokens {name} > K × verify steps = {k} × {steps} = {k.value * steps.value:.0f}"
    )
    advice = "count a verify step for every request in a batch, and no root token as drafted"
    if tokens.value == (k.value + 1) * steps.value:
        text += f"; it is {shown(k.value + 1)} × {steps}"
        advice = "the root, or the target's own token, seems to be counted as drafted: subtract it"
    certain = r.steps_per_request and r.k_is_a_cap and r.chain is not None
    return Problem(
        tokens,
        text,
        related=[(steps, "verify steps"), (k, "draft length K")],
        help=advice,
        severity=None if certain else Severity.WARNING,
    )


def _accepted_and_output(r: Readings) -> Iterator[Problem]:
    accepted, output = r.run.count("accepted"), r.run.count("output_tokens")
    if accepted is None or output is None or accepted.value <= output.value:
        return
    counted = r.run.count("requests")
    known = r.k is not None and counted is not None
    allowed = (counted.value * (r.k.value + 1)) if r.k is not None and counted is not None else 0
    if accepted.value <= output.value + allowed:
        return
    yield Problem(
        accepted,
        f"{accepted} draft tokens accepted > {output} output tokens",
        related=[(output, "output tokens")],
        help="an accepted token is an output token; only the end of a text may cut some off",
        severity=None if known else Severity.WARNING,
    )


def _tokens(r: Readings) -> Iterator[Problem]:
    """N = requests + s + s0 + A - cut, with 0 ≤ cut ≤ K a request."""
    run = r.run
    found = [run.count(n) for n in ("output_tokens", "requests", "verify_steps", "accepted")]
    k = r.k
    if k is None or any(n is None for n in found) or (found[3] and found[0] is None):
        return
    output, requests, steps, accepted = (n for n in found if n is not None)
    if accepted.value > output.value:
        return
    plain = run.count("plain_steps")
    total = requests.value + steps.value + accepted.value + (plain.value if plain else 0)
    slack = requests.value * (k.value + 1)
    low, high = total - slack, total + slack + _repeated_passes(r, steps.value)
    if plain is None and r.plain_passes:
        high = INFINITE
    if not low <= output.value <= high:
        yield _unlike_tokens(r, output, total, [requests, steps, accepted], plain)


def _repeated_passes(r: Readings, steps: float) -> float:
    """Tokens of passes that are not counted as steps: batches, llama.cpp's two-pass cycles."""
    if not r.steps_per_request:
        return INFINITE
    return steps if any(s.engine == "llama.cpp" for s in r.sources) else 0.0


def _unlike_tokens(
    r: Readings, output: Reported, total: float, parts: list[Reported], plain: Reported | None
) -> Problem:
    names = ["requests", "verify steps", "accepted"]
    if plain is not None:
        parts, names = [*parts, plain], [*names, "plain steps"]
    added = f"{' + '.join(names)} = {' + '.join(map(str, parts))}"
    related: list[tuple[Reported | str, str]] = list(zip(parts, names, strict=True))
    if r.k is not None:
        related.append((r.k, "draft length K, the most a request may lose at its end"))
    advice = "every pass emits one token and those it accepted; take all from one window"
    if total > output.value:
        advice += "; a counter that goes on past a rejection (vLLM V0) counts too many"
    return Problem(
        output,
        f"{output} output tokens, but {added} = {total:.0f}",
        related=related,
        help=advice,
        severity=Severity.WARNING,
    )


def _histogram_and_counts(r: Readings) -> Iterator[Problem]:
    yield from _histogram_steps(r)
    yield from _histogram_accepted(r)


def _histogram_steps(r: Readings) -> Iterator[Problem]:
    steps, plain = r.run.count("verify_steps"), r.run.count("plain_steps")
    total = sum(r.histogram)
    if steps is None or steps.value <= total <= steps.value * _requests_a_step(r):
        return
    if plain is not None and total == steps.value + plain.value:
        return
    # A histogram may hold steps without a draft, or count each request of a batch.
    more = total > steps.value
    may_be_more = more and ((plain is None and r.plain_passes) or not r.steps_per_request)
    yield Problem(
        r.run.at("speculation", "histogram"),
        f"the histogram sums up to {total} steps, not to {steps} verify steps",
        related=[(steps, "verify steps")],
        help="index j counts the verify steps that accepted j draft tokens, from 0 to K",
        severity=Severity.WARNING if may_be_more else None,
    )


def _histogram_accepted(r: Readings) -> Iterator[Problem]:
    accepted = r.run.count("accepted")
    total = sum(j * float(n) for j, n in enumerate(r.histogram))
    if accepted is None or total == accepted.value:
        return
    requests, k = r.requests, r.k_value or len(r.histogram) - 1
    missing = accepted.value - total
    # A histogram of what was emitted lacks what the end of a text cut off.
    cut = missing > 0 and (requests is None or missing <= requests * k)
    yield Problem(
        r.run.at("speculation", "histogram"),
        f"the histogram gives Σ j·h_j = {total:.0f} accepted tokens, not {accepted}",
        related=[(accepted, "accepted tokens")],
        help="index j counts the verify steps that accepted j draft tokens, from 0 to K",
        severity=Severity.WARNING if cut else None,
    )


def _rate_and_counts(r: Readings) -> Iterator[Problem]:
    rate = r.rate
    if rate is None or r.run.counts is None:
        return
    accepted, drafted = r.run.count("accepted"), r.run.count("drafted")
    if accepted is None or drafted is None or not 0 <= accepted.value <= drafted.value > 0:
        return
    found = [(reading, rate_from_counts(r, reading)) for reading in r.rates]
    known = [value for _, value in found if value is not None]

    def fits(slack: float) -> bool:
        return any(rate.span.meets(value.widened(slack * MORE_THAN_TAU)) for value in known)

    severity = r.verdict(fits, rate, beside_sums=True)
    if severity is None or rate_of_others(r, rate) is not None:
        return
    ratio = accepted.value / drafted.value
    if len(known) < len(found):
        # Some definition cannot be worked out: it may be that, above all if the engine has it.
        if r.sources or rate.near.widened(0.1).meets(ratio):
            return
        severity = Severity.NOTE
    yield Problem(
        rate,
        f"acceptance rate {rate} ≠ accepted/drafted = {accepted}/{drafted} = {shown(ratio)}",
        related=[(accepted, "accepted tokens"), (drafted, "drafted tokens")],
        help=r.or_mean("give accepted/drafted, or say in `of` what the rate is a share of", rate),
        severity=severity,
    )


def rate_of_others(r: Readings, rate: Reported) -> RateReading | None:
    """The definition of another engine under which the counters give the rate."""
    for reading in r.other_rates:
        value = rate_from_counts(r, reading)
        if value is not None and rate.span.meets(value) and value.high - value.low < EXACTLY:
            return reading
    return None


def rate_from_counts(r: Readings, reading: RateReading) -> Interval | None:
    """What a rate of this definition is by the run's counters; None where one is missing."""
    accepted, drafted = r.accepted, r.run.count("drafted")
    if accepted is None:
        return None
    a = accepted[0]
    if reading in (RateReading.DRAFTED, RateReading.ANY_POSITION):
        if drafted is None or drafted.value <= 0:
            return None
        # Tokens accepted after a rejection are no output, so the count may leave them out.
        strict = reading is RateReading.DRAFTED
        return Interval(a / drafted.value, a / drafted.value if strict else 1.0)
    if reading is RateReading.OUTPUT:
        return _output_share(r, a)
    steps = r.steps
    if steps is None or steps[0] <= 0 or not r.steps_are_certain:
        return None
    return _rate_of_steps(r, reading, a, steps[0])


def _rate_of_steps(r: Readings, reading: RateReading, a: float, s: float) -> Interval | None:
    """Rates whose denominator is made of K and verify steps."""
    if reading is RateReading.REACHED:
        return Interval(a / (a + s), 1.0)
    if reading is RateReading.FIRST:
        return _first_position(r, a, s)
    ks = r.k_values
    if not ks:
        return None
    if reading is RateReading.PER_TOKEN:
        tau = Interval.of(min(1 + a / s, ks[0] + 1.0))
        return rate_range(reading, tau, ks[0]).widened(SAME_NUMBER)
    above = a + s if reading is RateReading.SLOTS else a
    more = 0 if reading is RateReading.CONFIGURED else 1
    values = [above / (s * (k + more)) for k in ks]
    drafted = r.run.count("drafted")
    if more and drafted is not None and drafted.value > 0:
        values.append(above / (drafted.value + s))
    return Interval(min(values), max(values))


def _first_position(r: Readings, a: float, s: float) -> Interval:
    if r.positions:
        return r.positions[0].span
    total = float(sum(r.histogram))
    if total > 0:
        return Interval.of(1 - r.histogram[0] / total)
    return Interval(a / (s * (r.k_value or a or 1)), min(1.0, a / s))


def _output_share(r: Readings, a: float) -> Interval | None:
    output = r.run.count("output_tokens") or (r.run.decode_tokens if r.single else None)
    if output is not None:
        # Of accepted tokens that the end of a text cut off some count all, and some none.
        cut = (r.requests or 1) * (r.k_value or 0)
        return Interval(max(a - cut, 0), a) / output.span if output.span.low > 0 else None
    steps = r.steps
    if steps is None or r.plain_passes or r.requests is None or not r.steps_are_certain:
        return None
    tokens = steps[0] + a + r.requests
    return Interval(a / tokens, a / max(tokens - r.requests * ((r.k_value or 0) + 1), a, 1))


def _length_and_counts(r: Readings) -> Iterator[Problem]:
    counted, length = r.counted_tau, r.length
    if counted is None or length is None or not r.taus:
        return
    least = 1 + (counted.span.low - 1) / _requests_a_step(r)
    targets = [Interval(least, counted.span.high), *_per_pass(r)]

    def fits(slack: float) -> bool:
        return any(meets(r.taus, target, slack) for target in targets)

    severity = r.verdict(fits, length, beside_sums=True)
    if severity is None:
        return
    batched = not r.steps_per_request and length.span.below(counted.span)
    yield Problem(
        length,
        f"accepted length τ {length} ≠ {_counted_words(r)}",
        related=[(counted.at, "accepted tokens"), *counted.related],
        help=r.or_mean(_length_advice(r, length, counted.span), length),
        severity=Severity.WARNING if batched and severity is Severity.ERROR else severity,
    )


def _counted_words(r: Readings) -> str:
    """1 + A/s, or A/s where the length is said to count accepted draft tokens only."""
    counted = r.counted_tau
    if counted is None:
        return "A/s"
    words = counted.text.removeprefix("τ = ")
    if r.run.counts_bonus_token is not False:
        return words
    fraction = words.removeprefix("1 + ").partition(" = ")[0]
    return f"{fraction} = {shown(counted.span.low - 1)}"


def _per_pass(r: Readings) -> Iterator[Interval]:
    """τ_all where it is what the length may mean: exact when plain passes are counted."""
    plain, steps, accepted = r.run.count("plain_steps"), r.steps, r.accepted
    if plain is None or steps is None or accepted is None or steps[0] + plain.value <= 0:
        return
    if LengthReading.PER_PASS in r.lengths:
        yield Interval.of(1 + accepted[0] / (steps[0] + plain.value))


def _length_advice(r: Readings, length: Reported, counted: Interval) -> str:
    if (length.span - 1).meets(counted):
        return "it is exactly one too high: the target's own token seems to be counted twice"
    if (length.span + 1).meets(counted) and not r.bonus_unsaid:
        return "it is exactly one too low: state counts_bonus_token: false, or add the one"
    return "τ = 1 + accepted/verify steps of the same window"


def _positions_and_histogram(r: Readings) -> Iterator[Problem]:
    expected = per_position(r.histogram)
    if not expected or not r.positions or min(r.histogram) < 0 or "cumulative" not in r.kinds:
        return
    if len(r.kinds) > 1 and fits_as(r, "conditional"):
        return
    for i, (printed, value) in enumerate(zip(r.positions, expected, strict=False), 1):
        severity = _unlike_histogram(r, printed, value)
        if severity is not None:
            yield Problem(
                printed,
                f"acceptance at position {i} is {printed}, but the histogram gives {shown(value)}",
                related=[(r.run.at("speculation", "histogram"), "steps by accepted tokens")],
                help="p_i = steps that accepted at least i / all verify steps",
                severity=severity,
            )
            return


def _unlike_histogram(r: Readings, printed: Reported, value: float) -> Severity | None:

    def fits(slack: float) -> bool:
        return printed.span.meets(Interval.of(value).widened(slack))

    severity = r.verdict(fits, printed, beside_sums=True)
    unsaid = not r.run.positions_kind and not r.sources
    return Severity.WARNING if severity is Severity.ERROR and unsaid else severity
