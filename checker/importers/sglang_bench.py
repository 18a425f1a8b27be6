"""SGLang's bench_serving: the lines it appends to its file, and the block on the console.

Sources: SGLang python/sglang/bench_serving.py (python/sglang/benchmark/serving.py since 0.5.15)
and benchmark/mtbench/bench_sglang_eagle.py, which writes lines of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, fill, number, text, truth
from benchlint.checker.importers.found import Found, JsonRecord, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.serving_console import HEAD, OF_SGLANG, Block, blocks
from benchlint.checker.importers.serving_fields import (
    LATENCY_ROWS,
    MODEL,
    POSITIVE,
    SHARES,
    THROUGHPUT,
    WORKLOAD,
)
from benchlint.checker.importers.serving_runs import (
    ARGUMENTS,
    SAMPLER_FIELDS,
    ServingReport,
    fill_arguments,
)
from benchlint.checker.importers.sglang_server import (
    is_server_info,
    lengths_of,
    put_cumulative_length,
    put_server_info,
)
from benchlint.checker.importers.sglang_settings import (
    DRAFT_LENGTH,
    FIELDS,
    INFO_FIELDS,
    RUN_FIELDS,
)

NAME = "sglang-bench"

_LENGTH = Field(
    "accept_length",
    "run.speculation.accepted_length",
    POSITIVE,
    "tokens per verify step since the server's start (the first data-parallel rank's); where it "
    "is null, that of all ranks in server_info",
)


class _Serving:
    """A report of results of bench_serving."""

    def __init__(self) -> None:
        self._report = ServingReport("sglang.bench_serving")
        self.building = self._report.building

    def add_record(self, record: JsonRecord) -> None:
        """One line of a result file."""
        info = _server_info(record)
        tag = record.get("tag")
        at = self._report.add(record, "serve", _setup(info, tag))
        lengths = _lengths(record)
        if not lengths and info is not None:
            lengths = lengths_of(info)
        put_cumulative_length(self.building, at["run"], lengths)
        if info is not None:
            put_server_info(self.building, at, info)

    def add_block(self, block: Block) -> None:
        """One block of a console."""
        at = self._report.add(block.values, "serve", {})
        flushed = block.values.get("flush_cache")
        if flushed is not None and truth(flushed.value) and "accept_length" in block.values:
            building, counters = self.building, (*at["run"], "measurement", "counters")
            building.put(counters, flushed.to("per_run"))
        put_cumulative_length(self.building, at["run"], _lengths(block.values))
        fill_arguments(self.building, at, block)


def _server_info(record: JsonRecord) -> JsonRecord | None:
    info = record.record("server_info")
    if info is not None and "decode" in info.tree:
        info = next(info.records("decode"), None)
    return info if info is not None and is_server_info(info.tree) else None


def _setup(info: JsonRecord | None, tag: Found | None) -> dict[str, object]:
    """What tells the servers of several results apart."""
    found: dict[str, object] = {"tag": None if tag is None else text(tag.value)}
    for name, words in (("model_path", "model"), ("speculative_num_draft_tokens", "draft tokens")):
        value = None if info is None else info.get(name)
        found[words] = None if value is None else str(value.value)[:80]
    return found


def _lengths(record: Record) -> list[Found]:
    """The accepted length, where it is one: `n/a` and null are none, and so is 0."""
    found = record.get("accept_length")
    value = None if found is None else POSITIVE.convert(found.value)
    return [] if found is None or value is None else [found.to(value)]


# --- the scripts under benchmark/ ------------------------------------------------------------

_TASK = (
    Field("latency", "run.throughput.seconds", NUMBER, "of all questions"),
    Field("throughput", "run.throughput.tok_s", NUMBER, "output tokens over that time"),
    Field("num_requests", "run.throughput.completed_requests", COUNT),
    Field("other.parallel", "run.conditions.concurrency", COUNT),
    Field("task", "workload.prompts.set", TEXT),
    Field("other.num_questions", "workload.prompt_count", COUNT),
)
_TASK_NAMES = ("task", "backend", "latency", "throughput", "num_requests")


def _add_task(building: Building, record: JsonRecord) -> None:
    """One line of bench_sglang_eagle.py and its like."""
    task, backend = record.get("task"), record.get("backend")
    name = (None if task is None else text(task.value)) or "task"
    configuration = building.configuration("server")
    run: Path = building.run(name, "server")
    building.put((*run, "workload"), Found(name))
    at = {"run": run, "configuration": configuration, "workload": building.workload(name)}
    if backend is not None and backend.value == "srt":
        building.put((*configuration, "engine", "name"), backend.to("sglang"))
    fill(building, _TASK, record, at)
    length = record.get("accept_length")
    value = None if length is None else number(length.value)
    # Without speculation it says 1.0.
    if length is not None and value is not None and value > 1:
        at_length = (*run, "speculation", "accepted_length")
        building.put((*at_length, "value"), length.to(value))
        building.put((*at_length, "counts_bonus_token"), Found(True))
        building.put((*at_length, "estimator"), Found("pooled"))
        building.put((*run, "measurement", "counters"), Found("per_run"))


# --- its forms -------------------------------------------------------------------------------


def _is_serving(names: object) -> bool:
    if not isinstance(names, dict) or "backend" not in names or "tokenizer_id" in names:
        return False
    own = ("total_output_tokens_retokenized", "accept_length", "sharegpt_output_len")
    return "output_throughput" in names and any(name in names for name in own)


def _is_task(names: object) -> bool:
    return isinstance(names, dict) and all(name in names for name in _TASK_NAMES)


_JSON_IN_TEXT = re.compile(r'(?m)^[ \t]*\{"')


def _has_a_line(text: str) -> bool:
    """Whether a result stands in a line of the text."""
    own = '"total_output_tokens_retokenized":' in text or '"accept_length":' in text
    return own and '"backend": "' in text and _JSON_IN_TEXT.search(text) is not None


def _recognise(head: Head) -> Confidence:
    if head.document is not None:
        known = _is_serving(head.record) or _is_task(head.record)
    else:
        console = HEAD in head.text and OF_SGLANG.search(head.text) is not None
        known = console or _has_a_line(head.text)
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    serving, tasks = _Serving(), Building()
    source, lines = source.held()
    for record in source.records():
        if _is_serving(record.tree):
            serving.add_record(record)
        elif _is_task(record.tree):
            _add_task(tasks, record)
    for block in blocks(lines):
        serving.add_block(block)
    return Imported.of_runs(NAME, serving.building, tasks)


_INFO = "newer versions keep /server_info in the result; else `curl http://HOST:PORT/server_info`, "
_INFO += "and give it to `benchlint convert` too"
_CONSOLE = "bench_serving prints its arguments: read the console's output too"

IMPORTER = Importer(
    name=NAME,
    title="SGLang's bench_serving",
    reads="the lines it appends (`--output-file`, `--output-details`), with the /server_info that "
    "newer versions keep in them; the block that it prints; lines of `bench_sglang_eagle.py`",
    recognise=_recognise,
    read=_read,
    engines=("sglang",),
    fields=(
        Field("backend", "configuration.engine.name", MODEL, "sglang, sglang-oai, …, vllm, trt"),
        *THROUGHPUT,
        *WORKLOAD,
        Field("input_lens", "workload.prompt_tokens.samples", SHARES, "--output-details"),
        Field("output_lens", "workload.output_tokens.samples", SHARES, "--output-details"),
        Field("ttfts", "run.prefill.ttft_ms.samples", SHARES, "--output-details; s → ms"),
        Field(
            "max_concurrency",
            "run.conditions.concurrency",
            COUNT,
            "where the request rate is infinite: else fewer may have been in flight",
        ),
        *LATENCY_ROWS,
        _LENGTH,
        Field(
            "flush_cache",
            "run.measurement.counters",
            TEXT,
            "console only: the accepted length is then of this run alone",
        ),
        *ARGUMENTS,
        *SAMPLER_FIELDS,
        *INFO_FIELDS,
        *FIELDS,
        *RUN_FIELDS,
        *DRAFT_LENGTH,
        *_TASK,
    ),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target": _INFO,
        "engine.name": "`--backend sglang` says it",
        "engine.version": _INFO,
        "engine.command_line": _INFO,
        "configurations.*.drafter": _INFO,
        "configurations.*.draft_length": _INFO,
        "configurations.*.sampler": _CONSOLE + "; send them with `--extra-request-body`",
        "configurations.*.kv_cache": _INFO,
        "workloads.*.mix": "`--dataset-name` and what is in it",
        "workloads.*.stop_rule": _CONSOLE + " (`--disable-ignore-eos`)",
        "runs[].speculation.acceptance_rate": "`meta_info` of each reply has it, and the server's "
        "log; give it to `benchlint convert` too",
        "runs[].speculation": "`--backend sglang` asks the server for its accepted length; "
        "`--flush-cache` makes it that of the run",
        "runs[].conditions.concurrency": "`--max-concurrency N` without a request rate",
        "runs[].conditions.warm": "`--warmup-requests N`; " + _CONSOLE,
        "runs[].conditions.repeats": "run it again with the same `--output-file`",
        "runs[].conditions.kv_position": "`--output-details` lists the length of every prompt",
        "runs[].memory": "`nvidia-smi` after the run; SGLang takes its share at the start",
        "runs[].losslessness": "`--output-details` lists the texts of both arms; compare them",
        "quality": "`python -m sglang.test.few_shot_gsm8k` against the same server",
    },
    never=(
        "Accepted length of the run alone, without `--flush-cache`: it goes on from the start.",
        "Acceptance rate, and counts of drafts.",
        "Gaps between tokens: with the native backend each chunk's gap is divided by its tokens, "
        "with others it is the gap between chunks.",
        "Whether requests failed: only those that succeeded are counted.",
    ),
)
