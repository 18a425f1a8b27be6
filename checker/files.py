"""Which files are meant: files as named, globs, and folders searched for reports.

A file that is named is checked whatever it holds. In a folder a file is taken when it looks
like a report: its format's ending, and in its first part the members a report starts with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeAlias

from benchlint.checker.globs import Parts, covers, expanded, is_glob, parts_of

#: The name that stands for standard input.
STDIN = "-"
STDIN_NAME = "<stdin>"

#: Endings of the files that are looked into when a folder is searched.
SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".md", ".markdown")

#: Endings of the files that tools write results, logs and tables into.
_RESULT_SUFFIXES = (
    ".json",
    ".jsonl",
    ".ndjson",
    ".md",
    ".markdown",
    ".csv",
    ".txt",
    ".log",
    ".out",
)

#: How much of a file is read to see whether it looks like a report, in bytes.
HEAD_BYTES = 1 << 18

#: Most files end before it. For more the system maps memory, and unmaps it, at every file.
_FIRST_BYTES = 1 << 16

_Entry: TypeAlias = "os.DirEntry[str]"

_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})

#: A page that is written beside verdict.json, with the numbers of a report in tables.
_OWN_PAGE = "verdict.md"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to check.

    named: the user named it, so it is checked even when it does not look like a report.
    problem: why it (or a folder) cannot be read, where that is known already.
    """

    path: str
    named: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Globs:
    """Patterns for paths below a folder.

    `*` and `?` stay within one name, `**` crosses folders. A pattern without a slash matches a
    name at any depth, and one that matches a folder covers all that is in it.
    """

    folder: str = ""
    patterns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def match(self, path: str) -> bool:
        """Whether a pattern matches the path, or a folder that it lies in."""
        if not self.patterns:
            return False
        below = relative(path, self.folder)
        return any(covers(_anchored(pattern), below) for pattern in self.patterns)


class WalkRules(Protocol):
    """What a configuration says about which files of a folder are checked."""

    @property
    def include(self) -> Globs:
        """Files to take from a folder, whatever they hold."""

    @property
    def exclude(self) -> Globs:
        """Files and folders to leave out when a folder is searched."""


def absolute(path: str) -> str:
    """The path from the root, without `..`; links are not followed."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links


def relative(path: str, folder: str) -> str:
    """`path` seen from `folder`, with forward slashes."""
    try:
        below = os.path.relpath(absolute(path), folder or os.curdir)
    except ValueError:  # another drive, or a NUL in the path
        below = path
    return below.replace(os.sep, "/")


@cache
def _anchored(pattern: str) -> Parts:
    """The parts of a pattern; one without a slash holds at any depth."""
    anchored = pattern.removeprefix("./")
    if "/" not in anchored.rstrip("/"):
        anchored = f"**/{anchored}"
    return parts_of(anchored.strip("/"))


def find(paths: Sequence[str], rules_of: Callable[[str], WalkRules]) -> Iterator[Found]:
    """The files that `paths` name, each once, in the order given and by name within a folder.

    rules_of: the configuration that holds for the files of a folder.
    A path that does not exist is yielded as named: reading it gives the finding.
    """
    found = (each for path in paths for each in _find_one(path, rules_of))
    return _once(found) if len(paths) > 1 or any(map(is_glob, paths)) else found


def passed_over(paths: Sequence[str], rules_of: Callable[[str], WalkRules]) -> Iterator[str]:
    """Files in the folders among `paths` that may hold results, whatever is in them.

    To be asked where `find` finds nothing there.
    """
    for path in paths:
        for top in expanded(path) if is_glob(path) else [path]:
            if os.path.isdir(top):  # noqa: PTH112
                found = _walk(top, rules_of, _may_hold_results)
                yield from (each.path for each in found if not each.problem)


def matches_nothing(path: str) -> bool:
    """Whether it is a glob that no file and no folder matches."""
    return is_glob(path) and not os.path.lexists(path) and not expanded(path)


def _once(found: Iterable[Found]) -> Iterator[Found]:
    seen: set[str] = set()
    for each in found:
        key = each.path if each.path == STDIN else absolute(each.path)
        if key not in seen:
            seen.add(key)
            yield each


def _find_one(path: str, rules_of: Callable[[str], WalkRules]) -> Iterator[Found]:
    if path in (STDIN, "") or "\0" in path:
        yield Found(path, named=True)
    elif os.path.isdir(path):  # noqa: PTH112 - a Path may raise, here and below
        yield from _walk(path, rules_of, _is_report)
    elif os.path.lexists(path) or not is_glob(path):
        yield Found(path, named=True)
    else:
        for match in expanded(path):
            if not os.path.isdir(match):  # noqa: PTH112
                yield Found(match, named=True)
            elif "**" not in path or not os.path.islink(match):  # noqa: PTH114
                yield from _walk(match, rules_of, _is_report)


def _walk(
    top: str, rules_of: Callable[[str], WalkRules], taken: Callable[[_Entry, WalkRules], bool]
) -> Iterator[Found]:
    """Files below a folder. Links to folders are not followed, so there are no circles."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            yield Found(folder, named=True, problem=f"the folder cannot be read: {reason}")
            continue
        rules = rules_of(folder)
        shown = (_shown(e.path, top) for e in entries if taken(e, rules))
        yield from (Found(path, named=bool(rules.include)) for path in shown)
        below = [e.path for e in entries if _entered(e, rules)]
        waiting += reversed(below)


