"""A rule that says what it needs is silent where that is not given, and is not even asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.facts import ReportFacts
from benchlint.checker.registry import Problem, Rule, all_rules
from benchlint.checker.validate import validate

CASES = Path(__file__).parent / "cases"
NEEDY = [rule for rule in all_rules() if rule.needs]


@cache
def reports_of(files: str) -> tuple[dict[str, Any], ...]:
    """The reports of a rule's case file, or of several."""
    read = (yaml.safe_load(path.read_text("utf-8")) for path in sorted(CASES.glob(f"{files}.yaml")))
    found = (case for file in read for kind in ("fires", "silent") for case in file[kind])
    return tuple({"benchlint": "1", **case["report"]} for case in found if "report" in case)


def subjects(rule: Rule, tree: object) -> tuple[Any, ...]:
    """What the rule is about in a report, as far as that fits the format."""
    report, _ = validate(tree)
    if report is None:
        return ()
    facts = ReportFacts(report)
    by_scope = {"run": facts.runs, "claim": facts.claims, "quality": facts.quality}
    return tuple(by_scope.get(rule.scope, [facts]))


def variants(tree: Any) -> Iterator[Any]:
    """The tree without one of its members, for each of them wherever it is."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield {k: v for k, v in tree.items() if k != name}
            yield from (tree | {name: each} for each in variants(value))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from ([*tree[:i], each, *tree[i + 1 :]] for each in variants(value))


def spoken_unasked(rule: Rule, tree: object) -> tuple[int, list[Problem]]:
    """How many subjects the rule is not asked about, and what it would say of them."""
    unasked = [each for each in subjects(rule, tree) if not each.given.meets(rule.needs)]
    return len(unasked), [problem for each in unasked for problem in rule.function(each)]


def test_some_rules_need_something() -> None:
    assert len(NEEDY) > 60
    assert {rule.scope for rule in NEEDY} == {"report", "run", "claim", "quality"}


@pytest.mark.parametrize("rule", NEEDY, ids=lambda r: r.code)
def test_silent_without_what_it_needs(rule: Rule) -> None:
    total = 0
    for tree in reports_of(rule.code):
        for each in variants(tree):
            count, spoken = spoken_unasked(rule, each)
            assert spoken == [], each
            total += count
    assert total, "no case lacks what the rule needs"


@pytest.mark.parametrize("rule", NEEDY, ids=lambda r: r.code)
def test_silent_about_reports_of_other_rules(rule: Rule) -> None:
    assert [p for tree in reports_of("BL*")[::8] for p in spoken_unasked(rule, tree)[1]] == []
