"""A verdict in a terminal: the bad news first, nothing that acts on the terminal."""

from __future__ import annotations

from dataclasses import replace

from benchlint.reproducers.judgement import Judgement, Ruling
from benchlint.reproducers.verdict_text import ALIKE, SHOWN, verdict_text
from benchlint.reproducers.verdicts import Outcome, Verdict, not_testable
from tests import verdict_samples as samples


def _judgement(*rulings: Ruling) -> Judgement:
    return replace(samples.judgement(), rulings=rulings)


def _ruling(outcome: Outcome, says: str = "it", pointer: str = "/claims/0") -> Ruling:
    return Ruling(pointer, says, Verdict(outcome, "because", settled=True))


def test_a_whole_verdict() -> None:
    text = verdict_text(samples.judgement(), color=False)
    assert text.startswith("Refuted: 1 of 4 claims does not hold when run again.\n\nclaims\n")
    assert text.index("✗ refuted") < text.index("? inconclusive") < text.index("✓ reproduced")
    assert "\nnumbers\n" in text
    assert "\x1b" not in text


def test_colours_only_where_they_are_wanted() -> None:
    found = verdict_text(_judgement(_ruling(Outcome.REFUTED)), color=True)
    assert found.startswith("\x1b[1;91mRefuted")
    assert found.count("\x1b[0m") == found.count("\x1b[") / 2


def test_texts_of_a_report_do_not_act() -> None:
    evil = "\x1b]0;owned\x07\u202e\n::error::x"
    rulings = (_ruling(Outcome.REPRODUCED, evil), Ruling("/claims/1", evil, not_testable(evil)))
    found = replace(_judgement(*rulings), warnings=(evil,))
    text = verdict_text(found, color=False)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.startswith("::") for line in text.splitlines())


def test_long_lists_end_somewhere() -> None:
    many = [
        Ruling(f"/runs/{i}", f"number {i}", Verdict(Outcome.REPRODUCED, f"{i}", settled=True))
        for i in range(SHOWN + 3)
    ]
    text = verdict_text(_judgement(*many), color=False)
    assert "number 19" in text
    assert "number 20" not in text
    assert "and 3 more reproduced" in text


def test_a_reason_that_many_share_is_told_once() -> None:
    open_ = [_ruling(Outcome.INCONCLUSIVE, f"n{i}", f"/runs/{i}") for i in range(ALIKE + 1)]
    text = verdict_text(_judgement(*open_), color=False)
    assert f"  ? inconclusive, {ALIKE + 1}: because\n" in text
    assert "n0" not in text
    few = verdict_text(_judgement(*open_[1:]), color=False)
    assert few.count("because") == ALIKE
    assert "n1" in few


def test_what_was_not_testable_is_told_by_reason() -> None:
    reasons = ["other device"] * 3 + [f"reason {i}" for i in range(9)]
    rulings = [Ruling(f"/runs/{i}", "it", not_testable(r)) for i, r in enumerate(reasons)]
    text = verdict_text(_judgement(*rulings), color=False)
    assert text.startswith("Not testable here: none of 12 printed numbers could be tested.")
    assert "- not testable here, 3: other device" in text
    assert "and 5 more reasons" in text
