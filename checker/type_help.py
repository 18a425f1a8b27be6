"""What to write instead of a value of the wrong type (the help of BL005)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from benchlint.checker.nearest import nearest

_ANYTHING = "see `benchlint schema` for the format"

#: Fields whose values are shares of 1.
_SHARES = frozenset(
    {"acceptance_rate", "match_rate", "mix", "per_position", "p_min", "top_p", "min_p", "quality"}
)

#: Members of a measured value, whose unit is in the name of the field around them.
_PARTS = frozenset({"value", "stdev", "samples", "range", "percentiles"})

#: What blocks hold, for those who write a text in place of one.
_OBJECTS = {
    "claims": '{"text": …, "metric": "decode.tok_s", "of": RUN, "relation": "ratio", "to": RUN, '
    '"value": …}',
    "conditions": '{"warm": …, "repeats": …, "concurrency": …}',
    "decode": '{"tok_s": …}',
    "devices": '{"name": …, "count": …}',
    "drafter": 'an object: {"method": …, "model": …}',
    "engine": '{"name": …, "version": …}',
    "machine": '{"devices": [{"name": …, "count": …}]}',
    "mix": 'a list of kinds, ["code"], or their shares, {"code": 1.0}',
    "prefill": '{"tok_s": …, "ttft_ms": …}',
    "prompts": '{"file": …} or {"set": …}',
    "quality": '{"metric": …, "dataset": …, "value": …}',
    "runs": '{"id": …, "configuration": …, "decode": {"tok_s": …}}',
    "sampler": '{"temperature": …, "top_p": …}',
    "speculation": '{"acceptance_rate": …, "accepted_length": …}',
    "target": '{"name": …, "quantization": {"recipe": …}}',
}

#: How units are written in the names of fields, by how people write them.
_UNITS = {
    "tok/s": "tok_s",
    "tokens/s": "tok_s",
    "t/s": "tok_s",
    "tps": "tok_s",
    "req/s": "requests_per_s",
    "s": "seconds",
    "sec": "seconds",
    "seconds": "seconds",
    "ms": "_ms",
    "gb": "_gb",
    "gib": "_gib",
    "mib": "_mib",
    "mhz": "_mhz",
    "w": "_w",
    "watt": "watts",
    "watts": "watts",
    "b": "parameters_b",
    "tokens": "tokens",
    "tok": "tokens",
    "x": "speedup",
    "×": "speedup",
}


def help_for(kind: str, message: str, value: object, path: Sequence[str | int]) -> str:
    """What to write at `path` instead of `value`.

    kind, message: the type and message of pydantic's error, which say what is expected.
    """
    if kind == "literal_error" and isinstance(value, str):
        return _nearest_word(value, re.findall(r"'([^']*)'", message))
    if kind == "string_type" or "a string" in message:
        return _in_quotes(value)
    if kind == "bool_type":
        return _truth(value)
    if isinstance(value, str) and (example := _OBJECTS.get(_name_at(path))):
        return f"write [{example}]" if kind == "list_type" else f"write {example}"
    if isinstance(value, str) and "number" in message:
        return _number(value, path, measured="a number, or" in message)
    return _ANYTHING


def _name_at(path: Sequence[str | int]) -> str:
    """The member, or the list of which it is an item: `claims/0` is of claims."""
    return next((part for part in reversed(path[-2:]) if isinstance(part, str)), "")


def _nearest_word(value: str, known: Sequence[str]) -> str:
    """The word that was meant: hyphens, spaces and capitals do not make another one."""
    plain = {_letters(word): word for word in known}
    found = nearest(_letters(value), plain)
    return _ANYTHING if found is None else f"did you mean {plain[found]!r}?"


def _letters(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def _in_quotes(value: object) -> str:
    if isinstance(value, bool):
        return "put the word in quotes"
    if isinstance(value, (int, float)):
        return f'put it in quotes: "{getattr(value, "text", None) or repr(value)}"'[:60]
    return _ANYTHING


def _truth(value: object) -> str:
    words = {"yes": "true", "on": "true", "true": "true", "1": "true"}
    words |= {"no": "false", "off": "false", "false": "false", "0": "false"}
    word = words.get(str(value).strip().lower())
    return _ANYTHING if word is None else f"write {word}, without quotes"


def _number(value: str, path: Sequence[str | int], *, measured: bool) -> str:
    match = re.fullmatch(r"\s*([~≈]?)\s*([-+]?\d{1,30}(?:\.\d{1,30})?)\s*(\D{0,20})", value)
    if match is None:
        return "write a number, without quotes, unit or thousands separator"
    about, digits, unit = match[1], match[2].removeprefix("+"), match[3].strip()
    if unit == "%":
        return _share(digits, path)
    if unit and not _is_unit_of(unit, path):
        return "write the number alone, without quotes, in the unit of the field's name"
    if about and measured:
        return f'write {{"value": {digits}, "approx": true}}'
    return f"write {digits}" + (", the unit is in the name" if unit else ", without quotes")


def _share(digits: str, path: Sequence[str | int]) -> str:
    if not _SHARES.isdisjoint(path):
        return f"write {format(Decimal(digits).scaleb(-2), 'f')}: shares are fractions of 1"
    return "write the number alone, without quotes and percent sign"


def _is_unit_of(unit: str, path: Sequence[str | int]) -> bool:
    names = [part for part in path if isinstance(part, str) and part not in _PARTS]
    ending = _UNITS.get(unit.lower().replace(" ", ""))
    return ending is not None and bool(names) and names[-1].endswith(ending)
