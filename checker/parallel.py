"""Many files over several processes, their results in the order of the files."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from typing import TYPE_CHECKING

from benchlint.checker.document import LINE_SUFFIXES
from benchlint.checker.files import STDIN, Found
from benchlint.checker.runner import Checked, Checker, Job

if TYPE_CHECKING:
    from benchlint.checker.worker import Worker

#: So many files are checked before it pays to start processes for the rest.
SERIAL_FILES = 64

#: Files that a process is given at once.
CHUNK_FILES = 16

#: Chunks in flight for each process: results come in order, so some must wait.
_AHEAD = 4


def check_files(found: Iterable[Found], job: Job, jobs: int = 0) -> Iterator[Checked]:
    """The results of all files.

    jobs: how many processes; 0 takes one for each core, but none for a few files.
    Memory does not grow with the number of files. Raises CannotRunError, and OSError when a
    fix cannot be written.
    """
    files = iter(found)
    checker = Checker(job)
    serial = SERIAL_FILES if jobs == 0 else 0
    workers = jobs or cores()
    yield from checker.check_all(islice(files, serial) if workers > 1 else files)
    if workers > 1:
        yield from _by_processes(files, checker, job, workers)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _by_processes(
    files: Iterator[Found], checker: Checker, job: Job, count: int
) -> Iterator[Checked]:
    first = next(files, None)
    if first is None:
        return
    with _workers(job, count) as turn:
        waiting: deque[Worker] = deque()
        for chunk in _chunks(_chain(first, files)):
            if _is_stream(chunk[0]):  # not collected in a process: it may have no end
                yield from _results(waiting, 0)
                yield from checker.check(chunk[0])
            else:
                yield from _results(waiting, _AHEAD * count - 1)
                waiting.append(next(turn).send(chunk))
        yield from _results(waiting, 0)


def _chain(first: Found, rest: Iterator[Found]) -> Iterator[Found]:
    yield first
    yield from rest


def _chunks(files: Iterable[Found]) -> Iterator[list[Found]]:
    """The files in lists of a few; one that holds many reports in a list of its own."""
    chunk: list[Found] = []
    for each in files:
        if _is_stream(each):
            if chunk:
                yield chunk
            yield [each]
            chunk = []
            continue
        chunk.append(each)
        if len(chunk) == CHUNK_FILES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _is_stream(found: Found) -> bool:
    return found.path == STDIN or found.path.lower().endswith(LINE_SUFFIXES)


def _results(waiting: deque[Worker], left: int) -> Iterator[Checked]:
    """Results of the oldest chunks until only `left` of them are in flight."""
    while len(waiting) > left:
        yield from waiting.popleft().results()


@contextlib.contextmanager
def _workers(job: Job, count: int) -> Iterator[Iterator[Worker]]:
    """So many processes in turn, again and again; each is started when its first turn comes.

    They end with the block, whatever they are doing.
    """
    from benchlint.checker.worker import Worker  # not on the way of a few files

    workers: list[Worker] = []

    def turn() -> Iterator[Worker]:
        for _ in range(count):
            workers.append(Worker(job))
            yield workers[-1]
        yield from cycle(workers)

    try:
        yield turn()
    finally:
        for worker in workers:
            worker.end()
