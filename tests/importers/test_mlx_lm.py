"""MLX LM: what generate and benchmark print, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place

GENERATE = """\
$ mlx_lm.generate --model acme/chat-9b-4bit --draft-model acme/draft-1b-4bit \
--num-draft-tokens 4 --temp 0.7 --prompt "x"
==========
Prompt: this is the model speaking, and no speed
==========
Prompt: 36 tokens, 186.936 tokens-per-sec
Generation: 300 tokens, 39.680 tokens-per-sec
Peak memory: 8.590 GB
"""


def test_every_field_of_generate(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, GENERATE, "out.txt")
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "mlx-lm"},
        "target": {"name": "acme/chat-9b-4bit"},
        "configurations": {
            "acme/chat-9b-4bit with acme/draft-1b-4bit": {
                "drafter": {"model": "acme/draft-1b-4bit", "method": "draft_model"},
                "draft_length": {"max": 4},
                "sampler": {"temperature": 0.7},
            }
        },
        "runs": [
            {
                "id": "generate",
                "configuration": "acme/chat-9b-4bit with acme/draft-1b-4bit",
                "prefill": {"tokens": 36, "tok_s": 186.936},
                "decode": {"tokens": 300, "tok_s": 39.680},
                "memory": {"device_used_gib": 8.0},
                "measurement": {"tool": "mlx-lm", "window": "decode_only"},
            }
        ],
    }
    assert printed(report.tree["runs"][0]["decode"]["tok_s"]) == "39.680"
    assert place(report, "/runs/0/decode/tok_s") == (6, "39.680")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_a_command_without_a_draft_model_has_no_drafter(tmp_path: Path) -> None:
    text = GENERATE.replace("--draft-model acme/draft-1b-4bit --num-draft-tokens 4", "")
    (report,) = imported(tmp_path, text, "out.txt")
    assert report.tree["configurations"]["acme/chat-9b-4bit"]["drafter"] is None


def test_without_the_command_nothing_is_known_of_the_setup(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, GENERATE.partition("\n")[2], "out.txt")
    assert report.tree["configurations"] == {"model": {}}
    assert "target" not in report.tree
    assert "speculation" not in report.tree["runs"][0]


def test_the_lines_of_2024_have_no_counts(tmp_path: Path) -> None:
    text = "Prompt: 86.936 tokens-per-sec\nGeneration: 19.68 tokens-per-sec\n"
    (report,) = imported(tmp_path, text, "out.txt")
    run = report.tree["runs"][0]
    assert run["prefill"] == {"tok_s": 86.936}
    assert run["decode"] == {"tok_s": 19.68}


def test_two_outputs_are_two_runs(tmp_path: Path) -> None:
    plain = "Prompt: 9 tokens, 90.000 tokens-per-sec\nGeneration: 20 tokens, 30.000 tokens-per-sec"
    (report,) = imported(tmp_path, f"{GENERATE}\n{plain}\n", "out.txt")
    assert [run["decode"]["tokens"] for run in report.tree["runs"]] == [300, 20]
    assert "memory" not in report.tree["runs"][1]


def test_a_batch_has_a_rate_of_all_of_it(tmp_path: Path) -> None:
    text = (
        "[batch_generate] Prompt: 400 tokens, 900.000 tokens-per-sec\n"
        "[batch_generate] Generation: 2048 tokens, 410.250 tokens-per-sec\n"
        "[batch_generate] Peak memory: 12.000 GB\n"
    )
    (report,) = imported(tmp_path, text, "out.txt")
    run = report.tree["runs"][0]
    assert run["throughput"] == {"tokens": 2048, "tok_s": 410.25}
    assert "decode" not in run
    assert "prefill" not in run


BENCHMARK = """\
$ python -m mlx_lm.benchmark --model acme/chat-9b-4bit -p 512 -g 256 -n 3
Running warmup..
Timing with prompt_tokens=512, generation_tokens=256, batch_size=1.
Trial 1:  prompt_tps=900.125, generation_tps=40.000, peak_memory=8.500, total_time=7.000
Trial 2:  prompt_tps=902.125, generation_tps=41.000, peak_memory=8.500, total_time=6.900
Trial 3:  prompt_tps=901.125, generation_tps=42.000, peak_memory=8.500, total_time=6.800
Averages: prompt_tps=901.125, generation_tps=41.000, peak_memory=8.590
"""


def test_every_field_of_benchmark(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, BENCHMARK, "out.txt")
    assert report.tree["configurations"] == {"acme/chat-9b-4bit": {"drafter": None}}
    assert report.tree["workloads"] == {"benchmark": {"prompt_tokens": 512}}
    assert report.tree["runs"] == [
        {
            "id": "benchmark",
            "configuration": "acme/chat-9b-4bit",
            "workload": "benchmark",
            "conditions": {"warm": True, "repeats": 3, "concurrency": 1},
            "prefill": {
                "tokens": 512,
                "tok_s": {
                    "value": 901.125,
                    "samples": [900.125, 902.125, 901.125],
                    "estimator": "mean",
                },
            },
            "decode": {
                "tokens": 256,
                "tok_s": {"value": 41.0, "samples": [40.0, 41.0, 42.0], "estimator": "mean"},
            },
            "memory": {"device_used_gib": 8.0},
            "measurement": {
                "tool": "mlx-lm",
                "window": "decode_only",
                "by": "micro_benchmark",
                "prompt_kind": "synthetic",
            },
        }
    ]
    assert place(report, "/runs/0/decode/tok_s/value") == (7, "41.000")
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_a_benchmark_of_a_batch(tmp_path: Path) -> None:
    text = BENCHMARK.replace("batch_size=1.", "batch_size=8.")
    (report,) = imported(tmp_path, text, "out.txt")
    run = report.tree["runs"][0]
    assert run["conditions"]["concurrency"] == 8
    assert run["throughput"]["tok_s"]["value"] == 41.0
    assert "decode" not in run


@pytest.mark.parametrize(
    "text",
    [
        "Generation: 12 tokens, ... tokens-per-sec\n",
        "Prompt: 1 tokens, 5.0 tokens-per-sec\nGeneration: 1 tokens, 1.2.3 tokens-per-sec\n",
        "Timing with prompt_tokens=1, generation_tokens=1, batch_size=1.\nAverages: x\n",
        "mlx_lm.generate --model 'x\nGeneration: 3 tokens, 5.0 tokens-per-sec\n",
        "mlx_lm.generate " + "--model " * 5000 + "\nGeneration: 3 tokens, 5.0 tokens-per-sec\n",
        "Trial 1:  " + "prompt_tps=1, " * 20_000,
    ],
)
def test_hostile_text_never_raises(text: str, tmp_path: Path) -> None:
    findings(tmp_path, text, "out.txt", tool="mlx-lm")
    for report in imported(tmp_path, text + GENERATE, "out.txt", tool="mlx-lm"):
        check_tree(report.tree)


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, GENERATE.partition("\n")[2], "out.txt")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "--draft-model" in helps["BL102"]
    assert "mlx_lm.benchmark" in helps["BL115"]
