"""BL201 to BL209: accepted length, acceptance rate, positions and counts against each other.

Every check runs over the readings that a run's words leave (`checker.readings`) and accuses
only when none of them fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlint.checker.claims import NO_MEAN, QUOTIENTS, Gap, Statement
from benchlint.checker.count_checks import count_problems
from benchlint.checker.definitions import (
    MOST_DRAFTED,
    RATE_SLACK,
    LengthReading,
    PositionKind,
    RateReading,
)
from benchlint.checker.facts import ClaimFacts, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.length_checks import (
    INFINITE,
    averaged,
    fits_as,
    meets,
    rise_of,
    sum_words,
    target_of,
    tau_words,
    taus_of,
)
from benchlint.checker.numbers import Interval, Reported, shown, shown_interval
from benchlint.checker.rate_definitions import (
    RateOption,
    definition_of_others,
    output_is_known,
    rate_options,
    rate_verdict,
)
from benchlint.checker.readings import Readings
from benchlint.checker.registry import Problem, rule
from benchlint.checker.shares import percent_slips

# --- BL201 -----------------------------------------------------------------------------------


@rule(
    "BL201",
    "accepted-length-out-of-bounds",
    Severity.ERROR,
    "run",
    needs=["speculation.accepted_length"],
)
def accepted_length_out_of_bounds(run: RunFacts) -> Iterator[Problem]:
    """An accepted length outside 1 to K + 1.

    What it does:
        Checks 1 ≤ τ ≤ K + 1, where K is the draft length; for a tree its depth takes K's
        place. Where τ is said not to count the target's own token, 0 ≤ τ ≤ K. Engines that
        divide output tokens by verify steps (SGLang) may exceed K + 1 by 1/steps. llama-server
        before b8672 ran two passes a cycle, a plain one and then one that verifies: tokens per
        cycle are 2 + accepted/steps, so that with a draft model τ up to K + 2 is allowed there,
        and wherever the build of llama.cpp is not stated.
    Why it matters:
        A verify step accepts at most the K drafted tokens and adds one token of the target's
        own. Anything else is a slip in counting, or K belongs to another run.
    Example:
        `"draft_length": 4` with `"accepted_length": 5.3`: τ 5.3 > K + 1 = 5.
    Instead:
        τ = 1 + accepted/verify steps of the same run, with that run's K.
    Sources:
        vLLM v1/spec_decode/metrics.py; ai-dynamo/aiperf docs/reference/spec-decode-acceptance.md
        (range 1 to K + 1); llama.cpp common/speculative.cpp (n-gram caps).
    """
    r = run.readings
    if r.length is None:
        return
    if all(tau.below(1) for _, tau in r.taus):
        yield Problem(
            r.length,
            f"accepted length τ {r.length} < 1, though the target's own token is counted",
            help="each verify step yields at least that token; state counts_bonus_token: false "
            "if τ counts accepted draft tokens only",
        )
    elif r.k is not None and all(tau.above(r.k.value + 1) for _, tau in r.taus):
        yield _too_long(r, r.length, r.k)


def _too_long(r: Readings, length: Reported, k: Reported) -> Problem:
    bound = f"{r.k_name} + 1 = {shown(k.value + 1)}"
    if r.run.counts_bonus_token is False:
        bound = f"{r.k_name} = {k}, though it counts accepted draft tokens only"
    capped = r.k_is_a_cap or all(tau.above(MOST_DRAFTED + 1) for _, tau in r.taus)
    return Problem(
        length,
        f"accepted length τ {length} > {bound}",
        related=[(k, "most draft tokens a step can accept")],
        help="give τ = 1 + accepted/verify steps and the draft length of the same run",
        severity=None if capped else Severity.WARNING,
    )


# --- BL202 -----------------------------------------------------------------------------------


@rule(
    "BL202",
    "accepted-length-vs-positions",
    Severity.ERROR,
    "run",
    yields_to=["BL215"],
    needs=["speculation.per_position"],
)
def accepted_length_vs_positions(run: RunFacts) -> Iterator[Problem]:
    """An accepted length that its own per-position list does not give.

    What it does:
        With p_i the share of verify steps that accepted at least i draft tokens, τ = 1 + Σp_i
        over all K positions. A list of the first m positions leaves
        0 ≤ τ - 1 - Σp_i ≤ (K - m)·p_m. A conditional list gives τ = 1 + p₁ + p₁p₂ + …. Each
        number counts with a unit of its last digit. A warning where the list fits as the other
        kind than the one stated, and at most a warning where τ is or may be a mean over
        requests; the list is taken to be averaged as τ beside it is said to be.
    Why it matters:
        The identity is exact for fixed, dynamic and empty drafts: a list that breaks it belongs
        to another run, another workload, or is of another kind.
    Example:
        τ 4.5 with K = 7 and 0.77, 0.60, 0.50, 0.42, 0.29, 0.19, 0.15: 1 + Σp = 3.92.
    Instead:
        Print τ and the list from the counters of one run, and say `kind`.
    Sources:
        vLLM v1/spec_decode/metrics.py (n_i/num_drafts); llama.cpp common/speculative.cpp;
        ikawrakow/ik_llama.cpp#2156, where it holds in every row.
    """
    if run.model.speculation is None or run.model.speculation.per_position is None:
        return
    r = run.readings
    taus = taus_of(r)
    if not r.positions or not taus:
        return

    def fits(slack: float) -> bool:
        return any(meets(taus, target_of(r, kind), slack) for kind in r.kinds)

    severity = r.verdict(fits, averaged(r))
    if severity is not None:
        yield _unlike_positions(r, taus, severity)


def _unlike_positions(
    r: Readings, taus: Sequence[tuple[LengthReading, Interval]], severity: Severity
) -> Problem:
    kind = r.kinds[0]
    other: PositionKind = "conditional" if kind == "cumulative" else "cumulative"
    at, name = tau_words(r)
    target = target_of(r, kind)
    side = "<" if taus[0][1].below(target) else ">" if taus[0][1].above(target) else "≠"
    text = f"{name} {side} {sum_words(r, kind)}"
    # A length over all passes fits any list; only τ itself shows which kind it is.
    strict = [t for t in taus if t[0] is not LengthReading.PER_PASS]
    fits_other = other not in r.kinds and meets(strict, target_of(r, other, strict=True))
    if fits_other:
        text += f"; it fits {sum_words(r, other)}, a {other} list"
        severity = Severity.WARNING
    elif len(r.kinds) > 1:
        text += f"; nor is it {sum_words(r, r.kinds[1])}, were the list {r.kinds[1]}"
    advice = r.or_mean("take τ and the list from one run", averaged(r))
    if fits_other:
        advice = f"state kind: {other}"
    return Problem(at, text, related=_listed(r), help=advice, severity=severity)


def _listed(r: Readings) -> list[tuple[Reported | str, str]]:
    """The list, and what says that it is or is not complete."""
    found: list[tuple[Reported | str, str]] = [
        (r.run.at("speculation", "per_position", "values"), "acceptance by position")
    ]
    if r.k is not None:
        found.append((r.k, f"draft length {r.k_name}"))
    return found


# --- BL203 -----------------------------------------------------------------------------------


@rule(
    "BL203",
    "positions-not-monotone",
    Severity.ERROR,
    "run",
    yields_to=["BL201"],
    needs=["speculation.per_position"],
)
def positions_not_monotone(run: RunFacts) -> Iterator[Problem]:
    """A cumulative per-position list that rises.

    What it does:
        The share of steps that accepted at least i tokens cannot grow with i. Where the list
        gives τ as a conditional one, a warning: it is conditional. A list of unsaid kind is an
        error only when τ shows that it is not conditional either (else see BL216). Also a
        warning for drafts of changing length from a harness of one's own, which may divide by
        the drafts that had that position.
    Why it matters:
        Conditional shares read as cumulative overstate acceptance, and the other way round.
    Example:
        0.7, 0.75, 0.5, labelled cumulative, with τ 2.95: as conditional shares τ were 2.49.
    Instead:
        p_i = steps that accepted at least i / verify steps, or `kind: conditional`.
    Sources:
        vLLM v1/spec_decode/metrics.py; NeMo Skills docs, which call conditional acceptance
        per-position.
    """
    if run.model.speculation is None or run.model.speculation.per_position is None:
        return
    r = run.readings
    rise = rise_of(r.positions)
    if rise is None or "cumulative" not in r.kinds:
        return
    conditional = fits_as(r, "conditional")
    if len(r.kinds) > 1 and conditional is not False:
        return
    yield _risen(r, *rise, conditional)


def _risen(r: Readings, before: Reported, after: Reported, conditional: bool | None) -> Problem:
    i = r.positions.index(after) + 1
    text = f"acceptance at position {i} is {after}, above {before} at position {i - 1}"
    reached = r.run.configuration.fixed_k is False and not r.sources
    advice = "a share of steps that accepted at least i tokens cannot grow with i"
    related: list[tuple[Reported | str, str]] = [(before, f"position {i - 1}")]
    if conditional is not None:
        at, name = tau_words(r)
        related.append((at, "accepted length"))
        text += f"; as a conditional list {sum_words(r, 'conditional')} against {name}"
    if conditional:
        advice = "state kind: conditional"
    severity = Severity.WARNING if conditional or reached else None
    return Problem(after, text, related=related, help=advice, severity=severity)


# --- BL204 -----------------------------------------------------------------------------------


@rule(
    "BL204",
    "rate-below-bound",
    Severity.ERROR,
    "run",
    yields_to=["BL201", "BL208"],
    needs=[
        "speculation.acceptance_rate",
        "speculation.accepted_length | speculation.counts | speculation.histogram"
        " | speculation.per_position",
    ],
)
def rate_below_bound(run: RunFacts) -> Iterator[Problem]:
    """An acceptance rate too low for the accepted length beside it.

    What it does:
        No step drafts more than K tokens, so accepted/drafted ≥ (τ - 1)/K, beyond rounding and
        1 %; larger is normal, since drafts may be shorter. It is an error only when every
        definition of the rate that is left fails: share of output (τ - 1)/τ, τ/(K + 1),
        per-token α, and so on. A stated engine takes away only the definitions of others:
        accepted/drafted stays. A rate that its stated definition does not give is an error on
        either side (a share of output only where output tokens and requests are counted, since
        an end inside a draft weighs much in short answers); one above what its engine's own
        definitions give, a warning, or BL216's
        where it is a known definition of another engine.
        Silent for trees; a warning where drafts may be trees, and at most a warning where a
        figure is or may be a mean over requests.
    Why it matters:
        Rate, τ and K are three views of one count. When they part, one is from another run.
    Example:
        K = 7, τ 4.82, rate 0.417: (4.82 - 1)/7 = 0.546.
    Instead:
        accepted/drafted of the same run, or say in `of` what the rate is a share of.
    Sources:
        vLLM v1/spec_decode/metrics.py; SGLang managers/tokenizer_manager.py and
        scheduler_metrics_mixin.py; LM Studio docs; sgl-project/sglang#11948.
    """
    r = run.readings
    rate = r.rate
    if rate is None or r.chain is False:
        return
    options = rate_options(r)
    severity = rate_verdict(r, rate, options) if options else None
    if severity is None:
        return
    if r.length is None or definition_of_others(r, rate, r.length) is None:
        yield _unlike_rate(r, rate, options, severity)


def _unlike_rate(
    r: Readings, rate: Reported, options: Sequence[RateOption], severity: Severity
) -> Problem:
    expected = options[0].expected
    lowest = min(o.expected.low for o in options)
    below = rate.span.widened(RATE_SLACK).below(lowest)
    certain = below or r.run.acceptance_rate_of is not None
    if r.rates == (RateReading.OUTPUT,) and not output_is_known(r):
        certain = False  # of a short answer the end may cut most of a draft
    if severity is Severity.ERROR and (not certain or r.chain is None):
        severity = Severity.WARNING
    word = "below" if rate.span.below(expected) else "above"
    text = f"acceptance rate {rate} is {word} {_rate_words(r, options[0].reading)}"
    if len(options) > 1:
        text += "; no definition of the rate gives it"
    return Problem(
        rate,
        text,
        related=_rate_evidence(r),
        help=_rate_advice(r, rate, options),
        severity=severity,
    )


def _rate_words(r: Readings, reading: RateReading) -> str:
    """The bound worked out with printed digits: "(τ - 1)/K = (4.82 - 1)/7 = 0.546"."""
    tau, text = _tau_digits(r)
    k = r.k_value or 1
    if reading is RateReading.OUTPUT:
        return f"(τ - 1)/τ = ({text} - 1)/{text} = {shown(1 - 1 / max(tau, 1))}"
    if reading is RateReading.SLOTS:
        return f"τ/(K + 1) = {text}/{k + 1} = {shown(tau / (k + 1))}"
    if r.run.counts_bonus_token is False:
        return f"τ/K = {shown(tau - 1)}/{k} = {shown((tau - 1) / k, 3)}, τ without the bonus token"
    return f"(τ - 1)/K = ({text} - 1)/{k} = {shown((tau - 1) / k, 3)}"


def _tau_digits(r: Readings) -> tuple[float, str]:
    """τ with the bonus token, and its digits as printed."""
    if r.length is None:
        tau = r.counted_tau.near.middle if r.counted_tau else 1 + sum(p.value for p in r.positions)
        return tau, shown(tau)
    if r.run.counts_bonus_token is False:
        return r.length.value + 1, f"({r.length} + 1)"
    return r.length.value, str(r.length)


def _rate_evidence(r: Readings) -> list[tuple[Reported | str, str]]:
    found: list[tuple[Reported | str, str]] = []
    if r.length is not None:
        found.append((r.length, "accepted length"))
    elif r.counted_tau is not None:
        found += list(r.counted_tau.evidence)
    else:
        found.append((r.run.at("speculation", "per_position", "values"), "acceptance by position"))
    if r.k is not None:
        found.append((r.k, "draft length K"))
    return found


def _rate_advice(r: Readings, rate: Reported, options: Sequence[RateOption]) -> str:
    if rate.value > 0 and (rate.near * 100).meets(options[0].expected):
        return "the rate fits when taken times 100: was a percentage divided by 100 twice?"
    of = r.run.acceptance_rate_of
    if of is not None and of != "drafted":
        return f"the rate is said to be of: {of}; check that, and that τ is of the same run"
    advice = "give accepted/drafted of the same run as τ, or say in `of` what it is a share of"
    return r.or_mean(advice, r.length, rate)


# --- BL206 -----------------------------------------------------------------------------------


@rule(
    "BL206",
    "counts-inconsistent",
    Severity.ERROR,
    "run",
    yields_to=["BL208"],
    needs=["speculation.counts | speculation.histogram"],
)
def counts_inconsistent(run: RunFacts) -> Iterator[Problem]:
    """Counters that contradict each other, or the rate and length beside them.

    What it does:
        Counts are exact: accepted ≤ drafted ≤ K × verify steps, a rate is accepted/drafted (or
        what its definition makes of these counts), τ is 1 + accepted/verify steps, and a
        histogram sums up to the steps and accepted tokens. Output tokens are requests + verify
        steps + plain steps + accepted, less what the end of a text cuts off: a warning beyond
        requests × (K + 1). Old llama-server (two passes a cycle) and repeated passes are
        allowed for, and so are verify steps counted once for a whole batch. A rate that may be
        of a definition these counts cannot give is a note. Beside counts of more than one
        request, or of an unsaid number, a rate or τ without `estimator` may be a mean: a note
        within 20 %, beyond it a warning.
    Why it matters:
        What is derived from counts can be checked by anyone; counts that do not agree can not
        be derived from.
    Example:
        700 accepted of 660 drafted tokens.
    Instead:
        Take all counters from one window of one engine: accepted without the bonus token,
        drafted without the root.
    Sources:
        vLLM v1/spec_decode/metrics.py; llama.cpp tools/server/server-common.cpp; vllm#56101
        (a cut draft counts whole); vllm#9565 (V0 counts past a rejection).
    """
    yield from count_problems(run)


# --- BL207 -----------------------------------------------------------------------------------


@rule(
    "BL207",
    "bonus-token-not-counted",
    Severity.WARNING,
    "run",
    yields_to=["BL201"],
    needs=["speculation.accepted_length"],
)
def bonus_token_not_counted(run: RunFacts) -> Iterator[Problem]:
    """An accepted length that fits its neighbours only without the target's own token.

    What it does:
        Where `counts_bonus_token` is not stated, compares τ with the counts, the positions and
        (drafts of fixed length) K × rate, with and without the one token that the target adds
        to each step. Warns when τ fits only without it, or is below 1.
    Why it matters:
        Most engines count it. A reader who compares 1.56 with another engine's 2.56 sees a
        regression that is not there.
    Example:
        τ 1.5567 with 48028 accepted in 30852 verify steps: 1 + 48028/30852 = 2.557.
    Instead:
        τ 2.557, or `"counts_bonus_token": false` beside 1.557.
    Sources:
        vLLM v1/spec_decode/metrics.py ("includes the bonus token"); vllm#18541, where 6.6 was
        corrected to 5.6.
    """
    r = run.readings
    if r.length is None or not r.bonus_unsaid or not r.taus:
        return
    # Plain passes may explain any lower τ; where it is exactly one lower they need not.
    without = (LengthReading.DRAFTS_ONLY, LengthReading.PER_PASS)
    with_bonus = [t for t in r.taus if t[0] not in without]
    for target, text, related in _bonus_evidence(r):
        if not meets(with_bonus, target) and (r.length.span + 1).meets(target):
            yield Problem(
                r.length,
                f"accepted length τ {r.length} seems not to count the target's own token: {text}",
                related=related,
                help="add 1, or state counts_bonus_token: false",
            )
            return


_Evidence = tuple[Interval, str, list[tuple[Reported | str, str]]]


def _bonus_evidence(r: Readings) -> Iterator[_Evidence]:
    """What τ with the bonus token would have to be, each with the arithmetic."""
    counted = r.counted_tau
    if counted is not None:
        text = counted.text.removeprefix("τ = ")
        yield counted.span, f"{text} with it", list(counted.evidence)
    if r.positions and r.all_positions and r.kinds[0] == "cumulative":
        yield target_of(r, "cumulative"), f"{sum_words(r, 'cumulative')} with it", _listed(r)
    if _rate_is_exact(r) and r.rate is not None and r.k is not None:
        span = (1 + r.rate.span * r.k.value).widened(RATE_SLACK)
        text = (
            f"1 + K × rate = 1 + {r.k} × {r.rate} = {shown(1 + r.k.value * r.rate.value)} with it"
        )
        yield span, text, [(r.rate, "acceptance rate"), (r.k, "draft length K")]
    yield Interval(1.0, INFINITE), "with it τ is at least 1", []


def _rate_is_exact(r: Readings) -> bool:
    """Whether τ = 1 + K·rate is to be expected: fixed drafts, rate of drafted tokens."""
    usual = {RateReading.DRAFTED, RateReading.CONFIGURED}
    return bool(r.chain and r.run.configuration.fixed_k and set(r.rates) <= usual)


# --- BL205 -----------------------------------------------------------------------------------


@rule(
    "BL205",
    "draft-length-not-fixed",
    Severity.NOTE,
    "run",
    yields_to=["BL204", "BL206", "BL207", "BL208", "BL216"],
    needs=[
        "speculation.counts | speculation.acceptance_rate",
        "speculation.counts | speculation.accepted_length",
    ],
)
def draft_length_not_fixed(run: RunFacts) -> Iterator[Problem]:
    """Drafts that are shorter on average than the draft length stated.

    What it does:
        The mean draft is drafted/verify steps, or (τ - 1)/rate. Notes it when it is under 0.9 K
        and the draft length is not said to be adaptive.
    Why it matters:
        An engine that stops drafting early shows a high rate with few drafts. Rates of two
        such runs cannot be compared; tokens per step can.
    Example:
        K = 15, τ 6.39, rate 0.413: the mean draft is 5.39/0.413 = 13.1 tokens.
    Instead:
        `"draft_length": {"max": 15, "policy": "adaptive"}`, with `p_min` where there is one.
    Sources:
        llama.cpp tools/server get_n_draft_max, `--draft-p-min`; vLLM drops drafts that a
        grammar forbids.
    """
    r = run.readings
    if r.k is None or r.chain is not True or not r.k_is_a_cap or not r.run.speculates:
        return
    if r.run.configuration.fixed_k is False:
        return
    found = _mean_draft(r)
    if found is None or not found[0].below(0.9 * r.k.value):
        return
    mean, text, related = found
    yield Problem(
        r.k,
        f"draft length K = {r.k}, but the mean draft is {text} = {shown_interval(mean, 3)} tokens",
        related=related,
        help="state policy: adaptive (and p_min), or give the counts of drafted and verify steps",
    )


def _mean_draft(r: Readings) -> _Evidence | None:
    drafted, steps = r.run.count("drafted"), r.run.count("verify_steps")
    if drafted is not None and steps is not None and steps.value > 0:
        mean = drafted.value / steps.value
        named: list[tuple[Reported | str, str]] = [(drafted, "drafted"), (steps, "verify steps")]
        return Interval.of(mean), f"{drafted}/{steps}", named
    rate, length = r.rate, r.length
    if rate is None or length is None or rate.near.low <= 0 or not r.prints_drafted:
        return None
    bonus = 0 if r.run.counts_bonus_token is False else 1
    words = f"{length}/{rate}" if bonus == 0 else f"({length} - 1)/{rate}"
    pair: list[tuple[Reported | str, str]] = [(length, "accepted length"), (rate, "rate")]
    return (length.near - bonus) / rate.near, words, pair


# --- BL208 -----------------------------------------------------------------------------------


@rule(
    "BL208",
    "percent-for-fraction",
    Severity.ERROR,
    "report",
    fixable=True,
    needs=["runs.speculation | runs.losslessness | workloads.mix"],
)
def percent_for_fraction(report: ReportFacts) -> Iterator[Problem]:
    """A percentage in a field that holds a share of 1.

    What it does:
        Reports a share over 1 that makes sense as a percentage: acceptance rate, positions,
        match rate, and a workload's mix, whose shares then sum up to 100. A rate up to 17 may as
        well be tokens per step where no accepted length is given, so that `--fix` leaves it.
    Why it matters:
        86.4 as a share is 8640 %; every check and comparison of that number is void.
    Example:
        `"acceptance_rate": 86.4`
    Instead:
        `"acceptance_rate": 0.864`
    Sources:
        vLLM prints percent in its log and in `vllm bench serve`, and a fraction per request.
    """
    for slip in percent_slips(report):
        either = " or tokens per step" if slip.may_be_length else ""
        or_length = "; tokens per step are accepted_length" if slip.may_be_length else ""
        yield Problem(
            slip.pointer,
            f"{slip.what} {slip.text} is a percentage{either}; the field holds a share of 1",
            help=f"divide by 100: {slip.mended}{or_length}",
            subject=slip.subject,
        )


# --- BL209 -----------------------------------------------------------------------------------


@rule(
    "BL209",
    "ratio-mismatch",
    Severity.ERROR,
    "report",
    yields_to=["BL601"],
    needs=["runs.speedup | claims.relation"],
)
def ratio_mismatch(report: ReportFacts) -> Iterator[Problem]:
    """A speed-up or percentage that its own two numbers do not give.

    What it does:
        Divides the speeds of a run and of the baseline its `speedup` names. Each number counts
        with a unit of its last digit, and an answer's first token may be counted or not. A
        pooled speed-up, and one of a single prompt, must be that quotient (an error, but a warning
        between it and 1, as of whole requests whose speeds are not given); a mean
        or median of per-run ratios need not be (a note with both values, a warning over 10 %,
        an error over four times the quotient, as a percentage in the place of a factor is). No more
        than a warning where only throughputs are given for both arms, which need not be what
        the speed-up is of, or seconds of numbers of tokens that may differ. The
        same note for a claim that holds only as a mean or median of ratios; one that holds in
        no way is BL601's.
    Why it matters:
        A ratio is the number that is quoted. Readers take it for the quotient of the two
        speeds in the same row.
    Example:
        58.5 tok/s against 29.4 tok/s, said to be 2.4 times: 58.5/29.4 = 1.99.
    Instead:
        The quotient of the printed speeds, or `"estimator": "median"` beside the ratio.
    Sources:
        Public tables in which 11 of 20 speed-ups are medians of per-run ratios;
        hemingkx/Spec-Bench evaluation/speed.py (ratio of mean rates).
    """
    for run in report.runs:
        if run.model.speedup is not None:
            yield from _stated_speedup(run)
    for claim in report.claims:
        yield from _claimed_ratio(claim)


#: Speeds that a speed-up may be a ratio of, and times, of which it is the inverse ratio.
_SPEEDS = (
    ("decode", "tok_s", False),
    ("decode", "time_per_output_token_ms", True),
    ("decode", "seconds", True),
    ("throughput", "tok_s", False),
    ("throughput", "end_to_end_tok_s", False),
    ("throughput", "requests_per_s", False),
    ("throughput", "seconds", True),
)

#: How far per-run ratios may lie from the ratio of the printed speeds before it is a warning.
PER_RUN = 0.10

#: Why a ratio that is not the quotient is no error.
_UNLESS = "unless it is a mean or median of per-run ratios, then say `estimator`"

#: What counting first tokens in one arm alone may add where the tokens are not stated.
FIRST_TOKENS = 0.02


@dataclass(frozen=True, slots=True)
class _Quotient:
    """The ratio of one pair of printed numbers."""

    span: Interval
    value: float
    text: str
    related: list[tuple[Reported | str, str]]
    certain: bool = True


def _stated_speedup(run: RunFacts) -> Iterator[Problem]:
    stated, base = run.speedup, run.speedup_over
    if stated is None or base is None or base.model.void is not None:
        return
    quotients = [q for q in _quotients(run, base) if q is not None]
    if not quotients or any(stated.span.meets(q.span) for q in quotients):
        return
    severity = _speedup_severity(run, stated, quotients)
    unless = f"; {_UNLESS}" if severity is not None and stated.estimator is None else ""
    yield Problem(
        stated,
        f"speed-up {stated} ≠ {quotients[0].text}{unless}",
        related=quotients[0].related,
        help=_speedup_advice(stated, quotients[0]),
        severity=severity,
        subject=run.pointer,
    )


def _quotients(run: RunFacts, base: RunFacts) -> Iterator[_Quotient | None]:
    for block, name, is_time in _SPEEDS:
        of, to = run.number(block, name), base.number(block, name)
        if of is None or to is None or of.span.low <= 0 or to.span.low <= 0:
            continue
        above, below = (to, of) if is_time else (of, to)
        span = above.span / below.span
        if (block, name) == ("decode", "tok_s"):
            span = _with_first_token(span, run, base)
        value = above.value / below.value
        text = f"{above}/{below} = {shown(value)}"
        related: list[tuple[Reported | str, str]] = [(of, str(run)), (to, str(base))]
        # Decode alone is what a speed-up is of as a rule, and more work takes more time.
        certain = block == "decode" and (name != "seconds" or _same_tokens(run, base))
        yield _Quotient(span, value, text, related, certain)


def _same_tokens(run: RunFacts, base: RunFacts) -> bool:
    """Whether both arms are known to have put out as many tokens, so that times compare."""
    of, to = (r.decode_tokens or r.count("output_tokens") for r in (run, base))
    if of is None or to is None or not of.span.meets(to.span.widened(0.02)):
        return False
    measured = [r.measurement.model.window for r in (run, base) if r.measurement is not None]
    return "with_prefill" not in measured


def _with_first_token(span: Interval, run: RunFacts, base: RunFacts) -> Interval:
    """With each answer's first token counted or not in either speed and in the ratio."""
    most = _first_token(run) * _first_token(base)
    return Interval(span.low / most, span.high * most)


