"""The action's step that runs reports again, as the runner would, against a small server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from benchlint.action.comment import comment_body
from benchlint.action.linting import Inputs
from benchlint.action.outcome import Rerun, read
from benchlint.action.rerunning import failing
from tests.action_checkout import (
    HOSTILE,
    INSTALL,
    Checkout,
    commands_in,
    temporary_with_this_python,
)
from tests.action_runner import ROOT, ActionRunner, JobRun
from tests.fake_github import TOKEN, FakeGithub
from tests.loopback import Loopback, serving
from tests.scripted_server import SAME, Scripted, report, running

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

LIE = {"fast": "150", "times": "3.0"}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return Checkout(folder, temporary_with_this_python(tmp_path / "runner"))


@contextmanager
def servers() -> Iterator[tuple[Loopback, Loopback]]:
    """One that speculates, and one that does not."""
    fast = Scripted(speculates=True, tok_s=100.0)
    with running(fast) as first, running(Scripted()) as second:
        yield first, second


def run_again(checkout: Checkout, fail_on: str = "") -> tuple[JobRun, list[Loopback]]:
    """A job on a runner with two servers, whose addresses are in the workflow."""
    with servers() as (fast, plain):
        arguments = [f"--endpoint={fast.url}/v1", f"--baseline-endpoint={plain.url}"]
        arguments += [f"--same={name}" for name in SAME]
        inputs = {"reproduce": "true", "reproduce-arguments": "\n".join(arguments)}
        job = checkout.run({**inputs, "fail-on": fail_on})
        return job, [fast, plain]


def errors_in(job: JobRun) -> list[str]:
    return [each for each in commands_in(job.log) if each.startswith("::error")]


def test_a_second_step_of_a_job_has_folders_of_its_own(checkout: Checkout) -> None:
    checkout.write("good.json", report())
    first, _ = run_again(checkout)
    journal = Path(first.outputs["verdict-path"]) / "1" / "samples.jsonl"
    before = journal.read_bytes()
    second, _ = run_again(checkout)
    assert second.exit_code == 0
    assert second.summary.splitlines()[0].endswith("run again: 1 reproduced")
    assert second.outputs["verdict-path"] == first.outputs["verdict-path"]
    assert (journal.parents[1] / "2" / "samples.jsonl").is_file()
    assert journal.read_bytes() == before


def test_a_claim_that_does_not_hold_fails_the_job(checkout: Checkout) -> None:
    checkout.write("good.json", report())
    checkout.write("lie.json", report(**LIE))
    job, _ = run_again(checkout)
    assert job.exit_code == 1
    assert job.ran[-1] == "Fail on findings"
    assert errors_in(job) == [
        "::error title=benchlint::a report did not hold when it was run again; "
        "the summary has the table"
    ]
    first = job.summary.splitlines()[0]
    assert first.startswith("## ❌ benchlint: ")
    assert first.endswith("in 2 changed reports; run again: 1 refuted, 1 reproduced")
    assert "**What to do:** Correct what did not hold when it was run again" in job.summary
    assert "Nothing contradicts itself" not in job.summary
    rows = [line for line in job.summary.splitlines() if line.startswith("| ❌ refuted")]
    assert rows[0].startswith("| ❌ refuted | `lie.json` | ")
    assert "decode.tok_s of f is 3.0 × that of p` | 2 | `2 (99 %) lies outside 2.7" in rows[1]
    assert job.summary.index("lie.json") < job.summary.index("good.json")
    assert "| ✅ reproduced | `good.json` | 4 | 0 | 0 | 0 |" in job.summary
    assert "decode.tok_s of f is 2.0 × that of p` | 2 | " in job.summary
    assert "benchlint: running lie.json again\n" in job.log
    assert "Reproduced: the claim that could be tested here holds." in job.log
    assert job.outputs["verdict"] == "warnings"
    verdicts = Path(job.outputs["verdict-path"])
    assert {each.name for each in verdicts.iterdir()} == {"1", "2"}
    for each in verdicts.iterdir():
        assert "A scripted pair" in (each / "verdict.html").read_text("utf-8")


def test_a_refuted_claim_fails_nothing_where_fail_on_is_never(checkout: Checkout) -> None:
    checkout.write("lie.json", report(**LIE))
    job, _ = run_again(checkout, fail_on="never")
    assert job.exit_code == 0, job.log
    assert "| ❌ refuted | `lie.json` |" in job.summary


@pytest.mark.parametrize(
    ("said", "configured", "fails"),
    [
        ("", None, True),
        ("warning", None, True),
        ("never", None, False),
        ("", "never", False),
        ("error", "never", True),
    ],
)
@pytest.mark.parametrize("outcome", ["refuted", "failed"])
def test_fail_on_holds_for_reruns_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    configured: str | None,
    fails: bool,
    outcome: Literal["refuted", "failed"],
) -> None:
    monkeypatch.chdir(tmp_path)
    if configured:
        (tmp_path / "benchlint.toml").write_text(f'fail-on = "{configured}"\n')
    reruns = [Rerun(path="a.json", outcome=outcome), Rerun(path="b.json", outcome="inconclusive")]
    found = list(failing(reruns, Inputs(fail_on=said)))
    assert found == (reruns[:1] if fails else [])


# What a report says goes nowhere


def greedy(trap: str, outside: str) -> dict[str, Any]:
    """A report that names addresses, flags, commands and files wherever there is room."""
    tree: dict[str, Any] = json.loads(report())
    tree["source"] = trap
    tree["engine"] |= {
        "command_line": ["touch", outside, f"--endpoint={trap}"],
        "environment": {"LLAMA_ARG_MODEL": outside, "HTTP_PROXY": trap, "OPENAI_BASE_URL": trap},
    }
    tree["target"] |= {"source": trap, "file": outside}
    tree["extensions"] = {"endpoint": trap, "reproduce-arguments": f"--endpoint={trap}"}
    tree["workloads"]["two"]["prompts"] = {"file": f"../{outside}"}
    return tree


def test_the_report_chooses_no_address_flag_and_file(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "outside.jsonl").write_text('{"prompt": "the secret of the runner"}\n')
    with serving({}) as trap:
        flag = f"--endpoint={trap.url}".replace("/", "_")  # no name of a file has a slash
        for name in ("a.json", f"{flag}.json"):
            checkout.write(name, greedy(trap.url, "outside.jsonl"))
        job, asked = run_again(checkout)
        assert trap.requests == []
    assert not (checkout.folder / "outside.jsonl").exists()
    assert all("secret of the runner" not in str(server.requests) for server in asked)
    assert "secret of the runner" not in job.log + job.summary
    again = read(job.results / "benchlint.json").reruns
    assert [each.outcome for each in again] == ["reproduced"] * 2, again
    assert all(server.bodies("/v1/completions") for server in asked)


def test_hostile_texts_of_a_report_start_no_command_and_break_no_table(checkout: Checkout) -> None:
    tree = json.loads(report(**LIE))
    tree["runs"][1]["id"] = tree["claims"][0]["of"] = HOSTILE
    checkout.write("a|b `@everyone` <img>.json", tree)
    job, _ = run_again(checkout)
    assert all(
        line.startswith(("::error ", "::warning ", "::notice ")) for line in commands_in(job.log)
    )
    verdicts = str(job.results / "verdicts")
    assert job.steps["rerun"] == {"refuted": "true", "failed": "false", "verdict-path": verdicts}
    tables = [line for line in job.summary.splitlines() if line.startswith("| ❌ refuted")]
    assert len(tables) >= 2
    body = comment_body(read(job.results / "benchlint.json"))
    for text in (job.summary, body):
        assert "@everyone" not in without_code(text)
        assert "<img" not in without_code(text)


def without_code(markdown: str) -> str:
    """The text without its code spans."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown)


