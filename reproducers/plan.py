"""What is to be measured, and what each measurement is held against.

A cell is a configuration on a workload under conditions; cells of one series share workload
and conditions and are measured in turns. Checks hold a printed number or a claim against
cells. What cannot be tested here is in the plan too, with the reason. A plan is plain data, the
same for the same report and wishes: it can be printed, and its hash names what is measured.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from benchlint.checker.formats.escape import at_line_start, uncommanded
from benchlint.checker.numbers import Reported
from benchlint.reproducers.design import FULL
from benchlint.reproducers.engine import Arm
from benchlint.reproducers.verdicts import (
    WIDEST_TOLERANCE,
    Quantity,
    Zone,
    tolerance_of,
    zone_of,
)
from benchlint.reproducers.workloads import PromptSet
from benchlint.reproducers.workloads.published import NO_PROMPTS
from benchlint.reproducers.workloads.texts import Text

#: Output tokens of an answer where nobody says how many: the least that tells much of speed.
OUTPUT_TOKENS = 256

#: Tokens of a window of a text where nobody says how many: llama-perplexity's default.
WINDOW_TOKENS = 512

_SPEEDS = (Quantity.SPEED, Quantity.SPEEDUP)

#: Of a machine whose repeats lie so far apart, something else is not known.
UNSTEADY = "what disturbed the report's repeats"

#: The KV cache holds at least this many tokens, in steps of it.
_CONTEXT_STEP = 4096

#: Room for what a chat template puts around a prompt, in tokens.
_TEMPLATE_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Under which conditions a cell is measured, one request at a time.

    filled_tokens: KV position before decode, to be filled by a text in front of the prompt;
    None for the prompts alone. max_tokens: most output tokens, the first one included.
    ignore_eos: go on after an end token. chat: apply the model's chat template.
    """

    filled_tokens: int | None = None
    max_tokens: int = OUTPUT_TOKENS
    ignore_eos: bool = False
    chat: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A configuration on a workload under conditions.

    name: unique in the plan. series: cells of one name are measured in turns.
    prompts_are_published: True where they are known to be the report's, None where they may be,
    False where others are used instead. pairs: rounds to be measured at most. runs: ids of the
    report's runs that this repeats; none for a baseline that was added.
    """

    name: str
    series: str
    arm: Arm
    prompts: PromptSet
    circumstances: Circumstances
    pairs: int = FULL
    prompts_are_published: bool | None = None
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scoring:
    """A perplexity to be measured: of a text, in windows of `context_tokens` as llama.cpp cuts it.

    name: unique in the plan. text_is_published: True where it is known to be the report's, None
    where it may be, False where another one is used instead.
    """

    name: str
    arm: Arm
    context_tokens: int
    text: Text
    text_is_published: bool | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A printed number or a claim that can be held against measurements.

    pointer: where it stands in the report; unique in the plan. says: the same in words.
    tested: what of a published sentence is tested, "" where its words are that already.
    metric: path of the number in a run; for a quality row its metric's name.
    relation: of the claim, None for a number. claimed: the printed value, None for claims that
    compare without one. base: the number of the run compared with, as printed.
    tolerance: a share. of: cells (or scorings) any one of which may show it. to: those compared
    with; every one of them counts. withheld: conditions that are not known to be equal; while
    there are any, nothing is refuted. definition: what the report says of how it is counted.
    spread: standard deviation of the report's repeats as a share; 0 where it states none.
    """

    pointer: str
    says: str
    quantity: Quantity
    metric: str
    relation: str | None
    claimed: Reported | None
    base: Reported | None
    tolerance: float
    of: tuple[str, ...]
    to: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    definition: str | None = None
    spread: float = 0.0
    tested: str = ""

    @property
    def zone(self) -> Zone:
        """What measurements must lie in, as a ratio for claims that compare."""
        return zone_of(self.relation, self.claimed, self.tolerance, self.base)


@dataclass(frozen=True, slots=True)
class Untestable:
    """A printed number, a claim, or a whole run that cannot be tested here.

    shown: cells whose measurements are shown beside it all the same. tested: see `Check`.
    """

    pointer: str
    says: str
    reason: str
    shown: tuple[str, ...] = ()
    tested: str = ""