def _first_token(run: RunFacts) -> float:
    tokens = run.decode_tokens or run.count("output_tokens")
    requests = run.readings.requests or 1
    if tokens is None or tokens.value <= requests:
        return 1.0
    return max(tokens.value / (tokens.value - requests), 1.0)


def _speedup_severity(
    run: RunFacts, stated: Reported, quotients: Sequence[_Quotient]
) -> Severity | None:
    pooled = stated.estimator == "pooled"
    slack = FIRST_TOKENS if pooled else PER_RUN
    if any(stated.span.meets(q.span.widened(slack)) for q in quotients):
        return Severity.NOTE
    if not any(q.certain for q in quotients):
        return Severity.WARNING
    one_ratio = pooled or (stated.estimator is None and run.readings.single)
    may_be_a_mean = not one_ratio and any(_some_mean(stated, q) for q in quotients)
    return Severity.WARNING if may_be_a_mean or _held_back(stated, quotients) else None


def _some_mean(stated: Reported, quotient: _Quotient) -> bool:
    """Whether a mean of per-run ratios may lie so far above the quotient.

    Below it anything may be meant: a speed-up of whole requests, which prefill holds back.
    """
    return not stated.span.above(quotient.span.high * NO_MEAN)


def _held_back(stated: Reported, quotients: Sequence[_Quotient]) -> bool:
    """Whether it lies between 1 and the quotients, as one of whole requests with their prefill.

    Where speeds of whole requests are given it is not theirs.
    """
    low, high = min(q.span.low for q in quotients), max(q.span.high for q in quotients)
    between = Interval(min(low, 1.0), max(high, 1.0))
    return all(q.certain for q in quotients) and stated.span.meets(between)


