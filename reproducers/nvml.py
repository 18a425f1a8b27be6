"""What NVIDIA's devices say of themselves through NVML (nvidia-ml-py, extra `reproduce`).

Only what tells one kind of device from another is read out, never what tells one device from
another of its kind. What a driver does not support is None. Without the library, a driver or a
device there are simply no devices.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")

_MIB = 2**20


class _Memory(Protocol):
    """nvmlMemory_t: bytes."""

    total: int
    used: int


class Nvml(Protocol):
    """The functions of pynvml that are used. A handle stands for a device."""

    NVMLError: type[Exception]
    NVML_CLOCK_SM: int
    NVML_CLOCK_MEM: int
    NVML_TEMPERATURE_GPU: int
    nvmlMemory_v2: int

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlSystemGetCudaDriverVersion_v2(self) -> int: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> object: ...
    def nvmlDeviceGetName(self, handle: object) -> str: ...
    def nvmlDeviceGetUUID(self, handle: object) -> str: ...
    def nvmlDeviceGetMigMode(self, handle: object) -> Sequence[int]: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int | None = None) -> _Memory: ...
    def nvmlDeviceGetPowerManagementLimit(self, handle: object) -> int: ...
    def nvmlDeviceGetMaxClockInfo(self, handle: object, kind: int) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: object, kind: int) -> int: ...
    def nvmlDeviceGetPowerUsage(self, handle: object) -> int: ...
    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: object) -> int: ...


#: Why clocks are held down (nvml.h, nvmlClocksEventReason…), by bit. Being idle is no reason.
_REASONS: Mapping[int, str] = {
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change of a device while it works.

    memory_mib: in 2²⁰ bytes, as nvidia-smi has it. power_limit_w: the cap that is set.
    core_mhz_max, memory_mhz_max: the highest clocks.
    """

    name: str | None
    memory_mib: float | None
    power_limit_w: float | None
    core_mhz_max: int | None
    memory_mhz_max: int | None


@dataclass(frozen=True, slots=True)
class State:
    """What a device says at one moment.

    memory_used_mib: by all programs, without what the driver keeps for itself.
    power_w: over the last second on recent devices. throttled: reasons, None where not told.
    """

    memory_used_mib: float | None
    power_w: float | None
    core_mhz: int | None
    memory_mhz: int | None
    temperature_c: int | None
    throttled: frozenset[str] | None


class Devices:
    """The devices that CUDA programs started from here see, in NVML's order."""

    def __init__(self, nvml: Nvml, environment: Mapping[str, str]) -> None:
        self._nvml = nvml
        self._handles = self._visible(environment)

    def __len__(self) -> int:
        return len(self._handles)

    @property
    def driver(self) -> str | None:
        """Version of the driver."""
        return self._told(self._nvml.nvmlSystemGetDriverVersion)

    @property
    def cuda(self) -> str | None:
        """The newest CUDA that the driver runs: "13.0"."""
        number = self._told(self._nvml.nvmlSystemGetCudaDriverVersion_v2)
        return None if number is None else f"{number // 1000}.{number % 1000 // 10}"

    def facts(self) -> list[Facts]:
        """What does not change, of each device."""
        return [self._facts(handle) for handle in self._handles]

    def states(self) -> list[State]:
        """What each device says now."""
        return [self._state(handle) for handle in self._handles]

    def close(self) -> None:
        """Leave NVML."""
        self._told(self._nvml.nvmlShutdown)

    def _told(self, ask: Callable[..., T], *arguments: object) -> T | None:
        """The answer; None where this device or driver has none."""
        try:
            return ask(*arguments)
        except self._nvml.NVMLError:
            return None

    def _facts(self, handle: object) -> Facts:
        nvml = self._nvml
        memory = self._memory(handle)
        return Facts(
            name=self._name(handle),
            memory_mib=None if memory is None else memory.total / _MIB,
            power_limit_w=_thousandth(self._told(nvml.nvmlDeviceGetPowerManagementLimit, handle)),
            core_mhz_max=self._told(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
            memory_mhz_max=self._told(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
        )

    def _name(self, handle: object) -> str | None:
        """A device that is cut into instances is not what its name says."""
        name = self._told(self._nvml.nvmlDeviceGetName, handle)
        cut = self._told(self._nvml.nvmlDeviceGetMigMode, handle)
        return f"{name} in MIG mode" if name is not None and cut and cut[0] else name

    def _state(self, handle: object) -> State:
        nvml = self._nvml
        memory = self._memory(handle)
        return State(
            memory_used_mib=None if memory is None else memory.used / _MIB,
            power_w=_thousandth(self._told(nvml.nvmlDeviceGetPowerUsage, handle)),
            core_mhz=self._told(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            memory_mhz=self._told(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
            temperature_c=self._told(
                nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU
            ),
            throttled=_reasons(self._told(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)),
        )

    def _memory(self, handle: object) -> _Memory | None:
        """The second version leaves out what the driver reserves, as nvidia-smi does."""
        ask = self._nvml.nvmlDeviceGetMemoryInfo
        found = self._told(ask, handle, self._nvml.nvmlMemory_v2)
        return self._told(ask, handle) if found is None else found

    # which of them

    def _visible(self, environment: Mapping[str, str]) -> list[object]:
        nvml = self._nvml
        count = self._told(nvml.nvmlDeviceGetCount) or 0
        found = (self._told(nvml.nvmlDeviceGetHandleByIndex, i) for i in range(count))
        handles = [handle for handle in found if handle is not None]
        wanted = environment.get("CUDA_VISIBLE_DEVICES")
        if wanted is None or not self._in_order(handles, wanted, environment):
            return handles
        return self._chosen(handles, wanted)

    def _in_order(
        self, handles: Sequence[object], wanted: str, environment: Mapping[str, str]
    ) -> bool:
        """Whether CUDA's numbers are known; unless told it counts the fastest kind first."""
        alike = len({self._name(handle) for handle in handles}) <= 1
        by_number = any(part.strip().isdecimal() for part in wanted.split(","))
        return alike or not by_number or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"

    def _chosen(self, handles: Sequence[object], wanted: str) -> list[object]:
        """Up to the first that is none, as CUDA reads the list."""
        chosen: list[object] = []
        for text in map(str.strip, wanted.split(",")):
            named = [h for i, h in enumerate(handles) if self._is_named(h, i, text)]
            if len(named) != 1:
                break
            chosen += named
        return chosen

    def _is_named(self, handle: object, index: int, text: str) -> bool:
        if text.isdecimal():
            return int(text) == index
        return bool(text) and (self._told(self._nvml.nvmlDeviceGetUUID, handle) or "").startswith(
            text
        )


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000


def _reasons(bits: int | None) -> frozenset[str] | None:
    if bits is None:
        return None
    return frozenset(words for bit, words in _REASONS.items() if bits & bit)


def nvidia_devices(
    nvml: Nvml | None = None, environment: Mapping[str, str] = os.environ
) -> Devices | None:
    """The devices here; None where there is no library, no driver or no device."""
    with suppress(ImportError):
        library: Nvml = nvml or importlib.import_module("pynvml")
        try:
            library.nvmlInit()
        except library.NVMLError:
            return None
        devices = Devices(library, environment)
        if len(devices):
            return devices
        devices.close()
    return None
