"""`init` and `render` as commands."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.document import Digits
from benchlint.checker.one_report import json_with_digits
from benchlint.checker.skeleton import SKELETON, skeleton_toml

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def test_examples_in_the_comments_of_toml_are_toml() -> None:
    examples = re.findall(r"# .*?(\{.*\})", skeleton_toml())
    assert examples
    for example in examples:
        assert tomllib.loads(f"x = {example}")


@pytest.mark.parametrize("name", ["report.json", "report.yaml", "report.yml", "report.toml"])
def test_init_writes_a_report_that_check_reads(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    code, _ = run("init", str(path))
    assert code == 0
    code, output = run("check", "--format", "json", str(path))
    assert code == 0
    findings = json.loads(output)["files"][0]["findings"]
    assert {f["severity"] for f in findings} == {"note"}


def test_init_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("mine", "utf-8")
    code, output = run("init", str(path))
    assert code == 2
    assert "--force" in output
    assert path.read_text("utf-8") == "mine"
    assert run("init", "--force", str(path))[0] == 0
    assert json.loads(path.read_text("utf-8")) == SKELETON


@pytest.mark.parametrize("name", ["", "/", "new/"])
@pytest.mark.parametrize("words", [(), ("--force",)])
def test_init_wants_a_file_and_no_folder(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    code, output = run("init", f"{tmp_path}{name and '/'}{name}", *words)
    assert code == 2
    assert "is a folder; name a file in it" in output
    assert not list(tmp_path.iterdir())


def test_init_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    assert f"wrote the skeleton to {path}; " in run("init", str(path))[1]


def test_the_skeleton_in_toml_has_what_the_others_have() -> None:
    def known(value: object) -> object:
        if isinstance(value, dict):
            return {k: known(v) for k, v in value.items() if v is not None and v != []}
        return [known(v) for v in value] if isinstance(value, list) else value

    expected = cast("dict[str, Any]", known(SKELETON))
    expected["configurations"]["plain"]["drafter"] = []
    text = skeleton_toml()
    assert tomllib.loads(text) == expected
    assert "# tok_s =  # Output tokens per second of one stream." in text


@pytest.mark.parametrize("name", ["a.md", "a.MD", "a.jsonl"])
def test_init_refuses_languages_it_does_not_write(name: str, tmp_path: Path) -> None:
    code, output = run("init", str(tmp_path / name))
    assert code == 2
    assert ".json, .yaml or .toml" in output
    assert list(tmp_path.iterdir()) == []


def test_init_says_what_yaml_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = "pip install '.[yaml]'"
    assert needs not in run("init", str(tmp_path / "a.yaml"))[1]
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert needs in run("init", str(tmp_path / "b.yaml"))[1]
    assert needs not in run("init", str(tmp_path / "b.json"))[1]


def test_init_to_standard_output() -> None:
    code, output = run("init", "-")
    assert code == 0
    assert json.loads(output) == SKELETON


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.json")), ids=lambda p: p.name)
def test_render_keeps_the_report_as_it_is(example: Path) -> None:
    code, output = run("render", str(example))
    assert code == 0
    assert example.read_text("utf-8").rstrip("\n") in output


def test_render_of_what_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1, 2", "utf-8")
    code, output = run("render", str(path))
    assert code == 2
    assert output.count("\n") == 1
    assert run("render", str(tmp_path / "absent.json"))[0] == 2


def test_render_to_a_file_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    example = str(EXAMPLES / "dflash.json")
    assert run("render", example, "-o", str(page)) == (0, f"benchlint: wrote {page}\n")
    assert page.read_text("utf-8") == run("render", example)[1]


def test_render_says_that_it_leaves_out_what_does_not_fit_the_format(tmp_path: Path) -> None:
    path = tmp_path / "typo.json"
    path.write_text(
        '{"benchlint": "1", "runs": [{"id": "a", "decod": 1, "decode": {"tok_s": "9 tok/s"}}]}'
    )
    result = CliRunner().invoke(app, ["render", str(path)])
    assert "is taken without 2 members that the format does not allow" in result.stderr
    assert "`benchlint check` says which" in result.stderr
    assert "taken" not in result.stdout


def test_render_says_where_a_report_is_broken_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{\n  "benchlint": "1",\n}')
    code, output = run("render", str(path))
    assert code == 2
    assert output == (
        f"benchlint: {path}:2: not JSON: a comma after the last member; remove the comma\n"
    )


def test_a_device_without_a_name_and_a_count_is_not_stated(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    run("init", str(path))
    assert "- Machine: not stated." in run("render", str(path))[1]


def test_digits_survive_the_way_to_json() -> None:
    tree = {"a": [Digits("36.300"), 5, True, None, "x"], "b": {}, "c": Digits("1_0.5")}
    text = json_with_digits(tree)
    assert "36.300" in text
    assert json.loads(text) == {"a": [36.3, 5, True, None, "x"], "b": {}, "c": 10.5}
