"""Tests with engines that are built from source run where these are named, and nowhere else.

No property test fails for being slow: on a busy machine any example can take its time.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# A shell starts what it sends to the background with SIGINT ignored, nohup what it starts with
# SIGHUP ignored, and so would every program be that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):  # not on Windows
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

#: Options that name an engine, by the mark of the tests that need it.
_OPTIONS = {"engine": "--llama-cpp", "vllm": "--vllm"}
_TARGETS = {"engine": "make test-engines", "vllm": "make test-vllm"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that say where engines are."""
    engines = parser.getgroup("real engines")
    engines.addoption("--llama-cpp", type=Path, metavar="DIR", help="llama.cpp's programs")
    engines.addoption("--vllm", type=Path, metavar="FILE", help="vLLM's command")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests of engines that are not named."""
    for mark, option in _OPTIONS.items():
        if config.getoption(option):
            continue
        skip = pytest.mark.skip(reason=f"needs a real engine: {_TARGETS[mark]}")
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def llama_cpp(request: pytest.FixtureRequest) -> Path:
    """The folder with llama-server, llama-bench, llama-quantize and llama-perplexity."""
    return _named(request, "engine")


@pytest.fixture(scope="session")
def vllm(request: pytest.FixtureRequest) -> Path:
    """vLLM's command, in an environment of its own."""
    return _named(request, "vllm")


def _named(request: pytest.FixtureRequest, mark: str) -> Path:
    path = request.config.getoption(_OPTIONS[mark])
    assert isinstance(path, Path)
    return path.absolute()
