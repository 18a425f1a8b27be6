"""AIPerf's profile_export.jsonl: one request a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.importers.reading import findings, imported, place


def _record(start: int, end: int, phase: str = "profiling", **more: object) -> dict[str, Any]:
    """A request that began and ended at these milliseconds."""
    return {
        "metadata": {
            "session_num": 0,
            "request_start_ns": start * 1_000_000,
            "request_end_ns": end * 1_000_000,
            "benchmark_phase": phase,
            "was_cancelled": False,
        },
        "metrics": {
            "time_to_first_token": {"value": 20.0 + start / 100, "unit": "ms"},
            "inter_token_latency": {"value": 5.0, "unit": "ms"},
            "output_token_throughput_per_user": {"value": 200.0, "unit": "tokens/sec/user"},
            "output_sequence_length": {"value": 40, "unit": "tokens"},
            "input_sequence_length": {"value": 90, "unit": "tokens"},
            "inter_chunk_latency": {"value": [9.0, 11.0], "unit": "ms"},
        },
        **more,
    }


def _drafting(steps: int, drafted: int, accepted: int, k: int = 3) -> dict[str, Any]:
    return {
        "spec_decode_acceptance": {
            "engine": "vllm",
            "num_spec_steps": steps,
            "num_draft_tokens": drafted,
            "num_accepted_draft_tokens": accepted,
            "num_spec_tokens": k,
            "acceptance_histogram": {"0": steps - accepted // 2, "2": accepted // 2},
        }
    }


def _text(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_requests_are_added_up(tmp_path: Path) -> None:
    text = _text(
        _record(0, 500, "warmup", **_drafting(99, 99, 98)),
        _record(1000, 1500, **_drafting(20, 60, 20)),
        _record(1400, 3000, **_drafting(16, 48, 24)),
    )
    (report,) = imported(tmp_path, text, "profile_export.jsonl")
    assert report.importer.name == "aiperf"
    assert report.tree["configurations"] == {"server": {"draft_length": {"max": 3}}}
    assert report.tree["workloads"] == {
        "prompts": {
            "output_tokens": {"value": 40, "range": [40, 40], "estimator": "mean"},
            "prompt_tokens": {"value": 90, "range": [90, 90], "estimator": "mean"},
        }
    }
    assert report.tree["runs"] == [
        {
            "id": "profile",
            "configuration": "server",
            "workload": "prompts",
            "measurement": {
                "tool": "aiperf",
                "window": "decode_only",
                "by": "client",
                "counters": "per_run",
            },
            "prefill": {
                "ttft_ms": {"value": 32, "stdev": 2, "range": [30, 34], "estimator": "mean"}
            },
            "decode": {
                "time_per_output_token_ms": {"value": 5, "range": [5, 5], "estimator": "mean"},
                "tok_s": {"value": 200, "range": [200, 200], "estimator": "mean"},
            },
            "throughput": {"completed_requests": 2, "seconds": 2, "tokens": 80},
            "speculation": {
                "counts": {"verify_steps": 36, "drafted": 108, "accepted": 44},
                "histogram": [14, 0, 22],
            },
        }
    ]
    assert place(report, "/runs/0/prefill/ttft_ms/value") == (2, "30.0")


def test_what_is_not_said_by_all_is_not_taken(tmp_path: Path) -> None:
    text = _text(
        _record(0, 500, **_drafting(20, 60, 20)),
        _record(100, 900),
        _record(100, 900, error={"code": 500, "message": "no"}),
    )
    (report,) = imported(tmp_path, text, "profile_export.jsonl")
    (run,) = report.tree["runs"]
    assert "speculation" not in run
    assert report.tree["configurations"] == {"server": {}}
    assert run["throughput"]["completed_requests"] == 2
    assert run["throughput"]["failed_requests"] == 1
    assert "conditions" not in run


def test_two_draft_lengths_are_none(tmp_path: Path) -> None:
    text = _text(
        _record(0, 500, **_drafting(20, 60, 20)), _record(1, 500, **_drafting(20, 80, 20, k=4))
    )
    (report,) = imported(tmp_path, text, "profile_export.jsonl")
    assert report.tree["configurations"] == {"server": {}}
    assert report.tree["runs"][0]["speculation"]["counts"]["drafted"] == 140


def test_a_warm_up_alone_is_no_result(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, _text(_record(0, 500, "warmup")), "profile_export.jsonl")
    assert finding.code == "BL014"
