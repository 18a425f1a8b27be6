"""Filling a KV cache by what an engine counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchlint.reproducers.engine import Request, Sample
from benchlint.reproducers.journal import Header, Measured, create, read, resume
from benchlint.reproducers.measuring import Settings, measure
from benchlint.reproducers.plan import Cell, Circumstances, Plan
from benchlint.reproducers.token_factor import NAME, counted_request, factor_of, token_factor
from benchlint.reproducers.workloads.filler import estimated_tokens
from tests.fake_engine import FakeEngine, World
from tests.test_measuring import FAST, PLAIN, PROMPTS

FILLED = Circumstances(filled_tokens=600, max_tokens=8)


class CountingEngine(FakeEngine):
    """Makes a token of every two characters."""

    def generate(self, request: Request) -> Sample:
        return replace(super().generate(request), prompt_tokens=len(request.prompt) // 2)


def plan(where: Circumstances = FILLED) -> Plan:
    cells = (Cell(f"{a.name} on two", "two", a, PROMPTS, where, 4) for a in (PLAIN, FAST))
    return Plan(tuple(cells))


def measured(path: Path, wanted: Plan, world: World) -> list[Request]:
    engine, header = CountingEngine(world), Header(wanted.sha256, "0", 0.0)
    settings = Settings(clock=world.clock, now=world.clock)
    with resume(path, header)[0] if path.exists() else create(path, header) as writer:
        measure(wanted, lambda _: engine, writer, settings)
    return world.requests


def test_the_cache_is_filled_by_the_engines_own_count(tmp_path: Path) -> None:
    asked = measured(tmp_path / "samples.jsonl", plan(), World())
    assert asked[0] == counted_request(chat=True)
    assert [each.prompt_id for each in asked].count(NAME) == 1
    lengths = [len(each.prompt) // 2 for each in asked if each.prompt_id in "ab"]
    assert len(lengths) == 16
    assert all(520 < length <= 600 for length in lengths), "a sentence less at most"


def test_nothing_is_asked_where_nothing_is_filled(tmp_path: Path) -> None:
    asked = measured(tmp_path / "samples.jsonl", plan(Circumstances(max_tokens=8)), World())
    assert NAME not in {each.prompt_id for each in asked}


def test_a_run_that_is_resumed_fills_with_the_same_text(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    whole = measured(tmp_path / "whole.jsonl", plan(), World())
    first = measured(path, plan(), World(script={9: KeyboardInterrupt()}))
    second = measured(path, plan(), World())
    answers = [[r.prompt for r in each if r.prompt_id in "ab"] for each in (first, second, whole)]
    assert answers[0][:-1] + answers[1] == answers[2]
    counted = [each for each in read(path).of_kind(Measured) if each.prompt == NAME]
    assert len(counted) == 1
    assert token_factor(read(path), estimated_tokens) == factor_of(
        counted[0].sample, estimated_tokens
    )


@pytest.mark.parametrize(("tokens", "factor"), [(None, 1.0), (0, 1.0), (1, 0.25), (10**9, 4.0)])
def test_an_absurd_count_is_not_believed(tokens: int | None, factor: float) -> None:
    assert factor_of(Sample("", 1, prompt_tokens=tokens), estimated_tokens) == factor
