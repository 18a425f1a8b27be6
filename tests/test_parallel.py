"""Files over several processes: in order, in bounds, and nothing left running."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import STDIN, Found
from benchlint.checker.parallel import CHUNK_FILES, _chunks, check_files
from benchlint.checker.runner import Job
from benchlint.checker.settings import Overrides


@pytest.fixture
def reports(tmp_path: Path) -> list[Found]:
    for i in range(100):
        (tmp_path / f"{i:03}.json").write_text(json.dumps({"benchlint": "1", "title": str(i)}))
    return [Found(str(path), named=True) for path in sorted(tmp_path.iterdir())]


@pytest.mark.parametrize("jobs", [0, 1, 3])
def test_results_come_in_the_order_of_the_files(reports: list[Found], jobs: int) -> None:
    results = check_files(reports, Job(search=False), jobs)
    assert [r.result.path for r in results] == [f.path for f in reports]


def test_files_are_taken_as_they_are_needed(reports: list[Found]) -> None:
    taken: list[Found] = []

    def counted() -> Iterator[Found]:
        for each in reports * 50:
            taken.append(each)
            yield each

    results = check_files(counted(), Job(search=False), jobs=2)
    next(results)
    results.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(taken) < 2_000


def test_no_process_stays_when_the_results_are_given_up(reports: list[Found]) -> None:
    results = check_files(reports * 20, Job(search=False), jobs=2)
    next(results)
    assert multiprocessing.active_children()
    results.close()  # type: ignore[attr-defined]  # it is a generator
    for process in multiprocessing.active_children():
        process.join(timeout=30)
    assert not multiprocessing.active_children()


def test_what_cannot_be_done_in_a_process_is_told(reports: list[Found]) -> None:
    job = Job(Overrides(schema="absent.json"), search=False)
    with pytest.raises(CannotRunError, match="No such file"):
        list(check_files(reports, job, jobs=2))


def test_files_with_many_reports_go_alone() -> None:
    found = [Found(f"{i}.json", named=True) for i in range(CHUNK_FILES + 2)]
    streams = [Found("a.jsonl", named=True), Found(STDIN, named=True)]
    chunks = list(_chunks([found[0], *streams, *found[1:]]))
    assert chunks == [
        [found[0]],
        [streams[0]],
        [streams[1]],
        found[1 : CHUNK_FILES + 1],
        [found[CHUNK_FILES + 1]],
    ]
    assert list(_chunks([])) == []
