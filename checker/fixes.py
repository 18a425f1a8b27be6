"""`--fix`: what can be mended without knowing more than the report says.

- a percentage where a fraction belongs (BL208): the decimal point moves, the digits stay;
- a secret (BL701): redacted;
- acceptance rate and accepted length that are not stated (BL105, BL106), where the engine's
  counts give them: rate = A/D, τ = 1 + A/s.

The text is edited where the value stands and nowhere else. Before anything is written the
edited text is parsed again, and what it says must be what was intended, to the value.
Only JSON is edited.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from benchlint.checker.counts import CanonicalCounts
from benchlint.checker.finding import Finding
from benchlint.checker.lines import Span
from benchlint.checker.pointers import pointer, split
from benchlint.checker.positions_json import JsonPositions
from benchlint.checker.secrets import redact
from benchlint.checker.shares import MOST_LENGTH

if TYPE_CHECKING:
    from benchlint.checker.document import Document

Wants = Callable[[str], bool]

#: Members of a measured value that are in its unit.
_IN_UNIT = ("value", "stdev", "samples", "range", "percentiles")

#: A standard deviation over 0.5 cannot be one of shares; a smaller one may be either.
_LARGEST_STDEV = 0.5


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in place of a span; `value` is what then stands at the pointer."""

    span: Span
    text: str
    pointer: str
    value: object


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text with the fixes in it, and how many values they changed or added."""

    before: str
    after: str
    count: int


class UncertainError(Exception):
    """An edited text does not say what was intended; nothing may be written."""


def fixed(document: Document, findings: Sequence[Finding], wants: Wants) -> Fixed | None:
    """The document's text with all fixes, or None where there are none.

    wants: whether a rule is selected; fixes of rules that are not are left out.
    Raises UncertainError.
    """
    text = _Text(document.text)
    edits = [
        *_each_once(_percent_edits(document.tree, findings, text)),
        *_redactions(document.tree, findings, text),
        *_derived(document.tree, findings, text, wants),
    ]
    if not edits:
        return None
    after = _applied(document.text, edits)
    if not _proven(document, after, edits):
        raise UncertainError(document.path)
    return Fixed(document.text, after, len(edits))


def fixable(tree: object, findings: Sequence[Finding]) -> list[str]:
    """For each value whose finding a fix would end, the code of that finding.

    The language of the report does not matter. What counts give ends no finding and is left out.
    """
    percents = {place for places in _percent_places(tree, findings) for place in places}
    return ["BL208"] * len(percents) + ["BL701" for _ in _redacted(tree, findings)]


class _Text:
    """A JSON text and where its values stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._positions = JsonPositions(text)

    def span(self, place: str, *, key: bool = False) -> Span:
        return self._positions.span(split(place), key=key)

    def at(self, place: str) -> str:
        start, end = self.span(place)
        return self.text[start:end]


def _each_once(edits: Iterable[Edit]) -> list[Edit]:
    return list({edit.span: edit for edit in edits}.values())


def _applied(text: str, edits: Sequence[Edit]) -> str:
    # From the end on, so that spans stay true; what is added at one place keeps its order.
    for edit in sorted(edits, key=lambda e: e.span)[::-1]:
        text = text[: edit.span[0]] + edit.text + text[edit.span[1] :]
    return text


def _proven(document: Document, after: str, edits: Sequence[Edit]) -> bool:
    """Whether the edited text says what the document says with the intended values in it."""
    from benchlint.checker.document import parse_text

    expected = document.tree
    for edit in edits:
        expected = _with_value(expected, split(edit.pointer), edit.value)
    parsed = parse_text(after, document.path, language="json")
    return parsed.document is not None and parsed.document.tree == expected


def _with_value(tree: object, parts: Sequence[str], value: object) -> object:
    """A copy of the tree with the value at the path; a member that is not there is added."""
    if not parts:
        return value
    first, rest = parts[0], parts[1:]
    if isinstance(tree, dict):
        return {**tree, first: _with_value(tree.get(first), rest, value)}
    if isinstance(tree, list):
        return [
            _with_value(item, rest, value) if str(i) == first else item
            for i, item in enumerate(tree)
        ]
    raise UncertainError(first)


