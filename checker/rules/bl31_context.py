"""BL310 to BL312: devices in a row, and room in the context."""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker.ceilings import (
    configurations_in_use,
    hardware_of,
    offloads,
    output_length,
    splits_layers,
    target_pass,
    tokens_per_pass,
    weights_of,
)
from benchlint.checker.facts import ConfigurationFacts, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import Reported, reported, shown
from benchlint.checker.registry import Problem, rule
from benchlint.checker.roofline import TIMER_SLACK, first_token_factor, optimistic_ceiling

# --- layer split -----------------------------------------------------------------------------

#: A gain of one stream from more devices that noise does not explain.
_GAIN = 1.10


@rule(
    "BL310",
    "layer-split-speedup",
    Severity.WARNING,
    "run",
    yields_to=("BL301",),
    needs=["conditions.concurrency", "decode.tok_s"],
)
def layer_split_speedup(run: RunFacts) -> Iterator[Problem]:
    """One stream gains from devices that work one after another.

    What it does:
        Where layers are split over devices (`parallelism.pipeline` over 1 and nothing else), a
        token passes through them in turn, so that one stream reads at the bandwidth of one
        device. Warns when a run at concurrency 1 is faster than that allows, or more than 10 %
        faster than a plain run of the same model on fewer such devices that held all of it.
    Why it matters:
        More cards of a layer split hold a larger model and serve more streams; they do not
        make one stream faster. A gain points to tensor parallelism that was not stated, to
        another quantization, or to a first run that was partly on the CPU.
    Example:
        41 tok/s on one card and 78 tok/s on two with `"pipeline": 2`.
    Instead:
        State the split that was used (`"tensor": 2` for llama.cpp's `-sm row` and vLLM's
        `--tensor-parallel-size`), and the offload of the smaller setup.
    Sources:
        llama.cpp `--split-mode layer` runs devices in sequence for one stream; time is the sum
        of bytes over bandwidth.
    """
    if run.concurrency != 1 or run.decode_tok_s is None or not splits_layers(run.configuration):
        return
    problem = _over_one_device(run, run.decode_tok_s) or _faster_than_fewer(run, run.decode_tok_s)
    if problem is not None:
        yield problem


def _over_one_device(run: RunFacts, number: Reported) -> Problem | None:
    hardware, weights = hardware_of(run.configuration), weights_of(run.configuration)
    tokens = tokens_per_pass(run)
    target = None if weights is None or not weights.certain else target_pass(weights)
    if hardware is None or weights is None or target is None or tokens is None:
        return None
    passes = optimistic_ceiling(target, hardware.fastest) if hardware.devices > 1 else None
    if passes is None:
        return None
    most = passes * tokens.most * first_token_factor(output_length(run))
    if number.span.low <= most * TIMER_SLACK:
        return None
    with_tau = f", {tokens.text}" if tokens.text else ""
    return Problem(
        number,
        f"{number} tok/s > {shown(most)} that one device allows ({shown(_overclocked(run))} GB/s"
        f"{with_tau}): over split layers one stream reads one device at a time",
        related=[
            *_split(run),
            *tokens.evidence,
            *weights.evidence,
            *hardware.evidence("bandwidth"),
        ],
        help=_HELP,
    )


_HELP = "state how the model was split: `tensor` where all devices work on each layer"


def _overclocked(run: RunFacts) -> float:
    hardware = hardware_of(run.configuration)
    return 0.0 if hardware is None else hardware.fastest.bandwidth_gbs * hardware.fastest.headroom


def _split(run: RunFacts) -> list[tuple[str, str]]:
    engine = run.configuration.engine
    if engine is None:
        return []
    return [(engine.at("parallelism", "pipeline"), "layers are split")]


def _faster_than_fewer(run: RunFacts, number: Reported) -> Problem | None:
    if run.speculates is not False:
        return None
    fewer = next((o for o in run.report.comparable_runs if _is_smaller(o, run)), None)
    base = None if fewer is None else fewer.decode_tok_s
    if fewer is None or base is None or number.span.low <= _GAIN * base.span.high:
        return None
    return Problem(
        number,
        f"{number} tok/s over split layers against {base} on fewer devices, "
        f"{shown(number.value / base.value, 3)} times: one stream reads one device at a time",
        related=[(base, f"decode speed of {fewer}"), *_split(run)],
        help=f"{_HELP}; and whether {fewer} had all of the model in device memory",
    )


def _is_smaller(other: RunFacts, run: RunFacts) -> bool:
    """Whether `other` is the same plain run on fewer devices of the same names, not offloaded."""
    here, there = hardware_of(run.configuration), hardware_of(other.configuration)
    if here is None or there is None or not (here.counted and there.counted):
        return False
    return (
        other.speculates is False
        and other.decode_tok_s is not None
        and other.concurrency == 1
        and other.model.workload == run.model.workload
        and there.devices < here.devices
        and there.fastest == here.fastest
        and _same_target(other.configuration, run.configuration)
        and (offloads(other.configuration) is False or _fits(other.configuration))
    )


