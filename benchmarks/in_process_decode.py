"""Plain decode speed in this process beside llama-bench's, on this machine, in one run.

    make bench-decode     (or: .venv/bin/python -m benchmarks.in_process_decode FOLDER)

FOLDER holds llama-bench. Both run the same library, model, threads and number of tokens, from an
almost empty KV cache, in turn; what a pair has in common cancels in its ratio. Shown for the tiny
target, where what Python does for a token weighs most, and for one of 206 M parameters: median
tokens per second of each, and of the pairs' ratios the median, the least and the most.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchlint.reproducers.engine import Arm, Request, Sampling
from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options
from benchmarks.wide_model import TINY, write_wide_model

THREADS = 1
PAIRS = 11
#: Tokens that are timed, by model: enough for seconds.
TINY_TOKENS, WIDE_TOKENS = 512, 64


def bench_tok_s(llama_bench: Path, model: Path, tokens: int) -> float:
    """Tokens per second that llama-bench measures, after a warm-up of its own."""
    settings = {"-m": model, "-t": THREADS, "-p": 0, "-n": tokens, "-r": 1, "-ngl": 0, "-o": "json"}
    command = [llama_bench, *(part for pair in settings.items() for part in pair)]
    run = subprocess.run(list(map(str, command)), check=True, capture_output=True)
    [row] = json.loads(run.stdout)
    return float(row["avg_ts"])


def decoder(model: Path, tokens: int) -> tuple[Callable[[], float], LlamaCppEngine]:
    """What measures tokens per second in this process, and the engine to close."""
    engine = LlamaCppEngine(model, options=Options(gpu_layers=0, threads=THREADS))
    greedy = Sampling(temperature=0.0)
    engine.start(Arm("plain", sampling=greedy, context_tokens=tokens + 8))
    request = Request("import", tokens + 1, ignore_eos=True)

    def decode_tok_s() -> float:
        engine.generate(Request("import", 2, ignore_eos=True))  # as llama-bench warms up
        return engine.generate(request).decode_tok_s or 0.0

    return decode_tok_s, engine


def compare(name: str, llama_bench: Path, model: Path, tokens: int) -> None:
    """One row of the table; who goes first takes turns."""
    ours, engine = decoder(model, tokens)
    pairs: list[tuple[float, float]] = []
    for number in range(PAIRS):
        if number % 2:
            peer = bench_tok_s(llama_bench, model, tokens)
            pairs.append((ours(), peer))
        else:
            pairs.append((ours(), bench_tok_s(llama_bench, model, tokens)))
    engine.close()
    ratios = [a / b for a, b in pairs]
    mine, its = (statistics.median(each) for each in zip(*pairs, strict=True))
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
    print(f"| {name} | {mine:.1f} | {its:.1f} | {statistics.median(ratios):.3f} | {spread} |")


def main(folder: Path) -> None:
    """Print the table."""
    llama_bench = folder.absolute() / "llama-bench"
    print(f"{THREADS} thread, {PAIRS} pairs")
    print("| model | in process, tok/s | llama-bench, tok/s | ratio | of single pairs |")
    print("|---|---|---|---|---|")
    compare("7.3 M, Q8_0", llama_bench, TINY, TINY_TOKENS)
    with tempfile.TemporaryDirectory() as name:
        wide = Path(name) / "wide.gguf"
        write_wide_model(wide)
        compare("206 M, Q8_0", llama_bench, wide, WIDE_TOKENS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
