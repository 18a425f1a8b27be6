"""The log of an SGLang server: its arguments, and a line every so many decode steps.

Source: SGLang python/sglang/srt/managers/scheduler_components/metrics_reporter.py
(scheduler_metrics_mixin.py before 0.5.13, scheduler.py before 0.5), srt/entrypoints/engine.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, Field, Kind, fill, whole
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_starts,
)
from benchlint.checker.importers.printed_values import named_values, unset_names
from benchlint.checker.importers.sglang_settings import (
    ALGORITHM,
    DRAFT_LENGTH,
    FIELDS,
    NAMES,
    RUN_FIELDS,
    put_settings,
)
from benchlint.checker.tree import Digits

NAME = "sglang-log"

_DECODE = "Decode batch"
_ARGUMENTS = "server_args="

#: A line of the start that says how large the cache is.
_POOL = "max_total_num_tokens="
_POOL_FIELDS = (
    Field("max_total_num_tokens", "configuration.kv_cache.pool_tokens", COUNT),
    Field("context_len", "configuration.kv_cache.max_context_tokens", COUNT),
)

_VALUES = (
    ("length", re.compile(r", accept len: (?P<value>\d{1,9}\.\d{1,9})")),
    ("rate", re.compile(r", accept rate: (?P<value>\d{1,9}\.\d{1,9})")),
    ("speed", re.compile(r"gen throughput \(token/s\): (?P<value>\d{1,12}\.\d{1,9})")),
)
_RUNNING = re.compile(r"#running-req: (?P<value>\d{1,9}),")
_RANK = re.compile(r"^\[[^\]]{0,60}\bDP(?P<rank>\d{1,4})\b")

_MEAN = (
    "mean of the lines, each of 40 decode steps (--decode-log-interval); with the smallest and the "
    "largest"
)
_DECODE_FIELDS = (
    Field("accept len", "run.speculation.accepted_length", NUMBER, _MEAN),
    Field(
        "accept rate",
        "run.speculation.acceptance_rate",
        NUMBER,
        f"{_MEAN}. Until 0.5.10 the target's own token counts in it",
    ),
    Field(
        "gen throughput (token/s)",
        "run.throughput.tok_s",
        NUMBER,
        "smallest and largest: the line behind a pause counts the pause",
    ),
    Field(
        "#running-req",
        "run.conditions.concurrency",
        Kind("where it is the same in all lines", whole),
    ),
)


@dataclass
class _Series:
    """A value over the lines: how many there were, their sum and the ends."""

    lines: int = 0
    total: float = 0.0
    low: Found | None = None
    high: Found | None = None

    def add(self, found: Found, value: float) -> None:
        """Count a line in. value: that of `found`, which holds the digits."""
        self.lines += 1
        self.total += value
        if self.low is None or value < _float(self.low):
            self.low = found
        if self.high is None or value > _float(self.high):
            self.high = found

    def put(self, building: Building, at: Path, *, mean: bool) -> None:
        """One value, or the ends of several, with their mean where one makes sense."""
        if self.low is None or self.high is None:
            return
        if self.lines == 1:
            building.put((*at, "value"), self.low)
            return
        if mean:
            # As many decimals as are printed: rounding of the lines is in them.
            building.put((*at, "value"), self.high.to(Digits(f"{self.total / self.lines:.2f}")))
            building.put((*at, "estimator"), Found("mean"))
        building.put((*at, "range", 0), self.low)
        building.put((*at, "range", 1), self.high)
        if mean:
            building.put((*at, "repeats"), Found(self.lines))


def _float(found: Found) -> float:
    return found.value if isinstance(found.value, float) else 0.0


@dataclass
class _Decoding:
    """What the lines about decode say; only sums and ends are kept."""

    series: dict[str, _Series] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    place: Found | None = None
    ranks: set[str] = field(default_factory=set)

    def add(self, line: Line) -> None:
        """Count a line in."""
        for name, pattern in _VALUES:
            match = pattern.search(line.text)
            if match is not None:
                value = Digits(match["value"])
                found = line.found(value, match.span("value"))
                self.series.setdefault(name, _Series()).add(found, value)
        running = _RUNNING.search(line.text)
        if running is not None and len(self.running) < 2:
            self.running.add(int(running["value"]))
            self.place = line.found(int(running["value"]), running.span("value"))
        rank = _RANK.match(line.text)
        if rank is not None and len(self.ranks) < 2:
            self.ranks.add(rank["rank"])

    def put(self, building: Building, run: Path) -> None:
        """Take the values over."""
        speculation = (*run, "speculation")
        for name, to in (("length", "accepted_length"), ("rate", "acceptance_rate")):
            if name in self.series:
                self.series[name].put(building, (*speculation, to), mean=True)
        if "length" in self.series:
            known = (*speculation, "accepted_length", "counts_bonus_token")
            building.put(known, Found(True))
        if len(self.ranks) < 2 and "speed" in self.series:
            self.series["speed"].put(building, (*run, "throughput", "tok_s"), mean=False)
        if len(self.running) == 1 and len(self.ranks) < 2:
            building.put((*run, "conditions", "concurrency"), self.place)


class _Log:
    """One start of a server in a log."""

    def __init__(self) -> None:
        self._building = Building()
        self._configuration = self._building.configuration("server")
        self._decoding = _Decoding()
        self._arguments: tuple[dict[str, Found], bool] | None = None

    @property
    def has_decoded(self) -> bool:
        """Whether there was a line about decode."""
        return bool(self._decoding.series)

    def take(self, line: Line) -> None:
        """Read a line; few say anything."""
        if _DECODE in line.text:
            self._decoding.add(line)
        elif _POOL in line.text:
            found = named_values(line, [field.source for field in _POOL_FIELDS])
            fill(self._building, _POOL_FIELDS, found, {"configuration": self._configuration})
        elif self._arguments is None and _ARGUMENTS in line.text:
            start = line.text.index(_ARGUMENTS)
            off = bool(unset_names(line, [ALGORITHM], start))
            self._arguments = named_values(line, NAMES, start), off

    def begins_anew(self, line: Line) -> bool:
        """Whether a line has the arguments of another start, after this one has decoded."""
        return self.has_decoded and _ARGUMENTS in line.text

    def imported(self) -> Imported | None:
        """The report; None where the log says nothing of a server."""
        building = self._building
        if self._arguments is None and not self.has_decoded:
            return None
        at = {"configuration": self._configuration}
        building.put((*self._configuration, "engine", "name"), Found("sglang"))
        if self.has_decoded:
            at["run"] = building.run("server", "server")
            self._decoding.put(building, at["run"])
            building.put((*at["run"], "measurement", "by"), Found("engine_counter"))
        if self._arguments is not None:
            values, off = self._arguments
            put_settings(building, at, values, without_drafter=off)
        building.hoist()
        return Imported.of(NAME, building)


_FORMS = re.compile(
    r"Decode batch(?: \[\d+\])?[.,] #running-req: \d|server_args=(?:ServerArgs\(|\{)['\"]?\w"
)


def _recognise(head: Head) -> Confidence:
    known = head.document is None and _FORMS.search(head.text) is not None
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    return imported_starts(_Log, source)


_INFO = "`curl http://HOST:PORT/server_info`; give it to `benchlint convert` too"
_CLIENT = "the client's result says it: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="the log of an SGLang server",
    reads="what `python -m sglang.launch_server` logs: its arguments and the lines `Decode batch`",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    engines=("sglang",),
    fields=(*FIELDS, *RUN_FIELDS, *DRAFT_LENGTH, *_POOL_FIELDS, *_DECODE_FIELDS),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target": "the log's line `server_args=` says it: keep the log's start",
        "engine.version": _INFO,
        "engine.command_line": _INFO,
        "configurations.*.drafter": "the log's line `server_args=` says it: keep the log's start",
        "configurations.*.draft_length": "the log's line `server_args=` says it",
        "configurations.*.sampler": "write down what the client sent; it is not in the log",
        "configurations.*.kv_cache": "the log's line `server_args=` says it; `auto` is the model's",
        "workloads.*.mix": _CLIENT,
        "runs[].workload": _CLIENT,
        "runs[].prefill": _CLIENT,
        "runs[].decode": _CLIENT,
        "runs[].speculation.acceptance_rate": "versions before 0.5.4 log no `accept rate`; "
        "`meta_info` of each reply has it",
        "runs[].conditions.concurrency": _CLIENT,
        "runs[].conditions.warm": _CLIENT,
        "runs[].memory": "`nvidia-smi` after the run; SGLang takes its share at the start",
        "runs[].losslessness": "keep the texts of both arms and compare them",
        "quality": "`python -m sglang.test.few_shot_gsm8k` against the same server",
    },
    never=(
        "Counts of drafts and verify steps: only rates are logged, over 40 decode steps each.",
        "Which definition `accept rate` has, without the version: until 0.5.10 it is accept len "
        "over all draft tokens with the root, since 0.5.11 accepted over drafted tokens.",
        "What the requests were.",
    ),
)
