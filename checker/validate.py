"""Does a tree have the shape of a report? Model errors become findings.

A member that does not fit is reported and left out, so that one wrong member does not hide
what the others say.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from benchlint.checker.finding import Finding
from benchlint.checker.model import TAG, Block, Report, models_in
from benchlint.checker.pointers import pointer
from benchlint.checker.registry import Problem, rule_by_code

#: A member left out may be required, which makes its parent not fit, and so on upwards.
_ROUNDS = 12


def validate(tree: object) -> tuple[Report | None, list[Finding]]:
    """The report in `tree`, without what does not fit, and a finding for each such member.

    The report is None when nothing of it can be used. `tree` itself is not changed.
    """
    try:
        return Report.model_validate(tree), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
    findings = [_finding(each, tree) for each in errors]
    return _usable(tree, errors), findings


def _usable(tree: object, errors: Sequence[ErrorDetails]) -> Report | None:
    """The report that is left when what does not fit is taken away, round by round."""
    for _ in range(_ROUNDS):
        tree = _mended(tree, errors)
        try:
            return Report.model_validate(tree)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
    return None


def _mended(tree: object, errors: Sequence[ErrorDetails]) -> object:
    """A copy of the tree without what does not fit, and with what is missing left blank."""
    for error in errors:
        path = _path(error, tree)
        if error["type"] == "missing":
            tree = _with_blank(tree, (*path, str(error["loc"][-1])))
    return _without(tree, [_path(e, tree) for e in errors if e["type"] != "missing"])


def _with_blank(tree: object, path: Sequence[str | int]) -> object:
    """A copy of the tree with an empty string at the path."""
    if not path:
        return ""
    rest = path[1:]
    if isinstance(tree, dict):
        return {**tree, path[0]: _with_blank(tree.get(path[0]), rest)}
    if isinstance(tree, list):
        return [_with_blank(v, rest) if i == path[0] else v for i, v in enumerate(tree)]
    return tree


def _without(tree: object, paths: Sequence[Sequence[str | int]]) -> object:
    """A copy of the tree without the members at these paths.

    A list that loses an item goes as a whole: its other items would stand in other places.
    """
    if any(not path for path in paths):
        return None
    if isinstance(tree, dict):
        members = ((k, v, _below(paths, k)) for k, v in tree.items())
        return {k: _without(v, p) if p else v for k, v, p in members if not _goes(v, p)}
    if isinstance(tree, list):
        return [_without(v, _below(paths, i)) for i, v in enumerate(tree)]
    return tree


def _goes(value: object, paths: Sequence[Sequence[str | int]]) -> bool:
    """Whether the member itself does not fit, or is a list with an item that does not."""
    return () in paths or (isinstance(value, list) and any(len(path) == 1 for path in paths))


def _below(paths: Sequence[Sequence[str | int]], part: str | int) -> list[tuple[str | int, ...]]:
    return [tuple(path[1:]) for path in paths if path and path[0] == part]


def _path(error: ErrorDetails, tree: object) -> tuple[str | int, ...]:
    """The path of the member that does not fit; of its parent where a member is missing.

    Locations also hold the tags of unions, which are no members: they are stepped over.
    """
    location = error["loc"][:-1] if error["type"] == "missing" else error["loc"]
    path: list[str | int] = []
    for part in location:
        if isinstance(tree, dict) and part in tree:
            tree = tree[part]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        elif not str(part).startswith(TAG):
            break
        else:
            continue
        path.append(part)
    return tuple(path)


def _finding(error: ErrorDetails, tree: object) -> Finding:
    path = _path(error, tree)
    if error["type"] == "extra_forbidden":
        return _make("BL004", _unknown_field(path), at_key=True)
    return _make("BL005", _wrong_type(error, path))


def _make(code: str, problem: Problem, *, at_key: bool = False) -> Finding:
    rule = rule_by_code(code)
    if rule is None:
        raise LookupError(code)
    where = problem.at if isinstance(problem.at, str) else problem.at.pointer
    problem = Problem(where, problem.message, help=problem.help, at_key=at_key)
    return rule.finding(problem, where)


def _unknown_field(path: Sequence[str | int]) -> Problem:
    name = str(path[-1])
    known = _field_names(path[:-1])
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    place = _place(path[:-1])
    message = f"unknown field {name!r} in {place}"
    hint = (
        f"did you mean {close[0]!r}? "
        if close
        else f"{place} may have: {', '.join(sorted(known))}. "
    )
    return Problem(pointer(*path), message, help=f"{hint}Free matter goes under 'extensions'.")


def _wrong_type(error: ErrorDetails, path: Sequence[str | int]) -> Problem:
    if error["type"] == "missing":
        missing = str(error["loc"][-1])
        return Problem(
            pointer(*path),
            f"{_place(path)} has no {missing!r}",
            help=f"add {missing!r}; it is required there",
        )
    message = f"{_place(path)} {_expected(error)}, not {_json_type(error.get('input'))}"
    return Problem(pointer(*path), message, help="see `benchlint schema` for the format")


def _place(path: Sequence[str | int]) -> str:
    """A path in words: `runs[3].decode.tok_s`."""
    text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
    return text.lstrip(".") or "the report"


_EXPECTED = {
    "string_type": "should be a string",
    "bool_type": "should be true or false",
    "list_type": "should be a list",
    "dict_type": "should be an object",
    "model_type": "should be an object",
    "model_attributes_type": "should be an object",
}


def _expected(error: ErrorDetails) -> str:
    if error["type"] == "literal_error":
        return "should be one of " + error["msg"].partition("should be ")[2]
    return _EXPECTED.get(error["type"]) or error["msg"]


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        text = getattr(value, "text", None) or repr(value)
        return f"the number {text[:40]}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"


def _field_names(path: Sequence[str | int]) -> list[str]:
    """Names of the fields that the object at `path` may have."""
    models: list[type[Block]] = [Report]
    for part in path:
        models = [m for model in models for m in _step(model, part)]
    names = {name for model in models for name in model.model_fields}
    return sorted(names)


def _step(model: type[Block], part: str | int) -> Iterator[type[Block]]:
    """The models one step below; array indices and free member names stay where they are."""
    info = model.model_fields.get(str(part))
    if info is None:
        yield model
    else:
        yield from models_in(info.annotation)
