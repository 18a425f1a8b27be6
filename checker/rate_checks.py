"""Rates, tokens and times of one run against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchlint.checker.facts import RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import Interval, Reported, shown
from benchlint.checker.readings import Readings, Tau
from benchlint.checker.registry import Problem

Related = list[tuple[Reported | str, str]]

#: What repeats, timers and the first token may add where figures are of one request.
TIMER = 0.01

#: More streams at once than a run has whose concurrency is not stated.
MANY_STREAMS = 1000

#: How far a mean of rates lies from tokens over seconds in public runs: 6 to 16 %.
MEAN_OF_RATES = 0.25


def rate_problems(run: RunFacts) -> Iterator[Problem]:
    """Everything that tokens, seconds, rates and step times of a run contradict."""
    yield from _decode_rate(run)
    yield from _prefill_rate(run)
    yield from _throughput_rate(run)
    yield from _first_token_before_prefill(run)
    yield from _step_time(run)


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with the tokens and seconds it is made of."""

    tok_s: Reported
    tokens: Reported
    seconds: Reported
    what: str
    unit: str = "tok/s"

    def fits(self, first: float, slack: float) -> bool:
        """Whether rate × seconds is the tokens, with or without the `first` in either."""
        product = self.tok_s.span * self.seconds.span
        allowed = Interval(self.tokens.span.low - first, self.tokens.span.high + max(first, 1))
        return product.meets(allowed.widened(slack))

    @property
    def text(self) -> str:
        product = self.tok_s.value * self.seconds.value
        return f"{self.tok_s} {self.unit} × {self.seconds} s = {shown(product)}"

    @property
    def related(self) -> Related:
        return [(self.tokens, self.what), (self.seconds, "seconds")]


def rate_of(run: RunFacts, block: str, what: str) -> Rate | None:
    tok_s, tokens = run.number(block, "tok_s"), run.number(block, "tokens", count=True)
    seconds = run.number(block, "seconds")
    if tok_s is None or tokens is None or seconds is None:
        return None
    if min(tok_s.span.high, tokens.span.high, seconds.span.high) <= 0:
        return None
    return Rate(tok_s, tokens, seconds, what)


def of_one_request(run: RunFacts, *numbers: Reported) -> bool:
    """Whether these figures are of one request, or said to be sums divided by sums."""
    if any(n.estimator in ("mean", "median") for n in numbers):
        return False
    if numbers[0].estimator == "pooled":
        return True
    return run.readings.single and (run.concurrency or 1) == 1


def _severity(run: RunFacts, rate: Rate, first: float) -> Severity | None:
    """None where the three numbers may be honest together."""
    if rate.fits(first, TIMER):
        return None
    if of_one_request(run, rate.tok_s, rate.tokens, rate.seconds):
        # Of an unknown number of requests each has a first token, and another one at least.
        several = run.readings.requests is None and rate.fits(rate.tokens.value / 2, TIMER)
        return Severity.WARNING if several or _may_be_wall_time(run, rate) else Severity.ERROR
    averaged = rate.tok_s.estimator in ("mean", "median")
    if averaged or (run.concurrency or 1) > 1 or rate.fits(first, MEAN_OF_RATES):
        return None
    return Severity.WARNING


def _may_be_wall_time(run: RunFacts, rate: Rate) -> bool:
    """Whether the seconds may be those of all streams at once, and the speed that of one."""
    if run.concurrency == 1 or run.readings.single:
        return False
    product = rate.tok_s.span * rate.seconds.span
    least = rate.tokens.span.low - _first_tokens(run, rate.tokens)
    most = product.high * (run.concurrency or MANY_STREAMS) * (1 + TIMER)
    return product.low <= rate.tokens.span.high and least <= most


def _decode_rate(run: RunFacts) -> Iterator[Problem]:
    rate = None if run.model.decode is None else rate_of(run, "decode", "decoded tokens")
    if rate is None:
        return
    severity = _severity(run, rate, _first_tokens(run, rate.tokens))
    if severity is None:
        return
    advice = "give tokens, seconds and tok/s of one window"
    prefill = _prefill_seconds(run)
    window = None if run.measurement is None else run.measurement.model.window
    longer = (rate.tok_s.span * rate.seconds.span).high >= rate.tokens.span.low
    if window == "with_prefill" and (prefill is None or longer):
        return
    if prefill is not None and _fits_with_prefill(rate, prefill, run.readings.requests or 1):
        severity = Severity.WARNING
        advice = "the seconds seem to include prefill: give those of decode alone"
    yield Problem(
        rate.tok_s,
        f"{rate.text}, but {rate.tokens} tokens were decoded",
        related=rate.related,
        help=advice,
        severity=severity,
    )


