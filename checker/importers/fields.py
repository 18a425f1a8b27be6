"""Maps from a source's fields to a report's, and what happens to a number on the way.

A map is data, so that it can be shown: docs/importers.md is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from math import isfinite

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.found import Record
from benchlint.checker.tree import Digits


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value becomes. words: the conversion in words, for the page; "" for none.

    convert: the new value, or None where the old one is not of this kind (`n/a`, NaN).
    """

    words: str
    convert: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a source and where it goes.

    source: its name in a Record.
    to: where it goes, as `run.decode.tok_s`. The first part may be `run`, `configuration` or
    `workload`, which stand for those that the record is about; others are members of the report.
    meaning: what the source means by it, where that is not plain from the name.
    """

    source: str
    to: str
    kind: Kind
    meaning: str = ""


def fill(
    building: Building, fields: Iterable[Field], record: Record, at: Mapping[str, Path]
) -> None:
    """Take over what the record has of these fields.

    at: the paths that `run`, `configuration` and `workload` stand for; where one of them is
    not given, its fields are passed over.
    """
    for field in fields:
        found = record.get(field.source)
        path = path_of(field.to, at)
        if found is None or path is None:
            continue
        value = field.kind.convert(found.value)
        if value is not None:
            building.put(path, found.to(value))


#: Members of a report that a first part may stand for, instead of being one of them.
STANDINS = ("run", "configuration", "workload", "quality_row")


def path_of(to: str, at: Mapping[str, Path]) -> Path | None:
    """Where in a report a field goes; None where it is about what `at` does not have."""
    first, *rest = to.split(".")
    if first not in STANDINS:
        start: Path | None = (first,)
    else:
        start = at.get(first)
    return None if start is None else (*start, *(int(p) if p.isdecimal() else p for p in rest))


def report_path(to: str) -> str:
    """Where a field goes, as findings and `benchlint init` write it: `runs[].decode.tok_s`."""
    first, dot, rest = to.partition(".")
    names = {
        "run": "runs[]",
        "configuration": "configurations.*",
        "workload": "workloads.*",
        "quality_row": "quality[]",
    }
    return f"{names.get(first, first)}{dot}{rest}"


# --- numbers ---------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,4})?")

#: No number that a report can hold has more digits than a double prints.
_LONGEST = 400


def number(value: object) -> Digits | None:
    """A number with the digits as printed; thousands may have commas. None for what is none.

    JSON numbers of tools carry full precision: a whole one is written with `.0`, so that its
    trailing zeros count.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Digits):
        return value
    if isinstance(value, int):
        return _digits(f"{value}.0") if abs(value) < 10**60 else None
    if isinstance(value, float):
        return _digits(repr(value))
    return _digits(value.strip()) if isinstance(value, str) else None


def _digits(text: str) -> Digits | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text) or not any(map(str.isdigit, text)):
        return None
    found = Digits(text.replace(",", "").lstrip("+"))
    return found if isfinite(found) else None


def whole(value: object) -> int | None:
    """A whole number, exact; None for what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = number(value)
    return int(found) if found is not None and found.is_integer() else None


def text(value: object) -> str | None:
    """A string with something in it."""
    return value.strip() or None if isinstance(value, str) else None


def truth(value: object) -> bool | None:
    """true or false, also as 1 and 0 or in words."""
    if isinstance(value, bool):
        return value
    return {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}.get(
        str(value).strip().lower()
    )


def shifted(value: object, places: int) -> Digits | None:
    """A number times a power of ten; its digits stay what they are."""
    found = number(value)
    if found is None:
        return None
    try:
        printed = str(value) if isinstance(value, int) else found.text
        return _digits(format(Decimal(printed).scaleb(places), "f"))
    except (InvalidOperation, ValueError):
        return None


def times(value: object, factor: Decimal) -> Digits | None:
    """A number times a factor, to as many digits as the printed ones allow.

    The unit of the last digit is at least twice the old one times the factor, so that the
    interval of the new number holds that of the old one.
    """
    found = number(value)
    if found is None:
        return None
    try:
        printed = Decimal(found.text)
        exponent = int(printed.as_tuple().exponent)
        unit = Decimal(1).scaleb(exponent) * abs(factor) * 2
        last = Decimal(1).scaleb(unit.adjusted() + 1)
        return _digits(format((printed * factor).quantize(last), "f"))
    except (InvalidOperation, ValueError):
        return None


def date_of(value: object) -> str | None:
    """Seconds since 1970 as ISO 8601; None for what is no time between 1970 and 5138."""
    found = number(value)
    if found is None or not 0 < found < 1e11:
        return None
    return datetime.fromtimestamp(int(found), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


TEXT = Kind("", text)
NUMBER = Kind("", number)
COUNT = Kind("", whole)
TRUTH = Kind("", truth)
PERCENT = Kind("percent → share of 1", lambda v: shifted(v, -2))
MS_FROM_S = Kind("s → ms", lambda v: shifted(v, 3))
DATE_FROM_S = Kind("seconds since 1970 → ISO 8601", date_of)
S_FROM_MS = Kind("ms → s", lambda v: shifted(v, -3))
S_FROM_NS = Kind("ns → s", lambda v: shifted(v, -9))
BILLIONS = Kind("→ billions", lambda v: shifted(v, -9))
GB_FROM_BYTES = Kind("bytes → GB (10⁹)", lambda v: shifted(v, -9))
GIB_FROM_GB = Kind("GB (10⁹) → GiB", lambda v: times(v, Decimal(10**9) / 2**30))
