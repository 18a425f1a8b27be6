"""Which devices a llama-server computes on, as it says itself before it is started.

Sources: --list-devices in common/arg.cpp of llama.cpp; get_device_info of xllamacpp.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence

#: A line of --list-devices: "  CUDA0: NVIDIA H200 (143771 MiB, 143196 MiB free)".
_LINE = re.compile(r"^ +([A-Za-z][A-Za-z_ ]*?)\d*: ", re.MULTILINE)

#: Backends that the list names beside devices and that compute on the processor.
_ON_CPU = frozenset({"CPU", "BLAS", "AMX", "Accelerate"})

_LIST_S = 60.0


def listed(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """What a command prints on its devices; None where it fails."""
    try:
        run = subprocess.run(  # noqa: S603, the user's own binary or our module
            tuple(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIST_S,
            env=environment,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.decode("utf-8", "replace")


def backend_of_binary(text: str) -> str | None:
    """The backend of a binary, from what it prints under --list-devices; None if that is none."""
    if "devices" not in text:
        return None
    return _backend(name.strip() for name in _LINE.findall(text))


def backend_of_wheel(text: str) -> str | None:
    """The backend of xllamacpp, from the names that embedded_server prints as JSON."""
    try:
        names = json.loads(text)
    except ValueError:
        return None
    if not isinstance(names, list):
        return None
    return _backend(str(name).rstrip("0123456789") for name in names)


def _backend(names: Iterable[str]) -> str:
    """The names of the devices' kinds; the processor's where there is no device."""
    devices = dict.fromkeys(name for name in names if name not in _ON_CPU)
    return "+".join(devices) or "CPU"