@dataclass(frozen=True)
class Plan:
    """All cells, checks, and what cannot be tested, in the order of the report."""

    cells: tuple[Cell, ...]
    checks: tuple[Check, ...] = ()
    untestable: tuple[Untestable, ...] = ()
    scorings: tuple[Scoring, ...] = ()

    @cached_property
    def series(self) -> dict[str, tuple[Cell, ...]]:
        """The cells of each series: the baseline first, since every pair is one with it."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.series, []).append(cell)
        return {
            name: tuple(sorted(cells, key=lambda c: c.arm.method is not None))
            for name, cells in found.items()
        }

    @property
    def sha256(self) -> str:
        """Hash of what is measured. More rounds or other claims do not change it."""
        cells = [_cell_data(cell) for cell in self.cells]
        scorings = [_scoring_data(scoring) for scoring in self.scorings]
        text = json.dumps([cells, scorings], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _cell_data(cell: Cell) -> dict[str, object]:
    return {
        "name": cell.name,
        "series": cell.series,
        "arm": asdict(cell.arm),
        "prompts": cell.prompts.sha256,
        "circumstances": asdict(cell.circumstances),
    }


def _scoring_data(scoring: Scoring) -> dict[str, object]:
    return {
        "name": scoring.name,
        "arm": asdict(scoring.arm),
        "context_tokens": scoring.context_tokens,
        "text": scoring.text.sha256,
    }


# In words


def _lines(plan: Plan) -> Iterator[str]:
    for name, cells in plan.series.items():
        yield f"{_opening(name)}: {_circumstances(cells[0])}, up to {cells[0].pairs} rounds"
        yield from (f"  {_opening(cell.name)}: {arm_in_words(cell.arm)}" for cell in cells)
    yield from (_opening(scoring.name) for scoring in plan.scorings)
    for check in plan.checks:
        yield f"tests {clean(check.says)}{_withheld(check.withheld)}"
    for each in plan.untestable:
        yield f"not testable: {clean(each.says)}: {clean(each.reason)}"


def nothing_tested(plan: Plan) -> str:
    """That no check of a plan can be made, why, and what would help; "" where one can be."""
    reasons = Counter(each.reason for each in plan.untestable).most_common()
    if plan.checks or not reasons:
        return ""
    said = "; ".join(clean(reason) for reason, _ in reasons[:_MOST_REASONS])
    helps = any(reason.startswith(NO_PROMPTS) for reason, _ in reasons)
    hint = "; --prompts FILE --same prompts tests with prompts that you know to be its own"
    return f"nothing of the report can be tested: {said}{hint if helps else ''}"


_MOST_REASONS = 3


def _circumstances(cell: Cell) -> str:
    where = cell.circumstances
    words = [f"{len(cell.prompts)} prompts of {clean(cell.prompts.name)}"]
    if where.filled_tokens is not None:
        words.append(f"KV cache filled to {where.filled_tokens}")
    words.append(f"{where.max_tokens} output tokens")
    words += ["end token ignored"] * where.ignore_eos + ["no chat template"] * (not where.chat)
    return ", ".join(words)


def arm_in_words(arm: Arm) -> str:
    """One line on how an engine is set up."""
    words = [arm.method or "no drafter"]
    words += [] if arm.draft_length is None else [f"K {arm.draft_length}"]
    words += [f"p_min {arm.p_min}"] * (arm.p_min > 0)
    words += [f"argmax on {arm.draft_selection}"] * (arm.draft_selection is not None)
    sampling = ((k, v) for k, v in asdict(arm.sampling).items() if v is not None)
    words += [f"{name} {value}" for name, value in sampling]
    words += [] if arm.kv_types is None else [f"KV {clean('/'.join(arm.kv_types))}"]
    return ", ".join(words)


def _withheld(names: Sequence[str]) -> str:
    return f" (cannot be refuted: not known to be equal: {', '.join(names)})" if names else ""


def clean(text: str) -> str:
    """A text from a report on one line of a terminal: nothing in it can act on it."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return uncommanded(shown)


def _opening(name: str) -> str:
    """A name with which a line begins."""
    return at_line_start(clean(name))


# Making one


