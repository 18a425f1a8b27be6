"""Reading the files that a run is set up with: configuration, schema, baseline."""

from __future__ import annotations

from benchlint.checker.errors import CannotRunError

#: More is none of these, and a device may have no end.
_LIMIT = 64_000_000


def read_small(file: str) -> bytes:
    """The bytes of a file or pipe. Raises CannotRunError for more than 64 MB, and OSError."""
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - file may be a pipe's descriptor
            data = stream.read(_LIMIT + 1)
    except ValueError as error:  # a zero byte in the path
        raise CannotRunError(f"{file}: {error}") from None
    if len(data) > _LIMIT:
        raise CannotRunError(f"{file}: has more than {_LIMIT:,} bytes")
    return data
