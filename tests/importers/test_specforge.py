"""SpecForge's benchmarks, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from tests.importers.reading import imported, place


def _metrics(**changes: Any) -> dict[str, Any]:
    return {
        "latency": 50.5,
        "output_throughput": 210.25,
        "accept_length": 2.75,
        "accuracy": None,
        "num_questions": 20,
        "num_valid_predictions": 0,
        "categorical_performance": None,
        **changes,
    }


def _entry(shape: tuple[int | None, int | None, int | None], **metrics: Any) -> dict[str, Any]:
    steps, topk, drafts = shape
    return {
        "batch_size": 1,
        "steps": steps,
        "topk": topk,
        "num_draft_tokens": drafts,
        "metrics": [_metrics(**metrics)],
        "num_samples": 20,
    }


EAGLE: dict[str, Any] = {
    "model": "acme/eagle3-9b",
    "mtbench": [_entry((0, 0, 0), accept_length=1.0), _entry((3, 1, 4))],
    "gsm8k": [_entry((5, 8, 16), accuracy=0.85, num_valid_predictions=19)],
}


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(EAGLE, indent=4), "results_1.json")
    plain, chain, tree = report.tree["runs"]
    assert report.tree["engine"] == {"name": "sglang"}
    assert report.tree["configurations"] == {
        "no drafter": {"drafter": None},
        "steps 3, topk 1, draft tokens 4": {
            "drafter": {"method": "eagle3", "model": "acme/eagle3-9b"},
            "draft_length": {"max": 3},
        },
        "steps 5, topk 8, draft tokens 16": {
            "drafter": {"method": "eagle3", "model": "acme/eagle3-9b"},
            "draft_length": {"max": 5, "tree": {"depth": 5, "width": 8, "draft_tokens": 15}},
        },
    }
    assert report.tree["workloads"] == {
        "mtbench": {"mix": ["mtbench"], "prompt_count": 20},
        "gsm8k": {"mix": ["gsm8k"], "prompt_count": 20},
    }
    assert chain == {
        "id": "mtbench, steps 3, topk 1, draft tokens 4 (c1)",
        "configuration": "steps 3, topk 1, draft tokens 4",
        "workload": "mtbench",
        "conditions": {"concurrency": 1},
        "throughput": {"seconds": 50.5, "tok_s": 210.25, "completed_requests": 20},
        "speculation": {
            "accepted_length": {
                "value": 2.75,
                "counts_bonus_token": True,
                "estimator": "pooled",
            }
        },
        "measurement": {
            "by": "client",
            "tool": "specforge bench_eagle3",
            "window": "with_prefill",
            "counters": "per_run",
        },
    }
    assert "speculation" not in plain
    assert tree["id"] == "gsm8k, steps 5, topk 8, draft tokens 16 (c1)"
    assert report.tree["quality"] == [
        {
            "metric": "accuracy",
            "value": 0.85,
            "sample_size": 19,
            "higher_is_better": True,
            "dataset": "gsm8k",
            "configuration": "steps 5, topk 8, draft tokens 16",
        }
    ]
    assert place(report, "/runs/1/speculation/accepted_length/value")[1] == "2.75"
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_the_name_that_it_gives_its_files_is_no_matter(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(EAGLE, indent=4), "results_20260101_000000.jsonl")
    assert len(report.tree["runs"]) == 3


def test_the_draft_model_is_not_the_target(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(EAGLE), "r.json")
    assert "target" not in report.tree


def test_a_server_of_ones_own_is_unknown(tmp_path: Path) -> None:
    (report,) = imported(
        tmp_path, json.dumps({"model": None, "mtbench": [_entry((None, None, None))]}), "r.json"
    )
    assert report.tree["configurations"] == {"server": {}}
    assert report.tree["runs"][0]["speculation"]["accepted_length"]["value"] == 2.75


def test_a_block_has_one_draft_token_less(tmp_path: Path) -> None:
    entry = {"batch_size": 1, "dflash_block_size": 16, "metrics": [_metrics()], "num_samples": 9}
    text = json.dumps({"model": "acme/dflash-9b", "humaneval": [entry]})
    (report,) = imported(tmp_path, text, "r.json")
    assert report.tree["configurations"] == {
        "block 16": {
            "drafter": {"method": "dflash", "model": "acme/dflash-9b"},
            "draft_length": {"max": 15},
        }
    }
    assert report.tree["runs"][0]["measurement"]["tool"] == "specforge bench_dflash"


def test_bench_model_speedup(tmp_path: Path) -> None:
    line = {
        "batch_size": 1,
        "steps": 3,
        "topk": 1,
        "num_draft_tokens": 4,
        "acc_length": 2.85,
        "duration": 40.5,
        "throughput": 200.0,
        "completion_tokens": 8100,
        "benchmark": "mtbench-writing",
    }
    (report,) = imported(tmp_path, json.dumps(line) + "\n" + json.dumps(line), "r.jsonl")
    run = report.tree["runs"][1]
    assert run["id"] == "mtbench-writing, steps 3, topk 1, draft tokens 4 (c1) (2)"
    assert run["throughput"] == {"seconds": 40.5, "tok_s": 200.0, "tokens": 8100}
    assert run["measurement"]["counters"] == "server_cumulative"
    assert place(report, "/runs/1/throughput/tokens") == (2, "8100")
    (setup,) = report.tree["configurations"].values()
    assert setup["sampler"] == {"temperature": 0}


HOSTILE: list[dict[str, Any]] = [
    {"mtbench": [_entry((3, 1, 4), latency=[], accept_length="nan", num_questions=-1)]},
    {"mtbench": [_entry((10**9, -1, 10**80)), 3, None, {"metrics": [1]}]},
    {"mtbench": [_entry((3, 1, 4))], "model": {"a": 1}, "other": [{"batch_size": 1}]},
    {"mtbench": [{**_entry((3, 1, 4)), "batch_size": []}]},
]


@pytest.mark.parametrize("tree", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(tree: dict[str, Any], tmp_path: Path) -> None:
    for report in imported(tmp_path, json.dumps(tree), "r.json"):
        check_tree(report.tree)


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(EAGLE), "r.json")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "check_env" in helps["BL112"]
    assert "draft model" in helps["BL101"]
