"""A process that checks files: in order, and gone when its parent is."""

from __future__ import annotations

import json
import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlint.checker import worker as workers
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import Found
from benchlint.checker.runner import Job
from benchlint.checker.settings import Overrides
from benchlint.checker.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker(Job(search=False))
    yield found
    found.end()


def found(tmp_path: Path, name: str, tree: object) -> Found:
    (tmp_path / name).write_text(json.dumps(tree))
    return Found(str(tmp_path / name), named=True)


def test_chunks_are_checked_in_the_order_they_are_sent(tmp_path: Path, worker: Worker) -> None:
    files = [found(tmp_path, f"{i}.json", {"benchlint": "1", f"x{i}": 1}) for i in range(4)]
    worker.send(files[:1]).send(files[1:]).send([])
    assert [[c.result.path for c in worker.results()] for _ in range(3)] == [
        [files[0].path],
        [file.path for file in files[1:]],
        [],
    ]


def test_more_than_a_pipe_holds_is_sent_without_waiting(tmp_path: Path, worker: Worker) -> None:
    tree = {"benchlint": "1", **{f"x{i}": 1 for i in range(500)}}
    chunk = [found(tmp_path, "a.json", tree)] * 4
    for _ in range(8):
        worker.send([*chunk, *(Found("x" * 4_000, named=True) for _ in range(30))])
    for _ in range(8):
        assert len(worker.results()) == 34


def test_what_cannot_be_done_is_raised_where_the_results_are_asked_for(tmp_path: Path) -> None:
    worker = Worker(Job(Overrides(schema="absent.json"), search=False))
    worker.send([found(tmp_path, "a.json", {"benchlint": "1"})])
    with pytest.raises(CannotRunError, match="No such file"):
        worker.results()
    worker.end()


def test_an_error_of_any_kind_comes_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OddError(Exception):  # cannot be read where it is not known
        pass

    def fail(*_: object, **__: object) -> None:
        raise OddError("odd")

    monkeypatch.setattr("benchlint.checker.runner.check_trees", fail)
    if multiprocessing.get_start_method() != "fork":
        pytest.skip("a new interpreter has no patch")
    worker = Worker(Job(search=False, debug=True))
    worker.send([found(tmp_path, "a.json", {"benchlint": "1"})])
    with pytest.raises(RuntimeError, match="OddError: odd") as caught:
        worker.results()
    assert "in fail" in "".join(caught.value.__notes__)
    worker.end()


def test_a_killed_process_is_told(worker: Worker) -> None:
    worker.end()
    with pytest.raises(CannotRunError, match="a process was killed"):
        worker.results()


def test_a_system_without_room_for_a_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(workers, "Pipe", refuse)
    with pytest.raises(CannotRunError, match="no further process: Too many open files; try"):
        Worker(Job())


_PARENT = """
import os, signal, sys
from benchlint.checker.runner import Job
from benchlint.checker.worker import Worker

if __name__ == "__main__":
    ours = [Worker(Job()), Worker(Job())]
    for each in ours:
        each.send([]).results()
    print("started", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_processes_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(_PARENT)
    process = subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE)
    # Whoever still runs holds the output open, so that reading to its end waits for all.
    assert process.communicate(timeout=60) == (b"started\n", None)
    assert process.returncode == -signal.SIGKILL
