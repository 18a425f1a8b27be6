"""What a report says of machine, engine and models, by the names under which a journal has it.

The names are those of `machine.machine` and `judgement.environment_here`, so that both sides
stand beside each other in a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from benchlint.checker.facts import ConfigurationFacts, ReportFacts
from benchlint.checker.model import Device, Engine, Machine, Quantization, Sampler
from benchlint.reproducers.journal import Known

#: Sampler parameters by the report format's names.
_SAMPLER = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty"),
    *("presence_penalty", "frequency_penalty", "seed"),
)

#: What follows a driver and a system in a report that was measured.
_CUDA = re.compile(r"(?<=\S), CUDA (\d+(?:\.\d+)*)$")
_KERNEL = re.compile(r"(?<=\S), ((?:Linux|Darwin|Windows) \S+)$")

Told = tuple[str, Known]


def stated_environment(report: ReportFacts) -> dict[str, Known]:
    """What is stated, by name; texts where configurations differ. What is not stated is absent."""
    told: dict[str, dict[Known, None]] = {}
    for configuration in _measured(report):
        for name, value in _of(configuration):
            if value is not None:
                told.setdefault(name, {})[value] = None
    return {name: _one(list(values)) for name, values in told.items()}


def _measured(report: ReportFacts) -> Iterable[ConfigurationFacts]:
    """The configurations of all runs, each once."""
    names = dict.fromkeys(run.model.configuration for run in report.all_runs)
    return map(report.configuration, names)


def _one(values: list[Known]) -> Known:
    return values[0] if len(values) == 1 else ", ".join(map(str, values))


def _of(found: ConfigurationFacts) -> Iterator[Told]:
    yield from _machine(None if found.machine is None else found.machine.model)
    yield from _engine(None if found.engine is None else found.engine.model)
    yield from _sampler(None if found.sampler is None else found.sampler.model)
    if found.target is not None:
        target = found.target.model
        yield from _model("target", target.name, target.parameters_b, target.quantization)
    for drafter in found.drafters:
        model = drafter.model
        yield from _model("drafter", model.model, model.parameters_b, model.quantization)


def _machine(machine: Machine | None) -> Iterator[Told]:
    if machine is None:
        return
    for device in machine.devices or ():
        yield from _device(device)
    cpu = machine.cpu
    if cpu is None or isinstance(cpu, str):
        yield "cpu", cpu
    else:
        yield from (("cpu", cpu.name), ("cpu cores", cpu.cores))
        yield "cpu memory_gb", _plain(cpu.memory_gb)
    yield from _apart(machine.driver, "driver", "cuda", _CUDA)
    yield from _apart(machine.os, "os", "kernel", _KERNEL)


def _apart(text: str | None, first: str, second: str, tail: re.Pattern[str]) -> Iterator[Told]:
    """A text of two things, as `report_writer` joins them, under the name of each."""
    found = None if text is None else tail.search(text)
    if text is None or found is None:
        yield first, text
    else:
        yield from ((first, text[: found.start()]), (second, found[1]))


def _device(device: Device) -> Iterator[Told]:
    yield from (("device", device.name), ("device count", device.count))
    yield "device memory_gb", _plain(device.memory_gb)
    yield "device power_limit_w", _plain(device.power_limit_w)


def _engine(engine: Engine | None) -> Iterator[Told]:
    if engine is None:
        return
    yield from (("engine", engine.name), ("engine version", engine.version))
    yield from (("engine commit", engine.commit), ("backend", engine.backend))


def _sampler(sampler: Sampler | None) -> Iterator[Told]:
    if sampler is not None:
        yield from ((f"sampler {name}", _plain(getattr(sampler, name))) for name in _SAMPLER)


def _model(
    role: str, name: str | None, parameters_b: float | None, quantized: Quantization | None
) -> Iterator[Told]:
    yield f"{role} name", name
    yield f"{role} quantization", None if quantized is None else quantized.recipe
    if parameters_b is not None:
        yield f"{role} parameters", round(float(parameters_b) * 1e9)


def _plain(number: float | None) -> Known:
    """The number without its printed digits; a whole one stays whole."""
    if number is None or isinstance(number, int):
        return number
    return float(number)
