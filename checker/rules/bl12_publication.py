"""BL120 to BL125: what others need to run it again, as far as a report leaves it unsaid."""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker import missing
from benchlint.checker.derived import gives_accepted_length, is_given
from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.missing import Item, Lack
from benchlint.checker.model import Device, Losslessness
from benchlint.checker.registry import Problem, rule

# --- output ----------------------------------------------------------------------------------

_OUTPUT = Item("no output length", "workloads.NAME.output_tokens", '"output_tokens": 512')
_STOP = Item("no stop rule", "workloads.NAME.stop_rule", '"stop_rule": "eos"')
_NO_OUTPUT = missing.either(_OUTPUT, _STOP)
_OUTPUT_TOKENS = frozenset({"decode.tokens", "throughput.tokens", "speculation.counts"})


@rule("BL120", "output-length-and-stop-rule", Severity.NOTE, "report")
def output_length_and_stop_rule(report: ReportFacts) -> Iterator[Problem]:
    """It is not said how long the outputs were or what ended them.

    What it does:
        Asks every run for its output length (of the workload or as counted in the run) and
        for the stop rule, which counted finish reasons also give.
    Why it matters:
        A short output is mostly its first steps. One that is forced past its natural end
        repeats itself, and repetition is easy to draft.
    Example:
        `"workloads": {"code": {"prompt_count": 8}}`
    Instead:
        `"workloads": {"code": {"prompt_count": 8, "output_tokens": 512, "stop_rule": "eos"}}`
    Sources:
        vLLM `vllm bench serve --ignore-eos`; llama.cpp `n_predict`.
    """
    yield from missing.missing(missing.runs_with_prompts(report), _output_lack)


def _output_lack(run: RunFacts) -> Lack | None:
    workload = None if run.workload is None else run.workload.model
    output = workload is not None and workload.output_tokens is not None
    stop = workload is not None and bool(workload.stop_rule)
    no_output = not output and not _counts_output(run)
    return _NO_OUTPUT[no_output, not stop and not run.model.finish_reasons]


def _counts_output(run: RunFacts) -> bool:
    if _OUTPUT_TOKENS.isdisjoint(run.given.paths):
        return False
    decode, throughput = run.model.decode, run.model.throughput
    return (
        (decode is not None and is_given(decode.tokens))
        or (throughput is not None and is_given(throughput.tokens))
        or run.count("output_tokens") is not None
    )


# --- losslessness ----------------------------------------------------------------------------

_LOSSLESS = Item(
    "no comparison of the output with a plain run's",
    "runs[].losslessness",
    '"losslessness": {"baseline": "plain", "compared": "prompt", "match_rate": 1.0, "n": 40}',
)


_TASK = Item(_LOSSLESS.text, "quality[].drafter_on", '"drafter_on": true')


@rule("BL121", "losslessness", Severity.NOTE, "report")
def losslessness(report: ReportFacts) -> Iterator[Problem]:
    """Nobody compared the output under speculation with the output without.

    What it does:
        Asks every speculative configuration for one run whose output was compared with
        another run's, or for a quality figure with the drafter on. Not asked where the
        acceptance rule is said to be relaxed or synthetic.
    Why it matters:
        Speculation promises the same output, faster. Kernels, caches and acceptance
        thresholds break that promise without any message.
    Example:
        `"acceptance_rule": "lossless"` and no comparison
    Instead:
        `"losslessness": {"baseline": "plain", "compared": "token", "match_rate": 0.9962,
        "n": 4096}`. At a temperature above 0 compare a task score instead.
    Sources:
        Chen et al., arXiv:2302.01318, theorem 1 (equal in distribution); vLLM documentation,
        "Lossless guarantees of speculative decoding" (up to hardware numerics).
    """
    compared = {r.model.configuration for r in report.runs if _is_compared(r)}
    compared |= {q.model.configuration for q in report.quality if q.model.drafter_on}
    configurations = missing.speculative_configurations(report)
    asked = missing.Group([a for a in configurations if not _gives_up_losslessness(a.run)])

    def lack(run: RunFacts) -> Lack | None:
        done = run.model.configuration in compared and run.model.configuration is not None
        if done or _is_compared(run):
            return None
        return _TASK if _samples(run) else _LOSSLESS

    yield from missing.missing(asked, lack, "speculative ")


def _samples(run: RunFacts) -> bool:
    """Whether outputs differ by chance, so that only their quality can be compared."""
    placed = run.configuration.sampler
    return placed is not None and (placed.model.temperature or 0) > 0


def _is_compared(run: RunFacts) -> bool:
    block: Losslessness | None = run.model.losslessness
    return block is not None and (
        block.match_rate is not None or block.first_divergence is not None
    )


def _gives_up_losslessness(run: RunFacts) -> bool:
    placed = run.configuration.acceptance_rule
    return placed is not None and placed.model.kind in ("relaxed", "synthetic")


# --- power -----------------------------------------------------------------------------------

_POWER = Item("no power limit", "machine.devices[].power_limit_w", '"power_limit_w": 350')


@rule("BL122", "power-limit", Severity.NOTE, "report")
def power_limit(report: ReportFacts) -> Iterator[Problem]:
    """The power limit of the device is not stated.

    What it does:
        Asks every configuration that was run for the power limit of its devices. Devices that
        share memory with the CPU, and CPUs, have none to set and are not asked.
    Why it matters:
        A card at half its rated power computes slower, and verifying long drafts is compute.
    Example:
        `"devices": [{"name": "NVIDIA GeForce RTX 4090"}]`
    Instead:
        `"devices": [{"name": "NVIDIA GeForce RTX 4090", "power_limit_w": 350}]`
    Sources:
        The field report "DFlashでtok/sの意味が変わる", measured at a limit of 70 W;
        `nvidia-smi -q -d POWER`.
    """
    asked = missing.configurations(report)
    yield from missing.missing_in_block(report, "machine", asked, _power_lack)


