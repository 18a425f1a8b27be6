"""BL011: a project's own JSON Schema, on top of the rules.

jsonschema is imported here and nowhere else on the way of a check, and only when a schema is
asked for. Nothing is fetched: what a `$ref` may lead to is known beforehand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding
from benchlint.checker.pointers import pointer
from benchlint.checker.registry import Problem, rule_by_code
from benchlint.checker.small_file import read_small
from benchlint.checker.time_limit import OutOfTimeError, processor_time

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from referencing import Registry

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = bool | dict[str, Any]

#: Findings for one report; a schema that fits nothing would fill the screen.
MAX_FINDINGS = 100

#: Processor time for one report, in seconds; an honest schema takes milliseconds.
LIMIT_S = 5.0

_CUT = 200


@dataclass(frozen=True, slots=True)
class HouseSchema:
    """A schema that was read and can be used."""

    file: str
    validator: Draft202012Validator

    def findings(self, tree: object) -> list[Finding]:
        """BL011 for everything in the tree that the schema does not allow, in the tree's order.

        Raises CannotRunError when the schema refers to itself without end, or takes more than
        `LIMIT_S` seconds of processor time for one report, as a pattern like `(a+)+$` may.
        """
        rule = rule_by_code("BL011")
        if rule is None:
            raise LookupError("BL011")
        try:
            with processor_time(LIMIT_S):
                errors = self._errors(tree)
                errors.sort(key=lambda e: [(type(p).__name__, p) for p in e.absolute_path])
                problems = [each for e in errors for each in _problems(e)]
        except OutOfTimeError:
            raise CannotRunError(
                f"{self.file}: takes over {LIMIT_S:g} s for one report; look for a pattern that "
                "repeats a repetition, as (a+)+ does"
            ) from None
        return [rule.finding(each, str(each.at)) for each in problems]

    def _errors(self, tree: object) -> list[ValidationError]:
        from referencing.exceptions import Unresolvable

        try:
            return list(islice(self.validator.iter_errors(tree), MAX_FINDINGS))
        except RecursionError:
            raise CannotRunError(f"{self.file}: refers to itself without end") from None
        except Unresolvable as error:
            raise CannotRunError(_leads_nowhere(self.file, str(error.ref))) from None


def load(file: str) -> HouseSchema:
    """The schema in a file. Raises CannotRunError when it cannot be used."""
    try:
        return _usable(file, _read(file))
    except RecursionError:
        raise CannotRunError(f"{file}: is nested too deep") from None
    except ValueError as error:  # an $id or a $ref that is no URI
        raise CannotRunError(f"{file}: {_cut(str(error))}") from None


def _usable(file: str, schema: Schema) -> HouseSchema:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = pointer(*error.absolute_path) or "the schema"
        raise CannotRunError(f"{file}: {where}: {_cut(error.message)}") from None
    _refuse_other_drafts(file, schema)
    registry = _registry()
    _refuse_references_out(file, schema, registry)
    return HouseSchema(
        file, Draft202012Validator(cast("Schema", _without_false(schema)), registry=registry)
    )


def _read(file: str) -> Schema:
    try:
        text = read_small(file).decode("utf-8-sig")
        schema = json.loads(text)
    except OSError as error:
        raise CannotRunError(f"{file}: {error.strerror or error}") from None
    except ValueError as error:
        raise CannotRunError(f"{file}: is not JSON: {error}") from None
    if not isinstance(schema, (dict, bool)):
        raise CannotRunError(f"{file}: is not a JSON Schema: it should be an object")
    return cast("Schema", schema)


def _refuse_other_drafts(file: str, schema: object) -> None:
    stated = schema.get("$schema", DRAFT) if isinstance(schema, dict) else DRAFT
    if str(stated).rstrip("#") != DRAFT:
        raise CannotRunError(f"{file}: $schema {_cut(str(stated))!r} is not supported; use {DRAFT}")


def _refuse_references_out(file: str, schema: object, registry: Registry[Any]) -> None:
    known = {"", *_ids(schema, ""), *registry}
    for base, reference in _references(schema, ""):
        if urljoin(base, reference).partition("#")[0] not in known:
            raise CannotRunError(_leads_nowhere(file, reference))


def _leads_nowhere(file: str, reference: str) -> str:
    return (
        f"{file}: $ref {_cut(reference)!r} leads to nothing in the file; nothing is fetched, "
        "so copy what is meant under $defs"
    )


def _references(schema: object, base: str) -> Iterator[tuple[str, str]]:
    """Every `$ref` and `$dynamicRef` with the base that it is relative to."""
    if isinstance(schema, dict):
        base = _base(schema, base)
        for key in ("$ref", "$dynamicRef"):
            if isinstance(schema.get(key), str):
                yield base, schema[key]
    for child in _children(schema):
        yield from _references(child, base)


def _ids(schema: object, base: str) -> Iterator[str]:
    if isinstance(schema, dict) and isinstance(schema.get("$id"), str):
        base = _base(schema, base)
        yield base.partition("#")[0]
    for child in _children(schema):
        yield from _ids(child, base)


def _base(schema: dict[str, Any], base: str) -> str:
    own = schema.get("$id")
    return urljoin(base, own) if isinstance(own, str) else base


def _children(schema: object) -> Iterator[object]:
    if isinstance(schema, list):
        yield from schema
    elif isinstance(schema, dict):
        # Values of these are data, in which "$ref" means nothing.
        yield from (v for k, v in schema.items() if k not in ("const", "enum", "default"))


def _without_false(schema: object) -> object:
    """The schema with `{"not": {}}` for a member that is `false`: jsonschema loses its place."""
    if isinstance(schema, list):
        return [_without_false(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _named_false(value) if key in ("properties", "patternProperties") else value
        for key, value in ((k, _without_false(v)) for k, v in schema.items())
    }


def _named_false(members: object) -> object:
    if not isinstance(members, dict):
        return members
    return {name: {"not": {}} if each is False else each for name, each in members.items()}


def _registry() -> Registry[Any]:
    """The report format, and nothing else that a schema could refer to."""
    from importlib.resources import files

    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    text = (files("benchlint.schemas") / "report-v1.json").read_text("utf-8")
    schema = json.loads(text)
    resource = DRAFT202012.create_resource(schema)
    return cast("Registry[Any]", Registry().with_resource(schema["$id"], resource))


def _problems(error: ValidationError) -> Iterator[Problem]:
    """What a violation says, at the place that it is about."""
    path = list(error.absolute_path)
    schema = error.schema if isinstance(error.schema, dict) else {}
    said = schema.get("description")
    hint = _cut(said) if isinstance(said, str) else ""
    extra = list(_extra_members(error.instance, schema)) if _forbids_extra(error) else []
    for name in extra:
        message = f"the house schema does not allow the member {_cut(name)!r}"
        yield Problem(pointer(*path, name), message, help=hint, at_key=True)
    if not extra:
        yield Problem(pointer(*path), f"the house schema says: {_message(error)}", help=hint)


def _forbids_extra(error: ValidationError) -> bool:
    return error.validator == "additionalProperties" and error.validator_value is False


def _extra_members(members: object, schema: Mapping[str, Any]) -> Iterator[str]:
    named = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name in members if isinstance(members, dict) else ():
        if name not in named and not any(re.search(each, name) for each in patterns):
            yield name


_WORDS = {
    "anyOf": "fits none of the alternatives",
    "oneOf": "fits none of the alternatives, or more than one",
    "not": "is not allowed here",
    "type": "is not of type",
    "enum": "is not one of",
    "const": "is not",
    "pattern": "does not match",
}


def _message(error: ValidationError) -> str:
    """In our words, since jsonschema quotes the whole value however long it is."""
    keyword = str(error.validator or "not")  # a schema that is `false` has no keyword
    if keyword in ("required", "dependentRequired"):
        return _cut(error.message)
    what = _WORDS.get(keyword, f"breaks {keyword}")
    bound = error.validator_value
    if keyword in ("anyOf", "oneOf", "not") or isinstance(bound, dict):
        return f"{_shown(error.instance)} {what}"
    return f"{_shown(error.instance)} {what} {_cut(json.dumps(bound, ensure_ascii=False))}"


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "the object" if isinstance(value, dict) else "the list"
    text = getattr(value, "text", None)
    return _cut(text if isinstance(text, str) else json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"
