"""`measure` with llama.cpp in this process, and its report run again there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.numbers import reported
from benchlint.checker.one_report import read_one
from benchlint.checker.tree import Digits
from benchlint.engine_options import EngineOptions
from benchlint.reproducers.design import BLOCK
from benchlint.reproducers.engine import Sampling
from benchlint.reproducers.journal import read
from benchlint.reproducers.judgement import Judgement, judge
from benchlint.reproducers.measure_arms import ArmWishes
from benchlint.reproducers.measurement import Task, Written, measure_task, write_report
from benchlint.reproducers.plan import UNSTEADY, Circumstances
from benchlint.reproducers.plan_data import journal_plan
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.reproduction import Task as Reproduction
from benchlint.reproducers.reproduction import run_again
from benchlint.reproducers.verdict_files import judged
from benchlint.reproducers.verdicts import Outcome
from benchlint.reproducers.workloads import bundled, first_of
from benchlint.reproducers.workloads.texts import bundled_text
from benchlint.what_is_missing import findings_of

pytestmark = pytest.mark.engine

MODELS = Path(__file__).parent / "models"
ENGINE = EngineOptions(
    target_model=str(MODELS / "target-q8_0.gguf"),
    draft_model=str(MODELS / "draft-q8_0.gguf"),
    engine="llama-cpp",
    threads=1,
    gpu_layers="0",
)
ARMS = ArmWishes(
    ("draft_model", "prompt_lookup"),
    (2, 4),
    sampling=Sampling(temperature=0.0),
    kv_types=("f16", "f16"),
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("measured")
    task = Task(
        ARMS,
        tuple(first_of(bundled(name), 3) for name in ("code", "tool_call")),
        "0",
        circumstances=Circumstances(max_tokens=64),
        pairs=BLOCK,
        text=bundled_text(),
    )
    with ENGINE.chosen() as chosen:
        assert measure_task(task, chosen, folder, go_on=False).reason == "last_look"
    return write_report(folder)


@pytest.fixture(scope="module")
def again(measured: Written, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the report run again."""
    folder = tmp_path_factory.mktemp("again")
    report = read_one(str(measured.path), limit_bytes=1 << 24)
    wishes = Wishes(folder=measured.path.parent, pairs=BLOCK)
    with ENGINE.chosen() as chosen:
        assert run_again(Reproduction(report, wishes, "0"), chosen, folder, go_on=False)
    return folder


def test_the_report_is_complete_with_its_quality(measured: Written) -> None:
    report = measured.report
    assert len(report["runs"]) == 2 * 5
    [quality] = report["quality"]
    assert quality["metric"] == "perplexity"
    assert 1 < quality["value"] < 1000
    found = findings_of(report)
    assert [f for f in found if f.severity != "note"] == []
    counts = {
        run["id"]: run["speculation"]["counts"] for run in report["runs"] if "speculation" in run
    }
    for each in counts.values():
        passes = each["verify_steps"] + each["plain_steps"]
        assert 0 <= each["requests"] + passes + each["accepted"] - each["output_tokens"] <= 4 * 24


def test_it_is_reproduced_to_the_last_digit(again: Path) -> None:
    judgement = judged(again).judgement
    assert judgement.exit_code in (0, 3)
    outcomes = {r.pointer: r.verdict.outcome for r in judgement.rulings}
    assert Outcome.REFUTED not in outcomes.values()
    exact = [p for p in outcomes if any(e in p for e in ("/speculation/", "/losslessness/match"))]
    assert len(exact) > 40
    assert {outcomes[pointer] for pointer in exact} == {Outcome.REPRODUCED}
    assert outcomes["/quality/0/value"] is Outcome.REPRODUCED


def test_what_a_draft_model_does_is_known_to_be_the_same(again: Path) -> None:
    withheld = {
        name: each.pointer for each in judged(again).judgement.rulings for name in each.withheld
    }
    busy = {"what else runs here", "other load", UNSTEADY}
    assert set(withheld) - busy <= {"drafter"}, "of what is looked up"


@pytest.mark.parametrize(
    ("path", "factor"),
    [
        ("speculation/accepted_length/value", 1.3),
        ("speculation/acceptance_rate/value", 1.6),
    ],
)
def test_a_false_number_is_refuted_and_the_others_are_not(
    again: Path, path: str, factor: float
) -> None:
    journal = read(again / "samples.jsonl")
    plan = journal_plan(journal, "samples.jsonl")
    pointer = f"/runs/1/{path}"
    checks = tuple(_scaled(c, factor) if c.pointer == pointer else c for c in plan.checks)
    before, after = judge(plan, journal), judge(replace(plan, checks=checks), journal)
    assert _changed(before, after) == {pointer: Outcome.REFUTED}
    assert after.exit_code == 1


def _scaled(check: Any, factor: float) -> Any:
    printed = Digits(f"{factor * check.claimed.value:.4f}")
    return replace(check, claimed=reported(printed, check.pointer))


def _changed(before: Judgement, after: Judgement) -> dict[str, Outcome]:
    pairs = zip(before.rulings, after.rulings, strict=True)
    changed = (b for a, b in pairs if a.verdict.outcome is not b.verdict.outcome)
    return {each.pointer: each.verdict.outcome for each in changed}
