"""Replies of vLLM with the metrics of each request: whole, in lines, and streamed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.reading import findings, imported, place, value

REPLY: dict[str, Any] = {
    "id": "cmpl-0a1b2c",
    "object": "text_completion",
    "created": 1772000000,
    "model": "acme/Tern-7B",
    "choices": [{"index": 0, "text": "…", "finish_reason": "length", "stop_reason": None}],
    "system_fingerprint": "vllm-0.15.1-7805d19b",
    "usage": {
        "prompt_tokens": 60,
        "total_tokens": 361,
        "completion_tokens": 301,
        "prompt_tokens_details": {"cached_tokens": 16},
    },
    "metrics": {
        "time_to_first_token_ms": 25.5,
        "generation_time_ms": 1500.0,
        "queue_time_ms": 0.02,
        "mean_itl_ms": 5.0,
        "tokens_per_second": 197.31,
        "speculative_decoding": {
            "mean_acceptance_length": 2.5,
            "draft_acceptance_rate": 0.5,
            "acceptance_histogram": [30, 30, 30, 30],
            "num_spec_steps": 120,
            "num_accepted_draft_tokens": 180,
            "num_draft_tokens": 360,
            "num_spec_tokens": 3,
            "per_step_accepted": None,
        },
    },
}


def _report(folder: Path, text: str, name: str = "replies.json") -> ImportedDocument:
    (report,) = imported(folder, text, name)
    return report


def _runs(report: ImportedDocument) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", cast("dict[str, Any]", report.tree)["runs"])


def _without(*path: str) -> str:
    reply: Any = copy.deepcopy(REPLY)
    inner = reply
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return json.dumps(reply)


def test_every_field_of_a_reply(tmp_path: Path) -> None:
    report = _report(tmp_path, json.dumps(REPLY, indent=1))
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "vllm", "version": "0.15.1"},
        "target": {"name": "acme/Tern-7B"},
        "configurations": {"acme/Tern-7B": {"draft_length": {"max": 3}}},
        "runs": [
            {
                "id": "reply 1",
                "configuration": "acme/Tern-7B",
                "conditions": {"kv_position": {"filled_tokens": 60}, "prompt_cache": True},
                "prefill": {"ttft_ms": 25.5},
                "decode": {"tokens": 301, "seconds": 1.5, "time_per_output_token_ms": 5.0},
                "throughput": {"end_to_end_tok_s": 197.31},
                "speculation": {
                    "acceptance_rate": {"value": 0.5, "of": "drafted", "estimator": "pooled"},
                    "accepted_length": {
                        "value": 2.5,
                        "counts_bonus_token": True,
                        "estimator": "pooled",
                    },
                    "counts": {
                        "verify_steps": 120,
                        "drafted": 360,
                        "accepted": 180,
                        "output_tokens": 301,
                        "requests": 1,
                    },
                    "histogram": [30, 30, 30, 30],
                },
                "finish_reasons": {"length": 1},
                "measurement": {"by": "engine_counter", "counters": "per_run"},
            }
        ],
    }
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_places_are_in_the_reply(tmp_path: Path) -> None:
    report = _report(tmp_path, json.dumps(REPLY, indent=1))
    assert place(report, "/runs/0/decode/seconds")[1] == "1500.0"
    assert place(report, "/runs/0/speculation/counts/verify_steps")[1] == "120"
    assert place(report, "/engine/version")[1] == '"vllm-0.15.1-7805d19b"'


@pytest.mark.parametrize(
    ("left_out", "at"),
    [
        (("usage",), "/runs/0/decode/tokens"),
        (("usage", "prompt_tokens_details"), "/runs/0/conditions/prompt_cache"),
        (("system_fingerprint",), "/engine/version"),
        (("model",), "/target"),
        (("choices",), "/runs/0/finish_reasons"),
        (("metrics", "generation_time_ms"), "/runs/0/decode/seconds"),
        (("metrics", "speculative_decoding"), "/runs/0/speculation"),
        (
            ("metrics", "speculative_decoding", "acceptance_histogram"),
            "/runs/0/speculation/histogram",
        ),
        (
            ("metrics", "speculative_decoding", "num_spec_tokens"),
            "/configurations/acme~1Tern-7B/draft_length",
        ),
    ],
)
def test_what_a_reply_lacks_is_absent(tmp_path: Path, left_out: tuple[str, ...], at: str) -> None:
    with pytest.raises(KeyError):
        value(_report(tmp_path, _without(*left_out)), at)


def test_an_empty_cache_does_not_say_that_it_is_off(tmp_path: Path) -> None:
    text = json.dumps(REPLY).replace('"cached_tokens": 16', '"cached_tokens": 0')
    assert "prompt_cache" not in json.dumps(_report(tmp_path, text).tree)


def test_times_that_are_null_are_absent(tmp_path: Path) -> None:
    reply = copy.deepcopy(REPLY)
    reply["metrics"] |= dict.fromkeys(REPLY["metrics"].keys() - {"speculative_decoding"})
    (run,) = _runs(_report(tmp_path, json.dumps(reply)))
    assert "prefill" not in run
    assert run["decode"] == {"tokens": 301}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**REPLY, "metrics": None}),
        json.dumps({**REPLY, "metrics": {"queue_time_ms": 1.0}}),
        json.dumps({"model": "x", "usage": REPLY["usage"]}),
    ],
)
def test_a_reply_without_metrics_is_none(tmp_path: Path, text: str) -> None:
    assert [f.code for f in findings(tmp_path, text, "r.json")] == ["BL014"]


def test_replies_in_lines_and_lists(tmp_path: Path) -> None:
    other = json.dumps({**REPLY, "system_fingerprint": "vllm-0.16.0-aabbccdd"})
    lines = _report(tmp_path, f"{json.dumps(REPLY)}\nnot json\n{other}\n", "r.jsonl")
    assert [run["id"] for run in _runs(lines)] == ["reply 1", "reply 2"]
    assert place(lines, "/runs/1/prefill/ttft_ms") == (3, "25.5")
    assert [run["configuration"] for run in _runs(lines)] == ["acme/Tern-7B", "acme/Tern-7B (2)"]
    nested = _report(tmp_path, json.dumps({"results": [{"response": REPLY}, {"response": REPLY}]}))
    assert len(_runs(nested)) == 2


def test_the_last_event_of_a_stream_has_the_metrics(tmp_path: Path) -> None:
    chunk = {**REPLY, "object": "text_completion.chunk", "metrics": None, "usage": None}
    last = {**REPLY, "choices": []}
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, chunk, last))
    report = _report(tmp_path, f": connected\n\n{text}data: [DONE]\n\n", "stream.sse")
    (run,) = _runs(report)
    assert run["speculation"]["accepted_length"]["value"] == 2.5
    assert place(report, "/runs/0/decode/tokens") == (7, "301")


def test_a_histogram_as_a_map(tmp_path: Path) -> None:
    reply = copy.deepcopy(REPLY)
    reply["metrics"]["speculative_decoding"]["acceptance_histogram"] = {"0": 60, "3": 60}
    (run,) = _runs(_report(tmp_path, json.dumps(reply)))
    assert run["speculation"]["histogram"] == [60, 0, 0, 60]


@pytest.mark.parametrize(
    "drafts",
    [
        {"acceptance_histogram": {"x": 1, "99999": 2}, "num_spec_steps": 1},
        {"acceptance_histogram": {"4095": 1}, "num_spec_steps": -1},
        {"acceptance_histogram": [[], {}], "num_spec_steps": "x"},
        {"acceptance_histogram": [None], "draft_acceptance_rate": float("inf")},
        {name: [] for name in REPLY["metrics"]["speculative_decoding"]},
        {name: {"a": {}} for name in REPLY["metrics"]["speculative_decoding"]},
    ],
)
def test_hostile_metrics_never_raise(tmp_path: Path, drafts: dict[str, Any]) -> None:
    reply = copy.deepcopy(REPLY)
    reply["metrics"]["speculative_decoding"] |= drafts
    reply["choices"] = {"0": "x"}
    reply["model"] = "\x1b]0;x\x07"
    findings(tmp_path, json.dumps(reply), "r.json", tool="vllm-requests")


def test_many_replies_are_cut_off_with_a_word(tmp_path: Path) -> None:
    text = f"{json.dumps(REPLY)}\n" * 503
    report = _report(tmp_path, text, "r.jsonl")
    assert len(_runs(report)) == 500
    assert report.imported.remarks == ("3 more replies were left out",)
