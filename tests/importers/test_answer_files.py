"""Answer files of EAGLE, Medusa and Spec-Bench, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place


def _line(model: str = "acme-ea-temperature-0.7", **choice: Any) -> str:
    made = {
        "question_id": 81,
        "answer_id": "x",
        "model_id": model,
        "choices": [{"index": 0, "turns": ["a", "b"], **choice}],
        "tstamp": 1.0,
    }
    return json.dumps(made)


def _eagle(
    tokens: list[int], idxs: list[int], seconds: list[float], **other: Any
) -> dict[str, Any]:
    return {"idxs": idxs, "new_tokens": tokens, "wall_time": seconds, **other}


EAGLE = "\n".join(
    [
        _line(**_eagle([300, 100], [99, 39], [4.125, 1.375])),
        _line(**_eagle([200, 50], [49, 19], [2.5, 0.75])),
    ]
)


def test_every_field_of_eagle(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, EAGLE, "answers.jsonl")
    assert report.imported.tool == "eagle"
    assert report.tree == {
        "benchlint": "1",
        "configurations": {"acme-ea-temperature-0.7": {"sampler": {"temperature": 0.7}}},
        "runs": [
            {
                "id": "answers",
                "configuration": "acme-ea-temperature-0.7",
                "conditions": {"concurrency": 1},
                "throughput": {
                    "tokens": 650,
                    "seconds": 8.75,
                    "completed_requests": 4,
                    "end_to_end_tok_s": {"value": 74.8252, "estimator": "mean"},
                },
                "speculation": {
                    "counts": {
                        # The index of the last step counts from 0: 100 + 40 + 50 + 20.
                        "verify_steps": 210,
                        "accepted": 440,
                        "output_tokens": 650,
                        "requests": 4,
                    }
                },
                "measurement": {
                    "window": "with_prefill",
                    "prompt_kind": "natural",
                    "tool": "llm_judge",
                    "counters": "per_run",
                },
            }
        ],
    }
    assert place(report, "/runs/0/speculation/counts/verify_steps") == (1, "[99, 39]")
    assert place(report, "/runs/0/throughput/tokens") == (1, "[300, 100]")


def test_a_baseline_has_no_drafter(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _line(**_eagle([40, 60], [39, 59], [1.0, 1.5])), "a.jsonl")
    (run,) = report.tree["runs"]
    assert report.tree["configurations"]["acme-ea-temperature-0.7"]["drafter"] is None
    assert "speculation" not in run


def test_several_models_in_one_file_are_several_setups(tmp_path: Path) -> None:
    one = _line("plain", **_eagle([40], [39], [1.0]))
    other = _line("fast", **_eagle([40], [9], [0.5]))
    (report,) = imported(tmp_path, f"{one}\n{other}\n", "a.jsonl")
    assert [run["id"] for run in report.tree["runs"]] == ["plain", "fast"]
    assert list(report.tree["configurations"]) == ["plain", "fast"]
    assert report.tree["configurations"] == {"plain": {"drafter": None}, "fast": {}}


def test_acceptance_by_depth_is_conditional_and_a_run_of_its_own(tmp_path: Path) -> None:
    alpha = [
        _line(**_eagle([30], [9], [1.0], alpha=[8, 4, 1], alpha_num=[10, 8, 4])),
        _line(**_eagle([30], [9], [1.0], alpha=[6, 3, 2], alpha_num=[10, 6, 3])),
    ]
    (report,) = imported(tmp_path, "\n".join(alpha), "a.jsonl")
    answers, depths = report.tree["runs"]
    assert "per_position" not in answers["speculation"]
    assert depths["speculation"] == {
        "per_position": {"values": [0.7, 0.5, 0.428571], "kind": "conditional"}
    }


def test_medusas_typical_acceptance_is_relaxed_when_it_samples(tmp_path: Path) -> None:
    name = "acme-medusa-temperature-{}-posterior_threshold-0.09-posterior_alpha-0.3"
    answer = _eagle([40], [9], [1.0])
    (report,) = imported(tmp_path, _line(name.format("0.7"), **answer), "a.jsonl")
    (setup,) = report.tree["configurations"].values()
    assert setup["acceptance_rule"] == {
        "kind": "relaxed",
        "settings": {"posterior_threshold": 0.09, "posterior_alpha": 0.3},
    }
    (report,) = imported(tmp_path, _line(name.format("0.0"), **answer), "a.jsonl")
    (setup,) = report.tree["configurations"].values()
    assert setup == {"sampler": {"temperature": 0.0}}


def test_answers_that_failed_do_not_count(tmp_path: Path) -> None:
    bad = json.loads(_line(**_eagle([10], [9], [1.0])))
    bad["choices"][0]["turns"] = ["ERROR", "b"]
    lines = [EAGLE, json.dumps(bad), _line(**_eagle([1], [0], [0.0])), '{"question_id": 1}']
    (report,) = imported(tmp_path, "\n".join(lines), "a.jsonl")
    assert report.tree["runs"][0]["throughput"]["tokens"] == 650
    assert report.imported.remarks == ("3 answers failed or are cut off, and do not count",)


def _spec(category: str, lengths: list[int], seconds: float, model: str = "m") -> str:
    tokens = sum(lengths)
    line = json.loads(
        _line(
            model,
            decoding_steps=[len(lengths)],
            new_tokens=[tokens],
            wall_time=[seconds],
            accept_lengths=lengths,
        )
    )
    return json.dumps({**line, "category": category})


SPEC = "\n".join(
    [
        _spec("writing", [3, 1, 4], 0.25),
        _spec("qa", [1, 1, 2], 0.2),
        _spec("writing", [2, 2], 0.125),
    ]
)


def test_every_field_of_spec_bench(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, SPEC, "answers.jsonl")
    assert report.imported.tool == "spec-bench"
    writing, qa, whole = report.tree["runs"]
    assert writing == {
        "id": "writing",
        "configuration": "m",
        "workload": "writing",
        "conditions": {"concurrency": 1},
        "throughput": {
            "tokens": 12,
            "seconds": 0.375,
            "completed_requests": 2,
            "end_to_end_tok_s": {"value": 32.0, "estimator": "mean"},
        },
        "speculation": {
            "counts": {"verify_steps": 5, "accepted": 7, "output_tokens": 12, "requests": 2},
            "histogram": [1, 2, 1, 1],
        },
        "measurement": {
            "window": "with_prefill",
            "prompt_kind": "natural",
            "tool": "spec-bench",
            "counters": "per_run",
        },
    }
    assert qa["speculation"]["histogram"] == [2, 1]
    assert whole["parts"] == ["writing", "qa"]
    assert whole["speculation"]["counts"] == {
        "verify_steps": 8,
        "accepted": 8,
        "output_tokens": 16,
        "requests": 3,
    }
    assert printed(whole["throughput"]["end_to_end_tok_s"]["value"]) == "28.0000"
    assert report.tree["workloads"] == {
        "writing": {"mix": ["writing"]},
        "qa": {"mix": ["qa"]},
        "all": {"mix": ["writing", "qa"]},
    }
    assert place(report, "/runs/1/speculation/counts/accepted") == (2, "[1, 1, 2]")


def test_speeds_of_decode_alone_and_rates_are_absent(tmp_path: Path) -> None:
    for text in (EAGLE, SPEC):
        (report,) = imported(tmp_path, text, "answers.jsonl")
        for run in report.tree["runs"]:
            assert "decode" not in run
            assert "prefill" not in run
            assert "acceptance_rate" not in run["speculation"]
            assert "drafted" not in run["speculation"]["counts"]
        assert "target" not in report.tree
        assert "engine" not in report.tree


def test_a_method_without_drafts_has_no_drafter(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _spec("qa", [1, 1, 1], 0.2), "answers.jsonl")
    assert report.tree["configurations"] == {"m": {"drafter": None}}
    assert "speculation" not in report.tree["runs"][0]
    assert len(report.tree["runs"]) == 1


def test_honest_ones_give_no_error(tmp_path: Path) -> None:
    for text in (EAGLE, SPEC):
        (report,) = imported(tmp_path, text, "answers.jsonl")
        assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


HOSTILE: list[dict[str, Any]] = [
    _eagle([1, 2], [-1, 0], [1.0, 1.0]),
    _eagle([1], [10**30], [1.0]),
    _eagle([1], [0], ["x"]),  # type: ignore[list-item]
    _eagle([1], [0], [1e308]),
    {"idxs": {}, "new_tokens": 3, "wall_time": None},
    {"accept_lengths": [0, 1], "new_tokens": [1], "wall_time": [1.0]},
    {"accept_lengths": [10**9], "new_tokens": [1], "wall_time": [1.0]},
    {"accept_lengths": ["2"], "new_tokens": [1], "wall_time": [1.0]},
]


@pytest.mark.parametrize("choice", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_are_no_results(choice: dict[str, Any], tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, _line(**choice), "answers.jsonl")
    assert finding.code == "BL014"


def test_hostile_depths_are_left_out(tmp_path: Path) -> None:
    for alpha, reached in (([1], [0]), ([-1], [1]), (["x"], [1]), ([1], {})):
        text = _line(**_eagle([30], [9], [1.0], alpha=alpha, alpha_num=reached))
        (report,) = imported(tmp_path, text, "answers.jsonl")
        assert "per_position" not in report.tree["runs"][-1].get("speculation", {}) or (
            "values" not in report.tree["runs"][-1]["speculation"]["per_position"]
        )
        check_tree(report.tree)


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, EAGLE, "answers.jsonl")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "--ea-model-path" in helps["BL102"]
    assert "three times" in helps["BL115"]
