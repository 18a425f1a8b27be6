"""llama-bench of llama.cpp: JSON, JSON Lines, CSV, SQL and Markdown of every year.

Source: llama.cpp tools/llama-bench/llama-bench.cpp (examples/llama-bench before 2025), classes
json_printer, jsonl_printer, csv_printer, sql_printer, markdown_printer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    BILLIONS,
    COUNT,
    GB_FROM_BYTES,
    NUMBER,
    S_FROM_NS,
    TEXT,
    Field,
    Kind,
    fill,
    number,
    shifted,
    text,
    times,
    truth,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord, Line, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.llama_bench_csv import BACKENDS, csv_tests
from benchlint.checker.importers.table_rows import (
    Row,
    is_delimiter,
    markdown_cells,
    sql_row,
)

NAME = "llama-bench"

# --- what its values mean --------------------------------------------------------------------


def _known(value: object) -> str | None:
    """Text that is not "unknown"."""
    found = text(value)
    return None if found == "unknown" else found


def _not_automatic(value: object) -> int | None:
    """A whole number; -1 leaves the choice to the engine."""
    found = whole(value)
    return None if found is None or found < 0 else found


def _build(value: object) -> str | None:
    """The build number as releases are called. 0 and 1 are what a shallow checkout has."""
    found = whole(value)
    return None if found is None or found <= 1 else f"b{found}"


def file_name(value: object) -> str | None:
    """The name of the model file, without its folder."""
    found = text(value)
    return None if found is None else re.split(r"[/\\]", found)[-1] or None


def _deviation(value: object) -> object:
    """A standard deviation; 0 is what is printed for a single repetition."""
    return number(value) or None


def _samples(value: object) -> list[object] | None:
    """The single speeds, where there is more than one."""
    if not isinstance(value, list) or len(value) < 2:
        return None
    numbers: list[object] = [number(each) for each in value]
    return None if None in numbers else numbers


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) and value else None


def _flash(value: object) -> str | None:
    """The attention backend, where flash attention is on; -1 leaves it to the engine."""
    return "flash_attn" if truth(value) else None


#: Spelled-out sizes of k-quants in `model_type` (llama_model_ftype_name, llama-model-loader.cpp).
_SIZES = {"Small": "S", "Medium": "M", "Large": "L"}

_TYPE = re.compile(
    r"(?:^|\s)(?P<type>F32|F16|BF16|MXFP4|NVFP4|I?Q\d\w*|TQ\d_\d)"
    r"(?: - (?P<size>Small|Medium|Large)| - [\d.]+ bpw[^()]*| MoE)?$"
)


def recipe(value: object) -> str | None:
    """The quantization at the end of a model type: "llama 7B Q4_K - Medium" is Q4_K_M.

    None where there is none, or where the tool says that it guessed.
    """
    found = _TYPE.search(text(value) or "")
    if found is None:
        return None
    return f"{found['type']}_{_SIZES[found['size']]}" if found["size"] else found["type"]


# --- fields ----------------------------------------------------------------------------------

_REPORT = (Field("test_time", "date", TEXT, "start of the first test"),)

_CONFIGURATION = (
    Field("build_number", "configuration.engine.version", Kind("1275 → b1275", _build)),
    Field("build_commit", "configuration.engine.commit", Kind("", _known)),
    Field("backends", "configuration.engine.backend", TEXT),
    Field("cpu_info", "configuration.machine.cpu", TEXT),
    Field("model_filename", "configuration.target.name", Kind("without folders", file_name)),
    Field("model_type", "configuration.target.name", TEXT, "where no file name is printed"),
    Field(
        "model_type",
        "configuration.target.quantization.recipe",
        Kind("name of the file type → recipe", recipe),
    ),
    Field(
        "model_size",
        "configuration.target.quantization.file_size_gb",
        GB_FROM_BYTES,
        "all tensors, without the header of the file",
    ),
    Field("model_n_params", "configuration.target.parameters_b", BILLIONS),
    Field("n_batch", "configuration.engine.batch.logical", COUNT),
    Field("n_ubatch", "configuration.engine.batch.physical", COUNT),
    Field("n_threads", "configuration.engine.threads", COUNT),
    Field(
        "n_gpu_layers",
        "configuration.engine.offload.gpu_layers",
        Kind("-1 is none", _not_automatic),
    ),
    Field("flash_attn", "configuration.engine.attention_backend", Kind("1 → flash_attn", _flash)),
)

_SPEED = (
    ("avg_ts", "tok_s.value", NUMBER, "mean of the speeds of the repetitions"),
    ("stddev_ts", "tok_s.stdev", Kind("0 is none", _deviation), ""),
    ("samples_ts", "tok_s.samples", Kind("", _samples), "speeds of the repetitions"),
    ("avg_ns", "seconds", S_FROM_NS, ""),
)

_PREFILL = (
    Field("n_prompt", "run.prefill.tokens", COUNT),
    *(Field(name, f"run.prefill.{to}", kind, words) for name, to, kind, words in _SPEED),
)

_DECODE = (
    Field("n_gen", "run.decode.tokens", COUNT),
    *(Field(name, f"run.decode.{to}", kind, words) for name, to, kind, words in _SPEED),
)

_BOTH = (
    Field("n_prompt", "run.prefill.tokens", COUNT),
    Field("n_gen", "run.decode.tokens", COUNT),
    Field(
        "avg_ns",
        "run.throughput.seconds",
        S_FROM_NS,
        "of a test of prompt and generation together (-pg); its speed counts prompt tokens and "
        "is not taken over",
    ),
)

_CONDITIONS = (
    Field(
        "n_depth",
        "run.conditions.kv_position.filled_tokens",
        COUNT,
        "0 where it is not printed: the cache is cleared before each test",
    ),
    Field("samples_ns", "run.conditions.repeats", Kind("how many", _length)),
)

#: Columns about a test, and not about its setup.
_OF_TEST = frozenset(
    {
        "n_prompt",
        "n_gen",
        "n_depth",
        "test_time",
        "avg_ns",
        "stddev_ns",
        "avg_ts",
        "stddev_ts",
        "samples_ns",
        "samples_ts",
    }
)

# --- from rows to a report -------------------------------------------------------------------


def _report(
    rows: Iterable[tuple[Record, tuple[str, ...]]], remarks: Sequence[str] = ()
) -> Iterator[Imported]:
    """One report of all rows; none where no row is a test. A row comes with its column names."""
    building = Building()
    building.remarks += remarks
    setups = _Setups(building)
    for record, names in rows:
        _add(building, record, setups.of(record, names))
    return Imported.of_runs(NAME, building)


class _Setups:
    """The configurations by what the setup columns say."""

    def __init__(self, building: Building) -> None:
        self._building = building
        self._names: dict[tuple[tuple[str, str], ...], str] = {}
        self._first: dict[str, tuple[tuple[str, str], ...]] = {}

    def of(self, record: Record, names: tuple[str, ...]) -> str:
        """The name of the configuration that a row is about: the model, and what differs."""
        values = ((n, record.get(n)) for n in names if n not in _OF_TEST)
        key = tuple((n, str(v.value)) for n, v in values if v is not None)
        if key not in self._names:
            self._names[key] = self._name(dict(key), key)
        return self._names[key]

    def _name(self, setup: dict[str, str], key: tuple[tuple[str, str], ...]) -> str:
        model = file_name(setup.get("model_filename")) or setup.get("model_type") or "model"
        first = dict(self._first.setdefault(model, key))
        others = [f"{n}={v}" for n, v in setup.items() if first.get(n) != v]
        return ", ".join([model, *others])


def _add(building: Building, record: Record, setup: str) -> None:
    prompt, generated = _count(record, "n_prompt"), _count(record, "n_gen")
    if not (prompt or generated):
        return
    building.put(("engine", "name"), Found("llama.cpp"))
    configuration = building.configuration(setup)
    test = _test_name(prompt, generated, _count(record, "n_depth"))
    is_first = next(iter(building.tree["configurations"])) == setup
    run = building.run(test if is_first else f"{test} {setup}", setup)
    fields = _BOTH if prompt and generated else _PREFILL if prompt else _DECODE
    at = {"run": run, "configuration": configuration}
    fill(building, (*_REPORT, *_CONFIGURATION, *_MARKDOWN, *fields, *_CONDITIONS), record, at)
    _computed(building, record, configuration)
    _constant(building, run, configuration)
    for block in ("prefill", "decode"):
        if building.has((*run, block, "tok_s")):
            building.put((*run, block, "tok_s", "estimator"), Found("mean"))
    if generated and not prompt:
        building.put((*run, "measurement", "window"), Found("decode_only"))


def _count(record: Record, name: str) -> int:
    found = record.get(name)
    return max(0, (0 if found is None else whole(found.value)) or 0)


def _test_name(prompt: int, generated: int, depth: int) -> str:
    """As the Markdown form calls it."""
    tests = [f"pp{prompt}"] * bool(prompt) + [f"tg{generated}"] * bool(generated)
    return "+".join(tests) + (f" @ d{depth}" if depth else "")


def _computed(building: Building, record: Record, configuration: Path) -> None:
    """What stands in more than one column."""
    building.put((*configuration, "kv_cache", "target_type"), _kv_type(record))
    if not building.has((*configuration, "engine", "backend")):
        building.put((*configuration, "engine", "backend"), _backend(record))
    _devices(building, record, configuration)


def _kv_type(record: Record) -> Found | None:
    """One type where keys and values have the same, else both; older builds only say f16_kv."""
    keys, values = record.get("type_k"), record.get("type_v")
    if keys is None or values is None:
        return None
    same = keys.value == values.value
    return keys.to(keys.value if same else f"{keys.value}/{values.value}")


def _backend(record: Record) -> Found | None:
    for column, name in BACKENDS.items():
        found = record.get(column)
        if found is not None and truth(found.value):
            return found.to(name)
    return None


def _devices(building: Building, record: Record, configuration: Path) -> None:
    """`gpu_info` lists the devices of the machine with commas, as often as there are of each."""
    found = record.get("gpu_info")
    names = [] if found is None else [n.strip() for n in str(found.value).split(",") if n.strip()]
    if found is None or building.has((*configuration, "machine", "devices")):
        return
    for i, (name, count) in enumerate(Counter(names).items()):
        device = (*configuration, "machine", "devices", i)
        building.put((*device, "name"), found.to(name))
        building.put((*device, "count"), found.to(count))
    mode = record.get("split_mode")
    if mode is not None and mode.value == "layer" and len(names) > 1:
        place = (*configuration, "engine", "parallelism", "pipeline")
        building.put(place, mode.to(len(names)))


def _constant(building: Building, run: Path, configuration: Path) -> None:
    """What holds of every run of llama-bench: it has no drafter, and one sequence at a time."""
    building.put_null((*configuration, "drafter"))
    building.put((*run, "conditions", "concurrency"), Found(1))
    # The cache is cleared before each test; what is put into it then is said by n_depth.
    building.put((*run, "conditions", "kv_position", "filled_tokens"), Found(0))
    building.put((*run, "measurement", "by"), Found("micro_benchmark"))
    building.put((*run, "measurement", "prompt_kind"), Found("synthetic"))
    building.put((*run, "measurement", "tool"), Found(NAME))


# --- its forms -------------------------------------------------------------------------------

#: Columns in every JSON, CSV and SQL output there has been.
_ALWAYS = ("build_commit", "model_type", "n_prompt", "n_gen", "avg_ts")


def _recognise(head: Head) -> Confidence:
    if head.document is not None:
        return Confidence.SURE if head.has(*_ALWAYS) else Confidence.NO
    if any(pattern.search(head.text) for pattern in _FORMS):
        return Confidence.SURE
    heads = [_line_before(head.text, match.start()) for match in DELIMITER.finditer(head.text)]
    own = [each for each in heads if _OWN_HEAD.fullmatch(each)]
    # A page with other tables too is for whoever reads pages.
    return Confidence.SURE if own and len(own) == len(heads) else Confidence.NO


_FORMS = (
    re.compile(r"(?m)^build_commit,build_number,\w"),
    re.compile(r"(?m)^INSERT INTO (?:llama_bench|test) \(build_commit, "),
)

#: The line under the head of any Markdown table.
DELIMITER = re.compile(r"(?m)^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+\|[-:| \t]*+\r?$")
_OWN_HEAD = re.compile(r"\| model +\| [^\n]{0,400}\| +test +\| +t/s +\|\s*+")


def _line_before(text: str, at: int) -> str:
    end = max(at - 1, 0)
    return text[text.rfind("\n", 0, end) + 1 : end].rstrip("\r")


def _read(source: Source) -> Iterator[Imported]:
    if source.document is not None:
        return _report(_of_json(source.records()))
    devices = _Devices()
    lines = devices.seen_in(source.lines())
    first = next((line for line in lines if _starts(line)), None)
    if first is None:
        return iter(())
    lines = chain([first], lines)
    if first.text.startswith("build_commit"):
        return _of_csv(lines)
    if first.text.lstrip()[:1] == "|":
        return _report(_of_markdown(lines, devices))
    if first.text.lstrip()[:1] == "{":
        again = Source(source.name, lambda: lines)
        return _report(_of_json(again.records()))
    return _report(_of_sql(lines))


def _starts(line: Line) -> bool:
    """Whether one of the forms starts here; logs may stand in front."""
    start = line.text.lstrip()
    return start.startswith(("build_commit,", "{", "INSERT INTO", "| model"))


def _of_csv(lines: Iterator[Line]) -> Iterator[Imported]:
    tests = csv_tests(lines)
    return _report(((row, tuple(row)) for row in tests.rows), tests.remarks)


def _of_json(records: Iterator[JsonRecord]) -> Iterator[tuple[Record, tuple[str, ...]]]:
    return ((record, tuple(record.tree)) for record in records)


def _of_sql(lines: Iterator[Line]) -> Iterator[tuple[Record, tuple[str, ...]]]:
    for line in lines:
        row = sql_row(line)
        if row is not None:
            yield row, tuple(row)


# --- Markdown --------------------------------------------------------------------------------

_BUILD_LINE = re.compile(r"build: (?P<build_commit>\w+) \((?P<build_number>\d+)\)")
#: ggml_cuda_init (CUDA, ROCm, MUSA), ggml_vulkan and Metal, each in its own words.
_DEVICE = re.compile(
    r" +Device \d+: (?P<cuda>[^,\n]{1,80}), (?:compute capability|gfx)"
    r"|ggml_vulkan: \d+ = (?P<vulkan>[^|\n]{1,80}?)(?: \([^()|]*\))? \| uma"
    r"|ggml_metal\w*: GPU name: +(?P<metal>Apple [^\n]{1,80})"
)
_MOST_DEVICES = 64
_TEST = re.compile(r"(?:pp ?(?P<n_prompt>\d+))?\+?(?:tg ?(?P<n_gen>\d+))?(?: @ d(?P<n_depth>\d+))?")
_MEASURED = re.compile(r"(?P<avg_ts>[\d.]+)(?: *(?:±|\+/-) *(?P<stddev_ts>[\d.]+))?")
_SIZE = re.compile(r"([\d.]+) ([MG])iB")
_PARAMETERS = re.compile(r"([\d.]+) ([KMBT])")

#: Heads of the Markdown form → the names of the others.
_COLUMNS = {
    "model": "model_type",
    "backend": "backends",
    "ngl": "n_gpu_layers",
    "threads": "n_threads",
    "fa": "flash_attn",
    "sm": "split_mode",
    "mmap": "use_mmap",
    "ts": "tensor_split",
}

_MARKDOWN = (
    Field(
        "size",
        "configuration.target.quantization.file_size_gib",
        Kind("MiB → GiB", lambda v: gib(str(v))),
        "Markdown only",
    ),
    Field(
        "params",
        "configuration.target.parameters_b",
        Kind("K, M, T → billions", lambda v: billions(str(v))),
        "Markdown only",
    ),
)


def gib(printed: str) -> object:
    found = _SIZE.fullmatch(printed)
    if found is None:
        return None
    return number(found[1]) if found[2] == "G" else times(found[1], Decimal(1) / 1024)


def billions(printed: str) -> object:
    found = _PARAMETERS.fullmatch(printed)
    return found and shifted(found[1], {"K": -6, "M": -3, "B": 0, "T": 3}[found[2]])


def read_markdown(lines: Iterator[Line]) -> Iterator[Imported]:
    """The report of tables that llama-bench printed, and of the line below with the build."""
    devices = _Devices()
    return _report(_of_markdown(devices.seen_in(lines), devices))


class _Devices:
    """The devices that ggml's backends found, as they print them above the table."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._first: Found | None = None

    def seen_in(self, lines: Iterator[Line]) -> Iterator[Line]:
        """The lines, handed on."""
        for line in lines:
            match = _DEVICE.match(line.text)
            if match is not None and len(self._names) < _MOST_DEVICES:
                name = match[match.lastgroup or 0]
                self._names.append(name.replace(",", " "))
                self._first = self._first or line.found(name, match.span(match.lastgroup or 0))
            yield line

    @property
    def row(self) -> Row:
        """What the other forms have as `gpu_info`."""
        return {} if self._first is None else {"gpu_info": self._first.to(", ".join(self._names))}


