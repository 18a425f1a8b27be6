"""A process that checks files for another one.

The standard library's pool of processes waits for ever when a process is killed while it hands
over a result, which every interrupt may do. Here each process has a pipe of its own, so that
what is cut off ends the reading.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import cast

from benchlint.checker.collector import collect_rarely
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import Found
from benchlint.checker.runner import Checked, Checker, Job

Chunk = list[Found]


class Worker:
    """A process that checks the chunks it is sent one after the other, in that order."""

    def __init__(self, job: Job) -> None:
        """Start the process. Raises CannotRunError where the system has no room for it."""
        try:
            self._start(job)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise CannotRunError(f"no further process: {reason}; try --jobs 1") from None

    def _start(self, job: Job) -> None:
        self._pipe, theirs = Pipe()
        self._process = Process(target=_work, args=(self._pipe, theirs, job), daemon=True)
        with _signals_later():
            self._process.start()
        theirs.close()

    def send(self, chunk: Chunk) -> Worker:
        """Hand over files to check, and give back this worker."""
        try:
            self._pipe.send(chunk)
        except OSError:
            raise CannotRunError(_KILLED) from None
        return self

    def results(self) -> list[Checked]:
        """The results of the oldest chunk that was sent. Raises what checking it raised."""
        try:
            found = cast("list[Checked] | Exception", self._pipe.recv())
        except (EOFError, OSError):
            raise CannotRunError(_KILLED) from None
        if isinstance(found, Exception):
            raise found
        return found

    def end(self) -> None:
        """End the process, whatever it is doing; half a second is for what it is writing."""
        self._process.terminate()
        self._process.join(0.5)
        self._process.kill()
        self._process.join()
        self._pipe.close()


_KILLED = "a process was killed, perhaps for want of memory; try --jobs 1"


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Keep signals back while a process starts, so that it gets none before it can take them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(parents: Connection, pipe: Connection, job: Job) -> None:
    """Runs in the new process. An interrupt reaches all; the parent deals with it."""
    parents.close()  # a copy of it, with which the end of the parent would go unnoticed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    collect_rarely()
    chunks: SimpleQueue[Chunk] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, chunks), daemon=True).start()
    checker = Checker(job)
    while True:
        found = _checked(checker, chunks.get())
        try:
            pipe.send(found)
        except OSError:
            os._exit(0)


def _receive(pipe: Connection, chunks: SimpleQueue[Chunk]) -> None:
    """Take all that is sent, so that the parent never waits; end this process with the parent."""
    try:
        while True:
            chunks.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)


def _checked(checker: Checker, chunk: Chunk) -> list[Checked] | Exception:
    try:
        return list(checker.check_all(chunk))
    except (CannotRunError, OSError, MemoryError) as error:
        return error
    except Exception as error:  # of any kind, which the parent may not know
        told = RuntimeError(f"{type(error).__name__}: {error}")
        told.add_note(traceback.format_exc())
        return told
