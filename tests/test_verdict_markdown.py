"""The Markdown of a judgement: what it says, and that nothing in a report acts on it."""

from __future__ import annotations

from dataclasses import replace

from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import judge
from benchlint.reproducers.plan import Plan, Untestable
from benchlint.reproducers.verdict_markdown import verdict_markdown
from tests.bench_journal import Bench, Truth, end, lines, started
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, check, plan_of

TRUTHS = {"plain": Truth(pass_ms=25.0), "fast": Truth((0.8, 0.7, 0.6, 0.5), 40.0)}
HOSTILE = "<img src=x> @someone | [a](http://b) `x` \n# y \x1b[31m \u202e"


def text(plan: Plan, pairs: int = 8, *, ended: bool = True) -> str:
    rounds = Bench(TRUTHS).rounds(ARMS, PROMPTS, range(pairs))
    records = [started(PLAIN, "plain"), started(FAST, "fast"), *rounds]
    records += [end("budget")] if ended else []
    return verdict_markdown(judge(plan, parse(lines(plan.sha256, records), "samples.jsonl")))


def test_the_headline_comes_first() -> None:
    plan = plan_of([check("speedup", "9.9"), check("speculation.accepted_length", "2.8")])
    assert text(plan).startswith("**❌ refuted**: ")
    assert "1 refuted" in text(plan).splitlines()[0]
    assert text(plan_of([])).startswith("**➖ not testable here**: nothing was to be tested")


def test_it_shows_the_evidence() -> None:
    found = text(plan_of([check("speedup", "1.6")]))
    assert "### Numbers" in found
    assert "### Claims" not in found
    assert "5 %" in found
    assert "### Speed-up = τ_all / r" in found
    assert f"| `{FAST}` |" in found
    assert "| `engine` |  | `llama.cpp` |" in found


def test_it_says_that_measuring_goes_on() -> None:
    plan = plan_of([check("speedup", "1.6")])
    assert "has not ended" in text(plan, ended=False)
    assert "has not ended" not in text(plan)


def test_hostile_text_stays_in_code_spans_of_its_cell() -> None:
    plan = plan_of([replace(check("speedup", "1.6"), says=HOSTILE)])
    plan = replace(plan, untestable=(Untestable("/runs/9", HOSTILE, HOSTILE),))
    found = text(plan)
    assert "\x1b" not in found
    assert "\u202e" not in found
    rows = [line for line in found.splitlines() if "img src" in line]
    assert len(rows) == 2
    for row in rows:
        assert row.count("|") - row.count("\\|") == 7
        assert "``" in row
    outside = "".join(part for row in rows for part in row.split("``")[::2])
    assert "<img" not in outside
    assert "@someone" not in outside
