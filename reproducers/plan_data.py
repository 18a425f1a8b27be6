"""A plan as plain data, as a journal carries it, and the way back.

Nothing is lost: prompts, arms and printed numbers come back as they were. What is read may have
been written by anyone, so a plan that contradicts itself is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import chain

from pydantic import TypeAdapter, ValidationError

from benchlint.reproducers.journal import Journal, JournalError, Planned, ReportText, as_read
from benchlint.reproducers.plan import Check, Plan
from benchlint.reproducers.terms import readings_of
from benchlint.reproducers.verdicts import Quantity

#: What is tested by other things than the readings of a metric.
_APART = frozenset({Quantity.PERPLEXITY, Quantity.MATCH_RATE, Quantity.MEMORY})
_DAMAGED = "the journal's plan was damaged or changed"


def planned(
    plan: Plan,
    report: ReportText | None = None,
    repeat: tuple[str, ...] = (),
    secrets: Collection[str] = (),
) -> tuple[Planned, Plan]:
    """The record of a plan, and the plan as a reader of it gets it, which is the one to measure.

    The two differ from what was given where texts hold secrets. Raises JournalError.
    """
    record = as_read(Planned(plan_data(plan), report, repeat), secrets)
    return record, plan_of(record)


def plan_data(plan: Plan) -> Mapping[str, object]:
    """The plan as objects, lists, texts and numbers."""
    data: Mapping[str, object] = _adapter().dump_python(plan, mode="json")
    return data


def journal_plan(journal: Journal, path: str) -> Plan:
    """The plan that a journal was measured for. Raises JournalError where it carries none.

    path: what to call the journal in messages.
    """
    record = journal.planned
    if record is None:
        raise JournalError(f"{path}: carries no plan, so there is nothing to be judged")
    plan = plan_of(record)
    if journal.header is None or journal.header.plan != plan.sha256:
        raise JournalError(f"{path}: {_DAMAGED}: it does not have the hash of the first line")
    return plan


def plan_of(record: Planned) -> Plan:
    """The plan that a record carries. Raises JournalError where it is none."""
    try:
        plan = _adapter().validate_json(json.dumps(record.plan), strict=True)
    except ValidationError as error:
        [problem, *_] = error.errors(include_url=False, include_input=False)
        where = ".".join(map(str, problem["loc"]))
        raise JournalError(f"{_DAMAGED}: {where}: {problem['msg']}") from None
    fault = next(_faults(plan), "")
    if fault:
        raise JournalError(f"{_DAMAGED}: {fault}")
    return plan


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def _faults(plan: Plan) -> Iterator[str]:
    """What no plan that was made from a report has."""
    cells = [cell.name for cell in plan.cells]
    scorings = [each.name for each in plan.scorings]
    known = {*cells, *scorings}
    pointers = [each.pointer for each in plan.checks]
    if len(set(cells)) < len(cells):
        yield "two cells have one name"
    if len(set(scorings)) < len(scorings):
        yield "two scorings have one name"
    if len(set(pointers)) < len(pointers):
        yield "two checks have one place"
    named = (chain(c.of, c.to) for c in plan.checks)
    if not known.issuperset(chain(*named, *(each.shown for each in plan.untestable))):
        yield "it names a cell that it does not have"
    scored = {n for c in plan.checks if c.quantity is Quantity.PERPLEXITY for n in (*c.of, *c.to)}
    others = {
        n for c in plan.checks if c.quantity is not Quantity.PERPLEXITY for n in (*c.of, *c.to)
    }
    if not scored.issubset(scorings) or not others.issubset(cells):
        yield "it tests the perplexity of a cell, or something else of a text"
    if any(not cell.prompts.prompts or cell.pairs < 1 for cell in plan.cells):
        yield "a cell has no prompts or no rounds"
    yield from (f"{check.pointer}: {fault}" for check in plan.checks if (fault := _unheld(check)))


def _unheld(check: Check) -> str:
    """Why nothing can be held against a check, or ""."""
    try:
        zone = check.zone
        if check.quantity not in _APART:
            readings_of(check)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        return str(error)
    return "" if math.isfinite(zone.tolerance) and zone.tolerance >= 0 else "no tolerance"
