"""What a report says of weights and memory, as the plain numbers that `roofline` works with.

Whatever is uncertain is taken in favour of the report in the low end of each span, and `certain`
tells whether what is stated leaves no reading under which fewer bytes would be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from benchlint.checker.facts import ConfigurationFacts, Placed, ReportFacts, RunFacts
from benchlint.checker.lazy import once
from benchlint.checker.model import KvGeometry, Machine, Target
from benchlint.checker.model import Quantization as StatedQuantization
from benchlint.checker.numbers import Reported, reported, shown
from benchlint.checker.readings import MEAN_OF_MEANS, UNSAID_MEAN, Readings
from benchlint.checker.roofline import (
    UNKNOWN_CACHE_MB,
    KvLayers,
    MemorySystem,
    NamedSize,
    Span,
    TargetPass,
    file_read,
    gqa_bytes_per_token,
    mla_bytes_per_token,
    parameters_read,
    size_in_name,
)
from benchlint.checker.tables import Device, Quantization, device, kv_type, quantization

Evidence = tuple[tuple[str | Reported, str], ...]

GIB = 2**30

#: Models of which less is read than their size says: per-layer and n-gram lookup tables, models
#: that write many tokens in one pass (diffusion), ternary weights computed in another type.
_READS_LESS = (
    r"3n|(?<![a-z0-9])e\d+b(?![a-z0-9])|flash-next|bitnet|llada|(?<![a-z])dream|diffusion|sdar|"
    r"powerinfer|turbosparse|prosparse|layerskip|relufied"
)

#: Mixtures of experts whose name does not tell how much of them is active.
_MIXTURES = (
    r"gpt-?oss|mixtral|deepseek-?(?:v[2-9]|r1(?!-distill)|chat)|kimi|glm-?(?:4\.[5-9]|5)(?!v-9b)|"
    r"minimax|qwen3-(?:next|coder)|llama-?4|grok|olmoe|dbrx|jamba|moe|granite-4|arctic|hunyuan|"
    r"ernie-?4\.5|ling-|ring-|maverick|scout|nemotron-3|trinity|step-?3|longcat|mimo-v2"
)

#: Models that were released at 4 bits: a recipe of more bits leaves their experts as they are.
_RELEASED_AT_4_BITS = r"gpt-?oss"
_RELEASED_BITS = 4.25

#: Share of a file's bytes that is read where its embedding has more bits than the rest: 0.80
#: (Qwen2.5-7B AWQ) to 0.82 (Llama-3-8B AWQ), over 0.88 elsewhere.
_WIDE_EMBEDDING = 0.87

#: Beyond these a number is a slip, which other rules report.
_MOST_DEVICES = 100_000
_MOST_ENTRIES = 64
_MOST_BILLIONS = 1e5


class Weights(NamedTuple):
    """Bytes of the target's weights.

    read: per pass (of the active experts); None where that cannot be said. resident: all of
    them, in memory. certain: the model is said to be dense, or its active parameters are known.
    parameters: read per pass, in units. bits: per weight. target: what all of it is from.
    """

    read: Span | None
    resident: Span | None
    certain: bool
    parameters: Span | None
    bits: Span | None
    target: Placed[Target]

    @property
    def evidence(self) -> Evidence:
        """Every number behind them. Few weights are ever spoken of, so it is not kept."""
        return _evidence(self.target)

    @property
    def condition(self) -> str:
        """What must hold for `read`, for messages: empty where it is certain."""
        return "" if self.certain else ", if the model is dense"


class Hardware(NamedTuple):
    """Memory and arithmetic of the devices, all together.

    fastest: one device alone, as for one stream over split layers. counted: the report says
    how many devices were used; where it does not, one is assumed. certain: counted, and no
    device of these names has more bandwidth. tflops: dense FP16 peak of all, None when unknown.
    memory_bytes: of all devices, generously, None when unknown.
    """

    memory: MemorySystem
    fastest: MemorySystem
    devices: int
    counted: bool
    certain: bool
    tflops: float | None
    memory_bytes: float | None
    vendors: frozenset[str]
    parts: tuple[_Part, ...]

    @property
    def name(self) -> str:
        """The devices in words, for messages."""
        return " + ".join(_described(p) for p in self.parts)

    def evidence(self, text: str) -> Evidence:
        """Where the devices are named, each with `text`."""
        return tuple((part.at, text) for part in self.parts)


class TokensPerPass(NamedTuple):
    """How many tokens one target pass yields to one stream: at most, and likely."""

    most: float
    likely: float
    text: str
    evidence: Evidence


@once
def weights_of(configuration: ConfigurationFacts) -> Weights | None:
    """The weights of a configuration's target; None when their size cannot be bounded."""
    return _weights(_sharing(configuration, configuration.target))


