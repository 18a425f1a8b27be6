"""The decision rule: reproduced, refuted, inconclusive, or not testable here.

A claim is held against two ranges around its printed number, each widened by the tolerance δ
from its ends, not its middle: what an honest rounding is expected to mean (`Reported.near`)
must hold the whole 90 % interval for *reproduced* (two one-sided tests at 5 %, Schuirmann
1987, J. Pharmacokinet. Biopharm. 15:657); all that the digits allow (`Reported.span`) must lie
wholly outside the interval for *refuted*. Between them there is *inconclusive*.

Measuring stops early, so data are looked at up to five times. Each look spends an equal share
of the 5 % for false refutations: intervals of 99 % (Bonferroni over looks). At each look Holm's
procedure (Holm 1979, Scand. J. Statist. 6:65) spreads that 1 % over the claims not refuted yet.
Taken together the probability of even one false refutation is at most 5 % when pairs are
independent, however many claims there are and whichever of them stop early. Reproductions need
no correction.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from benchlint.checker.numbers import Interval, Reported, shown, shown_interval
from benchlint.reproducers.statistics import Evidence

#: How often data may be looked at, and the level of false refutations spent at each look.
MAX_LOOKS = 5
LOOK_LEVEL = 0.01

#: Confidence of the two-sided interval that must lie inside the tolerance.
REPRODUCED_CONFIDENCE = 0.90

#: No spread of the claim's own measurement widens the tolerance beyond this share.
WIDEST_TOLERANCE = 0.15

#: "The same speed" means within this share, unless the claim says otherwise.
EQUAL_TOLERANCE = 0.05


class Outcome(StrEnum):
    """What can be said of a claim after measuring."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTABLE = "not testable here"


class Quantity(StrEnum):
    """Kinds of measured numbers, by what they depend on and how well they repeat."""

    SPEED = "speed"
    SPEEDUP = "speedup"
    ACCEPTANCE = "acceptance"
    PERPLEXITY = "perplexity"
    TASK_SCORE = "task score"
    MATCH_RATE = "match rate"
    MEMORY = "memory"


#: Tolerance as a share of the number, before the claim's own error. Accepted length and rate
#: repeat within 2 to 3 % on the same prompts, perplexity within 0.1 %; engines pad memory by 5 %.
TOLERANCES = {
    Quantity.SPEED: 0.05,
    Quantity.SPEEDUP: 0.05,
    Quantity.ACCEPTANCE: 0.03,
    Quantity.PERPLEXITY: 0.001,
    Quantity.TASK_SCORE: 0.001,
    Quantity.MATCH_RATE: 0.001,
    Quantity.MEMORY: 0.05,
}


#: What an independent unit of evidence is, where it is not a round of all arms.
UNIT_NAMES = {
    Quantity.ACCEPTANCE: "prompts",
    Quantity.MATCH_RATE: "prompts",
    Quantity.PERPLEXITY: "windows",
    Quantity.MEMORY: "reading",
}


def tolerance_of(quantity: Quantity, claim_error: float = 0.0) -> float:
    """The tolerance δ as a share: the quantity's own, or 2 × the claim's standard error.

    claim_error: standard error of the claimed number as a share of it; where the report states
    none, the default coefficient of variation of such a measurement. Never above 15 %.
    """
    return min(max(TOLERANCES[quantity], 2 * abs(claim_error)), WIDEST_TOLERANCE)


# What a claim allows


@dataclass(frozen=True, slots=True)
class Zone:
    """The ranges that decide a claim, the tolerance already in them.

    expected: the whole 90 % interval must lie inside for "reproduced".
    allowed: the whole 99 % interval must lie outside for "refuted"; holds `expected`.
    tolerance: the share δ by which the printed number's ends were moved.
    logarithmic: whether both ranges are natural logarithms, as the evidence then must be.
    """

    expected: Interval
    allowed: Interval
    tolerance: float
    logarithmic: bool = False

    @property
    def sides(self) -> int:
        """2 where a value can be too low and too high, 1 for "at least", "greater" and so on."""
        return sum(map(math.isfinite, (self.allowed.low, self.allowed.high))) or 1

    def log(self) -> Zone:
        """The same zone for natural logarithms of the number."""
        expected, allowed = _logarithm(self.expected), _logarithm(self.allowed)
        return replace(self, expected=expected, allowed=allowed, logarithmic=True)


