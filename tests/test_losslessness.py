"""Greedy answers beside plain decoding and beside themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import Judgement, judge
from benchlint.reproducers.losslessness import NEAR_TIE, Comparison, Difference, partings
from benchlint.reproducers.plan import Plan
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.verdict_markdown import verdict_markdown
from tests.bench_journal import Bench, Json, Truth, lines, started
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, cells, plan_of

TRUTHS = {"plain": Truth(pass_ms=25.0), "fast": Truth((0.8, 0.7), 40.0)}
TOKENS = [7, 8, 9, 10]


def records(pairs: int = 4, *, tokens: bool = True) -> list[Json]:
    found = [*Bench(TRUTHS).rounds(ARMS, PROMPTS, range(pairs))]
    for each in found if tokens else ():
        each["sample"]["token_ids"] = TOKENS
    return found


def answers(found: list[Json], cell: str, prompt: str, pair: int | None = None) -> Iterator[Json]:
    for each in found:
        if (each["cell"], each["prompt"]) == (cell, prompt) and pair in (None, each["pair"]):
            yield each["sample"]


def change(found: list[Json], cell: str, prompt: str, pair: int | None = None, at: int = 2) -> None:
    """Another token at a place, and the text with it."""
    for sample in answers(found, cell, prompt, pair):
        if "token_ids" in sample:
            sample["token_ids"] = [*TOKENS[:at], 99, *TOKENS[at + 1 :]]
        sample["text"] = f"{sample['text'][: 2 * at]}?"


def parted(prompt: str, margin: float, pair: int = 0) -> Json:
    place = {"cell": FAST, "baseline": PLAIN, "prompt": prompt, "pair": pair, "position": 2}
    told = {"first_token": 9, "second_token": 99, "margin": margin, "time": 1e9}
    return {"kind": "divergence", **place, **told}


def judged(found: list[Json], plan: Plan | None = None) -> Judgement:
    plan = plan or plan_of([])
    return judge(plan, parse(lines(plan.sha256, found), "samples.jsonl"))


def compared(found: list[Json], plan: Plan | None = None) -> dict[tuple[str, str | None], Any]:
    return {(c.cell, c.baseline): c for c in judged(found, plan).losslessness}


@pytest.mark.parametrize("tokens", [True, False])
def test_answers_that_are_all_alike(tokens: bool) -> None:
    found = compared(records(tokens=tokens))
    by = "tokens" if tokens else "text"
    assert found == {
        (FAST, PLAIN): Comparison(FAST, PLAIN, 1, 12, by, ()),
        (PLAIN, None): Comparison(PLAIN, None, 4, 12, by, ()),
        (FAST, None): Comparison(FAST, None, 4, 12, by, ()),
    }


def test_answers_that_a_server_hides_are_not_said_to_be_alike() -> None:
    found = records(tokens=False)
    for each in found:
        each["sample"]["text"] = ""
    assert compared(found) == {}


def test_where_answers_part_from_plain_decoding() -> None:
    found = records()
    change(found, FAST, "p3")
    change(found, FAST, "p5", at=1)
    beside = compared(found)[FAST, PLAIN]
    assert beside.alike == 10
    assert beside.differences == (Difference("p3", 2, 4), Difference("p5", 1, 2))
    assert beside.first.prompt == "p5"
    assert (beside.first.is_near_tie, beside.largest_margin) == (None, None)
    assert compared(found)[FAST, None].differences == (), "it repeats all the same"


@pytest.mark.parametrize(
    ("margin", "tie"), [(0.01, True), (-0.02, True), (NEAR_TIE, True), (0.51, False), (9.0, False)]
)
def test_a_near_tie_is_called_one(margin: float, tie: bool) -> None:
    found = records()
    change(found, FAST, "p3")
    judgement = judged([*found, parted("p3", margin)])
    (beside,) = [c for c in judgement.losslessness if c.baseline]
    assert beside.differences[0].margin == abs(margin)
    assert beside.first is not None
    assert beside.first.is_near_tie is tie
    assert beside.largest_margin == abs(margin)
    row = next(line for line in verdict_markdown(judgement).splitlines() if "token 2" in line)
    assert "11 of 12 prompts" in row
    assert ("| near-ties: 1 |" in row) is tie
    assert ("| no near-ties: 1 |" in row) is not tie


def test_answers_that_do_not_repeat() -> None:
    found = records()
    change(found, FAST, "p3", pair=2)
    change(found, FAST, "p3", pair=3, at=1)
    change(found, FAST, "p4", pair=1)
    result = compared(found)
    assert result[FAST, None].alike == 10
    assert {d.prompt: d.token for d in result[FAST, None].differences} == {"p3": 2, "p4": 2}
    assert result[PLAIN, None].differences == ()
    assert result[FAST, PLAIN].differences == (), "the first round that both have"


def test_texts_where_there_are_no_tokens() -> None:
    found = records(tokens=False)
    change(found, FAST, "p3", at=3)
    beside = compared(found)[FAST, PLAIN]
    assert beside.differences == (Difference("p3", None, 6),)
    assert "character 6" in verdict_markdown(judged(found))


def test_a_longer_answer_parts_where_the_shorter_one_ends() -> None:
    found = records()
    for sample in answers(found, FAST, "p3"):
        sample["token_ids"] = TOKENS[:3]
    assert compared(found)[FAST, PLAIN].differences[0].token == 3


def test_above_temperature_0_texts_are_not_compared() -> None:
    plan = plan_of([], temperature=0.8)
    assert compared(records(), plan) == {}


@pytest.mark.parametrize(("told", "greedy"), [(0.0, True), (0.8, False), (None, False)])
def test_a_temperature_left_to_the_engine_is_what_it_says(told: float | None, greedy: bool) -> None:
    arms = (replace(c.arm, sampling=replace(c.arm.sampling, temperature=None)) for c in cells())
    plan = Plan(tuple(replace(c, arm=a) for c, a in zip(cells(), arms, strict=True)))
    starts = [started(cell, arm) for cell, arm in ARMS.items()]
    for each in starts:
        each["description"]["sampler"] = {} if told is None else {"temperature": told}
    assert bool(compared([*starts, *records()], plan)) is greedy


def test_a_filled_cache_has_another_text_in_each_round() -> None:
    where = replace(cells()[0].circumstances, filled_tokens=1000)
    plan = Plan(tuple(replace(cell, circumstances=where) for cell in cells()))
    found = records()
    for pair in range(4):
        for cell in ARMS:
            change(found, cell, "p1", pair, at=pair)
    result = compared(found, plan)
    assert list(result) == [(FAST, PLAIN)]
    assert result[FAST, PLAIN].differences == ()


def test_one_round_says_nothing_of_repeating() -> None:
    assert list(compared(records(1))) == [(FAST, PLAIN)]
    assert compared([]) == {}


def test_what_is_still_to_be_asked() -> None:
    found = records()
    change(found, FAST, "p3")
    change(found, FAST, "p4")
    plan = plan_of([])
    asked = [
        [each.prompt for each in partings(Rounds(plan, parse(lines(plan.sha256, data), "s")))]
        for data in (found, [*found, parted("p3", 0.1)], records(tokens=False))
    ]
    assert asked == [["p3", "p4"], ["p4"], []]