# What fails


def test_nobody_answers_is_one_line_and_keeps_what_was_found(checkout: Checkout) -> None:
    checkout.write("a.json", report(length="9.0"))
    arguments = "--endpoint=http://127.0.0.1:9"
    inputs = {"reproduce": "true", "reproduce-arguments": arguments, "comment": "true"}
    with FakeGithub() as github:
        job = checkout.run({**inputs, "token": TOKEN}, GITHUB_API_URL=github.url)
    assert job.exit_code == 1
    assert job.log.count("no server answers at http://127.0.0.1:9\n") == 1
    assert "Traceback" not in job.log
    assert job.outputs["verdict"] == "errors"
    assert "BL201" in job.summary
    assert "| ❌ failed | `a.json`<br>`it could not be run; the log of " in job.summary
    assert "127.0.0.1:9" not in job.summary + github.comments[0]["body"]
    assert "a report could not be run again" in errors_in(job)[-1]


def test_a_runner_without_an_engine_says_so_in_one_line(checkout: Checkout) -> None:
    checkout.write("a.json", report())
    inputs = {"reproduce": "true", "fail-on": "never"}
    job = checkout.run({**inputs, "reproduce-arguments": "--target-model=/nowhere/a.gguf"})
    assert job.exit_code == 0, job.log
    said = [line for line in job.log.splitlines() if "/nowhere/a.gguf" in line]
    assert len(said) == 1
    assert "could not be run" in job.summary
    assert job.outputs["verdict"] == "clean" or "BL1" in job.summary


