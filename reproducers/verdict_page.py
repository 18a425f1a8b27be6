"""verdict.html: a verdict as one page that asks for nothing from outside.

It is made of what verdict.json holds, the linter's findings, and the commands to repeat it, so
it can be made again from the file. Templates escape every text (`checker/html_pages.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from benchlint.checker.finding import Finding
from benchlint.checker.formats.base import plural
from benchlint.checker.html_pages import as_markup, page
from benchlint.checker.numbers import Interval, shown, shown_interval, unit_of_last_digit
from benchlint.reproducers import plots
from benchlint.reproducers.rooflines import NOT_KNOWN_HERE, share_shown
from benchlint.reproducers.verdicts import UNIT_NAMES, Outcome, Quantity

Data = Mapping[str, Any]

#: What a page is called where nobody says otherwise.
TITLE = "Benchmark report, run again"

#: Verdicts that are told in full above the tables.
TOLD = 3

_ORDER = (Outcome.REFUTED, Outcome.INCONCLUSIVE, Outcome.REPRODUCED, Outcome.NOT_TESTABLE)
_TONES = {
    Outcome.REPRODUCED: ("good", "✓"),
    Outcome.REFUTED: ("bad", "✗"),
    Outcome.INCONCLUSIVE: ("open", "?"),
    Outcome.NOT_TESTABLE: ("none", "–"),
}
_COLORS = {
    Outcome.REPRODUCED: plots.GOOD,
    Outcome.REFUTED: plots.BAD,
    Outcome.INCONCLUSIVE: plots.OPEN,
    Outcome.NOT_TESTABLE: plots.NONE,
}

#: Counts of a cell, by their names in verdict.json, in words.
COUNTED = {
    "requests": "requests",
    "output": "output tokens",
    "steps": "verify steps",
    "plain_steps": "plain passes",
    "drafted": "drafted",
    "accepted": "accepted",
    "decode_s": "decode s",
}

#: Differing answers of a comparison that are listed.
MAX_PLACES = 50

#: Plots of one kind, one a series; what is left out stands in the tables.
MAX_PLOTS = 6

#: No rounding of a stated number moves it further than this share.
ROUNDED = 0.02

#: Why measuring ended, for a reader of the page.
_ENDS = {
    "settled": "",
    "last_look": "",
    "budget": "Measuring stopped at its time budget.",
    "interrupted": "Measuring was interrupted; this is what there was by then.",
    "engine_gone": "The engine went away while measuring; this is what there was by then.",
    "error": "Measuring ended with an error; this is what there was by then.",
    None: "Measuring has not ended; this is what there is so far.",
}


def verdict_page(
    verdict: Mapping[str, object],
    findings: Sequence[Finding],
    repeat: Sequence[str],
    title: str = TITLE,
) -> str:
    """The page, as text of HTML. The same arguments give the same text.

    verdict: as `verdict_data` makes it, or as it was read back from verdict.json. findings: of
    the linter on the report. repeat: command lines. title: of the page, raw.
    Raises CannotRunError where jinja2 is not installed.
    """
    data = cast("Data", verdict)
    values: dict[str, object] = {
        "title": title,
        "verdict": data,
        "headline": _headline(data),
        "claims": _rows(data["claims"]),
        "numbers": _rows(data["numbers"]),
        "plots": [_drawn(plot) for plot in plots_of(data)],
        "environment": _environment(data["environment"]),
        "counted": COUNTED,
        "cells": [_cell(each) for each in data["cells"]],
        "decompositions": [_parts(each) for each in data["decompositions"]],
        "rooflines": [_roofline(each) for each in _rooflines(data)],
        "ceiling_here": any(cell["roofline"] for cell in data["cells"]),
        "no_ceiling_here": NOT_KNOWN_HERE,
        "comparisons": [_comparison(each) for each in data["losslessness"]],
        "perplexities": [_scores(each) for each in data["perplexities"]],
        "findings": sorted(findings, key=lambda finding: -finding.severity.rank),
        "repeat": list(repeat),
    }
    return page("verdict.html", values)


# The headline


@dataclass(frozen=True, slots=True)
class Headline:
    """What a stranger sees first.

    told: verdicts that matter most, at most `TOLD`. reasons: why nothing could be tested, each
    with how often, at most `TOLD`. more: how many are left out. hints: what could decide what
    is open.
    """

    tone: str
    mark: str
    sentence: str
    counts: tuple[str, ...]
    ended: str
    told: tuple[Row, ...]
    reasons: tuple[tuple[str, int], ...]
    more: int
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A verdict on a claim or number, in texts that are still raw."""

    pointer: str
    says: str
    outcome: str
    tone: str
    mark: str
    measured: str
    brief: str
    expected: str
    tolerance: str
    units: str
    reason: str
    reading: str
    tested: str


