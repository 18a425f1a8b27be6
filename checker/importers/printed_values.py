"""Values out of what Python programs print of themselves: `Namespace(a=1, b='x')`, dicts.

Nothing is evaluated: names that are asked for are looked up in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from benchlint.checker.importers.found import Found, Line

#: A bare word (None, True, a number, torch.bfloat16) or text in quotes; lists and objects are
#: not read.
_VALUE = (
    r"(?P<text>'(?:[^'\\]|\\.){0,4000}'|\"(?:[^\"\\]|\\.){0,4000}\")"
    r"|(?P<word>[-+\w./]{1,200})(?=[,)}\]\s]|$)"
)


def named_values(line: Line, names: Iterable[str], start: int = 0) -> dict[str, Found]:
    """The values of these names, the first of each: `name=value` or `'name': value`.

    A name that is None there, or whose value is not one of the simple ones, is left out.
    start: column from which to look.
    """
    found: dict[str, Found] = {}
    for name, value in _values(line, tuple(names), start):
        found.setdefault(name, value)
    return {name: value for name, value in found.items() if value.value is not None}


def unset_names(line: Line, names: Iterable[str], start: int = 0) -> list[str]:
    """Those of these names that are None there, in the order of `names`."""
    wanted = tuple(names)
    nothing = {n for n, value in _values(line, wanted, start) if value.value is None}
    return [name for name in wanted if name in nothing]


def _values(line: Line, names: tuple[str, ...], start: int) -> Iterator[tuple[str, Found]]:
    for match in _pattern(names).finditer(line.text, start):
        group = "text" if match["text"] is not None else "word"
        span = match.span(group)
        if group == "text":
            span = span[0] + 1, span[1] - 1
        yield match["name"] or match["key"], line.found(_read(match[group]), span)


@lru_cache(maxsize=32)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    any_name = "|".join(map(re.escape, names))
    return re.compile(rf"(?:\b(?P<name>{any_name})=|['\"](?P<key>{any_name})['\"]: ?)(?:{_VALUE})")


def _read(printed: str) -> object:
    if printed[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", printed[1:-1])
    words = {"None": None, "True": True, "False": False}
    return words.get(printed, printed)
