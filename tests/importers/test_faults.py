"""Known faults in the shapes of real tools: the right rule finds each in the tool's own output.

`faults_*.yaml` lists them: what was wrong, the file as the tool writes it, and the rule's code.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.reading import imported


def _faults() -> Iterator[Any]:
    for path in sorted(Path(__file__).parent.glob("faults_*.yaml")):
        for fault in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield pytest.param(fault, id=f"{path.stem.removeprefix('faults_')}: {fault['fault']}")


@pytest.mark.parametrize("fault", list(_faults()))
def test_the_right_rule_finds_it(fault: dict[str, Any], tmp_path: Path) -> None:
    reports = imported(tmp_path, fault["text"], fault["file"])
    found = [(report, finding) for report in reports for finding in check_tree(report.tree)]
    if not fault["finds"]:
        assert [f.code for _, f in found if f.severity.value != "note"] == []
        return
    ours = [(r, f) for r, f in found if f.code == fault["finds"]]
    assert ours, sorted({f.code for _, f in found})
    assert {f.severity.value for _, f in ours} == {fault["severity"]}
    if "marked" in fault:
        assert fault["marked"] in [_marked(report, f.pointer) for report, f in ours]


def _marked(report: ImportedDocument, pointer: str) -> str:
    """The text of the original that a finding points at."""
    at = report.locate(pointer)
    start = at.excerpt_column - 1
    return at.excerpt[start : start + at.end_column - at.column]