def _of_markdown(
    lines: Iterator[Line], devices: _Devices
) -> Iterator[tuple[Record, tuple[str, ...]]]:
    """Rows are held back until the line with the build, which stands below them."""
    names: list[str] = []
    waiting: list[Row] = []
    for line in lines:
        build = _BUILD_LINE.search(line.text)
        cells = markdown_cells(line)
        words = [str(cell.value) for cell in cells]
        if build:
            whole_rows = [row | line.groups(build) for row in waiting]
            yield from ((row, tuple(row)) for row in whole_rows)
            waiting = []
        elif is_llama_bench_head(words):
            yield from ((row, tuple(row)) for row in waiting)
            waiting, names = [], words
        elif len(cells) == len(names) and cells and not is_delimiter(line):
            waiting.append(devices.row | markdown_row(names, cells))
    yield from ((row, tuple(row)) for row in waiting)


def is_llama_bench_head(words: list[str]) -> bool:
    """Whether a table with these heads is one that llama-bench prints."""
    return words[:1] == ["model"] and words[-2:] == ["test", "t/s"]


def markdown_row(names: list[str], cells: list[Found]) -> Row:
    """A row under the names that the other forms have."""
    row = {_COLUMNS.get(n, n): c for n, c in zip(names, cells, strict=True) if c.value != ""}
    for column, pattern in (("test", _TEST), ("t/s", _MEASURED)):
        cell = row.pop(column, None)
        match = None if cell is None else pattern.fullmatch(str(cell.value))
        if cell is not None and match is not None:
            row |= {n: cell.to(v) for n, v in match.groupdict().items() if v is not None}
    return row


