"""llama-benchy: JSON, CSV and Markdown, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place, value


def _metric(*values: float) -> dict[str, Any]:
    return {"mean": mean(values), "std": pstdev(values), "values": list(values)}


ROW: dict[str, Any] = {
    "concurrency": 1,
    "context_size": 4096,
    "prompt_size": 512,
    "response_size": 128,
    "is_context_prefill_phase": False,
    "pp_throughput": _metric(2000.5, 2010.5),
    "pp_req_throughput": _metric(2000.5, 2010.5),
    "tg_throughput": _metric(60.25, 61.75),
    "tg_req_throughput": _metric(60.25, 61.75),
    "peak_throughput": _metric(66.0, 68.0),
    "peak_req_throughput": _metric(66.0, 68.0),
    "ttfr": _metric(250.0, 252.0),
    "est_ppt": _metric(248.0, 250.0),
    "e2e_ttft": _metric(251.0, 253.0),
    "throughput_over_time": None,
}


def _json(*rows: dict[str, Any], **top: Any) -> str:
    made = {
        "version": "0.4.0",
        "timestamp": "2026-05-02 08:30:00Z",
        "latency_mode": "generation",
        "latency_ms": 2.0,
        "model": "acme/chat-9b",
        "prefix_caching_enabled": False,
        "max_concurrency": 1,
        **top,
        "benchmarks": [{**ROW, **each} for each in rows or ({},)],
    }
    return json.dumps(made, indent=1)


def test_every_field_of_a_single_stream(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    assert report.tree == {
        "benchlint": "1",
        "date": "2026-05-02T08:30:00Z",
        "target": {"name": "acme/chat-9b"},
        "configurations": {"server": {}},
        "workloads": {
            "pp512+tg128 @ d4096": {"prompt_tokens": {"value": 512, "approx": True}},
        },
        "runs": [
            {
                "id": "pp512+tg128 @ d4096",
                "configuration": "server",
                "workload": "pp512+tg128 @ d4096",
                "conditions": {"concurrency": 1, "kv_position": {"fill_to_tokens": 4096}},
                "decode": {
                    "tok_s": {
                        "value": 61.0,
                        "stdev": 0.75,
                        "samples": [60.25, 61.75],
                        "estimator": "mean",
                    }
                },
                "prefill": {
                    "tok_s": {
                        "value": 2005.5,
                        "stdev": 5.0,
                        "samples": [2000.5, 2010.5],
                        "estimator": "mean",
                    },
                    "ttft_ms": {
                        "value": 252.0,
                        "stdev": 1.0,
                        "samples": [251.0, 253.0],
                        "estimator": "mean",
                    },
                },
                "throughput": {
                    "peak_tok_s": {
                        "value": 67.0,
                        "stdev": 1.0,
                        "samples": [66.0, 68.0],
                        "estimator": "mean",
                    }
                },
                "measurement": {
                    "by": "client",
                    "prompt_kind": "natural",
                    "tool": "llama-benchy 0.4.0",
                    "window": "decode_only",
                },
            }
        ],
    }


def test_several_streams_have_a_rate_of_all_of_them(tmp_path: Path) -> None:
    four = {"concurrency": 4, "tg_throughput": _metric(150.0, 154.0), "context_size": 0}
    (report,) = imported(tmp_path, _json({}, four), "r.json")
    one, other = report.tree["runs"]
    assert one["id"] == "pp512+tg128 @ d4096 (c1)"
    assert other["id"] == "pp512+tg128 (c4)"
    assert other["throughput"]["tok_s"]["value"] == 152.0
    assert other["decode"]["tok_s"]["value"] == 61.0
    assert "kv_position" not in other["conditions"]


def test_prompts_that_may_be_cached_are_said_to_be(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(prefix_caching_enabled=True), "r.json")
    assert value(report, "/runs/0/conditions/prompt_cache") is True


def test_the_phase_that_fills_the_context_is_named_so(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json({"is_context_prefill_phase": True}), "r.json")
    assert value(report, "/runs/0/id") == "ctx @ d4096"


@pytest.mark.parametrize("name", ["tg_req_throughput", "pp_req_throughput", "e2e_ttft"])
def test_what_was_not_measured_is_absent(name: str, tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json({name: None}), "r.json")
    gone = {
        "tg_req_throughput": ("decode", "tok_s"),
        "pp_req_throughput": ("prefill", "tok_s"),
        "e2e_ttft": ("prefill", "ttft_ms"),
    }[name]
    assert gone[1] not in report.tree["runs"][0].get(gone[0], {})


def test_acceptance_output_length_and_engine_are_absent(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    assert "speculation" not in report.tree["runs"][0]
    assert "output_tokens" not in report.tree["workloads"]["pp512+tg128 @ d4096"]
    assert "engine" not in report.tree


def test_places_are_in_the_original(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    lines = (tmp_path / "r.json").read_text().splitlines()
    line, marked = place(report, "/runs/0/decode/tok_s/value")
    assert marked == "61.0"
    assert lines[line - 1].strip() == '"mean": 61.0,'
    assert '"tg_req_throughput"' in lines[line - 2]
    assert place(report, "/runs/0/measurement/tool")[1] == '"0.4.0"'


def test_an_honest_one_gives_no_warning(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json({}, {"concurrency": 2}), "r.json")
    assert not [f for f in check_tree(report.tree) if f.severity is not Severity.NOTE]


SINGLE = """\
| model | test | t/s | peak t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |
|:-|-:|-:|-:|-:|-:|-:|
| acme/chat-9b | pp512 | 900.40 ± 2.10 | | 560.0 ± 1.0 | 558.0 ± 1.0 | 561.50 ± 1.20 |
| acme/chat-9b | tg128 | 70.10 ± 0.40 | 75.00 ± 0.00 | | | |
| acme/chat-9b | tg128 @ d2048 | 60.00 ± 0.30 | 66.00 ± 0.00 | | | |
"""


def test_markdown_of_a_single_stream(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, SINGLE, "r.txt")
    prompt, plain, deep = report.tree["runs"]
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert prompt["id"] == "pp512"
    assert prompt["prefill"] == {
        "tok_s": {"value": 900.40, "stdev": 2.10, "estimator": "mean"},
        "ttft_ms": {"value": 561.50, "stdev": 1.20, "estimator": "mean"},
    }
    assert "decode" not in prompt
    assert plain["decode"] == {"tok_s": {"value": 70.10, "stdev": 0.40, "estimator": "mean"}}
    assert plain["throughput"] == {"peak_tok_s": {"value": 75.0, "estimator": "mean"}}
    assert plain["conditions"] == {"concurrency": 1}
    assert deep["conditions"]["kv_position"] == {"fill_to_tokens": 2048}
    assert printed(prompt["prefill"]["tok_s"]["value"]) == "900.40"
    assert place(report, "/runs/0/prefill/tok_s/value") == (3, "900.40")
    assert place(report, "/runs/0/prefill/ttft_ms/stdev") == (3, "1.20")


SEVERAL = """\
| model | test | t/s (total) | t/s (req) | peak t/s | peak t/s (req) \
| ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |
|:-|-:|-:|-:|-:|-:|-:|-:|-:|
| acme/chat-9b | tg128 (c1) | 70.10 ± 0.40 | 70.10 ± 0.40 | 75.00 ± 0.00 | 75.00 ± 0.00 | | | |
| acme/chat-9b | tg128 (c8) | 310.00 ± 3.00 | 41.20 ± 0.90 | 344.00 ± 1.00 | 50.00 ± 0.00 | | | |
"""


def test_markdown_of_several_streams(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, SEVERAL, "r.md", tool="llama-benchy")
    one, eight = report.tree["runs"]
    assert one["conditions"] == {"concurrency": 1}
    assert "tok_s" not in one["throughput"]
    assert eight["conditions"] == {"concurrency": 8}
    assert eight["decode"]["tok_s"]["value"] == 41.20
    assert eight["throughput"]["tok_s"] == {"value": 310.0, "stdev": 3.0, "estimator": "mean"}


def test_its_table_on_a_page_with_others(tmp_path: Path) -> None:
    page = f"# Mine\n\n| x | tok/s |\n|---|---|\n| a | 3.0 |\n\n{SINGLE}"
    others, own = imported(tmp_path, page, "README.md")
    assert others.imported.tool == "tables"
    assert own.imported.tool == "llama-benchy"
    assert [run["id"] for run in own.tree["runs"]] == ["pp512", "tg128", "tg128 @ d2048"]
    assert "decode" not in own.tree["runs"][0]


def test_csv(tmp_path: Path) -> None:
    text = (
        "model,test_name,t_s_mean,t_s_std,t_s_req_mean,t_s_req_std,peak_ts_mean,peak_ts_std,"
        "peak_ts_req_mean,peak_ts_req_std,ttfr_mean,ttfr_std,est_ppt_mean,est_ppt_std,"
        "e2e_ttft_mean,e2e_ttft_std\n"
        "acme/chat-9b,pp512,900.4,2.1,900.4,2.1,,,,,560.0,1.0,558.0,1.0,561.5,1.2\n"
        "acme/chat-9b,tg128,70.125,0.5,70.125,0.5,75.0,0.0,75.0,0.0,,,,,,\n"
    )
    (report,) = imported(tmp_path, text, "r.csv")
    prompt, decode = report.tree["runs"]
    assert prompt["prefill"]["ttft_ms"] == {"value": 561.5, "stdev": 1.2, "estimator": "mean"}
    assert decode["decode"]["tok_s"] == {"value": 70.125, "stdev": 0.5, "estimator": "mean"}
    assert place(report, "/runs/1/decode/tok_s/value") == (3, "70.125")


def test_no_result_no_report(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, _json().replace('"benchmarks"', '"benchmarks_"'), "r.json")
    assert finding.code == "BL014"


HOSTILE = [
    {"benchmarks": [None, 1, [], {"concurrency": "x", "tg_req_throughput": []}]},
    {"benchmarks": {"concurrency": -1}},
    {"benchmarks": [{"tg_req_throughput": {"mean": "1e9999", "values": [[], {}]}}]},
    {"benchmarks": [{"concurrency": 10**70, "prompt_size": -5, "context_size": 1e300}]},
    {"model": ["\x1b[31m"], "version": {}, "timestamp": 3, "benchmarks": [{}, {}]},
]


@pytest.mark.parametrize("top", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(top: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps({"version": "1", "latency_mode": "api", "latency_ms": 0, **top})
    for report in imported(tmp_path, text, "r.json", tool="llama-benchy"):
        check_tree(report.tree)


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, _json(), "r.json")
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "--exact-tg" in helps["BL120"]
    assert "--no-warmup" in helps["BL115"]