def _first_tokens(run: RunFacts, tokens: Reported) -> float:
    """First tokens among `tokens`: one a request, of which each has one at least."""
    return min(float(run.readings.requests or 1), max(tokens.value, 1.0))


def _prefill_seconds(run: RunFacts) -> Interval | None:
    if run.prefill_seconds is not None:
        return run.prefill_seconds.span
    tokens, tok_s = run.prefill_tokens, run.prefill_tok_s
    if tokens is not None and tok_s is not None and tok_s.span.low > 0:
        return tokens.span / tok_s.span
    return None if run.ttft_ms is None else run.ttft_ms.span / 1000


def _fits_with_prefill(rate: Rate, prefill: Interval, requests: float) -> bool:
    """Whether the seconds hold the prefill of one request or of all, or lack it."""
    first = max(requests, 1.0)
    allowed = Interval(rate.tokens.span.low - first, rate.tokens.span.high + 1).widened(TIMER)
    all_ = Interval(prefill.low, prefill.high * first)
    both = (rate.seconds.span - all_, rate.seconds.span + prefill)
    return any((rate.tok_s.span * seconds).meets(allowed) for seconds in both)


def _prefill_rate(run: RunFacts) -> Iterator[Problem]:
    rate = None if run.model.prefill is None else rate_of(run, "prefill", "prefilled tokens")
    severity = None if rate is None else _severity(run, rate, 1.0)
    if rate is not None and severity is not None:
        yield Problem(
            rate.tok_s,
            f"{rate.text}, but {rate.tokens} tokens were prefilled",
            related=rate.related,
            help="leave out tokens from the prompt cache; time to first token is ttft_ms",
            severity=severity,
        )


def _throughput_rate(run: RunFacts) -> Iterator[Problem]:
    block = run.model.throughput
    if block is None:
        return
    rate = rate_of(run, "throughput", "output tokens of the whole run")
    if rate is not None and not rate.fits(float(run.readings.requests or 1), TIMER):
        yield Problem(
            rate.tok_s,
            f"throughput {rate.text}, but {rate.tokens} tokens were put out",
            related=rate.related,
            help=_throughput_advice(run, rate),
            severity=_throughput_severity(run, rate),
        )
    yield from _requests_rate(run)


def _throughput_severity(run: RunFacts, rate: Rate) -> Severity | None:
    """A mean over windows, a part without warm-up and a sum of streams are other figures."""
    other = rate.tok_s.estimator in ("mean", "median") or _is_sum_of_streams(run, rate.tok_s)
    return Severity.WARNING if other or rate.fits(0.0, 0.1) else None


def _is_sum_of_streams(run: RunFacts, tok_s: Reported) -> bool:
    stream, concurrency = run.decode_tok_s, run.concurrency
    if stream is None or concurrency is None or concurrency <= 1:
        return False
    return tok_s.span.meets((stream.span * concurrency).widened(0.02))


def _throughput_advice(run: RunFacts, rate: Rate) -> str:
    if _is_sum_of_streams(run, rate.tok_s):
        return "it is the speed of one stream times the streams; give tokens over wall time"
    return "give output tokens over wall time of the whole run"


def _requests_rate(run: RunFacts) -> Iterator[Problem]:
    per_s, good = (
        run.number("throughput", "requests_per_s"),
        run.number("throughput", "goodput_requests_per_s"),
    )
    done = run.number("throughput", "completed_requests", count=True)
    seconds = run.number("throughput", "seconds")
    if per_s is None:
        return
    if done is not None and seconds is not None:
        rate = Rate(per_s, done, seconds, "completed requests", "requests/s")
        if not rate.fits(1.0, TIMER):
            severity = Severity.WARNING if rate.fits(1.0, 0.1) else None
            text = f"{rate.text}, but {done} requests were completed"
            yield Problem(per_s, text, rate.related, "give both of one window", severity)
    if good is not None and good.span.above(per_s.span):
        yield Problem(
            good,
            f"goodput {good} requests/s > {per_s} requests/s completed",
            related=[(per_s, "completed requests per second")],
            help="goodput is the part of completed requests that met a goal",
        )


