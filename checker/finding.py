"""What a check says: findings, where they point, and how severe they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding weighs.

    ERROR: contradictory or impossible under every reading that what is stated allows.
    WARNING: true only under an unusual condition, or known to mislead.
    NOTE: missing or ambiguous.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    #: Findings are counted by it, and Enum's own hash is a function in Python.
    __hash__ = str.__hash__

    @property
    def rank(self) -> int:
        """3 for an error, 2 for a warning, 1 for a note."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 3, Severity.WARNING: 2, Severity.NOTE: 1}

# Nobody changes a finding; but a frozen dataclass takes three times as long to make.


@dataclass(slots=True, unsafe_hash=True)
class Location:
    """A place in a file. Lines and columns count from 1, columns in characters.

    `excerpt` is the source line, cut to a window when it is long; `excerpt_column` is where
    the marked text starts in the excerpt (from 1). Both come from the file and are hostile:
    escape them before they are shown.
    """

    line: int
    column: int
    end_column: int
    excerpt: str = ""
    excerpt_column: int = 1


@dataclass(slots=True, unsafe_hash=True)
class Related:
    """Another number that the arithmetic of a finding used, with what it is."""

    pointer: str
    message: str
    location: Location | None = None


@dataclass(slots=True, unsafe_hash=True)
class Finding:
    """One thing wrong with one file.

    `pointer` is a JSON Pointer (RFC 6901) into the report, or to the nearest place that
    exists when something is missing. `subject` is the pointer of what is judged (a run, a
    claim): findings about the same fault of one subject displace each other by `yields_to`.
    `at_key` asks for the position of the member's name rather than its value.
    """

    code: str
    name: str
    severity: Severity
    message: str
    pointer: str = ""
    related: tuple[Related, ...] = ()
    help: str = ""
    subject: str = ""
    at_key: bool = False
    location: Location | None = None

    def placed(self, location: Location, related: tuple[Related, ...]) -> Finding:
        """This finding with its place, and its related numbers with theirs.

        Every finding is placed; `dataclasses.replace` takes three times as long.
        """
        return Finding(
            self.code,
            self.name,
            self.severity,
            self.message,
            self.pointer,
            related,
            self.help,
            self.subject,
            self.at_key,
            location,
        )


@dataclass(slots=True, unsafe_hash=True)
class FileResult:
    """All findings of one file (or one report of a file that holds several).

    fixable: how many values --fix would write.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    suppressed: int = 0
    fixable: int = 0

    @property
    def worst(self) -> Severity | None:
        """The highest severity found, or None for a clean file."""
        return max((f.severity for f in self.findings), key=lambda s: s.rank, default=None)
