"""Running a report again: from the report and the engines to a judged journal in a folder."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchlint.checker.errors import CannotRunError
from benchlint.checker.facts import ReportFacts
from benchlint.checker.one_report import OneReport
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.engine_choice import ChosenEngines
from benchlint.reproducers.journal import (
    End,
    Header,
    Known,
    Planned,
    ReportText,
    as_read,
)
from benchlint.reproducers.judgement import is_decided, needless_series
from benchlint.reproducers.machine import Watch, machine
from benchlint.reproducers.measuring import Progress, Settings, measure
from benchlint.reproducers.model_files import Hashing, model_files
from benchlint.reproducers.nvml import Devices, nvidia_devices
from benchlint.reproducers.place import place_of
from benchlint.reproducers.plan import Cell, Plan, nothing_tested
from benchlint.reproducers.plan_data import planned
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.report_plan import report_plan
from benchlint.reproducers.report_text import report_text
from benchlint.reproducers.run_folder import journal_for, make_folder, refuse_what_is_there
from benchlint.reproducers.statistics import load_distributions
from benchlint.reproducers.verdict_files import RESULTS, SAMPLES

#: Files that a run writes, whatever is in them.
_RESULTS = dict.fromkeys(RESULTS)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be run again, and how.

    report: without secrets, see `report_text`. options: of the command line, for repeating it.
    tool: version of benchlint. budget_s: seconds of measuring. progress: told of each answer.
    notice: told what the user should know. hashing: told of model files that are read.
    """

    report: OneReport
    wishes: Wishes
    tool: str
    options: tuple[str, ...] = ()
    budget_s: float = math.inf
    progress: Callable[[Progress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    hashing: Hashing = lambda *_: None


def plan_before_asking(task: Task, chosen: ChosenEngines | None) -> Plan:
    """The plan by what is known before any engine is asked. Nothing is contacted."""
    here = task.wishes.here if chosen is None else _with_vouched(chosen.here, task.wishes)
    return report_plan(task.report.facts, replace(task.wishes, here=here))


def run_again(task: Task, chosen: ChosenEngines, folder: Path, *, go_on: bool) -> End | None:
    """Measure into the journal of a folder what it does not hold yet, and say why that ended.

    go_on: where there is a journal, to go on with it. None where the plan has nothing to be
    measured. Raises CannotRunError where it cannot begin, JournalError where the journal cannot
    be written or is of something else.
    """
    refuse_what_is_there(folder, _as_journaled(task, chosen), _RESULTS, go_on=go_on)
    devices = nvidia_devices() if chosen.is_here else None
    known = known_machine(chosen, devices, task.hashing)
    arms = [cell.arm for cell in _by_series(plan_before_asking(task, chosen))]
    here = _with_vouched(place_of(chosen, arms, known), task.wishes)
    plan = report_plan(task.report.facts, replace(task.wishes, here=here))
    repeat = shlex.join(("benchlint", "reproduce", *task.options, *chosen.repeat))
    record, plan = planned(plan, report_text(task.report), (repeat,), chosen.secrets)
    load_distributions()
    make_folder(folder)
    header = Header(plan.sha256, task.tool, time.time(), known)
    path, notice = folder / SAMPLES, task.notice
    with journal_for(path, header, record, chosen.secrets, notice, go_on=go_on) as writer:
        if not plan.cells and not plan.scorings:
            return None
        if (said := nothing_tested(plan)) and plan.cells:
            notice(f"{said}; what is measured now is only shown beside it")
        with Watch(devices) as watch:
            return measure(plan, chosen.engines, writer, _settings(task, plan, chosen, watch))


def _as_journaled(task: Task, chosen: ChosenEngines) -> ReportText | None:
    """The report as a journal of this run has it."""
    return as_read(Planned({}, report_text(task.report)), chosen.secrets).report


def refuse_unknown_runs(report: ReportFacts, runs: frozenset[str]) -> None:
    """Raise CannotRunError for ids that no run of the report has."""
    known = {run.id for run in report.all_runs}
    unknown = sorted(runs - known)
    if unknown:
        some = ", ".join(sorted(known)[:_MOST_NAMED])
        more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
        raise CannotRunError(f"--run: no run is called {unknown[0]!r}; there are {some}{more}")


_MOST_NAMED = 8


def known_machine(
    chosen: ChosenEngines, devices: Devices | None, hashing: Hashing
) -> Mapping[str, Known]:
    """What is known of the machine that works; of one behind an address nothing."""
    files = model_files(chosen.target, chosen.drafter, hashing)
    return {**machine(devices), **files} if chosen.is_here else files


def _with_vouched(here: Here, wishes: Wishes) -> Here:
    return replace(here, vouched=wishes.here.vouched)


def _by_series(plan: Plan) -> list[Cell]:
    """The cells as they are measured: the first one is what an engine is set up for first."""
    return [cell for cells in plan.series.values() for cell in cells]


def _settings(task: Task, plan: Plan, chosen: ChosenEngines, watch: Watch) -> Settings:
    return Settings(
        budget_s=task.budget_s,
        decided=partial(is_decided, plan),
        needless=partial(needless_series, plan),
        progress=task.progress,
        readings=watch.readings if can_be_watched(chosen, watch) else tuple,
    )


def can_be_watched(chosen: ChosenEngines, watch: Watch) -> bool:
    """Whether this machine's readings are of what works: of processes only where we start them."""
    return chosen.is_here and (chosen.target is not None or watch.devices is not None)
