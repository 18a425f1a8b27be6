"""BL110 to BL119: machine, engine and conditions, as far as a report leaves them unsaid."""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker import missing
from benchlint.checker.derived import is_given
from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.missing import Item, Lack
from benchlint.checker.model import MeasuredObject
from benchlint.checker.registry import Problem, rule

# --- draft selection -------------------------------------------------------------------------

#: Methods that look drafts up in text: nothing is selected from a distribution.
_LOOKUPS = frozenset({"ngram", "suffix", "prompt_lookup"})

_PLACEMENT_PATH = "configurations.NAME.draft_selection.placement"
_PLACEMENT = Item("no placement of draft selection", _PLACEMENT_PATH, '"placement": "gpu"')
_UNKNOWN = Item("draft selection is said to be unknown", _PLACEMENT_PATH, '"placement": "gpu"')


@rule("BL110", "draft-selection-placement", Severity.NOTE, "report")
def draft_selection_placement(report: ReportFacts) -> Iterator[Problem]:
    """It is not said whether draft tokens are selected on the GPU or on the CPU.

    What it does:
        Asks every speculative configuration where its draft tokens are selected (the argmax
        placement). N-gram, suffix and prompt-lookup drafters select nothing and are not asked.
    Why it matters:
        A selection on the CPU puts a copy and a synchronisation into every draft step. Keeping
        it on the GPU took one mixed workload from 36.30 to 38.34 tok/s.
    Example:
        `"drafter": {"method": "dflash"}` without a word on selection
    Instead:
        `"draft_selection": {"placement": "gpu", "method": "argmax"}`
    Sources:
        Item 8 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる",
        and its measurement of both placements.
    """
    configurations = missing.speculative_configurations(report)
    asked = missing.Group([a for a in configurations if not _only_lookups(a.run)])
    yield from missing.missing(asked, _placement_lack, "speculative ")


def _only_lookups(run: RunFacts) -> bool:
    drafters = run.configuration.drafters
    return bool(drafters) and all(d.model.method in _LOOKUPS for d in drafters)


def _placement_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.draft_selection
    placement = None if placed is None else placed.model.placement
    if placement is None:
        return _PLACEMENT
    return _UNKNOWN if placement == "unknown" else None


# --- quality ---------------------------------------------------------------------------------

_QUALITY = Item(
    "no quality metric",
    "quality",
    '"quality": [{"metric": "perplexity", "dataset": "WikiText-2", "value": 5.542}]',
)
_QUALITY_VALUE = Item("no value in any quality row", "quality[].value", '"value": 5.542')


@rule("BL111", "quality-metric", Severity.NOTE, "report")
def quality_metric(report: ReportFacts) -> Iterator[Problem]:
    """No quality metric stands beside the speed.

    What it does:
        Asks a report that has runs for one quality figure: perplexity, a task score.
    Why it matters:
        The fastest quantization is often not the one to use: 94.36 tok/s at perplexity 5.6493
        lost to 84.64 tok/s at 5.5420. Speed alone cannot show that.
    Example:
        A report with runs and no `quality`
    Instead:
        `"quality": [{"metric": "perplexity", "dataset": "WikiText-2", "value": 5.5420,
        "configuration": "dflash-k15"}]`
    Sources:
        Item 9 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる",
        and its table of quantizations.
    """
    if not report.runs or missing.is_misfit(report, "/quality"):
        return
    if not report.quality:
        yield Problem("", _QUALITY.text, help=_QUALITY.advice)
    elif all(row.value is None for row in report.quality):
        yield Problem("/quality", _QUALITY_VALUE.text, help=_QUALITY_VALUE.advice)


# --- machine and engine ----------------------------------------------------------------------

_DEVICE = Item("no device name", "machine.devices[].name", '"name": "NVIDIA GeForce RTX 4090"')


@rule("BL112", "device", Severity.NOTE, "report")
def device(report: ReportFacts) -> Iterator[Problem]:
    """The device that the model ran on is not named.

    What it does:
        Asks every configuration that was run for the name of its devices, its own or the
        report's. Where the backend is the CPU, the name of the CPU will do.
    Why it matters:
        Memory bandwidth bounds decode. Without the device no speed can be held against it.
    Example:
        `"machine": {"devices": [{"memory_gb": 24}]}`
    Instead:
        `"machine": {"devices": [{"name": "NVIDIA GeForce RTX 4090", "count": 1,
        "memory_gb": 24}]}`
    Sources:
        MLPerf Inference submission rules, system description.
    """
    asked = missing.configurations(report)
    yield from missing.missing_in_block(report, "machine", asked, _device_lack)


