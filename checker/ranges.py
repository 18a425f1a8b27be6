"""Which values the fields of a report can sensibly have.

The format sets types and no bounds, since a bound cannot explain itself. Zero is allowed where
engines or authors use it for "none", "off" or "not limited"; negative values where engines use
them for "automatic".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from benchlint.checker import model as m
from benchlint.checker.facts import ReportFacts
from benchlint.checker.given import Given
from benchlint.checker.model import Block, MeasuredObject, models_in
from benchlint.checker.numbers import printed, unit_of_last_digit
from benchlint.checker.pointers import pointer as make_pointer
from benchlint.checker.shares import is_percent, mix_in_percent
from benchlint.checker.tree import Digits

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """Least and greatest sensible value; above: the least itself is excluded."""

    low: float = float("-inf")
    high: float = float("inf")
    above: bool = False

    def broken_by(self, value: float, slack: float = 0.0) -> str | None:
        """What is wrong with the value, as "-3 is negative", or None."""
        if value < self.low or (self.above and value <= self.low):
            if value < 0 and self.low == 0:
                return "is negative"
            return f"is not above {self.low:g}" if self.above else f"is less than {self.low:g}"
        return f"is more than {self.high:g}" if value - slack > self.high else None


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A number that cannot be, where it stands, and what to do.

    subject: pointer of the run it belongs to, else its own.
    """

    pointer: str
    text: str
    advice: str
    subject: str


NATURAL = Bound(0)
ONE = Bound(1)
POSITIVE = Bound(0, above=True)
SHARE = Bound(0, 1)
AT_MOST_ONE = Bound(high=1)
OR_AUTOMATIC = Bound(-1)


def _all(names: str, bound: Bound) -> dict[str, Bound]:
    return dict.fromkeys(names.split(), bound)


#: Bounds by model and field. Fields that are not named can have any value.
BOUNDS: dict[type[Block], dict[str, Bound]] = {
    m.Clocks: _all("core_mhz memory_mhz", NATURAL),
    m.Device: _all("count", ONE) | _all("memory_gb", POSITIVE) | _all("power_limit_w", NATURAL),
    m.Cpu: _all("cores memory_gb", NATURAL),
    m.Batch: _all("logical physical", NATURAL),
    m.Threads: _all("decode batch", OR_AUTOMATIC),
    m.Parallelism: _all("tensor pipeline data expert", NATURAL),
    m.Offload: _all("gpu_layers", OR_AUTOMATIC) | _all("cpu_gib", NATURAL),
    m.Engine: _all("threads", OR_AUTOMATIC),
    m.Quantization: _all("bits_per_weight file_size_gb file_size_gib", POSITIVE),
    m.KvGeometry: _all("kv_heads head_dim latent_rank", ONE)
    | _all("full_attention_layers sliding_window_layers sliding_window_tokens", NATURAL),
    m.Sampler: _all("top_p", SHARE) | _all("min_p", AT_MOST_ONE) | _all("top_k", OR_AUTOMATIC),
    m.Target: _all("parameters_b parameters_active_b", POSITIVE)
    | _all("layers documented_context_tokens", ONE),
    m.Drafter: _all("parameters_b", NATURAL) | _all("trained_block_size", ONE),
    m.Tree: _all("depth width draft_tokens", ONE),
    m.DraftLength: _all("max min", NATURAL) | _all("p_min", AT_MOST_ONE),
    m.Configuration: _all("draft_length", NATURAL),
    m.KvCache: _all("max_context_tokens pool_tokens budget_gib_per_device", NATURAL),
    m.Workload: _all("prompt_count", ONE) | _all("prompt_tokens output_tokens", NATURAL),
    m.KvPosition: _all("filled_tokens", NATURAL),
    m.Conditions: _all("warmup_requests repeats restarts", NATURAL) | _all("concurrency", ONE),
    m.Prefill: _all("tokens tok_s seconds ttft_ms", NATURAL),
    m.Decode: _all(
        "tokens tok_s seconds time_per_output_token_ms inter_token_latency_ms "
        "inter_chunk_latency_ms",
        NATURAL,
    ),
    m.Throughput: _all(
        "tok_s peak_tok_s tokens seconds completed_requests failed_requests requests_per_s "
        "goodput_requests_per_s end_to_end_tok_s",
        NATURAL,
    ),
    m.PerPosition: _all("values", SHARE),
    m.Counts: _all("drafted accepted verify_steps plain_steps output_tokens requests", NATURAL),
    m.Speculation: _all("acceptance_rate", SHARE) | _all("accepted_length histogram", NATURAL),
    m.Memory: _all("device_used_mib device_total_mib device_used_gib device_total_gib", NATURAL),
    m.Power: _all("watts tokens_per_joule", NATURAL),
    m.Losslessness: _all("match_rate", SHARE)
    | _all("n repeat_tokens", NATURAL)
    | _all("first_divergence", OR_AUTOMATIC),
    m.Run: _all("step_time_ms speedup", NATURAL) | _all("finish_reasons", NATURAL),
    m.Quality: _all("context_tokens sample_size error", NATURAL),
}

