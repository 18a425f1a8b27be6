"""The arms that `measure` is asked for: every method with every draft length, and a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from benchlint.reproducers.conditions import MODEL_FREE
from benchlint.reproducers.engine import Arm, Sampling

Placement = Literal["gpu", "cpu"] | None

#: Name of the arm without a drafter.
BASELINE = "plain"


@dataclass(frozen=True, slots=True)
class ArmWishes:
    """What is to be compared.

    methods: of drafting, by the report format's names; none measures the baseline alone.
    draft_lengths: K in tokens; None leaves it to the engine. p_min: drafting stops below it.
    placements: where draft tokens are selected; None leaves it to the engine. kv_types: of the
    target's keys and values. baseline: whether there is an arm without a drafter.
    """

    methods: tuple[str, ...] = ()
    draft_lengths: tuple[int | None, ...] = (None,)
    p_min: float = 0.0
    placements: tuple[Placement, ...] = (None,)
    sampling: Sampling = field(default_factory=Sampling)
    kv_types: tuple[str, str] | None = None
    baseline: bool = True


def arms_of(wishes: ArmWishes) -> tuple[Arm, ...]:
    """The arms, the baseline first; each with a name that tells it from the others."""
    arms = tuple(_drafting(wishes))
    if not wishes.baseline:
        return arms
    plain = Arm(BASELINE, sampling=wishes.sampling, kv_types=wishes.kv_types)
    return (plain, *arms)


def _drafting(wishes: ArmWishes) -> Iterator[Arm]:
    for method, length in product(wishes.methods, wishes.draft_lengths):
        # What is looked up is not selected.
        placements = (None,) if method in MODEL_FREE else wishes.placements
        for placement in placements:
            yield Arm(
                _name(wishes, method, length, placement if len(placements) > 1 else None),
                method,
                length,
                0.0 if method in MODEL_FREE else wishes.p_min,
                placement,
                wishes.sampling,
                kv_types=wishes.kv_types,
            )


def _name(wishes: ArmWishes, method: str, length: int | None, placement: Placement) -> str:
    """ "k4", with the method and the placement in it where there are several."""
    parts = [method] if len(wishes.methods) > 1 or length is None else []
    parts += [] if length is None else [f"k{length}"]
    return "-".join([*parts, *([placement] if placement else [])])
