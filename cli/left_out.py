"""That a table or a comparison lacks what a report says in another form than the format's."""

from __future__ import annotations

from benchlint.checker.formats.base import plural
from benchlint.checker.one_report import OneReport, called
from benchlint.ending import say


def say_left_out(path: str, report: OneReport) -> None:
    """Say how many members of a report were not understood, if any. path: "-" is stdin."""
    if report.left_out:
        members = plural(report.left_out, "member")
        say(
            f"{called(path)} is taken without {members} that the format does not allow; "
            "`benchlint check` says which"
        )
