"""BL301 to BL309: what memory, bandwidth and arithmetic allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchlint.checker.ceilings import (
    GIB,
    Evidence,
    Hardware,
    TokensPerPass,
    Weights,
    configurations_in_use,
    hardware_of,
    kv_layers,
    least_most_tokens,
    offloads,
    output_length,
    stream_memory,
    target_pass,
    tokens_per_pass,
    weights_of,
)
from benchlint.checker.facts import ConfigurationFacts, Placed, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.lazy import once
from benchlint.checker.model import Target
from benchlint.checker.numbers import Interval, Reported, reported, shown, unit_of_last_digit
from benchlint.checker.registry import Problem, rule
from benchlint.checker.roofline import (
    FAR_BELOW_CEILING,
    NEAR_CEILING,
    TIMER_SLACK,
    KvLayers,
    first_token_factor,
    kv_bytes,
    least_ceiling,
    nominal_ceiling,
    optimistic_ceiling,
    prefill_ceiling,
)
from benchlint.checker.tables import quantization

GB = 1e9


class _Setup(NamedTuple):
    """What bounds the decode speed of a run: weights, devices, tokens of one pass."""

    weights: Weights
    hardware: Hardware
    tokens: TokensPerPass

    @property
    def certain(self) -> bool:
        """Whether what is stated leaves no doubt about size and bandwidth."""
        return self.weights.certain and self.hardware.certain

    @property
    def evidence(self) -> Evidence:
        """Every number behind the bound."""
        devices = self.hardware.evidence(f"{shown(self.hardware.memory.bandwidth_gbs)} GB/s")
        return (*self.tokens.evidence, *self.weights.evidence, *devices)


@once
def _setup(run: RunFacts) -> _Setup | None:
    """The setup of a run where all of it is known, else None."""
    configuration = run.configuration
    hardware = hardware_of(configuration)
    weights = None if hardware is None else weights_of(configuration)
    tokens = None if weights is None or weights.read is None else tokens_per_pass(run)
    if hardware is None or weights is None or tokens is None:
        return None
    return _Setup(weights, hardware, tokens)


def _least(number: Reported) -> float:
    """The smallest value that the printed digits allow; of a range, of its higher end."""
    if not number.from_range or number.approx:
        return number.span.low
    unit = 2 * (number.span.high - number.near.high)
    return number.span.high - 2 * unit


# --- bandwidth -------------------------------------------------------------------------------


@rule(
    "BL301",
    "above-bandwidth-ceiling",
    Severity.ERROR,
    "run",
    needs=["decode.tok_s | throughput.tok_s"],
)
def above_bandwidth_ceiling(run: RunFacts) -> Iterator[Problem]:
    """Decode is faster than the memory of the device can deliver the weights.

    What it does:
        Every target pass reads the weights once, so tokens per second are at most τ times
        bandwidth over bytes (times the streams in flight, for an aggregate). The bound takes
        every doubt in favour of the report: the fewest bits the recipe allows, no embedding
        and no KV cache read, memory overclocked, the last-level cache kept between passes,
        the last digit of τ, and 2 % for timers. A warning where the model may be a mixture of
        experts, the number of devices or the concurrency is not said, weights lie outside
        device memory, or the bandwidth is uncertain.
    Why it matters:
        Such a speed was not measured on that setup: tokens that came from a cache, chunks or
        prompt tokens were counted, the timer missed part of the time, or the model, the
        quantization or the number of devices is another.
    Example:
        A dense model of 26.5 B parameters at UD-Q5_K_M (5.3 bits at least) and 31 tok/s
        without a drafter on a card of 432 GB/s: 17.5 GB × 31 = 543 GB/s, more than overclocked
        memory delivers.
    Instead:
        Give output tokens over decode time, with the device, `count`, `concurrency` and
        `parameters_active_b` as they were.
    Sources:
        Williams, Waterman and Patterson 2009 (roofline); Leviathan et al., arXiv 2211.17192
        (one verify step reads the weights once).
    """
    passes = None if not _is_timed(run) else _most_passes(run.configuration)
    if passes is None or _is_slower(run, passes * least_most_tokens(run) * TIMER_SLACK):
        return
    speeds, setup = _speeds(run), _setup(run)
    if setup is None:
        return
    certain = setup.certain and not offloads(run.configuration)
    one = passes * setup.tokens.most * first_token_factor(output_length(run)) * TIMER_SLACK
    for number, streams, known in speeds:
        aggregate = number is run.throughput_tok_s
        if _least(number) > one * (streams if aggregate else 1):
            proved = certain and known and _least(number) > one * streams
            yield _over_bandwidth(run, number, streams if aggregate or proved else 1, setup, proved)
            return


def _is_timed(run: RunFacts) -> bool:
    return run.decode_tok_s is not None or run.throughput_tok_s is not None


def _speeds(run: RunFacts) -> tuple[tuple[Reported, int, bool], ...]:
    """Speeds with the streams that may be behind them, and whether that number is stated."""
    streams = run.concurrency
    known = streams is not None and 0 < streams < 10**6
    count = streams if streams is not None and known else 1
    found = [] if run.decode_tok_s is None else [(run.decode_tok_s, count, known)]
    if run.throughput_tok_s is not None and known:
        found.append((run.throughput_tok_s, count, True))
    return tuple(found)


def _is_slower(run: RunFacts, least: float) -> bool:
    """Whether every speed of the run is below the least that is allowed, as nearly all are."""
    one, all_ = run.decode_tok_s, run.throughput_tok_s
    return (one is None or _least(one) <= least) and (all_ is None or _least(all_) <= least)


@once
def _most_passes(configuration: ConfigurationFacts) -> float | None:
    """Target passes per second that no honest setup exceeds."""
    hardware = hardware_of(configuration)
    weights = None if hardware is None else weights_of(configuration)
    target = None if weights is None else target_pass(weights)
    if hardware is None or target is None:
        return None
    return optimistic_ceiling(target, hardware.memory)


def _over_bandwidth(
    run: RunFacts, number: Reported, streams: int, setup: _Setup, proved: bool
) -> Problem:
    read = setup.weights.read
    memory = setup.hardware.memory
    weights = 0.0 if read is None else (read.low - memory.cache_bytes) / GB
    passes = _least(number) / streams / setup.tokens.most
    over = f" / {streams} streams" if streams > 1 else ""
    return Problem(
        number,
        f"{number} tok/s{over}{_divided(setup.tokens)} × at least {shown(weights, 3)} GB of "
        f"weights a pass needs {shown(passes * weights)} GB/s; "
        f"{_bandwidth(setup.hardware)}{setup.weights.condition}",
        related=setup.evidence,
        help=_MEASURE if proved else _advice(run, setup),
        severity=None if proved else Severity.WARNING,
    )


def _divided(tokens: TokensPerPass) -> str:
    """By how many tokens a pass yields, for the arithmetic in a message."""
    if not tokens.text:
        return ""
    return (
        f" / ({tokens.text})" if " = " in tokens.text or "+" in tokens.text else f" / {tokens.text}"
    )


_MEASURE = "report output tokens over decode time, without prompt tokens and cached ones"


def _advice(run: RunFacts, setup: _Setup) -> str:
    """What to state so that the bound can be trusted."""
    if not setup.weights.certain:
        return "state `architecture`, and `parameters_active_b` for a mixture of experts"
    if not setup.hardware.certain:
        return "state the full names of the devices and how many were used"
    if offloads(run.configuration):
        return "state what lies outside device memory, and how fast that memory is"
    belongs = "the sum over several streams belongs under `throughput`"
    if run.concurrency is not None:
        return f"give the speed of one stream; {belongs}"
    return f"state `concurrency`; {belongs}"


def _bandwidth(hardware: Hardware) -> str:
    memory = hardware.memory
    assumed = "" if hardware.counted else "one "
    most = memory.bandwidth_gbs * memory.headroom
    return (
        f"{assumed}{hardware.name} has {shown(memory.bandwidth_gbs)} GB/s "
        f"({shown(most)} overclocked)"
    )


@rule(
    "BL302",
    "near-ceiling",
    Severity.WARNING,
    "run",
    yields_to=("BL301", "BL310"),
    needs=["decode.tok_s"],
)
def near_ceiling(run: RunFacts) -> Iterator[Problem]:
    """Decode uses more of the specified bandwidth than kernels reach.

    What it does:
        Takes the likely size of the weights (typical bits of the recipe, without the input
        embedding) and the specified bandwidth, and warns when the speed needs more than 95 %
        of it. Judged for dense models, or with active parameters known, at concurrency 1.
    Why it matters:
        Streaming kernels reach 85 to 96 % of the specification, decode of a whole model less:
        60 to 80 % is usual. A speed above that is possible with overclocked memory, and
        otherwise means that something else was counted.
    Example:
        25 tok/s without a drafter for 18.9 GB a token on a card of 432 GB/s: 109 %.
    Instead:
        State the memory clock in `clocks.memory_mhz` where it was raised; else measure again
        with the prompt cache off and output tokens counted.
    Sources:
        Kernel-timed bandwidths: M5 Ultra 1,097 of 1,228 GB/s (SiliconScope), M3 Max 386 of 400
        (clpeak). llama.cpp `tools/quantize/README.md`, effective GB/s by type.
    """
    number = run.decode_tok_s
    ceiling = _likely_passes(run.configuration) if number is not None and _single(run) else None
    if number is None or ceiling is None:
        return
    if _least(number) / (ceiling * least_most_tokens(run)) <= NEAR_CEILING:
        return
    setup = _setup(run)
    target = None if setup is None else target_pass(setup.weights)
    if setup is None or target is None:
        return
    most = ceiling * setup.tokens.most * first_token_factor(output_length(run))
    share = _least(number) / most
    if share > NEAR_CEILING:
        yield Problem(
            number,
            f"{number} tok/s is {shown(100 * share, 3)} % of what {setup.hardware.name} delivers "
            f"by its specification ({shown(most)} tok/s for {_gb(target.likely_bytes)} GB a pass"
            f"{_with_tau(setup)}); kernels reach 85 to 96 %",
            related=setup.evidence,
            help="state the memory clock if it was raised, and how tokens and time were counted",
        )


def _single(run: RunFacts) -> bool:
    """Whether the speed is one stream's, as far as is said."""
    return run.concurrency in (None, 1)


