"""verdict.json: it fits its schema, whatever was measured, and is the same each time."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import judge
from benchlint.reproducers.plan import Plan, Untestable, scoring_of
from benchlint.reproducers.verdict_json import verdict_bytes, verdict_data
from benchlint.reproducers.workloads.texts import Text
from tests.bench_journal import Bench, Truth, end, lines, started
from tests.test_perplexity import scored
from tests.two_arm_plans import ARMS, FAST, PLAIN, PROMPTS, QUANTITIES, check, plan_of

SCHEMA = json.loads((files("benchlint.schemas") / "verdict-v1.json").read_text("utf-8"))
TRUTHS = {"plain": Truth(pass_ms=25.0), "fast": Truth((0.8, 0.7, 0.6, 0.5), 40.0)}


def plan() -> Plan:
    claim = check("speedup", "1.5", relation="at_least", pointer="/claims/0")
    checks = [claim, *(check(metric, "1.5") for metric in QUANTITIES)]
    made = plan_of(checks)
    untestable = (Untestable("/runs/2", "a run", "another drafter"),)
    scoring = scoring_of("plain", None, 512, Text("essay", "words"), published=None)
    return Plan(made.cells, made.checks, untestable, (scoring,))


def journal(pairs: int, **more: Any) -> bytes:
    bench = Bench(TRUTHS, **more)
    starts = [started(PLAIN, "plain"), started(FAST, "fast")]
    (scoring,) = plan().scorings
    score = scored(scoring, [2.0, 2.5] * (pairs > 1))
    rounds = list(bench.rounds(ARMS, PROMPTS, range(pairs)))
    if rounds:
        rounds[0]["sample"]["text"] = "another"
    return lines(plan().sha256, [*starts, score, *rounds, end("budget")])


@pytest.mark.parametrize("pairs", [0, 1, 4, 20])
@pytest.mark.parametrize("more", [{}, {"counts_drafts": False}, {"counts_steps": False}])
def test_it_fits_its_schema(pairs: int, more: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    judgement = judge(plan(), parse(journal(pairs, **more), "samples.jsonl"))
    data = json.loads(verdict_bytes(judgement), parse_constant=pytest.fail)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)


def test_the_schema_says_every_member() -> None:
    data: Any = verdict_data(judge(plan(), parse(journal(4), "samples.jsonl")))
    assert data.keys() == SCHEMA["properties"].keys()
    parts = {"numbers": "ruling", "cells": "cell", "series": "series"}
    parts |= {"perplexities": "perplexity", "losslessness": "comparison"}
    for name, members in parts.items():
        assert data[name][0].keys() == SCHEMA["$defs"][members]["properties"].keys()


def test_a_journal_gives_the_same_bytes_each_time() -> None:
    data = journal(8)
    first, second = (verdict_bytes(judge(plan(), parse(data, path))) for path in ("a", "b"))
    assert first == second
    assert first.endswith(b"}\n")


def test_claims_and_numbers_stand_apart() -> None:
    data: Any = verdict_data(judge(plan(), parse(journal(4), "samples.jsonl")))
    assert [each["pointer"] for each in data["claims"]] == ["/claims/0"]
    assert data["claims"][0]["allowed"][1] is None
    assert data["claims"][0]["outcome"] == "reproduced"
    assert sum(data["counts"].values()) == len(data["claims"]) + len(data["numbers"])
    assert (data["ended"], data["exit_code"]) == ("budget", 1)


def test_values_are_in_the_unit_of_the_report() -> None:
    data: Any = verdict_data(judge(plan(), parse(journal(20), "samples.jsonl")))
    speed = next(each for each in data["numbers"] if each["metric"] == "decode.tok_s")
    (cell,) = [each for each in data["cells"] if each["name"] == FAST]
    assert speed["value"] == pytest.approx(cell["tok_s"]["value"], rel=0.02)
    assert speed["interval"][0] < speed["value"] < speed["interval"][1]
    assert cell["counts"]["requests"] == 20 * len(PROMPTS)
