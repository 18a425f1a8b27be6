"""What AIPerf and GenAI-Perf print: tables with bars, and the command below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from tests.importers.reading import findings, imported, place

AIPERF = """\
12:00:01.500 INFO     Starting (main.py:1)

                NVIDIA AIPerf | LLM Metrics: Usage
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━┓
┃                         Metric ┃      avg ┃   min ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━┩
│   Usage Prompt Tokens (tokens) │    81.00 │ 81.00 │
└────────────────────────────────┴──────────┴───────┘
                           NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━┓
┃                              Metric ┃      avg ┃   min ┃    max ┃    p99 ┃   std ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━┩
│            Time to First Token (ms) │ 1,052.20 │ 40.00 │ 2,090.5│ 2,088.0│  4.50 │
│            Inter Token Latency (ms) │    12.50 │  8.00 │  31.00 │  30.50 │  4.25 │
│    Output Token Throughput Per User │    81.50 │ 32.00 │ 125.00 │ 122.00 │ 11.00 │
│                   (tokens/sec/user) │          │       │        │        │       │
│ Output Token Throughput             │   150.75 │   N/A │    N/A │    N/A │   N/A │
│                        (tokens/sec) │          │       │        │        │       │
│            Request Count (requests) │    40.00 │   N/A │    N/A │    N/A │   N/A │
└─────────────────────────────────────┴──────────┴───────┴────────┴────────┴───────┘

                NVIDIA AIPerf | LLM Metrics: Spec Decode
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━┳━━━━━━━┓
┃                            Metric ┃   avg ┃   min ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━┩
│         Acceptance Length (ratio) │  2.90 │  1.50 │
│  Token-Weighted Acceptance Length │  2.64 │   N/A │
│                           (ratio) │       │       │
│ Overall Draft Acceptance Rate (%) │ 54.52 │   N/A │
└───────────────────────────────────┴───────┴───────┘

CLI Command: aiperf profile --model 'acme/chat-9b' --streaming
--concurrency 4 --warmup-request-count 8
--extra-inputs 'ignore_eos:true' --extra-inputs 'temperature:0.6'
Benchmark Duration: 15.92 sec
CSV Export: there/profile_export_aiperf.csv
"""


def test_aiperf(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, AIPERF, "stdout.txt")
    assert report.tree == {
        "benchlint": "1",
        "target": {"name": "acme/chat-9b"},
        "configurations": {"server": {"sampler": {"temperature": 0.6}}},
        "workloads": {"prompts": {"stop_rule": "ignore_eos"}},
        "runs": [
            {
                "id": "concurrency 4",
                "configuration": "server",
                "workload": "prompts",
                "measurement": {
                    "tool": "aiperf",
                    "by": "client",
                    "window": "decode_only",
                    "counters": "per_run",
                },
                "conditions": {"concurrency": 4, "warmup_requests": 8},
                "prefill": {
                    "ttft_ms": {
                        "value": 1052.2,
                        "stdev": 4.5,
                        "range": [40.0, 2090.5],
                        "percentiles": {"p99": 2088.0},
                        "estimator": "mean",
                    }
                },
                "decode": {
                    "time_per_output_token_ms": {
                        "value": 12.5,
                        "stdev": 4.25,
                        "range": [8.0, 31.0],
                        "percentiles": {"p99": 30.5},
                        "estimator": "mean",
                    },
                    "tok_s": {
                        "value": 81.5,
                        "stdev": 11.0,
                        "range": [32.0, 125.0],
                        "percentiles": {"p99": 122.0},
                        "estimator": "mean",
                    },
                },
                "throughput": {"tok_s": 150.75, "completed_requests": 40, "seconds": 15.92},
                "speculation": {
                    "accepted_length": {
                        "value": 2.64,
                        "counts_bonus_token": True,
                        "estimator": "pooled",
                    },
                    "acceptance_rate": {
                        "value": 0.5452,
                        "of": "drafted",
                        "estimator": "pooled",
                    },
                },
            }
        ],
    }
    assert place(report, "/runs/0/prefill/ttft_ms/value") == (13, "1,052.20")
    assert place(report, "/runs/0/decode/tok_s/value") == (15, "81.50")
    assert place(report, "/runs/0/throughput/seconds") == (35, "15.92")
    assert place(report, "/runs/0/conditions/concurrency") == (33, "--concurrency")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_the_file_without_the_command(tmp_path: Path) -> None:
    """profile_export_console.txt ends with the tables."""
    (report,) = imported(tmp_path, AIPERF.partition("CLI Command")[0], "console.txt")
    (run,) = report.tree["runs"]
    assert run["id"] == "profile"
    assert "conditions" not in run
    assert "seconds" not in run["throughput"]
    assert "target" not in report.tree
    assert report.tree["configurations"] == {"server": {}}


def test_pasted_into_a_page(tmp_path: Path) -> None:
    page = f"# Measured\n\n```\n{AIPERF}```\n"
    (report,) = imported(tmp_path, page, "page.md")
    assert report.tree["runs"][0]["throughput"]["tok_s"] == 150.75
    assert place(report, "/runs/0/decode/tok_s/value") == (18, "81.50")


def test_runs_one_after_the_other(tmp_path: Path) -> None:
    second = AIPERF.replace("12.50", "11.25").replace("--concurrency 4", "--concurrency 1")
    reports = imported(tmp_path, AIPERF + second, "both.txt")
    speeds = [r.tree["runs"][0]["decode"]["time_per_output_token_ms"]["value"] for r in reports]
    assert speeds == [12.5, 11.25]
    assert [r.tree["runs"][0]["id"] for r in reports] == ["concurrency 4", "concurrency 1"]


def test_a_run_that_was_cut_short_is_said_to_be_one(tmp_path: Path) -> None:
    early = AIPERF.replace("15.92 sec", "15.92 sec (cancelled early)")
    (report,) = imported(tmp_path, early, "r.txt")
    assert report.imported.remarks == ("AIPerf says that the run was cancelled",)
    stalled = "NVIDIA AIPerf | INCOMPLETE RESULTS\nrecords are missing\n\n" + AIPERF
    (report,) = imported(tmp_path, stalled, "r.txt")
    assert report.imported.remarks == ("AIPerf says that the run is not complete",)


GENAI_PERF = """\
                     NVIDIA GenAI-Perf | LLM Metrics
