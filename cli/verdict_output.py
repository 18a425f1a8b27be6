"""How a command that gives a verdict ends: what it prints, and its exit code."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from benchlint.checker.errors import CannotRunError
from benchlint.ending import CANNOT_RUN, say

if TYPE_CHECKING:
    from benchlint.reproducers.verdict_files import Judged

EXIT_CODES = (
    "\b\nExit codes:\n"
    "  0  everything that could be tested was reproduced\n"
    "  1  a claim or a number was refuted\n"
    "  3  nothing was refuted, and something stays open or nothing could be tested\n"
    "  2  could not run, or nothing could be measured"
)


def give_verdict(folder: Path, found: Judged, *, color: str, debug: bool = False) -> int:
    """Write the files of the verdict, print it, and return the exit code. Raises OSError.

    debug: whether the traceback of a page that cannot be drawn is wanted.
    """
    from benchlint.outputs import DEFAULT_FORMAT, standard_output, wants_color
    from benchlint.reproducers.verdict_files import PAGE, write_verdict
    from benchlint.reproducers.verdict_text import verdict_text

    stream = standard_output(DEFAULT_FORMAT)
    text = verdict_text(found.judgement, color=wants_color(color, stream))
    try:
        failed = write_verdict(folder, found)
    except OSError as error:  # hours of measuring are not lost to a full disk
        _show(stream, text)
        say(f"`benchlint verdict {folder}` writes its files again from samples.jsonl")
        raise error from None
    _show(stream, text)
    if failed is None:
        say(f"the verdict with its evidence is in {folder / PAGE}")
    else:
        _tell_no_page(failed, folder, debug=debug)
    return CANNOT_RUN if found.failure else found.judgement.exit_code


def _tell_no_page(error: Exception, folder: Path, *, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    known = isinstance(error, CannotRunError)
    why = str(error) if known else f"drawing it failed ({type(error).__name__})"
    more = "" if known or debug else ", and --debug shows where"
    say(f"no page: {why}; `benchlint verdict {folder}` tries again{more}")


def _show(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def draws_bar() -> bool:
    """Whether standard error is a terminal that can take a line back."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