@once
def _likely_passes(configuration: ConfigurationFacts) -> float | None:
    """Target passes per second by the specification, where nothing about it is in doubt."""
    hardware = hardware_of(configuration)
    weights = None if hardware is None else weights_of(configuration)
    if hardware is None or weights is None or not (weights.certain and hardware.certain):
        return None
    target = None if _overclocked(configuration) else target_pass(weights)
    memory = stream_memory(configuration, hardware)
    return None if target is None else nominal_ceiling(target, memory)


def _overclocked(configuration: ConfigurationFacts) -> bool:
    """Whether the report says how fast the memory was clocked."""
    machine = configuration.machine
    devices = [] if machine is None else machine.model.devices or []
    return any(d.clocks is not None and d.clocks.memory_mhz is not None for d in devices)


def _gb(size: float) -> str:
    return shown(size / GB, 3)


def _with_tau(setup: _Setup) -> str:
    return f", {setup.tokens.text}" if setup.tokens.text else ""


#: Below this size launching kernels costs more than reading weights.
_SMALL_READ = 1e9
#: Beyond this position the KV cache, which is not counted here, may be most of what is read.
_NEAR_POSITION = 4096


@rule("BL303", "far-below-ceiling", Severity.NOTE, "run", needs=["decode.tok_s"])
def far_below_ceiling(run: RunFacts) -> Iterator[Problem]:
    """A baseline uses less than a fifth of the memory bandwidth.

    What it does:
        Compares a run without a drafter with the ceiling of its heaviest reading: all
        parameters, the most bits the recipe allows, one device unless tensor parallelism is
        stated. Silent where offload is stated, on the CPU, at a far position in the KV cache,
        for mixtures of experts and for weights under 1 GB.
    Why it matters:
        Such a baseline is not bound by device memory: layers spilled to the CPU (the offload
        cliff), a framework without fused kernels, or a throttled device. Speculation gains
        more over it than over a sound one, so the speed-up does not carry over.
    Example:
        4.1 tok/s for 18.9 GB on a card of 432 GB/s, where 23 would fit: 18 %.
    Instead:
        State `engine.offload` and the power limit, or measure a baseline that fits the device.
    Sources:
        Honest realised shares: 20 % (1.1 B on an M1 Ultra) to 85 %. The offload cliff:
        llama.cpp computes layers that lie in system memory at its bandwidth.
    """
    number = run.decode_tok_s
    if number is None or run.speculates is not False or not _single(run) or _is_slowed(run):
        return
    setup = _setup(run)
    target = None if setup is None else target_pass(setup.weights)
    if setup is None or target is None or target.weight_bytes.low < _SMALL_READ:
        return
    hardware = setup.hardware
    tensor = _is_tensor_parallel(run)
    ceiling = least_ceiling(target, hardware.memory if tensor else hardware.fastest)
    highest = number.span.high
    if ceiling is not None and highest < FAR_BELOW_CEILING * ceiling:
        yield Problem(
            number,
            f"{number} tok/s is {shown(100 * highest / ceiling, 2)} % of the {shown(ceiling, 3)} "
            f"tok/s that {hardware.name} allows for {_gb(target.weight_bytes.high)} GB a token; "
            "the baseline is not bound by device memory",
            related=setup.evidence,
            help="state `engine.offload` (layers on the CPU?), the backend and the power limit",
        )


