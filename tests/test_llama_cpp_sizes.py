"""Sizes that this project tells or computes are those that llama.cpp counts itself."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from benchlint.checker.roofline import KvLayers, gqa_bytes_per_token, kv_bytes
from benchlint.checker.tables import kv_type
from benchlint.reproducers.engine import Arm
from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options

pytestmark = pytest.mark.engine

TARGET = Path(__file__).parent / "models" / "target-q8_0.gguf"
LAYERS, KV_HEADS, HEAD_DIM = 8, 2, 64
_CACHE = re.compile(
    r"size = +[\d.]+ MiB \( *(\d+) cells.*K \(\w+\): +([\d.]+) MiB, V \(\w+\): +([\d.]+)"
)


def llama_bench(folder: Path, *options: str) -> tuple[dict[str, object], str]:
    """The one row that llama-bench measures, and its log."""
    command = [folder / "llama-bench", "-m", TARGET, "-t", 1, "-ngl", 0, "-p", 0, "-n", 500]
    command += ["-r", 1, "-v", "-o", "json", *options]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    [row] = json.loads(run.stdout)
    return row, run.stderr


def test_the_model_is_as_large_as_llama_bench_says(llama_cpp: Path) -> None:
    row, _ = llama_bench(llama_cpp)
    engine = LlamaCppEngine(TARGET, options=Options(gpu_layers=0, threads=1))
    target = engine.start(Arm("plain", context_tokens=512)).target
    engine.close()
    assert target["size_bytes"] == row["model_size"]
    assert target["parameters"] == row["model_n_params"]
    assert target["file_bytes"] == TARGET.stat().st_size
    assert TARGET.stat().st_size - row["model_size"] < 200_000, "the vocabulary"


@pytest.mark.parametrize("types", [("f16", "f16"), ("q8_0", "q4_0"), ("q5_1", "iq4_nl")], ids=str)
def test_the_kv_cache_is_as_large_as_computed(llama_cpp: Path, types: tuple[str, str]) -> None:
    _, log = llama_bench(llama_cpp, "-ctk", types[0], "-ctv", types[1], "-fa", "1")
    found = _CACHE.search(log)
    assert found
    cells = int(found[1])
    assert cells >= 500
    for name, mib in zip(types, found.groups()[1:], strict=True):
        both = gqa_bytes_per_token(KV_HEADS, HEAD_DIM, kv_type(name) or 0)
        one = kv_bytes([KvLayers(LAYERS, both / 2)], cells)
        assert one / 2**20 == pytest.approx(float(mib), abs=0.006)
