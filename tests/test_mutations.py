"""Break one thing in an honest report, and the right rule notices."""

from __future__ import annotations

import copy
import json
from random import Random

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits, parse_text
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.registry import all_rules
from tests.mutations import MUTATORS, TEXT_MUTATORS, Mutator, complete_report
from tests.simulator import dumps

#: Mutants of each kind; every rule has at least one kind.
MUTANTS = 40
CAUGHT = 0.95


def errors(tree: object) -> list[Finding]:
    """The errors of a report, read with its digits."""
    findings = check_tree(json.loads(dumps(tree), parse_float=Digits))
    return [f for f in findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_the_complete_report_is_honest(seed: int) -> None:
    assert errors(complete_report(seed)) == []


@pytest.mark.parametrize(
    ("code", "mutator"),
    [pytest.param(c, m, id=f"{c}-{m.__name__}") for c, ms in MUTATORS.items() for m in ms],
)
def test_mutants_are_caught_by_the_right_rule(code: str, mutator: Mutator) -> None:
    missed = []
    for seed in range(MUTANTS):
        tree = copy.deepcopy(complete_report(seed))
        mutator(Random(seed), tree)
        found = errors(tree)
        if code not in {f.code for f in found}:
            missed.append((seed, [f"{f.code} {f.message}" for f in found]))
    assert len(missed) <= MUTANTS * (1 - CAUGHT), missed


@pytest.mark.parametrize("code", TEXT_MUTATORS)
def test_broken_texts_are_caught_by_the_right_rule(code: str) -> None:
    for seed in range(MUTANTS):
        text = TEXT_MUTATORS[code](Random(seed), dumps(complete_report(seed)))
        found = [f.code for f in parse_text(text, "x.json").findings]
        assert code in found, text[:200]


def test_every_error_rule_has_mutants() -> None:
    unbroken = {r.code for r in all_rules() if r.severity is Severity.ERROR}
    assert unbroken - set(MUTATORS) - set(TEXT_MUTATORS) == {
        "BL011",  # what a house schema says is the house's: tests/test_house_schema.py
        "BL013",  # no text at all: tests/test_source.py
    }
