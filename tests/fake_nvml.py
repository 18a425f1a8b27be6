"""pynvml without a driver: it answers as one did for an H200, at rest and under load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar


class NotSupportedError(Exception):
    """What a driver says of a question that it has no answer to."""


@dataclass(frozen=True)
class Memory:
    total: int
    used: int


@dataclass(frozen=True)
class FakeDevice:
    """A device and what the driver (580.159.04) said of it; milliwatts, bytes, MHz.

    lacks: functions that it does not support.
    """

    name: str = "NVIDIA H200"
    uuid: str = "GPU-11111111-0000"
    mig: tuple[int, int] = (0, 0)
    total: int = 150754820096
    reserved: int = 644939776
    used: int = 0
    limit: int = 700000
    power: int = 79334
    clock: int = 345
    temperature: int = 35
    reasons: int = 0x1
    lacks: frozenset[str] = frozenset()


IDLE = FakeDevice()
BUSY = replace(IDLE, used=925696000, power=691126, clock=1440, temperature=56, reasons=0x4)


class FakeNvml:
    """Implements Nvml. states: the devices at each look; the last one stays."""

    NVMLError: type[Exception] = NotSupportedError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    nvmlMemory_v2 = 0x2000028
    most: ClassVar = {1: 1980, 2: 3201}

    def __init__(self, *devices: FakeDevice, starts: bool = True) -> None:
        self.devices = list(devices)
        self.open = 0
        self.at_question: Callable[[], object] = lambda: None
        self._starts = starts

    def _ask(self, handle: object, function: str) -> FakeDevice:
        assert self.open
        self.at_question()
        assert isinstance(handle, int)
        device = self.devices[handle]
        if function in device.lacks:
            raise NotSupportedError(function)
        return device

    def nvmlInit(self) -> None:
        if not self._starts:
            raise NotSupportedError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.159.04"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13000

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> object:
        return index

    def nvmlDeviceGetName(self, handle: object) -> str:
        return self._ask(handle, "name").name

    def nvmlDeviceGetUUID(self, handle: object) -> str:
        return self._ask(handle, "uuid").uuid

    def nvmlDeviceGetMigMode(self, handle: object) -> Sequence[int]:
        return self._ask(handle, "mig").mig

    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int | None = None) -> Memory:
        if version is None:
            device = self._ask(handle, "memory")
            return Memory(device.total, device.used + device.reserved)
        device = self._ask(handle, "memory v2")
        return Memory(device.total, device.used)

    def nvmlDeviceGetPowerManagementLimit(self, handle: object) -> int:
        return self._ask(handle, "limit").limit

    def nvmlDeviceGetMaxClockInfo(self, handle: object, kind: int) -> int:
        self._ask(handle, "clocks")
        return self.most[kind]

    def nvmlDeviceGetClockInfo(self, handle: object, kind: int) -> int:
        device = self._ask(handle, "clocks")
        return {1: device.clock, 2: 3201}[kind]

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:
        return self._ask(handle, "power").power

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int:
        assert sensor == 0
        return self._ask(handle, "temperature").temperature

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: object) -> int:
        return self._ask(handle, "reasons").reasons
