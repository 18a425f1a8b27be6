"""Writers of findings, one module per output format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TextIO

from benchlint.checker.formats.base import Format, Options, Shown, Summary

__all__ = ["FORMATS", "Format", "Options", "Shown", "Summary", "make_format", "shown_of_missing"]

# Where each format lives. A module is imported only when its format is asked for.
FORMATS: dict[str, tuple[str, str]] = {
    "text": ("text", "TextFormat"),
    "json": ("json_format", "JsonFormat"),
    "jsonl": ("jsonl", "JsonLinesFormat"),
    "sarif": ("sarif", "SarifFormat"),
    "github": ("github", "GithubFormat"),
    "gitlab": ("gitlab", "GitlabFormat"),
    "junit": ("junit", "JunitFormat"),
    "markdown": ("markdown", "MarkdownFormat"),
    "html": ("html", "HtmlFormat"),
}


#: What formats show of what is missing, where it is not all.
_SHOWN_OF_MISSING = {
    **dict.fromkeys(("text", "markdown"), Shown.NAME),
    **dict.fromkeys(("github", "gitlab", "html"), Shown.PLACE),
}


def shown_of_missing(names: Iterable[str]) -> Shown:
    """How much one of these formats shows of what is missing."""
    return max((_SHOWN_OF_MISSING.get(name, Shown.ALL) for name in names), default=Shown.ALL)


def make_format(name: str, stream: TextIO, options: Options | None = None) -> Format:
    """The format called `name`, writing to `stream`. Raises KeyError for an unknown name."""
    module_name, class_name = FORMATS[name]
    module = importlib.import_module(f"{__name__}.{module_name}")
    maker: Callable[[TextIO, Options], Format] = getattr(module, class_name)
    return maker(stream, options or Options())
