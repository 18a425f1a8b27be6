"""What clients of inference servers write: the fields that vLLM's and SGLang's share.

SGLang's `bench_serving` began as a copy of vLLM's `benchmark_serving.py`, so that names and
meanings are the same where nothing else is said. Sources: vLLM vllm/benchmarks/serve.py
(benchmarks/benchmark_serving.py before 2025-06), SGLang python/sglang/bench_serving.py
(python/sglang/benchmark/serving.py since 0.5.15).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    TEXT,
    Field,
    Kind,
    fill,
    number,
    shifted,
    text,
    whole,
)
from benchlint.checker.importers.found import Found, Record
from benchlint.checker.numbers import printed
from benchlint.checker.pointers import pointer
from benchlint.checker.tree import Digits

# --- values ----------------------------------------------------------------------------------


def model_name(value: object) -> str | None:
    """The model; of a path on the machine that served it, the last folder or file."""
    found = text(value)
    if found is None or not re.match(r"[/.~\\]|[A-Za-z]:[\\/]", found):
        return found
    return file_name(found)


def file_name(value: object) -> str | None:
    """The last part of a path."""
    return re.split(r"[/\\]", (text(value) or "").rstrip("/\\"))[-1] or None


def positive(value: object) -> Digits | None:
    """A number over 0; these tools write 0 for a time that nobody measured."""
    found = number(value)
    return found if found is not None and found > 0 else None


def _date(value: object) -> str | None:
    """20261129-152814 as ISO 8601, without a time zone, which is not said."""
    found = re.fullmatch(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)", text(value) or "")
    return found and "{}-{}-{}T{}:{}:{}".format(*found.groups())


def shares(value: object) -> list[object] | None:
    """A list of numbers."""
    found = [number(each) for each in value] if isinstance(value, list) else []
    return None if None in found or not found else list(found)


def length(value: object) -> int | None:
    """How many a list has."""
    return len(value) if isinstance(value, list) and value else None


def quotient(above: object, below: object, decimals: int = 4) -> Digits | None:
    """A count over another, to so many decimals; None where the second is 0 or either is none."""
    a, b = whole(above), whole(below)
    if a is None or b is None or b <= 0:
        return None
    exact = Decimal(a) / Decimal(b)
    if not exact.is_finite() or abs(exact) >= Decimal(10) ** 15:
        return None
    return Digits(format(exact.quantize(Decimal(1).scaleb(-decimals)), "f"))


MODEL = Kind("a path → its last part", model_name)
DATE = Kind("20261129-152814 → ISO 8601", _date)
SHARES = Kind("", shares)
LENGTH = Kind("how many", length)
POSITIVE = Kind("0 is none", positive)
S_POSITIVE_TO_MS = Kind("s → ms", lambda v: shifted(positive(v), 3))

#: What the clients call the engines that they have a protocol for. `openai` is no engine.
_ENGINES = {
    "vllm": "vllm",
    "vllm-chat": "vllm",
    "sglang": "sglang",
    "sglang-native": "sglang",
    "sglang-oai": "sglang",
    "sglang-oai-chat": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "trt": "tensorrt-llm",
    "tgi": "tgi",
    "lmdeploy": "lmdeploy",
    "deepspeed-mii": "deepspeed-mii",
    "scalellm": "scalellm",
}


def engine_of_backend(value: object) -> str | None:
    """The engine that a backend's name says; None for a protocol that many speak."""
    return _ENGINES.get((text(value) or "").lower())


# --- fields ----------------------------------------------------------------------------------