@once
def _weights(configuration: ConfigurationFacts) -> Weights | None:
    return None if configuration.target is None else _weigh(configuration.target)


@once
def hardware_of(configuration: ConfigurationFacts) -> Hardware | None:
    """The devices of a configuration; None unless every one of them is known by name."""
    return _hardware(_sharing(configuration, configuration.machine))


@once
def _hardware(configuration: ConfigurationFacts) -> Hardware | None:
    return None if configuration.machine is None else _assemble(configuration.machine)


def _sharing(
    configuration: ConfigurationFacts, block: Placed[Target] | Placed[Machine] | None
) -> ConfigurationFacts:
    """The configuration, or the nameless one where it lays nothing over the report's block."""
    overlaid = block is not None and block.overlaid
    return configuration if overlaid else configuration.report.configuration(None)


def target_pass(weights: Weights, kv_bytes: float = 0.0) -> TargetPass | None:
    """What one pass reads, or None where that cannot be said."""
    return None if weights.read is None else TargetPass(weights.read, kv_bytes)


def configurations_in_use(report: ReportFacts) -> tuple[ConfigurationFacts, ...]:
    """The configurations of the report's runs, each once, in the order of the runs."""
    return tuple(report.configuration(name) for name in report.runs_by_configuration)


# --- weights ---------------------------------------------------------------------------------


class _Parameters(NamedTuple):
    """Parameters: read per pass, and all. whole: a pass reads all. certain as in `Weights`."""

    read: Span | None
    total: float | None
    whole: bool
    certain: bool


class _Bits(NamedTuple):
    """Bits per weight. uniform: the embedding has about the bits of the rest."""

    span: Span
    uniform: bool


def _lowered_name(target: Placed[Target]) -> str:
    return (target.model.name or "")[:200].lower()


def _weigh(target: Placed[Target]) -> Weights | None:
    name = _lowered_name(target)
    if _says(name, _READS_LESS):
        return None
    parameters, bits, file = _parameters(target.model, name), _bits(target, name), _file(target)
    by_file = None
    if file is not None and parameters.whole:
        by_file = _of_file(file, bits, parameters.total)
    return Weights(
        read=_most_generous([_read(parameters, bits), by_file]),
        resident=_resident(parameters, bits, file),
        certain=parameters.certain,
        parameters=parameters.read,
        bits=None if bits is None else bits.span,
        target=target,
    )


@lru_cache(maxsize=1024)
def _says(name: str, pattern: str) -> bool:
    """Whether a model's name, in lower case, tells what the pattern stands for."""
    return re.search(pattern, name) is not None


def _read(parameters: _Parameters, bits: _Bits | None) -> Span | None:
    if parameters.read is None or bits is None:
        return None
    return parameters.read.times(bits.span).scaled(1 / 8)


def _resident(parameters: _Parameters, bits: _Bits | None, file: Reported | None) -> Span | None:
    whole = None
    if parameters.total is not None and bits is not None:
        whole = parameters_read(parameters.total).times(bits.span).scaled(1 / 8)
    return _most_generous([whole, None if file is None else file_read(file.value)])


def _of_file(file: Reported, bits: _Bits | None, parameters: float | None) -> Span:
    read = file_read(file.value, parameters)
    if bits is not None and bits.uniform:
        return read
    return read._replace(low=read.low * _WIDE_EMBEDDING)


def _most_generous(sizes: Sequence[Span | None]) -> Span | None:
    """The lowest low and highest high; the last one is the likeliest, being a size of a file."""
    known = [s for s in sizes if s is not None]
    if not known:
        return None
    return Span(min(s.low for s in known), known[-1].likely, max(s.high for s in known))


