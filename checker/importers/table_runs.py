"""From the rows of somebody's table to runs: arms, tasks, baselines, and what was claimed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlint.checker.importers import expected_lengths
from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.cells import (
    Quantity,
    change,
    is_nothing,
    label,
    plain,
    quantities,
    quantity,
)
from benchlint.checker.importers.columns import (
    RESULTS,
    SPEEDS,
    Meaning,
    column,
    is_plain,
    method_of,
)
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    PERCENT,
    TEXT,
    Field,
    Kind,
    shifted,
    whole,
)
from benchlint.checker.importers.found import Found
from benchlint.checker.importers.importer import Imported
from benchlint.checker.importers.table_columns import (
    Key,
    ResultColumn,
    columns_of,
    is_transposed,
    says_results,
    speaks,
    turned,
)
from benchlint.checker.importers.table_setup import devices_in, engine_in, recipe_in
from benchlint.checker.importers.text_tables import Table
from benchlint.checker.numbers import unit_of_last_digit
from benchlint.checker.tree import Digits

#: So many runs of a page or file are taken.
MOST_RUNS = 2_000

_LIMIT = f"rows after the first {MOST_RUNS:,} results are not read"

# --- where results go ------------------------------------------------------------------------

_PLACES: dict[str, str] = {
    "speed": "decode.tok_s",
    "decode_speed": "decode.tok_s",
    "prefill_speed": "prefill.tok_s",
    "throughput": "throughput.tok_s",
    "end_to_end_speed": "throughput.end_to_end_tok_s",
    "request_rate": "throughput.requests_per_s",
    "speedup": "speedup",
    "rate": "speculation.acceptance_rate",
    "length": "speculation.accepted_length",
    "accepted": "speculation.counts.accepted",
    "drafted": "speculation.counts.drafted",
    "steps": "speculation.counts.verify_steps",
    "ttft": "prefill.ttft_ms",
    "tpot": "decode.time_per_output_token_ms",
    "itl": "decode.inter_token_latency_ms",
    "step_time": "step_time_ms",
    "seconds": "throughput.seconds",
}

_QUALITY = frozenset({"perplexity", "accuracy"})
_COUNTS = frozenset({"accepted", "drafted", "steps"})
_OF_COUNTS = frozenset({"rate", "accepted", "accepted_of_drafted"})
_IN_MS = frozenset({"ttft", "tpot", "itl", "step_time"})
_SHARES = frozenset({"rate", "position", "positions"})

#: Results that only a run with a drafter has.
_SPECULATIVE = _COUNTS | _SHARES | {"speedup", "length", "accepted_of_drafted"}

_HEADS: dict[str, tuple[str, Kind]] = {
    "decode.tok_s": ("tok/s, t/s, TPS, decode, 速度, 生成速度", NUMBER),
    "throughput.tok_s": ("throughput, 吞吐, スループット; tok/s at a concurrency over 1", NUMBER),
    "prefill.tok_s": ("prefill, pp", NUMBER),
    "throughput.end_to_end_tok_s": ("e2e tok/s", NUMBER),
    "throughput.requests_per_s": ("req/s, RPS", NUMBER),
    "speedup": ("speedup, 加速比, 高速化; 3.4x in a cell", NUMBER),
    "speculation.acceptance_rate": ("acceptance, accept rate, AR, α, 接受率, 受理率", PERCENT),
    "speculation.accepted_length": ("accepted length, AL, τ, tokens per step, 接受长度", NUMBER),
    "speculation.per_position.values": ("pos 0, pos 1, …; a list in one cell", PERCENT),
    "speculation.counts.accepted": ("accepted; 538/660 in a cell", COUNT),
    "speculation.counts.drafted": ("draft tokens, drafted; 538/660 in a cell", COUNT),
    "speculation.counts.verify_steps": ("rounds, verify steps, drafts", COUNT),
    "prefill.ttft_ms": ("TTFT", NUMBER),
    "decode.time_per_output_token_ms": ("TPOT, ms/token", NUMBER),
    "decode.inter_token_latency_ms": ("ITL", NUMBER),
    "step_time_ms": ("step time", NUMBER),
    "throughput.seconds": ("time, wall time, duration", NUMBER),
}

FIELDS = (
    *(Field(words, f"run.{to}", kind) for to, (words, kind) in _HEADS.items()),
    Field("K, γ, n_max, draft length, ドラフト長", "configuration.draft_length.max", COUNT),
    Field("a method's name", "configuration.drafter.method", TEXT, "null for a baseline"),
    Field("model, target, 模型, モデル", "configuration.target.name", TEXT),
    Field(
        "quantization, precision, 量化, 量子化", "configuration.target.quantization.recipe", TEXT
    ),
    Field("GPU, device, hardware; 2x RTX 3090 in a cell", "configuration.machine.devices", TEXT),
    Field("engine, framework, backend", "configuration.engine.name", TEXT, "and its version"),
    Field("draft model", "configuration.drafter.model", TEXT),
    Field("PPL, perplexity, accuracy, pass@1, MMLU", "quality.value", NUMBER),
    Field("temperature", "configuration.sampler.temperature", NUMBER),
    Field("workload, dataset, task, a row that is a heading", "workload.mix", TEXT),
    Field("input length, ISL", "workload.prompt_tokens", NUMBER),
    Field("output length, OSL, tokens", "workload.output_tokens", NUMBER),
    Field("requests, prompts", "workload.prompt_count", COUNT),
    Field("concurrency, batch, 并发, 並列", "run.conditions.concurrency", COUNT),
    Field("gain, Δ, 22.7 → 40.6 (+79%) in a cell", "claims.value", NUMBER, "of speeds only"),
)


def imported(tool: str, tables: Iterable[Table]) -> Iterator[Imported]:
    """One report of all tables, or nothing where no cell of them is a result.

    Where there are several, names of runs, configurations and workloads carry the heading that
    stands above their table: what two tables call by one name need not be one thing.
    """
    speaking = [each for each in tables if speaks(each)]
    names = _names(speaking)
    building = Building()
    for table, name in zip(speaking, names, strict=True):
        if _LIMIT in building.remarks:
            break
        _add_table(building, table, name)
    return Imported.of_runs(tool, building)


def has_runs(table: Table) -> bool:
    """Whether a table gives a run with a result."""
    return any(not each.is_empty for each in imported("", [table]))


def _names(tables: Sequence[Table]) -> list[str]:
    """What tells tables apart, "" for a single one."""
    if len(tables) < 2:
        return ["" for _ in tables]
    titles = [_title(each) for each in tables]
    seen = Counter[str]()
    names = []
    for title in titles:
        seen[title] += 1
        names.append(title if titles.count(title) == 1 else f"{title} {seen[title]}")
    return names


def _title(table: Table) -> str:
    said = table.caption or table.title
    return "table" if said is None else label(str(said.value))[:40] or "table"


def _add_table(building: Building, table: Table, name: str) -> None:
    upright = turned(table) if is_transposed(table) else table
    columns = columns_of(upright)
    meanings = {c.meaning for c in columns}
    if not (says_results(meanings) or "change" in meanings):
        return
    if table.title is not None:
        title = plain(str(table.title.value))[:200]
        building.put(("title",), table.title.to(title or None))
    _Runs(building, columns, name).add(upright)
    building.remarks += expected_lengths.remarks(upright, columns)


# --- rows ------------------------------------------------------------------------------------

_ALIKE = ("model", "quantization", "device", "engine")
_OF_SETUP = (*_ALIKE, "method", "draft_model", "label", "draft_length", "temperature")
_OF_WORKLOAD = ("workload", "prompt_tokens", "output_tokens", "requests")
_LABELS = frozenset({*_OF_SETUP, *_OF_WORKLOAD, "concurrency"})


#: What stands in a column of draft models where there is none. A dash may be unknown.
_NO_DRAFTER = frozenset({"none", "no", "without", "off", "no draft", "no drafter", "无", "なし"})

_DASHES = frozenset("-–—") | {"--"}


@dataclass
class _Row:
    """What a row says beside its results.

    labels: meaning, cell and head of each. section: the row that is a heading for it.
    """

    cells: list[Found]
    labels: list[tuple[Meaning, Found, str]]
    section: Found | None = None

    def label(self, meaning: Meaning) -> Found | None:
        """The first label with this meaning."""
        return next((found for each, found, _ in self.labels if each == meaning), None)

    def words(self, *meanings: str) -> str:
        """The labels with these meanings, in words; numbers with their heads."""
        found = (_with_head(label(str(f.value)), h) for m, f, h in self.labels if m in meanings)
        return ", ".join(dict.fromkeys(found))

    @property
    def place(self) -> str:
        """The workload in words: of the heading row and of the row itself."""
        section = "" if self.section is None else label(str(self.section.value))
        return ", ".join(filter(None, [section, self.words(*_OF_WORKLOAD)]))

    @property
    def setting(self) -> tuple[str, str]:
        """What is the same in a row and in its baseline."""
        return self.words(*_ALIKE, "concurrency"), self.place


@dataclass
class _Made:
    """A run that was made. key: the columns it is of. is_plain: said to have no drafter."""

    path: Path
    row: _Row
    key: Key
    is_plain: bool

    @property
    def setting(self) -> tuple[object, ...]:
        """What is the same in a run and in its baseline in another row."""
        return (*self.row.setting, *self.key[1:])


class _Runs:
    """The runs of a table. name: what tells it from others of its page, "" for nothing."""

    def __init__(self, building: Building, columns: Sequence[ResultColumn], name: str) -> None:
        self._building = building
        self._name = name
        self._columns = columns
        self._shares: dict[int, _Sign] = {}
        self._results = _by_key([c for c in columns if c.meaning in RESULTS])
        self._counts_output = {"steps", "accepted"} <= {
            "accepted" if c.meaning == "accepted_of_drafted" else c.meaning for c in columns
        }
        self._made: list[_Made] = []

    def add(self, table: Table) -> None:
        """Make runs of all rows, then say which is the baseline of which."""
        self._shares = _signs(self._columns, table.rows)
        section: Found | None = None
        for cells in table.rows:
            heading = _heading(cells)
            if heading is not None:
                section = heading
            elif len(self._building.tree.get("runs", ())) < MOST_RUNS:
                self._add_row(_Row(cells, self._labels(cells), section))
            elif _LIMIT not in self._building.remarks:
                self._building.remarks.append(_LIMIT)
        self._name_baselines()

    def _labels(self, cells: Sequence[Found]) -> list[tuple[Meaning, Found, str]]:
        labels = [c for c in self._columns if c.meaning in _LABELS]
        return [
            (c.meaning, cells[c.at], plain(str(c.head.value)))
            for c in labels
            if c.meaning is not None and not is_nothing(str(cells[c.at].value))
        ]

    def _add_row(self, row: _Row) -> None:
        made = [self._add_run(row, key, columns) for key, columns in self._results.items()]
        found = [each for each in made if each is not None]
        self._made += found
        self._quality(row, found)
        for col in self._columns:
            if col.meaning == "gain":
                self._gain(row, col, found)
            elif col.meaning == "change":
                self._change(row, col)

    def _add_run(self, row: _Row, key: Key, columns: Sequence[ResultColumn]) -> _Made | None:
        filled = [c for c in columns if self._has_value(c, str(row.cells[c.at].value))]
        if not filled:
            return None
        drafts = any(c.meaning in _SPECULATIVE and not self._is_one(row, c) for c in filled)
        words = key[0] or row.words("method", "label", "workload")
        none = is_plain(words) or (not key[0] and self._says_no_drafter(row))
        plain_run = none and not drafts
        made = self._begin(row, key, words, plain_run=plain_run)
        for col in filled:
            said_none = plain_run and col.meaning in _SPECULATIVE and self._is_one(row, col)
            if col.meaning not in ("position", "positions") and not said_none:
                self._put(made, col, row.cells[col.at])
        self._positions(
            made.path, [c for c in filled if c.meaning in ("position", "positions")], row
        )
        return made

    def _says_no_drafter(self, row: _Row) -> bool:
        """Whether the row has a draft length of 0, none as its draft model, or dashes for both."""
        told = [c for c in self._columns if c.meaning in ("draft_length", "draft_model")]
        if len(told) > 1 and all(str(row.cells[c.at].value).strip() in _DASHES for c in told):
            return True
        for col in self._columns:
            text = plain(str(row.cells[col.at].value)).casefold()
            number = quantity(text)
            if col.meaning == "draft_length" and (
                is_plain(text) or (number is not None and not float(number.value))
            ):
                return True
            if col.meaning == "draft_model" and text in _NO_DRAFTER:
                return True
        return False

    def _has_value(self, col: ResultColumn, text: str) -> bool:
        """Whether the cell holds a number that its column can have; "a/b" is one of counts only."""
        found = quantity(text)
        if found is None:
            return col.meaning == "positions" and bool(quantities(text))
        if found.whole is not None:
            return col.meaning in _OF_COUNTS
        return self._value(col, found) is not None

    @staticmethod
    def _is_one(row: _Row, col: ResultColumn) -> bool:
        """Whether the cell only says that a baseline is as fast as itself, or accepts nothing."""
        found = quantity(str(row.cells[col.at].value))
        neutral = {"speedup": (1.0,), "length": (1.0,)}.get(col.meaning or "", (0.0,))
        return found is not None and found.value in neutral

    # what a run is of

    def _begin(self, row: _Row, key: Key, words: str, *, plain_run: bool) -> _Made:
        arm, task, concurrency = key
        setup = ", ".join(filter(None, [row.words(*_OF_SETUP), arm]))
        if not setup and (plain_run or method_of(words) is not None):
            setup = words  # a task that is named with its drafter
        setup = setup or "as in the table"
        place = ", ".join(filter(None, [row.place, task]))
        at = f"concurrency={concurrency}" if concurrency else row.words("concurrency")
        parts = [setup if setup != "as in the table" else "", place, at]
        name = ", ".join(dict.fromkeys(filter(None, parts))) or "row"
        path = self._building.run(self._called(name), self._called(setup))
        self._setup(row, self._called(setup), words, plain_run=plain_run)
        if place:
            self._workload(row, path, self._called(place), task)
        self._conditions(row, path, concurrency)
        return _Made(path, row, key, plain_run)

    def _called(self, name: str) -> str:
        """The name in the report, where other tables may have the same."""
        return f"{_cut(name)} ({self._name})" if self._name else _cut(name)

    def _setup(self, row: _Row, name: str, words: str, *, plain_run: bool) -> None:
        put, path = self._building.put, self._building.configuration(name)
        put((*path, "target", "name"), _text(row.label("model")))
        recipe = _text(row.label("quantization")) or _recipe_of(row.label("model"))
        put((*path, "target", "quantization", "recipe"), recipe)
        self._place_of(row, path)
        temperature = row.label("temperature")
        if temperature is not None and (found := quantity(str(temperature.value))):
            put((*path, "sampler", "temperature"), temperature.to(found.value))
        if plain_run:
            self._building.put_null((*path, "drafter"))
            return
        where = row.label("method") or row.label("label") or row.label("draft_length")
        method = method_of(words)
        if method is not None:
            head = next((c.head for c in self._columns if c.arm and c.arm == words), None)
            at = head or where or row.cells[0]
            put((*path, "drafter", "method"), at.to(method))
        put((*path, "drafter", "model"), _text(row.label("draft_model")))
        self._draft_length(row, path, words)

    def _place_of(self, row: _Row, path: Path) -> None:
        """The devices and the engine that the row names."""
        put, device, engine = self._building.put, row.label("device"), row.label("engine")
        if device is not None and (devices := devices_in(device.value)) is not None:
            at = (*path, "machine", "devices", 0)
            put((*at, "name"), device.to(devices[0]))
            put((*at, "count"), device.to(devices[1]))
        if engine is not None and (known := engine_in(engine.value)) is not None:
            put((*path, "engine", "name"), engine.to(known[0]))
            put((*path, "engine", "version"), engine.to(known[1]))

    def _draft_length(self, row: _Row, path: Path, words: str) -> None:
        said = row.label("draft_length")
        found = None if said is None else quantity(str(said.value))
        k = None if found is None or found.high is not None else whole(found.value)
        if said is not None and k is not None:
            self._building.put((*path, "draft_length", "max"), said.to(k))
        elif (named := _k_in_words(_without_heads(words))) is not None:
            self._building.put((*path, "draft_length", "max"), row.cells[0].to(named))

    def _workload(self, row: _Row, run: Path, name: str, task: str) -> None:
        path = self._building.workload(name)
        self._building.put((*run, "workload"), Found(name))
        said = row.label("workload") or row.section
        mix = label(str(said.value)) if said is not None else task
        if mix:
            self._building.put((*path, "mix"), (said or row.cells[0]).to([mix]))
        for meaning, member in (("prompt_tokens", "prompt_tokens"), ("requests", "prompt_count")):
            self._whole((*path, member), row.label(meaning))  # type: ignore[arg-type]
        output = row.label("output_tokens")
        if self._counts_output:
            self._whole((*run, "speculation", "counts", "output_tokens"), output)
        else:
            self._whole((*path, "output_tokens"), output)

    def _whole(self, path: Path, cell: Found | None) -> None:
        found = None if cell is None else quantity(str(cell.value))
        if cell is not None and found is not None and found.high is None:
            self._building.put(path, cell.to(whole(found.value)))

    def _conditions(self, row: _Row, run: Path, concurrency: int) -> None:
        path = (*run, "conditions", "concurrency")
        if concurrency:
            self._building.put(path, row.cells[0].to(concurrency))
        self._whole(path, row.label("concurrency"))

    # its results

    def _put(self, made: _Made, col: ResultColumn, cell: Found) -> None:
        found = quantity(str(cell.value))
        if found is None or col.meaning is None:
            return
        if found.whole is not None:
            self._fraction(made.path, col, cell, found)
            return
        place = self._place(made, col.meaning)
        value = self._value(col, found)
        if value is None:
            return
        path = (*made.path, *place.split("."))
        if col.meaning in _COUNTS:
            self._building.put(path, cell.to(whole(value)))
        elif found.high is not None:
            high = self._value(col, Quantity(found.high, found.unit))
            self._building.put((*path, "range"), cell.to([value, high]))
        elif found.approx or col.column.estimator or col.meaning == "speedup":
            self._building.put((*path, "value"), cell.to(value))
            self._building.put((*path, "approx"), cell.to(True) if found.approx else None)
            said = col.column.estimator
            self._building.put((*path, "estimator"), col.head.to(said) if said else None)
        elif not self._building.has(path):
            self._building.put(path, cell.to(value))

    def _place(self, made: _Made, meaning: Meaning) -> str:
        concurrency = self._building.value((*made.path, "conditions", "concurrency"))
        if meaning == "speed" and isinstance(concurrency, int) and concurrency > 1:
            return _PLACES["throughput"]
        return _PLACES[meaning]

    def _value(self, col: ResultColumn, found: Quantity) -> Digits | None:
        """The number in the unit of the report, or None where its unit is another kind's."""
        unit = found.unit or col.column.unit
        if col.meaning in _SHARES:
            return _share(found, self._shares[col.at])
        if col.meaning in _IN_MS:
            return {"ms": found.value, "s": shifted(found.value, 3)}.get(unit)
        if col.meaning == "seconds":
            return {"s": found.value, "ms": shifted(found.value, -3)}.get(unit)
        if col.meaning in SPEEDS:
            is_time = col.column.unit in ("s", "ms", "us")
            known = found.unit in ("", "tok/s", "tokens") and not is_time
            return found.value if known else None
        if col.meaning == "speedup":
            return found.value if unit in ("", "x") else None
        return found.value if unit not in ("%", "points", "ms", "s") else None

    def _fraction(self, run: Path, col: ResultColumn, cell: Found, found: Quantity) -> None:
        """ "538/660" in a column of acceptance: both counters."""
        if col.meaning in _OF_COUNTS and found.whole is not None:
            counts = (*run, "speculation", "counts")
            self._building.put((*counts, "accepted"), cell.to(whole(found.value)))
            self._building.put((*counts, "drafted"), cell.to(whole(found.whole)))

    def _positions(self, run: Path, columns: Sequence[ResultColumn], row: _Row) -> None:
        """Acceptance by position, as far as it is given without a gap."""
        values: list[Digits] = []
        for i, col in enumerate(sorted(columns, key=lambda c: c.column.index)):
            text = str(row.cells[col.at].value)
            found = quantities(text) if col.meaning == "positions" else [quantity(text)]
            if col.column.index - i not in (0, 1) and col.meaning == "position":
                return
            values += [v for q in found if q is not None and (v := self._value(col, q)) is not None]
        if values:
            first = row.cells[columns[0].at]
            self._building.put((*run, "speculation", "per_position", "values"), first.to(values))

    def _quality(self, row: _Row, made: Sequence[_Made]) -> None:
        """Perplexity and accuracy of the row; of its plain arm's configuration where it has one."""
        plain_runs = [each for each in made if each.is_plain]
        for col in self._columns:
            cell = row.cells[col.at]
            found = quantity(str(cell.value)) if col.meaning in _QUALITY and made else None
            value = None if found is None or col.meaning is None else _quality_of(col, found)
            if value is None:
                continue
            at = ("quality", len(self._building.tree.get("quality", ())))
            self._building.put((*at, "metric"), col.head.to(col.meaning))
            self._building.put((*at, "value"), cell.to(value))
            if plain_runs:
                name = self._building.value((*plain_runs[0].path, "configuration"))
                self._building.put((*at, "configuration"), Found(name))

    # what was claimed

    def _gain(self, row: _Row, col: ResultColumn, made: Sequence[_Made]) -> None:
        """A column of percentages about a speed that two arms of the row have."""
        found = quantity(str(row.cells[col.at].value))
        new = [m for m in made if not m.is_plain]
        old = [m for m in made if m.is_plain]
        if found is None or found.unit != "%" or len(old) != 1 or len(new) != 1:
            return
        metrics = [*(self._speeds_of(old[0]) & self._speeds_of(new[0]))]
        if _metric_of(col) and len(metrics) == 1:
            self._claim(row.cells[col.at], metrics[0], new[0].path, old[0].path, found)

    def _change(self, row: _Row, col: ResultColumn) -> None:
        """A cell "22.7 → 40.6 (+79%)": two runs and the claim about them."""
        found = change(str(row.cells[col.at].value))
        metric = _metric_of(col) or ("decode.tok_s" if found and found.unit == "tok/s" else "")
        if found is None or not metric:
            return
        cell = row.cells[col.at]
        bare = _Row(
            row.cells,
            [e for e in row.labels if e[0] not in ("draft_length", "method")],
            row.section,
        )
        old = self._begin(bare, ("before", "", 0), "", plain_run=False)
        new = self._begin(row, ("", "", 0), row.words("method", "label"), plain_run=False)
        self._building.put((*old.path, *metric.split(".")), cell.to(found.old))
        self._building.put((*new.path, *metric.split(".")), cell.to(found.new))
        if found.by is not None:
            self._claim(cell, metric, new.path, old.path, found.by)

    def _claim(self, cell: Found, metric: str, new: Path, old: Path, said: Quantity) -> None:
        claims = self._building.tree.setdefault("claims", [])
        path = ("claims", len(claims))
        less = said.unit == "%" and said.value < 0
        relation = "ratio" if said.unit == "x" else "percent_less" if less else "percent_more"
        value = Digits(said.value.text.lstrip("-")) if less else said.value
        for member, each in (
            ("text", plain(str(cell.value))),
            ("metric", metric),
            ("of", self._building.value((*new, "id"))),
            ("relation", relation),
            ("to", self._building.value((*old, "id"))),
            ("value", value),
        ):
            self._building.put((*path, member), cell.to(each))

    def _name_baselines(self) -> None:
        """Say over which run a speed-up is, where that is certain."""
        baselines: dict[object, list[_Made]] = {}
        for made in self._made:
            if made.is_plain and self._speeds_of(made):
                baselines.setdefault(id(made.row), []).append(made)
                baselines.setdefault(made.setting, []).append(made)
        for made in self._made:
            path = (*made.path, "speedup")
            if self._building.has(path) and not made.is_plain:
                found = baselines.get(id(made.row)) or baselines.get(made.setting, [])
                if len(found) == 1:
                    over = self._building.value((*found[0].path, "id"))
                    self._building.put((*path, "over"), Found(over))
                elif not found:
                    self._claim_over_another(made)

    def _claim_over_another(self, made: _Made) -> None:
        """A factor that is the quotient over the one plain run, though that is of another row.

        Such a run was not measured under the same setting: the factor is a claim to be judged.
        """
        plain = [m for m in self._made if m.is_plain and self._speeds_of(m)]
        cells = [(c, made.row.cells[c.at]) for c in self._columns if c.meaning == "speedup"]
        if len(plain) != 1 or len(cells) != 1:
            return
        cell, said = cells[0][1], quantity(str(cells[0][1].value))
        for metric in sorted(self._speeds_of(made) & self._speeds_of(plain[0])):
            fast, slow = (self._speed(each, metric) for each in (made, plain[0]))
            if said is not None and slow and _is_quotient(said.value, fast, slow):
                factor = Quantity(said.value, "x")
                self._claim(cell, metric, made.path, plain[0].path, factor)
                return

    def _speed(self, made: _Made, metric: str) -> float:
        found = self._building.value((*made.path, *metric.split(".")))
        found = found.get("value") if isinstance(found, dict) else found
        return float(found) if isinstance(found, (int, float)) else 0.0

    def _speeds_of(self, made: _Made) -> set[str]:
        """The speeds that a run has."""
        places = {_PLACES[meaning] for meaning in SPEEDS}
        return {each for each in places if self._building.has((*made.path, *each.split(".")))}


