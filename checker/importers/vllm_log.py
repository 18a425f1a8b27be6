"""The log of vLLM: how the engine was set up, and what it says of drafts every ten seconds.

Sources: vLLM vllm/v1/spec_decode/metrics.py and vllm/v1/metrics/loggers.py (V1),
vllm/spec_decode/metrics.py and vllm/engine/metrics.py (V0, before 0.10);
vllm/benchmarks/throughput.py and examples/offline_inference/spec_decode.py, which print their
results below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    PERCENT,
    Field,
    Kind,
    fill,
    number,
    shifted,
    times,
    whole,
)
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_starts,
)
from benchlint.checker.importers.serving_console import HEAD
from benchlint.checker.importers.vllm_setup import (
    DRAFTER,
    ENGINE,
    OTHER_FIELDS,
    PREFIX_CACHE,
    SERVED,
    SETUP,
    Setup,
)

NAME = "vllm-log"

# --- lines about drafts ----------------------------------------------------------------------

_NUMBER = r"(?:\d+(?:\.\d+)?|nan)"
_LABELLED = re.compile(
    r"(?P<label>(?:Avg )?Draft acceptance rate|Mean acceptance length|Accepted|Drafted"
    r"|Number of (?:accepted|draft|emitted|speculative) tokens|System efficiency)"
    rf": (?P<value>{_NUMBER})(?P<percent>%?)"
)
_POSITIONS = re.compile(rf"Per-position acceptance rate: (?P<list>{_NUMBER}(?:, {_NUMBER})*)")

#: No draft has more tokens.
_MOST_POSITIONS = 4096


@dataclass
class _Window:
    """One line about drafts. values: by label. percent: whether its rate is in percent."""

    values: dict[str, Found]
    positions: list[Found]
    percent: bool

    @staticmethod
    def of(line: Line) -> _Window:
        """What a line says."""
        values: dict[str, Found] = {}
        percent = False
        for match in _LABELLED.finditer(line.text):
            found = line.found(match["value"], match.span("value"))
            values.setdefault(match["label"].removeprefix("Avg "), found)
            percent = percent or match["percent"] == "%"
        return _Window(values, _listed(line), percent)

    @property
    def of_v0(self) -> bool:
        """Whether the old engine wrote it, whose counters go on from its start."""
        return "System efficiency" in self.values

    @property
    def k(self) -> int | None:
        """The draft length: V0 says it, later engines count every position."""
        stated = self.count("Number of speculative tokens")
        return stated if stated is not None else len(self.positions) or None

    def first(self, *names: str) -> Found | None:
        """The first of these that is there."""
        return next((self.values[name] for name in names if name in self.values), None)

    def count(self, *names: str) -> int | None:
        """The first of these as a whole number."""
        found = self.first(*names)
        return None if found is None else whole(found.value)


def _listed(line: Line) -> list[Found]:
    match = _POSITIONS.search(line.text)
    if match is None:
        return []
    start = match.start("list")
    found = re.finditer(_NUMBER, match["list"])
    spans = [(each[0], (start + each.start(), start + each.end())) for each in found]
    return [line.found(digits, span) for digits, span in spans[:_MOST_POSITIONS]]


_ACCEPTED = ("Accepted", "Number of accepted tokens")
_DRAFTED = ("Drafted", "Number of draft tokens")


@dataclass
class _Sum:
    """A counter over the log: its sum, and the place of its first line."""

    value: int = 0
    first: Found | None = None

    def add(self, found: Found | None) -> None:
        """Count a line in."""
        more = None if found is None else whole(found.value)
        if more is not None:
            self.value += more
            self.first = self.first or found

    @property
    def found(self) -> Found | None:
        """The sum, where there was anything to count."""
        return None if self.first is None else self.first.to(self.value)


@dataclass
class _Drafts:
    """What the log says of drafts: sums, and the last line."""

    lines: int = 0
    last: _Window | None = None
    accepted: _Sum = field(default_factory=_Sum)
    drafted: _Sum = field(default_factory=_Sum)
    all_full: bool = True

    def add(self, window: _Window) -> None:
        """Count a line in; V0's holds those before it."""
        if window.of_v0:
            self.lines, self.accepted, self.drafted = 0, _Sum(), _Sum()
        self.accepted.add(window.first(*_ACCEPTED))
        self.drafted.add(window.first(*_DRAFTED))
        self.all_full = self.all_full and _drafts_are_full(window)
        self.lines += 1
        self.last = window

    @property
    def steps(self) -> Found | None:
        """Verify steps, D/K, where every draft had K tokens; else they are not printed."""
        k = None if self.last is None else self.last.k
        drafted = self.drafted.found
        if not k or drafted is None or not self.all_full or self.drafted.value % k:
            return None
        return drafted.to(self.drafted.value // k)


def _drafts_are_full(window: _Window) -> bool:
    """Whether 1 + A/(D/K) is the printed length, to its last digit; always so in V0."""
    k, accepted, drafted = window.k, window.count(*_ACCEPTED), window.count(*_DRAFTED)
    if window.of_v0:
        return True
    length = number(window.values["Mean acceptance length"].value) if k and _has(window) else None
    if not k or not drafted or accepted is None or length is None:
        return False
    return drafted % k == 0 and abs(1 + accepted * k / drafted - length) <= 0.01


def _has(window: _Window) -> bool:
    return "Mean acceptance length" in window.values


# --- what becomes of them --------------------------------------------------------------------

_COUNTS = (
    Field("Accepted", "run.speculation.counts.accepted", COUNT, "summed over the log"),
    Field("Drafted", "run.speculation.counts.drafted", COUNT, "summed over the log"),
    Field(
        "Drafted",
        "run.speculation.counts.verify_steps",
        Kind("÷ K", whole),
        "where the acceptance length of every line shows that all drafts had K tokens",
    ),
    Field(
        "Number of draft tokens",
        "run.speculation.counts.verify_steps",
        Kind("÷ K", whole),
        "V0, which always drafts K tokens",
    ),
    Field("Number of emitted tokens", "run.speculation.counts.output_tokens", COUNT, "V0"),
)
_ONE_LINE = (
    Field(
        "Avg Draft acceptance rate",
        "run.speculation.acceptance_rate.value",
        PERCENT,
        "of a log with one such line; accepted over drafted tokens",
    ),
    Field(
        "Draft acceptance rate",
        "run.speculation.acceptance_rate.value",
        Kind("a share, or percent where % follows", number),
        "until 2025. V0: accepted at any position, even after a rejection",
    ),
    Field(
        "Mean acceptance length",
        "run.speculation.accepted_length.value",
        NUMBER,
        "of a log with one such line; 1 + accepted tokens over drafts",
    ),
    Field(
        "System efficiency",
        "run.speculation.accepted_length.value",
        Kind("× (K + 1)", number),
        "V0: emitted tokens over the most that could be",
    ),
    Field(
        "Per-position acceptance rate",
        "run.speculation.per_position.values",
        NUMBER,
        "of a log with one such line; cumulative",
    ),
    Field(
        "Per-position acceptance rate", "configuration.draft_length.max", Kind("how many", whole)
    ),
    Field("Number of speculative tokens", "configuration.draft_length.max", COUNT, "V0"),
)


def _put_drafts(building: Building, at: dict[str, Path], drafts: _Drafts) -> None:
    window = drafts.last
    if window is None:
        return
    speculation = (*at["run"], "speculation")
    _put_k(building, at, window)
    building.put((*speculation, "counts", "verify_steps"), drafts.steps)
    building.put((*speculation, "counts", "drafted"), drafts.drafted.found)
    if window.of_v0:
        _put_v0(building, at, window)
    else:
        building.put((*speculation, "counts", "accepted"), drafts.accepted.found)
        if drafts.lines == 1:
            _put_line(building, speculation, window)


def _put_k(building: Building, at: dict[str, Path], window: _Window) -> None:
    stated = window.first("Number of speculative tokens")
    placed = stated or (window.positions[-1] if window.positions else None)
    if placed is not None:
        building.put((*at["configuration"], "draft_length", "max"), placed.to(window.k))


def _put_line(building: Building, speculation: Path, window: _Window) -> None:
    """The figures of the only line, as printed."""
    rate, length = window.first("Draft acceptance rate"), window.first("Mean acceptance length")
    if rate is not None:
        share = shifted(rate.value, -2) if window.percent else number(rate.value)
        building.put((*speculation, "acceptance_rate", "value"), rate.to(share))
    if length is not None:
        building.put((*speculation, "accepted_length", "value"), length.to(number(length.value)))
    positions = [each.to(number(each.value)) for each in window.positions]
    if positions and all(each.value is not None for each in positions):
        for i, each in enumerate(positions):
            building.put((*speculation, "per_position", "values", i), each)
        building.put((*speculation, "per_position", "kind"), Found("cumulative"))
    for name, to, value in _DEFINED:
        if building.has((*speculation, name)):
            building.put((*speculation, name, to), Found(value))
            building.put((*speculation, name, "estimator"), Found("pooled"))


_DEFINED = (("acceptance_rate", "of", "drafted"), ("accepted_length", "counts_bonus_token", True))


def _put_v0(building: Building, at: dict[str, Path], window: _Window) -> None:
    """V0's accepted tokens go on past a rejection: its efficiency gives the accepted length."""
    speculation = (*at["run"], "speculation")
    rate, efficiency = window.first("Draft acceptance rate"), window.first("System efficiency")
    if rate is not None:
        building.put((*speculation, "acceptance_rate"), rate.to(number(rate.value)))
    if efficiency is not None and window.k is not None:
        length = times(efficiency.value, Decimal(window.k + 1))
        building.put((*speculation, "accepted_length", "value"), efficiency.to(length))
        building.put((*speculation, "accepted_length", "counts_bonus_token"), Found(True))
    building.put((*at["run"], "measurement", "counters"), Found("server_cumulative"))
    emitted = window.first("Number of emitted tokens")
    if emitted is not None:
        tokens = emitted.to(whole(emitted.value))
        building.put((*speculation, "counts", "output_tokens"), tokens)


# --- results that are printed below a log ----------------------------------------------------

_OFFLINE = re.compile(
    r"^Throughput: (?P<requests_per_s>[\d.]+) requests/s, [\d.]+ (?:total )?tokens/s"
    r"(?:, (?P<tok_s>[\d.]+) output tokens/s)?"
    r"|^Total num output tokens: +(?P<tokens>\d+)"
    r"|^total_num_output_tokens: (?P<output_tokens>\d+)|^num_drafts: (?P<drafts>\d+)"
    r"|^num_draft_tokens: (?P<drafted>\d+)|^num_accepted_tokens: (?P<accepted>\d+)"
    r"|^[Mm]ean acceptance length: (?P<length>[\d.]+)"
    r"|^acceptance at token (?P<position>\d{1,4}): (?P<share>[\d.]+)"
)
_OFFLINE_FIELDS = (
    Field("Throughput: … requests/s", "run.throughput.requests_per_s", NUMBER),
    Field("… output tokens/s", "run.throughput.tok_s", NUMBER, "`vllm bench throughput`"),
    Field("Total num output tokens", "run.throughput.tokens", COUNT),
    Field("total_num_output_tokens", "run.speculation.counts.output_tokens", COUNT),
    Field("num_drafts", "run.speculation.counts.verify_steps", COUNT),
    Field("num_draft_tokens", "run.speculation.counts.drafted", COUNT),
    Field("num_accepted_tokens", "run.speculation.counts.accepted", COUNT),
    Field("mean acceptance length", "run.speculation.accepted_length.value", NUMBER),
    Field("acceptance at token …", "run.speculation.per_position.values", NUMBER, "cumulative"),
)
_OFFLINE_NAMES = (
    Field("requests_per_s", "run.throughput.requests_per_s", NUMBER),
    Field("tok_s", "run.throughput.tok_s", NUMBER),
    Field("tokens", "run.throughput.tokens", COUNT),
    Field("output_tokens", "run.speculation.counts.output_tokens", COUNT),
    Field("drafts", "run.speculation.counts.verify_steps", COUNT),
    Field("drafted", "run.speculation.counts.drafted", COUNT),
    Field("accepted", "run.speculation.counts.accepted", COUNT),
    Field("length", "run.speculation.accepted_length.value", NUMBER),
)


@dataclass
class _Offline:
    """What `vllm bench throughput` and the example of offline speculation print at their end."""

    values: dict[str, Found] = field(default_factory=dict)
    positions: list[Found] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Read a line."""
        match = _OFFLINE.search(line.text)
        if match is None:
            return
        found = line.groups(match)
        share, position = found.pop("share", None), match["position"]
        if share is not None and int(position) == len(self.positions) < _MOST_POSITIONS:
            self.positions.append(share.to(number(share.value)))
        for name, value in found.items():
            self.values.setdefault(name, value)

    def put(self, building: Building, at: dict[str, Path]) -> None:
        """Take the values over."""
        fill(building, _OFFLINE_NAMES, self.values, at)
        speculation = (*at["run"], "speculation")
        if "length" in self.values:
            building.put((*speculation, "accepted_length", "counts_bonus_token"), Found(True))
            building.put((*speculation, "accepted_length", "estimator"), Found("pooled"))
        if "drafts" in self.values:
            building.put((*at["run"], "measurement", "counters"), Found("per_run"))
        for i, each in enumerate(self.positions):
            building.put((*speculation, "per_position", "values", i), each)
            building.put((*speculation, "per_position", "kind"), Found("cumulative"))


# --- a log -----------------------------------------------------------------------------------


class _Log:
    """One start of an engine in a log."""

    def __init__(self) -> None:
        self._building = Building()
        self._setup = Setup(self._building)
        self._drafts, self._offline = _Drafts(), _Offline()
        self.has_worked = False

    @property
    def _has_measured(self) -> bool:
        return bool(self._drafts.lines or self._offline.values)

    def take(self, line: Line) -> None:
        """Read a line; few say anything."""
        text = line.text
        if "acceptance rate: " in text and ("metrics: " in text):
            self._drafts.add(_Window.of(line))
            self.has_worked = True
        elif "Avg generation throughput: " in text:
            self.has_worked = True
        elif _may_be_setup(text):
            self._setup.take(line)
        elif text[:1] in "TtnMma" and ": " in text:
            self._offline.add(line)

    def begins_anew(self, line: Line) -> bool:
        """Whether another engine says its version in a line, after this one has worked."""
        another = self.has_worked and "LLM engine (v" in line.text
        return another and ENGINE.search(line.text) is not None

    def imported(self) -> Imported | None:
        """The report; None where the log says nothing of an engine."""
        building = self._building
        if self._has_measured:
            self._put_run()
        if "runs" not in building.tree and not self._setup.says_anything:
            return None
        building.hoist()
        return Imported.of(NAME, building)

    def _put_run(self) -> None:
        building, configuration = self._building, self._setup.configuration
        run = building.run("server", str(configuration[-1]))
        at = {"run": run, "configuration": configuration}
        _put_drafts(building, at, self._drafts)
        self._offline.put(building, at)
        building.put((*run, "conditions", "prompt_cache"), self._setup.prompt_cache)
        building.put((*run, "measurement", "by"), Found("engine_counter"))


def _may_be_setup(text: str) -> bool:
    """Whether a line may say how the engine was set up. Written out: it is asked of every line."""
    return (
        "LLM engine (v" in text
        or " version " in text
        or " backend" in text
        or "KV cache " in text
        or "max model len " in text
        or "non-default args:" in text
    )


_FORMS = re.compile(
    r"SpecDecoding metrics: |Speculative metrics: Draft acceptance rate|LLM engine \(v\d"
    r"|Avg generation throughput: [\d.]+ tokens/s|vLLM API server version "
    r"|(?m:^Throughput: [\d.]+ requests/s, [\d.]+ (?:total )?tokens/s)"
    r"|(?m:^num_draft_tokens: \d+\s*$)"
)


def _recognise(head: Head) -> Confidence:
    known = head.document is None and _FORMS.search(head.text) and HEAD not in head.text
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    return imported_starts(_Log, source)


_METRICS = "`curl http://HOST:PORT/metrics` before and after; give both to `benchlint convert` too"
_CLIENT = "the client's result says it: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="the log of vLLM",
    reads="what `vllm serve` logs, V0's and V1's lines about drafts (`Speculative metrics`, "
    "`SpecDecoding metrics`), and what `vllm bench throughput` and the offline example of "
    "speculative decoding print",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    engines=("vllm",),
    fields=(
        *SETUP,
        SERVED,
        PREFIX_CACHE,
        *DRAFTER,
        *OTHER_FIELDS,
        *_COUNTS,
        *_ONE_LINE,
        *_OFFLINE_FIELDS,
    ),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target": "the log's line `Initializing a V1 LLM engine` says it: keep the log's start",
        "engine.version": "the log's first lines say it: keep them",
        "engine.command_line": "write it down: the log has only `non-default args`",
        "configurations.*.drafter": "the log's line `Initializing a V1 LLM engine` says it",
        "configurations.*.draft_length": "the log's line `Initializing a V1 LLM engine` says it",
        "configurations.*.sampler": "write down what the client sent: the log has only the "
        "defaults it took from generation_config.json",
        "configurations.*.kv_cache": "`--kv-cache-dtype`; `auto` is the model's type",
        "workloads.*.mix": _CLIENT,
        "runs[].workload": _CLIENT,
        "runs[].prefill": _CLIENT,
        "runs[].decode": _CLIENT,
        "runs[].speculation": _METRICS,
        "runs[].speculation.accepted_length": _METRICS,
        "runs[].conditions.concurrency": _CLIENT,
        "runs[].conditions.warm": _CLIENT,
        "runs[].memory": "`nvidia-smi` after the run; vLLM takes its share at the start",
        "runs[].losslessness": "keep the texts of both arms and compare them",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Speed: `Avg generation throughput` is over some ten seconds in which the server may have "
        "been idle, and a mean of such lines is no speed.",
        "Accepted length and acceptance by position over several lines: drafts are not counted "
        "in them. Drafted and accepted tokens are, and are summed.",
        "Passes without a draft.",
        "What the requests were.",
    ),
)