def _headline(data: Data) -> Headline:
    outcome = Outcome(data["outcome"])
    rulings = [*data["claims"], *data["numbers"]]
    told = [each for each in rulings if each["outcome"] == outcome]
    reasons: Counter[str] = Counter()
    if outcome is Outcome.NOT_TESTABLE:
        reasons.update(each["reason"] for each in rulings)
    if outcome in (Outcome.REPRODUCED, Outcome.NOT_TESTABLE):
        told = []
    counts = (_counts(data["claims"], "claim"), _counts(data["numbers"], "printed number"))
    return Headline(
        *_TONES[outcome],
        sentence(outcome, data),
        tuple(filter(None, counts)),
        _ENDS.get(data["ended"], ""),
        tuple(map(_row, told[:TOLD])),
        tuple(reasons.most_common(TOLD)),
        max(0, len(told) - TOLD, len(reasons) - TOLD),
        tuple(_hints(rulings, data["ended"])),
    )


def _hints(rulings: Sequence[Data], ended: str | None) -> Iterator[str]:
    """What could decide what these measurements leave open."""
    still_open = [each for each in rulings if each["outcome"] == Outcome.INCONCLUSIVE]
    withheld = dict.fromkeys(n for each in still_open for n in each["withheld"] if each["settled"])
    if withheld:
        yield (
            "Some numbers lie outside what the report says, yet nobody knows whether these are as "
            f"in the report: {', '.join(withheld)}. Whoever knows that one is says so with --same."
        )
    if all(each["settled"] for each in still_open):
        return
    if ended == "last_look":
        yield "All rounds are measured: only more prompts or a calmer machine may decide the rest."
    else:
        yield "More rounds may decide what is open: the same command with --resume."


def sentence(outcome: Outcome, data: Data) -> str:
    """The verdict on the whole report: of its claims, or of its numbers where they decide."""
    claims, numbers = data["claims"], data["numbers"]
    if not claims and not numbers:
        return "Nothing to test: the report prints no claim or number that a rerun could check."
    decide = any(each["outcome"] == outcome for each in claims)
    found, noun = (claims, "claim") if decide else (numbers, "printed number")
    count, total = sum(each["outcome"] == outcome for each in found), len(found)
    tested = total - sum(each["outcome"] == Outcome.NOT_TESTABLE for each in found)
    of = f"{count} of {plural(total, noun)}"
    if outcome is Outcome.REFUTED:
        return f"Refuted: {of} {'does' if count == 1 else 'do'} not hold when run again."
    if outcome is Outcome.REPRODUCED:
        whole = f"all {plural(tested, noun)}" if tested > 1 else f"the {noun}"
        return f"Reproduced: {whole} that could be tested here {'hold' if tested > 1 else 'holds'}."
    if outcome is Outcome.INCONCLUSIVE and not count:
        return "Left open: measurements that were to be made are void; nothing is refuted."
    if outcome is Outcome.INCONCLUSIVE:
        return f"Left open: {of}; {_held(data)}none is refuted."
    return f"Not testable here: none of {plural(total, noun)} could be tested."


def _held(data: Data) -> str:
    """What was reproduced while something else is open: "7 of 9 printed numbers hold, "."""
    rulings = [*data["claims"], *data["numbers"]]
    held = [each for each in rulings if each["outcome"] == Outcome.REPRODUCED]
    claims = sum(each["outcome"] == Outcome.REPRODUCED for each in data["claims"])
    parts = ((claims, "claim"), (len(held) - claims, "printed number"))
    words = " and ".join(plural(count, noun) for count, noun in parts if count)
    return words and f"{words} {'hold' if len(held) > 1 else 'holds'}, "


def _counts(rulings: Sequence[Data], noun: str) -> str:
    """ "Of 5 claims 2 reproduced, 1 refuted." """
    if not rulings:
        return ""
    words = ((sum(r["outcome"] == each for r in rulings), each) for each in _ORDER)
    return f"{plural(len(rulings), noun)}: {', '.join(f'{n} {word}' for n, word in words if n)}."


# Tables


def _rows(rulings: Sequence[Data]) -> list[Row]:
    """Those that matter most first, else in the order of the report."""
    return [_row(e) for e in sorted(rulings, key=lambda r: _ORDER.index(Outcome(r["outcome"])))]


