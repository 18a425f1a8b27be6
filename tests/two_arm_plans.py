"""Plans of a plain and a speculative arm with printed numbers, for tests of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchlint.checker.numbers import reported
from benchlint.checker.tree import Digits
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.plan import Cell, Check, Circumstances, Plan, check_of
from benchlint.reproducers.verdicts import Quantity
from benchlint.reproducers.workloads import Prompt, PromptSet

PLAIN, FAST = "plain on code", "fast on code"
ARMS = {PLAIN: "plain", FAST: "fast"}
PROMPTS = [f"p{i}" for i in range(12)]

QUANTITIES = {
    "decode.tok_s": Quantity.SPEED,
    "step_time_ms": Quantity.SPEED,
    "prefill.tok_s": Quantity.SPEED,
    "speedup": Quantity.SPEEDUP,
    "speculation.accepted_length": Quantity.ACCEPTANCE,
    "speculation.acceptance_rate": Quantity.ACCEPTANCE,
    "speculation.per_position.values.0": Quantity.ACCEPTANCE,
    "losslessness.match_rate": Quantity.MATCH_RATE,
    "memory.device_used_mib": Quantity.MEMORY,
    "perplexity": Quantity.PERPLEXITY,
}
DEFINITIONS = {
    "speculation.accepted_length": "with bonus token",
    "speculation.acceptance_rate": "drafted",
    "speculation.per_position.values.0": "cumulative",
    "losslessness.match_rate": "prompt",
}


def cells(*, published: bool | None = True, temperature: float = 0.0) -> tuple[Cell, Cell]:
    prompts = PromptSet("code", tuple(Prompt(name, f"text of {name}") for name in PROMPTS))
    sampling = Sampling(temperature=temperature)
    plain = Arm("plain", sampling=sampling)
    fast = Arm("fast", method="draft_model", draft_length=4, sampling=sampling)
    where = Circumstances()
    return (
        Cell(PLAIN, "code", plain, prompts, where, 20, published),
        Cell(FAST, "code", fast, prompts, where, 20, published),
    )


def check(metric: str, printed: str | None, **more: Any) -> Check:
    """A check of the fast cell; `printed` with the digits that a report shows."""
    quantity, name = QUANTITIES[metric], more.pop("pointer", f"/runs/1/{metric}")
    claimed = None if printed is None else reported(Digits(printed), name)
    compares = quantity in (Quantity.SPEEDUP, Quantity.MATCH_RATE)
    more = {"to": (PLAIN,) if compares else (), "definition": DEFINITIONS.get(metric)} | more
    of = more.pop("of", (FAST,))
    made = check_of(name, f"{metric} {printed}", quantity, metric, of, claimed=claimed, **more)
    assert isinstance(made, Check)
    return made


def plan_of(checks: Sequence[Check], **more: Any) -> Plan:
    return Plan(cells(**more), tuple(checks))
