"""`benchlint schema`: the JSON Schemas that benchlint publishes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from benchlint.completion import completes
from benchlint.ending import Debug

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

_FILES = {
    "report": "report-v1.json",
    "findings": "findings-v1.json",
    "config": "benchlint-toml-v1.json",
}


@app.command(
    short_help="Print the JSON Schema of reports, findings or benchlint.toml.",
    epilog="\b\nExamples:\n  benchlint schema > report-v1.json\n  benchlint schema --kind findings",
)
def schema(
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            autocompletion=completes(*_FILES),
            show_default=False,
            help="report (default): the report format. findings: what check --format json gives. "
            "config: benchlint.toml.",
        ),
    ] = "report",
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Print a JSON Schema (draft 2020-12), for editors and other tools."""
    from importlib.resources import files

    from benchlint.checker.errors import CannotRunError

    if kind not in _FILES:
        raise CannotRunError(f"--kind is one of {', '.join(_FILES)}, not {kind!r}")
    sys.stdout.write((files("benchlint.schemas") / _FILES[kind]).read_text("utf-8"))
