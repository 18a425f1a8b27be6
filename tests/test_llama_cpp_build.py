"""What is known of llama.cpp's build where the bindings show little of it."""

from __future__ import annotations

import importlib

import pytest

from benchlint.reproducers import llama_cpp_build


@pytest.mark.parametrize("error", [ImportError, FileNotFoundError, RuntimeError])
def test_a_library_that_is_not_beside_the_bindings_has_no_known_commit(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> object:
        raise error(f"{name}: shared library with base name 'ggml' not found")

    monkeypatch.setattr(importlib, "import_module", missing)
    assert llama_cpp_build.commit() is None
