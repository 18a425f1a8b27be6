"""Which runs of a log are which runs of the result that it was written beside."""

from __future__ import annotations

from collections.abc import Sequence

from benchlint.checker.importers.traced import Block, Names, agreed

#: Times of a request. Two requests hardly ever take the same to the last digit.
_TIMES: tuple[Names, ...] = (("decode", "seconds"), ("prefill", "seconds"))

_PARTS: Names = ("parts",)


def is_sum(run: Block) -> bool:
    """Whether the run is others taken together."""
    return _PARTS in run or _requests(run) > 1


def paired(ours: Sequence[Block], theirs: Sequence[Block]) -> dict[int, int]:
    """For each run of theirs that is one of ours too, by its times: which."""
    found: dict[int, int] = {}
    for i, run in enumerate(theirs):
        free = (j for j in range(len(ours)) if j not in found.values())
        match = None if is_sum(run) else next((j for j in free if _is_same(ours[j], run)), None)
        if match is not None:
            found[i] = match
    return found


def the_sum(theirs: Sequence[Block]) -> Block | None:
    """The one run of a log in which all others are taken together; None for none, or several."""
    sums = [run for run in theirs if is_sum(run)]
    return sums[0] if len(sums) == 1 and len(theirs) > 1 else None


def _is_same(one: Block, other: Block) -> bool:
    """Whether all that both say agrees, and a time among it."""
    shared = [names for names in other if names in one and names not in _NAMES]
    if not any(names in _TIMES for names in shared):
        return False
    return all(agreed(one[names], other[names]) is not None for names in shared)


_NAMES: tuple[Names, ...] = (("id",), ("configuration",), ("workload",))


def _requests(run: Block) -> int:
    leaf = run.get(("speculation", "counts", "requests"))
    return leaf.value if leaf is not None and isinstance(leaf.value, int) else 0
