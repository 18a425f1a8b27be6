"""llama-perplexity's log, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.reading import findings, imported, place, value

MODEL = """\
0.00.090.000 I llama_model_loader: loaded meta data with 33 key-value pairs and 272 tensors \
from /srv/gguf/Aurora-9B-Q5_K_M.gguf (version GGUF V3 (latest))
0.00.100.000 I print_info: file type   = Q5_K - Medium
0.00.100.010 I print_info: file size   = 6.07 GiB (5.69 BPW)
"""

PERPLEXITY = """\
0.00.155.035 I system_info: n_threads = 4 (n_threads_batch = 4) / 8 | CPU : AVX2 = 1 |
0.00.155.066 I perplexity: tokenizing the input ..
0.00.160.560 I perplexity: calculating perplexity over 20 chunks, n_ctx=2048, batch_size=2048
0.02.472.229 I perplexity: 2.31 seconds per pass - ETA 0.38 minutes
[1]6.0985,[2]8.6116,[20]7.4405,
0.23.093.581 I Final estimate: PPL = 7.4405 +/- 0.05690
"""

DIVERGENCE = """\
0.00.196.933 I kl_divergence: computing over 20 chunks, n_ctx=512, batch_size=512, n_seq=1

chunk             PPL               ln(PPL(Q)/PPL(base))          KL Divergence
   1       7.8211 ±    1.4776       0.41403 ±    0.07922       0.52136 ±    0.05816

====== Perplexity statistics ======
Mean PPL(Q)                   :   7.954768 ±   0.063904
Mean PPL(base)                :   7.440253 ±   0.057012
Mean PPL(Q)/PPL(base)         :   1.069153 ±   0.002779

====== KL divergence statistics ======
Mean    KLD:   0.060251 ±   0.000511
Maximum KLD:   7.559316
Median  KLD:   0.035896

