"""BL004 to BL006: the shape of a report and the references in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from benchlint.checker.facts import MAX_LAYERS, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.nearest import nearest
from benchlint.checker.pointers import pointer
from benchlint.checker.registry import Problem, rule


@rule("BL004", "unknown-field", Severity.ERROR, "file")
def unknown_field(_: object) -> Iterator[Problem]:
    """A member that the report format does not have.

    What it does:
        Reports every member whose name is not in the format, and offers the nearest name.
    Why it matters:
        A misspelt field is a field that nobody reads: the number counts as missing.
    Example:
        `"acceptance_lenght": 4.1`
    Instead:
        `"accepted_length": 4.1`. Matter of your own goes under an `extensions` object, which
        any object may have and which is never looked into.
    Sources:
        The report format, version 1 (`benchlint schema`).
    """
    yield from ()  # found where the tree is validated


@rule("BL005", "wrong-type", Severity.ERROR, "file")
def wrong_type(_: object) -> Iterator[Problem]:
    """A value of another type than its field has, or a required member left out.

    What it does:
        Reports every value that is not of the type of its field. Numbers are never read out
        of strings: `"80 tok/s"` is a string. A number over 1e60, or under 1e-60 and not 0, is
        none that a field can hold.
    Why it matters:
        A number that is a string takes part in no arithmetic, so nobody can check it.
    Example:
        `"tok_s": "80.87"`
    Instead:
        `"tok_s": 80.87`
    Sources:
        The report format, version 1 (`benchlint schema`).
    """
    yield from ()  # found where the tree is validated


@rule("BL006", "dangling-reference", Severity.ERROR, "report")
def dangling_reference(report: ReportFacts) -> Iterator[Problem]:
    """A name that refers to nothing in the report.

    What it does:
        Checks that every configuration, workload, run and quality row that is referred to
        exists, that ids are used once, and that `based_on` does not go in a circle.
    Why it matters:
        A ratio to a run that is not there cannot be checked by anyone.
    Example:
        `"to": "baseline"` where the only plain run has the id `plain-code`.
    Instead:
        `"to": "plain-code"`
    Sources:
        The report format, version 1 (`benchlint schema`).
    """
    yield from _configuration_references(report)
    yield from _run_references(report)
    yield from _claim_references(report)
    yield from _repeated_ids(report)


def _missing(at: str, kind: str, name: str, known: Collection[str]) -> Problem:
    close = nearest(name, known)
    listed = ", ".join(repr(each) for each in islice(known, 12)) or "none"
    hint = f"the report has: {listed}" if close is None else f"did you mean {close!r}?"
    return Problem(at, f"there is no {kind} {name!r}", help=hint, subject=at)


def _configuration_references(report: ReportFacts) -> Iterator[Problem]:
    known = report.model.configurations or {}
    for name, configuration in known.items():
        base = configuration.based_on
        if base is None:
            continue
        if base not in known:
            at = pointer("configurations", name, "based_on")
            yield _missing(at, "configuration", base, known)
        elif report.configuration(name).layers[-1].model.based_on is not None:
            yield from _endless(name, report)


def _endless(name: str, report: ReportFacts) -> Iterator[Problem]:
    """A configuration that comes back to itself, or to nothing that is near."""
    at = pointer("configurations", name, "based_on")
    layers = report.configuration(name).layers
    further = layers[-1].model.based_on
    if further == name:
        yield Problem(at, f"configuration {name!r} is based on itself", subject=at)
    elif len(layers) == MAX_LAYERS and further is not None:
        what = f"configuration {name!r} is based on more than {MAX_LAYERS - 1} others in a row"
        yield Problem(at, what, help="those beyond are not looked at", subject=at)


def _run_references(report: ReportFacts) -> Iterator[Problem]:
    configurations = report.model.configurations or {}
    workloads = report.model.workloads or {}
    ids = dict.fromkeys(r.id for r in report.all_runs)
    for run in report.all_runs:
        name, workload = run.members["configuration"], run.members["workload"]
        if name is not None and name not in configurations:
            yield _missing(run.at("configuration"), "configuration", name, configurations)
        if workload is not None and workload not in workloads:
            yield _missing(run.at("workload"), "workload", workload, workloads)
        if not _NAME_RUNS.isdisjoint(run.given.paths):
            yield from _references_to_runs(run, ids)
    for row in report.quality:
        name = row.model.configuration
        if name is not None and name not in configurations:
            yield _missing(row.at("configuration"), "configuration", name, configurations)


#: Members of a run that name other runs.
_NAME_RUNS = frozenset({"parts", "speedup.over", "losslessness.baseline"})


def _references_to_runs(run: RunFacts, ids: Collection[str]) -> Iterator[Problem]:
    model = run.model
    for i, part in enumerate(model.parts or ()):
        if part not in ids:
            yield _missing(run.at("parts", i), "run", part, ids)
    over = None if model.speedup is None else getattr(model.speedup, "over", None)
    if over is not None and over not in ids:
        yield _missing(run.at("speedup", "over"), "run", over, ids)
    loss = model.losslessness
    if loss is not None and loss.baseline is not None and loss.baseline not in ids:
        yield _missing(run.at("losslessness", "baseline"), "run", loss.baseline, ids)


def _claim_references(report: ReportFacts) -> Iterator[Problem]:
    if not report.claims:
        return
    ids = dict.fromkeys(run.id for run in report.all_runs)
    ids |= dict.fromkeys(row.id for row in report.quality if row.id is not None)
    for claim in report.claims:
        model = claim.model
        if model.of is not None and model.of not in ids:
            yield _missing(claim.at("of"), "run or quality row", model.of, ids)
        if model.to is not None and model.to not in ids:
            yield _missing(claim.at("to"), "run or quality row", model.to, ids)
        for i, name in enumerate(model.among or ()):
            if name not in ids:
                yield _missing(claim.at("among", i), "run or quality row", name, ids)


def _all_differ(report: ReportFacts) -> bool:
    """Whether no id is used twice, as in nearly every report."""
    ids = [run.id for run in report.all_runs if run.id]
    ids += [row.id for row in report.quality if row.id]
    return len(ids) == len(set(ids))


def _repeated_ids(report: ReportFacts) -> Iterator[Problem]:
    if _all_differ(report):
        return
    seen: dict[str, str] = {}
    rows = [(r.id, r.at("id")) for r in report.all_runs]
    rows += [(q.id, q.at("id")) for q in report.quality if q.id is not None]
    for name, at in rows:
        if not name:
            continue  # a run without an id, which was reported as such
        first = seen.setdefault(name, at)
        if first != at:
            yield Problem(
                at,
                f"the id {name!r} is used twice, so that what refers to it is ambiguous",
                related=[(first, f"first {name!r}")],
                help="give each run and quality row an id of its own",
                subject=at,
            )
