"""llama-bench: every form and year, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.llama_bench import recipe
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place, value

TEST: dict[str, Any] = {
    "build_commit": "a1b2c3d",
    "build_number": 7123,
    "cpu_info": "AMD Ryzen 9 7950X",
    "gpu_info": "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090",
    "backends": "CUDA",
    "model_filename": "/srv/models/Qwen3-8B-Q4_K_M.gguf",
    "model_type": "qwen3 8B Q4_K - Medium",
    "model_size": 5022000000,
    "model_n_params": 8190735360,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_threads": 8,
    "type_k": "f16",
    "type_v": "f16",
    "n_gpu_layers": 99,
    "split_mode": "layer",
    "flash_attn": 1,
    "n_prompt": 0,
    "n_gen": 256,
    "n_depth": 4096,
    "test_time": "2026-03-01T10:00:00Z",
    "avg_ns": 2000000000,
    "stddev_ns": 9000000,
    "avg_ts": 128.000500,
    "stddev_ts": 0.576000,
    "samples_ns": [1991000000, 2000000000, 2009000000],
    "samples_ts": [128.579, 128, 127.427],
}


MODEL = "Qwen3-8B-Q4_K_M.gguf"


def _as_json(*tests: dict[str, Any]) -> str:
    return json.dumps([{**TEST, **each} for each in tests or ({},)], indent=2)


def test_every_field_of_a_generation_test(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json(), "bench.json")
    assert report.tree == {
        "benchlint": "1",
        "date": "2026-03-01T10:00:00Z",
        "engine": {
            "name": "llama.cpp",
            "version": "b7123",
            "commit": "a1b2c3d",
            "backend": "CUDA",
            "batch": {"logical": 2048, "physical": 512},
            "threads": 8,
            "offload": {"gpu_layers": 99},
            "attention_backend": "flash_attn",
            "parallelism": {"pipeline": 2},
        },
        "machine": {
            "cpu": "AMD Ryzen 9 7950X",
            "devices": [{"name": "NVIDIA GeForce RTX 4090", "count": 2}],
        },
        "target": {
            "name": "Qwen3-8B-Q4_K_M.gguf",
            "parameters_b": 8.19073536,
            "quantization": {"recipe": "Q4_K_M", "file_size_gb": 5.022},
        },
        "configurations": {
            "Qwen3-8B-Q4_K_M.gguf": {"drafter": None, "kv_cache": {"target_type": "f16"}}
        },
        "runs": [
            {
                "id": "tg256 @ d4096",
                "configuration": "Qwen3-8B-Q4_K_M.gguf",
                "conditions": {
                    "concurrency": 1,
                    "repeats": 3,
                    "kv_position": {"filled_tokens": 4096},
                },
                "decode": {
                    "tokens": 256,
                    "seconds": 2.0,
                    "tok_s": {
                        "value": 128.0005,
                        "stdev": 0.576,
                        "samples": [128.579, 128.0, 127.427],
                        "estimator": "mean",
                    },
                },
                "measurement": {
                    "by": "micro_benchmark",
                    "prompt_kind": "synthetic",
                    "tool": "llama-bench",
                    "window": "decode_only",
                },
            }
        ],
    }


def test_a_prompt_test_is_prefill_and_nothing_else(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json({"n_prompt": 512, "n_gen": 0}), "bench.json")
    run = value(report, "/runs/0")
    assert isinstance(run, dict)
    assert run["prefill"]["tokens"] == 512
    assert run["prefill"]["tok_s"]["value"] == 128.0005
    assert "decode" not in run
    assert "window" not in run["measurement"]


def test_the_speed_of_prompt_and_generation_together_is_not_taken(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json({"n_prompt": 512}), "bench.json")
    run = value(report, "/runs/0")
    assert isinstance(run, dict)
    assert run["id"] == "pp512+tg256 @ d4096"
    assert run["prefill"] == {"tokens": 512}
    assert run["decode"] == {"tokens": 256}
    assert run["throughput"] == {"seconds": 2.0}


def test_places_are_in_the_original(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json({}, {"avg_ts": 99.5}), "bench.json")
    lines = (tmp_path / "bench.json").read_text().splitlines()
    line, marked = place(report, "/runs/1/decode/tok_s/value")
    assert marked == "99.5"
    assert lines[line - 1].strip() == '"avg_ts": 99.5,'
    line, marked = place(report, "/target/parameters_b")
    assert marked == "8190735360"


def test_what_is_missing_stands_at_the_run(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json(), "bench.json")
    assert place(report, "/runs/0/memory/device_used_mib")[0] > 1


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"build_number": 1}, "engine/version"),
        ({"build_commit": "unknown"}, "engine/commit"),
        ({"n_gpu_layers": -1}, "engine/offload"),
        ({"flash_attn": -1}, "engine/attention_backend"),
        ({"gpu_info": ""}, "machine/devices"),
        ({"gpu_info": "NVIDIA H100"}, "engine/parallelism"),
        ({"split_mode": "none"}, "engine/parallelism"),
    ],
)
def test_what_says_nothing_is_absent(tmp_path: Path, change: dict[str, Any], gone: str) -> None:
    (report,) = imported(tmp_path, _as_json(change), "bench.json")
    with pytest.raises(KeyError):
        value(report, f"/{gone}")


def test_one_type_of_the_cache_says_nothing_of_the_other(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json({"type_v": None}), "bench.json")
    assert value(report, "/configurations/Qwen3-8B-Q4_K_M.gguf") == {"drafter": None}


def test_what_differs_stays_with_the_configurations(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json({}, {"n_threads": 4}), "bench.json")
    setups = report.tree["configurations"].values()
    assert [each["engine"] for each in setups] == [{"threads": 8}, {"threads": 4}]
    assert value(report, "/engine/version") == "b7123"
    assert place(report, "/engine/version")[1] == "7123"
    assert place(report, f"/configurations/{MODEL}, n_threads=4/engine/threads")[1] == "4"


def test_one_repetition_has_no_deviation(tmp_path: Path) -> None:
    once = {"stddev_ts": 0.0, "samples_ts": [128.0], "samples_ns": [2000000000]}
    (report,) = imported(tmp_path, _as_json(once), "bench.json")
    assert value(report, "/runs/0/decode/tok_s") == {"value": 128.0005, "estimator": "mean"}
    assert value(report, "/runs/0/conditions/repeats") == 1


def test_two_setups_are_two_configurations(tmp_path: Path) -> None:
    tests = ({}, {"n_threads": 4}, {"n_prompt": 64, "n_gen": 0}, {"build_number": 7200})
    (report,) = imported(tmp_path, _as_json(*tests), "bench.json")
    model = "Qwen3-8B-Q4_K_M.gguf"
    assert [run["configuration"] for run in report.tree["runs"]] == [
        model,
        f"{model}, n_threads=4",
        model,
        f"{model}, build_number=7200",
    ]
    ids = [run["id"] for run in report.tree["runs"]]
    assert len(set(ids)) == len(ids)


def test_json_lines_with_a_log_in_front(tmp_path: Path) -> None:
    line = json.dumps({**TEST, "avg_ts": 127.25})
    (report,) = imported(tmp_path, f"{line}\n{json.dumps(TEST)}\n", "bench.jsonl")
    assert [r["decode"]["tok_s"]["value"] for r in report.tree["runs"]] == [127.25, 128.0005]
    assert place(report, "/runs/1/decode/tokens") == (2, "256")


def _csv(columns: list[str], *rows: list[str]) -> str:
    return "\n".join([",".join(columns), *(",".join(f'"{c}"' for c in row) for row in rows)]) + "\n"


def test_csv_has_the_same_fields_but_the_samples(tmp_path: Path) -> None:
    columns = [name for name in TEST if not name.startswith("samples")]
    text = _csv(columns, [str(TEST[name]) for name in columns])
    (report,) = imported(tmp_path, text, "bench.csv")
    (from_json,) = imported(tmp_path, _as_json(), "bench.json")
    del from_json.tree["runs"][0]["decode"]["tok_s"]["samples"]
    del from_json.tree["runs"][0]["conditions"]["repeats"]
    assert report.tree == from_json.tree
    assert place(report, "/runs/0/decode/tokens") == (2, "256")


#: As builds of 2023 print it: the head lacks the column of one backend.
MISALIGNED = (
    "build_commit,build_number,cuda,metal,gpu_blas,blas,cpu_info,gpu_info,model_filename,"
    "model_type,model_size,model_n_params,n_batch,n_threads,f16_kv,n_gpu_layers,main_gpu,"
    "mul_mat_q,tensor_split,n_prompt,n_gen,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
    '"a1b2c3d","1300","1","0","0","0","1","AMD Ryzen 9","NVIDIA GeForce RTX 3090","m.gguf",'
    '"llama 7B mostly Q4_0","3825065984","6738415616","512","16","1","35","0","1","0.00",'
    '"0","128","2023-10-01T00:00:00Z","1280000000","2000000","100.000000","0.200000"\n'
)


def test_a_csv_head_that_does_not_fit_its_rows_gives_what_is_certain(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, MISALIGNED, "bench.csv")
    assert report.tree["engine"] == {
        "name": "llama.cpp",
        "version": "b1300",
        "commit": "a1b2c3d",
        "threads": 16,
        "batch": {"logical": 512},
        "offload": {"gpu_layers": 35},
    }
    assert value(report, "/machine/devices") == [{"name": "NVIDIA GeForce RTX 3090", "count": 1}]
    assert value(report, "/target/quantization") == {"recipe": "Q4_0", "file_size_gb": 3.825065984}
    assert report.tree["runs"][0]["decode"]["tok_s"]["value"] == 100


def test_rows_that_do_not_fit_their_head_are_named(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, MISALIGNED, "bench.csv")
    (remark,) = report.imported.remarks
    assert remark.startswith("line 2: 27 cells under 26 names: which is which is not certain of")
    assert "metal" in remark


#: As a build of 2025 printed it: the head names a column that the rows lack.
ONE_TOO_MANY = (
    "build_commit,build_number,cpu_info,gpu_info,model_type,n_threads,flash_attn,repack,n_prompt,"
    "n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
    '"a1b2c3d","5200","AMD Ryzen 9","NVIDIA A10","llama 7B Q4_0","8","0",'
    '"256","0","0","2025-05-01T00:00:00Z","64000000","1000","4000.0","2.5"\n'
    '"a1b2c3d","5200","AMD Ryzen 9","NVIDIA A10","llama 7B Q4_0","8","0",'
    '"0","64","0","2025-05-01T00:00:09Z","640000000","1000","100.0","0.5"\n'
)


def test_a_gap_is_at_the_same_place_in_all_rows(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, ONE_TOO_MANY, "bench.csv")
    first, second = report.tree["runs"]
    assert (first["id"], first["prefill"]["tok_s"]["value"]) == ("pp256", 4000)
    assert (second["id"], second["decode"]["tok_s"]["value"]) == ("tg64", 100)
    assert "attention_backend" not in report.tree["engine"]
    assert len(report.imported.remarks) == 2


def test_no_gap_is_looked_for_in_a_head_of_very_many_names(tmp_path: Path) -> None:
    """Each place of the gap is tried with all columns, which would take hours here."""
    head, row, *_ = ONE_TOO_MANY.split("\n")
    text = head + ",x" * 50_001 + "\n" + row + ',"1"' * 50_000 + "\n"
    (finding,) = findings(tmp_path, text, "bench.csv")
    assert finding.code == "BL014"
    assert "50015 cells under 50017 names, and which is which is not certain" in finding.message


CUT_OFF = (
    "build_commit,build_number,cpu_info,gpu_info,model_type,n_prompt,n_gen,avg_ns,avg_ts\n"
    '"a1b2c3d","3600","Intel(R) Core(TM) i9\0\n'
)


def test_a_row_that_is_cut_off_is_refused_with_the_reason(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, CUT_OFF, "bench.csv")
    assert finding.code == "BL014"
    assert "line 2: 3 cells under 9 names, for the row is cut off" in finding.message


def test_a_row_that_is_cut_off_below_a_whole_one_is_left_out(tmp_path: Path) -> None:
    head, row, _ = ONE_TOO_MANY.replace(",repack", "").split("\n", 2)
    text = f"{head}\n{row}\n" + row[:58] + "\n"
    (report,) = imported(tmp_path, text, "bench.csv")
    assert len(report.tree["runs"]) == 1
    assert "line 3: 5 cells under 15 names, for the row is cut off" in report.imported.remarks[0]


def test_a_generation_of_128_tokens_is_repeated_and_not_too_short(tmp_path: Path) -> None:
    text = MARKDOWN.replace("120.50 |", "120.50 ± 0.75 |")
    (report,) = imported(tmp_path, text, "bench.txt")
    codes = {f.code for f in check_tree(report.tree)}
    assert codes.isdisjoint({"BL109", "BL417"})


def test_sql(tmp_path: Path) -> None:
    columns = [name for name in TEST if not name.startswith("samples")]
    values = ", ".join("'" + str(TEST[name]).replace("'", "''") + "'" for name in columns)
    text = (
        "CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT\n);\n\n"
        f"INSERT INTO llama_bench ({', '.join(columns)}) VALUES ({values});\n"
    )
    (report,) = imported(tmp_path, text, "bench.sql")
    assert value(report, "/runs/0/decode/tok_s/stdev") == 0.576
    assert place(report, "/runs/0/decode/tok_s/value")[1] == "128.0005"


MARKDOWN = """\
ggml_cuda_init: found 1 CUDA devices:
| model    |     size | params | backend | ngl | type_k | type_v | fa |  test |   t/s |
| -------- | -------: | -----: | ------- | --: | -----: | -----: | -: | ----: | ----: |
| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | q8_0 | f16 | 1 | pp512 | 9001.25 ± 20.5 |
| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | q8_0 | f16 | 1 | tg128 @ d8192 | 120.50 |