# --- helpers ---------------------------------------------------------------------------------

#: K in the name of an arm: "k=4", "MTP 8", "n_max 3".
_K = re.compile(
    r"\b(?:k|n|n[_ ]?max|γ|gamma|num[_ ]spec\w*)\s*=?\s*(\d{1,2})\b|\bmtp[- =]?(\d{1,2})\b",
    re.IGNORECASE,
)


#: The block of a DFlash drafter: "block 16", "Block=16". It holds the target's token too.
_BLOCK = re.compile(r"\bblock(?:[ _-]?size)?\s*=?\s*(\d{1,2})\b", re.IGNORECASE)


def _k_in_words(words: str) -> int | None:
    """The draft length in the name of an arm."""
    named, block = _K.search(words), _BLOCK.search(words)
    if named is not None:
        return int(named[1] or named[2])
    if block is not None and method_of(words) == "dflash" and int(block[1]) > 1:
        return int(block[1]) - 1
    return None


def _by_key(results: Sequence[ResultColumn]) -> dict[Key, list[ResultColumn]]:
    """The columns of each run of a row.

    Where a row holds several arms, what stands beside them belongs to the one that has a
    drafter; where more than one has, nobody can say to which.
    """
    found: dict[Key, list[ResultColumn]] = {}
    for col in results:
        found.setdefault(col.key, []).append(col)
    alone = found.get(("", "", 0), [])
    arms = [key for key in found if key[0]]
    if not arms or any(c.meaning in SPEEDS for c in alone):
        return found
    drafting = [key for key in arms if not is_plain(key[0])]
    if len(drafting) == 1:
        found[drafting[0]] += [c for c in alone if c.meaning in _SPECULATIVE]
    if drafting:
        found.pop(("", "", 0), None)
    return found


