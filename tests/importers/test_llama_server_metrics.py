"""/metrics of llama-server: counters since its start, and what they do not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.converting import convert
from benchlint.checker.importers.found import Line
from benchlint.checker.importers.imported import hint_for
from benchlint.checker.importers.prometheus import histogram_of, sample
from benchlint.checker.importers.registry import importer_named
from benchlint.checker.numbers import printed
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


def _replies(folder: Path, before: str, after: str) -> list[str]:
    paths = [folder / "before.txt", folder / "after.txt"]
    for path, text in zip(paths, (before, after), strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


BEFORE = """llamacpp:prompt_tokens_total 200
llamacpp:prompt_seconds_total 0.5
llamacpp:tokens_predicted_total 900
llamacpp:tokens_predicted_seconds_total 12.125
llamacpp:spec_decode_num_draft_tokens_total 600
llamacpp:spec_decode_num_accepted_tokens_total 300
llamacpp:spec_decode_num_drafts_total 250
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 200
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 100
"""
AFTER = """llamacpp:prompt_tokens_total 1200
llamacpp:prompt_seconds_total 3.25
llamacpp:tokens_predicted_total 2900
llamacpp:tokens_predicted_seconds_total 112.375
llamacpp:spec_decode_num_draft_tokens_total 1600
llamacpp:spec_decode_num_accepted_tokens_total 900
llamacpp:spec_decode_num_drafts_total 650
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 500
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 300
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="2"} 100
"""


def test_two_replies_are_subtracted(tmp_path: Path) -> None:
    made = convert(_replies(tmp_path, BEFORE, AFTER), limit_bytes=100_000)
    (run,) = made.tree["runs"]
    assert run["id"] == "run"
    assert run["prefill"] == {"tokens": 1000, "seconds": 2.75}
    assert run["decode"] == {"tokens": 2000, "seconds": 100.25}
    assert run["speculation"] == {
        "counts": {"output_tokens": 2000, "drafted": 1000, "accepted": 600, "verify_steps": 400},
        "histogram": [100, 100, 100, 100],
    }
    assert run["measurement"]["counters"] == "per_run"
    assert "BL415" not in {f.code for f in check_tree(made.tree)}
    assert any("counts from" in each for each in made.remarks())


def test_a_difference_has_the_digits_that_both_numbers_have(tmp_path: Path) -> None:
    name = "llamacpp:tokens_predicted_seconds_total"
    before = BEFORE.replace(f"{name} 12.125", f"{name} 999.987")
    after = AFTER.replace(f"{name} 112.375", f"{name} 1012.3")
    after = after.replace("prompt_tokens_total 1200", "prompt_tokens_total 1.20001e+06")
    (run,) = convert(_replies(tmp_path, before, after), limit_bytes=100_000).tree["runs"]
    assert printed(run["decode"]["seconds"]) == "12.31"
    assert run["prefill"] == {"seconds": 2.75}


def test_replies_of_two_starts_are_not_subtracted(tmp_path: Path) -> None:
    made = convert(_replies(tmp_path, AFTER, BEFORE), limit_bytes=100_000)
    assert len(made.tree["runs"]) == 2
    assert any("is not subtracted" in each for each in made.remarks())
