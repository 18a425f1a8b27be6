"""The command line: which commands there are, and how every one of them ends.

A command is a module of this package with a Typer application named `app` that has one
command. The module is imported when its command is called, and its function imports what it
needs, so that `check` does not pay for what only others use.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from benchlint.ending import friendly

#: Command names in the order of the help, each the name of its module.
COMMANDS = (
    "check",
    "measure",
    "reproduce",
    "verdict",
    "convert",
    "explain",
    "rules",
    "schema",
    "init",
    "render",
    "compare",
    "badge",
    "ci",
)


#: What --help says where it has no text.
_LEFT_OUT = (
    "`python -OO` (PYTHONOPTIMIZE=2) leaves this text out. Run benchlint without it, or read "
    "docs/commands.md."
)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # Only the names, from which a mistyped command gets its suggestion.
        self.commands = dict.fromkeys(COMMANDS, cast("TyperCommand", None))
        self.help = self.help or _LEFT_OUT

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | None:  # noqa: ARG002
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"benchlint.{cmd_name}")
        command = cast("TyperCommand", typer.main.get_command(module.app))
        command.name = cmd_name
        for each in (command, *getattr(command, "commands", {}).values()):
            each.help = each.help or _LEFT_OUT  # the texts are docstrings
        for parameter in command.params:
            if isinstance(parameter, TyperArgument):
                # Newer releases of Typer show the type in Python, which says nothing to a user.
                parameter.display_type = _no_type  # type: ignore[method-assign]
        return command

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Read the command line, which may already print (--help, --version)."""
        with friendly(lambda: False):
            return super().make_context(*args, **settings)

    def invoke(self, ctx: object) -> object:
        """Run the command; whatever goes wrong becomes one line and an exit code."""
        context = cast("typer.Context", ctx)
        with friendly(lambda: "--debug" in context.meta):
            return super().invoke(context)


def _no_type(ctx: object) -> str:  # noqa: ARG001
    return ""


app = typer.Typer(
    name="benchlint",
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n  benchlint check report.json\n  benchlint explain BL201",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from benchlint import __version__

        sys.stdout.write(f"benchlint {__version__}\n")
        raise typer.Exit


@app.callback()
def benchlint(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Check benchmark reports of speculative decoding for what is missing or impossible."""
