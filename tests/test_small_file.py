"""Files that a run is set up with are read up to a limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchlint.checker.errors import CannotRunError
from benchlint.checker.small_file import read_small


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\r\n")
    assert read_small(str(tmp_path / "a")) == b"\xff\r\n"


def test_a_file_without_end_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("needs /dev/zero")
    with pytest.raises(CannotRunError, match="/dev/zero: has more than 64,000,000 bytes"):
        read_small("/dev/zero")


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_small(str(tmp_path / "absent"))
    with pytest.raises(CannotRunError, match="null byte"):
        read_small(f"a{os.devnull}\0")
