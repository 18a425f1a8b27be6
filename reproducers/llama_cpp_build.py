"""What the library of llama.cpp says of its own build."""

from __future__ import annotations

import ctypes
import importlib
import re

from benchlint.reproducers.llama_cpp_model import bindings


def commit() -> str | None:
    """The commit llama.cpp was built from (ggml_commit in ggml.h), if the build knew it."""
    said = _ggml_text("ggml_commit") or ""
    known = re.match(r"[0-9a-f]{7,40}", said)
    return known[0] if known else None


def backend(gpu_layers: int) -> str:
    """The backends that are built in, by llama.cpp's names; the CPU's where nothing is offloaded.

    From llama_print_system_info, which names each before its features.
    """
    said = bindings().llama_print_system_info().decode("utf-8", "replace")
    names = re.findall(r"(\w+) : ", said)
    others = [name for name in names if name != "CPU"]
    return "+".join(others) if others and gpu_layers else "CPU"


def _ggml() -> ctypes.CDLL | None:
    """The library below llama.cpp; where the bindings do not show it, less is known.

    They look for it beside themselves alone, also where LLAMA_CPP_LIB_PATH is set.
    """
    try:
        found: ctypes.CDLL = importlib.import_module("llama_cpp._ggml").libggml
    except (ImportError, AttributeError, OSError, RuntimeError):
        return None
    return found


def _ggml_text(function: str) -> str | None:
    """What a function of ggml that returns a string says; None where there is none."""
    try:
        call = getattr(_ggml(), function)
    except AttributeError:
        return None
    call.restype = ctypes.c_char_p
    said = call()
    return said.decode("utf-8", "replace") if said else None
