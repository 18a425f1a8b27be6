"""Plain decode speed in this process beside llama-bench's, on this machine, in one run.

    make bench-decode     (or: .venv/bin/python -m benchmarks.in_process_decode FOLDER)

FOLDER holds llama-bench. Both run the same library, model, thread and number of tokens from an
almost empty KV cache, in turn; what a pair has in common cancels in its ratio. Shown for the tiny
target, where what Python does for a token weighs most, and for one of 206 M parameters: median
tokens per second, and ours over theirs, by the clock and by CPU time. The latter holds on a machine
that others use too: CPU seconds of an answer of N + 1 tokens less those of one of 1, which has
starting and loading in it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchlint.reproducers.engine import Arm, Request, Sampling
from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options
from benchmarks.wide_model import TINY, write_wide_model

THREADS = 1
PAIRS = 11
#: Tokens that are timed, by model: enough for seconds.
TINY_TOKENS, WIDE_TOKENS = 1024, 64


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second by the clock, and per CPU second."""

    clock: float
    cpu: float


def llama_bench(program: Path, model: Path, tokens: int) -> Speed:
    """What llama-bench measures, after a warm-up of its own."""
    clock, whole = _bench(program, model, tokens + 1)
    _, start = _bench(program, model, 1)
    return Speed(clock, tokens / (whole - start))


def _bench(program: Path, model: Path, tokens: int) -> tuple[float, float]:
    """Tokens per second, and CPU seconds of the whole run."""
    settings = {"-m": model, "-t": THREADS, "-p": 0, "-n": tokens, "-r": 1, "-ngl": 0, "-o": "json"}
    command = [program, *(part for pair in settings.items() for part in pair)]
    before = getrusage(RUSAGE_CHILDREN)
    run = subprocess.run(list(map(str, command)), check=True, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    [row] = json.loads(run.stdout)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(row["avg_ts"]), cpu_s


def in_process(engine: LlamaCppEngine, tokens: int) -> Speed:
    """What the engine measures; the short answer is its warm-up."""
    _, start = _generate(engine, 1)
    clock, whole = _generate(engine, tokens + 1)
    return Speed(clock, tokens / (whole - start))


def _generate(engine: LlamaCppEngine, tokens: int) -> tuple[float, float]:
    """Tokens per second in decode, and CPU seconds of the answer."""
    before = time.process_time()
    sample = engine.generate(Request("import", tokens, ignore_eos=True))
    return sample.decode_tok_s or 0.0, time.process_time() - before


def compare(name: str, program: Path, model: Path, tokens: int) -> None:
    """One row of the table; who goes first takes turns."""
    engine = LlamaCppEngine(model, options=Options(gpu_layers=0, threads=THREADS))
    greedy = Sampling(temperature=0.0)
    engine.start(Arm("plain", sampling=greedy, context_tokens=tokens + 8))
    pairs: list[tuple[Speed, Speed]] = []
    for number in range(PAIRS):
        if number % 2:
            peer = llama_bench(program, model, tokens)
            pairs.append((in_process(engine, tokens), peer))
        else:
            pairs.append((in_process(engine, tokens), llama_bench(program, model, tokens)))
    engine.close()
    ours, theirs = (
        statistics.median(each.clock for each in who) for who in zip(*pairs, strict=True)
    )
    ratios = (_ratio(pairs, lambda speed: speed.clock), _ratio(pairs, lambda speed: speed.cpu))
    print(f"| {name} | {ours:.1f} | {theirs:.1f} | {' | '.join(ratios)} |", flush=True)


def _ratio(pairs: list[tuple[Speed, Speed]], of: Callable[[Speed], float]) -> str:
    """The median of the pairs' ratios, and their quartiles."""
    low, middle, high = statistics.quantiles([of(a) / of(b) for a, b in pairs], n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main(folder: Path) -> None:
    """Print the table."""
    program = folder.absolute() / "llama-bench"
    print(f"{THREADS} thread, {PAIRS} pairs: median (quartiles)")
    print("| model | in process, tok/s | llama-bench, tok/s | ratio by clock | by CPU time |")
    print("|---|---|---|---|---|")
    compare("7.3 M, Q8_0", program, TINY, TINY_TOKENS)
    with tempfile.TemporaryDirectory() as name:
        wide = Path(name) / "wide.gguf"
        write_wide_model(wide)
        compare("206 M, Q8_0", program, wide, WIDE_TOKENS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
