"""What a claim's words and numbers are held against when its runs are measured again.

The meaning of a relation is that of `checker.claims`; where a claim is true only under another
reading than the stated one (a time that is "2 times faster", a share given in percent), it is
tested under that reading.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from benchlint.checker.claims import Statement
from benchlint.checker.facts import SHARES, ClaimFacts, QualityFacts, RunFacts
from benchlint.checker.noise import noise_of
from benchlint.checker.numbers import Reported
from benchlint.reproducers.verdicts import EQUAL_TOLERANCE

#: Relations that compare two runs and state no value that measurements are held against.
_ORDERS = ("greater", "less", "best", "equal")


def words_of(claim: ClaimFacts) -> str:
    """The claim in one line: its id, if any, and the sentence as published, else what it says."""
    said = f"“{claim.model.text}”" if claim.model.text else _statement(claim)
    return f"{claim}: {said}" if claim.model.id else said


def tested_of(claim: ClaimFacts) -> str:
    """What is tested of a claim that is published as a sentence; else "", as its words say it."""
    return _statement(claim) if claim.model.text else ""


def _statement(claim: ClaimFacts) -> str:
    """What the claim's fields say: "decode.tok_s of k4 is at least 1.8 × that of plain"."""
    model = claim.model
    relation, value, to = model.relation or "", claim.value, model.to
    subject = " of ".join(part for part in (model.metric, model.of) if part)
    return " ".join(str(part) for part in (subject, *_predicate(relation, value, to)) if part)


def _predicate(
    relation: str, value: Reported | None, to: str | None
) -> tuple[str | Reported | None, ...]:
    """The relation with what it relates to. See checker/claims.py for what each means."""
    if relation in _BOUNDS:
        return "is", _BOUNDS[relation], value, f"× that of {to}" if to else ""
    if relation in ("percent_more", "percent_less"):
        return "is", value, f"% {relation.removeprefix('percent_')} than that of", to
    if relation == "difference":
        return "differs by", value, f"from that of {to}" if to else ""
    if relation in ("greater", "less"):
        return f"is {relation} than", f"that of {to}" if to else value
    if relation == "equal":
        return "is equal to", f"that of {to}" if to else value
    return "is", relation or "said of it", value


_BOUNDS = {"ratio": "", "at_least": "at least", "at_most": "at most", "up_to": "up to"}


def runs_of(claim: ClaimFacts) -> list[RunFacts]:
    """The runs that a claim names."""
    return [each for each in (claim.of, claim.to) if isinstance(each, RunFacts)]


def path_of(statement: Statement) -> str:
    """The path of the number that a claim is about: "decode.tok_s"."""
    return (statement.claim.model.metric or "").removesuffix(".value")


def rivals_of(statement: Statement) -> Iterator[RunFacts | QualityFacts]:
    """All that the subject is compared with."""
    if statement.to_subject is not None:
        yield statement.to_subject
    if statement.relation == "best":
        yield from (other.subject for other in statement.others)


def instead_of(statement: Statement) -> Iterator[RunFacts]:
    """Other runs that an "up to" may rest on."""
    inverted = statement.holds_as == "inverted"
    others = statement.others if statement.relation == "up_to" and not inverted else ()
    return (other.subject for other in others if isinstance(other.subject, RunFacts))


def relation_tested(statement: Statement, higher_is_better: bool | None) -> str | None:
    """The relation to be tested: the best of times or perplexities is less than the others.

    None where nobody can say which direction is better.
    """
    if statement.relation != "best" or higher_is_better:
        return statement.relation
    return None if higher_is_better is None else "less"


def value_tested(statement: Statement) -> Reported | None:
    """The value that measurements are held against, as the reading under which it is true."""
    value, kind = statement.value, statement.holds_as
    if statement.to is not None and statement.relation in _ORDERS:
        return None
    if value is None or statement.relation == "best" or kind == "equal_ratio":
        return None
    if kind == "scaled":
        factor = 0.01 if path_of(statement) in SHARES else 100.0
        return _times(value, factor)
    return _times(value, -1.0) if kind == "unsigned" else value


def _times(number: Reported, factor: float) -> Reported:
    return replace(
        number,
        value=number.value * factor,
        span=number.span * factor,
        near=number.near * factor,
    )


def least_tolerance(statement: Statement) -> float:
    """What `equal` allows: its value in percent where there are two runs, else 5 %."""
    if statement.relation != "equal":
        return 0.0
    stated = statement.readings[0].allowed.high - 1 if statement.to is not None else 0.0
    return max(EQUAL_TOLERANCE, stated) if statement.holds_as != "equal_ratio" else EQUAL_TOLERANCE


def error_of_claim(statement: Statement) -> float:
    """Standard error of the claimed value as a share.

    What stands beside the value itself comes first, else it is that of the numbers it is made of.
    """
    subject, path = statement.subject, path_of(statement)
    if statement.value is not None and isinstance(subject, RunFacts):
        own = noise_of(statement.value, subject, path)
        if own is not None and own.stated:
            return own.share
    pairs = ((statement.of, statement.subject), (statement.to, statement.to_subject))
    shares = [error_of(n, r, path) for n, r in pairs if n is not None and isinstance(r, RunFacts)]
    return math.hypot(*shares)


def error_of(number: Reported, run: RunFacts, path: str) -> float:
    """Standard error of a run's number as a share of it; 0 where there is no default."""
    noise = noise_of(number, run, path)
    return 0.0 if noise is None else noise.share
