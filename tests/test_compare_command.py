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


def test_a_long_setting_does_not_push_the_others_apart(tmp_path: Path) -> None:
    paths = []
    for name, command, threads in (("old", ["a" * 30] * 5, 4), ("new", ["b"], 8)):
        engine = {"name": "vllm", "command_line": command, "threads": threads}
        report = {"benchlint": "1", "engine": engine, "runs": [{"id": "r"}]}
        (tmp_path / name).with_suffix(".json").write_text(json.dumps(report), "utf-8")
        paths.append(str(tmp_path / f"{name}.json"))
    lines = run(*paths)[1].splitlines()
    assert "  engine.threads  4    8    r" in lines
    at = lines.index("  engine.command_line")
    assert lines[at + 1].endswith("; new: b; runs: r")


def test_both_reports_cannot_be_standard_input() -> None:
    code, output = run("-", "-", stdin=EXAMPLE.read_text("utf-8"))
    assert code == 2
    assert output == "benchlint: OLD and NEW cannot both be standard input\n"


def test_what_does_not_fit_the_format_is_said_to_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "typo.json"
    path.write_text('{"benchlint": "1", "runs": [{"id": "a", "decod": 1}]}', "utf-8")
    left_out = f"{path} is taken without 1 member that the format does not allow"
    assert run(str(path), str(path))[1].count(left_out) == 2
    assert left_out not in run(str(EXAMPLE), str(EXAMPLE))[1]


@pytest.mark.parametrize("output_format", ["text", "markdown", "json"])
def test_reports_without_a_run_in_common_are_not_compared(
    tmp_path: Path, output_format: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(
        '{"benchlint": "1", "runs": [{"id": "else", "decode": {"tok_s": 1.5}}]}', "utf-8"
    )
    for words in ((str(EXAMPLE), str(path)), (str(path), str(EXAMPLE))):
        code, output = run(*words, "--format", output_format)
        assert code == 2
        assert "no run id is in both" in output
        assert "nothing was compared" in output


def test_quality_rows_alone_can_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "quality.json"
    path.write_text(
        '{"benchlint": "1", "quality": [{"metric": "perplexity", "value": 6.62}]}', "utf-8"
    )
    assert run(str(path), str(path))[0] == 0


def test_runs_that_are_gone_are_in_the_headline(tmp_path: Path) -> None:
    tree = json.loads(EXAMPLE.read_text("utf-8"))
    tree["claims"], lost = [], tree["runs"].pop()
    path = tmp_path / "new.json"
    path.write_text(json.dumps(tree), "utf-8")
    _, output = run(str(EXAMPLE), str(path))
    assert lost["id"] in output
    assert ", 1 run gone (" in output.splitlines()[-1]


@pytest.mark.parametrize("words", [("absent.json",), ("--format", "xml", str(EXAMPLE))])
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...]) -> None:
    code, output = run(*words, str(EXAMPLE))
    assert code == 2
    assert output.startswith("benchlint: ")
    assert output.count("\n") == 1