def _device_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.machine
    if placed is None:
        return _DEVICE
    machine = placed.model
    named = any(d.name for d in machine.devices or ()) or (machine.cpu and _on_cpu(run))
    return None if named else _DEVICE


def _on_cpu(run: RunFacts) -> bool:
    engine = run.configuration.engine
    return engine is not None and (engine.model.backend or "").lower() == "cpu"


_ENGINE = Item("no engine", "engine.name", '"name": "llama.cpp"')
_VERSION = Item("no engine version", "engine.version", '"version": "b6100"')
_NO_ENGINE = missing.either(_ENGINE, _VERSION)


@rule("BL113", "engine-version", Severity.NOTE, "report")
def engine_version(report: ReportFacts) -> Iterator[Problem]:
    """The engine or its version is not stated.

    What it does:
        Asks every configuration that was run for the engine's name, and for its version,
        build number or commit.
    Why it matters:
        Engines change their kernels, their defaults and even what they call an acceptance
        rate from one version to the next.
    Example:
        `"engine": {"name": "vllm"}`
    Instead:
        `"engine": {"name": "vllm", "version": "0.32.0"}`
    Sources:
        SGLang logs another accept rate since 0.5.11 (`scheduler_metrics_mixin.py`); llama.cpp
        moved the default draft maximum from 16 to 3.
    """
    asked = missing.configurations(report)
    yield from missing.missing_in_block(report, "engine", asked, _engine_lack)


def _engine_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.engine
    if placed is None:
        return _NO_ENGINE[True, True]
    engine = placed.model
    return _NO_ENGINE[not engine.name, not (engine.version or engine.commit)]


# --- baseline --------------------------------------------------------------------------------

_BASELINE = Item("no plain run", "configurations.NAME.drafter", '"drafter": null')


@rule("BL114", "baseline-run", Severity.NOTE, "report")
def baseline_run(report: ReportFacts) -> Iterator[Problem]:
    """There are speculative runs and no plain run to compare them with.

    What it does:
        Asks a report with speculative runs for a run without a drafter, or for a measured
        `speedup` over a run that it holds. It is not asked while some run does not say
        whether it had a drafter.
    Why it matters:
        Speculation is a ratio: a fast machine with a useless drafter is fast too.
    Example:
        One run at 58.5 tok/s with a drafter, and nothing else
    Instead:
        A second run on the same workload, of a configuration with `"drafter": null`
    Sources:
        Xia et al., Spec-Bench, arXiv:2401.07851: speed-up is over the same target without
        a drafter, on the same device.
    """
    drafting = missing.speculative_runs(report)
    if not drafting or report.misfits or _has_baseline(report):
        return
    number = len(drafting)
    runs = f"{number} speculative runs" if number > 1 else "the speculative run"
    related = [(r.pointer, f"{r} speculates") for r in drafting[: missing.MAX_RELATED]]
    advice = f"{_BASELINE.advice}, and a run of that configuration on the same workload"
    yield Problem("", f"no plain run to compare {runs} with", related, help=advice)


def _has_baseline(report: ReportFacts) -> bool:
    if any(not run.speculates for run in report.runs):
        return True
    over = (run.speedup_over for run in report.runs)
    return any(run is not None and run.model.void is None for run in over)


# --- conditions ------------------------------------------------------------------------------

_WARM = Item("no word on warm-up", "runs[].conditions.warm", '"warm": true')
_REPEATS = Item("no number of repeats", "runs[].conditions.repeats", '"repeats": 5')
_NO_REPEATS = missing.either(_WARM, _REPEATS)