def _parameters(model: Target, name: str) -> _Parameters:
    named = size_in_name(name)
    stated, active = _billions(model.parameters_b), _billions(model.parameters_active_b)
    total = stated or (None if named is None else named.total)
    per_pass = active or _active(named)
    if per_pass is not None:
        whole = total is not None and per_pass >= 0.9 * total
        return _Parameters(parameters_read(per_pass), total, whole, True)
    if _may_be_a_mixture(model, named, name):
        return _Parameters(None, total, False, False)
    read = None if total is None else parameters_read(total)
    return _Parameters(read, total, True, model.architecture == "dense")


def _active(named: NamedSize | None) -> float | None:
    return None if named is None else named.active


def _may_be_a_mixture(model: Target, named: NamedSize | None, name: str) -> bool:
    if model.architecture is not None and (named is None or not named.mixture):
        return model.architecture == "moe"
    return (named is not None and named.mixture) or _says(name, _MIXTURES)


def _billions(value: float | None) -> float | None:
    """A count in units, or None for what cannot be one."""
    return value * 1e9 if value is not None and 0 < value <= _MOST_BILLIONS else None


def _bits(target: Placed[Target], name: str) -> _Bits | None:
    stated = target.model.quantization
    if stated is None:
        return None
    found = _stated_bits(target, stated)
    if found is None or not _says(name, _RELEASED_AT_4_BITS):
        return found
    span = found.span
    return found._replace(span=span._replace(low=min(span.low, _RELEASED_BITS)), uniform=False)


def _stated_bits(target: Placed[Target], stated: StatedQuantization) -> _Bits | None:
    """From a conversion at load, which outweighs the file; else as stated; else by the recipe."""
    if stated.converted_at_load is not None:
        return _recipe_bits(quantization(stated.converted_at_load))
    recipe = quantization(stated.recipe)
    if stated.bits_per_weight is None:
        return _recipe_bits(recipe)
    number = reported(stated.bits_per_weight, target.at("quantization", "bits_per_weight"))
    if number is None or not 0.5 <= number.value <= 64:
        return None
    uniform = recipe is not None and _is_uniform(recipe)
    low = number.span.low * (1 if uniform else _WIDE_EMBEDDING)
    span = Span(max(low, 0.4), number.value, number.span.high)
    return _Bits(span, uniform)


def _recipe_bits(recipe: Quantization | None) -> _Bits | None:
    if recipe is None:
        return None
    span = Span(recipe.bits_low, recipe.bits_per_weight, recipe.bits_high)
    return _Bits(span, _is_uniform(recipe))


def _is_uniform(recipe: Quantization) -> bool:
    return recipe.bits_high <= 1.2 * recipe.bits_low


def _file(target: Placed[Target]) -> Reported | None:
    """The size of the weight file in bytes, unless weights were converted when loaded."""
    stated = target.model.quantization
    if stated is None or stated.converted_at_load is not None:
        return None
    for name, unit in (("file_size_gb", 1e9), ("file_size_gib", float(GIB))):
        size = getattr(stated, name)
        number = None if size is None else reported(size, target.at("quantization", name))
        if number is not None and 0 < number.value <= _MOST_BILLIONS:
            return replace(number, value=number.value * unit)
    return None


# --- what weights rest on --------------------------------------------------------------------

_COUNTS = {"parameters_b": "parameters in billions", "parameters_active_b": "active parameters"}


def _evidence(target: Placed[Target]) -> Evidence:
    file = _file(target)
    size: Evidence = () if file is None else ((file, "size of the weights"),)
    return (*_parameter_evidence(target), *_bits_evidence(target), *size)


def _parameter_evidence(target: Placed[Target]) -> Evidence:
    counts = (
        (reported(getattr(target.model, name), target.at(name)), text)
        for name, text in _COUNTS.items()
        if _billions(getattr(target.model, name)) is not None
    )
    found = tuple((number, text) for number, text in counts if number is not None)
    if not found and size_in_name(_lowered_name(target)) is not None:
        return ((target.at("name"), "the size in the name"),)
    return found


def _bits_evidence(target: Placed[Target]) -> Evidence:
    stated = target.model.quantization
    if stated is None or _stated_bits(target, stated) is None:
        return ()
    field = "recipe" if stated.converted_at_load is None else "converted_at_load"
    if field == "recipe" and stated.bits_per_weight is not None:
        number = reported(stated.bits_per_weight, target.at("quantization", "bits_per_weight"))
        return () if number is None else ((number, "bits per weight"),)
    recipe = quantization(getattr(stated, field))
    return () if recipe is None else ((target.at("quantization", field), _in_words(recipe)),)