def _first_token_before_prefill(run: RunFacts) -> Iterator[Problem]:
    ttft = run.ttft_ms
    if ttft is None or not run.readings.single or (run.concurrency or 1) > 1:
        return
    if ttft.estimator == "median":
        return
    prefill = run.prefill_seconds
    if prefill is not None:
        if ttft.span.below(prefill.span * 1000):
            text = f"time to first token {ttft} ms is shorter than the prefill, {prefill} s"
            yield Problem(ttft, text, [(prefill, "prefill")], _TTFT)
        return
    tokens, tok_s = run.prefill_tokens, run.prefill_tok_s
    if tokens is None or tok_s is None or tok_s.span.low <= 0:
        return
    if ttft.span.below((tokens.span / tok_s.span * 1000).widened(TIMER)):
        took = shown(1000 * tokens.value / tok_s.value)
        yield Problem(
            ttft,
            f"time to first token {ttft} ms is shorter than the prefill, "
            f"{tokens}/{tok_s} s = {took} ms",
            related=[(tokens, "prefilled tokens"), (tok_s, "prefill speed")],
            help=_TTFT,
        )


_TTFT = "it holds queueing, the prefill and one decode step; take both of the same request"


def _step_time(run: RunFacts) -> Iterator[Problem]:
    step, tok_s = run.step_time_ms, run.decode_tok_s
    if step is None or tok_s is None or run.concurrency != 1 or tok_s.span.low <= 0:
        return
    r = run.readings
    tau = r.tau
    if tau is None:
        return
    most = _most_tokens_a_step(r, tau)
    # Tokens of the time that one step takes.
    tokens = step.span * tok_s.span / 1000
    one = of_one_request(run, tok_s, step)
    slack = TIMER if one else MEAN_OF_RATES
    if most is not None and tokens.low > most * first_token_share(run) * (1 + slack):
        problem = _long_step((step, tok_s, tau))
        yield problem if one else replace(problem, severity=Severity.WARNING)
    elif not r.plain_passes and tokens.high < 0.8 * tau.near.low:
        yield _short_step(step, tok_s, tau)


def _most_tokens_a_step(r: Readings, tau: Tau) -> float | None:
    """τ + s0/s: the most tokens in the time of a verify step; None where s0 is unknown."""
    if not r.plain_passes:
        return tau.span.high
    plain, steps = r.run.count("plain_steps"), r.steps
    if plain is None or steps is None or steps[0] <= 0:
        return None
    return tau.span.high + plain.value / steps[0]


def first_token_share(run: RunFacts) -> float:
    """n/(n - 1) of each request; 2 % where the tokens are not known."""
    tokens = run.decode_tokens or run.count("output_tokens")
    if tokens is None:
        return 1.02
    first = _first_tokens(run, tokens)
    return tokens.value / (tokens.value - first) if tokens.value > first else 2.0


_StepNumbers = tuple[Reported, Reported, Tau]


def _step_words(numbers: _StepNumbers) -> str:
    _, tok_s, tau = numbers
    milliseconds = shown(1000 * tau.near.middle / tok_s.value)
    return f"{shown(tau.near.middle)} tokens at {tok_s} tok/s take {milliseconds} ms ({tau.text})"


def _long_step(numbers: _StepNumbers) -> Problem:
    step, tok_s, tau = numbers
    return Problem(
        step,
        f"step time {step} ms is longer than a step can take: {_step_words(numbers)}",
        related=[(tok_s, "decode speed"), *tau.evidence],
        help="step time is decode seconds over target passes, of the same run as τ and tok/s",
    )


def _short_step(step: Reported, tok_s: Reported, tau: Tau) -> Problem:
    return Problem(
        step,
        f"step time {step} ms is much shorter than {_step_words((step, tok_s, tau))}",
        related=[(tok_s, "decode speed"), *tau.evidence],
        help="step time is wall time between steps, drafting included",
        severity=Severity.WARNING,
    )
