"""Python's collector of cycles, set for many small objects that are gone before it comes."""

from __future__ import annotations

import gc

#: How many objects more than before wake the collector; 700 (2,000 from Python 3.14 on) if
#: nobody says otherwise. The modules of a check make 70,000, all of which stay; a report makes
#: some thousands and leaves next to no cycles behind.
NEW_OBJECTS = 100_000


def collect_rarely() -> None:
    """Let the collector come rarely; for a process of our own, since it holds for all of it."""
    gc.set_threshold(NEW_OBJECTS)


def leave_the_rest() -> None:
    """At the end of the process keep the collector from going through all that is left.

    Python would do so several times before it gives up the memory, for longer than a check of
    one report takes.
    """
    gc.freeze()
