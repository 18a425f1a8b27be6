"""Every rule on its case file: it speaks where it must and is silent on the near misses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits
from benchlint.checker.finding import Finding
from benchlint.checker.registry import Rule, all_rules

FOLDER = Path(__file__).parent / "cases"
HEADINGS = ("What it does:", "Why it matters:", "Example:", "Instead:", "Sources:")


class _DigitsLoader(yaml.SafeLoader):
    """Keeps the digits of numbers as they are written in the case file."""


def _digits(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Digits:
    return Digits(loader.construct_scalar(node))


_DigitsLoader.add_constructor("tag:yaml.org,2002:float", _digits)


@dataclass(frozen=True)
class Case:
    """One report of a case file, and what the rule must say about it."""

    code: str
    fires: bool
    content: dict[str, Any]

    def findings(self) -> list[Finding]:
        """What the check says of the report under this rule's code."""
        tree = {"benchlint": "1", **self.content["report"]}
        return [f for f in check_tree(tree) if f.code == self.code]


def _load(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text("utf-8"), Loader=_DigitsLoader)  # noqa: S506 - a SafeLoader


def _cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("BL*.yaml")):
        content = _load(path)
        for kind in ("fires", "silent"):
            for number, case in enumerate(content.get(kind) or (), 1):
                if "report" in case:
                    name = f"{path.stem}-{kind}-{number}"
                    yield pytest.param(Case(path.stem, kind == "fires", case), id=name)


@pytest.mark.parametrize("case", list(_cases()))
def test_case(case: Case) -> None:
    findings = case.findings()
    why = case.content["why"]
    if not case.fires:
        assert findings == [], why
        return
    assert findings, why
    expected = {
        key: case.content[key] for key in ("severity", "message", "pointer") if key in case.content
    }
    assert any(_matches(f, expected) for f in findings), f"{why}: {findings}"


def _matches(finding: Finding, expected: dict[str, str]) -> bool:
    return (
        finding.severity == expected.get("severity", finding.severity)
        and expected.get("message", "") in finding.message
        and finding.pointer == expected.get("pointer", finding.pointer)
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
    found = [line for line in lines if line in HEADINGS]
    assert found == list(HEADINGS), f"{rule.code} has the headings {found}"


def test_the_module_is_known_from_the_code() -> None:
    for rule in all_rules():
        module = rule.function.__module__.rpartition(".")[2]
        assert module.startswith(rule.code[:4].lower()), f"{rule.code} lives in {module}"


def test_names_are_used_once() -> None:
    names = [r.name for r in all_rules()]
    assert sorted(names) == sorted(set(names))
