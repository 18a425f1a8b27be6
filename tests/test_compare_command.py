"""`benchlint compare` as a command: output, exit codes, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchlint.app import app

EXAMPLE = Path(__file__).parents[1] / "examples" / "dflash.json"


def run(*words: str, stdin: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["compare", *words], input=stdin)
    return result.exit_code, result.output


@pytest.fixture
def slower(tmp_path: Path) -> str:
    path = tmp_path / "new.json"
    path.write_text(EXAMPLE.read_text("utf-8").replace("84.64", "60.1"), "utf-8")
    return str(path)


def test_nothing_changed() -> None:
    code, output = run(str(EXAMPLE), str(EXAMPLE))
    assert code == 0
    assert "nothing changed" in output


def test_a_regression_is_shown_with_both_numbers(slower: str) -> None:
    code, output = run(str(EXAMPLE), slower)
    assert code == 1
    assert "84.64" in output
    assert "60.1" in output
    assert "BL601" in output


def test_json_and_markdown(slower: str) -> None:
    code, output = run(str(EXAMPLE), slower, "--format", "json")
    assert code == 1
    assert "decode.tok_s" in json.dumps(json.loads(output))
    code, output = run(str(EXAMPLE), slower, "--format", "markdown")
    assert code == 1
    assert "| `dflash-code-tuned` |" in output


def test_standard_input_is_the_old_report() -> None:
    code, _ = run("-", str(EXAMPLE), stdin=EXAMPLE.read_text("utf-8"))
    assert code == 0


@pytest.mark.parametrize("words", [("absent.json",), ("--format", "xml", str(EXAMPLE))])
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...]) -> None:
    code, output = run(*words, str(EXAMPLE))
    assert code == 2
    assert output.startswith("benchlint: ")
    assert output.count("\n") == 1
