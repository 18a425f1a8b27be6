"""The step that runs changed reports again, on a runner that has the models or an endpoint.

Engines, models and addresses come from the workflow alone: a report, which is whatever the pull
request says, is only ever the file that `benchlint reproduce` is given to read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from benchlint.action.environment import Runner
from benchlint.action.job_log import commands_stopped, write_log
from benchlint.action.linting import COMPARED_BYTES, Inputs, named
from benchlint.action.outcome import RERUN_OUTCOMES, CheckedFile, Outcome, Rerun, Ruling
from benchlint.checker.errors import CannotRunError
from benchlint.checker.one_report import read_one
from benchlint.checker.settings import NEVER, Overrides, SettingsFinder
from benchlint.ending import say

_COMMAND = (sys.executable, "-P", "-m", "benchlint", "reproduce")
_MOST_RULINGS = 200
_RULING = ("says", "outcome", "reason", "value", "tolerance", "units")


def arguments_of(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The options that the workflow gives, one a line. Raises CannotRunError."""
    lines = environment.get("BENCHLINT_ARGUMENTS", "").splitlines()
    found = tuple(line.strip() for line in lines if line.strip())
    for each in found:
        if not each.startswith("-"):
            raise CannotRunError(
                f"reproduce-arguments: {each!r} is no option; write one a line, --name=value"
            )
    return found


def rerun(runner: Runner, outcome: Outcome, arguments: Sequence[str]) -> Outcome:
    """Run each checked report again, one after the other, and add what came out."""
    os.chdir(runner.workspace)
    paths = dict.fromkeys(file.path for file in outcome.files if _could_be_read(file))
    found = [
        _rerun(path, out, arguments)
        for path, out in zip(paths, _new_folders(runner.verdicts), strict=False)
    ]
    return outcome.model_copy(update={"reruns": found})


def _new_folders(verdicts: Path) -> Iterator[Path]:
    """Folders 1, 2, …, but for those of an earlier step of the same job."""
    numbered = (verdicts / str(number) for number in count(1))
    return (folder for folder in numbered if not folder.exists())


def failing(reruns: Sequence[Rerun], inputs: Inputs) -> Iterator[Rerun]:
    """Those that fail the job: refuted or not to be run, unless `fail-on` is never for them."""
    finder = SettingsFinder(Overrides(fail_on=inputs.fail_on or None), inputs.config or None)
    for each in reruns:
        bad = each.outcome in ("refuted", "failed")
        if bad and finder.for_file(each.path).fail_on != NEVER:
            yield each


def _could_be_read(file: CheckedFile) -> bool:
    """Whether the file could be read as a report (BL001 says that it could not)."""
    return not any(each.code == "BL001" for each in file.findings)


def _rerun(path: str, out: Path, arguments: Sequence[str]) -> Rerun:
    try:
        read_one(named(path), limit_bytes=COMPARED_BYTES)
    except CannotRunError as error:
        return Rerun(path=path, outcome="not testable here", note=str(error))
    write_log(sys.stdout, [f"running {path} again"])
    command = [*_COMMAND, f"--out={out}", *arguments, "--", named(path)]
    with commands_stopped(sys.stdout):
        done = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode not in (0, 1, 3):
        # Not what it said: that may name an address which the log masks and a comment would not.
        note = "it could not be run; the log of 'Run the reports again' says why"
        return Rerun(path=path, outcome="failed", note=note)
    return _verdict(path, out / "verdict.json")


def _verdict(path: str, file: Path) -> Rerun:
    try:
        data = json.loads(file.read_bytes())
        values = {
            "path": path,
            "outcome": data["outcome"],
            "counts": {name: data["counts"][name] for name in RERUN_OUTCOMES},
            "rulings": list(_rulings(data)),
        }
        return Rerun.model_validate(values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"{file}: {error}")
        return Rerun(path=path, outcome="failed", note="it left no verdict")


def _rulings(verdict: Mapping[str, Any]) -> Iterator[Ruling]:
    """What came out of claims and then of numbers, the refuted ones first."""
    rulings = [
        Ruling.model_validate({"is_claim": kind == "claims", **{n: each[n] for n in _RULING}})
        for kind in ("claims", "numbers")
        for each in verdict[kind]
    ]
    yield from sorted(rulings, key=lambda each: each.outcome != "refuted")[:_MOST_RULINGS]
