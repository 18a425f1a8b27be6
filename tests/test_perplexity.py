"""Printed perplexities and comparisons of them, held against scored windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import Judgement, is_decided, judge
from benchlint.reproducers.plan import Check, Plan, Scoring, scoring_of
from benchlint.reproducers.verdict_markdown import verdict_markdown
from benchlint.reproducers.verdicts import Outcome
from benchlint.reproducers.workloads.texts import Text
from tests.bench_journal import Json, lines
from tests.two_arm_plans import check

TEXT = Text("essay", "words")
F16 = (2.0, 2.5, 1.75, 2.25, 2.0, 2.4)
PPL = math.exp(sum(F16) / len(F16))


def scorings(published: bool | None = True) -> tuple[Scoring, Scoring]:
    f16, q8 = (scoring_of(name, None, 512, TEXT, published=published) for name in ("f16", "q8"))
    return f16, q8


def scored(scoring: Scoring, nll: Sequence[float]) -> Json:
    return {
        "kind": "perplexity",
        "scoring": scoring.name,
        "arm": scoring.arm.name,
        "text_sha256": scoring.text.sha256,
        "context_tokens": scoring.context_tokens,
        "nll": list(nll),
        "time": 1e9,
    }


def number(printed: str, **more: Any) -> Check:
    return check("perplexity", printed, of=(scorings()[0].name,), **more)


def comparison(relation: str, printed: str | None = None, **more: Any) -> Check:
    f16, q8 = scorings()
    return check("perplexity", printed, relation=relation, of=(q8.name,), to=(f16.name,), **more)


def judged(one: Check, *records: Json, published: bool | None = True) -> Judgement:
    plan = Plan((), (one,), scorings=scorings(published))
    return judge(plan, parse(lines(plan.sha256, records), "samples.jsonl"))


def outcome(one: Check, q8: Sequence[float] = F16, published: bool | None = True) -> Outcome:
    first, second = scorings(published)
    found = judged(one, scored(first, F16), scored(second, q8), published=published)
    return found.rulings[0].verdict.outcome


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (1.0, Outcome.REPRODUCED),
        (1.0005, Outcome.REPRODUCED),
        (0.9, Outcome.REFUTED),
        (1.01, Outcome.REFUTED),
    ],
)
def test_a_printed_perplexity(factor: float, expected: Outcome) -> None:
    assert outcome(number(f"{PPL * factor:.6g}")) is expected


def test_an_unknown_condition_keeps_it_from_being_refuted() -> None:
    assert outcome(number("9.0", withheld=("engine",))) is Outcome.INCONCLUSIVE


def test_what_was_not_scored_yet_is_open_and_what_is_void_is_not_testable() -> None:
    found = judged(number("9.0"))
    verdict = found.rulings[0].verdict
    assert (verdict.outcome, verdict.settled) == (Outcome.INCONCLUSIVE, False)
    void = {"kind": "void", "cell": scorings()[0].name, "reason": "too short", "time": 1e9}
    found = judged(number("9.0"), void)
    assert found.rulings[0].verdict.outcome is Outcome.NOT_TESTABLE
    assert found.rulings[0].verdict.reason == "too short"
    assert found.perplexities[0].void == "too short"


def test_one_scoring_settles_it() -> None:
    plan = Plan((), (number("9.0"),), scorings=scorings())
    for records, decided in (([], False), ([scored(scorings()[0], F16)], True)):
        journal = parse(lines(plan.sha256, records), "samples.jsonl")
        assert is_decided(plan, journal) is decided


def shifted(by: float, noise: float = 0.0) -> list[float]:
    """Windows whose mean lies higher by so much, and no window alike."""
    return [x + by + (noise if i % 2 else -noise) for i, x in enumerate(F16)]


def test_on_its_own_text_a_comparison_is_exact() -> None:
    one = comparison("ratio", "1.02")
    assert outcome(one, shifted(math.log(1.02), 0.05)) is Outcome.REPRODUCED
    assert outcome(one, shifted(math.log(1.05), 0.05)) is Outcome.REFUTED


def test_on_another_text_the_windows_are_a_sample() -> None:
    one = comparison("ratio", "1.02", withheld=("text",))
    assert outcome(one, shifted(math.log(1.02), 0.0001), None) is Outcome.REPRODUCED
    assert outcome(one, shifted(math.log(1.02), 0.05), None) is Outcome.INCONCLUSIVE
    assert outcome(one, shifted(math.log(1.10), 0.0001), None) is Outcome.INCONCLUSIVE


def test_pairs_see_what_the_figures_alone_could_not() -> None:
    found = judged(
        comparison("greater", withheld=("text",)),
        scored(scorings()[0], F16),
        scored(scorings()[1], shifted(0.003, 0.0005)),
        published=None,
    )
    assert found.rulings[0].verdict.outcome is Outcome.REPRODUCED
    first, second = (each.perplexity for each in found.perplexities)
    assert first is not None
    assert second is not None
    assert first.interval is not None
    assert first.interval.low < second.value < first.interval.high


@pytest.mark.parametrize("nll", [[], [1e9], [2.0] * 5])
def test_windows_that_do_not_fit_prove_nothing(nll: list[float]) -> None:
    verdict = outcome(comparison("ratio", "1.0"), nll)
    assert verdict in (Outcome.INCONCLUSIVE, Outcome.NOT_TESTABLE)


def test_what_was_measured_is_shown() -> None:
    found = judged(number("8.6"), scored(scorings()[0], F16))
    shown, unknown = found.perplexities
    assert (shown.text, shown.windows, shown.context_tokens) == ("essay", 6, 512)
    assert shown.perplexity is not None
    assert shown.perplexity.value == pytest.approx(PPL)
    assert (unknown.windows, unknown.perplexity, unknown.void) == (0, None, "")
    text = verdict_markdown(found)
    assert "### Perplexity" in text
    assert "6 windows" in text


@pytest.mark.parametrize("more", [{"text_sha256": "0" * 64}, {"context_tokens": 64}])
def test_a_score_of_another_text_or_window_is_none(more: Json) -> None:
    found = judged(number("8.6"), scored(scorings()[0], F16) | more)
    assert found.perplexities[0].perplexity is None


def test_the_first_score_counts() -> None:
    first = scorings()[0]
    found = judged(number("8.6"), scored(first, F16), scored(first, [1.0] * 6))
    assert found.perplexities[0].perplexity is not None
    assert found.perplexities[0].perplexity.value == pytest.approx(PPL)
