"""No secret of a report gets into what is made of it, and nothing else of it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.one_report import OneReport, read_one
from benchlint.reproducers.journal import JournalError, ReportText
from benchlint.reproducers.report_text import report_of, report_text, without_secrets

KEY = "sk-proj-Zq81kfWm20bRt64xTy7d"


def _read(path: Path, text: str) -> OneReport:
    path.write_text(text, "utf-8")
    return read_one(str(path), limit_bytes=10**6)


def _report(**more: Any) -> dict[str, Any]:
    runs = [{"id": "a", "configuration": "x", "decode": {"tok_s": 41.5}}]
    return {"benchlint": "1", "configurations": {"x": {"drafter": None}}, "runs": runs, **more}


def test_a_report_without_secrets_is_left_as_it_is(tmp_path: Path) -> None:
    report = _read(tmp_path / "a.json", json.dumps(_report(notes="a key is a key")))
    assert without_secrets(report, ["not-in-it"]) is report


@pytest.mark.parametrize(
    ("member", "value", "gone"),
    [
        ("notes", f"used {KEY} for it", KEY),
        ("engine", {"command_line": ["serve", "--api-key", "k3y0fTh1sP1ace8810"]}, "k3y0fTh1"),
        ("engine", {"environment": {"HF_TOKEN": "abcd81kfWm20bRt64x"}}, "abcd81kf"),
        ("source", "http://me:hunter22@example.org/a", "hunter22"),
        ("notes", "my-own-key-1 was used", "my-own-key-1"),
        ("workloads", {f"chat {KEY}": {}}, KEY),
    ],
)
def test_secrets_are_blanked_where_they_stand(
    tmp_path: Path, member: str, value: object, gone: str
) -> None:
    text = json.dumps(_report(**{member: value}), indent=1)
    found = without_secrets(_read(tmp_path / "a.json", text), ["my-own-key-1"])
    assert gone not in found.document.text
    assert gone not in json.dumps(found.document.tree)
    assert "<redacted>" in found.document.text
    assert found.document.text.count("\n") == text.count("\n")
    assert found.facts.runs[0].model.decode is not None


def test_a_secret_that_is_a_word_of_the_format_does_not_break_it(tmp_path: Path) -> None:
    text = json.dumps(_report(source="http://me:decode@example.org/a"))
    found = without_secrets(_read(tmp_path / "a.json", text))
    assert found.document.tree == _report(source="http://me:<redacted>@example.org/a")
    assert '"tok_s": 41.5' in found.document.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", f'benchlint: "1"\nnotes: {KEY}\nruns:\n- id: a\n  configuration: x\n'),
        ("a.toml", f'benchlint = "1"\nnotes = "{KEY}"\n[[runs]]\nid = "a"\nconfiguration = "x"\n'),
        ("a.md", f'# It\n\n```benchlint\n{{"benchlint": "1", "notes": "{KEY}"}}\n```\n'),
    ],
)
def test_every_language_goes_into_a_journal_and_back(tmp_path: Path, name: str, text: str) -> None:
    found = without_secrets(_read(tmp_path / name, text))
    record = report_text(found)
    assert record.name == name
    assert KEY not in record.text
    back = report_of(record, "s")
    assert back.document.tree == found.document.tree
    assert back.document.locate("/notes") == found_at(found, name)


def found_at(report: OneReport, name: str) -> object:
    """Where the notes stand, in the file without its folder."""
    document = report.document
    document.path = name
    return document.locate("/notes")


@pytest.mark.parametrize("text", ["", "{", "[]", '"a"'])
def test_a_report_that_was_changed_is_told(text: str) -> None:
    with pytest.raises(JournalError, match="s: the report in it was damaged or changed"):
        report_of(ReportText(text, "a.json"), "s")
