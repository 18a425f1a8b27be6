"""An acceptance rate against accepted length and draft length, under every definition left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlint.checker.definitions import (
    MOST_DRAFTED,
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
        RateOption(reading, _expected_rate(r, reading, tau, k))
        for k in ks
        for counted, found in _taus_for_rate(r, slack)
        if found.meets(Interval(1, _top(k)))
        for reading in r.rates
        if not slack or reading is not RateReading.ROOT
        for tau in (_tau_behind(r, (reading, counted), found, slack).clamped(1, _top(k)),)
    ]


def _tau_behind(
    r: Readings, pair: tuple[RateReading, LengthReading], tau: Interval, slack: float
) -> Interval:
    """τ, or tokens per pass where rate and length both hold the passes without a draft."""
    reading, counted = pair
    if reading is not RateReading.OUTPUT or r.length is None:
        return tau
    if counted is LengthReading.PER_PASS:
        return r.length.span.widened(slack)
    return (r.length.span + 1).widened(slack) if counted is LengthReading.DRAFTS_ONLY else tau


def _top(k: int | None) -> float:
    return INFINITE if k is None else k + 1.0


def _taus_for_rate(r: Readings, slack: float) -> list[tuple[LengthReading, Interval]]:
    """τ as printed or counted; else the positions' sum, which it is at least."""
    taus = taus_of(r)
    if taus or not r.positions:
        return [(reading, tau.widened(slack)) for reading, tau in taus]
    sums = [tau_of_positions(r.positions, kind) for kind in r.kinds]
    return [(LengthReading.PER_STEP, Interval(s.low, INFINITE).widened(slack)) for s in sums]


def _expected_rate(r: Readings, reading: RateReading, tau: Interval, k: int | None) -> Interval:
    if reading is RateReading.FIRST and r.positions:
        return r.positions[0].span
    if reading is RateReading.OUTPUT:
        return _expected_share(r, tau, k)
    found = rate_range(reading, tau, k or 1, plain_passes=r.plain_passes)
    if reading is RateReading.DRAFTED and r.full_drafts and r.rates != (reading,):
        return Interval(found.low, rate_from_tau(tau.high, k or 1) * (1 + LAST_DRAFT))
    return found


def _expected_share(r: Readings, tau: Interval, k: int | None) -> Interval:
    """Share of the output from drafts: its first token is prefill's, and of its last pass there
    may have been no room for a draft; or its end may cut one.
    """
    found = rate_range(RateReading.OUTPUT, tau, k or 1, plain_passes=r.plain_passes)
    output, requests = _output_of_requests(r)
    if not output:
        # A request of one step has 1 + τ tokens.
        return Interval(found.low * tau.low / (tau.low + 1), found.high * (1 + LAST_DRAFT))
    first = min(2 * requests / output, 1.0)
    most = requests * ((MOST_DRAFTED if k is None else k) + 1)
    return Interval(found.low * (1 - first), found.high * (1 + most / output))


def output_is_known(r: Readings) -> bool:
    """Whether it is known how much of the output first tokens and cut drafts can be."""
    return _output_of_requests(r)[0] > 0


def _output_of_requests(r: Readings) -> tuple[float, float]:
    """Output tokens and the requests they are of; 0 where one is not known."""
    output = r.run.count("output_tokens") or (r.run.decode_tokens if r.single else None)
    if output is None or output.value <= 0 or not r.requests:
        return 0.0, 0.0
    return output.value, r.requests


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
