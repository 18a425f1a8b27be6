"""Advice for standard input that is in another language than JSON, and has no name to say so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from benchlint.checker.finding import Finding

#: The language, a name of a file in it, and a line that shows it.
_SIGNS = (
    ("a Markdown page", "report.md", r"^ {0,3}(`{3,}|~{3,}) *benchlint\b"),
    ("JSON Lines", "report.jsonl", r"\A\{[^\n]*\}\s*\n\{"),
    ("TOML", "report.toml", r"^(\[\[?[\w.\"-]+\]\]?|[\w.\"-]+ *= *\S.*)\r?$"),
    ("YAML", "report.yaml", r"\A(?!\s*[{\[])(?s:.*?)^(---|(- +)?[\w\"-]+ *:( [^\n]*)?)\r?$"),
)


def with_advice(findings: Iterable[Finding], text: str) -> list[Finding]:
    """The findings about a text that is no JSON, BL001 with what to do if it looks like YAML."""
    for language, name, sign in _SIGNS:
        if re.search(sign, text, re.MULTILINE):
            hint = f"JSON is expected; for {language} add --stdin-filename {name}"
            return [replace(f, help=hint) if f.code == "BL001" else f for f in findings]
    return list(findings)
