"""What a written report still lacks, each with the option that tells it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.pointers import split
from benchlint.checker.profiles import MISSING, Profile, under_profile

#: How the rules of the family BL1 say what to add (checker/missing.py).
_ADVICE = re.compile(r"add `(?P<path>[^`]+)`, for example `(?P<example>[^`]+)`")

#: What only another measurement gives: to call a drafting arm plain would make it a baseline.
_MEASURED = frozenset({"BL114"})

#: More runs or configurations than this are named by a star.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Lacking:
    """A member of the report that is not there, by its path, and what it might be."""

    path: str
    example: str

    @property
    def option(self) -> str:
        """--set with a value to put one's own in place of."""
        return f"--set {shlex.quote(f'{self.path}={self.example}')}"


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that is missing.

    code: of the rule that asks for it. weighs: under the publish profile. text: in words.
    lacking: the members that would tell it; one of them or several, none where only measuring does.
    """

    code: str
    weighs: Severity
    text: str
    lacking: tuple[Lacking, ...]


def findings_of(report: dict[str, Any]) -> list[Finding]:
    """What the publish profile finds in the report."""
    return under_profile(check_tree(report), Profile.PUBLISH)


def missing_in(report: dict[str, Any], findings: Sequence[Finding]) -> list[Missing]:
    """What is missing, what weighs most first."""
    found = [_missing(report, each) for each in findings if each.code.startswith(MISSING)]
    return sorted(found, key=lambda each: -each.weighs.rank)


def _missing(report: dict[str, Any], finding: Finding) -> Missing:
    pointers = (finding.pointer, *(each.pointer for each in finding.related))
    advices = () if finding.code in _MEASURED else _ADVICE.finditer(finding.help)
    lacking = (
        Lacking(place, _value(advice["example"]))
        for advice in advices
        for place in _places(report, advice["path"], pointers)
    )
    return Missing(finding.code, finding.severity, finding.message, tuple(dict.fromkeys(lacking)))


def _value(example: str) -> str:
    """The value of a member such as `"tok_s": 38.3`; texts without their quotes."""
    (value,) = json.loads(f"{{{example}}}").values()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _places(report: dict[str, Any], path: str, pointers: Sequence[str]) -> Iterator[str]:
    """The paths that are meant by "workloads.NAME.mix", "runs[].memory" and the like."""
    before, stands_for, after = _parted(path)
    if not stands_for:
        yield before.replace("[]", ".0")
        return
    names = [
        name
        for name in _names(report, before, pointers)
        if not (before == "configurations" and "draft" in after and _is_plain(report, name))
    ]
    for name in names if 0 < len(names) <= _NAMED else ["*"]:
        yield f"{before}.{name}{after}".replace("[]", ".0")


def _is_plain(report: dict[str, Any], name: str) -> bool:
    """Whether a configuration is said to have no drafter, so that it lacks nothing of one."""
    configuration = report["configurations"].get(name, {})
    return "drafter" in configuration and configuration["drafter"] is None


def _parted(path: str) -> tuple[str, str, str]:
    for sign in (".NAME", "[]"):
        head, found, tail = path.partition(sign)
        if found and head in ("configurations", "workloads", "runs"):
            return head, found, tail
    return path, "", ""


def _names(report: dict[str, Any], block: str, pointers: Sequence[str]) -> list[str]:
    """Names or ids of what the pointers lead into."""
    parts = [split(pointer) for pointer in pointers]
    keys = dict.fromkeys(each[1] for each in parts if len(each) > 1 and each[0] == block)
    runs = report.get("runs", [])
    return [runs[int(key)]["id"] if block == "runs" else key for key in keys]
