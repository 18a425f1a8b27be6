"""dflash-mlx: its benchmark of DFlash against MLX LM on one prompt.

Source: bstnxbt/dflash-mlx benchmark/benchmark.py (_build_single_case_report).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    GIB_FROM_GB,
    NUMBER,
    TEXT,
    Field,
    Kind,
    fill,
    number,
    text,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source

NAME = "dflash-mlx"

_PLAIN, _FAST = "baseline", "dflash"


def _less_one(value: object) -> int | None:
    """Of a block the first token is the target's own."""
    found = whole(value)
    return None if found is None or found < 2 else found - 1


def _known(value: object) -> str | None:
    found = text(value)
    return None if found == "unknown" else found


_REPORT = (
    Field("hardware.chip", "machine.devices.0.name", TEXT),
    Field("hardware.memory_gb", "machine.devices.0.memory_gb", NUMBER),
    Field("config.target_model", "target.name", TEXT),
)
_SETUP = (
    Field("config.draft_model", "configuration.drafter.model", TEXT),
    Field(
        "config.block_tokens",
        "configuration.draft_length.max",
        Kind("less 1", _less_one),
        "a block begins with the target's own token",
    ),
    Field("config.git_hash", "configuration.engine.commit", Kind("", _known)),
)
_WORKLOAD = (
    Field("config.prompt", "workload.prompts.inline.0", TEXT),
    Field("config.prompt_tokens", "workload.prompt_tokens", COUNT),
)
_CONDITIONS = (Field("config.repeat", "run.conditions.repeats", COUNT),)

#: Of each repeat: name, where it goes, and in which summary its median is.
_MEASURED = (
    Field("generation_tps", "run.decode.tok_s", NUMBER, "MLX LM counts the first token too"),
    Field("ttft_ms", "run.prefill.ttft_ms", NUMBER),
    Field("peak_memory_gb", "run.memory.device_used_gib", GIB_FROM_GB),
)
_DRAFTED = (
    Field(
        "acceptance_ratio",
        "run.speculation.acceptance_rate",
        NUMBER,
        "share of the output that came from drafts, not of what was drafted",
    ),
    Field(
        "tokens_per_cycle",
        "run.speculation.accepted_length",
        NUMBER,
        "output tokens over verify steps",
    ),
)
_MEDIANS = {
    (_PLAIN, "generation_tps"): "summary.baseline_tps_median",
    (_FAST, "generation_tps"): "summary.dflash_tps_median",
    (_FAST, "acceptance_ratio"): "summary.acceptance_ratio_median",
}
_SPEEDUP = Field("speedup", "run.speedup", NUMBER, "median of those of the repeats")


def _of(record: JsonRecord) -> Building:
    building = Building()
    fill(building, _REPORT, record, {})
    if building.has(("machine", "devices", 0)):
        building.put(("machine", "devices", 0, "unified_memory"), Found(value=True))
    repeats = list(record.records("runs"))
    for arm in (_PLAIN, _FAST):
        if any(isinstance(each.tree.get(arm), dict) for each in repeats):
            _add_arm(building, record, repeats, arm)
    return building


def _add_arm(
    building: Building, record: JsonRecord, repeats: Sequence[JsonRecord], arm: str
) -> None:
    configuration, run = building.configuration(arm), building.run(arm, arm)
    at = {"run": run, "configuration": configuration, "workload": building.workload("prompt")}
    building.put((*run, "workload"), Found("prompt"))
    fill(building, (*_WORKLOAD, *_CONDITIONS), record, at)
    building.put((*at["workload"], "prompt_count"), Found(1))
    building.put((*run, "conditions", "concurrency"), Found(1))
    building.put((*run, "measurement", "tool"), Found("dflash-mlx benchmark"))
    building.put((*run, "measurement", "window"), Found("decode_only"))
    names = _MEASURED if arm == _PLAIN else (*_MEASURED, *_DRAFTED)
    for field in names:
        _measure(
            building, record, [(each, f"{arm}.{field.source}") for each in repeats], field, run
        )
    if arm == _PLAIN:
        building.put((*configuration, "engine", "name"), Found("mlx-lm"))
        building.put_null((*configuration, "drafter"))
    else:
        _drafts(building, record, repeats, at)


