"""Writers of findings, one module per output format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TextIO

from benchlint.checker.formats.base import Format, Options, Summary

__all__ = ["FORMATS", "Format", "Options", "Summary", "make_format"]

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


#: Formats that list what is missing (BL1) without the places it is related to.
BRIEF_ON_MISSING = frozenset({"text", "github", "gitlab", "markdown", "html"})


def make_format(name: str, stream: TextIO, options: Options | None = None) -> Format:
    """The format called `name`, writing to `stream`. Raises KeyError for an unknown name."""
    module_name, class_name = FORMATS[name]
    module = importlib.import_module(f"{__name__}.{module_name}")
    maker: Callable[[TextIO, Options], Format] = getattr(module, class_name)
    return maker(stream, options or Options())
