"""GenAI-Perf: JSON and CSV of `profile`, CSV of `analyze`, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from tests.importers.reading import findings, imported, place

RUN: dict[str, Any] = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.5},
    "request_latency": {"unit": "ms", "avg": 800.0, "p50": 790.0},
    "request_count": {"unit": "count", "avg": 40.0},
    "request_goodput": {"unit": "requests/sec", "avg": 0.0},
    "time_to_first_token": {"unit": "ms", "avg": 52.25, "p99": 88.0},
    "time_to_second_token": {"unit": "ms", "avg": 14.0},
    "inter_token_latency": {"unit": "ms", "avg": 12.5, "min": 8.0, "max": 31.0, "std": 4.5},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 150.75},
    "output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 81.5},
    "output_sequence_length": {"unit": "tokens", "avg": 60.3},
    "input_sequence_length": {"unit": "tokens", "avg": 200.0},
    "input_config": {
        "model_names": ["acme/chat-9b"],
        "endpoint": {"backend": "tensorrtllm"},
        "perf_analyzer": {"stimulus": {"concurrency": 4}, "warmup_request_count": 10},
    },
}


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RUN, indent=1), "r.json")
    assert report.tree == {
        "benchlint": "1",
        "target": {"name": "acme/chat-9b"},
        "configurations": {"server": {}},
        "workloads": {
            "profile": {
                "output_tokens": {"value": 60.3, "estimator": "mean"},
                "prompt_tokens": {"value": 200.0, "estimator": "mean"},
            }
        },
        "runs": [
            {
                "id": "profile",
                "configuration": "server",
                "workload": "profile",
                "conditions": {"concurrency": 4, "warmup_requests": 10},
                "prefill": {
                    "ttft_ms": {
                        "value": 52.25,
                        "percentiles": {"p99": 88.0},
                        "estimator": "mean",
                    }
                },
                "decode": {
                    "time_per_output_token_ms": {
                        "value": 12.5,
                        "stdev": 4.5,
                        "range": [8.0, 31.0],
                        "estimator": "mean",
                    },
                    "tok_s": {"value": 81.5, "estimator": "mean"},
                },
                "throughput": {
                    "tok_s": 150.75,
                    "requests_per_s": 2.5,
                    "completed_requests": 40,
                },
                "measurement": {"tool": "genai-perf", "by": "client", "window": "decode_only"},
            }
        ],
    }
    assert place(report, "/runs/0/decode/tok_s/value")[1] == "81.5"


def test_the_arguments_of_older_versions(tmp_path: Path) -> None:
    old = {**RUN, "input_config": {"model": ["acme/chat-9b"], "concurrency": 2}}
    (report,) = imported(tmp_path, json.dumps(old), "r.json")
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert report.tree["runs"][0]["conditions"] == {"concurrency": 2}


CSV = """\
Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),52.25,8.00,90.00,88.00,80.00,70.00,60.00,50.00,40.00,30.00,20.00,9.00
Inter Token Latency (ms),12.50,8.00,31.00,30.50,25.00,20.00,14.00,12.00,9.00,8.30,8.20,8.10
Output Token Throughput Per User (tokens/sec/user),81.50,32.00,125.00,,,,,,,,,

Metric,Value
Output Token Throughput (tokens/sec),"1,150.75"
Request Throughput (requests/sec),2.50
Request Count (count),40.00
"""


def test_csv(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CSV, "r.csv")
    run = report.tree["runs"][0]
    assert run["decode"]["time_per_output_token_ms"]["percentiles"]["p99"] == 30.5
    assert run["decode"]["tok_s"] == {
        "value": 81.5,
        "range": [32.0, 125.0],
        "estimator": "mean",
    }
    assert run["throughput"] == {
        "tok_s": 1150.75,
        "requests_per_s": 2.5,
        "completed_requests": 40,
    }
    assert place(report, "/runs/0/throughput/tok_s") == (7, "1,150.75")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


ANALYSIS = """\
Config Name,Concurrency,ISL,p99 Time To First Token (ms),p99 Inter Token Latency (ms),\
Avg. Output Token Throughput (tokens/sec),Request Throughput (requests/sec)
chat_config_1,8,400,120.50,9.25,640.00,5.00
chat_config_0,1,400,40.25,7.75,128.00,1.00

Config Name,GPU,p99 GPU Power Usage (W)
chat_config_1,gpu0,300.00
"""


def test_analyze(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, ANALYSIS, "a.csv")
    eight, one = report.tree["runs"]
    assert eight["id"] == "chat_config_1 (c8)"
    assert eight["conditions"] == {"concurrency": 8}
    assert eight["prefill"] == {"ttft_ms": {"percentiles": {"p99": 120.5}}}
    assert eight["decode"] == {"time_per_output_token_ms": {"percentiles": {"p99": 9.25}}}
    assert one["throughput"] == {"tok_s": 128.0, "requests_per_s": 1.0}
    assert place(report, "/runs/1/prefill/ttft_ms/percentiles/p99") == (3, "40.25")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_speculation_and_duration_are_absent(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RUN), "r.json")
    run = report.tree["runs"][0]
    assert "speculation" not in run
    assert "seconds" not in run["throughput"]
    assert "engine" not in report.tree


HOSTILE: list[dict[str, Any]] = [
    {"input_config": {"model_names": [[]], "perf_analyzer": {"stimulus": [1]}}},
    {"input_config": 3, "time_to_first_token": "x", "inter_token_latency": {"avg": []}},
    {"request_count": {"unit": "count", "avg": 1e250}, "input_config": {"concurrency": 10**80}},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(changes: dict[str, Any], tmp_path: Path) -> None:
    for report in imported(tmp_path, json.dumps({**RUN, **changes}), "r.json"):
        check_tree(report.tree)


def test_an_analysis_of_nothing_known_is_no_report(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "Config Name,p99 Idle (ms)\na,1\n", "a.csv")
    assert finding.code == "BL014"


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CSV, "r.csv")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "genai-perf profile --warmup-request-count" in helps["BL115"]
