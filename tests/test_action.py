"""The GitHub Action, its steps run as the runner would, on a real git repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.action_checkout import CLEAN, FAULTY, HONEST, HOSTILE, INSTALL, Checkout, commands_in
from tests.action_runner import ROOT, ActionRunner
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
    runner = ActionRunner(temporary, temporary, {}, source=source)
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
    pip = [str(installed / "benchlint-venv/bin/python"), "-m", "pip", "list", "--format=json"]
    listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    names = {each["name"].lower().replace("_", "-") for each in json.loads(listed)}
    assert "benchlint" in names
    assert not names & {"numpy", "scipy", "httpx", "matplotlib", "llama-cpp-python", "xllamacpp"}


def test_clean(checkout: Checkout) -> None:
    checkout.write("report.json", CLEAN)
    job = checkout.run()
    assert job.exit_code == 0, job.log
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("clean", "0")
    assert "0 errors" not in job.summary
    assert Path(job.outputs["report-path"]).is_file()
    assert Path(job.outputs["sarif-path"]).is_file()


def test_errors_fail_the_last_step_and_are_told_everywhere(checkout: Checkout) -> None:
    checkout.write("results/bad.json", FAULTY)
    checkout.write("good.json", HONEST)
    job = checkout.run()
    assert job.exit_code == 1
    assert job.ran[-1] == "Fail on findings"
    assert job.outputs["verdict"] == "errors"
    assert int(job.outputs["errors"]) > 0
    assert "in 2 changed reports" in job.summary.splitlines()[0]
    errors = [
        c for c in commands_in(job.log) if c.startswith("::error file=results/bad.json,line=")
    ]
    assert errors
    sarif = json.loads(Path(job.outputs["sarif-path"]).read_text("utf-8"))
    results = sarif["runs"][0]["results"]
    places = [r["locations"][0]["physicalLocation"] for r in results]
    assert {p["artifactLocation"]["uri"] for p in places} >= {"results/bad.json"}


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
    assert job.exit_code == 0
    assert (job.outputs["verdict"], job.outputs["errors"]) == ("warnings", "0")
    assert int(job.outputs["warnings"]) > 0
    assert checkout.run({"fail-on": "warning"}).exit_code == 1


def test_no_report_changed(checkout: Checkout) -> None:
    checkout.as_base(old=json.loads(FAULTY))
    checkout.write("package.json", {"name": "x", "version": "1"})
    job = checkout.run()
    assert job.exit_code == 0, job.log
    assert job.outputs["verdict"] == "nothing"
    assert "no report changed" in job.summary
    assert not job.outputs["sarif-path"]


def test_named_paths_are_checked_whether_changed_or_not(checkout: Checkout) -> None:
    checkout.as_base(old=json.loads(FAULTY))
    job = checkout.run({"paths": "*.json\n"})
    assert job.exit_code == 1
    assert job.outputs["verdict"] == "errors"


def test_a_fork_gets_annotations_and_a_summary_and_no_comment(checkout: Checkout) -> None:
    checkout.from_fork = True
    checkout.write("bad.json", FAULTY)
    with FakeGithub(allowed=False) as github:
        inputs = {"comment": "true", "fail-on": "never", "token": "read-only"}
        job = checkout.run(inputs, GITHUB_API_URL=github.url)
    assert job.exit_code == 0, job.log
    assert github.comments == []
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
    assert "What changed" in job.summary
    assert "`old.json` → `new.json`" in job.summary
    assert "Deleted" not in job.summary
    assert "Worse than before in `new.json`" in job.summary


def test_a_deleted_report_is_told(checkout: Checkout) -> None:
    checkout.as_base(old=HONEST)
    (checkout.folder / "old.json").unlink()
    job = checkout.run()
    assert job.exit_code == 0, job.log
    assert "Deleted: `old.json`" in job.summary


def test_500_reports(checkout: Checkout) -> None:
    for i in range(500):
        checkout.write(f"many/{i:03}.json", FAULTY)
    job = checkout.run({"fail-on": "never"})
    assert job.exit_code == 0, job.log
    assert "500 changed reports" in job.summary
    assert len(job.summary.encode()) < 1_000_000
    assert len([c for c in commands_in(job.log) if c.startswith("::error")]) <= 10


def test_a_report_that_is_not_json(checkout: Checkout) -> None:
    checkout.write("report.json", '{"benchlint": "1", "runs": [')
    job = checkout.run()
    assert job.exit_code == 1
    assert "BL001" in job.summary


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
