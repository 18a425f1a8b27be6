"""Secrets kept out of the excerpts that findings show: a log is read by more than its author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchlint.checker.finding import Finding, Location
from benchlint.checker.secrets import find_secrets

_MASK = "•"


def masked(findings: tuple[Finding, ...], secrets: Sequence[Location]) -> tuple[Finding, ...]:
    """The findings with what stands at these places unreadable in every excerpt."""
    if not secrets:
        return findings
    return tuple(_masked_finding(finding, secrets) for finding in findings)


def _masked_finding(finding: Finding, secrets: Sequence[Location]) -> Finding:
    related = tuple(replace(r, location=_masked(r.location, secrets)) for r in finding.related)
    return replace(finding, location=_masked(finding.location, secrets), related=related)


def _masked(at: Location | None, secrets: Sequence[Location]) -> Location | None:
    if at is None or not at.excerpt:
        return at
    first = at.column - at.excerpt_column + 1  # the column in which the excerpt starts
    spans = [(s.column - first, s.end_column - first) for s in secrets if s.line == at.line]
    spans += [(s.start, s.end) for s in find_secrets(at.excerpt)]
    return replace(at, excerpt=_blanked(at.excerpt, spans))


def _blanked(excerpt: str, spans: Sequence[tuple[int, int]]) -> str:
    characters = list(excerpt)
    for start, end in spans:
        for i in range(max(start, 0), min(end, len(characters))):
            if characters[i].isalnum():
                characters[i] = _MASK
    return "".join(characters)
