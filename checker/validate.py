"""Does a tree have the shape of a report? Model errors become findings.

A member that does not fit is reported and left out, so that one wrong member does not hide
what the others say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from benchlint.checker.finding import Finding
from benchlint.checker.model import TAG, Block, Report, models_in
from benchlint.checker.nearest import nearest
from benchlint.checker.pointers import pointer
from benchlint.checker.registry import Problem, rule_by_code

#: A member left out may be required, which makes its parent not fit, and so on upwards.
_ROUNDS = 12


#: So many misfits are listed; a tree with more than MANY of them is no report.
LISTED = 1_000
MANY = 100_000


def validate(tree: object) -> tuple[Report | None, list[Finding]]:
    """The report in `tree`, without what does not fit, and a finding for each such member.

    The report is None when nothing of it can be used. `tree` itself is not changed.
    """
    try:
        return Report.model_validate(tree), []
    except ValidationError as error:
        if error.error_count() > MANY:
            return None, [_make("BL005", _many(error.error_count()))]
        errors = error.errors(include_url=False, include_context=False)
    findings = [_finding(each, tree) for each in errors[:LISTED]]
    if len(errors) > LISTED:
        findings.append(_make("BL005", _more(errors[LISTED:], tree)))
    return _usable(tree, errors), findings


def _many(count: int) -> Problem:
    text = f"{count:,} members do not fit the format; this is hardly a report"
    return Problem("", text, help="see `benchlint schema` for the format")


def _more(errors: Sequence[ErrorDetails], tree: object) -> Problem:
    text = f"and {len(errors):,} more members that do not fit the format"
    return Problem(pointer(*_path(errors[0], tree)), text, help="those before are listed")


def _usable(tree: object, errors: Sequence[ErrorDetails]) -> Report | None:
    """The report that is left when what does not fit is taken away, round by round."""
    for _ in range(_ROUNDS):
        tree = _mended(tree, errors)
        try:
            return Report.model_validate(tree)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
    return None


@dataclass(slots=True)
class _Edits:
    """What becomes of a value: it goes, or members of it are left blank, or edited in turn."""

    goes: bool = False
    blank: list[str] = field(default_factory=list)
    inside: dict[str | int, _Edits] = field(default_factory=dict)

    def at(self, path: Sequence[str | int]) -> _Edits:
        """The edits of the value at a path below this one."""
        edits = self
        for part in path:
            edits = edits.inside.setdefault(part, _Edits())
        return edits


def _mended(tree: object, errors: Sequence[ErrorDetails]) -> object:
    """A copy of the tree without what does not fit, and with what is missing left blank."""
    edits = _Edits()
    for error in errors:
        place = edits.at(_path(error, tree))
        if error["type"] == "missing":
            place.blank.append(str(error["loc"][-1]))
        else:
            place.goes = True
    return None if edits.goes else _edited(tree, edits)


def _edited(value: object, edits: _Edits | None) -> object:
    """A copy of the value with the edits made."""
    if edits is None:
        return value
    inside = edits.inside
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in inside or not _goes(v, inside[k])}
        members = {k: _edited(v, inside.get(k)) for k, v in kept.items()}
        return members | dict.fromkeys(edits.blank, "")
    if isinstance(value, list):
        return [_edited(v, inside.get(i)) for i, v in enumerate(value)]
    return value


def _goes(value: object, edits: _Edits) -> bool:
    """Whether a member does not fit, or is a list with an item that does not.

    Such a list goes as a whole: its other items would stand in other places.
    """
    return edits.goes or (
        isinstance(value, list) and any(each.goes for each in edits.inside.values())
    )


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
    close = nearest(name, known)
    place = _place(path[:-1])
    message = f"unknown field {name!r} in {place}"
    hint = (
        f"did you mean {close!r}? "
        if close is not None
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
    from benchlint.checker.type_help import help_for  # most reports have the right types

    hint = help_for(error["type"], error["msg"], error.get("input"), path)
    return Problem(pointer(*path), message, help=hint)


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
