"""AIPerf: the statistics of a run, as JSON, as CSV and as printed.

Source: ai-dynamo/aiperf 0.1 to 0.13, common/models/export_models.py (JsonExportData), config/;
before 0.8 its `input_config` has `loadgen` and `endpoint.model_names`. See
`request_statistics` and `request_console`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.aiperf_records import (
    DRAFT_LENGTH,
    SPECULATION_OF_REPLY,
    is_record,
    records_of,
)
from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    TEXT,
    Field,
    fill,
    number,
    text,
    truth,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.request_console import (
    Printed,
    asked,
    is_console,
    printed_runs,
)
from benchlint.checker.importers.request_statistics import (
    MORE_STATISTICS,
    MORE_TOTALS,
    PARTS,
    SPECULATION,
    STATISTICS,
    TOTALS,
    csv_record,
    fill_speculation,
    fill_statistics,
    histogram_of,
)
from benchlint.checker.importers.summaries import page_fields
from benchlint.checker.numbers import printed

NAME = "aiperf"

_SUMMARIES = (*STATISTICS, *MORE_STATISTICS)
_TOTALS = (*TOTALS, *MORE_TOTALS)

_SETUP = (
    Field("start_time", "date", TEXT),
    Field("input_config.models.items.0.name", "target.name", TEXT, "as the server calls it"),
    Field("input_config.endpoint.model_names.0", "target.name", TEXT, "before 0.8"),
    Field("input_config.loadgen.concurrency", "run.conditions.concurrency", COUNT, "before 0.8"),
    Field(
        "input_config.loadgen.warmup_request_count",
        "run.conditions.warmup_requests",
        COUNT,
        "before 0.8",
    ),
)

_PHASE = (Field("concurrency", "run.conditions.concurrency", COUNT, "of input_config.phases"),)
_WARM_UP = (Field("requests", "run.conditions.warmup_requests", COUNT, "of input_config.phases"),)

_SENT = "input_config.endpoint.extra"
_SAMPLER = (
    *(
        Field(f"{_SENT}.{name}", f"configuration.sampler.{name}", NUMBER, "as sent")
        for name in (
            "temperature",
            "top_p",
            "min_p",
            "repetition_penalty",
            "presence_penalty",
            "frequency_penalty",
        )
    ),
    Field(f"{_SENT}.top_k", "configuration.sampler.top_k", COUNT, "as sent"),
    Field(f"{_SENT}.seed", "configuration.sampler.seed", COUNT, "as sent"),
)

_HISTOGRAM = "pooled_spec_decode_acceptance_histogram"
_COUNTED = (
    Field(_HISTOGRAM, "run.speculation.histogram", COUNT, "a map from accepted tokens to steps"),
)

_RECORDED = (
    Field(
        f"{SPECULATION_OF_REPLY}.{DRAFT_LENGTH}",
        "configuration.draft_length.max",
        COUNT,
        "profile_export.jsonl, where every request says the same",
    ),
)


def _of_json(record: JsonRecord) -> Building:
    building = Building()
    at = _begin(building, record)
    fill(building, (*_SETUP, *_SAMPLER), record, at)
    _phases(building, record, at["run"])
    _whether_on(building, record, at)
    _made_up(building, record, at)
    _measured(building, record, at)
    histogram = histogram_of(record.get(_HISTOGRAM))
    building.put((*at["run"], "speculation", "histogram"), histogram)
    said = (record.get(name) for name in ("was_cancelled", "is_complete"))
    _whether_whole(building, *(None if each is None else each.value for each in said))
    return building


def _begin(building: Building, record: Record) -> dict[str, Path]:
    configuration = building.configuration("server")
    run = building.run(_name(record), "server")
    workload = building.workload("prompts")
    building.put((*run, "workload"), Found("prompts"))
    version = record.get("aiperf_version")
    known = None if version is None else text(version.value)
    tool = Found(NAME) if version is None or known is None else version.to(f"{NAME} {known}")
    building.put((*run, "measurement", "tool"), tool)
    return {"run": run, "configuration": configuration, "workload": workload}


def _name(record: Record) -> str:
    """What the run is called: its streams, where they are said."""
    label = record.get("run_info.run_label")
    if label is not None and (found := text(label.value)) is not None:
        return found
    streams = record.get("input_config.loadgen.concurrency")
    count = None if streams is None else whole(streams.value)
    if count is None and isinstance(record, JsonRecord):
        found_phase = _profiling(record)
        streams = None if found_phase is None else found_phase.get("concurrency")
        count = None if streams is None else whole(streams.value)
    return "profile" if count is None else f"concurrency {count}"


def _profiling(record: JsonRecord) -> JsonRecord | None:
    """The measured phase, where there is one and it keeps so many requests in flight."""
    phases = [p for p in record.records("input_config.phases") if _is(p, "kind", "profiling")]
    steady = [p for p in phases if _is(p, "type", "concurrency")]
    return steady[0] if len(steady) == len(phases) == 1 else None


def _is(record: JsonRecord, name: str, value: str) -> bool:
    found = record.get(name)
    return found is not None and found.value == value


def _phases(building: Building, record: JsonRecord, run: Path) -> None:
    measured = _profiling(record)
    if measured is not None:
        fill(building, _PHASE, measured, {"run": run})
    for phase in record.records("input_config.phases"):
        if _is(phase, "kind", "warmup"):
            fill(building, _WARM_UP, phase, {"run": run})


def _whether_on(building: Building, record: Record, at: dict[str, Path]) -> None:
    """Whether answers were to go on after their end."""
    ignored = record.get(f"{_SENT}.ignore_eos")
    if ignored is not None and truth(ignored.value):
        building.put((*at["workload"], "stop_rule"), ignored.to("ignore_eos"))


def _made_up(building: Building, record: JsonRecord, at: dict[str, Path]) -> None:
    datasets = list(record.records("input_config.datasets"))
    if len(datasets) == 1 and _is(datasets[0], "type", "synthetic"):
        made = datasets[0].get("type")
        building.put((*at["run"], "measurement", "prompt_kind"), made)
        _left(building, record, at["configuration"], made)


def _left(building: Building, record: JsonRecord, configuration: Path, made: Found | None) -> None:
    """Sampling parameters that no request had: made-up prompts carry none of their own."""
    names = [field.to.rpartition(".")[2] for field in _SAMPLER]
    unset = [name for name in names if not building.has((*configuration, "sampler", name))]
    place = record.get(_SENT) or made
    if unset and place is not None:
        building.put((*configuration, "sampler", "left_to_engine"), place.to(unset))


def _measured(building: Building, record: Record, at: dict[str, Path]) -> None:
    fill_statistics(building, record, at, summaries=_SUMMARIES, totals=_TOTALS)
    fill_speculation(building, record, at)
    _whether_chunks_are_tokens(building, record)


def _whether_chunks_are_tokens(building: Building, record: Record) -> None:
    """Say so where the first two tokens of an answer come at once, and not one by one."""
    second, gap = (record.get(f"{name}.avg") for name in _GAPS)
    first = None if second is None else number(second.value)
    other = None if gap is None else number(gap.value)
    if first is not None and other is not None and 0 <= first < other / 4:
        building.remarks.append(
            f"time to second token, {printed(first)} ms, is far below the time of a token, "
            f"{printed(other)} ms: what arrives are chunks of several tokens"
        )


_GAPS = ("time_to_second_token", "inter_token_latency")


def _whether_whole(building: Building, cancelled: object, complete: object) -> None:
    if cancelled is True:
        building.remarks.append("AIPerf says that the run was cancelled")
    elif complete is False:
        building.remarks.append("AIPerf says that the run is not complete")


# --- as printed ------------------------------------------------------------------------------


def _of_console(printed_run: Printed) -> Building:
    building = Building()
    record = asked(printed_run) | printed_run.cells
    at = _begin(building, record)
    fill(building, (*_SETUP, *_SAMPLER), record, at)
    _whether_on(building, record, at)
    _measured(building, record, at)
    _whether_whole(building, printed_run.was_cancelled, printed_run.is_complete)
    return building


def _of_records(source: Source) -> Building:
    """The requests of profile_export.jsonl together."""
    building = Building()
    records = records_of(source)
    row = records.row()
    at = _begin(building, row)
    _measured(building, row, at)
    building.put((*at["run"], "speculation", "histogram"), records.found_histogram())
    building.put((*at["configuration"], "draft_length", "max"), records.draft_length())
    return building


def _of_csv(source: Source) -> Building:
    building = Building()
    record = csv_record(source.lines())
    _measured(building, record, _begin(building, record))
    return building


# --- its forms -------------------------------------------------------------------------------

_METRICS = ("request_latency", "request_count", "request_throughput", "error_request_count")
_TITLE = "AIPerf"
_CSV_HEAD = re.compile(r"(?m)^Metric,avg,min,max,(?:sum,)?p1,p5,")


def _is_metric(value: object) -> bool:
    return isinstance(value, dict) and "unit" in value and "avg" in value


def _recognise(head: Head) -> Confidence:
    record = head.record
    if is_record(record):
        return Confidence.SURE
    if head.document is None:
        known = _CSV_HEAD.search(head.text) is not None or is_console(head.text, _TITLE)
        return Confidence.SURE if known else Confidence.NO
    if not any(_is_metric(record.get(name)) for name in _METRICS):
        return Confidence.NO
    # GenAI-Perf has neither; in between, AIPerf did not say its version.
    own = "aiperf_version" in record or "was_cancelled" in record
    return Confidence.SURE if own else Confidence.NO


def _buildings(source: Source) -> list[Building]:
    if source.document is not None:
        if is_record(next((r.tree for r in source.records()), None)):
            return [_of_records(source)]
        return [_of_json(record) for record in source.records()]
    again, lines = source.held()
    if any(line.text.lstrip()[:1] == "{" for line in lines[:1]):
        return [_of_records(again)]
    if runs := printed_runs(iter(lines)):
        return [_of_console(each) for each in runs]
    return [_of_csv(again)]


def _read(source: Source) -> Iterator[Imported]:
    for each in _buildings(source):
        if _has_result(each):
            yield Imported.of(NAME, each)


def _has_result(building: Building) -> bool:
    run = building.tree["runs"][0]
    return any(name in run for name in ("decode", "throughput", "prefill", "speculation"))


_SERVER = "the server's log says it: give it to `benchlint convert` too"
_JSON = "profile_export_aiperf.json says it, and so does the command that is printed at the end"

IMPORTER = Importer(
    name=NAME,
    title="AIPerf",
    reads="profile_export_aiperf.json and profile_export_aiperf.csv, profile_export.jsonl (its "
    "requests added up), and what `aiperf profile` prints at its end",
    recognise=_recognise,
    read=_read,
    engines=("aiperf",),
    fields=(
        *_SETUP,
        *_PHASE,
        *_WARM_UP,
        *_SAMPLER,
        Field(f"{_SENT}.ignore_eos", "workload.stop_rule", TEXT),
        *page_fields(PARTS, _SUMMARIES),
        *_TOTALS,
        *SPECULATION,
        *_COUNTED,
        *_RECORDED,
    ),
    hints={
        "target.name": _JSON,
        "target.quantization": _SERVER,
        "machine": "`aiperf profile --gpu-telemetry URL` lists GPUs, used or not: say which were",
        "engine": _SERVER,
        "configurations.*.drafter": _SERVER,
        "configurations.*.draft_length": _SERVER,
        "configurations.*.sampler": "`aiperf profile --extra-inputs temperature:0`; " + _JSON,
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.prompts": "publish AIPerf's inputs.json: it has every prompt",
        "workloads.*.output_tokens": "`aiperf profile --use-server-token-count`",
        "workloads.*.stop_rule": "`aiperf profile --extra-inputs ignore_eos:true`; " + _JSON,
        "runs[].speculation": "vLLM with --per-request-spec-decode-metrics says it in its replies, "
        "and AIPerf adds it up; else /metrics before and after",
        "runs[].decode": "`aiperf profile --streaming`",
        "runs[].prefill": "`aiperf profile --streaming`",
        "runs[].conditions.concurrency": "`aiperf profile --concurrency N`; " + _JSON,
        "runs[].conditions.warm": "`aiperf profile --warmup-request-count N`; " + _JSON,
        "runs[].conditions.repeats": "`aiperf profile --num-profile-runs N`, or run it again",
        "runs[].memory": "`nvidia-smi` after the run",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Stalls inside a request: its inter-token latency is a mean over each request, so that "
        "its percentiles hide them. Inter-chunk latency has them.",
        "Speed of single tokens in a flood: it stamps reads from the network, so that speeds for "
        "a user are above what was sustained there.",
        "Draft length and draft model: replies say how much was drafted, not how much may be.",
    ),
)
