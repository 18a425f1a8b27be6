"""Known faults in the shapes of real tools: the right rule finds each in the tool's own output.

`faults_*.yaml` lists them: what was wrong, the file as the tool writes it, and the rule's code;
also rules that have to speak besides, and rules that must be silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.errors import CannotRunError
from benchlint.checker.importers.converting import convert
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
    codes = {finding.code for _, finding in found}
    assert set(fault.get("also", ())) <= codes
    assert codes.isdisjoint(fault.get("silent", ()))
    if not fault["finds"]:
        assert [f.code for _, f in found if f.severity.value != "note"] == []
        return
    ours = [(r, f) for r, f in found if f.code == fault["finds"]]
    assert ours, sorted(codes)
    assert {f.severity.value for _, f in ours} == {fault["severity"]}
    if "marked" in fault:
        assert fault["marked"] in [_marked(report, f.pointer) for report, f in ours]


def _marked(report: ImportedDocument, pointer: str) -> str:
    """The text of the original that a finding points at."""
    at = report.locate(pointer)
    start = at.excerpt_column - 1
    return at.excerpt[start : start + at.end_column - at.column]


def test_a_log_of_another_model_does_not_go_with_a_result(tmp_path: Path) -> None:
    result, log = tmp_path / "result.json", tmp_path / "server.log"
    result.write_text(
        '{"model_id": "acme/Tern-27B", "tokenizer_id": "acme/Tern-27B", "num_prompts": 5, '
        '"request_rate": "inf", "output_throughput": 170.0}'
    )
    log.write_text(
        "INFO [core.py:1] Initializing a V1 LLM engine (v0.15.1) with config: "
        "model='acme/Tern-9B', speculative_config=None, served_model_name=acme/Tern-9B\n"
    )
    with pytest.raises(
        CannotRunError, match=r"target\.name: acme/Tern-27B .* against acme/Tern-9B"
    ):
        convert([str(result), str(log)], limit_bytes=100_000)
