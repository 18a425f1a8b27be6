"""LM Studio: replies, statistics of the SDKs and `lms chat --stats`, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place

V0: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1767225600,
    "model": "acme-chat-9b",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}],
    "usage": {"prompt_tokens": 31, "completion_tokens": 300, "total_tokens": 331},
    "stats": {
        "tokens_per_second": 61.25,
        "time_to_first_token": 0.205,
        "generation_time": 4.75,
        "stop_reason": "eosFound",
        "draft_model": "acme-draft-1b",
        "total_draft_tokens_count": 320,
        "accepted_draft_tokens_count": 210,
        "rejected_draft_tokens_count": 90,
        "ignored_draft_tokens_count": 20,
    },
    "model_info": {"arch": "acme", "quant": "Q4_K_M", "format": "gguf", "context_length": 8192},
    "runtime": {"name": "llama.cpp-linux-x86_64-nvidia-cuda", "version": "1.9.0"},
}


def test_every_field_of_rest_v0(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(V0, indent=1), "reply.json")
    assert report.tree == {
        "benchlint": "1",
        "date": "2026-01-01T00:00:00Z",
        "engine": {"name": "lm-studio", "backend": "llama.cpp-linux-x86_64-nvidia-cuda"},
        "target": {"name": "acme-chat-9b", "quantization": {"recipe": "Q4_K_M"}},
        "configurations": {
            "acme-chat-9b with acme-draft-1b": {
                "drafter": {"model": "acme-draft-1b", "method": "draft_model"},
                "kv_cache": {"max_context_tokens": 8192},
            }
        },
        "workloads": {"prediction": {"prompt_tokens": 31}},
        "runs": [
            {
                "id": "prediction",
                "configuration": "acme-chat-9b with acme-draft-1b",
                "workload": "prediction",
                "decode": {"tok_s": 61.25, "tokens": 300},
                "prefill": {"ttft_ms": 205},
                "speculation": {
                    "counts": {
                        "drafted": 320,
                        "accepted": 210,
                        "output_tokens": 300,
                        "requests": 1,
                    }
                },
                "measurement": {
                    "by": "engine_counter",
                    "tool": "LM Studio",
                    "window": "decode_only",
                    "counters": "per_run",
                },
                "finish_reasons": {"eosFound": 1},
            }
        ],
    }
    assert report.imported.remarks == ()
    assert place(report, "/runs/0/prefill/ttft_ms")[1] == "0.205"
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_draft_tokens_that_do_not_add_up_are_remarked_on(tmp_path: Path) -> None:
    stats = {**V0["stats"], "ignored_draft_tokens_count": 19}
    (report,) = imported(tmp_path, json.dumps({**V0, "stats": stats}), "reply.json")
    (remark,) = report.imported.remarks
    assert "319 together, not 320" in remark


def test_without_a_draft_model_nothing_is_said_of_one(tmp_path: Path) -> None:
    stats = {k: v for k, v in V0["stats"].items() if "draft" not in k}
    (report,) = imported(tmp_path, json.dumps({**V0, "stats": stats}), "reply.json")
    (setup,) = report.tree["configurations"].values()
    assert "drafter" not in setup
    assert "speculation" not in report.tree["runs"][0]


def test_rest_v1(tmp_path: Path) -> None:
    reply = {
        "model_instance_id": "acme/chat-9b",
        "output": [{"type": "message", "content": "x"}],
        "stats": {
            "input_tokens": 40,
            "total_output_tokens": 280,
            "reasoning_output_tokens": 0,
            "tokens_per_second": 55.5,
            "time_to_first_token_seconds": 1.25,
        },
    }
    (report,) = imported(tmp_path, json.dumps(reply), "reply.json")
    run = report.tree["runs"][0]
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert run["decode"] == {"tok_s": 55.5, "tokens": 280}
    assert run["prefill"] == {"ttft_ms": 1250}
    assert report.tree["workloads"]["prediction"] == {"prompt_tokens": 40}


@pytest.mark.parametrize("wrapped", [True, False])
def test_statistics_of_the_sdks(wrapped: bool, tmp_path: Path) -> None:
    stats = {
        "stopReason": "maxPredictedTokensReached",
        "tokensPerSecond": 70.125,
        "numGpuLayers": -1,
        "timeToFirstTokenSec": 0.5,
        "totalTimeSec": 4.0,
        "promptTokensCount": 12,
        "predictedTokensCount": 256,
        "totalTokensCount": 268,
        "usedDraftModelKey": "acme-draft-1b",
        "totalDraftTokensCount": 200,
        "acceptedDraftTokensCount": 150,
        "rejectedDraftTokensCount": 50,
        "ignoredDraftTokensCount": 0,
    }
    tree = {"stats": stats, "modelInfo": {"modelKey": "acme/chat-9b"}} if wrapped else stats
    (report,) = imported(tmp_path, json.dumps(tree), "stats.json")
    run = report.tree["runs"][0]
    assert run["decode"] == {"tok_s": 70.125, "tokens": 256}
    assert run["speculation"]["counts"]["drafted"] == 200
    assert run["finish_reasons"] == {"maxPredictedTokensReached": 1}
    assert report.tree.get("target", {}) == ({"name": "acme/chat-9b"} if wrapped else {})


def test_replies_one_a_line_are_several_runs(tmp_path: Path) -> None:
    text = "\n".join([json.dumps(V0), "no JSON", json.dumps(V0)])
    (report,) = imported(tmp_path, text, "replies.jsonl")
    assert [run["id"] for run in report.tree["runs"]] == ["prediction", "prediction (2)"]
    assert place(report, "/runs/1/decode/tok_s") == (3, "61.25")


CONSOLE = """\
> hello
some answer: Tokens/Second: 3.00 are few

Prediction Stats:
  Stop Reason: eosFound
  Tokens/Second: 61.20
  Time to First Token: 0.205s
  Prompt Tokens: 31
  Predicted Tokens: 300
  Total Tokens: 331

Prediction Stats:
  Stop Reason: userStopped
  Tokens/Second: 60.00
"""


def test_what_the_command_prints(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CONSOLE, "chat.txt")
    first, second = report.tree["runs"]
    assert first["decode"] == {"tok_s": 61.20, "tokens": 300}
    assert printed(first["decode"]["tok_s"]) == "61.20"
    assert printed(first["prefill"]["ttft_ms"]) == "205"
    assert first["finish_reasons"] == {"eosFound": 1}
    assert second["decode"] == {"tok_s": 60.0}
    assert "prefill" not in second
    assert place(report, "/runs/0/decode/tok_s") == (6, "61.20")


HOSTILE: list[dict[str, Any]] = [
    {"stats": {**V0["stats"], "tokens_per_second": [], "time_to_first_token": {}}},
    {"stats": {**V0["stats"], "total_draft_tokens_count": "x", "draft_model": 3}},
    {"stats": {**V0["stats"], "stop_reason": "a" * 5000, "tokens_per_second": "1e999"}},
    {"usage": [], "model": {}, "model_info": 3, "created": 1e300},
    {"usage": {"completion_tokens": -1}},
]


@pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(change: dict[str, Any], tmp_path: Path) -> None:
    for report in imported(tmp_path, json.dumps({**V0, **change}), "r.json", tool="lm-studio"):
        check_tree(report.tree)


def test_a_heading_alone_is_no_report(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "Prediction Stats:\n  Stop Reason: eosFound\n", "c.txt")
    assert finding.code == "BL014"


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CONSOLE, "chat.txt")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "api/v0" in helps["BL101"]
    assert "draft_model" in helps["BL102"]
