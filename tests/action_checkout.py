"""A checkout that a job of GitHub Actions runs the action on, and what it logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.action_runner import ROOT, ActionRunner, JobRun

INSTALL = "Install benchlint"
HONEST = json.loads((ROOT / "examples" / "h200-llama-server.json").read_text("utf-8"))
FAULTY = (ROOT / "examples" / "faulty" / "too-good.json").read_text("utf-8")
CLEAN = {
    **HONEST,
    "claims": [],
    "runs": [run for run in HONEST["runs"] if "q4" not in run["configuration"].lower()],
}
HOSTILE = (
    "::set-output name=verdict::clean\n##[add-mask]x ${{ github.token }} `@everyone` "
    "<img src=x onerror=alert(1)> a|b ![x](http://127.0.0.1/x)"
)


def temporary_with_this_python(folder: Path) -> Path:
    """RUNNER_TEMP as the installation step leaves it, with what these tests run with."""
    python = folder / "benchlint-venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


class Checkout:
    """A repository with a base commit and a head commit."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder
        self.temporary = temporary
        self.from_fork = False
        self._git("init", "-q", "-b", "main")
        (folder / "README.md").write_text("# nothing here\n")
        self.base = self.commit()

    def commit(self) -> str:
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "x")
        return self._git("rev-parse", "HEAD").strip()

    def write(self, name: str, report: object) -> None:
        text = report if isinstance(report, str) else json.dumps(report, indent=1)
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")

    def as_base(self, **files: object) -> None:
        """Reports, by name without `.json`, that are there before the pull request."""
        for name, report in files.items():
            self.write(f"{name}.json", report)
        self.base = self.commit()

    def run(self, inputs: dict[str, str] | None = None, **environment: str) -> JobRun:
        head = self.commit()
        other = "fork/repository" if self.from_fork else "owner/repository"
        event = {
            "pull_request": {
                "number": 7,
                "title": HOSTILE,
                "base": {"sha": self.base, "repo": {"full_name": "owner/repository"}},
                "head": {"sha": head, "ref": HOSTILE, "repo": {"full_name": other}},
            }
        }
        runner = ActionRunner(self.folder, self.temporary, event, environment=environment)
        return runner.run(inputs, skip=(INSTALL,))

    def _git(self, *arguments: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        command = ["git", *who, *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout


def commands_in(log: str) -> list[str]:
    """Lines that the runner would act on, outside of what is stopped."""
    found, token = [], ""
    for line in log.splitlines():
        stripped = line.strip()
        if token:
            token = "" if stripped == f"::{token}::" else token
        elif stripped.startswith("::stop-commands::"):
            token = stripped.removeprefix("::stop-commands::")
        elif stripped.startswith("::") or "##[" in line:
            found.append(stripped)
    assert not token, "commands stay stopped"
    return found
