"""What a user says of the files that a command reads: how large, and not to be written over."""

from __future__ import annotations

import os
from collections.abc import Iterable

from benchlint.checker.errors import CannotRunError


def bytes_of(megabytes: float) -> int:
    """--max-size in bytes (MB are 10⁶). Raises CannotRunError where it is no size."""
    if not 0 < megabytes < 1e9:
        raise CannotRunError(f"--max-size is a number of MB over 0, not {megabytes:g}")
    return int(megabytes * 1_000_000)


def refuse_overwriting(output: str, name: str, read: Iterable[str | None]) -> None:
    """Raise CannotRunError where what is written, called `name`, would replace what is read."""
    for file in read:
        if file and _is_same_file(output, file):
            raise CannotRunError(f"{file} is read, so {name} cannot be written to it")


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other) and os.path.isfile(one)  # noqa: PTH113, PTH121
    except (OSError, ValueError):
        return False
