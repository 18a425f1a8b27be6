"""Entry point of the `benchlint` command and of `python -m benchlint`."""

from __future__ import annotations

import io
import os
import sys


def _fill_closed_streams() -> None:
    """Let the standard streams that are closed lead to nothing, instead of to the next file."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _take_any_text() -> None:
    """Let no text be one that a stream cannot take, whatever the locale.

    What goes into files and pipes is UTF-8; a terminal gets what it can show.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def _without_interrupts(lost: sys.UnraisableHookArgs) -> None:
    """No traceback of a Ctrl-C that fell into C code which can raise nothing."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)


def main() -> None:
    """Run the command line; ends the process with the command's exit code."""
    _fill_closed_streams()
    _take_any_text()
    sys.unraisablehook = _without_interrupts
    # pydantic would read the metadata of every installed package in search of plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    from benchlint.checker.collector import collect_rarely, leave_the_rest

    collect_rarely()
    from benchlint.app import app

    try:
        app(prog_name="benchlint")
    finally:
        leave_the_rest()


if __name__ == "__main__":
    main()
