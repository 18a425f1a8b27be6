"""`/metrics` of a vLLM server: counters since its start, or from one reply to the next.

Sources: vLLM vllm/v1/spec_decode/metrics.py, vllm/v1/metrics/loggers.py and stats.py; for V0
(before 0.10) vllm/engine/metrics.py and vllm/spec_decode/metrics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    TEXT,
    Field,
    Kind,
    fill,
    number,
    truth,
    whole,
)
from benchlint.checker.importers.found import Found
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.prometheus import Sample, histogram_of, samples
from benchlint.checker.importers.serving_fields import MODEL, model_name, quotient
from benchlint.checker.tree import Digits

NAME = "vllm-metrics"

_DRAFTS = "vllm:spec_decode_num_drafts"
_DRAFTED = "vllm:spec_decode_num_draft_tokens"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens"
_POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos"
_EMITTED = "vllm:spec_decode_num_emitted_tokens"
_OUTPUT = "vllm:generation_tokens"
_FINISHED = "vllm:request_success"
_FIRST = "vllm:time_to_first_token_seconds"
_TPOT = "vllm:request_time_per_output_token_seconds"
_GAP = "vllm:inter_token_latency_seconds"
_CACHE = "vllm:cache_config_info"

_USED = frozenset(
    {
        *(_DRAFTS, _DRAFTED, _ACCEPTED, _POSITIONS, _EMITTED, _OUTPUT, _FINISHED),
        *(f"{name}_{end}" for name in (_FIRST, _TPOT, _GAP) for end in ("sum", "count")),
    }
)

#: What V0 shows beside its counters; it is of the whole time, so that it is not subtracted.
_RATE = "vllm:spec_decode_draft_acceptance_rate"

#: Series that are read; counters may end in `_total`.
_TAKEN = frozenset({*_USED, *(f"{name}_total" for name in _USED), _CACHE, _RATE})

#: Labels by which one counter has several series that are kept apart; over others is summed.
_KEPT = {_POSITIONS: "position", _FINISHED: "finished_reason"}

#: No draft has more tokens, and no reply more models.
_MOST_POSITIONS = 4096
_MOST_MODELS = 100
_MOST_SERIES = 50_000

# --- one reply -------------------------------------------------------------------------------


@dataclass
class _Counter:
    """A counter, summed over engines. exact: in digits as printed, for sums of seconds too."""

    value: Decimal
    found: Found

    @property
    def count(self) -> Found | None:
        """The counter as a whole number."""
        whole_number = self.value == self.value.to_integral_value()
        return self.found.to(int(self.value)) if whole_number else None


@dataclass
class _Scrape:
    """One reply.

    counters: by model, then by name and kept label. info: labels of the cache. rate: V0's.
    """

    counters: dict[str, dict[tuple[str, str], _Counter]] = field(default_factory=dict)
    info: dict[str, Found] = field(default_factory=dict)
    rate: Found | None = None
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def takes(self, sample: Sample) -> bool:
        """Take a line over; False where it was in this reply already, so that another begins."""
        key = sample.name, repr(sorted(sample.labels.items()))
        if key in self._seen:
            return False
        if len(self._seen) < _MOST_SERIES:
            self._seen.add(key)
        if sample.name == _CACHE:
            self.info = {name: sample.value.to(value) for name, value in sample.labels.items()}
        elif sample.name == _RATE:
            self.rate = sample.value
        else:
            self._count(sample)
        return True

    def _count(self, sample: Sample) -> None:
        name = sample.name.removesuffix("_total")
        kept = sample.labels.get(_KEPT.get(name, ""), "")
        value = _exact(sample.value.value)
        model = sample.labels.get("model_name", "")
        if value is None or (model not in self.counters and len(self.counters) >= _MOST_MODELS):
            return
        counters = self.counters.setdefault(model, {})
        known = counters.get((name, kept))
        sum_of = value if known is None else known.value + value
        counters[name, kept] = _Counter(sum_of, sample.value if known is None else known.found)

    def since(self, before: _Scrape) -> _Scrape | None:
        """What was counted from an earlier reply to this one; None where a counter fell."""
        found = _Scrape(info=self.info)
        for model, counters in self.counters.items():
            earlier = before.counters.get(model, {})
            for key, counter in counters.items():
                more = counter.value - (earlier[key].value if key in earlier else 0)
                if more < 0:
                    return None
                found.counters.setdefault(model, {})[key] = _Counter(more, counter.found)
        return found


def _exact(value: object) -> Decimal | None:
    """The value in its printed digits; None for NaN, infinity and what is out of all bounds."""
    printed = number(value)
    if printed is None:
        return None
    try:
        exact = Decimal(printed.text)
    except InvalidOperation:
        return None
    return exact if exact == 0 or -100 < exact.adjusted() < 60 else None


# --- a reply as a run ------------------------------------------------------------------------

_FIELDS = (
    Field(_DRAFTS, "run.speculation.counts.verify_steps", COUNT, "passes that carried a draft"),
    Field(_DRAFTED, "run.speculation.counts.drafted", COUNT),
    Field(_ACCEPTED, "run.speculation.counts.accepted", COUNT, "before an end of the text cuts"),
    Field(_OUTPUT, "run.speculation.counts.output_tokens", COUNT),
)

_OTHERS = (
    Field(_POSITIONS, "run.speculation.histogram", COUNT, "subtracted from one another"),
    Field(
        _POSITIONS,
        "run.speculation.per_position.values",
        COUNT,
        "over drafts, where the counters do not fit one another",
    ),
    Field(
        _POSITIONS,
        "configuration.draft_length.max",
        COUNT,
        "how many; every position is counted that may be drafted",
    ),
    Field(
        f"{_GAP}_count",
        "run.speculation.counts.plain_steps",
        COUNT,
        "passes that gave a token, less those with a draft",
    ),
    Field(_RATE, "run.speculation.acceptance_rate", NUMBER, "V0: accepted at any position"),
    Field(_FINISHED, "run.finish_reasons", COUNT),
    Field(_FINISHED, "run.speculation.counts.requests", COUNT, "where all that began have ended"),
    Field(f"{_FIRST}_sum, _count", "run.prefill.ttft_ms", COUNT, "mean"),
    Field(f"{_TPOT}_sum, _count", "run.decode.time_per_output_token_ms", COUNT, "mean"),
    Field(
        f"{_GAP}_sum, _count",
        "run.decode.inter_token_latency_ms",
        COUNT,
        "mean; called inter-token, and counted once a pass, which may give several",
    ),
    Field("model_name", "configuration.target.name", MODEL),
    Field("cache_dtype", "configuration.kv_cache.target_type", Kind("auto is none", lambda v: v)),
    Field("enable_prefix_caching", "run.conditions.prompt_cache", Kind("", truth)),
)


class _Model:
    """The counters of one model in a reply. They are a Record: names without `_total`."""

    def __init__(self, counters: dict[tuple[str, str], _Counter]) -> None:
        self._counters = counters

    def counter(self, name: str) -> _Counter | None:
        """The counter that is summed over all labels."""
        return self._counters.get((name, ""))

    def get(self, name: str) -> Found | None:
        """See Record. V0's accepted tokens are left out: they go on past a rejection."""
        if name == _ACCEPTED and self.counter(_EMITTED) is not None:
            return None
        found = self.counter(name)
        return None if found is None else found.count

    def kept(self, name: str) -> dict[str, Found]:
        """The series of a counter by its kept label."""
        found = {k: c.count for (n, k), c in self._counters.items() if n == name and k}
        return {kept: count for kept, count in found.items() if count is not None}

    def positions(self) -> list[Found]:
        """Steps that accepted at least 1, 2, … tokens; empty where a position is missing."""
        found = {int(k): v for k, v in self.kept(_POSITIONS).items() if k.isdecimal()}
        whole_ladder = len(found) <= _MOST_POSITIONS and set(found) == set(range(len(found)))
        return [found[i] for i in range(len(found))] if whole_ladder else []

    def mean_ms(self, name: str) -> Found | None:
        """The mean of a histogram of seconds, in ms, to six digits."""
        total, count = self.counter(f"{name}_sum"), self.counter(f"{name}_count")
        if total is None or count is None or count.value <= 0 or total.value <= 0:
            return None
        mean = total.value * 1000 / count.value
        digits = mean.quantize(Decimal(1).scaleb(min(mean.adjusted() - 5, 0)))
        return total.found.to(Digits(format(digits, "f")))

    def requests(self) -> Found | None:
        """Requests that ended, where as many began."""
        ended = self.kept(_FINISHED)
        began = self.get(f"{_FIRST}_count")
        total = sum(whole(each.value) or 0 for each in ended.values())
        return began if began is not None and began.value == total and total else None


