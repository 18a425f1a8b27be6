"""Shares of what memory allows: of the device here, and of the report's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.reproducers.engine import Description
from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import Judgement, judge
from benchlint.reproducers.plan import Plan
from benchlint.reproducers.rooflines import (
    NOT_KNOWN_HERE,
    ceiling_here,
    roofline_of,
    share_shown,
)
from benchlint.reproducers.verdict_markdown import verdict_markdown
from tests.bench_journal import Bench, Json, Truth, lines, started
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, cells

#: A dense model of 8 B parameters in Q4_K_M: 0.88 of the file is read.
TARGET = {
    "name": "Qwen3-8B",
    "parameters": 8_190_735_360,
    "size_bytes": 5_020_000_000,
    "quantization": "Q4_K - Medium",
    "architecture": "qwen3",
}
READ = 5.02 * 0.88
H200 = {"device": "NVIDIA H200", "device count": 1, "cpu": "EPYC 9654"}
TRUTHS = {"plain": Truth(pass_ms=2.0), "fast": Truth((0.8, 0.7, 0.6, 0.5), 3.0)}


def description(backend: str | None = "CUDA", **target: Any) -> Description:
    return Description("llama.cpp", backend=backend, target={**TARGET, **target})


def test_the_ceiling_here_is_bandwidth_over_the_weights() -> None:
    found = ceiling_here(H200, description(), None)
    assert found is not None
    assert (found.device, found.bandwidth_gbs) == ("H200 SXM (the fastest of that name)", 4800)
    assert found.pass_bytes == pytest.approx(READ * 1e9)
    assert found.passes_s == pytest.approx(4800 / READ)


def test_where_the_processor_does_the_work_its_memory_counts() -> None:
    found = ceiling_here(H200, description("CPU"), None)
    assert found is not None
    assert found.bandwidth_gbs == 460.8


def test_layers_over_two_devices_are_read_one_device_at_a_time() -> None:
    two = {**H200, "device count": 2}
    split, spread = (
        ceiling_here(two, replace(description(), engine=name), None)
        for name in ("llama.cpp", "vllm")
    )
    assert split is not None
    assert spread is not None
    assert spread.bandwidth_gbs == 2 * split.bandwidth_gbs == 9600


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        ({}, {}),
        ({"device": "Bench", "device count": 1}, {}),
        ({"device": "NVIDIA H200, Bench", "device count": 2}, {}),
        ({"device": 7, "device count": "many"}, {}),
        (H200, {"name": "Mixtral", "architecture": "qwen3moe"}),
        (H200, {"name": 3, "parameters": "8 B", "size_bytes": None, "quantization": None}),
        (H200, {"parameters": -1, "size_bytes": -1, "name": "x"}),
    ],
)
def test_what_is_not_known_gives_no_ceiling(machine: Json, target: Json) -> None:
    assert ceiling_here(machine, description(**target), None) is None


def test_a_mixture_reads_its_active_experts() -> None:
    told = {"name": "Qwen3 30B A3B", "parameters": 30.5e9, "size_bytes": 18.6e9}
    found = ceiling_here(H200, description(**told, architecture="qwen3moe"), None)
    assert found is not None
    assert found.pass_bytes < 3e9


ODD = st.none() | st.booleans() | st.text(max_size=300) | st.integers() | st.floats()
HUGE = st.sampled_from([10**400, -(10**400), 1e300, 5e-324, "NVIDIA H200", "Qwen3-8B", "Q4_K_M"])


@given(
    st.dictionaries(st.sampled_from(["device", "device count", "cpu"]), ODD | HUGE),
    st.dictionaries(st.sampled_from(list(TARGET)), ODD | HUGE),
    st.sampled_from(["CPU", "CUDA", None]),
)
def test_whatever_a_journal_says_there_is_a_ceiling_or_none(
    machine: Json, target: Json, backend: str | None
) -> None:
    found = ceiling_here(machine, Description("llama.cpp", backend=backend, target=target), None)
    assert found is None or 0 < found.passes_s < float("inf")


REPORT: Json = {
    "benchlint": "1",
    "machine": {"devices": [{"name": "RTX 4090", "count": 1}]},
    "engine": {"name": "llama.cpp"},
    "target": {
        "name": "Qwen3-8B",
        "architecture": "dense",
        "quantization": {"recipe": "Q4_K_M", "file_size_gb": 5.02},
    },
    "configurations": {
        "plain": {"drafter": None},
        "fast": {"drafter": {"method": "draft_model", "model": "D"}, "draft_length": 4},
    },
    "runs": [
        {"id": "plain", "configuration": "plain", "decode": {"tok_s": 150.0}},
        {
            "id": "fast",
            "configuration": "fast",
            "decode": {"tok_s": 300.0},
            "speculation": {"accepted_length": {"value": 3.0, "counts_bonus_token": True}},
        },
    ],
}


def report(**run: Any) -> ReportFacts:
    """The report with members of its second run replaced."""
    first, second = REPORT["runs"]
    tree = {**REPORT, "runs": [first, {**second, **run}]}
    return ReportFacts(Report.model_validate(tree))


def test_the_reports_speed_stands_under_its_own_ceiling() -> None:
    plain, fast = (roofline_of(run) for run in report().runs)
    assert plain is not None
    assert fast is not None
    assert plain.ceiling == fast.ceiling
    assert plain.ceiling.passes_s == pytest.approx(1008 / READ)
    assert plain.ceiling.certain
    assert plain.share == pytest.approx(150 * READ / 1008)
    assert fast.passes_s == pytest.approx(100.0)
    assert fast.share == pytest.approx(100 * READ / 1008)


def test_a_speed_whose_passes_nobody_knows_has_no_share() -> None:
    found = roofline_of(report(speculation={}).runs[1])
    assert found is not None
    assert (found.passes_s, found.share) == (None, None)
    assert roofline_of(report(decode={}).runs[1]) is None
    assert roofline_of(report(conditions={"concurrency": 8}).runs[1]) is None


def judged(facts: ReportFacts | None, **machine: Any) -> Judgement:
    plan = Plan(tuple(replace(cell, runs=(cell.arm.name,)) for cell in cells()))
    starts = [started(PLAIN, "plain"), started(FAST, "fast")]
    for each in starts:
        each["description"] |= {"backend": "CUDA", "target": TARGET}
    rounds = Bench(TRUTHS, noise=0.0).rounds(ARMS, PROMPTS, range(4))
    data = lines(plan.sha256, [*starts, *rounds], machine={**H200, **machine})
    return judge(plan, parse(data, "samples.jsonl"), report=facts)


def test_speeds_of_two_devices_stand_side_by_side() -> None:
    found = judged(report())
    plain, fast = found.cells
    assert plain.roofline is not None
    assert fast.roofline is not None
    assert plain.roofline.share == pytest.approx(500 / (4800 / READ), rel=0.01)
    assert fast.roofline.passes_s == pytest.approx(1000 / 3.0, rel=0.01)
    assert [name for name, _ in fast.stated] == ["fast"]
    assert fast.stated[0][1].ceiling.device == "GeForce RTX 4090"
    text = verdict_markdown(found)
    here = next(line for line in text.splitlines() if "| here | `H200 SXM" in line)
    assert "about 46 %" in here, "nobody here says that the model is dense"
    assert "report, `plain`" in text
    assert NOT_KNOWN_HERE not in text


def test_a_machine_whose_memory_is_not_known_is_told() -> None:
    text = verdict_markdown(judged(report(), device="NVIDIA Z9999"))
    assert "| here | `" not in text
    assert f"\n\n{NOT_KNOWN_HERE}\n" in text
    assert NOT_KNOWN_HERE not in verdict_markdown(judged(None, device="NVIDIA Z9999"))


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.004, "0.4 %"),
        (0.00027, "0.03 %"),
        (0.01, "1 %"),
        (0.934, "93 %"),
        (1.2, "120 %"),
        (0, "0 %"),
    ],
)
def test_a_small_share_is_not_none(share: float, shown: str) -> None:
    assert share_shown(share) == shown


def test_a_report_that_names_no_device_leaves_its_side_out() -> None:
    facts = ReportFacts(Report.model_validate({**REPORT, "machine": {}}))
    assert all(cell.roofline is not None and not cell.stated for cell in judged(facts).cells)
    assert all(cell.roofline is None for cell in judged(report(), device="Bench").cells)
    assert all(not cell.stated for cell in judged(None).cells)


def test_the_reports_weights_count_where_the_engine_tells_none() -> None:
    told = Description("vllm", target={"name": "served"})
    assert ceiling_here(H200, told, None) is None
    found = ceiling_here(H200, told, report().configuration("plain"))
    assert found is not None
    assert found.pass_bytes == pytest.approx(READ * 1e9)
