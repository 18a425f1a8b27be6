"""What a cell of somebody's table says: a number with its unit, a range, a fraction, or nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from benchlint.checker.importers.fields import number, shifted
from benchlint.checker.tree import Digits

Unit = Literal["", "tok/s", "%", "x", "ms", "s", "us", "tokens", "GB", "MB", "GiB", "MiB", "points"]

#: No cell that is a number is longer; prose is.
_LONGEST = 120

#: So much of a cell is looked at, in characters.
_MOST = 1_000

_MARKUP = (
    (re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*\)"), r"\1"),  # [text](address)
    (re.compile(r"</?\w+[^<>]*>"), " "),
    (re.compile(r"(\*\*|__|~~|`)"), ""),
    (re.compile(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])"), ""),
)


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """The text of a cell without markup, in the common forms of full-width letters and signs.

    Of a longer one the beginning.
    """
    text = text[:_MOST]
    for pattern, new in _MARKUP:
        text = pattern.sub(new, text)
    text = unicodedata.normalize("NFKC", text.replace("\\", ""))
    return " ".join(text.replace("−", "-").replace("‑", "-").split())


_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_SIGNED = rf"[+-]?(?:{_DIGITS})"
_UNITS: tuple[tuple[str, Unit], ...] = (
    (
        r"(?:output |generated )?(?:tok(?:en)?s?|t|トークン|词元|令牌) ?(?:/|per |毎) ?"
        r"(?:s(?:ec(?:ond)?)?|秒)(?:/(?:user|req|stream))?|tps|トークン毎秒",
        "tok/s",
    ),
    (r"%|percent|パーセント", "%"),
    (r"pts?|pp|points|ポイント", "points"),
    (r"[x×倍]", "x"),
    (r"ms|msec|milliseconds|ミリ秒|毫秒", "ms"),
    (r"us|µs|μs", "us"),
    (r"s|sec|secs|seconds|秒", "s"),
    (r"tok(?:en)?s?|トークン|个|個|词元", "tokens"),
    (r"GiB", "GiB"),
    (r"MiB", "MiB"),
    (r"GB", "GB"),
    (r"MB", "MB"),
)
_UNIT = "|".join(f"(?:{pattern})" for pattern, _ in _UNITS)
_ABOUT = r"(?:[~≈∼]|約|约|ca\.? |circa |about |approx\.? )"
_REMARK = r"(?:[\(\[（].*)?"

_ONE = re.compile(
    rf"(?P<about>{_ABOUT})? ?(?P<times>[x×])? ?(?P<value>{_SIGNED})(?P<kilo>(?-i:[kKM]))?"
    rf" ?(?P<unit>{_UNIT})?(?: ?(?:±|\+/-) ?[\d.,]+ ?(?:{_UNIT})?)? ?{_REMARK}",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"(?P<about>{_ABOUT})? ?(?P<low>{_DIGITS}) ?(?P<lowunit>{_UNIT})?"
    rf" ?(?:-|–|—|~|〜|～|to|から|至) ?(?P<high>{_DIGITS}) ?(?P<unit>{_UNIT})? ?{_REMARK}",
    re.IGNORECASE,
)
_FRACTION = re.compile(rf"(?P<part>{_DIGITS}) ?/ ?(?P<whole>{_DIGITS}) ?{_REMARK}")
_CHANGE = re.compile(
    rf"(?P<old>{_DIGITS}) ?(?P<oldunit>{_UNIT})? ?(?:→|->|=>|⇒|➜|➡) ?(?P<new>{_DIGITS})"
    rf" ?(?P<unit>{_UNIT})?(?: ?[,;]? ?[\(（]? ?(?P<by>{_SIGNED}) ?(?P<byunit>%|[x×倍]) ?[\)）]?)?",
    re.IGNORECASE,
)
#: Marks of a place in a ranking, arrows and the like around a number.
_DECORATION = re.compile(r"^[^\w+\-.~≈∼×约約<>≤≥]+|[^\w%)\]×倍）]+$")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a cell. high: the end of a range. whole: what it is a part of ("538/660")."""

    value: Digits
    unit: Unit = ""
    approx: bool = False
    high: Digits | None = None
    whole: Digits | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Two numbers in a cell, "22.7 → 40.6 (+79 %)", and what it says about their ratio."""

    old: Digits
    new: Digits
    unit: Unit = ""
    by: Quantity | None = None


_SYMBOLS = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]")


def label(text: str) -> str:
    """A cell that names something, without markup and medals."""
    return " ".join(_SYMBOLS.sub("", plain(text)).split())


@lru_cache(maxsize=4096)
def quantity(text: str) -> Quantity | None:
    """The number in a cell, or None where there is none, or more than can be told apart."""
    clean = _DECORATION.sub("", plain(text)) if len(text) <= _LONGEST else ""
    if not any(map(str.isdigit, clean)):
        return None
    return _one(clean) or _range(clean) or _fraction(clean)


def _one(text: str) -> Quantity | None:
    match = _ONE.fullmatch(text)
    if match is None:
        return None
    places = {"k": 3, "m": 6}.get((match["kilo"] or "").lower(), 0)
    value = shifted(match["value"], places) if places else number(match["value"])
    unit: Unit = "x" if match["times"] and not match["unit"] else _unit(match["unit"])
    return None if value is None else Quantity(value, unit, match["about"] is not None)


def _range(text: str) -> Quantity | None:
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    low, high = number(match["low"]), number(match["high"])
    if low is None or high is None or low > high:
        return None
    unit = _unit(match["unit"] or match["lowunit"])
    return Quantity(low, unit, match["about"] is not None, high)


def _fraction(text: str) -> Quantity | None:
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    part, whole = number(match["part"]), number(match["whole"])
    return None if part is None or whole is None else Quantity(part, whole=whole)


def change(text: str) -> Change | None:
    """The two numbers of a cell with an arrow."""
    match = _CHANGE.fullmatch(_DECORATION.sub("", plain(text))) if len(text) <= _LONGEST else None
    if match is None:
        return None
    old, new, by = number(match["old"]), number(match["new"]), number(match["by"])
    if old is None or new is None:
        return None
    said = None if by is None else Quantity(by, _unit(match["byunit"]))
    return Change(old, new, _unit(match["unit"] or match["oldunit"]), said)


def quantities(text: str) -> list[Quantity]:
    """The numbers of a cell that is a list: "90.5% 80.5% 73.6%". Empty where it is none."""
    words = re.split(r"[,;/ ]+", plain(text)) if len(text) <= 10 * _LONGEST else []
    found = [_one(word) for word in words if word]
    return [] if len(found) < 2 or None in found else [each for each in found if each]


def _unit(text: str | None) -> Unit:
    if not text:
        return ""
    return next(unit for pattern, unit in _COMPILED if pattern.fullmatch(text))


_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), unit) for pattern, unit in _UNITS)

_NOTHING = frozenset(
    {"", "-", "--", "—", "–", "n/a", "na", "none", "null", "nan", "n.a.", "tbd", "?"}
)


def is_nothing(text: str) -> bool:
    """Whether the cell says that there is no value."""
    return plain(text).casefold() in _NOTHING