def _row(ruling: Data) -> Row:
    tone, mark = _TONES[Outcome(ruling["outcome"])]
    tolerance = ruling["tolerance"]
    return Row(
        ruling["pointer"],
        ruling["says"],
        ruling["outcome"],
        tone,
        mark,
        _measured(ruling),
        _figure(ruling) if ruling["value"] is not None else "",
        _range(ruling["expected"]),
        "" if tolerance is None else f"{100 * tolerance:.3g} %",
        _units(ruling),
        ruling["reason"],
        ruling["reading"] or "",
        ruling["tested"] or "",
    )


def _measured(ruling: Data) -> str:
    if ruling["value"] is None:
        return ""
    confidence = ruling["confidence"]
    figure = _figure(ruling)
    return f"{figure[:-1]}; {100 * confidence:.0f} %)" if "(" in figure and confidence else figure


def _range(ends: Sequence[float | None] | None) -> str:
    """An interval, whose ends may be open."""
    if ends is None or ends[0] is ends[1] is None:
        return ""
    low, high = ends
    if low is None or high is None:
        return f"{shown(low)} and more" if low is not None else f"{shown(high or 0)} and less"
    return shown_interval(Interval(low, high))


def _units(ruling: Data) -> str:
    if not ruling["units"]:
        return ""
    return f"{ruling['units']} {UNIT_NAMES.get(Quantity(ruling['quantity']), 'rounds')}"


def _figure(figure: Data | None) -> str:
    if figure is None:
        return ""
    value, interval = shown(figure["value"]), _range(figure["interval"])
    return f"{value} ({interval})" if interval not in ("", value) else value


def _environment(lines: Sequence[Data]) -> dict[str, object]:
    found = [_side(line) for line in lines]
    apart = [each["name"] for each in found if each["same"] == "differs"]
    return {"lines": found, "apart": apart}


def _side(line: Data) -> dict[str, object]:
    """A line of the environment; whether the sides differ is told only where both are known."""
    report, here = line["report"], line["here"]
    known = report is not None and here is not None
    same = _compared(report, here) if known else ""
    sides = {"report": _stated(report, "not stated"), "here": _stated(here, "not known")}
    return {"name": line["name"], "same": same, **sides}


def _compared(report: object, here: object) -> str:
    """Whether the sides are the same; a number is, too, where the report only rounds it."""
    if report == here:
        return "same"
    return "same, rounded" if _is_rounded(report, here) else "differs"


def _is_rounded(report: object, here: object) -> bool:
    if not isinstance(report, (int, float)) or not isinstance(here, (int, float)):
        return False
    room = min(unit_of_last_digit(report) / 2, ROUNDED * abs(report))
    return abs(report - here) <= room