====== Token probability statistics ======
Mean    Δp: -1.413 ± 0.035 %
RMS Δp    :  8.877 ± 0.057 %
Same top p: 91.627 ± 0.212 %
"""


def _read(folder: Path, text: str) -> ImportedDocument:
    (report,) = imported(folder, text, "perplexity.log")
    assert report.importer.name == "llama-perplexity"
    return report


def _rows(report: ImportedDocument) -> Any:
    return value(report, "/quality")


#: Of 2048 tokens a chunk, those behind the middle but for the last: 1023.
ROW = {
    "metric": "perplexity",
    "context_tokens": 2048,
    "sample_size": 20460,
    "value": 7.4405,
    "error": 0.0569,
    "drafter_on": False,
}


def test_every_field(tmp_path: Path) -> None:
    report = _read(tmp_path, MODEL + PERPLEXITY)
    assert report.tree == {
        "benchlint": "1",
        "configurations": {
            "Aurora-9B-Q5_K_M.gguf": {
                "target": {
                    "name": "Aurora-9B-Q5_K_M.gguf",
                    "quantization": {
                        "recipe": "Q5_K_M",
                        "file_size_gib": 6.07,
                        "bits_per_weight": 5.69,
                    },
                }
            }
        },
        "quality": [{**ROW, "configuration": "Aurora-9B-Q5_K_M.gguf"}],
    }


def test_a_log_that_names_no_model(tmp_path: Path) -> None:
    """At the usual verbosity it does not; nor is the text named at any."""
    assert _read(tmp_path, PERPLEXITY).tree == {"benchlint": "1", "quality": [ROW]}


def test_places_are_in_the_log(tmp_path: Path) -> None:
    report = _read(tmp_path, PERPLEXITY)
    assert place(report, "/quality/0/value") == (6, "7.4405")
    assert place(report, "/quality/0/error") == (6, "0.05690")
    assert place(report, "/quality/0/context_tokens") == (3, "2048")
    assert place(report, "/quality/0/sample_size") == (3, "20")


def test_digits_stay_as_printed(tmp_path: Path) -> None:
    report = _read(tmp_path, PERPLEXITY.replace("7.4405 +/- 0.05690", "7.4400 +/- 0.05690"))
    assert str(_rows(report)[0]["value"].text) == "7.4400"


def test_divergence_from_a_base_model(tmp_path: Path) -> None:
    shared = {"context_tokens": 512, "sample_size": 5100, "drafter_on": False}
    assert _rows(_read(tmp_path, DIVERGENCE)) == [
        {"metric": "perplexity", "value": 7.954768, "error": 0.063904, **shared},
        {"metric": "kl_divergence", "value": 0.060251, "error": 0.000511, **shared},
        {"metric": "same_top_p", "value": 0.91627, "error": 0.00212, **shared},
    ]


def test_the_older_line_does_not_say_the_window(tmp_path: Path) -> None:
    text = PERPLEXITY.replace(", n_ctx=2048, batch_size=2048", ", batch_size=512")
    (row,) = _rows(_read(tmp_path, text))
    assert row == {
        "metric": "perplexity",
        "value": 7.4405,
        "error": 0.0569,
        "drafter_on": False,
    }


def test_a_stride_is_another_perplexity(tmp_path: Path) -> None:
    text = (
        "I perplexity_v2: computing over 3 chunks, n_ctx=2176, batch_size=2048, n_seq=1\n"
        "[1]5.0985,[2]5.6116,[3]5.4405,\n"
    )
    (row,) = _rows(_read(tmp_path, text))
    assert (row["metric"], row["value"]) == ("strided perplexity", 5.4405)
    assert row["context_tokens"] == 2176
    assert "error" not in row


def test_a_stride_that_was_broken_off_has_no_figure(tmp_path: Path) -> None:
    text = "I perplexity_v2: computing over 3 chunks, n_ctx=2176, n_seq=1\n[1]5.0985,[2]5.6116,\n"
    assert [f.code for f in findings(tmp_path, text, "perplexity.log")] == ["BL014"]


def test_a_log_that_was_broken_off_has_no_figure(tmp_path: Path) -> None:
    text = PERPLEXITY[: PERPLEXITY.index("0.23.093")]
    assert [f.code for f in findings(tmp_path, text, "perplexity.log")] == ["BL014"]


SCORES = {
    "hellaswag": (
        "I hellaswag_score : calculating hellaswag score over selected tasks.\n\n"
        "task\tacc_norm\t95% confidence interval\n"
        "1\t100.00000000%\t[20.6549%, 100.0000%]\n"
        "400\t77.25000000%\t[72.8950%, 81.0912%]\n",
        {"dataset": "hellaswag", "sample_size": 400, "value": 0.7725},
    ),
    "winogrande": (
        "I Final Winogrande score(1267 tasks): 74.0331 +/- 1.2323\n",
        {"dataset": "winogrande", "sample_size": 1267, "value": 0.740331, "error": 0.012323},
    ),
    "multiple choice": (
        "I multiple_choice_score : calculating TruthfulQA score over 817 tasks.\n"
        "I Final result: 31.0894 +/- 1.6204\nI Random chance: 19.8992 +/- 1.3986\n",
        {"sample_size": 817, "value": 0.310894, "error": 0.016204},
    ),
}


@pytest.mark.parametrize(("text", "row"), SCORES.values(), ids=SCORES)
def test_scores_of_tasks(text: str, row: dict[str, object], tmp_path: Path) -> None:
    assert _rows(_read(tmp_path, text)) == [{"metric": "accuracy", **row}]


def test_several_models_in_one_file(tmp_path: Path) -> None:
    other = MODEL.replace("Aurora", "Borealis") + PERPLEXITY.replace("7.4405", "7.9405")
    report = _read(tmp_path, MODEL + PERPLEXITY + other)
    assert [(row["configuration"], row["value"]) for row in _rows(report)] == [
        ("Aurora-9B-Q5_K_M.gguf", 7.4405),
        ("Borealis-9B-Q5_K_M.gguf", 7.9405),
    ]


def test_an_honest_log_is_no_reproach(tmp_path: Path) -> None:
    report = _read(tmp_path, MODEL + DIVERGENCE)
    assert [f.code for f in check_tree(report.tree) if f.severity.name != "NOTE"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Final estimate: PPL = 1.2.3 +/- 4\n",
        "Final estimate: PPL = nan +/- nan\n",
        "perplexity: calculating perplexity over 999999999999999999999 chunks, n_ctx=9\n"
        "Final estimate: PPL = 5.0 +/- 0.1\n",
        "Mean PPL(Q) : " + "9" * 500 + " ± 1\n",
        "[1]" * 4000,
        SCORES["hellaswag"][0] + "5\tx\n\t\t\t\n",
        "Final Winogrande score(" + "1" * 400 + " tasks): 1.0 +/- 1.0\n",
    ],
)
def test_hostile_logs_never_raise(text: str, tmp_path: Path) -> None:
    findings(tmp_path, text, "perplexity.log", tool="llama-perplexity")
    findings(tmp_path, text, "perplexity.log")
