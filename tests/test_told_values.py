"""What a person tells of a measurement, and what cannot be told."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.errors import CannotRunError
from benchlint.checker.numbers import printed
from benchlint.checker.validate import validate
from benchlint.reproducers.told_values import assignment, told

REPORT: dict[str, Any] = {
    "benchlint": "1",
    "target": {"name": "target-q8_0"},
    "configurations": {
        "plain": {"drafter": None},
        "k4": {"drafter": {"method": "draft_model"}},
        "k8": {"drafter": {"method": "draft_model"}},
    },
    "workloads": {"code": {"prompt_count": 4}, "mine.jsonl": {"prompt_count": 2}},
    "runs": [
        {"id": "plain on code", "decode": {"tok_s": 20.5}},
        {"id": "k4 on mine.jsonl", "decode": {"tok_s": 40.5}},
    ],
}


def after(*texts: str) -> Any:
    before = copy.deepcopy(REPORT)
    found = told(REPORT, map(assignment, texts))
    assert before == REPORT
    assert validate(found)[1] == []
    return found


def test_a_member_is_set_and_said_to_be_told() -> None:
    found = after("target.name=Qwen3-8B", "target.documented_context_tokens=131072")
    assert found["target"] == {"name": "Qwen3-8B", "documented_context_tokens": 131072}
    assert found["notes"] == [
        "Told by the author, not measured: target.name, target.documented_context_tokens"
    ]


def test_nothing_told_changes_nothing() -> None:
    assert told(REPORT, []) == REPORT


def test_values_are_json_or_text() -> None:
    found = after(
        "title=true story",
        "workloads.code.thinking=false",
        'authors=["A", "B"]',
        "target.parameters_b=8.20",
    )
    assert found["title"] == "true story"
    assert found["workloads"]["code"]["thinking"] is False
    assert found["authors"] == ["A", "B"]
    assert printed(found["target"]["parameters_b"]) == "8.20"


def test_names_may_hold_dots_and_blanks() -> None:
    found = after("workloads.mine.jsonl.mix.chat=1.0", "runs.k4 on mine.jsonl.power.watts=350")
    assert found["workloads"]["mine.jsonl"]["mix"] == {"chat": 1.0}
    assert found["runs"][1]["power"] == {"watts": 350}


def test_a_star_stands_for_all_that_can_have_it() -> None:
    found = after("configurations.*.drafter.model=D", "workloads.*.thinking=false")
    assert [each["drafter"] for each in found["configurations"].values()] == [
        None,
        {"method": "draft_model", "model": "D"},
        {"method": "draft_model", "model": "D"},
    ]
    assert [each["thinking"] for each in found["workloads"].values()] == [False, False]


def test_lists_grow_at_their_end() -> None:
    found = after(
        "machine.devices.0.name=NVIDIA H200",
        "machine.devices.0.count=1",
        'quality.0={"metric": "pass@1", "value": 0.61}',
    )
    assert found["machine"]["devices"] == [{"name": "NVIDIA H200", "count": 1}]
    assert found["quality"] == [{"metric": "pass@1", "value": 0.61}]


def test_the_last_word_counts() -> None:
    assert after("target.name=A", "target.name=B")["target"]["name"] == "B"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("target.name", "--set takes path=value"),
        ("=3", "--set takes path=value"),
        ("target.nam=Qwen", "'nam'"),
        ("target.parameters_b=eight", "should be a number"),
        ("runs.plain on code.decode.tok_s=99.5", "that was measured"),
        ("runs.0.decode.tok_s=99.5", "that was measured"),
        ("runs.*.decode.tok_s=99.5", "that was measured"),
        ("runs.absent.power.watts=1", "runs has no item 'absent'"),
        ("runs.0=1", "runs has no item '0'"),
        ("configurations.plain.drafter.model=D", "configurations.plain.drafter is null"),
        ("target.name.first=Q", "target.name has no members"),
        ("target.*=1", "* stands for names or items"),
        ("workloads.*.x.*.y=1", "there is nothing of that name in workloads"),
        ("machine.devices.3.name=x", "machine.devices has no item '3'"),
        ("target.parameters_b=NaN", "should be a number"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(CannotRunError) as error:
        told(REPORT, [assignment(text)])
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_told_or_refused(path: str, value: str) -> None:
    try:
        found = told(REPORT, [assignment(f"{path}={value}")])
    except CannotRunError:
        return
    assert validate(found)[1] == []
    assert found["runs"] == REPORT["runs"] or path.startswith("runs")


@pytest.mark.parametrize(
    "text", ["extensions" + ".a" * 60_000 + "=1", "extensions.a=" + "[" * 400 + "]" * 400]
)
def test_what_would_be_too_deep_is_refused(text: str) -> None:
    with pytest.raises(CannotRunError, match="at most 100 levels deep"):
        after(text)
