"""vllm bench: result files of every year and the block on the console, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.document import parse_text
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.importer import Confidence, Head
from benchlint.checker.importers.vllm_bench import IMPORTER
from tests.importers.reading import findings, imported, place, value

SERVE: dict[str, Any] = {
    "date": "20260302-101500",
    "endpoint_type": "openai",
    "backend": "openai",
    "label": None,
    "model_id": "acme/Tern-7B",
    "tokenizer_id": "acme/Tern-7B",
    "num_prompts": 40,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 4,
    "duration": 12.5,
    "completed": 40,
    "failed": 0,
    "total_input_tokens": 5000,
    "total_output_tokens": 8000,
    "request_throughput": 3.2,
    "request_goodput": None,
    "output_throughput": 640.0,
    "total_token_throughput": 1040.0,
    "max_output_tokens_per_s": 702.0,
    "max_concurrent_requests": 9,
    "rtfx": 0.0,
    "mean_ttft_ms": 41.25,
    "median_ttft_ms": 39.5,
    "std_ttft_ms": 6.125,
    "p99_ttft_ms": 61.75,
    "mean_tpot_ms": 6.0,
    "median_tpot_ms": 5.875,
    "std_tpot_ms": 0.5,
    "p99_tpot_ms": 7.25,
    "mean_itl_ms": 6.0,
    "median_itl_ms": 5.75,
    "std_itl_ms": 0.75,
    "p99_itl_ms": 8.5,
}

SPECULATION: dict[str, Any] = {
    "spec_decode_acceptance_rate": 41.2,
    "spec_decode_acceptance_length": 2.236,
    "spec_decode_num_drafts": 3600,
    "spec_decode_draft_tokens": 10800,
    "spec_decode_accepted_tokens": 4449,
    "spec_decode_per_position_acceptance_rates": [0.625, 0.37500000000000006, 0.2358333333333333],
}
HELD = {**SPECULATION, "spec_decode_acceptance_rate": 41.19444444444444}
HELD["spec_decode_acceptance_length"] = 2.2358333333333333


def _serve(folder: Path, *changes: dict[str, Any], name: str = "r.json") -> ImportedDocument:
    lines = [json.dumps({**SERVE, **each}) for each in changes or ({},)]
    (report,) = imported(folder, "\n".join(lines) + "\n", name)
    return report


def _without(*names: str) -> dict[str, Any]:
    return {k: v for k, v in SERVE.items() if k not in names}


def _tree(report: ImportedDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", report.tree)


def _run(report: ImportedDocument, number: int = 0) -> dict[str, Any]:
    return cast("dict[str, Any]", _tree(report)["runs"][number])


def _errors(report: ImportedDocument) -> list[str]:
    return [f.message for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_every_field_of_a_plain_run(tmp_path: Path) -> None:
    assert _serve(tmp_path).tree == {
        "benchlint": "1",
        "date": "2026-03-02T10:15:00",
        "target": {"name": "acme/Tern-7B"},
        "configurations": {"acme/Tern-7B": {}},
        "workloads": {
            "prompts": {
                "prompt_count": 40,
                "prompt_tokens": {"value": 125.0, "estimator": "mean"},
                "output_tokens": {"value": 200.0, "estimator": "mean"},
            }
        },
        "runs": [
            {
                "id": "concurrency 4",
                "configuration": "acme/Tern-7B",
                "workload": "prompts",
                "conditions": {"concurrency": 4},
                "throughput": {
                    "seconds": 12.5,
                    "completed_requests": 40,
                    "failed_requests": 0,
                    "requests_per_s": 3.2,
                    "tok_s": 640.0,
                    "peak_tok_s": 702.0,
                    "tokens": 8000,
                },
                "prefill": {
                    "ttft_ms": {
                        "value": 41.25,
                        "stdev": 6.125,
                        "percentiles": {"p50": 39.5, "p99": 61.75},
                        "estimator": "mean",
                    }
                },
                "decode": {
                    "time_per_output_token_ms": {
                        "value": 6.0,
                        "stdev": 0.5,
                        "percentiles": {"p50": 5.875, "p99": 7.25},
                        "estimator": "mean",
                    },
                    "inter_token_latency_ms": {
                        "value": 6.0,
                        "stdev": 0.75,
                        "percentiles": {"p50": 5.75, "p99": 8.5},
                        "estimator": "mean",
                    },
                },
                "measurement": {"by": "client", "tool": "vllm bench serve"},
            }
        ],
    }


def test_every_field_of_speculation(tmp_path: Path) -> None:
    report = _serve(tmp_path, HELD)
    assert _run(report)["speculation"] == {
        "acceptance_rate": {"value": 0.4119444444444444, "of": "drafted", "estimator": "pooled"},
        "accepted_length": {
            "value": 2.2358333333333333,
            "counts_bonus_token": True,
            "estimator": "pooled",
        },
        "per_position": {
            "values": [0.625, 0.37500000000000006, 0.2358333333333333],
            "kind": "cumulative",
        },
        "counts": {
            "verify_steps": 3600,
            "drafted": 10800,
            "accepted": 4449,
            "output_tokens": 8000,
            "requests": 40,
        },
    }
    assert _run(report)["measurement"]["counters"] == "per_run"
    assert value(report, "/engine") == {"name": "vllm"}
    assert value(report, "/configurations") == {"acme/Tern-7B": {"draft_length": {"max": 3}}}
    assert _errors(report) == []


def test_percent_becomes_a_share_and_keeps_its_digits(tmp_path: Path) -> None:
    rate = value(_serve(tmp_path, SPECULATION), "/runs/0/speculation/acceptance_rate/value")
    assert getattr(rate, "text", None) == "0.412"


def test_places_are_in_the_file(tmp_path: Path) -> None:
    report = _serve(tmp_path, {}, HELD, name="r.jsonl")
    assert place(report, "/runs/1/speculation/accepted_length/value") == (2, "2.2358333333333333")
    assert place(report, "/runs/1/speculation/per_position/values/1")[1] == "0.37500000000000006"
    assert place(report, "/runs/0/decode/time_per_output_token_ms/percentiles/p99") == (1, "7.25")
    assert place(report, "/workloads/prompts/prompt_tokens/value")[1] == "5000"


@pytest.mark.parametrize(
    ("left_out", "at"),
    [
        ("date", "/date"),
        ("max_concurrency", "/runs/0/conditions"),
        ("failed", "/runs/0/throughput/failed_requests"),
        ("max_output_tokens_per_s", "/runs/0/throughput/peak_tok_s"),
        ("std_ttft_ms", "/runs/0/prefill/ttft_ms/stdev"),
        ("p99_itl_ms", "/runs/0/decode/inter_token_latency_ms/percentiles/p99"),
        ("num_prompts", None),
        ("total_input_tokens", "/workloads/prompts/prompt_tokens"),
        ("duration", "/runs/0/throughput/seconds"),
    ],
)
def test_what_the_file_lacks_is_absent(tmp_path: Path, left_out: str, at: str | None) -> None:
    text = json.dumps(_without(left_out))
    if at is None:
        assert [f.code for f in findings(tmp_path, text, "r.json")] == ["BL014"]
        return
    (report,) = imported(tmp_path, text, "r.json")
    with pytest.raises(KeyError):
        value(report, at)


def test_nothing_is_said_of_what_the_file_cannot_know(tmp_path: Path) -> None:
    tree = _serve(tmp_path).tree
    text = json.dumps(tree)
    for name in ("sampler", "drafter", "warm", "version", "device", "repeats", "losslessness"):
        assert f'"{name}"' not in text
    assert "speculation" not in text
    assert "engine" not in tree  # `openai` is a protocol


@pytest.mark.parametrize(
    ("backend", "engine"), [("vllm", "vllm"), ("sglang", "sglang"), ("tensorrt-llm",) * 2]
)
def test_a_backend_that_is_an_engine_names_it(tmp_path: Path, backend: str, engine: str) -> None:
    report = _serve(tmp_path, {"backend": backend})
    assert value(report, "/engine") == {"name": engine}
    assert place(report, "/engine/name")[1] == f'"{backend}"'


def test_at_a_request_rate_the_limit_is_not_what_was_in_flight(tmp_path: Path) -> None:
    run = _run(_serve(tmp_path, {"request_rate": 2.5, "max_concurrency": None}))
    assert run["id"] == "request rate 2.5"
    assert "conditions" not in run
    assert "conditions" not in _run(_serve(tmp_path, {"request_rate": 2.5}))


def test_a_zero_time_is_none(tmp_path: Path) -> None:
    failed = {n: 0.0 for n in SERVE if n.endswith(("_ms", "throughput"))}
    none = {"completed": 0, "failed": 40, "total_output_tokens": 0, "total_input_tokens": 0}
    report = _serve(tmp_path, failed | none)
    run = _run(report)
    assert "prefill" not in run
    assert "decode" not in run
    assert run["throughput"]["tok_s"] == 0.0
    assert {f.code for f in check_tree(report.tree)} >= {"BL420", "BL424"}


# --- what --save-detailed adds ---------------------------------------------------------------

DETAIL: dict[str, Any] = {
    "num_prompts": 3,
    "completed": 3,
    "total_input_tokens": 60,
    "total_output_tokens": 50,
    "request_throughput": 0.24,
    "output_throughput": 4.0,
    "std_ttft_ms": 3.75,
    "input_lens": [10, 20, 30],
    "output_lens": [12, 18, 20],
    "ttfts": [0.0375, 0.0400, 0.04625],
    "itls": [[0.006], [0.006], [0.006]],
    "generated_texts": ["a", "b", "c"],
    "errors": ["", "", ""],
}


def test_lengths_and_first_tokens_of_each_request(tmp_path: Path) -> None:
    report = _serve(tmp_path, DETAIL)
    assert value(report, "/workloads/prompts/prompt_tokens") == {
        "value": 20.0,
        "estimator": "mean",
        "samples": [10, 20, 30],
    }
    assert value(report, "/workloads/prompts/output_tokens/samples") == [12, 18, 20]
    assert value(report, "/workloads/prompts/output_tokens/value") == 16.6667
    assert _run(report)["prefill"]["ttft_ms"]["samples"] == [37.5, 40.0, 46.25]
    assert _errors(report) == []


def test_requests_that_failed_are_counted_and_their_zeros_are_no_samples(tmp_path: Path) -> None:
    failed = {
        "completed": 2,
        "output_lens": [12, 18, 0],
        "ttfts": [0.04, 0.0425, 0.0],
        "errors": ["", "", "refused"],
        **HELD,
    }
    (report,) = imported(
        tmp_path, json.dumps({**_without("failed"), **DETAIL, **failed}), "old.json"
    )
    run = _run(report)
    assert run["throughput"]["failed_requests"] == 1
    assert "samples" not in run["prefill"]["ttft_ms"]
    assert "samples" not in json.dumps(_tree(report)["workloads"])
    assert set(run["speculation"]["counts"]) == {"verify_steps", "drafted", "accepted"}


# --- several results, and other years --------------------------------------------------------


def test_an_appended_file_is_one_report_with_an_arm_each(tmp_path: Path) -> None:
    report = _serve(tmp_path, {"label": "plain"}, {"label": "mtp", **HELD}, name="sweep.json")
    assert [run["id"] for run in _tree(report)["runs"]] == ["plain", "mtp"]
    assert [run["configuration"] for run in _tree(report)["runs"]] == [
        "acme/Tern-7B",
        "acme/Tern-7B, K 3",
    ]
    assert {run["workload"] for run in _tree(report)["runs"]} == {"prompts"}
    assert "draft_length" not in _tree(report)["configurations"]["acme/Tern-7B"]


OLD = {
    "date": "20240611-080910",
    "backend": "vllm",
    "model_id": "/data/models/Tern-7B",
    "tokenizer_id": "/data/models/Tern-7B",
    "best_of": 1,
    "use_beam_search": False,
    "num_prompts": 200,
    "request_rate": 16.0,
    "mean_ttft_ms": 210.5,
    "median_ttft_ms": 190.25,
    "p99_ttft_ms": 610.0,
    "mean_tpot_ms": 31.5,
    "median_tpot_ms": 29.0,
    "p99_tpot_ms": 60.5,
}


def test_a_nightly_of_2024_without_throughput(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(OLD), "old.json")
    assert value(report, "/target") == {"name": "Tern-7B"}
    assert value(report, "/engine") == {"name": "vllm"}
    run = _run(report)
    assert set(run) == {"id", "configuration", "workload", "prefill", "decode", "measurement"}
    assert run["decode"]["time_per_output_token_ms"]["value"] == 31.5
    assert "BL702" not in {f.code for f in check_tree(report.tree)}


def test_latencies_in_seconds_under_names_without_a_unit(tmp_path: Path) -> None:
    """InferenceX keeps medians and percentiles, in seconds."""
    names = ("date", "model_id", "tokenizer_id", "num_prompts", "request_rate", "completed")
    kept = {n: SERVE[n] for n in (*names, "duration", "output_throughput")}
    (report,) = imported(
        tmp_path, json.dumps({**kept, "median_ttft": 3.125, "p99_ttft": 16.5, "median_tpot": 0.141})
    )
    assert _run(report)["prefill"]["ttft_ms"] == {
        "percentiles": {"p50": 3125.0, "p99": 16500.0},
        "value": 3125.0,
        "estimator": "median",
    }
    assert _run(report)["decode"]["time_per_output_token_ms"]["value"] == 141.0


def test_results_between_other_lines_of_a_log(tmp_path: Path) -> None:
    text = f"<<<START>>>\n{json.dumps(SERVE)}\n<<<END>>>\ncleaning up\n{json.dumps(SERVE)}\n"
    (report,) = imported(tmp_path, text, "job.log")
    assert [run["id"] for run in _tree(report)["runs"]] == ["concurrency 4", "concurrency 4 (2)"]
    assert place(report, "/runs/1/throughput/tok_s") == (5, "640.0")


def test_a_goodput_under_its_old_name(tmp_path: Path) -> None:
    run = _run(_serve(tmp_path, {"request_goodput:": 2.5}))
    assert run["throughput"]["goodput_requests_per_s"] == 2.5


# --- latency and throughput ------------------------------------------------------------------


def test_a_latency_file(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "model_id": "./models/tern",
            "avg_latency": 2.04,
            "latencies": [2.0, 2.02, 2.1],
            "percentiles": {"10": 2.004, "50": 2.02, "99": 2.0984},
        }
    )
    (report,) = imported(tmp_path, text, "latency.json")
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "vllm"},
        "target": {"name": "tern"},
        "configurations": {"tern": {}},
        "runs": [
            {
                "id": "latency",
                "configuration": "tern",
                "throughput": {
                    "seconds": {
                        "value": 2.04,
                        "samples": [2.0, 2.02, 2.1],
                        "percentiles": {"p10": 2.004, "p50": 2.02, "p99": 2.0984},
                        "estimator": "mean",
                    }
                },
                "conditions": {"repeats": 3},
                "measurement": {
                    "tool": "vllm bench latency",
                    "by": "micro_benchmark",
                    "prompt_kind": "synthetic",
                },
            }
        ],
    }


def test_a_throughput_file_whose_tokens_are_not_output(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "elapsed_time": 4.0,
            "num_requests": 50,
            "total_num_tokens": 20000,
            "requests_per_second": 12.5,
            "tokens_per_second": 5000.0,
        }
    )
    (report,) = imported(tmp_path, text, "throughput.json")
    run = _run(report)
    assert run["throughput"] == {"seconds": 4.0, "completed_requests": 50, "requests_per_s": 12.5}
    assert run["measurement"] == {"tool": "vllm bench throughput"}
    assert value(report, "/engine") == {"name": "vllm"}
    assert "target" not in _tree(report)


# --- the console -----------------------------------------------------------------------------

CONSOLE = """\
INFO 03-02 10:14:01 [__init__.py:216] Automatically detected platform cuda.
Namespace(subparser='bench', seed=0, num_prompts=40, dataset_name='hf', \
dataset_path='acme/prompts-v2', model='acme/Tern-7B', label=None, num_warmups=2, \
request_rate=inf, ignore_eos=False, top_p=0.95, top_k=None, min_p=None, temperature=0.6, \
repetition_penalty=None, extra_body=None)
Traffic request rate: inf
Burstiness factor: 1.0 (Poisson process)
Maximum request concurrency: 4
100%|##########| 40/40 [00:12<00:00,  3.20it/s]
============ Serving Benchmark Result ============
Successful requests:                     40
Failed requests:                         0
Maximum request concurrency:             4
Benchmark duration (s):                  12.50
Total input tokens:                      5000
Total generated tokens:                  8000
Request throughput (req/s):              3.20
Output token throughput (tok/s):         640.00
Peak output token throughput (tok/s):    702.00
Peak concurrent requests:                9.00
Total Token throughput (tok/s):          1040.00
---------------Time to First Token----------------
Mean TTFT (ms):                          41.25
Median TTFT (ms):                        39.50
P99 TTFT (ms):                           61.75
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          6.00
P99.9 TPOT (ms):                         7.90
---------------Inter-token Latency----------------
Mean ITL (ms):                           13.41
---------------Speculative Decoding---------------
Acceptance rate (%):                     41.19
Acceptance length:                       2.24
Drafts:                                  3600
Draft tokens:                            10800
Accepted tokens:                         4449
Per-position acceptance (%):
  Position 0:                            62.50
  Position 1:                            37.50
  Position 2:                            23.58
