"""Suppressions: what they take away, when they end, and when they are reported themselves."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from benchlint.checker.files import Globs
from benchlint.checker.finding import Finding, Location, Severity
from benchlint.checker.named_pointers import PointerNames, PointerPattern
from benchlint.checker.suppressions import Suppression, suppress, unused, without_ignored

TODAY = date(2027, 3, 1)
ROOT = str(Path("/root"))
PATH = str(Path("/root/results/a.json"))
NAMES = PointerNames({"runs": [{"id": "plain"}, {"id": "dflash"}]})
FINDINGS = [
    Finding("BL201", "accepted-length-out-of-bounds", Severity.ERROR, "", "/runs/1/speculation"),
    Finding("BL202", "accepted-length-vs-positions", Severity.ERROR, "", "/runs/0/speculation"),
    Finding("BL101", "quant-recipe", Severity.NOTE, ""),
]


def _suppression(
    rule: str, *, files: tuple[str, ...] = (), pointer: str = "", expires: date | None = None
) -> Suppression:
    return Suppression(
        rule=rule,
        written=rule,
        reason="known",
        files=Globs(ROOT, files),
        pointer=PointerPattern.of(pointer) if pointer else None,
        expires=expires,
        location=Location(7, 1, 13, "[[suppress]]"),
    )


@pytest.mark.parametrize(
    ("suppression", "left"),
    [
        (_suppression("BL201"), ["BL202", "BL101"]),
        (_suppression("BL2"), ["BL101"]),
        (_suppression(""), []),
        (_suppression("BL3"), ["BL201", "BL202", "BL101"]),
        (_suppression("BL2", pointer="/runs[id=dflash]"), ["BL202", "BL101"]),
        (_suppression("BL2", pointer="/runs/0"), ["BL201", "BL101"]),
        (_suppression("BL2", pointer="/runs"), ["BL101"]),
        (_suppression("BL1", pointer="/runs"), ["BL201", "BL202", "BL101"]),
        (_suppression("BL2", files=("results/*.json",)), ["BL101"]),
        (_suppression("BL2", files=("other/*.json",)), ["BL201", "BL202", "BL101"]),
        (_suppression("BL2", expires=TODAY), ["BL101"]),
        (_suppression("BL2", expires=date(2027, 2, 28)), ["BL201", "BL202", "BL101"]),
    ],
)
def test_what_is_left(suppression: Suppression, left: list[str]) -> None:
    result = suppress(FINDINGS, PATH, NAMES, [suppression], TODAY)
    assert [f.code for f in result.kept] == left
    assert result.count == len(FINDINGS) - len(left)
    assert result.used == ({0} if result.count else frozenset())


def test_all_that_match_are_used() -> None:
    both = [_suppression("BL201"), _suppression("BL2"), _suppression("BL3")]
    result = suppress(FINDINGS, PATH, NAMES, both, TODAY)
    assert result.used == {0, 1}
    assert result.asked == {0, 1, 2}


def test_one_for_other_files_is_not_asked() -> None:
    result = suppress(FINDINGS, PATH, NAMES, [_suppression("BL2", files=("x",))], TODAY)
    assert result.asked == frozenset()


def test_what_did_nothing_is_reported_where_it_stands() -> None:
    all_of_them = [_suppression("BL201"), _suppression("BL3"), _suppression("BL4")]
    found = list(unused(all_of_them, asked={0, 1}, used={0}, today=TODAY))
    assert [(f.code, f.severity) for f in found] == [("BL010", Severity.WARNING)]
    assert "BL3 matches nothing" in found[0].message
    assert "known" in found[0].help
    assert found[0].location == Location(7, 1, 13, "[[suppress]]")


def test_what_has_expired_is_reported_as_that() -> None:
    expired = [_suppression("BL201", expires=date(2027, 2, 28))]
    (found,) = unused(expired, asked={0}, used=set(), today=TODAY)
    assert "expired on 2027-02-28" in found.message


def test_of_rules_that_did_not_run_nothing_is_known() -> None:
    both = [_suppression("BL201"), _suppression("BL3")]
    assert without_ignored(both, {0, 1}, ["BL201", "BL202"]) == {0}
