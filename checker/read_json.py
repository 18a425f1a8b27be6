"""JSON: a tree that remembers digits, and what is wrong with a text in plain words."""

from __future__ import annotations

import json
import re
from functools import cache
from json import JSONDecodeError

from benchlint.checker.lines import Span
from benchlint.checker.loaded import Fault, Loaded, empty_fault, not_read
from benchlint.checker.positions_json import JsonPositions, faults, open_containers, too_deep
from benchlint.checker.tree import (
    MAX_DEPTH,
    NOT_FINITE,
    Digits,
    decimal,
    is_too_deep,
    whole,
    without_not_finite,
)

_new_float = float.__new__
#: Lengths under which digits can be neither too many nor, without an exponent, too large.
_SHORT = 300


class _DoubtError(Exception):
    """The text has a number that is not finite, or a name twice: it needs a second look."""


class _Numbers(dict[str, Digits]):
    """Numbers by their digits. Few are of many digits, so that reports share most of them."""

    _MOST = 4_096
    _LONGEST = 24

    def __missing__(self, text: str) -> Digits:
        number = _new_float(Digits, text)
        if not -_LARGEST <= number <= _LARGEST:
            raise _DoubtError
        number.text = text
        if len(text) <= self._LONGEST:
            if len(self) == self._MOST:
                self.clear()
            self[text] = number
        return number


def _integer(text: str) -> int:
    if len(text) >= _SHORT:
        raise _DoubtError
    return int(text)


def _constant(_: str) -> object:
    raise _DoubtError


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DoubtError
    return found


#: Reads what nearly every report is: the second look keeps count, which takes longer.
_decoder = json.JSONDecoder(
    parse_float=_Numbers().__getitem__,
    parse_int=_integer,
    parse_constant=_constant,
    object_pairs_hook=_members,
)


