"""What is there to copy into a repository's CI fits the action, and the action's documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from benchlint.app import app

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples" / "ci").glob("reports*.yml"))
OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
COMMENT = yaml.safe_load((ROOT / "comment" / "action.yml").read_text("utf-8"))
PAGE = (ROOT / "docs" / "action.md").read_text("utf-8")


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values():
        yield from job["steps"]


def ours(workflow: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Steps that use one of our actions, each with that action."""
    for step in steps(workflow):
        used = step.get("uses", "").partition("@")[0]
        if used in ("./", "OWNER/benchlint", "OWNER/benchlint/comment"):
            yield step, COMMENT if used.endswith("/comment") else ACTION


def test_there_are_some() -> None:
    assert len(EXAMPLES) == 3
    assert all(list(ours(each)) for each in EXAMPLES)


@pytest.mark.parametrize("workflow", [*EXAMPLES, *OWN], ids=lambda path: path.name)
def test_a_workflow_gives_inputs_and_takes_outputs_that_there_are(workflow: Path) -> None:
    for step, action in ours(workflow):
        required = {name for name, each in action["inputs"].items() if each.get("required")}
        assert required <= step.get("with", {}).keys() <= action["inputs"].keys()
    taken = re.findall(r"steps\.benchlint\.outputs\.([\w-]+)", workflow.read_text("utf-8"))
    assert set(taken) <= ACTION["outputs"].keys()


@pytest.mark.parametrize("workflow", [*EXAMPLES, *OWN], ids=lambda path: path.name)
def test_actions_of_others_are_pinned_and_nothing_is_granted_to_all_jobs(workflow: Path) -> None:
    for step in steps(workflow):
        used = step.get("uses", "./")
        assert used == "./" or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used)
    granted = yaml.safe_load(workflow.read_text("utf-8"))["permissions"]
    assert granted in ({}, {"contents": "read"})


def test_the_reports_of_this_repository_have_no_finding_that_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    ((step, _),) = ours(ROOT / ".github" / "workflows" / "reports.yml")
    given = step["with"]
    done = CliRunner().invoke(app, ["check", given["paths"], "--baseline", given["baseline"]])
    assert done.exit_code == 0, done.stdout
    assert done.stdout.startswith("no findings in 3 files")


def test_the_workflow_with_rights_checks_nothing_out_and_runs_nothing() -> None:
    workflow = ROOT / "examples" / "ci" / "reports-comment.yml"
    assert not any("checkout" in step.get("uses", "") or "run" in step for step in steps(workflow))


def test_the_page_names_each_input_and_output_with_its_default() -> None:
    rows = dict(re.findall(r"^\| (`[^|]*`) \|(.*)\|$", PAGE, re.MULTILINE))
    names = {name for names in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert names == ACTION["inputs"].keys() | ACTION["outputs"].keys()
    for name in ("comment", "reproduce", "python"):
        assert rows[f"`{name}`"].split("|")[0].strip() == f"`{ACTION['inputs'][name]['default']}`"


def test_the_page_names_the_examples() -> None:
    linked = set(re.findall(r"\.\./examples/ci/([\w.-]+)\)", PAGE))
    assert linked == {each.name for each in (ROOT / "examples" / "ci").iterdir()}


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("results/h200.json", True),
        ("benchmarks/a/b.yaml", True),
        ("docs/report-2.toml", True),
        ("src/settings.json", False),
        ("results/package.json", False),
        ("package-lock.json", False),
    ],
)
def test_the_hook_of_pre_commit_takes_what_is_a_report_by_its_name(name: str, taken: bool) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    wanted = re.search(hook["files"], name) and not re.search(hook["exclude"], name)
    assert bool(wanted) is taken
    assert hook["entry"].split()[:2] == ["benchlint", "check"]
