"""The evidence that scored texts give on printed perplexities and on claims that compare them.

A text is scored window by window (`llama_cpp_perplexity`), each window with as many tokens as
any other, so ln(PPL) is the mean of the windows. The same text under the same weights gives the
same figure again, so what is measured on the report's own text is exact. On another text two
targets can still be compared: in pairs, window by window, which is far more exact than either
figure; the windows are then a sample of what such texts are like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchlint.reproducers.plan import Check
from benchlint.reproducers.rounds import Rounds
from benchlint.reproducers.statistics import (
    Evidence,
    exact,
    perplexity_log_ratio,
)
from benchlint.reproducers.verdicts import Case

#: Beyond this (nats) a model would not be one: a perplexity of 10³⁰⁰.
_MOST_NATS = 690.0


def windows_of(rounds: Rounds, name: str) -> Sequence[float]:
    """The likelihoods that count of a scoring; none where a number among them is none."""
    found = rounds.scored.get(name)
    nll = () if found is None else found.nll
    return nll if all(abs(each) < _MOST_NATS for each in nll) else ()


def perplexity_case(rounds: Rounds, check: Check, name: str, other: str | None = None) -> Case:
    """The evidence on one scoring, or on it compared with another one."""
    names = [name] if other is None else [name, other]
    barrier = next((rounds.void[each] for each in names if each in rounds.void), "")
    zone = check.zone if other is None else check.zone.log()
    windows = [windows_of(rounds, each) for each in names]
    if barrier or not all(windows):
        return Case(zone, (), check.withheld, barrier)
    if other is None:
        return Case(zone, [_alone(windows[0])], check.withheld)
    if len(windows[0]) != len(windows[1]):
        return Case(zone, (), check.withheld, "the two scorings have other windows")
    own_text = all(rounds.scorings[each].text_is_published for each in names)
    return Case(zone, [_paired(windows[0], windows[1], own_text)], check.withheld)


def _alone(windows: Sequence[float]) -> Evidence:
    return exact(math.exp(math.fsum(windows) / len(windows)), len(windows))


def _paired(first: Sequence[float], second: Sequence[float], own_text: bool) -> Evidence:
    """ln of the ratio of two perplexities."""
    found = perplexity_log_ratio(first, second, [1.0] * len(first))
    return exact(found.value, found.units) if own_text else found
