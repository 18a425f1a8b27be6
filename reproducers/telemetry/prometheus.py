"""Counters in Prometheus' text format, as `/metrics` of llama-server and vLLM shows them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_LINE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Series:
    """One value with its labels."""

    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """All series of a server by name."""

    series: dict[str, list[Series]]

    def has(self, name: str) -> bool:
        """Whether a series of this name is shown."""
        return name in self.series

    def total(self, name: str) -> float | None:
        """The sum over all labels (data-parallel engines, models), None where it is not shown."""
        found = self.series.get(name)
        return sum(series.value for series in found) if found else None

    def by_position(self, name: str) -> tuple[float, ...]:
        """Totals by the label `position`, from 0 on; empty where there is none."""
        totals: dict[int, float] = {}
        for series in self.series.get(name, []):
            position = series.labels.get("position", "")
            if position.isdecimal() and len(position) < 5:
                totals[int(position)] = totals.get(int(position), 0.0) + series.value
        return tuple(totals.get(i, 0.0) for i in range(max(totals) + 1)) if totals else ()


def read_metrics(text: str) -> Metrics:
    """Every series of a `/metrics` body; lines that are none are passed over.

    Source: Prometheus' exposition format 0.0.4.
    """
    series: dict[str, list[Series]] = {}
    for line in text.splitlines():
        found = _LINE.match(line) if line and line[0] != "#" else None
        if found and (value := _value(found[3])) is not None:
            labels = dict(_LABEL.findall(found[2] or ""))
            series.setdefault(found[1], []).append(Series(labels, value))
    return Metrics(series)


def delta(before: Metrics | None, after: Metrics | None, name: str) -> int | None:
    """By how much a counter rose; None where it is not shown, or fell (a restart)."""
    if before is None or after is None:
        return None
    first, last = before.total(name), after.total(name)
    if last is None or (rise := last - (first or 0.0)) < 0:
        return None
    return round(rise)


def was_reset(before: Metrics | None, after: Metrics | None, name: str) -> bool:
    """Whether a counter fell or is shown no more, as after a restart of the server."""
    if before is None or after is None or (first := before.total(name)) is None:
        return False
    last = after.total(name)
    return last is None or last < first


def position_deltas(before: Metrics, after: Metrics, name: str) -> tuple[int, ...] | None:
    """By how much each position's counter rose; None where it is not shown, or fell."""
    last = after.by_position(name)
    first = before.by_position(name)
    first += (0.0,) * (len(last) - len(first))
    rises = tuple(round(b - a) for a, b in zip(first, last, strict=False))
    return rises if rises and min(rises) >= 0 else None


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
