"""`benchlint rules`: the table of rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from benchlint.completion import completes
from benchlint.ending import Debug, say

if TYPE_CHECKING:
    from benchlint.checker.formats.room import Room
    from benchlint.checker.registry import Rule

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command(
    short_help="List the rules with what each is about.",
    epilog="\b\nExamples:\n  benchlint rules\n  benchlint rules --select BL2 --format json",
)
def rules(
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            show_default=False,
            help="text (default), json or markdown.",
            autocompletion=completes("text", "json", "markdown"),
        ),
    ] = "text",
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULES", show_default=False, help="Only these: codes, prefixes, names."
        ),
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """List the rules: code, name, severity, and what each is about."""
    from benchlint.checker.errors import CannotRunError
    from benchlint.checker.registry import all_rules
    from benchlint.checker.rule_text import LEFT_OUT
    from benchlint.checker.select import Selection

    if output_format not in _TABLES:
        raise CannotRunError(f"--format is one of {', '.join(_TABLES)}, not {output_format!r}")
    words = None if not select else [w for each in select for w in each.split(",") if w.strip()]
    prefixes = Selection.of(words, None).select
    chosen = [r for r in all_rules() if prefixes is None or r.code.startswith(prefixes)]
    sys.stdout.write(_TABLES[output_format](chosen))
    if not all(rule.text for rule in chosen):
        say(LEFT_OUT)


def summary(rule: Rule) -> str:
    """The first sentence of the rule's text."""
    return " ".join(rule.text.partition("\n\n")[0].split())


def _text(rules: Sequence[Rule]) -> str:
    from benchlint.checker.formats.room import Room, widths_of
    from benchlint.outputs import columns_of

    room = Room(columns_of(sys.stdout))
    rows = [_cells(rule) for rule in rules]
    widths = widths_of(rows)
    aligned = room.takes(widths, 0)
    listed = (room.row(row, widths, 0) if aligned else _narrow(row, room) for row in rows)
    return "".join(f"{line}\n" for lines in listed for line in lines)


def _cells(rule: Rule) -> tuple[str, ...]:
    fixable = " (fixable)" if rule.fixable else ""
    return rule.code, rule.severity.value, rule.name, f"{summary(rule)}{fixable}"


def _narrow(row: Sequence[str], room: Room) -> Iterator[str]:
    """A rule in lines of its own, where a table has no room for what it is about."""
    *head, text = row
    yield from room.paragraph(" ".join(head), 0, 4)
    yield from room.paragraph(text, 4, 0)


def _json(rules: Sequence[Rule]) -> str:
    import json

    rows = [
        {
            "code": r.code,
            "name": r.name,
            "severity": r.severity.value,
            "fixable": r.fixable,
            "summary": summary(r),
            "yields_to": sorted(r.yields_to),
        }
        for r in rules
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _markdown(rules: Sequence[Rule]) -> str:
    rows = [
        f"| {r.code} | {r.name} | {r.severity} | {summary(r).replace('|', chr(92) + '|')} |\n"
        for r in rules
    ]
    return "| code | name | severity | |\n|---|---|---|---|\n" + "".join(rows)


_TABLES = {"text": _text, "json": _json, "markdown": _markdown}
