"""What a claim says: its relation as a quantity that must lie in a set of allowed values.

This is the one place where relations have a meaning.

| relation | quantity | allowed |
|---|---|---|
| ratio | of / to, a factor | value |
| percent_more | (of / to - 1) · 100 | value |
| percent_less | (1 - of / to) · 100 | value |
| difference | of - to | value |
| equal | of / to, or of alone | within 5 % of 1, or of value |
| greater, less | of - to, or of alone | above or below 0, or value |
| at_least, up_to | of / to, or of alone | value and above |
| at_most | of / to, or of alone | value and below |
| best | of - the best other, the other way round where lower is better | 0 and above |

"2 times faster" in a text may mean a factor of 2 or of 3; in the field, `ratio` is the factor.
With `to`, at_least, at_most and up_to are factors; without it they are in the metric's unit.
`equal` with `to` takes `value` as the tolerance in percent. `greater` and `less` with `to` say
nothing of how much: a `value` beside them is not looked at.

All numbers are intervals (see numbers.py). Beside the stated meaning there are the readings an
honest author may have had in mind, and a claim is contradicted only when none of them holds:

- inverted: of a time, "2 times" and "30 % more" may be meant of the speed (to / of);
- scaled: a percentage written as a share of 1 or the other way round;
- unsigned: a difference, or a percentage less, of which only the size was written down;
- spread: with each number anywhere in the range, samples or standard deviation it states, and
  with or without each answer's first token in the speed (llama-server counted it through
  0.3.31);
- per_run: the mean or median of per-run ratios, which need not be the ratio of the means;
- other_run: `up_to` holds when any run reaches it over the same baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from benchlint.checker.facts import SHARES, ClaimFacts, QualityFacts, RunFacts, metric
from benchlint.checker.lazy import cached_property
from benchlint.checker.metrics import (
    higher_is_better,
    known_metrics,
    quality_higher_is_better,
)
from benchlint.checker.model import Machine, MeasuredObject, Relation, Target
from benchlint.checker.noise import extent
from benchlint.checker.numbers import EVERYTHING, Interval, Reported, shown, shown_interval

Kind = Literal[
    "stated", "inverted", "scaled", "unsigned", "spread", "per_run", "other_run", "equal_ratio"
]
Subject = RunFacts | QualityFacts

#: `equal` means within this share unless the claim says otherwise.
EQUAL_WITHIN = 0.05

#: How far a mean or median of per-run ratios may lie from the ratio of the printed numbers:
#: where repeats are stated, and where the claim itself says that it is one.
PER_RUN_SLACK = 0.05
PER_RUN_STATED_SLACK = 0.15

#: Over four times the ratio of the printed numbers no mean of per-run ratios explains a factor:
#: half the prompts at 15 times, about all that K = 15 gives, and half at 1.0 have a mean of 8
#: and a quotient of 1.9.
NO_MEAN = 4.0

#: What counting the first token of each answer adds where there are no others: anything.
_NO_OTHER_TOKENS = 1e9

#: Relations whose quantity needs a second number, and those that need a value.
QUOTIENTS = frozenset({"ratio", "percent_more", "percent_less"})
_NEED_TO = QUOTIENTS | {"difference"}
_NEED_VALUE = _NEED_TO | {"at_least", "at_most", "up_to"}
_NEED_EITHER = frozenset({"equal", "greater", "less"})
_BOUNDS = frozenset({"at_least", "at_most", "up_to"})

_UNBOUNDED = float("inf")


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is computed from the numbers of `of` and `to`, and how that is written down."""

    compute: Callable[[Interval, Interval], Interval]
    text: str
    unit: str = ""

    def __call__(self, of: Interval | float, to: Interval | float = 1.0) -> Interval:
        """The quantity as an interval; the whole line where `to` may be zero."""
        return self.compute(Interval.of(of), Interval.of(to))


RATIO = Quantity(lambda of, to: of / to, "{of} / {to}")
PERCENT_MORE = Quantity(lambda of, to: (of / to - 1) * 100, "({of} / {to} - 1) · 100", " %")
PERCENT_LESS = Quantity(lambda of, to: (1 - of / to) * 100, "(1 - {of} / {to}) · 100", " %")
DIFFERENCE = Quantity(lambda of, to: of - to, "{of} - {to}")
ALONE = Quantity(lambda of, _: of, "{of}")

