"""What a report leaves unsaid, and where: the part that the BL1 rules share.

Each of those rules asks some runs (or the configurations or workloads they name) for something
and says once for the whole file who lacks it. Runs that were withdrawn are not asked, nor are
runs that pool others, for their parts speak for them; nor is anything asked where a reference
dangles or a member does not fit the format, for that may be what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.lazy import once
from benchlint.checker.registry import Problem

#: Of more runs than this, two are named and the others counted.
NAMED = 3

#: Places a finding points at besides the first.
MAX_RELATED = 20

#: A name longer than this is cut where it is quoted.
_LONGEST_NAME = 60


@dataclass(slots=True, eq=False)
class Item:
    """One thing that is missing. Two are the same when they are one object.

    text: "no " and a noun, or a short statement.
    path: the field to add, as `runs[].decode.tok_s`.
    example: the member in JSON, as `"tok_s": 38.3`. note: what follows it in the advice.
    """

    text: str
    path: str
    example: str
    note: str = ""

    @property
    def advice(self) -> str:
        """What to add, with an example."""
        return f"add `{self.path}`, for example `{self.example}`{self.note}"


@dataclass(slots=True)
class Asked:
    """Who is asked: a run, or a configuration or workload and the first run that uses it."""

    kind: Literal["run", "configuration", "workload"]
    name: str
    pointer: str
    run: RunFacts
    text: str = field(init=False)
    """In words: "run 'warm'"."""

    def __post_init__(self) -> None:
        self.text = f"{self.kind} {_quoted(self.name)}"


Runs = tuple[RunFacts, ...]
Lack = Callable[[RunFacts], Iterable[Item]]
Gap = tuple[Asked, tuple[Item, ...]]


# --- who is asked ----------------------------------------------------------------------------
# Two dozen rules ask the same few groups in turn, so the answers are kept for one report.


@once
def asked_runs(report: ReportFacts) -> Runs:
    """The runs that must speak for themselves."""
    return tuple(r for r in report.runs if not _has_parts(r) and _fits(r))


@once
def speculative_runs(report: ReportFacts) -> Runs:
    """Those of them in which a drafter ran, as far as the report says."""
    return tuple(r for r in asked_runs(report) if r.speculates)


@once
def workload_runs(report: ReportFacts) -> Runs:
    """Those of them that had prompts, which micro-benchmarks have not."""
    return tuple(r for r in asked_runs(report) if not is_micro_benchmark(r))


def is_micro_benchmark(run: RunFacts) -> bool:
    """Whether the run timed the engine on made-up tokens, as llama-bench does."""
    measurement = run.model.measurement
    return measurement is not None and measurement.by == "micro_benchmark"


def _has_parts(run: RunFacts) -> bool:
    """Whether the run pools others that count and are no pools themselves."""
    if not run.model.parts:
        return False
    return any(p.model.void is None and not p.model.parts for p in run.parts)


def _fits(run: RunFacts) -> bool:
    """Whether nothing of the run, its configuration and workload had to be left out."""
    if not run.report.misfits:
        return True
    places = [run.pointer, *(layer.pointer for layer in run.configuration.layers)]
    if run.workload is not None:
        places.append(run.workload.pointer)
    return not any(is_misfit(run.report, place) for place in places)


def is_misfit(report: ReportFacts, place: str) -> bool:
    """Whether the value at a pointer, or something in it, was left out as it does not fit."""
    return place in report.misfit_places


@lru_cache(maxsize=4)
def by_run(runs: Runs) -> tuple[Asked, ...]:
    """Each run."""
    return tuple(Asked("run", r.id, r.pointer, r) for r in runs)


@lru_cache(maxsize=4)
def by_configuration(runs: Runs) -> tuple[Asked, ...]:
    """Each configuration that the runs name, once; a run that names none is asked itself."""
    found: dict[str, Asked] = {}
    for run in runs:
        name = run.model.configuration
        if name is None:
            found[run.pointer] = Asked("run", run.id, run.pointer, run)
        elif run.configuration.known:
            at = run.configuration.pointer
            found.setdefault(at, Asked("configuration", name, at, run))
    return tuple(found.values())


@lru_cache(maxsize=4)
def by_workload(runs: Runs) -> tuple[Asked, ...]:
    """Each workload that the runs name, once; a run that names none is asked itself."""
    found: dict[str, Asked] = {}
    for run in runs:
        name = run.model.workload
        if name is None:
            found[run.pointer] = Asked("run", run.id, run.pointer, run)
        elif run.workload is not None:
            at = run.workload.pointer
            found.setdefault(at, Asked("workload", name, at, run))
    return tuple(found.values())


# --- what is said ----------------------------------------------------------------------------


def missing(asked: Sequence[Asked], lack: Lack, adjective: str = "") -> Iterator[Problem]:
    """One problem that names everyone asked who lacks something, or none."""
    gaps = _gaps(asked, lack)
    if gaps:
        yield _listing(asked, gaps, adjective)


def missing_in_block(
    report: ReportFacts,
    block: Literal["machine", "engine", "target"],
    asked: Sequence[Asked],
    lack: Lack,
) -> Iterator[Problem]:
    """The same for a block of the report that configurations may lay others over.

    Where all lack the same, the report lacks it: the problem stands at its block.
    """
    if is_misfit(report, f"/{block}"):
        return
    gaps = _gaps(asked, lack)
    if not gaps:
        return
    items = gaps[0][1]
    if len(gaps) < len(asked) or len({_phrase(each) for _, each in gaps}) > 1:
        yield _listing(asked, gaps, "")
        return
    at = "" if getattr(report.model, block) is None else f"/{block}"
    yield Problem(at, _phrase(items), help=_advice(items))


def _gaps(asked: Iterable[Asked], lack: Lack) -> list[Gap]:
    return [(each, items) for each in asked if (items := tuple(lack(each.run)))]


def _listing(asked: Sequence[Asked], gaps: Sequence[Gap], adjective: str) -> Problem:
    phrases = {items: "" for _, items in gaps}
    for items in phrases:
        phrases[items] = _phrase(items)
    groups: dict[str, list[Asked]] = {}
    for each, items in gaps:
        groups.setdefault(phrases[items], []).append(each)
    parts = [f"{text} in {_names(who, asked, adjective)}" for text, who in groups.items()]
    others = gaps[1 : 1 + MAX_RELATED]
    return Problem(
        gaps[0][0].pointer,
        "; ".join(parts),
        related=[(each.pointer, f"{each.text}: {phrases[items]}") for each, items in others],
        help=_advice(item for items in phrases for item in items),
    )


def _phrase(items: Sequence[Item]) -> str:
    """The items in words: "no a, b or c", then the statements."""
    texts = [item.text for item in items]
    if len(texts) == 1:
        return texts[0]
    nouns = [text.removeprefix("no ") for text in texts if text.startswith("no ")]
    statements = [text for text in texts if not text.startswith("no ")]
    return ", ".join((["no " + _joined(nouns, "or")] if nouns else []) + statements)


def _advice(items: Iterable[Item]) -> str:
    return "; ".join(dict.fromkeys(item.advice for item in items))


def _names(who: Sequence[Asked], asked: Sequence[Asked], adjective: str) -> str:
    """Who, in words. "All" is said only where nobody of another kind was asked."""
    kinds = dict.fromkeys(each.kind for each in who)
    if len(who) == len(asked) > 2 and len(kinds) == 1:
        return f"all {len(who)} {adjective}{who[0].kind}s"
    return " and ".join(_of_kind(k, [e.name for e in who if e.kind == k]) for k in kinds)


def _of_kind(kind: str, names: Sequence[str]) -> str:
    first = [_quoted(name) for name in names[:NAMED]]
    if len(names) == 1:
        return f"{kind} {first[0]}"
    if len(names) <= NAMED:
        return f"{kind}s {_joined(first, 'and')}"
    return f"{kind}s {first[0]}, {first[1]} and {len(names) - 2} more"


def _joined(words: Sequence[str], last: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _quoted(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return repr(short)