@rule("BL115", "warm-up-and-repeats", Severity.NOTE, "report")
def warm_up_and_repeats(report: ReportFacts) -> Iterator[Problem]:
    """It is not said whether a run was warm or how often it was repeated.

    What it does:
        Asks every run whether it was warm (or for its warm-up requests), and for the number
        of repeats, which samples of a measured value also give.
    Why it matters:
        A first request holds compilation and graph capture: 34.5 tok/s cold were 49.6 warm on
        one machine. Of a single measurement nobody knows the spread.
    Example:
        `"conditions": {"concurrency": 1}`
    Instead:
        `"conditions": {"warm": true, "repeats": 5, "concurrency": 1}`
    Sources:
        Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems", SC 2015.
    """
    yield from missing.missing(missing.runs(report), _repeats_lack)


def _repeats_lack(run: RunFacts) -> Lack | None:
    conditions = run.model.conditions
    if conditions is None:
        return _NO_REPEATS[True, not _has_samples(run)]
    warm = conditions.warm is not None or conditions.warmup_requests is not None
    repeats = conditions.repeats is not None or _has_samples(run)
    return _NO_REPEATS[not warm, not repeats]


def _has_samples(run: RunFacts) -> bool:
    """Whether some speed says how many measurements are behind it."""
    if not run.given.measured:
        return False
    model = run.model
    if _is_repeated(model.speedup) or _is_repeated(model.step_time_ms):
        return True
    for block in (model.decode, model.throughput, model.prefill):
        if block is None:
            continue
        objects = [v for v in block.__dict__.values() if isinstance(v, MeasuredObject)]
        if any(_is_repeated(each) for each in objects):
            return True
    return False


def _is_repeated(value: object) -> bool:
    return isinstance(value, MeasuredObject) and bool(value.repeats or value.samples)


_CONCURRENCY = Item("no concurrency", "runs[].conditions.concurrency", '"concurrency": 1')


@rule("BL116", "concurrency", Severity.NOTE, "report")
def concurrency(report: ReportFacts) -> Iterator[Problem]:
    """It is not said how many requests were in flight at once.

    What it does:
        Asks every run for its concurrency. Micro-benchmarks, which time one sequence, are not
        asked.
    Why it matters:
        What speculation gains shrinks as the batch grows, since verifying drafts then costs
        compute that other requests need. Single-stream and server figures are two subjects.
    Example:
        `"conditions": {"warm": true}`
    Instead:
        `"conditions": {"warm": true, "concurrency": 1}`
    Sources:
        Liu et al., "Optimizing Speculative Decoding for Serving Large Language Models Using
        Goodput", arXiv:2406.14066.
    """
    asked = missing.runs_with_prompts(report)
    yield from missing.missing(asked, _concurrency_lack)


def _concurrency_lack(run: RunFacts) -> Lack | None:
    conditions = run.model.conditions
    return _CONCURRENCY if conditions is None or conditions.concurrency is None else None


# --- memory ----------------------------------------------------------------------------------

_MEMORY = Item(
    "no device memory in use after the KV cache was filled",
    "runs[].memory",
    '"memory": {"device_used_mib": 22920, "measured": "after_fill"}',
)
_WHEN = Item("", "runs[].memory.measured", '"measured": "after_fill"')


@rule("BL117", "memory-after-fill", Severity.NOTE, "report")
def memory_after_fill(report: ReportFacts) -> Iterator[Problem]:
    """No run reports the device memory in use once the KV cache was filled.

    What it does:
        Asks the report for one run with the memory in use, measured after fill. Runs on a
        processor, which has no memory of its own, are not asked.
    Why it matters:
        That a server starts is no proof that it can be used to the end of its context: the
        cache may be allocated late, and prefill needs buffers of its own.
    Example:
        `"memory": {"device_used_mib": 21010, "measured": "at_start"}`
    Instead:
        `"memory": {"device_used_mib": 22920, "device_total_mib": 24467, "measured":
        "after_fill"}`
    Sources:
        The field report "DFlashでtok/sの意味が変わる", on `--ctx-size 262144`.
    """
    runs = [run for run in missing.asked_runs(report) if not _on_cpu(run)]
    used = [run for run in runs if _reports_memory(run)]
    if any(run.model.memory and run.model.memory.measured == "after_fill" for run in used):
        return
    if used:
        yield _of_other_times(used)
    elif runs:
        yield Problem("", _MEMORY.text, help=_MEMORY.advice)