def _speedup_advice(stated: Reported, quotient: _Quotient) -> str:
    if stated.span.meets(1 / quotient.span):
        return "it is the inverse: divide the run's speed by the baseline's"
    if (stated.span + 1).meets(quotient.span):
        return "n times more is a factor of n + 1; state the factor"
    if _is_percentage(stated, quotient):
        return f"looks like a percentage; the factor is {shown(quotient.value)}"
    return "state the quotient, or the estimator: mean or median of per-run ratios"


def _is_percentage(stated: Reported, quotient: _Quotient) -> bool:
    """Whether a stated factor is the percentage of the quotient, or of the gain alone."""
    factor, near = stated.span * 0.01, quotient.span.widened(FIRST_TOKENS)
    return factor.meets(near) or (factor + 1).meets(near)


def _claimed_ratio(claim: ClaimFacts) -> Iterator[Problem]:
    """A mean or median of per-run ratios; what fits under no reading is BL601's."""
    if claim.model.relation not in QUOTIENTS:
        return
    statement = claim.statement
    if not isinstance(statement, Gap) and statement.holds_as == "per_run":
        yield _per_run_ratio(statement)


def _per_run_ratio(s: Statement) -> Problem:
    said = s.value is not None and s.value.estimator is not None
    return Problem(
        s.claim.pointer if s.value is None else s.value,
        f"{s.claim} says {s.value}{s.quantity.unit}, the printed numbers give {s.arithmetic}"
        + ("" if said else f"; {_UNLESS}"),
        related=_named(s),
        help="say which it is: estimator pooled, mean or median",
        severity=Severity.NOTE,
        subject=s.claim.pointer,
    )


def _named(s: Statement) -> list[tuple[Reported | str, str]]:
    related: list[tuple[Reported | str, str]] = [(s.of, str(s.subject))]
    if s.to is not None:
        related.append((s.to, str(s.to_subject)))
    return related
