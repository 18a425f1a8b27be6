"""Questions at a terminal for what no measurement tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchlint import asking
from benchlint.app import app
from tests.test_measure_command import measure_scripted

QUESTIONS = "what only you know"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which drafter, device, KV-cache types and more are not known."""
    folder = tmp_path_factory.mktemp("asked") / "out"
    ran = measure_scripted(folder)
    assert ran.code == 0, ran.err
    assert QUESTIONS not in ran.err, "nobody sits at a pipe"
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """A copy of that run."""
    for path in measured.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def ask(folder: Path, typed: str, *arguments: str) -> tuple[Result, dict[str, Any]]:
    """The report again, with answers."""
    command = ("measure", "--resume", "--out", str(folder), *arguments)
    done = CliRunner().invoke(app, command, input=typed)
    assert done.exit_code == 0, done.output
    return done, json.loads((folder / "report.json").read_text("utf-8"))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "can_ask", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_what_is_answered_is_told_and_what_is_skipped_stays_absent(folder: Path) -> None:
    done, report = ask(folder, "tiny-draft\n\nNVIDIA L4\n")
    assert QUESTIONS in done.stderr
    assert "configurations.k4.drafter.model, for example " in done.stderr
    assert "wrote " in done.stderr.partition(QUESTIONS)[2]
    assert report["configurations"]["k4"]["drafter"]["model"] == "tiny-draft"
    assert "placement" not in report["configurations"]["k4"].get("draft_selection", {})
    assert report["machine"]["devices"] == [{"name": "NVIDIA L4"}]
    assert report["notes"] == [
        "Told by the author, not measured: configurations.k4.drafter.model, machine.devices.0.name"
    ]
    left = done.stderr.partition("still missing")[2]
    assert "--set configurations.k4.draft_selection.placement=gpu" in left
    assert "drafter.model" not in left


@pytest.mark.usefixtures("terminal")
def test_an_answer_that_cannot_be_is_asked_for_again(folder: Path) -> None:
    done, report = ask(folder, "6100\non the moon\ngpu\n")
    assert report["configurations"]["k4"]["drafter"]["model"] == "6100", "a text, not a number"
    assert report["configurations"]["k4"]["draft_selection"]["placement"] == "gpu"
    assert "should be one of 'gpu', 'cpu'" in done.stderr
    assert done.stderr.count("configurations.k4.draft_selection.placement, for example") == 2


@pytest.mark.usefixtures("terminal")
def test_what_only_measuring_gives_is_not_asked_for(folder: Path) -> None:
    done, _ = ask(folder, "")
    asked = done.stderr.partition(QUESTIONS)[2].partition("still missing")[0]
    assert "quality" not in asked
    assert "runs." not in asked


@pytest.mark.usefixtures("terminal")
def test_where_all_is_skipped_nothing_changes(folder: Path) -> None:
    before = [(folder / name).read_bytes() for name in ("report.json", "samples.jsonl")]
    ask(folder, "\n" * 50)
    assert [(folder / n).read_bytes() for n in ("report.json", "samples.jsonl")] == before


@pytest.mark.usefixtures("terminal")
def test_ctrl_c_ends_the_questions_and_keeps_the_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["tiny-draft"])

    def line(_: object) -> str:
        for each in lines:
            return each
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "_line", line)
    _, report = ask(folder, "")
    assert report["configurations"]["k4"]["drafter"]["model"] == "tiny-draft"


@pytest.mark.usefixtures("terminal")
def test_no_input_never_asks(folder: Path) -> None:
    done, _ = ask(folder, "tiny-draft\n", "--no-input")
    assert QUESTIONS not in done.stderr
    assert "--set configurations.k4.drafter.model=" in done.stderr


@pytest.mark.parametrize(("stdin", "stderr", "asks"), [(1, 1, True), (0, 1, False), (1, 0, False)])
def test_both_the_question_and_the_answer_need_a_terminal(
    stdin: bool, stderr: bool, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, is_terminal in (("stdin", stdin), ("stderr", stderr)):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda is_=is_terminal: bool(is_))
    assert asking.can_ask() is asks


def test_a_real_terminal(folder: Path) -> None:
    pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "benchlint", "measure", "--resume", "--out", str(folder)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        os.write(ours, b"tiny-draft\n\x04")
        shown = _read_to_the_end(ours)
    assert child.returncode == 0, shown
    assert QUESTIONS in shown
    assert "tiny-draft" in (folder / "report.json").read_text("utf-8")


def _read_to_the_end(terminal: int) -> str:
    """What a terminal shows until the program at its other side ends."""
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # Linux says so instead of an empty read
        pass
    os.close(terminal)
    return shown.decode("utf-8", "replace")
