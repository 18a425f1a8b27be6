"""Counters in Prometheus' text format, each with its place.

Source: Prometheus' exposition format 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchlint.checker.importers.fields import whole
from benchlint.checker.importers.found import Found, Line

_SAMPLE = re.compile(r"\s*(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>[^\s{}]+)")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*+)"')


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of a `/metrics` reply. value: its text."""

    name: str
    labels: Mapping[str, str]
    value: Found


def sample(line: Line) -> Sample | None:
    """What a line says; None for comments and whatever else is no sample."""
    if line.text.lstrip()[:1] == "#":
        return None
    match = _SAMPLE.match(line.text)
    if match is None:
        return None
    value = line.found(match["value"], match.span("value"))
    return Sample(match["name"], dict(_LABEL.findall(match["labels"] or "")), value)


def samples(lines: Iterable[Line]) -> Iterator[Sample]:
    """What the lines of a `/metrics` reply say, in order."""
    return (found for line in lines if (found := sample(line)) is not None)


def histogram_of(
    at_least: Sequence[Found], steps: Found | None, accepted: Found | None
) -> Found | None:
    """Verify steps by accepted draft tokens, from 0 to K, out of counters by position.

    at_least: steps that accepted at least 1, 2, … K tokens, which is what the counter of each
    position holds. steps: verify steps. accepted: accepted tokens, which the positions must add
    up to: else some position is missing. None where the three do not fit one another.
    """
    counts = [whole(each.value) for each in at_least]
    total, sum_of_all = (None if each is None else whole(each.value) for each in (steps, accepted))
    known = [count for count in counts if count is not None]
    if total is None or not known or len(known) < len(counts) or sum(known) != sum_of_all:
        return None
    ladder = [total, *known, 0]
    found = [more - less for more, less in pairwise(ladder)]
    return None if min(found) < 0 else at_least[0].to(found)
