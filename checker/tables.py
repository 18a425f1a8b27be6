"""Tables of devices and quantizations, and how a name in a report finds its row.

The tables are `schemas/devices.csv` and `schemas/quants.csv`. A name finds a row by its
letters and digits alone, without vendor words. Where one name covers several parts the shared
name stands at each of their rows, and the most generous figure of each is given: a bandwidth
that is too high lets a fault pass, one that is too low accuses an honest report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal, NamedTuple, cast

Confidence = Literal["checked", "vendor", "secondary", "uncertain"]


class Device(NamedTuple):
    """What is known of one device.

    memory_gb: nominal memory (GB; the largest of a unified-memory part), None for a CPU.
    bandwidth_gbs: specified memory bandwidth in GB/s (10⁹ bytes).
    tdp_w: board power in watts. fp16_tflops: dense peak in 10¹² FLOP/s, with FP16 accumulation
    where that is faster; None where the figure says nothing about kernels.
    llc_mb: last-level cache in MB, None when unknown.
    memory_kind: gddr6, gddr6x, gddr7, hbm…, lpddr or ddr. headroom: the factor by which memory
    overclocking may exceed `bandwidth_gbs`.
    confidence: "uncertain" also where `variants` names several parts of different bandwidth.
    is_bound: no part of this name has a higher bandwidth, so that it can prove a speed
    impossible.
    """

    name: str
    vendor: str
    memory_gb: float | None
    bandwidth_gbs: float
    tdp_w: float | None
    fp16_tflops: float | None
    llc_mb: float | None
    memory_kind: str
    headroom: float
    confidence: Confidence
    source: str
    variants: tuple[str, ...] = ()
    is_bound: bool = True

    @property
    def is_card(self) -> bool:
        """Whether it has memory of its own, which no processor works in."""
        return self.memory_kind.startswith(("gddr", "hbm"))


class Quantization(NamedTuple):
    """What is known of one recipe.

    bits_per_weight: typical, in bits; bits_low and bits_high: the range over published files,
    for the weights that are read. lossy: below 16 bits.
    """

    name: str
    family: str
    bits_per_weight: float
    bits_low: float
    bits_high: float
    exact: bool
    source: str


# --- names -----------------------------------------------------------------------------------

_NOT_LETTERS = {i: None for i in range(128) if not chr(i).isalnum() and chr(i) not in ";\n+"}
_TRADEMARKS = ("(r)", "(tm)", "®", "™")
_DEVICE_NOISE = (
    "nvidia",
    "geforce",
    "amd",
    "radeon",
    "instinct",
    "intel",
    "apple",
    "tesla",
    "macbookpro",
    "macbookair",
    "macstudio",
    "macmini",
    "graphicscard",
    "graphics",
    "generation",
    "edition",
    "gpu",
    "rtx",
    "rx",
)
_RECIPE_NOISE = ("gguf", "imatrix", "quantized", "quantised", "weights")

_MEMORY = r"(?<![\w.])(\d{1,4}(?:\.\d)?)\s*g(?:i?b)?\b"
_MEMORY_KIND = r"\b(?:hbm\d?e?|l?p?g?ddr\d?x?|vram)\b"


def _letters(text: str, noise: tuple[str, ...]) -> str:
    """Lower case, letters, digits and + only, without the words of `noise`."""
    text = text.lower()
    for mark in _TRADEMARKS:
        text = text.replace(mark, "")
    text = text.translate(_NOT_LETTERS).replace("notebook", "laptop").replace("mobile", "laptop")
    for word in noise:
        text = text.replace(word, "")
    return text


# --- devices ---------------------------------------------------------------------------------

Row = dict[str, str]
_Index = dict[str, list[Row]]


@lru_cache(maxsize=256)
def device(name: str | None, memory_gb: float | None = None) -> Device | None:
    """The device that `name` means, or None when no row fits.

    memory_gb: memory that the report states beside the name (GB), which tells parts of one
    name apart. A name that still fits several parts gives the most generous figures of all,
    `variants` and, where their bandwidths differ, the confidence "uncertain".
    """
    if not name or len(name) > 200:
        return None
    index = _devices()
    rows = index.get(_letters(name, _DEVICE_NOISE))
    if rows is not None:
        return _merged(_of_memory(rows, memory_gb))
    bare, stated = _without_memory(name)
    rows = index.get(_letters(bare, _DEVICE_NOISE))
    if rows is None:
        return None
    found = _merged(_of_memory(rows, stated or memory_gb))
    fits = stated is None or any(_same_memory(r, stated) or _unified(r) for r in rows)
    return found if fits else found._replace(memory_gb=stated, confidence="uncertain")


def _without_memory(name: str) -> tuple[str, float | None]:
    """`name` without an amount and kind of memory ("80GB HBM3"), and the amount in GB."""
    lowered = name.lower()
    amount = re.search(_MEMORY, lowered)
    bare = re.sub(_MEMORY_KIND, " ", re.sub(_MEMORY, " ", lowered))
    return bare, float(amount[1]) if amount is not None else None


def _unified(row: Row) -> bool:
    """Whether the amount of memory was chosen by the buyer, so that it tells no part apart."""
    return row["mem_kind"] in ("lpddr", "ddr")


def _same_memory(row: Row, memory_gb: float) -> bool:
    """Within 8 %, which spans GB and GiB; 10 and 12 GB cards stay apart."""
    return bool(row["memory_gb"]) and abs(memory_gb / float(row["memory_gb"]) - 1) <= 0.08


def _of_memory(rows: list[Row], memory_gb: float | None) -> list[Row]:
    if memory_gb is None or len(rows) == 1 or any(_unified(r) for r in rows):
        return rows
    return [r for r in rows if _same_memory(r, memory_gb)] or rows


def _merged(rows: list[Row]) -> Device:
    """One device with the most generous figure of each row."""
    parts = sorted((_device(r) for r in rows), key=lambda d: -d.bandwidth_gbs)
    first = parts[0]
    if len(parts) == 1:
        return first
    slowest = parts[-1].bandwidth_gbs
    return first._replace(
        memory_gb=_most(p.memory_gb for p in parts),
        tdp_w=_most(p.tdp_w for p in parts),
        fp16_tflops=_most(p.fp16_tflops for p in parts),
        llc_mb=_most(p.llc_mb for p in parts),
        headroom=max(p.headroom for p in parts),
        confidence=first.confidence if slowest > 0.99 * first.bandwidth_gbs else "uncertain",
        variants=tuple(p.name for p in parts),
        is_bound=all(p.is_bound for p in parts),
    )


def _most(values: Iterable[float | None]) -> float | None:
    """The largest, or None when one of them is unknown."""
    known = list(values)
    return None if None in known else max(v for v in known if v is not None)


def _device(row: Row) -> Device:
    return Device(
        name=row["name"],
        vendor=row["vendor"],
        memory_gb=_number(row["memory_gb"]),
        bandwidth_gbs=float(row["bandwidth_gbs"]),
        tdp_w=_number(row["tdp_w"]),
        fp16_tflops=_number(row["fp16_dense_tflops"]),
        llc_mb=_number(row["llc_mb"]),
        memory_kind=row["mem_kind"],
        headroom=float(row["headroom"]),
        confidence=cast("Confidence", row["confidence"]),
        source=row["source"],
        is_bound=row["confidence"] != "uncertain",
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


@cache
def _devices() -> _Index:
    return _index(rows_of("devices"), _DEVICE_NOISE)


# --- quantizations ---------------------------------------------------------------------------

_FORMAT = r"(?:exl[23]|exllamav[23]|gguf)?"
_BITS = rf"^[-\s]*{_FORMAT}[-\s]*(\d{{1,2}}(?:\.\d{{1,3}})?)\s*bpw\s*{_FORMAT}$"


@lru_cache(maxsize=256)
def quantization(recipe: str | None) -> Quantization | None:
    """The recipe that a report means ("q4_k_m", "UD-Q5_K_M", "4.65bpw"), or None.

    Qualified text ("NVFP4 hybrid", "Q4_K_M with Q8_0 attention") matches no row: what the
    qualifier changes is not known.
    """
    if not recipe or len(recipe) > 200:
        return None
    cleaned = recipe.lower().strip().removeprefix("i1-")
    row = _quants().get(_letters(cleaned, _RECIPE_NOISE))
    return _quantization(row[0]) if row is not None else _by_bits(cleaned)


def _by_bits(recipe: str) -> Quantization | None:
    """A recipe that states its bits per weight; the output layer may have 6 bits more or less."""
    match = re.match(_BITS, recipe)
    if match is None or not 1 <= float(match[1]) <= 16:
        return None
    bits = float(match[1])
    source = "the recipe's name states its bits per weight"
    return Quantization(recipe, "named by bits", bits, bits * 0.97, bits * 1.1, False, source)


def _quantization(row: Row) -> Quantization:
    return Quantization(
        name=row["name"],
        family=row["family"],
        bits_per_weight=float(row["bits_per_weight"]),
        bits_low=float(row["bits_low"]),
        bits_high=float(row["bits_high"]),
        exact=row["exact_or_typical"] == "exact",
        source=row["source"],
    )


@lru_cache(maxsize=256)
def kv_type(name: str | None) -> float | None:
    """Bytes per element of a KV-cache type ("q8_0" gives 1.0625), or None when not known.

    "auto" is None: the engine takes the type of the model.
    """
    if not name or len(name) > 40:
        return None
    row = _quants().get("kv" + _letters(name, ()))
    return float(row[0]["bits_per_weight"]) / 8 if row is not None else None


@cache
def _quants() -> _Index:
    return _index(rows_of("quants"), _RECIPE_NOISE)


# --- reading ---------------------------------------------------------------------------------


def rows_of(table: str) -> list[Row]:
    """All rows of a table of `schemas/`, by column, in the order of the file."""
    import csv
    import pkgutil

    data = pkgutil.get_data("benchlint.schemas", f"{table}.csv") or b""
    return list(csv.DictReader(data.decode("utf-8").splitlines()))


def _index(rows: list[Row], noise: tuple[str, ...]) -> _Index:
    """Rows by each of their names. All names are made bare in one go, which is 10 times faster."""
    text = "\n".join(f"{r['name']};{r['aliases']}" for r in rows)
    index: _Index = {}
    for row, names in zip(rows, _letters(text, noise).split("\n"), strict=True):
        for name in dict.fromkeys(names.split(";")):
            if name:
                index.setdefault(name, []).append(row)
    return index