build: a1b2c3d (7123)
"""


def test_markdown(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, MARKDOWN, "bench.txt", tool="llama-bench")
    (setup,) = report.tree["configurations"].values()
    assert setup == {"drafter": None, "kv_cache": {"target_type": "q8_0/f16"}}
    assert report.tree["engine"] == {
        "name": "llama.cpp",
        "version": "b7123",
        "commit": "a1b2c3d",
        "backend": "CUDA",
        "offload": {"gpu_layers": 99},
        "attention_backend": "flash_attn",
    }
    assert report.tree["target"] == {
        "name": "qwen3 8B Q4_K - Medium",
        "parameters_b": 8.19,
        "quantization": {"recipe": "Q4_K_M", "file_size_gib": 4.68},
    }
    first, second = report.tree["runs"]
    assert first["prefill"] == {
        "tokens": 512,
        "tok_s": {"value": 9001.25, "stdev": 20.5, "estimator": "mean"},
    }
    assert second["conditions"]["kv_position"] == {"filled_tokens": 8192}
    assert first["conditions"]["kv_position"] == {"filled_tokens": 0}
    assert "machine" not in report.tree
    assert printed(second["decode"]["tok_s"]["value"]) == "120.50"
    assert place(report, "/runs/1/decode/tok_s/value") == (5, "120.50")


@pytest.mark.parametrize(
    ("lines", "devices"),
    [
        (
            "ggml_cuda_init: found 2 CUDA devices:\n"
            "  Device 0: NVIDIA A10, compute capability 8.6, VMM: yes\n"
            "  Device 1: NVIDIA A10, compute capability 8.6, VMM: yes\n",
            [{"name": "NVIDIA A10", "count": 2}],
        ),
        (
            "ggml_cuda_init: found 1 ROCm devices (Total VRAM: 65536 MiB):\n"
            "  Device 0: AMD Instinct MI210, gfx90a:sramecc+:xnack- (0x90a), VMM: no\n",
            [{"name": "AMD Instinct MI210", "count": 1}],
        ),
        (
            "ggml_vulkan: Found 1 Vulkan devices:\n"
            "ggml_vulkan: 0 = Intel(R) Arc(TM) A770 Graphics (Intel Corporation) | uma: 0 | a: 1\n",
            [{"name": "Intel(R) Arc(TM) A770 Graphics", "count": 1}],
        ),
        (
            "ggml_metal_init: found device: Apple M3\nggml_metal_init: GPU name:   Apple M3\n",
            [{"name": "Apple M3", "count": 1}],
        ),
    ],
)
def test_the_devices_above_a_printed_table(
    lines: str, devices: list[object], tmp_path: Path
) -> None:
    (report,) = imported(tmp_path, lines + MARKDOWN, "bench.txt")
    assert value(report, "/machine/devices") == devices
    assert place(report, "/machine/devices/0/name")[1] == devices[0]["name"]  # type: ignore[index]
    assert value(report, "/engine/backend") == "CUDA"


def test_a_table_in_a_block_of_a_page_has_its_devices_too(tmp_path: Path) -> None:
    log = "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA L4, compute capability 8.9\n"
    (report,) = imported(tmp_path, f"# Fast\n\n```\n{log}{MARKDOWN}```\n", "page.md")
    assert value(report, "/machine/devices") == [{"name": "NVIDIA L4", "count": 1}]


def test_the_markdown_of_2023(tmp_path: Path) -> None:
    text = (
        "| model | size | params | backend | ngl | test | t/s |\n"
        "| --- | ---: | ---: | --- | ---: | --- | ---: |\n"
        "| LLaMA 7B mostly Q4_0 | 3.56 GiB | 6.74 B | Metal | 1 | tg 128 | 61.50 ± 0.07 |\n"
    )
    (report,) = imported(tmp_path, text)
    assert value(report, "/runs/0/decode/tokens") == 128
    assert value(report, "/target/quantization/recipe") == "Q4_0"


@pytest.mark.parametrize(
    ("printed_type", "expected"),
    [
        ("llama 7B Q4_K - Medium", "Q4_K_M"),
        ("llama 7B mostly Q5_K - Small", "Q5_K_S"),
        ("qwen35moe 35B.A3B Q6_K", "Q6_K"),
        ("gpt-oss 20B MXFP4 MoE", "MXFP4"),
        ("llama 8B IQ2_XXS - 2.0625 bpw", "IQ2_XXS"),
        ("llama 8B all F32", "F32"),
        ("llama 8B Q4_0 (guessed)", None),
        ("llama 8B", None),
        (None, None),
    ],
)
def test_recipes(printed_type: object, expected: str | None) -> None:
    assert recipe(printed_type) == expected


def test_no_error_about_a_mean_of_rates_beside_a_mean_of_times(tmp_path: Path) -> None:
    uneven = {"avg_ts": 150.0, "samples_ts": [220.0, 80.0], "stddev_ts": 98.9}
    (report,) = imported(tmp_path, _as_json(uneven), "bench.json")
    assert not [f for f in check_tree(report.tree) if f.severity is not Severity.NOTE]


def test_no_test_no_report(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, _as_json({"n_gen": 0}), "bench.json")
    assert finding.code == "BL014"


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _as_json(), "bench.json")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "llama-perplexity" in helps["BL111"]
    assert "--no-warmup" in helps["BL115"]
    assert "benchlint convert" in helps["BL117"]
