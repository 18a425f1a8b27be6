"""Importers that read logs of any size keep nothing that grows with them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from benchlint.checker.importers.found import Line
from benchlint.checker.importers.importer import Source
from benchlint.checker.importers.registry import importer_named

LINES = {
    "vllm-log": (
        "INFO 03-02 10:05:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.25, "
        "Accepted throughput: 50.00 tokens/s, Drafted throughput: 120.00 tokens/s, Accepted: 500 "
        "tokens, Drafted: 1200 tokens, Per-position acceptance rate: 0.650, 0.400, 0.200, Avg "
        "Draft acceptance rate: 41.7%"
    ),
    "sglang-log": (
        "[2026-03-02 10:01:00 TP0] Decode batch, #running-req: 1, #token: 108, token usage: 0.00, "
        "accept len: 2.20, accept rate: 0.55, cuda graph: True, gen throughput (token/s): 181.25, "
        "#queue-req: 0"
    ),
    "vllm-metrics": 'vllm:generation_tokens_total{engine="0",model_name="m"} 1300.0',
}


def _peak(tool: str, count: int) -> int:
    """The most memory that reading so many lines takes, in bytes."""

    def lines() -> Iterator[Line]:
        return (Line(i, LINES[tool]) for i in range(1, count + 1))

    importer = importer_named(tool)
    tracemalloc.start()
    try:
        for _ in importer.read(Source("x.log", lines)):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("tool", LINES)
def test_memory_does_not_grow_with_the_log(tool: str) -> None:
    assert importer_named(tool).streams
    _peak(tool, 50)  # patterns are compiled once
    assert _peak(tool, 6_000) < _peak(tool, 1_000) + 40_000
