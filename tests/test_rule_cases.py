"""Every rule on its case file: it speaks where it must and is silent on the near misses.

A case is a `report` (a tree), or the bytes of a file (`text`, `hex`) with an optional `filename`,
a `filesystem` kind that is no file, `settings` (benchlint.toml) and a `house` schema.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits, documents
from benchlint.checker.registry import Rule, all_rules
from benchlint.checker.rule_text import HEADINGS

FOLDER = Path(__file__).parent / "cases"


class _DigitsLoader(yaml.SafeLoader):
    """Keeps the digits of numbers as they are written in the case file."""


def _digits(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Digits:
    return Digits(loader.construct_scalar(node))


_DigitsLoader.add_constructor("tag:yaml.org,2002:float", _digits)


@dataclass(frozen=True)
class Said:
    """What a finding of the rule said."""

    severity: str
    pointer: str
    message: str


@dataclass(frozen=True)
class Case:
    """One report of a case file, and what the rule must say about it."""

    code: str
    fires: bool
    content: dict[str, Any]

    def said(self, folder: Path) -> list[Said]:
        """What the check says under this rule's code."""
        if "report" in self.content:
            return self._of_tree()
        return self._of_path(folder) if "filesystem" in self.content else self._of_file(folder)

    def _of_path(self, folder: Path) -> list[Said]:
        path = folder / "report.json"
        _FILESYSTEM[self.content["filesystem"]](path)
        found = [f for p in documents(path, limit_bytes=10**6) for f in p.findings]
        return [Said(f.severity, f.pointer, f.message) for f in found if f.code == self.code]

    def _of_tree(self) -> list[Said]:
        tree = {"benchlint": "1", **self.content["report"]}
        found = check_tree(tree)
        return [Said(f.severity, f.pointer, f.message) for f in found if f.code == self.code]

    def _of_file(self, folder: Path) -> list[Said]:
        words = ["check", "--format", "json", str(self._file(folder))]
        if "settings" in self.content:
            (folder / "benchlint.toml").write_text(self.content["settings"], "utf-8")
        if "house" in self.content:
            house = folder / "house.schema"
            house.write_text(json.dumps(self.content["house"]), "utf-8")
            words += ["--schema", str(house)]
        files = json.loads(CliRunner().invoke(app, words).stdout)["files"]
        found = [f for file in files for f in file["findings"] if f["code"] == self.code]
        return [Said(f["severity"], f["pointer"], f["message"]) for f in found]

    def _file(self, folder: Path) -> Path:
        path = folder / self.content.get("filename", "report.json")
        if "text" in self.content:
            path.write_bytes(self.content["text"].encode())
        else:
            path.write_bytes(bytes.fromhex(self.content["hex"]))
        return path


_FILESYSTEM = {
    "missing": lambda _: None,
    "directory": lambda path: path.mkdir(),
    "broken-link": lambda path: path.symlink_to("nowhere"),
    "fifo": os.mkfifo,
}


def _load(path: Path) -> dict[str, Any]:
    return dict(yaml.load(path.read_text("utf-8"), Loader=_DigitsLoader))  # noqa: S506 - it is safe


def _cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("BL*.yaml")):
        content = _load(path)
        for kind in ("fires", "silent"):
            for number, case in enumerate(content.get(kind) or (), 1):
                name = f"{path.stem}-{kind}-{number}"
                yield pytest.param(Case(path.stem, kind == "fires", case), id=name)


@pytest.mark.parametrize("case", list(_cases()))
def test_case(case: Case, tmp_path: Path) -> None:
    said = case.said(tmp_path)
    why = case.content["why"]
    if not case.fires:
        assert said == [], why
        return
    assert said, why
    assert any(_matches(each, case.content) for each in said), f"{why}: {said}"


def _matches(said: Said, expected: dict[str, Any]) -> bool:
    return (
        said.severity == expected.get("severity", said.severity)
        and expected.get("message", "") in said.message
        and said.pointer == expected.get("pointer", said.pointer)
    )


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_rule_has_cases(rule: Rule) -> None:
    path = FOLDER / f"{rule.code}.yaml"
    assert path.is_file(), f"{rule.code} has no case file"
    content = _load(path)
    assert content["rule"] == rule.code
    for kind in ("fires", "silent"):
        assert len(content[kind]) >= 2, f"{rule.code} has fewer than two cases under {kind}"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_rule_is_documented(rule: Rule) -> None:
    lines = [line.strip() for line in rule.text.splitlines()]
    assert lines, f"{rule.code} has no docstring"
    assert lines[0].endswith("."), f"{rule.code} starts with no sentence"
    found = [line.removesuffix(":") for line in lines if line.removesuffix(":") in HEADINGS]
    assert found == list(HEADINGS), f"{rule.code} has the headings {found}"


def test_the_module_is_known_from_the_code() -> None:
    for rule in all_rules():
        module = rule.function.__module__.rpartition(".")[2]
        assert module.startswith(rule.code[:4].lower()), f"{rule.code} lives in {module}"


def test_names_are_used_once() -> None:
    names = [r.name for r in all_rules()]
    assert sorted(names) == sorted(set(names))
