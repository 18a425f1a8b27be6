"""Plans as data: measuring without a report, the hash, and plans in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.numbers import reported
from benchlint.reproducers.design import FULL
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.plan import (
    Check,
    Circumstances,
    Plan,
    Untestable,
    arm_in_words,
    check_of,
    clean,
    context_for,
    measure_plan,
    scoring_of,
)
from benchlint.reproducers.verdicts import Quantity
from benchlint.reproducers.workloads import Prompt, PromptSet, bundled
from benchlint.reproducers.workloads.texts import Text, bundled_text

PLAIN = Arm("plain")
FAST = Arm("fast", method="draft_model", draft_length=7)
SCORING = scoring_of("plain", None, 512, Text("t", "a text"), published=None)
SHORT = PromptSet("short", (Prompt("1", "one"),))


def test_every_arm_is_measured_on_every_set_at_every_position() -> None:
    plan = measure_plan([FAST, PLAIN], [SHORT, bundled("code")], positions=[None, 5000])
    assert [cell.name for cell in plan.cells] == [
        "fast on short",
        "plain on short",
        "fast on short at 5000",
        "plain on short at 5000",
        "fast on code",
        "plain on code",
        "fast on code at 5000",
        "plain on code at 5000",
    ]
    assert list(plan.series) == ["short", "short at 5000", "code", "code at 5000"]
    assert (plan.checks, plan.untestable) == ((), ())


def test_the_baseline_comes_first_in_its_series() -> None:
    [cells] = measure_plan([FAST, replace(FAST, name="k3"), PLAIN], [SHORT]).series.values()
    assert [cell.arm.name for cell in cells] == ["plain", "fast", "k3"]


@pytest.mark.parametrize(
    ("arms", "sets"), [([PLAIN, PLAIN], [SHORT]), ([PLAIN], [SHORT, replace(SHORT)])]
)
def test_two_of_one_name_cannot_be_told_apart(arms: list[Arm], sets: list[PromptSet]) -> None:
    with pytest.raises(ValueError, match="two of one name among"):
        measure_plan(arms, sets)


def test_a_position_that_is_given_twice_is_measured_once() -> None:
    assert len(measure_plan([PLAIN], [SHORT], positions=[8, 8]).cells) == 1


def test_a_text_is_scored_once_for_each_kind_of_cache() -> None:
    quantized = Arm("q8", kv_types=("q8_0", "q8_0"))
    plan = measure_plan([FAST, PLAIN, quantized], [SHORT], text=bundled_text())
    assert [each.name for each in plan.scorings] == [
        "perplexity of 'plain' on 'essay' in windows of 512",
        "perplexity of 'q8' on 'essay' in windows of 512",
    ]
    assert all(each.arm.method is None for each in plan.scorings)
    assert all(each.text_is_published for each in plan.scorings)


@given(
    st.integers(0, 10**6) | st.none(),
    st.integers(1, 10**5),
    st.integers(1, 10**4),
    st.integers(1, 10**6) | st.none(),
)
def test_the_context_holds_what_is_asked_for(
    filled: int | None, output: int, length: int, stated: int | None
) -> None:
    prompts = PromptSet("p", (Prompt("1", "x"), Prompt("2", "é" * length)))
    found = context_for(prompts, Circumstances(filled, output), stated)
    assert found >= (filled or 0) + output
    assert found >= 2 * length + output
    assert found >= (stated or 0)
    assert found < (filled or 0) + output + 2 * length + 5000 + (stated or 0)


# The hash


def test_the_hash_names_what_is_measured() -> None:
    plan = measure_plan([PLAIN, FAST], [SHORT])
    again = measure_plan([PLAIN, FAST], [replace(SHORT, name="short")], pairs=4)
    assert len(plan.sha256) == 64
    assert again.sha256 == plan.sha256
    assert Plan(plan.cells, untestable=(Untestable("", "", ""),)).sha256 == plan.sha256
    others = [
        measure_plan([PLAIN], [SHORT]),
        measure_plan([PLAIN, replace(FAST, draft_length=6)], [SHORT]),
        measure_plan([PLAIN, replace(FAST, sampling=Sampling(seed=1))], [SHORT]),
        measure_plan([PLAIN, FAST], [PromptSet("short", (Prompt("1", "two"),))]),
        measure_plan([PLAIN, FAST], [SHORT], circumstances=Circumstances(max_tokens=99)),
        measure_plan([PLAIN, FAST], [SHORT], positions=[1]),
        Plan(plan.cells, scorings=(SCORING,)),
        Plan(plan.cells, scorings=(replace(SCORING, context_tokens=1024),)),
        Plan(plan.cells, scorings=(replace(SCORING, text=Text("t", "another text")),)),
    ]
    assert len({plan.sha256, *(other.sha256 for other in others)}) == 1 + len(others)


# Checks


def a_check(
    relation: str | None, value: float | None, *, error: float = 0.0, least_tolerance: float = 0.0
) -> Check | Untestable:
    return check_of(
        "/c",
        "it",
        Quantity.SPEEDUP,
        "decode.tok_s",
        ("a",),
        relation=relation,
        claimed=reported(value, "/claims/0/value"),
        error=error,
        least_tolerance=least_tolerance,
    )


def test_the_tolerance_is_the_quantitys_own_or_twice_the_error() -> None:
    for error, tolerance in ((0.0, 0.05), (0.04, 0.08), (0.5, 0.15)):
        check = a_check("ratio", 2.0, error=error)
        assert isinstance(check, Check)
        assert check.tolerance == tolerance
        assert check.zone.expected.high == pytest.approx(2.05 * (1 + tolerance))
    check = a_check("equal", None, least_tolerance=0.2)
    assert isinstance(check, Check)
    assert check.tolerance == 0.2


@pytest.mark.parametrize(("relation", "value"), [("ratio", None), ("ratio", -2.0), (None, 0.0)])
def test_what_no_measurement_can_meet_is_not_tested(
    relation: str | None, value: float | None
) -> None:
    found = a_check(relation, value)
    if value == 0.0:
        assert isinstance(found, Check)  # 0.0 may be 0.1
    else:
        assert isinstance(found, Untestable)
        assert found.shown == ("a",)
        assert found.reason


# In words


def test_a_plan_can_be_read() -> None:
    plan = measure_plan(
        [PLAIN, replace(FAST, p_min=0.5, sampling=Sampling(temperature=0.0))],
        [bundled("prose")],
        positions=[4096],
        circumstances=Circumstances(max_tokens=300, ignore_eos=True, chat=False),
    )
    check = a_check("ratio", 2.0)
    assert isinstance(check, Check)
    whole = replace(
        plan,
        checks=(replace(check, withheld=("engine", "device")),),
        untestable=(Untestable("/runs/1", "run 'x'", "withdrawn: too hot"),),
        scorings=(SCORING,),
    )
    assert str(whole).split("\n") == [
        "prose at 4096: 12 prompts of prose, KV cache filled to 4096, 300 output tokens, end "
        f"token ignored, no chat template, up to {FULL} rounds",
        "  plain on prose at 4096: no drafter",
        "  fast on prose at 4096: draft_model, K 7, p_min 0.5, temperature 0.0",
        "perplexity of 'plain' on 't' in windows of 512",
        "tests it (cannot be refuted: not known to be equal: engine, device)",
        "not testable: run 'x': withdrawn: too hot",
    ]


@given(st.text())
def test_nothing_in_a_name_acts_on_a_terminal(name: str) -> None:
    plan = measure_plan([replace(PLAIN, name=name, kv_types=(name, name))], [SHORT])
    assert all(line.isprintable() for line in str(plan).split("\n"))
    assert str(plan).count("\n") == 1
    assert len(clean(name)) == len(name)
    assert arm_in_words(PLAIN) == "no drafter"
