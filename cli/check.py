"""`benchlint check`: the options. What they do is in `check_run`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchlint.completion import COLORS, FAIL_ON, FORMATS, PROFILES, completes
from benchlint.ending import Debug

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = """\b
Examples:
  benchlint check report.json
  benchlint check results/ --profile publish
  benchlint check 'results/**/*.json' --select BL2,BL3 --fail-on warning
  benchlint check . --format text --format sarif=benchlint.sarif
  benchlint check results/ -o findings.html
  benchlint check report.json --diff
  curl -s https://example.org/report.json | benchlint check -

\b
Exit codes:
  0  no finding at or over --fail-on
  1  some; a file that cannot be read is a finding
  2  could not run, or nothing was checked: no file, or none that is a benchmark result

\b
Configuration: benchlint.toml, or [tool.benchlint] in pyproject.toml, the nearest one above
each file. Keys: select, ignore, profile, fail-on, severity, per-file-ignores, max-size-mb,
include, exclude, schema, baseline, and tables for what is known and accepted:
  [[suppress]]
  rule = "BL303"                       # code, prefix or name
  reason = "weights are streamed"      # required
  files = "results/*.json"             # optional, as are the next two
  pointer = "/runs[id=cold-*]/decode"
  expires = 2027-06-30

\b
A suppression that matches nothing, or has expired, is reported (BL010).
"""


@app.command(
    short_help="Find what is missing, contradictory or impossible in reports.", epilog=_EXAMPLES
)
def check(
    paths: Annotated[
        list[str] | None,
        # Hidden since Typer would add the Python type; the docstring describes it.
        typer.Argument(metavar="PATH", show_default=False, hidden=True),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT[=FILE]",
            show_default=False,
            autocompletion=completes(*FORMATS),
            help="text (default), json, jsonl, sarif, github, gitlab, junit, markdown or html, to "
            "standard output or to a file. Repeat it for several.",
        ),
    ] = None,
    output_file: Annotated[
        str | None,
        typer.Option(
            "--output-file",
            "-o",
            metavar="FILE",
            help="Where the --format without a file writes. Without such a one, the ending says "
            "the format: .html, .md, .sarif, .sarif.json, .xml (junit), .json or .jsonl; any "
            "other is text.",
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULES",
            show_default=False,
            help="Only these rules: codes, prefixes (BL2), names, or ALL; with commas, or "
            "repeated.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="RULES", show_default=False, help="Not these rules."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            autocompletion=completes(*PROFILES),
            help="How much a missing item weighs: default (note), publish (the checklist is "
            "warnings) or strict (errors).",
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            autocompletion=completes(*FAIL_ON),
            help="Exit 1 from this severity on: error (default), warning, note, or never.",
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Write what is certain into the files: percent to fraction, secrets redacted, "
            "rate and length that counts give. JSON only.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Show what --fix would change and write nothing; exit 1 if anything."
        ),
    ] = False,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A JSON Schema (draft 2020-12) that reports must fit as well (BL011).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Report only what is not in this file."),
    ] = None,
    update_baseline: Annotated[
        bool,
        typer.Option("--update-baseline", help="Write the findings of this run to --baseline."),
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Use this configuration for all files."),
    ] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Use no configuration.")] = False,
    max_size: Annotated[
        float | None,
        typer.Option(metavar="MB", help="Do not read files (or lines) over this size (64)."),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="Read all files as output of this tool, however they look; `benchlint convert "
            "--help` names them.",
        ),
    ] = None,
    stdin_filename: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="What standard input is called: says its language and configuration.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=0,
            show_default=False,
            help="Processes. 0, the default: as many as there are cores, none for a few files.",
        ),
    ] = 0,
    color: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            show_default=False,
            autocompletion=completes(*COLORS),
            help="auto (default), always or never. auto looks at the terminal, NO_COLOR and "
            "FORCE_COLOR.",
        ),
    ] = "auto",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Findings and errors only: no totals, no hints.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Check reports: what is missing, contradictory or physically impossible in them.

    PATH is a report (JSON, JSON Lines, YAML, TOML, or a Markdown page that carries one in a
    `benchlint` block), a file that another tool wrote (results, logs: it is recognised by its
    content), a folder, a glob, or - for standard input. From folders, the files that look like
    reports are taken. Without a PATH the current folder is searched.
    """
    from benchlint.check_run import Options, run

    options = Options(
        paths=tuple(paths or (_searched(stdin_filename),)),
        formats=tuple(formats or ()),
        output_file=output_file,
        select=_listed(select),
        ignore=_listed(ignore),
        profile=profile,
        fail_on=fail_on,
        fix=fix,
        diff=diff,
        schema=schema,
        baseline=baseline,
        update_baseline=update_baseline,
        config=config,
        no_config=no_config,
        max_size=max_size,
        tool=tool,
        stdin_filename=stdin_filename,
        jobs=jobs,
        color=color,
        quiet=quiet,
        debug=debug,
    )
    raise typer.Exit(run(options))


def _searched(stdin_filename: str | None) -> str:
    """Where to look when no PATH is given: a name for standard input means that it is meant."""
    return "." if stdin_filename is None else "-"


def _listed(values: list[str] | None) -> tuple[str, ...] | None:
    """Rules out of repeated options with commas in them; None where the option is absent."""
    if values is None:
        return None
    return tuple(word for value in values for word in value.split(",") if word.strip())
