"""`benchlint convert`: several files into one report, and where each field comes from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.importers import registry
from benchlint.checker.importers.building import Building
from benchlint.checker.importers.importer import Confidence, Imported
from benchlint.checker.importers.registry import importers

RESULT = {
    "benchlint": "1",
    "date": "2026-03-02",
    "engine": {"name": "vllm", "version": "0.12.0"},
    "configurations": {"k4": {"drafter": {"method": "eagle3"}, "draft_length": 4}},
    "runs": [{"id": "k4", "configuration": "k4", "throughput": {"tok_s": 812.5}}],
}


class Folder:
    """A folder in which files are converted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: object) -> str:
        file = self.path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return str(file)

    def convert(self, *words: str) -> Any:
        return CliRunner().invoke(app, ["convert", *words])

    def converted(self, *files: str) -> Any:
        out = str(self.path / "out.json")
        result = self.convert(*files, "-o", out)
        assert result.exit_code == 0, result.output
        return json.loads(Path(out).read_text())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """With a log importer beside the others: lines `LOG path value`."""
    log = replace(importers()[0], name="log", title="a log", companion=True)
    log = replace(log, recognise=_is_log, read=_read_log, hints={}, streams=True)
    known = (*importers(), log)
    monkeypatch.setattr(registry, "importers", lambda: known)
    return Folder(tmp_path)


def _is_log(head: Any) -> Confidence:
    return Confidence.SURE if head.text.startswith("LOG ") else Confidence.NO


def _read_log(source: Any) -> Any:
    building = Building()
    for line in source.lines():
        _, path, value = line.text.split(" ", 2)
        parts = tuple(int(p) if p.isdecimal() else p for p in path.split("."))
        building.put(parts, line.found(json.loads(value), (0, len(line.text))))
    yield Imported.of("log", building)


def test_a_report_stays_what_it_is(folder: Folder) -> None:
    assert folder.converted(folder.write("a.json", RESULT)) == RESULT


def test_two_results_stand_side_by_side(folder: Folder) -> None:
    one = folder.write("one.json", RESULT)
    other = {
        **RESULT,
        "date": "2026-03-01",
        "engine": {"name": "vllm", "version": "0.13.0"},
        "configurations": {"k4": {"drafter": None}},
    }
    merged = folder.converted(one, folder.write("two.json", other))
    assert merged["engine"] == {"name": "vllm"}
    assert merged["date"] == "2026-03-01"
    assert merged["configurations"] == {
        "k4": {"drafter": {"method": "eagle3"}, "draft_length": 4, "engine": {"version": "0.12.0"}},
        "k4 (two)": {"drafter": None, "engine": {"version": "0.13.0"}},
    }
    assert [(r["id"], r["configuration"]) for r in merged["runs"]] == [
        ("k4", "k4"),
        ("k4 (two)", "k4 (two)"),
    ]


def test_equal_configurations_of_two_results_are_one(folder: Folder) -> None:
    again = {**RESULT, "runs": [{"id": "b", "configuration": "k4"}]}
    merged = folder.converted(folder.write("one.json", RESULT), folder.write("two.json", again))
    assert list(merged["configurations"]) == ["k4"]
    assert [run["configuration"] for run in merged["runs"]] == ["k4", "k4"]


def test_references_follow_a_new_name(folder: Folder) -> None:
    claims = [{"metric": "throughput.tok_s", "of": "k4", "relation": "at_least", "value": 800}]
    one, two = folder.write("1.json", RESULT), folder.write("2.json", {**RESULT, "claims": claims})
    assert folder.converted(one, two)["claims"][0]["of"] == "k4 (2)"


LOG = (
    'LOG engine.version "v0.12.0"\n'
    "LOG configurations.served.draft_length 4\n"
    'LOG configurations.served.kv_cache {"target_type": "fp8"}\n'
    'LOG runs.0.configuration "served"\n'
    "LOG runs.0.speculation.acceptance_rate 0.61\n"
)


def test_a_log_is_laid_over_the_one_result(folder: Folder) -> None:
    merged = folder.converted(folder.write("server.log", LOG), folder.write("a.json", RESULT))
    (setup,) = merged["configurations"].values()
    assert setup["kv_cache"] == {"target_type": "fp8"}
    (run,) = merged["runs"]
    assert run == {
        "id": "k4",
        "configuration": "k4",
        "throughput": {"tok_s": 812.5},
        "speculation": {"acceptance_rate": 0.61},
    }


