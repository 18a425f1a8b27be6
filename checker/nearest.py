"""What was meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

#: Longer names are no slips of the pen, and the comparison takes the product of the lengths.
_MAX_LENGTH = 80
_MAX_NAMES = 300


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one, or None where none is alike.

    Of many names only the first few hundred are compared.
    """
    if len(name) > _MAX_LENGTH:
        return None
    short = (each for each in known if len(each) <= _MAX_LENGTH)
    found = difflib.get_close_matches(name, list(islice(short, _MAX_NAMES)), n=1)
    return found[0] if found else None
