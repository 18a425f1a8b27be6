"""Reported numbers: what the printed digits allow, as intervals.

A printed number is not a point. For an accusation it is taken one whole unit of its last
digit either way, because people truncate as often as they round; for what is merely expected,
half a unit. Trailing zeros of a whole number that is not a count are not significant, counts
are exact, and `approx` adds 5 %. (Source: the GRIM test, Brown and Heathers 2017, applied to
benchmark tables.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from benchlint.checker.model import Measured, MeasuredObject
from benchlint.checker.tree import Digits

#: Relative slack for binary floating point: no printed digit is finer than this.
FLOAT_SLACK = 1e-9

#: What the word "about" allows on top of the digits.
APPROX = 0.05

#: Whole numbers in a field of shares (0, 1) are taken to two decimals.
SHARE_UNIT = 0.01


# Intervals and numbers are made by the hundred for each report, and a frozen dataclass takes
# three times as long to make. Nobody changes them all the same.


@final
@dataclass(slots=True, unsafe_hash=True)
class Interval:
    """A closed range of values, low ≤ high, with the arithmetic that keeps every possibility.

    An end may be infinite, which says that there is no bound on that side. Ends are never NaN,
    with which no comparison holds and hence every one accuses: zero times no bound is zero, and
    no bound less no bound is none.
    """

    low: float
    high: float

    @staticmethod
    def around(value: float, slack: float) -> Interval:
        """`value` give or take `slack` (both in the same unit)."""
        return Interval(value - slack, value + slack)

    @staticmethod
    def of(value: Interval | float) -> Interval:
        """A plain number as the interval that holds only it."""
        return value if isinstance(value, Interval) else Interval(value, value)

    def __add__(self, other: Interval | float) -> Interval:
        o = other if type(other) is Interval else Interval(other, other)
        return _sum(self.low + o.low, self.high + o.high)

    __radd__ = __add__

    def __sub__(self, other: Interval | float) -> Interval:
        o = other if type(other) is Interval else Interval(other, other)
        return _sum(self.low - o.high, self.high - o.low)

    def __rsub__(self, other: float) -> Interval:
        return _sum(other - self.high, other - self.low)

    def __mul__(self, other: Interval | float) -> Interval:
        o = other if type(other) is Interval else Interval(other, other)
        if self.low > 0 < o.low:  # nearly always
            return Interval(self.low * o.low, self.high * o.high)
        return _hull(self.low * o.low, self.low * o.high, self.high * o.low, self.high * o.high)

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | float) -> Interval:
        """Quotient; the whole line when the divisor may be zero."""
        o = other if type(other) is Interval else Interval(other, other)
        if not (o.low > 0 or o.high < 0):
            return EVERYTHING
        if self.low >= 0 and 0 < o.low <= o.high < _INFINITE:  # nearly always
            return Interval(self.low / o.high, self.high / o.low)
        return _hull(self.low / o.low, self.low / o.high, self.high / o.low, self.high / o.high)

    def __rtruediv__(self, other: float) -> Interval:
        return Interval(other, other) / self

    def widened(self, share: float) -> Interval:
        """Each end moved outwards by `share` of its own size; no bound stays none."""
        if share == 0:
            return self
        return _sum(self.low - abs(self.low) * share, self.high + abs(self.high) * share)

    def clamped(self, low: float = float("-inf"), high: float = float("inf")) -> Interval:
        """The part between `low` and `high`; the nearest end when there is none."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))

    def below(self, other: Interval | float) -> bool:
        """Every value here is smaller than every value there, beyond float slack."""
        o = other if type(other) is Interval else Interval(other, other)
        return _is_below(self, o)

    def above(self, other: Interval | float) -> bool:
        """Every value here is larger than every value there, beyond float slack."""
        o = other if type(other) is Interval else Interval(other, other)
        return _is_below(o, self)

    def meets(self, other: Interval | float) -> bool:
        """Some value is in both, within float slack."""
        o = other if type(other) is Interval else Interval(other, other)
        return not _is_below(self, o) and not _is_below(o, self)

    @property
    def middle(self) -> float:
        """The arithmetic middle; 0 where there is no bound on either side."""
        return (self.low + self.high) / 2 if self.low != -self.high else 0.0


def _sum(low: float, high: float) -> Interval:
    """The interval of two ends, where NaN (no bound less no bound) says that there is none."""
    if low == low and high == high:  # nearly always
        return Interval(low, high)
    return Interval(-_INFINITE if low != low else low, _INFINITE if high != high else high)


def _hull(*values: float) -> Interval:
    """The least interval with all values, where NaN is zero times, or in, no bound: zero."""
    if any(value != value for value in values):
        values = tuple(0.0 if value != value else value for value in values)
    return Interval(min(values), max(values))


_INFINITE = float("inf")
EVERYTHING = Interval(-_INFINITE, _INFINITE)


def _is_below(a: Interval, b: Interval) -> bool:
    return a.high < b.low and a.high < b.low - _slack(a.high, b.low)


def _slack(a: float, b: float) -> float:
    return FLOAT_SLACK * max(abs(a), abs(b), FLOAT_SLACK) if abs(a) + abs(b) < 1e300 else 0.0


@dataclass(slots=True, unsafe_hash=True)
class Reported:
    """A number as a report states it.

    value: the printed value; the middle where only a range was given.
    span: what an accusation must respect (one unit of the last digit, `approx`, range ends).
    near: what is expected of an honest rounding (half a unit).
    text: the digits as printed, for messages.
    pointer: where it stands.
    detail: the object form it was written in, with stdev, samples and so on, or None.
    from_range: only a range was given; it is judged by its ends.
    """

    value: float
    span: Interval
    near: Interval
    text: str
    pointer: str
    detail: MeasuredObject | None = None
    from_range: bool = False

    def __str__(self) -> str:
        return self.text

    @property
    def estimator(self) -> str | None:
        """pooled, mean or median where the report says, else None."""
        return None if self.detail is None else self.detail.estimator

    @property
    def approx(self) -> bool:
        """Whether the report calls the number approximate."""
        return self.detail is not None and bool(self.detail.approx)