THROUGHPUT = (
    Field("duration", "run.throughput.seconds", NUMBER, "wall time of the whole run"),
    Field("completed", "run.throughput.completed_requests", COUNT),
    Field("failed", "run.throughput.failed_requests", COUNT),
    Field("request_throughput", "run.throughput.requests_per_s", NUMBER),
    Field("request_goodput", "run.throughput.goodput_requests_per_s", NUMBER),
    Field("request_goodput:", "run.throughput.goodput_requests_per_s", NUMBER, "until 2025"),
    Field(
        "output_throughput",
        "run.throughput.tok_s",
        NUMBER,
        "output tokens over the wall time, prefill and queueing included",
    ),
    Field(
        "max_output_tokens_per_s",
        "run.throughput.peak_tok_s",
        POSITIVE,
        "called a rate of tokens; counts what arrives in a second, chunk by chunk",
    ),
    Field("total_output_tokens", "run.throughput.tokens", COUNT),
)

WORKLOAD = (
    Field("num_prompts", "workload.prompt_count", COUNT),
    Field("dataset_name", "workload.prompts.set", TEXT),
)

#: The latencies: name, where it goes, and what it is.
_LATENCIES = (
    ("ttft", "prefill.ttft_ms", "time to first token"),
    (
        "tpot",
        "decode.time_per_output_token_ms",
        "(latency - TTFT)/(tokens - 1) of each request",
    ),
    (
        "itl",
        "decode.inter_token_latency_ms",
        "called inter-token; the gap between streamed chunks, which carry several tokens under "
        "speculation",
    ),
)

_PERCENTILES = ("1", "5", "10", "25", "50", "75", "80", "90", "95", "99", "99.9", "99.99")


def _latency(name: str, to: str, unit: str, kind: Kind) -> tuple[Field, ...]:
    """One latency with its statistics. unit: what the names end with."""
    ranks = [(f"p{rank}", f"p{rank.replace('.', '_')}") for rank in _PERCENTILES]
    percentiles = [("median", "p50"), *ranks]
    return (
        Field(f"mean_{name}{unit}", f"run.{to}.value", kind),
        Field(f"std_{name}{unit}", f"run.{to}.stdev", kind),
        *(Field(f"{n}_{name}{unit}", f"run.{to}.percentiles.{p}", kind) for n, p in percentiles),
    )


def latencies(unit: str, kind: Kind) -> tuple[Field, ...]:
    """All latencies. unit: `_ms`, or "" where they are in seconds."""
    return tuple(f for name, to, _ in _LATENCIES for f in _latency(name, to, unit, kind))


LATENCIES = latencies("_ms", POSITIVE)
LATENCIES_IN_SECONDS = latencies("", S_POSITIVE_TO_MS)

#: The same in short, for the page.
LATENCY_ROWS = tuple(
    row
    for name, to, words in _LATENCIES
    for row in (
        Field(f"mean_{name}_ms", f"run.{to}.value", POSITIVE, words),
        Field(f"std_{name}_ms", f"run.{to}.stdev", POSITIVE),
        Field(f"median_{name}_ms, p99_{name}_ms, …", f"run.{to}.percentiles", POSITIVE),
    )
)


def fill_latencies(building: Building, run: Path, record: Record, fields: Iterable[Field]) -> None:
    """Take over the latencies; where there is no mean, the median is the value."""
    fill(building, fields, record, {"run": run})
    for _, to, _ in _LATENCIES:
        at = (*run, *to.split("."))
        if building.has((*at, "value")):
            building.put((*at, "estimator"), Found("mean"))
        elif building.has((*at, "percentiles", "p50")):
            median = (*at, "percentiles", "p50")
            place = building.places.get(pointer(*median))
            building.put((*at, "value"), Found(building.value(median), place))
            building.put((*at, "estimator"), Found("median"))


def put_list(building: Building, at: Path, record: Record, name: str) -> None:
    """A list of numbers, each with its own place; none where one of them is no number."""
    found = record.get(name)
    values = None if found is None else shares(found.value)
    for i, value in enumerate(values or ()):
        each = record.get(f"{name}.{i}") or found
        if each is not None:
            building.put((*at, i), each.to(value))


# --- what follows from several fields --------------------------------------------------------


