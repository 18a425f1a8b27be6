"""What a llama-server computes on, by its own list of devices."""

from __future__ import annotations

import json
import sys

import pytest

from benchlint.reproducers.server_devices import backend_of_binary, backend_of_wheel, listed

ONE = "Available devices:\n  CUDA0: NVIDIA H200 (143771 MiB, 143196 MiB free)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ONE, "CUDA"),
        (ONE + "  CUDA1: NVIDIA H200 (143771 MiB, 143196 MiB free)\n", "CUDA"),
        (ONE + "  Vulkan0: NVIDIA H200 (143771 MiB, 143196 MiB free)\n", "CUDA+Vulkan"),
        ("Available devices:\n", "CPU"),
        ("Available devices:\n  (none)\n", "CPU"),
        ("Available devices:\n  BLAS: OpenBLAS (0 MiB, 0 MiB free)\n", "CPU"),
        ("Available devices:\n  Metal: Apple M4 (12124 MiB, 12124 MiB free)\n", "Metal"),
        ("error: invalid argument", None),
        ("", None),
    ],
)
def test_a_binarys_list(text: str, expected: str | None) -> None:
    assert backend_of_binary(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [('["CUDA0", "CUDA1"]', "CUDA"), ("[]", "CPU"), ("{}", None), ("no JSON", None)],
)
def test_the_wheels_list(text: str, expected: str | None) -> None:
    assert backend_of_wheel(text) == expected


def test_the_wheel_lists_its_devices() -> None:
    pytest.importorskip("xllamacpp")
    module = (sys.executable, "-P", "-m", "benchlint.reproducers.embedded_server")
    text = listed((*module, "--list-devices"), {})
    assert text is not None
    assert isinstance(json.loads(text), list)


def test_a_command_that_fails_lists_nothing() -> None:
    assert listed((sys.executable, "-c", "raise SystemExit(1)"), {}) is None
    assert listed(("/no/such/binary",), {}) is None