def _is_slowed(run: RunFacts) -> bool:
    """Whether the report says why the run is slow."""
    engine = run.configuration.engine
    backend = None if engine is None else engine.model.backend
    far = run.filled_tokens is not None and run.filled_tokens.value > _NEAR_POSITION
    on_cpu = backend is not None and "cpu" in backend.lower()
    return far or on_cpu or offloads(run.configuration) is True or _is_mixture(run.configuration)


def _is_mixture(configuration: ConfigurationFacts) -> bool:
    target = configuration.target
    if target is None:
        return False
    return target.model.architecture == "moe" or target.model.parameters_active_b is not None


def _is_tensor_parallel(run: RunFacts) -> bool:
    engine = run.configuration.engine
    spread = None if engine is None else engine.model.parallelism
    return spread is not None and (spread.tensor or 1) > 1


# --- memory ----------------------------------------------------------------------------------


@rule(
    "BL304",
    "memory-over-total",
    Severity.ERROR,
    "run",
    needs=["memory.device_used_mib | memory.device_used_gib"],
)
def memory_over_total(run: RunFacts) -> Iterator[Problem]:
    """More device memory is used than there is.

    What it does:
        Compares the memory in use with the total that the run states, and with the nominal
        memory of all devices (taken as GiB, with 5 % over). Memory that the device shares with
        the CPU is left alone.
    Why it matters:
        One of the numbers has another unit or counts another number of devices, so neither can
        be used to tell whether the setup fits a card.
    Example:
        `"device_used_mib": 25310` beside `"device_total_mib": 24467`
    Instead:
        Give both for all devices together, in the unit of the field's name: MiB as nvidia-smi
        prints them, or GiB.
    Sources:
        nvidia-smi prints MiB; "24 GB" cards report 24,000 to 24,576 MiB.
    """
    used, total = _memory_of(run, "used"), _memory_of(run, "total")
    if used is None:
        return
    number, factor = used
    if total is not None:
        least, most = number.span.low * factor, total[0].span.high * total[1]
        if least > most and Interval.of(least).above(most):
            yield Problem(
                number,
                f"{number} {_unit(number)} in use > {total[0]} {_unit(total[0])} in all",
                related=[(total[0], "device memory in all")],
                help="give both for all devices together, in the unit of the field's name",
            )
        return
    yield from _over_nominal(run, number, number.span.low * factor)


