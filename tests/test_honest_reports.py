"""Honest reports, simulated step by step, are accused of nothing."""

from __future__ import annotations

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits
from benchlint.checker.finding import Severity
from tests.simulator import honest_report


def tree_of(text: str) -> object:
    """The report as the reader would give it: numbers keep their digits."""
    import json

    return json.loads(text, parse_float=Digits)


@pytest.mark.parametrize("seed", range(600))
def test_no_error_on_an_honest_report(seed: int) -> None:
    text = honest_report(seed)
    errors = [f for f in check_tree(tree_of(text)) if f.severity is Severity.ERROR]
    assert errors == [], text
