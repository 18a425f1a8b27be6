"""The step that runs changed reports again, on a runner that has the models or an endpoint.

Engines, models and addresses come from the workflow alone: a report, which is whatever the pull
request says, is only ever the file that `benchlint reproduce` is given to read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchlint.action.environment import Runner
from benchlint.action.outcome import RERUN_OUTCOMES, CheckedFile, Outcome, Rerun
from benchlint.checker.errors import CannotRunError
from benchlint.ending import say

_COMMAND = (sys.executable, "-P", "-m", "benchlint", "reproduce")


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
    paths = dict.fromkeys(file.path for file in outcome.files if _can_be_run(file))
    found = [
        _rerun(path, runner.results / f"verdict-{number}", arguments, runner.workspace)
        for number, path in enumerate(paths, 1)
    ]
    return outcome.model_copy(update={"reruns": found})


def _can_be_run(file: CheckedFile) -> bool:
    """Whether the file could be read as a report (BL001 says that it could not)."""
    return not any(each.code == "BL001" for each in file.findings)


def _rerun(path: str, out: Path, arguments: Sequence[str], workspace: Path) -> Rerun:
    command = [*_COMMAND, f"--out={out}", *arguments, "--", path]
    done = subprocess.run(  # noqa: S603
        command, cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
    )
    if done.returncode not in (0, 1, 3):
        note = "it could not be run; the log says why"
        return Rerun(path=path, outcome="failed", note=note)
    return _verdict(path, out / "verdict.json")


def _verdict(path: str, file: Path) -> Rerun:
    try:
        data = json.loads(file.read_bytes())
        counts = {name: data["counts"][name] for name in RERUN_OUTCOMES}
        return Rerun.model_validate({"path": path, "outcome": data["outcome"], "counts": counts})
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"{file}: {error}")
        return Rerun(path=path, outcome="failed", note="it left no verdict")