def _shown(path: str, top: str) -> str:
    """A path below the current folder without the dot it starts with."""
    return path[2:] if top == os.curdir else path


def _entered(entry: _Entry, rules: WalkRules) -> bool:
    return (
        entry.is_dir(follow_symlinks=False)
        and not entry.name.startswith(".")
        and entry.name not in _SKIPPED
        and not rules.exclude.match(entry.path)
        and not os.path.exists(f"{entry.path}/pyvenv.cfg")  # noqa: PTH110
    )


def _is_report(entry: _Entry, rules: WalkRules) -> bool:
    if rules.include:
        wanted = rules.include.match(entry.path)
    else:
        wanted = entry.name.endswith(SUFFIXES) and not entry.name.startswith(".")
    if not wanted or not _is_file(entry) or rules.exclude.match(entry.path):
        return False
    return bool(rules.include) or looks_like_report(entry.path)


def _may_hold_results(entry: _Entry, rules: WalkRules) -> bool:
    return (
        entry.name.lower().endswith(_RESULT_SUFFIXES)
        and not entry.name.startswith(".")
        and entry.name != _OWN_PAGE
        and _is_file(entry)
        and not rules.exclude.match(entry.path)
    )


def _is_file(entry: _Entry) -> bool:
    """Whether the entry is a file, or a link to one that can be followed."""
    try:
        return entry.is_file()
    except OSError:  # links in a circle, or into a folder that may not be entered
        return False


# The members are looked for in the text, since parsing every file of a folder would cost more
# than checking the reports among them; `is_report` decides when the file has been parsed.
# What a member `benchlint` holds beside its colon is a version; a block is something else's, as
# of a job of that name.
_KEY = rb"(benchlint|runs|configurations|workloads|target|claims)"
_JSON_NAME = rb'"benchlint"\s*:(?!\s*\{)'
_JSON_KEY = rb'"' + _KEY + rb'"\s*:'
_YAML_KEY = rb"(?m)^[\"']?" + _KEY + rb"[\"']?\s*:"
_YAML_BLOCK = rb"(?m)^[\"']?benchlint[\"']?[ \t]*:[ \t]*(?:#.*)?\r?$"
_TOML_BLOCK = rb"(?m)^[ \t]*+\[[ \t]*[\"']?benchlint[\"']?[ \t]*[\].]"
_TOML_KEY = rb"(?m)^[ \t]*+(?:\[\[?)?[ \t]*+[\"']?" + _KEY + rb"[\"']?[ \t]*[\].=]"
_JOURNAL = b'{"kind": "header", "plan": '
_PAGE_FENCE = rb"(?m)^ {0,3}(?:`{3,}|~{3,})[ \t]*benchlint[ \t]*\r?$"


@cache
def _pattern(source: bytes) -> re.Pattern[bytes]:
    return re.compile(source)


def looks_like_report(path: str) -> bool:
    """Whether the first part of the file has the members that make a report.

    A Markdown page looks like one that carries a report where it has a block for it.

    A file that cannot be read does not look like anything; it is not one that was named.
    """
    try:
        head = _head(path).replace(b"\0", b"")  # UTF-16 as well
    except OSError:
        return False
    if head.startswith(_JOURNAL):
        return False  # samples.jsonl, which carries reports and is none
    if path.endswith((".md", ".markdown")):
        return _pattern(_PAGE_FENCE).search(head) is not None
    if path.endswith(".toml"):
        keys = _pattern(_TOML_KEY).findall(head)
    elif _pattern(_JSON_NAME).search(head):
        return True
    else:
        keys = [key for key in _pattern(_JSON_KEY).findall(head) if key != b"benchlint"]
    if path.endswith((".yaml", ".yml")):
        keys += _pattern(_YAML_KEY).findall(head)
    block = _TOML_BLOCK if path.endswith(".toml") else _YAML_BLOCK
    named = dict.fromkeys(key.decode() for key in keys)
    if "benchlint" in named and _pattern(block).search(head):
        del named["benchlint"]
    return is_report(named)


def _head(path: str) -> bytes:
    """The first part of a file: of thousands a stream for each takes longer than to read them."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        head = os.read(descriptor, _FIRST_BYTES)
        if len(head) == _FIRST_BYTES:
            head += os.read(descriptor, HEAD_BYTES - _FIRST_BYTES)
        return head
    finally:
        os.close(descriptor)


def is_report(tree: object) -> bool:
    """Whether a tree that nobody called a report is one: it says so, or has a report's parts."""
    if not isinstance(tree, dict):
        return False
    return names_a_version(tree) or ("runs" in tree and not _OTHER_PARTS.isdisjoint(tree))


def names_a_version(tree: dict[str, object]) -> bool:
    """Whether a member `benchlint` is there and no block, as a job or tool of that name has."""
    return "benchlint" in tree and not isinstance(tree["benchlint"], dict)


_OTHER_PARTS = frozenset({"configurations", "workloads", "target", "claims"})