def _value(tree: object, place: str) -> object:
    """The value at a pointer; None where there is none."""
    for part in split(place):
        if isinstance(tree, dict):
            tree = tree.get(part)
        elif isinstance(tree, list) and part.isdecimal() and int(part) < len(tree):
            tree = tree[int(part)]
        else:
            return None
    return tree


# --- percent to fraction ---------------------------------------------------------------------


def _percent_edits(tree: object, findings: Sequence[Finding], text: _Text) -> Iterator[Edit]:
    for places in _percent_places(tree, findings):
        yield from (_moved_point(place, text) for place in places)


def _percent_places(tree: object, findings: Sequence[Finding]) -> Iterator[list[str]]:
    for finding in findings:
        if finding.code == "BL208":
            places = list(_in_the_same_unit(tree, finding.pointer))
            if _certainly_percent(tree, places):
                yield places


def _in_the_same_unit(tree: object, place: str) -> Iterator[str]:
    """Pointers of all numbers that share their unit with the number at this place."""
    top = place
    while (parent := top.rpartition("/")[0]) and _is_one_quantity(tree, parent):
        top = parent
    return _numbers_below(_value(tree, top), top)


def _is_one_quantity(tree: object, place: str) -> bool:
    """Whether what stands here is one quantity: a list of shares, a mix, a measured value."""
    value = _value(tree, place)
    if isinstance(value, list):
        return all(_is_number(item) for item in value)
    return isinstance(value, dict) and (
        place.endswith(("/mix", "/percentiles")) or "value" in value or "samples" in value
    )


def _numbers_below(value: object, place: str) -> Iterator[str]:
    if _is_number(value):
        yield place
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _numbers_below(item, f"{place}/{i}")
    elif isinstance(value, dict):
        wanted = value if place.endswith(("/mix", "/percentiles")) else _IN_UNIT
        for name in wanted:
            if name in value:
                yield from _numbers_below(value[name], place + pointer(name))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _certainly_percent(tree: object, places: Sequence[str]) -> bool:
    """Whether every one of the numbers can only be a percentage.

    A number from 0 to 1 beside percentages may be either, unless the rest shows it: a mix sums
    to 100, and shares by position never rise.
    """
    numbers = [_number(tree, place) for place in places]
    if not numbers or not all(0 <= n <= 100 for n in numbers):
        return False
    parents = {place.rpartition("/")[0] for place in places}
    if all(parent.endswith("/mix") for parent in parents):
        return 99 <= sum(numbers) <= 101
    if all(parent.endswith("/per_position/values") for parent in parents):
        return numbers[0] > 1 and numbers == sorted(numbers, reverse=True)
    if parents and max(numbers) <= MOST_LENGTH and _may_be_length(tree, places[0]):
        return False
    return all(n > _least(place) or n == 0 for n, place in zip(numbers, places, strict=True))


def _may_be_length(tree: object, place: str) -> bool:
    """Whether a small number stands for an acceptance rate without an accepted length beside it."""
    above, found, _ = place.partition("/acceptance_rate")
    block = _value(tree, above) if found else None
    return isinstance(block, dict) and block.get("accepted_length") is None


def _number(tree: object, place: str) -> float:
    value = _value(tree, place)
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _least(place: str) -> float:
    return _LARGEST_STDEV if place.endswith("/stdev") else 1.0


def _moved_point(place: str, text: _Text) -> Edit:
    number = format(Decimal(text.at(place)).scaleb(-2), "f")
    return Edit(text.span(place), number, place, json.loads(number))


# --- secrets ---------------------------------------------------------------------------------


def _redactions(tree: object, findings: Sequence[Finding], text: _Text) -> Iterator[Edit]:
    for place, name, clean in _redacted(tree, findings):
        yield Edit(text.span(place), _literal(text.at(place), clean, name), place, clean)


