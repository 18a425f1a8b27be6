"""Names that are taken get a number."""

from __future__ import annotations

from collections.abc import Container


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found