def test_a_contradiction_is_said_with_both_values(folder: Folder) -> None:
    log = folder.write("server.log", LOG.replace("length 4", "length 3"))
    out = folder.path / "out.json"
    result = folder.convert(folder.write("a.json", RESULT), log, "-o", str(out))
    assert result.exit_code == 2
    assert "configurations.k4.draft_length: 4 (" in result.output
    assert "against 3 (" in result.output
    assert "server.log:2:1" in result.output
    assert not out.exists()


def test_two_values_of_one_measurement_stay_two_runs(folder: Folder) -> None:
    log = folder.write("server.log", LOG + "LOG runs.0.throughput.tok_s 700.5\n")
    out = str(folder.path / "out.json")
    result = folder.convert(folder.write("a.json", RESULT), log, "-o", out)
    assert result.exit_code == 0
    assert "throughput.tok_s: 812.5 (" in result.output
    assert "against 700.5 (" in result.output
    runs = json.loads(Path(out).read_text())["runs"]
    assert [run["throughput"]["tok_s"] for run in runs] == [812.5, 700.5]
    assert len({run["id"] for run in runs if "id" in run}) == len([r for r in runs if "id" in r])


def test_numbers_that_agree_within_their_digits_give_the_finer(folder: Folder) -> None:
    log = folder.write("server.log", LOG + "LOG runs.0.throughput.tok_s 812.53\n")
    merged = folder.converted(folder.write("a.json", RESULT), log)
    assert merged["runs"][0]["throughput"]["tok_s"] == 812.53


def test_a_log_among_several_results_stands_by_itself(folder: Folder) -> None:
    files = [folder.write("a.json", RESULT), folder.write("b.json", RESULT)]
    result = folder.convert(*files, folder.write("server.log", LOG))
    assert result.exit_code == 0
    assert "server.log stands by itself" in result.output


def test_every_field_says_its_file_line_and_column(folder: Folder) -> None:
    result = folder.convert(folder.write("a.json", RESULT), "-o", str(folder.path / "out.json"))
    assert "throughput.tok_s" in result.output
    lines = json.dumps(RESULT, indent=1).splitlines()
    number = next(i for i, line in enumerate(lines, 1) if '"tok_s"' in line)
    column = lines[number - 1].index("812.5") + 1
    assert f"a.json:{number}:{column}" in result.output


def test_a_file_that_is_named_twice_is_read_once(folder: Folder) -> None:
    first, second = folder.write("a.json", RESULT), folder.write("b.json", RESULT)
    again = str(folder.path / "x" / ".." / "a.json")
    assert folder.converted(first, second, again, first) == folder.converted(first, second)


@pytest.mark.parametrize("name", ["a.toml", "a.md", "a.Markdown", "a.jsonl", "a.ndjson"])
def test_the_report_goes_into_no_file_that_is_read_as_something_else(
    folder: Folder, name: str
) -> None:
    out = folder.path / name
    result = folder.convert(folder.write("in.json", RESULT), "-o", str(out))
    assert result.exit_code == 2
    assert result.output == f"benchlint: {out}: the report is written as JSON; name a .json file\n"
    assert not out.exists()


def test_what_is_missing_comes_with_the_flag_of_the_tool(folder: Folder) -> None:
    bench = [{"build_commit": "a", "build_number": 9000, "model_type": "llama 8B Q8_0"}]
    bench[0] |= {"n_prompt": 0, "n_gen": 256, "avg_ns": 8 * 10**9, "avg_ts": 32.0}
    out = str(folder.path / "out.json")
    result = folder.convert(folder.write("bench.json", bench), "-o", out)
    assert "BL111 no quality metric: `llama-perplexity" in result.output
    assert "llama-bench: always so" in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "demo"}', "not a benchmark result"),
        ('{"benchlint": "1", ', "not JSON"),
        ("", "empty"),
    ],
)
def test_a_file_without_a_result_ends_it(folder: Folder, content: str, message: str) -> None:
    result = folder.convert(folder.write("a.json", content))
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_no_report_is_made_of_thousands(folder: Folder) -> None:
    """Each result is compared with all before it, which for a file of them would take hours."""
    result = folder.convert(folder.write("a.jsonl", '{"benchlint": "1"}\n' * 2_001))
    assert result.exit_code == 2
    assert "over 2,000 results are too many for one report" in result.output


def test_the_report_does_not_take_the_place_of_what_is_read(folder: Folder) -> None:
    file = folder.write("a.json", RESULT)
    assert folder.convert(file, "-o", file).exit_code == 2
    assert json.loads(Path(file).read_text()) == RESULT


def test_an_unknown_importer_is_named(folder: Folder) -> None:
    result = folder.convert(folder.write("a.json", RESULT), "--from", "llamabench")
    assert result.exit_code == 2
    assert "did you mean 'llama-bench'?" in result.output
