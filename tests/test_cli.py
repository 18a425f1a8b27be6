"""The command line: what is checked, what is printed where, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlint import __version__
from benchlint.app import COMMANDS, app
from benchlint.checker import runner as checker_runner
from benchlint.checker.registry import all_rules
from benchlint.outputs import ENDINGS, columns_of
from benchlint.progress import Progress

CLEAN = {"benchlint": "1", "runs": [{"id": "a"}]}
UNKNOWN_FIELD = {"benchlint": "1", "runs": [{"id": "a", "decod": {}}]}
PERCENT = {"benchlint": "1", "runs": [{"id": "a", "speculation": {"acceptance_rate": 36.18}}]}


class Folder:
    """The current folder of a test, and the command run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: object) -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return name

    def read(self, name: str) -> str:
        return (self.path / name).read_text("utf-8")

    def run(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Any:
        return CliRunner().invoke(
            app, arguments, input=stdin, env=environment, prog_name="benchlint"
        )

    def check(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Any:
        return self.run("check", *arguments, stdin=stdin, **environment)

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """The findings of a check, without notes on what is missing."""
        result = self.check("--format", "jsonl", *arguments)
        assert result.exit_code in (0, 1), result.stderr
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        return [row for row in rows if not row["code"].startswith("BL1")]

    def codes(self, *arguments: str) -> list[str]:
        return [row["code"] for row in self.findings(*arguments)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Folder(tmp_path)


# --- what is checked -------------------------------------------------------------------------


def test_a_clean_report_exits_0(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    result = folder.check("a.json")
    assert result.exit_code == 0
    assert "in 1 file" in result.stdout
    assert result.stderr == ""


def test_an_error_exits_1_and_stands_at_its_place(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json")
    assert result.exit_code == 1
    assert result.stdout.startswith("a.json:1:41: error BL004 unknown-field\n")


def test_the_current_folder_is_searched_by_default(folder: Folder) -> None:
    folder.write("sub/a.json", UNKNOWN_FIELD)
    folder.write("package.json", {"name": "x"})
    assert [row["path"] for row in folder.findings()] == [str(Path("sub/a.json"))]


def test_files_keep_their_order(folder: Folder) -> None:
    for name in ("b.json", "a.json", "c.json"):
        folder.write(name, UNKNOWN_FIELD)
    assert [r["path"] for r in folder.findings("c.json", "b.json")] == ["c.json", "b.json"]
    assert [r["path"] for r in folder.findings("*.json")] == ["a.json", "b.json", "c.json"]


@pytest.mark.parametrize("jobs", ["0", "1", "2"])
def test_many_files_give_the_same_in_any_number_of_processes(folder: Folder, jobs: str) -> None:
    for i in range(80):
        folder.write(f"r{i:02}.json", UNKNOWN_FIELD if i % 7 == 0 else CLEAN)
    folder.write("r30.jsonl", "\n".join(map(json.dumps, [CLEAN, UNKNOWN_FIELD])))
    found = [row["path"] for row in folder.findings("--jobs", jobs)]
    expected = [f"r{i:02}.json" for i in range(0, 80, 7)]
    assert found == sorted([*expected, "r30.jsonl"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "benchlint: '1'\nruns:\n- id: a\n  decod: {}\n"),
        ("a.toml", 'benchlint = "1"\n[[runs]]\nid = "a"\ndecod = {}\n'),
        ("a.jsonl", f"{json.dumps(CLEAN)}\n{json.dumps(UNKNOWN_FIELD)}\n"),
        ("a.md", f"# x\n```benchlint\n{json.dumps(UNKNOWN_FIELD)}\n```\n"),
    ],
)
def test_other_languages_are_read(folder: Folder, name: str, text: str) -> None:
    folder.write(name, text)
    (row,) = folder.findings(".")
    assert (row["code"], row["path"]) == ("BL004", name)
    assert "decod" in text.splitlines()[row["line"] - 1]


def test_a_file_that_is_not_there_is_a_finding(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    result = folder.check("a.json", "absent.json")
    assert result.exit_code == 1
    assert "absent.json: error BL013" in result.stdout


@pytest.mark.parametrize("arguments", [["."], ["*.json"], ["empty"], ["package.json*"]])
def test_nothing_to_check_exits_2(folder: Folder, arguments: list[str]) -> None:
    folder.write("sub/package.json", {"name": "x"})
    (folder.path / "empty").mkdir()
    result = folder.check(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"benchlint: nothing to check in {arguments[0]}: ")
    assert result.stderr.count("\n") == 1


def test_a_broken_report_in_a_folder_is_told(folder: Folder) -> None:
    folder.write("a.json", '{"benchlint": "1", "runs": [')
    assert folder.codes(".") == ["BL001"]


def test_a_page_that_only_shows_a_block_is_no_report(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    folder.write("README.md", "````text\n```benchlint\n{}\n```\n````\n")
    assert folder.codes(".") == []
    result = folder.check("README.md")
    assert result.exit_code == 2
    assert "BL014 not-a-benchmark" in result.stdout


def test_standard_input_is_read(folder: Folder) -> None:
    result = folder.check("-", stdin=json.dumps(UNKNOWN_FIELD))
    assert result.exit_code == 1
    assert result.stdout.startswith("<stdin>:1:41: error BL004")


def test_standard_input_has_the_language_and_settings_of_its_name(folder: Folder) -> None:
    folder.write("benchlint.toml", '[per-file-ignores]\n"draft/*" = ["BL004"]')
    text = "benchlint: '1'\nruns: [{id: a, decod: {}}]\n"
    named = folder.check("-", "--stdin-filename", "results/a.yaml", stdin=text)
    assert named.stdout.startswith(f"{Path('results/a.yaml')}:2:")
    ignored = folder.check("-", "--stdin-filename", "draft/a.yaml", stdin=text)
    assert ignored.exit_code == 0


def test_a_name_for_standard_input_means_that_it_is_read(folder: Folder) -> None:
    folder.write("other.json", UNKNOWN_FIELD)
    result = folder.check("--stdin-filename", "a.yaml", stdin="benchlint: '1'\nrun: []\n")
    assert result.stdout.startswith("a.yaml:2:1: error BL004")
    assert "in 1 file" in result.stdout
    refused = folder.check("other.json", "--stdin-filename", "a.yaml")
    assert refused.exit_code == 2
    assert "give - instead" in refused.stderr


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("benchlint: '1'\nruns: []\n", "report.yaml"),
        ("# made by hand\n---\nbenchlint: '1'\n", "report.yaml"),
        ('benchlint = "1"\n[[runs]]\nid = "a"\n', "report.toml"),
        ('[machine]\nos = "x"\n', "report.toml"),
        ("# A page\n\n```benchlint\n{}\n```\n", "report.md"),
        ('{"benchlint": "1"}\n{"benchlint": "1"}\n', "report.jsonl"),
    ],
)
def test_other_languages_on_standard_input_get_advice(folder: Folder, text: str, name: str) -> None:
    result = folder.check("-", stdin=text)
    assert result.exit_code == 1
    assert "error BL001" in result.stdout
    assert f"add --stdin-filename {name}" in result.stdout


@pytest.mark.parametrize("text", ['{"a": [1,}', "", "[1, 2", "{'a': 1}", "x"])
def test_broken_json_on_standard_input_is_not_called_another_language(
    folder: Folder, text: str
) -> None:
    result = folder.check("-", stdin=text)
    assert "error BL001" in result.stdout
    assert "--stdin-filename" not in result.stdout


def test_lines_fit_a_width_that_is_said(folder: Folder) -> None:
    folder.write("a.json", {**UNKNOWN_FIELD, "title": "x" * 200})
    wide = folder.check("a.json", "--ignore", "BL1").stdout
    narrow = folder.check("a.json", "--ignore", "BL1", COLUMNS="60").stdout
    assert max(map(len, wide.splitlines())) > 60
    assert max(map(len, narrow.splitlines()[:-1])) <= 60
    folder.check("a.json", "--ignore", "BL1", "-o", "out.txt", COLUMNS="60")
    assert folder.read("out.txt") == wide
    assert folder.check("a.json", "--ignore", "BL1", COLUMNS="none").stdout == wide


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_width_is_that_of_the_terminal_or_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((72, 40)))
    assert columns_of(_Terminal(), {}) == 72
    assert columns_of(_Terminal(), {"COLUMNS": "50"}) == 50
    assert columns_of(io.StringIO(), {"COLUMNS": "50"}) == 50
    assert columns_of(io.StringIO(), {}) is None
    assert columns_of(io.StringIO(), {"COLUMNS": "0"}) is None


def test_a_file_over_the_limit_is_not_read(folder: Folder) -> None:
    folder.write("a.json", {**CLEAN, "notes": "x" * 2_000})
    assert folder.codes("a.json", "--max-size", "0.001") == ["BL008"]
    assert folder.codes("a.json", "--max-size", "0.003") == []


# --- what is wanted --------------------------------------------------------------------------


def test_rules_are_selected_and_ignored(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    assert folder.codes("a.json", "--select", "BL2,BL3") == []
    assert folder.codes("a.json", "--select", "BL2", "--select", "unknown-field") == ["BL004"]
    assert folder.codes("a.json", "--ignore", "unknown-field") == []
    assert folder.codes("a.json", "--select", "BL004", "--ignore", "BL0") == ["BL004"]


def test_the_command_line_replaces_the_configuration(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.write("benchlint.toml", 'ignore = ["BL004"]\nfail-on = "never"')
    assert folder.codes("a.json") == []
    assert folder.codes("a.json", "--ignore", "BL005") == ["BL004"]
    assert folder.check("a.json", "--ignore", "BL005").exit_code == 0
    assert folder.check("a.json", "--ignore", "BL005", "--fail-on", "error").exit_code == 1
    assert folder.codes("a.json", "--no-config") == ["BL004"]
    folder.write("other.toml", 'ignore = ["BL005"]')
    assert folder.codes("a.json", "--config", "other.toml") == ["BL004"]


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 0), ("warning", 0), ("note", 1), ("never", 0)]
)
def test_fail_on(folder: Folder, fail_on: str, code: int) -> None:
    folder.write("a.json", CLEAN)
    assert folder.check("a.json", "--fail-on", fail_on, "--select", "BL112").exit_code == code


def test_profiles_and_severities_weigh_findings(folder: Folder) -> None:
    folder.write("a.json", {**CLEAN, "target": {"name": "x"}, "extensions": {}})
    folder.write("benchlint.toml", '[severity]\nBL112 = "error"')

    def severity(code: str, *options: str) -> str:
        result = folder.check("a.json", "--format", "jsonl", "--select", code, *options)
        return str(json.loads(result.stdout)["severity"])

    assert severity("BL101", "--no-config") == "note"
    assert severity("BL101", "--profile", "publish") == "warning"
    assert severity("BL101", "--profile", "strict") == "error"
    assert severity("BL112") == "error"
    assert folder.check("a.json", "--profile", "strict").exit_code == 1


def test_a_house_schema_is_applied(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    folder.write("house.json", {"required": ["date"]})
    assert folder.codes("a.json", "--schema", "house.json") == ["BL011"]
    folder.write("benchlint.toml", 'schema = "house.json"')
    assert folder.codes("a.json") == ["BL011"]


# --- suppressions and baselines --------------------------------------------------------------

SUPPRESS = '[[suppress]]\nrule = "BL004"\nreason = "known"\n'


def test_suppressed_findings_are_counted(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.write("benchlint.toml", SUPPRESS + 'pointer = "/runs[id=a]"')
    result = folder.check("a.json")
    assert result.exit_code == 0
    assert "1 suppressed" in result.stdout


def test_a_suppression_that_does_nothing_is_reported_once(folder: Folder) -> None:
    for name in ("a.json", "b.json"):
        folder.write(name, CLEAN)
    folder.write("benchlint.toml", "\n" + SUPPRESS)
    (row,) = folder.findings(".")
    assert (row["code"], row["path"], row["line"]) == ("BL010", "benchlint.toml", 2)
    assert folder.codes(".", "--ignore", "BL010") == []
    assert folder.codes(".", "--select", "BL2,BL010") == []


def test_what_a_broken_file_would_have_matched_is_not_known(folder: Folder) -> None:
    folder.write("a.json", '{"benchlint": ')
    folder.write("benchlint.toml", SUPPRESS)
    assert folder.codes("a.json") == ["BL001"]


def test_a_suppression_for_other_files_is_not_reported(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    folder.write("benchlint.toml", SUPPRESS + 'files = "b.json"')
    assert folder.codes("a.json") == []


def test_one_use_in_any_file_is_enough(folder: Folder) -> None:
    for i in range(70):
        folder.write(f"{i:02}.json", UNKNOWN_FIELD if i == 69 else CLEAN)
    folder.write("benchlint.toml", SUPPRESS)
    assert folder.codes(".", "--jobs", "2") == []


def test_an_expired_suppression_no_longer_holds(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.write("benchlint.toml", SUPPRESS + "expires = 2001-01-01")
    assert folder.codes("a.json") == ["BL004", "BL010"]


def test_a_baseline_leaves_what_is_new(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    made = folder.check(".", "--baseline", "base.json", "--update-baseline")
    assert made.exit_code == 0
    assert "wrote" in made.stderr
    assert folder.codes(".", "--baseline", "base.json") == []
    runs = [{"id": "new", "decod": {}}, *UNKNOWN_FIELD["runs"]]
    folder.write("a.json", {"benchlint": "1", "runs": runs})
    (row,) = folder.findings(".", "--baseline", "base.json")
    assert row["pointer"] == "/runs/0/decod"


def test_what_is_gone_from_a_baseline_is_said(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.check("a.json", "--baseline", "base.json", "--update-baseline", "--select", "BL004")
    folder.write("a.json", CLEAN)
    result = folder.check("a.json", "--baseline", "base.json", "--select", "BL004")
    assert "base.json: 1 finding gone" in result.stderr
    folder.check("a.json", "--baseline", "base.json", "--update-baseline", "--select", "BL004")
    assert json.loads(folder.read("base.json"))["findings"] == []


def test_a_baseline_may_be_configured(folder: Folder) -> None:
    folder.write("sub/a.json", UNKNOWN_FIELD)
    folder.write("benchlint.toml", 'baseline = "known.json"')
    assert folder.check("sub/a.json").exit_code == 2
    assert folder.check("sub/a.json", "--update-baseline").exit_code == 0
    assert folder.codes("sub/a.json") == []
    assert '"path": "sub/a.json"' in folder.read("known.json")


# --- fixing ----------------------------------------------------------------------------------


def test_fix_writes_and_reports_what_is_left(folder: Folder) -> None:
    folder.write("a.json", {**PERCENT, "titel": "x"})
    result = folder.check("a.json", "--fix", "--format", "jsonl", "--select", "BL0,BL2")
    assert [json.loads(line)["code"] for line in result.stdout.splitlines()] == ["BL004"]
    assert "fixed 1 value" in result.stderr
    assert '"acceptance_rate": 0.3618' in folder.read("a.json")


def test_diff_writes_nothing(folder: Folder) -> None:
    folder.write("a.json", PERCENT)
    before = folder.read("a.json")
    result = folder.check("a.json", "--diff")
    assert result.exit_code == 1
    assert result.stdout.startswith("--- a.json\n+++ a.json\n@@ -1 +1 @@\n-{")
    assert folder.read("a.json") == before
    assert folder.check("a.json", "--diff", "--select", "BL004").exit_code == 0


def test_what_can_be_fixed_is_said(folder: Folder) -> None:
    folder.write("a.json", PERCENT)
    assert "; 1 value fixable with --fix\n" in folder.check("a.json").stdout
    assert "fixable" not in folder.check("-", stdin=json.dumps(PERCENT)).stdout
    assert "fixable" not in folder.check("a.json", "--fix").stdout


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_only_json_is_fixed_and_that_is_said(folder: Folder, option: str) -> None:
    folder.write(
        "a.yaml", "benchlint: '1'\nruns:\n- {id: a, speculation: {acceptance_rate: 36.18}}\n"
    )
    result = folder.check("a.yaml", option)
    assert "a.yaml: BL208 not fixed: --fix writes JSON files only" in result.stderr
    assert "nothing" in result.stderr
    assert "fixable" not in folder.check("a.yaml").stdout


def test_suppressed_findings_are_not_fixed(folder: Folder) -> None:
    folder.write("a.json", PERCENT)
    folder.write("benchlint.toml", SUPPRESS.replace("BL004", "BL208"))
    assert "fixed nothing" in folder.check("a.json", "--fix").stderr


def test_secrets_do_not_show_in_excerpts(folder: Folder) -> None:
    secret = "hf_" + "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwX"
    text = {"engine": {"command_line": f"vllm --hf-token {secret}"}, "decod": 1, **CLEAN}
    folder.write("a.json", text)
    for selected in ("ALL", "BL004"):
        result = folder.check("a.json", "--select", selected)
        assert "BL004" in result.stdout
        assert secret[8:] not in result.stdout


# --- output ----------------------------------------------------------------------------------


def test_several_formats_at_once(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "-f", "text", "-f", "sarif=out.sarif", "-f", "json=out.json")
    assert result.exit_code == 1
    assert result.stdout.startswith("a.json:1:41: error BL004")
    assert json.loads(folder.read("out.sarif"))["version"] == "2.1.0"
    assert json.loads(folder.read("out.json"))["summary"]["errors"] == 1
    assert "wrote out.sarif" in result.stderr


def test_output_file_takes_the_format_without_one(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "-f", "junit", "-o", "out.xml")
    assert result.stdout == ""
    assert folder.read("out.xml").startswith("<?xml")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("out.html", "html"),
        ("out.md", "markdown"),
        ("out.sarif", "sarif"),
        ("out.sarif.json", "sarif"),
        ("out.xml", "junit"),
        ("out.json", "json"),
        ("out.JSONL", "jsonl"),
        ("out.txt", "text"),
        ("out", "text"),
    ],
)
def test_without_a_format_the_ending_of_the_output_file_says_it(
    folder: Folder, name: str, kind: str
) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "-o", name)
    assert (result.exit_code, result.stdout) == (1, "")
    folder.check("a.json", "-f", f"{kind}=expected")
    assert folder.read(name) == folder.read("expected")


def test_a_format_that_is_asked_for_wins_over_the_ending(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.check("a.json", "-f", "text", "-o", "out.html")
    assert folder.read("out.html").startswith("a.json:1:41: error BL004")
    folder.check("a.json", "-f", "junit=out.json")
    assert folder.read("out.json").startswith("<?xml")


def test_an_output_file_beside_formats_with_files_is_one_more(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "-f", "sarif=out.sarif", "-o", "out.xml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(folder.read("out.sarif"))["version"] == "2.1.0"
    assert folder.read("out.xml").startswith("<?xml")
    assert folder.check("a.json", "-f", "json=b.json", "-o", "-").stdout.startswith("a.json:1:41:")


def test_help_names_every_ending(folder: Folder) -> None:
    shown = " ".join(folder.check("--help").stdout.split())
    listed = shown.partition("the ending says the format: ")[2].partition(";")[0]
    assert set(re.findall(r"\.[a-z.]*[a-z]", listed)) == set(ENDINGS)


def test_json_output_fits_its_schema(folder: Folder) -> None:
    from jsonschema import Draft202012Validator

    folder.write("a.json", {**UNKNOWN_FIELD, "title": "\udce9"})
    schema = json.loads(folder.run("schema", "--kind", "findings").stdout)
    output = json.loads(folder.check("a.json", "absent.json", "-f", "json").stdout)
    Draft202012Validator(schema).validate(output)
    assert output["tool"] == {"name": "benchlint", "version": __version__}


@pytest.mark.parametrize(
    ("options", "environment", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "0"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color(
    folder: Folder, options: list[str], environment: dict[str, str], colored: bool
) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    assert ("\x1b[" in folder.check("a.json", *options, **environment).stdout) is colored


def test_quiet_prints_findings_only(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    result = folder.check("a.json", "--quiet", "--select", "BL2")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "--quiet", "--select", "BL0")
    assert "BL004" in result.stdout
    assert "in 1 file" not in result.stdout


def test_progress_shows_after_a_second_and_goes_away() -> None:
    import io

    times = iter([0.0, 0.5, 1.1, 1.15, 1.3])
    stream = io.StringIO()
    progress = Progress(stream, enabled=True, clock=lambda: next(times))
    for files in (1, 1_000, 1_001, 2_000):
        progress.show(files)
    progress.clear()
    progress.clear()
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines == ["", "checked 1,000 files …", "checked 2,000 files …", ""]


# --- what cannot be done ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "BL999"], "there is no rule 'BL999'"),
        (["--ignore", "unknown-feld"], "did you mean 'unknown-field'?"),
        (["--profile", "publsh"], "did you mean 'publish'?"),
        (["--fail-on", "fatal"], "--fail-on is one of error, warning, note, never"),
        (["--format", "xml"], "there is no format 'xml'"),
        (["--format", "sarf"], "did you mean 'sarif'?"),
        (["-f", "text", "-f", "json"], "text and json would both go to standard output"),
        (["-f", "text=x", "-f", "json=x"], "text and json would both go to x"),
        (["-f", "text", "-f", "json", "-o", "y"], "text and json have no file; give each one"),
        (["-f", "html=x.html", "-o", "x.html"], "html and html would both go to x.html"),
        (["-f", "json=no/such/folder.json"], "no/such/folder.json: No such file or directory"),
        (["--color", "blue"], "--color is auto, always or never"),
        (["--max-size", "0"], "--max-size is a number of MB over 0"),
        (["--max-size", "nan"], "--max-size is a number of MB over 0"),
        (["--config", "absent.toml"], "absent.toml: No such file"),
        (["--config", "x", "--no-config"], "contradict each other"),
        (["--schema", "absent.json"], "absent.json: No such file"),
        (["--baseline", "absent.json"], "absent.json: No such file"),
        (["--update-baseline"], "--update-baseline needs --baseline"),
        (["--fix", "--diff"], "choose one"),
        (["--fix", "-"], "standard input has none"),
        (["--diff", "--format", "json"], "leave out --format"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    folder: Folder, arguments: list[str], message: str
) -> None:
    folder.write("a.json", CLEAN)
    result = folder.check("a.json", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("benchlint: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("rules", ["", " ", ",,"])
def test_a_selection_of_nothing_is_refused(folder: Folder, rules: str) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    result = folder.check("a.json", "--select", rules)
    assert result.exit_code == 2
    assert "--select names no rule" in result.stderr


def test_what_is_read_is_not_overwritten(folder: Folder) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    folder.write("schema.json", {})
    (folder.path / "b.json").symlink_to("a.json")
    for file in ("a.json", "./a.json", "b.json", "schema.json"):
        options = ("--schema", "schema.json", "--format", f"json={file}")
        result = folder.check("a.json", *options)
        assert result.exit_code == 2
        assert "cannot be written to it" in result.stderr
    assert json.loads(folder.read("a.json")) == UNKNOWN_FIELD
    assert folder.check("a.json", "--format", "json=out.json").exit_code == 1
    assert folder.check("a.json", "--format", "json=out.json").exit_code == 1


def test_a_wrong_configuration_exits_2_with_its_place(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    folder.write("benchlint.toml", "\nselct = []")
    result = folder.check("a.json")
    assert result.exit_code == 2
    assert "benchlint.toml:2: selct is not a known key; did you mean 'select'?" in result.stderr


def test_no_output_is_left_half_written(folder: Folder) -> None:
    folder.write("a.json", CLEAN)
    folder.write("out.json", "before")
    folder.write("house.json", {"$ref": "#"})
    result = folder.check("a.json", "-f", "json=out.json", "--schema", "house.json")
    assert result.exit_code == 2
    assert folder.read("out.json") == "before"
    assert sorted(p.name for p in folder.path.iterdir()) == ["a.json", "house.json", "out.json"]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "out of memory"),
        (OSError(28, "No space left on device"), 2, "the output: No space left on device"),
        (OSError(5, "Input/output error", "a.json"), 2, "a.json: Input/output error"),
        (ZeroDivisionError("x"), 2, "a.json: benchlint failed on this file (ZeroDivisionError)"),
        (RecursionError("x"), 2, "a.json: benchlint failed on this file (RecursionError)"),
    ],
)
def test_no_traceback_reaches_a_user(
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    line: str,
) -> None:
    monkeypatch.setattr(checker_runner, "check_trees", _raiser(error))
    folder.write("a.json", CLEAN)
    result = folder.check("a.json")
    assert result.exit_code == code
    assert result.stderr.startswith(f"benchlint: {line}")
    assert "Traceback" not in result.stderr


def _raiser(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_debug_shows_the_traceback(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker_runner, "check_trees", _raiser(ZeroDivisionError("x")))
    folder.write("a.json", CLEAN)
    result = folder.check("a.json", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


# --- other commands --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_every_rule_is_explained(folder: Folder, rule: Any) -> None:
    by_code = folder.run("explain", rule.code.lower())
    assert by_code.exit_code == 0
    assert by_code.stdout.startswith(f"{rule.code} {rule.name} (")
    assert folder.run("explain", rule.name).stdout == by_code.stdout


@pytest.mark.parametrize("word", ["", "BL999", "x" * 10_000, "\x1b[31m", "../../etc/passwd", "%s"])
def test_an_unknown_rule_is_not_explained(folder: Folder, word: str) -> None:
    result = folder.run("explain", "--", word)
    assert result.exit_code == 2
    assert result.stderr.startswith("benchlint: there is no rule '")
    assert "\x1b" not in result.stderr
    assert len(result.stderr) < 300


def test_a_prefix_is_not_explained_but_listed(folder: Folder) -> None:
    result = folder.run("explain", "bl2")
    assert result.exit_code == 2
    assert "BL2 is a prefix; `benchlint rules --select BL2` lists its rules" in result.stderr


def test_without_docstrings_it_is_said_where_the_texts_are() -> None:
    base = [sys.executable, "-OO", "-m", "benchlint"]
    listed = subprocess.run([*base, "rules", "-f", "json"], capture_output=True, check=True)
    assert {row["summary"] for row in json.loads(listed.stdout)} == {""}
    told = subprocess.run([*base, "explain", "BL201"], capture_output=True, check=False)
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr == listed.stderr
    assert b"`python -OO` (PYTHONOPTIMIZE=2) leaves out" in told.stderr
    assert told.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", [(), ("check",), ("rules",), ("ci", "lint")], ids=" ".join)
def test_without_docstrings_help_says_where_its_text_is(words: tuple[str, ...]) -> None:
    command = [sys.executable, "-OO", "-m", "benchlint", *words, "--help"]
    shown = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8")
    text = " ".join(shown.stdout.split("Options:")[0].split())
    assert "`python -OO` (PYTHONOPTIMIZE=2) leaves this text out." in text
    assert "read docs/commands.md." in text
    assert not shown.stderr


EXAMPLES = Path(__file__).parents[1] / "examples"
BENCH = [{"build_commit": "a", "build_number": 9000, "model_type": "llama 8B Q8_0"}]
BENCH[0] |= {"n_prompt": 0, "n_gen": 256, "avg_ns": 8 * 10**9, "avg_ts": 32.0}


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
@pytest.mark.parametrize(
    "arguments",
    [
        ("rules",),
        ("explain", "BL201"),
        ("convert", "bench.json", "-o", "out.json"),
        *(("compare", *pair) for pair in (("old.json", "new.json"), ("new.json", "old.json"))),
    ],
    ids=" ".join,
)
def test_a_narrow_terminal_gets_lines_that_fit(
    folder: Folder, arguments: tuple[str, ...], columns: int
) -> None:
    for name, example in (("old", "draft-lengths"), ("new", "in-process")):
        folder.write(f"{name}.json", (EXAMPLES / "h200" / f"{example}.json").read_text("utf-8"))
    folder.write("bench.json", BENCH)
    lines = folder.run(*arguments, COLUMNS=str(columns)).stdout.splitlines()
    assert len(lines) > 20
    assert [line for line in lines if len(line) > columns and " " in line.strip()] == []
    wide = set(re.findall(r"[\w.]+", folder.run(*arguments, COLUMNS="none").stdout))
    first_columns = {"claim", "setting", "severity", "run"}  # which are not named in each row
    assert wide - first_columns <= set(re.findall(r"[\w.]+", "\n".join(lines)))


@pytest.mark.parametrize(
    "arguments",
    [
        ("rules", "-f", "json"),
        ("rules", "-f", "markdown"),
        ("compare", "old.json", "new.json", "-f", "json"),
        ("compare", "old.json", "new.json", "-f", "markdown"),
        ("convert", "old.json", "-q"),
        ("init", "-"),
        ("render", "old.json"),
        ("schema",),
    ],
    ids=" ".join,
)
def test_what_machines_read_is_the_same_at_any_width(
    folder: Folder, arguments: tuple[str, ...]
) -> None:
    for name, example in (("old", "draft-lengths"), ("new", "in-process")):
        folder.write(f"{name}.json", (EXAMPLES / "h200" / f"{example}.json").read_text("utf-8"))
    narrow = folder.run(*arguments, COLUMNS="20").stdout
    assert narrow == folder.run(*arguments, COLUMNS="none").stdout
    assert narrow


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "ci"])
def test_help_names_no_types_of_python(folder: Folder, command: str) -> None:
    text = folder.run(command, "--help").stdout
    assert "Usage: " in text
    assert not re.search(r"<(str|list|int|float|bool)\b", text)


def test_the_list_of_commands_is_whole_on_a_usual_terminal(folder: Folder) -> None:
    listed = folder.run("--help", COLUMNS="80").stdout.partition("Commands:\n")[2]
    rows = listed.partition("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows] == list(COMMANDS)
    assert all(row.endswith(".") and not row.endswith("...") for row in rows)


def test_rules_are_listed_in_each_format(folder: Folder) -> None:
    text = folder.run("rules", "--select", "BL004,BL005").stdout.splitlines()
    assert [line.split()[:3] for line in text] == [
        ["BL004", "error", "unknown-field"],
        ["BL005", "error", "wrong-type"],
    ]
    rows = json.loads(folder.run("rules", "--format", "json").stdout)
    assert [row["code"] for row in rows] == [rule.code for rule in all_rules()]
    table = folder.run("rules", "--format", "markdown").stdout.splitlines()
    assert len(table) == len(rows) + 2
    assert {line.count("|") - line.count("\\|") for line in table} == {5}
    assert folder.run("rules", "--format", "xml").exit_code == 2


@pytest.mark.parametrize("kind", ["report", "findings", "config"])
def test_schemas_are_printed(folder: Folder, kind: str) -> None:
    result = folder.run("schema", "--kind", kind)
    assert json.loads(result.stdout)["$id"] == f"urn:benchlint:{kind}:1"


def test_an_unknown_schema_is_refused(folder: Folder) -> None:
    assert folder.run("schema", "--kind", "x").exit_code == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(folder: Folder, command: str) -> None:
    result = folder.run(command, "--help", COLUMNS="100")
    assert result.exit_code == 0
    assert f"benchlint {command}" in result.stdout.partition("Examples:")[2]
    assert not re.search(r"[^\x20-\x7e\n\u00a0-\uffff]", result.stdout)


def test_version_help_and_mistyped_commands(folder: Folder) -> None:
    assert folder.run("--version").stdout == f"benchlint {__version__}\n"
    listed = folder.run("--help").stdout
    assert all(command in listed for command in COMMANDS)
    mistyped = folder.run("chek")
    assert mistyped.exit_code == 2
    assert "check" in mistyped.stderr


# --- as a process ----------------------------------------------------------------------------


def _process(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchlint", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=options.pop("stdout", pipe), stderr=pipe, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("output_format", ["text", "json", "sarif"])
def test_a_full_disk_is_told_in_one_line(folder: Folder, output_format: str) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    with Path("/dev/full").open("wb") as full:
        process = _process("check", "a.json", "-f", output_format, stdout=full)
    _, said = process.communicate()
    assert process.returncode == 2
    assert said == b"benchlint: the output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["check", "--help"]])
def test_a_full_disk_is_told_by_what_only_prints(folder: Folder, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = _process(*arguments, stdout=full, cwd=folder.path)
    _, said = process.communicate()
    assert process.returncode == 2
    assert said == b"benchlint: the output: No space left on device\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["explain", "BL201"], ["rules"], ["schema"]])
def test_what_goes_into_a_pipe_is_utf_8_in_every_locale(
    arguments: list[str], encoding: str, folder: Folder
) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    process = _process(*arguments, env=environment, cwd=folder.path)
    printed, said = process.communicate()
    assert (process.returncode, said) == (0, b"")
    assert printed.decode("utf-8").encode("utf-8") == printed
    assert not printed.isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_goes_away_is_not_told(folder: Folder) -> None:
    folder.write(
        "a.json", {"benchlint": "1", "runs": [{"id": str(i), "x": 1} for i in range(3000)]}
    )
    process = _process("check", "a.json")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("closed", "code"), [("a.json >&-", 1), ("a.json 2>&-", 1), ("- <&-", 1), ("a.json <&-", 1)]
)
def test_closed_streams_change_nothing(folder: Folder, closed: str, code: int) -> None:
    folder.write("a.json", UNKNOWN_FIELD)
    command = f"exec {sys.executable} -m benchlint check {closed}"
    run = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert run.returncode == code
    assert run.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_the_run_and_its_processes(folder: Folder, jobs: str) -> None:
    process = _process("check", "-", "--jobs", jobs, "-f", "json=out.json", stdin=subprocess.PIPE)
    assert process.stdin is not None
    # It has read all that there is once the pipe takes no more: then it waits for the rest.
    process.stdin.write(b"[" + b" " * 200_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said == b"benchlint: interrupted\n"
    assert not (folder.path / "out.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_termination_leaves_no_file_half_written(folder: Folder) -> None:
    process = _process("check", "-", "-f", "json=out.json", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"[" + b" " * 200_000)
    process.stdin.flush()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert list(folder.path.iterdir()) == []