#: A share without a sign is a percentage from here on: less may be an accepted length.
_SURELY_PERCENT = 20
_SURELY_NO_SHARE = 2

#: How a column's shares are told from percentages: the head has the sign of percent, some cells
#: have it, the numbers are too large for a share, or none of these. "counts" are neither.
_Sign = Literal["head", "cells", "size", "none", "counts"]


def _share(found: Quantity, sign: _Sign) -> Digits | None:
    """The number as a share of 1, or None where that is not certain."""
    if sign == "none":
        return found.value if found.value <= _SURELY_NO_SHARE else None
    if sign == "counts":
        return None
    if sign == "cells" and found.unit != "%" and 0 < found.value <= 1:
        return None  # a share among percentages, or a percentage without its sign
    return shifted(found.value, -2)


def _signs(columns: Sequence[ResultColumn], rows: Sequence[list[Found]]) -> dict[int, _Sign]:
    """By column of shares; all positions of a table are told in one way."""
    shares = [c for c in columns if c.meaning in _SHARES]
    found = {c.at: _sign(c, [str(row[c.at].value) for row in rows]) for c in shares}
    positions = [c.at for c in shares if c.meaning == "position"]
    percent = [found[at] for at in positions if found[at] != "none"]
    return found | (dict.fromkeys(positions, percent[0]) if percent else {})


