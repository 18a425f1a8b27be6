"""What a reader of one language hands back: a tree, and what is wrong with the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchlint.checker.lines import Span
from benchlint.checker.positions import Positions
from benchlint.checker.tree import MAX_DEPTH, MAX_VALUES

#: Faults of one kind that are listed one by one; a file of NaN alone would drown the rest.
MAX_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a text, before its place is turned into line and column.

    related: another place that explains it, as (pointer, what it is, span).
    """

    code: str
    message: str
    span: Span
    help: str = ""
    pointer: str = ""
    at_key: bool = False
    related: tuple[tuple[str, str, Span], ...] = ()


class FaultError(Exception):
    """A fault after which the text cannot be read on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(slots=True)
class Loaded:
    """The tree of a text, if it has one, and its faults in the order of the text.

    positions: makes the finder of values; called when a place is first asked for.
    """

    tree: object = None
    has_tree: bool = False
    faults: list[Fault] = field(default_factory=list)
    positions: Callable[[], Positions] | None = None


def not_read(fault: Fault) -> Loaded:
    """A text that has no tree because of this fault."""
    return Loaded(faults=[fault])


def empty_fault() -> Fault:
    """The fault of a text in which there is nothing."""
    return Fault(
        "BL001",
        "the file is empty",
        (0, 0),
        help="write a report into it; `benchlint init` makes a skeleton",
    )


def depth_fault(span: Span) -> Fault:
    """The fault of a text with too many containers inside one another."""
    return Fault(
        "BL008",
        f"nested deeper than {MAX_DEPTH} levels",
        span,
        help="a report needs about ten levels; flatten what stands here",
    )


def short(text: str) -> str:
    """A name out of a file, for a message: no longer than a name should be."""
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


_LONGEST_NAME = 60


def size_fault() -> Fault:
    """The fault of a text with more values than any report."""
    return Fault(
        "BL008",
        f"more than {MAX_VALUES:,} values",
        (0, 1),
        help="a report needs some hundred; keep raw samples in a file of their own",
    )


def duplicate_fault(pointer: str, name: str, again: Span, first: Span) -> Fault:
    """The fault of a member name that stands twice in one object."""
    return Fault(
        "BL002",
        f"duplicate member {short(name)!r}: readers disagree about which of the two counts",
        again,
        help="keep one of them; until then the first is judged",
        pointer=pointer,
        at_key=True,
        related=((pointer, f"the first {short(name)!r}", first),),
    )


def not_finite_fault(pointer: str, text: str, span: Span) -> Fault:
    """The fault of a number that no double can hold."""
    digits = text.lstrip("+-")
    if digits.isdecimal() and len(digits) > 40:
        what = f"an integer of {len(digits):,} digits is too large for a double"
    elif digits[:1].isdecimal():
        what = f"{text[:40]} is too large for a double"
    else:
        what = f"{text[:40]} is not a number that can be checked"
    return Fault("BL003", what, span, help="leave out what was not measured", pointer=pointer)


def listed(faults: list[Fault]) -> list[Fault]:
    """The first MAX_FAULTS of each code, the last of them saying how many more there are."""
    kept: list[Fault] = []
    for code in dict.fromkeys(fault.code for fault in faults):
        kept += _first(code, [fault for fault in faults if fault.code == code])
    return sorted(kept, key=lambda fault: fault.span)


def _first(code: str, faults: list[Fault]) -> list[Fault]:
    more = len(faults) - MAX_FAULTS
    if more <= 0:
        return faults
    rest = Fault(code, f"and {more:,} more like this one", faults[MAX_FAULTS].span)
    return [*faults[:MAX_FAULTS], rest]
