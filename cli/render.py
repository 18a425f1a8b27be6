"""`benchlint render`: a report as a table to paste."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from benchlint.ending import Debug, say

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="Print a report as a table with footnotes, to paste.",
    epilog="\b\nExamples:\n"
    "  benchlint render report.json >> README.md\n"
    "  benchlint render --html report.json -o table.html",
)
def render(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="A report; - is standard input.")],
    html: Annotated[
        bool, typer.Option("--html", help="A fragment of HTML instead of Markdown.")
    ] = False,
    max_size: Annotated[
        float, typer.Option("--max-size", metavar="MB", help="Largest file that is read.")
    ] = 64,
    output: Annotated[
        str | None,
        typer.Option(
            "--output-file",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where to write it, instead of standard output.",
        ),
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Print a report as a table with the footnotes that a reader needs.

    The Markdown form ends in a folded block that carries the whole report, so that
    `benchlint check` can read the page back.
    """
    from benchlint.checker.atomic import write
    from benchlint.checker.one_report import read_one
    from benchlint.checker.render import as_html, as_markdown, table
    from benchlint.left_out import say_left_out
    from benchlint.read_limits import bytes_of, refuse_overwriting

    loaded = read_one(report, limit_bytes=bytes_of(max_size))
    shown = table(loaded.facts)
    text = as_html(shown) if html else as_markdown(shown, loaded.as_json())
    if output is None or output == "-":
        sys.stdout.write(text)
    else:
        refuse_overwriting(output, "the table", [report])
        write(output, text.encode())
        say(f"wrote {output}")
    say_left_out(report, loaded)
