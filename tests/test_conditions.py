"""What is known to be equal, what is known to differ, and what is not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.reproducers.conditions import Here, same_conditions
from benchlint.reproducers.verdicts import CONDITIONS

Tri = bool | None


def same(
    here: Here | None = None, prompts: Tri = True, workload: Any = None, **blocks: Any
) -> dict[str, Tri]:
    """The conditions of a run whose configuration holds these blocks."""
    tops = ("machine", "engine", "target")
    top: dict[str, Any] = {name: blocks.pop(name) for name in tops if name in blocks}
    tree: dict[str, Any] = {
        **top,
        "configurations": {"c": blocks},
        "workloads": {} if workload is None else {"w": workload},
        "runs": [{"id": "r", "configuration": "c", "workload": "w"}],
    }
    report = ReportFacts(Report.model_validate(tree))
    return same_conditions(report.runs[0], here or Here(), prompts)


FAST = {"method": "draft_model", "model": "D"}


def test_every_condition_that_a_verdict_asks_for_is_there() -> None:
    wanted = {name for pair in CONDITIONS.values() for names in pair for name in names}
    assert set(same()) == wanted - {"text"}, "which is of a quality row"


def test_a_report_that_says_nothing_is_known_for_nothing() -> None:
    assert set(same(prompts=None).values()) == {None}


@pytest.mark.parametrize("prompts", [True, False, None])
def test_prompts_are_what_they_are_said_to_be(prompts: Tri) -> None:
    assert same(prompts=prompts)["prompts"] is prompts


def test_a_user_may_vouch_for_what_is_not_known() -> None:
    here = Here(vouched=frozenset({"weights", "sampler", "the weather"}))
    found = same(here)
    assert (found["weights"], found["sampler"], found["engine"]) == (True, True, None)
    assert "the weather" not in found


@pytest.mark.parametrize(
    ("stated", "here", "weights", "quantization"),
    [
        ({"sha256": "AB"}, Here(target_sha256="ab"), True, True),
        ({"sha256": "cd"}, Here(target_sha256="ab"), None, None),
        ({"recipe": "q4-k-m"}, Here(target_quantization="Q4_K_M"), None, True),
        ({"recipe": "Q4_K_M"}, Here(target_quantization="Q8_0"), None, False),
        ({"recipe": "NVFP4 hybrid"}, Here(target_quantization="Q8_0"), None, None),
        ({}, Here(target_quantization="Q8_0"), None, None),
        ({"recipe": "Q8_0"}, Here(), None, None),
    ],
)
def test_weights_and_quantization(stated: Any, here: Here, weights: Tri, quantization: Tri) -> None:
    found = same(here, target={"quantization": stated})
    assert (found["weights"], found["quantization"]) == (weights, quantization)


@pytest.mark.parametrize(
    ("stated", "actual", "expected"),
    [(8, 8.03, None), (30, 30.5, None), (70, 8.0, False), (0, 0.0, None), (0.6, 1.7, False)],
)
def test_another_number_of_parameters_is_another_model(
    stated: float, actual: float, expected: Tri
) -> None:
    found = same(Here(target_parameters_b=actual), target={"parameters_b": stated})
    assert found["weights"] is expected


def test_a_baseline_has_no_drafter_that_could_differ() -> None:
    found = same(drafter=None)
    assert (found["drafter"], found["draft length"], found["p_min"]) == (True, True, True)


@pytest.mark.parametrize(
    ("drafter", "here", "expected"),
    [
        ({"quantization": {"sha256": "ab"}}, Here(drafter_sha256="ab"), True),
        ({"quantization": {"recipe": "Q8_0"}}, Here(drafter_quantization="BF16"), False),
        ({"quantization": {"recipe": "Q8_0"}}, Here(drafter_quantization="Q8_0"), None),
        ({"model": "D"}, Here(drafter="D"), None),
        ({"method": "ngram"}, Here(), None),
    ],
)
def test_drafters(drafter: Any, here: Here, expected: Tri) -> None:
    assert same(here, drafter=drafter)["drafter"] is expected


@pytest.mark.parametrize(
    ("length", "engine", "known"),
    [
        ({"max": 7, "p_min": 0.0}, "llama.cpp", (True, True)),
        (7, "llama.cpp", (True, None)),
        (7, "vllm", (True, True)),
        ({"max": 7, "policy": "adaptive"}, "vllm", (None, True)),
        ({"p_min": 0.5}, "llama.cpp", (None, True)),
    ],
)
def test_draft_lengths(length: Any, engine: str, known: tuple[Tri, Tri]) -> None:
    found = same(drafter=FAST, draft_length=length, engine={"name": engine})
    assert (found["draft length"], found["p_min"]) == known


FULL_SAMPLER = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.0}


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        ({"temperature": 0.0}, True),
        ({"temperature": 0.7}, None),
        (FULL_SAMPLER, True),
        ({**FULL_SAMPLER, "left_to_engine": ["presence_penalty"]}, None),
        ({"temperature": 0.0, "others": {"mirostat": 2}}, None),
        ({"top_k": 1}, None),
    ],
)
def test_samplers(sampler: Any, expected: Tri) -> None:
    assert same(sampler=sampler)["sampler"] is expected


@pytest.mark.parametrize(
    ("drafter", "cache", "expected"),
    [
        (None, {"target_type": "f16"}, True),
        (FAST, {"target_type": "f16"}, None),
        (FAST, {"target_type": "f16", "drafter_type": "f16"}, True),
        ({"method": "ngram"}, {"target_type": "f16"}, True),
        (FAST, {"drafter_type": "f16"}, None),
    ],
)
def test_kv_types(drafter: Any, cache: Any, expected: Tri) -> None:
    assert same(drafter=drafter, kv_cache=cache)["KV cache types"] is expected


def test_llama_cpp_keeps_a_drafters_cache_in_a_type_of_its_own() -> None:
    cache = {"target_type": "q8_0", "drafter_type": "q8_0"}
    found = [
        same(drafter=FAST, kv_cache=cache | more, engine={"name": name})["KV cache types"]
        for name in ("llama.cpp", "vllm")
        for more in ({}, {"drafter_type": "F16"})
    ]
    assert found == [None, True, True, True]


@pytest.mark.parametrize(
    ("workload", "thinking", "known"),
    [
        ({"chat_template": "none"}, None, (True, True)),
        ({"chat_template": "Default", "thinking": False}, False, (True, True)),
        ({"chat_template": "default", "thinking": "high"}, "low", (True, False)),
        ({"chat_template": "my own"}, False, (None, None)),
        ({"thinking": True}, None, (None, None)),
        ({"chat_template": "model", "thinking": "default"}, None, (True, True)),
        ({"chat_template": "model", "thinking": "high"}, None, (True, None)),
    ],
)
def test_templates_and_thinking(
    workload: Any, thinking: bool | str | None, known: tuple[Tri, Tri]
) -> None:
    found = same(Here(thinking=thinking), workload=workload)
    assert (found["chat template"], found["thinking mode"]) == known


H200 = Here(device="NVIDIA H200", device_count=1, power_limit_w=700)


@pytest.mark.parametrize(
    ("devices", "here", "expected"),
    [
        ([{"name": "NVIDIA H200", "count": 1}], H200, True),
        ([{"name": "nvidia h200", "count": 1, "power_limit_w": 700}], H200, True),
        ([{"name": "NVIDIA H200", "count": 1, "power_limit_w": 400}], H200, None),
        ([{"name": "NVIDIA H200"}], H200, None),
        ([{"name": "NVIDIA H200", "count": 2}], H200, False),
        ([{"name": "NVIDIA GeForce RTX 4090", "count": 1}], H200, False),
        ([{"name": "RTX 4090"}], Here(device="NVIDIA GeForce RTX 4090"), None),
        (
            [{"name": "RTX 4090", "count": 1}],
            Here(device="NVIDIA GeForce RTX 4090", device_count=1),
            True,
        ),
        ([{"name": "a card of my own", "count": 1}], H200, None),
        ([{"name": "NVIDIA H200"}, {"name": "CPU"}], H200, None),
        ([{"count": 1}], H200, None),
        ([], H200, None),
    ],
)
def test_devices(devices: Any, here: Here, expected: Tri) -> None:
    assert same(here, machine={"devices": devices})["device"] is expected


CPU = Here(device="AMD EPYC", device_count=1, cores=8, threads=4)


@pytest.mark.parametrize(
    ("cpu", "threads", "expected"),
    [
        ({"name": "AMD EPYC", "cores": 8}, 4, True),
        ({"name": "AMD EPYC", "cores": 8}, {"decode": 4, "batch": 8}, True),
        ({"name": "AMD EPYC", "cores": 64}, 4, None),
        ({"name": "AMD EPYC", "cores": 8}, 8, None),
        ({"name": "AMD EPYC", "cores": 8}, None, None),
        ("AMD EPYC", 4, None),
    ],
)
def test_a_processor_is_the_same_with_its_cores_and_threads(
    cpu: Any, threads: Any, expected: Tri
) -> None:
    machine = {"devices": [{"name": "AMD EPYC", "count": 1}], "cpu": cpu}
    assert same(CPU, machine=machine, engine={"threads": threads})["device"] is expected


LLAMA = Here(engine="llama-server", version="b9000", commit="abc")


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ({"name": "llama.cpp", "version": "b9000"}, True),
        ({"name": "llama.cpp", "commit": "abc"}, True),
        ({"name": "llama.cpp", "version": "b8000"}, None),
        ({"name": "llama.cpp", "version": "b9000", "patches": ["a"]}, None),
        ({"name": "llama.cpp"}, None),
        ({"name": "vllm", "version": "b9000"}, False),
        ({"name": "my engine"}, None),
        ({"version": "b9000"}, None),
    ],
)
def test_engines(engine: Any, expected: Tri) -> None:
    assert same(LLAMA, engine=engine)["engine"] is expected
    assert same(Here(), engine=engine)["engine"] is None


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "target": st.sampled_from([{"parameters_b": -1}, {"quantization": {"recipe": ""}}]),
            "machine": st.sampled_from([{"devices": [{"name": "", "count": 0}]}, {}]),
            "engine": st.sampled_from([{"name": ""}, {"name": "vllm", "version": ""}]),
            "drafter": st.sampled_from([None, {}, [], [{}, {}]]),
            "draft_length": st.sampled_from([0, -1, {}]),
        },
    )
)
def test_odd_reports_give_an_answer(blocks: dict[str, Any]) -> None:
    here = Here("", 0, 0.0, "", "", "", "", 0.0, "", "", "", "", "", "")
    assert set(same(here, **blocks).values()) <= {True, False, None}
