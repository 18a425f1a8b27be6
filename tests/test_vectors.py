"""Published numbers that hold are accused of nothing; numbers that cannot be are, with the sum.

The first list are rows of real benchmarks and replies of real engines, the second the same kind
of row with one number that no definition explains.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits
from benchlint.checker.finding import Finding, Severity


def errors(text: str) -> list[Finding]:
    """The errors of a report in JSON, digits kept."""
    found = check_tree(json.loads(text, parse_float=Digits))
    return [f for f in found if f.severity is Severity.ERROR]


def row(speculation: str, length: Any = None, method: str = "draft_model", **more: Any) -> str:
    """A report with one speculative run."""
    configuration = {"drafter": {"method": method}}
    if length is not None:
        configuration["draft_length"] = length
    report = {"configurations": {"c": configuration}, **more}
    run = '{"id": "r", "configuration": "c", "speculation": ' + speculation + "}"
    return json.dumps(report)[:-1] + ', "runs": [' + run + "]}"


def positions(values: str, tau: str) -> str:
    return (
        f'{{"accepted_length": {{"value": {tau}, "counts_bonus_token": true}}, '
        f'"per_position": {{"values": [{values}], "kind": "cumulative"}}}}'
    )


def fixed(k: int) -> dict[str, Any]:
    return {"max": k, "policy": "fixed"}


SGLANG = {"engine": {"name": "sglang", "version": "0.5.6"}}
HOLDS = {
    "DFlash2 K=1": row(positions("0.87", "1.87"), fixed(1), "dflash"),
    "DFlash2 K=3": row(positions("0.83, 0.65, 0.50", "2.98"), fixed(3), "dflash"),
    "DFlash2 K=4": row(positions("0.76, 0.60, 0.48, 0.40", "3.24"), fixed(4), "dflash"),
    "DFlash2 K=7": row(
        positions("0.77, 0.60, 0.50, 0.42, 0.29, 0.19, 0.15", "3.92"), fixed(7), "dflash"
    ),
    "DFlash2 K=10, part of the list": row(
        positions("0.69, 0.55, 0.43, 0.37", "3.84"), fixed(10), "dflash"
    ),
    "MTP K=7": row(positions("0.87, 0.79, 0.69, 0.54, 0.44, 0.28, 0.21", "4.82"), fixed(7), "mtp"),
    "MTP K=12, part of the list": row(
        positions("0.82, 0.72, 0.62, 0.56", "5.03"), fixed(12), "mtp"
    ),
    "code, 220 rounds": row(
        '{"acceptance_rate": 0.8152, "accepted_length": 3.45, '
        '"per_position": {"values": [0.905, 0.805, 0.736]}, "counts": {"drafted": 660, '
        '"accepted": 538, "verify_steps": 220, "output_tokens": 759, "requests": 1}}',
        3,
        "mtp",
    ),
    "extract, 300 rounds": row(
        '{"acceptance_rate": 0.8031, "accepted_length": 3.41, '
        '"per_position": {"values": [0.913, 0.80, 0.696]}, "counts": {"drafted": 899, '
        '"accepted": 722, "verify_steps": 300, "output_tokens": 1024, "requests": 1}}',
        3,
        "mtp",
    ),
    "τ 6.39 at K = 15": row('{"acceptance_rate": 0.3618, "accepted_length": 6.39}', 15, "dflash"),
    "SGLang counts the root": row(
        '{"acceptance_rate": 0.80, "accepted_length": 3.20}', 3, "eagle3", **SGLANG
    ),
    "LM Studio's share of the output": row(
        '{"acceptance_rate": 0.75, "accepted_length": 4.0}', 8, engine={"name": "LM Studio"}
    ),
    "nothing drafted": row('{"counts": {"drafted": 0, "accepted": 0}}', 4, "ngram"),
}


@pytest.mark.parametrize("text", HOLDS.values(), ids=HOLDS.keys())
def test_what_holds_is_accused_of_nothing(text: str) -> None:
    assert errors(text) == []


CANNOT_BE = {
    "BL201": (row('{"accepted_length": 5.3}', 4), ("5.3", "K + 1 = 5")),
    "BL204": (
        row('{"acceptance_rate": 0.417, "accepted_length": 4.82}', fixed(7), "mtp"),
        ("0.417", "(4.82 - 1)/7 = 0.546"),
    ),
    "BL203 or BL202": (row(positions("0.7, 0.75, 0.5", "2.95"), 3), ("0.75",)),
    "BL202": (
        row(positions("0.77, 0.60, 0.50, 0.42, 0.29, 0.19, 0.15", "4.5"), fixed(7), "dflash"),
        ("4.5", "3.92"),
    ),
    "BL206": (row('{"counts": {"drafted": 660, "accepted": 700}}', 3, "mtp"), ("700", "660")),
}


@pytest.mark.parametrize("code", CANNOT_BE)
def test_what_cannot_be_is_an_error_with_its_arithmetic(code: str) -> None:
    text, sums = CANNOT_BE[code]
    (error,) = errors(text)
    assert error.code in code
    for each in sums:
        assert each in error.message.replace("−", "-"), error.message
