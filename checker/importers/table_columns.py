"""Which columns of somebody's table are results, and which arm and task each is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

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
    SPEAKING,
    SPEEDS,
    Column,
    Meaning,
    column,
    is_about_speed,
    is_arm,
    is_plain,
    method_of,
    says_speed,
)
from benchlint.checker.importers.found import Found
from benchlint.checker.importers.table_setup import devices_in, engine_in, recipe_in
from benchlint.checker.importers.text_tables import Table

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a table.

    arm, task, concurrency: what its head says beside the metric; "" and 0 where nothing.
    """

    at: int
    head: Found
    column: Column
    meaning: Meaning | None
    arm: str = ""
    task: str = ""
    concurrency: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """Results of a row with the same key are of one run."""
        return self.arm, self.task, self.concurrency


def speaks(table: Table) -> bool:
    """Whether heads, names of rows, or the units of a column speak of results of decoding."""
    return _spoken(table.words) or _spoken(_first_column(table)) or _has_speeds(table)


def _has_speeds(table: Table) -> bool:
    """Whether some column has tokens per second in most of its cells, or a method's factors."""
    for i in range(1, len(table.head)):
        cells = [str(row[i].value) for row in table.rows[:60] if i < len(row)]
        filled = [cell for cell in cells if not is_nothing(cell)]
        numbers = [quantity(cell) for cell in filled if len(cell) <= 80]
        units = ("tok/s", "x") if method_of(table.words[i]) is not None else ("tok/s",)
        speeds = sum(q is not None and q.unit in units for q in numbers)
        if speeds and 2 * speeds > len(filled):
            return True
    return False


#: Counters, of which one alone may be of anything.
_COUNTERS = frozenset({"accepted", "drafted", "accepted_of_drafted", "steps"})


def says_results(meanings: Collection[Meaning | None]) -> bool:
    """Whether columns with these meanings are of speed or speculative decoding."""
    return bool(SPEAKING & {*meanings}) or len(_COUNTERS & {*meanings}) >= 2


#: What a program prints above a column is short; a longer one is prose.
_LONGEST_HEAD = 60


def is_of_results(table: Table) -> bool:
    """Whether what a program printed is a table of results, and not a line with one in it.

    Two rows or more, with two results or more in each where they are `key=value` pairs.
    """
    results = sum(column(word).meaning in RESULTS for word in table.words)
    down = sum(column(word).meaning in RESULTS for word in _first_column(table))
    if any(len(word) > _LONGEST_HEAD for word in table.words):
        return False
    if table.form == "pairs":
        return len(table.rows) >= 2 and results >= 2
    return len(table.rows) >= 2 or results >= 3 or down >= 2


def _spoken(words: Sequence[str]) -> bool:
    meanings = {column(word).meaning for word in words[:60] if len(word) <= 80}
    return says_results(meanings) or any(is_about_speed(column(w)) for w in words[:60])


def _first_column(table: Table) -> list[str]:
    return [plain(str(row[0].value)) for row in table.rows[:60] if row]


def is_transposed(table: Table) -> bool:
    """Whether metrics are the names of rows: more of them than of heads, and at least two."""
    names = [column(word).meaning for word in _first_column(table)]
    heads = [column(word).meaning for word in table.words[1:]]
    down = sum(meaning in RESULTS for meaning in names)
    across = sum(meaning in RESULTS for meaning in heads)
    return down >= 2 and (
        down > across or plain(table.words[0]).lower() in ("metric", "指标", "指標", "")
    )


def turned(table: Table) -> Table:
    """The table with its columns as rows. Columns of changes become none."""
    label = Found("metric", table.head[0].place)
    head = [label, *(row[0] for row in table.rows)]
    rows = []
    for i, name in enumerate(table.head[1:], 1):
        word = plain(str(name.value))
        if column(word).meaning not in ("gain", "ignored") and not _STATISTIC.search(word):
            said = name.to(_MEAN.sub("", word).strip())
            rows.append([said, *(row[i] for row in table.rows)])
    return Table(head, rows, table.title)


#: Heads of columns beside the mean; and of the mean, which needs no name.
_STATISTIC = re.compile(
    r"^(?:sum|count|n|unit|\d{1,2}%)$|(?:^|\s)(?:p\d{1,2}(?:\.\d+)?|std(?:dev)?|min|max)$",
    re.IGNORECASE,
)
_MEAN = re.compile(r"(?:^|\s)(?:avg|average|mean|value|result|値|值)$", re.IGNORECASE)


def columns_of(table: Table) -> list[ResultColumn]:
    cells = [[str(row[i].value) for row in table.rows] for i in range(len(table.head))]
    cols = [_col(i, head, cells[i]) for i, head in enumerate(table.head)]
    has_accepted = any(c.meaning in ("accepted", "accepted_of_drafted") for c in cols)
    return [_as_length(c, cells[c.at], has_accepted) for c in _without_common_words(cols)]


