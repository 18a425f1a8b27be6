"""Measured numbers that come as statistics: mean, deviation, extremes, percentiles, samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import Field, Kind, number, path_of
from benchlint.checker.importers.found import Found, Record

Estimator = Literal["pooled", "mean", "median"]

RANKS = ("p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a source calls the statistics of a number; "" for what it does not have.

    joined: how its name and the name of a statistic make one name of the source.
    percentiles: names of a report → names of the source.
    words: the statistics in words, for the page.
    """

    value: str
    stdev: str = ""
    low: str = ""
    high: str = ""
    samples: str = ""
    percentiles: Mapping[str, str] = field(default_factory=dict)
    joined: str = "{}.{}"
    words: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """One number of a source with its statistics, and the measured field that it goes to.

    source, to, kind, meaning: as in `Field`. estimator: what its value is; None where that is
    not one of them.
    """

    source: str
    to: str
    kind: Kind
    meaning: str = ""
    estimator: Estimator | None = "mean"


def page_fields(parts: Parts, summaries: Iterable[Summary]) -> tuple[Field, ...]:
    """The summaries as fields, for the page: one row for all statistics of a number."""
    return tuple(
        Field(parts.joined.format(s.source, parts.words or "*"), s.to, s.kind, s.meaning)
        for s in summaries
    )


def fill_summaries(
    building: Building,
    summaries: Iterable[Summary],
    parts: Parts,
    record: Record,
    at: Mapping[str, Path],
) -> None:
    """Take over what the record has of these numbers. at: as in `fill`.

    A number without a value is passed over, whatever else is said of it.
    """
    for summary in summaries:
        path = path_of(summary.to, at)
        if path is not None:
            _Filling(building, summary, parts, record).fill(path)


@dataclass(frozen=True, slots=True)
class _Filling:
    """The statistics of one number in one record on their way into a report."""

    building: Building
    summary: Summary
    parts: Parts
    record: Record

    def fill(self, path: Path) -> None:
        """Put what there is to the measured field at the path."""
        value = self._number(self.parts.value)
        if value is None:
            return
        put = self.building.put
        put((*path, "value"), value)
        put((*path, "stdev"), _over_zero(self._number(self.parts.stdev)))
        self._range(path)
        put((*path, "samples"), self._samples())
        for name, called in self.parts.percentiles.items():
            put((*path, "percentiles", name), self._number(called))
        if self.summary.estimator is not None:
            put((*path, "estimator"), Found(self.summary.estimator))

    def _range(self, path: Path) -> None:
        low, high = self._number(self.parts.low), self._number(self.parts.high)
        if low is not None and high is not None:
            self.building.put((*path, "range", 0), low)
            self.building.put((*path, "range", 1), high)

    def _samples(self) -> Found | None:
        """The single measurements, where there is more than one and all are numbers."""
        found = self._get(self.parts.samples)
        if found is None or not isinstance(found.value, list) or len(found.value) < 2:
            return None
        values = [self.summary.kind.convert(each) for each in found.value]
        return None if None in values else found.to(values)

    def _number(self, part: str) -> Found | None:
        found = self._get(part)
        value = None if found is None else self.summary.kind.convert(found.value)
        return None if found is None or value is None else found.to(value)

    def _get(self, part: str) -> Found | None:
        return (
            self.record.get(self.parts.joined.format(self.summary.source, part)) if part else None
        )


def _over_zero(found: Found | None) -> Found | None:
    """A deviation of 0 is what is printed for a single measurement."""
    return found if found is not None and number(found.value) else None