def _of_other_times(runs: list[RunFacts]) -> Problem:
    start = [r for r in runs if r.model.memory and r.model.memory.measured == "at_start"]
    text = "it is not said when device memory was measured, at start or after fill"
    if len(start) == len(runs):
        text = "device memory was measured at start, not after the KV cache was filled"
    related = [(r.at("memory"), f"memory of {r}") for r in runs[1 : 1 + missing.MAX_RELATED]]
    return Problem(runs[0].at("memory"), text, related, help=_WHEN.advice)


def _reports_memory(run: RunFacts) -> bool:
    memory = run.model.memory
    return memory is not None and (
        is_given(memory.device_used_mib) or is_given(memory.device_used_gib)
    )


# --- KV cache --------------------------------------------------------------------------------

#: Engines with one KV-cache type for target and drafter.
_ONE_TYPE = frozenset({"vllm", "sglang"})

#: Methods whose drafter is a model with a KV cache of its own.
_CACHED = frozenset({"draft_model", "dflash", "eagle", "eagle2", "eagle3"})

_TARGET_TYPE = Item(
    "no KV-cache type", "configurations.NAME.kv_cache.target_type", '"target_type": "q8_0"'
)
_DRAFTER_TYPE = Item(
    "no KV-cache type of the drafter",
    "configurations.NAME.kv_cache.drafter_type",
    '"drafter_type": "f16"',
)
_NO_TYPES = missing.either(_TARGET_TYPE, _DRAFTER_TYPE)


@rule("BL118", "kv-cache-types", Severity.NOTE, "report")
def kv_cache_types(report: ReportFacts) -> Iterator[Problem]:
    """The type of the KV cache is not stated.

    What it does:
        Asks every configuration that was run for the KV-cache type of the target, and of the
        drafter where that is a model with a cache of its own and the engine lets it differ.
    Why it matters:
        The type sets how many bytes a token in the cache costs, and quantizing it changes the
        output, hence what is accepted.
    Example:
        `"kv_cache": {"max_context_tokens": 262144}`
    Instead:
        `"kv_cache": {"target_type": "q8_0", "drafter_type": "f16",
        "max_context_tokens": 262144}`
    Sources:
        llama.cpp `common/arg.cpp` (`--cache-type-k`, `--spec-draft-type-k`), vLLM
        `--kv-cache-dtype`.
    """
    asked = missing.configurations(report)
    yield from missing.missing(asked, _kv_lack)


def _kv_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.kv_cache
    target = placed is not None and bool(placed.model.target_type)
    drafter = placed is not None and bool(placed.model.drafter_type)
    return _NO_TYPES[not target, not drafter and _drafter_has_type(run)]


def _drafter_has_type(run: RunFacts) -> bool:
    if not any(d.model.method in _CACHED for d in run.configuration.drafters):
        return False
    return run.configuration.engine_kind not in _ONE_TYPE


# --- prompts ---------------------------------------------------------------------------------

_PROMPTS = Item("no prompts", "workloads.NAME.prompts", '"prompts": {"file": "prompts.jsonl"}')
_HASH_ONLY = Item("a hash is all there is of the prompts", _PROMPTS.path, _PROMPTS.example)


@rule("BL119", "prompts-published", Severity.NOTE, "report")
def prompts_published(report: ReportFacts) -> Iterator[Problem]:
    """The prompts are not published.

    What it does:
        Asks every workload for its prompts: a known set by name, a file beside the report, or
        the prompts themselves. Micro-benchmarks have none.
    Why it matters:
        Acceptance depends on the text. Without the prompts nobody can measure it again.
    Example:
        `"workloads": {"code": {"mix": {"code": 1.0}}}`
    Instead:
        `"workloads": {"code": {"mix": {"code": 1.0}, "prompts": {"set": "HumanEval"}}}`
    Sources:
        Xia et al., Spec-Bench, arXiv:2401.07851: one published set of prompts for all methods.
    """
    asked = missing.workloads(report)
    yield from missing.missing(asked, _prompts_lack)


def _prompts_lack(run: RunFacts) -> Lack | None:
    prompts = None if run.workload is None else run.workload.model.prompts
    if prompts is not None and (prompts.set or prompts.file or prompts.inline):
        return None
    return _HASH_ONLY if prompts is not None and prompts.sha256 else _PROMPTS
