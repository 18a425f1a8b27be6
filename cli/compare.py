"""`benchlint compare`: what changed between two reports of one bench."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from benchlint.completion import COLORS, completes
from benchlint.ending import Debug

if TYPE_CHECKING:
    from benchlint.checker.compare import Comparison

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

FORMATS = ("text", "markdown", "json")


@app.command(
    short_help="Show what changed beyond noise from one report to another.",
    epilog="\b\nExamples:\n"
    "  benchlint compare old.json new.json\n"
    "  git show main:report.json | benchlint compare - report.json\n"
    "  benchlint compare old.json new.json --format markdown >> comment.md\n\n"
    "\b\nExit codes:\n"
    "  0  no regression\n"
    "  1  a number got worse beyond noise, a claim is contradicted now, or an error is new\n"
    "  2  could not run, or no run is in both",
)
def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The report before; - is stdin.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The report after.")],
    output: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, markdown or json.",
            autocompletion=completes(*FORMATS),
        ),
    ] = "text",
    color: Annotated[
        str,
        typer.Option(
            "--color",
            metavar="WHEN",
            help="auto, always or never.",
            autocompletion=completes(*COLORS),
        ),
    ] = "auto",
    max_size: Annotated[
        float, typer.Option("--max-size", metavar="MB", help="Largest file that is read.")
    ] = 64,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show which numbers moved beyond noise, which settings and claims changed, and which
    findings are new or gone. Runs are matched by their ids.
    """
    from benchlint.checker.compare import compare as compared
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.one_report import read_one
    from benchlint.left_out import say_left_out
    from benchlint.read_limits import bytes_of

    if output not in FORMATS:
        raise CannotRunError(f"--format is one of {', '.join(FORMATS)}, not {output!r}")
    if old == new == "-":
        raise CannotRunError("OLD and NEW cannot both be standard input")
    limit = bytes_of(max_size)
    before, after = read_one(old, limit_bytes=limit), read_one(new, limit_bytes=limit)
    changes = compared(before.facts, after.facts, before.findings, after.findings)
    if changes.nothing_compared:
        raise CannotRunError(
            f"no run id is in both {old} and {new}; nothing was compared (runs are matched by id)"
        )
    sys.stdout.write(_shown(changes, old, new, output, color))
    say_left_out(old, before)
    say_left_out(new, after)
    raise typer.Exit(1 if changes.regressions else 0)


def _shown(changes: Comparison, old: str, new: str, output: str, color: str) -> str:
    from benchlint.checker.compare_text import as_markdown, as_text
    from benchlint.checker.formats.escape import to_json
    from benchlint.outputs import columns_of, wants_color

    if output == "json":
        return to_json(changes.as_dict(), indent=2) + "\n"
    if output == "markdown":
        return as_markdown(changes, old, new)
    colored, columns = wants_color(color, sys.stdout), columns_of(sys.stdout)
    return as_text(changes, old, new, color=colored, columns=columns)
