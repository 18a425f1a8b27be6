"""Context lengths in prose: "256K context", "context of 262,144 tokens"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

#: Of a longer text only the start is read.
_LONGEST = 2_000

_NUMBER = r"(\d{1,3}(?:,\d{3}){1,2}|\d{4,8}|\d{1,4}(?:\.\d{1,3})?[ -]?[kKmM])(?![A-Za-z0-9_])"
_TOKENS = r"(?:[ -]{0,2}(?:tokens?|トークン))?"
_WORDS = ("context", "ctx", "コンテキスト", "文脈", "上下文")
_WORD = rf"(?:{'|'.join(_WORDS)})"
_AFTER = rf"(?<![A-Za-z0-9_.,/-]){_NUMBER}{_TOKENS}[ -]?(?:の|of )?(?:long[ -])?{_WORD}"
_BEFORE = (
    rf"{_WORD}(?:[ -](?:length|window|size)|長)?[ :=]{{0,2}}"
    rf"(?:of |at |up to |は)?{_NUMBER}"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A context length that a text speaks of.

    text: as written. tokens: the least it may mean, 1K being 1000.
    """

    text: str
    tokens: int


def longest_context(text: str | None) -> Mention | None:
    """The longest context length that `text` speaks of, or None.

    A number counts only beside the word "context" (or its Japanese or Chinese), so that model
    names, years and output lengths are left alone.
    """
    lowered = "" if text is None else text.lower()
    if not text or not _word().search(lowered):
        return None
    found = (each for pattern in _patterns() for each in pattern.findall(text[:_LONGEST]))
    mentions = [Mention(each, _tokens(each)) for each in found if not _is_year(each)]
    return max(mentions, key=lambda m: m.tokens, default=None)


@cache
def _word() -> re.Pattern[str]:
    return re.compile(_WORD)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return re.compile(_AFTER, re.IGNORECASE), re.compile(_BEFORE, re.IGNORECASE)


def _is_year(number: str) -> bool:
    return number.isdigit() and 1990 <= int(number) <= 2099


def _tokens(number: str) -> int:
    unit = {"k": 1_000, "m": 1_000_000}.get(number[-1].lower())
    digits = number.replace(",", "")
    return int(digits) if unit is None else int(float(digits[:-1].rstrip(" -")) * unit)
