"""Asking whoever sits at the terminal for what no measurement can tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchlint.checker.errors import CannotRunError
from benchlint.checker.formats.escape import terminal
from benchlint.ending import say
from benchlint.reproducers.told_values import Assignment, assignment, told
from benchlint.what_is_missing import Lacking, Missing

#: Blocks of a report whose members come from measurements and not from memory.
_MEASURED = ("runs", "quality")


def can_ask() -> bool:
    """Whether somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answers(report: dict[str, Any], missing: Sequence[Missing]) -> tuple[Assignment, ...]:
    """What is told of the members that are missing. What is skipped is left out.

    Ctrl-C and Ctrl-D end the questions; what was answered before counts.
    """
    given: list[Assignment] = []
    questions = [(lack, each) for lack in missing for each in lack.lacking if _is_known(each)]
    if not questions:
        return ()
    say("what only you know (Enter skips a question, Ctrl-D all that are left):")
    try:
        for answer in _answered(report, questions, given):
            given.append(answer)
    except (EOFError, KeyboardInterrupt):
        _write("\n")
    return tuple(given)


def _is_known(each: Lacking) -> bool:
    return each.path.partition(".")[0] not in _MEASURED


def _answered(
    report: dict[str, Any],
    questions: Sequence[tuple[Missing, Lacking]],
    given: Sequence[Assignment],
) -> Iterator[Assignment]:
    asked_of = None
    for lack, each in questions:
        if lack is not asked_of:
            asked_of = lack
            say(f"  {lack.text}")
        answer = _answer(report, given, each)
        if answer is not None:
            yield answer


def _answer(
    report: dict[str, Any], given: Sequence[Assignment], each: Lacking
) -> Assignment | None:
    """What is told of one member; None where it is skipped. Asks again after what cannot be."""
    while text := _line(each):
        try:
            return _fitting(report, given, each.path, text)
        except CannotRunError as error:
            say(f"    {str(error).removeprefix(f'--set {each.path}: ')}")
    return None


def _fitting(
    report: dict[str, Any], given: Sequence[Assignment], path: str, text: str
) -> Assignment:
    """The answer as JSON, or as the text that it is where that does not fit (a version 6100)."""
    as_json, as_text = assignment(f"{path}={text}"), Assignment(path, text)
    try:
        told(report, [*given, as_json])
    except CannotRunError as error:
        try:
            told(report, [*given, as_text])
        except CannotRunError:
            raise error from None
        return as_text
    return as_json


def _line(each: Lacking) -> str:
    """A line of the answer without its ends. Raises EOFError where there are no more."""
    _write(f"    {terminal(each.path)}, for example {terminal(each.example)}: ")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
