"""Shares of 1 in a report, and those that were written as percentages.

A number over 1 in a field of shares is a percentage where it makes sense as one: at least 2,
so that it is no share with a slip in counting (1.15), or less where the rest of its list shows
it, and at most 100.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.numbers import Interval, Reported, printed, shown, unit_of_last_digit
from benchlint.checker.pointers import pointer as make_pointer

#: The smallest number over 1 that is taken for a percentage by itself.
LEAST_PERCENT = 2.0

#: Up to this an acceptance rate over 1 may be tokens per step: more is hardly ever accepted.
MOST_LENGTH = 17.0


@dataclass(frozen=True, slots=True)
class PercentSlip:
    """A percentage in a field of shares. `pointer` is that of the list where all of it is.

    may_be_length: it may as well be an accepted length, which is not given elsewhere.
    """

    pointer: str
    subject: str
    what: str
    text: str
    mended: str
    may_be_length: bool = False


def is_percent(value: float) -> bool:
    """Whether a number in a field of shares is a percentage."""
    return LEAST_PERCENT <= value <= 100


def percent_slips(report: ReportFacts) -> Iterator[PercentSlip]:
    """Every percentage that stands for a share, once a number or list."""
    for run in report.runs:
        yield from _of_run(run)
    for name, workload in (report.model.workloads or {}).items():
        if isinstance(workload.mix, dict) and mix_in_percent(workload.mix):
            at = make_pointer("workloads", name)
            text = ", ".join(f"{k} {printed(v)}" for k, v in workload.mix.items())
            mended = ", ".join(f"{k} {shown(v / 100)}" for k, v in workload.mix.items())
            yield PercentSlip(f"{at}/mix", at, "mix", text, mended)


def _of_run(run: RunFacts) -> Iterator[PercentSlip]:
    if run.model.speculation is not None:
        yield from _of_rate(run)
        positions = run.positions
        if positions_in_percent(positions):
            at = run.at("speculation", "per_position", "values")
            text = ", ".join(str(p) for p in positions)
            mended = ", ".join(shown(p.value / 100) for p in positions)
            yield PercentSlip(at, run.pointer, "acceptance by position", text, mended)
    if run.model.losslessness is not None:
        yield from _of_number(run, run.number("losslessness", "match_rate"), "match rate")


def _of_rate(run: RunFacts) -> Iterator[PercentSlip]:
    may_be_length = run.accepted_length is None
    for slip in _of_number(run, run.acceptance_rate, "acceptance rate"):
        small = run.acceptance_rate is not None and run.acceptance_rate.value <= MOST_LENGTH
        yield replace(slip, may_be_length=may_be_length and small)


def _of_number(run: RunFacts, number: Reported | None, what: str) -> Iterator[PercentSlip]:
    if number is not None and is_percent(number.value):
        mended = shown(number.value / 100, 6)
        yield PercentSlip(number.pointer, run.pointer, what, str(number), mended)


def positions_in_percent(positions: tuple[Reported, ...]) -> bool:
    """Whether a per-position list is in percent: some of it is over 1, and nothing over 100."""
    values = [p.value for p in positions]
    return bool(values) and is_percent(max(values)) and min(values) >= 0


def mix_in_percent(mix: Mapping[str, float]) -> bool:
    """Whether a mix sums up to 100 within the rounding of each share."""
    return bool(mix) and min(mix.values()) >= 0 and sum_of(mix, share=False).meets(100.0)


def sum_of(mix: Mapping[str, float], *, share: bool = True) -> Interval:
    """The sum of a mix with a unit of the last digit of each share."""
    total = Interval(0.0, 0.0)
    for value in mix.values():
        unit = unit_of_last_digit(value, share=share)
        unit = min(unit, 1.0)  # trailing zeros of 60 % count
        total += Interval.around(float(value), unit)
    return total