def _memory_of(run: RunFacts, what: str) -> tuple[Reported, float] | None:
    """A size as printed, and how many MiB its unit has."""
    for unit, factor in (("mib", 1.0), ("gib", 1024.0)):
        number = run.number("memory", f"device_{what}_{unit}")
        if number is not None:
            return number, factor
    return None


def _unit(number: Reported) -> str:
    return "GiB" if "_gib" in number.pointer else "MiB"


#: What drivers report over the nominal size, and what a nominal size is rounded down by.
_OVER_NOMINAL = 1.05


def _over_nominal(run: RunFacts, number: Reported, least: float) -> Iterator[Problem]:
    machine = run.configuration.machine
    devices = [] if machine is None else machine.model.devices or []
    if machine is None or not devices or any(d.unified_memory for d in devices):
        return
    sizes = [float(d.memory_gb or 0) * float(d.count or 0) for d in devices]
    if min(sizes) <= 0 or least <= sum(sizes) * 1024 * _OVER_NOMINAL:
        return
    related = [
        (machine.at("devices", i, "memory_gb"), "memory of one device")
        for i, _ in enumerate(devices)
    ]
    yield Problem(
        number,
        f"{number} {_unit(number)} in use > {shown(sum(sizes))} GB of all devices",
        related=related,
        help="state `count` and `memory_gb` as they were, and the use of device memory alone",
    )


