"""Suppressions: findings that a configuration says are known, each with a reason.

A suppression that is past its date no longer holds, and one that matched nothing is of no use:
both are reported as BL010, at the place where they stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from benchlint.checker.files import Globs
from benchlint.checker.finding import Finding, Location
from benchlint.checker.named_pointers import PointerNames, PointerPattern
from benchlint.checker.registry import Problem, rule_by_code


@dataclass(frozen=True, slots=True)
class Suppression:
    """One `[[suppress]]` table of a configuration.

    rule: the prefix of codes it holds for, and `written`, how the user named it.
    files: which files, below the configuration's folder; none means all.
    pointer: which part of the report; None means all of it.
    expires: the last day on which it holds.
    location: where it stands in the configuration file.
    """

    rule: str
    written: str
    reason: str
    files: Globs = field(default_factory=Globs)
    pointer: PointerPattern | None = None
    expires: date | None = None
    location: Location | None = None

    def names(self, path: str) -> bool:
        """Whether it is about this file."""
        return not self.files or self.files.match(path)

    def holds(self, today: date) -> bool:
        """Whether it has not expired."""
        return self.expires is None or today <= self.expires

    def covers(self, finding: Finding, names: PointerNames) -> bool:
        """Whether it is about this finding."""
        if not finding.code.startswith(self.rule):
            return False
        return self.pointer is None or self.pointer.covers(finding.pointer, names)


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What is left of a file's findings, how many went, and which suppressions did it.

    asked: numbers of the suppressions that name the file; used: of those that matched.
    """

    kept: tuple[Finding, ...]
    count: int = 0
    asked: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()


def suppress(
    findings: Sequence[Finding],
    path: str,
    names: PointerNames,
    suppressions: Sequence[Suppression],
    today: date,
) -> Suppressed:
    """Take the suppressed findings of one file away."""
    asked = {i: s for i, s in enumerate(suppressions) if s.names(path)}
    holding = {i: s for i, s in asked.items() if s.holds(today)}
    if not holding:
        return Suppressed(tuple(findings), asked=frozenset(asked))
    kept: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        matching = {i for i, s in holding.items() if s.covers(finding, names)}
        used |= matching
        if not matching:
            kept.append(finding)
    return Suppressed(tuple(kept), len(findings) - len(kept), frozenset(asked), frozenset(used))


def unused(
    suppressions: Sequence[Suppression],
    asked: Collection[int],
    used: Collection[int],
    today: date,
) -> Iterator[Finding]:
    """BL010 for each suppression that was asked for a checked file and did nothing.

    One that has expired is reported as such, whether it would have matched or not.
    """
    for number in sorted(asked):
        each = suppressions[number]
        if not each.holds(today):
            yield _finding(each, _expired(each))
        elif number not in used:
            yield _finding(each, _unused(each))


def without_ignored(
    suppressions: Sequence[Suppression], numbers: Iterable[int], wanted: Collection[str]
) -> set[int]:
    """Those of the suppressions that are about a rule that ran: of the others nothing is known.

    wanted: the codes of the rules that were selected.
    """
    return {n for n in numbers if any(code.startswith(suppressions[n].rule) for code in wanted)}


def _expired(suppression: Suppression) -> Problem:
    return Problem(
        "",
        f"the suppression of {suppression.written} expired on {suppression.expires}",
        help=f"mend what it hid, or renew it (its reason was: {suppression.reason})",
    )


def _unused(suppression: Suppression) -> Problem:
    return Problem(
        "",
        f"the suppression of {suppression.written} matches nothing in the files checked",
        help=f"remove it (its reason was: {suppression.reason})",
    )


def _finding(suppression: Suppression, problem: Problem) -> Finding:
    rule = rule_by_code("BL010")
    if rule is None:
        raise LookupError("BL010")
    return replace(rule.finding(problem, ""), location=suppression.location)
