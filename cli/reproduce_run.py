"""`benchlint reproduce`: from options to an exit code."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlint import __version__
from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Severity
from benchlint.checker.formats.base import plural
from benchlint.checker.one_report import OneReport, read_one
from benchlint.completion import CONDITIONS
from benchlint.durations import seconds_of
from benchlint.ending import say
from benchlint.engine_options import EngineOptions
from benchlint.measuring_end import tell_end
from benchlint.measuring_progress import MeasuringProgress
from benchlint.outputs import DEFAULT_FORMAT, standard_output, wants_color
from benchlint.read_limits import bytes_of
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.design import LOOKS
from benchlint.reproducers.journal import End
from benchlint.reproducers.judgement import Judgement
from benchlint.reproducers.plan import nothing_tested
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.report_text import without_secrets
from benchlint.reproducers.reproduction import (
    Task,
    plan_before_asking,
    refuse_unknown_runs,
    run_again,
)
from benchlint.reproducers.verdict_files import Judged, judged
from benchlint.reproducers.workloads import read_prompts
from benchlint.reproducers.workloads.texts import read_text
from benchlint.verdict_output import draws_bar, give_verdict

#: No tolerance is wider: a number that may be off by half says nothing.
_WIDEST = 0.5


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `benchlint reproduce`; None where one was not given."""

    report: str
    engine: EngineOptions
    plan: bool = False
    runs: tuple[str, ...] = ()
    prompts: str | None = None
    text: str | None = None
    same: tuple[str, ...] = ()
    tolerance: str | None = None
    seed: int | None = None
    budget: str | None = None
    out: str | None = None
    resume: bool = False
    color: str = "auto"
    max_size: float = 64
    debug: bool = False


def run(options: Options) -> int:
    """Measure what the options name and give a verdict; the exit code.

    Raises CannotRunError when that cannot be done, OSError when a file cannot be written.
    """
    folder = _folder(options)
    wants_color(options.color, sys.stdout)  # a word that is none is told before measuring
    report = read_one(options.report, limit_bytes=bytes_of(options.max_size))
    refuse_unknown_runs(report.facts, frozenset(options.runs))
    wishes = _wishes(options)
    if options.plan:
        return _print_plan(options, report, wishes)
    budget_s = math.inf if options.budget is None else seconds_of(options.budget, "--budget")
    _tell_errors(report)
    progress = MeasuringProgress(sys.stderr, bar=draws_bar())
    with options.engine.chosen() as chosen:
        safe = without_secrets(report, chosen.secrets)
        repeat = tuple(_repeat(options))
        told = progress.show, say, progress.hash
        task = Task(safe, wishes, __version__, repeat, budget_s, *told)
        try:
            end = run_again(task, chosen, folder, go_on=options.resume)
        finally:
            progress.clear()
    found = judged(folder)
    _tell(end, found, folder)
    return give_verdict(folder, found, color=options.color, debug=options.debug)


def _print_plan(options: Options, report: OneReport, wishes: Wishes) -> int:
    chosen = options.engine.chosen() if options.engine != EngineOptions() else None
    task = Task(without_secrets(report), wishes, __version__)
    plan = plan_before_asking(task, chosen)
    standard_output(DEFAULT_FORMAT).write(f"{plan}\n")
    if said := nothing_tested(plan):
        say(said)
    say("nothing was contacted; what an engine says of itself may change what can be refuted")
    return 0


# From options


def _folder(options: Options) -> Path:
    """Where to write; by default beside nothing of the user's, in a folder of that name here."""
    if options.out is not None:
        return Path(options.out)
    name = "report" if options.report == "-" else Path(options.report).name
    return Path(f"{name.partition('.')[0] or 'report'}-verdict")


def _wishes(options: Options) -> Wishes:
    return Wishes(
        folder=None if options.report == "-" else Path(options.report).parent,
        prompts=None if options.prompts is None else read_prompts(options.prompts),
        text=None if options.text is None else read_text(options.text),
        here=Here(vouched=frozenset(map(_condition, options.same))),
        seed=options.seed,
        runs=frozenset(options.runs),
        tolerance=None if options.tolerance is None else _share(options.tolerance),
    )


def _condition(name: str) -> str:
    if name in CONDITIONS:
        return name
    near = difflib.get_close_matches(name, CONDITIONS, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise CannotRunError(f"--same is one of {', '.join(CONDITIONS)}, not {name!r}{hint}")


def _share(text: str) -> float:
    """A tolerance as a share, from "5%" or "0.05"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", text.strip(), re.ASCII)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share <= _WIDEST:
        raise CannotRunError(
            f"--tolerance is a share up to {_WIDEST:g}, such as 5% or 0.05, not {text[:40]!r}"
        )
    return share


def _repeat(options: Options) -> Iterator[str]:
    """The options that shape what is measured, for somebody else; files without folders."""
    yield "REPORT" if options.report == "-" else Path(options.report).name
    for run_id in options.runs:
        yield from ("--run", run_id)
    for option, file in (("--prompts", options.prompts), ("--text", options.text)):
        if file is not None:
            yield from (option, Path(file).name)
    for name in options.same:
        yield from ("--same", name)
    if options.tolerance is not None:
        yield from ("--tolerance", options.tolerance)
    if options.seed is not None:
        yield from ("--seed", str(options.seed))


# What is said


def _tell_errors(report: OneReport) -> None:
    """What contradicts itself in a report is run again all the same: one side may be true."""
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    if errors:
        first = f"{errors[0].code}: {errors[0].message}"
        say(f"`benchlint check` finds {plural(len(errors), 'error')} in it; {first}")


def _tell(end: End | None, found: Judged, folder: Path) -> None:
    """Why measuring ended, and how to go on with it where there is more to be had."""
    if end is None:
        say("nothing of this report can be measured here")
        return
    if found.failure:
        say(f"nothing could be measured: {found.failure}")
        return
    tell_end(
        end,
        folder,
        settled="more rounds would change no verdict",
        interrupted="this is the verdict on what was measured so far",
    )
    _tell_too_early(found.judgement)


def _tell_too_early(judgement: Judgement) -> None:
    """Say so where no series of measurements is as long as the first decision takes."""
    series = judgement.series
    if series and not any(each.looks for each in series):
        most = max(each.whole for each in series)
        say(f"verdicts take {LOOKS[0]} whole rounds at least, and {most} were measured so far")
