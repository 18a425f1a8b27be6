"""What a run in CI found, as data: written by one step, read by the next.

A pull request from a fork is checked without any rights, and commented on by another workflow
that gets this file from it. Whoever opened the pull request can have written anything into it,
so it is read strictly and within limits, and every text in it is shown as text only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchlint.checker.compare import Comparison
from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import FileResult, Finding, Location, Related, Severity

#: Most bytes of such a file.
LIMIT_BYTES = 64 << 20

_Text = Annotated[str, Field(max_length=100_000)]
_Path = Annotated[str, Field(max_length=8_192)]
_Place = Annotated[int, Field(ge=1)] | None
_Count = Annotated[int, Field(ge=0)]

RerunOutcome = Literal["reproduced", "refuted", "inconclusive", "not testable here"]

Verdict = Literal["clean", "warnings", "errors", "nothing"]


class _Data(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", ser_json_inf_nan="constants")


class RelatedPlace(_Data):
    """Another number of a finding, as `check --format json` writes it."""

    pointer: _Text
    message: _Text
    line: _Place
    column: _Place

    def related(self) -> Related:
        """It as the checker has it."""
        return Related(self.pointer, self.message, _location(self.line, self.column, None))


class Found(_Data):
    """A finding, as `check --format json` writes it."""

    code: Annotated[str, Field(pattern=r"^BL[0-9]{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,80}$")]
    severity: Severity = Field(strict=False)
    message: _Text
    pointer: _Text
    line: _Place
    column: _Place
    end_column: _Place
    related: Annotated[list[RelatedPlace], Field(max_length=1_000)]
    help: _Text

    def finding(self) -> Finding:
        """It as the checker has it."""
        return Finding(
            self.code,
            self.name,
            self.severity,
            self.message,
            self.pointer,
            tuple(each.related() for each in self.related),
            self.help,
            location=_location(self.line, self.column, self.end_column),
        )


class CheckedFile(_Data):
    """The findings of one report."""

    path: _Path
    findings: list[Found]
    suppressed: _Count = 0

    def result(self) -> FileResult:
        """It as the checker has it."""
        findings = tuple(each.finding() for each in self.findings)
        return FileResult(self.path, findings, self.suppressed)


class ChangedReport(_Data):
    """A report that was there at the base, and what changed in it.

    note: why the two could not be compared, where there is no comparison.
    """

    path: _Path
    old: _Path
    comparison: Comparison | None = None
    note: _Text = ""


#: What a claim or a number can come out as, in the order in which they are counted.
RERUN_OUTCOMES: tuple[RerunOutcome, ...] = get_args(RerunOutcome)


class Ruling(_Data):
    """What came out of one claim or number, as verdict.json has it.

    says: what the report says. value: what was measured. tolerance: how far it may be off, a
    share. units: on how many rounds, or prompts, it rests.
    """

    is_claim: bool
    says: _Text
    outcome: RerunOutcome
    reason: _Text
    value: float | None
    tolerance: float | None
    units: _Count


class Rerun(_Data):
    """What `benchlint reproduce` said of a report: how many numbers and claims came out how.

    failed: it could not be run. note: why there is no verdict.
    """

    path: _Path
    outcome: RerunOutcome | Literal["failed"]
    counts: dict[RerunOutcome, _Count] = {}
    rulings: Annotated[list[Ruling], Field(max_length=1_000)] = []
    note: _Text = ""


class Outcome(_Data):
    """Everything that one run of the action found.

    scope: whether all reports were looked at, or those that the pull request changes.
    failed: whether something is at or over fail-on. notices: what a reader should know of the
    run itself.
    """

    version: Literal["1"] = "1"
    scope: Literal["changed", "all"]
    failed: bool
    reports: _Count
    files: list[CheckedFile]
    changed: list[ChangedReport] = []
    deleted: list[_Path] = []
    reruns: list[Rerun] = []
    notices: Annotated[list[_Text], Field(max_length=100)] = []

    def count(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return sum(each.severity is severity for file in self.files for each in file.findings)

    @property
    def verdict(self) -> Verdict:
        """One word."""
        if self.count(Severity.ERROR):
            return "errors"
        if self.count(Severity.WARNING):
            return "warnings"
        return "clean" if self.reports else "nothing"


def write(outcome: Outcome, path: Path) -> None:
    """Write the data. Raises OSError."""
    from benchlint.checker import atomic

    atomic.write(str(path), outcome.model_dump_json().encode("utf-8", "replace"))


def read(path: Path) -> Outcome:
    """The data, whoever wrote it. Raises CannotRunError where it is not what it should be."""
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise CannotRunError(f"no result to read: {error.strerror}") from None
    if len(data) > LIMIT_BYTES:
        raise CannotRunError(f"the result is over {LIMIT_BYTES >> 20} MiB")
    try:
        return Outcome.model_validate_json(data)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise CannotRunError(
            f"the result is not of the format (at {where or 'its start'})"
        ) from None


def _location(line: int | None, column: int | None, end: int | None) -> Location | None:
    return None if line is None or column is None else Location(line, column, end or column + 1)