class _SecondLook:
    """What the decoder calls of a text in doubt. `flagged`: there is something to tell of it."""

    __slots__ = ("flagged",)

    def __init__(self) -> None:
        self.flagged = False

    def decode(self, text: str) -> object:
        """Raises JSONDecodeError, and RecursionError for a text nested a thousand deep."""
        decoder = json.JSONDecoder(
            parse_float=self.fraction,
            parse_int=self.integer,
            parse_constant=self.constant,
            object_pairs_hook=self.members,
        )
        return decoder.decode(text)

    def fraction(self, text: str) -> object:
        number = decimal(text)
        self.flagged |= number is NOT_FINITE
        return number

    def integer(self, text: str) -> object:
        number = whole(text)
        self.flagged |= number is NOT_FINITE
        return number

    def constant(self, _: str) -> object:
        self.flagged = True
        return NOT_FINITE

    def members(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Of members with the same name the first stays, as positions have it."""
        found = dict(pairs)
        if len(found) != len(pairs):
            self.flagged = True
            found = dict(reversed(pairs))
        return found


def _decoded(text: str) -> tuple[object, bool]:
    """The tree, and whether there is something to tell of its text besides."""
    try:
        return _decoder.decode(text), False
    except _DoubtError:
        look = _SecondLook()
        return look.decode(text), look.flagged


_LARGEST = 1.7976931348623157e308


def load(text: str) -> Loaded:
    """The tree of a JSON text. Lone surrogates (`"\\ud800"`) become U+FFFD."""
    clean = without_lone_surrogates(text)
    try:
        tree, flagged = _decoded(clean)
    except RecursionError:
        return not_read(too_deep(clean))
    except JSONDecodeError as error:
        return not_read(explained(error))
    if _could_be_deep(clean) and is_too_deep(tree):
        return not_read(too_deep(clean))
    found = faults(clean) if flagged else []
    tree = without_not_finite(tree) if flagged else tree
    return Loaded(
        None if tree is NOT_FINITE else tree,
        has_tree=tree is not NOT_FINITE,
        faults=found,
        positions=lambda: JsonPositions(clean),
    )


def _could_be_deep(text: str) -> bool:
    return text.count("{") + text.count("[") > MAX_DEPTH


def without_lone_surrogates(text: str) -> str:
    r"""The text with `\ufffd` for each escape of half a character; nothing moves.

    Such escapes are legal JSON (RFC 8259, section 8.2), but no encoding can print them.
    """
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _surrogates().sub(lambda match: "\\ufffd" if match[1] else match[0], text)


@cache
def _surrogates() -> re.Pattern[str]:
    digits = "[0-9a-fA-F]{2}"
    high, low = f"u[dD][89abAB]{digits}", f"u[dD][c-fC-F]{digits}"
    return re.compile(rf"\\(?:{high}\\{low}|({high}|{low})|.)", re.DOTALL)


def explained(error: JSONDecodeError) -> Fault:
    """The syntax error in words: what was met, what was expected, what to do."""
    text, at = error.doc, error.pos
    if not text.strip(_WHITE):
        return empty_fault()
    for prefix, explain in _BY_MESSAGE:
        if error.msg.startswith(prefix):
            return explain(text, at)
    if at >= len(text.rstrip(_WHITE)):
        return _cut_off(text)
    return _trailing_comma(text, at) or _unexpected(text, at, error.msg)


_WHITE = " \t\n\r"


def _fault(what: str, span: Span, hint: str) -> Fault:
    return Fault("BL001", f"not JSON: {what}", span, help=hint)


def _unterminated(_: str, at: int) -> Fault:
    return _fault("the string that starts here has no end", (at, at + 1), "close its quotes")


def _extra(text: str, at: int) -> Fault:
    hint = "a file holds one report; for one report a line, name it .jsonl"
    return _fault(f"{_met(text, at)} after the end of the report", _word(text, at), hint)


def _control_character(text: str, at: int) -> Fault:
    # The C scanner gives the character's own place, the Python one the place behind it.
    place = at if text[at : at + 1] < " " else at - 1
    if text[place] in "\r\n":
        hint = "close the string's quotes; a line break in a string is written \\n"
        return _fault("a string runs past the end of its line", (place, place + 1), hint)
    hint = f"write it as \\u{ord(text[place]):04x}"
    return _fault("a control character in a string", (place, place + 1), hint)


def _escape(text: str, at: int) -> Fault:
    start = text.rfind("\\", 0, at + 1)
    shown = text[start : start + 2]
    hint = "a backslash is written twice: \\\\"
    return _fault(f"`{shown}` in a string is no escape", (start, start + len(shown)), hint)


_BY_MESSAGE = (
    ("Unterminated string", _unterminated),
    ("Extra data", _extra),
    ("Invalid control character", _control_character),
    ("Invalid \\", _escape),
)


def _cut_off(text: str) -> Fault:
    """The text ends too soon. The innermost container left open says the most."""
    end = len(text.rstrip(_WHITE))
    opened = open_containers(text, end)
    related = tuple(("", "not closed", (at, at + 1)) for at in opened[-1:])
    what = "the text ends inside an object or a list" if opened else "the text ends too soon"
    hint = "close what was opened, or save the file again if it was cut off"
    return Fault("BL001", f"not JSON: {what}", (end - 1, end), hint, related=related)


def _trailing_comma(text: str, at: int) -> Fault | None:
    # From Python 3.13 on the decoder gives the comma's place, before that the bracket's.
    comma = at if text[at] == "," else len(text[:at].rstrip(_WHITE)) - 1
    closes = text[comma + 1 :].lstrip(_WHITE)[:1] in ("}", "]")
    if comma < 0 or text[comma] != "," or not closes:
        return None
    return _fault("a comma after the last member", (comma, comma + 1), "remove the comma")


def _unexpected(text: str, at: int, message: str) -> Fault:
    expected, hints = _EXPECTED.get(message, ("something else", _VALUE_HINTS))
    before = text[max(0, at - 40) : at]
    hint = next((hint for pattern, hint in hints if _matches(pattern, before, text, at)), "")
    return _fault(f"{_met(text, at)} where {expected} should be", _word(text, at), hint)


def _matches(pattern: str, before: str, text: str, at: int) -> bool:
    """Whether the pattern matches here; a part in front of ` @ ` must match what stands before."""
    front, _, here = pattern.rpartition(" @ ")
    return bool(re.match(here, text[at : at + 40]) and re.search(rf"{front}\Z", before))


_VALUE_HINTS = (
    (r"['‘’“”]|`(?!``)", "strings and member names stand in double quotes"),
    (r"//|/\*|#", 'JSON has no comments; put it under "notes"'),
    (r"True\b|False\b", "JSON writes true and false in small letters"),
    (r"None\b|undefined\b", "JSON writes null; leave out what is unknown"),
    (r"[+-]?(?i:nan|inf)", "leave out what was not measured"),
    (r"\+", "numbers have no plus sign"),
    (r"\.\d", "write a digit before the decimal point"),
    (r"```|<", "the file holds markup; give the JSON alone"),
    (r"---|\w+:\s", "this looks like YAML; name the file .yaml"),
    (r"\[?[\w.]+\]?\s*=|[\w.]+\]\]?\s*\n", "this looks like TOML; name the file .toml"),
)
_NAME_HINTS = (
    *_VALUE_HINTS[:2],
    (r"[\w$]", "member names stand in double quotes"),
)
_COMMA_HINTS = (
    (r"""["{[]""", "put a comma before it"),
    (r"\b-?0 @ \d", "numbers have no leading zeros"),
    (r"\d @ \.", "write a digit after the decimal point"),
    (r"\d\s* @ [%\w]", "a number stands alone; its unit is in the name of the field"),
    *_VALUE_HINTS[1:2],
)
_EXPECTED = {
    "Expecting value": ("a value", _VALUE_HINTS),
    "Expecting property name enclosed in double quotes": ("a member name", _NAME_HINTS),
    "Expecting ':' delimiter": ("a colon", ()),
    "Expecting ',' delimiter": ("a comma or the end of the list or object", _COMMA_HINTS),
}


_LONGEST_WORD = 40


def _met(text: str, at: int) -> str:
    start, end = _word(text, at)
    if text[at] == "`":
        return "a backtick"
    return f"`{text[start:end]}`"


def _word(text: str, at: int) -> Span:
    """The word, or else the one character, at this place."""
    end = at + 1
    limit = min(len(text), at + _LONGEST_WORD) if text[at].isalnum() else end
    while end < limit and (text[end].isalnum() or text[end] in "_."):
        end += 1
    return at, end
