"""`benchlint reproduce`: the options. What they do is in `reproduce_run`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchlint.completion import COLORS, CONDITIONS, completes
from benchlint.ending import Debug, stopped_like_ctrl_c
from benchlint.engine_options import EngineOptions, with_engine_options
from benchlint.verdict_output import EXIT_CODES

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = """\b
Examples:
  benchlint reproduce report.json --plan
  benchlint reproduce report.json --endpoint http://127.0.0.1:8080
  benchlint reproduce report.json --endpoint http://127.0.0.1:8080 \\
      --baseline-endpoint http://127.0.0.1:8081 --budget 30m
  benchlint reproduce report.json --target-model 8b.gguf --draft-model 1b.gguf
  benchlint reproduce report.json --target-model 8b.gguf --run fast --resume

"""


@app.command(
    short_help="Run a report's benchmark again and judge its claims.", epilog=_EXAMPLES + EXIT_CODES
)
@with_engine_options
def reproduce(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="The report; - is standard input.")
    ],
    engine: EngineOptions,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what would be measured and stop; nothing is contacted."),
    ] = False,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="ID",
            show_default=False,
            help="Only this run and the claims about it; repeat it for several.",
        ),
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Prompts to use (JSON Lines with `prompt`); the report's own where they have "
            "the hash that it gives.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A text to measure perplexity on (llama-cpp); the report's own where it has "
            "the hash that it gives.",
        ),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            "--same",
            metavar="CONDITION",
            show_default=False,
            autocompletion=completes(*CONDITIONS),
            help="A condition that you know to be the report's: device, engine, weights, … "
            "Nothing is refuted while one that matters is unknown. Repeat it.",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="How far speeds, speed-ups, acceptance and memory may be off, as 5% or 0.05; "
            "by default as far as such measurements repeat.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Seed of the sampler, where the report states none."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Stop measuring after 90s, 10m or 1h30m; without it when all is decided, after "
            "20 rounds at the latest.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to write; by default a folder named after the report, here.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in that folder.")
    ] = False,
    color: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="auto, always or never.", autocompletion=completes(*COLORS)
        ),
    ] = "auto",
    max_size: Annotated[
        float, typer.Option("--max-size", metavar="MB", help="Largest report that is read.")
    ] = 64,
    debug: Debug = False,
) -> None:
    """Run a report's benchmark again and give a verdict on its claims and numbers.

    Writes samples.jsonl while it measures, then verdict.json, verdict.md and verdict.html.
    Ctrl-C or SIGTERM ends it early with the verdict so far. The report is never a source of
    commands, flags, addresses, or files outside its folder.
    """
    from benchlint.reproducers.engine_choice import require

    require("reproduce", "running a report again")
    from benchlint.reproduce_run import Options
    from benchlint.reproduce_run import run as run_command

    options = Options(
        report=report,
        engine=engine,
        plan=plan,
        runs=tuple(run or ()),
        prompts=prompts,
        text=text,
        same=tuple(same or ()),
        tolerance=tolerance,
        seed=seed,
        budget=budget,
        out=out,
        resume=resume,
        color=color,
        max_size=max_size,
        debug=debug,
    )
    with stopped_like_ctrl_c():
        raise typer.Exit(run_command(options))
