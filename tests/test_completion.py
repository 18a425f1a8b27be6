"""What the shell completes is what the options take."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer

from benchlint import completion
from benchlint.app import app
from benchlint.checker.formats import FORMATS
from benchlint.checker.settings import FAIL_ON, PROFILES


def test_the_words_are_those_that_are_known() -> None:
    assert tuple(FORMATS) == completion.FORMATS
    assert set(completion.PROFILES) == set(PROFILES)
    assert set(completion.FAIL_ON) == set(FAIL_ON)


@pytest.mark.parametrize(
    ("command", "option", "incomplete", "found"),
    [
        ("check", "profile", "p", ["publish"]),
        ("check", "formats", "json", ["json", "jsonl"]),
        ("check", "fail_on", "n", ["note", "never"]),
        ("check", "color", "a", ["auto", "always"]),
        ("compare", "output", "m", ["markdown"]),
        ("compare", "color", "n", ["never"]),
        ("rules", "output_format", "j", ["json"]),
        ("schema", "kind", "f", ["findings"]),
    ],
)
def test_values_are_completed(command: str, option: str, incomplete: str, found: list[str]) -> None:
    group: Any = typer.main.get_command(app)
    each = group.get_command(None, command)
    context = typer.Context(each)
    parameter = next(p for p in each.params if p.name == option)
    assert [item.value for item in parameter.shell_complete(context, incomplete)] == found


def test_completion_imports_nothing_of_the_checker() -> None:
    script = (
        "import sys, benchlint.check; "
        "print(*sorted(m for m in sys.modules if m.startswith('benchlint.checker.f')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "benchlint.checker.formats.text" not in done.stdout
