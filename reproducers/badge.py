"""A badge of a verdict: an SVG of one line that asks for nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchlint.checker.errors import CannotRunError
from benchlint.checker.html_pages import page
from benchlint.reproducers.verdicts import Outcome

LABEL: Final = "benchlint"

# White on them has a contrast of 4.5 or more (WCAG 2.1, 1.4.3).
_COLORS = {
    Outcome.REPRODUCED: "#2a7d2e",
    Outcome.REFUTED: "#b3261e",
    Outcome.INCONCLUSIVE: "#8a5a00",
    Outcome.NOT_TESTABLE: "#5f6368",
}

# The advance of most letters of Verdana at 11 pixels; textLength makes up for the rest.
_LETTER: Final = 6.6
_MARGIN: Final = 12


@dataclass(frozen=True, slots=True)
class Badge:
    """What a badge says, and in which colour."""

    message: str
    color: str


def badge_of(verdict: object) -> Badge:
    """The badge of what verdict.json holds. Raises CannotRunError where it is no verdict."""
    try:
        outcome, counts = _parts(verdict)
    except (KeyError, TypeError, ValueError):
        raise CannotRunError("this is no verdict.json of `benchlint reproduce`") from None
    tested = sum(counts.values()) - counts[Outcome.NOT_TESTABLE]
    share = f" {counts[outcome]} of {tested}" if tested else ""
    return Badge(f"{outcome.value}{share}", _COLORS[outcome])


def _parts(verdict: object) -> tuple[Outcome, dict[Outcome, int]]:
    if not isinstance(verdict, Mapping) or not isinstance(verdict["counts"], Mapping):
        raise TypeError
    counts = {outcome: verdict["counts"][outcome.value] for outcome in Outcome}
    if any(type(count) is not int or not 0 <= count < 10**9 for count in counts.values()):
        raise ValueError
    return Outcome(verdict["outcome"]), counts


def badge_svg(badge: Badge) -> str:
    """The badge as SVG. Raises CannotRunError where jinja2 is not installed."""
    label, message = (round(len(text) * _LETTER) + _MARGIN for text in (LABEL, badge.message))
    values = {
        "label": LABEL,
        "message": badge.message,
        "color": badge.color,
        "label_width": label,
        "width": label + message,
    }
    return page("badge.svg", values)