def fill_lengths(building: Building, workload: Path, record: Record) -> None:
    """Prompt and output lengths: of each request where they are listed, and their mean."""
    failed = has_failures(record)
    for name, each, to in (
        ("total_input_tokens", "input_lens", "prompt_tokens"),
        ("total_output_tokens", "output_lens", "output_tokens"),
    ):
        total, completed, lengths = (record.get(n) for n in (name, "completed", each))
        if total is not None and completed is not None:
            mean = quotient(total.value, completed.value)
            building.put((*workload, to, "value"), total.to(mean))
            if mean is not None:
                building.put((*workload, to, "estimator"), Found("mean"))
        if lengths is not None and not failed:
            building.put((*workload, to, "samples"), lengths.to(_counts(lengths.value)))


def _counts(value: object) -> list[int] | None:
    found = [whole(each) for each in value] if isinstance(value, list) else []
    counts = [each for each in found if each is not None]
    return counts if found and len(counts) == len(found) else None


def has_failures(record: Record) -> bool:
    """Whether requests failed: their number, or an error in the list of them."""
    failed, errors = record.get("failed"), record.get("errors")
    if failed is not None:
        return bool(whole(failed.value))
    return errors is not None and isinstance(errors.value, list) and any(errors.value)


def fill_failures(building: Building, run: Path, record: Record) -> None:
    """Requests that failed, counted in the list of errors where no number is given."""
    errors = record.get("errors")
    if record.get("failed") is None and errors is not None and isinstance(errors.value, list):
        count = sum(1 for each in errors.value if each)
        building.put((*run, "throughput", "failed_requests"), errors.to(count))


def fill_first_tokens(building: Building, run: Path, record: Record) -> None:
    """The time to first token of every request, where all are listed and none failed."""
    found = record.get("ttfts")
    if found is None or has_failures(record) or not building.has((*run, "prefill", "ttft_ms")):
        return
    values = found.value if isinstance(found.value, list) else []
    samples = [shifted(positive(each), 3) for each in values]
    if len(samples) < 2 or None in samples:
        return
    for i, sample in enumerate(samples):
        each = record.get(f"ttfts.{i}") or found
        building.put((*run, "prefill", "ttft_ms", "samples", i), each.to(sample))


def fill_concurrency(building: Building, run: Path, record: Record) -> None:
    """Requests in flight: the most that the client allowed, where it sent all of them at once.

    At a request rate the limit says little of what was in flight.
    """
    rate, limit = record.get("request_rate"), record.get("max_concurrency")
    if limit is not None and rate is not None and is_endless(rate.value):
        building.put((*run, "conditions", "concurrency"), limit.to(whole(limit.value)))


def is_endless(rate: object) -> bool:
    """Whether a request rate is infinite: `inf` is no JSON, so that it is a string there."""
    return isinstance(rate, str) and rate.strip().lower() in ("inf", "infinity")


def run_name(record: Record, fallback: str) -> str:
    """What to call a run: its label, else the load that it was under."""
    label = record.get("label") or record.get("tag")
    if label is not None and (found := text(label.value)) is not None:
        return found
    limit, rate = record.get("max_concurrency"), record.get("request_rate")
    if limit is not None and (streams := whole(limit.value)) is not None:
        return f"concurrency {streams}"
    per_s = None if rate is None else number(rate.value)
    return fallback if per_s is None else f"request rate {printed(per_s)}"


class Setups:
    """Names for configurations and workloads: a name, and what differs where it is taken."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, name: str, differs: Mapping[str, object]) -> str:
        """The name of the setup with these differences; the first of a name has it alone."""
        key = f"{name} {sorted(differs.items())!r}"
        if key not in self._names:
            said = [f"{k} {v}" for k, v in differs.items() if v is not None]
            self._names[key] = self._unused(name, ", ".join([name, *said]))
        return self._names[key]

    def _unused(self, name: str, full: str) -> str:
        taken, number = set(self._names.values()), 1
        unused = name if name not in taken else full
        while unused in taken:
            number += 1
            unused = f"{full} ({number})"
        return unused
