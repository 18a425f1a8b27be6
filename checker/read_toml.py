"""TOML, through the standard library's parser."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time

from benchlint.checker.lines import Lines, Span
from benchlint.checker.loaded import (
    Fault,
    Loaded,
    depth_fault,
    duplicate_fault,
    not_finite_fault,
    not_read,
)
from benchlint.checker.pointers import pointer
from benchlint.checker.positions import NodePositions, Positions
from benchlint.checker.positions_toml import scan
from benchlint.checker.tree import (
    MAX_DEPTH,
    NOT_FINITE,
    decimal,
    fits_double,
    is_too_deep,
    without_not_finite,
)


def load(text: str) -> Loaded:
    """The tree of a TOML text, and its faults. Dates and times become strings in ISO 8601."""
    deep = _long_key(text)
    if deep:
        return not_read(depth_fault(deep))
    try:
        tree = tomllib.loads(text, parse_float=decimal)
    except RecursionError:
        return not_read(depth_fault((0, 1)))
    except tomllib.TOMLDecodeError as error:
        return not_read(_explained(str(error), text))
    except ValueError:  # `int` refuses more than 4,300 digits
        return not_read(_long_integer(text))
    if is_too_deep(tree):
        return not_read(depth_fault((0, 1)))
    return _loaded(_json_like(tree), text)


def _long_key(text: str) -> Span | None:
    """A key of more than MAX_DEPTH parts. The parser's time grows with the square of them."""
    part = r"""[\w\-"']++[ \t]*+\.[ \t]*+"""
    match = re.search(rf"""(?<![\w\-"'])(?:{part}){{{MAX_DEPTH}}}""", text)
    return (match.start(), match.start() + 1) if match else None


def _json_like(value: object) -> object:
    """The tree without what JSON has no type for."""
    if isinstance(value, dict):
        return {name: _json_like(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_json_like(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if type(value) is int and not fits_double(value):
        return NOT_FINITE
    return value


def _loaded(tree: object, text: str) -> Loaded:
    def positions() -> Positions:
        return NodePositions(scan(text)[0])

    missing = list(_not_finite(tree, []))
    faults = _not_finite_faults(missing, text, positions()) if missing else []
    return Loaded(
        without_not_finite(tree) if missing else tree,
        has_tree=True,
        faults=faults,
        positions=positions,
    )


def _not_finite(value: object, path: list[str]) -> Iterator[list[str]]:
    """The paths of the numbers that are not finite."""
    if value is NOT_FINITE:
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _not_finite(member, [*path, name])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, [*path, str(index)])


def _not_finite_faults(paths: list[list[str]], text: str, positions: Positions) -> list[Fault]:
    spans = [positions.span(path, key=False) for path in paths]
    return [
        not_finite_fault(pointer(*path), text[slice(*span)], span)
        for path, span in zip(paths, spans, strict=True)
    ]


def _explained(message: str, text: str) -> Fault:
    problem, _, place = message.rpartition(" (at ")
    span = _place(place, text)
    if not re.match("Cannot|Duplicate", problem):
        return Fault("BL001", f"not TOML: {problem[:1].lower()}{problem[1:]}", span)
    repeated = scan(text)[1]
    if repeated is None:
        return Fault("BL002", "what this line gives a value has one already", span, at_key=True)
    path, again, first = repeated
    return duplicate_fault(pointer(*path), path[-1], again, first)


def _place(place: str, text: str) -> Span:
    """The parser's "line 3, column 5)" or "end of document)" as a span."""
    match = re.match(r"line (\d+), column (\d+)", place)
    if match is None:
        at = max(0, len(text.rstrip()) - 1)
    else:
        at = Lines(text).start_of(int(match[1])) + int(match[2]) - 1
    return at, at + 1


def _long_integer(text: str) -> Fault:
    match = re.search(r"\d[\d_]{4000,}", text)
    span = match.span() if match else (0, 0)
    return not_finite_fault("", text[slice(*span)].replace("_", ""), span)
