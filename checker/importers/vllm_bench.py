"""`vllm bench`: results of `serve`, `latency` and `throughput`, as files and on the console.

Sources: vLLM vllm/benchmarks/serve.py, latency.py, throughput.py; before June 2025
benchmarks/benchmark_serving.py, benchmark_latency.py, benchmark_throughput.py. What is
speculation in them is the difference of the server's own counters over the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, PERCENT, Field, fill, shifted
from benchlint.checker.importers.found import Found, JsonRecord, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.serving_console import HEAD, OF_SGLANG, Block, blocks
from benchlint.checker.importers.serving_fields import (
    DATE,
    LATENCY_ROWS,
    LENGTH,
    MODEL,
    POSITIVE,
    SHARES,
    THROUGHPUT,
    WORKLOAD,
    has_failures,
    length,
    put_list,
)
from benchlint.checker.importers.serving_runs import (
    ARGUMENTS,
    SAMPLER_FIELDS,
    ServingReport,
    fill_arguments,
)

NAME = "vllm-bench"

# --- serve -----------------------------------------------------------------------------------

_SPECULATION = (
    Field(
        "spec_decode_acceptance_rate",
        "run.speculation.acceptance_rate.value",
        PERCENT,
        "accepted over drafted tokens",
    ),
    Field(
        "spec_decode_acceptance_length",
        "run.speculation.accepted_length.value",
        NUMBER,
        "1 + accepted tokens over drafts",
    ),
    Field("spec_decode_num_drafts", "run.speculation.counts.verify_steps", COUNT),
    Field("spec_decode_draft_tokens", "run.speculation.counts.drafted", COUNT),
    Field("spec_decode_accepted_tokens", "run.speculation.counts.accepted", COUNT),
)

_POSITIONS = "spec_decode_per_position_acceptance_rates"
_OF_POSITIONS = (
    Field(_POSITIONS, "run.speculation.per_position.values", SHARES, "cumulative; a share of 1"),
    Field(
        _POSITIONS,
        "configuration.draft_length.max",
        LENGTH,
        "the server counts every position that it may draft",
    ),
)

_REPORT = (Field("date", "date", DATE, "when the file was written"),)

#: In every result of `serve` there has been, and in SGLang's under other names or not at all.
_ALWAYS = ("model_id", "tokenizer_id", "num_prompts", "request_rate")


class _Serve:
    """A report of results of `vllm bench serve`."""

    def __init__(self) -> None:
        self._report = ServingReport("vllm bench serve")
        self.building = self._report.building

    def add_record(self, record: JsonRecord) -> None:
        """One result file, or one line of an appended one."""
        positions = record.get(_POSITIONS)
        k = None if positions is None else length(positions.value)
        at = self._add(record, k)
        fill(self.building, _REPORT, record, at)
        if k is not None:
            put_list(self.building, _positions_of(at["run"]), record, _POSITIONS)
            self._end_positions(at, positions)

    def add_block(self, block: Block) -> None:
        """One block of a console."""
        k = len(block.positions) or None
        at = self._add(block.values, k)
        fill_arguments(self.building, at, block)
        for i, each in enumerate(block.positions):
            self.building.put((*_positions_of(at["run"]), i), each.to(shifted(each.value, -2)))
        if block.positions:
            self._end_positions(at, block.positions[-1].to(block.positions))

    def _add(self, record: Record, k: int | None) -> dict[str, Path]:
        at = self._report.add(record, "serve", {"K": k})
        fill(self.building, _SPECULATION, record, at)
        if self.building.has((*at["run"], "speculation")):
            _define(self.building, at, record)
        return at

    def _end_positions(self, at: dict[str, Path], positions: Found | None) -> None:
        """The kind of the list, and the draft length that its length is."""
        if not self.building.has(_positions_of(at["run"])) or positions is None:
            return
        kind = (*at["run"], "speculation", "per_position", "kind")
        self.building.put(kind, Found("cumulative"))
        maximum = (*at["configuration"], "draft_length", "max")
        self.building.put(maximum, positions.to(length(positions.value)))


def _positions_of(run: Path) -> Path:
    return (*run, "speculation", "per_position", "values")


def _define(building: Building, at: dict[str, Path], record: Record) -> None:
    """What vLLM means by its numbers, and what the counters cover."""
    speculation = (*at["run"], "speculation")
    engine = record.get("spec_decode_num_drafts") or record.get("spec_decode_acceptance_rate")
    if engine is not None:
        building.put((*at["configuration"], "engine", "name"), engine.to("vllm"))
    for name, to, value in (
        ("acceptance_rate", "of", "drafted"),
        ("accepted_length", "counts_bonus_token", True),
    ):
        if building.has((*speculation, name)):
            building.put((*speculation, name, to), Found(value))
            building.put((*speculation, name, "estimator"), Found("pooled"))
    building.put((*at["run"], "measurement", "counters"), Found("per_run"))
    if building.has((*speculation, "counts")) and not has_failures(record):
        fill(building, _OUTPUT, record, at)


#: Beside the counters, where no failed request is in them.
_OUTPUT = (
    Field("total_output_tokens", "run.speculation.counts.output_tokens", COUNT),
    Field("completed", "run.speculation.counts.requests", COUNT),
)

# --- latency and throughput ------------------------------------------------------------------

_LATENCY = (
    Field("model_id", "configuration.target.name", MODEL),
    Field("avg_latency", "run.throughput.seconds.value", NUMBER, "of one batch, prefill included"),
    Field("std_latency", "run.throughput.seconds.stdev", POSITIVE),
    Field("latencies", "run.throughput.seconds.samples", SHARES),
    Field("latencies", "run.conditions.repeats", LENGTH),
)

_THROUGHPUT = (
    Field("model_id", "configuration.target.name", MODEL),
    Field("elapsed_time", "run.throughput.seconds", NUMBER),
    Field("num_requests", "run.throughput.completed_requests", COUNT),
    Field("requests_per_second", "run.throughput.requests_per_s", NUMBER),
    Field("num_requests", "workload.prompt_count", COUNT),
)

_PERCENTILES = tuple(
    Field(f"percentiles.{p}", f"run.throughput.seconds.percentiles.p{p}", NUMBER)
    for p in (10, 25, 50, 75, 90, 99)
)
_LATENCY_NAMES = ("avg_latency", "latencies", "percentiles")
_THROUGHPUT_NAMES = ("elapsed_time", "total_num_tokens", "tokens_per_second")


def _of_offline(building: Building, record: JsonRecord) -> None:
    """One result of a tool that runs the engine in its own process."""
    is_latency = all(name in record.tree for name in _LATENCY_NAMES)
    tool = "latency" if is_latency else "throughput"
    model = record.get("model_id")
    name = MODEL.convert(None if model is None else model.value)
    configuration = building.configuration(name if isinstance(name, str) else "engine")
    run = building.run(tool, configuration[-1] if isinstance(configuration[-1], str) else None)
    at = {"run": run, "configuration": configuration}
    if not is_latency:
        at["workload"] = building.workload("prompts")
        building.put((*run, "workload"), Found("prompts"))
    building.put((*configuration, "engine", "name"), Found("vllm"))
    fill(building, (*_LATENCY, *_PERCENTILES) if is_latency else _THROUGHPUT, record, at)
    building.put((*run, "measurement", "tool"), Found(f"vllm bench {tool}"))
    if is_latency:
        building.put((*run, "throughput", "seconds", "estimator"), Found("mean"))
        building.put((*run, "measurement", "by"), Found("micro_benchmark"))
        building.put((*run, "measurement", "prompt_kind"), Found("synthetic"))


# --- its forms -------------------------------------------------------------------------------


def _is_serve(names: object) -> bool:
    """Whether these are names of a result of `serve`, and not of SGLang's client."""
    if not isinstance(names, dict) or "total_output_tokens_retokenized" in names:
        return False
    ends = ("_ttft_ms", "_tpot_ms", "_itl_ms", "_e2el_ms", "_ttft", "_tpot")
    speaks = "output_throughput" in names or any(str(n).endswith(ends) for n in names)
    return speaks and all(name in names for name in _ALWAYS)


