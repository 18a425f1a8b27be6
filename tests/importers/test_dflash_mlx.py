"""dflash-mlx: its benchmark, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from tests.importers.reading import imported, place


def _repeat(plain: float, fast: float) -> dict[str, Any]:
    return {
        "run": 1,
        "thermal_pressure": "nominal",
        "baseline": {"ttft_ms": 300.5, "generation_tps": plain, "peak_memory_gb": 8.59},
        "dflash": {
            "ttft_ms": 280.25,
            "generation_tps": fast,
            "tokens_per_cycle": 5.0,
            "cycles": 100,
            "acceptance_ratio": 0.8,
            "acceptance_first_20_avg": 4.0,
            "acceptance_last_20_avg": 4.5,
            "peak_memory_gb": 10.7375,
        },
        "speedup": fast / plain,
    }


RESULT: dict[str, Any] = {
    "hardware": {"chip": "Acme M9", "memory_gb": "64", "mlx_version": "0.31.1"},
    "config": {
        "target_model": "acme/chat-9b-4bit",
        "draft_model": "acme/dflash-9b",
        "max_new_tokens": 500,
        "block_tokens": 8,
        "prompt": "Say when.",
        "prompt_tokens": 12,
        "prompt_id": "say_when",
        "repeat": 2,
        "git_hash": "unknown",
    },
    "runs": [_repeat(30.0, 60.0), _repeat(32.0, 68.0)],
    "summary": {
        "baseline_tps_median": 31.0,
        "dflash_tps_median": 64.0,
        "speedup_median": 2.0625,
        "acceptance_ratio_median": 0.8,
    },
}


def test_every_field(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RESULT, indent=2), "r.json")
    plain, fast = report.tree["runs"]
    assert report.tree["machine"] == {
        "devices": [{"name": "Acme M9", "memory_gb": 64, "unified_memory": True}]
    }
    assert report.tree["target"] == {"name": "acme/chat-9b-4bit"}
    assert report.tree["configurations"] == {
        "baseline": {"engine": {"name": "mlx-lm"}, "drafter": None},
        "dflash": {
            "engine": {"name": "dflash-mlx"},
            "drafter": {"method": "dflash", "model": "acme/dflash-9b"},
            "draft_length": {"max": 7},
        },
    }
    assert report.tree["workloads"] == {
        "prompt": {
            "prompts": {"inline": ["Say when."]},
            "prompt_tokens": 12,
            "prompt_count": 1,
        }
    }
    assert plain["decode"] == {
        "tok_s": {"value": 31.0, "estimator": "median", "samples": [30.0, 32.0]}
    }
    assert plain["prefill"] == {"ttft_ms": {"samples": [300.5, 300.5]}}
    assert plain["memory"] == {"device_used_gib": {"samples": [8.0, 8.0]}}
    assert plain["conditions"] == {"repeats": 2, "concurrency": 1}
    assert fast["speculation"] == {
        "acceptance_rate": {
            "value": 0.8,
            "estimator": "median",
            "samples": [0.8, 0.8],
            "of": "output",
        },
        "accepted_length": {"samples": [5.0, 5.0], "counts_bonus_token": True},
    }
    assert fast["speedup"] == {
        "value": 2.0625,
        "estimator": "median",
        "samples": [2.0, 2.125],
        "over": "baseline",
    }
    assert place(report, "/runs/1/decode/tok_s/value")[1] == "64.0"
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_the_output_length_is_not_what_was_asked_for(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RESULT), "r.json")
    assert "output_tokens" not in report.tree["workloads"]["prompt"]
    assert "tokens" not in report.tree["runs"][1]["decode"]


def test_one_repeat_has_no_samples(tmp_path: Path) -> None:
    once = {**RESULT, "runs": RESULT["runs"][:1]}
    (report,) = imported(tmp_path, json.dumps(once), "r.json")
    assert report.tree["runs"][0]["prefill"] == {"ttft_ms": {"value": 300.5}}


HOSTILE: list[dict[str, Any]] = [
    {"runs": [{"dflash": [], "baseline": {}}]},
    {"runs": [{"dflash": {"generation_tps": "x"}}, 3], "summary": []},
    {"config": {"block_tokens": -1, "prompt": [], "repeat": "x"}, "hardware": {"chip": 3}},
    {"runs": [_repeat(1e-300, 1e300)], "summary": {"speedup_median": None}},
]


@pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(change: dict[str, Any], tmp_path: Path) -> None:
    for report in imported(tmp_path, json.dumps({**RESULT, **change}), "r.json"):
        check_tree(report.tree)


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(RESULT), "r.json")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "pip show" in helps["BL113"]
