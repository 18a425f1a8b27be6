"""The folder of a run: what lies in it already, and the journal that is measured into.

What was measured is never mixed with something else, and no file that a run did not write is
replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from benchlint.checker.errors import CannotRunError
from benchlint.reproducers.journal import (
    ANOTHER,
    Header,
    Journal,
    JournalError,
    Planned,
    ReportText,
    Writer,
    begin_again,
    create,
    read,
    resume,
)
from benchlint.reproducers.verdict_files import SAMPLES


def refuse_what_is_there(
    folder: Path, report: ReportText | None, results: Mapping[str, bytes | None], *, go_on: bool
) -> None:
    """Raise CannotRunError where a run in the folder would mix with or replace what lies there.

    report: the one that is run again; None where arms of the user's are measured. results: the
    files that the run writes, with what it writes where that is known by now. go_on: whether
    somebody wants to go on with a run.
    """
    if folder.exists() and not folder.is_dir():
        raise CannotRunError(f"{folder} is no folder: {ANOTHER}")
    path = folder / SAMPLES
    if path.exists():
        if journal_of(path, report).has_answers and not go_on:
            raise CannotRunError(f"{path} exists: --resume goes on with it, {ANOTHER}")
        return
    for name, data in results.items():
        if _is_another(folder / name, data):
            words = f"exists, is of no run in {folder} and would be replaced"
            raise CannotRunError(f"{folder / name} {words}: {ANOTHER}")


def _is_another(path: Path, data: bytes | None) -> bool:
    """Whether there is a file, and not the very one that would be written."""
    return path.exists() and not (path.is_file() and path.read_bytes() == data)


def make_folder(folder: Path) -> None:
    """Make the folder where it is not there. Raises CannotRunError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRunError(f"{folder} cannot be made: {error.strerror}: {ANOTHER}") from None


def journal_of(path: Path, report: ReportText | None) -> Journal:
    """What a journal holds. Raises CannotRunError where it is damaged or of something else.

    report: as of `refuse_what_is_there`.
    """
    try:
        journal = read(path)
    except JournalError as error:
        raise CannotRunError(f"{error}: {ANOTHER}") from None
    found = journal.planned
    if found is not None and (whose := _whose(found.report, report)):
        raise CannotRunError(f"{path} is of {whose}: {ANOTHER}")
    return journal


def _whose(found: ReportText | None, report: ReportText | None) -> str:
    """What else a journal is of; "" where it is of this report, or of no report as this is."""
    if found is None or report is None:
        of = "`benchlint measure`" if found is None else "`benchlint reproduce`"
        return "" if found is report else of
    if found.text == report.text:
        return ""
    return f"another report ({found.name}), or of this one before it was changed"


def journal_for(
    path: Path,
    header: Header,
    record: Planned,
    secrets: Collection[str],
    notice: Callable[[str], None],
    *,
    go_on: bool,
) -> Writer:
    """A journal to measure into: a new one, or the one that is there with `go_on`.

    One without any answer is begun again: whoever mends what kept the engine from answering can
    give the same command once more, or a better one. notice: told in a line what was dropped, or
    that there is none to go on with. Raises JournalError.
    """
    is_there = path.exists()
    if is_there and not read(path).has_answers:
        return begin_again(path, header, secrets, planned=record)
    if not is_there or not go_on:
        if go_on:
            notice(f"{path.parent} has no run to go on with: a new one begins")
        return create(path, header, secrets, planned=record)
    _refuse_other_plan(path, record)
    writer, journal = resume(path, header, secrets, planned=record)
    if journal.warning:
        notice(journal.warning)
    return writer


def _refuse_other_plan(path: Path, record: Planned) -> None:
    """Raise JournalError where a journal was begun with other options or another engine."""
    found = read(path).planned
    if found is None or found.plan == record.plan:
        return
    # Without addresses and folders, which stand in no journal.
    begun = f" ({found.repeat[0]})" if found.repeat else ""
    what = f"was begun with other options or another engine{begun}"
    raise JournalError(f"{path} {what}: give the same ones, or {ANOTHER}")
