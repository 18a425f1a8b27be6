"""The outcome on the log of the step: where to read on, then the annotations.

The runner acts on lines that begin with `::`, so all that people read is written between
`::stop-commands::` with a token nobody can guess, and its end. Of each severity GitHub shows ten
annotations and drops the rest: those on lines that the pull request brings come first.
"""

from __future__ import annotations

import contextlib
import io
import secrets
from collections.abc import Callable, Iterator
from typing import TextIO

from benchlint.action.outcome import Outcome
from benchlint.checker.finding import FileResult, Finding
from benchlint.checker.formats.base import Options, Summary
from benchlint.checker.formats.escape import terminal
from benchlint.checker.formats.github import GithubFormat

#: For how many reports git is asked which lines are new.
_MOST_ASKED = 200

NewLines = Callable[[str], frozenset[int]]


def write_log(stream: TextIO, lines: list[str]) -> None:
    """Lines for people, in which nothing is a command."""
    with commands_stopped(stream):
        stream.writelines(f"benchlint: {terminal(line, 1_000)}\n" for line in lines)


@contextlib.contextmanager
def commands_stopped(stream: TextIO) -> Iterator[None]:
    """Nothing that is written meanwhile is a command, whoever writes it to this stream."""
    token = secrets.token_hex(16)
    stream.write(f"::stop-commands::{token}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"::{token}::\n")
        stream.flush()


def annotation_lines(outcome: Outcome, new_lines: NewLines = lambda _: frozenset()) -> str:
    """Workflow commands for the findings, the ones on new lines first."""
    ordered = sorted(_found(outcome, new_lines), key=lambda each: not each[0])
    text = io.StringIO()
    writer = GithubFormat(text, Options())
    for _, path, finding in ordered:
        writer.add(FileResult(path, (finding,)))
    writer.end(Summary())
    return text.getvalue()


def _found(outcome: Outcome, new_lines: NewLines) -> Iterator[tuple[bool, str, Finding]]:
    for number, file in enumerate(outcome.files):
        lines = new_lines(file.path) if file.findings and number < _MOST_ASKED else frozenset()
        for each in file.findings:
            yield each.line in lines, file.path, each.finding()