@rule("BL305", "weights-do-not-fit", Severity.WARNING, "report")
def weights_do_not_fit(report: ReportFacts) -> Iterator[Problem]:
    """The weights are larger than the memory of the devices.

    What it does:
        Compares the least size of the weights (the fewest bits of the recipe, an input
        embedding left out) with the most memory of all devices (nominal sizes taken as GiB, and
        2 % for what drivers count as more). An error where `engine.offload` says that nothing
        was offloaded; a warning where it says nothing, since engines offload by themselves;
        silent where offload is stated.
    Why it matters:
        Weights outside device memory are read at a tenth of the speed or less. Who does not
        know of it reads a slow baseline as a property of the model.
    Example:
        A dense model of 70 B parameters at BF16 (123 GB at least) on 4 cards of 24 GB.
    Instead:
        State the offload (`"offload": {"kind": "layers", "gpu_layers": 40}`), or all devices.
    Sources:
        llama.cpp fits layers to free memory by default; Ollama and LM Studio split by
        themselves.
    """
    seen: set[str] = set()
    for configuration in configurations_in_use(report):
        problem = _too_large(configuration)
        if problem is not None and problem.message not in seen:
            seen.add(problem.message)
            yield problem


def _too_large(configuration: ConfigurationFacts) -> Problem | None:
    offload = offloads(configuration)
    hardware = None if offload else hardware_of(configuration)
    weights = None if hardware is None else weights_of(configuration)
    if hardware is None or weights is None or weights.resident is None:
        return None
    memory, least = hardware.memory_bytes, weights.resident.low
    if memory is None or least <= memory:
        return None
    target, placed = configuration.target, configuration.offload
    none = offload is False and hardware.counted
    said = [(placed.pointer, "nothing is offloaded")] if placed is not None and none else []
    place = "" if target is None else target.at("quantization")
    return Problem(
        weights.evidence[0][0] if weights.evidence else place,
        f"the weights take at least {_gb(least)} GB; {hardware.name} "
        f"{'has' if hardware.counted else 'alone has'} {_gb(memory)} GB at most (GB read as GiB, "
        f"and 2 % more){' and nothing is said to be offloaded' if none else ''}",
        related=[*weights.evidence[1:], *hardware.evidence("device memory"), *said],
        help='state where the rest lay, as `"offload": {"kind": "layers", "gpu_layers": 40}`, '
        "and the number of devices",
        severity=Severity.ERROR if none else Severity.WARNING,
        subject=configuration.pointer,
    )


@rule("BL306", "filled-over-capacity", Severity.ERROR, "run", needs=["conditions.kv_position"])
def filled_over_capacity(run: RunFacts) -> Iterator[Problem]:
    """More tokens are in the KV cache than it holds.

    What it does:
        Compares the filled position of a run with the configured context length. A warning
        where only the pool of the whole cache is smaller, since engines with sliding layers
        count a pool in different ways, and where the tokens may be those of all streams.
    Why it matters:
        The engine would have refused the prompt, cut it, or shifted its start away: the run
        was not at the position it states.
    Example:
        `"filled_tokens": 300000` with `"max_context_tokens": 262144`
    Instead:
        Give the tokens in the cache when decode began, as the engine counted them.
    Sources:
        llama.cpp `tools/server` (a prompt longer than n_ctx is refused); vLLM
        `max_model_len`.
    """
    filled, cache = run.filled_tokens, run.configuration.kv_cache
    if filled is None or cache is None:
        return
    for name, severity in (
        ("max_context_tokens", Severity.ERROR),
        ("pool_tokens", Severity.WARNING),
    ):
        stated = getattr(cache.model, name)
        if stated is None or filled.value <= stated:
            continue
        held = reported(stated, cache.at(name), count=True)
        if held is not None and filled.value > held.value > 0:
            streams = run.concurrency or run.readings.requests or 1
            if streams > 1 and filled.value <= held.value * streams:
                severity = Severity.WARNING  # it may be the tokens of all streams
            yield Problem(
                filled,
                f"{filled} tokens filled > {held} that the cache holds",
                related=[(held, "capacity in tokens")],
                help="give the tokens in the cache when decode began",
                severity=severity,
            )
            return


