"""Numbers that have been misread go where they belong: see misread.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from tests.importers.reading import imported, value

_FILE = Path(__file__).parent / "misread.yaml"
NUMBERS: list[dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
EACH = pytest.mark.parametrize("number", NUMBERS, ids=lambda each: each["what"])


def _text(number: dict[str, Any]) -> str:
    """The text of the file; a line of JSON Lines stands over several lines there."""
    text: str = number["text"]
    return " ".join(text.split("\n")) if number.get("one_line") else text


@EACH
def test_it_is_read_as_what_it_is(number: dict[str, Any], tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _text(number), number["file"])
    assert report.imported.tool == number["tool"]
    for at, expected in number.get("reads", {}).items():
        assert value(report, at) == expected, at
    for at in number.get("absent", ()):
        with pytest.raises(KeyError):
            value(report, at)
    assert number.get("remarks", "") in " ".join(report.imported.remarks)
    codes = {finding.code for finding in check_tree(report.tree)}
    assert codes.isdisjoint(number.get("silent", ()))


@EACH
def test_each_says_what_is_expected(number: dict[str, Any]) -> None:
    assert {"reads", "absent", "remarks"} & set(number)
    known = {"what", "tool", "file", "text", "one_line", "silent", "reads", "absent", "remarks"}
    assert set(number) <= known
