"""The published JSON Schema: current, valid, and of one mind with the models."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from benchlint.checker.document import Digits
from benchlint.checker.json_schema import report_schema, report_schema_text
from benchlint.checker.model import Report

ROOT = Path(__file__).parents[1]
SCHEMAS = sorted((ROOT / "schemas").glob("*-v1.json"))


@cache
def _schema() -> dict[str, Any]:
    return report_schema()


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(_schema())


def _fits_schema(tree: object) -> bool:
    return bool(_validator().is_valid(tree))


def _fits_model(tree: object) -> bool:
    try:
        Report.model_validate(tree)
    except ValidationError:
        return False
    return True


def test_the_published_schema_is_what_the_models_give() -> None:
    published = (ROOT / "schemas" / "report-v1.json").read_text("utf-8")
    assert published == report_schema_text(), "run `make docs`"


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda p: p.name)
def test_a_schema_is_valid_and_introduces_itself(path: Path) -> None:
    schema = json.loads(path.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].startswith("urn:benchlint:")
    assert schema["title"]
    assert schema["description"]


def test_every_object_says_what_it_is_and_refuses_unknown_members() -> None:
    schema = report_schema()
    for name, each in {"Report": schema, **schema["$defs"]}.items():
        assert each["description"].endswith("."), name
        assert each["additionalProperties"] is False, name


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.json")), ids=lambda p: p.name)
def test_examples_fit_both(path: Path) -> None:
    tree = json.loads(path.read_text("utf-8"), parse_float=Digits)
    assert _fits_schema(tree)
    assert _fits_model(tree)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return dict(_schema()["$defs"][name])
    return schema


_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 4.0, -1e59]),
    st.sampled_from(["", "x", "none", "gpu"]),
    st.just([]),
    st.just({}),
)


@st.composite
def _values(draw: st.DrawFn, schema: dict[str, Any], depth: int = 0) -> Any:
    """A value for a schema, now and then one that does not belong there."""
    if draw(st.integers(0, 40)) == 0:
        return draw(_JUNK)
    schema = _resolved(schema)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return draw(_values(draw(st.sampled_from(options)), depth))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    return draw(_of_type(schema, depth))


def _of_type(schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "object":
        return _objects(schema, depth)
    if kind == "array":
        return st.lists(_values(schema.get("items", {}), depth + 1), max_size=2)
    simple: dict[object, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(["", "x", "\u03c4"]),
        "number": st.sampled_from([1, 2.5, 1e-9]),
        "integer": st.sampled_from([0, 7, 7.0]),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return simple.get(kind, _JUNK)


@st.composite
def _objects(draw: st.DrawFn, schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    names = draw(st.lists(st.sampled_from(sorted(properties)), max_size=4)) if properties else []
    names += [n for n in schema.get("required", ()) if draw(st.integers(0, 20)) > 0]
    if depth > 5:
        names = list(schema.get("required", ()))
    made = {name: draw(_values(properties[name], depth + 1)) for name in names}
    further = schema.get("additionalProperties")
    if isinstance(further, dict) and depth <= 5:
        made["named"] = draw(_values(further, depth + 1))
    if draw(st.integers(0, 60)) == 0:
        made["surprise"] = draw(_JUNK)
    return made


_seen = {True: 0, False: 0}


@settings(
    max_examples=600,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_model_and_schema_agree(data: st.DataObject) -> None:
    tree = data.draw(_values(_schema()))
    fits = _fits_model(tree)
    _seen[fits] += 1
    assert _fits_schema(tree) is fits


def _places(tree: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below: list[tuple[str | int, object]] = []
    if isinstance(tree, dict):
        below = list(tree.items())
    elif isinstance(tree, list):
        below = list(enumerate(tree))
    return [at, *(p for key, value in below for p in _places(value, (*at, key)))]


def _with(tree: Any, place: tuple[str | int, ...], value: object) -> Any:
    if not place:
        return value
    copied = tree.copy()
    copied[place[0]] = _with(copied[place[0]], place[1:], value)
    return copied


EXAMPLE = json.loads((ROOT / "examples" / "dflash2-vs-mtp.json").read_text("utf-8"))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_places(EXAMPLE)), _JUNK)
def test_model_and_schema_agree_on_a_report_with_one_change(
    place: tuple[str | int, ...], value: object
) -> None:
    tree = _with(EXAMPLE, place, value)
    assert _fits_schema(tree) is _fits_model(tree)


@pytest.mark.parametrize("number", [1e61, -1e61, 1e-61, 10**61])
def test_numbers_beyond_any_quantity_are_the_one_difference(number: float) -> None:
    tree = {"runs": [{"id": "a", "step_time_ms": number}]}
    assert _fits_schema(tree)
    assert not _fits_model(tree)


def test_valid_and_broken_reports_were_compared() -> None:
    if sum(_seen.values()) == 0:
        pytest.skip("the comparison did not run")
    assert min(_seen.values()) > 10, _seen
