"""AIPerf's profile_export.jsonl: one line a request, added up to what its summary says.

Source: ai-dynamo/aiperf common/models/record_models.py (MetricRecordInfo, MetricRecordMetadata),
metrics/types/*.py. Percentiles are left to the summary, for there are several ways to take them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchlint.checker.importers.fields import number, whole
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Source
from benchlint.checker.importers.request_statistics import histogram_of
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.tree import Digits

#: Metrics of requests whose mean over requests the summary has.
_MEANS = (
    "time_to_first_token",
    "time_to_second_token",
    "inter_token_latency",
    "output_token_throughput_per_user",
    "output_sequence_length",
    "input_sequence_length",
    "e2e_output_token_throughput",
)

#: What servers say of drafting with each reply → the summary's name of the sum.
_COUNTERS = {
    "num_spec_steps": "total_spec_decode_steps.avg",
    "num_draft_tokens": "total_draft_tokens.avg",
    "num_accepted_draft_tokens": "total_accepted_draft_tokens.avg",
}
SPECULATION_OF_REPLY = "spec_decode_acceptance"
DRAFT_LENGTH = "num_spec_tokens"


@dataclass
class _Mean:
    """Values of a metric: how many, their sum, the sum of their squares, the ends."""

    place: Found
    unit: object
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float) -> None:
        """Count a value."""
        self.n += 1
        self.total += value
        self.squares += value * value
        self.low, self.high = min(self.low, value), max(self.high, value)

    def row(self, name: str) -> Row:
        """As the summary has them."""
        mean = self.total / self.n
        deviation = math.sqrt(max(self.squares / self.n - mean * mean, 0.0))
        values = {"avg": mean, "std": deviation, "min": self.low, "max": self.high}
        cells = {f"{name}.{part}": self.place.to(_digits(v)) for part, v in values.items()}
        return cells | {f"{name}.unit": self.place.to(self.unit)}


def _digits(value: float) -> Digits:
    return Digits(f"{value:.8g}")


def is_record(record: object) -> bool:
    """Whether a JSON object is a line of profile_export.jsonl."""
    if not isinstance(record, dict) or not isinstance(record.get("metrics"), dict):
        return False
    metadata = record.get("metadata")
    return isinstance(metadata, dict) and {"benchmark_phase", "request_start_ns"} <= metadata.keys()


@dataclass
class Records:
    """The requests of the measured phase, added up. draft_length: what all of them say."""

    means: dict[str, _Mean] = field(default_factory=dict)
    counted: dict[str, Found] = field(default_factory=dict)
    histogram: dict[str, int] = field(default_factory=dict)
    draft_lengths: dict[int, Found] = field(default_factory=dict)
    done: int = 0
    speaking: int = 0
    failed: int = 0
    tokens: int = 0
    span_ns: tuple[float, float] = (math.inf, -math.inf)
    first: Found | None = None

    def add(self, record: JsonRecord) -> None:
        """Count a request; those of the warm-up are passed over."""
        phase = record.get("metadata.benchmark_phase")
        if phase is None or phase.value != "profiling":
            return
        self.first = self.first or record.get("metadata.request_start_ns")
        cancelled = record.get("metadata.was_cancelled")
        if record.get("error") is not None or (cancelled is not None and cancelled.value is True):
            self.failed += 1
            return
        self.done += 1
        self._times(record)
        for name in _MEANS:
            self._mean(record, name)
        self._speculation(record)

    def _times(self, record: JsonRecord) -> None:
        ends = (record.get(f"metadata.request_{end}_ns") for end in ("start", "end"))
        start, end = (None if each is None else number(each.value) for each in ends)
        if start is not None and end is not None:
            self.span_ns = min(self.span_ns[0], start), max(self.span_ns[1], end)
        length = record.get("metrics.output_sequence_length.value")
        self.tokens += (None if length is None else whole(length.value)) or 0

    def _mean(self, record: JsonRecord, name: str) -> None:
        found, unit = (record.get(f"metrics.{name}.{part}") for part in ("value", "unit"))
        value = None if found is None else number(found.value)
        if found is not None and value is not None:
            mean = self.means.setdefault(name, _Mean(found, unit and unit.value))
            mean.add(float(value))

    def _speculation(self, record: JsonRecord) -> None:
        said = record.record(SPECULATION_OF_REPLY)
        if said is None:
            return
        self.speaking += 1
        for name, to in _COUNTERS.items():
            found = said.get(name)
            count = None if found is None else whole(found.value)
            if found is not None and count is not None:
                before = self.counted.get(to)
                self.counted[to] = found.to(count + (0 if before is None else _int(before)))
        steps = histogram_of(said.get("acceptance_histogram"))
        for i, n in enumerate(steps.value if steps and isinstance(steps.value, list) else ()):
            self.histogram[str(i)] = self.histogram.get(str(i), 0) + n
        k = said.get(DRAFT_LENGTH)
        length = None if k is None else whole(k.value)
        if k is not None and length is not None:
            self.draft_lengths.setdefault(length, k.to(length))

    def row(self) -> Row:
        """As the summary would say it; drafting only where every answer speaks of it."""
        if self.first is None:
            return {}
        row: Row = {"request_count.avg": self.first.to(self.done)}
        if self.failed:
            row["error_request_count.avg"] = self.first.to(self.failed)
        seconds = (self.span_ns[1] - self.span_ns[0]) / 1e9
        if self.done and 0 < seconds < math.inf:
            row["benchmark_duration.avg"] = self.first.to(_digits(seconds))
        if self.tokens:
            row["total_osl.avg"] = self.first.to(self.tokens)
        for name, mean in self.means.items():
            row |= mean.row(name)
        if self.speaking == self.done:
            row |= self.counted
        return row

    @property
    def all_speak(self) -> bool:
        """Whether every answer speaks of drafting."""
        return 0 < self.speaking == self.done

    def found_histogram(self) -> Found | None:
        """Verify steps by accepted tokens."""
        place = self.counted.get("total_spec_decode_steps.avg") or self.first
        return histogram_of(place.to(self.histogram)) if place and self.all_speak else None

    def draft_length(self) -> Found | None:
        """The draft length, where all say the same."""
        lengths = list(self.draft_lengths.values())
        return lengths[0] if len(lengths) == 1 and self.all_speak else None


def _int(found: Found) -> int:
    return found.value if isinstance(found.value, int) else 0


def records_of(source: Source) -> Records:
    """All requests of a file."""
    found = Records()
    for record in _records(source):
        found.add(record)
    return found


def _records(source: Source) -> Iterator[JsonRecord]:
    return (record for record in source.records() if is_record(record.tree))