_ADVICE = {
    SHARE: "shares go from 0 to 1; leave out what was not measured",
    ONE: "at least one is needed; leave the field out where it is not known",
}


def out_of_range_numbers(report: ReportFacts) -> Iterator[OutOfRange]:
    """Every number of the report that cannot be, withdrawn runs apart."""
    for block, given, path in report.parts:
        if not _are_fine(block, given):
            yield from _block(block, path)


def _are_fine(block: Block, given: Given) -> bool:
    """Whether all numbers in a block can be: the cheap test that nearly every block passes.

    False says nothing: lists of numbers and samples are not looked into.
    """
    bounds = _bounds(type(block), given)
    return bounds is not None and _fit(block, bounds)


def _fit(block: Block, bounds: _Bounds) -> bool:
    members = block.__dict__
    for name, low, high in bounds.numbers:
        value = members[name]
        if type(value) not in _NUMBERS or not low < value < high:
            return False
    for name, inner in bounds.blocks:
        value = members[name]
        for each in value if type(value) is list else (value,):
            if not isinstance(each, Block) or not _fit(each, inner):
                return False
    return not bounds.has_mix or _is_fine_mix(members["mix"])


def _is_fine_mix(mix: object) -> bool:
    """Whether no share of a mix, if it states any, is negative."""
    if type(mix) is not dict:
        return type(mix) is list
    return all(type(share) in _NUMBERS and share >= 0 for share in mix.values())


_NUMBERS = frozenset({int, float, Digits})


class _Bounds(NamedTuple):
    """The bounds of a block's own numbers, those of the blocks in it, and whether it has a mix."""

    numbers: tuple[tuple[str, float, float], ...]
    blocks: tuple[tuple[str, _Bounds], ...]
    has_mix: bool


@lru_cache(maxsize=1_024)
def _bounds(kind: type[Block], given: Given) -> _Bounds | None:
    """The bounds of the numbers that blocks of a shape give; None where more is to be looked at."""
    found: dict[str, tuple[float, float]] = {}
    for path in given.paths:
        names = tuple(path.split("."))
        if names[-1] == "mix" and len(names) > 1:
            return None
        bound = _bound_at(kind, names)
        if bound is None:
            continue
        if path in given.measured:
            if not given.paths.isdisjoint(_listed_parts(path)):
                return None
            parts = [("value", bound), ("stdev", NATURAL), ("repeats", NATURAL)]
            found |= {f"{path}.{n}": (b.low, b.high) for n, b in parts}
        elif not any(each.startswith(f"{path}.") for each in given.paths):
            found[path] = bound.low, bound.high
    return _nested({path: ends for path, ends in found.items() if path in given.paths}, given)


def _nested(found: Mapping[str, tuple[float, float]], given: Given) -> _Bounds:
    """Bounds by path as bounds of blocks in blocks."""
    heads = dict.fromkeys(path.partition(".")[0] for path in found if "." in path)
    inner = {
        head: {p.partition(".")[2]: ends for p, ends in found.items() if p.startswith(f"{head}.")}
        for head in heads
    }
    return _Bounds(
        tuple((path, *ends) for path, ends in found.items() if "." not in path),
        tuple((head, _nested(ends, _NOTHING)) for head, ends in inner.items()),
        "mix" in given.paths,
    )


_NOTHING = Given(frozenset())


def _listed_parts(path: str) -> tuple[str, ...]:
    return tuple(f"{path}.{name}" for name in ("samples", "range", "percentiles"))


