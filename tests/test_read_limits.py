"""How much is read at most, and that what is read is not written over."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.errors import CannotRunError
from benchlint.read_limits import bytes_of

EXAMPLE = Path(__file__).parent.parent / "examples" / "h200-llama-server.json"


def test_megabytes_in_bytes() -> None:
    assert bytes_of(0.5) == 500_000


@pytest.mark.parametrize("size", [math.nan, math.inf, -math.inf, 1e308, 0, -1])
def test_what_is_no_size_is_told(size: float) -> None:
    with pytest.raises(CannotRunError, match="--max-size is a number of MB over 0"):
        bytes_of(size)


@pytest.mark.parametrize("size", ["nan", "inf", "0"])
@pytest.mark.parametrize("command", ["check", "convert", "render", "compare", "reproduce"])
def test_all_commands_refuse_the_same_sizes(command: str, size: str) -> None:
    files = [str(EXAMPLE)] * (2 if command == "compare" else 1)
    result = CliRunner().invoke(app, [command, *files, "--max-size", size])
    assert result.exit_code == 2
    assert "--max-size is a number of MB over 0" in result.stderr


@pytest.mark.parametrize("command", ["convert", "render"])
def test_what_is_read_is_not_replaced(command: str, tmp_path: Path) -> None:
    report, link = tmp_path / "a.json", tmp_path / "b.json"
    report.write_bytes(EXAMPLE.read_bytes())
    link.symlink_to(report)
    result = CliRunner().invoke(app, [command, str(report), "-o", str(link)])
    assert result.exit_code == 2
    assert "cannot be written to it" in result.stderr
    assert report.read_bytes() == EXAMPLE.read_bytes()
