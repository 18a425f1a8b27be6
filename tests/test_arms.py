"""Which runs are compared, and in what they differ."""

from __future__ import annotations

from typing import Any

import pytest

from benchlint.checker.arms import differences, pairs
from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report


def report(plain: dict[str, Any], spec: dict[str, Any], **more: Any) -> ReportFacts:
    """A plain and a speculative run with these configurations."""
    tree = {
        "configurations": {
            "p": {"drafter": None, **plain},
            "s": {"drafter": {"method": "mtp"}, **spec},
        },
        "workloads": {"w": {}},
        "runs": [
            {"id": "p", "configuration": "p", "workload": "w"},
            {"id": "s", "configuration": "s", "workload": "w"},
        ],
        **more,
    }
    return ReportFacts(Report.model_validate(tree))


def names(plain: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    facts = report(plain, spec)
    return [d.name for d in differences(facts.runs[1], facts.runs[0])]


def engine(**fields: Any) -> dict[str, Any]:
    return {"engine": {"name": "llama.cpp", **fields}}


BLOCKS: list[dict[str, Any]] = [
    {"sampler": {"temperature": 0.7, "min_p": 0.05, "repetition_penalty": 1.1}},
    engine(version="b8672", commit="abc", threads=8, parallelism={"tensor": 2}),
    engine(command_line="vllm serve m --dtype half --enforce-eager", offload="layers"),
    {"target": {"name": "m", "quantization": {"recipe": "Q4_K_M", "converted_at_load": "FP8"}}},
    {"kv_cache": {"target_type": "q8_0"}},
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_configuration_does_not_differ_from_itself(block: dict[str, Any]) -> None:
    assert names(block, block) == []


@pytest.mark.parametrize("block", BLOCKS)
def test_what_only_one_arm_states_is_no_difference(block: dict[str, Any]) -> None:
    assert names(block, {}) == []
    assert names({}, block) == []


@pytest.mark.parametrize(
    ("plain", "spec", "found"),
    [
        (engine(version="b7000"), engine(version="b8672"), ["engine version"]),
        (engine(version="b8672"), engine(version="8672"), []),
        (engine(version="0.8.5"), engine(version="v0.8.5"), []),
        (engine(version="1.2.3"), engine(version="1.2.3+pr52816", patches=["PR"]), []),
        (engine(commit="abc1234"), engine(commit="abc1234def"), []),
        (engine(commit="abc1234"), engine(commit="def5678"), ["engine commit"]),
        (engine(commit="abc1234"), engine(commit="def5678", patches=["PR"]), []),
        (engine(name="vllm", version="0.8.5"), engine(version="b1000"), ["engine"]),
        (engine(backend="cuda"), engine(backend="vulkan"), ["backend"]),
        (engine(attention_backend="a"), engine(attention_backend="b"), []),
        (engine(threads=8), engine(threads=16), ["threads"]),
        (engine(offload="layers"), engine(offload="none"), ["offload"]),
        (engine(offload="none"), engine(offload="layers"), []),
        (engine(batch={"logical": 2048}), engine(batch={"logical": 512}), []),
    ],
)
def test_engines(plain: dict[str, Any], spec: dict[str, Any], found: list[str]) -> None:
    assert names(plain, spec) == found


def test_a_stated_pair_comes_before_a_matching_one() -> None:
    claim = {"metric": "decode.tok_s", "of": "s", "to": "p", "relation": "greater"}
    assert [p.stated for p in pairs(report({}, {}, claims=[claim]))] == [True]
    assert [p.stated for p in pairs(report({}, {}))] == [False]


def test_a_claim_on_another_thing_than_speed_pairs_nothing_by_itself() -> None:
    claim = {"metric": "memory.device_used_mib", "of": "s", "to": "p", "relation": "greater"}
    assert [p.stated for p in pairs(report({}, {}, claims=[claim]))] == [False]
