"""`benchlint verdict`: a verdict again, from what was measured."""

from __future__ import annotations

from typing import Annotated

import typer

from benchlint.completion import COLORS, completes
from benchlint.ending import Debug, say
from benchlint.verdict_output import EXIT_CODES

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="Write the files of a verdict again, from what was measured.",
    epilog="\b\nExamples:\n"
    "  benchlint verdict report-verdict\n"
    "  benchlint verdict downloads/somebody-elses-run && echo reproduced\n\n" + EXIT_CODES,
)
def verdict(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder of a run, or samples.jsonl in it.")
    ],
    color: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="auto, always or never.", autocompletion=completes(*COLORS)
        ),
    ] = "auto",
    debug: Debug = False,
) -> None:
    """Make verdict.json, verdict.md and verdict.html again from samples.jsonl alone.

    The journal of a run carries its plan and report. On any machine the same version of
    benchlint makes the same files of it, byte for byte; the drawings in verdict.html also depend
    on the version of matplotlib. Nothing is measured or contacted.
    """
    from pathlib import Path

    from benchlint.reproducers.engine_choice import require

    require("reproduce", "a verdict")
    from benchlint.reproducers.verdict_files import judged
    from benchlint.verdict_output import give_verdict

    named = Path(folder)
    place = named.parent if named.is_file() else named
    found = judged(place)
    if found.failure:
        say(f"nothing could be measured: {found.failure}")
    raise typer.Exit(give_verdict(place, found, color=color, debug=debug))
