"""When measuring stops: the rule that measuring asks, on series of benches whose truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from benchlint.checker.numbers import reported
from benchlint.checker.tree import Digits
from benchlint.reproducers.design import FULL, LOOKS, Step, blocks
from benchlint.reproducers.engine import Arm, Counters, Sample, Sampling
from benchlint.reproducers.journal import Journal, Measured, Record
from benchlint.reproducers.judgement import is_decided, judge
from benchlint.reproducers.plan import Cell, Check, Circumstances, Plan, check_of
from benchlint.reproducers.verdicts import Outcome, Quantity
from benchlint.reproducers.workloads import Prompt, PromptSet
from tests.verdict_simulator import Bench, bench, claim_of

TIMES = 40
TOKENS = 257
PROMPTS = PromptSet("p", (Prompt("p", "text"),))
ARMS = {"plain": Arm("plain", sampling=Sampling(0.0)), "fast": Arm("fast", "draft_model", 4)}


def plan_of(claims: Sequence[str]) -> Plan:
    """A plan to test claimed speed-ups."""
    cells = (Cell(n, "s", arm, PROMPTS, Circumstances(), FULL, True) for n, arm in ARMS.items())
    return Plan(tuple(cells), tuple(check(i, claim) for i, claim in enumerate(claims)))


def check(index: int, claim: str) -> Check:
    where = f"/claims/{index}"
    made = check_of(
        where,
        claim,
        Quantity.SPEEDUP,
        "speedup",
        ("fast",),
        relation="ratio",
        claimed=reported(Digits(claim), where),
        to=("plain",),
    )
    assert isinstance(made, Check)
    return made


def answer(machine: Bench, step: Step) -> Measured:
    plain = step.arm == "plain"
    counters = Counters() if plain else Counters(400, 150, 106, 0)
    sample = Sample("x", TOKENS, decode_s=(TOKENS - 1) / machine.run(step.arm), counters=counters)
    return Measured(step.arm, step.arm, "p", step.pair, step.position, 0.0, sample)


def measured(plan: Plan, machine: Bench) -> Iterator[Journal]:
    """The journal at each look, until the stop rule ends it."""
    records: list[Record] = []
    for block in blocks(list(ARMS)):
        records += [answer(machine, step) for step in block]
        yield Journal(tuple(records))
        if is_decided(plan, Journal(tuple(records))):
            return


def outcomes(kind: str, inflation: float, noise: float = 0.02) -> tuple[Counter[Outcome], float]:
    """Outcomes of a claim over many series, and the mean number of pairs that they took."""
    rng, counts, pairs = Random(f"{kind} {inflation}"), Counter[Outcome](), 0
    for _ in range(TIMES):
        machine = bench(kind, noise, rng)
        plan = plan_of([claim_of(machine.world.ratio * inflation, rng)])
        *_, journal = measured(plan, machine)
        [ruling] = judge(plan, journal).rulings
        counts[ruling.verdict.outcome] += 1
        pairs += len(journal.records) // 2
    return counts, pairs / TIMES


@pytest.mark.parametrize("kind", ["plain", "throttling", "heavy tails"])
def test_true_claims_stand_and_inflated_ones_fall_in_half_the_pairs(kind: str) -> None:
    true, pairs_of_true = outcomes(kind, 1.0)
    inflated, pairs_of_inflated = outcomes(kind, 1.1)
    assert true[Outcome.REFUTED] == 0
    assert true[Outcome.REPRODUCED] >= 0.95 * TIMES
    assert inflated[Outcome.REPRODUCED] == 0
    assert inflated[Outcome.REFUTED] >= 0.9 * TIMES
    assert max(pairs_of_true, pairs_of_inflated) <= FULL / 2


def test_it_stops_at_the_first_look_that_settles_every_claim() -> None:
    """One claim that is clear at once, and one that stays close to the end of its tolerance."""
    machine = bench("plain", 0.02, Random(3))
    ratio = machine.world.ratio
    plan = plan_of([f"{ratio:.2f}", f"{1.06 * ratio:.2f}"])
    settled = [judge(plan, journal).settled for journal in measured(plan, machine)]
    assert not any(settled[:-1])
    assert settled[-1] or len(settled) == len(LOOKS)
    alone = list(measured(plan_of([f"{ratio:.2f}"]), bench("plain", 0.02, Random(3))))
    assert len(alone) < len(settled)
