"""Benches whose true ratio of speeds is known, to try the statistics on.

A bench runs one arm at a time and gives its speed, as an engine would. It knows nothing of
pairs, looks or verdicts, and shares no code with what estimates: only drawn numbers, a clock
that counts runs, and the true ratio of its two arms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from random import Random

#: Runs over which `World.drift` is reached: twenty pairs.
RUNS = 40


@dataclass(frozen=True, slots=True)
class World:
    """What a bench is like.

    ratio: true speed of arm "fast" over arm "plain". noise: standard deviation of the logarithm
    of a pair's ratio. drift: change of both speeds over forty runs, as a share, linear. heavy:
    Student's t with 3 degrees of freedom, scaled to the same standard deviation. correlation:
    lag-1 autocorrelation of an arm's noise from one of its runs to the next.
    """

    ratio: float
    noise: float
    drift: float = 0.0
    heavy: bool = False
    correlation: float = 0.0


@dataclass(slots=True)
class Bench:
    """One machine on one day."""

    world: World
    rng: Random
    runs: int = 0
    last: dict[str, float] = field(default_factory=dict)

    def run(self, arm: str) -> float:
        """Speed of the arm in tok/s, at this moment."""
        warmth = 1 + self.world.drift * self.runs / RUNS
        self.runs += 1
        level = 40.0 * (self.world.ratio if arm == "fast" else 1.0)
        return level * warmth * math.exp(self._disturbance(arm))

    def _disturbance(self, arm: str) -> float:
        """Noise of one run: half the variance of a pair, carried over from the run before."""
        rho = self.world.correlation
        fresh = self._shock() * self.world.noise / math.sqrt(2)
        before = self.last.get(arm)
        now = fresh if before is None else rho * before + math.sqrt(1 - rho * rho) * fresh
        self.last[arm] = now
        return now

    def _shock(self) -> float:
        """A draw of variance 1."""
        draw = self.rng.gauss(0, 1)
        if not self.world.heavy:
            return draw
        chi_square = self.rng.gammavariate(1.5, 2)  # 3 degrees of freedom
        return draw / math.sqrt(chi_square / 3) / math.sqrt(3)


#: The kinds of world a procedure must stand, by name; noise and ratio are filled in.
KINDS = {
    "plain": World(1, 0),
    "cooling": World(1, 0, drift=0.1),
    "throttling": World(1, 0, drift=-0.2),
    "heavy tails": World(1, 0, heavy=True),
    "throttling, heavy tails": World(1, 0, drift=-0.2, heavy=True),
    "autocorrelated": World(1, 0, correlation=0.5),
}


def bench(kind: str, noise: float, rng: Random) -> Bench:
    """A bench of a kind with a true ratio drawn between 1.1 and 4."""
    return Bench(replace(KINDS[kind], ratio=rng.uniform(1.1, 4), noise=noise), rng)


def claim_of(ratio: float, rng: Random, places: int = 2) -> str:
    """The ratio as it is published: some decimals, rounded or cut off."""
    rounding = ROUND_DOWN if rng.random() < 0.3 else ROUND_HALF_EVEN
    return str(Decimal(repr(ratio)).quantize(Decimal(1).scaleb(-places), rounding=rounding))


def prompts(count: int, rng: Random) -> tuple[list[int], list[int]]:
    """Accepted draft tokens and verify steps of prompts that differ in how well they are drafted.

    Each has 20 to 120 steps of 7 draft tokens; each token of a draft is accepted with the
    prompt's own probability as long as those before it were.
    """
    accepted, steps = [], []
    for _ in range(count):
        chance, n = rng.betavariate(9.36, 3.64), rng.randint(20, 120)  # mean 0.72, sd 0.12
        accepted.append(sum(_prefix(chance, rng) for _ in range(n)))
        steps.append(n)
    return accepted, steps


def true_accepted_length() -> float:
    """What `prompts` has on average over endless prompts: 1 + Σ E[q^i], in closed form."""
    a, b, total, moment = 9.36, 3.64, 1.0, 1.0
    for i in range(7):
        moment *= (a + i) / (a + b + i)
        total += moment
    return total


def _prefix(chance: float, rng: Random) -> int:
    length = 0
    while length < 7 and rng.random() < chance:
        length += 1
    return length
