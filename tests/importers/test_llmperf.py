"""LLMPerf: the summary of a run, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import imported, place


def _spread(name: str, mean: float, low: Any, high: Any) -> dict[str, Any]:
    return {
        f"results_{name}_quantiles_p50": mean,
        f"results_{name}_quantiles_p99": high,
        f"results_{name}_mean": mean,
        f"results_{name}_min": low,
        f"results_{name}_max": high,
        f"results_{name}_stddev": 0.0,
    }


RUN: dict[str, Any] = {
    "version": "2023-08-31",
    "name": "acme-chat_550_150_summary",
    "model": "acme/chat-9b",
    "mean_input_tokens": 550,
    "stddev_input_tokens": 150,
    "mean_output_tokens": 150,
    "num_concurrent_requests": 5,
    "additional_sampling_params_temperature": 0.25,
    **_spread("inter_token_latency_s", 0.0104, 0.009, 0.02),
    **_spread("ttft_s", 0.2125, 0.18, 0.375),
    **_spread("end_to_end_latency_s", 1.55, 1.4, 1.9),
    **_spread("request_output_throughput_token_per_s", 96.5, 80.0, 105.0),
    **_spread("number_input_tokens", 550.5, "420", "680"),
    **_spread("number_output_tokens", 149.5, "130", "160"),
    "results_num_requests_started": 30,
    "results_number_errors": 1,
    "results_mean_output_throughput_token_per_s": 420.125,
    "results_num_completed_requests": 29,
    "results_num_completed_requests_per_min": 168.0,
    "timestamp": 1767225600,
}


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RUN, indent=1), "s.json")
    assert report.tree == {
        "benchlint": "1",
        "date": "2026-01-01T00:00:00Z",
        "target": {"name": "acme/chat-9b"},
        "configurations": {"server": {"sampler": {"temperature": 0.25}}},
        "workloads": {
            "prompts": {
                "prompt_tokens": {
                    "value": 550.5,
                    "range": [420, 680],
                    "percentiles": {"p50": 550.5, "p99": 680},
                    "estimator": "mean",
                },
                "output_tokens": {
                    "value": 149.5,
                    "range": [130, 160],
                    "percentiles": {"p50": 149.5, "p99": 160},
                    "estimator": "mean",
                },
            }
        },
        "runs": [
            {
                "id": "concurrency 5",
                "configuration": "server",
                "workload": "prompts",
                "conditions": {"concurrency": 5},
                "throughput": {
                    "tok_s": 420.125,
                    "completed_requests": 29,
                    "failed_requests": 1,
                    "requests_per_s": 2.8,
                    "end_to_end_tok_s": {
                        "value": 96.5,
                        "range": [80.0, 105.0],
                        "percentiles": {"p50": 96.5, "p99": 105.0},
                        "estimator": "mean",
                    },
                },
                "prefill": {
                    "ttft_ms": {
                        "value": 212.5,
                        "range": [180, 375],
                        "percentiles": {"p50": 212.5, "p99": 375},
                        "estimator": "mean",
                    }
                },
                "measurement": {"by": "client", "tool": "llmperf"},
            }
        ],
    }
    assert printed(report.tree["runs"][0]["prefill"]["ttft_ms"]["value"]) == "212.5"
    assert place(report, "/runs/0/prefill/ttft_ms/value")[1] == "0.2125"
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_its_inter_token_latency_is_no_time_per_output_token(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RUN), "s.json")
    run = report.tree["runs"][0]
    assert "decode" not in run
    assert "speculation" not in run
    assert "engine" not in report.tree


HOSTILE: list[dict[str, Any]] = [
    {"timestamp": 1e300, "num_concurrent_requests": [], "model": {}},
    {"timestamp": -1, "results_num_completed_requests_per_min": "nan"},
    {"results_ttft_s_mean": "1e9999", "results_ttft_s_quantiles_p50": None},
]


@pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(change: dict[str, Any], tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps({**RUN, **change}), "s.json")
    check_tree(report.tree)
    assert "date" not in report.tree or "timestamp" not in change


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RUN), "s.json")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "--log-prompts" in helps["BL119"]
