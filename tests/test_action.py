"""The GitHub Action, its steps run as the runner would, on a real git repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.action_checkout import CLEAN, FAULTY, HONEST, HOSTILE, INSTALL, Checkout, commands_in
from tests.action_runner import ROOT, ActionRunner, JobRun
from tests.fake_github import FakeGithub

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


def _source_copy(folder: Path) -> Path:
    """The checkout as an action would have it: what git tracks or would track."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    return folder


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RUNNER_TEMP after the installation step, from a clean virtual environment."""
    temporary = tmp_path_factory.mktemp("runner")
    source = _source_copy(tmp_path_factory.mktemp("source"))
    no_compiler = {"CC": "false", "CXX": "false"}
    runner = ActionRunner(temporary, temporary, {}, source=source, environment=no_compiler)
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    others = tuple(s["name"] for s in action["runs"]["steps"] if s["name"] != INSTALL)
    job = runner.run(skip=others)
    assert job.exit_code == 0, job.log
    return temporary


@pytest.fixture
def checkout(installed: Path, tmp_path: Path) -> Checkout:
    results = installed / "benchlint"
    shutil.rmtree(results, ignore_errors=True)
    folder = tmp_path / "checkout"
    folder.mkdir()
    return Checkout(folder, installed)


def test_the_installation_needs_no_more_than_the_core_and_pages(installed: Path) -> None:
    pip = [str(installed / "benchlint-venv/bin/python"), "-m", "pip", "inspect", "--local"]
    listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    metadata = [each["metadata"] for each in json.loads(listed)["installed"]]
    needs = {normal(each["name"]): each.get("requires_dist", []) for each in metadata}
    reached = {"pip", "setuptools"} | reached_from("benchlint", needs, ("html",))
    assert needs.keys() <= reached
    assert {"benchlint", "jinja2", "pydantic", "typer"} <= needs.keys()
    assert not needs.keys() & {"httpx", "matplotlib", "numpy", "pyyaml", "scipy", "xllamacpp"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def reached_from(name: str, needs: dict[str, list[str]], extras: tuple[str, ...]) -> set[str]:
    """The names of all that a package asks for, with these of its extras."""
    found = {name}
    for requirement in needs.get(name, []):
        extra = re.search(r"extra == .(\w+).", requirement)
        match = re.match(r"[\w.-]+", requirement)
        if match and (extra is None or extra[1] in extras):
            found |= reached_from(normal(match[0]), needs, ())
    return found


@pytest.mark.parametrize("version", ["1.0; touch x", "--index-url=http://127.0.0.1:9/", "x"])
def test_a_version_that_is_none_is_told(tmp_path: Path, version: str) -> None:
    job = install(tmp_path, version)
    assert (job.exit_code, job.log) == (
        1,
        "::error title=benchlint::the input version is no version such as 1.2.0; "
        "leave it out for the one that comes with the action\n",
    )


def test_a_version_that_is_not_released_is_told(tmp_path: Path) -> None:
    job = install(tmp_path, "987.6.5", PIP_NO_INDEX="1")
    assert job.exit_code == 1
    assert job.log.splitlines()[0] == (
        "::error title=benchlint::benchlint could not be installed, pip says above why; is "
        "benchlint 987.6.5 released? Leave out the input version for the one that comes with the "
        "action"
    )
    assert "No matching distribution found for benchlint" in job.log


@pytest.mark.parametrize(
    ("name", "text", "extras"),
    [
        ("report.json", '{"benchlint": "1"}', "html"),
        ("pipeline.yml", "steps:\n  - run: benchlint check .\n", "html"),
        (".github/workflows/reports.yml", "jobs:\n  benchlint:\n    steps: []\n", "html"),
        ("report.yaml", 'benchlint: "1"\nruns: []\n', "html,yaml"),
        ("bench/flow.yml", '{"benchlint": "1", "runs": []}\n', "html,yaml"),
    ],
)
def test_pyyaml_comes_only_where_a_report_may_be_in_yaml(
    tmp_path: Path, name: str, text: str, extras: str
) -> None:
    workspace = tmp_path / "checkout"
    (workspace / name).parent.mkdir(parents=True)
    (workspace / name).write_text(text, "utf-8")
    job = install(tmp_path, "1.2.3", workspace, python=str(telling_python(tmp_path)))
    assert f"benchlint[{extras}]==1.2.3" in job.log


def telling_python(folder: Path) -> Path:
    """A Python that makes an environment with itself, and says what it is to install."""
    program = folder / "python"
    program.write_text(
        '#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        'if [ "$2" = pip ]; then echo "$@"; fi\n'
    )
    program.chmod(0o755)
    return program


def install(
    folder: Path, version: str, workspace: Path | None = None, python: str = "", **more: str
) -> JobRun:
    runner = ActionRunner(workspace or folder, folder, {}, environment=more)
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    others = tuple(s["name"] for s in action["runs"]["steps"] if s["name"] != INSTALL)
    inputs = {"version": version} | ({"python": python} if python else {})
    return runner.run(inputs, skip=others)


def test_clean(checkout: Checkout) -> None:
    checkout.write("report.json", CLEAN)
    job = checkout.run()
    results = json.loads((job.results / "findings.json").read_text("utf-8"))
    notes = len(results["files"][0]["findings"])
    assert job.exit_code == 0, job.log
    assert job.ran == ["Check the reports", "Write the summary", "Fail on findings"]
    assert job.outputs == {
        "verdict": "clean",
        "errors": "0",
        "warnings": "0",
        "report-path": str(job.results / "report.html"),
        "sarif-path": str(job.results / "benchlint.sarif"),
        "data-path": str(job.results / "benchlint.json"),
        "verdict-path": "",
    }
    first = job.summary.splitlines()[0]
    assert first == f"## ✅ benchlint: {notes} notes in 1 changed report"
    assert "What to do" not in job.summary
    assert all(each.startswith("::notice ") for each in commands_in(job.log))
    assert "<h1" in (job.results / "report.html").read_text("utf-8")
    assert sarif_results(job, "error") == sarif_results(job, "warning") == []


def sarif_results(job: JobRun, level: str) -> list[dict[str, Any]]:
    sarif = json.loads(Path(job.outputs["sarif-path"]).read_text("utf-8"))
    return [each for each in sarif["runs"][0]["results"] if each["level"] == level]


def test_errors_fail_the_last_step_and_are_told_everywhere(checkout: Checkout) -> None:
    checkout.write("results/bad.json", FAULTY)
    checkout.write("good.json", HONEST)
    job = checkout.run()
    assert job.exit_code == 1
    assert job.ran[-1] == "Fail on findings"
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("errors", "2")
    lines = job.summary.splitlines()
    assert lines[0].startswith("## ❌ benchlint: 2 errors, ")
    assert lines[0].endswith(" in 2 changed reports")
    assert lines[2].startswith("**What to do:** Mend the errors.")
    assert lines[4] == "### `results/bad.json`"
    assert lines[8].startswith("| ❌ error | `accepted length τ 5.3 > K + 1 = 5`<br>")
    errors = [each for each in commands_in(job.log) if each.startswith("::error ")]
    assert errors[0].startswith(
        "::error file=results/bad.json,line=17,col=78,endColumn=81,title=BL201"
    )
    assert errors[-1] == (
        "::error title=benchlint::findings at or over fail-on; the summary has the table"
    )
    assert len(errors) == 3
    found = sarif_results(job, "error")
    places = [each["locations"][0]["physicalLocation"] for each in found]
    assert [each["ruleId"] for each in found] == ["BL201", "BL601"]
    assert {place["artifactLocation"]["uri"] for place in places} == {"results/bad.json"}
    assert [place["region"]["startLine"] for place in places] == [17, 21]
    page = Path(job.outputs["report-path"]).read_text("utf-8")
    assert "2 errors in 1 of 2 reports" in page
    assert "<strong>Help:</strong>" in page


def test_the_log_says_first_where_to_read_on(checkout: Checkout) -> None:
    checkout.write("bad.json", FAULTY)
    lines = checkout.run().log.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[1] == (
        "benchlint: the summary of this run has the table: "
        "https://github.com/owner/repository/actions/runs/5"
    )


@pytest.mark.parametrize("name", ["report.json", "renamed.json"])
def test_lines_that_the_pull_request_brings_are_annotated_first(
    checkout: Checkout, name: str
) -> None:
    before = json.loads(FAULTY)
    fast = before["runs"][1]
    before["runs"] = [{**fast, "id": f"old {number}"} for number in range(20)]
    before["claims"] = []
    checkout.as_base(report=before)
    old = len((checkout.folder / "report.json").read_text().splitlines())
    before["runs"].append({**fast, "id": "new"})
    (checkout.folder / "report.json").unlink()
    checkout.write(name, before)
    commands = commands_in(checkout.run({"fail-on": "never"}).log)
    errors = [each for each in commands if each.startswith("::error")]
    lines = [int(line) for each in errors for line in re.findall(r",line=(\d+),", each)]
    assert len(lines) == 9
    assert lines[0] > old - 15 > lines[1]
    assert errors[-1].endswith("and 12 more errors, which GitHub would not show")
    assert commands[: len(errors)] == errors


def test_git_is_asked_once_what_the_base_is(checkout: Checkout, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    checkout.write("bad.json", FAULTY)
    job = checkout.run(PATH=f"{wrapper.parent}:{os.environ['PATH']}")
    assert job.outputs["errors"] == "2"
    calls = asked.read_text().splitlines()
    for command in ("rev-list", "merge-base", "--name-status"):
        assert len([call for call in calls if command in call]) == 1, calls


@pytest.mark.parametrize("paths", ["reports/*.json", "reports/x.json", "linked", "*", "."])
def test_no_link_of_a_pull_request_shows_what_lies_outside(
    checkout: Checkout, tmp_path: Path, paths: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.json").write_text('{"runs": [], "target": "the key of the runner"')
    (checkout.folder / "reports").mkdir()
    (checkout.folder / "reports" / "x.json").symlink_to(outside / "x.json")
    (checkout.folder / "linked").symlink_to(outside)
    checkout.write("reports/good.json", CLEAN)
    job = checkout.run({"paths": paths, "fail-on": "never"})
    assert job.exit_code == 0, job.log
    left = "".join(file.read_text("utf-8") for file in job.results.iterdir())
    assert "the key of the runner" not in job.log + job.summary + left
    assert "a link that leads out of the checkout is not followed: " in job.summary
    assert job.outputs["errors"] == "0"


def test_tables_on_a_changed_page_are_checked(checkout: Checkout) -> None:
    table = "| model | tok/s | tau | draft length |\n|---|---|---|---|\n| 8B | 61 | 6.3 | 4 |\n"
    other = "| system | command |\n|---|---|\n| a | b |\n"
    checkout.write("docs/speed.md", f"# Speed\n\n{table}")
    checkout.write("docs/install.md", f"# Installation\n\n{other}")
    checkout.write("package.json", {"name": "x", "version": "1", "dependencies": {"a": "1"}})
    job = checkout.run()
    assert "in 1 changed report" in job.summary.splitlines()[0]
    assert "BL201" in job.summary
    assert job.exit_code == 1


def test_fail_on_never(checkout: Checkout) -> None:
    checkout.write("bad.json", FAULTY)
    job = checkout.run({"fail-on": "never"})
    assert job.exit_code == 0
    assert job.outputs["verdict"] == "errors"


def test_warnings_only(checkout: Checkout) -> None:
    checkout.write("report.json", (ROOT / "examples/dflash.json").read_text("utf-8"))
    job = checkout.run()
    assert job.exit_code == 0, job.log
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("warnings", "0")
    warnings = int(job.outputs["warnings"])
    assert len(sarif_results(job, "warning")) == warnings > 0
    assert job.summary.startswith(f"## ⚠️ benchlint: {warnings} warning")
    assert "**What to do:** Nothing contradicts itself." in job.summary
    commands = commands_in(job.log)
    assert any(each.startswith("::warning file=report.json,line=") for each in commands)
    assert not any(each.startswith("::error") for each in commands)
    assert checkout.run({"fail-on": "warning"}).exit_code == 1


def test_no_report_changed(checkout: Checkout) -> None:
    checkout.as_base(old=json.loads(FAULTY))
    checkout.write("package.json", {"name": "x", "version": "1"})
    job = checkout.run()
    assert job.exit_code == 0, job.log
    data = str(job.results / "benchlint.json")
    words = {"verdict": "nothing", "errors": "0", "warnings": "0", "data-path": data}
    assert {name: value for name, value in job.outputs.items() if value} == words
    assert job.summary == "## ✅ benchlint: no report changed\n"
    assert commands_in(job.log) == []


def test_named_paths_are_checked_whether_changed_or_not(checkout: Checkout) -> None:
    checkout.as_base(old=json.loads(FAULTY))
    checkout.write("new.json", CLEAN)
    job = checkout.run({"paths": "*.json\n"})
    assert job.exit_code == 1
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("errors", "2")
    assert job.summary.splitlines()[0].endswith(" in 2 reports")


def test_a_fork_gets_annotations_and_a_summary_and_no_comment(checkout: Checkout) -> None:
    checkout.from_fork = True
    checkout.write("bad.json", FAULTY)
    with FakeGithub(allowed=False) as github:
        inputs = {"comment": "true", "fail-on": "never", "token": "read-only"}
        job = checkout.run(inputs, GITHUB_API_URL=github.url)
    assert job.exit_code == 0, job.log
    assert github.comments == []
    assert [call.partition(" ")[0] for call in github.calls] == ["GET", "POST"]
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("errors", "2")
    assert "BL201" in job.summary
    assert "no comment" in job.log
    assert "workflow_run" in job.log
    assert "read-only" not in job.log
    assert any(c.startswith("::error file=bad.json") for c in commands_in(job.log))


def test_a_renamed_report_is_compared_with_what_it_was(checkout: Checkout) -> None:
    checkout.as_base(old=HONEST)
    slower = json.loads(json.dumps(HONEST))
    run = slower["runs"][0]
    run["decode"]["tok_s"]["value"] = round(run["decode"]["tok_s"]["value"] * 0.7, 1)
    (checkout.folder / "old.json").unlink()
    checkout.write("new.json", slower)
    job = checkout.run({"fail-on": "never"})
    assert job.exit_code == 0, job.log
    assert "in 1 changed report" in job.summary.splitlines()[0]
    assert "What changed" in job.summary
    assert "`old.json` → `new.json`" in job.summary
    assert "Deleted" not in job.summary
    assert "Worse than before in `new.json`" in job.summary


@pytest.mark.parametrize("paths", ["", "report.json\n"])
def test_what_changed_in_a_report_is_told_in_summary_and_comment(
    checkout: Checkout, paths: str
) -> None:
    before = json.loads(FAULTY)
    before["runs"][1]["speculation"] = {"accepted_length": 3.0}
    checkout.as_base(report=before)
    after = json.loads(json.dumps(before))
    after["runs"][0]["decode"]["tok_s"] = 100.0
    after["runs"][1]["speculation"] = {"accepted_length": 5.3}
    after["claims"] = [{**after["claims"][0], "id": "another", "value": 3.91}]
    checkout.write("report.json", after)
    with FakeGithub() as github:
        inputs = {"comment": "true", "token": "t", "fail-on": "never", "paths": paths}
        job = checkout.run(inputs, GITHUB_API_URL=github.url)
    (comment,) = github.comments
    for text in (job.summary, comment["body"]):
        assert "Worse than before in `report.json`" in text
        assert "<details><summary>❌ regression: 1 number worse, 1 number better (1 in" in text
        assert "1 number better (1 in an error)" in text
        assert "| `plain` | `decode.tok_s` | `128.4` | `100.0` | `-22.1 %` |" in text
        assert "| `k4` | `speculation.accepted_length` | `3.0` | `5.3` | `+76.7 %` |" in text
        assert "| `error BL201` |" in text
        assert "#### claims added\n\n| claim |\n|---|\n| `another` |" in text
        assert "#### claims removed\n\n| claim |\n|---|\n| `speed-up` |" in text
        new = text.partition("#### findings new")[2].partition("####")[0]
        assert "| `error` | `BL201` | `run k4` |" in new
        gone = text.partition("#### findings gone")[2].partition("####")[0]
        assert "| `error` | `BL601` | `claim speed-up` |" in gone


def test_a_deleted_report_is_told(checkout: Checkout) -> None:
    checkout.as_base(old=HONEST)
    (checkout.folder / "old.json").unlink()
    job = checkout.run()
    assert job.exit_code == 0, job.log
    assert job.summary == "## ✅ benchlint: no report changed\n\nDeleted: `old.json`\n"
    assert (job.outputs["verdict"], job.outputs["report-path"]) == ("nothing", "")
    assert commands_in(job.log) == []


def test_500_reports(checkout: Checkout) -> None:
    for i in range(500):
        checkout.write(f"many/{i:03}.json", FAULTY)
    job = checkout.run({"fail-on": "never"})
    assert job.exit_code == 0, job.log
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("errors", "1000")
    assert job.summary.startswith("## ❌ benchlint: 1,000 errors, ")
    assert "500 changed reports" in job.summary.splitlines()[0]
    assert 100_000 < len(job.summary.encode()) < 1_000_000
    errors = [c for c in commands_in(job.log) if c.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1].endswith("::and 991 more errors, which GitHub would not show")
    assert len(sarif_results(job, "error")) == 1_000


def test_a_report_that_is_not_json(checkout: Checkout) -> None:
    checkout.write("report.json", '{"benchlint": "1", "runs": [')
    job = checkout.run()
    assert job.exit_code == 1
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("errors", "1")
    assert job.summary.startswith("## ❌ benchlint: 1 error in 1 changed report\n")
    assert "BL001" in job.summary
    (annotation, _) = commands_in(job.log)
    assert annotation.startswith("::error file=report.json,line=1,")
    assert [each["ruleId"] for each in sarif_results(job, "error")] == ["BL001"]


def test_without_a_base_all_reports_are_checked_and_that_is_said(checkout: Checkout) -> None:
    checkout.write("bad.json", FAULTY)
    checkout.base = "0123456789012345678901234567890123456789"
    job = checkout.run()
    assert job.outputs["verdict"] == "errors"
    assert "all reports are checked" in job.summary


@pytest.mark.parametrize("name", ["-", "--help.json", "a b;$(touch x).json", "::error::x.json"])
def test_hostile_names(checkout: Checkout, name: str) -> None:
    checkout.write(name if name != "-" else "-.json", FAULTY)
    job = checkout.run()
    assert job.outputs["verdict"] == "errors"
    assert not (checkout.folder / "x").exists()
    assert all(re.match(r"::(error|warning|notice) ", c) for c in commands_in(job.log))


def test_hostile_texts_change_no_output_and_start_no_command(checkout: Checkout) -> None:
    report = json.loads(FAULTY)
    report["title"] = HOSTILE
    report["runs"][0]["id"] = HOSTILE
    report[HOSTILE] = HOSTILE
    name = "a\n::set-output name=verdict::clean `@everyone` <img>|.json"
    checkout.write(name, report)
    job = checkout.run({"fail-on": "never"})
    assert job.outputs["verdict"] == "errors"
    assert all(re.match(r"::(error|warning|notice) ", c) for c in commands_in(job.log))
    shown = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", job.summary)
    for forbidden in ("@everyone", "<img", "set-output", "![", "${{"):
        assert forbidden not in shown
    lines = [line for line in job.summary.splitlines() if line.startswith("|")]
    assert lines
    assert len({_bars(line) for line in lines}) <= 3


def _bars(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line))


def test_inputs_are_told_when_they_are_wrong(checkout: Checkout) -> None:
    checkout.write("report.json", HONEST)
    job = checkout.run({"profile": "publich"})
    assert job.exit_code == 2
    assert "publish" in job.log
