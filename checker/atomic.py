"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream that becomes the file at `path` when the block ends without an exception.

    Links are followed; an existing file keeps its mode, and its owner where that is allowed.
    What is no regular file (a pipe, a terminal) is written to as it is. Raises OSError.
    """
    target = Path(path).resolve()
    known = _status(target)
    if known is not None and not stat.S_ISREG(known.st_mode):
        with target.open("wb") as stream:
            yield stream
        return
    descriptor, name = _beside(target, path)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _take_over(name, known)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _beside(target: Path, path: str) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        error.filename = path  # the user asked for this one
        raise


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _take_over(name: str, known: os.stat_result | None) -> None:
    if known is None:
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(name, known.st_uid, known.st_gid)
    Path(name).chmod(stat.S_IMODE(known.st_mode))


def write(path: str, data: bytes) -> None:
    """Replace the file at `path` by one with these bytes. Raises OSError."""
    with replacing(path) as stream:
        stream.write(data)
