"""A plan goes into a journal and comes back as it was; what somebody changed does not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.document import parse_text
from benchlint.checker.facts import ReportFacts
from benchlint.checker.one_report import read_one
from benchlint.checker.validate import validate
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.journal import Header, JournalError, Planned, ReportText, create, read
from benchlint.reproducers.plan import Cell, Circumstances, Plan, Scoring, Untestable
from benchlint.reproducers.plan_data import journal_plan, plan_data, plan_of, planned
from benchlint.reproducers.report_plan import report_plan
from benchlint.reproducers.workloads import Prompt, PromptSet
from benchlint.reproducers.workloads.texts import Text
from tests.simulator import honest_report
from tests.two_arm_plans import FAST, PLAIN, check
from tests.two_arm_plans import plan_of as plan_with

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.json"))
KEY = "sk-proj-Zq81kfWm20bRt64xTy7d"


def _simulated(seed: int) -> Plan:
    parsed = parse_text(honest_report(seed), "a.json")
    assert parsed.document is not None
    report, _ = validate(parsed.document.tree)
    assert report is not None
    return report_plan(ReportFacts(report))


def _plans() -> list[Plan]:
    examples = [report_plan(read_one(str(path), limit_bytes=10**7).facts) for path in EXAMPLES]
    return [*examples, *map(_simulated, range(20)), _odd_plan(), Plan(())]


def _odd_plan() -> Plan:
    """Everything that a plan can hold, with texts of all kinds."""
    arm = Arm(
        "ä\n\0 b", "ngram", 3, 0.1, "gpu", Sampling(0.7, 0.9, 40, seed=7), 8192, ("q8_0", "f16")
    )
    prompts = PromptSet("p\u2028", (Prompt("é", "token = abcdef0123456789abc \U0001f642"),))
    cell = Cell("a", "s", arm, prompts, Circumstances(10, 3, ignore_eos=True, chat=False), 7, None)
    return Plan(
        (cell,),
        (check("decode.tok_s", "41.50", of=("a",), withheld=("device",)),),
        (Untestable("/claims/1", "it", "no", ("a",)),),
        (Scoring("x", arm, 512, Text("t\u2029", "a\r\nb \U0001f642"), None),),
    )


@pytest.mark.parametrize("plan", _plans())
def test_a_plan_comes_back_as_it_was(plan: Plan, tmp_path: Path) -> None:
    record, found = planned(plan)
    assert found == plan
    assert found.sha256 == plan.sha256
    assert repr(found) == repr(plan)  # 1 and 1.0 are equal and not the same
    path = tmp_path / "samples.jsonl"
    create(path, Header(found.sha256, "0", 0.0), planned=record).close()
    assert journal_plan(read(path), "s") == plan


def test_secrets_are_gone_before_anything_is_measured() -> None:
    prompts = PromptSet("p", (Prompt("a", f"my key is {KEY}"), Prompt("b", "and home-key-1")))
    plan = Plan(tuple(replace(cell, prompts=prompts) for cell in plan_with([]).cells))
    record, found = planned(plan, ReportText("{}", "a.json"), secrets=["home-key-1"])
    assert [p.text for p in found.cells[0].prompts.prompts] == [
        "my key is <redacted>",
        "and <redacted>",
    ]
    assert plan_of(record) == found


def _edited(edit: Callable[[Any], object]) -> Planned:
    data = copy.deepcopy(dict(plan_data(plan_with([check("speedup", "2.0")]))))
    data = json.loads(json.dumps(data))
    edit(data)
    return Planned(data)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.pop("cells"), "cells: Field required"),
        (lambda d: d["cells"].append(d["cells"][0]), "two cells have one name"),
        (lambda d: d["checks"].append(d["checks"][0]), "two checks have one place"),
        (lambda d: d["cells"].pop(0), "names a cell that it does not have"),
        (lambda d: d["checks"][0].update(of=["nobody"]), "names a cell that it does not have"),
        (lambda d: d["cells"][0].update(pairs=0), "no prompts or no rounds"),
        (lambda d: d["cells"][0]["prompts"].update(prompts=[]), "no prompts or no rounds"),
        (lambda d: d["checks"][0].update(claimed=None), "gives no value for its number"),
        (lambda d: d["checks"][0].update(quantity="perplexity"), "tests the perplexity of a cell"),
        (lambda d: d["checks"][0].update(tolerance=-2.0), "no tolerance"),
        (lambda d: d["checks"][0].update(metric="x"), "'x' is nothing that answers tell"),
        (lambda d: d["checks"][0].update(metric="a.values.-1"), "nothing that answers tell"),
        (lambda d: d["checks"][0].update(quantity="mood"), "checks.0.quantity: "),
        (lambda d: d["cells"][0]["arm"].update(draft_length="4"), "arm.draft_length: "),
    ],
)
def test_a_plan_that_was_changed_is_told(edit: Callable[[Any], object], message: str) -> None:
    with pytest.raises(JournalError, match=message) as raised:
        plan_of(_edited(edit))
    assert "the journal's plan was damaged or changed" in str(raised.value)


def test_a_plan_of_another_hash_is_told(tmp_path: Path) -> None:
    record, _ = planned(plan_with([]))
    create(tmp_path / "s", Header("0" * 64, "0", 0.0), planned=record).close()
    with pytest.raises(JournalError, match="does not have the hash of the first line"):
        journal_plan(read(tmp_path / "s"), "s")


def test_a_journal_without_a_plan_gives_no_verdict(tmp_path: Path) -> None:
    create(tmp_path / "s", Header("0" * 64, "0", 0.0)).close()
    with pytest.raises(JournalError, match="s: carries no plan"):
        journal_plan(read(tmp_path / "s"), "s")


def test_both_arms_of_the_edited_plan_are_checked() -> None:
    found = plan_of(_edited(lambda _: None))
    assert (found.checks[0].of, found.checks[0].to) == ((FAST,), (PLAIN,))