def _stated(value: object, unknown: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return unknown if value is None else str(value)


def _cell(cell: Data) -> dict[str, object]:
    speculates = cell["method"] is not None
    tau = cell["accepted_length"] or cell["accepted_length_all"] if speculates else None
    rate = cell["acceptance_rate"]
    counts = cell["counts"] or {}
    notes = [f"nothing of it counts: {cell['void']}"] if cell["void"] else []
    notes += [*cell["notes"], *(f"round {number} lies far out" for number in cell["outliers"])]
    return {
        "name": cell["name"],
        "method": cell["method"] or "plain decoding",
        "draft_length": _stated(cell["draft_length"], ""),
        "filled": _stated(cell["filled_tokens"], ""),
        "tok_s": _figure(cell["tok_s"]),
        "tau": "" if tau is None else shown(tau),
        "rate": "" if rate is None else f"{100 * rate:.1f} %",
        "rounds": cell["rounds"],
        "starts": cell["starts"],
        "memory": _memory(cell["machine"]),
        "power": ""
        if cell["machine"]["power_w"] is None
        else f"{cell['machine']['power_w']:.0f} W",
        "counts": {n: "" if v is None else f"{v:,.10g}" for n, v in counts.items()},
        "notes": notes,
    }


def _memory(machine: Data) -> str:
    used = machine["process_mib"] if machine["memory_mib"] is None else machine["memory_mib"]
    return "" if used is None else f"{used / 1024:.2f} GiB"


def _parts(each: Data) -> dict[str, object]:
    names = ("speedup", "accepted_length_all", "step_cost")
    return {**each, **{name: _figure(each[name]) for name in names}}


def _roofline(row: Data) -> dict[str, str]:
    about = "" if row["certain"] else "about "
    passes, share = row["passes_s"], row["share"]
    return {
        "cell": row["cell"],
        "where": row["where"],
        "device": row["device"],
        "bandwidth": f"{about}{shown(row['bandwidth_gbs'])} GB/s",
        "weights": f"{about}{shown(row['pass_bytes'] / 1e9)} GB",
        "tok_s": shown(row["tok_s"]),
        "passes_s": "" if passes is None else shown(passes),
        "ceiling": f"{about}{shown(row['ceiling_passes_s'])}",
        "share": "" if share is None else f"{about}{share_shown(share)}",
    }


def _comparison(each: Data) -> dict[str, object]:
    """Answers of a cell beside others; of those that differ, the first places in full."""
    differences = each["differences"]
    kinds = Counter(difference["near_tie"] for difference in differences)
    words = {True: "at a near-tie", False: "beyond a near-tie", None: "by an unknown margin"}
    told = [f"{kinds[kind]} part {word}" for kind, word in words.items() if kinds[kind]]
    other = each["baseline"]
    return {
        "cell": each["cell"],
        "other": f"itself in {plural(each['rounds'], 'round')}" if other is None else other,
        "by": each["by"],
        "alike": f"{each['alike']} of {plural(each['prompts'], 'prompt')}",
        "why": ", ".join(told),
        "tone": "good" if not differences else "bad" if kinds[False] else "open",
        "mark": "=" if not differences else "≠",
        "places": [_place(difference) for difference in differences[:MAX_PLACES]],
        "more": max(0, len(differences) - MAX_PLACES),
    }


def _place(difference: Data) -> tuple[str, ...]:
    margin, near = difference["margin"], difference["near_tie"]
    return (
        difference["prompt"],
        _stated(difference["token"], ""),
        _stated(difference["character"], ""),
        "" if margin is None else f"{shown(margin, 3)} nats",
        "not known" if near is None else _stated(near, ""),
    )


def _scores(each: Data) -> dict[str, object]:
    notes = f"nothing of it counts: {each['void']}" if each["void"] else ""
    return {**each, "perplexity": _figure(each["perplexity"]), "notes": notes}


# Plots


def _drawn(plot: plots.Plot) -> dict[str, object]:
    return {
        "key": plot.key,
        "title": plot.title,
        "note": plot.note,
        "svg": as_markup(plot.svg),
        "head": plot.head,
        "rows": plot.rows,
    }


def plots_of(data: Data) -> Iterator[plots.Plot]:
    """The plots that a verdict has data for."""
    yield from _claim_ranges(data)
    yield from _throughput(data)
    yield from _acceptance(data)
    yield from _sweeps(data)
    yield from _shares(data)
    yield from _drifts(data)


def _claim_ranges(data: Data) -> Iterator[plots.Plot]:
    for key, title in (
        ("claims", "Claims, as claimed and as measured"),
        ("numbers", "Printed numbers, as printed and as measured"),
    ):
        ordered = sorted(data[key], key=lambda r: _ORDER.index(Outcome(r["outcome"])))
        found = [each for ruling in ordered for each in _claim_range(ruling)]
        if found:
            yield plots.ranges(f"{key}-plot", title, found)


def _claim_range(ruling: Data) -> Iterator[plots.Range]:
    """One, where there is a measurement and a positive number to hold it against."""
    value, wanted, ends = ruling["value"], ruling["expected"], ruling["interval"]
    if value is None or wanted is None:
        return
    told = [end for end in wanted if end is not None and end > 0]
    one = math.sqrt(told[0]) * math.sqrt(told[-1]) if told else 0.0
    if not one:
        return
    interval = (ends[0] / one, ends[1] / one) if ends and None not in ends else None
    low, high = (None if end is None else end / one for end in wanted)
    outcome = Outcome(ruling["outcome"])
    if plots.is_drawable(value / one, *(interval or ()), low or 0, high or 0):
        color = _COLORS[outcome]
        yield plots.Range(ruling["says"], value / one, interval, (low, high), outcome.value, color)


def _throughput(data: Data) -> Iterator[plots.Plot]:
    cells = [c for c in data["cells"] if c["tok_s"] is not None and not c["void"]]
    found = [_bar(c) for c in cells if plots.is_drawable(c["tok_s"]["value"])]
    if found:
        note = "Whiskers: 95 % intervals. Hatched: plain decoding."
        yield plots.bars("speed", "Decode speed of each arm", "tok/s", found, note=note)


def _bar(cell: Data) -> plots.Bar:
    ends = cell["tok_s"]["interval"]
    known = (ends[0], ends[1]) if ends and plots.is_drawable(*(e or 0 for e in ends)) else None
    plain = cell["method"] is None
    note = "plain decoding" if plain else ""
    return plots.Bar(cell["name"], cell["tok_s"]["value"], known, plain, note)


def _acceptance(data: Data) -> Iterator[plots.Plot]:
    axes = ("position in the draft", "share of verify steps that accept so far")
    for i, (name, cells) in enumerate(_by_series(data)):
        found = [
            plots.Series(c["name"], tuple(enumerate(c["per_position"], start=1)))
            for c in cells
            if c["per_position"]
        ]
        if found:
            yield plots.lines(f"acceptance-{i}", f"Acceptance by position: {name}", axes, found)


def _by_series(data: Data) -> list[tuple[str, list[Data]]]:
    found: dict[str, list[Data]] = {}
    for cell in data["cells"]:
        found.setdefault(cell["series"], []).append(cell)
    return list(found.items())[:MAX_PLOTS]


def _sweeps(data: Data) -> Iterator[plots.Plot]:
    """Where one method was measured with several draft lengths."""
    groups = _by_draft_length(data)
    for key, title, axis, value in (
        ("sweep-tau", "Accepted length by draft length", "accepted length τ", _accepted_length),
        ("sweep-speed", "Speed by draft length", "tok/s", _speed),
    ):
        points = {
            label: tuple((c["draft_length"], y) for c in cells if (y := value(c)) is not None)
            for label, cells in groups.items()
        }
        found = [plots.Series(label, p) for label, p in points.items() if len(dict(p)) > 1]
        if found:
            yield plots.lines(key, title, ("draft length K", axis), found)


def _accepted_length(cell: Data) -> float | None:
    return cast("float | None", cell["accepted_length"])


def _speed(cell: Data) -> float | None:
    return None if cell["tok_s"] is None else cast("float", cell["tok_s"]["value"])


def _by_draft_length(data: Data) -> dict[str, list[Data]]:
    groups: dict[str, list[Data]] = {}
    for cell in sorted(data["cells"], key=lambda c: c["draft_length"] or 0):
        if cell["method"] is not None and cell["draft_length"] is not None and not cell["void"]:
            filled = f" at {cell['filled_tokens']}" if cell["filled_tokens"] else ""
            name = f"{cell['method']}{filled}, {cell['series']}"
            groups.setdefault(name, []).append(cell)
    return groups


def _shares(data: Data) -> Iterator[plots.Plot]:
    """Where each arm sits below the ceiling that memory sets, here and in the report."""
    found = [
        plots.Bar(f"{row['cell']}, {row['where']}", 100 * row["share"], None, row["stated"])
        for row in _rooflines(data)
        if row["share"] is not None and plots.is_drawable(row["share"])
    ]
    if found:
        title, unit = "Share of what memory allows", "% of the ceiling for target passes"
        note = "Line: the ceiling of the device. Hatched: the report's runs, on its own device."
        yield plots.bars("shares", title, unit, found, note=note, limit=100.0)


def _rooflines(data: Data) -> Iterator[dict[str, Any]]:
    """Each arm here, and the report's runs that it repeats, each on its own device."""
    for cell in data["cells"]:
        here = [("here", False, cell["roofline"])] if cell["roofline"] else []
        stated = [(f"report, {e['run']}", True, e["roofline"]) for e in cell["stated"]]
        for where, is_stated, roofline in (*here, *stated):
            yield {"cell": cell["name"], "where": where, "stated": is_stated, **roofline}


def _drifts(data: Data) -> Iterator[plots.Plot]:
    """Speeds by round, each as a share of its arm's mean, so that all arms fit one picture."""
    trends = {each["name"]: each["drift"] for each in data["series"]}
    axes = ("round", "% of the arm's mean speed")
    for i, (name, cells) in enumerate(_by_series(data)):
        found = [_course(cell) for cell in cells if len(cell["speeds"]) > 1 and cell["tok_s"]]
        note = _drift_note(trends.get(name))
        if found:
            title = f"Speed over time: {name}"
            yield plots.lines(f"drift-{i}", title, axes, found, note=note, from_zero=False)


def _drift_note(trend: Data | None) -> str:
    told = "Rings mark rounds that lie far out; they count all the same."
    if trend is None:
        return told
    notable = "more than chance explains" if trend["notable"] else "no more than chance explains"
    return f"From first to last {100 * trend['total']:+.1f} %, {notable}. {told}"


def _course(cell: Data) -> plots.Series:
    mean = cell["tok_s"]["value"] / 100
    points = ((each["round"], each["tok_s"] / mean) for each in cell["speeds"])
    return plots.Series(cell["name"], tuple(points), tuple(cell["outliers"]))
