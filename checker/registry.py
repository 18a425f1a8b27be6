"""How a rule is declared, and where all rules are found.

A rule is one generator function. Its code, name, severity and precedence stand beside it in
the decorator, its docstring is what `benchlint explain` prints and what docs/rules.md is made
of. The module is known from the code: BL204 lives in `rules/bl20_accepted_length.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from benchlint.checker.finding import Finding, Related, Severity
from benchlint.checker.given import Needs, needs_of

if TYPE_CHECKING:
    from benchlint.checker.numbers import Reported

#: Longest message or help, in characters, and most numbers that a finding is related to: names
#: and lists of a report may be of any size, and many findings may quote one.
MAX_TEXT = 2_000
MAX_RELATED = 200

Scope = Literal["file", "document", "report", "run", "claim", "quality"]


@dataclass(slots=True)
class Problem:
    """What a rule says about its subject, before code and severity are put to it.

    at: pointer of the number (or place) the finding stands at.
    related: every other number the arithmetic used, each as (pointer or number, what it is). An
    iterator will do, which is read only where they are shown.
    severity: overrides the rule's own where the rule page gives two.
    at_key: mark the member's name instead of its value.
    subject: overrides the pointer of what the rule was called with.
    """

    at: str | Reported
    message: str
    related: Iterable[tuple[str | Reported, str]] = ()
    help: str = ""
    severity: Severity | None = None
    at_key: bool = False
    subject: str | None = None


RuleFunction = Callable[[Any], Iterator[Problem]]
F = TypeVar("F", bound=RuleFunction)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and what is known about it.

    scope: what the function is called with. "file" rules have no function of their own: the
    reader yields their findings. The others get facts of the raw tree ("document"), the
    report, a run, a claim or a quality row.
    yields_to: codes whose finding about the same subject displaces this rule's finding.
    needs: members of its subject without which it is silent, so that it is not even asked.
    """

    code: str
    name: str
    severity: Severity
    scope: Scope
    function: RuleFunction
    yields_to: frozenset[str] = field(default_factory=frozenset)
    needs: Needs = ()
    fixable: bool = False

    @property
    def text(self) -> str:
        """The rule's docstring: summary, then the fixed headings."""
        return self.function.__doc__ or ""

    def finding(self, problem: Problem, subject: str, *, brief: bool = False) -> Finding:
        """The finding that `problem` becomes under this rule; when brief, without `related`."""
        related = () if brief else islice(problem.related, MAX_RELATED)
        return Finding(
            code=self.code,
            name=self.name,
            severity=problem.severity or self.severity,
            message=problem.message if len(problem.message) <= MAX_TEXT else _cut(problem.message),
            pointer=problem.at if isinstance(problem.at, str) else problem.at.pointer,
            related=tuple([_related(*each) for each in related]),
            help=problem.help if len(problem.help) <= MAX_TEXT else _cut(problem.help),
            subject=subject if problem.subject is None else problem.subject,
            at_key=problem.at_key,
        )


def _related(at: str | Reported, text: str) -> Related:
    pointer = at if isinstance(at, str) else at.pointer
    return Related(pointer, text if len(text) <= MAX_TEXT else _cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


_RULES: dict[str, Rule] = {}


def rule(
    code: str,
    name: str,
    severity: Severity,
    scope: Scope,
    *,
    yields_to: Sequence[str] = (),
    needs: Sequence[str] = (),
    fixable: bool = False,
) -> Callable[[F], F]:
    """Declare the decorated generator function a rule. Codes and names are never reused.

    needs: each a path from the subject ("decode.tok_s" of a run, "runs.decode.tok_s" of a
    report), or several of which one will do ("decode.tok_s | throughput.tok_s"). See `given`.
    """

    def register(function: F) -> F:
        clash = _RULES.get(code)
        if clash is not None and clash.function.__module__ != function.__module__:
            raise ValueError(f"{code} is declared twice: {clash.name} and {name}")
        _RULES[code] = Rule(
            code,
            name,
            severity,
            scope,
            function,
            yields_to=frozenset(yields_to),
            needs=needs_of(needs),
            fixable=fixable,
        )
        return function

    return register


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code. Imports all modules of `rules/` on the first call."""
    package = importlib.import_module("benchlint.checker.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted(_RULES.values(), key=lambda r: r.code))


@cache
def rule_by_code(code_or_name: str) -> Rule | None:
    """The rule with this code or name, or None."""
    wanted = code_or_name.strip()
    for each in all_rules():
        if each.code == wanted.upper() or each.name == wanted.lower():
            return each
    return None
