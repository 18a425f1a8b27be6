"""What `benchlint check` says of folders without a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.importers import reading

BENCH = {"build_commit": "abc", "build_number": 9000, "model_type": "llama 8B Q8_0"}
BENCH |= {"n_prompt": 0, "n_gen": 256, "avg_ns": 8 * 10**9, "avg_ts": 32.0}
PAGE = "| method | tok/s | acceptance |\n|---|---|---|\n| mtp | 60.0 | 50% |\n"
NO_REPORT = "from folders, files are taken that have a `benchlint` member"

_NO_MATCH = "benchlint: nothing to check in *.json, x/**: no file matches\n"

Folder = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Writes files into the current folder; gives what `check` says of it or of other paths."""
    monkeypatch.chdir(tmp_path)

    def said(*words: str, **files: object) -> str:
        for name, content in files.items():
            path = Path(name.replace("__", "/").replace("_", "."))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        result = CliRunner().invoke(app, ["check", *(words or (".",))])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1
        return result.stderr

    return said


def test_one_result_of_another_tool_is_named(folder: Folder) -> None:
    said = folder(runs__bench_json=[BENCH], package_json={"name": "demo"})
    assert "nothing to check in .: no report, but runs/bench.json looks like results of" in said
    assert "`benchlint convert FILE`" in said
    assert NO_REPORT not in said


def test_several_are_counted(folder: Folder) -> None:
    said = folder("here", here__a_jsonl=BENCH, here__b_txt=PAGE, here__README_md=PAGE, c_json=BENCH)
    assert "3 files look like results of other tools, such as here/README.md: name them" in said
    assert said == folder("here", "--diff")
    assert said.replace(" in here", " in h*") == folder("h*")


def test_of_many_no_more_are_counted_and_few_are_opened(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[str]()
    monkeypatch.setattr(reading, "looks_like_results", lambda path: looked.append(path) or True)
    files = {f"bench{i}_json": "" for i in range(150)}
    assert "20 or more files look like results" in folder(**files)
    assert len(looked) == 20
    looked.clear()
    monkeypatch.setattr(reading, "looks_like_results", looked.append)
    assert NO_REPORT in folder()
    assert len(looked) == 100


@pytest.mark.parametrize(
    "name", ["_hidden_json", "verdict_md", "_hidden__bench_json", "bench_py", "left__bench_json"]
)
def test_what_is_not_meant_is_not_counted(folder: Folder, name: str) -> None:
    said = folder(benchlint_toml='exclude = ["left"]', **{name: PAGE if "md" in name else BENCH})
    assert NO_REPORT in said


@pytest.mark.parametrize("text", ["", "\0" * 9, "{", "[" * 9_000, '{"name": "demo"}', "# a page"])
def test_what_no_tool_wrote_is_not_counted(folder: Folder, text: str) -> None:
    assert NO_REPORT in folder(a_json=text, a_md=text, a_log=text)


def test_json_that_is_too_large_to_look_at_is_not_counted(folder: Folder) -> None:
    assert NO_REPORT in folder(a_json=json.dumps([BENCH]) + " " * (1 << 20))


def test_what_the_configuration_leaves_out_is_said(folder: Folder, tmp_path: Path) -> None:
    report, file = {"benchlint": "1"}, tmp_path / "benchlint.toml"
    said = folder(benchlint_toml='exclude = ["*.json"]', a_json=report)
    assert f"block (Markdown), and that `exclude` in {file} does not name; name other files" in said
    said = folder(benchlint_toml='include = ["x/*"]', a_json=[BENCH])
    assert f"no file there is one that `include` in {file} names\n" in said


def test_a_glob_without_a_match_is_told_from_a_folder_without_a_report(folder: Folder) -> None:
    assert folder("*.json", "x/**") == _NO_MATCH
    assert NO_REPORT in folder("*.json", ".")
