"""JSON Pointers (RFC 6901): how findings say where."""

from __future__ import annotations


def pointer(*parts: str | int) -> str:
    """The pointer of the value reached by these member names and array indices."""
    return "".join(
        f"/{part.replace('~', '~0').replace('/', '~1')}" if isinstance(part, str) else f"/{part}"
        for part in parts
    )


def split(pointer: str) -> list[str]:
    """The parts of a pointer, unescaped."""
    return [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]]
