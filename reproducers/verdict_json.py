"""verdict.json: a judgement as plain data, in the layout of schemas/verdict-v1.json.

The same judgement gives the same bytes. Numbers are written in full; what has no end or is not
known is null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

from benchlint.checker.formats.escape import to_json
from benchlint.checker.numbers import Interval
from benchlint.reproducers.cell_readings import MachineState
from benchlint.reproducers.judgement import (
    Decomposition,
    Figure,
    Judgement,
    Measurements,
    Ruling,
    Scores,
    SeriesSummary,
)
from benchlint.reproducers.losslessness import Comparison
from benchlint.reproducers.rooflines import Roofline
from benchlint.reproducers.verdicts import Verdict, Zone

#: Version of the layout. A reader of version 1 takes any file that says "1".
VERSION = "1"

#: Counts that are shown of each cell, by their names in the file.
_COUNTS = ("requests", "output", "steps", "plain_steps", "drafted", "accepted", "decode_s")


def verdict_bytes(judgement: Judgement) -> bytes:
    """The file's content."""
    return (to_json(verdict_data(judgement), indent=2) + "\n").encode()


def verdict_data(judgement: Judgement) -> dict[str, object]:
    """The judgement as objects, lists, texts and numbers."""
    return {
        "version": VERSION,
        "tool": {"name": "benchlint", "version": judgement.tool},
        "plan": judgement.plan,
        "outcome": judgement.outcome.value,
        "exit_code": judgement.exit_code,
        "counts": {outcome.value: n for outcome, n in judgement.counts.items()},
        "ended": judgement.ended or None,
        "warnings": list(judgement.warnings),
        "claims": [_ruling(each) for each in judgement.rulings if each.is_claim],
        "numbers": [_ruling(each) for each in judgement.rulings if not each.is_claim],
        "decompositions": [_decomposition(each) for each in judgement.decompositions],
        "cells": [_cell(each) for each in judgement.cells],
        "series": [_series(each) for each in judgement.series],
        "perplexities": [_scores(each) for each in judgement.perplexities],
        "losslessness": [_comparison(each) for each in judgement.losslessness],
        "environment": [
            {"name": line.name, "report": line.report, "here": line.here}
            for line in judgement.environment
        ],
    }


def _ruling(ruling: Ruling) -> dict[str, object]:
    check, verdict = ruling.check, ruling.verdict
    return {
        "pointer": ruling.pointer,
        "says": ruling.says,
        "tested": ruling.tested or None,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "metric": None if check is None else check.metric,
        "quantity": None if check is None else check.quantity.value,
        "relation": None if check is None else check.relation,
        "definition": None if check is None else check.definition,
        "reading": ruling.reading or None,
        "withheld": list(ruling.withheld),
        "of": list(ruling.of),
        "to": list(ruling.to),
        **_weighed(verdict),
    }


def _weighed(verdict: Verdict) -> Mapping[str, object]:
    zone = verdict.zone
    known = verdict.evidence is not None
    return {
        "value": _number(verdict.value),
        "interval": _ends(verdict.interval),
        "confidence": verdict.confidence if known else None,
        "tolerance": None if zone is None else zone.tolerance,
        "expected": None if zone is None else _ends(_natural(zone.expected, zone)),
        "allowed": None if zone is None else _ends(_natural(zone.allowed, zone)),
        "units": verdict.units,
        "looks": verdict.look,
        "p": verdict.p if known else None,
        "settled": verdict.settled,
    }


def _natural(interval: Interval, zone: Zone) -> Interval:
    """The interval in the unit of the number."""
    if not zone.logarithmic:
        return interval
    low, high = (math.exp(end) if end < 700 else math.inf for end in (interval.low, interval.high))
    return Interval(low, high)


def _ends(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [_number(interval.low), _number(interval.high)]


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _figure(figure: Figure | None) -> dict[str, object] | None:
    return None if figure is None else {"value": figure.value, "interval": _ends(figure.interval)}


def _decomposition(each: Decomposition) -> dict[str, object]:
    return {
        "cell": each.cell,
        "baseline": each.baseline,
        "rounds": each.rounds,
        "speedup": _figure(each.speedup),
        "accepted_length_all": _figure(each.accepted_length_all),
        "step_cost": _figure(each.step_cost),
    }


def _cell(cell: Measurements) -> dict[str, object]:
    counts = cell.counts
    return {
        "name": cell.cell,
        "series": cell.series,
        "arm": cell.arm,
        "method": cell.method,
        "draft_length": cell.draft_length,
        "filled_tokens": cell.filled_tokens,
        "rounds": cell.rounds,
        "starts": cell.starts,
        "void": cell.void or None,
        "tok_s": _figure(cell.tok_s),
        "accepted_length": None if counts is None else counts.accepted_length,
        "accepted_length_all": None if counts is None else counts.accepted_length_all,
        "acceptance_rate": None if counts is None else counts.rate,
        "per_position": list(cell.per_position),
        "counts": None if counts is None else {n: getattr(counts, n) for n in _COUNTS},
        "speeds": [{"round": number, "tok_s": speed} for number, speed in cell.speeds],
        "outliers": list(cell.outliers),
        "machine": _machine(cell.machine),
        "roofline": None if cell.roofline is None else _roofline(cell.roofline),
        "stated": [{"run": name, "roofline": _roofline(each)} for name, each in cell.stated],
        "notes": list(cell.notes),
    }


def _roofline(roofline: Roofline) -> dict[str, object]:
    ceiling = roofline.ceiling
    return {
        "device": ceiling.device,
        "bandwidth_gbs": ceiling.bandwidth_gbs,
        "pass_bytes": ceiling.pass_bytes,
        "ceiling_passes_s": ceiling.passes_s,
        "certain": ceiling.certain,
        "tok_s": roofline.tok_s,
        "passes_s": roofline.passes_s,
        "share": roofline.share,
    }


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "cell": comparison.cell,
        "baseline": comparison.baseline,
        "rounds": comparison.rounds,
        "by": comparison.by,
        "prompts": comparison.prompts,
        "alike": comparison.alike,
        "differences": [
            {**asdict(each), "near_tie": each.is_near_tie} for each in comparison.differences
        ],
    }


def _machine(state: MachineState) -> dict[str, object]:
    return {**asdict(state), "throttled": list(state.throttled)}


def _scores(scores: Scores) -> dict[str, object]:
    return {
        "name": scores.scoring,
        "arm": scores.arm,
        "text": scores.text,
        "text_sha256": scores.text_sha256,
        "context_tokens": scores.context_tokens,
        "windows": scores.windows,
        "perplexity": _figure(scores.perplexity),
        "void": scores.void or None,
    }


def _series(series: SeriesSummary) -> dict[str, object]:
    trend = series.drift
    told = None if trend is None else {"total": trend.total, "p": trend.p, "notable": trend.notable}
    return {
        "name": series.name,
        "rounds": series.whole,
        "looks": list(series.looks),
        "drift": told,
    }
