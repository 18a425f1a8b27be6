"""llama-benchy, a client in the manner of llama-bench: JSON, CSV and Markdown.

Source: eugr/llama-benchy src/llama_benchy/results.py (BenchmarkReport, _generate_rows,
_generate_md_report), 0.1.0 to 0.4.0; before, llama-benchy.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, Kind, fill, text, whole
from benchlint.checker.importers.found import Found, JsonRecord, Line, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.summaries import Parts, Summary, fill_summaries, page_fields
from benchlint.checker.importers.table_rows import (
    Row,
    csv_cells,
    is_delimiter,
    markdown_cells,
)

NAME = "llama-benchy"

# --- fields ----------------------------------------------------------------------------------


def _date(value: object) -> str | None:
    """2026-11-29 15:33:57Z as ISO 8601."""
    found = text(value)
    return found and re.sub(r"(?<=\d) (?=\d)", "T", found)


def _only_true(value: object) -> bool | None:
    """True; that it is off says nothing of the server's own cache."""
    return True if value is True else None


def _over_zero(value: object) -> int | None:
    return whole(value) or None


_REPORT = (
    Field("timestamp", "date", Kind("→ ISO 8601", _date)),
    Field("model", "target.name", TEXT, "as the server calls it"),
)

_PARTS = Parts("mean", "std", samples="values", words="{mean,std,values}")

_DECODE = Summary(
    "tg_req_throughput",
    "run.decode.tok_s",
    NUMBER,
    "tokens after the first over the time to the last, of each request",
)
_TOTAL = Summary(
    "tg_throughput",
    "run.throughput.tok_s",
    NUMBER,
    "of all requests in flight, from the first token of any; only at a concurrency over 1",
)
_PEAK = Summary(
    "peak_throughput",
    "run.throughput.peak_tok_s",
    NUMBER,
    "most tokens in a second; a run of less than one second is divided by its length",
)
_PREFILL = (
    Summary(
        "pp_req_throughput",
        "run.prefill.tok_s",
        NUMBER,
        "prompt tokens over the time to the first response less the latency of the network",
    ),
    Summary("e2e_ttft", "run.prefill.ttft_ms", NUMBER),
)

_RUN = (
    Field("concurrency", "run.conditions.concurrency", COUNT),
    Field(
        "context_size",
        "run.conditions.kv_position.fill_to_tokens",
        Kind("0 is none", _over_zero),
        "tokens in front of the prompt, as asked for",
    ),
    Field("prompt_size", "workload.prompt_tokens.value", COUNT, "as asked for"),
)

_SETUP = (
    Field(
        "prefix_caching_enabled",
        "run.conditions.prompt_cache",
        Kind("false says nothing", _only_true),
        "prompts were sent so that the server can use its cache",
    ),
)

# --- JSON ------------------------------------------------------------------------------------


class _Report:
    """A report being made of results of llama-benchy."""

    def __init__(self, version: Found | None) -> None:
        self.building = Building()
        self._version = version

    def run(self, name: str, concurrency: int | None, *, several: bool) -> dict[str, Path]:
        """Begin a run. several: results of other concurrencies stand beside it."""
        suffix = f" (c{concurrency})" if several and concurrency else ""
        configuration = self.building.configuration("server")
        run = self.building.run(f"{name}{suffix}", "server")
        self._constant(run)
        return {"run": run, "configuration": configuration}

    def workload(self, at: dict[str, Path], name: str) -> None:
        """Say what the run was asked to do."""
        at["workload"] = self.building.workload(name)
        self.building.put((*at["run"], "workload"), Found(name))

    def _constant(self, run: Path) -> None:
        put = self.building.put
        put((*run, "measurement", "by"), Found("client"))
        put((*run, "measurement", "prompt_kind"), Found("natural"))
        version = self._version
        if version is None or text(version.value) is None:
            put((*run, "measurement", "tool"), Found(NAME))
        else:
            put((*run, "measurement", "tool"), version.to(f"{NAME} {text(version.value)}"))


def _of_json(record: JsonRecord) -> Building:
    report = _Report(record.get("version"))
    fill(report.building, _REPORT, record, {})
    rows = list(record.records("benchmarks"))
    several = len({_whole(row, "concurrency") for row in rows}) > 1
    for row in rows:
        _add_json(report, record, row, several=several)
    return report.building


def _add_json(report: _Report, top: JsonRecord, row: JsonRecord, *, several: bool) -> None:
    prompt, response, depth = (
        _whole(row, name) for name in ("prompt_size", "response_size", "context_size")
    )
    concurrency = _whole(row, "concurrency")
    context = row.get("is_context_prefill_phase")
    name = f"pp{prompt}+tg{response}" + (f" @ d{depth}" if depth else "")
    if context is not None and context.value is True:
        name = f"ctx @ d{depth}"
    at = report.run(name, concurrency, several=several)
    report.workload(at, name)
    fill(report.building, (*_RUN, *_SETUP), row, at)
    fill(report.building, _SETUP, top, at)
    _approximate(report.building, at["workload"])
    total = (_TOTAL,) if (concurrency or 0) > 1 else ()
    fill_summaries(report.building, (_DECODE, *total, _PEAK, *_PREFILL), _PARTS, row, at)
    _end(report.building, at["run"])