def zone_of(
    relation: str | None,
    claimed: Reported | None,
    tolerance: float,
    base: Reported | None = None,
) -> Zone:
    """The zone of a claim in the unit of its number: the ratio for claims that compare runs.

    relation: of the report's claim; None for a number of a run. claimed: the printed value; None
    for "equal", "greater", "less" and "best", which compare without one. base: the number of
    the run compared with, for "difference". "up_to" needs to be reached by one workload
    (`any_of`), "best" is "greater" against each rival (`all_of`). An order is reproduced only
    beyond equality and refuted only beyond the tolerance on the other side.
    Raises ValueError where the words need a value that is not there or cannot be.
    """
    if claimed is None:
        return _zone_without_value(relation, tolerance)
    if relation in ("percent_more", "percent_less", "difference"):
        return _around(*_as_ratio(relation, claimed, base), tolerance)
    zone = _around(claimed.near, claimed.span, tolerance)
    if relation in ("at_least", "up_to", "greater", "best"):
        return _from(zone)
    return _up_to(zone) if relation in ("at_most", "less") else zone


def _zone_without_value(relation: str | None, tolerance: float) -> Zone:
    one = Interval(1.0, 1.0)
    if relation == "equal":
        return _around(one, one, max(tolerance, EQUAL_TOLERANCE))
    zone = _around(one, one, tolerance)
    if relation in ("greater", "best"):
        return replace(_from(zone), expected=Interval(math.nextafter(1, 2), math.inf))
    if relation == "less":
        return replace(_up_to(zone), expected=Interval(-math.inf, math.nextafter(1, 0)))
    raise ValueError(f"the claim gives no value for {relation or 'its number'}")


def _as_ratio(relation: str, claimed: Reported, base: Reported | None) -> tuple[Interval, Interval]:
    """The printed percentage or difference as ratios: expected and allowed."""
    if relation == "percent_more":
        return 1 + claimed.near * 0.01, 1 + claimed.span * 0.01
    if relation == "percent_less":
        return 1 - claimed.near * 0.01, 1 - claimed.span * 0.01
    if base is None or not base.span.low > 0:
        raise ValueError("a difference needs the positive number it is added to")
    return 1 + claimed.near / base.near, 1 + claimed.span / base.span


def _around(near: Interval, span: Interval, tolerance: float) -> Zone:
    if not span.high > 0:
        raise ValueError(f"no measurement gives {shown_interval(span)}")
    return Zone(_stretched(near, tolerance), _stretched(span, tolerance), tolerance)


def _from(zone: Zone) -> Zone:
    """The zone without its upper ends."""
    expected, allowed = (Interval(i.low, math.inf) for i in (zone.expected, zone.allowed))
    return replace(zone, expected=expected, allowed=allowed)


def _up_to(zone: Zone) -> Zone:
    """The zone without its lower ends."""
    expected, allowed = (Interval(-math.inf, i.high) for i in (zone.expected, zone.allowed))
    return replace(zone, expected=expected, allowed=allowed)


def _stretched(interval: Interval, tolerance: float) -> Interval:
    """Each end moved outwards by the factor 1 + tolerance: ± ln(1 + δ) on the log scale."""
    factor = 1 + tolerance
    low = interval.low / factor if interval.low > 0 else interval.low * factor
    high = interval.high * factor if interval.high > 0 else interval.high / factor
    return Interval(low, high)


# What can be tested where

_MODEL = (
    "weights",
    "quantization",
    "drafter",
    "draft length",
    "p_min",
    "sampler",
    "chat template",
    "thinking mode",
    "prompts",
    "KV cache types",
)
_PLACE = ("device", "engine")

