"""Python's collector of cycles, set for many small objects that are gone before it comes."""

from __future__ import annotations

import gc

#: How many objects more than before wake the collector; 700 (2,000 from Python 3.14 on) if
#: nobody says otherwise. A report makes some thousands and leaves next to no cycles behind.
NEW_OBJECTS = 20_000


def collect_rarely() -> None:
    """Let the collector come rarely; for a process of our own, since it holds for all of it."""
    gc.set_threshold(NEW_OBJECTS)
