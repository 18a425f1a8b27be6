"""GenAI-Perf, AIPerf's predecessor: JSON, CSV and table of `profile`, CSV of `analyze`.

Source: triton-inference-server/perf_analyzer genai-perf, genai_perf/export_data/*.py,
genai_perf/config/input/*.py, genai_perf/subcommand/analyze.py. See `request_statistics` and
`request_console`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, TEXT, Field, fill, path_of, whole
from benchlint.checker.importers.found import Found, JsonRecord, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.request_console import is_console, printed_runs
from benchlint.checker.importers.request_statistics import (
    PARTS,
    STATISTICS,
    TOTALS,
    csv_record,
    fill_statistics,
    metric_name,
)
from benchlint.checker.importers.summaries import page_fields
from benchlint.checker.importers.table_rows import Row, csv_rows

NAME = "genai-perf"

_SETUP = (
    Field("input_config.model_names.0", "target.name", TEXT, "as the server calls it"),
    Field("input_config.model.0", "target.name", TEXT, "before 0.0.13"),
    Field("input_config.perf_analyzer.stimulus.concurrency", "run.conditions.concurrency", COUNT),
    Field("input_config.concurrency", "run.conditions.concurrency", COUNT, "before 0.0.13"),
    Field(
        "input_config.perf_analyzer.warmup_request_count",
        "run.conditions.warmup_requests",
        COUNT,
    ),
)

_ANALYZE = (Field("Concurrency", "run.conditions.concurrency", COUNT, "`genai-perf analyze`"),)


def _begin(building: Building, name: str) -> dict[str, Path]:
    configuration = building.configuration("server")
    run = building.run(name, "server")
    building.put((*run, "measurement", "tool"), Found(NAME))
    workload = building.workload(name)
    building.put((*run, "workload"), Found(name))
    return {"run": run, "configuration": configuration, "workload": workload}


def _of_profile(record: Record) -> Building:
    building = Building()
    at = _begin(building, "profile")
    fill(building, _SETUP, record, at)
    fill_statistics(building, record, at, summaries=STATISTICS, totals=TOTALS)
    return building


# --- analyze ---------------------------------------------------------------------------------

_KIND = STATISTICS[0].kind
_COLUMN = re.compile(r"(?P<statistic>p\d{1,2}|Avg\.) (?P<metric>.+)")
_ANALYZE_HEAD = ("Config Name",)


def _of_analyze(source: Source) -> Building:
    """A run for each setup that was tried; tables of its other subjects are passed over."""
    building = Building()
    for names, cells in csv_rows(source.lines(), _ANALYZE_HEAD):
        row = dict(zip(names, cells, strict=False))
        if len(names) == len(cells) and any(_placed(name) for name in names):
            _add(building, row)
    return building


def _add(building: Building, row: Row) -> None:
    streams = row.get("Concurrency")
    count = None if streams is None else whole(streams.value)
    name = str(row["Config Name"].value) + ("" if count is None else f" (c{count})")
    at = _begin(building, name)
    for field in _ANALYZE:
        found = row.get(field.source)
        if found is not None:
            building.put((*at["run"], "conditions", "concurrency"), found.to(count))
    for column, cell in row.items():
        _put(building, column, cell, at)
    building.put((*at["run"], "measurement", "by"), Found("client"))


def _put(building: Building, column: str, cell: Found, at: Mapping[str, Path]) -> None:
    placed = _placed(column)
    if placed is None:
        return
    to, statistic, is_total = placed
    path = path_of(to, at)
    value = _KIND.convert(cell.value)
    if path is None or value is None:
        return
    if statistic != "Avg.":
        building.put((*path, "percentiles", statistic), cell.to(value))
    elif is_total:
        building.put(path, cell.to(value))
    else:
        building.put((*path, "value"), cell.to(value))
        building.put((*path, "estimator"), Found("mean"))


def _placed(column: str) -> tuple[str, str, bool] | None:
    """Where a column goes, which statistic it is, and whether it is of the run as a whole."""
    match = _COLUMN.fullmatch(column)
    name = metric_name(column if match is None else match["metric"])[0]
    statistic = "Avg." if match is None else match["statistic"]
    for summary in STATISTICS:
        if summary.source == name and match is not None:
            return summary.to, statistic, False
    for field in TOTALS:
        if field.source == f"{name}.avg" and statistic == "Avg." and field.kind is _KIND:
            return field.to, statistic, True
    return None


# --- its forms -------------------------------------------------------------------------------

_TITLE = "GenAI-Perf"
_CSV_HEAD = re.compile(r"(?m)^Metric,avg,min,max,p99,p95,")
_ANALYZE_LINE = re.compile(r"(?m)^Config Name,.*\((?:ms|tokens/sec)\)")
_ALWAYS = ("request_throughput", "request_latency", "input_config")


def _recognise(head: Head) -> Confidence:
    if head.document is None:
        heads = any(head_line.search(head.text) for head_line in (_CSV_HEAD, _ANALYZE_LINE))
        known = heads or is_console(head.text, _TITLE)
        return Confidence.SURE if known else Confidence.NO
    is_aiperf = "aiperf_version" in head.record or "was_cancelled" in head.record
    if is_aiperf or not head.has(*_ALWAYS):
        return Confidence.NO
    latency = head.record["request_latency"]
    known_shape = isinstance(latency, dict) and "avg" in latency and "unit" in latency
    return Confidence.SURE if known_shape else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    if source.document is not None:
        buildings = [_of_profile(record) for record in _profiles(source)]
    else:
        lines = list(source.lines())
        source = Source(source.name, lambda: iter(lines))
        if any(line.text.startswith("Config Name,") for line in lines):
            buildings = [_of_analyze(source)]
        else:
            printed = [run.cells for run in printed_runs(lines)]
            buildings = [_of_profile(cells) for cells in printed or [csv_record(lines)]]
    for building in buildings:
        runs = building.tree.get("runs", [])
        if any(name in run for run in runs for name in ("decode", "throughput", "prefill")):
            yield Imported.of(NAME, building)


def _profiles(source: Source) -> Iterator[JsonRecord]:
    return (each for each in source.records() if "request_latency" in each.tree)


_SERVER = "the server's log says it: give it to `benchlint convert` too"
_JSON = "profile_export_genai_perf.json says it, and nothing else does"

IMPORTER = Importer(
    name=NAME,
    title="GenAI-Perf",
    reads="profile_export_genai_perf.json and .csv, the table that `genai-perf profile` prints, "
    "and the CSV of `genai-perf analyze`",
    recognise=_recognise,
    read=_read,
    fields=(*_SETUP, *_ANALYZE, *page_fields(PARTS, STATISTICS), *TOTALS),
    hints={
        "target.name": _JSON,
        "target.quantization": _SERVER,
        "machine": "GenAI-Perf knows a network address only: say what the server ran on",
        "engine": _SERVER,
        "configurations.*.drafter": _SERVER,
        "configurations.*.draft_length": _SERVER,
        "configurations.*.sampler": "send `genai-perf profile --extra-inputs temperature:0`, and "
        "say so",
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.prompts": "publish GenAI-Perf's inputs.json: it has every prompt",
        "workloads.*.stop_rule": "send `genai-perf profile --extra-inputs ignore_eos:true`, and "
        "say so",
        "runs[].speculation": "the server's /metrics before and after; AIPerf, its successor, "
        "reads what vLLM says in its replies",
        "runs[].decode": "`genai-perf profile --streaming`",
        "runs[].prefill": "`genai-perf profile --streaming`",
        "runs[].conditions.concurrency": "`genai-perf profile --concurrency N`; " + _JSON,
        "runs[].conditions.warm": "`genai-perf profile --warmup-request-count N`; " + _JSON,
        "runs[].conditions.repeats": "run it again",
        "runs[].memory": "`nvidia-smi` after the run",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Acceptance: it reads no counters of the server.",
        "Stalls inside a request: its inter-token latency is a mean over each request.",
        "How long the whole run took, and how many tokens it gave out.",
    ),
)