def _is_offline(names: object) -> bool:
    return isinstance(names, dict) and any(
        all(name in names for name in each) for each in (_LATENCY_NAMES, _THROUGHPUT_NAMES)
    )


_JSON_IN_TEXT = re.compile(r'(?m)^[ \t]*\{"date": "\d{8}-\d{6}", .*"tokenizer_id": ')


def _recognise(head: Head) -> Confidence:
    if head.document is not None:
        known = _is_serve(head.record) or _is_offline(head.record)
    else:
        console = HEAD in head.text and OF_SGLANG.search(head.text) is None
        known = console or _JSON_IN_TEXT.search(head.text) is not None
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    serve, offline = _Serve(), Building()
    source, lines = source.held()
    for record in source.records():
        if _is_serve(record.tree):
            serve.add_record(record)
        elif _is_offline(record.tree):
            _of_offline(offline, record)
    for block in blocks(lines):
        serve.add_block(block)
    return Imported.of_runs(NAME, serve.building, offline)


_LOG = "the server's log says it: give it to `benchlint convert` too"
_CONSOLE = "`vllm bench serve` prints its arguments: read the console's output, not the file"

IMPORTER = Importer(
    name=NAME,
    title="vllm bench serve, latency and throughput",
    reads="result files (`--save-result`, `--save-detailed`, `--append-result`, `--output-json`) "
    "of every year, also those of `benchmark_serving.py` and what InferenceX makes of them; the "
    "block that `vllm bench serve` prints, in logs and comments too",
    recognise=_recognise,
    read=_read,
    engines=("vllm",),
    fields=(
        *_REPORT,
        Field("model_id", "configuration.target.name", MODEL),
        Field("backend", "configuration.engine.name", MODEL, "none for `openai`, which many speak"),
        *THROUGHPUT,
        *WORKLOAD,
        Field("input_lens", "workload.prompt_tokens.samples", SHARES, "--save-detailed"),
        Field("output_lens", "workload.output_tokens.samples", SHARES, "--save-detailed"),
        Field("ttfts", "run.prefill.ttft_ms.samples", SHARES, "--save-detailed; s → ms"),
        Field(
            "max_concurrency",
            "run.conditions.concurrency",
            COUNT,
            "where the request rate is `inf`: else fewer may have been in flight",
        ),
        *LATENCY_ROWS,
        *_SPECULATION,
        *_OF_POSITIONS,
        *_OUTPUT,
        *ARGUMENTS,
        *SAMPLER_FIELDS,
        *_LATENCY,
        Field("percentiles", "run.throughput.seconds.percentiles", NUMBER),
        *_THROUGHPUT,
    ),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target.quantization": _LOG,
        "engine.name": "`vllm bench serve --backend vllm` says it, `--backend openai` does not",
        "engine.version": "`curl SERVER/version`; " + _LOG,
        "engine.command_line": _LOG,
        "configurations.*.drafter": _LOG,
        "configurations.*.draft_length": "a server with --speculative-config counts acceptance "
        "by position, and `vllm bench serve` reads these counters from SERVER/metrics",
        "configurations.*.sampler": _CONSOLE + "; send `--temperature` and the like",
        "configurations.*.kv_cache": _LOG,
        "workloads.*.mix": "`--dataset-name` and what is in it; " + _CONSOLE,
        "workloads.*.prompts": _CONSOLE + "; publish the file of `--dataset-path`",
        "workloads.*.output_tokens": "`--save-detailed` lists the length of every output",
        "workloads.*.stop_rule": _CONSOLE + " (`--ignore-eos`)",
        "runs[].workload": _CONSOLE,
        "runs[].speculation": "the server's /metrics before and after: `benchlint convert "
        "before.txt after.txt`; newer versions of `vllm bench serve` read them by themselves",
        "runs[].prefill": "`vllm bench serve --percentile-metrics ttft,tpot,itl`",
        "runs[].decode": "`vllm bench serve --percentile-metrics ttft,tpot,itl`",
        "runs[].conditions.concurrency": "`vllm bench serve --max-concurrency N` without a rate",
        "runs[].conditions.warm": "`vllm bench serve --num-warmups N`; " + _CONSOLE,
        "runs[].conditions.repeats": "run it again with `--append-result`",
        "runs[].conditions.kv_position": "`--save-detailed` lists the length of every prompt",
        "runs[].memory": "`nvidia-smi` after the run; vLLM takes its share at the start",
        "workloads.*.thinking": "send `--extra-body` with chat_template_kwargs, and say so",
        "runs[].losslessness": "`--save-detailed` lists the texts of both arms; compare them",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Sampler, data set, engine version and speculative configuration are in no result file.",
        "Latency per token under speculation: what is called inter-token latency is the gap "
        "between streamed chunks, and the peak counts chunks.",
        "Output tokens of `vllm bench latency` and of `vllm bench throughput --output-json`, "
        "whose tokens_per_second counts prompt tokens; the console of the latter has them.",
        "Whether other clients used the server meanwhile: its counters are of all requests.",
        "Memory, power and clocks of the device.",
    ),
)
