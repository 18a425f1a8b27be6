"""The one exception that means: nothing was judged, because what was asked cannot be done."""

from __future__ import annotations


class CannotRunError(Exception):
    """What was asked for cannot be done; the command ends with exit code 2.

    The message is one line for the user: what is wrong, where, and what to do about it.
    """