def _in_words(recipe: Quantization) -> str:
    low, high = shown(recipe.bits_low, 3), shown(recipe.bits_high, 3)
    most = "" if low == high else f" at least, {high} at most"
    return f"{recipe.name}: {low} bits a weight{most}"


# --- devices ---------------------------------------------------------------------------------


class _Part(NamedTuple):
    """One entry of the device list with its row of the table; memory_bytes: of one device."""

    number: int
    counted: bool
    memory_bytes: float | None
    found: Device
    at: str


class _Said(NamedTuple):
    """What is said of one entry of the device list, and where its name stands."""

    name: str | None
    memory_gb: float | None
    number: int | None
    at: str


def _part(said: _Said, found: Device) -> _Part:
    """Memory is read as GiB, with 2 % for what drivers count as more."""
    memory, count = said.memory_gb, said.number
    if memory is None or memory <= 0:
        memory = found.memory_gb
    size = None if memory is None else min(memory, 1e9) * GIB * 1.02
    return _Part(1 if count is None else max(count, 1), count is not None, size, found, said.at)


def _assemble(machine: Placed[Machine]) -> Hardware | None:
    stated = machine.model.devices or []
    if not 0 < len(stated) <= _MOST_ENTRIES:
        return None
    entries = [
        _Said(each.name, each.memory_gb, each.count, machine.at("devices", i, "name"))
        for i, each in enumerate(stated)
    ]
    return _hardware_of_devices(tuple(entries))


@lru_cache(maxsize=256)
def _hardware_of_devices(said: tuple[_Said, ...]) -> Hardware | None:
    """The devices all together, the same for all reports from machines of one kind."""
    parts = _parts(said)
    if not parts:
        return None
    best = max(parts, key=lambda p: p.found.bandwidth_gbs).found
    headroom = max([p.found.headroom for p in parts])
    bandwidth = sum([p.found.bandwidth_gbs * p.number for p in parts])
    devices = sum([p.number for p in parts])
    caches = _total([(p.number, p.found.llc_mb) for p in parts])
    counted = all(p.counted for p in parts)
    return Hardware(
        memory=MemorySystem(bandwidth, 1, headroom, _per_system(caches, devices)),
        fastest=MemorySystem(best.bandwidth_gbs, 1, headroom, best.llc_mb),
        devices=devices,
        counted=counted,
        certain=counted and all(p.found.is_bound for p in parts),
        tflops=_total([(p.number, p.found.fp16_tflops) for p in parts]),
        memory_bytes=_total([(p.number, p.memory_bytes) for p in parts]),
        vendors=frozenset([p.found.vendor for p in parts]),
        parts=parts,
    )


def _parts(said: tuple[_Said, ...]) -> tuple[_Part, ...]:
    """The devices with their rows; empty unless all are known."""
    found: list[_Part] = []
    for each in said:
        row = device(each.name, each.memory_gb)
        if row is None or (each.number or 1) > _MOST_DEVICES:
            return ()
        found.append(_part(each, row))
    return tuple(found)


def _total(values: Sequence[tuple[int, float | None]]) -> float | None:
    """The sum over all devices of (number, value of one); None when one value is unknown."""
    found = [number * value for number, value in values if value is not None]
    return sum(found) if len(found) == len(values) else None


def _per_system(cache_mb: float | None, devices: int) -> float | None:
    """The caches of all devices as one; of unknown size, as many unknown ones (None for one)."""
    return UNKNOWN_CACHE_MB * devices if cache_mb is None else cache_mb


def _described(part: _Part) -> str:
    times = f"{part.number} × " if part.number > 1 else ""
    several = " (the fastest of that name)" if len(part.found.variants) > 1 else ""
    return f"{times}{part.found.name}{several}"


def offloads(configuration: ConfigurationFacts) -> bool | None:
    """Whether weights are said to lie outside device memory; None when it is not said."""
    placed = configuration.offload
    kind = None if placed is None else placed.model.kind
    if kind in (None, "unknown"):
        return None
    return kind != "none"


def splits_layers(configuration: ConfigurationFacts) -> bool:
    """Whether layers are split over devices, so that one stream uses one device at a time."""
    engine = configuration.engine
    spread = None if engine is None else engine.model.parallelism
    if spread is None or (spread.pipeline or 1) <= 1:
        return False
    return all((n or 1) <= 1 for n in (spread.tensor, spread.data, spread.expert))


