"""`benchlint explain`: a rule's full text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from benchlint.ending import Debug

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


def _complete(incomplete: str) -> list[str]:
    from benchlint.checker.registry import all_rules

    words = [word for rule in all_rules() for word in (rule.code, rule.name)]
    return [word for word in words if word.lower().startswith(incomplete.lower())]


@app.command(
    short_help="Say what a rule does, why it matters, and what to do.",
    epilog="\b\nExamples:\n  benchlint explain BL201\n  benchlint explain percent-for-fraction",
)
def explain(
    rule: Annotated[
        str,
        typer.Argument(metavar="RULE", hidden=True, autocompletion=_complete),
    ],
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Say what a rule does, why it matters, what to write instead, and its sources.

    RULE is a code, such as BL201, or a name.
    """
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.registry import rule_by_code
    from benchlint.checker.rule_text import LEFT_OUT, rule_plain
    from benchlint.checker.select import is_prefix, unknown_rule
    from benchlint.outputs import columns_of

    found = rule_by_code(rule)
    if found is None and is_prefix(rule):
        prefix = rule.strip().upper()
        raise CannotRunError(
            f"{prefix} is a prefix; `benchlint rules --select {prefix}` lists its rules"
        )
    if found is None:
        raise CannotRunError(unknown_rule(rule))
    if not found.text:
        raise CannotRunError(LEFT_OUT)
    sys.stdout.write(rule_plain(found, columns_of(sys.stdout)) + "\n")
