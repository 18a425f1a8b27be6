"""Selection by code, prefix and name."""

from __future__ import annotations

import pytest

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.select import Selection, rule_prefix


@pytest.mark.parametrize(
    ("word", "prefix"),
    [
        ("BL004", "BL004"),
        ("bl0", "BL0"),
        (" BL00 ", "BL00"),
        ("unknown-field", "BL004"),
        ("Unknown-Field", "BL004"),
        ("all", ""),
    ],
)
def test_a_rule_is_named_by_code_prefix_or_name(word: str, prefix: str) -> None:
    assert rule_prefix(word) == prefix


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("unknwon-field", "'unknown-field'"),
        ("BL0004", "'BL004'"),
        ("percent", "'percent-for-fraction'"),
        ("Draft length", "'draft-length'"),
        ("leng", "benchlint rules"),
        ("", "benchlint rules"),
    ],
)
def test_an_unknown_rule_is_answered_with_the_nearest(word: str, nearest: str) -> None:
    with pytest.raises(CannotRunError, match=nearest):
        rule_prefix(word)


@pytest.mark.parametrize(
    ("select", "ignore", "wanted"),
    [
        (None, [], True),
        (["BL0"], [], True),
        (["BL2"], [], False),
        (None, ["BL0"], False),
        (["BL004"], ["BL0"], True),
        (["BL0"], ["BL004"], False),
        (["BL004"], ["BL004"], False),
        (["ALL"], ["unknown-field"], False),
        ([], [], False),
    ],
)
def test_the_longer_prefix_decides(
    select: list[str] | None, ignore: list[str], wanted: bool
) -> None:
    assert Selection.of(select, ignore).wants("BL004") is wanted


def test_a_file_that_cannot_be_checked_is_never_clean_by_selection() -> None:
    assert Selection.of(["BL2"], None).wants("BL001")
    assert not Selection.of(["BL2"], ["BL001"]).wants("BL001")


def test_a_tree_that_is_no_report_is_never_clean_by_selection() -> None:
    whole = Finding("BL005", "wrong-type", Severity.ERROR, "", pointer="")
    part = Finding("BL005", "wrong-type", Severity.ERROR, "", pointer="/runs")
    assert Selection.of(["BL2"], None).keeps(whole)
    assert not Selection.of(["BL2"], None).keeps(part)