def _sign(col: ResultColumn, cells: Sequence[str]) -> _Sign:
    numbers = [q for text in cells for q in [quantity(text), *quantities(text)] if q is not None]
    if col.column.unit == "%":
        return "head"
    if any(q.unit == "%" for q in numbers):
        return "cells"
    most = max((q.value for q in numbers if q.whole is None), default=0)
    return "counts" if most > 100 else "size" if most > _SURELY_PERCENT else "none"


def _quality_of(col: ResultColumn, found: Quantity) -> Digits | None:
    """The figure; an accuracy as a share of 1, which is a percentage from 1 on."""
    if found.high is not None or found.whole is not None or found.unit not in ("", "%"):
        return None
    if col.meaning == "perplexity":
        return None if found.unit else found.value
    percent = found.unit == "%" or col.column.unit == "%" or found.value > 1
    return shifted(found.value, -2) if percent else found.value


def _heading(cells: Sequence[Found]) -> Found | None:
    """The one cell of a row that has no other: a heading for the rows below."""
    filled = [cell for cell in cells if str(cell.value).strip()]
    return filled[0] if len(filled) == 1 and filled[0] is cells[0] and len(cells) > 2 else None


def _is_quotient(said: Digits, fast: float, slow: float) -> bool:
    return abs(fast / slow - said) <= unit_of_last_digit(said)


def _with_head(text: str, head: str) -> str:
    """A label in words: `run=1` for a bare number, which alone would say nothing."""
    return f"{head}={text}" if head and text.replace(",", "").isdigit() else text


def _metric_of(col: ResultColumn) -> str:
    """The speed that a column of changes is about: "TPS Gain" is about a throughput."""
    about = column(col.column.rest).meaning if col.column.rest else None
    return _PLACES[about] if about in SPEEDS else ""


def _recipe_of(model: Found | None) -> Found | None:
    """The one quantization that is named beside a model: "Aurora 9B Q4_K_M"."""
    words = [] if model is None else re.split(r"[\s(),/|]+", label(str(model.value)))
    recipes = {recipe for word in words if (recipe := recipe_in(word)) is not None}
    return model.to(*recipes) if model is not None and len(recipes) == 1 else None


def _without_heads(words: str) -> str:
    """Words without the bare numbers that got their heads: n may be of anything."""
    return ", ".join(part for part in words.split(", ") if not re.fullmatch(r"n=\d+", part, re.I))


def _text(cell: Found | None) -> Found | None:
    return None if cell is None else cell.to(label(str(cell.value)) or None)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


_LONGEST_NAME = 120
