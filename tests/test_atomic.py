"""Files that are whole or not there, however the process ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchlint.checker.atomic import replacing, write

_WRITES = """
import signal, sys
from benchlint.checker.atomic import replacing
with replacing("a") as outer, replacing("b") as inner:
    inner.write(b"half")
    signal.raise_signal(getattr(signal, sys.argv[1]))
"""


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(str(path), b"old")
    with pytest.raises(TypeError), replacing(str(path)) as stream:
        stream.writelines((b"new", None))  # type: ignore[arg-type]  # fails half way
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write(str(tmp_path / "a"), b"new")
    assert raised.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_behind_and_still_ends_the_process(
    name: str, tmp_path: Path
) -> None:
    done = subprocess.run([sys.executable, "-c", _WRITES, name], cwd=tmp_path, check=False)
    assert done.returncode == -getattr(signal, name)
    assert list(tmp_path.iterdir()) == []


def test_the_handler_of_sigterm_is_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with replacing(str(tmp_path / "a")):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with replacing(str(tmp_path / "a")):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_file_that_may_not_be_written_to_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to everything
    with pytest.raises(PermissionError) as caught:
        write(str(path), b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