#: Conditions whose difference makes a number untestable, and those whose difference only keeps
#: a claim from being refuted: accepted length carries over to other devices, the cost of a step
#: does not. A draft length that a timer sets (adaptive controllers) is never known to be equal.
CONDITIONS: dict[Quantity, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Quantity.SPEED: (_MODEL + _PLACE, ()),
    Quantity.SPEEDUP: (_MODEL, _PLACE),
    Quantity.ACCEPTANCE: (_MODEL, ()),
    Quantity.PERPLEXITY: (
        ("weights", "quantization", "text"),
        ("KV cache types", "device", "engine"),
    ),
    Quantity.TASK_SCORE: (("weights", "quantization", "prompts"), ("engine",)),
    Quantity.MATCH_RATE: (_MODEL, _PLACE),
    Quantity.MEMORY: (("weights", "quantization", "KV cache types"), ("engine",)),
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """Whether a number may be tested under these conditions.

    barrier: why it is not testable here, or "". withheld: conditions not known to be equal;
    while there are any, nothing is refuted.
    """

    barrier: str
    withheld: tuple[str, ...]


def transfer(quantity: Quantity, same: Mapping[str, bool | None]) -> Transfer:
    """What the conditions allow to be tested.

    same: for each condition whether it is equal here; None or absent when not known. Prompts
    that a report does not publish are other prompts, whichever are used instead.
    """
    decisive, binding = CONDITIONS[quantity]
    other = [name for name in decisive if same.get(name) is False]
    withheld = tuple(name for name in decisive + binding if not same.get(name))
    return Transfer(f"other {', '.join(other)}" if other else "", withheld)


# Deciding


@dataclass(frozen=True, slots=True)
class Case:
    """A claim and what was measured for it.

    looks: the evidence at each look so far, in order, on the scale of `zone`.
    withheld: conditions not known to be equal. barrier: why it is not testable here, or "".
    unsteady: how far such a number moves by itself between sessions, as a share; what is refuted
    must be off by more than that beyond what the claim allows.
    """

    zone: Zone
    looks: Sequence[Evidence] = ()
    withheld: tuple[str, ...] = ()
    barrier: str = ""
    unsteady: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one claim.

    reason: one line for a reader, numbers in the claim's own unit.
    settled: whether more measuring cannot change it.
    evidence, zone: what was weighed, on one scale; no evidence before the first look.
    confidence: of the interval that decided: 0.99 when refuted or withheld, else 0.90.
    p: two-sided p-value (one-sided for one-sided claims) of the data at that look, were the
    truth at the nearest end of what the claim allows; not adjusted for looks or claims.
    look: how many looks were made up to this verdict, 0 to 5.
    """

    outcome: Outcome
    reason: str
    settled: bool
    evidence: Evidence | None = None
    zone: Zone | None = None
    confidence: float = REPRODUCED_CONFIDENCE
    p: float = 1.0
    look: int = 0

    @property
    def units(self) -> int:
        """Independent units weighed: pairs, prompts."""
        return 0 if self.evidence is None else self.evidence.units

    @property
    def value(self) -> float | None:
        """The estimate in the claim's own unit."""
        if self.evidence is None or self.zone is None:
            return None
        value = self.evidence.value
        return _exponential(value) if self.zone.logarithmic else value

    @property
    def interval(self) -> Interval | None:
        """The interval that decided, in the claim's own unit; also see `interval_at`."""
        return self.interval_at(self.confidence)

    def interval_at(self, confidence: float) -> Interval | None:
        """The interval for another confidence, in the claim's own unit."""
        if self.evidence is None or self.zone is None:
            return None
        return _natural(self.evidence.interval(confidence), self.zone)


def not_testable(reason: str) -> Verdict:
    """The verdict on a claim that nothing measured here can decide."""
    return Verdict(Outcome.NOT_TESTABLE, reason, settled=True)


def decide(cases: Mapping[str, Case]) -> dict[str, Verdict]:
    """The verdicts on a family of claims, from the evidence at all looks so far.

    A pure function of the evidence: each claim keeps the first verdict that settled it, as it
    would have been given while measuring. At most five looks count.
    """
    verdicts = {name: _before(case) for name, case in cases.items()}
    for look in range(MAX_LOOKS):
        verdicts |= _decide_at(look, cases, verdicts)
    return verdicts


def _before(case: Case) -> Verdict:
    if case.barrier:
        return not_testable(case.barrier)
    return Verdict(Outcome.INCONCLUSIVE, "too few measurements", settled=False, zone=case.zone)


def _decide_at(
    look: int, cases: Mapping[str, Case], so_far: Mapping[str, Verdict]
) -> dict[str, Verdict]:
    """New verdicts on the claims that are open and have evidence at this look."""
    family = sum(v.outcome not in (Outcome.REFUTED, Outcome.NOT_TESTABLE) for v in so_far.values())
    is_open = [n for n, c in cases.items() if not so_far[n].settled and look < len(c.looks)]
    p_values = {name: p_outside(cases[name].looks[look], cases[name].zone) for name in is_open}
    rejected = holm(p_values, LOOK_LEVEL, family)
    return {name: _weigh(cases[name], look, p_values[name], name in rejected) for name in is_open}


def p_outside(evidence: Evidence, zone: Zone) -> float:
    """The p for which the 1 - p interval just touches what the claim allows; 1 inside.

    Two-sided, or one-sided where the claim is.
    """
    return min(1.0, zone.sides * evidence.tail(zone.allowed))


def holm(p_values: Mapping[str, float], level: float, family: int) -> set[str]:
    """Names rejected by Holm's step-down procedure.

    family: how many hypotheses share `level`, at least those with a p-value here.
    """
    rejected: set[str] = set()
    for name, p in sorted(p_values.items(), key=lambda item: item[1]):
        if not p <= level / (family - len(rejected)):
            break
        rejected.add(name)
    return rejected


def _weigh(case: Case, look: int, p: float, rejected: bool) -> Verdict:
    """The verdict at one look; whether the claim is rejected was decided for all together."""
    evidence, zone = case.looks[look], case.zone
    weighed = Verdict(Outcome.INCONCLUSIVE, "", False, evidence, zone, p=p, look=look + 1)
    if rejected:
        return _rejected(replace(weighed, confidence=1 - LOOK_LEVEL), case)
    inside = _contains(zone.expected, evidence.interval(REPRODUCED_CONFIDENCE))
    if inside:
        reason = _sentence(weighed, "lies within", zone.expected)
        return replace(weighed, outcome=Outcome.REPRODUCED, reason=reason, settled=True)
    return replace(weighed, reason=_open_reason(weighed, case))


def _open_reason(weighed: Verdict, case: Case) -> str:
    """Why a claim stays open: the interval reaches over an end, or lies beyond on too little."""
    zone = case.zone
    if not _lies_outside(weighed, _natural(zone.allowed, zone)):
        return _sentence(weighed, "is not wholly within", zone.expected)
    outside = _sentence(weighed, "lies outside", zone.allowed)
    unknown = f"; nor are these known to be equal: {', '.join(case.withheld)}" * bool(case.withheld)
    return f"{outside}, on too little to refute it{unknown}"


def _lies_outside(weighed: Verdict, allowed: Interval) -> bool:
    """Whether no value of the interval that decides is allowed, both in the claim's own unit."""
    found = weighed.interval
    return found is not None and (found.low > allowed.high or found.high < allowed.low)


def _rejected(weighed: Verdict, case: Case) -> Verdict:
    """Refuted, unless outliers made the difference or a condition may differ."""
    outside = _sentence(weighed, "lies outside", case.zone.allowed)
    if not case.looks[weighed.look - 1].agrees_outside(case.zone.allowed):
        return replace(weighed, reason=f"{outside}, but the median does not: outliers decide")
    if case.withheld:
        unknown = ", ".join(case.withheld)
        reason = f"{outside}, but these are not known to be equal: {unknown}"
        return replace(weighed, reason=reason, settled=True)
    if not _beyond_unsteadiness(weighed, case):
        swing = f"{100 * case.unsteady:.0f} %"
        return replace(weighed, reason=f"{outside}, but speeds move by {swing} by themselves")
    return replace(weighed, outcome=Outcome.REFUTED, reason=outside, settled=True)


def _beyond_unsteadiness(weighed: Verdict, case: Case) -> bool:
    """Whether it is also off by more than the machines in question are unsteady."""
    allowed = _stretched(_natural(case.zone.allowed, case.zone), case.unsteady)
    return not case.unsteady or _lies_outside(weighed, allowed)


def _sentence(verdict: Verdict, relation: str, zone: Interval) -> str:
    """ "1.82 to 1.91 (90 %) lies within 1.8 to 2" """
    interval = verdict.interval
    if interval is None or verdict.zone is None or not math.isfinite(interval.high):
        return "too few measurements for an interval"
    confidence = f"{100 * verdict.confidence:.0f} %"
    bounds = _bounds(_natural(zone, verdict.zone))
    return f"{shown_interval(interval)} ({confidence}) {relation} {bounds}"


def _bounds(zone: Interval) -> str:
    if math.isinf(zone.high):
        return f"{shown(zone.low)} and more"
    return f"{shown(zone.high)} and less" if zone.low <= 0 else shown_interval(zone)


# Several verdicts for one claim

_WORST_FIRST = (Outcome.REFUTED, Outcome.NOT_TESTABLE, Outcome.INCONCLUSIVE, Outcome.REPRODUCED)
_BEST_FIRST = (Outcome.REPRODUCED, Outcome.INCONCLUSIVE, Outcome.NOT_TESTABLE, Outcome.REFUTED)


def all_of(parts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim that holds only if every part does: best among several runs."""
    return _combined(parts, _WORST_FIRST)


def any_of(parts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim that one part is enough for: "up to" over several workloads."""
    return _combined(parts, _BEST_FIRST)


def _combined(parts: Sequence[Verdict], order: Sequence[Outcome]) -> Verdict:
    if not parts:
        return not_testable("nothing to compare with")
    leading = min(parts, key=lambda part: order.index(part.outcome))
    decided = leading.outcome is order[0] or all(part.settled for part in parts)
    return replace(leading, settled=decided)


def overall(outcomes: Collection[Outcome]) -> Outcome:
    """One outcome for a whole report: refuted before inconclusive before reproduced.

    Not testable only where nothing was.
    """
    for outcome in (Outcome.REFUTED, Outcome.INCONCLUSIVE, Outcome.REPRODUCED):
        if outcome in outcomes:
            return outcome
    return Outcome.NOT_TESTABLE


# Scales


def _contains(outer: Interval, inner: Interval) -> bool:
    return outer.low <= inner.low and inner.high <= outer.high


def _logarithm(interval: Interval) -> Interval:
    low, high = (math.log(end) if end > 0 else -math.inf for end in (interval.low, interval.high))
    return Interval(low, high)


def _natural(interval: Interval, zone: Zone) -> Interval:
    if not zone.logarithmic:
        return interval
    return Interval(_exponential(interval.low), _exponential(interval.high))


def _exponential(value: float) -> float:
    return math.exp(value) if value < math.log(sys.float_info.max) else math.inf
