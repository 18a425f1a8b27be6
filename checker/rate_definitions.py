"""An acceptance rate against accepted length and draft length, under every definition left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlint.checker.definitions import (
    RATE_SLACK,
    Definition,
    LengthReading,
    RateReading,
    infer_definition,
    rate_from_tau,
    rate_range,
)
from benchlint.checker.finding import Severity
from benchlint.checker.length_checks import INFINITE, taus_of
from benchlint.checker.numbers import Interval, Reported
from benchlint.checker.readings import Readings, tau_of_positions

#: What a last draft that is cut short adds to accepted over drafted: one in twenty.
LAST_DRAFT = 0.05


@dataclass(frozen=True, slots=True)
class RateOption:
    """One definition of a rate, with the values that τ and K allow it."""

    reading: RateReading
    expected: Interval


def rate_options(r: Readings, slack: float = 0.0) -> list[RateOption]:
    """What the rate can be under each pair of readings and each K that is left.

    slack: the share by which τ may be off.
    """
    ks: Sequence[int | None] = r.k_values
    if not ks and set(r.rates) == {RateReading.OUTPUT}:
        ks = (None,)
    if not r.k_is_a_cap:
        return []
    return [
        RateOption(reading, _expected_rate(r, (reading, counted), tau.clamped(1, _top(k)), k))
        for k in ks
        for counted, tau in _taus_for_rate(r, slack)
        if tau.meets(Interval(1, _top(k)))
        for reading in r.rates
        if not slack or reading is not RateReading.ROOT
    ]


def _top(k: int | None) -> float:
    return INFINITE if k is None else k + 1.0


def _taus_for_rate(r: Readings, slack: float) -> list[tuple[LengthReading, Interval]]:
    """τ as printed or counted; else the positions' sum, which it is at least."""
    taus = taus_of(r)
    if taus or not r.positions:
        return [(reading, tau.widened(slack)) for reading, tau in taus]
    sums = [tau_of_positions(r.positions, kind) for kind in r.kinds]
    return [(LengthReading.PER_STEP, Interval(s.low, INFINITE)) for s in sums]


def _expected_rate(
    r: Readings, pair: tuple[RateReading, LengthReading], tau: Interval, k: int | None
) -> Interval:
    reading, counted = pair
    if reading is RateReading.FIRST and r.positions:
        return r.positions[0].span
    if reading is RateReading.OUTPUT and counted is LengthReading.PER_PASS and r.length:
        tau = r.length.span.clamped(1, _top(k))  # both hold the plain passes
    found = rate_range(reading, tau, k or 1, plain_passes=r.plain_passes)
    if reading is RateReading.DRAFTED and r.full_drafts and r.rates != (reading,):
        return Interval(found.low, rate_from_tau(tau.high, k or 1) * (1 + LAST_DRAFT))
    if reading is RateReading.OUTPUT:
        # The first token comes from prefill, and the end of the text may cut a draft.
        cut = _cut_share(r, k)
        return Interval(found.low * 0.9, found.high * (1 + cut))
    return found


def _cut_share(r: Readings, k: int | None) -> float:
    output = r.run.count("output_tokens")
    if output is None or output.value <= 0 or k is None:
        return 0.05
    return (r.requests or 1) * (k + 1) / output.value


def rate_verdict(r: Readings, rate: Reported, options: Sequence[RateOption]) -> Severity | None:
    """How severe it is that none of the definitions left gives the rate; None where one does."""
    wide = rate.span.widened(RATE_SLACK)

    def fits(slack: float) -> bool:
        left = rate_options(r, slack) if slack else options
        return any(wide.meets(option.expected) for option in left)

    return r.verdict(fits, r.length, rate)


def definition_of_others(r: Readings, rate: Reported, length: Reported) -> Definition | None:
    """The definition of another engine that gives a rate which its own engine's do not."""
    if not r.other_rates or rate_verdict(r, rate, rate_options(r)) is None:
        return None
    found = fitting_definition(r, (rate, length), r.other_rates)
    return found if found is not None and found.factor == 1 else None


def fitting_definition(
    r: Readings, numbers: tuple[Reported, Reported], rates: Sequence[RateReading]
) -> Definition | None:
    """The definition under which rate and length agree as well as rounding lets them."""
    rate, length = numbers
    bonus = 1 if r.run.counts_bonus_token is False else 0
    first = r.positions[0].near if r.positions and r.kinds[0] == "cumulative" else None
    lengths = [LengthReading.PER_STEP]
    if r.bonus_unsaid:
        lengths.append(LengthReading.DRAFTS_ONLY)
    shorter = r.run.configuration.fixed_k is False and r.prints_drafted
    for k in r.k_values:
        # Drafts of changing length give any rate above the bound.
        bound = rate_from_tau(length.span.low + bonus, k)
        above = rate.span.high * 1.01 >= bound
        if shorter and above:
            return None
        printed_pair = (rate.near.widened(0.005), length.near + bonus)
        widest_pair = (rate.span, length.span + bonus)
        for printed_rate, tau in (printed_pair,) if above else (printed_pair, widest_pair):
            found = infer_definition(
                printed_rate, tau, k, first=first, rates=rates, lengths=lengths
            )
            if found is not None:
                return found
    return None
