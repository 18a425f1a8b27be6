"""A rule's docstring as text for the terminal and as Markdown for the rule page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from benchlint.checker.formats.room import Room
from benchlint.checker.registry import Rule

#: The families of rules, by the start of their codes.
FAMILIES = {
    "BL0": "file and schema",
    "BL1": "missing",
    "BL2": "arithmetic",
    "BL3": "physics",
    "BL4": "method",
    "BL5": "quality and losslessness",
    "BL6": "claims against their own data",
    "BL7": "hygiene",
}

HEADINGS = ("What it does", "Why it matters", "Example", "Instead", "Sources")


def sections(rule: Rule) -> dict[str, str]:
    """The rule's text by heading; the one-sentence summary is under ""."""
    found: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(rule.text).splitlines():
        heading = line.strip().removesuffix(":")
        if line.strip().endswith(":") and heading in HEADINGS:
            current = heading
            found[current] = []
        else:
            found[current].append(line)
    return {name: inspect.cleandoc("\n".join(lines)).strip() for name, lines in found.items()}


def rule_title(rule: Rule) -> str:
    """Code, name, severity, and whether --fix can mend it."""
    fixable = ", fixable" if rule.fixable else ""
    return f"{rule.code} {rule.name} ({rule.severity}{fixable})"


def rule_markdown(rule: Rule) -> str:
    """The rule's text as a section of the rule page."""
    parts = sections(rule)
    head = f"### {rule.code} {rule.name}\n\n*{rule.severity}{', fixable' if rule.fixable else ''}*"
    body = [f"**{name}.** {parts[name]}" for name in HEADINGS if name in parts]
    return "\n\n".join([head, parts[""], *body])


#: What to say where a rule has no text.
LEFT_OUT = (
    "the texts of rules are docstrings, which `python -OO` (PYTHONOPTIMIZE=2) leaves out: run "
    "benchlint without it, or read docs/rules.md"
)


#: Longer lines are hard to read, in columns.
_WIDEST = 88


def rule_plain(rule: Rule, columns: int | None = None) -> str:
    """The rule's text for a terminal. columns: how wide that is, None where it is not known."""
    parts = sections(rule)
    room = Room(min(columns or _WIDEST, _WIDEST))
    lines = [*room.paragraph(rule_title(rule)), "", *_wrapped(parts[""], room, 0)]
    for name in HEADINGS:
        if name in parts:
            lines += ["", f"{name}:", *_wrapped(parts[name], room, 4)]
    return "\n".join(lines)


def _wrapped(text: str, room: Room, indent: int) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("`") and "\n" in paragraph:
            yield from (" " * indent + line for line in paragraph.splitlines())
        else:
            yield from room.paragraph(" ".join(paragraph.split()), indent, 0)
