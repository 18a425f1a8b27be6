"""Pointers with ids in place of indices, and patterns over them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.named_pointers import PointerNames, PointerPattern
from benchlint.checker.pointers import pointer

TREE = {
    "runs": [
        {"id": "plain", "decode": {"samples": [1, 2]}},
        {"id": "a/b"},
        {"id": "plain"},
        {"decode": {}},
    ],
    "odd": {"x[y": 1},
}
NAMES = PointerNames(TREE)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("", ""),
        ("/runs", "/runs"),
        ("/runs/0/decode/samples/1", "/runs[id=plain]/decode/samples/1"),
        ("/runs/1", "/runs[id=a~1b]"),
        ("/runs/2/id", "/runs[id=plain#2]/id"),
        ("/runs/3/decode", "/runs/3/decode"),
        ("/runs/9/decode", "/runs/9/decode"),
        ("/nothing/here", "/nothing/here"),
    ],
)
def test_ids_stand_in_place_of_indices(place: str, name: str) -> None:
    assert NAMES.name(place) == name


@pytest.mark.parametrize(
    ("pattern", "place", "covered"),
    [
        ("/runs", "/runs/0/decode", True),
        ("/runs", "", False),
        ("/runs[id=plain]", "/runs/0/decode", True),
        ("runs[id=plain]/decode", "/runs/0/decode/samples/1", True),
        ("/runs[id=pl*]", "/runs/0", True),
        ("/runs[id=plain]", "/runs/2", False),
        ("/runs[id=plain*]", "/runs/2", True),
        ("/runs[id=a/b]", "/runs/1/id", True),
        ("/runs[id=a~1b]", "/runs/1/id", True),
        ("/runs/*/decode", "/runs/3/decode", True),
        ("/runs/3", "/runs/3/decode", True),
        ("/runs[3]", "/runs/3/decode", True),
        ("/runs[3]", "/runs/0/decode", False),
        ("/run", "/runs/3", False),
        ("/odd/x[y", "/odd/x[y", True),
        ("", "/anything", True),
    ],
)
def test_a_pattern_covers_what_is_below(pattern: str, place: str, covered: bool) -> None:
    assert PointerPattern.of(pattern).covers(place, NAMES) is covered


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="not a pointer"):
        PointerPattern.of("/runs//decode")


_trees = st.recursive(
    st.integers() | st.fixed_dictionaries({"id": st.text(max_size=3)}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def _pointers(tree: object, at: str = "") -> list[str]:
    below = list(tree.items()) if isinstance(tree, dict) else []
    below = list(enumerate(tree)) if isinstance(tree, list) else below
    return [at, *(p for key, value in below for p in _pointers(value, at + pointer(key)))]


@given(_trees)
def test_no_two_places_have_one_name(tree: object) -> None:
    names = PointerNames(tree)
    places = _pointers(tree)
    assert len({tuple(names.steps(place)) for place in places}) == len(places)


def test_no_pattern_takes_long() -> None:
    names = PointerNames({"a" * 100_000: 1})
    assert not PointerPattern.of("*a" * 50 + "b").covers(pointer("a" * 100_000), names)
    with pytest.raises(ValueError, match="longer than 1,000 characters"):
        PointerPattern.of("[id=" * 1_000)


@given(st.text("a*", max_size=5), st.text("ab", max_size=6))
def test_stars_stand_for_any_text(pattern: str, name: str) -> None:
    expected = re.fullmatch(pattern.replace("*", "(?s:.*)"), name) is not None
    if pattern and name:
        covered = PointerPattern.of(f"/{pattern}").covers(f"/{name}", PointerNames({}))
        assert covered is expected