def _redacted(tree: object, findings: Sequence[Finding]) -> Iterator[tuple[str, str, str]]:
    """Where a secret stands, what it is the value of, and the text without it."""
    places = {finding.pointer for finding in findings if finding.code == "BL701"}
    for place in sorted(places):
        value = _value(tree, place)
        if not isinstance(value, str):
            continue
        name = _called(tree, place)
        clean = redact(value, name)
        if clean != value:
            yield place, name, clean


def _called(tree: object, place: str) -> str:
    """What a text is the value of: the option before it in a list, or its member's name."""
    parent, _, last = place.rpartition("/")
    items = _value(tree, parent)
    if isinstance(items, list) and last.isdecimal() and int(last) > 0:
        return str(items[int(last) - 1])
    return split(place)[-1]


def _literal(raw: str, clean: str, name: str) -> str:
    """A JSON string for `clean` that keeps the escapes of the raw one where it can."""
    kept = redact(raw, name)
    try:
        if json.loads(kept) == clean:
            return kept
    except ValueError:
        pass
    return json.dumps(clean, ensure_ascii=raw.isascii())


# --- derived from counts ---------------------------------------------------------------------


def _derived(
    tree: object, findings: Sequence[Finding], text: _Text, wants: Wants
) -> Iterator[Edit]:
    contradicted = {f.subject for f in findings if f.code == "BL206"}
    runs = _value(tree, "/runs")
    for i, run in enumerate(runs if isinstance(runs, list) else ()):
        place = f"/runs/{i}"
        if place not in contradicted and isinstance(run, dict) and run.get("void") is None:
            members = _derivable(run.get("speculation"), wants)
            if members:
                yield from _inserted(members, f"{place}/speculation/counts", text)


def _derivable(speculation: object, wants: Wants) -> dict[str, object]:
    """What counts that can be right give, of what the block does not state."""
    counts = speculation.get("counts") if isinstance(speculation, dict) else None
    if not isinstance(speculation, dict) or not isinstance(counts, dict):
        return {}
    canonical = _canonical(counts)
    members: dict[str, object] = {}
    if canonical.rate is not None and "acceptance_rate" not in speculation and wants("BL105"):
        members["acceptance_rate"] = {"value": round(canonical.rate, 4), "of": "drafted"}
    length = canonical.accepted_length
    if length is not None and "accepted_length" not in speculation and wants("BL106"):
        members["accepted_length"] = {"value": round(length, 3), "counts_bonus_token": True}
    return members


def _canonical(counts: dict[str, object]) -> CanonicalCounts:
    drafted, accepted, steps = (
        _count(counts.get(name)) for name in ("drafted", "accepted", "verify_steps")
    )
    if accepted is None or drafted is None or accepted > drafted:
        return CanonicalCounts()
    return CanonicalCounts(steps=steps, drafted=drafted, accepted=accepted)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _inserted(members: dict[str, object], after: str, text: _Text) -> Iterator[Edit]:
    """Edits that add members behind the one at `after`, spaced as it is spaced."""
    end = text.span(after)[1]
    between, colon = _spacing(after, text)
    for name, value in members.items():
        inner = (", ", colon) if colon.endswith(" ") else (",", colon)
        member = f"{json.dumps(name)}{colon}{json.dumps(value, separators=inner)}"
        place = after.rpartition("/")[0] + pointer(name)
        yield Edit((end, end), f",{between}{member}", place, value)


def _spacing(place: str, text: _Text) -> tuple[str, str]:
    """The white space in front of a member, or that after a comma, and its colon."""
    key_start, key_end = text.span(place, key=True)
    start = text.span(place)[0]
    colon = text.text[key_end:start]
    before = text.text[:key_start]
    lead = before[len(before.rstrip()) :]
    if "\n" in lead or before.rstrip().endswith(","):
        return lead, colon
    return (" " if colon.endswith(" ") else ""), colon
