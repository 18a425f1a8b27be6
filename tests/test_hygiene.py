"""The walk over every text of a tree that the hygiene rules share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Finding
from benchlint.checker.rules import bl70_hygiene as hygiene
from benchlint.checker.secrets import find_secrets

LONG = "a text with an @, so that it is looked at "

TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=24), inner, max_size=4)
    ),
    max_leaves=20,
)


def hygiene_of(tree: object) -> list[Finding]:
    return [f for f in check_tree(tree) if f.code.startswith("BL7")]


def value_at(tree: Any, parts: list[str | int]) -> Any:
    for part in parts:
        tree = tree[part]
    return tree


@given(TREES)
def test_a_text_stands_where_it_is_said_to_stand(tree: object) -> None:
    for text in hygiene.texts(tree):
        if text.is_key:
            assert text.parts[-1] == text.text
            value_at(tree, text.parts)
        else:
            assert value_at(tree, text.parts) == text.text


#: What texts that are reported consist of, and what parts of it alone do not make one.
FRAGMENTS = st.sampled_from(
    (
        *("sk-", "hf_", "ghp_", "AKIA", "xoxb-", "eyJ", "-----BEGIN PRIVATE KEY-----", "\n"),
        *("--api-key", "HF_TOKEN", "Authorization: Bearer", "?sig", "password", "=", ": ", " "),
        *("7c1d9e3fb04a482aa5d6", "Q2PXLRTZ7KDWMV5N", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0e", "x"),
        *("https://", "alice:", "hunter2x", "@", "host", ".local", "/home/", "C:\\Users\\", "jdoe"),
        *(
            "192.168.0.2",
            "10.1.2.3",
            ":8000",
            "[fd12::1]",
            "DESKTOP-AB12CD3",
            "\u200b",
            "\x1b",
            "İ",
        ),
    )
)
TEXTS = st.lists(FRAGMENTS, max_size=6).map("".join)


@given(st.dictionaries(TEXTS, TEXTS, max_size=3), st.lists(TEXTS, max_size=4))
def test_nothing_that_a_rule_would_report_is_passed_over(
    members: dict[str, str], items: list[str]
) -> None:
    tree = {**members, "command_line": items}
    looked_at = {t.text for t in hygiene.texts(tree)}
    named = [*members.items(), *pairwise(["command_line", *items])]
    for name, text in [*named, *(("", name) for name, _ in named)]:
        if _is_reported(text, name):
            assert text in looked_at


def _is_reported(text: str, name: str) -> bool:
    whole = hygiene.Text(text, None, name, is_key=True)
    return bool(
        find_secrets(text, name)
        or [*hygiene._personal(text), *hygiene._addresses(text, name), *hygiene._hidden(whole)]
    )


@given(TREES)
def test_what_cannot_be_shown_is_looked_at_wherever_it_stands(tree: object) -> None:
    seen = {(t.text, t.is_key) for t in hygiene.texts(tree)}
    for value, is_key in _all_texts(tree):
        if not value.isprintable():
            assert (value, is_key) in seen


def _all_texts(tree: object) -> list[tuple[str, bool]]:
    if isinstance(tree, str):
        return [(tree, False)]
    if isinstance(tree, dict):
        inside = [pair for value in tree.values() for pair in _all_texts(value)]
        return [(key, True) for key in tree] + inside
    if isinstance(tree, list):
        return [pair for value in tree for pair in _all_texts(value)]
    return []


def test_texts_come_in_the_order_of_the_file() -> None:
    tree = {"a": [LONG + "1", {"b": LONG + "2"}], "c": {"d": LONG + "3"}, "e": LONG + "4"}
    assert [t.text[-1] for t in hygiene.texts(tree)] == ["1", "2", "3", "4"]


def test_an_option_names_the_item_behind_it_only() -> None:
    tree = {"command_line": ["serve", "--api-key", LONG, LONG, {"x": LONG}]}
    names = [t.name for t in hygiene.texts(tree) if t.text == LONG]
    assert names == ["--api-key", "command_line", "x"]


def test_any_depth() -> None:
    tree: object = "/home/jdoe/models"
    for _ in range(20_000):
        tree = [tree]
    [text] = hygiene.texts(tree)
    assert len(text.parts) == 20_000


def test_a_tree_that_was_changed_is_walked_again() -> None:
    tree: dict[str, Any] = {"benchlint": "1", "notes": "in /home/jdoe/models"}
    assert [f.code for f in hygiene_of(tree)] == ["BL702"]
    tree["notes"] = "in models"
    assert hygiene_of(tree) == []


def test_one_finding_a_text() -> None:
    tree = {"benchlint": "1", "notes": "/home/jdoe/a /home/jdoe/b /Users/jdoe/c /home/other/d"}
    [finding] = hygiene_of(tree)
    assert finding.message.count("jdoe") == 1
    assert "other" in finding.message


def test_findings_of_two_rules_on_one_text_stand_beside_each_other() -> None:
    tree = {"benchlint": "1", "source": "http://192.168.0.2/home \u202e"}
    assert [f.code for f in hygiene_of(tree)] == ["BL703", "BL704"]
