"""`benchlint init`: a report to fill in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from benchlint.ending import Debug

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    epilog="\b\nExamples:\n"
    "  benchlint init                  writes report.json\n"
    "  benchlint init report.yaml      the same with a comment at each field\n"
    "  benchlint init - > draft.json   to standard output, as JSON"
)
def init(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Where to write; .yaml and .yml give commented YAML, - is standard output.",
        ),
    ] = "report.json",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a skeleton report with every field that `check --profile publish` asks for.

    Values are null, which means unknown: fill in what you know and run `benchlint check`.
    """
    from pathlib import Path

    from benchlint.checker.atomic import write
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.skeleton import skeleton_json, skeleton_yaml

    text = skeleton_yaml() if file.endswith((".yaml", ".yml")) else skeleton_json()
    if file == "-":
        sys.stdout.write(text)
        return
    if Path(file).exists() and not force:
        raise CannotRunError(f"{file} exists; --force replaces it, or name another file")
    write(file, text.encode())
    sys.stderr.write("wrote the skeleton; fill it in, then run `benchlint check` on it\n")