def _bound_at(kind: type[Block], names: Sequence[str]) -> Bound | None:
    """The bound of the number at a path."""
    models = [kind]
    for name in names[:-1]:
        infos = [m.model_fields[name] for m in models if name in m.model_fields]
        models = [model for info in infos for model in models_in(info.annotation)]
    bounds = (BOUNDS.get(model, {}).get(names[-1]) for model in models)
    return next((bound for bound in bounds if bound is not None), None)


def _walk(value: object, path: Path) -> Sequence[OutOfRange]:
    if isinstance(value, Block):
        return _block(value, path)
    items: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, list):
        items = enumerate(value)
    elif isinstance(value, dict):
        items = value.items()
    blocks = [(each, (*path, key)) for key, each in items if isinstance(each, Block)]
    return [found for each, at in blocks for found in _block(each, at)]


def _block(block: Block, path: Path) -> Sequence[OutOfRange]:
    fields = _fields(type(block))
    found: list[OutOfRange] = []
    for name, value in block.__dict__.items():
        if value is None or name not in fields:
            continue
        bound, is_free = fields[name]
        if isinstance(value, (int, float)):
            if bound is not None and not bound.low < value < bound.high:
                found += _number(value, (*path, name), bound)
            continue
        if bound is not None:
            found += _numbers(value, (*path, name), bound)
        if name == "mix":
            found += _mix(value, (*path, name))
        elif not is_free and not isinstance(value, (str, MeasuredObject)):
            found += _walk(value, (*path, name))
    return found


@cache
def _fields(model: type[Block]) -> dict[str, tuple[Bound | None, bool]]:
    """Fields to look at, their bounds, and whether they hold no blocks."""
    bounds = BOUNDS.get(model, {})
    found = {
        name: (bounds.get(name), not any(models_in(info.annotation)))
        for name, info in model.model_fields.items()
        if name != "extensions"
    }
    return {n: f for n, f in found.items() if f[0] is not None or not f[1] or n == "mix"}


def _numbers(value: object, path: Path, bound: Bound) -> Iterator[OutOfRange]:
    if isinstance(value, (int, float)):
        yield from _number(value, path, bound)
    elif isinstance(value, MeasuredObject):
        yield from _measured(value, path, bound)
    elif isinstance(value, list):
        in_percent = bound is SHARE and _in_percent(value)
        for i, each in enumerate(value):
            if isinstance(each, (int, float)) and not in_percent:
                yield from _number(each, (*path, i), bound)
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, (int, float)):
                yield from _number(each, (*path, key), bound)


def _in_percent(values: Sequence[float]) -> bool:
    return bool(values) and min(values) >= 0 and is_percent(max(values))


def _number(value: float, path: Path, bound: Bound) -> Iterator[OutOfRange]:
    if bound is SHARE and is_percent(value) and path[-1] != "top_p":
        return
    slack = unit_of_last_digit(value, share=True) if bound is SHARE else 0.0
    broken = bound.broken_by(value, slack)
    if broken is not None:
        advice = _ADVICE.get(bound, "check the sign; leave out what was not measured")
        at = make_pointer(*path)
        subject = make_pointer(*path[:2]) if path[0] == "runs" else at
        yield OutOfRange(at, f"{_words(path)} {printed(value)} {broken}", advice, subject)


def _words(path: Path) -> str:
    """The last names of a path: "decode.tok_s", "per_position.values[2]"."""
    names = [p for p in path if isinstance(p, str)][-2:]
    index = f"[{path[-1]}]" if isinstance(path[-1], int) else ""
    return ".".join(names) + index


def _measured(value: MeasuredObject, path: Path, bound: Bound) -> Iterator[OutOfRange]:
    for name in ("value", "samples", "range", "percentiles"):
        part = getattr(value, name)
        if part is not None:
            yield from _numbers(part, (*path, name), bound)
    for name in ("stdev", "repeats"):
        part = getattr(value, name)
        if part is not None:
            yield from _number(part, (*path, name), NATURAL)


def _mix(value: object, path: Path) -> Iterator[OutOfRange]:
    if isinstance(value, dict) and not mix_in_percent(value):
        for key, share in value.items():
            if isinstance(share, (int, float)):
                yield from _number(share, (*path, key), NATURAL)
