"""SGLang: results of bench_serving, server logs, /server_info and replies, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.reading import findings, imported, place, value

SERVING: dict[str, Any] = {
    "tag": None,
    "backend": "sglang",
    "dataset_name": "sharegpt",
    "request_rate": "inf",
    "max_concurrency": 8,
    "sharegpt_output_len": None,
    "random_input_len": 1024,
    "random_output_len": 1024,
    "random_range_ratio": 0.0,
    "duration": 25.0,
    "completed": 100,
    "total_input_tokens": 20000,
    "total_output_tokens": 15000,
    "total_output_tokens_retokenized": 14990,
    "request_throughput": 4.0,
    "input_throughput": 800.0,
    "output_throughput": 600.0,
    "mean_e2e_latency_ms": 1900.0,
    "mean_ttft_ms": 60.5,
    "median_ttft_ms": 55.25,
    "std_ttft_ms": 12.5,
    "p99_ttft_ms": 101.0,
    "mean_tpot_ms": 12.25,
    "median_tpot_ms": 12.0,
    "std_tpot_ms": 1.5,
    "p99_tpot_ms": 16.75,
    "mean_itl_ms": 12.125,
    "median_itl_ms": 11.5,
    "std_itl_ms": 2.0,
    "p95_itl_ms": 15.5,
    "p99_itl_ms": 18.0,
    "concurrency": 7.6,
    "accept_length": None,
}

INFO: dict[str, Any] = {
    "model_path": "/srv/models/Tern-8B",
    "served_model_name": "/srv/models/Tern-8B",
    "quantization": None,
    "dtype": "bfloat16",
    "context_length": 16384,
    "kv_cache_dtype": "fp8_e4m3",
    "device": "cuda",
    "tp_size": 2,
    "pp_size": 1,
    "dp_size": 1,
    "attention_backend": "fa3",
    "disable_radix_cache": True,
    "api_key": "sk-not-for-you",
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "acme/Tern-8B-eagle3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "speculative_accept_threshold_single": 1.0,
    "speculative_accept_threshold_acc": 1.0,
    "internal_states": [
        {
            "last_gen_throughput": 512.25,
            "avg_spec_accept_length": 2.45,
            "memory_usage": {"weight": 15.1, "kvcache": 40.2, "token_capacity": 410000},
        }
    ],
    "version": "0.5.12",
}


def _report(folder: Path, text: str | dict[str, Any], name: str = "r.jsonl") -> ImportedDocument:
    (report,) = imported(folder, text if isinstance(text, str) else json.dumps(text) + "\n", name)
    return report


def _tree(report: ImportedDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", report.tree)


def _run(report: ImportedDocument, number: int = 0) -> dict[str, Any]:
    return cast("dict[str, Any]", _tree(report)["runs"][number])


def _codes(report: ImportedDocument) -> set[str]:
    return {f.code for f in check_tree(report.tree)}


def _errors(report: ImportedDocument) -> list[str]:
    return [f.message for f in check_tree(report.tree) if f.severity is Severity.ERROR]


# --- bench_serving ---------------------------------------------------------------------------


def test_every_field_of_a_plain_result(tmp_path: Path) -> None:
    report = _report(tmp_path, SERVING)
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "sglang"},
        "configurations": {"server": {}},
        "workloads": {
            "sharegpt": {
                "prompts": {"set": "sharegpt"},
                "prompt_tokens": {"value": 200.0, "estimator": "mean"},
                "output_tokens": {"value": 150.0, "estimator": "mean"},
            }
        },
        "runs": [
            {
                "id": "concurrency 8",
                "configuration": "server",
                "workload": "sharegpt",
                "throughput": {
                    "seconds": 25.0,
                    "completed_requests": 100,
                    "requests_per_s": 4.0,
                    "tok_s": 600.0,
                    "tokens": 15000,
                },
                "prefill": {
                    "ttft_ms": {
                        "value": 60.5,
                        "stdev": 12.5,
                        "percentiles": {"p50": 55.25, "p99": 101.0},
                        "estimator": "mean",
                    }
                },
                "decode": {
                    "time_per_output_token_ms": {
                        "value": 12.25,
                        "stdev": 1.5,
                        "percentiles": {"p50": 12.0, "p99": 16.75},
                        "estimator": "mean",
                    },
                    "inter_token_latency_ms": {
                        "value": 12.125,
                        "stdev": 2.0,
                        "percentiles": {"p50": 11.5, "p95": 15.5, "p99": 18.0},
                        "estimator": "mean",
                    },
                },
                "conditions": {"concurrency": 8},
                "measurement": {"by": "client", "tool": "sglang.bench_serving"},
            }
        ],
    }
    assert _errors(report) == []


def test_the_accepted_length_is_the_servers(tmp_path: Path) -> None:
    report = _report(tmp_path, {**SERVING, "accept_length": 2.3456})
    run = _run(report)
    assert run["speculation"] == {
        "accepted_length": {"value": 2.3456, "estimator": "pooled", "counts_bonus_token": True}
    }
    assert run["measurement"]["counters"] == "server_cumulative"
    assert "BL415" in _codes(report)
    assert place(report, "/runs/0/speculation/accepted_length/value") == (1, "2.3456")


@pytest.mark.parametrize("none", [None, "n/a", 0, 0.0, float("nan")])
def test_an_accepted_length_that_is_none_is_absent(tmp_path: Path, none: object) -> None:
    report = _report(tmp_path, {**SERVING, "accept_length": none})
    assert "speculation" not in _run(report)
    assert "counters" not in _run(report)["measurement"]


def test_server_info_in_a_result(tmp_path: Path) -> None:
    report = _report(tmp_path, {**SERVING, "accept_length": 2.45, "server_info": INFO})
    assert value(report, "/engine") == {
        "name": "sglang",
        "version": "0.5.12",
        "backend": "cuda",
        "attention_backend": "fa3",
        "parallelism": {"tensor": 2, "pipeline": 1, "data": 1},
    }
    assert value(report, "/target") == {
        "name": "Tern-8B",
        "quantization": {"recipe": "BF16"},
    }
    assert value(report, "/configurations/server") == {
        "drafter": {"method": "eagle3", "model": "acme/Tern-8B-eagle3"},
        "draft_length": {"max": 3, "policy": "fixed"},
        "kv_cache": {
            "max_context_tokens": 16384,
            "target_type": "fp8_e4m3",
            "pool_tokens": 410000,
        },
    }
    assert _run(report)["conditions"] == {"concurrency": 8, "prompt_cache": False}
    assert "sk-not-for-you" not in json.dumps(report.tree)
    assert _errors(report) == []


def test_ranks_whose_first_has_no_length(tmp_path: Path) -> None:
    states = [{"last_gen_throughput": 1.0}, *({"avg_spec_accept_length": n} for n in (2.9, 3.67))]
    info = {**INFO, "dp_size": 3, "internal_states": states}
    report = _report(tmp_path, {**SERVING, "server_info": info})
    assert _run(report)["speculation"]["accepted_length"] == {
        "range": [2.9, 3.67],
        "counts_bonus_token": True,
    }
    assert "ranks" in report.imported.remarks[0]


def test_no_algorithm_in_server_info_is_a_baseline(tmp_path: Path) -> None:
    info = {**INFO, "speculative_algorithm": None, "internal_states": [{"memory_usage": {}}]}
    report = _report(tmp_path, {**SERVING, "server_info": info})
    assert value(report, "/configurations/server/drafter") is None
    assert "draft_length" not in _tree(report)["configurations"]["server"]


def test_results_of_two_servers_have_configurations_of_their_own(tmp_path: Path) -> None:
    plain = {**INFO, "speculative_algorithm": None, "speculative_num_draft_tokens": None}
    lines = [{**SERVING, "server_info": INFO}, {**SERVING, "server_info": plain}]
    report = _report(tmp_path, "\n".join(map(json.dumps, lines)))
    one, two = (_run(report, i)["configuration"] for i in (0, 1))
    assert one != two
    assert _tree(report)["configurations"][two]["drafter"] is None


def test_at_a_request_rate_the_limit_is_not_what_was_in_flight(tmp_path: Path) -> None:
    assert "conditions" not in _run(_report(tmp_path, {**SERVING, "request_rate": 5.0}))


def test_infinity_as_python_writes_it(tmp_path: Path) -> None:
    text = json.dumps({**SERVING, "request_rate": float("inf")})
    assert "Infinity" in text
    run = _run(_report(tmp_path, text))
    assert run["throughput"]["tok_s"] == 600.0


@pytest.mark.parametrize(
    ("left_out", "at"),
    [
        ("max_concurrency", "/runs/0/conditions"),
        ("duration", "/runs/0/throughput/seconds"),
        ("dataset_name", "/workloads/prompts/prompts"),
        ("total_input_tokens", "/workloads/sharegpt/prompt_tokens"),
        ("std_itl_ms", "/runs/0/decode/inter_token_latency_ms/stdev"),
    ],
)
def test_what_a_result_lacks_is_absent(tmp_path: Path, left_out: str, at: str) -> None:
    kept = {k: v for k, v in SERVING.items() if k != left_out}
    with pytest.raises(KeyError):
        value(_report(tmp_path, kept), at)


def test_nothing_is_said_of_what_the_result_cannot_know(tmp_path: Path) -> None:
    text = json.dumps(_report(tmp_path, SERVING).tree)
    for name in ("sampler", "drafter", "draft_length", "warm", "version", "failed", "target"):
        assert f'"{name}' not in text


def test_output_details_list_each_request(tmp_path: Path) -> None:
    detail = {
        "completed": 2,
        "total_input_tokens": 30,
        "total_output_tokens": 50,
        "request_throughput": 0.08,
        "output_throughput": 2.0,
        "std_ttft_ms": 5.0,
        "input_lens": [10, 20],
        "output_lens": [30, 20],
        "ttfts": [0.055, 0.066],
        "errors": ["", ""],
    }
    report = _report(tmp_path, {**SERVING, **detail})
    assert value(report, "/workloads/sharegpt/prompt_tokens/samples") == [10, 20]
    assert value(report, "/workloads/sharegpt/output_tokens/samples") == [30, 20]
    assert _run(report)["prefill"]["ttft_ms"]["samples"] == [55.0, 66.0]


CONSOLE = """\
benchmark_args=Namespace(backend='sglang', dataset_name='random-ids', num_prompts=50, \
max_concurrency=8, request_rate=inf, disable_ignore_eos=False, flush_cache=True, \
warmup_requests=1, temperature=0.0, top_p=1.0, tag='eagle')

