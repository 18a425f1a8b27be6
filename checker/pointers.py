"""JSON Pointers (RFC 6901): how findings say where."""

from __future__ import annotations


def pointer(*parts: str | int) -> str:
    """The pointer of the value reached by these member names and array indices."""
    found = ""
    for part in parts:
        if isinstance(part, str) and ("~" in part or "/" in part):
            part = part.replace("~", "~0").replace("/", "~1")
        found += f"/{part}"
    return found


def split(pointer: str) -> list[str]:
    """The parts of a pointer, unescaped."""
    parts = pointer.split("/")[1:]
    if "~" not in pointer:
        return parts
    return [p.replace("~1", "/").replace("~0", "~") for p in parts]
