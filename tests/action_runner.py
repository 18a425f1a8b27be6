"""A stand-in for the runner of GitHub Actions: it runs the `run:` blocks of action.yml.

It knows as much of the runner as a composite action needs: `env:` with expressions of the
contexts inputs, steps, github and runner; `if:` with one comparison; GITHUB_OUTPUT and
GITHUB_STEP_SUMMARY; and it stops at the first step that fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
_EXPRESSION = re.compile(r"\$\{\{\s*([^}]+?)\s*\}\}")


@dataclass
class JobRun:
    """What one run of the action came to."""

    log: str = ""
    exit_code: int = 0
    summary: str = ""
    steps: dict[str, dict[str, str]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    results: Path = Path()


@dataclass
class ActionRunner:
    """A job on a checkout. event: of the pull request; source: where the action lies."""

    workspace: Path
    temporary: Path
    event: Mapping[str, object]
    event_name: str = "pull_request"
    source: Path = ROOT
    action: Path = ROOT / "action.yml"
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, inputs: Mapping[str, str] | None = None, skip: tuple[str, ...] = ()) -> JobRun:
        """Run all steps but those that are skipped by name."""
        action = yaml.safe_load(self.action.read_text("utf-8"))
        given = {n: str(i.get("default", "")) for n, i in action["inputs"].items()}
        contexts = {"inputs": {**given, **(inputs or {})}}
        job = JobRun(results=self.temporary / "benchlint")
        for step in action["runs"]["steps"]:
            if step["name"] not in skip and self._wanted(step, contexts, job):
                self._step(step, contexts, job)
            if job.exit_code:
                break
        job.outputs = {
            name: self._filled(each["value"], contexts, job)
            for name, each in action.get("outputs", {}).items()
        }
        return job

    def _wanted(self, step: dict[str, str], contexts: Mapping[str, object], job: JobRun) -> bool:
        if "if" not in step:
            return True
        left, _, right = step["if"].partition(" == ")
        return self._value(left, contexts, job) == right.strip("'")

    def _step(self, step: dict[str, object], contexts: Mapping[str, object], job: JobRun) -> None:
        assert step["shell"] == "bash"
        assert "${{" not in str(step["run"]), "an input in a script can run commands"
        own = step.get("env", {})
        assert isinstance(own, dict)
        files = {name: self.temporary / name for name in ("output", "summary")}
        for file in files.values():
            file.write_text("")
        environment = {
            **os.environ,
            **self._environment(files),
            **self.environment,
            **{name: self._filled(value, contexts, job) for name, value in own.items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", str(step["run"])]
        done = subprocess.run(
            command, cwd=self.workspace, env=environment, capture_output=True, text=True
        )
        job.ran.append(str(step["name"]))
        job.log += done.stdout + done.stderr
        job.exit_code = done.returncode
        job.summary += files["summary"].read_text("utf-8")
        lines = [line.partition("=") for line in files["output"].read_text("utf-8").splitlines()]
        job.steps[str(step.get("id"))] = {name: value for name, _, value in lines}

    def _environment(self, files: Mapping[str, Path]) -> dict[str, str]:
        event = self.temporary / "event.json"
        event.write_text(json.dumps(self.event))
        return {
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_REPOSITORY": "owner/repository",
            "GITHUB_RUN_ID": "5",
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "RUNNER_TEMP": str(self.temporary),
        }

    def _filled(self, text: str, contexts: Mapping[str, object], job: JobRun) -> str:
        return _EXPRESSION.sub(lambda m: self._value(m[1], contexts, job), str(text))

    def _value(self, expression: str, contexts: Mapping[str, object], job: JobRun) -> str:
        known = {"github.token": "", "github.action_path": str(self.source)}
        if expression in known:
            return known[expression]
        context, *names = expression.split(".")
        if context == "steps":
            return job.steps.get(names[0], {}).get(names[-1], "")
        values = contexts[context]
        assert isinstance(values, dict)
        return str(values[".".join(names)])
