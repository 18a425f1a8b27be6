"""What engines say of a place, put together before anything is measured there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.discreet_engine import DiscreetEngine
from benchlint.reproducers.engine import Arm, Description, EngineError, UnsupportedError
from benchlint.reproducers.engine_choice import ChosenEngines
from benchlint.reproducers.place import place_of
from tests.fake_engine import FakeEngine, World

PLAIN, FAST = Arm("plain"), Arm("fast", method="draft_model")
SERVER = Description(
    "llama.cpp",
    "b1",
    "c1",
    target={"name": "t.gguf", "quantization": "Q8_0", "parameters": 7_000_000_000},
    drafter={"name": "d.gguf", "quantization": "Q4_0"},
)
MACHINE = {"device": "NVIDIA H200", "device count": 1, "cpu": "C", "cpu cores": 8}


class _Told(FakeEngine):
    """Says what it is told to say."""

    def __init__(self, description: Description, **world: Any) -> None:
        super().__init__(World(**world))
        self._description = description

    def start(self, arm: Arm) -> Description:
        super().start(arm)
        return self._description


def _chosen(*engines: FakeEngine, **more: Any) -> ChosenEngines:
    discreet = [DiscreetEngine(engine, {}) for engine in engines]
    return ChosenEngines(*discreet, **more)


def test_an_endpoint_tells_its_models_and_not_its_device() -> None:
    here = place_of(_chosen(_Told(SERVER)), (PLAIN, FAST), MACHINE)
    assert (here.engine, here.version, here.commit) == ("llama.cpp", "b1", "c1")
    assert (here.target, here.target_quantization) == ("t.gguf", "Q8_0")
    assert (here.target_parameters_b, here.drafter_quantization) == (7.0, "Q4_0")
    assert here.device is None


@pytest.mark.parametrize(
    ("backend", "device", "count"),
    [("CUDA", "NVIDIA H200", 1), ("CPU", "C", 1), (None, None, None)],
)
def test_model_files_run_on_what_the_engine_computes_on(
    backend: str | None, device: str | None, count: int | None
) -> None:
    engine = _Told(replace(SERVER, backend=backend))
    known = {**MACHINE, "target sha256": "ab"}
    here = place_of(_chosen(engine, target=Path("t.gguf"), here=Here(threads=4)), (PLAIN,), known)
    assert (here.device, here.device_count) == (device, count)
    assert (here.target_sha256, here.threads) == ("ab", 4)


def test_each_engine_is_asked_once() -> None:
    engine = _Told(SERVER)
    place_of(_chosen(engine), (PLAIN, FAST, PLAIN), {})
    assert engine.world.starts == ["plain"]
    assert engine.world.calls == []


def test_an_engine_that_cannot_do_an_arm_is_asked_for_the_next() -> None:
    engine = _Told(SERVER, at_starts={0: UnsupportedError("it speculates")})
    assert place_of(_chosen(engine), (PLAIN, FAST), {}).engine == "llama.cpp"
    assert engine.world.starts == ["plain", "fast"]


def test_where_no_arm_can_be_done_the_files_are_what_is_known() -> None:
    engine = _Told(SERVER, at_starts={0: UnsupportedError("no")})
    here = place_of(_chosen(engine, here=Here(target="t.gguf")), (PLAIN,), {})
    assert (here.engine, here.target) == (None, "t.gguf")


def test_an_engine_that_does_not_answer_is_told() -> None:
    with pytest.raises(EngineError, match="gone"):
        place_of(_chosen(_Told(SERVER, at_starts={0: EngineError("gone")})), (PLAIN,), {})


def test_what_two_servers_say_differently_is_not_known() -> None:
    other = replace(SERVER, version="b2", drafter={}, target={**SERVER.target, "name": "u"})
    here = place_of(_chosen(_Told(SERVER), _Told(other)), (PLAIN, FAST), {})
    assert (here.engine, here.version, here.target) == ("llama.cpp", None, None)
    assert here.target_quantization == "Q8_0"
    assert here.drafter_quantization == "Q4_0"
