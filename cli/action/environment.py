"""What the runner tells an action: its folders, the event, and where outputs go.

The names and the event's layout are GitHub's ("Variables reference" and "Webhook events and
payloads" of its documentation). The event holds text from whoever opened the pull request, so
only numbers, commit ids and repository names of a known form are taken from it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlint.checker.errors import CannotRunError

#: An event is at most this large, in bytes; GitHub's own limit is 25 MB.
MAX_EVENT_BYTES = 32 << 20

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_WORD = re.compile(r"[a-z]{1,20}|[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request of an event.

    base: commit that it is to be merged into. head: its newest commit; "" where none is told.
    """

    number: int
    base: str
    head: str


@dataclass(frozen=True, slots=True)
class Runner:
    """The environment of one step.

    workspace: the checkout. results: folder for what the action writes, made when asked for.
    summary, outputs: files that the runner reads after the step; "" where there are none.
    """

    workspace: Path
    results: Path
    event: Mapping[str, object]
    repository: str
    api_url: str
    run_url: str
    summary: str
    outputs: str
    token: str

    @property
    def data(self) -> Path:
        """Everything that was found, as data: one step writes it, the next reads it."""
        return self.results / "benchlint.json"

    @property
    def page(self) -> Path:
        """The page of all findings."""
        return self.results / "report.html"

    @property
    def verdicts(self) -> Path:
        """The folder with a folder for each report that was run again."""
        return self.results / "verdicts"

    @property
    def sarif(self) -> Path:
        """The findings as SARIF."""
        return self.results / "benchlint.sarif"

    @property
    def pull_request(self) -> PullRequest | None:
        """The pull request that the event is about; None for other events."""
        data = self.event.get("pull_request")
        if not isinstance(data, dict):
            return None
        number, base, head = data.get("number"), data.get("base"), data.get("head")
        if type(number) is not int or not isinstance(base, dict) or not isinstance(head, dict):
            return None
        return PullRequest(number, commit(base.get("sha")), commit(head.get("sha")))

    @property
    def push_before(self) -> str:
        """The commit that a push started from; "" for other events and for a new branch."""
        before = commit(self.event.get("before"))
        return before if before.strip("0") else ""

    def write_outputs(self, values: Mapping[str, str | int]) -> None:
        """Tell the runner words and numbers. Nothing that a report could choose gets there."""
        lines = [f"{name}={_word(value)}" for name, value in values.items()]
        _append(self.outputs, "".join(line + "\n" for line in lines))

    def write_paths(self, values: Mapping[str, Path]) -> None:
        """Tell the runner files in the folder of results."""
        for name, path in values.items():
            if path.parent != self.results or not str(path).isprintable():
                raise ValueError(path)
            _append(self.outputs, f"{name}={path}\n")

    def write_summary(self, markdown: str) -> None:
        """Add to the page of the step. GitHub takes 1 MiB at most."""
        _append(self.summary, markdown)


def runner_of(environment: Mapping[str, str] = os.environ) -> Runner:
    """The runner that this process was started by. Raises CannotRunError outside of one."""
    workspace = environment.get("GITHUB_WORKSPACE")
    if not workspace:
        raise CannotRunError("GITHUB_WORKSPACE is not set: `benchlint ci` is for GitHub Actions")
    temporary = environment.get("RUNNER_TEMP") or workspace
    repository = environment.get("GITHUB_REPOSITORY", "")
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    run = environment.get("GITHUB_RUN_ID", "")
    return Runner(
        workspace=Path(workspace),
        results=Path(temporary) / "benchlint",
        event=_event(environment.get("GITHUB_EVENT_PATH", "")),
        repository=repository if _REPOSITORY.fullmatch(repository) else "",
        api_url=environment.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        run_url=f"{server}/{repository}/actions/runs/{run}" if run.isdecimal() else "",
        summary=environment.get("GITHUB_STEP_SUMMARY", ""),
        outputs=environment.get("GITHUB_OUTPUT", ""),
        token=environment.get("BENCHLINT_TOKEN", ""),
    )


def commit(value: object) -> str:
    """The id of a commit, or "" where the value is none."""
    return value if isinstance(value, str) and _COMMIT.fullmatch(value) else ""


def _event(path: str) -> Mapping[str, object]:
    if not path:
        return {}
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path may raise ValueError
            data = json.loads(file.read(MAX_EVENT_BYTES))
    except (OSError, ValueError, RecursionError):
        raise CannotRunError("the event file of the runner cannot be read") from None
    return data if isinstance(data, dict) else {}


def _word(value: str | int) -> str:
    text = str(value)
    if not _WORD.fullmatch(text):
        raise ValueError(text)
    return text


def _append(file: str, text: str) -> None:
    if file:
        with open(file, "a", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            stream.write(text)
