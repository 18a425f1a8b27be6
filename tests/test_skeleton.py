"""The skeleton is a report that says nothing yet, and every field of it exists."""

from __future__ import annotations

import json

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
