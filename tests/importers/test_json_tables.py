"""Lists of flat JSON objects that people's own harnesses write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.importers.reading import findings, imported, place

ROWS = [
    {"cfg": "none", "run": 0, "warm": True, "pp": 205.25, "tg": 144.5, "draft_n": None},
    {
        "cfg": "mtp k=3",
        "run": 0,
        "warm": True,
        "pp": 244.5,
        "tg": 196.25,
        "draft_n": 150,
        "acc": 99,
    },
]


def test_each_object_is_a_run(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(ROWS, indent=1), "summary.json")
    assert report.importer.name == "tables"
    plain, fast = report.tree["runs"]
    assert plain["prefill"] == {"tok_s": 205.25}
    assert plain["decode"] == {"tok_s": 144.5}
    assert "speculation" not in plain
    assert fast["decode"] == {"tok_s": 196.25}
    assert fast["speculation"] == {"counts": {"drafted": 150, "accepted": 99}}
    setup = report.tree["configurations"][fast["configuration"]]
    assert setup == {"drafter": {"method": "mtp"}, "draft_length": {"max": 3}}
    assert place(report, "/runs/1/decode/tok_s") == (15, "196.25")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps({"gpu": "one", "results": ROWS}), "summary.json"),
        ("".join(json.dumps(row) + "\n" for row in ROWS), "summary.jsonl"),
    ],
)
def test_the_one_list_of_an_object_and_lines(text: str, name: str, tmp_path: Path) -> None:
    (report,) = imported(tmp_path, text, name)
    assert [run["decode"]["tok_s"] for run in report.tree["runs"]] == [144.5, 196.25]


@pytest.mark.parametrize(
    "tree",
    [
        [{"speed": 12, "name": "wind"}, {"speed": 14, "name": "wind"}],
        {"a": ROWS, "b": ROWS},
        [{"tok_s": [1, 2]}, {"tok_s": {"mean": 3}}],
        [{"tok_s": None}],
        {"accepted": 3},
        [
            {"type": "begin", "at": 1, "model": "a", "size": 3, "url": "b"},
            {"type": "first", "ttft_ms": 21.5},
            {"type": "end", "at": 3, "tok_s": 31.5, "decode_tokens": 12},
        ],
    ],
)
def test_what_is_no_table_of_decoding(tree: object, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, json.dumps(tree), "data.json")
    assert finding.code == "BL014"
