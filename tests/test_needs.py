"""A rule that says what it needs of a run is silent about runs that do not give it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.model import Report, Run
from benchlint.checker.registry import Rule, all_rules
from benchlint.checker.validate import validate

CASES = Path(__file__).parent / "cases"
NEEDY = [rule for rule in all_rules() if rule.needs]


@cache
def reports() -> tuple[Report, ...]:
    """The reports of all case files, as far as they fit the format."""
    files = (yaml.safe_load(path.read_text("utf-8")) for path in sorted(CASES.glob("BL*.yaml")))
    cases = (case for file in files for kind in ("fires", "silent") for case in file[kind])
    found = (validate({"benchlint": "1", **c["report"]})[0] for c in cases if "report" in c)
    return tuple(report for report in found if report is not None and report.runs)


def runs_without(need: str) -> Iterator[RunFacts]:
    """Every run that is about the rest of what is needed, but not about this."""
    for report in reports():
        bare = [_without(run, *need.split(".")) for run in report.runs or ()]
        yield from ReportFacts(report.model_copy(update={"runs": bare})).runs


def _without(run: Run, member: str, inner: str = "") -> Run:
    block = getattr(run, member)
    if not inner or block is None:
        return run.model_copy(update={member: None})
    return run.model_copy(update={member: block.model_copy(update={inner: None})})


def test_some_rules_need_something() -> None:
    assert len(NEEDY) > 20
    assert all(rule.scope == "run" for rule in NEEDY)


@pytest.mark.parametrize("rule", NEEDY, ids=lambda r: r.code)
def test_silent_without_what_it_needs(rule: Rule) -> None:
    for need in rule.needs:
        spoken = [problem for run in runs_without(need) for problem in rule.function(run)]
        assert spoken == []


def test_runs_are_known_by_what_they_give() -> None:
    tree: dict[str, Any] = {
        "benchlint": "1",
        "runs": [
            {"id": "a", "decode": {"tok_s": 1.5}},
            {"id": "b", "decode": {"seconds": 2}, "void": "a slip"},
            {"id": "c", "decode": {"seconds": 2}},
        ],
    }
    given = ReportFacts(Report.model_validate(tree)).runs_by_member
    assert [run.id for run in given["decode"]] == ["a", "c"]
    assert [run.id for run in given["decode.seconds"]] == ["c"]
    assert "throughput" not in given