#: Quantities that can be worked out for each run and then averaged.
_PER_RUN = (RATIO, PERCENT_MORE, PERCENT_LESS)

_WITH_TO = {
    "ratio": RATIO,
    "percent_more": PERCENT_MORE,
    "percent_less": PERCENT_LESS,
    "equal": RATIO,
    "at_least": RATIO,
    "at_most": RATIO,
    "up_to": RATIO,
}


def quantity_of(relation: Relation, *, with_to: bool) -> Quantity:
    """The quantity that a relation is about, with or without a second number."""
    if with_to:
        return _WITH_TO.get(relation, DIFFERENCE)
    return DIFFERENCE if relation == "best" else ALONE


def allowed_values(
    relation: Relation, value: Reported | Interval | None, *, with_to: bool
) -> Interval:
    """The values of the quantity under which the claim is true."""
    span = value.span if isinstance(value, Reported) else value
    if relation == "best" or (with_to and relation in ("greater", "less")):
        span = Interval(0.0, 0.0)
    elif relation == "equal":
        return _equal(span, with_to=with_to)
    if span is None:
        return EVERYTHING
    if relation in ("at_least", "up_to", "greater", "best"):
        return Interval(span.low, _UNBOUNDED)
    if relation in ("at_most", "less"):
        return Interval(-_UNBOUNDED, span.high)
    return span


def _equal(value: Interval | None, *, with_to: bool) -> Interval:
    if not with_to:
        return EVERYTHING if value is None else value.widened(EQUAL_WITHIN)
    tolerance = EQUAL_WITHIN if value is None else _tolerance(value)
    return Interval(1 / (1 + tolerance), 1 + tolerance)


