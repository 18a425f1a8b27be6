"""From a report to a plan: what is tested, what is not, and why."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlint.checker.claims import Relation
from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.design import BLOCK, FULL
from benchlint.reproducers.engine import Sampling
from benchlint.reproducers.plan import Check, Plan
from benchlint.reproducers.report_cells import STAND_INS, STAND_INS_FAR, Wishes, stand_ins
from benchlint.reproducers.report_plan import POSITIONS, QUANTITIES, report_plan
from benchlint.reproducers.verdicts import Quantity
from benchlint.reproducers.workloads import Prompt, PromptSet, bundled
from benchlint.reproducers.workloads.texts import Text, bundled_text

EXAMPLES = Path(__file__).parents[1] / "examples"

HERE = Here(
    device="NVIDIA H200",
    device_count=1,
    engine="llama.cpp",
    version="b9000",
    target_sha256="a" * 64,
    drafter_sha256="b" * 64,
    thinking=False,
)

#: A report that says all that has to be known, so that its numbers can even be refuted.
WHOLE: dict[str, Any] = {
    "benchlint": "1",
    "machine": {"devices": [{"name": "NVIDIA H200", "count": 1}]},
    "engine": {"name": "llama.cpp", "version": "b9000"},
    "target": {"name": "T", "quantization": {"recipe": "Q8_0", "sha256": "a" * 64}},
    "configurations": {
        "plain": {
            "drafter": None,
            "sampler": {"temperature": 0.0},
            "kv_cache": {"target_type": "f16", "drafter_type": "f16", "max_context_tokens": 8192},
        },
        "fast": {
            "based_on": "plain",
            "drafter": {"method": "draft_model", "quantization": {"sha256": "b" * 64}},
            "draft_length": {"max": 7, "policy": "fixed", "p_min": 0.0},
        },
        "k3": {"based_on": "fast", "draft_length": {"max": 3, "policy": "fixed", "p_min": 0.0}},
    },
    "workloads": {
        "code": {
            "mix": {"code": 1.0},
            "prompts": {"set": "code", "sha256": bundled("code").sha256},
            "output_tokens": 512,
            "thinking": False,
            "chat_template": "default",
        }
    },
    "runs": [
        {
            "id": "plain",
            "configuration": "plain",
            "workload": "code",
            "conditions": {"concurrency": 1},
            "decode": {"tok_s": 20.5},
        },
        {
            "id": "fast",
            "configuration": "fast",
            "workload": "code",
            "conditions": {"concurrency": 1},
            "decode": {"tok_s": 61.5},
            "speculation": {"accepted_length": {"value": 4.25, "counts_bonus_token": True}},
        },
    ],
}


def report(*edits: tuple[str, Any]) -> ReportFacts:
    """The whole report with members replaced, by paths such as "runs.0.decode.tok_s"."""
    tree: Any = copy.deepcopy(WHOLE)
    for path, value in edits:
        *parents, last = path.split(".")
        node = tree
        for part in parents:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        if isinstance(node, list):
            node.append(value)
        else:
            node[last] = value
    text = json.dumps(tree)
    return ReportFacts(Report.model_validate(json.loads(text, parse_float=Digits)))


def plan_of(*edits: tuple[str, Any], here: Here = HERE, **wishes: Any) -> Plan:
    return report_plan(report(*edits), Wishes(here=here, **wishes))


def check(plan: Plan, pointer: str) -> Check:
    [found] = [each for each in plan.checks if each.pointer == pointer]
    return found


def reason(plan: Plan, pointer: str) -> str:
    [found] = [each for each in plan.untestable if each.pointer == pointer]
    return found.reason


def a_claim(relation: str, value: Any = None, **more: Any) -> tuple[str, Any]:
    claim = {"metric": "decode.tok_s", "of": "fast", "to": "plain", "relation": relation, **more}
    kept = {name: each for name, each in claim.items() if each is not None}
    return "claims", [kept if value is None else {**kept, "value": value}]


SPEED, TAU = "/runs/1/decode/tok_s", "/runs/1/speculation/accepted_length/value"


# Cells


def test_a_run_becomes_a_cell_with_its_arm_prompts_and_conditions() -> None:
    plan = plan_of()
    plain, fast = plan.cells
    assert (plain.name, fast.name) == ("plain on 'code'", "fast on 'code'")
    assert plan.series == {"'code'": (plain, fast)}
    assert (plain.arm.method, fast.arm.method) == (None, "draft_model")
    assert (fast.arm.draft_length, fast.arm.p_min) == (7, 0.0)
    assert fast.arm.sampling == Sampling(temperature=0.0)
    assert fast.arm.kv_types == ("f16", "f16")
    assert fast.prompts == bundled("code")
    assert fast.prompts_are_published is True
    assert (fast.circumstances.max_tokens, fast.circumstances.chat) == (512, True)
    assert (fast.runs, fast.pairs) == (("fast",), FULL)


def test_what_a_workload_and_a_configuration_ask_for() -> None:
    [_, fast] = plan_of(
        ("workloads.code.stop_rule", "ignore_eos"),
        ("workloads.code.chat_template", "None"),
        ("configurations.fast.draft_selection", {"placement": "cpu"}),
        ("configurations.fast.draft_length.p_min", 0.25),
        ("configurations.fast.sampler", {"temperature": 0.7, "top_k": 20, "seed": 3}),
    ).cells
    assert (fast.circumstances.ignore_eos, fast.circumstances.chat) == (True, False)
    assert (fast.arm.draft_selection, fast.arm.p_min) == ("cpu", 0.25)
    assert fast.arm.sampling == Sampling(temperature=0.7, top_k=20, seed=3)


def test_runs_that_are_measured_alike_share_a_cell() -> None:
    again = {**WHOLE["runs"][1], "id": "again", "memory": {"device_used_mib": 9000.5}}
    plan = plan_of(("runs.2", again), ("configurations.plain.kv_cache.max_context_tokens", 99999))
    assert [cell.runs for cell in plan.cells] == [("plain",), ("fast", "again")]
    assert plan.cells[0].arm.context_tokens < 99999
    assert plan.cells[1].arm.context_tokens == 99999
    assert check(plan, "/runs/2/decode/tok_s").of == ("fast on 'code'",)


def test_a_series_without_a_baseline_gets_one() -> None:
    plan = plan_of(("runs", [WHOLE["runs"][1]]), ("configurations.baseline", {"drafter": None}))
    added, fast = plan.series["'code'"]
    assert (added.name, added.runs) == ("baseline of 'code'", ())
    assert (added.arm.method, added.arm.sampling) == (None, fast.arm.sampling)


def test_a_position_is_filled_in_a_series_of_its_own() -> None:
    far = {
        **WHOLE["runs"][0],
        "id": "far",
        "conditions": {"concurrency": 1, "kv_position": {"filled_tokens": 60000}},
    }
    plan = plan_of(("runs.2", far))
    cell = plan.cells[2]
    assert cell.series == "'code' at 60000"
    assert cell.circumstances.filled_tokens == 60000
    assert cell.arm.context_tokens >= 60512


@pytest.mark.parametrize(
    ("member", "value", "word"),
    [
        ("drafter", [{"method": "ngram"}, {"method": "mtp"}], "chains several drafters"),
        ("drafter", {"method": "other"}, "drafts by a method that is not known here"),
        ("draft_length", {"max": 7, "tree": {"depth": 3}}, "drafts trees"),
        ("draft_length", 0, "drafts 0 tokens a step"),
        ("acceptance_rule", "relaxed", "accepts drafts by a relaxed rule"),
        ("acceptance_rule", {"kind": "synthetic"}, "accepts drafts by a synthetic rule"),
        ("target", {"parameters_b": 70}, "has other weights than the target here"),
        (
            "target",
            {"quantization": {"recipe": "Q4_K_M"}},
            "has another quantization than the target here",
        ),
    ],
)
def test_what_no_arm_can_express_is_not_measured(member: str, value: Any, word: str) -> None:
    here = Here(target_parameters_b=8.0, target_quantization="Q8_0")
    plan = plan_of((f"configurations.fast.{member}", value), here=here)
    assert [cell.runs for cell in plan.cells] == [("plain",)]
    assert reason(plan, "/runs/1") == word


def test_a_sentence_stands_beside_what_is_tested_of_it() -> None:
    statement = "decode.tok_s of fast is 3.0 × that of plain"
    for more, says, tested in (
        ({}, statement, ""),
        ({"id": "x"}, f"claim 'x': {statement}", ""),
        ({"text": "Thrice as fast!"}, "“Thrice as fast!”", statement),
        ({"text": "Thrice as fast!", "id": "x"}, "claim 'x': “Thrice as fast!”", statement),
    ):
        plan = plan_of(a_claim("ratio", 3.0, **more))
        found = check(plan, "/claims/0")
        assert (found.says, found.tested) == (says, tested)
    vague = plan_of(a_claim("ratio", text="Much faster!"))
    [untestable] = [each for each in vague.untestable if each.pointer == "/claims/0"]
    assert untestable.says == "“Much faster!”"
    assert untestable.tested.startswith("decode.tok_s of fast is")


def test_a_claim_about_a_run_that_is_not_measured_says_which() -> None:
    edit = ("configurations.fast.target", {"quantization": {"recipe": "Q4_K_M"}})
    plan = plan_of(edit, a_claim("ratio", 3.0), here=Here(target_quantization="Q8_0"))
    expected = "run 'fast' has another quantization than the target here"
    assert reason(plan, "/claims/0") == expected


def test_a_run_of_an_unknown_configuration_is_not_measured() -> None:
    plan = plan_of(("runs.1", {"id": "x", "configuration": "y"}), ("configurations.plain", {}))
    assert reason(plan, "/runs/2") == "names no configuration of the report"
    assert reason(plan, "/runs/0") == "does not say whether a drafter ran"


def test_withdrawn_pooled_and_doubled_runs_are_not_measured() -> None:
    runs = [
        {**WHOLE["runs"][0], "void": "too hot"},
        WHOLE["runs"][1],
        {**WHOLE["runs"][1]},
        {**WHOLE["runs"][1], "id": "both", "parts": ["fast", "plain"]},
    ]
    plan = plan_of(("runs", runs), a_claim("ratio", 3.0))
    assert reason(plan, "/runs/0") == "withdrawn: too hot"
    assert reason(plan, "/runs/3") == "pools other runs, which are tested themselves"
    assert reason(plan, "/runs/2") == "another run has the same id"
    assert "was withdrawn" in reason(plan, "/claims/0")
    assert {c.pointer for c in plan.checks} == {SPEED, TAU}


# Prompts


def test_without_published_prompts_numbers_are_only_shown() -> None:
    plan = plan_of(("workloads.code.prompts", None), a_claim("ratio", 3.0))
    assert plan.checks == ()
    for pointer in ("/runs/0/decode/tok_s", SPEED, TAU, "/claims/0"):
        assert reason(plan, pointer) == "prompts not published"
    assert [u.shown for u in plan.untestable][-1] == ("fast on 'code'", "plain on 'code'")
    assert {cell.pairs for cell in plan.cells} == {BLOCK}
    assert {cell.prompts_are_published for cell in plan.cells} == {False}
    assert len(plan.cells[0].prompts) == STAND_INS


def test_prompts_of_the_user_take_the_place_of_those_that_are_not_published() -> None:
    mine = PromptSet("mine", (Prompt("1", "one"),))
    plan = plan_of(("workloads.code.prompts", None), prompts=mine)
    assert {cell.prompts for cell in plan.cells} == {mine}
    assert plan.checks == ()
    named = plan_of(("workloads.code.prompts", {"sha256": mine.sha256}), prompts=mine)
    assert {cell.prompts for cell in named.cells} == {mine}
    assert check(named, TAU).withheld == ()


def test_prompts_that_may_be_others_only_keep_from_refuting() -> None:
    plan = plan_of(("workloads.code.prompts", {"set": "code"}))
    assert check(plan, TAU).withheld == ("prompts",)


def test_a_file_of_prompts_lies_beside_the_report(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('"one"\n')
    edit = ("workloads.code.prompts", {"file": "p.jsonl"})
    plan = plan_of(edit, folder=tmp_path)
    assert plan.cells[0].prompts.prompts == (Prompt("1", "one"),)
    assert check(plan, TAU).withheld == ("prompts",)
    assert "lies in no folder" in reason(plan_of(edit), TAU)


def test_stand_ins_are_of_the_kinds_of_the_mix_in_turn() -> None:
    kinds = [p.id.partition("/")[0] for p in stand_ins(("prose", "ocr", "rag")).prompts]
    assert kinds == ["prose", "rag"] * (STAND_INS // 2)
    assert len({p.id.partition("/")[0] for p in stand_ins(()).prompts}) == 7
    assert stand_ins(("code",)).name == "code"


def test_far_positions_are_shown_with_few_prompts() -> None:
    far = {"kv_position": {"filled_tokens": 200000}}
    plan = plan_of(("workloads.code.prompts", None), ("runs.0.conditions", far))
    assert len(plan.cells[0].prompts) == STAND_INS_FAR


# Numbers


def test_a_report_that_says_all_can_be_refuted() -> None:
    plan = plan_of(a_claim("ratio", 3.0))
    assert plan.untestable == ()
    assert [(c.pointer, c.quantity, c.withheld) for c in plan.checks] == [
        ("/runs/0/decode/tok_s", Quantity.SPEED, ()),
        (SPEED, Quantity.SPEED, ()),
        (TAU, Quantity.ACCEPTANCE, ()),
        ("/claims/0", Quantity.SPEEDUP, ()),
    ]
    claim = plan.checks[-1]
    assert (claim.of, claim.to) == (("fast on 'code'",), ("plain on 'code'",))
    assert (claim.relation, claim.metric) == ("ratio", "decode.tok_s")
    assert str(claim.claimed) == "3.0"


def test_errors_that_nobody_states_are_the_defaults() -> None:
    plan = plan_of()
    assert check(plan, "/runs/0/decode/tok_s").tolerance == 0.05
    assert check(plan, SPEED).tolerance == pytest.approx(0.06)
    noisy = plan_of(("runs.1.decode.tok_s", {"value": 61.5, "stdev": 9.0, "repeats": 1}))
    assert check(noisy, "/runs/1/decode/tok_s/value").tolerance == 0.15


def test_what_is_not_stated_keeps_from_refuting() -> None:
    plan = plan_of(
        ("runs.1.conditions", {}),
        ("runs.1.speculation.accepted_length", 4.25),
        ("workloads.code.output_tokens", None),
        ("workloads.code.stop_rule", "###"),
        ("workloads.code.thinking", None),
        here=Here(engine="llama.cpp"),
    )
    speed = check(plan, SPEED).withheld
    assert {"weights", "quantization", "drafter", "thinking mode", "device", "engine"} <= {*speed}
    assert {"output length", "stop rule", "concurrency"} <= {*speed}
    tau = check(plan, "/runs/1/speculation/accepted_length").withheld
    assert "definition" in tau
    assert not {"device", "engine", "concurrency"} & {*tau}


def test_what_the_user_vouches_for_counts_as_known() -> None:
    here = Here(
        device="NVIDIA H200",
        device_count=1,
        engine="llama.cpp",
        version="b9000",
        vouched=frozenset({"weights", "quantization", "drafter", "thinking mode"}),
    )
    assert check(plan_of(here=here), SPEED).withheld == ()


def test_other_hardware_and_engines_decide_speeds_only() -> None:
    here = Here(device="NVIDIA GeForce RTX 4090", device_count=1, engine="vllm")
    plan = plan_of(a_claim("ratio", 3.0), here=here)
    assert reason(plan, SPEED) == "other device, engine"
    assert check(plan, TAU).quantity is Quantity.ACCEPTANCE
    assert {"device", "engine"} <= {*check(plan, "/claims/0").withheld}


def test_on_a_processor_drafts_of_a_gpu_report_are_tested_and_its_speeds_are_not() -> None:
    here = replace(HERE, device="Intel(R) Xeon(R) Processor", cores=2, threads=2)
    plan = plan_of(("configurations.fast.draft_selection", {"placement": "gpu"}), here=here)
    [cell] = [each for each in plan.cells if each.runs == ("fast",)]
    assert cell.arm.draft_selection is None
    assert check(plan, TAU).withheld == ()
    assert reason(plan, SPEED) == "other device"
    on_gpu = plan_of(("configurations.fast.draft_selection", {"placement": "gpu"}))
    assert [each.arm.draft_selection for each in on_gpu.cells if each.runs == ("fast",)] == ["gpu"]


def test_many_requests_at_once_are_not_repeated() -> None:
    plan = plan_of(
        ("runs.1.conditions.concurrency", 8),
        ("runs.1.throughput", {"tok_s": 300.0, "tokens": 9000, "completed_requests": 8}),
        a_claim("ratio", 3.0),
    )
    for pointer in (SPEED, "/claims/0"):
        assert reason(plan, pointer) == "run 'fast' had 8 requests at once, here it is one"
    assert "aggregate figures" in reason(plan, "/runs/1/throughput/tok_s")
    assert check(plan, TAU).withheld == ()
    assert len(plan.untestable) == 3


def test_a_claim_needs_both_of_its_runs() -> None:
    plan = plan_of(("runs.0.conditions.concurrency", 8), a_claim("ratio", 3.0))
    assert reason(plan, "/claims/0") == "run 'plain' had 8 requests at once, here it is one"
    assert check(plan, SPEED).withheld == ()


def test_ways_of_measuring_that_are_others_here() -> None:
    plan = plan_of(
        ("runs.1.conditions.prompt_cache", True),
        ("runs.1.prefill", {"tok_s": 900.0}),
        ("runs.1.measurement", {"window": "with_prefill"}),
        ("runs.1.power", {"watts": 300.0}),
    )
    assert "used a prompt cache" in reason(plan, "/runs/1/prefill/tok_s")
    assert "holds prefill too" in reason(plan, SPEED)
    assert "recorded" in reason(plan, "/runs/1/power/watts")


def test_acceptance_by_position_and_memory() -> None:
    plan = plan_of(
        ("runs.1.speculation", {"per_position": {"values": [0.9, 0.8], "kind": "cumulative"}}),
        ("runs.1.memory", {"device_used_gib": 9.5, "device_total_gib": 80.0}),
    )
    first, second = (check(plan, f"/runs/1/speculation/per_position/values/{i}") for i in (0, 1))
    assert (first.metric, second.metric) == (f"{POSITIONS}.0", f"{POSITIONS}.1")
    assert (first.definition, first.withheld) == ("cumulative", ())
    memory = check(plan, "/runs/1/memory/device_used_gib")
    assert (memory.quantity, memory.withheld) == (Quantity.MEMORY, ())
    assert plan.cells[1].arm.context_tokens == 8192


def test_a_stated_speedup_needs_its_baseline() -> None:
    named = plan_of(("runs.1.speedup", {"value": 3.0, "over": "plain"}))
    assert check(named, "/runs/1/speedup/value").to == ("plain on 'code'",)
    found = plan_of(("runs.1.speedup", 3.0))
    assert check(found, "/runs/1/speedup").to == ("plain on 'code'",)
    alone = plan_of(("runs", [{**WHOLE["runs"][1], "speedup": 3.0}]))
    assert reason(alone, "/runs/0/speedup") == "no baseline is named"


def test_a_match_rate_needs_what_it_is_compared_with() -> None:
    block = {"match_rate": 0.98, "baseline": "plain", "compared": "prompt"}
    plan = plan_of(("runs.1.losslessness", block))
    found = check(plan, "/runs/1/losslessness/match_rate")
    assert (found.to, found.definition, found.withheld) == (("plain on 'code'",), "prompt", ())
    alone = plan_of(("runs.1.losslessness", {"match_rate": 0.98}))
    assert reason(alone, "/runs/1/losslessness/match_rate") == "no baseline is named"


# Claims


@pytest.mark.parametrize("relation", ["greater", "best"])
def test_orders_are_held_against_no_value(relation: str) -> None:
    found = check(
        plan_of(a_claim(relation, to=None if relation == "best" else "plain")), "/claims/0"
    )
    assert (found.relation, found.claimed) == (relation, None)
    assert found.to == ("plain on 'code'",)
    assert found.zone.expected.low > 1


def test_equal_takes_its_value_as_a_tolerance() -> None:
    for value, tolerance in ((None, 0.06), (10, 0.2), (0.5, 0.06)):
        found = check(plan_of(a_claim("equal", value)), "/claims/0")
        assert found.claimed is None
        assert found.tolerance >= 0.05
        assert tolerance == pytest.approx(found.tolerance, abs=0.1)
    wide = check(plan_of(a_claim("equal", 30)), "/claims/0")
    assert wide.tolerance > 0.3 - 1e-9


def test_the_spread_of_a_claim_itself_comes_first() -> None:
    value = {"value": 3.0, "stdev": 0.18}
    found = check(plan_of(a_claim("ratio", value)), "/claims/0")
    assert found.tolerance == pytest.approx(0.12)


def test_up_to_may_be_shown_by_any_run() -> None:
    k3 = {**WHOLE["runs"][1], "id": "k3", "configuration": "k3", "decode": {"tok_s": 40.5}}
    found = check(plan_of(("runs.2", k3), a_claim("up_to", 3.0)), "/claims/0")
    assert found.of == ("fast on 'code'", "k3 on 'code'")
    assert found.to == ("plain on 'code'",)
    assert found.zone.allowed.high == float("inf")


def test_the_best_is_not_compared_with_its_own_repeats() -> None:
    again = {**WHOLE["runs"][1], "id": "again", "decode": {"tok_s": 60.5}}
    found = check(plan_of(("runs.2", again), a_claim("best", to=None)), "/claims/0")
    assert (found.of, found.to) == (("fast on 'code'",), ("plain on 'code'",))
    alone = plan_of(("runs", [WHOLE["runs"][1], again]), a_claim("best", to=None))
    assert reason(alone, "/claims/0") == "compares runs that differ in nothing that is measured"


def test_times_that_are_said_to_be_faster_are_turned_over() -> None:
    runs = [{**run, "step_time_ms": t} for run, t in zip(WHOLE["runs"], (50.0, 25.0), strict=True)]
    claim = a_claim("ratio", 2.0, metric="step_time_ms")
    found = check(plan_of(("runs", runs), claim), "/claims/0")
    assert (found.of, found.to) == (("plain on 'code'",), ("fast on 'code'",))
    best = check(
        plan_of(("runs", runs), a_claim("best", to=None, metric="step_time_ms")), "/claims/0"
    )
    assert (best.relation, best.of) == ("less", ("fast on 'code'",))


def test_a_share_that_was_meant_in_percent_is_taken_as_percent() -> None:
    found = check(plan_of(a_claim("percent_more", 2.0)), "/claims/0")
    assert found.zone.expected.high < 1.1
    scaled = check(
        plan_of(("runs.1.decode.tok_s", 28.7), a_claim("percent_more", 0.4)), "/claims/0"
    )
    assert scaled.zone.expected.low < 1.4 < scaled.zone.expected.high


def test_a_difference_of_which_only_the_size_is_stated_has_its_sign() -> None:
    found = check(plan_of(a_claim("difference", 41.0, of="plain", to="fast")), "/claims/0")
    assert found.zone.expected.low < 20.5 / 61.5 < found.zone.expected.high


def test_a_rate_that_is_claimed_in_percent_is_held_against_a_share() -> None:
    rate = ("runs.1.speculation.acceptance_rate", {"value": 0.62, "of": "drafted"})
    claim = a_claim("at_least", 60.5, to=None, metric="speculation.acceptance_rate")
    found = check(plan_of(rate, claim), "/claims/0")
    assert found.zone.allowed.low == pytest.approx(0.6 * 1.0, abs=0.02)
    assert (found.definition, found.quantity) == ("drafted", Quantity.ACCEPTANCE)


@pytest.mark.parametrize(
    ("edits", "word"),
    [
        ([a_claim("ratio", 3.0, to="nobody")], "it names 'nobody', which does not exist"),
        ([a_claim("ratio")], "it says ratio and gives no value"),
        ([a_claim("ratio", 3.0, metric="decode.toks")], "it names a metric 'decode.toks'"),
        ([a_claim("ratio", 1.0, of="plain")], "differ in nothing that is measured"),
        (
            [("configurations.fast.machine", {"driver": "5"}), a_claim("ratio", 3.0)],
            "compares two machines",
        ),
        (
            [("configurations.fast.engine", {"version": "b1"}), a_claim("ratio", 3.0)],
            "compares two engines",
        ),
        (
            [("configurations.fast.target", {"revision": "2"}), a_claim("ratio", 3.0)],
            "compares two targets",
        ),
        (
            [("configurations.fast", {"based_on": "plain"}), a_claim("ratio", 3.0)],
            "compares setups that differ in what cannot be set here",
        ),
    ],
)
def test_claims_that_cannot_be_tested(edits: list[tuple[str, Any]], word: str) -> None:
    assert word in reason(plan_of(*edits), "/claims/0")


def test_two_drafters_are_not_both_here() -> None:
    other = {"based_on": "fast", "drafter": {"method": "eagle3", "model": "E"}, "draft_length": 3}
    run = {**WHOLE["runs"][1], "id": "e", "configuration": "e"}
    drafter = {"method": "draft_model", "model": "D", "quantization": {"sha256": "b" * 64}}
    plan = plan_of(
        ("configurations.fast.drafter", drafter),
        ("configurations.e", other),
        ("runs.2", run),
        a_claim("ratio", 1.0, to="e"),
    )
    assert reason(plan, "/claims/0") == "compares two drafters"


def test_an_aggregate_claim_says_why() -> None:
    runs = [{**run, "throughput": {"tok_s": 99.0}} for run in WHOLE["runs"]]
    plan = plan_of(("runs", runs), a_claim("ratio", 1.0, metric="throughput.tok_s"))
    assert "aggregate figures" in reason(plan, "/claims/0")


# Quality

ROWS = [
    {"id": "f16", "metric": "perplexity", "dataset": "W", "configuration": "plain", "value": 5.54},
    {"id": "q8", "metric": "perplexity", "dataset": "W", "configuration": "q8", "value": 5.55},
    {"id": "spec", "metric": "perplexity", "dataset": "W", "configuration": "fast", "value": 5.54},
    {"id": "task", "metric": "pass@1", "dataset": "H", "configuration": "plain", "value": 0.81},
]
QUALITY = (
    ("quality", ROWS),
    ("configurations.q8", {"based_on": "plain", "kv_cache": {"target_type": "q8_0"}}),
)


def test_texts_and_tasks_that_are_not_here() -> None:
    plan = plan_of(*QUALITY)
    why = "the text of W is not here: its text is not published"
    assert reason(plan, "/quality/0/value") == why
    assert reason(plan, "/quality/3/value") == "the tasks of H are not here"
    assert plan.scorings == ()


WIKI = Text("wiki.txt", "some words")
PUBLISHED = ("quality", [{**row, "text": {"sha256": WIKI.sha256}} for row in ROWS])
ON_WIKI = "perplexity of {!r} on 'wiki.txt' in windows of 512"


def test_a_printed_perplexity_is_tested_on_its_own_text_alone() -> None:
    plan = plan_of(*QUALITY, PUBLISHED, text=WIKI)
    assert [s.name for s in plan.scorings] == [ON_WIKI.format(c) for c in ("plain", "q8")]
    assert all(s.arm.method is None and s.text_is_published for s in plan.scorings)
    row = check(plan, "/quality/0/value")
    assert (row.of, row.quantity) == ((ON_WIKI.format("plain"),), Quantity.PERPLEXITY)
    assert row.withheld == ("context length",)
    assert row.tolerance == 0.001
    assert check(plan, "/quality/2/value").of == row.of, "a drafter takes no part"
    other = plan_of(*QUALITY, text=WIKI)
    assert "another one is used" in reason(other, "/quality/0/value")
    [shown] = [u.shown for u in other.untestable if u.pointer == "/quality/0/value"]
    assert shown == row.of


def test_a_comparison_is_tested_on_any_text_and_not_refuted_on_another() -> None:
    claim = a_claim("equal", of="q8", to="f16", metric=None)
    for rows, withheld in ((PUBLISHED, False), (("quality", ROWS), True)):
        found = check(plan_of(*QUALITY, rows, claim, text=WIKI), "/claims/0")
        assert (found.of, found.to) == ((ON_WIKI.format("q8"),), (ON_WIKI.format("plain"),))
        assert ("text" in found.withheld) is withheld


def test_rows_of_two_texts_or_windows_are_not_compared() -> None:
    claim = a_claim("equal", of="q8", to="f16", metric=None)
    essay = {"name": "essay", "sha256": bundled_text().sha256}
    cases = (({"text": essay}, "two texts"), ({"context_tokens": 64}, "two context lengths"))
    for more, why in cases:
        rows = [*PUBLISHED[1][:1], {**PUBLISHED[1][1], **more}]
        plan = plan_of(*QUALITY, ("quality", rows), claim, text=WIKI)
        assert reason(plan, "/claims/0") == f"compares {why}"


def test_a_stated_error_of_a_perplexity_widens_the_tolerance_on_other_texts() -> None:
    claim = a_claim("ratio", 1.01, of="q8", to="f16", metric=None)
    for error, tolerance in ((0.02775, 0.01), (0.555, 0.01), (0.00555, 0.002)):
        rows = [ROWS[0], {**ROWS[1], "error": error}]
        found = check(plan_of(*QUALITY, ("quality", rows), claim, text=WIKI), "/claims/0")
        assert found.tolerance == pytest.approx(tolerance)
        own = [{**PUBLISHED[1][1], "error": error}]
        number = check(plan_of(*QUALITY, ("quality", own), text=WIKI), "/quality/0/value")
        assert number.tolerance == 0.001


def test_a_drafter_takes_no_part_in_scoring() -> None:
    claim = a_claim("equal", of="spec", to="f16", metric=None)
    assert "takes no part" in reason(plan_of(*QUALITY, PUBLISHED, claim, text=WIKI), "/claims/0")


# Any report


def pointers_of(plan: Plan) -> list[str]:
    return [each.pointer for each in plan.checks] + [each.pointer for each in plan.untestable]


@pytest.mark.parametrize("name", ["dflash.json", "dflash2-vs-mtp.json"])
def test_the_examples_have_no_claim_that_could_be_refuted(name: str) -> None:
    tree = json.loads((EXAMPLES / name).read_text("utf-8"), parse_float=Digits)
    facts = ReportFacts(Report.model_validate(tree))
    plan = report_plan(facts)
    assert all(each.withheld for each in plan.checks)
    pointers = pointers_of(plan)
    assert len(set(pointers)) == len(pointers)
    assert {f"/claims/{i}" for i in range(len(facts.claims))} <= set(pointers)
    assert str(report_plan(facts)) == str(plan)
    assert report_plan(facts).sha256 == plan.sha256


NAMES = st.sampled_from(["plain", "fast", "k3", "absent"])
NUMBERS = st.sampled_from([0.0, -1.0, 0.5, 2.0, 1e60, {"range": [1.0, 2.0]}, {"stdev": 1.0}])
PATHS = st.sampled_from([*QUANTITIES, "throughput.tok_s", "decode.tokens", "speedup.value", "x"])
RELATIONS = st.sampled_from(get_args(Relation))


@st.composite
def reports(draw: st.DrawFn) -> ReportFacts:
    runs = []
    for name in draw(st.lists(NAMES, max_size=4)):
        run: dict[str, Any] = {"id": name, "configuration": draw(NAMES), "workload": "code"}
        for path in draw(st.lists(st.sampled_from(list(QUANTITIES)), max_size=3)):
            block, _, member = path.rpartition(".")
            (run.setdefault(block, {}) if block else run)[member] = draw(NUMBERS)
        runs.append(run)
    claims = draw(
        st.lists(
            st.fixed_dictionaries(
                {"metric": PATHS, "relation": RELATIONS},
                optional={"of": NAMES, "to": NAMES, "value": NUMBERS},
            ),
            max_size=3,
        )
    )
    return report(("runs", runs), ("claims", claims))


@given(reports())
@settings(max_examples=150, deadline=None)
def test_every_claim_is_tested_or_has_a_reason_and_every_check_has_its_cells(
    facts: ReportFacts,
) -> None:
    plan = report_plan(facts, Wishes(here=HERE))
    cells = {cell.name for cell in plan.cells}
    assert len(cells) == len(plan.cells)
    for check_ in plan.checks:
        assert check_.of
        assert {*check_.of, *check_.to} <= cells
        assert check_.zone.allowed.low <= check_.zone.expected.low
    for each in plan.untestable:
        assert each.reason
        assert {*each.shown} <= cells
    said = pointers_of(plan)
    assert len(said) == len(set(said))
    assert {claim.pointer for claim in facts.claims} <= set(said)
    for cells_ in plan.series.values():
        assert cells_[0].arm.method is None
        assert len({cell.prompts.sha256 for cell in cells_}) == 1
        assert len({cell.arm.name for cell in cells_}) == len(cells_)
    assert isinstance(str(plan), str)


def test_a_cache_has_types_for_keys_and_values_of_the_target() -> None:
    cache = {"target_type": "q8_0", "drafter_type": "f16"}
    plan = plan_of(("configurations.plain.kv_cache", cache))
    assert {cell.arm.kv_types for cell in plan.cells} == {("q8_0", "q8_0")}
    plan = plan_of(("configurations.plain.kv_cache", cache | {"target_type": "q8_0/q4_0"}))
    assert {cell.arm.kv_types for cell in plan.cells} == {("q8_0", "q4_0")}


def test_answers_may_be_as_long_as_the_longest_was() -> None:
    length = {"value": 310.5, "range": [12, 400]}
    plan = plan_of(("workloads.code.output_tokens", length))
    assert {cell.circumstances.max_tokens for cell in plan.cells} == {400}


def test_the_first_prompts_of_a_bundled_set_are_published() -> None:
    some = PromptSet("code", bundled("code").prompts[:3])
    prompts = {"set": "code", "sha256": some.sha256}
    plan = plan_of(("workloads.code.prompts", prompts), ("workloads.code.prompt_count", 3))
    assert {cell.prompts for cell in plan.cells} == {some}
    assert {cell.prompts_are_published for cell in plan.cells} == {True}


def test_a_cache_is_filled_to_where_it_was_meant_to_be() -> None:
    position = {"filled_tokens": 2031, "fill_to_tokens": 2048}
    plan = plan_of(*((f"runs.{i}.conditions.kv_position", position) for i in (0, 1)))
    assert {cell.circumstances.filled_tokens for cell in plan.cells} == {2048}
    plan = plan_of(*((f"runs.{i}.conditions.kv_position", {"filled_tokens": 99}) for i in (0, 1)))
    assert {cell.circumstances.filled_tokens for cell in plan.cells} == {99}


# What the user wants of it


def test_one_run_is_planned_with_its_claims_and_what_they_need() -> None:
    whole = plan_of()
    run = next(run for run in report().runs if run.id in whole.cells[-1].runs)
    plan = plan_of(runs=frozenset({run.id}))
    assert 0 < len(plan.cells) <= len(whole.cells)
    assert all(each in whole.checks for each in plan.checks)
    names = {cell.name for cell in plan.cells}
    for each in plan.checks:
        assert names.issuperset((*each.of, *each.to))
        assert each.pointer.startswith((run.pointer, "/claims/"))
    assert all(names.issuperset(each.shown) for each in plan.untestable)
    assert any(cell.arm.method is None for cell in plan.cells)


def test_a_tolerance_of_the_users_own_is_for_what_varies() -> None:
    plan, usual = plan_of(tolerance=0.2), plan_of()
    assert {check.tolerance for check in plan.checks} == {0.2}
    assert 0.2 not in {check.tolerance for check in usual.checks}


def test_a_seed_is_for_arms_that_state_none() -> None:
    assert {cell.arm.sampling.seed for cell in plan_of(seed=5).cells} == {5}
    stated = ("configurations.plain.sampler", {"temperature": 0, "seed": 9})
    assert 9 in {cell.arm.sampling.seed for cell in plan_of(stated, seed=5).cells}