def context_for(prompts: PromptSet, where: Circumstances, stated: int | None = None) -> int:
    """Tokens that the KV cache of a cell must hold; at least what the report states."""
    longest = max(len(p.text.encode()) for p in prompts.prompts)  # no token is less than a byte
    needed = max(where.filled_tokens or 0, longest) + _TEMPLATE_TOKENS + where.max_tokens
    steps = max(-(-needed // _CONTEXT_STEP), 1)
    return max(steps * _CONTEXT_STEP, stated or 0)


def check_of(
    pointer: str,
    says: str,
    quantity: Quantity,
    metric: str,
    of: tuple[str, ...],
    *,
    relation: str | None = None,
    claimed: Reported | None = None,
    base: Reported | None = None,
    error: float = 0.0,
    least_tolerance: float = 0.0,
    to: tuple[str, ...] = (),
    withheld: tuple[str, ...] = (),
    definition: str | None = None,
    spread: float = 0.0,
) -> Check | Untestable:
    """A check, or why its words and numbers leave nothing to be held against.

    error: standard error of the printed number as a share of it. A speed that its own repeats
    leave open by more than any tolerance is never refuted. spread: see `Check`.
    """
    tolerance = max(tolerance_of(quantity, error), least_tolerance)
    if quantity in _SPEEDS and 2 * abs(error) > WIDEST_TOLERANCE:
        withheld = (*withheld, UNSTEADY)
    numbers = _bare(claimed), _bare(base), tolerance
    conditions = withheld, definition, spread
    check = Check(pointer, says, quantity, metric, relation, *numbers, of, to, *conditions)
    try:
        _ = check.zone
    except ValueError as error_:
        return Untestable(pointer, says, str(error_), (*of, *to))
    return check


def _bare(number: Reported | None) -> Reported | None:
    """The number without the block of the report that it stands in."""
    return None if number is None else replace(number, detail=None)


def measure_plan(
    arms: Iterable[Arm],
    sets: Iterable[PromptSet],
    *,
    positions: Sequence[int | None] = (None,),
    circumstances: Circumstances = Circumstances(),
    pairs: int = FULL,
    text: Text | None = None,
) -> Plan:
    """The plan of `measure`: every arm on every set at every KV position.

    positions: filled tokens before decode; None for the prompts alone. All contexts are made
    large enough for the longest of them: one arm is one configuration, wherever it is measured.
    text: to be scored once for each kind of KV cache among the arms, on which the perplexity of
    a target depends. Raises ValueError where two arms or two sets have one name.
    """
    arms, sets = tuple(arms), tuple(sets)
    for names in ([a.name for a in arms], [s.name for s in sets]):
        if len(set(names)) < len(names):
            raise ValueError(f"two of one name among {', '.join(names)}")
    places = [
        (prompts, replace(circumstances, filled_tokens=position))
        for prompts in sets
        for position in dict.fromkeys(positions)
    ]
    least = max((context_for(*place) for place in places), default=0)
    set_up = [replace(arm, context_tokens=max(arm.context_tokens, least)) for arm in arms]
    cells = tuple(_measured_cell(arm, *place, pairs) for place in places for arm in set_up)
    return Plan(cells, scorings=() if text is None else tuple(_scorings(arms, text)))


def _scorings(arms: Sequence[Arm], text: Text) -> Iterator[Scoring]:
    plain_first = sorted(arms, key=lambda arm: arm.method is not None)
    for arm in {arm.kv_types: arm for arm in reversed(plain_first)}.values():
        yield scoring_of(arm.name, arm.kv_types, WINDOW_TOKENS, text, published=True)


def scoring_of(
    name: str,
    kv_types: tuple[str, str] | None,
    window: int,
    text: Text,
    *,
    published: bool | None,
) -> Scoring:
    """The scoring of a text with the target of a configuration of this name.

    The drafter takes no part in it, nor does the arm's own context, which is left small.
    """
    arm = Arm(name, context_tokens=min(window, WINDOW_TOKENS), kv_types=kv_types)
    shown = f"perplexity of {name!r} on {text.name!r} in windows of {window}"
    return Scoring(shown, arm, window, text, published)


def _measured_cell(arm: Arm, prompts: PromptSet, where: Circumstances, pairs: int) -> Cell:
    position = where.filled_tokens
    series = prompts.name if position is None else f"{prompts.name} at {position}"
    name = f"{arm.name} on {series}"
    return Cell(name, series, arm, prompts, where, pairs, prompts_are_published=True)
