"""Reports are checked a few at a time, and none of them feels its neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlint.checker import runner
from benchlint.checker.check import check_tree, check_trees
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import Found
from benchlint.checker.runner import Checked, Checker, Job
from tests.simulator import honest_report

BAD = "the bad one"


@pytest.fixture
def files(tmp_path: Path) -> list[Found]:
    """Two batches and a half of reports."""
    for i in range(20):
        (tmp_path / f"{i:02}.json").write_text(json.dumps({"benchlint": "1", "title": str(i)}))
    return [Found(str(path), named=True) for path in sorted(tmp_path.iterdir())]


@pytest.fixture
def bad(files: list[Found], monkeypatch: pytest.MonkeyPatch) -> Found:
    """A file in the middle of a batch, over which the rules fail."""
    Path(files[11].path).write_text(json.dumps({"benchlint": "1", "title": BAD}))

    def fail(trees: list[dict[str, str]], *, brief: bool) -> list[list[object]]:  # noqa: ARG001
        if any(tree["title"] == BAD for tree in trees):
            raise ZeroDivisionError
        return [[] for _ in trees]

    monkeypatch.setattr(runner, "check_trees", fail)
    return files[11]


def test_each_report_has_the_findings_it_has_alone() -> None:
    trees = [json.loads(honest_report(seed)) for seed in range(12)]
    assert check_trees(trees) == [check_tree(tree) for tree in trees]
    assert check_trees([]) == []


def test_an_error_comes_after_the_results_of_the_files_before(
    files: list[Found], bad: Found
) -> None:
    done: list[Checked] = []
    with pytest.raises(CannotRunError, match="failed on this file"):
        done.extend(Checker(Job(search=False)).check_all(files))
    assert [each.result.path for each in done] == [f.path for f in files[: files.index(bad)]]


def test_the_file_of_an_error_is_named(files: list[Found], bad: Found) -> None:
    with pytest.raises(CannotRunError) as caught:
        list(Checker(Job(search=False)).check_all(files))
    assert str(caught.value).startswith(f"{bad.path}: ")


def test_files_before_one_that_cannot_be_found_are_checked(files: list[Found]) -> None:
    def found() -> Iterator[Found]:
        yield from files[:3]
        raise CannotRunError("no further")

    done: list[Checked] = []
    with pytest.raises(CannotRunError, match="no further"):
        done.extend(Checker(Job(search=False)).check_all(found()))
    assert len(done) == 3


def test_large_reports_are_checked_alone(
    tmp_path: Path, files: list[Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(trees: list[object], *, brief: bool) -> list[list[object]]:  # noqa: ARG001
        sizes.append(len(trees))
        return [[] for _ in trees]

    monkeypatch.setattr(runner, "check_trees", counted)
    notes = "x" * 70_000
    for i in range(3):
        (tmp_path / f"{i:02}.json").write_text(json.dumps({"benchlint": "1", "notes": notes}))
    list(Checker(Job(search=False)).check_all(files))
    assert sizes == [1, 1, 1, 8, 8, 1]
