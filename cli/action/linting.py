"""The step that lints: which reports, what is found in them, and what changed in them."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlint.action.changed_files import Change, GitError, Repository, repository_of
from benchlint.action.environment import Runner
from benchlint.action.outcome import ChangedReport, CheckedFile, Outcome
from benchlint.check_run import Options, run
from benchlint.checker.compare import Comparison, compare
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import STDIN, SUFFIXES, absolute, find, looks_like_report
from benchlint.checker.one_report import read_one
from benchlint.checker.reading import reports
from benchlint.checker.settings import Overrides, SettingsFinder

#: A report over this size is checked but not compared with the one before it, in bytes.
COMPARED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the workflow says; "" where an input was not given.

    paths: files, folders or globs; none for the reports that the pull request changes, or all
    reports where there is no base.
    """

    paths: tuple[str, ...] = ()
    profile: str = ""
    config: str = ""
    fail_on: str = ""
    baseline: str = ""


def inputs_of(environment: Mapping[str, str] = os.environ) -> Inputs:
    """The inputs of the action, which it passes on in its environment."""
    given = {name: environment.get(f"BENCHLINT_{name.upper()}", "").strip() for name in _INPUTS}
    paths = environment.get("BENCHLINT_PATHS", "").splitlines()
    return Inputs(tuple(path.strip() for path in paths if path.strip()), **given)


_INPUTS = ("profile", "config", "fail_on", "baseline")


@dataclass(frozen=True, slots=True)
class Base:
    """What the checkout is held against, asked of git once.

    repository: None where there is no base. changes: files that differ from it. failure: what
    git said where it could not tell.
    """

    repository: Repository | None = None
    changes: tuple[Change, ...] = ()
    failure: str = ""

    def new_lines(self, path: str) -> frozenset[int]:
        """Numbers of the lines of a file that are new; none where there is no base."""
        if self.repository is None:
            return frozenset()
        old = next((each.old for each in self.changes if each.path == path), None)
        return self.repository.new_lines(path, old)


def base_of(runner: Runner) -> Base:
    """The base of a pull request or a push."""
    try:
        repository = repository_of(runner)
        changes = () if repository is None else tuple(repository.changes())
    except GitError as error:
        return Base(failure=str(error))
    return Base(repository, changes)


