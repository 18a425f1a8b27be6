"""What is still to be measured."""

from __future__ import annotations

import pytest

from benchlint.reproducers.agenda import Agenda
from benchlint.reproducers.engine import Arm, Sample
from benchlint.reproducers.journal import Header, Journal, Measured, Record, Void
from benchlint.reproducers.plan import Cell, Circumstances, Plan
from benchlint.reproducers.workloads import Prompt, PromptSet

PROMPTS = PromptSet("two", (Prompt("a", "A"), Prompt("b", "B")))
SLOW, QUICK = "plain", "K=4"


def two_arms(pairs: int) -> Plan:
    arms = (Arm(SLOW), Arm(QUICK, "draft_model", 4))
    return Plan(tuple(Cell(a.name, "two", a, PROMPTS, Circumstances(), pairs) for a in arms))


def agenda_of(pairs: int, *records: Record) -> Agenda:
    plan = two_arms(pairs)
    return Agenda(plan, Journal((Header(plan.sha256, "0", 0.0), *records)))


def test_it_counts_down() -> None:
    agenda = agenda_of(4)
    assert (agenda.done, agenda.left) == (0, 16)
    agenda.check_off(SLOW, 0, PROMPTS.prompts[0])
    assert agenda.next(SLOW, 0) == PROMPTS.prompts[1]
    agenda.drop(QUICK, 2)
    assert (agenda.done, agenda.left) == (1, 13)
    agenda.drop(QUICK)
    assert (agenda.done, agenda.left) == (1, 7)


def test_what_a_journal_holds_is_not_asked_for() -> None:
    agenda = agenda_of(
        4,
        Measured(SLOW, SLOW, "b", 0, 0, 0.0, Sample("", 2)),
        Measured(SLOW, SLOW, "a", 1, 0, 0.0, Sample("", 2), warm_up=True),
        Void(QUICK, "500", 0.0, pair=3),
    )
    assert agenda.next(SLOW, 0) == PROMPTS.prompts[0]
    agenda.check_off(SLOW, 0, PROMPTS.prompts[0])
    assert agenda.next(SLOW, 0) is None
    assert agenda.next(SLOW, 1) == PROMPTS.prompts[0]
    assert agenda.next(QUICK, 3) is None
    assert (agenda.done, agenda.left) == (2, 12)


@pytest.mark.parametrize(
    ("pairs", "sizes"), [(1, [2]), (4, [8]), (6, [8, 4]), (20, [8] * 5), (50, [8] * 5)]
)
def test_blocks_end_at_looks(pairs: int, sizes: list[int]) -> None:
    agenda = agenda_of(pairs)
    assert [len(block) for block in agenda.blocks()] == sizes
