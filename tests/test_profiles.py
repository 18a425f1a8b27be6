"""Profiles: what they raise, and that they never lower anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.finding import Finding, Severity
from benchlint.checker.profiles import (
    CHECKLIST,
    CHECKLIST_CODES,
    Profile,
    severity,
    under_profile,
)
from benchlint.checker.registry import all_rules

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

ANY_FINDING = st.builds(
    Finding,
    code=st.sampled_from([r.code for r in all_rules()]),
    name=st.just("x"),
    severity=st.sampled_from(Severity),
    message=st.text(max_size=20),
)


def finding(code: str, own: Severity) -> Finding:
    return Finding(code=code, name="x", severity=own, message="m", pointer="/p")


def test_the_checklist_has_nine_items() -> None:
    assert len(CHECKLIST) == 9


def test_the_checklist_is_made_of_the_first_eleven_rules() -> None:
    assert sorted(CHECKLIST_CODES) == [f"BL{n}" for n in range(101, 112)]


def test_every_code_of_the_checklist_stands_under_one_item() -> None:
    codes = [code for item in CHECKLIST for code in item.codes]
    assert len(codes) == len(set(codes)) == len(CHECKLIST_CODES)


def test_the_checklist_is_made_of_rules() -> None:
    assert {r.code for r in all_rules()} >= CHECKLIST_CODES


def test_rules_on_what_is_missing_are_notes_of_their_own() -> None:
    own = {r.severity for r in all_rules() if r.code.startswith("BL1")}
    assert own == {N}


@pytest.mark.parametrize(
    ("code", "own", "profile", "expected"),
    [
        ("BL101", N, "default", N),
        ("BL101", N, "publish", W),
        ("BL101", N, "strict", E),
        ("BL111", N, "publish", W),
        ("BL111", N, "strict", E),
        ("BL112", N, "publish", N),  # missing, but not on the list
        ("BL112", N, "strict", W),
        ("BL125", N, "strict", W),
        ("BL205", N, "strict", N),  # a note that is not about something missing
        ("BL401", W, "strict", W),
        ("BL011", E, "strict", E),
        ("BL101", E, "default", E),  # never lowered
    ],
)
def test_severity(code: str, own: Severity, profile: str, expected: Severity) -> None:
    assert severity(finding(code, own), profile) is expected


def test_a_rule_is_weighed_as_its_findings_are() -> None:
    rule = next(r for r in all_rules() if r.code == "BL107")
    assert [severity(rule, p) for p in Profile] == [N, W, E]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="lenient"):
        severity(finding("BL101", N), "lenient")
    with pytest.raises(ValueError, match="lenient"):
        under_profile([finding("BL101", N)], "lenient")


def test_only_the_severity_is_replaced() -> None:
    before = finding("BL104", N)
    [after] = under_profile([before], Profile.STRICT)
    assert (after.code, after.message, after.pointer) == (before.code, "m", "/p")
    assert (before.severity, after.severity) == (N, E)


@given(st.lists(ANY_FINDING, max_size=5), st.sampled_from(Profile))
def test_a_profile_never_lowers_and_may_be_applied_twice(
    findings: list[Finding], profile: Profile
) -> None:
    once = under_profile(findings, profile)
    assert [f.code for f in once] == [f.code for f in findings]
    assert all(a.severity.rank >= b.severity.rank for a, b in zip(once, findings, strict=True))
    assert under_profile(once, profile) == once


@given(ANY_FINDING)
def test_profiles_are_in_order_of_strictness(any_finding: Finding) -> None:
    ranks = [severity(any_finding, p).rank for p in Profile]
    assert ranks == sorted(ranks)