def _put_run(building: Building, name: str, scrape: _Scrape, counters: str) -> None:
    """A run for each model that counted something."""
    for model, values in scrape.counters.items():
        record = _Model(values)
        label = model_name(model) or "server"
        configuration = building.configuration(label)
        building.put((*configuration, "engine", "name"), Found("vllm"))
        if model:
            placed = next(iter(values.values())).found
            building.put((*configuration, "target", "name"), placed.to(label))
        if not any(c.value for c in values.values()) or record.counter(_OUTPUT) is None:
            continue
        run = building.run(name, label)
        at = {"run": run, "configuration": configuration}
        _put_speculation(building, at, record)
        if scrape.rate is not None and building.has((*run, "speculation")):
            rate = scrape.rate.to(number(scrape.rate.value))
            building.put((*run, "speculation", "acceptance_rate"), rate)
        _put_times(building, run, record)
        _put_cache(building, at, scrape.info)
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found(counters))


def _put_speculation(building: Building, at: dict[str, Path], record: _Model) -> None:
    drafts = record.get(_DRAFTS)
    if drafts is None and record.get(_DRAFTED) is None:
        return
    fill(building, _FIELDS, record, at)
    counts = (*at["run"], "speculation", "counts")
    building.put((*counts, "requests"), record.requests())
    passes = record.get(f"{_GAP}_count")
    if passes is not None and drafts is not None:
        plain = (whole(passes.value) or 0) - (whole(drafts.value) or 0)
        building.put((*counts, "plain_steps"), passes.to(plain) if plain >= 0 else None)
    _put_positions(building, at, record)


