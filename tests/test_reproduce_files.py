"""`benchlint reproduce` with model files: a real llama-server that it starts and stops."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.reproducers.journal import Started, read
from tests.scripted_server import report

MODELS = Path(__file__).parent / "models"

needs_xllamacpp = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"
)


@needs_xllamacpp
def test_a_report_is_run_again_with_model_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(report(), "utf-8")
    done = CliRunner().invoke(
        app,
        [
            *("reproduce", str(tmp_path / "a.json"), "--out", str(tmp_path / "out")),
            *("--target-model", str(MODELS / "target-q8_0.gguf")),
            *("--draft-model", str(MODELS / "draft-q8_0.gguf")),
            *("--threads", "1", "--budget", "3s"),
        ],
    )
    assert done.exit_code == 3, done.output
    assert "the budget of 3 s is spent" in done.stderr
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text("utf-8"))
    environment = {line["name"]: line["here"] for line in verdict["environment"]}
    assert environment["target name"] == "target-q8_0.gguf"
    assert environment["telemetry"] == "llama-server"
    journal = read(tmp_path / "out" / "samples.jsonl")
    assert journal.samples
    [first, *_] = journal.of_kind(Started)
    assert "target-q8_0.gguf" in " ".join(first.description.command_line)
    for path in (tmp_path / "out").iterdir():
        content = path.read_text("utf-8")
        assert str(MODELS) not in content, path.name
        assert str(tmp_path) not in content, path.name