def _approximate(building: Building, workload: Path) -> None:
    """What was asked for is what was sent but for a token or two."""
    if building.has((*workload, "prompt_tokens", "value")):
        building.put((*workload, "prompt_tokens", "approx"), Found(value=True))


def _end(building: Building, run: Path) -> None:
    if building.has((*run, "decode", "tok_s")):
        building.put((*run, "measurement", "window"), Found("decode_only"))


def _whole(record: Record, name: str) -> int | None:
    found = record.get(name)
    return None if found is None else whole(found.value)


# --- tables ----------------------------------------------------------------------------------

_TEST = re.compile(
    r"(?P<context>ctx_)?(?P<kind>pp|tg)(?P<size>\d{1,9})?(?: @ d(?P<depth>\d{1,9}))?"
    r"(?: \(c(?P<concurrency>\d{1,6})\))?"
)
_MEASURED = re.compile(r"(?P<mean>-?[\d.]{1,40})(?: *± *(?P<std>[\d.]{1,40}))?")

#: Heads of the Markdown form and columns of the CSV → names of the JSON.
_HEADS = {
    "t/s (total)": "total",
    "t/s": "total",
    "t/s (req)": "request",
    "peak t/s": "peak_throughput",
    "e2e_ttft (ms)": "e2e_ttft",
    "ttft (ms)": "e2e_ttft",
}
_COLUMNS = {
    "t_s": "total",
    "t_s_req": "request",
    "peak_ts": "peak_throughput",
    "e2e_ttft": "e2e_ttft",
}


@dataclass(frozen=True)
class _TableRow:
    """A row under names that are those of the JSON, with the parts of its test."""

    model: Found
    test: Mapping[str, Found]
    values: Row

    def get(self, name: str) -> Found | None:
        """See Record."""
        return self.values.get(name)


def _of_rows(rows: list[_TableRow]) -> Building:
    report = _Report(None)
    several = any("concurrency" in row.test for row in rows)
    for row in rows:
        report.building.put(("target", "name"), row.model)
        _add_row(report, row, several=several)
    return report.building


def _add_row(report: _Report, row: _TableRow, *, several: bool) -> None:
    concurrency = _part(row, "concurrency") if several else 1
    depth, size = _part(row, "depth"), _part(row, "size")
    kind = str(row.test["kind"].value)
    context = "ctx_" if "context" in row.test else ""
    name = f"{context}{kind}{size or ''}" + (f" @ d{depth}" if depth else "")
    at = report.run(name, concurrency, several=several)
    found = row.test.get("concurrency")
    place = row.test["kind"] if found is None else found
    report.building.put((*at["run"], "conditions", "concurrency"), place.to(concurrency))
    if depth:
        where = (*at["run"], "conditions", "kv_position", "fill_to_tokens")
        report.building.put(where, row.test["depth"].to(depth))
    if kind == "pp" and size:
        report.workload(at, name)
        value = (*at["workload"], "prompt_tokens", "value")
        report.building.put(value, row.test["size"].to(size))
        _approximate(report.building, at["workload"])
    _speeds(report.building, row, at, concurrency)
    _end(report.building, at["run"])


def _speeds(
    building: Building, row: _TableRow, at: Mapping[str, Path], streams: int | None
) -> None:
    """The speeds of a row: of a request where there is such a column, else of all together."""
    is_prefill = row.test["kind"].value == "pp"
    alone = "request" if "request.mean" in row.values else "total"
    found = []
    if alone == "request" or streams == 1:
        to, words = (_PREFILL[0] if is_prefill else _DECODE), ""
        found.append(Summary(alone, to.to, NUMBER, words))
    if not is_prefill and (streams or 0) > 1:
        found.append(Summary("total", _TOTAL.to, NUMBER))
    fill_summaries(building, (*found, _PEAK, _PREFILL[1]), _PARTS, row, at)


def _part(row: _TableRow, name: str) -> int | None:
    found = row.test.get(name)
    return None if found is None else whole(found.value)


def _markdown(lines: Iterator[Line]) -> Iterator[_TableRow]:
    heads: list[str] = []
    for line in lines:
        cells = markdown_cells(line)
        words = [str(cell.value) for cell in cells]
        if is_head(words):
            heads = words
        elif len(cells) == len(heads) and cells and not is_delimiter(line):
            named = dict(zip(heads, cells, strict=True))
            yield from _row(named, _measured(named))