# --- the cost of context ---------------------------------------------------------------------

#: A share of the step time that nobody overlooks, and the part of it that must at least show.
_NOTABLE_COST = 0.10
_SHOWN_PART = 0.25


@rule(
    "BL307",
    "context-cost-absent",
    Severity.WARNING,
    "run",
    yields_to=("BL301",),
    needs=["conditions.kv_position", "decode.tok_s"],
)
def context_cost_absent(run: RunFacts) -> Iterator[Problem]:
    """Decode at a far position costs nothing, though attention must read the whole cache.

    What it does:
        Works out the bytes of the KV cache at the filled position from the stated geometry and
        cache type, and warns when weights and cache together cannot be read at the reported
        speed; or when another run of the same configuration at a nearer position is as fast,
        though the difference alone costs 10 % of its time or more. Layers with a window count
        with their window, layers of linear attention not at all.
    Why it matters:
        A "long context" speed that was measured on a short one is the most common way to be
        wrong about long contexts: capacity was configured and never filled.
    Example:
        Llama-3.1-8B keeps 131,072 bytes a token: 8.6 GB at 65,536, more than its Q4_K_M weights,
        so a card of 1,008 GB/s needs at least 7 ms a pass more than at an empty cache.
    Instead:
        Fill the cache before decode, and give the position in
        `conditions.kv_position.filled_tokens`.
    Sources:
        Ainslie et al., arXiv 2305.13245 (grouped-query attention). Muse Glimmer 30B: 7,072
        bytes a token in q8_0, 9 % at 262,144.
    """
    filled, number = run.filled_tokens, run.decode_tok_s
    if filled is None or number is None or filled.value < 1 or not _single(run):
        return
    layers = kv_layers(run.configuration)
    setup = _setup(run) if layers else None
    if setup is None or not setup.hardware.counted:
        return
    near = _nearer(run, filled)
    yield from _over_with_cache(number, filled, layers, setup)
    if near is not None:
        yield from _as_fast_as(run, near, layers, setup)


def _over_with_cache(
    number: Reported, filled: Reported, layers: tuple[KvLayers, ...], setup: _Setup
) -> Iterator[Problem]:
    read, memory = setup.weights.read, setup.hardware.memory
    cache = kv_bytes(layers, int(filled.value))
    if read is None or read.low < 3 * memory.cache_bytes or not setup.weights.certain:
        return
    least = read.low + cache - memory.cache_bytes
    most = memory.bytes_per_second * memory.headroom / least * setup.tokens.most
    if _least(number) > most * TIMER_SLACK:
        yield Problem(
            number,
            f"{number} tok/s > {shown(most)}{_with_tau(setup)}: at {filled} tokens a pass reads "
            f"{_gb(cache)} GB of KV cache beside {_gb(read.low)} GB of weights; "
            f"{_bandwidth(setup.hardware)}",
            related=[(filled, "filled position"), *setup.evidence],
            help="fill the cache before decode is timed, and state the position it had",
        )


def _nearer(run: RunFacts, filled: Reported) -> tuple[RunFacts, Reported, Reported] | None:
    """The plain run of the same configuration at the nearest position that is stated."""
    if run.speculates is not False:
        return None
    found = [
        (other, other.filled_tokens, other.decode_tok_s)
        for other in run.report.comparable_runs
        if other.model.configuration == run.model.configuration
        and other.concurrency == run.concurrency
        and other.filled_tokens is not None
        and other.decode_tok_s is not None
        and 0 <= other.filled_tokens.value < filled.value
    ]
    nearest = min(found, key=lambda f: f[1].value if f[1] is not None else 0, default=None)
    if nearest is None or nearest[1] is None or nearest[2] is None:
        return None
    return nearest[0], nearest[1], nearest[2]


