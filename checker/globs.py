"""Globs, matched in a time that grows with the path, whatever stars stand in the pattern."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from functools import cache

#: A pattern by the names of a path; None stands for `**`.
Parts = tuple[re.Pattern[str] | None, ...]

_MAGIC = frozenset("*?[")


@cache
def parts_of(pattern: str) -> Parts:
    """The parts of a pattern whose folders are divided by forward slashes."""
    return tuple(
        None if part == "**" else re.compile(fnmatch.translate(part)) for part in pattern.split("/")
    )


def covers(parts: Parts, path: str, *, whole: bool = False) -> bool:
    """Whether the pattern matches the path (with forward slashes), or a folder that it lies in.

    whole: only the path itself counts.
    """
    reached = _with_skips({0}, parts)
    for name in path.split("/"):
        if len(parts) in reached and not whole:
            return True
        reached = _with_skips(_after(name, reached, parts), parts)
    return len(parts) in reached


def _after(name: str, reached: set[int], parts: Parts) -> set[int]:
    """How many parts may be matched once one more name of the path is."""
    after: set[int] = set()
    for at in reached:
        part = parts[at] if at < len(parts) else _NOTHING
        if part is None:
            after |= {at, at + 1} if at == len(parts) - 1 else {at}
        elif part.match(name):
            after.add(at + 1)
    return after


_NOTHING = re.compile(r"(?!)")


def _with_skips(reached: set[int], parts: Parts) -> set[int]:
    """`**` between folders may stand for none; at the end it stands for what is in the folder."""
    for at in sorted(reached):
        while at < len(parts) - 1 and parts[at] is None:
            at += 1
            reached.add(at)
    return reached


def is_glob(path: str) -> bool:
    """Whether there is anything in it that a glob has and a path has not."""
    return not _MAGIC.isdisjoint(path)


def expanded(pattern: str) -> list[str]:
    """The paths that a glob matches, by name; what is hidden only where the pattern says so.

    `**` stands for folders, not for links to them, so that there are no circles.
    """
    if "**" not in pattern:
        return sorted(glob.glob(pattern))  # noqa: PTH207 - may be absolute
    names = pattern.replace(os.sep, "/").split("/")
    plain = next(i for i, name in enumerate(names) if is_glob(name))
    top = "/".join(names[:plain]) + "/" if plain else ""
    rest = "/".join(names[plain:])
    return sorted(top + each for each in _below(top or os.curdir, rest))


def _below(top: str, pattern: str) -> Iterator[str]:
    parts, hidden = parts_of(pattern), "/." in f"/{pattern}"
    for folder, folders, files in os.walk(top):
        folders[:] = [each for each in folders if hidden or not each.startswith(".")]
        inside = os.path.relpath(folder, top).replace(os.sep, "/")
        for name in (*folders, *files):
            path = name if inside == os.curdir else f"{inside}/{name}"
            if (hidden or not name.startswith(".")) and covers(parts, path, whole=True):
                yield path
