"""The log of vLLM: setup, V0's and V1's lines about drafts, results printed below it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.vllm_setup import method_of
from tests.importers.reading import findings, imported, place, value

START = """\
(APIServer pid=7) INFO 03-02 10:00:01 [utils.py:233]        █     █     █▄   ▄█
(APIServer pid=7) INFO 03-02 10:00:01 [utils.py:233]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.15.1
(APIServer pid=7) INFO 03-02 10:00:01 [utils.py:286] non-default args: {'model_tag': \
'acme/Tern-7B', 'api_key': ['sk-not-for-you'], 'max_model_len': 8192, 'speculative_config': \
{'method': 'eagle3', 'model': '/srv/heads/tern-eagle3', 'num_speculative_tokens': 3}}
(APIServer pid=7) INFO 03-02 10:00:02 [model.py:2152] Using max model len 8192
(APIServer pid=7) INFO 03-02 10:00:02 [model.py:2152] Using max model len 2048
(EngineCore pid=9) INFO 03-02 10:00:09 [core.py:133] Initializing a V1 LLM engine (v0.15.1) \
with config: model='/srv/models/Tern-7B', speculative_config=SpeculativeConfig(\
method='eagle3', model='/srv/heads/tern-eagle3', num_spec_tokens=3), \
tokenizer='/srv/models/Tern-7B', revision=None, dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, \
enforce_eager=False, kv_cache_dtype=fp8, device_config=cuda, seed=0, served_model_name=tern, \
enable_prefix_caching=True, compilation_config={'mode': 3}
(EngineCore pid=9) INFO 03-02 10:00:11 [cuda.py:350] Using FLASH_ATTN attention backend out of \
potential backends: ['FLASH_ATTN', 'FLASHINFER'].
(EngineCore pid=9) INFO 03-02 10:00:20 [gpu_worker.py:298] Available KV cache memory: 51.25 GiB
(EngineCore pid=9) INFO 03-02 10:00:21 [kv_cache_utils.py:2327] GPU KV cache size: 419,840 \
tokens
"""
FIRST = """\
(APIServer pid=7) INFO 03-02 10:05:10 [loggers.py:335] Engine 000: Avg prompt throughput: 40.0 \
tokens/s, Avg generation throughput: 96.5 tokens/s, Running: 2 reqs, Waiting: 0 reqs, \
GPU KV cache usage: 0.1%, Prefix cache hit rate: 0.0%
(APIServer pid=7) INFO 03-02 10:05:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance \
length: 2.25, Accepted throughput: 50.00 tokens/s, Drafted throughput: 120.00 tokens/s, \
Accepted: 500 tokens, Drafted: 1200 tokens, Per-position acceptance rate: 0.650, 0.400, 0.200, \
Avg Draft acceptance rate: 41.7%
"""
SECOND = (
    FIRST.replace("500 tokens", "450 tokens").replace("2.25", "2.50").replace("1200", "900")
    .replace("0.650, 0.400, 0.200", "0.750, 0.500, 0.250").replace("41.7", "50.0")
)  # fmt: skip


def _report(folder: Path, text: str) -> ImportedDocument:
    (report,) = imported(folder, text, "server.log")
    return report


def _tree(report: ImportedDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", report.tree)


def _speculation(report: ImportedDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", _tree(report)["runs"][0]["speculation"])


def _errors(report: ImportedDocument) -> list[str]:
    return [f.message for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_every_field_of_the_setup(tmp_path: Path) -> None:
    assert _report(tmp_path, START).tree == {
        "benchlint": "1",
        "engine": {
            "name": "vllm",
            "version": "0.15.1",
            "parallelism": {"tensor": 2, "pipeline": 1, "data": 1},
            "backend": "cuda",
            "attention_backend": "FLASH_ATTN",
        },
        "target": {"name": "tern", "quantization": {"recipe": "BF16"}},
        "configurations": {
            "server": {
                "drafter": {"method": "eagle3", "model": "tern-eagle3"},
                "draft_length": {"max": 3},
                "kv_cache": {
                    "max_context_tokens": 8192,
                    "target_type": "fp8",
                    "budget_gib_per_device": 51.25,
                    "pool_tokens": 419840,
                },
            }
        },
    }


def test_keys_in_the_arguments_stay_there(tmp_path: Path) -> None:
    assert "sk-not-for-you" not in json.dumps(_report(tmp_path, START + FIRST).tree)


def test_every_field_of_one_line_about_drafts(tmp_path: Path) -> None:
    report = _report(tmp_path, START + FIRST)
    assert _tree(report)["runs"] == [
        {
            "id": "server",
            "configuration": "server",
            "speculation": {
                "counts": {"verify_steps": 400, "drafted": 1200, "accepted": 500},
                "acceptance_rate": {"value": 0.417, "of": "drafted", "estimator": "pooled"},
                "accepted_length": {
                    "value": 2.25,
                    "counts_bonus_token": True,
                    "estimator": "pooled",
                },
                "per_position": {"values": [0.65, 0.4, 0.2], "kind": "cumulative"},
            },
            "conditions": {"prompt_cache": True},
            "measurement": {"by": "engine_counter"},
        }
    ]
    assert _errors(report) == []


def test_counters_of_several_lines_are_summed_and_rates_are_not(tmp_path: Path) -> None:
    report = _report(tmp_path, START + FIRST + SECOND)
    assert _speculation(report) == {
        "counts": {"verify_steps": 700, "drafted": 2100, "accepted": 950}
    }


def test_steps_are_not_worked_out_where_drafts_were_shorter(tmp_path: Path) -> None:
    report = _report(tmp_path, FIRST + SECOND.replace("2.50", "2.71"))
    assert _speculation(report) == {"counts": {"drafted": 2100, "accepted": 950}}


def test_no_speed_is_taken_from_windows_that_may_have_been_idle(tmp_path: Path) -> None:
    assert "96.5" not in json.dumps(_report(tmp_path, START + FIRST).tree)
    assert "throughput" not in json.dumps(_report(tmp_path, START + FIRST).tree)


def test_places_are_in_the_log(tmp_path: Path) -> None:
    report = _report(tmp_path, START + FIRST)
    assert place(report, "/runs/0/speculation/accepted_length/value") == (11, "2.25")
    assert place(report, "/runs/0/speculation/per_position/values/2") == (11, "0.200")
    assert place(report, "/engine/version") == (2, "0.15.1")
    assert place(report, "/configurations/server/kv_cache/pool_tokens") == (9, "419,840")


def test_a_server_without_speculation_is_a_baseline(tmp_path: Path) -> None:
    setup = START[START.index("SpeculativeConfig(") : START.index("), ") + 1]
    lines = START.replace(setup, "None").splitlines(True)
    text = "".join(line for line in lines if "non-default" not in line)
    report = _report(tmp_path, text)
    assert value(report, "/configurations/server/drafter") is None
    assert "draft_length" not in json.dumps(report.tree)


def test_a_log_without_its_start_does_not_say_whether_there_is_a_drafter(tmp_path: Path) -> None:
    report = _report(tmp_path, FIRST)
    assert value(report, "/configurations/server") == {"draft_length": {"max": 3}}
    assert value(report, "/engine") == {"name": "vllm"}
    assert "target" not in _tree(report)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("ngram", "ngram"),
        ("[ngram]", "ngram"),
        ("eagle", "eagle"),
        ("deepseek_mtp", "mtp"),
        ("qwen3_next_mtp", "mtp"),
        ("mtp", "mtp"),
        ("mlp_speculator", "other"),
        ("suffix", "suffix"),
        (None, None),
    ],
)
def test_methods_by_the_formats_names(name: str | None, method: str | None) -> None:
    assert method_of(name) == method


def test_synthetic_acceptance_is_found(tmp_path: Path) -> None:
    text = START.replace(
        "'num_speculative_tokens': 3",
        "'num_speculative_tokens': 3, 'rejection_sample_method': 'synthetic', "
        "'synthetic_acceptance_length': 2.6",
    )
    report = _report(tmp_path, text + FIRST)
    settings = value(report, "/configurations/server/acceptance_rule/settings")
    assert settings == {
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_length": 2.6,
    }
    assert "BL413" in {f.code for f in check_tree(report.tree)}


def test_a_second_start_in_one_log_is_a_report_of_its_own(tmp_path: Path) -> None:
    text = START + FIRST + START.replace("num_spec_tokens=3", "num_spec_tokens=5") + SECOND
    one, two = imported(tmp_path, text, "server.log")
    assert _speculation(one)["accepted_length"]["value"] == 2.25
    assert _speculation(two)["accepted_length"]["value"] == 2.5


def test_the_engines_of_one_server_are_one_start(tmp_path: Path) -> None:
    assert len(imported(tmp_path, START + START + FIRST, "server.log")) == 1


# --- older engines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "Speculative metrics: Draft acceptance rate: 0.750, Number of accepted tokens: 90, "
        "Number of draft tokens: 120, ",
        "INFO 04-20 11:00:00 [metrics.py:55] SpecDecoding metrics: Draft acceptance rate: 75.0%, "
        "Accepted: 90 tokens, Drafted: 120 tokens",
    ],
)
def test_v1_of_april_2025(tmp_path: Path, line: str) -> None:
    assert _speculation(_report(tmp_path, line + "\n")) == {
        "counts": {"drafted": 120, "accepted": 90},
        "acceptance_rate": {"value": 0.75, "of": "drafted", "estimator": "pooled"},
    }


def test_v1_of_mid_2025_names_its_length_behind_the_rate(tmp_path: Path) -> None:
    line = (
        "SpecDecoding metrics: Draft acceptance rate: 50.0%, Mean acceptance length: 2.00, "
        "Accepted: 60 tokens, Drafted: 120 tokens, Per-position acceptance rate: 0.600, 0.400\n"
    )
    found = _speculation(_report(tmp_path, line))
    assert found["accepted_length"]["value"] == 2.0
    assert found["per_position"]["values"] == [0.6, 0.4]
    assert found["counts"]["verify_steps"] == 60


V0 = (
    "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.625, "
    "System efficiency: 0.562, Number of speculative tokens: 3, Number of accepted tokens: 375, "
    "Number of draft tokens: 600, Number of emitted tokens: 450.\n"
)


def test_v0_whose_accepted_tokens_go_on_past_a_rejection(tmp_path: Path) -> None:
    before = V0.replace("375", "36").replace("600", "60").replace("450.", "45.")
    report = _report(tmp_path, before + V0)
    assert _tree(report)["runs"] == [
        {
            "id": "server",
            "configuration": "server",
            "speculation": {
                "counts": {"verify_steps": 200, "drafted": 600, "output_tokens": 450},
                "acceptance_rate": 0.625,
                "accepted_length": {"value": 2.25, "counts_bonus_token": True},
            },
            "measurement": {"counters": "server_cumulative", "by": "engine_counter"},
        }
    ]
    assert value(report, "/configurations/server") == {"draft_length": {"max": 3}}
    assert _errors(report) == []
    assert "BL415" in {f.code for f in check_tree(report.tree)}


def test_v0_names_its_draft_model(tmp_path: Path) -> None:
    start = (
        "INFO 10-16 19:00:01 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: "
        "model='acme/Tern-70B', speculative_config=SpeculativeConfig("
        "draft_model='acme/Tern-1B', num_spec_tokens=3), dtype=torch.float16, max_seq_len=4096\n"
    )
    report = _report(tmp_path, start + V0)
    assert value(report, "/engine/version") == "0.6.3"
    assert value(report, "/configurations/server/drafter") == {
        "method": "draft_model",
        "model": "acme/Tern-1B",
    }
    assert value(report, "/target/quantization/recipe") == "F16"


# --- results below a log ---------------------------------------------------------------------


def test_what_bench_throughput_prints(tmp_path: Path) -> None:
    text = START + (
        "Throughput: 8.25 requests/s, 1650.00 total tokens/s, 1056.00 output tokens/s\n"
        "Total num prompt tokens:  7200\nTotal num output tokens:  12800\n"
    )
    assert _tree(_report(tmp_path, text))["runs"][0]["throughput"] == {
        "requests_per_s": 8.25,
        "tok_s": 1056.0,
        "tokens": 12800,
    }


def test_what_the_offline_example_prints(tmp_path: Path) -> None:
    text = (
        "-" * 50 + "\ntotal_num_output_tokens: 4000\nnum_drafts: 1600\nnum_draft_tokens: 4800\n"
        "num_accepted_tokens: 2440\nmean acceptance length: 2.52\n" + "-" * 50 + "\n"
        "acceptance at token 0: 0.80\nacceptance at token 1: 0.48\nacceptance at token 2: 0.25\n"
    )
    report = _report(tmp_path, text)
    assert _speculation(report) == {
        "counts": {
            "output_tokens": 4000,
            "verify_steps": 1600,
            "drafted": 4800,
            "accepted": 2440,
        },
        "accepted_length": {"value": 2.52, "counts_bonus_token": True, "estimator": "pooled"},
        "per_position": {"values": [0.8, 0.48, 0.25], "kind": "cumulative"},
    }
    assert _errors(report) == []


# --- any size, and hostile text --------------------------------------------------------------


def test_a_log_over_the_size_limit_is_read(tmp_path: Path) -> None:
    idle = '(APIServer pid=7) INFO: 10.0.0.1:5001 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    report = _report(tmp_path, START + idle * 20_000 + FIRST)
    assert place(report, "/runs/0/speculation/counts/drafted") == (20_011, "1200")


@pytest.mark.parametrize(
    "text",
    [
        FIRST.replace("1200", "9" * 5000),
        FIRST.replace("0.650, 0.400, 0.200", ", ".join(["0.5"] * 9000)),
        FIRST.replace("41.7", "nan").replace("2.25", "nan"),
        FIRST.replace("2.25", "1" + "0" * 400),
        V0.replace("tokens: 3,", "tokens: 0,"),
        V0.replace("0.562", "9" * 90),
        START.replace("num_spec_tokens=3", "num_spec_tokens=" + "9" * 90) + FIRST,
        START.replace("SpeculativeConfig(", "SpeculativeConfig(" * 3000) + FIRST,
        START.replace("'", '"') + FIRST,
        "non-default args: {'speculative_config': {" + "'method': '" * 2000,
        "acceptance at token 0: 0.5\n" * 50 + "num_draft_tokens: 5\n",
        "Throughput: 1e999 requests/s, 1 tokens/s\nThroughput: .. requests/s, . tokens/s\n",
        START + FIRST.replace("\n", "\r\n") + "\x00\x1b[31m\u202e",
    ],
    ids=range(13),
)
def test_hostile_logs_never_raise(tmp_path: Path, text: str) -> None:
    for found in findings(tmp_path, text, "server.log", tool="vllm-log"):
        assert found.code in ("BL014", "BL004", "BL005")