def _tolerance(percent: Interval) -> float:
    """A tolerance written in percent as a share. Under 0.2 it may have been a share itself."""
    if percent.middle < 0.2:
        return max(percent.high, 0.0)
    return percent.high / 100


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to take a claim. It holds when some value of the quantity is allowed."""

    kind: Kind
    quantity: Interval
    allowed: Interval

    @property
    def holds(self) -> bool:
        """Whether the printed numbers leave room for the claim under this reading."""
        return self.quantity.meets(self.allowed)


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a claim cannot be tested.

    help: what to write instead; empty where another finding says so.
    said: another finding says so already (a name that refers to nothing, a misfit).
    """

    at: str
    reason: str
    related: tuple[tuple[str, str], ...] = ()
    help: str = ""
    said: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A run or quality row that a claim is also about, with its number."""

    subject: Subject
    number: Reported


@dataclass(frozen=True)
class Statement:
    """A claim whose numbers were found.

    of, to: the numbers compared; `of` is the best one where an `up_to` names no run.
    others: what `best` is among, and the other runs that an `up_to` may rest on.
    """

    claim: ClaimFacts
    relation: Relation
    subject: Subject
    of: Reported
    to_subject: Subject | None
    to: Reported | None
    value: Reported | None
    others: tuple[Other, ...]

    @cached_property
    def quantity(self) -> Quantity:
        """What the claim's relation is about."""
        return quantity_of(self.relation, with_to=self.to is not None)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The ways to take the claim, the stated meaning first; empty with nothing to test."""
        return tuple(_readings(self))

    @cached_property
    def holds_as(self) -> Kind | None:
        """The first reading under which the claim holds, or None."""
        # Nearly every claim holds as stated, so the others are not worked out in advance.
        return next((r.kind for r in _readings(self) if r.holds), None)

    @property
    def contradicted(self) -> bool:
        """Whether no reading of the claim agrees with the numbers it names."""
        return self.holds_as is None and bool(self.readings)

    @property
    def rival(self) -> Other | None:
        """What a `best` has to beat: the best of the others."""
        return _best_other(self)

    @property
    def arithmetic(self) -> str:
        """The quantity worked out from the digits as printed: "80.87 / 17.98 = 4.498"."""
        return _arithmetic(self)


# --- finding the numbers -----------------------------------------------------------------------


def statement_of(claim: ClaimFacts) -> Statement | Gap:
    """What a claim states about its numbers, or why that cannot be told."""
    gap = _unnamed(claim) or _unusable(claim) or _unbounded(claim)
    if gap is not None:
        return gap
    relation = cast("Relation", claim.model.relation)
    subject = claim.of if claim.of is not None else _best_run(claim)
    of = claim.metric_of(subject)
    if subject is None or of is None:
        return _no_number(claim, "of", subject)
    return _with_second(claim, relation, subject, of)


def _with_second(
    claim: ClaimFacts, relation: Relation, subject: Subject, of: Reported
) -> Statement | Gap:
    to = claim.metric_of(claim.to) if relation != "best" else None
    if claim.to is not None and to is None and relation != "best":
        return _no_number(claim, "to", claim.to)
    others = tuple(_others(claim, relation, subject))
    if relation == "best" and claim.model.among and not others:
        return _none_among(claim)
    return Statement(
        claim, relation, subject, of, claim.to if to else None, to, claim.value, others
    )


def _unnamed(claim: ClaimFacts) -> Gap | None:
    """What the claim itself leaves out."""
    model = claim.model
    if model.relation is None:
        reason = "has no relation, so that nothing in it can be tested"
        return Gap(claim.pointer, reason, help=_add_relation(claim))
    if model.of is None and model.relation != "up_to":
        return Gap(claim.pointer, "does not name the run it is about (of)", help=_ADD_OF)
    if model.relation in _NEED_TO and model.to is None and not _is_ratio_itself(claim):
        reason = f"says {model.relation} and does not name to what (to)"
        return Gap(claim.pointer, reason, help=_ADD_TO)
    if model.relation in _NEED_VALUE and claim.value is None:
        reason = f"says {model.relation} and gives no value"
        return Gap(claim.pointer, reason, help=_add_value(claim, model.relation))
    if model.relation in _NEED_EITHER and model.to is None and claim.value is None:
        reason = f"says {model.relation} and names neither a run (to) nor a value"
        return Gap(claim.pointer, reason, help=_ADD_EITHER)
    return None


_ADD_OF = "add 'of', the id of the run or quality row it is about"
_ADD_TO = "add 'to', the id of the run or quality row it compares with"
_ADD_EITHER = f"{_ADD_TO}, or 'value' in the unit of the metric"
_ADD_METRIC = "add 'metric', the path of a number in these runs, such as decode.tok_s"
_OR_LEAVE_OUT = "or leave the claim out"


def _add_relation(claim: ClaimFacts) -> str:
    """What to add to a sentence, which is the relation and perhaps all that belongs to it."""
    model = claim.model
    absent = ["'relation'"]
    if model.of is None:
        absent.append("'of'")
    if model.metric is None and not isinstance(claim.of, QualityFacts):
        absent.append("'metric'")
    if model.to is None and claim.value is None:
        absent.append("'to' or 'value'")
    return f"add {', '.join(absent)}; relation is one of {', '.join(get_args(Relation))}"


def _add_value(claim: ClaimFacts, relation: Relation) -> str:
    quantity = quantity_of(relation, with_to=claim.model.to is not None)
    if quantity is ALONE:
        return "add 'value' in the unit of the metric"
    return f"add 'value', which is {quantity.text.format(of='of', to='to')}{quantity.unit}"


def _is_ratio_itself(claim: ClaimFacts) -> bool:
    """A stated speed-up is a ratio already, so that a second run is not needed."""
    return claim.model.relation == "ratio" and claim.model.metric == "speedup"


def _unusable(claim: ClaimFacts) -> Gap | None:
    """What is wrong with the runs and rows that the claim names."""
    model = claim.model
    for field, name, subject in (("of", model.of, claim.of), ("to", model.to, claim.to)):
        if name is not None and subject is None:
            return Gap(claim.at(field), f"names {name!r}, which does not exist", said=True)
        if isinstance(subject, RunFacts) and subject.model.void is not None:
            return _void(claim.at(field), subject)
    if model.among and not claim.among:
        return Gap(claim.at("among"), "names a run that does not exist", said=True)
    return _unfit_metric(claim)


def _void(at: str, run: RunFacts) -> Gap:
    related = ((run.at("void"), "withdrawn here"),)
    hint = f"name a run that was not withdrawn, {_OR_LEAVE_OUT}"
    return Gap(at, f"rests on {run}, which was withdrawn", related, hint)


def _unbounded(claim: ClaimFacts) -> Gap | None:
    """A claim about all runs, of which there are too many to ask them for each claim."""
    about_all = claim.model.relation in ("best", "up_to") and not claim.model.among
    if about_all and claim.report.runs and not claim.report.comparable_runs:
        return Gap(claim.pointer, "is about more runs than are compared", said=True)
    return None


def _unfit_metric(claim: ClaimFacts) -> Gap | None:
    path = claim.model.metric
    pair = (claim.of, claim.to)
    if any(isinstance(s, QualityFacts) for s in pair):
        if any(isinstance(s, RunFacts) for s in pair):
            hint = "compare two runs, or two quality rows"
            return Gap(claim.pointer, "compares a run with a quality row", help=hint)
        return _unlike_rows(claim)
    if path is None:
        return Gap(claim.pointer, "names no metric", help=_ADD_METRIC)
    if path.removesuffix(".value") not in known_metrics():
        reason = f"names a metric {path!r}, which no run can have"
        return Gap(claim.at("metric"), reason, help=_nearest_metric(path))
    return None


def _nearest_metric(path: str) -> str:
    import difflib  # not needed by an honest report

    names = known_metrics()
    last = [n for n in names if n.rpartition(".")[2] == path.rpartition(".")[2]]
    close = last or difflib.get_close_matches(path[:80], names, n=1)
    if close:
        return f"did you mean {' or '.join(map(repr, close[:3]))}?"
    return "a metric is the path of a number in a run, such as decode.tok_s"


def _unlike_rows(claim: ClaimFacts) -> Gap | None:
    of, to = claim.of, claim.to
    if not isinstance(of, QualityFacts) or not isinstance(to, QualityFacts):
        return None
    names = (of.model.metric, to.model.metric)
    if None in names or names[0] == names[1]:
        return None
    reason = f"compares {names[0]!r} with {names[1]!r}"
    return Gap(claim.pointer, reason, help="compare two rows of one metric")


def _no_number(claim: ClaimFacts, field: str, subject: Subject | None) -> Gap:
    if subject is None:
        return _in_no_run(claim)
    said = _may_be_misfit(claim, subject)
    if isinstance(subject, QualityFacts):
        hint = f"give 'value' in {subject}, {_OR_LEAVE_OUT}"
        return Gap(claim.at(field), f"rests on {subject}, which has no value", (), hint, said)
    metric = claim.model.metric
    reason = f"rests on {metric} of {subject}, which is not given"
    hint = f"give {metric} in {subject}, or name a metric that it gives"
    return Gap(claim.at(field), reason, ((subject.pointer, str(subject)),), hint, said)


def _in_no_run(claim: ClaimFacts) -> Gap:
    metric = claim.model.metric
    hint = f"give {metric} in the run that reaches it, {_OR_LEAVE_OUT}"
    said = any(_may_be_misfit(claim, run) for run in claim.report.runs)
    return Gap(claim.at("metric"), f"is about {metric}, which no run has", (), hint, said)


def _none_among(claim: ClaimFacts) -> Gap:
    reason = "none of the runs it is said to be best among has the metric"
    said = any(_may_be_misfit(claim, each) for each in claim.among)
    hint = "give it in those runs, or name a metric that they give"
    return Gap(claim.at("among"), reason, (), hint, said)


def _may_be_misfit(claim: ClaimFacts, subject: Subject) -> bool:
    """Whether the number that a subject does not give may be a member that does not fit."""
    is_row = isinstance(subject, QualityFacts)
    path = "value" if is_row else claim.model.metric or ""
    return claim.report.may_be_misfit(subject.pointer, *path.split("."))


def _best_run(claim: ClaimFacts) -> RunFacts | None:
    """The run with the largest number, for an `up_to` that names none."""
    path = claim.model.metric or ""
    numbers = [(metric(run, path), run) for run in claim.report.runs]
    found = [(number.value, -run.index, run) for number, run in numbers if number is not None]
    return max(found, default=(0.0, 0, None), key=lambda each: each[:2])[2]


def _others(claim: ClaimFacts, relation: Relation, subject: Subject) -> Iterator[Other]:
    if relation not in ("best", "up_to"):
        return
    for other in _candidates(claim, relation, subject):
        number = claim.metric_of(other)
        if other is not subject and number is not None:
            yield Other(other, number)


def _candidates(claim: ClaimFacts, relation: Relation, subject: Subject) -> Sequence[Subject]:
    if isinstance(subject, QualityFacts):
        return [c for c in claim.among if isinstance(c, QualityFacts)]
    runs = claim.report.runs
    if relation == "up_to":
        return [r for r in runs if r is not claim.to]
    if claim.model.among:
        return [c for c in claim.among if isinstance(c, RunFacts) and c.model.void is None]
    return [r for r in runs if r is not subject and comparable(subject, r)]


def comparable(a: RunFacts, b: RunFacts) -> bool:
    """Whether two runs state the same workload, conditions, hardware and model.

    What neither states counts as the same.
    """
    return (
        a.model.workload == b.model.workload
        and a.concurrency == b.concurrency
        and _value(a.filled_tokens) == _value(b.filled_tokens)
        and _machine(a) == _machine(b)
        and _target_name(a) == _target_name(b)
    )


def _value(number: Reported | None) -> float | None:
    return None if number is None else number.value


def _machine(run: RunFacts) -> Machine | None:
    placed = run.configuration.machine
    return None if placed is None else placed.model


def _target_name(run: RunFacts) -> str | None:
    placed = run.configuration.target
    target: Target | None = None if placed is None else placed.model
    return None if target is None else target.name


# --- readings ----------------------------------------------------------------------------------


def _readings(s: Statement) -> Iterator[Reading]:
    if s.relation == "best":
        yield from _readings_of_best(s)
        return
    allowed = allowed_values(s.relation, s.value, with_to=s.to is not None)
    of, to = s.of.span, _span(s.to)
    yield Reading("stated", s.quantity(of, to), allowed)
    yield from _inverted(s, allowed)
    yield from _scaled(s, allowed)
    yield from _unsigned(s)
    yield from _equal_ratio(s)
    yield from _spread(s, allowed)
    yield from _per_run(s, allowed)
    yield from _other_runs(s, allowed)


def _span(number: Reported | None) -> Interval:
    return Interval(1.0, 1.0) if number is None else number.span


def _lower_is_better(s: Statement) -> bool:
    if isinstance(s.subject, QualityFacts):
        return quality_higher_is_better(s.subject) is False
    return higher_is_better(s.claim.model.metric or "") is False


def _inverted(s: Statement, allowed: Interval) -> Iterator[Reading]:
    gains = ("ratio", "percent_more", *_BOUNDS)
    if s.to is not None and s.relation in gains and _lower_is_better(s):
        yield Reading("inverted", s.quantity(s.to.span, s.of.span), allowed)


def _scaled(s: Statement, allowed: Interval) -> Iterator[Reading]:
    """A percentage as a share, and a share (or points of one) as a percentage."""
    if s.value is None:
        return
    quantity = s.quantity(s.of.span, _span(s.to))
    if s.relation in ("percent_more", "percent_less") and abs(s.value.value) < 1:
        yield Reading("scaled", quantity * 0.01, allowed)
    if s.claim.model.metric in SHARES and s.quantity in (ALONE, DIFFERENCE):
        yield Reading("scaled", quantity * 100, allowed)


def _unsigned(s: Statement) -> Iterator[Reading]:
    if s.value is None or s.relation not in ("difference", "percent_less"):
        return
    quantity = s.quantity(s.of.span, _span(s.to))
    if s.relation == "difference" or s.value.value < 0:
        yield Reading("unsigned", quantity * -1, s.value.span)


def _equal_ratio(s: Statement) -> Iterator[Reading]:
    """`equal` with a value of about 1 may mean the ratio rather than a tolerance of 1 %."""
    if s.relation != "equal" or s.to is None or s.value is None:
        return
    if s.value.near.meets(1.0):
        allowed = allowed_values("equal", None, with_to=True)
        yield Reading("equal_ratio", RATIO(s.of.span, s.to.span), allowed)


def _spread(s: Statement, allowed: Interval) -> Iterator[Reading]:
    of = _extent(s.of, s, s.subject)
    to = _span(None) if s.to is None else _extent(s.to, s, s.to_subject)
    if of != s.of.span or to != _span(s.to):
        yield Reading("spread", s.quantity(of, to), allowed)


def _extent(number: Reported, s: Statement, subject: Subject | None) -> Interval:
    """Where the number may lie. The single runs say nothing of a ratio of pooled figures.

    "Up to" is said of single runs, whatever the figure beside them.
    """
    of_sums = s.quantity in _PER_RUN and s.relation != "up_to"
    pooled = of_sums and number.estimator == "pooled"
    wide = number.span if pooled else extent(number)
    if isinstance(subject, RunFacts) and s.claim.model.metric == "decode.tok_s":
        wide = wide.widened(_first_token_share(subject))
    return wide


def _first_token_share(run: RunFacts) -> float:
    """What counting each answer's first token adds to a speed: requests / (tokens - requests).

    0 where the tokens are not stated.
    """
    tokens = run.decode_tokens or run.count("output_tokens")
    if tokens is None:
        return 0.0
    requests = _requests(run)
    rest = tokens.value - requests
    return requests / rest if rest > 0 else _NO_OTHER_TOKENS


def _requests(run: RunFacts) -> float:
    counted = run.count("requests")
    if counted is not None:
        return counted.value
    prompts = None if run.workload is None else run.workload.model.prompt_count
    return float(prompts or 1)


def _per_run(s: Statement, allowed: Interval) -> Iterator[Reading]:
    if s.quantity not in _PER_RUN or s.to is None:
        return
    slack = _per_run_slack(s)
    if slack:
        of = _extent(s.of, s, s.subject).widened(slack)
        to = _extent(s.to, s, s.to_subject)
        yield Reading("per_run", s.quantity(of, to), allowed)


def _per_run_slack(s: Statement) -> float:
    if s.value is not None and s.value.estimator in ("mean", "median"):
        return PER_RUN_STATED_SLACK
    pairs = ((s.of, s.subject), (s.to, s.to_subject))
    return PER_RUN_SLACK if any(_repeated(*pair) for pair in pairs) else 0.0


def _repeated(number: Reported | None, subject: Subject | None) -> bool:
    """Whether a number sums up several measurements, so that per-run ratios may exist."""
    if number is None or number.estimator == "pooled":
        return False
    if number.estimator is not None or (number.detail is not None and _many(number.detail)):
        return True
    conditions = subject.model.conditions if isinstance(subject, RunFacts) else None
    return conditions is not None and (conditions.repeats or 0) > 1


def _many(detail: MeasuredObject) -> bool:
    return (detail.repeats or 0) > 1


def _other_runs(s: Statement, allowed: Interval) -> Iterator[Reading]:
    if s.relation != "up_to":
        return
    to = _span(s.to)
    for other in s.others:
        wide = extent(other.number)
        yield Reading("other_run", s.quantity(wide, to), allowed)
        if s.to is not None and _lower_is_better(s):
            yield Reading("other_run", s.quantity(to, wide), allowed)


def _readings_of_best(s: Statement) -> Iterator[Reading]:
    """Against every other at once: the quantity is the smallest lead over any of them."""
    higher = _direction(s)
    if not s.others:
        return
    for sign in (1.0, -1.0) if higher is None else (1.0 if higher else -1.0,):
        for kind, of, others in _numbers_of_best(s):
            leads = [(of - other) * sign for other in others]
            lead = Interval(min(each.low for each in leads), min(each.high for each in leads))
            yield Reading(kind, lead, Interval(0.0, _UNBOUNDED))


def _numbers_of_best(s: Statement) -> Iterator[tuple[Kind, Interval, list[Interval]]]:
    yield "stated", s.of.span, [o.number.span for o in s.others]
    yield (
        "spread",
        _extent(s.of, s, s.subject),
        [_extent(o.number, s, o.subject) for o in s.others],
    )


def _direction(s: Statement) -> bool | None:
    if isinstance(s.subject, QualityFacts):
        return quality_higher_is_better(s.subject)
    return higher_is_better(s.claim.model.metric or "")


def _best_other(s: Statement) -> Other | None:
    if s.relation != "best" or not s.others:
        return None
    pick = min if _direction(s) is False else max
    return pick(s.others, key=lambda o: o.number.value)


# --- in words ----------------------------------------------------------------------------------


def _arithmetic(s: Statement) -> str:
    rival = s.rival
    if rival is not None:
        return _ordered(s.of, rival.number)
    if s.quantity is DIFFERENCE and s.relation != "difference" and s.to is not None:
        return _ordered(s.of, s.to)
    if s.quantity is ALONE:
        return str(s.of)
    return worked_out(s.quantity, s.of, s.to)


def _ordered(of: Reported, to: Reported) -> str:
    sign = "<" if of.span.below(to.span) else ">" if of.span.above(to.span) else "≈"
    return f"{of} {sign} {to}"


def worked_out(quantity: Quantity, of: Reported, to: Reported | None) -> str:
    """The quantity of two printed numbers, with what their rounding leaves open."""
    text = quantity.text.format(of=_bracketed(of), to="" if to is None else _bracketed(to))
    span = quantity(of.span, _span(to))
    point = quantity(of.value, 1.0 if to is None else to.value)
    if span == EVERYTHING or point == EVERYTHING:
        return f"{text}, which may be a division by zero"
    if of.from_range or (to is not None and to.from_range):
        return f"{text} = {shown_interval(span)}{quantity.unit}"
    exact = shown(point.low)
    range_ = shown_interval(span)
    open_ = "" if range_ == exact else f" (rounding leaves {range_})"
    return f"{text} = {exact}{quantity.unit}{open_}"


def _bracketed(number: Reported) -> str:
    text = str(number)
    return f"({text})" if number.from_range or text.startswith("-") else text


def likely_slip(s: Statement) -> str:
    """What an author whose value does not fit may have done, or "" when nothing fits.

    Names a percentage taken from the wrong end: b is 17 % more than a, but a is 14.5 % less
    than b.
    """
    if s.to is None or s.value is None or s.quantity is ALONE:
        return ""
    claimed = s.value.span
    for text, quantity in _slips(s):
        if quantity.meets(claimed) and quantity != EVERYTHING:
            return text
    return ""


def _slips(s: Statement) -> Iterator[tuple[str, Interval]]:
    of, to = s.of, cast("Reported", s.to)
    a, b = of.span, to.span
    if s.relation == "percent_more":
        less = worked_out(PERCENT_LESS, to, of)
        yield (f"taken from the wrong end: {less} is how much less `to` is", PERCENT_LESS(b, a))
        yield ("`of` is that much less, not more", PERCENT_LESS(a, b))
        yield ("`of` and `to` are the wrong way round", PERCENT_MORE(b, a))
        yield ("100 % is the whole of `to`: take 100 from the value", RATIO(a, b) * 100)
    elif s.relation == "percent_less":
        more = worked_out(PERCENT_MORE, to, of)
        yield (f"taken from the wrong end: {more} is how much more `to` is", PERCENT_MORE(b, a))
        yield ("`of` is that much more, not less", PERCENT_MORE(a, b))
        yield ("`of` and `to` are the wrong way round", PERCENT_LESS(b, a))
        yield ("that is what is left, not what is taken away", RATIO(a, b) * 100)
    elif s.quantity is RATIO and s.relation != "equal":
        yield ("`of` and `to` are the wrong way round", RATIO(b, a))
        yield ("n times more is a factor of n + 1; state the factor", RATIO(a, b) - 1)
        factor = shown(of.value / to.value) if to.value else "of / to"
        yield (f"looks like the percentage more; the factor is {factor}", PERCENT_MORE(a, b))
        yield (f"looks like a percentage; the factor is {factor}", RATIO(a, b) * 100)
