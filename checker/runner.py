"""From a file to its results: read, checked, selected, suppressed, located, in this order.

Results come one by one and nothing is kept that grows with their number, so that a JSON Lines
file of any size needs the memory of its longest line.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

from benchlint.checker.check import check_trees
from benchlint.checker.document import PAGE_SUFFIXES, Document, Parsed
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import STDIN, STDIN_NAME, Found, is_report
from benchlint.checker.finding import FileResult, Finding, Location
from benchlint.checker.formats.base import MISSING_FAMILY, Shown
from benchlint.checker.masking import masked
from benchlint.checker.named_pointers import PointerNames
from benchlint.checker.profiles import Profile, under_profile
from benchlint.checker.reading import reports
from benchlint.checker.registry import Problem
from benchlint.checker.settings import Overrides, Settings, SettingsFinder
from benchlint.checker.source import file_finding
from benchlint.checker.suppressions import suppress

if TYPE_CHECKING:
    from benchlint.checker.house_schema import HouseSchema


#: Rules whose findings --fix can end (see `fixes`).
_FIXED_CODES = frozenset({"BL208", "BL701"})


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of every file. Goes to other processes as it is.

    overrides, settings_file, search: see SettingsFinder.
    today: the day on which suppressions are asked whether they have expired.
    fix: write fixes into the files, or only show them as a diff.
    stdin_name: the name to show for standard input, and the path that its settings are for.
    tool: the importer to read every file with; "" for whichever knows it.
    debug: let an error inside benchlint keep its traceback.
    shown_of_missing: how much of what is missing is shown, and so worked out.
    """

    overrides: Overrides = field(default_factory=Overrides)
    settings_file: str | None = None
    search: bool = True
    today: date = date.min
    fix: Literal["", "write", "diff"] = ""
    stdin_name: str = STDIN_NAME
    tool: str = ""
    debug: bool = False
    shown_of_missing: Shown = Shown.ALL

    def settings_finder(self) -> SettingsFinder:
        """The settings for any file under this job."""
        return SettingsFinder(self.overrides, self.settings_file, search=self.search)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one report, and what the end of the run needs to know of it.

    names: the pointer of each finding, with ids in place of indices; where a baseline is used.
    asked, used: numbers of the suppressions that name the file, and of those that matched.
    only_fixed: no result, but what was done to the file before it is checked.
    fixed: how many values were fixed, or would be. diff: what fixing would change.
    notices: lines for the user that are no findings.
    is_nothing: the file is no benchmark result (BL014), so that nothing of it was checked.
    """

    result: FileResult
    names: tuple[str, ...] = ()
    asked: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()
    only_fixed: bool = False
    fixed: int = 0
    diff: str = ""
    notices: tuple[str, ...] = ()
    is_nothing: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """One report of a file as it was read, and the settings that hold for it."""

    found: Found
    parsed: Parsed
    settings: Settings


class Checker:
    """Checks files under one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._settings = job.settings_finder()
        self._schemas: dict[str, HouseSchema] = {}

    def check(self, found: Found) -> Iterator[Checked]:
        """The results of a file, as `check_all` has them."""
        return self.check_all([found])

    def check_all(self, files: Iterable[Found]) -> Iterator[Checked]:
        """The results of files: one each, or one for each line of a JSON Lines file.

        When fixing, a result without findings comes first for each file, and for a diff nothing
        else. Raises CannotRunError, and OSError when a fix cannot be written.
        """
        if not self._job.fix:
            yield from (checked for _, checked in self._check(files))
            return
        for found in files:
            with self._blaming(found):
                yield from self._fixed(found)
            if self._job.fix != "diff":
                yield from (checked for _, checked in self._check([found]))

    @contextlib.contextmanager
    def _blaming(self, found: Found) -> Iterator[None]:
        """An error inside benchlint says at which file it happened."""
        try:
            yield
        except (CannotRunError, OSError, MemoryError):
            raise
        except Exception as error:
            if self._job.debug:
                raise
            raise CannotRunError(_internal(found.path, error)) from error

    def _check(self, files: Iterable[Found]) -> Iterator[tuple[Parsed, Checked]]:
        """The reports of files with their results, a few of them at a time."""
        for batch in _batches(self._reports(files)):
            yield from self._results(batch)

    def _reports(self, files: Iterable[Found]) -> Iterator[_Read]:
        for found in files:
            with self._blaming(found):
                settings = self._settings.for_file(self._path(found))
                for parsed in self._parsed(found, settings):
                    if found.named or _is_meant(parsed):
                        yield _Read(found, parsed, settings)

    def _results(self, batch: Sequence[_Read]) -> Iterator[tuple[Parsed, Checked]]:
        """What becomes of a batch; an error ends it at its own report, not at its neighbours."""
        if len(batch) == 1:
            with self._blaming(batch[0].found):
                results = self._checked_all(batch)
        else:
            try:
                results = self._checked_all(batch)
            except Exception:  # of which report shows when each is alone
                for each in batch:
                    yield from self._results([each])
                return
        yield from zip((read.parsed for read in batch), results, strict=True)

    def _checked_all(self, batch: Sequence[_Read]) -> list[Checked]:
        return [self._checked(*each) for each in zip(batch, self._findings(batch), strict=True)]

    def _path(self, found: Found) -> str:
        return self._job.stdin_name if found.path == STDIN else found.path

    def _parsed(self, found: Found, settings: Settings) -> Iterable[Parsed]:
        if found.problem:
            finding = file_finding("BL013", Problem("", found.problem))
            return [Parsed(found.path, syntax=[finding])]
        stdin = sys.stdin.buffer if found.path == STDIN else None
        return reports(
            self._path(found), limit_bytes=settings.max_bytes, stdin=stdin, tool=self._job.tool
        )

    def _checked(self, read: _Read, found: Sequence[Finding]) -> Checked:
        parsed, settings = read.parsed, read.settings
        names = PointerNames(None if parsed.document is None else parsed.document.tree)
        wanted = _wanted(found, parsed.path, settings)
        left = suppress(wanted, parsed.path, names, settings.suppressions, self._job.today)
        kept = _in_order([self._located(finding, parsed.document) for finding in left.kept])
        kept = masked(kept, _secret_places(found, parsed.document))
        named = tuple(names.name(f.pointer) for f in kept) if settings.baseline else ()
        fixable = self._fixable(parsed.report, kept)
        result = FileResult(parsed.path, kept, left.count, fixable)
        # Of a file that could not be read nobody knows what would have matched.
        asked = left.asked if parsed.report is not None else frozenset()
        notices = () if parsed.document is None else parsed.document.notices
        return Checked(
            result, named, asked, left.used, notices=notices, is_nothing=_is_nothing(parsed)
        )

    def _located(self, finding: Finding, document: Document | None) -> Finding:
        """The finding with the places that the output shows."""
        is_named = self._job.shown_of_missing is Shown.NAME
        if is_named and finding.code.startswith(MISSING_FAMILY):
            return finding
        if document is None or finding.location is not None:
            return finding
        return document.placed(finding)

    def _findings(self, batch: Sequence[_Read]) -> list[list[Finding]]:
        """All findings about each report; of the rules only where it can be checked at all."""
        reports = [read.parsed.report for read in batch]
        trees = [report.tree for report in reports if report is not None]
        brief = self._job.shown_of_missing is not Shown.ALL
        by_rules = iter(check_trees(trees, brief=brief))
        found: list[list[Finding]] = []
        for read, report in zip(batch, reports, strict=True):
            found.append(read.parsed.findings)
            if report is not None:
                found[-1] += report.advised(next(by_rules))
                if read.settings.schema:
                    found[-1] += self._schema(read.settings.schema).findings(report.tree)
        return found

    def _schema(self, file: str) -> HouseSchema:
        if file not in self._schemas:
            from benchlint.checker.house_schema import load

            self._schemas[file] = load(file)
        return self._schemas[file]

    def _fixable(self, report: Document | None, findings: Sequence[Finding]) -> int:
        """How many values --fix would write to end findings. For most reports that is plain."""
        if not any(finding.code in _FIXED_CODES for finding in findings):
            return 0
        if report is None or not _is_edited(report, self._job.stdin_name):
            return 0
        from benchlint.checker.fixes import fixable

        return len(fixable(report.tree, findings))

    def _fixed(self, found: Found) -> Iterator[Checked]:
        """What was done to a file, if it is a report at all."""
        from benchlint.checker.fix_files import fix_file

        wants = self._settings.for_file(found.path).selection_for(found.path).wants
        reports: list[tuple[Document, Sequence[Finding]]] = []
        notices: list[str] = []
        for parsed, checked in self._check([found]):
            if parsed.report is not None:
                reports.append((parsed.report, checked.result.findings))
            else:
                notices += [f"{found.path}: {f.message}" for f in parsed.findings[:1]]
        if reports or notices:
            mode: Literal["write", "diff"] = "write" if self._job.fix == "write" else "diff"
            fix = fix_file(found.path, reports, wants, mode)
            notices += fix.notices
            yield Checked(
                FileResult(found.path),
                only_fixed=True,
                fixed=fix.count,
                diff=fix.diff,
                notices=tuple(notices),
            )


