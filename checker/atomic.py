"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
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
    if known is not None and not os.access(target, os.W_OK):
        # A file in a folder that may be written to can be replaced, but somebody said no.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    descriptor, name = _beside(target, path)
    with _gone_when_ended(name, "SIGTERM"), _gone_when_ended(name, "SIGHUP"):
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            _take_over(name, known)
            Path(name).replace(target)
        except BaseException as error:
            Path(name).unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = path  # a full disk does not say which file it was
            raise


@contextlib.contextmanager
def _gone_when_ended(name: str, signal_name: str) -> Iterator[None]:
    """Remove the file when this signal ends this process during the block; then let it end.

    Only the main thread can do this, and where the signal is ignored there is nothing to do,
    nor where there is none of that name (Windows has no SIGHUP).
    """
    ending = getattr(signal, signal_name, None)
    former = None if ending is None else signal.getsignal(ending)
    is_main = threading.current_thread() is threading.main_thread()
    if ending is None or not is_main or former in (signal.SIG_IGN, None):
        yield
        return
    owner = os.getpid()

    def leave(number: int, frame: FrameType | None) -> None:
        if os.getpid() == owner:  # a process forked meanwhile has the handler and not the file
            Path(name).unlink(missing_ok=True)
        signal.signal(number, former)
        if callable(former):
            former(number, frame)
        else:
            os.kill(os.getpid(), number)

    signal.signal(ending, leave)
    try:
        yield
    finally:
        signal.signal(ending, former)


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
