"""BL420 to BL428: what servers hide, and figures that give a run away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlint.checker.command_draft_length import CommandDraftLength, draft_length_of
from benchlint.checker.command_line import command_line
from benchlint.checker.facts import MANY_RUNS, ClaimFacts, ConfigurationFacts, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.metrics import higher_is_better
from benchlint.checker.model import Conditions, Measured, MeasuredObject
from benchlint.checker.numbers import Reported, printed, shown, unit_of_last_digit
from benchlint.checker.registry import Problem, rule
from benchlint.checker.timings import timed_number

# --- BL420 -----------------------------------------------------------------------------------

#: Failures below this share move no figure by more than noise.
_FAILED_SHARE = 0.01
_FAILURES = ("error", "failed", "timeout")


@rule(
    "BL420",
    "failed-requests",
    Severity.WARNING,
    "run",
    needs=["throughput.failed_requests | finish_reasons"],
)
def failed_requests(run: RunFacts) -> Iterator[Problem]:
    """Requests failed, and the run's figures are of the others.

    What it does:
        Warns where at least 1 % of a run's requests failed, by its count of failed requests
        or by its finish reasons.
    Why it matters:
        What fails is seldom a fair sample: long prompts run out of memory, slow answers time
        out. The rest is faster than the whole, and a run in which all failed still writes a
        normal file.
    Example:
        `"throughput": {"completed_requests": 80, "failed_requests": 20}`
    Instead:
        find out why, measure again, or withdraw the run with `"void": "20 of 100 failed"`
    Sources:
        vLLM `vllm bench serve` (writes its result whatever failed); MLPerf inference rules
        (a run with errors is not valid).
    """
    found = _failures(run)
    if found is None or found[0] < 1:
        return
    failed, at, completed, other = found
    total = None if completed is None else failed + completed
    if total is not None and failed < _FAILED_SHARE * total:
        return
    of = "" if total is None else f" of {total}"
    requests = "request" if failed == 1 and total is None else "requests"
    yield Problem(
        at,
        f"{failed}{of} {requests} of {run} failed: its figures are of the others only",
        related=[] if other is None else [(other, "completed requests")],
        help="repeat the run without failures, or withdraw it with `void`",
    )


def _failures(run: RunFacts) -> tuple[int, str, int | None, str | None] | None:
    """Failed requests and where that stands, completed ones and where that stands."""
    throughput, reasons = run.throughput, run.model.finish_reasons
    if throughput is None and reasons is None:
        return None
    if throughput is not None and throughput.model.failed_requests is not None:
        completed = throughput.model.completed_requests
        other = None if completed is None else throughput.at("completed_requests")
        return throughput.model.failed_requests, throughput.at("failed_requests"), completed, other
    for name in reasons or {}:
        if reasons is not None and name.casefold() in _FAILURES:
            rest = sum(reasons.values()) - reasons[name]
            return reasons[name], run.at("finish_reasons", name), rest, None
    return None


# --- BL421 -----------------------------------------------------------------------------------

#: A change of this share is noise.
_NOISE = 0.05

_PREFILL = frozenset({"prefill.ttft_ms", "prefill.tok_s", "prefill.seconds"})


@rule("BL421", "ttft-gain-claimed", Severity.WARNING, "claim", needs=["metric"])
def ttft_gain_claimed(claim: ClaimFacts) -> Iterator[Problem]:
    """A shorter time to first token is credited to speculation.

    What it does:
        Warns of a claim that a speculative run has a better TTFT or prefill speed than a plain
        one by more than 5 %, unless the run had several requests in flight, where a shorter
        queue may explain it.
    Why it matters:
        Speculation drafts after the first token. The prompt is processed as before, and the
        drafter has to process it too: a shorter TTFT comes from a cache, a warm server or the
        load.
    Example:
        "n-gram speculation cuts TTFT from 135.34 to 115.42 ms"
    Instead:
        claim decode, and find out what made the first token faster
    Sources:
        vllm#12101; llama.cpp `tools/server` (`prompt_ms` includes the drafter's prefill).
    """
    metric, of, to = claim.model.metric, claim.of, claim.to
    if metric not in _PREFILL or not isinstance(of, RunFacts) or not isinstance(to, RunFacts):
        return
    spec = of if of.speculates else to
    plain = to if spec is of else of
    if not spec.speculates or plain.speculates is not False or (spec.concurrency or 1) > 1:
        return
    factor = _better_by(claim, metric, spec is of)
    if factor is not None and factor > 1 + _NOISE:
        yield _credited(claim, metric, spec, plain)


def _better_by(claim: ClaimFacts, metric: str, spec_is_of: bool) -> float | None:
    """How many times better the claim has the speculative run; None where it says nothing."""
    quotient = _quotient(claim)
    if quotient is None or quotient <= 0:
        return None
    spec_over_plain = quotient if spec_is_of else 1 / quotient
    return spec_over_plain if higher_is_better(metric) else 1 / spec_over_plain


def _quotient(claim: ClaimFacts) -> float | None:
    """`of` over `to`: of the numbers, else as claimed; a mere order counts as a factor of 2."""
    of, to = claim.metric_of(claim.of), claim.metric_of(claim.to)
    relation, value = claim.model.relation, claim.value
    if relation is None or relation == "equal":
        return None
    if of is not None and to is not None and of.value > 0 and to.value > 0:
        return of.value / to.value
    if relation in ("greater", "less"):
        return 2.0 if relation == "greater" else 0.5
    if value is None or relation not in ("ratio", "percent_more", "percent_less"):
        return None
    percent = {"percent_more": 1.0, "percent_less": -1.0}.get(relation)
    return value.value if percent is None else 1 + percent * value.value / 100


def _credited(claim: ClaimFacts, metric: str, spec: RunFacts, plain: RunFacts) -> Problem:
    numbers = [(claim.metric_of(each), f"{metric} of {each}") for each in (spec, plain)]
    values = [str(number) for number, _ in numbers if number is not None]
    against = f" ({values[0]} against {values[1]})" if len(values) == 2 else ""
    return Problem(
        claim.at("metric"),
        f"{claim} credits speculation with a better {metric}{against}: it starts only after "
        "the first token",
        related=[(number, text) for number, text in numbers if number is not None],
        help="look for another cause (prompt cache, warm-up, load), and state the concurrency "
        "if a shorter queue explains it",
    )


# --- BL422 -----------------------------------------------------------------------------------

#: Position 1 counts as always accepted from here on, at the precision of the list.
_ALL_FIRST = 0.999
_COARSEST = 0.01

#: Under this share the next position clearly fails, as a drafter that is never wrong would not.
_OFTEN_WRONG = 0.8

#: In fewer steps position 1 may never have failed by chance.
_ENOUGH_STEPS = 100


@rule("BL422", "first-pass-replay", Severity.WARNING, "run", needs=["speculation.per_position"])
def first_pass_replay(run: RunFacts) -> Iterator[Problem]:
    """The first draft position is always accepted, the later ones are not.

    What it does:
        Warns where the first value of a cumulative per-position list is 0.999 or more while
        the second is under 0.8, or, where only the first is given, accepted length stays as
        clearly below K + 1. Silent where few steps or coarse digits may explain it.
    Why it matters:
        A drafter that is never wrong at position 1 and often at position 2 is rare; an engine
        that counts a token of its own as an accepted draft is not. llama.cpp restores a partly
        accepted draft on recurrent models, appends the target's token and verifies again:
        through 2026-08 that token was counted, which inflates every figure of acceptance.
    Example:
        `"values": [1.0, 0.62, 0.41]` with `"accepted_length": 3.03`
    Instead:
        a build that leaves replays out of the counters, or accepted length worked out from
        output tokens and target passes
    Sources:
        llama.cpp `tools/server/server-context.cpp` (`spec_is_replay`);
        ggml-org/llama.cpp#25682.
    """
    first = run.positions[0] if run.positions else None
    if first is None or first.value < _ALL_FIRST or run.positions_kind == "conditional":
        return
    if not _printed_finely(run) or _few_steps(run) or run.configuration.drafts_a_tree:
        return
    other = _often_wrong(run)
    if other is not None:
        yield Problem(
            first,
            f"position 1 is accepted in {first} of steps, but {other[1]}: a token of the "
            "target's own seems to be counted as a draft",
            related=[other],
            help="check whether the engine counts replays after a partly accepted draft",
        )


def _printed_finely(run: RunFacts) -> bool:
    """Whether the list has two decimals or more; an exact 1 is often printed as "1.0"."""
    units = (each.near.high - each.near.low for each in run.positions)
    return min(units) <= _COARSEST * (1 + 1e-9)


def _few_steps(run: RunFacts) -> bool:
    steps = run.count("verify_steps")
    if steps is not None:
        return steps.value < _ENOUGH_STEPS
    tokens, k = run.decode_tokens, run.k
    return tokens is not None and k is not None and tokens.value < _ENOUGH_STEPS * (k.value + 1)


def _often_wrong(run: RunFacts) -> tuple[Reported, str] | None:
    """A number which shows that later drafts often fail."""
    if len(run.positions) > 1:
        second = run.positions[1]
        return (second, f"position 2 in {second}") if second.near.high < _OFTEN_WRONG else None
    length, k = run.accepted_length, run.k
    if length is None or k is None or k.value < 2:
        return None
    bonus = 0 if run.counts_bonus_token is False else 1
    most = bonus + k.value * _OFTEN_WRONG
    return (length, f"τ {length} < K + 1 = {k.value + 1:.0f}") if length.span.below(most) else None


# --- BL423 -----------------------------------------------------------------------------------

#: Digits coarser than this share of the value hide an honest spread.
_FINE = 1e-4
_FINE_OF_MANY = 5e-4
_MANY = 3


@rule(
    "BL423", "spread-exactly-zero", Severity.WARNING, "run", needs=["*.stdev | *.samples | *.range"]
)
def spread_exactly_zero(run: RunFacts) -> Iterator[Problem]:
    """Repeated timings agree to the last digit.

    What it does:
        Warns where a speed or time has a standard deviation of 0, or samples or ends of a
        range that are all the same, over at least two repeats. Silent where the digits are too
        coarse to show an honest spread.
    Why it matters:
        Clocks do not repeat themselves. The best public series of llama-bench have spreads of
        0.3 %; a spread of nothing is one measurement printed several times, a cached answer or
        a field that nobody filled.
    Example:
        `{"value": 80.87, "stdev": 0, "repeats": 5}`
    Instead:
        `{"value": 80.87, "stdev": 0.31, "repeats": 5}`, or no `stdev`
    Sources:
        llama.cpp `tools/llama-bench/README.md` (tg128, 24 entries: coefficient of variation
        0.27 % in the median).
    """
    for path, measured in run.timed:
        number = timed_number(run, path) if isinstance(measured, MeasuredObject) else None
        if number is None or number.detail is None or not number.value:
            continue
        found = _zero_deviation(run, number, number.detail) or _same_values(number, number.detail)
        if found is not None:
            at, text = found
            yield Problem(
                at,
                f"{path} of {run} is {text}: clocks do not repeat themselves to the last digit",
                related=[(number, path)] if at != number.pointer else [],
                help="give the measured spread, or none",
            )
            return


def _zero_deviation(
    run: RunFacts, number: Reported, detail: MeasuredObject
) -> tuple[str, str] | None:
    conditions = run.model.conditions
    stated = None if conditions is None else conditions.repeats
    repeats = detail.repeats or len(detail.samples or ()) or stated or 1
    if detail.stdev is None or detail.stdev != 0 or repeats < 2 or number.approx:
        return None
    value = detail.value if detail.value is not None else number.value
    # a deviation is printed no coarser than its value, even where it says just "0"
    unit = min(unit_of_last_digit(detail.stdev) or 1.0, unit_of_last_digit(value) or 1.0)
    if unit / 2 > _FINE * abs(value):
        return None
    text = f"{printed(value)} ± {printed(detail.stdev)} over {repeats} repeats"
    return f"{number.pointer.rpartition('/')[0]}/stdev", text


def _same_values(number: Reported, detail: MeasuredObject) -> tuple[str, str] | None:
    samples = detail.samples or ()
    if len(samples) < 2 or len(set(samples)) > 1:
        return _same_ends(number, detail)
    fine = _FINE_OF_MANY if len(samples) >= _MANY else _FINE
    unit = max(unit_of_last_digit(each) for each in samples)
    if unit / 2 > fine * abs(samples[0]):
        return None
    at = f"{number.pointer.rpartition('/')[0]}/samples"
    return at, f"{printed(samples[0])} in all {len(samples)} samples"


def _same_ends(number: Reported, detail: MeasuredObject) -> tuple[str, str] | None:
    ends = detail.range or ()
    if len(ends) != 2 or ends[0] != ends[1] or (detail.repeats or 0) < 2:
        return None
    if unit_of_last_digit(ends[0]) / 2 > _FINE * abs(ends[0]):
        return None
    at = f"{number.pointer.rpartition('/')[0]}/range"
    return at, f"{printed(ends[0])} to {printed(ends[1])} over {detail.repeats} repeats"


# --- BL424 -----------------------------------------------------------------------------------


_SPEEDS = frozenset(
    {"decode.tok_s", "prefill.tok_s", "throughput.tok_s", "throughput.end_to_end_tok_s"}
)


@rule(
    "BL424",
    "zero-means-not-run",
    Severity.WARNING,
    "run",
    needs=["decode.tok_s | prefill.tok_s | throughput.tok_s | throughput.end_to_end_tok_s"],
)
def zero_means_not_run(run: RunFacts) -> Iterator[Problem]:
    """A speed of 0, which nobody measured.

    What it does:
        Warns where a speed of a run is 0, and names what else of it is 0.
    Why it matters:
        Tools write 0 for a run that failed or was skipped. A mean or a best-of over such rows
        is wrong, and a reader takes it for a result.
    Example:
        `"decode": {"tok_s": 0}, "throughput": {"completed_requests": 0}`
    Instead:
        leave the field out, or withdraw the run: `"void": "server ran out of memory"`
    Sources:
        vLLM `vllm bench serve` (an all-failed run writes zeros); results of failed servers in
        public repositories with status "ok".
    """
    paths = [path for path, measured in run.timed if _is_zero(measured)]
    if not paths:
        return
    zeros = [(number, path) for path in paths if (number := timed_number(run, path)) is not None]
    number, path = next(((n, p) for n, p in zeros if p in _SPEEDS), (None, ""))
    if number is None:
        return
    others = [(n, p) for n, p in zeros if n is not number]
    yield Problem(
        number,
        f"{path} of {run} is {number}, which is no measurement: it failed or was not run",
        related=[*others, *_no_requests(run)],
        help="leave the field out, or withdraw the run with `void` and the reason",
    )


def _is_zero(measured: Measured) -> bool:
    return (measured.value if isinstance(measured, MeasuredObject) else measured) == 0


def _no_requests(run: RunFacts) -> Iterator[tuple[str, str]]:
    throughput = run.throughput
    if throughput is not None and throughput.model.completed_requests == 0:
        yield throughput.at("completed_requests"), "completed requests"


# --- BL425 -----------------------------------------------------------------------------------

_MORE_REQUESTS = 4
_FLAT = 0.05
#: From more requests on a device may honestly be saturated.
_FEW_REQUESTS = 2


@rule(
    "BL425",
    "throughput-flat-in-concurrency",
    Severity.WARNING,
    "report",
    needs=["runs.throughput.tok_s"],
)
def throughput_flat_in_concurrency(report: ReportFacts) -> Iterator[Problem]:
    """Throughput does not move while concurrency rises fourfold from one or two.

    What it does:
        Compares runs of one configuration on one workload: warns where every run at four times
        the lowest concurrency or more has a throughput within 5 % of the lowest's. Starting
        from three requests and more the device may be saturated, so that nothing is said.
    Why it matters:
        Two streams share one reading of the weights, so throughput rises with the first
        requests. If it does not, the server handled them one after another (one slot), or the
        figure is of one stream.
    Example:
        concurrency 1: 82.1 tok/s, concurrency 8: 82.6 tok/s
    Instead:
        give the server as many slots as requests (llama-server `-np 8`), and aggregate
        throughput in `throughput.tok_s`
    Sources:
        llama.cpp `tools/server/README.md` (`--parallel`); Pope et al., arXiv 2211.05102
        (weights are read once per batch).
    """
    if sum(1 for run in report.runs if run.throughput_tok_s is not None) < 2:
        return
    for runs in _series(report):
        lowest = min(runs, key=_concurrency)
        higher = [r for r in runs if _concurrency(r) >= _MORE_REQUESTS * _concurrency(lowest)]
        if not higher or _concurrency(lowest) > _FEW_REQUESTS:
            continue
        if all(_flat(lowest, run) for run in higher):
            yield _flat_series(lowest, max(higher, key=_concurrency))


def _series(report: ReportFacts) -> Iterator[list[RunFacts]]:
    """Runs of the same configuration, workload and KV position with different concurrency."""
    groups: dict[tuple[object, ...], list[RunFacts]] = {}
    for run in report.runs:
        if run.throughput_tok_s is None or not run.concurrency or run.model.parts:
            continue
        filled = None if run.filled_tokens is None else run.filled_tokens.value
        key = run.model.configuration, run.model.workload, filled
        groups.setdefault(key, []).append(run)
    yield from (runs for runs in groups.values() if len(runs) > 1)


def _concurrency(run: RunFacts) -> int:
    return run.concurrency or 1


def _flat(a: RunFacts, b: RunFacts) -> bool:
    low, high = a.throughput_tok_s, b.throughput_tok_s
    if low is None or high is None or low.value <= 0:
        return False
    return abs(high.value / low.value - 1) < _FLAT


def _flat_series(lowest: RunFacts, highest: RunFacts) -> Problem:
    low, high = lowest.throughput_tok_s, highest.throughput_tok_s
    return Problem(
        highest.at("throughput", "tok_s"),
        f"throughput is {low} tok/s at concurrency {lowest.concurrency} and {high} at "
        f"{highest.concurrency}: requests seem to wait for each other",
        related=[
            (lowest.at("throughput", "tok_s"), f"throughput of {lowest}"),
            (lowest.at("conditions", "concurrency"), f"concurrency of {lowest}"),
            (highest.at("conditions", "concurrency"), f"concurrency of {highest}"),
        ],
        help="give the server a slot for each request, and state aggregate throughput",
        subject=highest.pointer,
    )


# --- BL426 -----------------------------------------------------------------------------------

_APART = 1.2

#: A prompt longer than this factor may honestly slow decode.
_LONGER = 1.5


@rule("BL426", "plain-arms-far-apart", Severity.WARNING, "report", needs=["runs.decode.tok_s"])
def plain_arms_far_apart(report: ReportFacts) -> Iterator[Problem]:
    """Two plain runs of the same thing differ by more than 20 %.

    What it does:
        Compares plain runs that state the same machine, engine, target, sampler, KV cache,
        workload and conditions, and warns where one is over 20 % faster. Runs with notes are
        left alone, for these may explain it.
    Why it matters:
        Plain decoding repeats within a percent or two. A baseline that is slow for a reason
        nobody wrote down makes any speed-up over it look better.
    Example:
        `plain-a` 29.4 tok/s and `plain-b` 38.1 tok/s, with nothing to tell them apart
    Instead:
        say what differs (clocks, context, what else ran), or measure again
    Sources:
        kekzl/imp#1011 (0.5 % across restarts without speculation); llama.cpp
        `tools/llama-bench/README.md` (at most 5.3 % within a series).
    """
    if len(report.plain_runs) < 2:
        return
    for runs in _alike(report.plain_runs[:MANY_RUNS]):
        timed = [(run.decode_tok_s, run) for run in runs]
        speeds = [(speed, run) for speed, run in timed if speed is not None]
        slow = min(speeds, key=lambda pair: pair[0].value)
        fast = max(speeds, key=lambda pair: pair[0].value)
        if slow[0].span.low > 0 and (fast[0].span / slow[0].span).above(_APART):
            yield _far_apart(slow, fast)


def _alike(runs: Sequence[RunFacts]) -> Iterator[list[RunFacts]]:
    """Groups of runs in which everything that is stated is the same."""
    groups: list[list[RunFacts]] = []
    for run in runs:
        if run.decode_tok_s is None or run.model.workload is None or _has_notes(run):
            continue
        for group in groups:
            if _same_setup(group[0], run):
                group.append(run)
                break
        else:
            groups.append([run])
    yield from (group for group in groups if len(group) > 1)


def _has_notes(run: RunFacts) -> bool:
    noted = any(layer.model.notes for layer in run.configuration.layers)
    return bool(run.model.notes) or noted or bool(run.model.parts)


def _same_setup(a: RunFacts, b: RunFacts) -> bool:
    if a.model.workload != b.model.workload or a.model.measurement != b.model.measurement:
        return False
    if not _same_conditions(a.model.conditions, b.model.conditions) or not _same_prompt(a, b):
        return False
    if a.model.configuration == b.model.configuration:
        return True
    return _stated(a.configuration) == _stated(b.configuration)


def _same_conditions(a: Conditions | None, b: Conditions | None) -> bool:
    """Whether conditions that move a speed are the same; how often it was measured may differ."""
    free = {"repeats": None, "restarts": None, "arm_order": None}
    blank = Conditions()
    return (a or blank).model_copy(update=free) == (b or blank).model_copy(update=free)


def _same_prompt(a: RunFacts, b: RunFacts) -> bool:
    """Whether prompts are of about the same length, as far as both or neither say."""
    if a.prefill_tokens is None or b.prefill_tokens is None:
        return a.prefill_tokens is b.prefill_tokens
    lengths = a.prefill_tokens.value, b.prefill_tokens.value
    return max(lengths) <= _LONGER * min(lengths)


def _stated(configuration: ConfigurationFacts) -> list[object]:
    blocks = (
        configuration.machine,
        configuration.engine,
        configuration.target,
        configuration.sampler,
        configuration.kv_cache,
    )
    return [None if block is None else block.model for block in blocks]


def _far_apart(slow: tuple[Reported, RunFacts], fast: tuple[Reported, RunFacts]) -> Problem:
    more = (fast[0].value / slow[0].value - 1) * 100
    return Problem(
        slow[0],
        f"plain {slow[1]} has {slow[0]} tok/s and plain {fast[1]} {fast[0]}, {shown(more, 2)} % "
        "more, and nothing stated tells them apart",
        related=[(fast[0], f"decode of {fast[1]}")],
        help="state what differs, or measure both again",
        subject=slow[1].pointer,
    )


# --- BL427 -----------------------------------------------------------------------------------

#: Flags that switch speculation on, and the values with which they do not.
_SPECULATING_FLAGS = (
    "--spec-type",
    "--speculative-config",
    "--speculative-algorithm",
    "--speculative-algo",
    "--speculative-draft-model-path",
    "--speculative-model",
)
_SWITCHED_OFF = frozenset({"none", "null", "{}", "false", ""})


@rule(
    "BL427",
    "plain-arm-speculates",
    Severity.WARNING,
    "report",
    needs=["runs.speculation.counts | configurations.engine.command_line"],
)
def plain_arm_speculates(report: ReportFacts) -> Iterator[Problem]:
    """A run without a drafter drafted tokens.

    What it does:
        Warns where a run that is said to have no drafter counts drafted or accepted tokens, or
        where its configuration's own command line switches speculation on.
    Why it matters:
        A baseline that speculates hides the gain, or shows a false loss. Engines remember
        settings, and some speculate as soon as a drafter lies beside the model.
    Example:
        `"drafter": null` with `"counts": {"drafted": 412}`
    Instead:
        switch speculation off for the baseline (llama.cpp: `--spec-type none`) and check that
        its counters stay at 0
    Sources:
        llama.cpp#26814 and llama.cpp#27005 (a drafter's type is read from its file, which
        switches speculation on); vLLM `--speculative-config`.
    """
    for run in report.plain_runs:
        for name in ("drafted", "accepted"):
            count = run.count(name)
            if count is not None and count.value > 0:
                yield _speculating(run, count, f"{count} {name} tokens")
                break
    for runs in report.runs_by_configuration.values():
        if runs[0].configuration.speculates is False:
            yield from _switched_on(runs[0])


def _speculating(run: RunFacts, at: Reported | str, what: str) -> Problem:
    return Problem(
        at,
        f"{run} is said to have no drafter, but has {what}",
        related=[(run.configuration.drafter_pointer, "the drafter as stated")],
        help="measure the baseline with speculation off, or state its drafter",
        subject=run.pointer,
    )


def _switched_on(run: RunFacts) -> Iterator[Problem]:
    """Speculation on the command line that the plain configuration itself gives."""
    configuration = run.configuration
    engine = configuration.engine
    if engine is None or engine.model.command_line is None:
        return
    at = engine.at("command_line")
    if not at.startswith(f"{configuration.pointer}/") or not configuration.known:
        return  # the report's command line need not be that of every arm
    line = command_line(engine.model.command_line)
    for flag in _SPECULATING_FLAGS:
        value = line.value(flag)
        if value is not None and value.lower() not in _SWITCHED_OFF:
            yield _speculating(run, at, f"{flag} on its command line")
            return


# --- BL428 -----------------------------------------------------------------------------------

_LOOKUPS = frozenset({"ngram", "suffix", "prompt_lookup"})
_BLOCKS = frozenset({"dflash", "dspark"})


@rule(
    "BL428",
    "draft-length-differs-from-command",
    Severity.WARNING,
    "report",
    needs=[
        "configurations.draft_length",
        "engine.command_line",
    ],
)
def draft_length_differs_from_command(report: ReportFacts) -> Iterator[Problem]:
    """The command line sets another draft length than the one that is stated.

    What it does:
        Compares `draft_length` with `--draft-max`, `--spec-draft-n-max`,
        `--num-speculative-tokens` (also in vLLM's `--speculative-config`),
        `--speculative-num-steps`, and `--speculative-num-draft-tokens` less the root, which it
        counts. Only where the command line is the configuration's own, or that of the only
        speculative configuration that ran. Silent for trees, several drafters, n-gram drafters
        (engines cap them otherwise) and a block drafter that is asked for more than its block.
    Why it matters:
        Every bound on accepted length and acceptance rate rests on K, and who repeats the run
        uses the command line.
    Example:
        `"draft_length": 4` with `"command_line": "llama-server -m t.gguf -md d.gguf
        --draft-max 8"`
    Instead:
        `"draft_length": 8`
    Sources:
        llama.cpp `common/arg.cpp`; vLLM `vllm/config/speculative.py`; SGLang
        `python/sglang/srt/server_args.py`.
    """
    speculating = {r.model.configuration for r in report.all_runs if r.speculates is not False}
    for name, runs in report.runs_by_configuration.items():
        configuration = runs[0].configuration
        length, engine = configuration.draft_length, configuration.engine
        if length is None or engine is None or engine.model.command_line is None:
            continue
        only = speculating == {name}
        if _drafts_a_chain(configuration) and (only or _own_command(configuration, length.pointer)):
            found = draft_length_of(command_line(engine.model.command_line))
            if found is not None:
                yield from _unlike_command(configuration, found)


def _drafts_a_chain(configuration: ConfigurationFacts) -> bool:
    """Whether one drafter proposes chains whose length the flags set."""
    length = configuration.draft_length
    if length is None or length.model.tree is not None or len(configuration.drafters) > 1:
        return False
    methods = {drafter.model.method for drafter in configuration.drafters}
    return configuration.speculates is not False and not methods & _LOOKUPS


def _own_command(configuration: ConfigurationFacts, length_at: str) -> bool:
    """Whether the command line is the configuration's own, or stands beside the draft length."""
    engine = configuration.engine
    at = "" if engine is None else engine.at("command_line")
    beside = any(
        at.startswith(f"{layer.pointer}/") and length_at.startswith(f"{layer.pointer}/")
        for layer in configuration.layers
    )
    return beside or at.startswith(f"{configuration.pointer}/")


def _unlike_command(
    configuration: ConfigurationFacts, command: CommandDraftLength
) -> Iterator[Problem]:
    stated, engine = configuration.k, configuration.engine
    if stated is None or engine is None or stated.value == command.k:
        return
    methods = {drafter.model.method for drafter in configuration.drafters}
    if methods & _BLOCKS and command.k > stated.value:
        return  # engines cut it down to the block
    yield Problem(
        stated,
        f"the command line drafts {command.k} ({command.text}), draft_length says {stated}",
        related=[(engine.at("command_line"), "the command line")],
        help="state the draft length that the run was started with",
        subject=configuration.pointer,
    )