def _as_fast_as(
    run: RunFacts,
    near: tuple[RunFacts, Reported, Reported],
    layers: tuple[KvLayers, ...],
    setup: _Setup,
) -> Iterator[Problem]:
    other, position, speed = near
    filled, number, memory = run.filled_tokens, run.decode_tok_s, setup.hardware.memory
    if filled is None or number is None or min(number.span.low, speed.span.low) <= 0:
        return
    more = kv_bytes(layers, int(filled.value)) - kv_bytes(layers, int(position.value))
    cost = more / (memory.bytes_per_second * memory.headroom)
    added = 1 / number.span.low - 1 / speed.span.high
    if cost < _NOTABLE_COST / speed.value or added >= _SHOWN_PART * cost:
        return
    yield Problem(
        number,
        f"{number} tok/s at {filled} tokens against {speed} at {position}: a pass reads "
        f"{_gb(more)} GB more, which takes at least {shown(1000 * cost, 2)} ms, but a token takes "
        f"{shown(1000 / number.value, 3)} ms instead of {shown(1000 / speed.value, 3)}",
        related=[
            (speed, f"decode speed of {other}"),
            (filled, "filled position"),
            (position, f"filled position of {other}"),
            *setup.hardware.evidence(f"{shown(memory.bandwidth_gbs)} GB/s"),
        ],
        help="check that the cache was filled when decode was timed",
    )


# --- arithmetic ------------------------------------------------------------------------------

#: How far boost clocks exceed the specification, with rounding.
_BOOST = 1.15
#: Kernels at fewer bits multiply faster: by 4 below 6 bits, by 2 below 12.
_FASTER_BY_BITS = ((6.0, 4.0), (12.0, 2.0))
#: Vendors whose figures say nothing about what their kernels reach.
_NO_FIGURES = frozenset({"Apple", "Intel", "CPU"})


@rule("BL308", "prefill-above-compute", Severity.WARNING, "run", needs=["prefill.tok_s"])
def prefill_above_compute(run: RunFacts) -> Iterator[Problem]:
    """Prefill is faster than the device can multiply.

    What it does:
        A prompt token costs two operations a parameter, so prefill is at most
        FLOPS/(2 × parameters). Takes the dense FP16 peak with 15 % for boost clocks, twice
        that for weights below 12 bits and four times for less than 6, and leaves attention
        out. Judged for dense models or with active parameters known. Apple and Intel figures
        are not used.
    Why it matters:
        A prefill over the peak counts tokens that came from the prompt cache: repeats of one
        prompt read 14,800 tok/s where 12,400 were computed.
    Example:
        60,000 tok/s of prefill for 8 B parameters at BF16 on a card of 330 TFLOPS (23,700 at
        most with boost).
    Instead:
        Send distinct prompts with the prompt cache off (`"prompt_cache": false`), and count
        the tokens that were processed.
    Sources:
        Kaplan et al., arXiv 2001.08361 (2 FLOPs a parameter and token); vendor specifications.
    """
    number = run.prefill_tok_s
    hardware = None if number is None else hardware_of(run.configuration)
    weights = None if hardware is None else weights_of(run.configuration)
    if number is None or hardware is None or weights is None or weights.parameters is None:
        return
    judged = weights.certain and hardware.counted and not hardware.vendors & _NO_FIGURES
    if not judged or hardware.tflops is None:
        return
    most = _most_prefill(weights, hardware.tflops)
    if _least(number) > most:
        yield Problem(
            number,
            f"{number} tok/s of prefill × 2 × {_gb(weights.parameters.low)} B parameters is over "
            f"the {shown(most)} tok/s that {hardware.name} can multiply",
            related=[*weights.evidence, *hardware.evidence(f"{shown(hardware.tflops)} TFLOPS")],
            help="count only tokens that were processed, with the prompt cache off",
        )


def _most_prefill(weights: Weights, tflops: float) -> float:
    bits = 0.0 if weights.bits is None else weights.bits.low
    factor = next((f for limit, f in _FASTER_BY_BITS if bits < limit), 1.0)
    parameters = 1.0 if weights.parameters is None else weights.parameters.low
    return prefill_ceiling(parameters, tflops * _BOOST * factor)


# --- sizes -----------------------------------------------------------------------------------


