"""SpecForge's benchmarks of draft models on SGLang.

Source: sgl-project/SpecForge benchmarks/bench_eagle3.py, bench_dflash.py (one JSON),
benchmarker/utils.py (BenchmarkMetrics), bench_model_speedup.py (JSON Lines). The lines of its
older run_*.py are SGLang's own; see `sglang_bench`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, fill, number, text, whole
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source

NAME = "specforge"

# --- fields ----------------------------------------------------------------------------------

_LENGTH = (
    "output tokens over verify steps; 1.0 where the server does not speculate, and then not "
    "taken over"
)

_METRICS = (
    Field("latency", "run.throughput.seconds", NUMBER, "of all questions together"),
    Field(
        "output_throughput",
        "run.throughput.tok_s",
        NUMBER,
        "output tokens over that time, prefill included",
    ),
    Field("num_questions", "run.throughput.completed_requests", COUNT),
)
_ENTRY = (Field("batch_size", "run.conditions.concurrency", COUNT, "and most running requests"),)

_SPEEDUP = (
    Field("duration", "run.throughput.seconds", NUMBER, "bench_model_speedup.py"),
    Field("throughput", "run.throughput.tok_s", NUMBER, "bench_model_speedup.py"),
    Field("completion_tokens", "run.throughput.tokens", COUNT, "bench_model_speedup.py"),
)

_SHAPE = (
    Field("steps", "configuration.draft_length.max", COUNT, "0 is no drafter"),
    Field("topk", "configuration.draft_length.tree.width", COUNT, "1 is a chain and no tree"),
    Field(
        "num_draft_tokens",
        "configuration.draft_length.tree.draft_tokens",
        COUNT,
        "less the root, which is no draft",
    ),
    Field("dflash_block_size", "configuration.draft_length.max", COUNT, "less 1"),
    Field("model", "configuration.drafter.model", TEXT, "the draft model, whatever its name"),
)

_QUALITY = (
    Field("accuracy", "quality_row.value", NUMBER, "where the benchmark has answers"),
    Field("num_valid_predictions", "quality_row.sample_size", COUNT),
)

# --- setups ----------------------------------------------------------------------------------


class _Report:
    """A report being made of benchmarks. tool: what ran them."""

    def __init__(self, tool: str) -> None:
        self.building = Building()
        self._tool = tool
        self.building.put(("engine", "name"), Found("sglang"))

    def add(self, name: str, benchmark: Found, setup: str) -> dict[str, Path]:
        """Begin a run of a benchmark."""
        building = self.building
        run = building.run(name, setup)
        workload = str(benchmark.value)
        building.put((*run, "workload"), Found(workload))
        building.put((*run, "measurement", "by"), Found("client"))
        building.put((*run, "measurement", "tool"), Found(self._tool))
        building.put((*run, "measurement", "window"), Found("with_prefill"))
        at = {
            "run": run,
            "configuration": building.configuration(setup),
            "workload": building.workload(workload),
        }
        building.put((*at["workload"], "mix", 0), benchmark)
        return at

    def length(self, run: Path, found: Found | None, counters: str) -> None:
        """The accepted length, unless it stands for "does not speculate"."""
        value = None if found is None else number(found.value)
        if found is None or value is None or value <= 1:
            return
        length = (*run, "speculation", "accepted_length")
        self.building.put((*length, "value"), found.to(value))
        self.building.put((*length, "counts_bonus_token"), Found(value=True))
        self.building.put((*length, "estimator"), Found("pooled"))
        self.building.put((*run, "measurement", "counters"), Found(counters))


def _setup_name(entry: JsonRecord) -> str:
    """What tells setups of one file apart, in words."""
    block, steps = _whole(entry, "dflash_block_size"), _whole(entry, "steps")
    if "dflash_block_size" in entry.tree:
        return "server" if block is None else f"block {block}"
    if steps is None:
        return "server"
    topk, drafts = _whole(entry, "topk"), _whole(entry, "num_draft_tokens")
    return f"steps {steps}, topk {topk}, draft tokens {drafts}" if steps else "no drafter"


def _whole(record: JsonRecord, name: str) -> int | None:
    found = record.get(name)
    count = None if found is None else whole(found.value)
    return count if count is not None and 0 <= count < 10**6 else None


def _set_up(
    building: Building, entry: JsonRecord, configuration: Path, drafter: Found | None
) -> None:
    """The drafter and its draft length. drafter: its model, where the file says it."""
    steps, block = entry.get("steps"), entry.get("dflash_block_size")
    count, size = _whole(entry, "steps"), _whole(entry, "dflash_block_size")
    if count == 0:
        building.put_null((*configuration, "drafter"))
        return
    if steps is not None and count:
        _chain_or_tree(building, entry, configuration, steps)
        building.put((*configuration, "drafter", "method"), Found("eagle3"))
    elif block is not None and size:
        building.put((*configuration, "draft_length", "max"), block.to(size - 1))
        building.put((*configuration, "drafter", "method"), Found("dflash"))
    else:
        return
    if drafter is not None:
        place = (*configuration, "drafter", "model")
        building.put(place, drafter.to(text(drafter.value)))


def _chain_or_tree(
    building: Building, entry: JsonRecord, configuration: Path, steps: Found
) -> None:
    topk, drafts = entry.get("topk"), entry.get("num_draft_tokens")
    width, size = _whole(entry, "topk"), _whole(entry, "num_draft_tokens")
    length = (*configuration, "draft_length")
    building.put((*length, "max"), steps.to(whole(steps.value)))
    if topk is not None and width is not None and width > 1:
        building.put((*length, "tree", "depth"), steps.to(whole(steps.value)))
        building.put((*length, "tree", "width"), topk.to(width))
        if drafts is not None and size:
            building.put((*length, "tree", "draft_tokens"), drafts.to(size - 1))


# --- bench_eagle3.py and bench_dflash.py -----------------------------------------------------


def _of_benchmarks(record: JsonRecord) -> Building:
    report = _Report("specforge bench_eagle3")
    if any(_is_dflash(entries) for entries in record.tree.values()):
        report = _Report("specforge bench_dflash")
    for name, entries in record.tree.items():
        if _is_benchmark(entries):
            for entry in record.records(name):
                _add_entry(report, record, name, entry)
    return report.building


def _add_entry(report: _Report, top: JsonRecord, benchmark: str, entry: JsonRecord) -> None:
    setup = _setup_name(entry)
    batch = _whole(entry, "batch_size")
    streams = "" if batch is None else f" (c{batch})"
    for metrics in entry.records("metrics"):
        place = metrics.get("latency") or entry.get("batch_size")
        named = Found(benchmark, None if place is None else place.place)
        at = report.add(f"{benchmark}, {setup}{streams}", named, setup)
        _set_up(report.building, entry, at["configuration"], top.get("model"))
        fill(report.building, _ENTRY, entry, at)
        fill(report.building, _METRICS, metrics, at)
        report.length(at["run"], metrics.get("accept_length"), "per_run")
        _accuracy(report.building, named, setup, metrics)
        questions = metrics.get("num_questions")
        if questions is not None:
            count = (*at["workload"], "prompt_count")
            report.building.put(count, questions.to(whole(questions.value)))


def _accuracy(building: Building, benchmark: Found, setup: str, metrics: JsonRecord) -> None:
    found = metrics.get("accuracy")
    value = None if found is None else number(found.value)
    if found is None or value is None:
        return
    row: Path = ("quality", len(building.tree.get("quality", [])))
    fill(building, _QUALITY, metrics, {"quality_row": row})
    building.put((*row, "metric"), Found("accuracy"))
    building.put((*row, "higher_is_better"), Found(value=True))
    building.put((*row, "dataset"), benchmark)
    building.put((*row, "configuration"), Found(setup))


# --- JSON Lines ------------------------------------------------------------------------------


def _of_speedup(records: list[JsonRecord]) -> Building:
    """bench_model_speedup.py: the length is of everything that the server has answered."""
    report = _Report("specforge bench_model_speedup")
    for record in records:
        setup = _setup_name(record)
        benchmark = record.get("benchmark")
        if benchmark is None or text(benchmark.value) is None:
            continue
        batch = _whole(record, "batch_size")
        streams = "" if batch is None else f" (c{batch})"
        at = report.add(f"{benchmark.value}, {setup}{streams}", benchmark, setup)
        _set_up(report.building, record, at["configuration"], None)
        fill(report.building, (*_ENTRY, *_SPEEDUP), record, at)
        report.building.put((*at["configuration"], "sampler", "temperature"), Found(0))
        report.length(at["run"], record.get("acc_length"), "server_cumulative")
    return report.building


# --- its forms -------------------------------------------------------------------------------


def _is_benchmark(entries: object) -> bool:
    """Whether a member of the JSON is the results of a benchmark."""
    first = entries[0] if isinstance(entries, list) and entries else None
    if not isinstance(first, dict) or "batch_size" not in first:
        return False
    metrics = first.get("metrics")
    one = metrics[0] if isinstance(metrics, list) and metrics else None
    return isinstance(one, dict) and {"output_throughput", "accept_length"} <= set(one)


def _is_dflash(entries: object) -> bool:
    return _is_benchmark(entries) and "dflash_block_size" in _first(entries)


def _first(entries: object) -> Mapping[str, Any]:
    first = entries[0] if isinstance(entries, list) and entries else None
    return first if isinstance(first, dict) else {}


_OF_SPEEDUP = frozenset({"batch_size", "num_draft_tokens", "acc_length", "completion_tokens"})


def _form(tree: Mapping[str, Any]) -> str:
    """Which of the two forms an object is, "" for none."""
    if set(tree) >= _OF_SPEEDUP:
        return "speedup"
    return "benchmarks" if any(_is_benchmark(each) for each in tree.values()) else ""


def _recognise(head: Head) -> Confidence:
    return Confidence.SURE if _form(head.record) else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    records = [(record, _form(record.tree)) for record in source.records()]
    buildings = [_of_benchmarks(record) for record, form in records if form == "benchmarks"]
    buildings.append(_of_speedup([record for record, form in records if form == "speedup"]))
    return Imported.of_runs(NAME, *buildings)


_SERVER = "the server's log begins with its arguments: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="SpecForge",
    reads="results of bench_eagle3.py and bench_dflash.py (JSON, whatever the file is called) and "
    "of bench_model_speedup.py (JSON Lines)",
    recognise=_recognise,
    read=_read,
    engines=("sglang",),
    fields=(
        *_METRICS,
        *_ENTRY,
        Field("accept_length", "run.speculation.accepted_length.value", NUMBER, _LENGTH),
        Field(
            "acc_length",
            "run.speculation.accepted_length.value",
            NUMBER,
            "bench_model_speedup.py: of everything that the server has answered since its start",
        ),
        *_SHAPE,
        *_SPEEDUP,
        *_QUALITY,
    ),
    hints={
        "target": _SERVER + "; `model` in the result is the draft model",
        "engine.version": "`python -m sglang.check_env`",
        "engine.command_line": _SERVER,
        "machine": "`python -m sglang.check_env` lists GPUs and driver",
        "configurations.*.drafter": "`--config-list 1,3,1,4` names steps, topk and draft tokens; "
        "with --skip-launch-server they are unknown: " + _SERVER,
        "configurations.*.draft_length": "`--config-list 1,3,1,4`; with --skip-launch-server: "
        + _SERVER,
        "configurations.*.sampler": "the benchmarks set the temperature alone",
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.prompts": "`--benchmark-list mtbench:80` takes the first of a known set: "
        "name set and commit",
        "runs[].decode": "the time has the prefill in it: there is no speed of decode alone",
        "runs[].conditions.warm": "the benchmarks do not warm up: send a request first",
        "runs[].conditions.repeats": "run it again",
        "runs[].losslessness": "compare answers with those of `--config-list 1,0,0,0`",
    },
    never=(
        "Speed of decode alone, and time to first token.",
        "Drafted and accepted tokens, so that there is no acceptance rate.",
        "Results of single categories, which are of the same time.",
    ),
)