============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max reqeuest concurrency:                8
Successful requests:                     50
Benchmark duration (s):                  10.00
Total input tokens:                      6000
Total input text tokens:                 6000
Total generated tokens:                  5000
Total generated tokens (retokenized):    4990
Request throughput (req/s):              5.00
Input token throughput (tok/s):          600.00
Output token throughput (tok/s):         500.00
Peak output token throughput (tok/s):    750.00
Peak concurrent requests:                10
Total token throughput (tok/s):          1100.00
Concurrency:                             7.90
Accept length:                           2.14
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   1580.00
---------------Time to First Token----------------
Mean TTFT (ms):                          80.00
P99 TTFT (ms):                           120.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          15.15
---------------Inter-Token Latency----------------
Mean ITL (ms):                           15.20
Max ITL (ms):                            99.00
==================================================
"""


def test_the_block_on_the_console(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSOLE, "bench.txt")
    run = _run(report)
    assert run["id"] == "eagle"
    assert run["throughput"] == {
        "seconds": 10.0,
        "completed_requests": 50,
        "requests_per_s": 5.0,
        "tok_s": 500.0,
        "peak_tok_s": 750.0,
        "tokens": 5000,
    }
    assert run["conditions"] == {"concurrency": 8, "warmup_requests": 1}
    assert run["speculation"]["accepted_length"]["value"] == 2.14
    assert run["measurement"] == {
        "by": "client",
        "tool": "sglang.bench_serving",
        "counters": "per_run",
        "prompt_kind": "synthetic",
    }
    assert value(report, "/configurations/server/sampler") == {"temperature": 0.0, "top_p": 1.0}
    assert value(report, "/workloads/random-ids/stop_rule") == "ignore_eos"
    assert place(report, "/runs/0/speculation/accepted_length/value") == (20, "2.14")
    assert {"BL415"} & _codes(report) == set()


def test_without_a_flush_the_console_says_no_more_than_the_file(tmp_path: Path) -> None:
    text = CONSOLE.replace("flush_cache=True", "flush_cache=False")
    assert "BL415" in _codes(_report(tmp_path, text, "bench.txt"))


def test_lines_of_the_scripts_for_tasks(tmp_path: Path) -> None:
    line = {
        "task": "mtbench",
        "backend": "srt",
        "num_gpus": 1,
        "latency": 200.5,
        "throughput": 512.25,
        "accept_length": 3.5,
        "num_requests": 80,
        "other": {"num_questions": 80, "parallel": 1},
    }
    report = _report(tmp_path, f"{json.dumps(line)}\n{json.dumps({**line, 'accept_length': 1.0})}")
    assert _run(report) == {
        "id": "mtbench",
        "configuration": "server",
        "workload": "mtbench",
        "throughput": {"seconds": 200.5, "tok_s": 512.25, "completed_requests": 80},
        "conditions": {"concurrency": 1},
        "speculation": {
            "accepted_length": {"value": 3.5, "counts_bonus_token": True, "estimator": "pooled"}
        },
        "measurement": {"counters": "per_run"},
    }
    assert "speculation" not in _run(report, 1)
    assert value(report, "/workloads/mtbench") == {
        "prompts": {"set": "mtbench"},
        "prompt_count": 80,
    }
    assert value(report, "/engine") == {"name": "sglang"}


# --- the log ---------------------------------------------------------------------------------

ARGUMENTS = (
    "[2026-03-02 10:00:00] server_args=ServerArgs(model_path='/srv/models/Tern-8B', dtype='auto', "
    "quantization='fp8', context_length=None, kv_cache_dtype='auto', device='cuda', tp_size=1, "
    "dp_size=1, attention_backend='flashinfer', api_key='sk-not-for-you', "
    "disable_radix_cache=False, speculative_algorithm='EAGLE3', "
    "speculative_draft_model_path='acme/Tern-8B-eagle3', speculative_num_steps=3, "
    "speculative_eagle_topk=1, speculative_num_draft_tokens=4, "
    "speculative_accept_threshold_single=1.0, speculative_accept_threshold_acc=1.0)\n"
)


def _decode(length: str, rate: str, speed: str, running: int = 1, who: str = "TP0") -> str:
    return (
        f"[2026-03-02 10:01:00 {who}] Decode batch, #running-req: {running}, #token: 108, token "
        f"usage: 0.00, accept len: {length}, accept rate: {rate}, cap len: 9.00, block accept len: "
        f"9.99, cuda graph: True, gen throughput (token/s): {speed}, #queue-req: 0, \n"
    )


def test_every_field_of_a_log_with_one_line(tmp_path: Path) -> None:
    report = _report(tmp_path, ARGUMENTS + _decode("2.20", "0.55", "181.25"), "server.log")
    assert report.tree == {
        "benchlint": "1",
        "engine": {
            "name": "sglang",
            "backend": "cuda",
            "attention_backend": "flashinfer",
            "parallelism": {"tensor": 1, "data": 1},
        },
        "target": {"name": "Tern-8B", "quantization": {"recipe": "fp8"}},
        "configurations": {
            "server": {
                "drafter": {"method": "eagle3", "model": "acme/Tern-8B-eagle3"},
                "draft_length": {"max": 3, "policy": "fixed"},
            }
        },
        "runs": [
            {
                "id": "server",
                "configuration": "server",
                "speculation": {
                    "accepted_length": {"value": 2.2, "counts_bonus_token": True},
                    "acceptance_rate": {"value": 0.55},
                },
                "throughput": {"tok_s": {"value": 181.25}},
                "conditions": {"concurrency": 1, "prompt_cache": True},
                "measurement": {"by": "engine_counter"},
            }
        ],
    }
    assert _errors(report) == []


def test_the_line_that_says_how_large_the_cache_is(tmp_path: Path) -> None:
    line = (
        "[2026-03-02 10:00:30 TP0] max_total_num_tokens=410000, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=48, context_len=40960\n"
    )
    report = _report(tmp_path, ARGUMENTS + line, "server.log")
    cache = {"pool_tokens": 410000, "max_context_tokens": 40960}
    assert value(report, "/configurations/server/kv_cache") == cache


def test_several_lines_are_a_mean_with_its_ends(tmp_path: Path) -> None:
    text = _decode("2.00", "0.50", "0.39", 2) + _decode("2.40", "0.60", "190.00", 3)
    report = _report(tmp_path, text, "server.log")
    run = _run(report)
    assert run["speculation"]["accepted_length"] == {
        "value": 2.2,
        "estimator": "mean",
        "range": [2.0, 2.4],
        "repeats": 2,
        "counts_bonus_token": True,
    }
    assert run["throughput"] == {"tok_s": {"range": [0.39, 190.0]}}
    assert "conditions" not in run
    assert place(report, "/runs/0/throughput/tok_s/range/1") == (2, "190.00")


def test_the_speed_of_one_rank_is_not_that_of_all(tmp_path: Path) -> None:
    text = "".join(_decode("2.00", "0.50", "90.00", who=f"DP{i} TP0") for i in (0, 1))
    run = _run(_report(tmp_path, text, "server.log"))
    assert "throughput" not in run
    assert "conditions" not in run


def test_older_logs_have_no_rate_and_plain_ones_no_length(tmp_path: Path) -> None:
    old = (
        "[2025-04-02 10:01:00 TP0] Decode batch. #running-req: 1, #token: 5, token usage: 0.00, "
        "accept len: 2.31, gen throughput (token/s): 99.50, #queue-req: 0\n"
    )
    run = _run(_report(tmp_path, old, "server.log"))
    assert set(run["speculation"]) == {"accepted_length"}
    plain = _run(_report(tmp_path, old.replace("accept len: 2.31, ", ""), "server.log"))
    assert "speculation" not in plain


def test_the_rate_of_old_versions_is_read_with_the_root(tmp_path: Path) -> None:
    """2.17 tokens a step over four draft tokens: accepted over drafted would be 0.39."""
    found = check_tree(_report(tmp_path, ARGUMENTS + _decode("2.17", "0.54", "1.0"), "s.log").tree)
    (inferred,) = [f for f in found if f.code == "BL216"]
    assert "0.39" in inferred.message


def test_a_tree_of_drafts(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("topk=1", "topk=4").replace("draft_tokens=4", "draft_tokens=16")
    report = _report(tmp_path, text, "server.log")
    assert value(report, "/configurations/server/draft_length") == {
        "max": 3,
        "tree": {"depth": 3, "width": 4, "draft_tokens": 15},
    }


def test_relaxed_thresholds_are_settings(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("threshold_acc=1.0", "threshold_acc=0.7") + _decode("2", "0.5", "1.0")
    report = _report(tmp_path, text, "server.log")
    assert value(report, "/configurations/server/acceptance_rule/settings") == {
        "speculative_accept_threshold_acc": 0.7
    }
    assert "BL414" in _codes(report)


def test_a_server_without_an_algorithm_is_a_baseline(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("speculative_algorithm='EAGLE3'", "speculative_algorithm=None")
    report = _report(tmp_path, text, "server.log")
    assert value(report, "/configurations/server") == {"drafter": None}


def test_a_second_start_is_a_report_of_its_own(tmp_path: Path) -> None:
    text = ARGUMENTS + _decode("2.00", "0.50", "9.00")
    assert len(imported(tmp_path, text * 2, "server.log")) == 2
    assert len(imported(tmp_path, ARGUMENTS + text, "server.log")) == 1


# --- /server_info and replies ----------------------------------------------------------------


def test_server_info_alone(tmp_path: Path) -> None:
    report = _report(tmp_path, json.dumps(INFO, indent=1), "info.json")
    assert value(report, "/engine/version") == "0.5.12"
    assert _run(report) == {
        "id": "server",
        "configuration": "server",
        "speculation": {
            "accepted_length": {"value": 2.45, "estimator": "pooled", "counts_bonus_token": True}
        },
        "measurement": {"counters": "server_cumulative", "by": "engine_counter"},
        "conditions": {"prompt_cache": False},
    }
    assert place(report, "/runs/0/speculation/accepted_length/value")[1] == "2.45"


def test_simulated_acceptance_in_the_environment(tmp_path: Path) -> None:
    info = json.loads(json.dumps(INFO))
    info["internal_states"][0]["env_vars"] = {"SGLANG_SIMULATE_ACC_LEN": "2.6", "HOME": "/root"}
    report = _report(tmp_path, json.dumps(info), "info.json")
    assert value(report, "/engine/environment") == {"SGLANG_SIMULATE_ACC_LEN": "2.6"}
    assert "BL413" in _codes(report)


META: dict[str, Any] = {
    "id": "0123abcd",
    "finish_reason": {"type": "length", "length": 301},
    "prompt_tokens": 64,
    "completion_tokens": 301,
    "cached_tokens": 10,
    "e2e_latency": 2.5,
    "decode_throughput": 130.5,
    "spec_accept_rate": 0.5,
    "spec_accept_length": 2.5083333333333333,
    "spec_verify_ct": 120,
    "spec_num_correct_drafts": 180,
    "spec_num_proposed_drafts": 360,
    "spec_correct_drafts_histogram": [30, 30, 30, 30],
}


def test_every_field_of_a_reply(tmp_path: Path) -> None:
    reply = {"text": "…", "meta_info": META}
    report = _report(tmp_path, json.dumps(reply, indent=1), "reply.json")
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "sglang"},
        "configurations": {"server": {"draft_length": {"max": 3}}},
        "runs": [
            {
                "id": "reply 1",
                "configuration": "server",
                "conditions": {"kv_position": {"filled_tokens": 64}, "prompt_cache": True},
                "decode": {"tokens": 301, "tok_s": 130.5},
                "throughput": {"seconds": 2.5},
                "speculation": {
                    "accepted_length": {
                        "value": 2.5083333333333333,
                        "counts_bonus_token": True,
                        "estimator": "pooled",
                    },
                    "acceptance_rate": {
                        "value": 0.5,
                        "of": "configured",
                        "estimator": "pooled",
                    },
                    "counts": {
                        "verify_steps": 120,
                        "accepted": 180,
                        "drafted": 360,
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
    assert _errors(report) == []


@pytest.mark.parametrize(
    ("accepted", "proposed"),
    [
        ("spec_accepted_drafts", "spec_proposed_drafts"),
        ("spec_accept_token_num", "spec_draft_token_num"),
    ],
)
def test_counters_under_their_older_names(tmp_path: Path, accepted: str, proposed: str) -> None:
    renamed = {k: v for k, v in META.items() if not k.startswith("spec_num")}
    text = json.dumps({"meta_info": {**renamed, accepted: 180, proposed: 360}})
    counts = _run(_report(tmp_path, text, "reply.json"))["speculation"]["counts"]
    assert (counts["accepted"], counts["drafted"]) == (180, 360)


def test_an_old_reply_knows_only_its_steps(tmp_path: Path) -> None:
    meta = {k: META[k] for k in ("prompt_tokens", "completion_tokens", "spec_verify_ct")}
    report = _report(tmp_path, json.dumps({"meta_info": meta}), "reply.json")
    assert _run(report)["speculation"] == {
        "counts": {"verify_steps": 120, "output_tokens": 301, "requests": 1}
    }
    assert value(report, "/configurations/server") == {}


def test_replies_in_lines_lists_and_streams(tmp_path: Path) -> None:
    reply = json.dumps({"text": "…", "meta_info": META})
    lines = _report(tmp_path, f"{reply}\n{reply}\n", "replies.jsonl")
    assert place(lines, "/runs/1/speculation/counts/verify_steps") == (2, "120")
    batch = _report(tmp_path, f"[{reply},{reply}]", "replies.json")
    assert len(_tree(batch)["runs"]) == 2
    route = {"choices": [{"message": {}, "meta_info": META}], "usage": {"completion_tokens": 301}}
    assert len(_tree(_report(tmp_path, json.dumps(route), "r.json"))["runs"]) == 1
    stream = _report(tmp_path, f"data: {reply}\n\ndata: [DONE]\n", "stream.txt")
    assert place(stream, "/runs/0/decode/tokens") == (1, "301")


# --- hostile ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["sglang-bench", "sglang-log", "sglang"])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps({name: [] for name in SERVING}),
        json.dumps({name: {"a": 1} for name in SERVING}),
        json.dumps({name: {"a": []} for name in INFO}),
        json.dumps(dict.fromkeys(META, -1)),
        json.dumps(dict.fromkeys(META, "9" * 400)),
        json.dumps({**INFO, "internal_states": [None, 1, [], {"memory_usage": 5}]}),
        json.dumps({**SERVING, "server_info": {"decode": [INFO, 5]}}),
        json.dumps({"meta_info": {**META, "spec_correct_drafts_histogram": [1, "x", None]}}),
        ARGUMENTS.replace("'", '"').replace("=4", "=" + "9" * 500),
        "server_args=ServerArgs(" + "model_path='" * 3000,
        _decode("9" * 900 + ".5", "nan", "inf"),
        _decode("1.0", "0.5", "0.0") * 50 + "Decode batch" * 500,
        CONSOLE.replace("2.14", "n/a").replace("8", "\x00"),
    ],
    ids=range(13),
)
def test_hostile_text_never_raises(tmp_path: Path, tool: str, text: str) -> None:
    findings(tmp_path, text, "x.txt", tool=tool)
