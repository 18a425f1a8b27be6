"""The llama-server inside the xllamacpp wheel, in a process of its own.

It serves from native threads that only end with their process.

Usage: python -m benchlint.reproducers.embedded_server SETTINGS, where SETTINGS is a JSON object
from dotted attribute paths of xllamacpp.CommonParams to values (server_flags.py makes it). With
--list-devices instead it prints the names of the devices that it would compute on, as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from types import ModuleType


def main(settings_json: str) -> None:
    """Serve until the process is ended."""
    library = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    for path, value in json.loads(settings_json).items():
        _set(library, params, path, value)
    server = library.Server(params)
    threading.Event().wait()
    del server  # it serves for as long as it is held


def list_devices() -> None:
    """Print the names of all devices but the processor: ["CUDA0"]."""
    found = importlib.import_module("xllamacpp").get_device_info()
    sys.stdout.write(json.dumps([each["name"] for each in found if "GPU" in str(each["type"])]))


def _set(library: ModuleType, params: object, path: str, value: object) -> None:
    """Set one attribute. A name that this version lacks ends the process: nothing is guessed."""
    *owners, name = path.split(".")
    owner = params
    for part in owners:
        owner = getattr(owner, part)
    if not hasattr(owner, name):
        raise SystemExit(f"this xllamacpp has no setting {path}")
    setattr(owner, name, _value(library, name, value))


def _value(library: ModuleType, name: str, value: object) -> object:
    if name == "port":
        return int(str(value))
    if name == "types":
        member = str(value).upper().replace("-", "_")
        return [library.common_speculative_type[f"COMMON_SPECULATIVE_TYPE_{member}"]]
    if name.startswith("cache_type_"):
        return library.ggml_type[f"GGML_TYPE_{str(value).upper()}"]
    return value


if __name__ == "__main__":
    if sys.argv[1] == "--list-devices":
        list_devices()
    else:
        main(sys.argv[1])
