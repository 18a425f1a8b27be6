"""BL601 to BL605: what a report claims against what its own runs say.

What each relation means is said in one place, `checker.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from benchlint.checker.claims import (
    ALONE,
    NO_MEAN,
    QUOTIENTS,
    RATIO,
    Gap,
    Statement,
    likely_slip,
)
from benchlint.checker.facts import ClaimFacts, ConfigurationFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.metrics import block_of, drafter_moves, is_speed
from benchlint.checker.missing import is_misfit
from benchlint.checker.model import Device, Relation, Workload
from benchlint.checker.noise import SPECULATIVE_CV, Noise, noise_of, of_difference
from benchlint.checker.numbers import Reported, printed, shown
from benchlint.checker.registry import Problem, rule
from benchlint.checker.tables import device

_Related = list[tuple[Reported | str, str]]

# --- BL601 -----------------------------------------------------------------------------------

#: How each relation is said in a message, with the claimed value where there is one.
_SAYS: dict[Relation, str] = {
    "ratio": "a factor of {value}",
    "percent_more": "{value} % more",
    "percent_less": "{value} % less",
    "difference": "a difference of {value}",
    "equal": "equal",
    "greater": "greater",
    "less": "less",
    "at_least": "at least {value}",
    "at_most": "at most {value}",
    "up_to": "up to {value}",
    "best": "best",
}
_THAN = {"equal": "to", "greater": "than", "less": "than"}


@rule("BL601", "claim-contradicted", Severity.ERROR, "claim")
def claim_contradicted(claim: ClaimFacts) -> Iterator[Problem]:
    """A claim that the report's own numbers contradict in value, order or sign.

    What it does:
        Works out what the claim says from the runs or quality rows it names: a ratio is of/to,
        percent_more is (of/to - 1) · 100, percent_less (1 - of/to) · 100; at_least, at_most
        and up_to are ratios where `to` is named, else values; `equal` means within 5 %. Every
        number counts with a unit of its last digit and 5 % where it is approximate. It is an
        error only when no reading fits: a gain of a time may be meant of the speed, a ratio of
        repeated runs may be a median of ratios, `up_to` may be reached by another run over the
        same baseline, and two numbers whose ranges touch have no order. A percentage written
        as a share of 1 is a warning, and so is a factor that is said to be a mean or median of
        ratios, within four times the quotient. So is an `up_to` that no run reaches where a
        single prompt or repeat may: where a run has, or may have, several and gives no range.
    Why it matters:
        The claim is what is quoted. When the table says something else, one of them is wrong
        and nobody can tell which.
    Example:
        "DFlash2 accepts more per step than MTP", with τ 3.92 for DFlash2 and 4.82 for MTP.
    Instead:
        A claim that follows from the numbers, worked out from the end it is said of: 58.5 is
        17 % more than 50, but 50 is 14.5 % less than 58.5.
    Sources:
        `statcheck` and the GRIM test, on tables of benchmarks; the field report
        "Qwen3.8-27B の投機デコード" whose conclusion turns its table round.
    """
    statement = claim.statement
    if isinstance(statement, Gap):
        return
    if statement.contradicted:
        yield _contradiction(statement)
    elif statement.holds_as == "scaled" and statement.relation in QUOTIENTS:
        yield _share_for_percent(statement)


def _contradiction(s: Statement) -> Problem:
    return Problem(
        _place(s),
        f"{s.claim} says {_said(s)}, but {_but(s)}",
        related=_named(s),
        help=likely_slip(s) or _advice(s),
        severity=Severity.WARNING if _may_be_of_a_prompt(s) or _is_a_mean_of_ratios(s) else None,
    )


def _is_a_mean_of_ratios(s: Statement) -> bool:
    """Whether it is said to be a mean or median of ratios, within four times the quotient."""
    if s.value is None or s.value.estimator not in ("mean", "median") or s.to is None:
        return False
    if s.relation not in QUOTIENTS or s.of.span.low <= 0 or s.to.span.low <= 0:
        return False
    factor = RATIO(s.of.span, s.to.span)
    claimed = {
        "ratio": s.value.span,
        "percent_more": s.value.span / 100 + 1,
        "percent_less": 1 - s.value.span / 100,
    }[s.relation]
    return not claimed.above(factor * NO_MEAN) and not claimed.below(factor / NO_MEAN)


def _may_be_of_a_prompt(s: Statement) -> bool:
    """Whether "up to" may be said of the best prompt or repeat, which no number here shows."""
    if s.relation != "up_to":
        return False
    numbers = [(s.of, s.subject), (s.to, s.to_subject)]
    numbers += [(each.number, each.subject) for each in s.others]
    return any(
        isinstance(subject, RunFacts)
        and number is not None
        and not subject.readings.single
        and (number.detail is None or not (number.detail.range or number.detail.samples))
        for number, subject in numbers
    )


def _said(s: Statement) -> str:
    said = _SAYS[s.relation].format(value=s.value)
    if s.quantity is not ALONE or s.relation not in _THAN:
        return said
    return f"{said} {_THAN[s.relation]} {s.value}"


def _but(s: Statement) -> str:
    name = s.claim.model.metric or "the value"
    if s.relation == "best":
        rival = s.rival
        return f"{name} is {s.arithmetic}" + ("" if rival is None else f" of {rival.subject}")
    if s.relation == "up_to":
        unless = "; unless one prompt or repeat does" if _may_be_of_a_prompt(s) else ""
        return f"no run reaches it: {s.arithmetic}{unless}"
    if s.quantity is ALONE:
        return f"{name} of {s.subject} is {s.of}"
    return s.arithmetic


def _advice(s: Statement) -> str:
    if s.relation == "up_to" and _may_be_of_a_prompt(s):
        return "give the range or the samples that reach it, or say what the runs give"
    if s.relation in ("greater", "less", "best"):
        return "correct the order, or the numbers"
    return "state what the numbers give, or correct the numbers"


def _place(s: Statement) -> str | Reported:
    return s.claim.at("relation") if s.value is None else s.value


def _named(s: Statement) -> _Related:
    related: _Related = [(s.of, str(s.subject))]
    if s.to is not None:
        related.append((s.to, str(s.to_subject)))
    if s.rival is not None:
        related.append((s.rival.number, str(s.rival.subject)))
    return related


def _share_for_percent(s: Statement) -> Problem:
    return Problem(
        _place(s),
        f"{s.claim} says {s.value} %, which is a share of 1: {s.arithmetic}",
        related=_named(s),
        help=f"{s.relation} is in percent",
        severity=Severity.WARNING,
    )


# --- BL602 -----------------------------------------------------------------------------------


@rule("BL602", "claim-without-data", Severity.WARNING, "claim")
def claim_without_data(claim: ClaimFacts) -> Iterator[Problem]:
    """A claim that nothing in the report can bear out or refute.

    What it does:
        Asks of every claim that it names a relation, the run it is about, a metric that runs
        have and that these runs give, and, where the relation needs them, a second run and a
        value. A withdrawn run (`void`) is no data. Names of runs that do not exist are BL006.
        Of a claim with a member that does not fit the format only that is told (BL004, BL005),
        and so it is where the number may be such a member of the run.
    Why it matters:
        A claim that cannot be tested is an opinion, and it is quoted like the others.
    Example:
        `{"text": "twice as fast", "of": "dflash-code", "relation": "ratio", "value": 2.0}`
    Instead:
        `{"text": "twice as fast", "metric": "decode.tok_s", "of": "dflash-code",
        "relation": "ratio", "to": "plain-code", "value": 2.0}`
    Sources:
        The report format, version 1 (`benchlint schema`); `benchlint.checker.claims`.
    """
    found = claim.statement
    if isinstance(found, Gap) and not found.said and not is_misfit(claim.report, claim.pointer):
        yield Problem(
            found.at,
            f"{claim} {found.reason}",
            related=found.related,
            help=found.help,
        )


# --- BL603 -----------------------------------------------------------------------------------

#: Relations that assert a difference between two runs.
_DIFFER = frozenset(
    {"ratio", "percent_more", "percent_less", "difference", "greater", "less", "at_least", "best"}
)

#: Stated noise counts twice, an assumed one once: an author may know the machine to be steadier.
STATED_FACTOR = 2.0
ASSUMED_FACTOR = 1.0

#: Numbers further apart than this are not within any noise that is assumed.
_MOST_ASSUMED = ASSUMED_FACTOR * math.hypot(SPECULATIVE_CV, SPECULATIVE_CV)


@rule(
    "BL603",
    "claim-within-noise",
    Severity.WARNING,
    "claim",
    yields_to=["BL601"],
    needs=["relation"],
)
def claim_within_noise(claim: ClaimFacts) -> Iterator[Problem]:
    """A claimed difference that is smaller than what repeats of one run show.

    What it does:
        Compares the two numbers of a claim that says they differ. Where both state a spread
        (stdev, samples, range), the difference should be over twice their standard error, or
        over twice that of the claimed ratio itself where it has a spread of its own: pairs that
        ran in turn tell more than two series.
        Where one does not, only what is under a single standard error is reported, and the
        assumed spread of one measurement of a speed is 3 % with speculation, 1 % without,
        less by the square root of the repeats. Metrics that are neither a speed nor stated
        with their spread are left alone.
    Why it matters:
        The same speculative run differs by 3 % from one time to the next at the same
        acceptance, by over 10 % across restarts. A gain of 2 % of one run over one run is not
        a gain.
    Example:
        "MTP is faster": 59.2 against 58.5 tok/s, one run each.
    Instead:
        "on a par", or at least five pairs of runs in turn with `samples` or `stdev`.
    Sources:
        ollama#18541 (106.9 to 115.2 tok/s at one acceptance); kekzl/imp#1011 (11 % across
        restarts with speculation, 0.5 % without); vllm#53436.
    """
    if claim.model.relation not in _DIFFER:
        return
    statement = claim.statement
    if isinstance(statement, Gap) or _asserts_nothing(statement):
        return
    of, other, subject = statement.of, statement.to, statement.to_subject
    if statement.rival is not None:
        other, subject = statement.rival.number, statement.rival.subject
    if other is None or of.value <= 0 or other.value <= 0:
        return
    if isinstance(statement.subject, RunFacts) and isinstance(subject, RunFacts):
        yield from _within(statement, other, statement.subject, subject)


def _asserts_nothing(s: Statement) -> bool:
    """Whether the claimed value is that of no difference."""
    if s.value is None or s.relation in ("greater", "less", "best"):
        return False
    if s.relation == "at_least" and s.value.value <= 1:
        return True
    none = 1.0 if s.relation in ("ratio", "at_least") else 0.0
    return s.value.near.meets(none)


def _within(s: Statement, other: Reported, a: RunFacts, b: RunFacts) -> Iterator[Problem]:
    apart = abs(math.log(s.of.value) - math.log(other.value))
    if apart > _MOST_ASSUMED and s.of.detail is other.detail is None:
        return
    path = s.claim.model.metric or ""
    noise = _noise(s.of, a, path), _noise(other, b, path)
    if noise[0] is None or noise[1] is None:
        return
    own = _noise_of_ratio(s, a, path)
    stated = own is not None or (noise[0].stated and noise[1].stated)
    both = of_difference(noise[0], noise[1]) if own is None else own.share
    limit = both * (STATED_FACTOR if stated else ASSUMED_FACTOR)
    if apart >= limit:
        return
    yield Problem(
        _place(s),
        f"{s.claim} says {_SAYS[s.relation].format(value=s.value)}, but {s.of} and {other} are"
        f" {_percent(apart)} apart, {_limit(stated=stated, limit=limit)}",
        related=[(s.of, str(a)), (other, str(b))],
        help="say that they are on a par, or repeat both arms in turn and state the samples",
    )


def _noise_of_ratio(s: Statement, run: RunFacts, path: str) -> Noise | None:
    """That of the claimed ratio, where its own spread is stated."""
    if s.relation != "ratio" or s.value is None:
        return None
    noise = noise_of(s.value, run, path)
    return noise if noise is not None and noise.stated else None


def _noise(number: Reported, run: RunFacts, path: str) -> Noise | None:
    """As stated, else the default of speeds where it is known whether a drafter ran."""
    noise = noise_of(number, run, path)
    if noise is None or noise.stated:
        return noise
    known = run.speculates is not None or not drafter_moves(path)
    return noise if known and is_speed(path) else None


def _limit(*, stated: bool, limit: float) -> str:
    if stated:
        return f"less than twice the standard error they state ({_percent(limit)})"
    return f"less than the {_percent(limit)} by which repeats of such runs often differ"


def _percent(share: float) -> str:
    return f"{shown(share * 100, 2)} %"


# --- BL604 and BL605 -------------------------------------------------------------------------

#: Blocks whose numbers belong to the machine, and those that belong to the workload.
_OF_MACHINE = frozenset(
    {"prefill", "decode", "throughput", "step_time_ms", "speedup", "memory", "power"}
)
_OF_WORKLOAD = frozenset(
    {"prefill", "decode", "throughput", "step_time_ms", "speedup", "speculation", "losslessness"}
)


@rule("BL604", "claim-crosses-hardware", Severity.WARNING, "claim", needs=["metric"])
def claim_crosses_hardware(claim: ClaimFacts) -> Iterator[Problem]:
    """A comparison of arms with and without a drafter that ran on different hardware.

    What it does:
        Looks at claims about speed, memory or power whose runs differ in speculation (one has
        a drafter and the other has none, or another drafter, or another K) and state
        different devices, counts of devices or power limits. Comparing the same setup on two
        machines is not reported.
    Why it matters:
        The gain of the drafter and that of the hardware cannot be told apart.
    Example:
        "DFlash is 3.1 times as fast": 80.87 tok/s on an RTX 5090, the baseline on an RTX 4090.
    Instead:
        Both arms on one machine, and the machines compared by the same arm.
    Sources:
        What transfers between machines and what does not: accepted length does, tokens per
        second, step time and the best K do not (SafeAILab/EAGLE#209).
    """
    if block_of(claim.model.metric or "") not in _OF_MACHINE:
        return
    for field, other in _compared_with(claim):
        found = _unlike_machines(claim.of, other)
        if found is not None:
            yield _crossing(claim, field, found)
            return


def _compared_with(claim: ClaimFacts) -> Iterator[tuple[str, RunFacts]]:
    """The runs that a claim's own run is compared with, and the field that names them."""
    if isinstance(claim.to, RunFacts) and claim.model.relation != "best":
        yield "to", claim.to
    for other in claim.among if claim.model.relation == "best" else ():
        if isinstance(other, RunFacts) and other is not claim.of:
            yield "among", other


def _unlike_machines(of: object, to: RunFacts) -> tuple[RunFacts, RunFacts, str, str] | None:
    if not isinstance(of, RunFacts) or of.configuration is to.configuration:
        return None
    a, b = _devices(of), _devices(to)
    if not a or not b or a is b or not _speculation_differs(of, to) or not _unlike(a, b):
        return None
    return of, to, _listed(a), _listed(b)


def _devices(run: RunFacts) -> Sequence[Device]:
    machine = run.configuration.machine
    return () if machine is None else machine.model.devices or ()


def _unlike(a: Sequence[Device], b: Sequence[Device]) -> bool:
    """Whether both sides state something of their devices and state it differently."""
    if len(a) != len(b):
        return True
    return any(_unlike_devices(*pair) for pair in zip(a, b, strict=True))


def _unlike_devices(a: Device, b: Device) -> bool:
    if a.name is not None and b.name is not None and not _same_part(a, b):
        return True
    pairs = ((a.count, b.count), (a.power_limit_w, b.power_limit_w))
    return any(x is not None and y is not None and x != y for x, y in pairs)


def _same_part(a: Device, b: Device) -> bool:
    names = [" ".join((d.name or "").casefold().split()) for d in (a, b)]
    if names[0] == names[1]:
        return True
    rows = device(a.name, a.memory_gb), device(b.name, b.memory_gb)
    return rows[0] is not None and rows[0] == rows[1]


def _listed(devices: Sequence[Device]) -> str:
    return " and ".join(map(_label, devices))


def _label(device: Device) -> str:
    count = "" if device.count is None else f"{device.count} × "
    limit = "" if device.power_limit_w is None else f" at {printed(device.power_limit_w)} W"
    return f"{count}{device.name or 'a device'}{limit}"


def _speculation_differs(a: RunFacts, b: RunFacts) -> bool:
    if a.speculates is None or b.speculates is None:
        return False
    return a.speculates is not b.speculates or _drafting(a.configuration) != _drafting(
        b.configuration
    )


def _drafting(configuration: ConfigurationFacts) -> object:
    k = configuration.k
    return [d.model for d in configuration.drafters], None if k is None else k.value


def _crossing(claim: ClaimFacts, field: str, found: tuple[RunFacts, RunFacts, str, str]) -> Problem:
    of, to, here, there = found
    return Problem(
        claim.at(field),
        f"{claim} compares {of} on {here} with {to} on {there}, and their drafting differs too",
        related=[(_machine_at(of), str(of)), (_machine_at(to), str(to))],
        help="compare arms on one machine; compare machines by the same arm",
    )


def _machine_at(run: RunFacts) -> str:
    machine = run.configuration.machine
    return run.pointer if machine is None else machine.at("devices")


@rule("BL605", "claim-crosses-workloads", Severity.WARNING, "claim", needs=["metric"])
def claim_crosses_workloads(claim: ClaimFacts) -> Iterator[Problem]:
    """A comparison of two configurations that ran different workloads.

    What it does:
        Looks at claims about speed, acceptance or matching output whose two runs have
        different configurations and also different workloads, or of which one pools several
        runs and the other is a single workload. Comparing one configuration on two workloads
        is not reported.
    Why it matters:
        The workload alone moves speculative decoding by a factor of two. A task's speed-up
        over another task's baseline, or over a global figure, is no speed-up: one was quoted
        as 1.94 where the same prompts gave 0.67.
    Example:
        "1.94 times": 61.64 tok/s on code with a drafter over 31.73 tok/s on prose without.
    Instead:
        The baseline on the same prompts, task by task, and the pooled ratio of pooled runs.
    Sources:
        hemingkx/Spec-Bench Leaderboard.md (summarization at 2.66 times under a global τ of
        1.75: per-task figures and global ones do not mix).
    """
    if block_of(claim.model.metric or "") not in _OF_WORKLOAD:
        return
    for field, other in _compared_with(claim):
        if isinstance(claim.of, RunFacts) and _crosses(claim.of, other):
            yield _crossed_workloads(claim, field, claim.of, other)
            return


def _crosses(of: RunFacts, to: RunFacts) -> bool:
    if of.model.configuration is None or to.model.configuration is None:
        return False
    if of.model.configuration == to.model.configuration:
        return False
    a, b = _workload(of), _workload(to)
    if a is not None and b is not None:
        return of.model.workload != to.model.workload and not _same_content(a, b)
    return _pooled_against_single(of, to) or _pooled_against_single(to, of)


def _same_content(a: Workload, b: Workload) -> bool:
    return a == b and bool(a.model_fields_set)


def _workload(run: RunFacts) -> Workload | None:
    return None if run.workload is None else run.workload.model


def _pooled_against_single(pooled: RunFacts, single: RunFacts) -> bool:
    """Whether one run pools several workloads and the other is on one of its own."""
    if not pooled.parts or single.model.parts or single.model.workload is None:
        return False
    workloads = {part.model.workload for part in pooled.parts}
    return pooled.model.workload is None and workloads != {single.model.workload}


def _crossed_workloads(claim: ClaimFacts, field: str, of: RunFacts, to: RunFacts) -> Problem:
    return Problem(
        claim.at(field),
        f"{claim} compares {of} on {_workload_name(of)} with {to} on {_workload_name(to)}",
        related=[(_workload_at(of), str(of)), (_workload_at(to), str(to))],
        help="measure both configurations on the same prompts",
    )


def _workload_name(run: RunFacts) -> str:
    name = run.model.workload
    return f"workload {name!r}" if name is not None else f"{len(run.parts)} pooled runs"


def _workload_at(run: RunFacts) -> str:
    return run.at("workload") if run.model.workload is not None else run.at("parts")
