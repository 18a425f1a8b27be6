"""BL101 to BL109: what was run and what came out, as far as a report leaves it unsaid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from benchlint.checker import missing
from benchlint.checker.derived import gives_acceptance_rate, gives_accepted_length, is_given
from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.missing import Item, Lack
from benchlint.checker.model import Drafter, Sampler
from benchlint.checker.numbers import Reported
from benchlint.checker.registry import Problem, rule
from benchlint.checker.sampler_defaults import EngineDefaults, defaults

# --- target ----------------------------------------------------------------------------------

#: Words that say how many bits but not which recipe. A recipe fixes block sizes, scales and
#: which layers are kept: Q4_0 and Q4_K_M differ in size by 6 % and in perplexity by far more.
_VAGUE = r"(?:q|int|w)[ _-]?[2-8]|[2-8][ -]?bits?|gguf|quanti[sz]ed|quant"

_TARGET_NAME = Item("no target model", "target.name", '"name": "Qwen/Qwen3.8-27B"')
_RECIPE = Item("no quantization recipe", "target.quantization.recipe", '"recipe": "UD-Q5_K_M"')
_TARGET = missing.either(_TARGET_NAME, _RECIPE)


@rule("BL101", "quant-recipe", Severity.NOTE, "report")
def quant_recipe(report: ReportFacts) -> Iterator[Problem]:
    """The target model or its exact quantization is not named.

    What it does:
        Asks every configuration that was run for the target's name and quantization recipe,
        its own or the report's. A recipe that only counts bits ("Q4", "4-bit") is not exact,
        except with MLX, where it is the recipe's name.
    Why it matters:
        Decode reads every weight once per token, so the recipe sets the speed; it changes the
        output too, and with it how much of a draft is accepted.
    Example:
        `"target": {"name": "Muse Glimmer 30B"}`
    Instead:
        `"target": {"name": "Muse Glimmer 30B", "quantization": {"recipe": "UD-Q5_K_M"}}`.
        Unquantized weights have one too: `"BF16"`.
    Sources:
        Item 1 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる";
        llama.cpp `tools/quantize/README.md` (sizes and perplexity by recipe).
    """
    asked = missing.configurations(report)
    yield from missing.missing_in_block(report, "target", asked, _target_lack)


def _target_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.target
    target = None if placed is None else placed.model
    nameless = target is None or not target.name
    quantization = None if target is None else target.quantization
    recipe = None if quantization is None else quantization.recipe
    if recipe and _is_vague(recipe, run):
        vague = Item(f"the recipe {recipe!r} is not exact", _RECIPE.path, _RECIPE.example)
        return missing.together([_TARGET_NAME, vague] if nameless else [vague])
    return _TARGET[nameless, not recipe]


def _is_vague(recipe: str, run: RunFacts) -> bool:
    if len(recipe) > 12 or not re.fullmatch(_VAGUE, recipe.strip().lower()):
        return False
    return run.configuration.engine_kind != "mlx-lm"


# --- drafter ---------------------------------------------------------------------------------

#: Methods whose drafter is a model (or heads) of its own, which has a name.
_MODEL_METHODS = frozenset(
    {"draft_model", "dflash", "eagle", "eagle2", "eagle3", "medusa", "dspark", "other"}
)

_DRAFTER = "configurations.NAME.drafter"
_NO_DRAFTER = Item(
    "no word on a drafter",
    _DRAFTER,
    '"drafter": null',
    " (TOML, which has no null: `drafter = []`)",
)
_NO_METHOD = Item("no drafting method", f"{_DRAFTER}.method", '"method": "dflash"')
_NO_MODEL = Item("no draft model", f"{_DRAFTER}.model", '"model": "Qwen3.8-27B-DFlash2"')


@rule("BL102", "drafter", Severity.NOTE, "report")
def drafter(report: ReportFacts) -> Iterator[Problem]:
    """It is not said whether there was a drafter, or which.

    What it does:
        Asks every configuration that was run for its drafter: `null` says there was none,
        else the method, and the model where the method has one of its own.
    Why it matters:
        A speed-up belongs to a pair of target and drafter. With another drafter of the same
        method it may be half or twice as large.
    Example:
        `"configurations": {"fast": {"draft_length": 7}}`
    Instead:
        `"configurations": {"plain": {"drafter": null}, "fast": {"drafter": {"method":
        "dflash", "model": "Qwen3.8-27B-DFlash2"}, "draft_length": 7}}`. TOML has no null:
        there `drafter = []` says that there was none.
    Sources:
        Item 2 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる".
    """
    yield from missing.missing(missing.configurations(report), _drafter_lack)


def _drafter_lack(run: RunFacts) -> Lack | None:
    configuration = run.configuration
    if configuration.speculates is None:
        return _NO_DRAFTER
    lacks = [_lack_of_drafter(each.model) for each in configuration.drafters]
    return missing.together([each for each in lacks if each is not None])


def _lack_of_drafter(model: Drafter) -> Item | None:
    if model.method is None:
        return _NO_METHOD
    if model.method in _MODEL_METHODS and not (model.model or model.extensions):
        return _NO_MODEL
    return None


# --- draft length ----------------------------------------------------------------------------

_K = Item(
    "no draft length",
    "configurations.NAME.draft_length",
    '"draft_length": {"max": 7, "policy": "fixed"}',
)
_DEPTH = Item(
    "no depth of the draft tree", "configurations.NAME.draft_length.tree.depth", '"depth": 5'
)


@rule("BL103", "draft-length", Severity.NOTE, "report")
def draft_length(report: ReportFacts) -> Iterator[Problem]:
    """A speculative configuration does not say how many tokens are drafted per step.

    What it does:
        Asks every configuration that speculates for its draft length K, or for the depth of
        its draft tree.
    Why it matters:
        Acceptance rates at different K cannot be compared: a longer draft has the lower rate
        and often the higher speed. K also bounds accepted length (τ ≤ K + 1).
    Example:
        `"drafter": {"method": "mtp"}`
    Instead:
        `"drafter": {"method": "mtp"}, "draft_length": {"max": 7, "policy": "fixed"}`
    Sources:
        Item 2 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる";
        Leviathan et al., arXiv:2211.17192, section 3.
    """
    asked = missing.speculative_configurations(report)
    yield from missing.missing(asked, _length_lack, "speculative ")


def _length_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.draft_length
    if placed is None:
        return _K
    length = placed.model
    if length.max is not None:
        return None
    if length.tree is None:
        return _K
    return _DEPTH if length.tree.depth is None else None


# --- workload --------------------------------------------------------------------------------

_WORKLOAD = Item("no workload", "runs[].workload", '"workload": "code"')
_MIX = Item("no mix", "workloads.NAME.mix", '"mix": {"code": 0.5, "chat": 0.5}')
_SHARES = Item("no shares of the mix", _MIX.path, _MIX.example)


@rule("BL104", "workload-mix", Severity.NOTE, "report")
def workload_mix(report: ReportFacts) -> Iterator[Problem]:
    """It is not said of what kinds of text the workload was made, or in what shares.

    What it does:
        Asks every run for a workload and every workload for its mix with shares. One kind
        alone needs no share. Micro-benchmarks have no workload, and pooled runs take it from
        their parts.
    Why it matters:
        Code is easier to draft than prose: on one machine with one drafter, 80.87 tok/s on
        code were 38.34 tok/s on a mix. A mixed figure means nothing without the shares.
    Example:
        `"mix": ["code", "prose", "planning"]`
    Instead:
        `"mix": {"code": 0.5, "prose": 0.25, "planning": 0.25}`
    Sources:
        Item 3 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる",
        and its table of speeds by workload.
    """
    runs = missing.workload_runs(report)
    natural = tuple([run for run in runs if not _is_synthetic(run)])
    asked = missing.workloads(report) if natural == runs else missing.by_workload(natural)
    yield from missing.missing(asked, _mix_lack)


def _is_synthetic(run: RunFacts) -> bool:
    """Whether the prompts were made-up tokens, which are of no kind."""
    measurement = run.model.measurement
    return measurement is not None and measurement.prompt_kind == "synthetic"


def _mix_lack(run: RunFacts) -> Lack | None:
    if run.workload is None:
        return _WORKLOAD
    mix = run.workload.model.mix
    if not mix:
        return _MIX
    return _SHARES if isinstance(mix, list) and len(mix) > 1 else None


# --- acceptance ------------------------------------------------------------------------------

_RATE = Item(
    "no acceptance rate",
    "runs[].speculation.acceptance_rate",
    '"acceptance_rate": {"value": 0.3618, "of": "drafted"}',
)
_LENGTH = Item(
    "no accepted length τ",
    "runs[].speculation.accepted_length",
    '"accepted_length": {"value": 6.39, "counts_bonus_token": true}',
)


@rule("BL105", "acceptance-rate", Severity.NOTE, "report")
def acceptance_rate(report: ReportFacts) -> Iterator[Problem]:
    """A speculative run does not report its acceptance rate.

    What it does:
        Asks every speculative run for its acceptance rate. It is not asked where it follows
        from counts, or from accepted length and a K that is said to be fixed, nor for a draft
        tree whose accepted length is known.
    Why it matters:
        A speed without it cannot be carried to other hardware: acceptance depends on the
        models and the text, speed on the machine as well.
    Example:
        `"decode": {"tok_s": 80.87}` alone in a run with a drafter
    Instead:
        `"speculation": {"acceptance_rate": {"value": 0.3618, "of": "drafted"}}`, or the
        engine's counts.
    Sources:
        Item 4 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる";
        vLLM `v1/spec_decode/metrics.py`, llama.cpp `tools/server/server-common.cpp`.
    """
    asked = missing.runs_with_drafter(report)
    yield from missing.missing(asked, _rate_lack, "speculative ")


def _rate_lack(run: RunFacts) -> Lack | None:
    return None if gives_acceptance_rate(run) else _RATE


@rule("BL106", "accepted-length", Severity.NOTE, "report")
def accepted_length(report: ReportFacts) -> Iterator[Problem]:
    """A speculative run does not report its accepted length τ.

    What it does:
        Asks every speculative run for its accepted length, in tokens per verify step. It is
        not asked where it follows from counts, a histogram, a complete list of positions or a
        rate that is a share of K times the steps.
    Why it matters:
        τ is how many tokens one pass of the target yields: speed-up is τ over the cost of a
        step. The acceptance rate alone misleads, since it falls as K grows while τ rises.
    Example:
        `"speculation": {"acceptance_rate": 0.3618}`
    Instead:
        `"speculation": {"acceptance_rate": 0.3618, "accepted_length": {"value": 6.39,
        "counts_bonus_token": true}}`, or the engine's counts.
    Sources:
        Item 4 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる";
        Leviathan et al., arXiv:2211.17192, section 3.
    """
    asked = missing.runs_with_drafter(report)
    yield from missing.missing(asked, _length_of_run_lack, "speculative ")


def _length_of_run_lack(run: RunFacts) -> Lack | None:
    known = run.accepted_length is not None or gives_accepted_length(run)
    return None if known else _LENGTH


# --- sampler ---------------------------------------------------------------------------------

#: The parameters that are asked for, with an example of each.
_PARAMETERS = {
    "temperature": 0.7,
    "top_p": 0.95,
    "top_k": 40,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": 1,
}

_LEFT = "name under `left_to_engine` what was not set"

#: Other names of parameters, as they stand under `others` or `left_to_engine`.
_ALIASES = {
    "temp": "temperature",
    "repeat_penalty": "repetition_penalty",
    "rep_pen": "repetition_penalty",
    "presence": "presence_penalty",
    "frequency": "frequency_penalty",
}


@rule("BL107", "sampler-parameters", Severity.NOTE, "report")
def sampler_parameters(report: ReportFacts) -> Iterator[Problem]:
    """Sampling parameters are not stated, so that the engine's defaults may have held.

    What it does:
        Names every sampling parameter that a configuration neither states nor says it left
        to the engine. Behind the name stands the default that the engine would apply, unless
        the model's own files set another; two values where its versions differ. At
        temperature 0 only the temperature is asked for. Micro-benchmarks sample nothing.
    Why it matters:
        Sampling decides which drafts are accepted. One forgotten default (`min_p` 0.05 of
        llama.cpp) was the difference between 78.29 and 84.64 tok/s.
    Example:
        `"sampler": {"temperature": 1.0, "top_p": 0.95, "top_k": 64}`
    Instead:
        `"sampler": {"temperature": 1.0, "top_p": 0.95, "top_k": 64, "min_p": 0, "seed": 1,
        "left_to_engine": ["repetition_penalty", "presence_penalty", "frequency_penalty"]}`
    Sources:
        Item 5 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる",
        and its measurement with and without `min_p`; llama.cpp `common/common.h`, vLLM
        `vllm/sampling_params.py` (defaults).
    """
    asked = missing.configurations_with_prompts(report)
    for problem in missing.missing(asked, _sampler_lack):
        problem.help = f"{problem.help}; {_LEFT}"
        yield problem


_NO_SAMPLER = Sampler.model_construct()


def _sampler_lack(run: RunFacts) -> Lack | None:
    placed = run.configuration.sampler
    sampler = _NO_SAMPLER if placed is None else placed.model
    members = sampler.__dict__
    if members["temperature"] is not None and members["temperature"] == 0:
        return None
    said = _said_otherwise(sampler) if members["others"] or members["left_to_engine"] else ()
    unsaid = tuple([p for p in _PARAMETERS if members[p] is None and p not in said])
    engine = run.configuration.engine
    name, version = (None, None) if engine is None else (engine.model.name, engine.model.version)
    return _unsaid(unsaid, name, version)


@lru_cache(maxsize=64)
def _unsaid(parameters: tuple[str, ...], engine: str | None, version: str | None) -> Lack | None:
    """What to say of parameters, the same for all configurations that lack the same."""
    applied = None if engine is None else defaults(engine, version)
    members = ", ".join(f'"{p}": {_PARAMETERS[p]}' for p in parameters)
    example = f'"sampler": {{{members}}}'
    items = (
        Item(f"no {each}{_applied(each, applied)}", "configurations.NAME.sampler", example)
        for each in parameters
    )
    return missing.together(tuple(items))


def _said_otherwise(sampler: Sampler) -> set[str]:
    """The parameters under `others` and `left_to_engine`, by the names that are asked for."""
    if not sampler.others and not sampler.left_to_engine:
        return set()
    names = [*(sampler.others or {}), *(sampler.left_to_engine or ())]
    plain = (name.strip().lower().replace("-", "_") for name in names)
    return {_ALIASES.get(name, name) for name in plain}


def _applied(parameter: str, applied: EngineDefaults | None) -> str:
    """What the engine does with a parameter that is not set, as far as is known."""
    values = () if applied is None else applied.values.get(parameter, ())
    if applied is None or not values:
        return ""
    return f" ({applied.engine}: {' or '.join(f'{v:g}' for v in values)})"


# --- speeds ----------------------------------------------------------------------------------

_NO_RUNS = Item("no runs", "runs[].decode.tok_s", '"tok_s": 38.34')
_DECODE = Item("no decode speed", "runs[].decode.tok_s", '"tok_s": 38.34')
_PREFILL = Item("no prefill speed", "runs[].prefill.ttft_ms", '"ttft_ms": 412')
_WINDOW = Item(
    "the decode speed includes prefill",
    "runs[].measurement.window",
    '"window": "decode_only"',
)
_NO_SPEEDS = missing.either(_DECODE, _PREFILL)
_MIXED_SPEEDS = missing.either(_WINDOW, _PREFILL)


@rule("BL108", "prefill-decode-split", Severity.NOTE, "report")
def prefill_decode_split(report: ReportFacts) -> Iterator[Problem]:
    """The speeds of prefill and decode are not reported apart.

    What it does:
        Asks every run that has a speed for that of decode and for that of prefill (or TTFT).
        One of the two is enough for a micro-benchmark, which times one at a time. A report
        without any run that counts is told so here, once, and is asked for nothing else.
    Why it matters:
        Speculation shortens decode and leaves prefill as it is. One figure over both says
        nothing about either, and changes with the length of the prompts.
    Example:
        `"throughput": {"end_to_end_tok_s": 31.2}`
    Instead:
        `"prefill": {"ttft_ms": 412}, "decode": {"tok_s": 38.34}`
    Sources:
        Item 6 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる";
        vLLM `vllm bench serve` (TTFT and TPOT), llama.cpp `timings`.
    """
    if not report.runs:
        yield from _without_runs(report)
        return
    asked = missing.Group([a for a in missing.runs(report) if _has_speed(a.run)])
    yield from missing.missing(asked, _speed_lack)


def _without_runs(report: ReportFacts) -> Iterator[Problem]:
    if missing.is_misfit(report, "/runs"):
        return
    void = len(report.all_runs)
    text = f"no run counts: all {void} are void" if void > 1 else "no run counts: it is void"
    at = "" if report.model.runs is None else "/runs"
    yield Problem(at, text if void else "the report has no runs", help=_NO_RUNS.advice)


def _has_speed(run: RunFacts) -> bool:
    """Whether the run is about speed, and not about acceptance, memory or output alone."""
    return not _SPEEDS.isdisjoint(run.given.paths) or _OTHERS.isdisjoint(run.given.paths)


_SPEEDS = frozenset({"prefill", "decode", "throughput", "speedup", "step_time_ms"})
_OTHERS = frozenset({"speculation", "memory", "power", "losslessness"})


def _speed_lack(run: RunFacts) -> Lack | None:
    decode, prefill = _has_decode(run), _has_prefill(run)
    if (decode or prefill) and missing.is_micro_benchmark(run):
        return None
    measurement = run.model.measurement
    if decode and measurement is not None and measurement.window == "with_prefill":
        return _MIXED_SPEEDS[True, not prefill]
    return _NO_SPEEDS[not decode, not prefill]


def _has_decode(run: RunFacts) -> bool:
    decode = run.model.decode
    if decode is None:
        return False
    return (
        is_given(decode.tok_s)
        or is_given(decode.time_per_output_token_ms)
        or is_given(decode.inter_token_latency_ms)
        or is_given(decode.inter_chunk_latency_ms)
        or (is_given(decode.tokens) and is_given(decode.seconds))
    )


def _has_prefill(run: RunFacts) -> bool:
    prefill = run.model.prefill
    return prefill is not None and (
        is_given(prefill.tok_s) or is_given(prefill.ttft_ms) or is_given(prefill.seconds)
    )


# --- KV position -----------------------------------------------------------------------------

_POSITION = Item(
    "no filled KV position",
    "runs[].conditions.kv_position.filled_tokens",
    '"filled_tokens": 2048',
)


@rule("BL109", "filled-kv-position", Severity.NOTE, "report")
def filled_kv_position(report: ReportFacts) -> Iterator[Problem]:
    """It is not said how full the KV cache was when decode started.

    What it does:
        Asks every run for the tokens in the cache before decode. It is not asked where the
        length of a prompt is known, for that is the position.
    Why it matters:
        Attention reads the whole filled cache for every token. A context of 262,144 tokens
        that a server can hold says nothing about the speed at token 262,116.
    Example:
        `"kv_cache": {"max_context_tokens": 262144}` and no position in the run
    Instead:
        `"conditions": {"kv_position": {"filled_tokens": 262116}}`
    Sources:
        Item 7 of the reporting checklist in the field report "DFlashでtok/sの意味が変わる",
        which fills the cache before it measures.
    """
    yield from missing.missing(missing.runs(report), _position_lack)


def _position_lack(run: RunFacts) -> Lack | None:
    known = run.filled_tokens is not None or _prompt_length(run) or _whole_prefill(run)
    return None if known else _POSITION


def _prompt_length(run: RunFacts) -> bool:
    return run.workload is not None and run.workload.model.prompt_tokens is not None


def _whole_prefill(run: RunFacts) -> bool:
    """Whether the prefilled tokens are all that is in the cache of one request."""
    if run.model.prefill is None:
        return False
    conditions = run.model.conditions
    cached = conditions is not None and conditions.prompt_cache
    return run.prefill_tokens is not None and not cached and not _many_requests(run)


def _many_requests(run: RunFacts) -> bool:
    prompts = None if run.workload is None else run.workload.model.prompt_count
    requests: Reported | None = run.count("requests")
    return (prompts or 1) > 1 or (requests is not None and requests.value > 1)
