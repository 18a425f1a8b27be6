"""AIPerf: JSON and CSV of a run, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place, value


def _metric(unit: str, avg: float, **others: float) -> dict[str, Any]:
    return {"unit": unit, "avg": avg, **others}


SPREAD = {"min": 8.0, "p50": 12.0, "p99": 30.5, "max": 31.0, "std": 4.5}

RUN: dict[str, Any] = {
    "schema_version": "1.4",
    "aiperf_version": "0.13.0",
    "request_throughput": _metric("requests/sec", 2.5),
    "request_latency": _metric("ms", 800.0),
    "request_count": _metric("requests", 40.0),
    "time_to_first_token": _metric("ms", 52.25, **SPREAD | {"max": 90.0, "p99": 88.0}),
    "inter_token_latency": _metric("ms", 12.5, **SPREAD),
    "inter_chunk_latency": _metric("ms", 31.25, min=9.0, max=140.0),
    "output_token_throughput": _metric("tokens/sec", 150.75),
    "output_token_throughput_per_user": _metric("tokens/sec/user", 81.5, min=32.0, max=125.0),
    "e2e_output_token_throughput": _metric("tokens/sec/user", 75.0),
    "output_sequence_length": _metric("tokens", 60.3, min=20.0, max=64.0),
    "input_sequence_length": _metric("tokens", 200.0, min=200.0, max=200.0, std=0.0),
    "benchmark_duration": _metric("sec", 16.0),
    "total_osl": _metric("tokens", 2412.0),
    "error_request_count": _metric("requests", 1.0),
    "goodput": _metric("requests/sec", 2.0),
    "total_spec_decode_steps": _metric("count", 900.0),
    "total_draft_tokens": _metric("tokens", 2700.0),
    "total_accepted_draft_tokens": _metric("tokens", 1472.0),
    "spec_decode_token_weighted_acceptance_length": _metric("ratio", 2.6355555555555554),
    "spec_decode_overall_draft_acceptance_rate": _metric("%", 54.51851851851852),
    "spec_decode_acceptance_length": _metric("ratio", 2.9),
    "pooled_spec_decode_acceptance_histogram": {"0": 200, "3": 244, "1": 172, "2": 284},
    "input_config": {
        "models": {"items": [{"name": "acme/chat-9b"}]},
        "endpoint": {"type": "chat", "extra": {"temperature": 0, "ignore_eos": True}},
        "datasets": [{"name": "main", "type": "synthetic"}],
        "phases": [
            {"name": "warmup", "kind": "warmup", "type": "concurrency", "requests": 8},
            {"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 4},
        ],
    },
    "start_time": "2026-05-02T08:30:00.125",
    "was_cancelled": False,
}


def _json(**changes: Any) -> str:
    return json.dumps({**RUN, **changes}, indent=1)


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    run = report.tree["runs"][0]
    assert report.tree["date"] == "2026-05-02T08:30:00.125"
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert report.tree["configurations"] == {
        "server": {
            "sampler": {
                "temperature": 0,
                "left_to_engine": [
                    "top_p",
                    "min_p",
                    "repetition_penalty",
                    "presence_penalty",
                    "frequency_penalty",
                    "top_k",
                    "seed",
                ],
            }
        }
    }
    assert report.tree["workloads"] == {
        "prompts": {
            "stop_rule": "ignore_eos",
            "output_tokens": {"value": 60.3, "range": [20.0, 64.0], "estimator": "mean"},
            "prompt_tokens": {"value": 200.0, "range": [200.0, 200.0], "estimator": "mean"},
        }
    }
    assert run["id"] == "concurrency 4"
    assert run["conditions"] == {"concurrency": 4, "warmup_requests": 8}
    assert run["measurement"] == {
        "tool": "aiperf 0.13.0",
        "prompt_kind": "synthetic",
        "window": "decode_only",
        "by": "client",
        "counters": "per_run",
    }
    assert run["throughput"] == {
        "tok_s": 150.75,
        "requests_per_s": 2.5,
        "completed_requests": 40,
        "failed_requests": 1,
        "goodput_requests_per_s": 2.0,
        "seconds": 16.0,
        "tokens": 2412,
        "end_to_end_tok_s": {"value": 75.0, "estimator": "mean"},
    }


def test_latencies_and_speeds(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    run = report.tree["runs"][0]
    assert run["prefill"]["ttft_ms"]["value"] == 52.25
    assert run["decode"] == {
        "time_per_output_token_ms": {
            "value": 12.5,
            "stdev": 4.5,
            "range": [8.0, 31.0],
            "percentiles": {"p50": 12.0, "p99": 30.5},
            "estimator": "mean",
        },
        "inter_chunk_latency_ms": {"value": 31.25, "range": [9.0, 140.0], "estimator": "pooled"},
        "tok_s": {"value": 81.5, "range": [32.0, 125.0], "estimator": "mean"},
    }


def test_what_servers_said_of_drafts_is_pooled(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    speculation = report.tree["runs"][0]["speculation"]
    assert printed(speculation["acceptance_rate"]["value"]) == "0.5451851851851852"
    assert speculation == {
        "counts": {"verify_steps": 900, "drafted": 2700, "accepted": 1472},
        "accepted_length": {
            "value": 2.6355555555555554,
            "counts_bonus_token": True,
            "estimator": "pooled",
        },
        "acceptance_rate": {"value": 0.5451851851851852, "of": "drafted", "estimator": "pooled"},
        "histogram": [200, 172, 284, 244],
    }


def test_the_shape_before_phases(tmp_path: Path) -> None:
    config = {
        "endpoint": {"model_names": ["acme/chat-9b"], "streaming": True},
        "loadgen": {"concurrency": 16, "warmup_request_count": 5},
    }
    (report,) = imported(tmp_path, _json(input_config=config, aiperf_version=None), "r.json")
    run = report.tree["runs"][0]
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert run["id"] == "concurrency 16"
    assert run["conditions"] == {"concurrency": 16, "warmup_requests": 5}
    assert run["measurement"]["tool"] == "aiperf"
    assert report.tree["configurations"] == {"server": {}}


def test_at_a_request_rate_the_streams_are_unknown(tmp_path: Path) -> None:
    phase = {"kind": "profiling", "type": "poisson", "rate": 3.0, "concurrency": 64}
    (report,) = imported(tmp_path, _json(input_config={"phases": [phase]}), "r.json")
    assert "conditions" not in report.tree["runs"][0]


def test_a_server_that_says_nothing_of_drafts_leaves_them_out(tmp_path: Path) -> None:
    silent = {k: v for k, v in RUN.items() if "draft" not in k and "spec_decode" not in k}
    (report,) = imported(tmp_path, json.dumps(silent), "r.json")
    assert "speculation" not in report.tree["runs"][0]
    assert "counters" not in report.tree["runs"][0]["measurement"]
    assert "engine" not in report.tree
    assert "drafter" not in report.tree["configurations"]["server"]


def test_another_unit_is_not_taken_for_milliseconds(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(time_to_first_token=_metric("s", 0.05)), "r.json")
    assert "prefill" not in report.tree["runs"][0]
    assert any("time_to_first_token" in remark for remark in report.imported.remarks)


def test_a_cancelled_run_is_said_to_be_one(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(was_cancelled=True), "r.json")
    assert report.imported.remarks == ("AIPerf says that the run was cancelled",)


def test_places_are_in_the_original(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    lines = (tmp_path / "r.json").read_text().splitlines()
    line, marked = place(report, "/runs/0/speculation/acceptance_rate/value")
    assert marked == "54.51851851851852"
    assert '"spec_decode_overall_draft_acceptance_rate"' in lines[line - 3]


def test_an_honest_one_gives_no_error(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


CSV = """\
Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
Inter Token Latency (ms),12.50,8.00,31.00,500.00,8.10,8.20,8.30,9.00,12.00,14.00,20.00,,30.50,4.50
Output Token Throughput Per User (tokens/sec/user),81.50,32.00,125.00,3260.00,,,,,,,,,,11.00
Time to First Token (ms),"1,052.25",8.00,"2,090.00","42,090.00",,,,,,,,,,4.50

