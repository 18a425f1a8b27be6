"""How measuring ended, in a line for the user, and how to go on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchlint.ending import say

if TYPE_CHECKING:
    from pathlib import Path

    from benchlint.reproducers.journal import End


def tell_end(end: End, folder: Path | str, *, settled: str, interrupted: str) -> None:
    """Say why measuring ended, and how to go on where there is more to be had.

    settled: what is said where nothing is left to do. interrupted: what there is all the same.
    """
    words = {
        "settled": settled,
        "last_look": "all rounds are measured",
        "budget": end.message,
        "interrupted": f"interrupted; {interrupted}",
        "engine_gone": f"measuring ended early: {end.message}",
        "error": f"measuring ended early: {end.message}",
    }
    say(words[end.reason])
    if end.reason not in ("settled", "last_look"):
        say(f"go on with the same command and --resume; samples are in {folder}")
