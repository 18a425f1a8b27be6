"""How near decoding comes to what the memory of its device allows, here and in the report.

The ceiling is that of plain decoding, `roofline.nominal_ceiling`: specified bandwidth over the
likely bytes of the weights that a pass reads. The KV cache is left out on both sides, so at a
far position the share looks smaller than it is. Speeds of two devices are never held against
each other; their shares can stand side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchlint.checker.ceilings import hardware_of, stream_memory, target_pass, weights_of
from benchlint.checker.engines import engine_kind
from benchlint.checker.facts import ConfigurationFacts, ReportFacts, RunFacts
from benchlint.checker.model import Report
from benchlint.checker.roofline import nominal_ceiling
from benchlint.reproducers.engine import Description
from benchlint.reproducers.journal import Known

#: Engines that split layers over devices unless told otherwise.
_SPLIT_LAYERS = frozenset({"llama.cpp", "llama-cpp-python", "ik_llama.cpp"})


#: Beyond these what an engine or a driver says is a slip.
_MOST_DEVICES, _MOST_BYTES = 10_000, 1e18


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What memory allows.

    bandwidth_gbs: specified, of all that one stream reads from at a time. pass_bytes: weights
    that a pass reads. passes_s: target passes per second, which is tokens per second of plain
    decoding. certain: False where the name of the device fits several parts, or where nobody
    says that the model is dense.
    """

    device: str
    bandwidth_gbs: float
    pass_bytes: float
    passes_s: float
    certain: bool


@dataclass(frozen=True, slots=True)
class Roofline:
    """A decode speed under its ceiling.

    tok_s: the speed. passes_s: target passes per second, None where τ is not known.
    """

    ceiling: Ceiling
    tok_s: float
    passes_s: float | None

    @property
    def share(self) -> float | None:
        """Share of the ceiling that passes reach; plain decoding reaches 0.4 to 0.9."""
        return None if self.passes_s is None else self.passes_s / self.ceiling.passes_s


def ceiling_of(
    configuration: ConfigurationFacts, target: ConfigurationFacts | None = None
) -> Ceiling | None:
    """The ceiling of a configuration; None where device or weights are not known.

    target: whose weights count where the configuration tells none.
    """
    hardware, weights = hardware_of(configuration), weights_of(configuration)
    if (weights is None or weights.read is None) and target is not None:
        weights = weights_of(target)
    read = None if weights is None else target_pass(weights)
    if hardware is None or weights is None or read is None:
        return None
    memory = stream_memory(configuration, hardware)
    passes = nominal_ceiling(read, memory)
    if passes is None:
        return None
    certain = weights.certain and hardware.certain
    bandwidth = memory.bytes_per_second / 1e9
    return Ceiling(hardware.name, bandwidth, read.likely_bytes, passes, certain)


#: Said where the report's speeds have a share and none of those here has one.
NOT_KNOWN_HERE = "What memory allows here is not known, so the speeds here have no share."


def share_shown(share: float) -> str:
    """A share of a ceiling in percent, with a digit where a whole percent would say none."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


# The report's


def roofline_of(run: RunFacts) -> Roofline | None:
    """A run's decode speed under the ceiling of its own device; of one stream alone."""
    number = run.decode_tok_s
    if number is None or not number.value > 0 or run.concurrency not in (None, 1):
        return None
    ceiling = ceiling_of(run.configuration)
    return None if ceiling is None else Roofline(ceiling, number.value, _passes(run, number.value))


def _passes(run: RunFacts, tok_s: float) -> float | None:
    if run.speculates is False:
        return tok_s
    tau = run.readings.tau
    return tok_s / tau.near.middle if tau is not None and tau.near.low >= 1 else None


# Here


def ceiling_here(
    machine: Mapping[str, Known], description: Description, stated: ConfigurationFacts | None
) -> Ceiling | None:
    """The ceiling of the machine here for what an engine has loaded.

    machine: as `machine.machine` knows it. stated: the report's configuration that is repeated,
    whose weights count where the engine does not tell their size.
    """
    tree = {
        "machine": {"devices": [_device(machine, description)]},
        "engine": _engine(machine, description),
        "target": _target(description.target),
    }
    return ceiling_of(ReportFacts(Report.model_validate(tree)).configuration(None), stated)


def _device(machine: Mapping[str, Known], description: Description) -> dict[str, object]:
    if description.backend == "CPU":
        return {"name": _text(machine.get("cpu")), "count": 1}
    return {"name": _text(machine.get("device")), "count": _count(machine)}


def _engine(machine: Mapping[str, Known], description: Description) -> dict[str, object]:
    split = engine_kind(description.engine) in _SPLIT_LAYERS
    return {"parallelism": {"pipeline": _count(machine)}} if split else {}


def _count(machine: Mapping[str, Known]) -> int | None:
    count = machine.get("device count")
    return count if type(count) is int and 1 <= count <= _MOST_DEVICES else None


def _target(told: Mapping[str, Known]) -> dict[str, object]:
    """What an engine tells of its weights, as a report would state it."""
    quantization = {
        "recipe": _text(told.get("quantization")),
        "file_size_gb": _billions(told, "size_bytes"),
    }
    return {
        "name": _text(told.get("name")),
        "parameters_b": _billions(told, "parameters"),
        "architecture": "moe" if "moe" in str(told.get("architecture")) else None,
        "quantization": quantization,
    }


def _text(value: Known) -> str | None:
    return value if isinstance(value, str) else None


def _billions(told: Mapping[str, Known], name: str) -> float | None:
    value = told.get(name)
    if not isinstance(value, (int, float)) or not 1 <= value < _MOST_BYTES:
        return None
    return value / 1e9
