"""CPU time of `benchlint check` beside check-jsonschema, on this machine, in one run.

    make bench            (or: .venv/bin/python benchmarks/check_speed.py)
    .venv/bin/python benchmarks/check_speed.py --files 1000 --runs 5      (the second figure alone)

Three figures: one report of 4 KB (whole processes, start included); 10,000 reports of 4 KB with
all rules on; 100,000 reports as JSON Lines, with peak memory at 10,000 and at 100,000. Times are
user plus system CPU seconds of the child process. Ratios are benchlint over check-jsonschema with
benchlint's own JSON Schema; medians of alternating runs.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import benchlint

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
REPORT = ROOT / "examples" / "dflash.json"
SCHEMA = ROOT / "schemas" / "report-v1.json"
BENCHLINT = [str(BIN / "benchlint"), "check", "--jobs", "1", "--fail-on", "never"]
PEER = [str(BIN / "check-jsonschema"), "--schemafile", str(SCHEMA)]


def compile_bytecode() -> None:
    """Compile the package, as pip does at an installation: an editable one changes after it."""
    compileall.compile_dir(Path(benchlint.__file__).parent, quiet=1)


def cpu_seconds(command: Sequence[str]) -> float:
    """User plus system seconds of one run of the command."""
    before = getrusage(RUSAGE_CHILDREN)
    _spawn(command)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_mib(command: Sequence[str]) -> float:
    """Peak resident memory in MiB of one run of the command."""
    return _spawn(command).ru_maxrss / 1024


def _spawn(command: Sequence[str]) -> os.struct_rusage:  # type: ignore[name-defined,unused-ignore]
    sink = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)]
    pid = os.posix_spawn(command[0], list(command), os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    os.close(sink)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"failed: {' '.join(command[:6])} …")
    return usage


def alternating(a: Sequence[str], b: Sequence[str], runs: int) -> tuple[float, float]:
    """Median CPU seconds of two commands that were run in turn, after one warm-up each."""
    cpu_seconds(a), cpu_seconds(b)
    pairs = [(cpu_seconds(a), cpu_seconds(b)) for _ in range(runs)]
    return statistics.median(x for x, _ in pairs), statistics.median(y for _, y in pairs)


def show(name: str, ours: float, peer: float) -> None:
    """One row of the table."""
    print(f"| {name} | {ours:.3f} s | {peer:.3f} s | {ours / peer:.2f} |")


def one_report() -> None:
    """One 4 KB report, start included."""
    ours, peer = alternating([*BENCHLINT, str(REPORT)], [*PEER, str(REPORT)], 11)
    show("one report of 4 KB", ours, peer)


def many_reports(count: int, runs: int) -> None:
    """Many files, all rules on."""
    with tempfile.TemporaryDirectory() as name:
        _many_reports(Path(name), count, runs)


def _many_reports(folder: Path, count: int, runs: int) -> None:
    text = REPORT.read_bytes()
    paths = [folder / f"{i:05}.json" for i in range(count)]
    for path in paths:
        path.write_bytes(text)
    ours, peer = alternating([*BENCHLINT, str(folder)], [*PEER, *map(str, paths)], runs)
    show(f"{count:,} reports of 4 KB", ours, peer)


def memory(folder: Path, counts: Sequence[int]) -> None:
    """Peak memory over JSON Lines of different lengths."""
    line = json.dumps(json.loads(REPORT.read_text("utf-8"))) + "\n"
    for count in counts:
        path = folder / f"{count}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for _ in range(count):
                stream.write(line)
        mib = peak_mib([*BENCHLINT, "--format", "jsonl", str(path)])
        print(f"peak memory, {count:,} reports as JSON Lines: {mib:.0f} MiB")
        path.unlink()


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--files", type=int, help="only so many files, and nothing else")
    options.add_argument("--runs", type=int, default=1, help="of many files; medians are shown")
    asked = options.parse_args()
    compile_bytecode()
    print("| CPU time | benchlint | check-jsonschema | ratio |\n|---|---|---|---|")
    if asked.files:
        many_reports(asked.files, asked.runs)
        return
    one_report()
    many_reports(10_000, asked.runs)
    with tempfile.TemporaryDirectory() as name:
        memory(Path(name), [10_000, 100_000])


if __name__ == "__main__":
    main()
