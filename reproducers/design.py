"""In which order arms are measured, and when the data are looked at.

Arms run in rounds, ABBA BAAB ...: a drift that is linear over the runs (a card that heats up)
cancels within two rounds, with two arms a quadratic one within four, which is why looks come
after every fourth. One round gives one pair of each arm with the baseline; its order follows
from its number, so a resumed series continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from benchlint.reproducers.verdicts import MAX_LOOKS

#: Rounds that make one block of the order, ABBA BAAB.
BLOCK = 4

#: Numbers of pairs at which the data are looked at. Testing after every pair refutes 23 % of
#: true claims; five looks at a fifth of the level each, at most 5 %.
LOOKS = tuple(BLOCK * (look + 1) for look in range(MAX_LOOKS))

#: Pairs of a series that no early decision ends.
FULL = LOOKS[-1]


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement to make.

    pair: number of its round, from 0. arm: which configuration to run. position: number of the
    measurement in the whole series, from 0.
    """

    pair: int
    arm: str
    position: int


def round_of(arms: Sequence[str], pair: int) -> tuple[Step, ...]:
    """The measurements of one round: the arms forwards in rounds 0 and 3 of four, else backwards.

    Two arms give AB BA BA AB; more arms are walked through the same way.
    """
    forwards = pair % BLOCK in (0, BLOCK - 1)
    order = arms if forwards else arms[::-1]
    return tuple(Step(pair, arm, pair * len(arms) + i) for i, arm in enumerate(order))


def block_of(arms: Sequence[str], measured: int, looks: Sequence[int] = LOOKS) -> tuple[Step, ...]:
    """The measurements from `measured` whole pairs up to the next look; empty after the last."""
    until = next((look for look in looks if look > measured), measured)
    return tuple(step for pair in range(measured, until) for step in round_of(arms, pair))


def blocks(arms: Sequence[str], looks: Sequence[int] = LOOKS) -> Iterator[tuple[Step, ...]]:
    """All measurements of a series, in blocks that each end at a look."""
    for start in (0, *looks[:-1]):
        yield block_of(arms, start, looks)


def look_schedule(ends: Collection[int] = ()) -> tuple[int, ...]:
    """Numbers of pairs at which the data count as looked at; five at most.

    ends: numbers of whole pairs at which the series was broken off (a spent budget, Ctrl-C),
    each of which showed a verdict. Such an end takes the place of a planned look, so a series
    that is resumed ends earlier rather than being tested more often. Odd ends are taken back to
    the last balanced pair; ends before the first look show nothing and do not count.
    """
    even = {end - end % 2 for end in ends if LOOKS[0] < end < FULL}
    return tuple(sorted({*LOOKS, *even})[:MAX_LOOKS])