+-----------------------------------+----------+-------+--------+--------+-------+
|                         Statistic |      avg |   min |    max |    p99 |   p75 |
+-----------------------------------+----------+-------+--------+--------+-------+
|          Time To First Token (ms) |    52.25 |  8.00 |  90.00 |  88.00 | 60.00 |
|         Time To Second Token (ms) |    14.00 |  8.00 |  20.00 |  19.00 | 15.00 |
|  Output Token Throughput Per User |    81.50 | 32.00 | 125.00 | 122.00 | 90.00 |
|                 (tokens/sec/user) |          |       |        |        |       |
|    Output Sequence Length (tokens)|    60.30 | 50.00 |  64.00 |  64.00 | 62.00 |
| Output Token Throughput           | 1,150.75 |   N/A |    N/A |    N/A |   N/A |
|                      (tokens/sec) |          |       |        |        |       |
|      Request Throughput (per sec) |     2.50 |   N/A |    N/A |    N/A |   N/A |
+-----------------------------------+----------+-------+--------+--------+-------+
"""


@pytest.mark.parametrize("bar", ["|", "│"])
def test_genai_perf(bar: str, tmp_path: Path) -> None:
    title, _, table = GENAI_PERF.partition("\n")
    (report,) = imported(tmp_path, f"{title}\n{table.replace('|', bar)}", "r.txt")
    assert report.importer.name == "genai-perf"
    (run,) = report.tree["runs"]
    assert run["prefill"]["ttft_ms"]["percentiles"] == {"p75": 60.0, "p99": 88.0}
    assert run["decode"]["tok_s"]["value"] == 81.5
    assert run["throughput"] == {"tok_s": 1150.75, "requests_per_s": 2.5}
    assert "speculation" not in run
    assert place(report, "/runs/0/throughput/tok_s") == (10, "1,150.75")


HOSTILE = [
    "NVIDIA AIPerf | LLM Metrics\n",
    "NVIDIA AIPerf | LLM Metrics\n| Metric |\n| a |\n",
    "NVIDIA AIPerf | LLM Metrics\n| Metric | avg |\n|  |  |\n|  |  |\n",
    "NVIDIA AIPerf | LLM Metrics\n| Metric | Metric | avg |\n| Inter Token Latency (s) | 1 | 2 |\n",
    "NVIDIA AIPerf | LLM Metrics\n\nCLI Command: aiperf profile --model 'un\nclosed\n",
    "NVIDIA GenAI-Perf | LLM Metrics\n| Statistic | avg |\n| Request Count | 1e999 |\n",
    "NVIDIA AIPerf | LLM Metrics\nCLI Command: aiperf profile " + "--extra-inputs : " * 3000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_consoles_give_nothing(text: str, tmp_path: Path) -> None:
    assert [f.code for f in findings(tmp_path, text, "r.txt")] == ["BL014"]
