"""GuideLLM: JSON, YAML and CSV of the versions from 0.2 on, and what it prints.

Sources: vllm-project/guidellm (neuralmagic/guidellm before 2025-09); 0.2 and 0.3:
src/guidellm/benchmark/benchmark.py, output.py; 0.4 to 0.6: benchmark/schemas/generative/*.py,
benchmark/outputs/csv.py; 0.7 and 0.8: benchmark/schemas/*.py, schemas/base/request_stats.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, fill, number, text, whole
from benchlint.checker.importers.found import Found, JsonRecord, Line, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.summaries import Parts, Summary, fill_summaries, page_fields
from benchlint.checker.importers.table_rows import Row, csv_cells
from benchlint.checker.importers.text_tables import console_tables
from benchlint.checker.sampler_defaults import PARAMETERS

NAME = "guidellm"

# --- fields ----------------------------------------------------------------------------------

#: Percentiles as GuideLLM writes them: p01 is the first, p001 the tenth of one.
_RANKS = {
    "p0_1": "p001",
    "p1": "p01",
    "p5": "p05",
    "p10": "p10",
    "p25": "p25",
    "p50": "p50",
    "p75": "p75",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p99_9": "p999",
}

_PARTS = Parts(
    "mean",
    "std_dev",
    low="min",
    high="max",
    percentiles={name: f"percentiles.{called}" for name, called in _RANKS.items()},
    joined="metrics.{}.successful.{}",
    words="{mean,std_dev,min,max,percentiles}",
)

_SUMMARIES = (
    Summary("time_to_first_token_ms", "run.prefill.ttft_ms", NUMBER),
    Summary(
        "inter_token_latency_ms",
        "run.decode.time_per_output_token_ms",
        NUMBER,
        "called inter-token; (last token - first token)/(tokens - 1) of each request, weighted by "
        "tokens: what other tools call TPOT",
        estimator="pooled",
    ),
    Summary("prompt_token_count", "workload.prompt_tokens", NUMBER),
    Summary("output_token_count", "workload.output_tokens", NUMBER),
)

_RUN = (
    Field(
        "metrics.output_tokens_per_second.successful.mean",
        "run.throughput.tok_s",
        NUMBER,
        "of answers that were completed, prefill and queueing included",
    ),
    Field("metrics.requests_per_second.successful.mean", "run.throughput.requests_per_s", NUMBER),
    Field("duration", "run.throughput.seconds", NUMBER),
    Field("metrics.request_totals.successful", "run.throughput.completed_requests", COUNT),
    Field("request_totals.successful", "run.throughput.completed_requests", COUNT, "before 0.4"),
    Field("metrics.request_totals.errored", "run.throughput.failed_requests", COUNT),
    Field("request_totals.errored", "run.throughput.failed_requests", COUNT, "before 0.4"),
    Field("args.warmup_number", "run.conditions.warmup_requests", COUNT, "before 0.4"),
    Field(
        "metrics.request_goodput.successful.mean",
        "run.throughput.goodput_requests_per_s",
        NUMBER,
    ),
)

_TOKENS = (
    Field(
        "metrics.output_token_count.successful.total_sum",
        "run.throughput.tokens",
        COUNT,
        "where every request counts: without warm-up, cool-down and unfinished requests",
    ),
)

_MODEL = (
    Field("config.backend.model", "configuration.target.name", TEXT, "as the server calls it"),
    Field("worker.backend_model", "configuration.target.name", TEXT, "before 0.4"),
)

#: What a server says of speculation with each reply; in `response_metrics` of a request.
_COUNTERS = (
    ("num_spec_steps", "verify_steps"),
    ("num_draft_tokens", "drafted"),
    ("num_accepted_draft_tokens", "accepted"),
)
_SPECULATION = (
    *(
        Field(
            f"requests.successful.*.response_metrics.speculative_decoding.{name}",
            f"run.speculation.counts.{to}",
            COUNT,
            "added up, where every answer is listed and says it",
        )
        for name, to in _COUNTERS
    ),
    Field(
        "requests.successful.*.response_metrics.speculative_decoding.acceptance_histogram",
        "run.speculation.histogram",
        COUNT,
        "added up likewise",
    ),
    Field(
        "requests.successful.*.response_metrics.speculative_decoding.num_spec_tokens",
        "configuration.draft_length.max",
        COUNT,
        "where all say the same",
    ),
)

# --- from a benchmark to a run ---------------------------------------------------------------


class _Report:
    """A report being made of benchmarks. version: of GuideLLM, where it is said."""

    def __init__(self, version: Found | None) -> None:
        self.building = Building()
        self._version = version

    def add(self, record: Record, strategy: Found | None, streams: Found | None) -> dict[str, Path]:
        """Begin a run with what holds of every form. streams: requests in flight at once."""
        building = self.building
        name = "benchmark" if strategy is None else str(strategy.value)
        run = building.run(name, "server")
        name = str(building.value((*run, "id")))
        at = {
            "run": run,
            "configuration": building.configuration("server"),
            "workload": building.workload(name),
        }
        building.put((*run, "workload"), Found(name))
        fill(building, (*_MODEL, *_RUN), record, at)
        fill_summaries(building, _SUMMARIES, _PARTS, record, at)
        building.put((*run, "conditions", "concurrency"), streams)
        self._measurement(run)
        return at

    def _measurement(self, run: Path) -> None:
        put = self.building.put
        put((*run, "measurement", "by"), Found("client"))
        known = None if self._version is None else text(self._version.value)
        if self._version is None or known is None:
            put((*run, "measurement", "tool"), Found(NAME))
        else:
            put((*run, "measurement", "tool"), self._version.to(f"{NAME} {known}"))


# --- JSON and YAML ---------------------------------------------------------------------------


def _of_tree(record: JsonRecord) -> Building:
    report = _Report(record.get("metadata.guidellm_version"))
    model = record.get("args.model")
    for benchmark in record.records("benchmarks"):
        if not isinstance(benchmark.tree.get("metrics"), dict):
            continue
        strategy = benchmark.record("config.strategy") or benchmark.record("args.strategy")
        streams = None if strategy is None else _streams(strategy)
        at = report.add(benchmark, _named(strategy, streams), streams)
        if model is not None:
            name = TEXT.convert(model.value)
            report.building.put((*at["configuration"], "target", "name"), model.to(name))
        _whole_run(report.building, benchmark, at)
        _made_up(report.building, record, benchmark, at)
        _sent(report.building, benchmark, at)
        _speculation(report.building, benchmark, at)
    return report.building


def _streams(strategy: JsonRecord) -> Found | None:
    """Requests in flight at once, where the strategy keeps them so many."""
    kind = strategy.get("type_")
    if kind is None:
        return None
    if kind.value == "synchronous":
        return kind.to(1)
    limit = {"concurrent": "streams", "throughput": "max_concurrency"}.get(str(kind.value))
    found = None if limit is None else strategy.get(limit)
    return None if found is None else found.to(whole(found.value))


def _named(strategy: JsonRecord | None, streams: Found | None) -> Found | None:
    """What GuideLLM calls the strategy on its console: concurrent@4."""
    kind = None if strategy is None else strategy.get("type_")
    if kind is None or strategy is None or text(kind.value) is None:
        return None
    rate = strategy.get("rate")
    per_s = None if rate is None else number(rate.value)
    if kind.value == "synchronous":
        return kind
    if streams is not None and streams.value is not None:
        return kind.to(f"{kind.value}@{streams.value}")
    return kind if per_s is None else kind.to(f"{kind.value}@{per_s:.2f}")


def _whole_run(building: Building, record: Record, at: dict[str, Path]) -> None:
    """The tokens of the run, where nothing of it was left out."""
    parts = (
        "warmup_duration",
        "cooldown_duration",
        "metrics.request_totals.incomplete",
        "request_totals.incomplete",
        "args.warmup_number",
        "args.warmup_duration",
        "args.cooldown_number",
        "args.cooldown_duration",
    )
    left_out = [record.get(name) for name in parts]
    if not any(found is not None and number(found.value) for found in left_out):
        fill(building, _TOKENS, record, at)


def _made_up(
    building: Building, top: JsonRecord, benchmark: JsonRecord, at: dict[str, Path]
) -> None:
    """Whether prompts were made up. Before 0.7 that is told by the numbers of tokens in `data`."""
    kinds = [data.get("kind") for data in top.records("config.spec.data")]
    place = (*at["run"], "measurement", "prompt_kind")
    if kinds and all(kind is not None and kind.value == "synthetic_text" for kind in kinds):
        building.put(place, Found("synthetic", kinds[0].place if kinds[0] else None))
        return
    for data in (benchmark.get("request_loader.data"), top.get("args.data.0")):
        if data is not None and isinstance(data.value, str) and "prompt_tokens" in data.value:
            building.put(place, data.to("synthetic"))


# --- what was sent ---------------------------------------------------------------------------

_SAMPLER = (*PARAMETERS, "seed")
_BODY = "requests.successful.*.request_args.body"
_SENT = (
    *(
        Field(f"{_BODY}.{n}", f"configuration.sampler.{n}", NUMBER, "as sent with every request")
        for n in _SAMPLER
    ),
    Field(f"{_BODY}.ignore_eos", "workload.stop_rule", TEXT, "true with every request"),
)

#: So many requests are looked at for what was sent with them.
_LOOKED_AT = 100


def _sent(building: Building, benchmark: JsonRecord, at: dict[str, Path]) -> None:
    """What every request asked for beside its prompt."""
    listed = [r.get("request_args") for r in benchmark.records("requests.successful")]
    place = listed[0] if listed else None
    bodies = [_body(each) for each in listed[:_LOOKED_AT]]
    if place is None or not all(bodies):
        return
    if all(body.get("ignore_eos") is True for body in bodies):
        building.put((*at["workload"], "stop_rule"), place.to("ignore_eos"))
    sampler = (*at["configuration"], "sampler")
    for name in _SAMPLER:
        values = [body.get(name) for body in bodies]
        kind = COUNT if name in ("top_k", "seed") else NUMBER
        if all(value == values[0] for value in values):
            building.put((*sampler, name), place.to(kind.convert(values[0])))
    unset = [name for name in _SAMPLER if not any(name in body for body in bodies)]
    if unset:
        building.put((*sampler, "left_to_engine"), place.to(unset))


def _body(found: Found | None) -> dict[str, Any]:
    """The body of a request, which is JSON in a string; empty where it is none."""
    if found is None or not isinstance(found.value, str):
        return {}
    try:
        sent = json.loads(found.value)
    except (ValueError, RecursionError):
        return {}
    body = sent.get("body") if isinstance(sent, dict) else None
    return body if isinstance(body, dict) else {}


# --- speculation -----------------------------------------------------------------------------


def _speculation(building: Building, benchmark: JsonRecord, at: dict[str, Path]) -> None:
    """Counters of all answers, where all are listed and each says them."""
    total = benchmark.get("metrics.request_totals.successful")
    listed = list(benchmark.records("requests.successful"))
    said = [r.record("response_metrics.speculative_decoding") for r in listed]
    known = [each for each in said if each is not None]
    if not known:
        return
    if total is None or whole(total.value) != len(known) or len(known) < len(said):
        building.remarks.append(
            "not every answer is listed with what the server said of its drafts, so that "
            "nothing of it was taken over"
        )
        return
    run = at["run"]
    for name, to in _COUNTERS:
        building.put((*run, "speculation", "counts", to), _sum(known, name))
    building.put((*run, "speculation", "histogram"), _histogram(known))
    if building.has((*run, "speculation")):
        building.put((*run, "measurement", "counters"), Found("per_run"))
    lengths = [each.get("num_spec_tokens") for each in known]
    if all(
        n is not None and lengths[0] is not None and n.value == lengths[0].value for n in lengths
    ):
        place = (*at["configuration"], "draft_length", "max")
        building.put(place, lengths[0] and lengths[0].to(whole(lengths[0].value)))


def _sum(records: Iterable[JsonRecord], name: str) -> Found | None:
    found = [record.get(name) for record in records]
    counts = [None if each is None else whole(each.value) for each in found]
    known = [count for count in counts if count is not None and count >= 0]
    if not found or found[0] is None or len(known) < len(counts):
        return None
    return found[0].to(sum(known))


def _histogram(records: Sequence[JsonRecord]) -> Found | None:
    found = [record.get("acceptance_histogram") for record in records]
    lists = [each.value if each is not None else None for each in found]
    known = [h for h in lists if isinstance(h, list) and all(_is_count(n) for n in h)]
    if found[0] is None or len(known) < len(lists):
        return None
    width = max(map(len, known))
    sums = [sum(h[i] for h in known if i < len(h)) for i in range(width)]
    return found[0].to(sums) if width else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15


# --- CSV -------------------------------------------------------------------------------------


_STATISTICS = {"mean": "mean", "median": "percentiles.p50", "std dev": "std_dev"}

#: What stands in a cell of percentiles, in this order.
_ORDER = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")

_NUMBERS = re.compile(r"-?\d[\d.eE+-]{0,40}")

#: Heads from 0.4 on: group and column → the metric.
_GROUPS = {
    ("time to first token", "successful ms"): "time_to_first_token_ms",
    ("inter token latency", "successful ms"): "inter_token_latency_ms",
    ("token metrics", "successful input tokens"): "prompt_token_count",
    ("token metrics", "successful output tokens"): "output_token_count",
    ("token throughput", "successful output tokens/sec"): "output_tokens_per_second",
    ("server throughput", "successful requests/sec"): "requests_per_second",
}
_SINGLE = {
    ("timings", "duration"): "duration",
    ("request counts", "successful"): "metrics.request_totals.successful",
    ("request counts", "errored"): "metrics.request_totals.errored",
    ("benchmark", "strategy"): "strategy",
    ("run info", "backend"): "backend",
    ("runtime info", "metadata"): "metadata",
}

#: Heads before 0.4.
_METRICS = (
    "requests_per_second",
    "time_to_first_token_ms",
    "inter_token_latency_ms",
    "prompt_token_count",
    "output_token_count",
    "output_tokens_per_second",
)
_OLD_SINGLE = {
    "duration": "duration",
    "name": "strategy",
    "successful requests": "request_totals.successful",
    "errored requests": "request_totals.errored",
}


def _of_csv(lines: Sequence[Line]) -> Building:
    rows = [csv_cells(line) for line in lines if line.text.strip()]
    heads, body = _heads(rows)
    version = None
    made = [_named_cells(heads, row) for row in body if len(row) == len(heads)]
    for row in made:
        version = version or _within(row.get("metadata"), "guidellm_version")
    report = _Report(version)
    for row in made:
        _add_row(report, row)
    return report.building


def _heads(rows: Sequence[list[Found]]) -> tuple[list[str], Sequence[list[Found]]]:
    """The names of the columns, and the rows below: there is one row of heads, or three."""
    words = [[str(cell.value).strip().lower() for cell in row] for row in rows[:3]]
    if words and words[0][:1] == ["type"]:
        return [_old_name(word) for word in words[0]], rows[1:]
    if len(words) == 3 and len({len(row) for row in words}) == 1:
        return [_name(*column) for column in zip(*words, strict=True)], rows[3:]
    return [], []


def _name(group: str, column: str, statistic: str) -> str:
    metric = _GROUPS.get((group, column))
    if metric is None:
        return _SINGLE.get((group, column), "")
    return f"metrics.{metric}.successful.{_STATISTICS.get(statistic, statistic)}"


def _old_name(head: str) -> str:
    for metric in _METRICS:
        words = f"successful {metric.replace('_', ' ')} "
        if head.startswith(words):
            statistic = head.removeprefix(words)
            kind = "percentiles" if statistic.startswith("[") else statistic
            return f"metrics.{metric}.successful.{_STATISTICS.get(kind, kind)}"
    return _OLD_SINGLE.get(head, "")


def _named_cells(heads: Sequence[str], row: Sequence[Found]) -> Row:
    cells: Row = {}
    for name, cell in zip(heads, row, strict=True):
        if name.endswith(".percentiles"):
            cells |= _percentiles(name, cell)
        elif name and str(cell.value).strip():
            cells.setdefault(name, cell)
    return cells


def _percentiles(name: str, cell: Found) -> Row:
    """The numbers of a cell of percentiles, each with its place."""
    found = list(_NUMBERS.finditer(str(cell.value)[:2000]))
    if len(found) != len(_ORDER):
        return {}
    metric = name.removesuffix(".percentiles")
    names = [part if part in ("min", "max") else f"percentiles.{part}" for part in _ORDER]
    return {
        f"{metric}.{part}": cell.part(match[0], match.span())
        for part, match in zip(names, found, strict=True)
    }


# --- console ---------------------------------------------------------------------------------

#: Heads of the tables on a console (benchmark/outputs/console.py) → the metric and its part.
_PRINTED_METRICS = {
    "TTFT": "time_to_first_token_ms",
    "ITL": "inter_token_latency_ms",
    "Input Tok Per Req": "prompt_token_count",
    "Output Tok Per Req": "output_token_count",
}
_PRINTED_PARTS = {"Mean": "mean", "Mdn": "percentiles.p50", "p95": "percentiles.p95"}
_PRINTED_SINGLE = {
    "Benchmark Strategy": "strategy",
    "Timings Dur (Sec)": "duration",
    "Timings Warm (Sec)": "warmup_duration",
    "Timings Cool (Sec)": "cooldown_duration",
    "Requests Comp Tot": "metrics.request_totals.successful",
    "Requests Err Tot": "metrics.request_totals.errored",
    "Requests Inc Tot": "metrics.request_totals.incomplete",
    "Requests Per Sec Mean": "requests_per_second",
    "Output Tokens Per Sec Mean": "output_tokens_per_second",
}
_PRINTED_HEAD = re.compile(r"(.+) (Mean|Mdn|p95)(?: \(ms\))?")

#: A number with its confidence interval, or the mark that there is none.
_PRINTED_NUMBER = re.compile(r"(\d[\d.,]{0,30})(?: ± [\d.,]+|\*)?")

#: What is printed of all requests is said of those that were completed, where all were.
_OF_ALL = ("requests_per_second", "output_tokens_per_second")
_UNFINISHED = ("metrics.request_totals.errored", "metrics.request_totals.incomplete")


def _of_console(lines: Iterable[Line]) -> Building:
    """The rows of all printed tables that are about one strategy are one run."""
    rows: dict[str, Row] = {}
    for table in console_tables(lines):
        names = [_printed_name(word) for word in table.words]
        for cells in table.rows if names[:1] == ["strategy"] else ():
            row = {n: _printed(c) for n, c in zip(names, cells, strict=True) if n and c.value}
            strategy = str(cells[0].value)
            rows[strategy] = row | rows.get(strategy, {})
    report = _Report(None)
    for row in rows.values():
        all_done = all(name in row and not number(row[name].value) for name in _UNFINISHED)
        done = {f"metrics.{n}.successful.mean": row[n] for n in _OF_ALL if n in row and all_done}
        _add_row(report, row | done)
    return report.building


def _printed_name(head: str) -> str:
    found = _PRINTED_HEAD.fullmatch(head)
    metric = None if found is None else _PRINTED_METRICS.get(found[1])
    if found is None or metric is None:
        return _PRINTED_SINGLE.get(head, "")
    return f"metrics.{metric}.successful.{_PRINTED_PARTS[found[2]]}"


def _printed(cell: Found) -> Found:
    found = _PRINTED_NUMBER.fullmatch(str(cell.value))
    return cell if found is None else cell.part(found[1].replace(",", ""), found.span(1))


def _add_row(report: _Report, row: Row) -> None:
    if not any(name.startswith("metrics.") for name in row) and "duration" not in row:
        return
    strategy = row.get("strategy")
    kind, _, rate = ("" if strategy is None else str(strategy.value)).partition("@")
    streams = None
    if strategy is not None and kind == "synchronous":
        streams = strategy.to(1)
    elif strategy is not None and kind in ("concurrent", "throughput"):
        streams = strategy.to(whole(rate))
    at = report.add(row, strategy, streams)
    model = _within(row.get("backend"), "model")
    if model is not None:
        place = (*at["configuration"], "target", "name")
        report.building.put(place, model.to(TEXT.convert(model.value)))


def _within(found: Found | None, name: str) -> Found | None:
    """A member of the JSON in a cell."""
    try:
        tree = json.loads(str(found.value)) if found is not None else None
    except (ValueError, RecursionError):
        return None
    return (
        found.to(tree[name])
        if found is not None and isinstance(tree, dict) and name in tree
        else None
    )


# --- its forms -------------------------------------------------------------------------------

_CONSOLE = re.compile(r"(?m)^\| Benchmark +\| Timings +\|\|")
_OLD_CSV = re.compile(r"(?m)^Type,Run Id,Id,Name,Start Time,")
_CSV = re.compile(r"(?m)^Run Info,Run Info,.*Benchmark,Benchmark,")


def _recognise(head: Head) -> Confidence:
    if head.document is None:
        known = any(form.search(head.text) for form in (_OLD_CSV, _CSV, _CONSOLE))
        return Confidence.SURE if known else Confidence.NO
    benchmarks = head.record.get("benchmarks")
    first = benchmarks[0] if isinstance(benchmarks, list) and benchmarks else None
    own = isinstance(first, dict) and first.get("type_") == "generative_benchmark"
    return Confidence.SURE if own else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    if source.document is not None:
        buildings = [_of_tree(record) for record in source.records()]
    else:
        lines = list(source.lines())
        is_console = any(_CONSOLE.match(line.text) for line in lines)
        buildings = [_of_console(lines) if is_console else _of_csv(lines)]
    return Imported.of_runs(NAME, *buildings)


_SERVER = "the server's log says it: give it to `benchlint convert` too"
_JSON = "benchmarks.json says it, the CSV does not"

IMPORTER = Importer(
    name=NAME,
    title="GuideLLM",
    reads="benchmarks.json, benchmarks.yaml and benchmarks.csv of the versions from 0.2 on; the "
    "tables that 0.6 and later print",
    recognise=_recognise,
    read=_read,
    engines=("vllm",),
    fields=(*_MODEL, *_RUN, *_TOKENS, *page_fields(_PARTS, _SUMMARIES), *_SENT, *_SPECULATION),
    hints={
        "target.quantization": _SERVER,
        "machine": "GuideLLM knows a network address only: say what the server ran on",
        "engine": _SERVER,
        "configurations.*.drafter": _SERVER,
        "configurations.*.draft_length": _SERVER,
        "configurations.*.sampler": "GuideLLM sends what its backend is given as `extras`; "
        + _JSON,
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.prompts": "name the set of `guidellm run --data`; benchmarks.json lists "
        "prompts where `sample_size` is not 0",
        "workloads.*.stop_rule": _JSON + ", where it lists requests",
        "runs[].speculation": "vLLM with --per-request-spec-decode-metrics says it in its replies, "
        "and GuideLLM from 0.8 keeps it in benchmarks.json; else /metrics before and after",
        "runs[].conditions.concurrency": "`guidellm --profile concurrent` (before 0.4 "
        "`--rate-type concurrent`) keeps so many requests in flight",
        "runs[].conditions.warm": "`guidellm --warmup 0.1` leaves out the first tenth; say so",
        "runs[].conditions.repeats": "run it again",
        "runs[].memory": "`nvidia-smi` after the run",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Stalls inside a request: its inter-token latency is a mean over each request, so that "
        "its percentiles hide them.",
        "Its time per output token is not taken over: it counts the first token's time (from 0.4 "
        "on) or divides by one token more (before).",
        "Draft model and how drafts are made.",
    ),
)
