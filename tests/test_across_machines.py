"""A report that was measured on a GPU, run again on whatever processor this is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlint.checker.one_report import read_one
from benchlint.engine_options import EngineOptions
from benchlint.reproducers.design import BLOCK
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.reproduction import Task, run_again
from benchlint.reproducers.verdict_files import judged
from benchlint.reproducers.verdicts import Outcome

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "examples" / "tiny-pair" / "h200.json"
ENGINE = EngineOptions(
    target_model=str(ROOT / "tests" / "models" / "target-q8_0.gguf"),
    draft_model=str(ROOT / "tests" / "models" / "draft-q8_0.gguf"),
    engine="llama-cpp",
    threads=1,
    gpu_layers="0",
)


def test_acceptance_carries_over_to_a_processor_and_speeds_do_not(tmp_path: Path) -> None:
    report = read_one(str(REPORT), limit_bytes=1 << 24)
    wishes = Wishes(folder=REPORT.parent, pairs=BLOCK)
    with ENGINE.chosen() as chosen:
        assert run_again(Task(report, wishes, "0"), chosen, tmp_path, go_on=False)
    judgement = judged(tmp_path).judgement
    assert judgement.exit_code in (0, 3)
    outcomes = {each.pointer: each.verdict.outcome for each in judgement.rulings}
    assert Outcome.REFUTED not in outcomes.values()
    acceptance = {p: each for p, each in outcomes.items() if "/speculation/" in p}
    assert len(acceptance) == 10
    assert set(acceptance.values()) == {Outcome.REPRODUCED}
    assert outcomes["/claims/0"] is Outcome.REPRODUCED, "of accepted lengths"
    speeds = {outcome for p, outcome in outcomes.items() if p.endswith("/tok_s/value")}
    assert speeds == {Outcome.NOT_TESTABLE}