Metric,Value
Output Token Throughput (tokens/sec),150.75
Request Count,40.00
Token-Weighted Acceptance Length (ratio),2.64
Overall Draft Acceptance Rate (%),54.52
Total Spec Decode Steps,900.00
Total Draft Tokens (tokens),2700.00
Total Accepted Draft Tokens (tokens),1472.00

Endpoint,GPU_Index,GPU_Name
"""


def test_csv(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CSV, "r.csv")
    run = report.tree["runs"][0]
    assert run["decode"]["time_per_output_token_ms"]["percentiles"]["p10"] == 8.30
    assert printed(run["decode"]["time_per_output_token_ms"]["value"]) == "12.50"
    assert run["prefill"]["ttft_ms"] == {
        "value": 1052.25,
        "stdev": 4.5,
        "range": [8.0, 2090.0],
        "estimator": "mean",
    }
    assert run["throughput"] == {"tok_s": 150.75, "completed_requests": 40}
    assert run["speculation"]["counts"] == {
        "verify_steps": 900,
        "drafted": 2700,
        "accepted": 1472,
    }
    assert printed(run["speculation"]["acceptance_rate"]["value"]) == "0.5452"
    assert "conditions" not in run
    assert place(report, "/runs/0/speculation/counts/drafted") == (12, "2700.00")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_a_run_of_errors_only_has_no_speed(tmp_path: Path) -> None:
    text = json.dumps(
        {"error_request_count": _metric("requests", 5.0), "was_cancelled": False, "records": 1}
    )
    (report,) = imported(tmp_path, text, "r.json")
    assert report.tree["runs"][0]["throughput"] == {"failed_requests": 5}


def test_nothing_in_it_is_no_report(tmp_path: Path) -> None:
    text = json.dumps({"aiperf_version": "1", "request_latency": _metric("ms", 1.0)})
    (finding,) = findings(tmp_path, text, "r.json")
    assert finding.code == "BL014"


HOSTILE: list[dict[str, Any]] = [
    {"inter_token_latency": [1, 2], "time_to_first_token": {"unit": [], "avg": {}}},
    {"inter_token_latency": {"unit": "ms", "avg": "1e9999", "p50": None, "min": [], "max": {}}},
    {"pooled_spec_decode_acceptance_histogram": {"-1": 2, "x": 3}},
    {"pooled_spec_decode_acceptance_histogram": {"99999": 1}},
    {"pooled_spec_decode_acceptance_histogram": {"0": -3, "1": "2"}},
    {"pooled_spec_decode_acceptance_histogram": {"²": 1}},
    {"input_config": {"phases": [1, None, {"kind": []}], "datasets": {}, "models": []}},
    {"input_config": {"endpoint": {"extra": {"temperature": [], "ignore_eos": {}}}}},
    {"input_config": [], "run_info": {"run_label": 3}, "start_time": {}},
    {"request_count": {"unit": "x", "avg": 1e300}, "total_osl": {"avg": -5, "unit": ""}},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(changes: dict[str, Any], tmp_path: Path) -> None:
    for report in imported(tmp_path, _json(**changes), "r.json"):
        check_tree(report.tree)


def test_a_histogram_that_is_none_is_left_out(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(**HOSTILE[4]), "r.json")
    assert "histogram" not in report.tree["runs"][0]["speculation"]


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CSV, "r.csv")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "--warmup-request-count" in helps["BL115"]
    assert "inputs.json" in helps["BL119"]
    assert value(report, "/runs/0/id") == "profile"
