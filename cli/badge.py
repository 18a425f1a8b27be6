"""`benchlint badge`: an SVG badge of a verdict."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from benchlint.ending import Debug

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="Write a badge that says what came out of a rerun.",
    epilog="\b\nExamples:\n"
    "  benchlint badge verdict/verdict.json > badge.svg\n"
    "  benchlint badge verdict/verdict.json -o badge.svg",
)
def badge(
    verdict: Annotated[
        str, typer.Argument(metavar="VERDICT", help="A verdict.json of `benchlint reproduce`.")
    ],
    output_file: Annotated[
        str | None, typer.Option("--output-file", "-o", metavar="FILE", help="Where to write it.")
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a badge that says what came out when a report was run again."""
    from benchlint.checker import atomic
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.small_file import read_small
    from benchlint.reproducers.badge import badge_of, badge_svg

    try:
        data = json.loads(read_small(verdict))
    except (ValueError, RecursionError):
        raise CannotRunError(f"{verdict} is not JSON") from None
    svg = badge_svg(badge_of(data))
    if output_file is None:
        sys.stdout.write(svg)
    else:
        atomic.write(output_file, svg.encode())
