"""`benchlint convert`: other tools' output as a report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from benchlint.ending import Debug, say

if TYPE_CHECKING:
    from benchlint.checker.importers.converting import Converted

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="Make one report of results and logs of other tools.",
    epilog="\b\nExamples:\n"
    "  benchlint convert bench.json -o report.json\n"
    "  benchlint convert bench.json server.log perplexity.log -o report.json\n"
    "  benchlint convert plain.json fast.json > report.json\n\n"
    "\b\nTools that are read (--from):\n"
    "  llama-bench, llama-server, llama-server-log, llama-server-metrics,\n"
    "  llama-server-props, llama-speculative, llama-perplexity, llama-cli,\n"
    "  vllm-bench, vllm-metrics, vllm-log, vllm-requests, sglang-bench,\n"
    "  sglang-log, sglang, guidellm, llama-benchy, aiperf, genai-perf, llmperf,\n"
    "  spec-bench, eagle, mlx-lm, lm-studio, specforge, dflash-mlx, tables\n\n"
    "\b\nExit codes:\n"
    "  0  the report was written\n"
    "  2  could not run: a file holds no result, or two contradict each other",
)
def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Results, logs, tables and reports; - is standard input.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.")
    ] = "-",
    tool: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="Read all files as output of this tool, however they look.",
        ),
    ] = None,
    max_size: Annotated[
        float, typer.Option("--max-size", metavar="MB", help="Largest file that is read.")
    ] = 64,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only the report, not where it comes from.")
    ] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Make one report of what other tools wrote, and say where each field comes from.

    Results are put side by side. A log or quality figure is laid over the one result that it is
    given with. What no file says is left out, and named with the tool's flag that would say it;
    where two files contradict each other, both values are named and nothing is written.
    """
    from benchlint.checker.document import LINE_SUFFIXES, PAGE_SUFFIXES
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.formats.escape import json_uncommanded
    from benchlint.checker.importers.converting import convert as converted
    from benchlint.read_limits import bytes_of, refuse_overwriting

    # It would be read as something else than JSON, or as JSON of a line each.
    if output.lower().endswith((".toml", *LINE_SUFFIXES, *PAGE_SUFFIXES)):
        raise CannotRunError(f"{output}: the report is written as JSON; name a .json file")
    made = converted(files, limit_bytes=bytes_of(max_size), tool=tool or "")
    refuse_overwriting(output, "the report", files)
    if output == "-":
        sys.stdout.write(json_uncommanded(made.as_json()))
    else:
        from benchlint.checker.atomic import write

        write(output, made.as_json().encode())
    if not quiet:
        _tell(made, sys.stderr if output == "-" else sys.stdout)
        if output != "-":
            say(f"wrote {output}; run `benchlint check` on it")


def _tell(made: Converted, stream: TextIO) -> None:
    """Where each field comes from, and what is still missing."""
    from benchlint.checker.importers.convert_text import as_lines
    from benchlint.outputs import columns_of

    stream.writelines(f"{line}\n" for line in as_lines(made, columns_of(stream)))
