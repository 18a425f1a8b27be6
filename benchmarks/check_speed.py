"""CPU time of `benchlint check` beside validators of its JSON Schema, on this machine, in one run.

    make bench            (or: .venv/bin/python benchmarks/check_speed.py)
    .venv/bin/python benchmarks/check_speed.py --files 1000 --runs 5      (the second figure alone)

Three figures: one report of 4 KB (whole processes, start included); 10,000 reports of 4 KB with
all rules on, no two of which have the same numbers or model; 100,000 reports as JSON Lines, with
peak memory at 10,000 and at 100,000. Times are user plus system CPU seconds of the child process,
ratios benchlint's over the peer's; medians of alternating runs.

The peers do less: they say whether a report has the shape of the schema and nothing of what its
numbers mean, which is most of what benchlint's time goes to. check-jsonschema is a development
tool of this repository. The others take part where they are installed:

    .venv/bin/python -m pip install jsonschema-rs
    npm install --prefix build/ajv ajv-cli          (or anywhere on the PATH)

A recorded run on two cores of an AMD EPYC with nothing else on them, Python 3.11.7,
check-jsonschema 0.39.0, jsonschema-rs 0.61.2, ajv-cli 5.0.0 on Node.js 20.20.2: medians of 11
rounds for one report, one round of 10,000. Five such runs gave 0.49, 0.52, 0.56, 0.58 and 0.59 for
the many beside check-jsonschema: benchlint uses more of the caches, which this virtual machine
shares with others, and its time moves by 15 % there where the peer's moves by 5 %. jsonschema-rs,
which is compiled, is much faster, and so is ajv, which compiles the schema to JavaScript, over many
files:

| CPU time of | benchlint | peer | its time | ratio |
|---|---|---|---|---|
| one report of 4 KB | 0.253 s | check-jsonschema | 0.480 s | 0.53 |
| one report of 4 KB | 0.253 s | jsonschema-rs | 0.049 s | 5.16 |
| one report of 4 KB | 0.253 s | ajv-cli | 0.838 s | 0.30 |
| 10,000 reports of 4 KB | 15.774 s | check-jsonschema | 30.266 s | 0.52 |
| 10,000 reports of 4 KB | 15.774 s | jsonschema-rs | 0.604 s | 26.11 |
| 10,000 reports of 4 KB | 15.774 s | ajv-cli | 1.630 s | 9.67 |

Peak memory was 44 MiB over 10,000 and over 100,000 reports as JSON Lines.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from resource import RUSAGE_CHILDREN, getrusage
from shutil import which

import benchlint

HERE = Path(__file__).parent
ROOT = HERE.parent
BIN = Path(sys.executable).parent
REPORT = ROOT / "examples" / "dflash.json"
SCHEMA = ROOT / "schemas" / "report-v1.json"
AJV_FOLDER = ROOT / "build" / "ajv" / "node_modules" / ".bin"
BENCHLINT = [str(BIN / "benchlint"), "check", "--jobs", "1", "--fail-on", "never"]

Command = Sequence[str]


def peers(folder: Path) -> dict[str, Command]:
    """The commands of those validators that are installed, over all reports of a folder."""
    found = {"check-jsonschema": _check_jsonschema(folder)}
    if find_spec("jsonschema_rs"):
        script = str(HERE / "jsonschema_rs_peer.py")
        found["jsonschema-rs"] = [sys.executable, script, str(SCHEMA), str(folder)]
    ajv = which("ajv", path=os.pathsep.join([str(AJV_FOLDER), os.environ.get("PATH", "")]))
    if ajv:
        # --strict asks for a style of schemas, and the names of all files would be too many.
        options = ["--spec=draft2020", "--strict=false", "-s", str(SCHEMA)]
        found["ajv-cli"] = [ajv, "validate", *options, "-d", f"{folder}/*.json"]
    return found


def _check_jsonschema(folder: Path) -> Command:
    command = [str(BIN / "check-jsonschema"), "--schemafile", str(SCHEMA)]
    return [*command, *map(str, sorted(folder.glob("*.json")))]


def compile_bytecode() -> None:
    """Compile the package, as pip does at an installation: an editable one changes after it."""
    compileall.compile_dir(Path(benchlint.__file__).parent, quiet=1)


def cpu_seconds(command: Command) -> float:
    """User plus system seconds of one run of the command."""
    before = getrusage(RUSAGE_CHILDREN)
    _spawn(command)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_mib(command: Command) -> float:
    """Peak resident memory in MiB of one run of the command."""
    return _spawn(command).ru_maxrss / 1024


def _spawn(command: Command) -> os.struct_rusage:  # type: ignore[name-defined,unused-ignore]
    sink = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)]
    pid = os.posix_spawn(command[0], list(command), os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    os.close(sink)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"failed: {' '.join(command[:6])} …")
    return usage


def alternating(commands: Sequence[Command], runs: int) -> list[float]:
    """Median CPU seconds of commands that were run in turn, after one warm-up each."""
    for each in commands:
        cpu_seconds(each)
    rounds = [[cpu_seconds(each) for each in commands] for _ in range(runs)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def compare(what: str, folder: Path, runs: int) -> None:
    """A row of the table for each peer, over the reports of a folder."""
    others = peers(folder)
    ours, *theirs = alternating([[*BENCHLINT, str(folder)], *others.values()], runs)
    for name, time in zip(others, theirs, strict=True):
        print(f"| {what} | {ours:.3f} s | {name} | {time:.3f} s | {ours / time:.2f} |", flush=True)


def one_report() -> None:
    """One 4 KB report, start included."""
    with tempfile.TemporaryDirectory() as name:
        write_reports(Path(name), 1)
        compare("one report of 4 KB", Path(name), 11)


def many_reports(count: int, runs: int) -> None:
    """Many files, all rules on."""
    with tempfile.TemporaryDirectory() as name:
        write_reports(Path(name), count)
        compare(f"{count:,} reports of 4 KB", Path(name), runs)


def write_reports(folder: Path, count: int) -> None:
    """Reports of one shape; each has its own numbers, model and drafter, and all are honest."""
    text = REPORT.read_text("utf-8")
    for number in range(count):
        (folder / f"{number:05}.json").write_text(varied(text, Random(number), number), "utf-8")


def varied(text: str, rng: Random, number: int) -> str:
    """The report as of another model and machine: claims about ratios hold as before."""
    speed, acceptance, perplexity = rng.uniform(0.9, 1.1), rng.uniform(0.999, 1.001), rng.random()
    text = re.sub(r'("tok_s": )([0-9.]+)', _scaled(speed), text)
    rates = r'("acceptance_rate": |"accepted_length": {"value": )([0-9.]+)'
    text = re.sub(rates, _scaled(acceptance), text)
    text = re.sub(r'("dataset": .*"value": )([0-9.]+)', _scaled(0.9 + 0.2 * perplexity), text)
    text = text.replace("262116", str(262116 - rng.randrange(2000)))
    text = text.replace(": 22920", f": {22920 - rng.randrange(300)}")
    text = text.replace("dflash-kquant", f"dflash-kquant-{number}")
    return text.replace("Muse Glimmer 30B", f"Muse Glimmer {number} 30B")


def _scaled(factor: float) -> Callable[[re.Match[str]], str]:
    """The number behind a name, times a factor, with as many decimals."""

    def scaled(match: re.Match[str]) -> str:
        decimals = len(match[2].partition(".")[2])
        return f"{match[1]}{float(match[2]) * factor:.{decimals}f}"

    return scaled


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
    print("| CPU time of | benchlint | peer | its time | ratio |\n|---|---|---|---|---|")
    if asked.files:
        many_reports(asked.files, asked.runs)
        return
    one_report()
    many_reports(10_000, asked.runs)
    with tempfile.TemporaryDirectory() as name:
        memory(Path(name), [10_000, 100_000])


if __name__ == "__main__":
    main()