def _measured(named: Row) -> Row:
    """The cells "12.5 ± 0.3" taken apart."""
    found: Row = {}
    for head, name in _HEADS.items():
        cell = named.get(head)
        match = None if cell is None else _MEASURED.fullmatch(str(cell.value))
        if cell is not None and match is not None:
            for part, value in match.groupdict().items():
                if value is not None:
                    found.setdefault(f"{name}.{part}", cell.part(value, match.span(part)))
    return found


def _row(named: Row, values: Row) -> Iterator[_TableRow]:
    test = named.get("test") or named.get("test_name")
    match = None if test is None else _TEST.fullmatch(str(test.value).strip())
    model = named.get("model")
    if test is not None and match is not None and model is not None and values:
        parts = {n: test.to(v) for n, v in match.groupdict().items() if v is not None}
        yield _TableRow(model, parts, values)


def _csv(lines: Iterator[Line]) -> Iterator[_TableRow]:
    heads: list[str] = []
    for line in lines:
        cells = csv_cells(line)
        words = [str(cell.value) for cell in cells]
        if words[:2] == ["model", "test_name"]:
            heads = words
        elif len(cells) == len(heads) and cells:
            named = dict(zip(heads, cells, strict=True))
            values = {
                f"{name}.{part}": named[f"{column}_{part}"]
                for column, name in _COLUMNS.items()
                for part in ("mean", "std")
                if str(named.get(f"{column}_{part}", Found("")).value).strip()
            }
            yield from _row(named, values)


# --- its forms -------------------------------------------------------------------------------

_ALWAYS = ("version", "latency_mode", "latency_ms", "benchmarks")
_CSV_HEAD = re.compile(r"(?m)^model,test_name,t_s_mean,")
_MARKDOWN_HEAD = re.compile(r"(?m)^\|? *model +\| +test +\| +t/s(?: \(total\))? .*\bttfr \(ms\)")
_ANY_HEAD = re.compile(r"(?m)^.*\|.*\r?\n[ \t>]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$")


def is_head(words: list[str]) -> bool:
    """Whether a table with these heads is one that llama-benchy prints."""
    return words[:2] == ["model", "test"] and "ttfr (ms)" in words


def _recognise(head: Head) -> Confidence:
    if head.document is not None:
        return Confidence.SURE if head.has(*_ALWAYS) else Confidence.NO
    if _CSV_HEAD.search(head.text):
        return Confidence.SURE
    own = len(_MARKDOWN_HEAD.findall(head.text))
    # A page with other tables too is for whoever reads pages.
    return Confidence.SURE if own and own == len(_ANY_HEAD.findall(head.text)) else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    if source.document is not None:
        for record in source.records():
            if "benchmarks" in record.tree:
                yield from Imported.of_runs(NAME, _of_json(record))
        return
    lines = list(source.lines())
    yield from Imported.of_runs(NAME, _of_rows([*_csv(iter(lines)), *_markdown(iter(lines))]))


def read_markdown(lines: Iterator[Line]) -> Iterator[Imported]:
    """The report of a table that llama-benchy printed."""
    return Imported.of_runs(NAME, _of_rows(list(_markdown(lines))))


_SERVER = "the server's log says it: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="llama-benchy",
    reads="JSON, CSV and Markdown (`--save-result FILE --format json|csv|md`)",
    recognise=_recognise,
    read=_read,
    fields=(
        *_REPORT,
        *_RUN,
        *_SETUP,
        *page_fields(_PARTS, (_DECODE, _TOTAL, _PEAK, *_PREFILL)),
    ),
    hints={
        "engine": _SERVER,
        "machine": "llama-benchy knows a network address only: say what the server ran on",
        "target.quantization": _SERVER,
        "configurations.*.drafter": _SERVER,
        "configurations.*.draft_length": _SERVER,
        "configurations.*.sampler": "llama-benchy sends what `--extra-body` says; what the server "
        "made of it is in its log",
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.prompts": "llama-benchy takes its prompts from the book of `--book-url`",
        "workloads.*.output_tokens": "`llama-benchy --exact-tg` makes every answer as long as it "
        "was asked for, and `--emit-progress FILE` lists the tokens of each",
        "workloads.*.stop_rule": "`llama-benchy --exact-tg` has the server ignore the end of the "
        "text",
        "runs[].speculation": "/metrics of llama-server or vLLM before and after: "
        "`benchlint convert result.json before.txt after.txt`",
        "runs[].conditions.repeats": "`llama-benchy --runs N` measures other prompts each time: "
        "run it again",
        "runs[].conditions.warm": "every test warms up unless `llama-benchy --no-warmup` is "
        "given, and neither is saved",
        "runs[].conditions.kv_position": "`llama-benchy --depth N` puts N tokens in front",
    },
    never=(
        "Acceptance: it reads no counters of the server.",
        "Output tokens: the size of an answer in its results is what was asked for.",
        "Speed of single tokens in a flood: it stamps what one read from the network brought, so "
        "that its speeds are above what was sustained there.",
    ),
)
