"""Which files a pull request (or a push) changes, asked of git.

Everything that git says of names and contents comes from the pull request. Names are taken as
bytes between NULs, git is called without a shell, without drivers for diffs or text, and after
`--`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlint.action.environment import Runner, commit

_GIT_S = 120
_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs from the base. old: its path there, None where it is new.

    deleted: it is not there any more; `path` is then its path at the base.
    """

    path: str
    old: str | None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout and the commit that it is held against."""

    folder: Path
    base: str

    def changes(self) -> list[Change]:
        """What differs between the base and the checked-out commit."""
        command = ("diff", "--name-status", "-z", "-M", *_PLAIN, self.base, "HEAD", "--")
        fields = self._git(*command).split(b"\0")
        return list(_changes([os.fsdecode(field) for field in fields if field]))

    def at_base(self, path: str, limit_bytes: int) -> bytes | None:
        """What a file held at the base; None where it is no file there or over the limit."""
        name = f"{self.base}:{path}"
        size = self._git("cat-file", "-s", name, optional=True).strip()
        if not size.isdigit() or int(size) > limit_bytes:
            return None
        return self._git("cat-file", "blob", name, optional=True)

    def new_lines(self, path: str, old: str | None = None) -> frozenset[int]:
        """Numbers of the lines of a file that the pull request brings. old: its name before."""
        names = dict.fromkeys(filter(None, (old, path)))
        options = ("-U0", "-M", *_PLAIN, self.base, "HEAD", "--", *names)
        text = self._git("diff", *options, optional=True)
        found = ((int(first), int(n or 1)) for first, n in _HUNK.findall(text))
        return frozenset(line for first, n in found for line in range(first, first + n))

    def _git(self, *arguments: str, optional: bool = False) -> bytes:
        return git(self.folder, *arguments, optional=optional)


_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")


class GitError(Exception):
    """git is not there, or did not do what it was asked for."""


def git(folder: Path, *arguments: str, optional: bool = False) -> bytes:
    """What git prints. Raises GitError; with `optional`, gives b"" where git refuses."""
    command = ["git", "-c", "core.quotePath=false", "--literal-pathspecs", *arguments]
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=folder, env=quiet, capture_output=True, timeout=_GIT_S, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise GitError(type(error).__name__) from None
    if done.returncode and not optional:
        raise GitError(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    return b"" if done.returncode else done.stdout


def repository_of(runner: Runner) -> Repository | None:
    """The checkout and its base; None where there is no base, or git does not know it.

    The base of a merge commit that the runner made for a pull request is its first parent,
    which is the branch as it is now; the event's base may be older.
    """
    for base in _bases(runner):
        if _has(runner.workspace, base) or _fetched(runner.workspace, base):
            return Repository(runner.workspace, _fork_point(runner.workspace, base))
    return None


def _bases(runner: Runner) -> Iterator[str]:
    request = runner.pull_request
    if request is None:
        yield from filter(None, [runner.push_before])
        return
    yield from _merged_into(runner.workspace, request.head)
    yield from filter(None, [request.base])


def _merged_into(folder: Path, head: str) -> Sequence[str]:
    """The first parent of a merge commit that is checked out and is not the author's own."""
    found = _line(folder, "rev-list", "--parents", "-n", "1", "HEAD").split()
    ids = [commit(each) for each in found]
    return ids[1:2] if len(ids) == 3 and ids[0] != head and all(ids) else ()


def _fork_point(folder: Path, base: str) -> str:
    """Where the branch left the base, so that what the base did since is no change of it."""
    return commit(_line(folder, "merge-base", base, "HEAD")) or base


def _line(folder: Path, *arguments: str) -> str:
    try:
        return git(folder, *arguments, optional=True).decode("ascii", "replace").strip()
    except GitError:
        return ""


def _has(folder: Path, base: str) -> bool:
    try:
        git(folder, "cat-file", "-e", f"{base}^{{commit}}")
    except GitError:
        return False
    return True


def _fetched(folder: Path, base: str) -> bool:
    """Fetch one commit: checkouts of CI hold no more than the newest."""
    try:
        git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "origin", base)
    except GitError:
        return False
    return _has(folder, base)


def _changes(fields: Sequence[str]) -> Iterator[Change]:
    rest = iter(fields)
    for status in rest:
        path = next(rest, "")
        if status.startswith(("R", "C")):
            yield Change(next(rest, ""), path)
        elif status == "D":
            yield Change(path, path, deleted=True)
        else:
            yield Change(path, None if status == "A" else path)
