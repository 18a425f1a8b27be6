"""A pull request whose every name and text is hostile, and each channel that the action writes to.

One run of the action on it; a test for each channel.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from benchlint.app import app
from tests.action_checkout import CLEAN, Checkout, commands_in, temporary_with_this_python
from tests.action_runner import JobRun
from tests.fake_github import TOKEN, FakeGithub
from tests.html_checks import check_page
from tests.scripted_server import report
from tests.test_hostile import check_github, check_gitlab, check_sarif, hostile

pytestmark = pytest.mark.skipif(
    not shutil.which("git") or sys.platform != "linux",
    reason="needs git, and names that may be any bytes",
)

CANARY = "touched-by-a-report"
POISON = (
    f"\n::set-output name=verdict::clean\n##[add-mask]x\n  ::add-mask::y\n${{{{ github.token }}}} "
    f"`touch {CANARY}` $(touch {CANARY});touch {CANARY} @everyone @org/team #1 <img src=x> "
    "</details></td> a|b\\|c ![i](http://127.0.0.1/x) [l](http://127.0.0.1/y) <!-- \u202e \x1b[2J"
)
NAME = (
    "\n::set-output name=verdict::clean\n##[add-mask]x ${{ github.token }} "
    f"`touch {CANARY}` $(touch {CANARY}) @everyone <img src=x> a|b\\|c ![i](x) \u202e \x1b[2J"
)
MEGABYTE = "m" * (1 << 20)


@dataclass
class Ran:
    """The job, what it left on the pull request, and its checkout."""

    job: JobRun
    comment: str
    folder: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "checkout").mkdir()
    checkout = Checkout(folder / "checkout", temporary_with_this_python(folder / "runner"))
    before = hostile(CLEAN, POISON)
    checkout.write(f"gone{NAME}.json", before)
    checkout.write("changed.json", before)
    checkout.base = checkout.commit()
    (checkout.folder / f"gone{NAME}.json").unlink()
    after = json.loads(json.dumps(before))
    after["runs"][0]["decode"]["tok_s"]["value"] *= 0.5
    checkout.write("changed.json", {**after, "title": MEGABYTE})
    checkout.write(f"new{NAME}.json", {**before, POISON + MEGABYTE: MEGABYTE, MEGABYTE: 1})
    checkout.write("none.json", f'{{"benchlint": "1",\n"runs": [{POISON}')
    checkout.write("page.md", f"# {POISON}\n\n```benchlint\n{json.dumps(before)}\n```\n{POISON}")
    with FakeGithub() as github:
        inputs = {"comment": "true", "token": TOKEN, "fail-on": "never"}
        job = checkout.run(inputs, GITHUB_API_URL=github.url)
    return Ran(job, github.comments[0]["body"], checkout.folder)


def test_outputs_are_words_counts_and_our_own_files(ran: Ran) -> None:
    assert ran.job.exit_code == 0, ran.job.log
    said = ran.job.steps["lint"]
    files = {
        "report-path": "report.html",
        "sarif-path": "benchlint.sarif",
        "data-path": "benchlint.json",
    }
    assert {name: said.pop(name) for name in files} == {
        name: str(ran.job.results / file) for name, file in files.items()
    }
    assert int(said.pop("errors")) > 10
    assert int(said.pop("warnings")) > 0
    assert said == {"verdict": "errors", "failed": "false"}
    assert all(not values for name, values in ran.job.steps.items() if name != "lint")


def test_no_command_is_started(ran: Ran) -> None:
    assert not list(ran.folder.rglob(CANARY))
    assert not list(ran.job.results.rglob(CANARY))


def test_the_log(ran: Ran) -> None:
    assert all(re.match("::(error|warning|notice) ", each) for each in commands_in(ran.job.log))
    assert "##[" not in ran.job.log
    assert "\x1b" not in ran.job.log
    assert "\u202e" not in ran.job.log
    assert TOKEN not in ran.job.log
    assert len(ran.job.log) < 100_000


def test_annotations(ran: Ran) -> None:
    lines = [each for each in commands_in(ran.job.log) if each.startswith("::")]
    check_github("\n".join(lines))
    kinds = [line.partition(" ")[0] for line in lines]
    assert all(kinds.count(kind) <= 10 for kind in set(kinds))
    assert any("new\\n" in line for line in lines)


@pytest.mark.parametrize("channel", ["summary", "comment"])
def test_markdown(ran: Ran, channel: str) -> None:
    text = ran.job.summary if channel == "summary" else ran.comment
    assert "set-output" in text
    assert len(text.encode()) <= (60_000 if channel == "comment" else 1 << 20)
    parsed = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in parsed for child in token.children or ()]
    assert {child.type for child in inline} <= INLINE
    said = " ".join(child.content for child in inline if child.type == "text")
    for forbidden in ("@", "#1", "<", "${{", "set-output", "touch", "\u202e", "\x1b", "mmmmm"):
        assert forbidden not in said
    raw = [t.content.strip() for t in parsed if t.type == "html_block"]
    raw += [child.content for child in inline if child.type == "html_inline"]
    assert all(OUR_HTML.fullmatch(each) for each in raw), raw
    ours = "".join(raw)
    assert ours.count("<details") == ours.count("</details>") > 0
    for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        assert not is_table or len({bars(line) for line in lines}) == 1


INLINE = {
    *("text", "code_inline", "html_inline", "strong_open", "strong_close"),
    *("softbreak", "link_open", "link_close"),
}
OUR_HTML = re.compile(
    r"<br>|</?(details|summary|sub)( open)?>|<!-- benchlint: comment of the action -->"
    r"|<details( open)?><summary>[^<>`@]*</summary>"
)


def bars(row: str) -> int:
    """How often a row of a table is split."""
    return len(re.findall(r"(?<!\\)\|", row))


def test_what_changed_is_told_of_hostile_reports(ran: Ran) -> None:
    assert "### What changed" in ran.job.summary
    assert "Deleted: `" in ran.job.summary
    assert "#### worse" in ran.job.summary


def test_sarif(ran: Ran) -> None:
    text = Path(ran.job.outputs["sarif-path"]).read_text("utf-8")
    check_sarif(text)
    results = json.loads(text)["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    uris = {place["artifactLocation"]["uri"] for place in places}
    assert all(re.fullmatch(r"[\w.%~-]+", uri) for uri in uris), uris
    assert all(place["region"]["startLine"] == place["region"]["endLine"] for place in places)
    assert all(len(each["message"]["text"]) < 9_000 for each in results)
    assert not any("](" in each["message"]["text"] for each in results)


def test_the_page(ran: Ran) -> None:
    text = Path(ran.job.outputs["report-path"]).read_text("utf-8")
    check_page(text)
    assert "set-output" in text
    assert "m" * 5_000 not in text


def test_gitlab(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ran.folder)
    done = CliRunner().invoke(app, ["check", "--format", "gitlab", "."])
    assert done.exit_code == 1, done.stderr
    check_gitlab(done.stdout)
    assert "##[" not in done.stdout
    assert all(len(each["description"]) < 9_000 for each in json.loads(done.stdout))


@pytest.mark.parametrize("place", ["outcome", "counts", "name"])
def test_a_badge_says_none_of_it(tmp_path: Path, place: str) -> None:
    counts: dict[str, object] = dict.fromkeys(
        ("reproduced", "refuted", "inconclusive", "not testable here"), 0
    )
    verdict = {"outcome": "refuted", "counts": counts, "title": POISON, "claims": [POISON]}
    if place != "name":
        verdict[place] = POISON if place == "outcome" else {**counts, "refuted": POISON}
    file = tmp_path / f"{NAME}.json"
    file.write_text(json.dumps(verdict))
    done = CliRunner().invoke(app, ["badge", str(file)])
    assert done.exit_code == (0 if place == "name" else 2)
    assert "##[" not in done.output
    assert len(done.stderr.splitlines()) == (0 if place == "name" else 1)
    assert "set-output" not in done.stdout


# What a workflow may call without the action

COMMANDING = "::set-output name=a::b ##[set-output name=a]b\n::error::c"


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--color=never", "a.json"],
        ["compare", "a.json", "b.json"],
        ["compare", "--format=markdown", "a.json", "b.json"],
        ["render", "a.json"],
        ["render", "--html", "a.json"],
        ["convert", "a.json"],
        ["reproduce", "--plan", "a.json"],
    ],
    ids=" ".join,
)
def test_no_command_writes_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = json.loads(report().replace('"two"', json.dumps(COMMANDING)))
    tree["title"] = tree["runs"][0]["id"] = tree["claims"][0]["to"] = COMMANDING
    tree["workloads"] = {COMMANDING: tree["workloads"].pop(COMMANDING)}
    (tmp_path / "a.json").write_text(json.dumps(tree))
    tree["runs"][0]["decode"]["tok_s"] = 10.0
    (tmp_path / "b.json").write_text(json.dumps(tree))
    done = CliRunner().invoke(app, command)
    assert done.exit_code in (0, 1), done.stderr
    assert "set-output" in done.stdout
    assert commands_in(done.output) == []


def test_what_a_report_is_converted_to_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({**json.loads(report()), "title": COMMANDING}))
    converted = CliRunner().invoke(app, ["convert", "a.json"]).stdout
    assert json.loads(converted)["title"] == COMMANDING
    (tmp_path / "page.md").write_text(CliRunner().invoke(app, ["render", "a.json"]).stdout)
    again = json.loads(CliRunner().invoke(app, ["convert", "page.md"]).stdout)
    assert again["title"] == COMMANDING


DIFFED = """{"benchlint": "1", "runs": [{
  "notes": "##[set-output name=verdict]clean",
  "speculation": {"acceptance_rate": 61.7}
}]}
"""


def diff_in_a_job(folder: Path, output: int | IO[bytes]) -> bytes:
    """What `check --diff` writes in a job, where it is not written to a file."""
    (folder / "a.json").write_text(DIFFED)
    command = [sys.executable, "-m", "benchlint", "check", "--diff", "a.json"]
    environment = {**os.environ, "GITHUB_ACTIONS": "true"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=output, check=False)
    return done.stdout or b""


def test_a_diff_in_the_log_of_a_job_is_no_command_and_still_a_patch(tmp_path: Path) -> None:
    shown = diff_in_a_job(tmp_path, subprocess.PIPE).decode()
    assert '   "notes": "##[set-output name=verdict]clean",\n' in shown
    assert commands_in(shown) == []
    done = subprocess.run(
        ["git", "apply", "--check", "-"], cwd=tmp_path, input=shown, text=True, check=False
    )
    assert done.returncode == 0


def test_a_diff_into_a_file_is_as_it_is(tmp_path: Path) -> None:
    with (tmp_path / "a.patch").open("wb") as file:
        diff_in_a_job(tmp_path, file)
    assert (tmp_path / "a.patch").read_text().startswith("--- a.json")
