"""Fixes: exact, certain, proven, and nothing else in the file moves."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.document import Document, parse_text
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.fixes import UncertainError, fixed

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0kLmN"


def _everything(_: str) -> bool:
    return True


def _document(text: str) -> Document:
    document = parse_text(text, "a.json").document
    assert document is not None
    return document


def _fixed(text: str, wants: Callable[[str], bool] = _everything) -> str | None:
    document = _document(text)
    change = fixed(document, check_tree(document.tree), wants)
    return None if change is None else change.after


def _rate(member: str) -> str:
    return f'{{"benchlint": "1", "runs": [{{"id": "a", "speculation": {{{member}}}}}]}}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"acceptance_rate": 36.18', '"acceptance_rate": 0.3618'),
        ('"acceptance_rate": 36.180', '"acceptance_rate": 0.36180'),
        ('"acceptance_rate": 80', '"acceptance_rate": 0.80'),
        ('"acceptance_rate": 100', '"acceptance_rate": 1.00'),
        (
            '"accepted_length": 1.28, "acceptance_rate": 7',
            '"accepted_length": 1.28, "acceptance_rate": 0.07',
        ),
        ('"acceptance_rate":3.618e1', '"acceptance_rate":0.3618'),
        (
            '"acceptance_rate": {"value": 36.18, "stdev": 1.50, "samples": [35, 37.4], '
            '"range": [35, 38], "percentiles": {"p50": 36}, "repeats": 5}',
            '"acceptance_rate": {"value": 0.3618, "stdev": 0.0150, "samples": [0.35, 0.374], '
            '"range": [0.35, 0.38], "percentiles": {"p50": 0.36}, "repeats": 5}',
        ),
        (
            '"per_position": {"values": [75.2, 51.0, 0.9, 0]}',
            '"per_position": {"values": [0.752, 0.510, 0.009, 0.00]}',
        ),
    ],
)
def test_the_point_moves_and_the_digits_stay(before: str, after: str) -> None:
    assert _fixed(_rate(before)) == _rate(after)


@pytest.mark.parametrize(
    "member",
    [
        '"acceptance_rate": 0.3618',
        '"acceptance_rate": {"value": 36.18, "stdev": 0.4}',
        '"acceptance_rate": {"value": 36.18, "samples": [36.2, 0.9]}',
        '"acceptance_rate": {"value": 36.18, "samples": [36.2, 136]}',
        '"acceptance_rate": 136.18',
        '"per_position": {"values": [75.2, 0.9, 51.0]}',
    ],
)
def test_what_may_be_either_is_left(member: str) -> None:
    assert _fixed(_rate(member)) is None


def test_a_mix_in_percent_is_fixed_as_a_whole() -> None:
    text = '{"benchlint": "1", "workloads": {"w": {"mix": {"code": 60, "x": 39.5, "y": 0.5}}}}'
    after = _fixed(text)
    assert after is not None
    assert '"mix": {"code": 0.60, "x": 0.395, "y": 0.005}' in after


def test_what_may_be_tokens_per_step_is_no_certain_percentage() -> None:
    assert _fixed(_rate('"acceptance_rate": 3.2')) is None


@given(st.decimals(min_value=18, max_value=100, places=4), st.sampled_from([",", ", ", " ,\n\t"]))
def test_a_percentage_is_divided_by_100_to_the_digit(rate: Decimal, comma: str) -> None:
    text = f'{{"benchlint":"1"{comma}"runs":[{{"id":"é"{comma}"speculation":'
    after = _fixed(text + f'{{"acceptance_rate":{rate}}}}}]}}')
    assert after is not None
    number = after.removeprefix(text).removeprefix('{"acceptance_rate":').removesuffix("}}]}")
    assert Decimal(number) == rate / 100
    assert Decimal(number).as_tuple().digits == rate.as_tuple().digits


@pytest.mark.parametrize(
    ("command", "clean"),
    [
        (f'"vllm serve --api-key {SECRET} x"', '"vllm serve --api-key <redacted> x"'),
        (f'"caf\\u00e9 --api-key {SECRET}"', '"caf\\u00e9 --api-key <redacted>"'),
        (f'["vllm", "--api-key", "{SECRET}"]', '["vllm", "--api-key", "<redacted>"]'),
    ],
)
def test_secrets_are_redacted_and_the_rest_stays(command: str, clean: str) -> None:
    text = '{"benchlint": "1", "engine": {"command_line": %s}}'
    assert _fixed(text % command) == text % clean


COUNTS = '"counts": {"drafted": 1000, "accepted": 362, "verify_steps": 143}'
RATE = '"acceptance_rate": {"value": 0.362, "of": "drafted"}'
LENGTH = '"accepted_length": {"value": 3.531, "counts_bonus_token": true}'


def test_rate_and_length_are_derived_from_counts() -> None:
    assert _fixed(_rate(COUNTS)) == _rate(f"{COUNTS}, {RATE}, {LENGTH}")


def test_what_is_stated_is_not_derived() -> None:
    stated = f'{COUNTS}, "acceptance_rate": 0.362'
    assert _fixed(_rate(stated)) == _rate(f'{COUNTS}, {LENGTH}, "acceptance_rate": 0.362')


def test_what_is_derived_is_no_new_finding() -> None:
    after = _fixed(_rate(COUNTS))
    assert after is not None
    before = {f.code for f in check_tree(json.loads(_rate(COUNTS)))}
    assert {f.code for f in check_tree(_document(after).tree)} <= before


@pytest.mark.parametrize(
    "counts",
    [
        '"counts": {"drafted": 1000, "verify_steps": 143}',
        '"counts": {"drafted": 0, "accepted": 0, "verify_steps": 0}',
        '"counts": {"drafted": 300, "accepted": 362, "verify_steps": 143}',
        '"counts": {"drafted": 1000, "accepted": -1, "verify_steps": 143}',
        '"counts": {"drafted": "many", "accepted": 362, "verify_steps": 143}',
        '"counts": null',
    ],
)
def test_nothing_is_derived_from_counts_that_are_not_complete(counts: str) -> None:
    assert _fixed(_rate(counts)) is None


def test_nothing_is_derived_from_contradicted_counts() -> None:
    document = _document(_rate(COUNTS))
    finding = Finding("BL206", "counts-inconsistent", Severity.ERROR, "", subject="/runs/0")
    assert fixed(document, [finding], _everything) is None


def test_a_rule_that_is_not_selected_derives_nothing() -> None:
    assert _fixed(_rate(COUNTS), lambda code: code == "BL105") == _rate(f"{COUNTS}, {RATE}")


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ('{\n  "counts": {"drafted": 8, "accepted": 4}\n}', ',\n  "acceptance_rate"'),
        ('{"x": 1,\r\n\t"counts": {"drafted": 8, "accepted": 4}}', ',\r\n\t"acceptance_rate"'),
        ('{"counts":{"drafted":8,"accepted":4}}', '},"acceptance_rate":{"value":0.5,"of"'),
    ],
)
def test_what_is_added_is_spaced_as_the_rest(before: str, between: str) -> None:
    after = _fixed(f'{{"benchlint": "1", "runs": [{{"id": "a", "speculation": {before}}}]}}')
    assert after is not None
    assert between in after


def test_an_edit_that_does_not_say_what_was_intended_is_refused() -> None:
    # The text is not the one the tree came from, as if the reader and the editor disagreed.
    document = _document(_rate('"acceptance_rate": 36.18'))
    document.text = document.text.replace("36.18", "44.44, 7")
    with pytest.raises(UncertainError):
        fixed(document, check_tree(document.tree), _everything)


def test_fixing_twice_changes_nothing_more() -> None:
    text = _rate('"acceptance_rate": 36.18, "counts": {"drafted": 8, "accepted": 4}')
    once = _fixed(text)
    assert once is not None
    assert _fixed(once) is None
