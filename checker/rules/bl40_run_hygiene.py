"""BL401 to BL409: how runs were set up and what they are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlint.checker.arms import Difference, Pair, differences, pairs
from benchlint.checker.command_line import command_line
from benchlint.checker.context_lengths import Mention, longest_context
from benchlint.checker.facts import ClaimFacts, ConfigurationFacts, Placed, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.lazy import once
from benchlint.checker.missing import is_micro_benchmark
from benchlint.checker.model import Conditions, MeasuredObject, Sampler, Target
from benchlint.checker.numbers import Reported, printed, reported, shown
from benchlint.checker.registry import Problem, rule
from benchlint.checker.sampler_defaults import PARAMETERS, EngineDefaults, defaults, neutral

# --- BL401 -----------------------------------------------------------------------------------


@rule(
    "BL401",
    "cold-run",
    Severity.WARNING,
    "run",
    needs=["conditions.warm | conditions.warmup_requests | *.samples"],
)
def cold_run(run: RunFacts) -> Iterator[Problem]:
    """A speed or time was measured cold.

    What it does:
        Warns of a run that says it was not warm, or that had one measurement and no warm-up
        request. It is silent where the report has a warm run of the same configuration and
        workload beside it: then the cold one is there to be compared. Warns too where nothing is
        said of a warm-up and the first of the single times to first token is over ten times the
        median of the others.
    Why it matters:
        The first request pays for loading, compilation, graph capture and clocks that are
        still rising. Cold figures are typically 30 to 50 % low, and not by the same amount in
        both arms.
    Example:
        `"conditions": {"warm": false}`
    Instead:
        `"conditions": {"warm": true, "warmup_requests": 3, "repeats": 5}`
    Sources:
        A published pair of figures for one setting, 34.5 tok/s cold and 49.6 warm; a first
        request with TTFT 5813 ms before others of 157 and 166 ms.
    """
    conditions = run.conditions
    if conditions is not None and _cold(conditions.model):
        yield from _said_cold(run, conditions)
    elif conditions is None or not _warmed(conditions.model):
        yield from _cold_first_request(run)


def _said_cold(run: RunFacts, conditions: Placed[Conditions]) -> Iterator[Problem]:
    others = run.report.comparable_runs
    if not run.timed or not others or any(_warm(o) and _same_arm(run, o) for o in others):
        return
    said = conditions.model.warm is False
    why = "warm: false" if said else "no warm-up request before a single measurement"
    yield Problem(
        conditions.at("warm" if said else "warmup_requests"),
        f"{run} was measured cold ({why}); a first request is often 30 to 50 % slow",
        help="discard at least one request before measuring, or report a warm run beside it",
    )


#: A first request that waits so many times as long as the others for its token is cold.
_COLD_START = 10
_FEWEST_OTHERS = 2


def _cold_first_request(run: RunFacts) -> Iterator[Problem]:
    ttft = run.ttft_ms
    samples = ttft.detail.samples if ttft is not None and ttft.detail is not None else None
    if ttft is None or not samples or len(samples) <= _FEWEST_OTHERS:
        return
    others = sorted(samples[1:])
    first, usual = float(samples[0]), float(others[len(others) // 2])
    if first > _COLD_START * usual > 0:
        yield Problem(
            f"{ttft.pointer.rpartition('/')[0]}/samples/0",
            f"the first request of {run} took {printed(samples[0])} ms to its first token, "
            f"{shown(first / usual, 2)} times the median of the others, {shown(usual)} ms",
            help="discard at least one request before measuring",
        )


def _warmed(conditions: Conditions) -> bool:
    return bool(conditions.warm or conditions.warmup_requests)


def _cold(conditions: Conditions) -> bool:
    if conditions.warm is not None:
        return not conditions.warm and not conditions.warmup_requests
    return conditions.warmup_requests == 0 and conditions.repeats == 1


def _warm(run: RunFacts) -> bool:
    conditions = run.model.conditions
    return conditions is not None and _warmed(conditions)


def _same_arm(a: RunFacts, b: RunFacts) -> bool:
    return (
        a.model.configuration == b.model.configuration
        and a.model.workload == b.model.workload
        and a.concurrency == b.concurrency
    )


# --- BL402 -----------------------------------------------------------------------------------

#: The fewest measurements that show a spread at all.
_FEWEST = 3


@rule(
    "BL402",
    "too-few-repeats",
    Severity.NOTE,
    "run",
    yields_to=("BL115",),
    needs=["conditions.repeats | *.repeats | *.samples"],
)
def too_few_repeats(run: RunFacts) -> Iterator[Problem]:
    """A speed rests on one or two measurements.

    What it does:
        Notes a run that states fewer than three repeats. Prompts count: two repeats of forty
        prompts are eighty measurements.
    Why it matters:
        With speculation single measurements differ by 3 % at the same acceptance, and by 10 %
        and more across restarts of the engine. One measurement cannot show it.
    Example:
        `"conditions": {"repeats": 1}`
    Instead:
        `"conditions": {"repeats": 5, "restarts": 3}`, with `samples` or `stdev` beside the
        figure.
    Sources:
        ollama#18541 (106.9 to 115.2 tok/s at identical acceptance), kekzl/imp#1011 (11 %
        across restarts with speculation on, 0.5 % off).
    """
    count = _stated_repeats(run) if _states_repeats(run) else None
    if count is None or count.value >= _FEWEST or count.value * _prompts(run) >= _FEWEST:
        return
    if count.value < 1 or not run.timed:
        return
    times = "once" if count.value == 1 else "twice"
    yield Problem(
        count,
        f"{run} was measured {times}, which does not show how far repeats lie apart",
        help="measure at least 3 times, better 5 with restarts of the engine, and give `stdev`",
    )


def _states_repeats(run: RunFacts) -> bool:
    """Whether the run may state a number of measurements; most speeds are plain numbers."""
    conditions = run.model.conditions
    if conditions is not None and conditions.repeats is not None:
        return True
    return any(isinstance(measured, MeasuredObject) for _, measured in run.timed)


def _stated_repeats(run: RunFacts) -> Reported | None:
    """The largest number of measurements that the run states for a speed, or for itself."""
    conditions = run.conditions
    own = None if conditions is None else conditions.model.repeats
    at = "" if conditions is None else conditions.at("repeats")
    stated = [] if own is None else [reported(own, at, count=True)]
    for path, measured in run.timed:
        if isinstance(measured, MeasuredObject):
            stated.append(_behind(run.at(*path.split(".")), measured))
    counts = [each for each in stated if each is not None]
    return max(counts, key=lambda each: each.value, default=None)


def _behind(at: str, measured: MeasuredObject) -> Reported | None:
    """How many measurements a figure says are behind it."""
    if measured.repeats is not None:
        return reported(measured.repeats, f"{at}/repeats", count=True)
    if measured.samples:
        return reported(len(measured.samples), f"{at}/samples", count=True)
    return None


def _prompts(run: RunFacts) -> int:
    workload, counts = run.workload, run.counts
    prompts = None if workload is None else workload.model.prompt_count
    requests = None if counts is None else counts.model.requests
    completed = None if run.throughput is None else run.throughput.model.completed_requests
    return max(prompts or 1, requests or 1, completed or 1)


# --- BL403 -----------------------------------------------------------------------------------

#: Flags that set a parameter on an engine's command line.
_FLAGS = {
    "temperature": ("--temp", "--temperature"),
    "top_p": ("--top-p",),
    "top_k": ("--top-k",),
    "min_p": ("--min-p",),
    "repetition_penalty": ("--repeat-penalty", "--repetition-penalty"),
    "presence_penalty": ("--presence-penalty",),
    "frequency_penalty": ("--frequency-penalty",),
}

_OTHER_NAMES = {
    "temp": "temperature",
    "repeat_penalty": "repetition_penalty",
    "rep_pen": "repetition_penalty",
}

_OVERRIDING_FLAGS = ("--override-generation-config", "--preferred-sampling-params")


@rule("BL403", "engine-default-leaks", Severity.WARNING, "report", needs=["configurations.sampler"])
def engine_default_leaks(report: ReportFacts) -> Iterator[Problem]:
    """A sampling parameter was not said, and the engine's default for it is not neutral.

    What it does:
        For a configuration that states some sampling parameters, looks up what its engine
        applies to the others and warns where that changes the distribution in every version
        that may have run. At temperature 0 only penalties count. A parameter named under
        `left_to_engine` was left to the engine on purpose.
    Why it matters:
        Sampling decides which drafts are accepted. llama.cpp's `min_p` 0.05, left in beside a
        documented sampler without it, was the difference between 78.29 and 84.64 tok/s.
    Example:
        llama.cpp with `"sampler": {"temperature": 1.0, "top_p": 0.95, "top_k": 64}`
    Instead:
        `"sampler": {"temperature": 1.0, "top_p": 0.95, "top_k": 64, "min_p": 0}`, or
        `"left_to_engine": ["min_p"]`
    Sources:
        llama.cpp `common/common.h` (`common_params_sampling`), Ollama `api/types.go`
        (`DefaultOptions`), lmstudio-js `kv-config/src/schema.ts`; the table
        `sampler_defaults.csv` has all of them.
    """
    seen: set[str] = set()
    for runs in report.runs_by_configuration.values():
        configuration = runs[0].configuration
        sampler = configuration.sampler
        if sampler is None or sampler.pointer in seen or all(map(is_micro_benchmark, runs)):
            continue
        seen.add(sampler.pointer)
        yield from _leaks(configuration, sampler)


def _leaks(configuration: ConfigurationFacts, sampler: Placed[Sampler]) -> Iterator[Problem]:
    engine = configuration.engine
    if engine is None or engine.model.name is None or not _states_something(sampler.model):
        return
    applied = defaults(engine.model.name, engine.model.version)
    if applied is None:
        return
    unsaid = _acting(configuration, sampler.model, applied)
    if unsaid:
        yield _leak(sampler, engine.at("name"), unsaid, applied)


def _states_something(sampler: Sampler) -> bool:
    return any(getattr(sampler, name) is not None for name in PARAMETERS)


def _acting(
    configuration: ConfigurationFacts, sampler: Sampler, applied: EngineDefaults
) -> list[str]:
    """Parameters that nobody set and whose default certainly changes the distribution."""
    said = _said_otherwise(sampler)
    members = sampler.__dict__
    unsaid = [p for p in PARAMETERS if members[p] is None and p not in said]
    acting = [p for p in unsaid if applied.certainly_acts(p, sampler.temperature)]
    return [p for p in acting if not _on_command_line(configuration, p)] if acting else []


def _said_otherwise(sampler: Sampler) -> set[str]:
    """Parameters under `others` and `left_to_engine`, by the names of the format."""
    names = [*(sampler.others or {}), *(sampler.left_to_engine or ())]
    plain = (name.strip().lower().replace("-", "_") for name in names)
    return {_OTHER_NAMES.get(name, name) for name in plain}


def _on_command_line(configuration: ConfigurationFacts, parameter: str) -> bool:
    """Whether the engine was started with this parameter, or with parameters in a file."""
    engine = configuration.engine
    if engine is None or engine.model.command_line is None:
        return False
    line = command_line(engine.model.command_line)
    return line.value(*_FLAGS[parameter], *_OVERRIDING_FLAGS) is not None


def _leak(
    sampler: Placed[Sampler], engine_at: str, unsaid: Sequence[str], applied: EngineDefaults
) -> Problem:
    values = _joined([_values(applied, p) for p in unsaid])
    unless = f", unless overridden by {applied.model_override}" if applied.model_override else ""
    are = "is" if len(unsaid) == 1 else "are"
    example = ", ".join(f'"{p}": …' for p in unsaid)
    return Problem(
        sampler.pointer,
        f"{_joined(unsaid)} {are} not said, so {applied.engine} applies {values}{unless}",
        related=[(engine_at, "whose defaults hold")],
        help=f"state {example} as sent, or name them under `left_to_engine`",
        subject=sampler.pointer,
    )


def _values(applied: EngineDefaults, parameter: str) -> str:
    return " or ".join(f"{v:g}" for v in applied.values[parameter])


def _joined(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


# --- BL404 -----------------------------------------------------------------------------------


@rule(
    "BL404",
    "sampler-differs-from-documented",
    Severity.WARNING,
    "report",
    needs=[
        "configurations.sampler",
        "target.documented_sampler",
    ],
)
def sampler_differs_from_documented(report: ReportFacts) -> Iterator[Problem]:
    """The sampler that ran is not the one the model's card documents.

    What it does:
        Compares the parameters that a configuration states with the target's documented
        sampler: another value, or a filter or penalty that the documented sampler does not
        have. Greedy decoding (temperature 0) is a benchmark's fair choice and not compared.
    Why it matters:
        Sampling is a setting of quality and of speculation: acceptance measured under another
        sampler is not what those get who follow the card.
    Example:
        `"min_p": 0.05` where the card says temperature 1.0, top_p 0.95, top_k 64
    Instead:
        `"min_p": 0`, or a run under each sampler
    Sources:
        The field report "DFlashでtok/sの意味が変わる": removing a left-over `min_p` 0.05 took
        decode from 78.29 to 84.64 tok/s and acceptance from 36.18 to 38.67 %.
    """
    seen: set[tuple[str, str]] = set()
    for runs in report.runs_by_configuration.values():
        sampler, target = runs[0].configuration.sampler, runs[0].configuration.target
        if sampler is None or target is None or target.model.documented_sampler is None:
            continue
        key = sampler.pointer, target.at("documented_sampler")
        if key in seen or all(map(is_micro_benchmark, runs)):
            continue
        seen.add(key)
        yield from _departures(sampler, target)


def _departures(sampler: Placed[Sampler], target: Placed[Target]) -> Iterator[Problem]:
    documented = target.model.documented_sampler
    temperature = sampler.model.temperature
    if documented is None or documented.temperature is None or temperature == 0:
        return
    found = [p for p in PARAMETERS if _departs(p, sampler.model, documented)]
    if not found:
        return
    texts = [_departure(p, sampler.model, documented) for p in found]
    yield Problem(
        sampler.at(found[0]),
        f"the sampler is not the documented one: {'; '.join(texts)}",
        related=[
            *((sampler.at(p), f"{p} in effect") for p in found[1:]),
            (target.at("documented_sampler"), "the documented sampler"),
        ],
        help="measure with the documented sampler, or say why another was used",
        subject=sampler.pointer,
    )


def _departs(parameter: str, sampler: Sampler, documented: Sampler) -> bool:
    have = getattr(sampler, parameter)
    if have is None:
        return False
    want = getattr(documented, parameter)
    if want is None:  # a temperature always is documented here
        return not neutral(parameter, have)
    if have == want or parameter == "temperature":
        return bool(have != want)
    return not (neutral(parameter, have) and neutral(parameter, want))


def _departure(parameter: str, sampler: Sampler, documented: Sampler) -> str:
    have, want = getattr(sampler, parameter), getattr(documented, parameter)
    if want is None:
        return f"{parameter} {printed(have)} is not in it"
    return f"{parameter} {printed(have)}, documented {printed(want)}"


# --- BL405 -----------------------------------------------------------------------------------


@rule(
    "BL405",
    "draft-exceeds-trained-block",
    Severity.WARNING,
    "report",
    needs=["configurations.drafter.trained_block_size", "configurations.draft_length"],
)
def draft_exceeds_trained_block(report: ReportFacts) -> Iterator[Problem]:
    """The draft length is more than the drafter's trained block can hold.

    What it does:
        Warns where K is over the block size that the drafter was trained with, less one: the
        first slot of a block is the token that the target gave.
    Why it matters:
        Positions past the trained block are guesses that the drafter never learnt: they cost
        verification and are rarely accepted, or the engine cuts them off without a word, and
        then K is not what the report says.
    Example:
        `"draft_length": 10` with `"trained_block_size": 8`
    Instead:
        `"draft_length": 7`
    Sources:
        z-lab/dflash `model.py` (a block is one given token and block_size - 1 masks);
        llama.cpp `common/speculative.cpp` (K is clamped, with a line in the log); a published
        pair: accepted length 3.84 at K = 10 and 3.92 at K = 7, block 8.
    """
    seen: set[str] = set()
    for runs in report.runs_by_configuration.values():
        configuration = runs[0].configuration
        drafters = configuration.drafters
        block = drafters[0].model.trained_block_size if len(drafters) == 1 else None
        k = None if block is None else configuration.k
        if block is None or k is None or k.pointer in seen:
            continue
        if k.value > block - 1 and not _drafts_a_tree(configuration):
            seen.add(k.pointer)
            yield _over_block(k, block, drafters[0].at("trained_block_size"))


def _drafts_a_tree(configuration: ConfigurationFacts) -> bool:
    length = configuration.draft_length
    return length is not None and length.model.tree is not None


def _over_block(k: Reported, block: int, block_at: str) -> Problem:
    return Problem(
        k,
        f"K {k} > block - 1 = {block - 1}: the drafter was trained to draft {block - 1} tokens",
        related=[(block_at, "trained block size")],
        help=f"set K to {block - 1}; an engine that counts the given token too (SGLang) calls "
        f"that {block}",
        subject=k.pointer,
    )


# --- BL406 -----------------------------------------------------------------------------------

#: A run that filled this share of a context length was measured at it.
_FILLED = 0.9


@rule(
    "BL406",
    "capacity-is-not-performance",
    Severity.WARNING,
    "report",
    needs=["title | claims.text"],
)
def capacity_is_not_performance(report: ReportFacts) -> Iterator[Problem]:
    """A title or claim speaks of a context length at which nothing was measured.

    What it does:
        Reads context lengths in the title and in claims ("256K context") and warns where no
        run filled the KV cache to at least 90 % of the longest, by its KV position, prefilled
        tokens or prompt length. Claims about memory may speak of capacity.
    Why it matters:
        That a server starts with a large context says nothing of its speed there: memory is
        often taken lazily, buffers grow during prefill, and attention reads the whole cache
        for each token.
    Example:
        "256K context at 80 tok/s", where the longest prompt had 2,000 tokens
    Instead:
        a run with `"kv_position": {"filled_tokens": 262116}`, or no number in the title
    Sources:
        The field report "DFlashでtok/sの意味が変わる": "context capacity" and "context
        performance" are two claims; 80.87 tok/s near the start, 21.56 at 262,116 tokens.
    """
    if not report.runs:
        return
    mention = longest_context(report.model.title)
    if mention is not None and not _is_filled(report, mention):
        yield _unfilled("/title", "the title", mention, *_furthest(report))
    for claim in report.claims:
        mention = None if _is_about_memory(claim) else longest_context(claim.model.text)
        if mention is not None and not _is_filled(report, mention):
            yield _unfilled(claim.at("text"), str(claim), mention, *_furthest(report))


def _is_about_memory(claim: ClaimFacts) -> bool:
    return claim.model.metric is not None and claim.model.metric.startswith("memory.")


def _is_filled(report: ReportFacts, mention: Mention) -> bool:
    furthest, _ = _furthest(report)
    return furthest is not None and furthest.span.high >= _FILLED * mention.tokens


@once
def _furthest(report: ReportFacts) -> tuple[Reported | None, RunFacts | None]:
    """The longest filled context that any run states, and that run."""
    found: tuple[Reported | None, RunFacts | None] = None, None
    for run in report.runs:
        for each in (run.filled_tokens, run.prefill_tokens, _prompt_tokens(run)):
            longest = found[0]
            if each is not None and (longest is None or each.span.high > longest.span.high):
                found = each, run
    return found


def _prompt_tokens(run: RunFacts) -> Reported | None:
    workload = run.workload
    if workload is None or workload.model.prompt_tokens is None:
        return None
    return reported(workload.model.prompt_tokens, workload.at("prompt_tokens"), count=True)


def _unfilled(
    at: str, what: str, mention: Mention, furthest: Reported | None, run: RunFacts | None
) -> Problem:
    said = f"{what} speaks of {mention.text} tokens of context, but"
    related = [] if furthest is None else [(furthest, "the furthest that a run states")]
    if furthest is None:
        message = f"{said} no run says how far it had filled the KV cache"
    else:
        message = f"{said} no run filled 90 % of it: {run} came furthest with {furthest}"
    return Problem(
        at,
        message,
        related=related,
        help="measure decode at a filled context and state "
        "`runs[].conditions.kv_position.filled_tokens`",
        subject=at,
    )


# --- BL407 -----------------------------------------------------------------------------------


@rule(
    "BL407",
    "arms-differ",
    Severity.WARNING,
    "report",
    needs=["configurations.drafter | runs.speculation | configurations.draft_length"],
)
def arms_differ(report: ReportFacts) -> Iterator[Problem]:
    """A speculative run and its baseline differ in more than speculation.

    What it does:
        Compares the resolved configurations of a speculative run and the plain run that its
        speed-up or a claim names, or else the one plain run of the same setting: sampler,
        engine, version, threads, parallelism, target, its quantization, KV cache type,
        concurrency, prompt cache, KV position, warm-up (warm against cold, none against some
        requests), one measurement against three or more. Only what both state counts, and not
        what a drafter forces: a smaller KV cache, fewer layers on the device, a patched engine.
    Why it matters:
        The ratio of two speeds is the gain from speculation only when nothing else changed.
        CUDA graphs alone were worth 37 % at the same accepted length.
    Example:
        the speculative arm with `"version": "b9000"`, its baseline with `"version": "b7000"`
    Instead:
        measure both arms with the same build, sampler and quantization
    Sources:
        sgl-project/sglang#4247 (276.30 tok/s without graphs, 378.57 with, accepted length
        5.36 and 5.39); Hoefler and Belli, "Scientific Benchmarking of Parallel Computing
        Systems", SC 2015 (rule 9: document the factors that vary).
    """
    if not report.speculative_runs or not report.plain_runs:
        return
    found = [(pair, differences(pair.spec, pair.plain)) for pair in pairs(report)]
    compared = {pair.plain.pointer for pair, differ in found if pair.stated or not differ}
    seen: set[tuple[str, ...]] = set()
    for pair, differ in found:
        key = tuple(d.spec_at + d.plain_at for d in differ)
        # a baseline that has its own partner is not blamed for runs that vary something else
        if not differ or key in seen or not (pair.stated or pair.plain.pointer not in compared):
            continue
        seen.add(key)
        yield _unequal(pair, differ)


def _unequal(pair: Pair, differ: Sequence[Difference]) -> Problem:
    related = [(differ[0].plain_at, f"{differ[0].name} of the baseline")]
    for each in differ[1:]:
        related += [(each.spec_at, each.name), (each.plain_at, f"{each.name} of the baseline")]
    return Problem(
        differ[0].spec_at,
        f"{pair.spec} and its baseline {pair.plain.id!r} differ in more than speculation: "
        + "; ".join(map(str, differ)),
        related=related,
        help="measure both arms alike, or compare with a baseline that matches",
        subject=pair.spec.pointer,
    )


# --- BL408 -----------------------------------------------------------------------------------

#: Kinds of work that a scope may name even where the report has no workload of that kind.
_KINDS = frozenset({"code", "prose", "planning", "chat", "tool_call", "infra", "rag"})
_EVERYTHING = frozenset({"all", "any", "every", "everything", "general", "all workloads"})


@rule("BL408", "one-workload-generalised", Severity.WARNING, "claim", needs=["scope.workloads"])
def one_workload_generalised(claim: ClaimFacts) -> Iterator[Problem]:
    """A claim is said to hold for workloads that its run did not have.

    What it does:
        Compares the workloads in a claim's scope with the workload and the mix of the run it
        is about (and of the runs which that one pools, or which it is best among).
    Why it matters:
        Acceptance is a property of the text: the same drafter on the same machine gave 80.87
        tok/s on code and 38.34 on a mix with prose and planning.
    Example:
        `"scope": {"workloads": ["code", "chat"]}` for a run on code alone
    Instead:
        `"scope": {"workloads": ["code"]}`, or a run on each
    Sources:
        The field report "DFlashでtok/sの意味が変わる"; hemingkx/Spec-Bench `Leaderboard.md`
        (speed-ups of one method from 1.4 to 3.1 by task).
    """
    scope, run = claim.model.scope, claim.of
    if scope is None or not scope.workloads or not isinstance(run, RunFacts):
        return
    names, kinds = _covered(claim, run)
    if not names or not kinds:
        return
    # beside an author's own word for a kind ("python"), a common one may mean the same
    other = _known_names(claim.report) | (_KINDS if kinds <= _KINDS else set())
    outside = [w for w in scope.workloads if _beyond(w.casefold(), names, kinds, other)]
    if outside:
        yield Problem(
            claim.at("scope", "workloads"),
            f"{claim} is said of {_joined(outside)}, but {run} had {_joined(sorted(kinds))} only",
            related=[(run.at("workload"), f"workload of {run}")],
            help="claim what was measured, or name a run that has these workloads too",
        )


def _covered(claim: ClaimFacts, run: RunFacts) -> tuple[set[str], set[str]]:
    """Names of the workloads, and kinds in their mixes, of the runs behind a claim."""
    runs = [run, *run.parts, *(r for r in claim.among if isinstance(r, RunFacts))]
    mixes = [each.workload.model.mix for each in runs if each.workload is not None]
    if not mixes or not all(mixes):
        return set(), set()  # a mix that is not known may have anything in it
    names = {(each.model.workload or "").casefold() for each in runs}
    return names, {kind.casefold() for mix in mixes for kind in mix or ()}


def _known_names(report: ReportFacts) -> set[str]:
    workloads = report.model.workloads or {}
    kinds = (kind for each in workloads.values() for kind in each.mix or ())
    return {name.casefold() for name in (*workloads, *kinds)}


def _beyond(wanted: str, names: set[str], kinds: set[str], other: set[str]) -> bool:
    """Whether a workload in a scope is known to be another than those that were run."""
    if wanted in _EVERYTHING:
        return len(kinds) == 1 and kinds <= _KINDS
    return wanted not in names and wanted not in kinds and wanted in other


# --- BL409 -----------------------------------------------------------------------------------


@rule("BL409", "prompt-cache-on", Severity.WARNING, "run", needs=["conditions.prompt_cache"])
def prompt_cache_on(run: RunFacts) -> Iterator[Problem]:
    """Prompts were repeated while the prompt cache was on.

    What it does:
        Warns where a run has its prompt cache on and repeats its prompts without restarting
        the engine, and reports what the cache changes: prefill speed, TTFT, throughput, or,
        with llama.cpp, speculative decode, whose drafter remembers a repeated prompt. Silent
        where the prefilled tokens show that the prompt was processed in full.
    Why it matters:
        From the second time on the prompt is not processed but looked up. A repeated prompt
        took llama.cpp's speculative decode from 46.7 to 167 tok/s, and prefill figures of
        14,661 tok/s were cache hits where 12,400 was true.
    Example:
        `"conditions": {"prompt_cache": true, "repeats": 5}` beside `"ttft_ms": 35`
    Instead:
        `"prompt_cache": false` (llama-server: `cache_prompt: false` in the request), or
        distinct prompts
    Sources:
        llama.cpp#10455; llama.cpp#26100; a published series of prefill figures, 12,400 then
        14,661 and 14,780 tok/s for one prompt.
    """
    conditions = run.conditions
    if conditions is None or not conditions.model.prompt_cache:
        return
    repeats, restarts = conditions.model.repeats or 1, conditions.model.restarts or 0
    moved = _moved_by_cache(run)
    if repeats < 2 or restarts >= repeats - 1 or moved is None or _processed_in_full(run):
        return
    yield Problem(
        conditions.at("prompt_cache"),
        f"{run} repeats its prompts {repeats} times with the prompt cache on: from the second "
        "time on they are looked up, not processed",
        related=[(moved, "moved by the cache"), (conditions.at("repeats"), "repeats")],
        help="switch the prompt cache off, use distinct prompts, or restart between repeats",
    )


def _moved_by_cache(run: RunFacts) -> Reported | None:
    """A number of the run that cached prompts change."""
    prefill = run.prefill_tok_s or run.ttft_ms or run.prefill_seconds
    if prefill is not None or run.throughput_tok_s is not None:
        return prefill or run.throughput_tok_s
    llama = run.configuration.engine_kind in ("llama.cpp", "ik_llama.cpp")
    return run.decode_tok_s if llama and run.speculates else None


def _processed_in_full(run: RunFacts) -> bool:
    workload = run.workload
    prompt = None if workload is None else workload.model.prompt_tokens
    wanted = reported(prompt, "", count=True)
    done = run.prefill_tokens
    return done is not None and wanted is not None and done.span.high >= _FILLED * wanted.span.low