==================================================
"""


def test_the_block_on_the_console(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CONSOLE, "bench.log")
    run = _run(report)
    assert run["throughput"] == {
        "seconds": 12.5,
        "completed_requests": 40,
        "failed_requests": 0,
        "requests_per_s": 3.2,
        "tok_s": 640.0,
        "peak_tok_s": 702.0,
        "tokens": 8000,
    }
    assert run["prefill"]["ttft_ms"] == {
        "value": 41.25,
        "percentiles": {"p50": 39.5, "p99": 61.75},
        "estimator": "mean",
    }
    assert run["decode"]["time_per_output_token_ms"]["percentiles"] == {"p99_9": 7.9}
    assert run["conditions"] == {"concurrency": 4, "warmup_requests": 2}
    assert run["speculation"]["acceptance_rate"]["value"] == 0.4119
    assert run["speculation"]["per_position"] == {
        "values": [0.625, 0.375, 0.2358],
        "kind": "cumulative",
    }
    assert [f.code for f in check_tree(report.tree) if f.severity is not Severity.NOTE] == ["BL218"]


def test_arguments_in_front_of_the_block(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CONSOLE, "bench.log")
    assert value(report, "/configurations/acme~1Tern-7B") == {
        "sampler": {
            "temperature": 0.6,
            "top_p": 0.95,
            "left_to_engine": ["top_k", "min_p", "repetition_penalty"],
        },
        "draft_length": {"max": 3},
    }
    workload = value(report, "/workloads/hf")
    assert isinstance(workload, dict)
    assert workload["prompts"] == {"set": "acme/prompts-v2"}
    assert "stop_rule" not in workload  # ignore_eos=False names no rule
    assert place(report, "/workloads/hf/prompts/set") == (2, "acme/prompts-v2")
    assert place(report, "/runs/0/speculation/per_position/values/2") == (37, "23.58")


def test_a_temperature_that_was_not_given_was_left_to_the_server_only_where_it_is_said(
    tmp_path: Path,
) -> None:
    """Before 0.14 the client sent 0 where no temperature was given."""
    unsaid = CONSOLE.replace("temperature=0.6", "temperature=None")
    (old,) = imported(tmp_path, unsaid, "old.log")
    left = "/configurations/acme~1Tern-7B/sampler/left_to_engine"
    assert value(old, left) == ["top_k", "min_p", "repetition_penalty"]
    warning = "WARNING: vllm bench serve no longer sets temperature==0 (greedy) in requests\n"
    head, _, rest = unsaid.partition("Traffic request rate")
    (new,) = imported(tmp_path, f"{head}{warning}Traffic request rate{rest}", "new.log")
    assert value(new, left) == ["temperature", "top_k", "min_p", "repetition_penalty"]


def test_a_model_that_the_client_asked_the_server_for(tmp_path: Path) -> None:
    asked = CONSOLE.replace("model='acme/Tern-7B'", "model=None").replace(
        "Traffic", "First model name: tern, first model id: acme/Tern-7B\nTraffic"
    )
    (report,) = imported(tmp_path, asked, "bench.log")
    assert value(report, "/target/name") == "acme/Tern-7B"


def test_made_up_prompts_and_forced_lengths_are_said(tmp_path: Path) -> None:
    text = CONSOLE.replace("'hf'", "'random-mm'").replace("ignore_eos=False", "ignore_eos=True")
    (report,) = imported(tmp_path, text, "bench.log")
    assert _run(report)["measurement"]["prompt_kind"] == "synthetic"
    assert value(report, "/workloads/random-mm/stop_rule") == "ignore_eos"


def test_blocks_in_comments_and_one_that_is_cut_short(tmp_path: Path) -> None:
    commented = "\n".join(f"# {line}" for line in CONSOLE.splitlines()[4:])
    cut = commented[: commented.index("# Total input")]
    (report,) = imported(tmp_path, f"#!/bin/sh\nrun\n{commented}\n\n{cut}", "run.sh")
    assert len(_tree(report)["runs"]) == 2
    assert _run(report, 1)["throughput"] == {
        "completed_requests": 40,
        "failed_requests": 0,
        "seconds": 12.5,
    }


def test_a_block_in_a_page(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, f"# Results\n\n```\n{CONSOLE}```\n", "page.md")
    assert report.importer.name == "vllm-bench"
    assert place(report, "/runs/0/throughput/tok_s") == (18, "640.00")


# --- what is no such file, and hostile ones --------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**SERVE, "total_output_tokens_retokenized": 7990}),
        json.dumps(["model_id", "tokenizer_id", "num_prompts", "request_rate"]),
        json.dumps({"avg_latency": 1.0, "latencies": []}),
        "Serving Benchmark Result: 80 requests\n",
    ],
)
def test_what_is_of_another_tool_is_not_taken(tmp_path: Path, text: str) -> None:
    found = findings(tmp_path, text)
    assert all(f.code == "BL014" for f in found)
    assert IMPORTER.recognise(Head(text, parse_text(text, "").document)) is Confidence.NO


@pytest.mark.parametrize(
    "change",
    [
        {n: [] for n in SERVE if n not in ("model_id",)},
        {n: {"a": 1} for n in SERVE},
        dict.fromkeys(SERVE, "nan"),
        dict.fromkeys(SERVE, -1),
        dict.fromkeys(SERVE, 1e308),
        dict.fromkeys(SERVE, True),
        {"spec_decode_per_position_acceptance_rates": ["x", None, {}]},
        {"spec_decode_per_position_acceptance_rates": [[0.5], 0.25]},
        {**DETAIL, "ttfts": [None, "x", {}], "errors": {"a": 1}, "output_lens": "12"},
        {"model_id": "\x1b[31m" + "x" * 5000, "label": "\u202e" * 50},
    ],
    ids=range(10),
)
def test_hostile_values_never_raise(tmp_path: Path, change: dict[str, Any]) -> None:
    text = json.dumps({**SERVE, **change})
    findings(tmp_path, text, "r.json", tool="vllm-bench")
    for report in imported(tmp_path, text, "r.json"):
        check_tree(report.tree)


@pytest.mark.parametrize(
    "text",
    [
        "============ Serving Benchmark Result ============\n",
        "============ Serving Benchmark Result ============\n" * 200,
        CONSOLE.replace("3600", "1" * 5000),
        CONSOLE.replace(":", ": :"),
        CONSOLE.replace("Position 1", "Position 999"),
        "Namespace(" + "temperature='" * 3000,
        CONSOLE[:200] + "\x00" * 100 + CONSOLE[200:],
    ],
    ids=range(7),
)
def test_hostile_consoles_never_raise(tmp_path: Path, text: str) -> None:
    findings(tmp_path, text, "bench.log", tool="vllm-bench")
