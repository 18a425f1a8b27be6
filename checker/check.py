"""From a report to its findings: every rule on its subjects, one finding for one fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from benchlint.checker.facts import ClaimFacts, QualityFacts, ReportFacts, RunFacts, TreeFacts
from benchlint.checker.finding import Finding
from benchlint.checker.formats.base import MISSING_FAMILY
from benchlint.checker.given import Given
from benchlint.checker.model import Report
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
    return check_trees([tree])[0]


def check_trees(trees: Iterable[object], *, brief: bool = False) -> list[list[Finding]]:
    """The findings about each of some reports, as `check_tree` has them.

    brief: leave out what findings of the BL1 family are related to.

    Each rule is asked about all of them before the next one: a processor runs the code it has
    just run a fifth faster than that of a hundred other rules. Reports do not see each other.
    """
    checks = [_Check(tree) for tree in trees]
    # Reports of one shape share their plan, and most that are checked together are of one.
    alike: dict[int, list[_Check]] = {}
    for check in checks:
        alike.setdefault(id(check.plan), []).append(check)
    for group in alike.values():
        for rule, chosen in group[0].plan:
            is_brief = brief and rule.code.startswith(MISSING_FAMILY)
            for check in group:
                check.ask(rule, chosen, brief=is_brief)
    return [check.finish() for check in checks]


Subject = TreeFacts | ReportFacts | RunFacts | ClaimFacts | QualityFacts


class _Check:
    """A report with what was found in it so far.

    plan: see Plan; of rules that are not in it there is nothing to ask.
    """

    __slots__ = ("_facts", "_found", "_subjects", "plan")

    def __init__(self, tree: object) -> None:
        report, self._found = validate(tree)
        self._facts = None if report is None else _facts_of(report, self._found)
        self._subjects = _subjects(tree, self._facts)
        self.plan = _plan_of(self._facts)

    def ask(self, rule: Rule, chosen: Chosen, *, brief: bool) -> None:
        """Add what a rule says of its subjects; after LISTED findings one that says so.

        chosen: which subjects are asked, as the plan has it.
        """
        subjects, found, ask = self._subjects[rule.scope], self._found, rule.function
        before = len(found)
        for subject in subjects if chosen is None else [subjects[i] for i in chosen]:
            for problem in ask(subject):
                if len(found) == before + LISTED:
                    more = replace(problem, message=_MORE, related=())
                    found.append(rule.finding(more, subject.pointer))
                    return
                found.append(rule.finding(problem, subject.pointer, brief=brief))

    def finish(self) -> list[Finding]:
        """What was found, one finding for one fault. Nothing can be asked after it."""
        if self._facts is not None:
            self._facts.release()
        return one_for_one_fault(self._found)


def _facts_of(report: Report, misfits: Sequence[Finding]) -> ReportFacts:
    unknown = [each.pointer for each in misfits if each.code == "BL004"]
    return ReportFacts(report, [each.pointer for each in misfits], unknown)


def _subjects(tree: object, facts: ReportFacts | None) -> dict[Scope, Sequence[Subject]]:
    """What the rules of each scope are called with."""
    document: dict[Scope, Sequence[Subject]] = {"document": (TreeFacts(tree),)}
    if facts is None:
        return document
    return document | {
        "report": (facts,),
        "run": facts.runs,
        "claim": facts.claims,
        "quality": facts.quality,
    }


# --- which rules are asked -------------------------------------------------------------------

#: The subjects that a rule may have something to say of, by index; None for all of them.
Chosen = tuple[int, ...] | None

#: The rules that may have something to say of a report, in order, with their subjects.
Plan = tuple[tuple[Rule, Chosen], ...]

#: What the subjects of each scope give.
_Asked = tuple[tuple[Scope, tuple[Given, ...]], ...]

#: Plans are kept of reports with so many subjects at most: nearly all.
_FEW_SUBJECTS = 64


def _plan_of(facts: ReportFacts | None) -> Plan:
    if facts is None:
        return _plan((("document", (_NOTHING,)),))
    asked: _Asked = (  # in the order of the findings
        ("document", (_NOTHING,)),
        ("report", (facts.given,)),
        ("run", tuple([run.given for run in facts.runs])),
        ("claim", tuple([claim.given for claim in facts.claims])),
        ("quality", tuple([row.given for row in facts.quality])),
    )
    few = len(facts.runs) + len(facts.claims) + len(facts.quality) <= _FEW_SUBJECTS
    return _known_plan(asked) if few else _plan(asked)


_NOTHING = Given(frozenset())


def _plan(asked: _Asked) -> Plan:
    plan: list[tuple[Rule, Chosen]] = []
    for scope, given in asked:
        kinds = frozenset(given)
        for rule in _rules_of(scope):
            spoken = frozenset([each for each in kinds if each.meets(rule.needs)])
            if spoken and len(spoken) == len(kinds):
                plan.append((rule, None))
            elif spoken:
                plan.append((rule, tuple([i for i, each in enumerate(given) if each in spoken])))
    return tuple(plan)


#: Reports of one origin are often of one shape.
_known_plan = lru_cache(maxsize=256)(_plan)


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