def _put_positions(building: Building, at: dict[str, Path], record: _Model) -> None:
    at_least, drafts = record.positions(), record.get(_DRAFTS)
    if not at_least or drafts is None:
        return
    maximum = (*at["configuration"], "draft_length", "max")
    building.put(maximum, at_least[-1].to(len(at_least)))
    speculation = (*at["run"], "speculation")
    histogram = histogram_of(at_least, drafts, record.get(_ACCEPTED))
    if histogram is not None:
        building.put((*speculation, "histogram"), histogram)
        return
    shares = [each.to(quotient(each.value, drafts.value)) for each in at_least]
    if all(each.value is not None for each in shares):
        for i, each in enumerate(shares):
            building.put((*speculation, "per_position", "values", i), each)
        building.put((*speculation, "per_position", "kind"), Found("cumulative"))


_TIMES = (
    (_FIRST, ("prefill", "ttft_ms")),
    (_TPOT, ("decode", "time_per_output_token_ms")),
    (_GAP, ("decode", "inter_token_latency_ms")),
)


def _put_times(building: Building, run: Path, record: _Model) -> None:
    for name, to in _TIMES:
        mean = record.mean_ms(name)
        if mean is not None:
            building.put((*run, *to, "value"), mean)
            building.put((*run, *to, "estimator"), Found("mean"))
    for reason, count in record.kept(_FINISHED).items():
        if count.value:
            building.put((*run, "finish_reasons", reason), count)


def _put_cache(building: Building, at: dict[str, Path], info: dict[str, Found]) -> None:
    dtype, prefix = info.get("cache_dtype"), info.get("enable_prefix_caching")
    if dtype is not None and dtype.value != "auto":
        kept = dtype.to(TEXT.convert(dtype.value))
        building.put((*at["configuration"], "kv_cache", "target_type"), kept)
    if prefix is not None:
        building.put((*at["run"], "conditions", "prompt_cache"), prefix.to(truth(prefix.value)))