_JSON = "`llama-bench -o json` prints build, backend and batch sizes"

IMPORTER = Importer(
    name=NAME,
    title="llama-bench (llama.cpp)",
    reads="JSON, JSON Lines, CSV, SQL and Markdown (`-o json|jsonl|csv|sql|md`)",
    recognise=_recognise,
    read=_read,
    alone=True,
    engines=("llama.cpp",),
    fields=(*_REPORT, *_CONFIGURATION, *_MARKDOWN, *_PREFILL, *_DECODE, *_BOTH, *_CONDITIONS),
    hints={
        "target": "`llama-bench -o json` prints file name, size and parameters of the model",
        "engine.version": _JSON,
        "engine.commit": _JSON,
        "engine.backend": _JSON,
        "engine.batch": _JSON,
        "engine.command_line": "llama-bench does not print the command it was started with",
        "configurations.*.kv_cache": "`llama-bench -o json` prints type_k and type_v",
        "runs[].conditions.warm": "llama-bench warms up unless --no-warmup is given, and prints "
        "neither",
        "runs[].decode": "`llama-bench -n N` tests generation",
        "runs[].prefill": "`llama-bench -p N` tests the prompt",
        "quality": "`llama-perplexity -m MODEL -f TEXT`; give its log to `benchlint convert` too",
    },
    never=(
        "Speculation: llama-bench has no drafter. `llama-server` with --spec-type or -md prints "
        "drafted and accepted tokens.",
        "Real prompts: its tokens are random, so that a mixture of experts routes otherwise.",
        "Sampler: llama-bench takes no token from the logits.",
        "Whether it warmed up, and the power and clocks of the device.",
    ),
)
