"""How a command ends when it cannot go on: one line on standard error and an exit code.

0: as asked. 1: what was asked about is not so (findings at or over --fail-on, for example).
2: could not run. 130: interrupted (SIGTERM counts as that while there is something to save).
141: whoever read the output stopped reading.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, NoReturn

import typer

from benchlint.checker.errors import CannotRunError
from benchlint.checker.formats.escape import terminal

CANNOT_RUN = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

_MAX_LINE = 1_000


def say(line: str) -> None:
    """One line for the user, on standard error. It may quote anything."""
    with contextlib.suppress(OSError, ValueError):  # nobody is there to read it
        sys.stderr.write(f"benchlint: {terminal(line, _MAX_LINE)}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def friendly(debug: Callable[[], bool]) -> Iterator[None]:
    """Turn what goes wrong in the block into a line and `typer.Exit`.

    debug: whether the traceback of an error is wanted; asked when there is one.
    """
    try:
        with _flushing():
            yield
    except KeyboardInterrupt:
        _end("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(PIPE_CLOSED) from None
    except Exception as error:
        if _is_typers_own(error):
            raise
        if debug():
            traceback.print_exc()
        _end(_in_words(error), CANNOT_RUN)


@contextlib.contextmanager
def stopped_like_ctrl_c() -> Iterator[None]:
    """Let whoever ends the process politely (SIGTERM) or hangs up (SIGHUP) do what Ctrl-C does.

    A signal that is ignored stays so, as nohup wants it.
    """
    names = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ours = [each for each in numbers if signal.getsignal(each) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # only the main thread may set handlers, and only it is interrupted
    for each in ours:
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


@contextlib.contextmanager
def _flushing() -> Iterator[None]:
    """Flush the output within the block, where an error of it can still be told."""
    try:
        yield
    except typer.Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _end(line: str, code: int) -> NoReturn:
    say(line)
    _drop_output()
    raise typer.Exit(code) from None


def _in_words(error: Exception) -> str:
    if isinstance(error, CannotRunError):
        return str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else "the output: "
        return place + (error.strerror or str(error) or type(error).__name__)
    if isinstance(error, MemoryError):
        return "out of memory; --jobs 1 and --max-size need less of it"
    return f"failed by its own fault ({type(error).__name__}); --debug shows where"


def _is_typers_own(error: Exception) -> bool:
    """Exit, Abort and usage errors, which Typer ends by itself."""
    return isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "show")


def _drop_output() -> None:
    """Let what is left in the buffer of standard output go nowhere when the process ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _note_debug(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        context.meta["--debug"] = True
    return wanted


Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_note_debug, is_eager=True, help="Show the traceback of an error."
    ),
]
