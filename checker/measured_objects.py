"""Every number of a run that was written as an object, with its spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchlint.checker.facts import RunFacts
from benchlint.checker.model import MeasuredObject
from benchlint.checker.numbers import Reported, reported

#: Fields in which larger is faster, so that percentiles may be ranked from the slow end.
_RATES = frozenset({"tok_s", "peak_tok_s", "end_to_end_tok_s", "requests_per_s"})
_RATES |= frozenset({"goodput_requests_per_s", "tokens_per_joule"})


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured object, where it stands, and its number.

    what: its path in the run, for messages. is_rate: larger is faster.
    """

    detail: MeasuredObject
    pointer: str
    what: str
    number: Reported | None
    is_rate: bool

    @property
    def values_pointer(self) -> str:
        """Pointer of its samples, else of its range."""
        return f"{self.pointer}/{'samples' if self.detail.samples else 'range'}"


def measurements_of(run: RunFacts) -> Iterator[Measurement]:
    """The measured objects of a run, in the order of the format."""
    for path in run.given.measured:
        value, at = run.member(path), run.at(*path.split("."))
        is_rate = path.rpartition(".")[2] in _RATES
        yield Measurement(value, at, path, reported(value, at), is_rate)
