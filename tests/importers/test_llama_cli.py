"""Times that llama-cli and other programs of llama.cpp print, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.importer import Confidence, Head
from benchlint.checker.importers.registry import importer_named
from tests.importers.reading import findings, imported, place, value


def times(by: str = "llama_perf_context_print") -> str:
    """A block of times: 60 tokens of prompt, 199 passes."""
    return (
        f"{by}:        load time =     812.34 ms\n"
        f"{by}: prompt eval time =     150.00 ms /    60 tokens (    2.50 ms per token, "
        "  400.00 tokens per second)\n"
        f"{by}:        eval time =    3980.00 ms /   199 runs   (   20.00 ms per token, "
        "   50.00 tokens per second)\n"
        f"{by}:       total time =    4301.22 ms /   259 tokens\n"
    )


STORY = "Once upon a time there was a build 12 of everything.\n\n"

RUN = {
    "id": "prompt",
    "configuration": "llama-cli",
    "prefill": {"tokens": 60, "seconds": 0.15, "tok_s": 400.0},
    "decode": {"tokens": 199, "seconds": 3.98, "tok_s": 50.0},
    "conditions": {"concurrency": 1},
    "measurement": {"by": "engine_counter", "counters": "per_run", "window": "decode_only"},
}


def _read(folder: Path, text: str) -> ImportedDocument:
    (report,) = imported(folder, text, "output.txt")
    assert report.importer.name == "llama-cli"
    return report


def _run(report: ImportedDocument, index: int = 0) -> Any:
    return value(report, f"/runs/{index}")


@pytest.mark.parametrize(
    "by", ["llama_perf_context_print", "llama_print_timings", "0.1 I common_perf_print"]
)
def test_every_field(by: str, tmp_path: Path) -> None:
    report = _read(tmp_path, STORY + times(by))
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "llama.cpp"},
        "configurations": {"llama-cli": {}},
        "runs": [RUN],
    }
    assert [f for f in check_tree(report.tree) if f.severity is Severity.ERROR] == []


def test_places_are_in_the_original(tmp_path: Path) -> None:
    report = _read(tmp_path, STORY + times())
    assert place(report, "/runs/0/decode/tok_s") == (5, "50.00")
    assert place(report, "/runs/0/prefill/tokens") == (4, "60")


def test_what_was_logged_before(tmp_path: Path) -> None:
    log = (
        "build: 4101 (1a2b3c4d) with cc (GCC) 13.2.0 for x86_64-linux-gnu\n"
        "llama_model_loader: loaded meta data with 30 key-value pairs and 291 tensors from "
        "models/Aurora-9B-Q4_K_M.gguf (version GGUF V3 (latest))\n"
        "llm_load_print_meta: model ftype      = Q4_K - Medium\n"
        "llm_load_print_meta: model params     = 9.17 B\n"
        "llm_load_print_meta: model size       = 5.21 GiB (4.88 BPW) \n"
        "llama_new_context_with_model: n_ctx      = 4096\n"
        "llama_new_context_with_model: n_batch    = 2048\n"
        "system_info: n_threads = 8 / 16 | AVX = 1 |\n"
        "\trepeat_last_n = 64, repeat_penalty = 1.000, frequency_penalty = 0.000, "
        "presence_penalty = 0.000\n"
        "\ttop_k = 40, top_p = 0.950, min_p = 0.050, typical_p = 1.000, temp = 0.800\n"
    )
    report = _read(tmp_path, log + STORY + times())
    assert value(report, "/configurations/Aurora-9B-Q4_K_M.gguf") == {
        "target": {
            "name": "Aurora-9B-Q4_K_M.gguf",
            "quantization": {"recipe": "Q4_K_M", "file_size_gib": 5.21, "bits_per_weight": 4.88},
            "parameters_b": 9.17,
        },
        "engine": {
            "version": "b4101",
            "commit": "1a2b3c4d",
            "threads": {"decode": 8},
            "batch": {"logical": 2048},
        },
        "kv_cache": {"max_context_tokens": 4096},
        "sampler": {
            "temperature": 0.8,
            "top_k": 40,
            "top_p": 0.95,
            "min_p": 0.05,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        },
    }


def test_early_builds_print_no_speed(tmp_path: Path) -> None:
    text = times("llama_print_timings").replace(",   400.00 tokens per second", "")
    text = text.replace(",    50.00 tokens per second", "")
    assert _run(_read(tmp_path, text))["decode"] == {"tokens": 199, "seconds": 3.98}


def test_one_run_in_no_time_is_nothing(tmp_path: Path) -> None:
    """What is printed where nothing was generated, or nothing of the prompt processed."""
    text = times().replace("3980.00 ms /   199", "0.00 ms /     1").replace("   50.00", "     inf")
    assert "decode" not in _run(_read(tmp_path, text))
    text = times().replace("150.00 ms /    60", "0.00 ms /     1").replace("  400.00", "     inf")
    assert "prefill" not in _run(_read(tmp_path, text))


def test_nothing_at_all_is_no_result(tmp_path: Path) -> None:
    text = times().replace("3980.00 ms /   199", "0.00 ms /     1")
    text = text.replace("150.00 ms /    60", "0.00 ms /     1").replace("00 tokens per", "0 per")
    assert [f.code for f in findings(tmp_path, text, "output.txt")] == ["BL014"]


def test_the_short_line(tmp_path: Path) -> None:
    report = _read(tmp_path, STORY + "[ Prompt: 412.5 t/s | Generation: 48.2 t/s ]\n")
    run = _run(report)
    assert run["prefill"] == {"tok_s": 412.5}
    assert run["decode"] == {"tok_s": 48.2}


def test_several_runs_in_one_file(tmp_path: Path) -> None:
    report = _read(tmp_path, times() + STORY + times().replace("50.00", "49.00") + times())
    assert [_run(report, i)["id"] for i in range(3)] == ["prompt", "prompt (2)", "prompt (3)"]
    assert [_run(report, i)["configuration"] for i in range(3)] == ["llama-cli"] * 3


@pytest.mark.parametrize(
    "other",
    [
        "n_drafted = 5\nn_accept = 3\nn_predict = 9\n",
        "Final estimate: PPL = 5.3405 +/- 0.27690\n",
        "slot print_timing: id  0 | task 3 | \n",
        "|    PP |     TG |    B |\n",
    ],
)
def test_the_same_times_of_other_programs_are_not_llama_clis(other: str) -> None:
    llama_cli = importer_named("llama-cli")
    assert llama_cli.recognise(Head(times())) is Confidence.SURE
    assert llama_cli.recognise(Head(other + times())) is Confidence.NO


@pytest.mark.parametrize(
    "text",
    [
        times().replace("199", "9" * 400),
        times().replace("3980.00", "nan"),
        "llama_perf_context_print: eval time = \n",
        "[ Prompt: 1.2.3 t/s | Generation: ... t/s ]\n",
        times() * 600,
    ],
)
def test_hostile_output_never_raises(text: str, tmp_path: Path) -> None:
    findings(tmp_path, text, "output.txt", tool="llama-cli")
    findings(tmp_path, text, "output.txt")
