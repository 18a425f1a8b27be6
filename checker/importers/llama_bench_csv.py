"""Rows of llama-bench's CSV, whose head does not always fit them.

csv_printer prints the names of all columns, and some builds have printed a name too many or too
few; on Windows a NUL in `cpu_info` has cut rows off (ggml-org/llama.cpp#9312).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from benchlint.checker.importers.fields import number, shifted, whole
from benchlint.checker.importers.found import Found, InLine, Line
from benchlint.checker.importers.table_rows import Row, csv_rows

#: What every such head starts with.
HEAD = ("build_commit", "build_number")

#: Columns of builds before 2024-09, one for each backend.
BACKENDS = {
    "cuda": "CUDA",
    "hipblas": "ROCm",
    "vulkan": "Vulkan",
    "kompute": "Kompute",
    "metal": "Metal",
    "sycl": "SYCL",
    "opencl": "OpenCL",
}

#: So many rows, and columns of one, are named.
_NAMED = 3

#: llama-bench has some 60 columns. Time grows with the square of them.
_MOST_COLUMNS = 200


@dataclass
class CsvTests:
    """The rows of a CSV text. remarks: what was not read, or not all of it."""

    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def csv_tests(lines: Iterable[Line]) -> CsvTests:
    """Every row below its head, by column, where that is certain."""
    found = CsvTests()
    told: list[str] = []
    rows = list(csv_rows(iter(lines), HEAD))
    gaps = _gaps(rows)
    for names, cells in rows:
        row = _row(names, cells, gaps.get(_shape(names, cells), set()))
        found.rows.append(row)
        if len(names) != len(cells):
            told.append(_unlike(names, cells, row))
    found.remarks = told[:_NAMED]
    if len(told) > _NAMED:
        found.remarks.append(f"and {len(told) - _NAMED:,} more rows that do not fit their head")
    return found


def _row(names: list[str], cells: list[Found], gaps: set[int]) -> Row:
    """The cells by column, where that is certain.

    Where there is a name too many or too few, the cells in front of the gap belong to the first
    names and those behind it to the last, and only what is the same for every place of the gap
    that makes sense is taken.
    """
    if len(names) == len(cells):
        return dict(zip(names, cells, strict=True))
    likely = [_with_gap(names, cells, at) for at in sorted(gaps)]
    if not likely:
        return {}
    first, *rest = likely
    return {n: v for n, v in first.items() if all(way.get(n) is v for way in rest)}


_Shape = tuple[tuple[str, ...], int]


def _shape(names: list[str], cells: list[Found]) -> _Shape:
    return tuple(names), len(cells)


def _gaps(rows: list[tuple[list[str], list[Found]]]) -> dict[_Shape, set[int]]:
    """Where the gap may be: at the same place in all rows below one head."""
    found: dict[_Shape, set[int]] = {}
    for names, cells in rows:
        if len(names) == len(cells):
            continue
        places = set(_places(names, cells))
        if places:
            shape = _shape(names, cells)
            found[shape] = found.get(shape, places) & places
    return found


def _places(names: list[str], cells: list[Found]) -> Iterator[int]:
    fewer = min(len(names), len(cells))
    for at in range(len(HEAD), fewer + 1) if fewer <= _MOST_COLUMNS else ():
        if _makes_sense(_with_gap(names, cells, at)):
            yield at


def _with_gap(names: list[str], cells: list[Found], at: int) -> Row:
    back = min(len(names), len(cells)) - at
    front = zip(names[:at], cells[:at], strict=True)
    tail = zip(names[len(names) - back :], cells[len(cells) - back :], strict=True)
    return dict(chain(front, tail))


_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_FLAG_COLUMNS = (*BACKENDS, "gpu_blas", "blas", "f16_kv", "mul_mat_q", "cpu_strict", "embeddings")


def _makes_sense(row: Row) -> bool:
    """Whether each column holds what it can hold, and the speed is tokens over time."""
    values = {name: str(cell.value) for name, cell in row.items()}
    prompt, generated = whole(values.get("n_prompt")), whole(values.get("n_gen"))
    seconds, speed = shifted(values.get("avg_ns"), -9), number(values.get("avg_ts"))
    if prompt is None or generated is None or not seconds or not speed:
        return False
    return (
        0.5 < speed * seconds / max(prompt + generated, 1) < 2
        and _ISO_TIME.fullmatch(values.get("test_time", "")) is not None
        and all(values.get(name, "0") in ("0", "1") for name in _FLAG_COLUMNS)
        and all((whole(values.get(n, "9999")) or 0) > 999 for n in ("model_size", "model_n_params"))
        and all(whole(values.get(n, "0")) is None for n in ("cpu_info", "gpu_info") if n in values)
    )


def _unlike(names: list[str], cells: list[Found], row: Row) -> str:
    line = cells[0].place.line if isinstance(cells[0].place, InLine) else Line(0, "")
    start = f"line {line.number}: {len(cells)} cells under {len(names)} names"
    if "\0" in line.text or line.text.count('"') % 2:
        return f"{start}, for the row is cut off: it is not read"
    if not row:
        return f"{start}, and which is which is not certain: it is not read"
    left = [name for name in names if name not in row]
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return f"{start}: which is which is not certain of {', '.join(left[:_NAMED])}{more}"
