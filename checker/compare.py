"""What changed between two reports of the same bench.

Runs are matched by id, quality rows and claims by id or else by what they are about. A number
has moved when its printed digits exclude that it is the same and the change is more than twice
the noise of both: the noise the reports state, else the default of `noise`. Findings are matched
by code and by the id of their subject, so that a run put in between moves nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from benchlint.checker.claims import Statement
from benchlint.checker.facts import ClaimFacts, Placed, QualityFacts, ReportFacts, RunFacts, metric
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.metrics import (
    block_of,
    higher_is_better,
    is_perplexity,
    known_metrics,
    quality_higher_is_better,
)
from benchlint.checker.model import Block
from benchlint.checker.noise import Noise, noise_of, of_difference
from benchlint.checker.numbers import Reported, printed
from benchlint.checker.pointers import split

Direction = Literal["better", "worse", "changed"]

#: How many times the noise of both numbers a change must exceed.
NOISE_FACTOR = 2.0

#: What counts as the same where no noise is known, as a share: readings of a power meter,
#: matching outputs, a perplexity of the same text on other kernels.
POWER_SHARE = 0.06
MATCH_SHARE = 0.01
PERPLEXITY_SHARE = 0.002

#: The logarithm of the largest double, about.
_LARGEST_LOG = 700.0

#: Numbers that say how large a run was, not how it went.
_SIZES = frozenset(
    {
        "tokens",
        "seconds",
        "n",
        "first_divergence",
        "device_total_mib",
        "device_total_gib",
        "completed_requests",
    }
)


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number that moved beyond noise.

    subject: the run's id, or what the quality row is about. old, new: as printed.
    change: new/old - 1, None where old is 0. limit: the change that noise explains, a share.
    errors: codes of the errors of the new report that rest on the new number, so that it is
    nothing to be glad of.
    """

    subject: str
    metric: str
    old: str
    new: str
    old_value: float
    new_value: float
    change: float | None
    limit: float
    direction: Direction
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A condition or setting that differs, in these runs. None: not stated."""

    name: str
    old: str | None
    new: str | None
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim whose value differs."""

    claim: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding that only one of the reports has. subject: by id, "" for the whole report."""

    code: str
    name: str
    severity: Severity
    message: str
    subject: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that changed from the old report to the new one.

    runs_compared, rows_compared: how many runs and quality rows both reports have.
    contradicted: claims that the new report's numbers contradict and the old one's did not, or
    did not make.
    """

    numbers: tuple[NumberChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    runs_compared: int = 0
    rows_compared: int = 0
    runs_added: tuple[str, ...] = ()
    runs_removed: tuple[str, ...] = ()
    claims_added: tuple[str, ...] = ()
    claims_removed: tuple[str, ...] = ()
    claims_changed: tuple[ClaimChange, ...] = ()
    contradicted: tuple[str, ...] = ()
    findings_new: tuple[FindingChange, ...] = ()
    findings_gone: tuple[FindingChange, ...] = ()

    def moved(self, direction: Direction) -> tuple[NumberChange, ...]:
        """Numbers that moved beyond noise in one direction."""
        return tuple(n for n in self.numbers if n.direction == direction)

    @property
    def new_errors(self) -> tuple[FindingChange, ...]:
        """Errors that the old report did not have."""
        return tuple(f for f in self.findings_new if f.severity is Severity.ERROR)

    @property
    def regressions(self) -> bool:
        """Whether a number got worse beyond noise, a claim is contradicted or an error is new."""
        return bool(self.moved("worse") or self.contradicted or self.new_errors)

    @property
    def nothing_compared(self) -> bool:
        """Whether no number of one report had a counterpart in the other.

        Quality rows alone do where no report has a run.
        """
        has_runs = bool(self.runs_added or self.runs_removed)
        return not self.runs_compared and (has_runs or not self.rows_compared)

    @property
    def empty(self) -> bool:
        """Whether nothing changed."""
        return replace(self, runs_compared=0, rows_compared=0) == Comparison()

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON data, with `regressions`."""
        return {"regressions": self.regressions, **asdict(self)}


def compare(
    old: ReportFacts,
    new: ReportFacts,
    findings_old: Sequence[Finding] = (),
    findings_new: Sequence[Finding] = (),
) -> Comparison:
    """What changed from `old` to `new`; the findings are those of the check of each."""
    runs = _matched(old.runs, new.runs, lambda run: run.id)
    rows = _matched(old.quality, new.quality, _row_name)
    claims = _matched(old.claims, new.claims, _claim_name)
    before, after = _findings(old, findings_old), _findings(new, findings_new)
    errors = _Errors(_errors_at(findings_old), _errors_at(findings_new))
    return Comparison(
        numbers=(*_moved_in_runs(runs.both, errors), *_moved_in_rows(rows.both, errors)),
        settings=tuple(_settings(runs.both)),
        runs_compared=len(runs.both),
        rows_compared=len(rows.both),
        runs_added=runs.added,
        runs_removed=runs.removed,
        claims_added=claims.added,
        claims_removed=claims.removed,
        claims_changed=tuple(_claims_changed(claims.both)),
        contradicted=tuple(n for n in _contradicted(new) if n not in set(_contradicted(old))),
        findings_new=tuple(_without(after, before)),
        findings_gone=tuple(_without(before, after)),
    )


# --- matching ----------------------------------------------------------------------------------

Item = TypeVar("Item")
_Pairs = Mapping[str, tuple[Item, Item]]


@dataclass(frozen=True, slots=True)
class _Matched(Generic[Item]):
    """What both reports have, by name, and the names that only one of them has."""

    both: dict[str, tuple[Item, Item]]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def _matched(
    old: Sequence[Item], new: Sequence[Item], name: Callable[[Item], str]
) -> _Matched[Item]:
    before, after = _named(old, name), _named(new, name)
    return _Matched(
        both={n: (item, after[n]) for n, item in before.items() if n in after},
        added=tuple(n for n in after if n not in before),
        removed=tuple(n for n in before if n not in after),
    )


def _named(items: Sequence[Item], name: Callable[[Item], str]) -> dict[str, Item]:
    """Items by name, in their order; the second of one name is "name (2)"."""
    seen: Counter[str] = Counter()
    found: dict[str, Item] = {}
    for item in items:
        unique = base = name(item)
        while unique in found:
            seen[base] += 1
            unique = f"{base} ({seen[base] + 1})"
        found[unique] = item
    return found


def _row_name(row: QualityFacts) -> str:
    model = row.model
    if model.id is not None:
        return model.id
    parts = (model.configuration, model.metric, model.dataset, model.split)
    return ", ".join(p for p in parts if p) or "quality"


def _claim_name(claim: ClaimFacts) -> str:
    return claim.name or "claim"


# --- numbers -----------------------------------------------------------------------------------


def result_metrics() -> tuple[str, ...]:
    """The metrics of a run that are results, not settings or sizes of it."""
    return tuple(path for path in known_metrics() if _is_result(path))


def _is_result(path: str) -> bool:
    block, _, name = path.rpartition(".")
    return not (block.startswith("conditions") or block == "speculation.counts" or name in _SIZES)


#: Codes of errors by the pointer of each number that they rest on.
_ErrorsAt = Mapping[str, Sequence[str]]


class _Errors(NamedTuple):
    """Of both reports."""

    old: _ErrorsAt
    new: _ErrorsAt

    def unit_corrected(self, old: Reported, new: Reported) -> bool:
        """Whether only one of the two is in the unit of its field: a percentage and a share."""
        before, after = (
            _OF_UNIT in errors.get(_plain(number.pointer), ())
            for errors, number in ((self.old, old), (self.new, new))
        )
        return before is not after


#: The code of a percentage in a field of shares.
_OF_UNIT = "BL208"


def _errors_at(findings: Sequence[Finding]) -> _ErrorsAt:
    """An error of a claim does not make the numbers that it is about doubtful."""
    found: dict[str, list[str]] = {}
    for each in findings:
        if each.severity is Severity.ERROR:
            others = (
                r.pointer for r in each.related if split(r.pointer)[:2] == split(each.pointer)[:2]
            )
            for pointer in {each.pointer, *others}:
                found.setdefault(_plain(pointer), []).append(each.code)
    return found


def _plain(pointer: str) -> str:
    """Of a number, which may be an object of its value and what is known of that."""
    return pointer.removesuffix("/value")


def _moved_in_runs(runs: _Pairs[RunFacts], errors: _Errors) -> Iterator[NumberChange]:
    for name, (old, new) in runs.items():
        for path in result_metrics():
            a, b = metric(old, path), metric(new, path)
            if a is not None and b is not None:
                limit = _limit(path, noise_of(a, old, path), noise_of(b, new, path))
                yield from _moved(name, path, a, b, limit, higher_is_better(path), errors)


def _limit(path: str, a: Noise | None, b: Noise | None) -> float:
    """The logarithm of the ratio that noise explains."""
    if a is not None and b is not None:
        return NOISE_FACTOR * of_difference(a, b)
    if path == "losslessness.match_rate":
        return MATCH_SHARE
    return POWER_SHARE if block_of(path) == "power" else 0.0


def _moved_in_rows(rows: _Pairs[QualityFacts], errors: _Errors) -> Iterator[NumberChange]:
    for name, (old, new) in rows.items():
        a, b = old.value, new.value
        if a is not None and b is not None and old.model.metric == new.model.metric:
            path = new.model.metric or "value"
            higher = quality_higher_is_better(new)
            yield from _moved(name, path, a, b, _row_limit(old, new, a), higher, errors)


def _row_limit(old: QualityFacts, new: QualityFacts, value: Reported) -> float:
    """The stated errors together as a share of the value; for a perplexity at least 0.2 %."""
    errors = abs(old.model.error or 0.0) + abs(new.model.error or 0.0)
    share = errors / abs(value.value) if value.value else 0.0
    return max(share, PERPLEXITY_SHARE) if is_perplexity(new) else share


def _moved(
    subject: str,
    path: str,
    old: Reported,
    new: Reported,
    limit: float,
    higher: bool | None,
    errors: _Errors,
) -> Iterator[NumberChange]:
    if old.span.meets(new.span) or _log_ratio(old.value, new.value) <= limit:
        return
    ratio = new.value / old.value if old.value else math.inf
    other_unit = errors.unit_corrected(old, new)
    yield NumberChange(
        subject=subject,
        metric=path,
        old=str(old),
        new=str(new),
        old_value=old.value,
        new_value=new.value,
        change=ratio - 1 if math.isfinite(ratio) else None,
        limit=math.expm1(min(limit, _LARGEST_LOG)),
        direction=_direction(new.value - old.value, None if other_unit else higher),
        errors=tuple(dict.fromkeys(errors.new.get(_plain(new.pointer), ()))),
    )


def _log_ratio(a: float, b: float) -> float:
    """How far apart two numbers are; infinite where one is zero or their signs differ."""
    if a == 0 or b == 0 or (a < 0) is not (b < 0):
        return math.inf
    return abs(math.log(abs(b)) - math.log(abs(a)))


def _direction(gain: float, higher: bool | None) -> Direction:
    if higher is None:
        return "changed"
    return "better" if (gain > 0) is higher else "worse"


# --- settings ----------------------------------------------------------------------------------

Leaf = str | int | float | bool


def _settings(runs: _Pairs[RunFacts]) -> Iterator[SettingChange]:
    """Each change once, with the runs it holds for."""
    changes: dict[tuple[str, str | None, str | None], list[str]] = {}
    for run, (old, new) in runs.items():
        before, after = settings_of(old), settings_of(new)
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                key = (name, _text(before.get(name)), _text(after.get(name)))
                changes.setdefault(key, []).append(run)
    for (name, a, b), found in changes.items():
        yield SettingChange(name, a, b, tuple(found))


def settings_of(run: RunFacts) -> dict[str, Leaf]:
    """Everything a run states of its setup and conditions, by dotted name, references followed."""
    configuration = run.configuration
    blocks: dict[str, Placed[Any] | None] = {
        "conditions": run.conditions,
        "workload": run.workload,
        "measurement": run.measurement,
        "machine": configuration.machine,
        "engine": configuration.engine,
        "target": configuration.target,
        "draft_length": configuration.draft_length,
        "draft_selection": configuration.draft_selection,
        "acceptance_rule": configuration.acceptance_rule,
        "sampler": configuration.sampler,
        "kv_cache": configuration.kv_cache,
    }
    found: dict[str, Leaf] = {}
    for name, placed in blocks.items():
        if placed is not None:
            found.update(_leaves(name, placed.model))
    found.update(_drafting(run))
    if run.model.workload is not None and run.workload is None:
        found["workload"] = run.model.workload
    return found


def _drafting(run: RunFacts) -> Iterator[tuple[str, Leaf]]:
    drafters = run.configuration.drafters
    if run.configuration.speculates is False:
        yield "drafter", "none"
    for i, drafter in enumerate(drafters):
        yield from _leaves("drafter" if i == 0 else f"drafter {i + 1}", drafter.model)


def _leaves(name: str, value: object) -> Iterator[tuple[str, Leaf]]:
    """The values in a block by dotted name; a list of plain values counts as one."""
    if isinstance(value, Block):
        for field in value.model_fields_set - {"extensions", "notes"}:
            yield from _leaves(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}", item)
    elif isinstance(value, list):
        yield from _list_leaves(name, value)
    elif isinstance(value, (str, int, float)):
        yield name, value


def _list_leaves(name: str, items: list[object]) -> Iterator[tuple[str, Leaf]]:
    if any(isinstance(item, (Block, dict, list)) for item in items):
        for i, item in enumerate(items):
            yield from _leaves(f"{name} {i + 1}" if i else name, item)
    else:
        yield name, ", ".join(_text(item) or "null" for item in items)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return printed(value) if isinstance(value, (int, float)) else str(value)


# --- claims and findings -----------------------------------------------------------------------


def _claims_changed(claims: _Pairs[ClaimFacts]) -> Iterator[ClaimChange]:
    for name, (old, new) in claims.items():
        a, b = old.value, new.value
        before, after = (None if v is None else v.value for v in (a, b))
        if before != after:
            yield ClaimChange(name, None if a is None else str(a), None if b is None else str(b))


def _contradicted(report: ReportFacts) -> list[str]:
    statements = {n: c.statement for n, c in _named(report.claims, _claim_name).items()}
    return [n for n, s in statements.items() if isinstance(s, Statement) and s.contradicted]


def _findings(report: ReportFacts, findings: Sequence[Finding]) -> list[FindingChange]:
    names = {
        "runs": [f"run {r.id}" for r in report.all_runs],
        "claims": [f"claim {n}" for n in _named(report.claims, _claim_name)],
        "quality": [f"quality {n}" for n in _named(report.quality, _row_name)],
    }
    return [
        FindingChange(f.code, f.name, f.severity, f.message, _subject(names, f.subject))
        for f in findings
    ]


def _subject(names: Mapping[str, Sequence[str]], pointer: str) -> str:
    """What a finding is about, by id: "run a", "claim speedup", else the pointer."""
    parts = split(pointer)
    if len(parts) < 2 or not parts[1].isdecimal():
        return pointer
    known, index = names.get(parts[0], ()), int(parts[1])
    rest = "".join(f"/{p}" for p in parts[2:])
    return known[index] + rest if index < len(known) else pointer


def _without(
    findings: Sequence[FindingChange], others: Sequence[FindingChange]
) -> Iterator[FindingChange]:
    """Findings that have no counterpart of the same code, severity and subject; worst first."""
    left = Counter(map(_key, others))
    for finding in sorted(findings, key=lambda f: (-f.severity.rank, f.code)):
        if left[_key(finding)] > 0:
            left[_key(finding)] -= 1
        else:
            yield finding


def _key(finding: FindingChange) -> tuple[str, str, str]:
    return finding.code, finding.severity, finding.subject
