"""House schemas: violations at their places, and nothing fetched."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from benchlint.checker import house_schema
from benchlint.checker.document import Digits
from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding
from benchlint.checker.house_schema import MAX_FINDINGS, HouseSchema, load

REPORT = {
    "benchlint": "1",
    "title": "A title",
    "machine": {"os": "Linux", "driver": "x"},
    "runs": [{"id": "a"}, {"id": "b", "step_time_ms": Digits("12.50")}],
}


def _schema(folder: Path, schema: object) -> HouseSchema:
    file = folder / "house.json"
    file.write_text(json.dumps(schema), "utf-8")
    return load(str(file))


def _findings(folder: Path, schema: object) -> list[tuple[str, str]]:
    return [(f.pointer, f.message) for f in _schema(folder, schema).findings(REPORT)]


@pytest.mark.parametrize(
    ("schema", "place", "message"),
    [
        ({"required": ["date"]}, "", "'date' is a required property"),
        ({"properties": {"title": {"const": "B"}}}, "/title", '"A title" is not "B"'),
        ({"properties": {"title": {"enum": ["B"]}}}, "/title", '"A title" is not one of ["B"]'),
        ({"properties": {"title": {"type": "null"}}}, "/title", "is not of type"),
        ({"properties": {"title": {"maxLength": 3}}}, "/title", "breaks maxLength 3"),
        ({"properties": {"title": False}}, "/title", "is not allowed here"),
        ({"properties": {"machine": {"additionalProperties": False}}}, "/machine/os", "'os'"),
        ({"properties": {"runs": {"maxItems": 1}}}, "/runs", "the list breaks maxItems 1"),
        (
            {"properties": {"runs": {"items": {"properties": {"step_time_ms": {"maximum": 9}}}}}},
            "/runs/1/step_time_ms",
            "12.50 breaks maximum 9",
        ),
        ({"anyOf": [{"required": ["date"]}, {"maxProperties": 1}]}, "", "none of the alternatives"),
        (
            {"$defs": {"t": False}, "properties": {"title": {"$ref": "#/$defs/t"}}},
            "/title",
            "is not allowed here",
        ),
    ],
)
def test_a_violation_stands_at_its_place(
    tmp_path: Path, schema: object, place: str, message: str
) -> None:
    found = _findings(tmp_path, schema)
    assert found[0][0] == place
    assert message in found[0][1]


def test_a_description_is_the_help(tmp_path: Path) -> None:
    schema = {"properties": {"title": {"type": "null", "description": "Titles are for papers."}}}
    (found,) = _schema(tmp_path, schema).findings(REPORT)
    assert found.help == "Titles are for papers."
    assert found.code == "BL011"


def test_each_extra_member_is_marked_by_its_name(tmp_path: Path) -> None:
    schema = {"properties": {"machine": {"additionalProperties": False, "properties": {"os": {}}}}}
    (found,) = _schema(tmp_path, schema).findings(REPORT)
    assert isinstance(found, Finding)
    assert (found.pointer, found.at_key) == ("/machine/driver", True)


def test_a_schema_that_fits_says_nothing(tmp_path: Path) -> None:
    assert _findings(tmp_path, {"required": ["title"]}) == []
    assert _findings(tmp_path, True) == []


def test_the_report_format_may_be_referred_to(tmp_path: Path) -> None:
    run = {"$ref": "urn:benchlint:report:1#/$defs/Run"}
    assert _findings(tmp_path, {"properties": {"runs": {"items": run}}}) == []
    assert _findings(tmp_path, {"properties": {"title": run}}) != []


def test_an_own_id_may_be_referred_to(tmp_path: Path) -> None:
    schema = {
        "$id": "https://example.org/house.json",
        "$defs": {"t": {"$id": "t.json", "type": "null"}, "u": {"$anchor": "u"}},
        "properties": {"title": {"$ref": "t.json"}, "runs": {"$ref": "house.json#u"}},
    }
    assert [place for place, _ in _findings(tmp_path, schema)] == ["/title"]


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/x.json", "file:///etc/passwd", "other.json", "http://127.0.0.1/#x"],
)
def test_nothing_is_fetched(
    tmp_path: Path, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(CannotRunError, match="nothing is fetched"):
        _schema(tmp_path, {"properties": {"title": {"$ref": reference}}})


def test_a_reference_to_a_missing_part_is_told(tmp_path: Path) -> None:
    schema = _schema(tmp_path, {"properties": {"title": {"$ref": "#/$defs/none"}}})
    with pytest.raises(CannotRunError, match="leads to nothing"):
        schema.findings(REPORT)


def test_a_reference_in_data_means_nothing(tmp_path: Path) -> None:
    schema = {"properties": {"title": {"enum": ["A title", {"$ref": "https://example.org/"}]}}}
    assert _findings(tmp_path, schema) == []


def test_a_schema_that_refers_to_itself_without_end_is_told(tmp_path: Path) -> None:
    schema = _schema(tmp_path, {"$ref": "#"})
    with pytest.raises(CannotRunError, match="without end"):
        schema.findings(REPORT)


def test_a_pattern_without_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house_schema, "LIMIT_S", 0.1)
    slow = _schema(tmp_path, {"properties": {"title": {"pattern": "^(a+)+$"}}})
    with pytest.raises(CannotRunError, match=r"house.json: takes over 0\.1 s for one report"):
        slow.findings({"title": "a" * 60 + "!"})
    assert slow.findings({"title": "aaa"}) == []
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_findings_have_a_limit_and_quote_little(tmp_path: Path) -> None:
    schema = _schema(tmp_path, {"properties": {"notes": {"items": {"type": "null"}}}})
    found = schema.findings({"notes": ["x" * 10_000] * 500})
    assert len(found) == MAX_FINDINGS
    assert max(len(f.message) for f in found) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON Schema"),
        ('{"type": 3}', "/type"),
        ('{"$schema": "http://json-schema.org/draft-07/schema#"}', "is not supported"),
        ('{"a":' * 100_000, "is nested too deep"),
        ('{"$id": "http://[", "$ref": "x"}', "Invalid IPv6 URL"),
    ],
)
def test_what_is_no_schema_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "house.json"
    file.write_text(text)
    with pytest.raises(CannotRunError, match=message) as caught:
        load(str(file))
    assert "\n" not in str(caught.value)


def test_an_absent_schema_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="No such file"):
        load(str(tmp_path / "absent.json"))