def test_arguments_that_are_no_options_are_told(checkout: Checkout) -> None:
    checkout.write("a.json", report())
    job = checkout.run({"reproduce": "true", "reproduce-arguments": "other.json"})
    assert job.exit_code == 2
    assert "reproduce-arguments: 'other.json' is no option" in job.log


def test_what_holds_no_single_report_is_not_tested_and_fails_nothing(checkout: Checkout) -> None:
    block = f"```benchlint\n{report()}```\n"
    checkout.write("page.md", f"# Two\n\n{block}\n{block}")
    job, asked = run_again(checkout, fail_on="error")
    assert job.steps["rerun"] == {"refuted": "false", "failed": "false"}
    assert "| ❔ not testable here | `page.md`<br>`page.md holds 2 reports; " in job.summary
    assert all(server.requests == [] for server in asked)


# In the workflow that comments for a fork


def test_the_comment_for_a_fork_shows_it(checkout: Checkout, tmp_path: Path) -> None:
    checkout.from_fork = True
    checkout.write("lie.json", report(**LIE))
    job, _ = run_again(checkout)
    data = Path(job.outputs["data-path"])
    hostile = json.loads(data.read_text("utf-8"))
    hostile["reruns"][0]["rulings"][0] |= {"says": HOSTILE, "reason": HOSTILE}
    data.write_text(json.dumps(hostile))
    head = checkout.commit()
    run = {"head_sha": head, "head_branch": "x", "head_repository": {"owner": {"login": "fork"}}}
    with FakeGithub() as github:
        github.pulls = [{"number": 7, "head": {"sha": head}}]
        runner = ActionRunner(
            tmp_path,
            checkout.temporary,
            {"workflow_run": run},
            event_name="workflow_run",
            action=ROOT / "comment" / "action.yml",
            environment={"GITHUB_API_URL": github.url},
        )
        done = runner.run({"result": str(data), "token": TOKEN}, skip=(INSTALL,))
    assert done.exit_code == 0, done.log
    body = github.comments[0]["body"]
    assert "| ❌ refuted | `lie.json` |" in body
    assert "set-output" in body
    assert "@everyone" not in without_code(body)
    assert "<img" not in without_code(body)
    rows = [line for line in body.splitlines() if "set-output" in line]
    assert len(rows) == 1