@rule(
    "BL309",
    "size-vs-parameters",
    Severity.WARNING,
    "report",
    needs=["target.quantization.file_size_gb | target.quantization.file_size_gib"],
)
def size_vs_parameters(report: ReportFacts) -> Iterator[Problem]:
    """File size, bits per weight and parameters do not fit one another.

    What it does:
        Multiplies parameters by bits per weight (as stated, else of the recipe) and compares
        with the size of the file. Allows for counts that are rounded ("30B" for 27.9 B), GB
        and GiB taken for one another, and 10 % of further modules in the file.
    Why it matters:
        The bytes read per token set the ceiling of decode. When they are in doubt, no speed
        of the report can be judged.
    Example:
        8 B parameters, Q4_K_M and a file of 16.1 GB: that is 16 bits a weight, not 4.9.
    Instead:
        Give the size of the file that was loaded, the recipe it was made with, and the
        parameters of the model as its card states them.
    Sources:
        llama.cpp `tools/quantize/README.md` (bits per weight of each recipe).
    """
    seen: set[str] = set()
    for configuration in configurations_in_use(report):
        target = configuration.target
        problem = None if target is None else _size_problem(target, configuration.pointer)
        if problem is not None and problem.message not in seen:
            seen.add(problem.message)
            yield problem


#: GB and GiB differ by this factor.
_GIB_PER_GB = GIB / GB
#: A vision tower or draft heads in the same file.
_MODULES = 1.10
#: Parameters in a name are rounded down by up to this, and up by less.
_COUNT_LOW, _COUNT_HIGH = 0.90, 1.05


def _size_problem(target: Placed[Target], subject: str) -> Problem | None:
    file = _file_gb(target)
    if file is None:
        return None
    parameters = reported(target.model.parameters_b, target.at("parameters_b"))
    bits = _bits(target)
    if parameters is None or bits is None:
        return None
    size, span = file
    count = _count_span(parameters)
    expected = count * bits[1] * (1 / 8)
    allowed = Interval(expected.low / _GIB_PER_GB, expected.high * _MODULES * _GIB_PER_GB)
    if count.low <= 0 or span.low <= 0 or span.meets(allowed):
        return None
    held = 8 * span.middle / parameters.value
    return Problem(
        size,
        f"{size} {'GiB' if size.pointer.endswith('gib') else 'GB'} for {parameters} B parameters "
        f"is {shown(held, 3)} bits a weight; {bits[2]}",
        related=[(parameters, "parameters in billions"), (bits[0], "bits per weight")],
        help="state the file that was loaded, its recipe and the parameters on the model card",
        subject=subject,
    )


def _file_gb(target: Placed[Target]) -> tuple[Reported, Interval] | None:
    """The stated size of the file, and in GB."""
    for name, factor in (("file_size_gb", 1.0), ("file_size_gib", _GIB_PER_GB)):
        stated = getattr(target.model.quantization, name, None)
        number = None if stated is None else reported(stated, target.at("quantization", name))
        if number is not None:
            return number, number.span * factor
    return None


def _bits(target: Placed[Target]) -> tuple[str | Reported, Interval, str] | None:
    """Bits per weight of the file, where they stand, and in words."""
    stated = target.model.quantization
    if stated is None:
        return None
    number = reported(stated.bits_per_weight, target.at("quantization", "bits_per_weight"))
    if number is not None:
        return number, number.span, f"the report says {number}"
    recipe = quantization(stated.recipe)
    if recipe is None or "gpt-oss" in (target.model.name or "").lower():
        return None  # gpt-oss was released at 4 bits, which most recipes leave as they are
    span = Interval(recipe.bits_low, recipe.bits_high)
    if (target.model.parameters_b or _SMALL) < _SMALL:
        span = Interval(span.low, max(span.high, _EMBEDDING_BITS))
    low, high = shown(span.low, 3), shown(span.high, 3)
    text = f"{recipe.name} has {low}" + ("" if low == high else f" to {high}")
    return target.at("quantization", "recipe"), span, text


#: Under so many billions of parameters the embedding may be most of the model, and recipes keep
#: it, and rows that are no multiple of 256, at up to Q8_0: Gemma 3 270M in Q4_K_M has 7.4 bits.
_SMALL = 1.5
_EMBEDDING_BITS = 8.6


def _count_span(parameters: Reported) -> Interval:
    """Parameters in billions that a stated count may mean."""
    value = parameters.value
    whole = value == int(value) if abs(value) < 1e6 else False
    unit = 1.0 if whole and value >= 10 else unit_of_last_digit(value)
    unit = min(unit, 0.35 * value)
    return Interval(min(_COUNT_LOW * value, value - unit), max(_COUNT_HIGH * value, value + unit))
