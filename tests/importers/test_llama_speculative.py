"""llama-speculative, llama-speculative-simple and llama-lookup, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.llama_server_logs import each_line, statistics
from tests.importers.reading import findings, imported, place, value

SUMMARY = """\
encoded   25 tokens in    0.125 seconds, speed:  200.000 t/s
decoded  121 tokens in    2.420 seconds, speed:   50.000 t/s

n_draft   = 5
n_predict = 121
n_drafted = 160
n_accept  = 88
accept    = 55.000%
"""

#: The times that mislead: nearly every pass counts as prompt.
TIMES = """
draft:

{draft}
target:

{by}: prompt eval time = 2000.00 ms /   218 tokens (9.17 ms per token, 109.00 tokens per second)
{by}:        eval time =    0.00 ms /     1 runs   (0.00 ms per token, inf tokens per second)
"""

DRAFT_TIMES = "llama_perf_context_print:        load time =     273.47 ms\n"

LOADED = (
    "0.00.100 I cmn          init: llama threadpool init, n_threads = 1\n"
    "0.00.200 I common_speculative_init_result: loading draft model 'small.gguf'\n"
)


def _output(*, summary: str = SUMMARY, draft: str = "", before: str = "") -> str:
    times = TIMES.format(draft=draft, by="common_perf_print")
    story = "Once upon a time\n```python\nn_accept = 3  # no count of ours\n"
    return f"{before}\n\n{story}\n{summary}{times}"


def _read(folder: Path, text: str) -> ImportedDocument:
    (report,) = imported(folder, text, "output.txt")
    assert report.importer.name == "llama-speculative"
    return report


def _run(report: ImportedDocument, index: int = 0) -> Any:
    return value(report, f"/runs/{index}")


def _configuration(report: ImportedDocument) -> Any:
    return value(report, "/configurations/llama-speculative")


def test_every_field(tmp_path: Path) -> None:
    report = _read(tmp_path, _output(before=LOADED))
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "llama.cpp"},
        "configurations": {
            "llama-speculative": {
                "drafter": {"model": "small.gguf", "method": "draft_model"},
                "draft_length": {"max": 5},
            }
        },
        "runs": [
            {
                "id": "prompt",
                "configuration": "llama-speculative",
                "prefill": {"tokens": 25, "seconds": 0.125, "tok_s": 200.0},
                "decode": {"tokens": 121, "seconds": 2.42, "tok_s": 50.0},
                "speculation": {
                    "counts": {
                        "output_tokens": 121,
                        "drafted": 160,
                        "accepted": 88,
                        "requests": 1,
                    },
                    "acceptance_rate": {"value": 0.55, "of": "drafted"},
                },
                "conditions": {"concurrency": 1},
                "measurement": {
                    "by": "engine_counter",
                    "counters": "per_run",
                    "window": "decode_only",
                },
            }
        ],
    }
    assert [f for f in check_tree(report.tree) if f.severity is Severity.ERROR] == []


def test_places_are_in_the_original(tmp_path: Path) -> None:
    text = _output(before=LOADED)
    report = _read(tmp_path, text)
    for pointer, marked in (
        ("/runs/0/speculation/counts/accepted", "88"),
        ("/runs/0/speculation/acceptance_rate/value", "55.000"),
        ("/runs/0/decode/tok_s", "50.000"),
    ):
        line, found = place(report, pointer)
        assert found == marked
        assert marked in text.splitlines()[line - 1]


def test_a_model_that_wrote_the_words_counts_nothing(tmp_path: Path) -> None:
    assert _run(_read(tmp_path, _output()))["speculation"]["counts"]["accepted"] == 88


# --- which drafter, and what n_draft means ----------------------------------------------------


def test_n_draft_is_no_k_where_the_drafter_is_unknown(tmp_path: Path) -> None:
    """llama-speculative-simple prints it with n-gram types too, which draft other lengths."""
    assert _configuration(_read(tmp_path, _output())) == {}


@pytest.mark.parametrize(
    "text",
    [
        _output(draft=DRAFT_TIMES),
        _output(draft=DRAFT_TIMES.replace("perf_context_print", "print_timings")),
        _output(before="0.1 I cmn  init: llama threadpool init, n_threads = 1\n" * 2),
    ],
)
def test_a_draft_model_shows_in_times_or_in_a_second_context(text: str, tmp_path: Path) -> None:
    assert _configuration(_read(tmp_path, text)) == {
        "drafter": {"method": "draft_model"},
        "draft_length": {"max": 5},
    }


NGRAM = (
    "0.1 I spec common_specu: adding speculative implementation 'ngram-simple'\n"
    "0.1 I spec common_specu: - size_n=3, size_m=9, min_hits=1\n"
)


def test_an_ngram_type_drafts_its_own_length(tmp_path: Path) -> None:
    assert _configuration(_read(tmp_path, _output(before=NGRAM))) == {
        "drafter": {"method": "ngram"},
        "draft_length": {"max": 9},
    }


LOOKUP = SUMMARY.replace(
    "n_accept", "t_draft_flat = 0.03 ms\nt_draft      = 0.91 ms, 11.21 us per token\nn_accept"
)


def test_lookup_drafts_by_ngrams_and_misstates_the_speed_of_the_prompt(tmp_path: Path) -> None:
    """It divides prompt and output by the prompt's time: 1168 tok/s beside 25 in 0.125 s."""
    summary = LOOKUP.replace("200.000", "1168.000")
    report = _read(tmp_path, _output(summary=summary))
    assert _configuration(report) == {"drafter": {"method": "ngram"}, "draft_length": {"max": 5}}
    assert _run(report)["prefill"] == {"tokens": 25, "seconds": 0.125}


