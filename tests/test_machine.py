"""What is known of a machine: by a driver's recorded answers, and by this one's."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from threading import Event

import pytest

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.machine import (
    PROCESSES,
    ProcessorTime,
    Watch,
    machine,
    on_machine,
    processor_time,
    share_of_others,
)
from benchlint.reproducers.nvml import Devices, Nvml, nvidia_devices
from tests.fake_nvml import BUSY, IDLE, FakeDevice, FakeNvml

RTX = replace(IDLE, name="NVIDIA GeForce RTX 4090", uuid="GPU-2222", limit=450000)


def devices(*found: FakeDevice, **environment: str) -> Devices:
    made = nvidia_devices(FakeNvml(*found), environment)
    assert made is not None
    return made


# What does not change


def test_a_device_by_what_its_driver_says() -> None:
    known = machine(devices(IDLE))
    told = {n: v for n, v in known.items() if not n.startswith(("cpu", "os", "kernel"))}
    assert told == {
        "device": "NVIDIA H200",
        "device count": 1,
        "device memory_gb": 140.4,
        "device power_limit_w": 700.0,
        "device core_mhz_max": 1980,
        "device memory_mhz_max": 3201,
        "driver": "580.159.04",
        "cuda": "13.0",
    }


def test_what_changes_while_it_works_is_not_part_of_it() -> None:
    assert machine(devices(IDLE)) == machine(devices(BUSY))


def test_several_devices() -> None:
    alike = machine(devices(IDLE, replace(IDLE, uuid="GPU-3")))
    assert (alike["device"], alike["device count"]) == ("NVIDIA H200", 2)
    mixed = machine(devices(IDLE, RTX))
    assert mixed["device"] == "NVIDIA H200, NVIDIA GeForce RTX 4090"
    assert mixed["device power_limit_w"] == "700.0, 450.0"


def test_what_a_driver_does_not_support_is_not_known() -> None:
    lacking = replace(IDLE, lacks=frozenset({"limit", "clocks", "memory v2", "mig", "power"}))
    known = machine(devices(lacking))
    assert known["device"] == "NVIDIA H200"
    assert not {"device power_limit_w", "device core_mhz_max"} & known.keys()
    assert known["device memory_gb"] == 140.4
    (state,) = devices(lacking).states()
    assert (state.power_w, state.core_mhz, state.temperature_c) == (None, None, 35)
    assert state.memory_used_mib == pytest.approx(IDLE.reserved / 2**20)


def test_a_device_cut_into_instances_is_not_what_its_name_says() -> None:
    assert machine(devices(replace(IDLE, mig=(1, 1))))["device"] == "NVIDIA H200 in MIG mode"


@pytest.mark.parametrize(
    ("visible", "order", "count"),
    [
        ("1", {}, 1),
        ("0,1", {}, 2),
        ("1,9,0", {}, 1),
        ("GPU-11", {}, 1),
        ("GPU-", {}, 0),
        ("-1", {}, 0),
        ("", {}, 0),
    ],
)
def test_only_devices_that_programs_see(visible: str, order: dict[str, str], count: int) -> None:
    found = FakeNvml(IDLE, replace(IDLE, uuid="GPU-3"))
    seen = nvidia_devices(found, {"CUDA_VISIBLE_DEVICES": visible, **order})
    assert (0 if seen is None else len(seen)) == count
    assert found.open == bool(count)


def test_numbers_of_unlike_devices_mean_what_cuda_says_they_do() -> None:
    assert len(devices(IDLE, RTX, CUDA_VISIBLE_DEVICES="0")) == 2, "the fastest may be first"
    chosen = devices(IDLE, RTX, CUDA_VISIBLE_DEVICES="1", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert machine(chosen)["device"] == "NVIDIA GeForce RTX 4090"


def test_this_machine_without_a_driver() -> None:
    assert nvidia_devices(FakeNvml(IDLE, starts=False)) is None
    assert nvidia_devices(FakeNvml()) is None
    known = machine(None)
    assert known["cpu"]
    assert known["kernel"] == f"{platform.system()} {platform.release()}"
    memory, cores = known["cpu memory_gb"], known["cpu cores"]
    assert isinstance(memory, float)
    assert memory > 0
    assert isinstance(cores, int)
    assert json.loads(json.dumps(known)) == machine(None), "twice the same"


def test_nothing_tells_which_machine_it_is() -> None:
    written = json.dumps([machine(devices(IDLE)), machine(None)])
    assert "GPU-1" not in written
    names = {platform.node(), getpass.getuser()} - {"root", "localhost"}
    assert not [name for name in names if len(name) > 3 and name in written]


def test_the_seam_is_that_of_pynvml() -> None:
    pynvml = import_module("pynvml")
    names = [name for name in (*vars(Nvml), *Nvml.__annotations__) if "nvml" in name.lower()]
    assert "nvmlInit" in names
    assert not [name for name in names if not hasattr(pynvml, name)]
    assert issubclass(pynvml.NVMLError, Exception)


def test_the_place_of_a_reproduction() -> None:
    here, known = Here(engine="llama.cpp"), machine(devices(IDLE))
    found = on_machine(here, known)
    assert found == replace(here, device="NVIDIA H200", device_count=1, power_limit_w=700.0)
    on_cpu = on_machine(here, known, on_cpu=True)
    assert (on_cpu.device, on_cpu.device_count, on_cpu.power_limit_w) == (known["cpu"], 1, None)
    assert on_cpu.cores == known.get("cpu cores")
    assert on_machine(here, {}) == here


# What changes


def test_a_reading_is_of_all_that_was_seen_since_the_last_one() -> None:
    fake = FakeNvml(IDLE)
    found = nvidia_devices(fake, {})
    watch = Watch(found, now=lambda: 7.0)
    watch.look()
    fake.devices = [BUSY]
    watch.look()
    (reading,) = watch.readings()
    assert (reading.device, reading.time) == ("0 NVIDIA H200", 7.0)
    assert reading.values == {
        "memory_used_mib": 882.8,
        "power_w": 487.2,
        "core_mhz": 1440,
        "core_mhz_least": 345,
        "memory_mhz": 3201,
        "temperature_c": 56,
        "throttled": "power cap",
        "looks": 3,
    }
    fake.devices = [IDLE]
    (after,) = watch.readings()
    assert (after.values["throttled"], after.values["looks"]) == ("no", 1)


def test_each_device_has_its_reading() -> None:
    lacking = replace(RTX, lacks=frozenset({"reasons"}), used=2**30)
    first, second = Watch(devices(IDLE, lacking)).readings()
    assert second.device == "1 NVIDIA GeForce RTX 4090"
    assert "throttled" not in second.values
    assert (first.values["memory_used_mib"], second.values["memory_used_mib"]) == (0, 1024)


def test_it_looks_by_itself_while_devices_work() -> None:
    looked = Event()

    fake = FakeNvml(IDLE)
    fake.at_question = looked.set
    with Watch(nvidia_devices(fake, {}), every_s=0.001):
        looked.clear()
        assert looked.wait(10)


def test_without_devices_the_memory_of_processes_is_read() -> None:
    with Watch(None) as watch:
        (before,) = watch.readings()
        ballast = bytearray(b"x" * (64 << 20))
        (after,) = watch.readings()
    assert before.device == PROCESSES
    used = [reading.values["process_rss_mib"] for reading in (before, after)]
    assert all(isinstance(each, float) for each in used)
    assert float(used[1] or 0) - float(used[0] or 0) > 0.9 * len(ballast) / 2**20


def test_what_others_took_of_the_processors() -> None:
    before = ProcessorTime(had=100.0, busy=40.0, own=10.0)
    assert share_of_others(before, ProcessorTime(120.0, 55.0, 15.0)) == pytest.approx(0.5)
    assert share_of_others(before, ProcessorTime(120.0, 45.0, 16.0)) == 0.0
    assert share_of_others(before, before) is None


def test_work_of_ones_own_is_not_that_of_others() -> None:
    before = processor_time()
    child = "sum(i * i for i in range(2_000_000))"
    subprocess.run([sys.executable, "-c", child], check=True)
    after = processor_time()
    assert after.own > before.own
    assert after.had > before.had
    assert after.busy >= before.busy


def test_without_devices_the_share_of_others_is_read_from_the_second_call_on() -> None:
    with Watch(None) as watch:
        (first,) = watch.readings()
        subprocess.run([sys.executable, "-c", "import decimal"], check=True)
        (second,) = watch.readings()
    assert "other_cpu_share" not in first.values
    share = second.values["other_cpu_share"]
    assert isinstance(share, float)
    assert 0 <= share <= 1
