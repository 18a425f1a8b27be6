"""Perplexity in this process is llama-perplexity's, for one build of llama.cpp."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchlint.reproducers import statistics as measured_text
from benchlint.reproducers.engine import Arm
from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options

pytestmark = pytest.mark.engine

TARGET = Path(__file__).parent / "models" / "target-q8_0.gguf"
#: A text that is at hand wherever the tests are.
TEXT = Path(measured_text.__file__ or "")


@pytest.mark.parametrize("window", [128, 512])
def test_perplexity_is_that_of_llama_perplexity(llama_cpp: Path, window: int) -> None:
    """To the last digit it prints, where attention does not depend on how many rows are at once."""
    theirs = _llama_perplexity(llama_cpp / "llama-perplexity", window, "-fa", "off")
    assert _perplexity(window, flash_attention=False) == pytest.approx(theirs, abs=2e-4)


@pytest.mark.parametrize("types", [("f16", "f16"), ("q8_0", "q8_0")], ids=str)
def test_with_flash_attention_it_differs_as_llama_perplexity_does_from_itself(
    llama_cpp: Path, types: tuple[str, str]
) -> None:
    """Several windows at once there, one here: as much as `-b 128` there, 0.2 % and less."""
    kv_types = ("-ctk", types[0], "-ctv", types[1])
    theirs = _llama_perplexity(llama_cpp / "llama-perplexity", 128, "-fa", "on", *kv_types)
    ours = _perplexity(128, kv_types=types, flash_attention=True)
    assert len(ours) == len(theirs)
    assert ours[-1] == pytest.approx(theirs[-1], rel=0.005)


def _perplexity(
    window: int, *, kv_types: tuple[str, str] = ("f16", "f16"), flash_attention: bool
) -> list[float]:
    """Ours up to each window."""
    options = Options(gpu_layers=0, threads=1, flash_attention=flash_attention)
    engine = LlamaCppEngine(TARGET, options=options)
    engine.start(Arm("plain", context_tokens=window, kv_types=kv_types))
    means = engine.perplexity(TEXT.read_text("utf-8"), window)
    engine.close()
    assert len(means) > 4
    return [float(np.exp(np.mean(means[: i + 1]))) for i in range(len(means))]


def _llama_perplexity(program: Path, window: int, *options: str) -> list[float]:
    """Theirs up to each window."""
    command = [program, "-m", TARGET, "-f", TEXT, "-c", window, "-t", 1, "-ngl", 0, *options]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    said = run.stdout + run.stderr
    running = [float(value) for value in re.findall(r"\[\d+\]([\d.]+)", said)]
    final = re.search(r"Final estimate: PPL = ([\d.]+)", said)
    assert final
    assert math.isclose(float(final[1]), running[-1], abs_tol=1e-3)
    return running
