"""A judgement as Markdown: the headline, claims and numbers, where speed-ups come from.

Whatever may quote a report or a journal stands in a code span, see `escape.markdown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from benchlint.checker.formats.escape import markdown
from benchlint.checker.numbers import shown, shown_interval
from benchlint.reproducers.cell_readings import MachineState
from benchlint.reproducers.judgement import (
    Decomposition,
    Figure,
    Judgement,
    Measurements,
    Ruling,
    Scores,
)
from benchlint.reproducers.losslessness import Comparison, Difference
from benchlint.reproducers.rooflines import NOT_KNOWN_HERE, Roofline, share_shown
from benchlint.reproducers.verdicts import UNIT_NAMES, Outcome

_MARKS = {
    Outcome.REPRODUCED: "✅ reproduced",
    Outcome.REFUTED: "❌ refuted",
    Outcome.INCONCLUSIVE: "❔ inconclusive",
    Outcome.NOT_TESTABLE: "➖ not testable here",
}

_RULINGS = ("outcome", "what the report says", "measured", "tolerance", "units", "why")
_PARTS = ("arm", "speed-up S", "tokens a pass τ_all", "step cost r", "rounds")
_CELLS = ("measured", "tok/s", "τ", "acceptance", "memory", "rounds", "notes")
_SCORES = ("text", "arm", "window", "perplexity", "windows", "notes")
_OUTPUTS = ("greedy output of", "compared with", "alike", "first difference", "why")
_SHARES = ("decode of", "where", "device", "tok/s", "passes/s", "of at most", "share")
_SIDES = ("", "report", "here")


def verdict_markdown(judgement: Judgement) -> str:
    """The whole text. It depends on the judgement alone."""
    return "\n".join(_lines(judgement)) + "\n"


def _lines(judgement: Judgement) -> Iterator[str]:
    counts = (f"{n} {outcome}" for outcome, n in judgement.counts.items() if n)
    yield f"**{_MARKS[judgement.outcome]}**: {', '.join(counts) or 'nothing was to be tested'}"
    if not judgement.ended:
        yield "\nMeasuring has not ended; this is what there is so far."
    yield from (f"\n⚠️ {markdown(warning)}" for warning in judgement.warnings)
    claims = [each for each in judgement.rulings if each.is_claim]
    numbers = [each for each in judgement.rulings if not each.is_claim]
    yield from _table("Claims", _RULINGS, map(_ruling, claims))
    yield from _table("Numbers", _RULINGS, map(_ruling, numbers))
    yield from _table("Speed-up = τ_all / r", _PARTS, map(_parts, judgement.decompositions))
    yield from _table("Measured", _CELLS, map(_cell, judgement.cells))
    yield from _all_shares(judgement.cells)
    yield from _table("Perplexity", _SCORES, map(_scores, judgement.perplexities))
    yield from _table("Output", _OUTPUTS, map(_comparison, judgement.losslessness))
    sides = ([markdown(e.name), _side(e.report), _side(e.here)] for e in judgement.environment)
    yield from _table("Environment", _SIDES, sides)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield f"\n### {title}\n"
        yield from (_row(cells) for cells in (head, ["---"] * len(head), *found))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ruling(ruling: Ruling) -> list[str]:
    verdict = ruling.verdict
    zone = verdict.zone
    why = [markdown(verdict.reason)] + [markdown(ruling.reading)] * bool(ruling.reading)
    return [
        _MARKS[verdict.outcome],
        markdown(ruling.says) + (f"<br>tested: {markdown(ruling.tested)}" if ruling.tested else ""),
        "" if verdict.value is None else shown(verdict.value),
        "" if zone is None or ruling.check is None else f"{100 * zone.tolerance:.3g} %",
        _units(ruling),
        "<br>".join(why),
    ]


def _units(ruling: Ruling) -> str:
    if ruling.check is None or ruling.verdict.evidence is None:
        return ""
    return f"{ruling.verdict.units} {UNIT_NAMES.get(ruling.check.quantity, 'rounds')}"


def _parts(each: Decomposition) -> list[str]:
    figures = each.speedup, each.accepted_length_all, each.step_cost
    return [markdown(each.cell), *map(_figure, figures), str(each.rounds)]


def _cell(cell: Measurements) -> list[str]:
    counts = cell.counts
    tau = None if counts is None else counts.accepted_length or counts.accepted_length_all
    rate = None if counts is None else counts.rate
    notes = [f"void: {cell.void}"] * bool(cell.void) + list(cell.notes)
    notes += [f"round {number} lies far out" for number in cell.outliers]
    speculates = cell.method is not None
    return [
        markdown(cell.cell),
        _figure(cell.tok_s),
        shown(tau) if tau is not None and speculates else "",
        f"{100 * rate:.1f} %" if rate is not None else "",
        _memory(cell.machine),
        str(cell.rounds),
        "<br>".join(map(markdown, notes)),
    ]


def _all_shares(cells: Sequence[Measurements]) -> Iterator[str]:
    shares = [row for cell in cells for row in _shares(cell)]
    yield from _table("Share of what memory allows", _SHARES, shares)
    if shares and not any(cell.roofline for cell in cells):
        yield f"\n{NOT_KNOWN_HERE}"


def _shares(cell: Measurements) -> Iterator[list[str]]:
    """The cell here, and the report's runs that it repeats, each on its own device."""
    if cell.roofline is not None:
        yield [markdown(cell.cell), "here", *_share(cell.roofline)]
    yield from (
        [markdown(cell.cell), f"report, {markdown(name)}", *_share(each)]
        for name, each in cell.stated
    )


def _share(roofline: Roofline) -> list[str]:
    ceiling, passes, share = roofline.ceiling, roofline.passes_s, roofline.share
    about = "" if ceiling.certain else "about "
    return [
        markdown(ceiling.device),
        shown(roofline.tok_s),
        "" if passes is None else shown(passes),
        f"{about}{shown(ceiling.passes_s)}",
        "" if share is None else f"{about}{share_shown(share)}",
    ]


def _memory(state: MachineState) -> str:
    used = state.process_mib if state.memory_mib is None else state.memory_mib
    return "" if used is None else f"{used / 1024:.2f} GiB"


def _scores(scores: Scores) -> list[str]:
    return [
        markdown(scores.text),
        markdown(scores.arm),
        f"{scores.context_tokens} tokens",
        _figure(scores.perplexity),
        str(scores.windows),
        markdown(f"void: {scores.void}") if scores.void else "",
    ]


def _comparison(comparison: Comparison) -> list[str]:
    other = f"itself in {comparison.rounds} rounds"
    return [
        markdown(comparison.cell),
        other if comparison.baseline is None else markdown(comparison.baseline),
        f"{comparison.alike} of {comparison.prompts} prompts",
        _place(comparison.first),
        _why(comparison),
    ]


def _place(first: Difference | None) -> str:
    if first is None:
        return ""
    return f"character {first.character}" if first.token is None else f"token {first.token}"


def _why(comparison: Comparison) -> str:
    """What is known of the differences."""
    kinds = Counter(each.is_near_tie for each in comparison.differences)
    words = {True: "near-ties", False: "no near-ties", None: "margin not known"}
    return ", ".join(f"{word}: {kinds[kind]}" for kind, word in words.items() if kinds[kind])


def _figure(figure: Figure | None) -> str:
    if figure is None:
        return ""
    ends = "" if figure.interval is None else f" ({shown_interval(figure.interval)})"
    return shown(figure.value) + ends


def _side(value: object) -> str:
    return "" if value is None else markdown(str(value))