def _drafts(
    building: Building,
    record: JsonRecord,
    repeats: Sequence[JsonRecord],
    at: dict[str, Path],
) -> None:
    configuration, run, put = at["configuration"], at["run"], building.put
    put((*configuration, "engine", "name"), Found(NAME))
    put((*configuration, "drafter", "method"), Found("dflash"))
    fill(building, _SETUP, record, at)
    speculation = (*run, "speculation")
    if building.has((*speculation, "acceptance_rate")):
        put((*speculation, "acceptance_rate", "of"), Found("output"))
    if building.has((*speculation, "accepted_length")):
        put((*speculation, "accepted_length", "counts_bonus_token"), Found(value=True))
    _measure(building, record, [(each, "speedup") for each in repeats], _SPEEDUP, run)
    if building.has((*run, "speedup")):
        put((*run, "speedup", "over"), Found(_PLAIN))


def _measure(
    building: Building,
    record: JsonRecord,
    sources: Sequence[tuple[JsonRecord, str]],
    field: Field,
    run: Path,
) -> None:
    """The numbers of all repeats, and their median where the summary has it."""
    found = [each.get(name) for each, name in sources]
    values = [None if each is None else field.kind.convert(each.value) for each in found]
    first = next(iter(found), None)
    if first is None or None in values:
        return
    path = (*run, *field.to.split(".")[1:])
    median = _median(record, sources[0][1])
    if median is not None:
        building.put((*path, "value"), median.to(number(median.value)))
        building.put((*path, "estimator"), Found("median"))
    if len(values) == 1:
        building.put((*path, "value"), first.to(values[0]))
    else:
        building.put((*path, "samples"), first.to(values))


def _median(record: JsonRecord, name: str) -> Found | None:
    arm, _, metric = name.rpartition(".")
    return record.get(_MEDIANS.get((arm, metric), "summary.speedup_median" if not arm else ""))


_ALWAYS = ("hardware", "config", "runs", "summary")


def _recognise(head: Head) -> Confidence:
    runs, config = head.record.get("runs"), head.record.get("config")
    first = runs[0] if isinstance(runs, list) and runs else None
    known = (
        head.has(*_ALWAYS)
        and isinstance(config, dict)
        and "block_tokens" in config
        and isinstance(first, dict)
        and _FAST in first
    )
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    for record in source.records():
        building = _of(record)
        if "runs" in building.tree:
            yield Imported.of(NAME, building)


IMPORTER = Importer(
    name=NAME,
    title="dflash-mlx",
    reads="results of `dflash-benchmark` (benchmark/results/*.json)",
    recognise=_recognise,
    read=_read,
    engines=("dflash",),
    fields=(*_REPORT, *_SETUP, *_WORKLOAD, *_CONDITIONS, *_MEASURED, *_DRAFTED, _SPEEDUP),
    hints={
        "target.quantization": "give the recipe of the weights",
        "engine.version": "`pip show dflash-mlx mlx-lm`; the result has the version of MLX",
        "engine.command_line": "give the command of `dflash-benchmark`",
        "configurations.*.sampler": "dflash-benchmark decodes greedily: say so",
        "workloads.*.output_tokens": "the result has --max-tokens, and not how long answers were",
        "workloads.*.stop_rule": "say whether `--no-eos` was given",
        "runs[].conditions.warm": "each repeat loads both models anew: say whether it warmed up",
        "runs[].losslessness": "the result drops the tokens of both arms",
        "quality": "`mlx_lm.perplexity --model MODEL`",
    },
    never=(
        "Acceptance of drafted tokens: its acceptance ratio is the share of the output that came "
        "from drafts. Accepted over drafted is less: (tokens per cycle - 1) over K.",
        "Acceptance by position.",
    ),
)
