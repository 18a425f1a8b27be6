"""The skeleton is a report that says nothing yet, and every field of it exists."""

from __future__ import annotations

import json

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.skeleton import SKELETON, skeleton_json, skeleton_yaml


def test_both_forms_are_the_same_report() -> None:
    assert json.loads(skeleton_json()) == SKELETON
    assert yaml.safe_load(skeleton_yaml()) == SKELETON


def test_nothing_in_it_is_wrong_and_something_is_missing() -> None:
    findings = check_tree(SKELETON)
    assert {f.severity for f in findings} == {Severity.NOTE}
    assert all(f.code.startswith("BL1") for f in findings)


def test_comments_explain_the_fields() -> None:
    lines = skeleton_yaml().splitlines()
    assert any("placement" in line for line in lines)
    assert sum("  # " in line for line in lines) > 25


def test_every_value_has_a_comment() -> None:
    bare = [x for x in skeleton_yaml().splitlines() if x.endswith((": null", ": []"))]
    assert bare == []


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("policy", "One of: fixed, adaptive"),
        ("acceptance_rule", "One of: lossless, relaxed, synthetic"),
        ("offload", "One of: none, layers, experts, weight_streaming, unknown"),
        ("of", "One of: drafted, output, configured"),
    ],
)
def test_comments_list_the_words_that_a_field_takes(field: str, words: str) -> None:
    lines = [x for x in skeleton_yaml().splitlines() if x.lstrip().startswith(f"{field}: ")]
    assert lines
    assert all(line.endswith(words) for line in lines)


def test_fields_without_words_list_none() -> None:
    lines = skeleton_yaml().splitlines()
    assert not any("One of" in line for line in lines if line.lstrip().startswith("warm:"))
    assert not any("One of" in line for line in lines if line.lstrip().startswith("engine:"))


def test_nothing_is_guessed() -> None:
    assert SKELETON["workloads"]["code"]["mix"] is None
    assert "mix: null  # Shares by kind" in skeleton_yaml()
