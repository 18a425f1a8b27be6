"""A judgement in words for a terminal: the headline, then claims and numbers with their verdicts.

Whatever quotes a report or a journal is escaped here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchlint.checker.formats.base import plural
from benchlint.checker.formats.escape import at_line_start, terminal
from benchlint.reproducers.judgement import Judgement, Ruling
from benchlint.reproducers.verdict_json import verdict_data
from benchlint.reproducers.verdict_page import sentence
from benchlint.reproducers.verdicts import Outcome

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_COLORS = {
    Outcome.REPRODUCED: "\x1b[1;32m",
    Outcome.REFUTED: "\x1b[1;91m",
    Outcome.INCONCLUSIVE: "\x1b[1;33m",
    Outcome.NOT_TESTABLE: _DIM,
}
_MARKS = {
    Outcome.REPRODUCED: "✓",
    Outcome.REFUTED: "✗",
    Outcome.INCONCLUSIVE: "?",
    Outcome.NOT_TESTABLE: "-",
}

#: So many verdicts of one kind are shown; the files have all of them.
SHOWN = 20

#: More verdicts than these with one reason are told in a line: it says nothing of any of them.
ALIKE = 5

#: So many reasons why something is not testable are shown.
_REASONS = 5


def verdict_text(judgement: Judgement, *, color: bool) -> str:
    """The text, with a line end. It depends on the arguments alone."""
    return "".join(f"{line}\n" for line in _lines(judgement, _Paint(color)))


class _Paint:
    """Colours, or none."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, color: str) -> str:
        return f"{color}{text}{_RESET}" if self._on else text


def _lines(judgement: Judgement, paint: _Paint) -> Iterator[str]:
    outcome = judgement.outcome
    yield paint(sentence(outcome, verdict_data(judgement)), _COLORS[outcome])
    claims = [each for each in judgement.rulings if each.is_claim]
    numbers = [each for each in judgement.rulings if not each.is_claim]
    for title, rulings in (("claims", claims), ("numbers", numbers)):
        yield from _section(title, rulings, paint)
    yield from (paint(terminal(f"warning: {each}"), _BOLD) for each in judgement.warnings)


def _section(title: str, rulings: Sequence[Ruling], paint: _Paint) -> Iterator[str]:
    """What was tested, the bad news first, then why the rest was not."""
    if not rulings:
        return
    yield ""
    yield paint(title, _BOLD)
    for outcome in (Outcome.REFUTED, Outcome.INCONCLUSIVE, Outcome.REPRODUCED):
        yield from _with_outcome(outcome, rulings, paint)
    yield from _untested(rulings, paint)


def _with_outcome(outcome: Outcome, rulings: Sequence[Ruling], paint: _Paint) -> Iterator[str]:
    found = [each for each in rulings if each.verdict.outcome is outcome]
    reasons = Counter(each.verdict.reason for each in found)
    single = [each for each in found if reasons[each.verdict.reason] <= ALIKE]
    for each in single[:SHOWN]:
        yield from _ruling(each, paint)
    if len(single) > SHOWN:
        yield f"  and {len(single) - SHOWN} more {outcome}"
    for reason, count in reasons.items():
        if count > ALIKE:
            label = paint(f"{_MARKS[outcome]} {outcome}, {count}:", _COLORS[outcome])
            yield f"  {label} {terminal(reason)}"


def _ruling(ruling: Ruling, paint: _Paint) -> Iterator[str]:
    outcome = ruling.verdict.outcome
    label = paint(f"{_MARKS[outcome]} {outcome:<12}", _COLORS[outcome])
    yield f"  {label} {terminal(ruling.says)}"
    if ruling.tested:
        yield paint(f"{'':17}tested: {terminal(ruling.tested)}", _DIM)
    yield paint(f"{'':17}{at_line_start(terminal(ruling.verdict.reason))}", _DIM)


def _untested(rulings: Sequence[Ruling], paint: _Paint) -> Iterator[str]:
    """How many were not testable, by reason, the most common first."""
    verdicts = [r.verdict for r in rulings if r.verdict.outcome is Outcome.NOT_TESTABLE]
    reasons = Counter(verdict.reason for verdict in verdicts).most_common()
    for reason, count in reasons[:_REASONS]:
        line = f"{_MARKS[Outcome.NOT_TESTABLE]} not testable here, {count}: {terminal(reason)}"
        yield f"  {paint(line, _DIM)}"
    if len(reasons) > _REASONS:
        yield paint(f"  and {plural(len(reasons) - _REASONS, 'more reason')}", _DIM)
