"""The comment on a pull request: one, found again by its marker and its author, kept up to date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from benchlint.action.environment import Runner, commit
from benchlint.action.github_api import GitHubApi
from benchlint.action.outcome import Outcome
from benchlint.action.summary import COMMENT_BYTES, summary_markdown

#: First line of the comment; nobody sees it.
MARKER = "<!-- benchlint: comment of the action -->"

#: Whose comment it is when the workflow's own token writes it.
AUTHOR = "github-actions[bot]"

_OWNER = re.compile(r"[A-Za-z0-9-]{1,100}")


def comment_body(outcome: Outcome, run_url: str = "") -> str:
    """The text of the comment, at most 60,000 bytes."""
    room = COMMENT_BYTES - len(MARKER) - 1
    return f"{MARKER}\n{summary_markdown(outcome, room, run_url)}"


def post(
    api: GitHubApi, number: int, body: str, author: str = AUTHOR, *, quiet: bool = False
) -> Literal["added", "updated", "unchanged", "none"]:
    """Put the comment on a pull request, or into its place.

    A comment of somebody else that begins with the marker is left alone. quiet: where there
    is no comment yet, add none. Raises ApiError.
    """
    mine = (c for c in api.comments(number) if c.author == author and c.body.startswith(MARKER))
    found = next(mine, None)
    if found is None:
        if not quiet:
            api.add_comment(number, body)
        return "none" if quiet else "added"
    if _same(found.body, body):
        return "unchanged"
    api.change_comment(found.id, body)
    return "updated"


def _same(a: str, b: str) -> bool:
    """GitHub gives line ends back as CR LF."""
    return a.replace("\r\n", "\n").strip() == b.strip()


def pull_request_of_run(runner: Runner, api: GitHubApi) -> int | None:
    """The pull request that the run of a `workflow_run` event was for, asked of GitHub.

    The event lists none for a fork, and what the run itself says of it cannot be trusted. It is
    the one open pull request from that branch whose newest commit is the one that was checked.
    """
    run = runner.event.get("workflow_run")
    if not isinstance(run, Mapping):
        return None
    head, branch, owner = commit(run.get("head_sha")), run.get("head_branch"), _owner(run)
    if not head or not owner or not isinstance(branch, str):
        return None
    numbers = api.open_pull_requests(owner, branch, head)
    return numbers[0] if len(numbers) == 1 else None


def _owner(run: Mapping[str, object]) -> str:
    repository = run.get("head_repository")
    owner = repository.get("owner") if isinstance(repository, Mapping) else None
    login = owner.get("login") if isinstance(owner, Mapping) else None
    return login if isinstance(login, str) and _OWNER.fullmatch(login) else ""