def _power_lack(run: RunFacts) -> Lack | None:
    machine = run.configuration.machine
    devices = () if machine is None else machine.model.devices or ()
    unsaid = [d for d in devices if d.power_limit_w is None and d.name]
    return None if all(_has_no_limit(d, run) for d in unsaid) else _POWER


def _has_no_limit(device: Device, run: RunFacts) -> bool:
    engine = run.configuration.engine
    backend = "" if engine is None else (engine.model.backend or "").lower()
    name = (device.name or "").lower()
    return bool(device.unified_memory) or name.startswith("apple") or backend in ("cpu", "metal")


# --- thinking --------------------------------------------------------------------------------

_THINKING = Item("no thinking mode", "workloads.NAME.thinking", '"thinking": false')


@rule("BL123", "thinking-mode", Severity.NOTE, "report")
def thinking_mode(report: ReportFacts) -> Iterator[Problem]:
    """It is not said whether the target was thinking.

    What it does:
        Asks every workload for its thinking mode: `false` where there is none, `true`, or the
        level.
    Why it matters:
        Thoughts are other text than answers and are drafted with another acceptance; they
        also make outputs several times longer.
    Example:
        `"workloads": {"chat": {"mix": {"chat": 1.0}}}`
    Instead:
        `"workloads": {"chat": {"mix": {"chat": 1.0}, "thinking": false}}`
    Sources:
        vLLM `--reasoning-parser`, llama.cpp `--reasoning-budget`: engines that switch it.
    """
    asked = missing.workloads(report)
    yield from missing.missing(asked, _thinking_lack)


def _thinking_lack(run: RunFacts) -> Lack | None:
    said = run.workload is not None and run.workload.model.thinking is not None
    return None if said else _THINKING


# --- definition of accepted length -----------------------------------------------------------

#: Engines whose own counters include the target's token in accepted length.
_PINNING = frozenset({"llama.cpp", "vllm", "sglang", "tensorrt-llm"})

_DEFINITION = Item(
    "no word on whether accepted length counts the target's own token",
    "runs[].speculation.accepted_length.counts_bonus_token",
    '"counts_bonus_token": true',
)


@rule("BL124", "accepted-length-definition", Severity.NOTE, "report")
def accepted_length_definition(report: ReportFacts) -> Iterator[Problem]:
    """Accepted length is given, but not whether it counts the token of the target itself.

    What it does:
        Asks runs with an accepted length for its definition, unless the engine has only one,
        the value exceeds K, or counts, a histogram or complete positions show which it is.
    Why it matters:
        3.2 tokens per step with the target's token and 3.2 without are speed-ups that differ
        by a third.
    Example:
        `"engine": {"name": "own harness"}` and `"accepted_length": 3.2`
    Instead:
        `"accepted_length": {"value": 3.2, "counts_bonus_token": true}`
    Sources:
        vLLM `v1/spec_decode/metrics.py` ("includes the bonus token"), llama.cpp
        `common/speculative.cpp` (`mean len`), against harnesses that print accepted tokens
        over drafts.
    """
    runs = missing.runs_with_drafter(report)
    asked = missing.Group([a for a in runs if a.run.accepted_length is not None])
    yield from missing.missing(asked, _definition_lack)


def _definition_lack(run: RunFacts) -> Lack | None:
    if run.counts_bonus_token is not None or _engine_pins(run):
        return None
    return None if gives_accepted_length(run) or _exceeds_k(run) else _DEFINITION


def _engine_pins(run: RunFacts) -> bool:
    measurement = run.model.measurement
    if measurement is not None and measurement.by == "client":
        return False
    return run.configuration.engine_kind in _PINNING


def _exceeds_k(run: RunFacts) -> bool:
    length, k = run.accepted_length, run.configuration.max_accepted
    return length is not None and k is not None and length.span.above(k.value)


# --- command line ----------------------------------------------------------------------------

_COMMAND = Item(
    "no command line", "engine.command_line", '"command_line": "llama-server -m target.gguf -md …"'
)


@rule("BL125", "command-line", Severity.NOTE, "report")
def command_line(report: ReportFacts) -> Iterator[Problem]:
    """The command that started the engine is not given.

    What it does:
        Asks every configuration that was run for the command line, its own or the report's.
    Why it matters:
        It is the shortest complete description of a setup, and shows at once whether
        speculation was engaged at all.
    Example:
        `"engine": {"name": "llama.cpp", "version": "b6100"}`
    Instead:
        `"engine": {"name": "llama.cpp", "version": "b6100", "command_line": ["llama-server",
        "-m", "target.gguf", "-md", "drafter.gguf", "--spec-type", "draft-simple"]}`
    Sources:
        llama.cpp `common/arg.cpp`: `-md` alone loads a drafter and leaves speculation off.
    """
    asked = missing.configurations(report)
    yield from missing.missing_in_block(report, "engine", asked, _command_lack)


def _command_lack(run: RunFacts) -> Lack | None:
    engine = run.configuration.engine
    return None if engine is not None and engine.model.command_line else _COMMAND