def stream_memory(configuration: ConfigurationFacts, hardware: Hardware) -> MemorySystem:
    """What one stream reads from: all devices, or one at a time where layers are split."""
    return hardware.fastest if splits_layers(configuration) else hardware.memory


# --- the KV cache ----------------------------------------------------------------------------

#: Models that attend to a chosen part of the context, so that a pass does not read all of it.
_SPARSE_ATTENTION = r"v3\.2|nsa|dsa|minicpm4|sparse|glm-5"


def kv_layers(configuration: ConfigurationFacts) -> tuple[KvLayers, ...]:
    """The attention layers and their bytes; empty unless geometry and cache type are stated."""
    target, cache = configuration.target, configuration.kv_cache
    geometry = None if target is None else target.model.kv_geometry
    width = kv_type(None if cache is None else cache.model.target_type)
    if target is None or geometry is None or width is None:
        return ()
    if _says((target.model.name or "")[:200].lower(), _SPARSE_ATTENTION):
        return ()
    each = _bytes_per_token(geometry, width)
    full, sliding = geometry.full_attention_layers, geometry.sliding_window_layers
    if each is None or not 0 < (full or 0) <= _MOST_LAYERS:
        return ()
    layers = (KvLayers(full or 0, each),)
    window = geometry.sliding_window_tokens
    if window is None or not 0 < (sliding or 0) <= _MOST_LAYERS:
        return layers
    return (*layers, KvLayers(sliding or 0, each, max(window, 0)))


_MOST_LAYERS = 10_000
_MOST_WIDTH = 1_000_000


def _bytes_per_token(geometry: KvGeometry, width: float) -> float | None:
    rank, heads, head_dim = geometry.latent_rank, geometry.kv_heads, geometry.head_dim
    if rank is not None:
        return mla_bytes_per_token(rank, width) if 0 < rank <= _MOST_WIDTH else None
    if heads is None or head_dim is None:
        return None
    if not (0 < heads <= _MOST_WIDTH and 0 < head_dim <= _MOST_WIDTH):
        return None
    return gqa_bytes_per_token(heads, head_dim, width)


# --- tokens ----------------------------------------------------------------------------------


def least_most_tokens(run: RunFacts) -> float:
    """What `tokens_per_pass(run).most` is at least: a test that costs less. At least 1."""
    tau = run.readings.tau if run.speculates else None
    high = 1.0 if tau is None else tau.span.high
    return high if 1 <= high < float("inf") else 1.0


@once
def tokens_per_pass(run: RunFacts) -> TokensPerPass | None:
    """What one target pass yields to one stream of this run; None when nothing bounds it.

    1 without a drafter. With one: τ as reported, to its last digit and with what averaging
    over prompts allows; else K + 1.
    """
    if run.speculates is False:
        return TokensPerPass(1.0, 1.0, "", ())
    if not run.speculates:
        return None
    readings = run.readings
    tau = readings.tau
    if tau is not None and 1 <= tau.span.high < float("inf"):
        most = tau.span.high * (1 + _mean_slack(readings, run))
        return TokensPerPass(most, max(tau.near.middle, 1.0), tau.text, tau.evidence)
    k = readings.k
    if k is None or not readings.k_is_a_cap:
        return None
    text = f"{readings.k_name} + 1 = {k.value + 1:g}"
    return TokensPerPass(k.value + 1, k.value + 1, text, ((k, "draft length K"),))


def _mean_slack(readings: Readings, run: RunFacts) -> float:
    """How far a mean of rates over prompts may lie above τ times the pooled rate of passes."""
    if any(readings.mean_of_means(n) for n in (run.accepted_length, run.decode_tok_s)):
        return MEAN_OF_MEANS
    return UNSAID_MEAN if (readings.requests or 0) > 1 else 0.0


@once
def output_length(run: RunFacts) -> float | None:
    """Output tokens of one request, the fewest that the report allows; None when not said."""
    workload = run.workload
    found: list[float] = []
    if workload is not None and workload.model.output_tokens is not None:
        each = reported(workload.model.output_tokens, workload.at("output_tokens"), count=True)
        found += [] if each is None else [each.span.low]
    if run.decode_tokens is not None:
        requests = run.readings.requests or 1
        found.append(run.decode_tokens.span.low / max(requests, 1))
    return min(found, default=None)