def _same_target(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    return a.target is not None and b.target is not None and a.target.model == b.target.model


#: Of device memory, what weights may take when cache and buffers are to fit beside them.
_ROOM_FOR_WEIGHTS = 0.8


def _fits(configuration: ConfigurationFacts) -> bool:
    """Whether all weights surely lie in device memory when nothing is said of offload."""
    hardware, weights = hardware_of(configuration), weights_of(configuration)
    if offloads(configuration) or hardware is None or weights is None:
        return False
    if hardware.memory_bytes is None or weights.resident is None:
        return False
    return weights.resident.high <= _ROOM_FOR_WEIGHTS * hardware.memory_bytes


# --- room in the context ---------------------------------------------------------------------

#: Output that a decode figure needs: fewer tokens or verify steps have no usable precision.
_ENOUGH_TOKENS = 256
_ENOUGH_STEPS = 50


@rule(
    "BL311",
    "room-for-output",
    Severity.NOTE,
    "run",
    yields_to=("BL306",),
    needs=["conditions.kv_position"],
)
def room_for_output(run: RunFacts) -> Iterator[Problem]:
    """The context has too little room left for the decode figure.

    What it does:
        Subtracts the filled position from the configured context length, for runs that report
        a decode speed or accepted length, and asks for room for 256 tokens and 50 steps.
    Why it matters:
        A speed over a dozen steps is within noise of anything. Near the end of the context
        drafts are also cut short, so that accepted length falls.
    Example:
        262,116 of 262,144 tokens filled: 28 tokens left, about four steps at τ 6.4.
    Instead:
        Fill up to the capacity less the output that is measured: 261,632 for 512 tokens.
    Sources:
        llama.cpp `tools/server` caps drafts at n_ctx − n_past − 2.
    """
    filled, cache = run.filled_tokens, run.configuration.kv_cache
    held = (
        None
        if cache is None
        else reported(cache.model.max_context_tokens, cache.at("max_context_tokens"), count=True)
    )
    number = run.decode_tok_s or run.accepted_length
    if filled is None or held is None or number is None:
        return
    room = int(held.value) - int(filled.value)
    steps = _steps(run, room)
    if 0 <= room < _ENOUGH_TOKENS or (room >= 0 and steps is not None and steps < _ENOUGH_STEPS):
        about = "" if steps is None else f", about {max(steps, 0):.0f} steps"
        yield Problem(
            number,
            f"{held} − {filled} leaves room for {room} tokens{about}: too few for a decode figure",
            related=[(filled, "filled position"), (held, "capacity in tokens")],
            help=f"leave room for the output: at least {_ENOUGH_TOKENS} tokens and "
            f"{_ENOUGH_STEPS} steps",
        )


def _steps(run: RunFacts, room: int) -> float | None:
    """Verify steps that `room` tokens make; None for a plain run or without τ."""
    tau = run.readings.tau if run.speculates else None
    return None if tau is None or tau.near.middle < 1 else room / tau.near.middle


@rule(
    "BL312",
    "context-beyond-documented",
    Severity.WARNING,
    "report",
    needs=["target.documented_context_tokens"],
)
def context_beyond_documented(report: ReportFacts) -> Iterator[Problem]:
    """The context is longer than the model is documented for.

    What it does:
        Compares the filled position, and the configured context length of runs with one stream,
        with the model's documented maximum. Silent where a quality row of that configuration
        was measured over such a context.
    Why it matters:
        A model runs beyond its documented context and its speed there is real, but what it
        writes may not be of use. Acceptance measured there may be that of degenerate text.
    Example:
        `"max_context_tokens": 262144` for a model documented up to 131,072.
    Instead:
        Stay within the documented length, or give a quality figure at that context
        (`quality[].context_tokens`), and say how positions were extended.
    Sources:
        Chen et al., arXiv 2306.15595, and Peng et al., arXiv 2309.00071 (what extending
        positions costs).
    """
    for configuration in configurations_in_use(report):
        documented = _documented(configuration)
        used = None if documented is None else _longest(report, configuration)
        if documented is None or used is None or used[0].value <= documented.value:
            continue
        if _quality_shown(report, configuration, documented):
            continue
        number, what = used
        yield Problem(
            number,
            f"{number} tokens {what} > {documented} that the model is documented for",
            related=[(documented, "documented context")],
            help="give a quality figure at that context, or stay within the documented length",
            subject=configuration.pointer,
        )


def _documented(configuration: ConfigurationFacts) -> Reported | None:
    target = configuration.target
    if target is None:
        return None
    at = target.at("documented_context_tokens")
    found = reported(target.model.documented_context_tokens, at, count=True)
    return found if found is not None and found.value > 0 else None


def _longest(report: ReportFacts, configuration: ConfigurationFacts) -> tuple[Reported, str] | None:
    """The farthest position filled by a run, else the length configured for one stream."""
    runs = report.runs_by_configuration.get(configuration.name, [])
    filled = [r.filled_tokens for r in runs if r.filled_tokens is not None]
    if filled:
        return max(filled, key=lambda f: f.value), "filled"
    cache = configuration.kv_cache
    if cache is None or any((r.concurrency or 1) > 1 for r in runs):
        return None
    at = cache.at("max_context_tokens")
    held = reported(cache.model.max_context_tokens, at, count=True)
    return None if held is None else (held, "of context")


def _quality_shown(
    report: ReportFacts, configuration: ConfigurationFacts, documented: Reported
) -> bool:
    return any(
        q.configuration is configuration
        and q.model.context_tokens is not None
        and q.model.context_tokens > documented.value
        for q in report.quality
    )
