"""HTML pages: templates in which every text is made visible and escaped without being asked.

jinja2 is imported only when a page is made. Templates come from this package alone, and a
report is only ever a value in them, never a template.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from benchlint.checker.errors import CannotRunError
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


def page(template: str, values: Mapping[str, object]) -> str:
    """The page that a template of `benchlint.templates` makes of these values.

    Raises CannotRunError where jinja2 is not installed.
    """
    return template_of(template).render(values)


@cache
def template_of(name: str) -> Template:
    """A template of `benchlint.templates` by its file name. Raises CannotRunError as `page`."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    try:
        import jinja2
    except ImportError:
        raise CannotRunError(
            "HTML pages need jinja2, which is not installed: pip install 'benchlint[html]'"
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
    environment.filters |= {"long": _long, "excerpt": excerpt}
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
        return _markup(escape.html(value))
    return value


def _long(text: str) -> Markup:
    """A text of which up to `LONG` characters are shown."""
    return _markup(escape.html(text, LONG))


def _markup(safe: str) -> Markup:
    from markupsafe import Markup

    return Markup(safe)  # noqa: S704 - escaped by whoever calls this


def excerpt(at: Location) -> tuple[str, str, str]:
    """The source line of a place: what comes before the marked characters, they, and the rest."""
    line = at.excerpt.rstrip("\r\n")
    start = min(max(at.excerpt_column - 1, 0), len(line))
    end = min(start + max(1, at.end_column - at.column), len(line))
    first, last = max(0, start - _BEFORE_MARK), max(end, start + _EXCERPT - _BEFORE_MARK)
    before = "…" * (first > 0) + line[first:start]
    return before, line[start:end], line[end:last] + "…" * (last < len(line))


def rule_sections(code: str) -> dict[str, list[str]]:
    """The text of a rule by heading, in paragraphs; empty for a code that is no rule's."""
    rule = rule_by_code(code)
    if rule is None:
        return {}
    parts = sections(rule)
    return {
        name: [inspect.cleandoc(each) for each in parts[name].split("\n\n")]
        for name in ("", *HEADINGS)
        if parts.get(name)
    }
