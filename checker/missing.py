"""What a report leaves unsaid, and where: the part that the BL1 rules share.

Each of those rules asks some runs (or the configurations or workloads they name) for something
and says once for the whole file who lacks it. Runs that were withdrawn are not asked, nor are
runs that pool others, for their parts speak for them; nor is anything asked where a reference
dangles or a member does not fit the format, for that may be what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.lazy import cached_property, once
from benchlint.checker.registry import Problem

#: Of more runs than this, two are named and the others counted.
NAMED = 3

#: Places a finding points at besides the first.
MAX_RELATED = 20

#: A name longer than this is cut where it is quoted.
_LONGEST_NAME = 60


class Lack:
    """All that one of those asked lacks, in words. Two are the same when they are one object.

    Nearly every lack is one of few, so they are put in words when the rules are loaded and not
    for every run.

    text: "no a, b or c", or a statement. advices: what to add, each once. help: all of them.
    """

    __slots__ = ("advices", "help", "text")

    def __init__(self, text: str, advices: tuple[str, ...]) -> None:
        self.text = text
        self.advices = advices
        self.help = "; ".join(advices)


class Item(Lack):
    """One thing that is missing.

    text: "no " and a noun, or a short statement.
    path: the field to add, as `runs[].decode.tok_s`.
    example: the member in JSON, as `"tok_s": 38.3`. note: what follows it in the advice.
    """

    __slots__ = ("advice", "example", "path")

    def __init__(self, text: str, path: str, example: str, note: str = "") -> None:
        self.path = path
        self.example = example
        self.advice = f"add `{path}`, for example `{example}`{note}"
        super().__init__(text, (self.advice,))


def together(items: Sequence[Item]) -> Lack | None:
    """The lack of all these: "no a, b or c", then the statements. None where there are none."""
    if len(items) < 2:
        return items[0] if items else None
    texts = [item.text for item in items]
    nouns = [text.removeprefix("no ") for text in texts if text.startswith("no ")]
    statements = [text for text in texts if not text.startswith("no ")]
    phrase = ", ".join((["no " + _joined(nouns, "or")] if nouns else []) + statements)
    return Lack(phrase, tuple(dict.fromkeys(item.advice for item in items)))


Choices = dict[tuple[bool, bool], Lack | None]


def either(first: Item, second: Item) -> Choices:
    """The lack of two things by whether the first and whether the second is missing."""
    return {
        (False, False): None,
        (True, False): first,
        (False, True): second,
        (True, True): together([first, second]),
    }


@dataclass(eq=False)
class Asked:
    """Who is asked: a run, or a configuration or workload and the first run that uses it."""

    kind: Literal["run", "configuration", "workload"]
    name: str
    pointer: str
    run: RunFacts

    @cached_property
    def quoted(self) -> str:
        """The name in quotes, cut where it is long."""
        return _quoted(self.name)

    @property
    def text(self) -> str:
        """In words: "run 'warm'"."""
        return f"{self.kind} {self.quoted}"


class Group(list[Asked]):
    """Those that a rule asks, and what they are called together."""

    __slots__ = ("_called",)

    def __init__(self, asked: Iterable[Asked] = ()) -> None:
        super().__init__(asked)
        self._called: dict[str, str] = {}

    def called(self, adjective: str) -> str:
        """All of them in words. Mostly all lack the same, whatever it is."""
        if adjective not in self._called:
            self._called[adjective] = _names(self, self, adjective)
        return self._called[adjective]


Runs = tuple[RunFacts, ...]
LackOf = Callable[[RunFacts], Lack | None]
Gap = tuple[Asked, Lack]


# --- who is asked ----------------------------------------------------------------------------
# Two dozen rules ask the same few groups in turn, so the answers are kept for one report.


@once
def asked_runs(report: ReportFacts) -> Runs:
    """The runs that must speak for themselves."""
    if not report.misfits and "runs.parts" not in report.given.paths:  # nearly always
        return report.runs
    return tuple(r for r in report.runs if not _has_parts(r) and _fits(r))


@once
def speculative_runs(report: ReportFacts) -> Runs:
    """Those of them in which a drafter ran, as far as the report says."""
    return tuple([r for r in asked_runs(report) if r.speculates])


@once
def workload_runs(report: ReportFacts) -> Runs:
    """Those of them that had prompts, which micro-benchmarks have not."""
    if "runs.measurement" not in report.given.paths:
        return asked_runs(report)
    return tuple([r for r in asked_runs(report) if not is_micro_benchmark(r)])


def is_micro_benchmark(run: RunFacts) -> bool:
    """Whether the run timed the engine on made-up tokens, as llama-bench does."""
    measurement = run.measurement
    return measurement is not None and measurement.model.by == "micro_benchmark"


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


@once
def runs(report: ReportFacts) -> Group:
    """Each run."""
    return by_run(asked_runs(report))


@once
def runs_with_drafter(report: ReportFacts) -> Group:
    """Each run in which a drafter ran."""
    return by_run(speculative_runs(report))


@once
def runs_with_prompts(report: ReportFacts) -> Group:
    """Each run that had prompts: nearly always all of them."""
    had = workload_runs(report)
    return runs(report) if had is asked_runs(report) else by_run(had)


@once
def configurations(report: ReportFacts) -> Group:
    """Each configuration that runs name."""
    return by_configuration(asked_runs(report))


@once
def speculative_configurations(report: ReportFacts) -> Group:
    """Each configuration that runs with a drafter name."""
    return by_configuration(speculative_runs(report))


@once
def configurations_with_prompts(report: ReportFacts) -> Group:
    """Each configuration that runs with prompts name: nearly always all that are asked."""
    had = workload_runs(report)
    return configurations(report) if had is asked_runs(report) else by_configuration(had)


@once
def workloads(report: ReportFacts) -> Group:
    """Each workload that runs name."""
    return by_workload(workload_runs(report))


@once
def _itself(run: RunFacts) -> Asked:
    return Asked("run", run.id, run.pointer, run)


def by_run(runs: Runs) -> Group:
    """Each run."""
    return Group([_itself(run) for run in runs])


def by_configuration(runs: Runs) -> Group:
    """Each configuration that the runs name, once; a run that names none is asked itself."""
    return _once(runs, "configuration", _place_of_configuration)


def by_workload(runs: Runs) -> Group:
    """Each workload that the runs name, once; a run that names none is asked itself."""
    return _once(runs, "workload", _place_of_workload)


def _place_of_configuration(run: RunFacts) -> str:
    return run.configuration.pointer


def _place_of_workload(run: RunFacts) -> str:
    return "" if run.workload is None else run.workload.pointer


def _once(
    runs: Runs, kind: Literal["configuration", "workload"], pointer: Callable[[RunFacts], str]
) -> Group:
    """Each thing of a kind that the runs name, once.

    pointer: where the thing of a run stands, "" where what it names is not there.
    """
    found = Group()
    names: set[str] = set()
    for run in runs:
        name = run.members[kind]
        if name is None:
            found.append(_itself(run))
        elif name not in names:
            names.add(name)
            if at := pointer(run):
                found.append(Asked(kind, name, at, run))
    return found


# --- what is said ----------------------------------------------------------------------------


def missing(asked: Group, lack: LackOf, adjective: str = "") -> Iterator[Problem]:
    """One problem that names everyone asked who lacks something, or none."""
    gaps = _gaps(asked, lack)
    if gaps:
        yield _listing(asked, gaps, adjective)


def missing_in_block(
    report: ReportFacts,
    block: Literal["machine", "engine", "target"],
    asked: Group,
    lack: LackOf,
) -> Iterator[Problem]:
    """The same for a block of the report that configurations may lay others over.

    Where all lack the same, the report lacks it: the problem stands at its block.
    """
    if is_misfit(report, f"/{block}"):
        return
    gaps = _gaps(asked, lack)
    if not gaps:
        return
    text = gaps[0][1].text
    if len(gaps) < len(asked) or any(each.text != text for _, each in gaps):
        yield _listing(asked, gaps, "")
        return
    at = "" if getattr(report.model, block) is None else f"/{block}"
    yield Problem(at, text, help=gaps[0][1].help)


def _gaps(asked: Group, lack: LackOf) -> list[Gap]:
    return [(each, found) for each in asked if (found := lack(each.run)) is not None]


def _listing(asked: Group, gaps: Sequence[Gap], adjective: str) -> Problem:
    first, lack = gaps[0]
    is_one = len({id(each) for _, each in gaps}) == 1
    others = gaps[1 : 1 + MAX_RELATED]
    return Problem(
        first.pointer,
        _who_lacks_it(gaps, asked, adjective) if is_one else _who_lacks(gaps, asked, adjective),
        related=((each.pointer, f"{each.text}: {lack.text}") for each, lack in others),
        help=lack.help if is_one else _advice(dict.fromkeys([each for _, each in gaps])),
    )


def _who_lacks_it(gaps: Sequence[Gap], asked: Group, adjective: str) -> str:
    """Who lacks the one thing."""
    text = gaps[0][1].text
    if len(gaps) == len(asked):
        return f"{text} in {asked.called(adjective)}"
    return f"{text} in {_names([each for each, _ in gaps], asked, adjective)}"


def _who_lacks(gaps: Sequence[Gap], asked: Group, adjective: str) -> str:
    """Who lacks what. Lacks may read the same: one is made for each inexact recipe."""
    groups: dict[str, list[Asked]] = {}
    for each, lack in gaps:
        groups.setdefault(lack.text, []).append(each)
    parts = [f"{text} in {_names(who, asked, adjective)}" for text, who in groups.items()]
    return "; ".join(parts)


def _advice(lacks: Collection[Lack]) -> str:
    """What to add, each once."""
    return "; ".join(dict.fromkeys([advice for lack in lacks for advice in lack.advices]))


def _names(who: Sequence[Asked], asked: Group, adjective: str) -> str:
    """Who, in words. "All" is said only where nobody of another kind was asked."""
    kinds = dict.fromkeys([each.kind for each in who])
    if len(kinds) > 1:
        return " and ".join(_of_kind(k, [e for e in who if e.kind == k]) for k in kinds)
    kind = who[0].kind
    if len(who) == len(asked) > 2:
        return f"all {len(who)} {adjective}{kind}s"
    return _of_kind(kind, who)


def _of_kind(kind: str, who: Sequence[Asked]) -> str:
    first = [each.quoted for each in who[:NAMED]]
    if len(who) == 1:
        return f"{kind} {first[0]}"
    if len(who) <= NAMED:
        return f"{kind}s {_joined(first, 'and')}"
    return f"{kind}s {first[0]}, {first[1]} and {len(who) - 2} more"


def _joined(words: Sequence[str], last: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _quoted(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return repr(short)