#: So many reports are checked together, and of so many characters in all: memory stays that
#: of a few small reports or of one large one.
_BATCH = 8
_BATCH_CHARACTERS = 1 << 16


def _batches(reports: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Reports in lists of a few. What was read before an error comes before the error."""
    batch: list[_Read] = []
    characters = 0
    try:
        for report in reports:
            batch.append(report)
            document = report.parsed.document
            characters += 0 if document is None else len(document.text)
            # A pipe may be slow: what has come out of it is not kept waiting for more.
            is_full = len(batch) == _BATCH or characters >= _BATCH_CHARACTERS
            if is_full or report.found.path == STDIN:
                yield batch
                batch, characters = [], 0
    except Exception:
        yield from [batch] if batch else []
        raise
    yield from [batch] if batch else []


def _is_edited(document: Document, stdin_name: str) -> bool:
    """Whether --fix writes such a file: JSON that is no part of a page, and not what was piped."""
    path = document.path
    is_file = path != stdin_name and not path.lower().endswith(PAGE_SUFFIXES)
    return document.language == "json" and document.is_original and is_file


def _is_nothing(parsed: Parsed) -> bool:
    return parsed.document is None and any(finding.code == "BL014" for finding in parsed.top)


def _is_meant(parsed: Parsed) -> bool:
    """Whether a file that only looked like a report is one, or a broken one."""
    if parsed.document is None:
        return not parsed.path.lower().endswith(PAGE_SUFFIXES)  # a page may show what it is not
    return is_report(parsed.document.tree)


def _wanted(findings: Sequence[Finding], path: str, settings: Settings) -> list[Finding]:
    """The findings that are selected, with the severities that profile and settings give."""
    selection = settings.selection_for(path)
    kept = list(findings) if selection.is_all else [f for f in findings if selection.keeps(f)]
    if settings.profile is not Profile.DEFAULT:
        kept = under_profile(kept, settings.profile)
    return [weighed(f, settings) for f in kept] if settings.severity else kept


def weighed(finding: Finding, settings: Settings) -> Finding:
    """The finding with the severity that the settings give to its code."""
    severity = settings.severity_of(finding.code)
    return finding if severity is None else replace(finding, severity=severity)


def _secret_places(findings: Iterable[Finding], document: Document | None) -> list[Location]:
    """Where secrets stand, whether their finding is wanted or not."""
    if document is None:
        return []
    return [document.locate(f.pointer) for f in findings if f.code == "BL701"]


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By place in the file; what is about the whole file comes first."""
    return tuple(sorted(findings, key=_place))


def _place(finding: Finding) -> tuple[int, int]:
    at = finding.location
    return (0, 0) if at is None else (at.line, at.column)


def _internal(path: str, error: Exception) -> str:
    return (
        f"{path}: benchlint failed on this file ({type(error).__name__}); this is its own "
        "fault, --debug shows where"
    )
