"""From a report to its findings: every rule on its subjects, one finding for one fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from benchlint.checker.facts import ReportFacts, RunFacts
from benchlint.checker.finding import Finding
from benchlint.checker.registry import Rule, Scope, all_rules
from benchlint.checker.validate import validate

#: So many findings of a rule are made about one report. Its output and its time stay bounded.
LISTED = 1_000
_MORE = f"and more of the same, which are not listed after the first {LISTED:,}"


@cache
def _rules_of(scope: Scope) -> tuple[Rule, ...]:
    return tuple(r for r in all_rules() if r.scope == scope)


def check_tree(tree: object) -> list[Finding]:
    """All findings about the report in `tree`, without locations, in order of the file.

    Nothing is selected or suppressed here: that is for the caller, after precedence.
    """
    report, findings = validate(tree)
    misfits = [f.pointer for f in findings]
    findings += _apply("document", [("", tree)])
    if report is not None:
        facts = ReportFacts(report, misfits)
        findings += check_facts(facts)
        facts.release()
    return one_for_one_fault(findings)


def check_facts(facts: ReportFacts) -> list[Finding]:
    """Findings of the rules about the report, its runs, claims and quality rows."""
    return [
        *_apply("report", [("", facts)]),
        *_about_runs(facts),
        *_apply("claim", [(c.pointer, c) for c in facts.claims]),
        *_apply("quality", [(q.pointer, q) for q in facts.quality]),
    ]


def _apply(scope: Scope, subjects: Iterable[tuple[str, object]]) -> Iterator[Finding]:
    pairs = list(subjects)
    for rule in _rules_of(scope):
        yield from _listed(rule, pairs)


def _about_runs(facts: ReportFacts) -> Iterator[Finding]:
    for rule in _rules_of("run"):
        yield from _listed(rule, ((run.pointer, run) for run in _asked(rule, facts)))


def _listed(rule: Rule, subjects: Iterable[tuple[str, object]]) -> Iterator[Finding]:
    """The findings of a rule; after LISTED of them one more that says so."""
    left = LISTED
    for pointer, subject in subjects:
        for problem in rule.function(subject):
            if not left:
                yield rule.finding(replace(problem, message=_MORE, related=()), pointer)
                return
            left -= 1
            yield rule.finding(problem, pointer)


def _asked(rule: Rule, facts: ReportFacts) -> Sequence[RunFacts]:
    """The runs about which the rule may have something to say."""
    if not rule.needs:
        return facts.runs
    first, *rest = (facts.runs_by_member.get(need, ()) for need in rule.needs)
    others = [frozenset(each) for each in rest]
    return [r for r in first if all(r in other for other in others)] if others else first


@cache
def _yields_to() -> dict[str, frozenset[str]]:
    """For each code, all codes that displace it: whom it yields to, and whom those yield to."""
    direct = {r.code: r.yields_to for r in all_rules()}
    return {code: _closure(code, direct) for code, yields in direct.items() if yields}


def _closure(code: str, direct: dict[str, frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(direct[code])
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += direct.get(each, ())
    return frozenset(found)


def one_for_one_fault(findings: Collection[Finding]) -> list[Finding]:
    """Leave out findings that another finding about the same subject already explains."""
    codes: dict[str, set[str]] = {}
    for finding in findings:
        codes.setdefault(finding.subject, set()).add(finding.code)
    displaced = _yields_to()
    return [
        f for f in findings if f.code not in displaced or not (displaced[f.code] & codes[f.subject])
    ]
