"""What the machine said of itself while an engine was set up for a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchlint.reproducers.journal import Journal, Reading, Started

Combine = Callable[[Sequence[float]], float]

#: What a reading says where no clock was held down, see `machine.summary`.
NOT_THROTTLED = "no"


@dataclass(frozen=True, slots=True)
class MachineState:
    """A machine over all turns of a cell; None where nothing tells.

    memory_mib: most that was in use, over all devices together and by all programs.
    process_mib: the same of the engine's processes, where there is no device that tells.
    power_w: mean, of all devices together. temperature_c: of the hottest one.
    throttled: why clocks were held down.
    """

    memory_mib: float | None = None
    process_mib: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttled: tuple[str, ...] = ()


def readings_by_cell(journal: Journal) -> dict[str, list[Reading]]:
    """The readings of each cell or scoring, by its name as it stands in the journal."""
    found: dict[str, list[Reading]] = {}
    here: list[Reading] = []
    for record in journal.records:
        if isinstance(record, Started):
            here = found.setdefault(record.cell, [])
        elif isinstance(record, Reading):
            here.append(record)
    return found


def machine_state(readings: Sequence[Reading]) -> MachineState:
    """The readings of one cell in short."""
    return MachineState(
        memory_mib=_total(_by_device(readings, "memory_used_mib"), max),
        process_mib=_total(_by_device(readings, "process_rss_mib"), max),
        power_w=_total(_by_device(readings, "power_w"), fmean),
        temperature_c=_hottest(_by_device(readings, "temperature_c")),
        throttled=tuple(_reasons(readings)),
    )


def other_load(readings: Iterable[Reading]) -> float | None:
    """The mean share of the processors' time that other programs took; None where not told."""
    found = [v for each in _by_device(readings, "other_cpu_share").values() for v in each]
    return fmean(found) if found else None


def _by_device(readings: Iterable[Reading], name: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for reading in readings:
        value = reading.values.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.setdefault(reading.device, []).append(float(value))
    return found


def _total(values: Mapping[str, Sequence[float]], combine: Combine) -> float | None:
    return sum(combine(each) for each in values.values()) if values else None


def _hottest(values: Mapping[str, Sequence[float]]) -> float | None:
    return max((max(each) for each in values.values()), default=None)


def _reasons(readings: Iterable[Reading]) -> list[str]:
    told = (reading.values.get("throttled") for reading in readings)
    words = {word for each in told if isinstance(each, str) for word in each.split(", ")}
    return sorted(words - {NOT_THROTTLED})
