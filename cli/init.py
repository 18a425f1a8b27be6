"""`benchlint init`: a report to fill in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from benchlint.ending import Debug, say

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="Write a skeleton of a report, with every field to fill in.",
    epilog="\b\nExamples:\n"
    "  benchlint init                  writes report.json\n"
    "  benchlint init report.yaml      the same with a comment at each field\n"
    "  benchlint init report.toml      the same as TOML\n"
    "  benchlint init - > draft.json   to standard output, as JSON",
)
def init(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Where to write; .yaml, .yml and .toml give comments, - is standard output.",
        ),
    ] = "report.json",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a skeleton report with every field that `check --profile publish` asks for.

    Values are null (in TOML: comments), which means unknown: fill in what you know and run
    `benchlint check`.
    """
    from pathlib import Path

    from benchlint.checker.atomic import write
    from benchlint.checker.document import LINE_SUFFIXES, PAGE_SUFFIXES
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.extras import how_to_install
    from benchlint.checker.skeleton import skeleton_json, skeleton_toml, skeleton_yaml

    # Reports may be in these, and a skeleton cannot, which has comments or many lines.
    if file.lower().endswith((*LINE_SUFFIXES, *PAGE_SUFFIXES)):
        raise CannotRunError(f"{file}: skeletons are written as .json, .yaml or .toml only")
    is_yaml = file.lower().endswith((".yaml", ".yml"))
    is_toml = file.lower().endswith(".toml")
    text = skeleton_yaml() if is_yaml else skeleton_toml() if is_toml else skeleton_json()
    if file == "-":
        sys.stdout.write(text)
        return
    if file.endswith("/") or Path(file).is_dir():
        raise CannotRunError(f"{file or '.'} is a folder; name a file in it")
    if Path(file).exists() and not force:
        raise CannotRunError(f"{file} exists; --force replaces it, or name another file")
    write(file, text.encode())
    needs = ""
    if is_yaml and not _has_yaml():
        needs = f", which needs PyYAML to read it: {how_to_install('yaml')}"
    say(f"wrote the skeleton to {file}; fill it in, then run `benchlint check` on it{needs}")


def _has_yaml() -> bool:
    from importlib.util import find_spec

    return find_spec("yaml") is not None