def lint(runner: Runner, inputs: Inputs, base: Base) -> Outcome:
    """Check the reports, and write the pages beside the data. Raises CannotRunError."""
    runner.results.mkdir(parents=True, exist_ok=True)
    os.chdir(runner.workspace)  # paths are shown, and placed in SARIF, as seen from there
    scope = _scope(runner, inputs, base)
    checked, failed = _checked(scope.paths, runner, inputs)
    found = {os.path.normpath(file.path) for file in checked}
    kept = [each for each in scope.changes if not each.deleted and each.path in found]
    return Outcome(
        scope="changed" if scope.changed_only else "all",
        failed=failed,
        reports=len(found),
        files=checked,
        changed=list(_compared(kept, base.repository)),
        deleted=[each.path for each in scope.changes if each.deleted],
        notices=list(scope.notices),
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is to be checked. changes: those that are compared with the base, if checked."""

    paths: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    changed_only: bool = False
    notices: tuple[str, ...] = ()


def _scope(runner: Runner, inputs: Inputs, base: Base) -> _Scope:
    repository = base.repository
    if inputs.paths or repository is None:
        notices = () if inputs.paths else _no_base(runner, base)
        paths, outside = _inside(inputs.paths or (".",), runner.workspace, inputs)
        changes = tuple(each for each in base.changes if not each.deleted)
        return _Scope(paths, changes, notices=(*notices, *outside))
    reports = tuple(c for c in base.changes if _is_report(c, repository, inputs))
    paths = tuple(named(change.path) for change in reports if not change.deleted)
    return _Scope(paths, reports, changed_only=True)


def _inside(
    paths: tuple[str, ...], workspace: Path, inputs: Inputs
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths without links that lead out of the checkout, and what to say of those."""
    found = [each.path for each in find(paths, _finder(inputs).for_folder)]
    outside = [path for path in found if _leads_out(path, workspace)]
    if not outside:
        return paths, ()
    first = outside[0] + (f" and {len(outside) - 1:,} more" if outside[1:] else "")
    inside = [path for path in found if path not in set(outside)]
    return tuple(inside), (f"a link that leads out of the checkout is not followed: {first}",)


def _leads_out(path: str, workspace: Path) -> bool:
    """Whether a link in the checkout, which the pull request may bring, leads to files elsewhere.

    A path that the workflow names elsewhere is its own choice.
    """
    named_in = _lies_in(absolute(path), absolute(str(workspace)))
    return named_in and not _lies_in(os.path.realpath(path), os.path.realpath(workspace))


def _lies_in(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _finder(inputs: Inputs) -> SettingsFinder:
    return SettingsFinder(Overrides(), inputs.config or None)


def named(path: str) -> str:
    """The path of a file so that it is no name for standard input."""
    return f"./{path}" if path == STDIN else path


def _no_base(runner: Runner, base: Base) -> tuple[str, ...]:
    if base.failure:
        return (f"git: {base.failure}; all reports are checked",)
    if runner.pull_request is None:
        return ()
    return ("the commit that the pull request is based on cannot be had; all reports are checked",)


def _is_report(change: Change, repository: Repository, inputs: Inputs) -> bool:
    """Whether a changed file is one that a search of the checkout would take."""
    if not change.path.endswith(SUFFIXES):
        return False
    if not change.deleted:
        return _would_be_found(change.path, inputs)
    text = repository.at_base(change.path, COMPARED_BYTES)
    with _AsFile(text or b"", change.path) as copy:
        return text is not None and looks_like_report(copy)


def _would_be_found(path: str, inputs: Inputs) -> bool:
    """By the configuration too; a link is not followed, since it may lead out of the checkout."""
    folder = os.path.dirname(path)  # noqa: PTH120 - names are hostile: a Path may raise
    rules = _finder(inputs).for_folder(folder)
    if os.path.islink(path) or rules.exclude.match(path):  # noqa: PTH114
        return False
    if rules.include:
        return rules.include.match(path)
    return looks_like_report(named(path)) or _holds_results(named(path))


def _holds_results(path: str) -> bool:
    """Whether there are results of another tool in it, or tables of them on a page."""
    with contextlib.suppress(CannotRunError):
        found = reports(path, limit_bytes=COMPARED_BYTES)
        return any(parsed.report is not None for parsed in found)
    return False


class _AsFile:
    """A file of these bytes, with the ending of a name, while the block runs."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._suffix = Path(name).suffix

    def __enter__(self) -> str:
        descriptor, self._path = tempfile.mkstemp(suffix=self._suffix)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self._data)
        return self._path

    def __exit__(self, *_: object) -> None:
        Path(self._path).unlink()


# Checking


def _checked(
    paths: Sequence[str], runner: Runner, inputs: Inputs
) -> tuple[list[CheckedFile], bool]:
    """The findings, and whether any is at or over fail-on."""
    if not _any_file(paths, inputs):
        return [], False
    data = runner.results / "findings.json"
    files = {"json": data, "sarif": runner.sarif, "html": runner.page}
    failed = run(
        Options(
            paths=tuple(paths),
            formats=tuple(f"{name}={path}" for name, path in files.items()),
            profile=inputs.profile or None,
            config=inputs.config or None,
            fail_on=inputs.fail_on or None,
            baseline=inputs.baseline or None,
            color="never",
        )
    )
    entries = json.loads(data.read_bytes())["files"]
    found = [CheckedFile.model_validate_json(json.dumps(entry)) for entry in entries]
    return found, bool(failed)


def _any_file(paths: Sequence[str], inputs: Inputs) -> bool:
    return next(find(paths, _finder(inputs).for_folder), None) is not None


# Comparing


def _compared(changes: Sequence[Change], repository: Repository | None) -> Iterator[ChangedReport]:
    for change in changes:
        if change.old is not None and repository is not None:
            yield _changed(change, change.old, repository)


def _changed(change: Change, old: str, repository: Repository) -> ChangedReport:
    before = repository.at_base(old, COMPARED_BYTES)
    if before is None:
        return ChangedReport(path=change.path, old=old, note="it was no file that can be compared")
    try:
        with _AsFile(before, old) as copy:
            comparison = _comparison(copy, change.path)
    except CannotRunError as error:
        note = str(error).partition(": ")[2] or str(error)
        return ChangedReport(path=change.path, old=old, note=note)
    return ChangedReport(path=change.path, old=old, comparison=comparison)


def _comparison(old: str, new: str) -> Comparison:
    before, after = (read_one(path, limit_bytes=COMPARED_BYTES) for path in (old, named(new)))
    return compare(before.facts, after.facts, before.findings, after.findings)