def _without_common_words(cols: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Words in the heads of all results tell none apart: `tpu_base_tps`, `tpu_fast_tps`."""
    rests = [set(c.column.rest.split()) for c in cols if c.meaning in RESULTS]
    common = set.intersection(*rests) if len(rests) > 2 else set()
    if not common:
        return list(cols)
    return [_renamed(c, common) if c.meaning in RESULTS else c for c in cols]


def _renamed(col: ResultColumn, common: set[str]) -> ResultColumn:
    rest = " ".join(word for word in col.column.rest.split() if word not in common)
    arm, task, concurrency = _named(rest)
    task = task if col.meaning in _BY_TASK else ""
    return replace(col, arm=arm, task=task, concurrency=concurrency)


def _col(at: int, head: Found, cells: Sequence[str]) -> ResultColumn:
    """A column by its head, and by its cells where the head alone does not say what it is."""
    known = column(str(head.value))
    numbers = [q for q in map(quantity, cells) if q is not None]
    changes = [c for c in map(change, cells) if c is not None]
    filled = sum(not is_nothing(each) for each in cells)
    meaning = known.meaning
    if meaning in _NAMED_BY and not _are_named(meaning, cells):
        meaning = "method" if meaning == "engine" and _SETUP.search(str(head.value)) else None
    if changes and 2 * len(changes) >= filled:
        return ResultColumn(at, head, known, "change")
    if meaning in RESULTS and not numbers and not any(quantities(c) for c in cells):
        meaning = "draft_model" if meaning == "drafted" and filled else None
    if meaning in SPEEDS and not says_speed(str(head.value)) and _are_bare(numbers):
        return ResultColumn(at, head, known, "ignored")
    if meaning is None and 2 * len(numbers) >= max(filled, 1):
        meaning = _by_unit(numbers)
        if meaning is None:
            is_label = _is_label(known, at, numbers)
            return ResultColumn(at, head, known, "label" if is_label else "ignored")
    if (meaning is None and _name_arms(cells)) or (
        meaning == "draft_model" and _name_arms(cells, alone=True)
    ):
        meaning = "method"
    if meaning is None:
        return ResultColumn(at, head, known, "label" if filled and at == 0 else "ignored")
    if meaning not in RESULTS:
        return ResultColumn(at, head, known, meaning)
    arm, task, concurrency = _named(known.rest)
    task = task if meaning in _BY_TASK else ""
    return ResultColumn(at, head, known, meaning, arm, task, concurrency)


#: Meanings of columns that hold names, and who knows these. An "engine" may be an arm's method.
_NAMED_BY: dict[str | None, Callable[[object], object]] = {
    "quantization": recipe_in,
    "device": devices_in,
    "engine": engine_in,
}
_SETUP = re.compile(r"engine|framework", re.IGNORECASE)


def _are_named(meaning: Meaning | None, cells: Sequence[str]) -> bool:
    """Whether every cell that is filled names such a thing, and nothing else beside it."""
    filled = [each for each in cells if not is_nothing(each)]
    return bool(filled) and all(_NAMED_BY[meaning](each) is not None for each in filled)


#: Results of which a table may have a column for each task.
_BY_TASK = frozenset({"speed", "decode_speed", "throughput", "speedup", "rate", "length"})


#: What may stand beside a method that is no model's name: "MTP n=2", "EAGLE-3 (k=4)".
_NO_NAME = re.compile(
    r"[\W\d_]|\b(?:eagle|mtp|dflash|medusa|suffix|n-?gram|k|n|max|heads?)\b", re.I
)


def _name_arms(cells: Sequence[str], *, alone: bool = False) -> bool:
    """Whether each cell names a drafting method or that there is none, and one the former.

    alone: and nothing but a draft length beside it.
    """
    filled = [label(each) for each in cells if not is_nothing(each)]
    methods = [each for each in filled if method_of(each) is not None]
    if alone and any(_NO_NAME.sub("", each) for each in methods):
        return False
    return bool(methods) and all(each in methods or is_plain(each) for each in filled)


def _is_label(known: Column, at: int, numbers: Sequence[Quantity]) -> bool:
    """A column of whole numbers tells rows apart where it is the first, or has a short head."""
    return at == 0 or (_are_bare(numbers) and 0 < len(known.rest) <= 12)


def _are_bare(numbers: Sequence[Quantity]) -> bool:
    """Whether the cells are whole numbers without a unit, as token counts are."""
    return all(q.value.is_integer() and not q.unit for q in numbers)


def _by_unit(numbers: Sequence[Quantity]) -> Meaning | None:
    units = [q.unit for q in numbers]
    for unit, meaning in (("tok/s", "speed"), ("x", "speedup")):
        if 2 * units.count(unit) > len(units):  # type: ignore[arg-type]
            return meaning  # type: ignore[return-value]
    return None


def _as_length(col: ResultColumn, cells: Sequence[str], has_accepted: bool) -> ResultColumn:
    """`Draft tokens` is a count beside accepted ones; else, where it is small, the draft length."""
    if col.meaning != "drafted" or has_accepted:
        return col
    numbers = [q.value for q in map(quantity, cells) if q is not None]
    small = bool(numbers) and all(n.is_integer() and 1 <= n <= 64 for n in numbers)
    return replace(col, meaning="draft_length" if small else "ignored")


_CONCURRENT = re.compile(
    r"\b(?:c|conc|concurrency|bs|batch)\s*=?\s*(\d{1,4})\b|(\d{1,4})\s*(?:并发|並列|concurrent|streams?\b)",
    re.IGNORECASE,
)


def _named(rest: str) -> tuple[str, str, int]:
    """The arm, the task and the concurrency that the rest of a head names."""
    found = _CONCURRENT.search(rest)
    concurrency = int(found[1] or found[2]) if found else 0
    words = _CONCURRENT.sub(" ", rest).strip()
    if is_arm(words):
        return words, "", concurrency
    return "", words, concurrency
