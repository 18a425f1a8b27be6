"""`benchlint ci`: the steps of the GitHub Action. What they do is in `action/`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchlint.ending import Debug

if TYPE_CHECKING:
    from benchlint.action.environment import Runner
    from benchlint.action.job_log import NewLines
    from benchlint.action.outcome import Outcome

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    short_help="The steps of the GitHub Action.",
    help="The steps of the GitHub Action (action.yml), which sets their environment.",
    epilog="\b\nExamples:\n"
    "  benchlint ci lint                         in a job of GitHub Actions\n"
    "  benchlint ci comment --result FILE        in a workflow_run, for a fork",
)


@app.command()
def lint(debug: Debug = False) -> None:  # noqa: ARG001
    """Check the reports that a pull request changes: annotations, SARIF and a page."""
    from benchlint.action import outcome as outcomes
    from benchlint.action.environment import runner_of
    from benchlint.action.linting import base_of, inputs_of
    from benchlint.action.linting import lint as linted

    runner = runner_of()
    base = base_of(runner)
    outcome = linted(runner, inputs_of(), base)
    outcomes.write(outcome, runner.data)
    _tell(runner, outcome, base.new_lines)


def _tell(runner: Runner, outcome: Outcome, new_lines: NewLines) -> None:
    from benchlint.action.job_log import annotation_lines, write_log
    from benchlint.checker.finding import Severity

    where = f"the summary of this run has the table: {runner.run_url}" if runner.run_url else ""
    write_log(sys.stdout, [line for line in (where, *outcome.notices) if line])
    sys.stdout.write(annotation_lines(outcome, new_lines))
    counts = {f"{s.value}s": outcome.count(s) for s in (Severity.ERROR, Severity.WARNING)}
    failed = "true" if outcome.failed else "false"
    runner.write_outputs({"verdict": outcome.verdict, "failed": failed, **counts})
    paths = {"report-path": runner.page, "sarif-path": runner.sarif, "data-path": runner.data}
    runner.write_paths({name: path for name, path in paths.items() if path.is_file()})


@app.command()
def reproduce(debug: Debug = False) -> None:  # noqa: ARG001
    """Run the checked reports again, with the engine that the workflow names."""
    from benchlint.action import outcome as outcomes
    from benchlint.action.environment import runner_of
    from benchlint.action.linting import inputs_of
    from benchlint.action.rerunning import arguments_of, failing, rerun

    runner = runner_of()
    outcome = rerun(runner, outcomes.read(runner.data), arguments_of())
    outcomes.write(outcome, runner.data)
    bad = {each.outcome for each in failing(outcome.reruns, inputs_of())}
    runner.write_outputs(
        {name: "true" if name in bad else "false" for name in ("refuted", "failed")}
    )
    if runner.verdicts.is_dir():
        runner.write_paths({"verdict-path": runner.verdicts})


@app.command()
def summary(debug: Debug = False) -> None:  # noqa: ARG001
    """Write the summary of the step, from what the steps before it found."""
    from benchlint.action import outcome as outcomes
    from benchlint.action.environment import runner_of
    from benchlint.action.summary import SUMMARY_BYTES, summary_markdown

    runner = runner_of()
    outcome = outcomes.read(runner.data)
    runner.write_summary(summary_markdown(outcome, SUMMARY_BYTES))


@app.command()
def comment(
    result: Annotated[
        Path | None,
        typer.Option(
            "--result",
            metavar="FILE",
            help="benchlint.json of another run, which may be hostile (in a workflow_run).",
        ),
    ] = None,
    author: Annotated[
        str, typer.Option(metavar="LOGIN", help="Whose comment it is.")
    ] = "github-actions[bot]",
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write the comment on the pull request, or update it. Needs BENCHLINT_TOKEN."""
    from benchlint.action import outcome as outcomes
    from benchlint.action.comment import comment_body, post, pull_request_of_run
    from benchlint.action.environment import runner_of
    from benchlint.action.github_api import ApiError, GitHubApi

    runner = runner_of()
    request = runner.pull_request
    if request is None and result is None:
        return _say("not a pull request: no comment")
    outcome = outcomes.read(result or runner.data)
    api = GitHubApi(runner.api_url, runner.repository, runner.token)
    try:
        number = request.number if request else pull_request_of_run(runner, api)
        if number is None:
            return _say("no open pull request has the commit that was checked: no comment")
        done = post(
            api, number, comment_body(outcome, runner.run_url), author, quiet=_calm(outcome)
        )
    except ApiError as error:  # what was found is told without it, so it is no reason to fail
        return _say(f"no comment: {error}")
    return _say(f"comment on pull request {number}: {done}")


def _calm(outcome: Outcome) -> bool:
    """Whether there is nothing that deserves a comment where there was none."""
    return outcome.verdict in ("clean", "nothing") and not outcome.reruns


def _say(line: str) -> None:
    from benchlint.action.job_log import write_log

    write_log(sys.stdout, [line])


@app.command()
def gate() -> None:
    """Fail the job for what the steps before found. The last step."""
    bad = [line for name, line in _GATES.items() if os.environ.get(name) == "true"]
    sys.stdout.writelines(f"::error title=benchlint::{line}\n" for line in bad)
    if bad:
        raise typer.Exit(1)


#: What the steps before may have found, and what it means.
_GATES = {
    "BENCHLINT_FAILED": "findings at or over fail-on; the summary has the table",
    "BENCHLINT_REFUTED": "a report did not hold when it was run again; the summary has the table",
    "BENCHLINT_NOT_RUN": "a report could not be run again; the log of that step says why",
}
