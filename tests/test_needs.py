"""A rule that says what it needs is silent where that is not given, and is not even asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.facts import ReportFacts
from benchlint.checker.given import given_by, needs_of
from benchlint.checker.model import Report, Run
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


def test_paths_of_members() -> None:
    run = Run.model_validate(
        {
            "id": "a",
            "decode": {"tok_s": {"value": 1.5, "stdev": 0.5}, "seconds": 2, "tokens": None},
            "conditions": {"kv_position": {"filled_tokens": 9}},
        }
    )
    given = given_by(run)
    assert given.paths == {
        *("id", "decode", "decode.tok_s", "decode.tok_s.value", "decode.tok_s.stdev"),
        *("*.value", "*.stdev", "decode.seconds"),
        *("conditions", "conditions.kv_position", "conditions.kv_position.filled_tokens"),
    }
    assert given.measured == ("decode.tok_s",)
    assert given_by(Run.model_validate({"id": "b"})).paths == {"id"}


def test_measured_objects_are_in_order_of_the_format() -> None:
    number = {"value": 1.5}
    blocks = {"speedup": number, "decode": {"seconds": number, "tok_s": number}}
    given = given_by(Run.model_validate({"id": "a", "step_time_ms": number, **blocks}))
    assert given.measured == ("decode.tok_s", "decode.seconds", "step_time_ms", "speedup")


def test_a_report_gives_what_its_parts_give() -> None:
    tree = {
        "engine": {"name": "vllm"},
        "machine": {"devices": [{"name": "A"}, {"count": 2}]},
        "configurations": {
            "a": {"drafter": [{"method": "mtp"}]},
            "b": {"engine": {"version": "1"}},
        },
        "runs": [{"id": "a", "decode": {"tok_s": 1.5}}, {"id": "b", "void": "-", "memory": {}}],
        "claims": [{"of": "a"}, {"to": "a"}],
    }
    paths = ReportFacts(Report.model_validate(tree)).given.paths
    assert {"engine.name", "engine.version", "configurations.engine.version"} <= paths
    assert {"machine.devices.name", "machine.devices.count"} <= paths
    assert {"configurations.drafter.method", "runs.decode.tok_s", "claims.of", "claims.to"} <= paths
    assert "runs.memory" not in paths


def test_needs_are_paths_with_alternatives() -> None:
    given = given_by(Run.model_validate({"id": "a", "decode": {"tok_s": 1.5}}))
    assert given.meets(needs_of(["decode.tok_s"]))
    assert given.meets(needs_of(["prefill | decode.tok_s", "decode"]))
    assert not given.meets(needs_of(["prefill | decode.tok_s", "workload"]))
    assert given.meets(needs_of([]))
