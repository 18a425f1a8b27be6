"""Fields that few outputs have, one by one: what the tests of each tool leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers import (
    test_aiperf,
    test_dflash_mlx,
    test_genai_perf,
    test_guidellm,
    test_llama_cli,
    test_llama_perplexity,
    test_llama_server_replies,
    test_llama_speculative,
    test_llmperf,
    test_mlx_lm,
    test_sglang,
)
from tests.importers.llama_server_logs import SAMPLER, START
from tests.importers.reading import imported, value

SAMPLED = {
    "top_p": 0.9,
    "top_k": 20,
    "min_p": 0.05,
    "repetition_penalty": 1.1,
    "presence_penalty": 0.2,
    "frequency_penalty": 0.3,
}


def _tree(folder: Path, text: str | dict[str, Any], name: str, tool: str) -> dict[str, Any]:
    whole = text if isinstance(text, str) else json.dumps(text)
    report = next(r for r in imported(folder, whole, name) if r.importer.name == tool)
    tree: dict[str, Any] = report.tree
    return tree


def _setup(tree: dict[str, Any]) -> dict[str, Any]:
    """The one configuration, with what is said once for all."""
    (setup,) = tree["configurations"].values()
    blocks = ("engine", "machine", "target")
    return setup | {n: tree.get(n, {}) | setup.get(n, {}) for n in blocks}


#: What START says, which any of llama.cpp's programs prints at `-lv 4`.
LOADED: dict[str, Any] = {
    "engine": {
        "name": "llama.cpp",
        "version": "b9107",
        "commit": "7c3e1ab",
        "backend": "CUDA",
        "threads": {"decode": 6, "batch": 12},
        "batch": {"logical": 1024, "physical": 256},
        "offload": {"gpu_layers": 37},
        "attention_backend": "flash_attn",
    },
    "machine": {"devices": [{"name": "NVIDIA L40S", "count": 1}], "cpu": "AMD EPYC 9354"},
    "target": {
        "name": "Aurora-9B-Q5_K_M.gguf",
        "parameters_b": 9.17,
        "layers": 36,
        "architecture": "dense",
        "quantization": {
            "recipe": "Q5_K_M",
            "file_size_gib": 6.07,
            "bits_per_weight": 5.69,
        },
    },
    "kv_cache": {"target_type": "q8_0/q4_0", "drafter_type": "f16", "max_context_tokens": 8192},
    "drafter": {"model": "Aurora-0.4B.gguf", "method": "draft_model"},
    "draft_length": {"max": 3, "p_min": 0.25},
}


def test_llama_speculative_with_all_that_was_logged_before(tmp_path: Path) -> None:
    before = START.replace("llama_server: model loaded", "main: loaded") + SAMPLER.format(temp=0.6)
    text = before + test_llama_speculative.SUMMARY
    setup = _setup(_tree(tmp_path, text, "output.txt", "llama-speculative"))
    for name, expected in LOADED.items():
        assert setup[name] == expected, name
    assert setup["sampler"]["temperature"] == 0.6
    assert setup["sampler"]["top_k"] == 20
    assert setup["sampler"]["repetition_penalty"] == 1.05


def test_llama_cli_with_all_that_was_logged_before(tmp_path: Path) -> None:
    before = "".join(f"{line}\n" for line in START.splitlines() if " srv " not in line)
    setup = _setup(_tree(tmp_path, before + test_llama_cli.times(), "output.txt", "llama-cli"))
    for name in ("kv_cache", "drafter", "draft_length", "machine"):
        assert setup[name] == LOADED[name], name
    assert setup["target"] == {k: v for k, v in LOADED["target"].items() if k != "name"}
    assert setup["engine"] == LOADED["engine"]


def test_llama_perplexity_says_of_the_model_what_it_loads(tmp_path: Path) -> None:
    model = test_llama_perplexity.MODEL + (
        "0.00.100.020 I print_info: n_layer               = 36\n"
        "0.00.100.030 I print_info: n_expert              = 64\n"
        "0.00.100.040 I print_info: model params          = 30.53 B\n"
    )
    text = model + test_llama_perplexity.PERPLEXITY
    target = _setup(_tree(tmp_path, text, "perplexity.log", "llama-perplexity"))["target"]
    assert (target["layers"], target["parameters_b"]) == (36, 30.53)
    assert target["architecture"] == "moe"


def test_llama_server_replies_with_a_seed(tmp_path: Path) -> None:
    native = test_llama_server_replies.NATIVE
    settings = {**native["generation_settings"], "seed": 1234}
    tree = _tree(tmp_path, {**native, "generation_settings": settings}, "r.json", "llama-server")
    assert _setup(tree)["sampler"]["seed"] == 1234


#: What a build says that is told to accept drafts by chance.
SYNTHETIC = (
    "0.00.410.030 W spec common_specu: synthetic speculative acceptance is enabled for "
    "benchmarking; generated output is not valid\n"
)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("llama-speculative", test_llama_speculative.SUMMARY),
        ("llama-cli", test_llama_cli.times()),
    ],
)
def test_acceptance_by_chance(tool: str, text: str, tmp_path: Path) -> None:
    before = "".join(f"{line}\n" for line in START.splitlines() if " srv " not in line)
    setup = _setup(_tree(tmp_path, before + SYNTHETIC + text, "output.txt", tool))
    assert setup["acceptance_rule"] == {"kind": "synthetic"}


def test_vllm_bench_latency_with_a_deviation(tmp_path: Path) -> None:
    result = {"avg_latency": 2.5, "std_latency": 0.125, "latencies": [2.375, 2.625]}
    text = {**result, "percentiles": {"50": 2.5}}
    (run,) = _tree(tmp_path, text, "latency.json", "vllm-bench")["runs"]
    assert run["throughput"]["seconds"]["value"] == 2.5
    assert run["throughput"]["seconds"]["stdev"] == 0.125


def test_spec_bench_names_the_temperature(tmp_path: Path) -> None:
    line = {
        "question_id": 81,
        "category": "writing",
        "model_id": "acme-7b-pld-float16-temperature-0.5",
        "choices": [
            {
                "index": 0,
                "turns": ["x"],
                "decoding_steps": [40],
                "new_tokens": [90],
                "wall_time": [1.5],
                "accept_lengths": [2, 3],
            }
        ],
    }
    tree = _tree(tmp_path, json.dumps(line) + "\n", "answers.jsonl", "spec-bench")
    assert _setup(tree)["sampler"]["temperature"] == 0.5


def test_vllm_bench_prints_what_it_was_told_to_sample_with(tmp_path: Path) -> None:
    told = ", ".join(f"{name}={number}" for name, number in SAMPLED.items())
    text = (
        f"Namespace(backend='vllm', model='acme/Tern-7B', num_prompts=5, {told})\n"
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     5\n"
        "Benchmark duration (s):                  4.00\n"
        "Output token throughput (tok/s):         400.00\n"
        "==================================================\n"
    )
    assert _setup(_tree(tmp_path, text, "output.txt", "vllm-bench"))["sampler"] == SAMPLED


def test_guidellm_keeps_what_was_sent(tmp_path: Path) -> None:
    sent = json.dumps({"body": {**SAMPLED, "seed": 7, "temperature": 0.5}})
    metrics = {**test_guidellm.NEW["metrics"], "request_goodput": {"successful": {"mean": 1.5}}}
    benchmark = {
        **test_guidellm.NEW,
        "metrics": metrics,
        "requests": {"successful": [{"request_args": sent}, {"request_args": sent}]},
    }
    tree = _tree(tmp_path, {"benchmarks": [benchmark]}, "benchmarks.json", "guidellm")
    sampler = _setup(tree)["sampler"]
    assert sampler == {**SAMPLED, "seed": 7, "temperature": 0.5}
    assert tree["runs"][0]["throughput"]["goodput_requests_per_s"] == 1.5


def test_aiperf_says_what_was_sent(tmp_path: Path) -> None:
    run = test_aiperf.RUN
    endpoint = {**run["input_config"]["endpoint"], "extra": {**SAMPLED, "seed": 7}}
    changed = {**run, "input_config": {**run["input_config"], "endpoint": endpoint}}
    sampler = _setup(_tree(tmp_path, changed, "profile.json", "aiperf"))["sampler"]
    assert {name: sampler[name] for name in (*SAMPLED, "seed")} == {**SAMPLED, "seed": 7}


def test_genai_perf_with_a_goal(tmp_path: Path) -> None:
    goal = {"request_goodput": {"unit": "requests/sec", "avg": 2.25}}
    tree = _tree(tmp_path, {**test_genai_perf.RUN, **goal}, "r.json", "genai-perf")
    assert tree["runs"][0]["throughput"]["goodput_requests_per_s"] == 2.25


def test_llmperf_sends_more_parameters(tmp_path: Path) -> None:
    more = {"additional_sampling_params_top_p": 0.9, "additional_sampling_params_top_k": 20}
    tree = _tree(tmp_path, {**test_llmperf.RUN, **more}, "s.json", "llmperf")
    assert _setup(tree)["sampler"] == {"temperature": 0.25, "top_p": 0.9, "top_k": 20}


def test_mlx_lm_was_told_more(tmp_path: Path) -> None:
    text = test_mlx_lm.GENERATE.replace("--temp 0.7", "--temp 0.7 --top-p 0.9 --min-p 0.05")
    tree = _tree(tmp_path, text, "out.txt", "mlx-lm")
    assert _setup(tree)["sampler"] == {"temperature": 0.7, "top_p": 0.9, "min_p": 0.05}


def test_dflash_mlx_knows_its_commit(tmp_path: Path) -> None:
    config = {**test_dflash_mlx.RESULT["config"], "git_hash": "a1b2c3d"}
    tree = _tree(tmp_path, {**test_dflash_mlx.RESULT, "config": config}, "r.json", "dflash-mlx")
    assert tree["configurations"]["dflash"]["engine"]["commit"] == "a1b2c3d"


#: A tree, on several devices, that accepts more than the target would.
WIDE: dict[str, Any] = {
    **test_sglang.INFO,
    "revision": "main",
    "ep_size": 4,
    "launch_command": "python -m sglang.launch_server --model-path acme/Tern-8B",
    "speculative_draft_model_revision": "v2",
    "speculative_num_steps": 5,
    "speculative_eagle_topk": 8,
    "speculative_num_draft_tokens": 32,
    "speculative_accept_threshold_single": 0.9,
}


def _of_info(folder: Path) -> dict[str, Any]:
    return _setup(_tree(folder, WIDE, "info.json", "sglang"))


def _of_result(folder: Path) -> dict[str, Any]:
    result = {**test_sglang.SERVING, "server_info": WIDE}
    return _setup(_tree(folder, json.dumps(result) + "\n", "r.jsonl", "sglang-bench"))


@pytest.mark.parametrize("read", [_of_info, _of_result], ids=["server_info", "bench_serving"])
def test_sglang_says_how_it_was_started(read: Any, tmp_path: Path) -> None:
    setup = read(tmp_path)
    assert setup["engine"]["parallelism"]["expert"] == 4
    assert setup["engine"]["command_line"] == WIDE["launch_command"]
    assert setup["target"]["revision"] == "main"
    assert setup["drafter"]["revision"] == "v2"
    assert setup["draft_length"] == {
        "max": 5,
        "tree": {"depth": 5, "width": 8, "draft_tokens": 31},
    }
    rule = setup["acceptance_rule"]
    assert rule["settings"] == {"speculative_accept_threshold_single": 0.9}


def test_sglang_bench_with_a_goal_and_what_was_sent(tmp_path: Path) -> None:
    line = json.dumps({**test_sglang.SERVING, "request_goodput": 3.25}) + "\n"
    tree = _tree(tmp_path, line, "r.jsonl", "sglang-bench")
    assert tree["runs"][0]["throughput"]["goodput_requests_per_s"] == 3.25


def test_sglang_bench_prints_what_it_sent(tmp_path: Path) -> None:
    told = ", ".join(f"{name}={number}" for name, number in SAMPLED.items())
    text = (
        f"benchmark_args=Namespace(backend='sglang', model='acme/Tern-8B', num_prompts=5, {told})\n"
        "============ Serving Benchmark Result ============\n"
        "Backend:                                 sglang\n"
        "Successful requests:                     5\n"
        "Benchmark duration (s):                  4.00\n"
        "Total generated tokens (retokenized):    1600\n"
        "Output token throughput (tok/s):         400.00\n"
        "==================================================\n"
    )
    assert _setup(_tree(tmp_path, text, "output.txt", "sglang-bench"))["sampler"] == SAMPLED


def test_sglang_log_says_how_it_was_started(tmp_path: Path) -> None:
    text = (
        "[2026-05-22 10:27:50] server_args=ServerArgs(model_path='acme/Tern-8B', revision='main', "
        "tp_size=1, pp_size=2, ep_size=4, kv_cache_dtype='fp8_e4m3', "
        "speculative_algorithm='EAGLE3', speculative_draft_model_path='acme/head', "
        "speculative_draft_model_revision='v2', speculative_num_steps=3, "
        "speculative_eagle_topk=1, speculative_num_draft_tokens=4)\n"
        "[2026-05-22 10:27:57 TP0] Decode batch, #running-req: 1, #token: 108, token usage: 0.00, "
        "accept len: 2.25, accept rate: 0.42, cuda graph: True, gen throughput (token/s): 170.25, "
        "#queue-req: 0\n"
    )
    setup = _setup(_tree(tmp_path, text, "server.log", "sglang-log"))
    assert setup["engine"]["parallelism"] == {"tensor": 1, "pipeline": 2, "expert": 4}
    assert setup["target"]["revision"] == "main"
    assert setup["drafter"]["revision"] == "v2"
    assert setup["kv_cache"]["target_type"] == "fp8_e4m3"


def test_a_table_with_what_few_tables_have(tmp_path: Path) -> None:
    text = (
        "| draft model | temp | tok/s | step time (ms) | req/s |\n|---|---|---|---|---|\n"
        "| acme-0.5B | 0.6 | 80.5 | 31.25 | 2.75 |\n"
    )
    report = next(iter(imported(tmp_path, text, "page.md")))
    setup = _setup(report.tree)
    assert setup["drafter"] == {"model": "acme-0.5B"}
    assert setup["sampler"] == {"temperature": 0.6}
    assert value(report, "/runs/0/step_time_ms") == 31.25
    assert value(report, "/runs/0/throughput/requests_per_s") == 2.75