def printed(number: float) -> str:
    """The digits of `number` as they stand in the file, where it came from one."""
    return getattr(number, "text", None) or str(number)


def unit_of_last_digit(number: float, *, count: bool = False, share: bool = False) -> float:
    """One unit of the last significant printed digit, in the number's own unit.

    0 for counts. For a whole number that is not a count trailing zeros do not count: 2000
    gives 1000, 2050 gives 10. For whole numbers in a field of shares, 0.01.
    """
    if count:
        return 0.0
    text: str | None = getattr(number, "text", None)
    if text is None and isinstance(number, int):
        return SHARE_UNIT if share else _unit_of_whole(number)
    return _unit_of_text(text or repr(number))


def _unit_of_whole(number: int) -> float:
    unit = 1
    rest = abs(number)
    while rest and rest % 10 == 0:
        rest //= 10
        unit *= 10
    return float(unit)


#: One unit by the number of decimals: of most numbers that is all there is to know.
_UNITS = tuple(10.0**-decimals for decimals in range(20))


def _unit_of_text(text: str) -> float:
    fraction = text.partition(".")[2]
    if fraction.isdecimal() and len(fraction) < len(_UNITS):
        return _UNITS[len(fraction)]
    mantissa, _, exponent = text.lower().replace("_", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    try:
        return float(10.0 ** ((int(exponent) if exponent else 0) - decimals))
    except (OverflowError, ValueError):
        return 0.0


def reported(
    measured: Measured | None, pointer: str, *, count: bool = False, share: bool = False
) -> Reported | None:
    """The interval form of a measured field; None when it is absent or holds no usable value.

    count: whole numbers that were counted, hence exact. share: a fraction of 1.
    """
    if measured is None:
        return None
    if type(measured) is Digits and not count:
        return _from_digits(measured, pointer)
    if type(measured) is int and count:
        return _from_count(measured, pointer)
    if isinstance(measured, (int, float)):
        return _from_number(measured, pointer, measured, None, count=count, share=share)
    return _from_object(measured, pointer, count=count, share=share)


def _from_digits(number: Digits, pointer: str) -> Reported:
    """The same as `_from_number`, without its questions: what nearly all numbers are."""
    text = number.text
    value, span, near = _known_ends(text) if len(text) <= _LONGEST_KNOWN else _ends(text)
    return Reported(value, span, near, text, pointer)


def _from_count(number: int, pointer: str) -> Reported:
    """The same for what was counted, which is exact."""
    value = float(number)
    exact = Interval(value, value)
    return Reported(value, exact, exact, str(number), pointer)


def _ends(text: str) -> tuple[float, Interval, Interval]:
    """The value of printed digits, within a whole unit of the last, and within half of one."""
    value, fraction = float(text), text.partition(".")[2]
    plain = fraction.isdecimal() and len(fraction) < len(_UNITS)
    unit = _UNITS[len(fraction)] if plain else _unit_of_text(text)
    half = unit / 2
    return value, Interval(value - unit, value + unit), Interval(value - half, value + half)


#: Most numbers have few digits, and reports share them.
_known_ends = lru_cache(maxsize=4_096)(_ends)
_LONGEST_KNOWN = 24


def _from_number(
    number: float,
    pointer: str,
    shown: float,
    detail: MeasuredObject | None,
    *,
    count: bool,
    share: bool,
) -> Reported:
    value = float(number)
    unit = 0.0 if count else unit_of_last_digit(number, share=share)
    span = Interval(value - unit, value + unit)
    near = Interval(value - unit / 2, value + unit / 2) if unit else span
    if detail is not None and detail.approx:
        slack = abs(value) * APPROX
        span = Interval(span.low - slack, span.high + slack)
        near = Interval(near.low - slack, near.high + slack)
    return Reported(value, span, near, printed(shown), pointer, detail)


def _from_object(
    measured: MeasuredObject, pointer: str, *, count: bool, share: bool
) -> Reported | None:
    if measured.value is not None:
        at = f"{pointer}/value"
        number = measured.value
        return _from_number(number, at, number, measured, count=count, share=share)
    ends = measured.range or measured.samples
    if not ends:
        return None
    at = f"{pointer}/range" if measured.range else f"{pointer}/samples"
    return _from_ends(ends, at, measured, share=share)


def _from_ends(
    ends: Sequence[float], pointer: str, measured: MeasuredObject, *, share: bool
) -> Reported:
    low, high = min(ends), max(ends)
    low_unit = unit_of_last_digit(low, share=share)
    high_unit = unit_of_last_digit(high, share=share)
    span = Interval(low - low_unit, high + high_unit)
    near = Interval(low - low_unit / 2, high + high_unit / 2)
    if measured.approx:
        span, near = span.widened(APPROX), near.widened(APPROX)
    text = f"{printed(low)} to {printed(high)}"
    return Reported(near.middle, span, near, text, pointer, measured, from_range=True)


def shown(value: float, digits: int = 4) -> str:
    """A computed value for a message: `digits` significant digits, no exponent where avoidable."""
    if value == 0 or abs(value) >= 1e15:
        return f"{value:g}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text


def shown_interval(interval: Interval, digits: int = 4) -> str:
    """A computed interval for a message, as "low to high", or one number when they print alike."""
    low, high = shown(interval.low, digits), shown(interval.high, digits)
    return low if low == high else f"{low} to {high}"
