"""Lengths of time as users write them: 90, 45s, 10m, 1h30m."""

from __future__ import annotations

import re

from benchlint.checker.errors import CannotRunError

_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)


def seconds_of(text: str, option: str) -> float:
    """Seconds; a bare number is seconds. Raises CannotRunError, with the option's name."""
    found = _PARTS.fullmatch(text.strip().lower().replace(" ", ""))
    parts = [float(part or 0) for part in found.groups()] if found else []
    total = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    if not total > 0:
        raise CannotRunError(f"{option} is a time such as 90s, 10m or 1h30m, not {text[:40]!r}")
    return total


def in_words(seconds: float) -> str:
    """About how long: "40 s", "12 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours} h {rest} min" if rest else f"{hours} h"
