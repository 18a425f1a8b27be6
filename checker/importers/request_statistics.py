"""What AIPerf and GenAI-Perf say of requests: AIPerf kept the names and shapes of GenAI-Perf.

Each number comes as `{"unit": "ms", "avg": 12.5, "p50": …}` in JSON and as a row in CSV.
Sources: triton-inference-server/perf_analyzer genai_perf/metrics/statistics.py,
genai_perf/export_data/json_exporter.py, csv_exporter.py, genai_perf/profile_data_parser/
llm_profile_data_parser.py; ai-dynamo/aiperf common/models/export_models.py (JsonExportData),
exporters/metrics_csv_exporter.py, metrics/types/*.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, PERCENT, Field, Kind, fill, number
from benchlint.checker.importers.found import Found, Line, Record
from benchlint.checker.importers.summaries import (
    RANKS,
    Parts,
    Summary,
    fill_summaries,
)
from benchlint.checker.importers.table_rows import Row, csv_cells

PARTS = Parts(
    "avg",
    "std",
    low="min",
    high="max",
    percentiles={rank: rank for rank in RANKS},
    words="{avg,std,min,max,p1…p99}",
)

#: Of every request; the unit that it must be in.
STATISTICS = (
    Summary("time_to_first_token", "run.prefill.ttft_ms", NUMBER),
    Summary(
        "inter_token_latency",
        "run.decode.time_per_output_token_ms",
        NUMBER,
        "called inter-token; (latency - TTFT)/(tokens - 1) of each request",
    ),
    Summary(
        "output_token_throughput_per_user",
        "run.decode.tok_s",
        NUMBER,
        "1 over the former, of each request",
    ),
    Summary("output_sequence_length", "workload.output_tokens", NUMBER),
    Summary("input_sequence_length", "workload.prompt_tokens", NUMBER),
)

#: Only AIPerf has these.
MORE_STATISTICS = (
    Summary(
        "inter_chunk_latency",
        "run.decode.inter_chunk_latency_ms",
        NUMBER,
        "gaps between reads from the network, of all requests",
        estimator="pooled",
    ),
    Summary(
        "e2e_output_token_throughput",
        "run.throughput.end_to_end_tok_s",
        NUMBER,
        "output tokens over latency of each request",
    ),
)


def _positive(value: object) -> object:
    """A number over 0: goodput is 0 where no goal was set."""
    return number(value) or None


TOTALS = (
    Field(
        "output_token_throughput.avg",
        "run.throughput.tok_s",
        NUMBER,
        "output tokens over the wall time, prefill and queueing included",
    ),
    Field("request_throughput.avg", "run.throughput.requests_per_s", NUMBER),
    Field("request_count.avg", "run.throughput.completed_requests", COUNT),
    Field(
        "request_goodput.avg",
        "run.throughput.goodput_requests_per_s",
        Kind("0 is none", _positive),
    ),
)

MORE_TOTALS = (
    Field("error_request_count.avg", "run.throughput.failed_requests", COUNT),
    Field("goodput.avg", "run.throughput.goodput_requests_per_s", NUMBER),
    Field("benchmark_duration.avg", "run.throughput.seconds", NUMBER),
    Field(
        "total_osl.avg",
        "run.throughput.tokens",
        COUNT,
        "by the server's count where --use-server-token-count is given, else retokenized",
    ),
)

#: What servers say of speculation in their replies, added up.
SPECULATION = (
    Field("total_spec_decode_steps.avg", "run.speculation.counts.verify_steps", COUNT),
    Field("total_draft_tokens.avg", "run.speculation.counts.drafted", COUNT),
    Field("total_accepted_draft_tokens.avg", "run.speculation.counts.accepted", COUNT),
    Field(
        "spec_decode_token_weighted_acceptance_length.avg",
        "run.speculation.accepted_length.value",
        NUMBER,
        "1 + accepted tokens over verify steps",
    ),
    Field(
        "spec_decode_overall_draft_acceptance_rate.avg",
        "run.speculation.acceptance_rate.value",
        PERCENT,
        "accepted over drafted tokens",
    ),
)

_UNITS = {
    "time_to_first_token": "ms",
    "inter_token_latency": "ms",
    "inter_chunk_latency": "ms",
    "benchmark_duration": "sec",
}


def fill_statistics(
    building: Building,
    record: Record,
    at: Mapping[str, Path],
    *,
    summaries: Iterable[Summary],
    totals: Iterable[Field],
) -> None:
    """Take over what was measured, where it is in the unit that it always was."""
    known = [s for s in summaries if _is_in_unit(building, record, s.source)]
    fill_summaries(building, known, PARTS, record, at)
    whole_runs = [f for f in totals if _is_in_unit(building, record, f.source.partition(".")[0])]
    fill(building, whole_runs, record, at)
    run = at["run"]
    if building.has((*run, "decode", "tok_s")):
        building.put((*run, "measurement", "window"), Found("decode_only"))
    building.put((*run, "measurement", "by"), Found("client"))


def _is_in_unit(building: Building, record: Record, name: str) -> bool:
    unit = record.get(f"{name}.unit")
    wanted = _UNITS.get(name)
    if wanted is None or unit is None or unit.value in (wanted, "s" if wanted == "sec" else wanted):
        return True
    building.remarks.append(f"{name} is not in {wanted} and was not taken over")
    return False


def fill_speculation(building: Building, record: Record, at: Mapping[str, Path]) -> None:
    """Take over what the requests together say of drafting, and what AIPerf means by it."""
    fill(building, SPECULATION, record, at)
    speculation = (*at["run"], "speculation")
    for name, to, value in (
        ("acceptance_rate", "of", "drafted"),
        ("accepted_length", "counts_bonus_token", True),
    ):
        if building.has((*speculation, name)):
            building.put((*speculation, name, to), Found(value))
            building.put((*speculation, name, "estimator"), Found("pooled"))
    if building.has(speculation):
        building.put((*at["run"], "measurement", "counters"), Found("per_run"))


def histogram_of(found: Found | None) -> Found | None:
    """Verify steps by accepted tokens out of `{"0": 79, "2": 17}`; numbers left out are 0."""
    counts = found.value if found is not None and isinstance(found.value, dict) else {}
    steps = {int(name): n for name, n in counts.items() if _is_index(name)}
    if found is None or not steps or len(steps) < len(counts) or max(steps) > _LONGEST_DRAFT:
        return None
    values = [steps.get(i, 0) for i in range(max(steps) + 1)]
    ok = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in values)
    return found.to(values) if ok else None


#: No draft has more tokens.
_LONGEST_DRAFT = 4096


def _is_index(name: object) -> bool:
    return isinstance(name, str) and name.isascii() and name.isdecimal() and len(name) < 6


# --- CSV -------------------------------------------------------------------------------------

_NAME = re.compile(r"(?P<name>[^()]*?)(?: \((?P<unit>[^()]*)\))?")

#: Names of the CSV that are others than those of the JSON.
_OTHER_NAMES = {
    "token_weighted_acceptance_length": "spec_decode_token_weighted_acceptance_length",
    "overall_draft_acceptance_rate": "spec_decode_overall_draft_acceptance_rate",
    "total_output_sequence_length": "total_osl",
}


def csv_record(lines: Iterable[Line]) -> Row:
    """The two tables of a CSV, `Metric,avg,…` of requests and `Metric,Value` of the run.

    Names are those of the JSON: "time_to_first_token.avg".
    """
    cells: Row = {}
    for metric, named in _csv_metrics(lines):
        for column, cell in named:
            if str(cell.value).strip():
                statistic = {"Value": "avg"}.get(column, column)
                cells.setdefault(f"{metric}.{statistic}", cell)
    return cells


def _csv_metrics(lines: Iterable[Line]) -> Iterator[tuple[str, list[tuple[str, Found]]]]:
    heads: list[str] = []
    for line in lines:
        row = csv_cells(line)
        words = [str(cell.value) for cell in row]
        if words[:1] == ["Metric"]:
            heads = words
        elif len(words) <= 1:
            heads = []
        elif len(row) == len(heads):
            name, unit = metric_name(words[0])
            columns = [(h, c) for h, c in zip(heads, row, strict=True) if h != "Metric"]
            yield name, [("unit", row[0].to(unit)), *columns]


def metric_name(printed: str) -> tuple[str, str]:
    """ "Time To First Token (ms)" as `time_to_first_token` and its unit."""
    match = _NAME.fullmatch(printed)
    words = (printed if match is None else match["name"]).lower().replace("-", " ").split()
    name = "_".join(words)
    return _OTHER_NAMES.get(name, name), (match["unit"] if match else None) or ""
