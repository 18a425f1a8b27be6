"""What a person tells of a measurement that neither engine nor machine can: `path=value`.

A path names a member of the report by its names, with dots between them; an item of a list by
its number or its id, and * for every item or name there is. Names may hold dots themselves: the
longest one that is there is taken. What was measured cannot be told otherwise.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding
from benchlint.checker.one_report import json_with_digits
from benchlint.checker.tree import MAX_DEPTH, Digits, is_too_deep
from benchlint.checker.validate import validate

Json = dict[str, Any]

#: Blocks whose members come from measurements.
_MEASURED = frozenset({"runs", "claims", "quality"})

#: Lists of objects, which begin with their first item.
_LISTS = frozenset({"runs", "claims", "quality", "devices"})

_TOO_DEEP = f"a report is nested at most {MAX_DEPTH} levels deep"

_NOTE = "Told by the author, not measured: "


class _NowhereError(Exception):
    """A path leads to nothing."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A member of a report and what it is said to be."""

    path: str
    value: object

    def __str__(self) -> str:
        return f"{self.path}={json_with_digits(self.value)}"


def assignment(text: str) -> Assignment:
    """What "path=value" says; the value is JSON, or else a text. Raises CannotRunError."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip(" ."):
        raise CannotRunError(f"--set takes path=value, as target.name=Qwen3-8B, not {text[:80]!r}")
    if path.count(".") >= MAX_DEPTH:
        raise CannotRunError(f"--set {path[:80]}…: {_TOO_DEEP}")
    return Assignment(path.strip(), _value(value))


def _value(text: str) -> object:
    try:
        value: object = json.loads(text, parse_float=Digits, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text
    return value


def _refused(_: str) -> object:
    """NaN and the like are no JSON."""
    raise ValueError


def told(report: Json, assignments: Iterable[Assignment]) -> Json:
    """A copy of the report with what was told, and a note that says so; the last word counts.

    Raises CannotRunError where a path leads nowhere, a value does not fit the format, or what it
    would replace was measured.
    """
    last = {each.path: each for each in assignments}
    tree = copy.deepcopy(report)
    for each in last.values():
        _set(tree, each)
        _refuse_misfit(tree, each)
    if last:
        tree["notes"] = [*tree.get("notes", []), _NOTE + ", ".join(last)]
    return tree


def _set(tree: Json, each: Assignment) -> None:
    try:
        places = list(_places(tree, each.path, ()))
    except _NowhereError as error:
        raise CannotRunError(f"--set {each.path}: {error}") from None
    for container, key, names in places:
        if names and names[0] in _MEASURED and _holds(container, key):
            raise CannotRunError(f"--set {each.path}: that was measured, and is not set by hand")
        if isinstance(container, list):
            container.append(each.value)
        else:
            container[key] = each.value


def _holds(container: object, key: str | int) -> bool:
    return isinstance(container, dict) and container.get(str(key)) is not None


def _refuse_misfit(tree: Json, each: Assignment) -> None:
    if is_too_deep(tree):
        raise CannotRunError(f"--set {each.path}: {_TOO_DEEP}")
    _, findings = validate(tree)
    if findings:
        raise CannotRunError(f"--set {each.path}: {_in_words(findings[0])}")


def _in_words(finding: Finding) -> str:
    return f"{finding.message}; {finding.help}" if finding.help else finding.message


# Finding the place

_Place = tuple[Any, str | int, tuple[str, ...]]


def _places(node: object, rest: str, names: tuple[str, ...]) -> Iterator[_Place]:
    """The containers that the member goes into, its key there, and all names on the way."""
    if rest == "*" or rest.startswith("*."):
        yield from _every(node, rest[2:], names)
    elif isinstance(node, dict):
        yield from _in_object(node, rest, names)
    elif isinstance(node, list):
        yield from _in_list(node, rest, names)
    else:
        raise _NowhereError(f"{'.'.join(names)} has no members")


def _every(node: object, rest: str, names: tuple[str, ...]) -> Iterator[_Place]:
    """All members or items into which the rest of the path leads."""
    if not rest or not isinstance(node, (dict, list)):
        raise _NowhereError("* stands for names or items that have members")
    found: list[_Place] = []
    for key, each in list(node.items() if isinstance(node, dict) else enumerate(node)):
        try:
            found += _places(each, rest, (*names, str(key)))
        except _NowhereError:
            continue
    if not found:
        raise _NowhereError(f"there is nothing of that name in {'.'.join(names) or 'the report'}")
    yield from found


def _in_object(node: Json, rest: str, names: tuple[str, ...]) -> Iterator[_Place]:
    key, after = _longest(list(node), rest)
    if not after:
        yield node, key, (*names, key)
        return
    if key in node and node[key] is None:
        raise _NowhereError(f"{'.'.join((*names, key))} is null")
    if key not in node:
        node[key] = [] if key in _LISTS else {}
    yield from _places(node[key], after, (*names, key))


def _in_list(node: list[Any], rest: str, names: tuple[str, ...]) -> Iterator[_Place]:
    ids = [each["id"] for each in node if isinstance(each, dict) and "id" in each]
    name, after = _longest(ids, rest)
    index = _index(node, name)
    if index < len(node) and after:
        yield from _places(node[index], after, (*names, name))
    elif index == len(node) and name == str(index):
        yield from _new_item(node, after, (*names, name))
    else:
        raise _NowhereError(f"{'.'.join(names)} has no item {name!r}")


def _new_item(node: list[Any], after: str, names: tuple[str, ...]) -> Iterator[_Place]:
    """One more item, at the end of a list."""
    if not after:
        yield node, len(node), names
        return
    node.append({})
    yield from _places(node[-1], after, names)


def _index(node: list[Any], name: str) -> int:
    for index, each in enumerate(node):
        if isinstance(each, dict) and each.get("id") == name:
            return index
    return int(name) if name.isdecimal() and len(name) < 6 else len(node) + 1


def _longest(known: Iterable[str], rest: str) -> tuple[str, str]:
    """The first name of a path and what follows it: the longest that is known."""
    found = [name for name in known if rest == name or rest.startswith(f"{name}.")]
    name = max(found, key=len) if found else rest.partition(".")[0]
    return name, rest[len(name) + 1 :]
