"""Settings that fake or relax acceptance are seen only where they are certainly on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.acceptance_settings import (
    discloses,
    enabled,
    relaxed_settings,
    synthetic_settings,
)
from benchlint.checker.facts import ConfigurationFacts, ReportFacts
from benchlint.checker.model import Report


def configuration(engine: dict[str, Any], **blocks: Any) -> ConfigurationFacts:
    tree = {
        "engine": engine,
        "configurations": {"a": {"drafter": {"method": "mtp"}, **blocks}},
    }
    return ReportFacts(Report.model_validate(tree)).configuration("a")


@pytest.mark.parametrize(
    "value", [True, 1, 0.5, "3.24", " 2 ", "0.8,0.6,0.2", "[0.8]", [0, 0.1], "true", "on"]
)
def test_enabled(value: object) -> None:
    assert enabled(value)


@pytest.mark.parametrize(
    "value",
    [False, None, 0, -1, "", "0", "0.0", "-1", "false", "off", "none", "$LEN", [], [0], {}, "x"],
)
def test_not_enabled(value: object) -> None:
    assert not enabled(value)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_value_has_an_answer(value: object) -> None:
    assert enabled(value) in (True, False)


@pytest.mark.parametrize(
    ("name", "variable", "certain"),
    [
        ("sglang", "SGLANG_SIMULATE_ACC_LEN", True),
        ("sglang-jax", "SGLANG_SIMULATE_ACC_LEN", True),
        ("llama-server", "LLAMA_ARG_SPEC_SYNTH_LEN", True),
        ("TensorRT-LLM", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS", True),
        ("an engine of our own", "SGLANG_SIMULATE_ACC_LEN", False),
        (None, "SGLANG_SIMULATE_ACC_LEN", False),
    ],
)
def test_variables(name: str | None, variable: str, certain: bool) -> None:
    engine = {"name": name, "environment": {variable: "2"}}
    found = list(synthetic_settings(configuration(engine)))
    assert [(s.at, s.certain) for s in found] == [(f"/engine/environment/{variable}", certain)]


@pytest.mark.parametrize("name", ["vllm", "Ollama", "vllm-ascend", "llama.cpp"])
def test_the_variable_of_another_engine(name: str) -> None:
    engine = {"name": name, "environment": {"SGLANG_SIMULATE_ACC_LEN": "2"}}
    assert list(synthetic_settings(configuration(engine))) == []


def test_thresholds_do_not_act_under_greedy_decoding() -> None:
    engine = {"name": "sglang", "command_line": "x --speculative-accept-threshold-acc 0.5"}
    sampled = configuration(engine, sampler={"temperature": 0.7})
    greedy = configuration(engine, sampler={"temperature": 0})
    assert len(list(relaxed_settings(sampled))) == 1
    assert list(relaxed_settings(greedy)) == []


def test_relaxed_acceptance_for_thinking_acts_under_greedy_decoding() -> None:
    settings = {"use_relaxed_acceptance_for_thinking": True}
    greedy = configuration(
        {"name": "trtllm"}, sampler={"temperature": 0}, acceptance_rule={"settings": settings}
    )
    assert len(list(relaxed_settings(greedy))) == 1


def test_prose_discloses_only_when_it_speaks_of_acceptance() -> None:
    assert discloses(["Acceptance is synthetic here."])
    assert not discloses(["The prompts are synthetic."])
    assert discloses(["typical acceptance"], relaxed=True)
