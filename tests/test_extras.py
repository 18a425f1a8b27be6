"""The one hint on how to install an extra: true of this package, and as README.md has it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from benchlint.checker.extras import how_to_install

ROOT = Path(__file__).parents[1]
_CALL = re.compile(r"how_to_install\(['\"](\w+)['\"]\)")


def _named() -> set[str]:
    """The extras that messages name."""
    folders = ("checker", "cli", "reproducers")
    sources = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {name for path in sources for name in _CALL.findall(path.read_text("utf-8"))}


def test_each_extra_that_a_message_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = _named()
    assert {"yaml", "html", "server", "llama"} <= named
    assert named <= set(project["optional-dependencies"])


def test_the_command_is_that_of_the_readme() -> None:
    command, _, _ = how_to_install("yaml").partition(" in ")
    assert f"`{command}`" in (ROOT / "README.md").read_text("utf-8")
