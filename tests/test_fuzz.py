"""Any bytes, any tree and any broken report give findings at their places, and no exception.

All of them go the way that the command takes, through a file. See fuzzing.py for what every
finding is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from tests.fuzzing import (
    ABSENT,
    NAMES,
    ODD_COUNTS,
    ODD_FRACTIONS,
    SUFFIXES,
    TOO_LARGE,
    WORDS,
    Place,
    Subject,
    Tree,
    cases,
    changed,
    grafted_reports,
    honest_reports,
    mutated_texts,
    places,
    raw_bytes,
    shaped_reports,
    trees,
    value_at,
)
from tests.mutations import complete_report
from tests.simulator import Printed, dumps


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return Subject(tmp_path_factory.mktemp("fuzz"))


# --- bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_bytes(subject: Subject, suffix: str) -> None:
    @given(raw_bytes)
    @cases(600)
    def check(data: bytes) -> None:
        subject.check(suffix, data)

    check()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_broken_texts_of_honest_reports(subject: Subject, suffix: str) -> None:
    @given(mutated_texts(suffix))
    @cases(600)
    def check(data: bytes) -> None:
        subject.check(suffix, data)

    check()


# --- trees -----------------------------------------------------------------------------------


@given(trees)
@cases(1000)
def test_any_tree(subject: Subject, tree: object) -> None:
    subject.check(".json", dumps(tree).encode())


@given(grafted_reports())
@cases(1500)
def test_any_tree_in_place_of_a_part_of_a_report(subject: Subject, tree: object) -> None:
    subject.check(".json", dumps(tree).encode())


@given(shaped_reports)
@cases(1500)
def test_any_values_in_a_report_of_the_right_shape(subject: Subject, tree: Tree) -> None:
    subject.check(".json", dumps(tree).encode())


# --- one thing wrong, everywhere -------------------------------------------------------------

REPORT = complete_report(0)


def numbers_of(tree: object) -> Iterator[Place]:
    for place in places(tree):
        value = value_at(tree, place)
        if isinstance(value, (int, float, Printed)) and not isinstance(value, bool):
            yield place


@pytest.mark.parametrize(
    "value", [*ODD_COUNTS, *ODD_FRACTIONS, *TOO_LARGE, 0], ids=lambda v: str(v)[:12]
)
def test_an_odd_number_in_the_place_of_each_number(subject: Subject, value: object) -> None:
    for place in numbers_of(REPORT):
        subject.codes(changed(REPORT, place, value))


@pytest.mark.parametrize("value", [0, -1, Printed("0.0"), Printed("-1e60")], ids=str)
def test_an_odd_number_in_the_place_of_all_numbers(subject: Subject, value: object) -> None:
    for tree in honest_reports():
        odd: object = tree
        for place in numbers_of(tree):
            odd = changed(odd, place, value)
        subject.codes(odd)


@pytest.mark.parametrize("value", [[], {}, "", None, ABSENT, [None], [[]], {"": None}], ids=str)
def test_something_empty_in_each_place(subject: Subject, value: object) -> None:
    for place in list(places(REPORT))[1:]:
        subject.codes(changed(REPORT, place, value))
