"""`/metrics` of llama-server: counters since the server started.

Source: llama.cpp tools/server/server-context.cpp, `get_metrics` (tools/server/server.cpp before
2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import NUMBER, Field, Kind, fill, number, whole
from benchlint.checker.importers.found import Found
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.llama_cpp_hints import SERVER_HINTS
from benchlint.checker.importers.prometheus import Sample, histogram_of, samples
from benchlint.checker.tree import Digits

NAME = "llama-server-metrics"

_PREFIX = "llamacpp:"
_DRAFTS = "llamacpp:spec_decode_num_drafts_total"
_ACCEPTED = "llamacpp:spec_decode_num_accepted_tokens_total"
_POSITIONS = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"

#: No draft has more tokens.
_MOST_POSITIONS = 4096


def _exact(value: object) -> int | None:
    """A count that is printed in full: from a million on there are six digits of it."""
    return None if "e" in str(value).lower() else whole(value)


COUNT = Kind("in full only", _exact)

_FIELDS = (
    Field(
        "llamacpp:prompt_tokens_total",
        "run.prefill.tokens",
        COUNT,
        "processed, without those from the cache",
    ),
    Field("llamacpp:prompt_seconds_total", "run.prefill.seconds", NUMBER),
    Field("llamacpp:tokens_predicted_total", "run.decode.tokens", COUNT),
    Field("llamacpp:tokens_predicted_total", "run.speculation.counts.output_tokens", COUNT),
    Field(
        "llamacpp:tokens_predicted_seconds_total",
        "run.decode.seconds",
        NUMBER,
        "summed over requests; the first token of each is in the prompt's time",
    ),
    Field("llamacpp:spec_decode_num_draft_tokens_total", "run.speculation.counts.drafted", COUNT),
    Field(_ACCEPTED, "run.speculation.counts.accepted", COUNT),
    Field(
        _DRAFTS,
        "run.speculation.counts.verify_steps",
        COUNT,
        "passes that carried a draft",
    ),
)

_HISTOGRAM = Field(
    _POSITIONS,
    "run.speculation.histogram",
    COUNT,
    "steps that accepted at least as many, subtracted from one another",
)


def _recognise(head: Head) -> Confidence:
    found = head.document is None and _LINE.search(head.text)
    return Confidence.SURE if found else Confidence.NO


_LINE = re.compile(r"(?m)^llamacpp:\w+(?:\{.*\})? [-+.\deE]+\r?$")


def _read(source: Source) -> Iterator[Imported]:
    building = Building()
    scrape: _Scrape | None = None
    is_only = True
    for sample in samples(source.lines()):
        if not sample.name.startswith(_PREFIX):
            continue
        if scrape is None or scrape.has(sample):
            if scrape is not None:
                scrape.put(building, "server", "server_cumulative")
                is_only = False
            scrape = _Scrape()
        scrape.take(sample)
    if scrape is not None:
        scrape.put(building, "server", "server_cumulative")
        yield Imported.of(NAME, building, scrape if is_only else None)


def _between(before: Imported, after: Imported) -> Imported | None:
    if not isinstance(before.state, _Scrape) or not isinstance(after.state, _Scrape):
        return None
    between, building = after.state.since(before.state), Building()
    if between is not None:
        between.put(building, "run", "per_run")
    return Imported.of(NAME, building) if "runs" in building.tree else None


#: So many scrapes in one file become runs.
_MOST_SCRAPES = 500


class _Scrape:
    """One reply of `/metrics`; the next begins where a counter comes again."""

    def __init__(self) -> None:
        self._values: dict[str, Found] = {}
        self._positions: dict[int, Found] = {}

    def has(self, sample: Sample) -> bool:
        """Whether the sample is there already."""
        if sample.name == _POSITIONS:
            return _position(sample) in self._positions
        return sample.name in self._values

    def take(self, sample: Sample) -> None:
        """Take over a line."""
        if sample.name != _POSITIONS:
            self._values[sample.name] = sample.value
        elif (position := _position(sample)) is not None:
            self._positions[position] = sample.value

    def get(self, name: str) -> Found | None:
        """See Record."""
        return self._values.get(name)

    def since(self, before: _Scrape) -> _Scrape | None:
        """What was counted from an earlier reply on; None where another start of the server is."""
        found = _Scrape()
        for name in _OWN & self._values.keys():
            found._values[name] = _difference(before._values.get(name), self._values[name])
        for position, value in self._positions.items():
            found._positions[position] = _difference(before._positions.get(position), value)
        counted = [*found._values.values(), *found._positions.values()]
        fell = any((number(each.value) or 0) < 0 for each in counted)
        return None if fell or not before._values.keys() >= found._values.keys() else found

    def put(self, building: Building, name: str, counters: str) -> None:
        """Make a run of it. counters: what they count, as `measurement.counters` says it."""
        if not any(own in self._values for own in _OWN):
            return
        if len(building.tree.get("runs", ())) >= _MOST_SCRAPES:
            building.remarks[:] = [f"only the first {_MOST_SCRAPES} replies were taken over"]
            return
        building.put(("engine", "name"), Found("llama.cpp"))
        run = building.run(name)
        fill(building, _FIELDS, self, {"run": run})
        self._put_histogram(building, run)
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found(counters))
        building.put((*run, "measurement", "window"), Found("decode_only"))

    def _put_histogram(self, building: Building, run: Path) -> None:
        at_least = [self._positions[i] for i in sorted(self._positions)]
        if list(self._positions) == list(range(len(at_least))):
            found = histogram_of(at_least, self.get(_DRAFTS), self.get(_ACCEPTED))
            building.put((*run, "speculation", "histogram"), found)


_OWN = frozenset(each.source for each in _FIELDS)


#: Digits of a number from the left that are printed.
_PRINTED = 6


def _difference(before: Found | None, after: Found) -> Found:
    """From one printed number to a later one, in the digits that both have.

    Not a number where one of them is not printed in full and its digits do not reach a whole.
    """
    texts = ["0" if before is None else str(before.value), str(after.value)]
    try:
        first, last = (Decimal(text) for text in texts)
    except InvalidOperation:
        return after.to(None)
    if not (first.is_finite() and last.is_finite()):
        return after.to(None)
    unit = Decimal(1).scaleb(max(last.adjusted() - _PRINTED + 1, -_MOST_PLACES))
    if unit > 1:
        return after.to(None if last >= first else Digits("-1"))
    difference = last - first
    whole_number = difference == difference.to_integral_value()
    return after.to(Digits(f"{difference if whole_number else difference.quantize(unit):f}"))


_MOST_PLACES = 9


def _position(sample: Sample) -> int | None:
    text = sample.labels.get("position", "")
    small = text.isdecimal() and len(text) < 5
    return int(text) if small and int(text) < _MOST_POSITIONS else None


IMPORTER = Importer(
    name=NAME,
    title="/metrics of llama-server",
    reads="the text that `curl http://HOST:PORT/metrics` gives (`llama-server --metrics`); "
    "`benchlint convert before.txt after.txt` subtracts two files",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    between=_between,
    engines=("llama.cpp",),
    fields=(*_FIELDS, _HISTOGRAM),
    hints={
        **SERVER_HINTS,
        "runs[].decode.tok_s": "`predicted_per_second` in each reply's `timings`: the gauge "
        "predicted_tokens_seconds covers only what came since the last scrape",
        "runs[].speculation": "builds since 2026 count spec_decode_*; older ones log "
        "`draft acceptance`",
    },
    never=(
        "One run alone, where only one reply is given: the counters go on from the start.",
        "How many requests there were, and how many passes carried no draft.",
        "Counters over 999,999: they are printed to six digits.",
        "The speed over the whole time: both speeds are gauges that begin anew at each scrape.",
    ),
)
