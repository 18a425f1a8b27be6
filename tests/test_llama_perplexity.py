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
#: A text of 15 kB that is at hand wherever the tests are.
TEXT = Path(measured_text.__file__ or "")


@pytest.mark.parametrize("types", [("f16", "f16"), ("q8_0", "q8_0")], ids=str)
@pytest.mark.parametrize("window", [128, 512])
def test_perplexity_is_that_of_llama_perplexity(
    llama_cpp: Path, window: int, types: tuple[str, str]
) -> None:
    theirs = _llama_perplexity(llama_cpp / "llama-perplexity", window, types)
    engine = LlamaCppEngine(TARGET, options=Options(gpu_layers=0, threads=1))
    engine.start(Arm("plain", context_tokens=window, kv_types=types))
    ours = engine.perplexity(TEXT.read_text("utf-8"), window)
    engine.close()
    assert len(ours) == len(theirs) > 4
    running = np.exp(np.cumsum(ours) / np.arange(1, len(ours) + 1))
    assert running == pytest.approx(theirs, rel=0.002)


def _llama_perplexity(program: Path, window: int, types: tuple[str, str]) -> list[float]:
    """The perplexity up to each window."""
    command = [program, "-m", TARGET, "-f", TEXT, "-c", window, "-t", 1, "-ngl", 0]
    command += ["-ctk", types[0], "-ctv", types[1]]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    said = run.stdout + run.stderr
    running = [float(value) for value in re.findall(r"\[\d+\]([\d.]+)", said)]
    final = re.search(r"Final estimate: PPL = ([\d.]+)", said)
    assert final
    assert math.isclose(float(final[1]), running[-1], abs_tol=1e-3)
    return running
