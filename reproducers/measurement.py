"""Measuring what a user names: from arms, prompts and engines to a journal and its report."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from benchlint.checker.atomic import write
from benchlint.checker.errors import CannotRunError
from benchlint.checker.one_report import json_with_digits
from benchlint.reproducers.design import FULL
from benchlint.reproducers.engine_choice import ChosenEngines
from benchlint.reproducers.journal import (
    End,
    Header,
    Journal,
    Scored,
    Told,
    Writer,
    read,
    resume,
)
from benchlint.reproducers.machine import Watch
from benchlint.reproducers.measure_arms import ArmWishes, arms_of
from benchlint.reproducers.measuring import Progress, Settings, measure
from benchlint.reproducers.model_files import Hashing
from benchlint.reproducers.nvml import nvidia_devices
from benchlint.reproducers.plan import Circumstances, Plan, measure_plan
from benchlint.reproducers.plan_data import journal_plan, planned
from benchlint.reproducers.report_writer import is_bundled, is_bundled_text, written_report
from benchlint.reproducers.reproduction import can_be_watched, known_machine
from benchlint.reproducers.run_folder import (
    journal_for,
    journal_of,
    make_folder,
    refuse_what_is_there,
)
from benchlint.reproducers.told_values import Assignment, assignment, told
from benchlint.reproducers.verdict_files import SAMPLES, first_fault
from benchlint.reproducers.workloads import PromptSet, canonical
from benchlint.reproducers.workloads.texts import Text

#: The report's name in the folder of its journal.
REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be measured.

    positions: KV positions to be filled to, None for the prompts alone. pairs: rounds at most.
    text: to be scored where the engine can. assignments: what the user tells. options: of the
    command line, for repeating it. tool: version of benchlint. budget_s: seconds of measuring.
    progress: told of each answer. notice: told in a line what a user should know. hashing: told
    of model files that are read.
    """

    arms: ArmWishes
    sets: tuple[PromptSet, ...]
    tool: str
    positions: tuple[int | None, ...] = (None,)
    circumstances: Circumstances = field(default_factory=Circumstances)
    pairs: int = FULL
    text: Text | None = None
    assignments: tuple[Assignment, ...] = ()
    options: tuple[str, ...] = ()
    budget_s: float = math.inf
    progress: Callable[[Progress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    hashing: Hashing = lambda *_: None


def plan_of_task(task: Task, *, scores_texts: bool) -> Plan:
    """What would be measured. scores_texts: whether the engine can score the text.

    Raises ValueError where two sets have one name.
    """
    return measure_plan(
        arms_of(task.arms),
        task.sets,
        positions=task.positions,
        circumstances=task.circumstances,
        pairs=task.pairs,
        text=task.text if scores_texts else None,
    )


def measure_task(task: Task, chosen: ChosenEngines, folder: Path, *, go_on: bool) -> End:
    """Measure into the journal of a folder what it does not hold yet, and say why that ended.

    go_on: where there is a journal, to go on with it. Raises CannotRunError where it cannot
    begin, JournalError where the journal cannot be written or is of something else.
    """
    plan = plan_of_task(task, scores_texts=chosen.main.scores_texts)
    try_out(plan, task.assignments)
    refuse_what_is_there(folder, None, {REPORT: None, **files_beside(plan)}, go_on=go_on)
    devices = nvidia_devices() if chosen.is_here else None
    repeat = shlex.join(("benchlint", "measure", *task.options, *chosen.repeat))
    record, plan = planned(plan, None, (repeat,), chosen.secrets)
    make_folder(folder)
    known = known_machine(chosen, devices, task.hashing)
    header = Header(plan.sha256, task.tool, time.time(), known)
    path, notice = folder / SAMPLES, task.notice
    with journal_for(path, header, record, chosen.secrets, notice, go_on=go_on) as writer:
        note_told(writer, task.assignments)
        with Watch(devices) as watch:
            readings = watch.readings if can_be_watched(chosen, watch) else tuple
            settings = Settings(budget_s=task.budget_s, progress=task.progress, readings=readings)
            return measure(plan, chosen.engines, writer, settings)


def try_out(plan: Plan, assignments: tuple[Assignment, ...]) -> None:
    """Raise CannotRunError for what cannot be told of the report that is to be written.

    Nobody should measure for hours to learn of a slip of the pen.
    """
    told(_outline(plan), assignments)


def _outline(plan: Plan) -> dict[str, Any]:
    """The places that the report will have."""
    drafters = {c.arm.name: c.arm.method for c in plan.cells}
    return {
        "benchlint": "1",
        "machine": {"devices": [{}]},
        "configurations": {
            name: {"drafter": None if method is None else {"method": method}}
            for name, method in drafters.items()
        },
        "workloads": {cell.prompts.name: {} for cell in plan.cells},
        "runs": [{"id": cell.name} for cell in plan.cells],
        "quality": [{} for _ in plan.scorings],
    }


def note_told(writer: Writer, assignments: tuple[Assignment, ...]) -> None:
    """Keep with the journal what was told, so that the report can be written again."""
    if assignments:
        writer.write(Told(tuple(map(str, assignments)), time.time()))


def tell_more(folder: Path, assignments: tuple[Assignment, ...]) -> None:
    """Add what was told to a journal of `measure` that is not measured on.

    Raises CannotRunError, also where there is none.
    """
    path = folder / SAMPLES
    journal = journal_of(path, None)
    plan = journal_plan(journal, str(path))
    told(report_of(plan, journal)[0], assignments)
    if journal.header is not None:
        writer, _ = resume(path, journal.header)
        with writer:
            note_told(writer, assignments)


# Nothing to report


def why_nothing(folder: Path) -> str:
    """Why the journal of a folder holds no answer to be reported; "" where it holds one.

    Raises JournalError.
    """
    journal = read(folder / SAMPLES)
    if journal.measured or len(journal.of_kind(Scored)):
        return ""
    return first_fault(journal) or "measuring ended before the first answer"


def forget_nothing(folder: Path, *, was_there: bool) -> None:
    """Take a journal away that holds no answer at all, not even of a warm-up.

    was_there: whether the folder is the user's own; one that was made for the journal goes too.
    So whoever starts the server that was not there can give the same command again.
    """
    journal = read(folder / SAMPLES)
    if not journal.has_answers:
        (folder / SAMPLES).unlink()
        if not was_there:
            with suppress(OSError):  # somebody put something into it
                folder.rmdir()


# The report


@dataclass(frozen=True, slots=True)
class Written:
    """A report that was written.

    path: of it. end: why measuring ended last, if it did. refused: what was told and does not
    fit what was measured, each in a line. kept: what the one before is called now, which
    somebody had changed; None where nobody had.
    """

    path: Path
    report: dict[str, Any]
    end: End | None
    refused: tuple[str, ...]
    kept: Path | None = None


def report_of(plan: Plan, journal: Journal) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The report of a journal with what was told, and why some of that was left out."""
    report, kept, refused = written_report(plan, journal), list[Assignment](), list[str]()
    texts = [text for each in journal.of_kind(Told) for text in each.assignments]
    for each in {a.path: a for a in map(assignment, texts)}.values():
        try:
            told(report, [*kept, each])
        except CannotRunError as error:
            refused.append(str(error))
        else:
            kept.append(each)
    return told(report, kept), tuple(refused)


def write_report(folder: Path) -> Written:
    """Write the report of the journal in a folder beside it, and the prompts that it names.

    Each file is whole or not there. A report that somebody changed is kept under another name.
    Raises JournalError, CannotRunError and OSError.
    """
    path = folder / SAMPLES
    journal = read(path)
    plan = journal_plan(journal, str(path))
    report, refused = report_of(plan, journal)
    for name, data in files_beside(plan).items():
        write(str(folder / name), data)
    kept = _kept(folder / REPORT, plan, journal)
    write(str(folder / REPORT), _in_bytes(report))
    ends = journal.of_kind(End)
    return Written(folder / REPORT, report, ends[-1] if ends else None, refused, kept)


def _in_bytes(report: dict[str, Any]) -> bytes:
    return f"{json_with_digits(report)}\n".encode("utf-8", "replace")


def _kept(path: Path, plan: Plan, journal: Journal) -> Path | None:
    """Put a report that somebody changed aside, and say where it is."""
    if not path.exists() or path.read_bytes() in _reports_so_far(plan, journal):
        return None
    names = (path.with_name(f"{path.stem}-changed-{number}.json") for number in count(1))
    kept = next(each for each in names if not each.exists())
    return path.rename(kept)


def _reports_so_far(plan: Plan, journal: Journal) -> Iterator[bytes]:
    """What was written of a journal each time that measuring ended or something was told."""
    yield _in_bytes(report_of(plan, journal)[0])
    for number in range(len(journal.records) - 1, 0, -1):
        if isinstance(journal.records[number - 1], (End, Told)):
            yield _in_bytes(report_of(plan, Journal(journal.records[:number]))[0])


def files_beside(plan: Plan) -> dict[str, bytes]:
    """The files that the report names: prompts and texts of the user's, by their names.

    Raises CannotRunError for a name that is none of a file of its own in the folder.
    """
    files: dict[str, bytes] = {}
    for prompts in {cell.prompts.name: cell.prompts for cell in plan.cells}.values():
        if not is_bundled(prompts):
            files[_free(prompts.name, files)] = canonical(prompts.prompts)
    for text in {each.text.name: each.text for each in plan.scorings}.values():
        if not is_bundled_text(text):
            files[_free(text.name, files)] = text.text.encode()
    return files


def _free(name: str, taken: Collection[str]) -> str:
    """The name, which may come from a journal of somebody else's."""
    plain = name == PurePath(name).name == PureWindowsPath(name).name and name.isprintable()
    if not plain or name.startswith(".") or name in (SAMPLES, REPORT, *taken):
        raise CannotRunError(f"a copy of {name!r} cannot be kept beside the report: rename it")
    return name
