"""What a report is once parsed: nested dict, list, str, int, Digits, bool and None."""

from __future__ import annotations

from math import isfinite
from typing import Final

#: Containers inside one another. The deepest report that makes sense has about ten.
MAX_DEPTH: Final = 100

#: Values in one document. One takes some hundred bytes of memory, and ten times that when it
#: does not fit; a report with 50,000 runs has some three million.
MAX_VALUES: Final = 4_000_000

#: Integers with fewer digits than this fit a double, whose largest has 309.
_SAFE_DIGITS: Final = 300

#: Stands in a tree for a number that is not finite, until `without_not_finite` takes it out.
NOT_FINITE: Final = object()


class Digits(float):
    """A float that remembers its digits as printed in the file: `Digits("1.50").text`."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str | float) -> Digits:
        """Raises ValueError when `text` is not a number."""
        number = float.__new__(cls, text)
        number.text = str(text)
        return number


def decimal(text: str) -> object:
    """The Digits in `text`, or NOT_FINITE when a double cannot hold the number."""
    number = Digits(text)
    return number if isfinite(number) else NOT_FINITE


def whole(text: str) -> object:
    """The int in these decimal digits, or NOT_FINITE when a double cannot hold it.

    Checked in this order because `int` raises ValueError over 4,300 digits.
    """
    if len(text) >= _SAFE_DIGITS and not isfinite(float(text)):
        return NOT_FINITE
    return int(text) if len(text) < _SAFE_DIGITS else int(_without_zeros(text))


def _without_zeros(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    return sign + (text.lstrip("+-0") or "0")


def fits_double(number: int) -> bool:
    """Whether arithmetic in doubles can take the number."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def is_too_deep(tree: object) -> bool:
    """Whether containers lie more than MAX_DEPTH inside one another. The tree is no graph."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def without_not_finite(tree: object) -> object:
    """A copy without the members that are NOT_FINITE.

    A list that loses an item goes as a whole: its other items would stand in other places.
    """
    if isinstance(tree, dict):
        members = ((name, without_not_finite(value)) for name, value in tree.items())
        return {name: value for name, value in members if value is not NOT_FINITE}
    if isinstance(tree, list):
        items = [without_not_finite(value) for value in tree]
        return NOT_FINITE if any(item is NOT_FINITE for item in items) else items
    return tree
