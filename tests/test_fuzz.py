"""Any bytes, any tree and any broken report give findings at their places, and no exception.

All of them go the way that the command takes, through a file. See fuzzing.py for what every
finding is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given

from benchlint.checker.check import LISTED
from benchlint.checker.tree import MAX_VALUES
from tests.fuzzing import (
    ABSENT,
    NAMES,
    ODD_COUNTS,
    ODD_FRACTIONS,
    SUFFIXES,
    TOO_LARGE,
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
    @example(b"\t\0\n")  # UTF-16 as two bytes, none with its line end
    @example(b"\n\0")  # UTF-16 as a whole, a blank line and a zero byte line by line
    @example(b"\0\n")
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


@given(grafted_reports())
@cases(300)
def test_fixing_twice_is_fixing_once(subject: Subject, tree: object) -> None:
    fixed = subject.fix(dumps(tree).encode())
    assert subject.fix(fixed) == fixed


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


# --- what refers to what ---------------------------------------------------------------------


def runs(count: int, **members: object) -> Tree:
    return {"runs": [{"id": f"r{i}", **members} for i in range(count)]}


def test_configurations_based_on_one_another(subject: Subject) -> None:
    for length in (1, 2, 3, 31, 32, 33, 200):
        names = [f"c{i}" for i in range(length)]
        for last in (names[0], names[-1], "nothing", None):
            bases = [*names[1:], last]
            tree = {
                "configurations": {
                    name: {"based_on": base} for name, base in zip(names, bases, strict=True)
                },
                **runs(3, configuration="c0"),
            }
            assert ("BL006" in subject.codes(tree)) is (last is not None or length > 32)


def test_hundreds_of_runs_with_one_id(subject: Subject) -> None:
    run = REPORT["runs"][-1]
    tree = {**REPORT, "runs": [run] * 400, "claims": REPORT["claims"] * 100}
    assert subject.codes(tree).count("BL006") > 400


def test_references_to_nothing_and_to_themselves(subject: Subject) -> None:
    for name in (*NAMES, "r0", "nothing"):
        run = {
            "configuration": name,
            "workload": name,
            "parts": [name, name],
            "speedup": {"value": 2, "over": name},
            "losslessness": {"baseline": name},
        }
        claim = {"of": name, "to": name, "among": [name], "metric": "decode.tok_s", "value": 2}
        row = {"id": name, "value": 5, "configuration": name}
        tree = {**runs(2, **run), "claims": [claim], "quality": [row, row]}
        assert "BL006" in subject.codes(tree)


# --- depth and size --------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("depth", [90, 101, 999, 100_000])
def test_deep_nesting(subject: Subject, depth: int, suffix: str) -> None:
    name = "x = " if suffix == ".toml" else '"x": '
    fence = ("```benchlint\n", "\n```\n") if suffix == ".md" else ("", "")
    for opening, inside, closing in (("[", "", "]"), (f"{{{name}", "1", "}"), ("[", "", "")):
        nested = name + opening * depth + inside + closing * depth
        text = nested if suffix == ".toml" else f"{{{nested}}}"
        (checked,) = subject.check(suffix, f"{fence[0]}{text}{fence[1]}".encode())
        found = {finding.code for finding in checked.result.findings}
        wrong = {"BL001", "BL008"} if depth > 100 or not closing else {"BL004", "BL014"}
        assert found & wrong


@pytest.mark.parametrize(
    "tree",
    [
        runs(1, speculation={"per_position": {"values": [Printed("0.5")] * 100_000}}),
        runs(1, speculation={"histogram": [5] * 100_000}),
        runs(1, decode={"tok_s": {"samples": [Printed("80.5")] * 100_000}}),
        runs(1, parts=["r0"] * 50_000),
        {"workloads": {"w": {"mix": {f"m{i}": Printed("0.1") for i in range(50_000)}}}},
        {"runs": [1] * 50_000},
        {"runs": [{}] * 20_000},
        {"runs": [{"id": "a", "x": 1}] * 5_000},
        {f"unknown{i}": 1 for i in range(20_000)},
        {"x" * 1_000_000: 1, "benchlinx" * 100_000: 1},
        {"configurations": {f"c{i}": {"based_on": f"c{i + 1}"} for i in range(5_000)}},
        {**runs(3_000, configuration="nothing", workload="nothing")},
        {**runs(1), "claims": [{"of": f"r{i}", "to": "r0"} for i in range(3_000)]},
    ],
    ids=lambda tree: str(tree)[:24],
)
def test_more_than_anyone_needs(subject: Subject, tree: Tree) -> None:
    codes = subject.codes({"benchlint": "1", **tree})
    assert all(codes.count(code) <= LISTED + 1 for code in set(codes))


def test_more_values_than_are_read(subject: Subject) -> None:
    codes = subject.codes({"runs": Printed("[" + "1," * 1_900_000 + "1]")})
    assert codes == ["BL005"]
    assert subject.codes(Printed("[" + "," * MAX_VALUES)) == ["BL008"]
