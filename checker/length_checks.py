"""Accepted length against a per-position list, under every reading that is left."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchlint.checker.definitions import RATE_SLACK, LengthReading, PositionKind
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import Interval, Reported, shown
from benchlint.checker.readings import Readings, tau_of_positions

INFINITE = float("inf")


_Positions = tuple[Reported, ...]


def taus_of(r: Readings) -> tuple[tuple[LengthReading, Interval], ...]:
    """τ under its readings: as printed, else from counts where a step is surely one request's."""
    if r.taus or r.counted_tau is None or not r.steps_are_certain:
        return r.taus
    tau = r.counted_tau.span
    return ((LengthReading.PER_STEP, Interval(tau.low, tau.high + _cut(r))),)


def _cut(r: Readings) -> float:
    """What ends inside a draft may take from accepted tokens per step, where K is known."""
    if r.steps is None or r.steps[0] <= 0:
        return 0.0
    return (r.requests or 1) * (r.k_value or 0) / r.steps[0]


def meets(
    taus: Sequence[tuple[LengthReading, Interval]], target: Interval, slack: float = 0.0
) -> bool:
    return any(tau.meets(target.widened(slack)) for _, tau in taus)


def target_of(r: Readings, kind: PositionKind, *, strict: bool = False) -> Interval:
    """What τ can be, given the list as one of this kind.

    strict: leave out lists that divide by the drafts that had the position.
    """
    base = tau_of_positions(r.positions, kind)
    target = base + _rest(r, kind, r.positions, base)
    if kind == "conditional":
        target = target.widened(RATE_SLACK)  # the last draft of a text is cut short
    return Interval(1.0, target.high) if _may_be_reached(r, kind) and not strict else target


def _may_be_reached(r: Readings, kind: PositionKind) -> bool:
    """Whether shares may be of the drafts that had such a position, which sum up to more than τ.

    Some harnesses print them for drafts of changing length, and a conditional share is often
    one of the tokens tried.
    """
    fixed = r.run.configuration.fixed_k
    if kind == "conditional":
        return fixed is not True and "cumulative" not in r.kinds
    return fixed is False and not r.sources


def _rest(r: Readings, kind: PositionKind, positions: _Positions, base: Interval) -> Interval:
    """What the positions that are not in the list may add."""
    if r.all_positions:
        return Interval(0.0, 0.0)
    k = r.k_value if r.k_is_a_cap else None
    if k is None or r.all_positions is None:
        return Interval(0.0, INFINITE)
    last = positions[-1].span.high
    if kind == "conditional":
        last = base.high - tau_of_positions(positions[:-1], kind).low
    return Interval(0.0, (k - len(positions)) * max(last, 0.0))


def tau_words(r: Readings) -> tuple[Reported | str, str]:
    if r.length is not None:
        more = " + 1 (the target's own token)" if r.run.counts_bonus_token is False else ""
        return r.length, f"accepted length τ {r.length}{more}"
    counted = r.counted_tau
    return ("", "τ") if counted is None else (counted.at, counted.text)


def sum_words(r: Readings, kind: PositionKind) -> str:
    """The sum worked out: "1 + Σp = 3.92", with what is missing from a partial list."""
    formula = "1 + Σp" if kind == "cumulative" else "1 + p₁ + p₁p₂ + …"
    points = tuple(_exact(p) for p in r.positions)
    exact = tau_of_positions(points, kind)
    text = f"{formula} = {shown(exact.middle)}"
    if r.all_positions:
        return text
    rest = _rest(r, kind, points, exact)
    left = "" if rest.high == INFINITE else f", at most {shown(rest.high)} more"
    return f"{text} over {len(points)} positions{left}"


def _exact(p: Reported) -> Reported:
    point = Interval(p.value, p.value)
    return Reported(p.value, point, point, p.text, p.pointer)


def rise_of(positions: Sequence[Reported]) -> tuple[Reported, Reported] | None:
    """The first neighbours of which the second is surely larger."""
    for before, after in pairwise(positions):
        if after.span.above(before.span):
            return before, after
    return None


def fits_as(r: Readings, kind: PositionKind) -> bool | None:
    """Whether the list as one of this kind may give τ; None where τ is not known."""
    taus, target = taus_of(r), target_of(r, kind)
    if not taus:
        return None
    return r.verdict(lambda slack: meets(taus, target, slack), averaged(r)) is not Severity.ERROR


def averaged(r: Readings) -> Reported | None:
    """What says how τ and the list were averaged: τ; beside counts alone, the list, unsaid."""
    if r.length is None and r.positions:
        return r.positions[0]
    return r.length
