"""Which rules are wanted. A rule is named by its code, a prefix of codes, or its name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding
from benchlint.checker.registry import all_rules, rule_by_code

#: Names every rule.
ALL = "ALL"

#: When one of these is found the rules that were selected could not run at all, so the file
#: must not pass for clean. Only ignoring them by code or prefix hides them.
CANNOT_CHECK = frozenset({"BL001", "BL007", "BL008", "BL013"})


def rule_prefix(word: str) -> str:
    """The code, or prefix of codes, that `word` stands for; "" for all rules.

    Raises CannotRunError, with the nearest name, when no rule is meant by it.
    """
    wanted = word.strip().upper()
    if wanted == ALL:
        return ""
    if is_prefix(word):
        return wanted
    named = rule_by_code(word)
    if named is not None:
        return named.code
    raise CannotRunError(unknown_rule(word))


def is_prefix(word: str) -> bool:
    """Whether codes of rules start with `word`."""
    wanted = word.strip().upper()
    return bool(wanted) and any(rule.code.startswith(wanted) for rule in all_rules())


def unknown_rule(word: str) -> str:
    """One line that says there is no such rule, and which one is nearest."""
    nearest = nearest_rule(word)
    hint = f"did you mean {nearest!r}?" if nearest else "`benchlint rules` lists them all"
    return f"there is no rule {word.strip()[:60]!r}; {hint}"


def nearest_rule(word: str) -> str | None:
    """The code or name of a rule that is nearest to `word`, or None.

    A name that `word` is a part of is nearer than one that is spelled alike.
    """
    wanted, names = word.strip()[:60], [rule.name for rule in all_rules()]
    codes = difflib.get_close_matches(wanted.upper(), [r.code for r in all_rules()], 1, 0.75)
    parts = _longer(wanted.lower(), names)
    found = [*codes, *parts, *difflib.get_close_matches(wanted.lower(), names, 1, 0.6)]
    return found[0] if found else None


def _longer(word: str, names: Iterable[str]) -> list[str]:
    """Names that hold whole words, the shortest first."""
    held = f"-{word.replace(' ', '-')}-"
    return sorted((name for name in names if held in f"-{name}-"), key=len)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is selected and what is ignored, as prefixes of codes; None selects every rule.

    Where both name a rule the longer prefix decides: `select BL201, ignore BL2` leaves BL201.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()

    @staticmethod
    def of(select: Iterable[str] | None, ignore: Iterable[str] | None) -> Selection:
        """A selection from the words a user wrote. Raises CannotRunError for unknown ones."""
        chosen = None if select is None else tuple(rule_prefix(word) for word in select)
        return Selection(chosen, tuple(rule_prefix(word) for word in ignore or ()))

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return self.select is None and not self.ignore

    def wants(self, code: str) -> bool:
        """Whether findings with this code are wanted."""
        if self.is_all:
            return True
        selected = 0 if self.select is None else _longest(self.select, code)
        ignored = _longest(self.ignore, code)
        if code in CANNOT_CHECK and selected < 0:
            selected = 0
        return selected > ignored

    def keeps(self, finding: Finding) -> bool:
        """Whether this finding is wanted; one that says the whole tree is no report always is."""
        if finding.code == "BL005" and finding.pointer == "":
            return _longest(self.ignore, finding.code) < 0
        return self.wants(finding.code)


def _longest(prefixes: Iterable[str], code: str) -> int:
    """Length of the longest prefix that `code` starts with; -1 where there is none."""
    return max((len(each) for each in prefixes if code.startswith(each)), default=-1)
