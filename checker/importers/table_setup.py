"""Cells of somebody's table that name a quantization, a device or an engine.

Only what is known by that name is taken: a column of "precision" may hold anything.
"""

from __future__ import annotations

import re

from benchlint.checker import tables
from benchlint.checker.engines import engine_kind
from benchlint.checker.importers.cells import label

_OF_GGUF = re.compile(r"(?:UD-)?I?Q\d(?:_\w+)?", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?P<count>\d{1,3}) ?[x×*] ?(?P<name>\D.*)|(?P<name2>.*\S) ?[x×*] ?(?P<count2>\d{1,3})"
)
_ENGINE = re.compile(
    r"(?P<name>[a-z][a-z._ -]*[a-z])(?:(?:[ :@]| v(?=\d))v?(?P<version>b?\d[\w.+-]*))?",
    re.IGNORECASE,
)


def recipe_in(cell: object) -> str | None:
    """The quantization that a cell names, as written; None where it names none that is known."""
    text = label(str(cell))
    known = tables.quantization(text) is not None or _OF_GGUF.fullmatch(text) is not None
    return text if known else None


def devices_in(cell: object) -> tuple[str, int | None] | None:
    """The device that a cell names, and how many: "2x RTX 3090", "RTX 3090 ×2", "RTX 3090"."""
    text = label(str(cell))
    found = _COUNTED.fullmatch(text)
    name = text if found is None else found["name"] or found["name2"]
    count = None if found is None else int(found["count"] or found["count2"])
    return (name, count) if tables.device(name) is not None and count != 0 else None


def engine_in(cell: object) -> tuple[str, str | None] | None:
    """The engine that a cell names, and its version: "vLLM 0.11.0", "llama.cpp b6100"."""
    found = _ENGINE.fullmatch(label(str(cell)))
    if found is None or engine_kind(found["name"]) is None:
        return None
    return found["name"], found["version"]
