"""Getting at the bytes of a file that may be anything: absent, a pipe, a device, too large."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from benchlint.checker.finding import Finding, Location
from benchlint.checker.registry import Problem, rule_by_code

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file, and the name to show for it."""

    path: str
    data: bytes


def file_finding(code: str, problem: Problem, location: Location | None = None) -> Finding:
    """A finding of a rule of scope "file", which the reader makes itself."""
    rule = rule_by_code(code)
    if rule is None:
        raise LookupError(code)
    found = rule.finding(problem, problem.at if isinstance(problem.at, str) else "")
    return replace(found, location=location)


def read_source(path: str | Path, *, limit_bytes: int) -> Source | Finding:
    """The bytes of a regular file of at most `limit_bytes`, or the finding that says why not.

    Nothing is read of a larger file, and nothing but a regular file is opened.
    """
    opened = _descriptor(path)
    if isinstance(opened, Finding):
        return opened
    try:
        size = os.fstat(opened).st_size
        if size > limit_bytes:
            return too_large(f"the file has {size:,} bytes", limit_bytes)
        return _within(str(path), _bytes_of(opened, size, limit_bytes), limit_bytes)
    except OSError as error:
        return unreadable(_reason(error))
    finally:
        os.close(opened)


def _bytes_of(descriptor: int, size: int, limit: int) -> bytes:
    """All there is to read, up to a byte over the limit.

    A stream would take room for as much as the limit and give it back for every file.
    """
    data = os.read(descriptor, size + 1)
    while len(data) <= limit and (more := os.read(descriptor, min(_CHUNK, limit + 1 - len(data)))):
        data += more
    return data


def read_stdin(name: str, limit: int, stream: BinaryIO) -> Source | Finding:
    """All of a stream of at most `limit` bytes; reading stops at the limit.

    name: what to show for the stream, as `<stdin>`.
    """
    return _read(stream, name, limit)


def _read(stream: BinaryIO, name: str, limit: int) -> Source | Finding:
    try:
        data = stream.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: the stream is closed
        return unreadable(_reason(error))
    return _within(name, data, limit)


def _within(name: str, data: bytes, limit: int) -> Source | Finding:
    if len(data) > limit:
        return too_large("the input has more bytes", limit)
    return Source(name, data)


def open_source(path: str | Path) -> BinaryIO | Finding:
    """A regular file, open for reading, or a finding. Never waits for the other end of a pipe."""
    opened = _descriptor(path)
    return opened if isinstance(opened, Finding) else os.fdopen(opened, "rb")


def _descriptor(path: str | Path) -> int | Finding:
    try:
        kind = _kind(os.stat(path).st_mode)  # noqa: PTH116 - a Path takes twice as long
        if kind:
            return unreadable(*kind)
        return _opened(path)
    except FileNotFoundError:
        return _absent(path)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        return unreadable(_reason(error), _advice(error))


def _opened(path: str | Path) -> int | Finding:
    """The file's descriptor, unless it has been swapped for something else since the look at it."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    kind = _kind(os.fstat(descriptor).st_mode)
    if kind:
        os.close(descriptor)
        return unreadable(*kind)
    return descriptor


def _kind(mode: int) -> tuple[str, str] | None:
    """What a path leads to instead of a regular file, and what to do about it."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "this is a folder, not a file", "name the file in it"
    if stat.S_ISFIFO(mode):
        return "this is a pipe, not a file", "pipe it into `benchlint check -`"
    return "this is a device or a socket, not a file", "name a file"


def _absent(path: str | Path) -> Finding:
    if Path(path).is_symlink():
        return unreadable("the link leads to nothing", "mend the link, or name the file itself")
    return unreadable("there is no such file", "check the path")


def _reason(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"the file cannot be read: {reason or type(error).__name__}"


def _advice(error: OSError | ValueError) -> str:
    return "give yourself the right to read it" if isinstance(error, PermissionError) else ""


def unreadable(message: str, advice: str = "") -> Finding:
    """The finding that no byte of a file can be read."""
    return file_finding("BL013", Problem("", message, help=advice))


def too_large(what: str, limit: int, location: Location | None = None) -> Finding:
    """The finding that a file, or a line of one that holds a report a line, is over the limit."""
    problem = Problem(
        "",
        f"{what}, over the limit of {limit:,}",
        help="a report needs some kilobytes; keep raw samples in a file of their own",
    )
    return file_finding("BL008", problem, location)


def read_lines(stream: BinaryIO, limit: int) -> Iterator[bytes | Finding]:
    """The lines of a stream with their ends, one at a time.

    A finding stands for a line over the limit, and at the end for what can be read no further.
    """
    number = 0
    try:
        while line := stream.readline(limit + 1):
            number += 1
            if len(line) <= limit or line.endswith(b"\n"):
                yield line
            else:
                _drop_line(stream)
                yield too_large("the line has more bytes", limit, Location(number, 1, 1))
    except (OSError, ValueError) as error:  # ValueError: the stream is closed
        yield unreadable(_reason(error))


def _drop_line(stream: BinaryIO) -> None:
    while (chunk := stream.readline(_CHUNK)) and not chunk.endswith(b"\n"):
        pass
