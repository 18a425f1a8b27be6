"""Profiles: how much a missing item of the reporting checklist weighs.

The nine items of the checklist are what a report must hold before a speed in it can be compared
with another. Their source is the closing list of the field report "DFlashでtok/sの意味が変わる"
on speculative decoding on one 24 GB card. Everything else keeps its severity, except that
`strict` does not let anything missing pass as a note. A profile never lowers a severity: it
cannot hide what a rule found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from benchlint.checker.finding import Finding, Severity


class Profile(StrEnum):
    """How strictly the reporting checklist is held.

    DEFAULT: what is missing is a note.
    PUBLISH: the nine items are warnings.
    STRICT: the nine items are errors, the rest of what is missing warnings.
    """

    DEFAULT = "default"
    PUBLISH = "publish"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """One of the nine items, with the rules that ask for it."""

    text: str
    codes: tuple[str, ...]


CHECKLIST: tuple[ChecklistItem, ...] = (
    ChecklistItem("target model and exact quantization recipe", ("BL101",)),
    ChecklistItem("drafter and draft length", ("BL102", "BL103")),
    ChecklistItem("workload ratio", ("BL104",)),
    ChecklistItem("acceptance rate and accepted length τ", ("BL105", "BL106")),
    ChecklistItem("all sampling parameters", ("BL107",)),
    ChecklistItem("prefill and decode apart", ("BL108",)),
    ChecklistItem("filled KV position", ("BL109",)),
    ChecklistItem("placement of draft selection", ("BL110",)),
    ChecklistItem("quality metric beside the speed", ("BL111",)),
)

CHECKLIST_CODES = frozenset(code for item in CHECKLIST for code in item.codes)

#: What is missing has a code that starts with this.
MISSING = "BL1"


class Weighed(Protocol):
    """A finding or a rule: anything with a code and a severity of its own."""

    @property
    def code(self) -> str:
        """BLnnn."""

    @property
    def severity(self) -> Severity:
        """The severity without a profile."""


def severity(weighed: Weighed, profile: Profile | str = Profile.DEFAULT) -> Severity:
    """What a finding or rule weighs under a profile. Raises ValueError for an unknown one."""
    least = _least(weighed.code, Profile(profile))
    return max(weighed.severity, least, key=lambda s: s.rank)


def _least(code: str, profile: Profile) -> Severity:
    """The least severity that the profile gives to the code."""
    if profile is Profile.DEFAULT or not code.startswith(MISSING):
        return Severity.NOTE
    on_list = code in CHECKLIST_CODES
    if profile is Profile.STRICT:
        return Severity.ERROR if on_list else Severity.WARNING
    return Severity.WARNING if on_list else Severity.NOTE


def under_profile(
    findings: Iterable[Finding], profile: Profile | str = Profile.DEFAULT
) -> list[Finding]:
    """The findings with the severities of a profile. Raises ValueError for an unknown one."""
    return [_weighed(finding, Profile(profile)) for finding in findings]


def _weighed(finding: Finding, profile: Profile) -> Finding:
    weight = severity(finding, profile)
    return finding if weight is finding.severity else replace(finding, severity=weight)
