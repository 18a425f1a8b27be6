"""HTML pages: templates in which every text is made visible and escaped without being asked.

jinja2 is imported only when a page is made. Templates come from this package alone, and a
report is only ever a value in them, never a template.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TextIO

from benchlint.checker.errors import CannotRunError
from benchlint.checker.extras import how_to_install
from benchlint.checker.finding import Location
from benchlint.checker.formats import escape
from benchlint.checker.registry import rule_by_code
from benchlint.checker.rule_text import HEADINGS, sections

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

#: How much of a text is shown where the whole of it matters: messages, reasons, commands.
LONG = 4_000

#: Characters of a source line that are shown before the marked ones, and in all.
_BEFORE_MARK = 60
_EXCERPT = 160


def need_templates() -> None:
    """Raise CannotRunError where jinja2 is not installed, before work is done in vain."""
    _environment()


def page(template: str, values: Mapping[str, object]) -> str:
    """What a template of `benchlint.templates` makes of these values: a page or a part of one.

    Raises CannotRunError where jinja2 is not installed.
    """
    return _template(template).render(values)


def write_page(stream: TextIO, template: str, values: Mapping[str, object]) -> None:
    """Write a page piece by piece, for values that are iterators over much. Raises as `page`."""
    for piece in _template(template).generate(values):
        stream.write(piece)


def as_markup(made_by_template: str) -> Markup:
    """What a template made, to be put into another as it is."""
    from markupsafe import Markup

    return Markup(made_by_template)  # noqa: S704 - never called with a text of a report


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    try:
        import jinja2
    except ImportError:
        raise CannotRunError(
            f"HTML pages need jinja2, which is not installed: {how_to_install('html')}"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"long": _long, "prose": _prose, "excerpt": excerpt}
    environment.globals |= {"rule_sections": rule_sections}
    return environment


def _source(name: str) -> str | None:
    try:
        return (files("benchlint.templates") / name).read_text("utf-8")
    except FileNotFoundError:
        return None


def _harmless(value: object) -> object:
    """What a template shows of a value: texts cut, made visible and escaped; markup as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return as_markup(escape.html(value))
    return value


def _long(text: str) -> Markup:
    """A text of which up to `LONG` characters are shown."""
    return as_markup(escape.html(text, LONG))


def _prose(text: str, limit: int = LONG) -> Markup:
    """A text in which what stands between backticks is code."""
    parts = [escape.html(part, limit) for part in escape.cut(text, limit).split("`")]
    if len(parts) % 2 == 0:
        return as_markup(escape.html(text, limit))
    coded = (f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
    return as_markup("".join(coded))


def excerpt(at: Location) -> tuple[str, str, str]:
    """The source line of a place: what comes before the marked characters, they, and the rest."""
    line = at.excerpt.rstrip("\r\n")
    start = min(max(at.excerpt_column - 1, 0), len(line))
    end = min(start + max(1, at.end_column - at.column), len(line))
    first, last = max(0, start - _BEFORE_MARK), max(end, start + _EXCERPT - _BEFORE_MARK)
    before = "…" * (first > 0) + line[first:start]
    return before, line[start:end], line[end:last] + "…" * (last < len(line))


def rule_sections(code: str) -> dict[str, list[list[str]]]:
    """The text of a rule by heading, in paragraphs of lines; empty for a code that is no rule's.

    Only what is laid out in lines has several: examples.
    """
    rule = rule_by_code(code)
    if rule is None or rule.code != code:  # what a page refers to must be spelled alike
        return {}
    parts = sections(rule)
    return {
        name: [_lines(inspect.cleandoc(each)) for each in parts[name].split("\n\n")]
        for name in ("", *HEADINGS)
        if parts.get(name)
    }


def _lines(paragraph: str) -> list[str]:
    if paragraph.startswith("`") and "\n" in paragraph:
        return paragraph.splitlines()
    return [paragraph.replace("\n", " ")]
