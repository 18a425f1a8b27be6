"""Every number of a run that was written as an object, with its spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchlint.checker.facts import RunFacts
from benchlint.checker.model import Block, MeasuredObject
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
    yield from _walk(run.model, run.pointer, "")


def _walk(block: Block, pointer: str, path: str) -> Iterator[Measurement]:
    for name, value in block.__dict__.items():
        if value is None or not isinstance(value, Block):
            continue
        at = f"{pointer}/{name}"
        if isinstance(value, MeasuredObject):
            yield Measurement(value, at, f"{path}{name}", reported(value, at), name in _RATES)
        else:
            yield from _walk(value, at, f"{path}{name}.")