# --- verify steps ----------------------------------------------------------------------------

SIMPLE = statistics(1, drafts=32, drafted=160, accepted=88)


def test_verify_steps_of_the_statistics(tmp_path: Path) -> None:
    report = _read(tmp_path, _output(before=LOADED, draft=f"0.2 I spec common_specu: {SIMPLE}\n"))
    assert _run(report)["speculation"]["counts"]["verify_steps"] == 32


@pytest.mark.parametrize(
    "lines",
    [
        [SIMPLE.replace("160", "164")],
        [SIMPLE, statistics(1, drafts=3, drafted=12, accepted=1, kind="ngram-mod")],
    ],
)
def test_steps_that_are_not_certain_are_not_there(lines: list[str], tmp_path: Path) -> None:
    report = _read(tmp_path, _output(before=LOADED, draft="".join(f"{s}\n" for s in lines)))
    assert "verify_steps" not in _run(report)["speculation"]["counts"]


# --- other forms -----------------------------------------------------------------------------


def test_the_first_version_counts_all_in_one(tmp_path: Path) -> None:
    summary = SUMMARY.replace("decoded", "generated").split("\n", 1)[1]
    run = _run(_read(tmp_path, _output(summary=summary)))
    assert "prefill" not in run
    assert run["decode"] == {"tokens": 121, "seconds": 2.42, "tok_s": 50.0}
    assert "window" not in run["measurement"]


def test_lines_behind_a_time_stamp(tmp_path: Path) -> None:
    text = each_line(SUMMARY, lambda line: f"0.02.761.128 I {line}")
    assert _run(_read(tmp_path, text))["speculation"]["counts"]["drafted"] == 160


def test_nothing_drafted_has_no_rate(tmp_path: Path) -> None:
    summary = SUMMARY.replace("= 160", "= 0").replace("= 88", "= 0").replace("55.000%", "-nan%")
    speculation = _run(_read(tmp_path, _output(summary=summary)))["speculation"]
    assert "acceptance_rate" not in speculation
    assert speculation["counts"]["drafted"] == 0


def test_several_runs_in_one_file(tmp_path: Path) -> None:
    other = SUMMARY.replace("n_draft   = 5", "n_draft   = 9")
    text = _output(before=LOADED) + _output(summary=other, before=LOADED)
    report = _read(tmp_path, text + _output(summary=LOOKUP))
    assert [_run(report, i)["id"] for i in range(3)] == ["prompt", "prompt (2)", "prompt (3)"]
    configurations = value(report, "/configurations")
    assert isinstance(configurations, dict)
    assert [c["draft_length"]["max"] for c in configurations.values()] == [5, 9, 5]


@pytest.mark.parametrize(
    "text",
    [
        "n_drafted = 12\n",
        "n_drafted = 12\nn_predict = 9\nn_accept = 40\n",
        SUMMARY.replace("160", "9" * 500),
        SUMMARY.replace("2.420", "0.000"),
        SUMMARY * 3,
        "decoded 1 tokens in x seconds\n" + SUMMARY,
        "draft:\ndraft:\ntarget:\n" + SIMPLE + "\n" + SUMMARY,
    ],
)
def test_hostile_output_never_raises(text: str, tmp_path: Path) -> None:
    findings(tmp_path, text, "output.txt", tool="llama-speculative")
    findings(tmp_path, text, "output.txt")
