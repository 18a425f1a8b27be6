"""What is known of this machine by name, and what it says of itself while it measures.

Nothing that tells one machine from another of its kind is read out: no host name, user, serial
number or UUID.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from types import TracebackType
from typing import Self, TypeVar

import psutil

from benchlint.reproducers.cell_readings import NOT_THROTTLED
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.journal import Known, Reading
from benchlint.reproducers.nvml import Devices, Facts, State

N = TypeVar("N", int, float)

_MIB, _GIB = 2**20, 2**30

#: Seconds between two looks at the devices while they work.
POLL_S = 1.0

#: By this name the memory of the processes here stands in a journal.
PROCESSES = "processes"


# What does not change


def machine(devices: Devices | None = None) -> dict[str, Known]:
    """What is known of this machine, by name, for the header of a journal.

    devices: NVIDIA's, see `nvml`; what is said of several is said once where they are alike.
    memory_gb: in 2³⁰ bytes, in which vendors name the memory of a device.
    """
    told = {**_of_devices(devices), **_of_host()}
    return {name: value for name, value in told.items() if value is not None}


def _of_devices(devices: Devices | None) -> dict[str, Known]:
    if devices is None:
        return {"device": _apple_chip()}
    facts = devices.facts()
    return {
        "device": _common(fact.name for fact in facts),
        "device count": len(facts),
        "device memory_gb": _common(_gib(fact) for fact in facts),
        "device power_limit_w": _common(fact.power_limit_w for fact in facts),
        "device core_mhz_max": _common(fact.core_mhz_max for fact in facts),
        "device memory_mhz_max": _common(fact.memory_mhz_max for fact in facts),
        "driver": devices.driver,
        "cuda": devices.cuda,
    }


def _gib(fact: Facts) -> float | None:
    return None if fact.memory_mib is None else round(fact.memory_mib / 1024, 1)


def _common(values: Iterable[Known]) -> Known:
    """The one value of all devices; several in words; None where one of them tells none."""
    found = list(dict.fromkeys(values))
    if None in found or not found:
        return None
    return found[0] if len(found) == 1 else ", ".join(map(str, found))


def _of_host() -> dict[str, Known]:
    return {
        "cpu": _cpu(),
        "cpu cores": psutil.cpu_count(logical=False),
        "cpu memory_gb": round(psutil.virtual_memory().total / _GIB, 1),
        "os": _system(),
        "kernel": f"{platform.system()} {platform.release()}",
    }


def _apple_chip() -> str | None:
    """The chip of a Mac, whose processor and graphics share one name and memory."""
    return _cpu() if sys.platform == "darwin" and platform.machine() == "arm64" else None


def _cpu() -> str | None:
    """The processor's product name, as far as the system tells it."""
    if sys.platform == "darwin":
        return _said("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    with suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
        if found is not None:
            return found[1].strip()
    return platform.processor() or platform.machine() or None


def _said(*command: str) -> str | None:
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603, no part of it is from outside
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip() or None


def _text(path: str) -> str:
    return Path(path).read_text("utf-8", "replace")


def _system() -> str:
    """ "Debian GNU/Linux 12 (bookworm)" """
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def on_machine(here: Here, known: Mapping[str, Known], *, on_cpu: bool = False) -> Here:
    """What is known of the place, with the device that does the work.

    known: as `machine` gives it. on_cpu: whether the processor does, and not a device.
    """
    name, count = (known.get("cpu"), 1) if on_cpu else _device(known)
    cores = known.get("cpu cores") if on_cpu else None
    limit = None if on_cpu else known.get("device power_limit_w")
    return replace(
        here,
        device=name if isinstance(name, str) else None,
        device_count=count,
        power_limit_w=limit if isinstance(limit, float) else None,
        cores=cores if isinstance(cores, int) else None,
    )


def _device(known: Mapping[str, Known]) -> tuple[Known, int | None]:
    count = known.get("device count")
    return known.get("device"), count if isinstance(count, int) else None


# What changes


@dataclass(slots=True)
class Watch:
    """Looks at the devices every second while they work; `readings` is for `Settings.readings`.

    Without devices nothing is looked at while the processor is busy with the measurement; each
    reading is then of the memory of this process and those that it started, and of the share of
    the processors' time that others took since the last one. Use it as a context
    manager. every_s: seconds between two looks. now: seconds since 1970 in UTC.
    """

    devices: Devices | None
    every_s: float = POLL_S
    now: Callable[[], float] = time.time
    _seen: list[list[State]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _load: ProcessorTime | None = None

    def __enter__(self) -> Self:
        if self.devices is not None:
            self._thread = threading.Thread(target=self._look_on, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _look_on(self) -> None:
        while not self._ended.wait(self.every_s):
            self.look()

    def look(self) -> None:
        """Note what the devices say now."""
        if self.devices is not None:
            states = self.devices.states()
            with self._lock:
                self._seen.append(states)

    def readings(self) -> tuple[Reading, ...]:
        """What was seen since the last call, now included: one reading of each device."""
        if self.devices is None:
            values = {**_memory_of_processes(), **self._share_of_others()}
            return (Reading(PROCESSES, self.now(), values),)
        self.look()
        with self._lock:
            seen, self._seen = self._seen, []
        names = [fact.name for fact in self.devices.facts()]
        columns = zip(names, zip(*seen, strict=True), strict=True)
        return tuple(
            Reading(f"{i} {name or 'unnamed'}", self.now(), summary(states))
            for i, (name, states) in enumerate(columns)
        )

    def _share_of_others(self) -> dict[str, Known]:
        """Since the last call; nothing at the first one."""
        before, self._load = self._load, processor_time()
        share = None if before is None else share_of_others(before, self._load)
        return {} if share is None else {"other_cpu_share": round(share, 3)}


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Seconds that all processors together had, were busy, and worked for this program."""

    had: float
    busy: float
    own: float


def processor_time() -> ProcessorTime:
    """Since the machine was started. Own: of this process and all that it started."""
    times = psutil.cpu_times()
    # Guests are in `user` already (proc_stat(5)).
    named = {n: getattr(times, n) for n in times._fields if not n.startswith("guest")}
    had = sum(named.values())
    busy = had - named.get("idle", 0.0) - named.get("iowait", 0.0)
    return ProcessorTime(had, busy, sum(_own_seconds(each) for each in _processes()))


def _own_seconds(process: psutil.Process) -> float:
    """Of a process and of those of its children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(sum(getattr(times, name, 0.0) for name in _OWN))


_OWN = ("user", "system", "children_user", "children_system")


def share_of_others(before: ProcessorTime, after: ProcessorTime) -> float | None:
    """The share of all processor time that others took, 0 to 1; None where no time went by."""
    had = after.had - before.had
    if had <= 0:
        return None
    others = (after.busy - before.busy) - (after.own - before.own)
    return min(max(others / had, 0.0), 1.0)


def summary(states: Sequence[State]) -> dict[str, Known]:
    """What a device said over some time: most memory and heat, mean power, median clocks.

    throttled: all reasons that were given, or "no".
    """
    return {
        name: value
        for name, value in {
            "memory_used_mib": _over(max, (s.memory_used_mib for s in states)),
            "power_w": _over(fmean, (s.power_w for s in states)),
            "core_mhz": _over(median, (s.core_mhz for s in states)),
            "core_mhz_least": _over(min, (s.core_mhz for s in states)),
            "memory_mhz": _over(median, (s.memory_mhz for s in states)),
            "temperature_c": _over(max, (s.temperature_c for s in states)),
            "throttled": _reasons([s.throttled for s in states]),
            "looks": len(states),
        }.items()
        if value is not None
    }


def _over(combine: Callable[[list[N]], float], values: Iterable[N | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(combine(known), 1) if known else None


def _reasons(each: Sequence[frozenset[str] | None]) -> str | None:
    known = [reasons for reasons in each if reasons is not None]
    if not known:
        return None
    return ", ".join(sorted(frozenset[str]().union(*known))) or NOT_THROTTLED


def _memory_of_processes() -> dict[str, Known]:
    """Memory in use by this process and all that it started, in MiB.

    peak: each process's own most, where the system tells (Linux).
    """
    found = list(_processes())
    used = sum(_resident(each) for each in found)
    peaks = [_peak(each.pid) for each in found]
    known = [peak for peak in peaks if peak is not None]
    told: dict[str, Known] = {"process_rss_mib": round(used / _MIB, 1)}
    return told if len(known) < len(peaks) else {**told, "process_peak_mib": round(sum(known), 1)}


def _processes() -> Iterator[psutil.Process]:
    this = psutil.Process()
    yield this
    yield from this.children(recursive=True)


def _resident(process: psutil.Process) -> int:
    """Bytes; a process that has just ended has none."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _peak(pid: int) -> float | None:
    """MiB, from proc_pid_status(5)."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", _text(f"/proc/{pid}/status"), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1]) / 1024
