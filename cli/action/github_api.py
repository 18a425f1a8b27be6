"""The few calls of GitHub's REST API that a comment needs, over the standard library.

Paths are made of numbers and of names whose form was checked. Redirects are not followed, since
the token goes with every request. Source: GitHub REST API, "Issue comments" and "Pulls".
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import quote

from benchlint.checker.errors import CannotRunError

_TIMEOUT_S = 30
_LIMIT_BYTES = 16 << 20
_MOST_PAGES = 50
_PAGE = 100


class ApiError(Exception):
    """GitHub does not allow it, does not answer, or answers something else; says what to do."""


_REFUSED = (
    "GitHub answered {}: this token may not. A pull request from a fork is commented on from a "
    "workflow_run (docs/action.md); else the job needs `permissions: pull-requests: write`"
)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request. author: login, "" for an account that is gone."""

    id: int
    author: str
    body: str


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


class GitHubApi:
    """One repository, with one token. url: of the API, from the runner, never from an event."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        if not url.startswith(("https://", "http://127.0.0.1:")):
            raise CannotRunError("GITHUB_API_URL is no https address")
        if not repository:
            raise CannotRunError("GITHUB_REPOSITORY is not set")
        if not token:
            raise CannotRunError("no token: give the action `token: ${{ github.token }}`")
        self._root = f"{url}/repos/{repository}"
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects())

    def comments(self, number: int) -> Iterator[Comment]:
        """All comments on a pull request, the oldest first."""
        for page in range(1, _MOST_PAGES + 1):
            path = f"/issues/{number}/comments?per_page={_PAGE}&page={page}"
            found = self._call("GET", path)
            entries = [each for each in found if isinstance(each, dict)] if _is_list(found) else []
            yield from (_comment(each) for each in entries)
            if len(entries) < _PAGE:
                return

    def add_comment(self, number: int, body: str) -> None:
        """Comment on a pull request."""
        self._call("POST", f"/issues/{number}/comments", {"body": body})

    def change_comment(self, comment: int, body: str) -> None:
        """Replace the text of a comment."""
        self._call("PATCH", f"/issues/comments/{comment}", {"body": body})

    def open_pull_requests(self, owner: str, branch: str, head: str) -> list[int]:
        """Numbers of open pull requests from a branch whose newest commit is `head`."""
        query = f"state=open&per_page={_PAGE}&head={quote(f'{owner}:{branch}', safe='')}"
        found = self._call("GET", f"/pulls?{query}")
        entries = [each for each in found if isinstance(each, dict)] if _is_list(found) else []
        return [
            each["number"]
            for each in entries
            if type(each.get("number")) is int and _head_of(each) == head
        ]

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data, _headers(self._token))  # noqa: S310
        request.method = method
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as reply:
                return _json(reply)
        except urllib.error.HTTPError as error:
            refused = error.code in (401, 403, 404)
            said = _REFUSED.format(error.code) if refused else f"GitHub answered {error.code}"
            raise ApiError(said) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ApiError(f"GitHub cannot be reached: {type(error).__name__}") from None


def _headers(token: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": "benchlint",
        "Content-Type": "application/json",
    }


def _json(reply: IO[bytes]) -> Any:
    data = reply.read(_LIMIT_BYTES)
    return json.loads(data) if data else None


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _comment(data: dict[str, Any]) -> Comment:
    user, number = data.get("user"), data.get("id")
    author = user.get("login") if isinstance(user, dict) else ""
    body = data.get("body")
    return Comment(number if type(number) is int else 0, str(author or ""), str(body or ""))


def _head_of(data: dict[str, Any]) -> str:
    head = data.get("head")
    return str(head.get("sha")) if isinstance(head, dict) else ""
