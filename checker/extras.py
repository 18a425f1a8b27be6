"""How a user gets what only some commands need, said in one way everywhere."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The command that installs an extra (pyproject.toml), as README.md has it."""
    return f"pip install '.[{extra}]' in a checkout of benchlint"