# --- replies ---------------------------------------------------------------------------------

#: So many replies in one file become runs.
_MOST_SCRAPES = 500


def _recognise(head: Head) -> Confidence:
    found = head.document is None and _LINE.search(head.text)
    return Confidence.SURE if found else Confidence.NO


_LINE = re.compile(r"(?m)^[ \t]*vllm:\w+(?:\{.*\})?[ \t]+[-+.\deE]+[ \t]*\r?$")


def _read(source: Source) -> Iterator[Imported]:
    """One reply is a run since the start; of several, each is what came since the one before."""
    building = Building()
    first: _Scrape | None = None
    before: _Scrape | None = None
    for number_of, scrape in enumerate(_scrapes(source)):
        if number_of > _MOST_SCRAPES:
            building.remarks.append(f"only the first {_MOST_SCRAPES} replies were taken over")
            break
        if before is None:
            first = scrape
        else:
            _put_difference(building, before, scrape)
        before = scrape
    if before is first and before is not None:
        _put_run(building, "server", before, "server_cumulative")
    if before is not None:
        building.hoist()
        yield Imported.of(NAME, building, state=first if before is first else None)


def _put_difference(building: Building, before: _Scrape, after: _Scrape) -> None:
    between = after.since(before)
    if between is None:
        building.remarks.append("a counter falls from one reply to the next: they are left out")
    else:
        _put_run(building, "run", between, "per_run")


def _scrapes(source: Source) -> Iterator[_Scrape]:
    scrape = _Scrape()
    for sample in samples(source.lines()):
        if sample.name not in _TAKEN:
            continue
        if not scrape.takes(sample):
            yield scrape
            scrape = _Scrape()
            scrape.takes(sample)
    if scrape.counters:
        yield scrape


def _between(before: Imported, after: Imported) -> Imported | None:
    if not isinstance(before.state, _Scrape) or not isinstance(after.state, _Scrape):
        return None
    building = Building()
    _put_difference(building, before.state, after.state)
    if "runs" not in building.tree:
        return None
    building.hoist()
    return Imported.of(NAME, building)


_LOG = "the server's log says it: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="/metrics of vLLM",
    reads="the text that `curl http://HOST:PORT/metrics` gives: one reply, or several one after "
    "another, of which each counts from the one before; `benchlint convert before.txt after.txt` "
    "subtracts two files",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    between=_between,
    engines=("vllm",),
    fields=(*_FIELDS, *_OTHERS),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target.quantization": _LOG,
        "engine.version": "`curl http://HOST:PORT/version`; " + _LOG,
        "engine.command_line": "write it down; " + _LOG,
        "configurations.*.drafter": _LOG,
        "configurations.*.draft_length": "there are spec_decode_* counters only with "
        "--speculative-config",
        "configurations.*.sampler": "write down what the client sent; the server's log has the "
        "defaults it took from generation_config.json",
        "configurations.*.kv_cache": "cache_config_info has cache_dtype; `auto` is the model's",
        "workloads.*.prompts": "/metrics does not know: name what the client sent",
        "workloads.*.mix": "/metrics does not know: name what the client sent",
        "runs[].speculation": "there are spec_decode_* counters only with --speculative-config",
        "runs[].conditions.concurrency": "`vllm bench serve --max-concurrency N`, or what the "
        "client had in flight",
        "runs[].conditions.warm": "count after a warm-up: read /metrics before and after the run",
        "runs[].memory": "`nvidia-smi` after the run; vLLM takes its share at the start",
        "runs[].losslessness": "keep the texts of both arms and compare them",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "One run alone, where only one reply is given: counters go on from the start.",
        "Tokens per second: there is no wall time in it.",
        "Which drafter ran, and how it was set up.",
        "Whether a file without spec_decode_* is of a server without speculation or was cut.",
    ),
)
