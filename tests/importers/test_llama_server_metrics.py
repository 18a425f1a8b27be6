"""/metrics of llama-server: counters since its start, and what they do not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.found import Line
from benchlint.checker.importers.imported import hint_for
from benchlint.checker.importers.prometheus import histogram_of, sample
from benchlint.checker.importers.registry import importer_named
from tests.importers.reading import imported, place, value

#: One reply. Four positions, 50 verify steps: 10 + 14 + 6 + 5 + 15 by accepted tokens.
METRICS = """\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached tokens
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1210
# TYPE llamacpp:prompt_seconds_total counter
llamacpp:prompt_seconds_total 0.81275
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 163
llamacpp:tokens_predicted_seconds_total 2.0405
llamacpp:n_decode_total 60
llamacpp:spec_decode_num_draft_tokens_total 196
llamacpp:spec_decode_num_accepted_tokens_total 101
llamacpp:spec_decode_num_drafts_total 50
llamacpp:prompt_tokens_seconds 1488.7
llamacpp:predicted_tokens_seconds 12.25
llamacpp:requests_processing 0
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 40
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 26
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="2"} 20
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="3"} 15
"""


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, METRICS, "metrics.txt")
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "llama.cpp"},
        "runs": [
            {
                "id": "server",
                "prefill": {"tokens": 1210, "seconds": 0.81275},
                "decode": {"tokens": 163, "seconds": 2.0405},
                "speculation": {
                    "counts": {
                        "output_tokens": 163,
                        "drafted": 196,
                        "accepted": 101,
                        "verify_steps": 50,
                    },
                    "histogram": [10, 14, 6, 5, 15],
                },
                "measurement": {
                    "by": "engine_counter",
                    "counters": "server_cumulative",
                    "window": "decode_only",
                },
            }
        ],
    }


def test_places_are_in_the_original(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, METRICS, "metrics.txt")
    assert place(report, "/runs/0/speculation/counts/accepted") == (11, "101")
    assert place(report, "/runs/0/speculation/histogram") == (16, "40")


def test_gauges_of_the_last_scrape_are_no_speeds(tmp_path: Path) -> None:
    """12.25 tok/s stand beside 163 tokens in 2.04 s, and both are right."""
    (report,) = imported(tmp_path, METRICS, "metrics.txt")
    assert "12.25" not in str(report.tree)
    assert "1488.7" not in str(report.tree)


def test_counters_that_run_since_the_start_are_warned_of(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, METRICS, "metrics.txt")
    found = check_tree(report.tree)
    assert [f.code for f in found if f.severity is not Severity.NOTE] == ["BL415"]


def test_an_old_server_counts_no_drafts(tmp_path: Path) -> None:
    old = "\n".join(line for line in METRICS.split("\n") if "spec_decode" not in line)
    (report,) = imported(tmp_path, old, "metrics.txt")
    assert value(report, "/runs/0/speculation") == {"counts": {"output_tokens": 163}}


def test_a_count_printed_to_six_digits_is_no_count(tmp_path: Path) -> None:
    text = METRICS.replace("_tokens_total 196", "_tokens_total 1.96103e+06")
    (report,) = imported(tmp_path, text, "metrics.txt")
    counts = value(report, "/runs/0/speculation/counts")
    assert isinstance(counts, dict)
    assert "drafted" not in counts
    assert counts["accepted"] == 101


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{position="3"} 15', '{position="3"} 14'),
        ('{position="2"} 20', '{position="9"} 20'),
        ("num_drafts_total 50", "num_drafts_total 39"),
        ('{position="0"} 40', '{position="zero"} 40'),
    ],
)
def test_positions_that_do_not_fit_the_counts_give_no_histogram(
    old: str, new: str, tmp_path: Path
) -> None:
    (report,) = imported(tmp_path, METRICS.replace(old, new), "metrics.txt")
    assert "histogram" not in str(report.tree)


def test_replies_one_after_another_are_runs(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, METRICS + METRICS.replace(" 163\n", " 700\n"), "metrics.txt")
    assert value(report, "/runs/1/id") == "server (2)"
    assert value(report, "/runs/1/decode/tokens") == 700


def test_a_rule_that_says_name_finds_the_hint_for_any() -> None:
    metrics = importer_named("llama-server-metrics")
    assert "/slots" in hint_for(metrics, "configurations.NAME.drafter")
    assert hint_for(metrics, "workloads.NAME.mix") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_total 12", ("a_total", {}, "12")),
        ('a:b{x="1",y="q\\"z"} 1e3 1700000000', ("a:b", {"x": "1", "y": 'q\\"z'}, "1e3")),
        ("# a_total 12", None),
        ("a_total", None),
        ("", None),
        ("{} 3", None),
        ("a{" * 500, None),
    ],
)
def test_lines_of_the_text_format(text: str, expected: Any) -> None:
    found = sample(Line(1, text))
    assert (found and (found.name, found.labels, found.value.value)) == expected


def test_a_histogram_needs_steps_and_accepted() -> None:
    one = Line(1, "1").found("1", (0, 1))
    assert histogram_of([], one, one) is None
    assert histogram_of([one], None, one) is None
    found = histogram_of([one], one, one)
    assert found is not None
    assert found.value == [0, 1]
