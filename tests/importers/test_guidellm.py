"""GuideLLM: JSON, YAML and CSV of its versions, field by field."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.numbers import printed
from tests.importers.reading import findings, imported, place, value

RANKS = ("p001", "p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999")


def _spread(mean: float, **others: float) -> dict[str, Any]:
    one = {
        "mean": mean,
        "median": mean,
        "std_dev": 0.5,
        "min": mean - 1,
        "max": mean + 1,
        "count": 3,
        "total_sum": 3 * mean,
        "percentiles": {rank: mean - 1 + i / 5 for i, rank in enumerate(RANKS)},
    }
    nothing = {**one, "mean": 0.0, "total_sum": 0.0}
    return {"successful": {**one, **others}, "errored": nothing, "incomplete": nothing}


METRICS: dict[str, Any] = {
    "request_totals": {"successful": 3, "errored": 1, "incomplete": 0, "total": 4},
    "requests_per_second": _spread(1.5),
    "request_concurrency": _spread(3.9),
    "time_to_first_token_ms": _spread(80.25),
    "time_per_output_token_ms": _spread(14.0),
    "inter_token_latency_ms": _spread(12.5),
    "prompt_token_count": _spread(256.0),
    "output_token_count": _spread(100.0, total_sum=300.0),
    "output_tokens_per_second": _spread(150.0),
    "tokens_per_second": _spread(534.0),
}


def _request(steps: int, accepted: int, **body: Any) -> dict[str, Any]:
    sent = {"model": "acme", "ignore_eos": True, "temperature": 0.0, **body}
    drafts = {
        "num_spec_steps": steps,
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": 3 * steps,
        "num_spec_tokens": 3,
        "acceptance_histogram": [steps - accepted, accepted, 0, 0],
    }
    return {
        "request_args": json.dumps({"stream": True, "body": sent}),
        "response_metrics": {"speculative_decoding": drafts},
    }


NEW: dict[str, Any] = {
    "type_": "generative_benchmark",
    "config": {
        "strategy": {"type_": "concurrent", "streams": 4},
        "backend": {"kind": "openai_http", "model": "acme/chat-9b"},
    },
    "metrics": METRICS,
    "requests": {"successful": [_request(60, 40), _request(70, 30), _request(80, 20)]},
    "duration": 2.0,
    "warmup_duration": 0.0,
    "cooldown_duration": 0.0,
}


def _report(*benchmarks: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {
        "metadata": {"version": 2, "guidellm_version": "0.8.1"},
        "config": {"spec": {"data": [{"kind": "synthetic_text"}]}},
        **top,
        "benchmarks": [{**NEW, **each} for each in benchmarks or ({},)],
    }


def _imported(folder: Path, tree: dict[str, Any]) -> ImportedDocument:
    (report,) = imported(folder, json.dumps(tree, indent=1), "benchmarks.json")
    return report


def _measured(mean: float, estimator: str = "mean") -> dict[str, Any]:
    names = ("p0_1", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99_9")
    return {
        "value": mean,
        "stdev": 0.5,
        "range": [mean - 1, mean + 1],
        "percentiles": {name: mean - 1 + i / 5 for i, name in enumerate(names)},
        "estimator": estimator,
    }


def test_every_field(tmp_path: Path) -> None:
    report = _imported(tmp_path, _report())
    assert report.tree == {
        "benchlint": "1",
        "target": {"name": "acme/chat-9b"},
        "configurations": {
            "server": {
                "draft_length": {"max": 3},
                "sampler": {
                    "temperature": 0.0,
                    "left_to_engine": [
                        "top_p",
                        "top_k",
                        "min_p",
                        "repetition_penalty",
                        "presence_penalty",
                        "frequency_penalty",
                        "seed",
                    ],
                },
            }
        },
        "workloads": {
            "concurrent@4": {
                "prompt_tokens": _measured(256.0),
                "output_tokens": _measured(100.0),
                "stop_rule": "ignore_eos",
            }
        },
        "runs": [
            {
                "id": "concurrent@4",
                "configuration": "server",
                "workload": "concurrent@4",
                "conditions": {"concurrency": 4},
                "throughput": {
                    "tok_s": 150.0,
                    "requests_per_s": 1.5,
                    "seconds": 2.0,
                    "completed_requests": 3,
                    "failed_requests": 1,
                    "tokens": 300,
                },
                "prefill": {"ttft_ms": _measured(80.25)},
                "decode": {"time_per_output_token_ms": _measured(12.5, "pooled")},
                "speculation": {
                    "counts": {"verify_steps": 210, "drafted": 630, "accepted": 90},
                    "histogram": [120, 90, 0, 0],
                },
                "measurement": {
                    "by": "client",
                    "tool": "guidellm 0.8.1",
                    "prompt_kind": "synthetic",
                    "counters": "per_run",
                },
            }
        ],
    }


def test_places_are_in_the_original(tmp_path: Path) -> None:
    report = _imported(tmp_path, _report())
    lines = (tmp_path / "benchmarks.json").read_text().splitlines()
    line, marked = place(report, "/runs/0/decode/time_per_output_token_ms/value")
    assert marked == "12.5"
    assert '"inter_token_latency_ms"' in "".join(lines[line - 4 : line])
    assert place(report, "/runs/0/speculation/counts/accepted")[1] == "40"


@pytest.mark.parametrize(
    ("strategy", "name", "streams"),
    [
        ({"type_": "synchronous"}, "synchronous", 1),
        ({"type_": "throughput", "max_concurrency": 32}, "throughput@32", 32),
        ({"type_": "throughput", "max_concurrency": None}, "throughput", None),
        ({"type_": "constant", "rate": 2.5, "max_concurrency": 64}, "constant@2.50", None),
        ({"type_": "poisson", "rate": 1}, "poisson@1.00", None),
    ],
)
def test_strategies(
    strategy: dict[str, Any], name: str, streams: int | None, tmp_path: Path
) -> None:
    report = _imported(tmp_path, _report({"config": {"strategy": strategy}}))
    run = report.tree["runs"][0]
    assert run["id"] == name
    assert run.get("conditions", {}).get("concurrency") == streams


def test_several_benchmarks_are_several_runs(tmp_path: Path) -> None:
    report = _imported(tmp_path, _report({}, {"duration": 3.0}))
    assert [run["id"] for run in report.tree["runs"]] == ["concurrent@4", "concurrent@4 (2)"]
    assert [run["workload"] for run in report.tree["runs"]] == list(report.tree["workloads"])


@pytest.mark.parametrize(
    "change",
    [
        {"warmup_duration": 0.5},
        {"cooldown_duration": 0.5},
        {"metrics": {**METRICS, "request_totals": {"successful": 3, "incomplete": 1}}},
    ],
)
def test_where_part_of_the_run_is_left_out_its_tokens_are(
    change: dict[str, Any], tmp_path: Path
) -> None:
    report = _imported(tmp_path, _report(change))
    assert "tokens" not in report.tree["runs"][0]["throughput"]


def test_counters_of_some_requests_are_not_those_of_the_run(tmp_path: Path) -> None:
    report = _imported(tmp_path, _report({"requests": {"successful": [_request(60, 40)]}}))
    assert "speculation" not in report.tree["runs"][0]
    assert "draft_length" not in report.tree["configurations"]["server"]
    assert "not every answer is listed" in report.imported.remarks[0]


def test_requests_that_say_nothing_of_drafts_leave_them_out(tmp_path: Path) -> None:
    silent = [{**_request(60, 40), "response_metrics": None}] * 3
    report = _imported(tmp_path, _report({"requests": {"successful": silent}}))
    assert "speculation" not in report.tree["runs"][0]
    assert report.imported.remarks == ()
    assert "engine" not in report.tree


def test_what_requests_disagree_on_is_not_said(tmp_path: Path) -> None:
    mixed = [_request(60, 40), _request(70, 30, ignore_eos=False, temperature=1.0)]
    report = _imported(tmp_path, _report({"requests": {"successful": mixed}}))
    assert "stop_rule" not in report.tree["workloads"]["concurrent@4"]
    assert "temperature" not in report.tree["configurations"]["server"]["sampler"]


OLD: dict[str, Any] = {
    "type_": "generative_benchmark",
    "args": {"strategy": {"type_": "concurrent", "streams": 2}, "warmup_number": 5},
    "worker": {"backend_type": "openai_http", "backend_model": "acme/chat-9b"},
    "request_loader": {"data": "prompt_tokens=256,output_tokens=100"},
    "request_totals": {"successful": 3, "errored": 0, "incomplete": 0, "total": 3},
    "metrics": {k: v for k, v in METRICS.items() if k != "request_totals"},
    "requests": {"successful": [{"prompt": "x", "output": "y", "output_tokens": 100}]},
    "duration": 2.0,
}


def test_the_shape_before_0_4(tmp_path: Path) -> None:
    report = _imported(tmp_path, {"benchmarks": [OLD]})
    run = report.tree["runs"][0]
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert run["id"] == "concurrent@2"
    assert run["conditions"] == {"concurrency": 2, "warmup_requests": 5}
    assert run["throughput"] == {
        "tok_s": 150.0,
        "requests_per_s": 1.5,
        "seconds": 2.0,
        "completed_requests": 3,
        "failed_requests": 0,
    }
    assert run["measurement"] == {"by": "client", "tool": "guidellm", "prompt_kind": "synthetic"}
    assert run["decode"]["time_per_output_token_ms"]["value"] == 12.5


def test_yaml_is_the_same(tmp_path: Path) -> None:
    text = yaml.safe_dump(_report(), sort_keys=True)
    (report,) = imported(tmp_path, text, "benchmarks.yaml")
    assert report.tree["runs"] == _imported(tmp_path, _report()).tree["runs"]
    assert place(report, "/runs/0/throughput/seconds")[1] == "2.0"


def _csv(*rows: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def _columns(*columns: tuple[str, str, str, str]) -> str:
    return _csv(*(list(row) for row in zip(*columns, strict=True)))


SPREAD = "[11.5, 11.5, 11.6, 11.7, 11.8, 12.0, 13.0, 13.2, 13.3, 13.4, 13.5]"


def test_csv_from_0_4_on(tmp_path: Path) -> None:
    text = _columns(
        ("Run Info", "Run ID", "", "r-1"),
        ("Run Info", "Backend", "", json.dumps({"model": "acme/chat-9b"})),
        ("Benchmark", "Type", "", "generative_benchmark"),
        ("Benchmark", "Strategy", "", "concurrent@4"),
        ("Timings", "Duration", "Sec", "2.0"),
        ("Request Counts", "Successful", "", "3"),
        ("Request Counts", "Errored", "", "1"),
        ("Time to First Token", "Successful ms", "Mean", "80.250"),
        ("Time to First Token", "Successful ms", "Median", "80.0"),
        ("Inter Token Latency", "Successful ms", "Mean", "12.50"),
        ("Inter Token Latency", "Successful ms", "Std Dev", "0.5"),
        ("Inter Token Latency", "Successful ms", "Percentiles", SPREAD),
        ("Time per Output Token", "Successful ms", "Mean", "14.0"),
        ("Token Throughput", "Successful Output Tokens/Sec", "Mean", "150.0"),
        ("Token Throughput", "Incomplete Output Tokens/Sec", "Mean", "7.0"),
        ("Token Metrics", "Successful Output Tokens", "Mean", "100.0"),
        ("Runtime Info", "Metadata", "", json.dumps({"guidellm_version": "0.5.3"})),
    )
    (report,) = imported(tmp_path, text, "benchmarks.csv")
    run = report.tree["runs"][0]
    assert report.tree["target"] == {"name": "acme/chat-9b"}
    assert run["measurement"]["tool"] == "guidellm 0.5.3"
    assert run["conditions"] == {"concurrency": 4}
    assert run["throughput"] == {
        "tok_s": 150.0,
        "seconds": 2.0,
        "completed_requests": 3,
        "failed_requests": 1,
    }
    assert run["prefill"]["ttft_ms"] == {
        "value": 80.25,
        "percentiles": {"p50": 80.0},
        "estimator": "mean",
    }
    latency = run["decode"]["time_per_output_token_ms"]
    assert printed(latency["value"]) == "12.50"
    assert latency["range"] == [11.5, 13.5]
    assert latency["percentiles"]["p1"] == 11.6
    assert latency["percentiles"]["p75"] == 13.0
    at = "/runs/0/decode/time_per_output_token_ms/percentiles/p95"
    assert place(report, at) == (4, "13.3")
    assert report.tree["workloads"]["concurrent@4"]["output_tokens"]["value"] == 100.0


def test_csv_before_0_4(tmp_path: Path) -> None:
    order = "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"
    heads = [
        "Type",
        "Run Id",
        "Id",
        "Name",
        "Start Time",
        "Duration",
        "Successful Requests",
        "Successful Inter token latency ms mean",
        "Successful Inter token latency ms median",
        "Successful Inter token latency ms std dev",
        f"Successful Inter token latency ms {order}",
        "Successful Output tokens per second mean",
        "Errored Output tokens per second mean",
    ]
    row = ["generative_benchmark", "r", "i", "synchronous", "2026-05-02 08:30:00", "2.0", "3"]
    text = _csv(heads, [*row, "12.50", "12.4", "0.5", SPREAD, "75.0", "0.0"])
    (report,) = imported(tmp_path, text, "benchmarks.csv")
    run = report.tree["runs"][0]
    assert run["id"] == "synchronous"
    assert run["conditions"] == {"concurrency": 1}
    assert run["throughput"] == {"tok_s": 75.0, "seconds": 2.0, "completed_requests": 3}
    latency = run["decode"]["time_per_output_token_ms"]
    assert latency["percentiles"]["p50"] == 12.4
    assert latency["estimator"] == "pooled"
    assert place(report, "/runs/0/throughput/tok_s") == (2, "75.0")


def test_a_csv_without_the_strategy_is_read_too(tmp_path: Path) -> None:
    columns = (
        ("Run Info", "Run ID", "", "r"),
        ("Run Info", "Run Index", "", "0"),
        ("Benchmark", "Type", "", "generative_benchmark"),
        ("Benchmark", "ID", "", "i"),
        ("Inter Token Latency", "Successful ms", "Mean", "12.50"),
    )
    (report,) = imported(tmp_path, _columns(*columns), "benchmarks.csv")
    assert value(report, "/runs/0/id") == "benchmark"


def test_an_honest_one_gives_no_error(tmp_path: Path) -> None:
    for tree in (_report(), {"benchmarks": [OLD]}):
        report = _imported(tmp_path, tree)
        assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


HOSTILE: list[dict[str, Any]] = [
    {"config": {"strategy": {"type_": [], "rate": "x", "streams": -1}}},
    {"config": {"strategy": {"type_": "constant", "rate": 1e308}}},
    {"requests": {"successful": [1, None, {"request_args": "{" * 3000}]}},
    {"requests": {"successful": [{"request_args": '{"body": [1]}'}]}},
    {"requests": {"successful": {"response_metrics": 3}}},
    {"metrics": {"inter_token_latency_ms": {"successful": [1]}, "request_totals": 4}},
    {"duration": "1e9999", "warmup_duration": []},
]


@pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_never_raise(change: dict[str, Any], tmp_path: Path) -> None:
    check_tree(_imported(tmp_path, _report(change)).tree)


def test_hostile_counters_are_left_out(tmp_path: Path) -> None:
    requests = [_request(60, 40), _request(70, 30), _request(80, 20)]
    drafts = requests[0]["response_metrics"]["speculative_decoding"]
    drafts |= {"num_spec_steps": -1, "acceptance_histogram": [1, "x"], "num_spec_tokens": 9}
    report = _imported(tmp_path, _report({"requests": {"successful": requests}}))
    assert value(report, "/runs/0/speculation") == {"counts": {"drafted": 630, "accepted": 90}}
    assert "draft_length" not in report.tree["configurations"]["server"]


@pytest.mark.parametrize(
    "text",
    [
        "Type,Run Id,Id,Name,Start Time,Duration\n",
        "Run Info,Run Info,x,Benchmark,Benchmark,y\na,b\n",
        "Run Info,Run Info,x,Benchmark,Benchmark,y\n" * 4,
        'Type,Run Id,Id,Name,Start Time,Duration\n"a,b\n\n,,,,,\n',
    ],
)
def test_a_csv_without_results_is_no_report(text: str, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, text, "benchmarks.csv")
    assert finding.code == "BL014"


def test_hints_are_for_what_is_missing(tmp_path: Path) -> None:
    report = _imported(tmp_path, {"benchmarks": [OLD]})
    helps = {f.code: f.help for f in report.advised(check_tree(report.tree))}
    assert "guidellm run --data" in helps["BL119"]
    assert "log" in helps["BL113"]


#: As 0.6 and later print it: heads of several lines, in which `||` joins cells.
CONSOLE = """ℹ Run Summary Info
|==============|==========|==========|======|======|======|======|=====|=====|
| Benchmark    | Timings                              ||||| Requests       |||
| Strategy     | Start    | End      | Dur  | Warm | Cool | Comp | Inc | Err |
|              |          |          | Sec  | Sec  | Sec  | Tot  | Tot | Tot |
|--------------|----------|----------|------|------|------|------|-----|-----|
| synchronous  | 10:00:00 | 10:00:30 | 30.0 | 0.0  | 0.0  | 12   | 0   | 0   |
| concurrent@4 | 10:01:00 | 10:01:30 | 29.5 | 0.0  | 0.0  | 40   | 3   | 1   |
|==============|==========|==========|======|======|======|======|=====|=====|


ℹ Request Latency Statistics (Completed Requests)
|==============|===========|=====|======|============|======|=======|=======|=====|=====|======|
| Benchmark    | Request Latency      ||| TTFT                    ||| ITL             ||| TPOT |
| Strategy     | Sec                  ||| ms                      ||| ms              ||| ms   |
|              | Mean      | Mdn | p95  | Mean       | Mdn  | p95   | Mean  | Mdn | p95 | Mean |
|--------------|-----------|-----|------|------------|------|-------|-------|-----|-----|------|
| synchronous  | 2.5 ± 0.1 | 2.4 | 2.9* | 31.5 ± 6.0 | 30.5 | 45.5* | 5.25  | 5.0 | 6.4 | 5.5  |
| concurrent@4 | 3.5 ± 0.1 | 3.4 | 3.9* | 61.5 ± 6.0 | 60.5 | 85.5* | 7.25  | 7.0 | 8.4 | 7.5  |
|==============|===========|=====|======|============|======|=======|=======|=====|=====|======|


ℹ Server Throughput Statistics (All Requests)
|==============|=======|======|=========|==============|===============|==============|
| Benchmark    | Requests             ||| Input Tokens | Output Tokens | Total Tokens |
| Strategy     | Concurrency || Per Sec | Per Sec      | Per Sec       | Per Sec      |
|              | Mdn   | Mean | Mean                                               ||||
|--------------|-------|------|---------|--------------|---------------|--------------|
| synchronous  | 1.0   | 1.0  | 0.4     | 40.5         | 190.5         | 231.0        |
| concurrent@4 | 4.0   | 3.9  | 1.3     | 130.5        | 610.5         | 741.0        |
|==============|=======|======|=========|==============|===============|==============|
"""


def test_what_it_prints(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, CONSOLE, "output.txt")
    assert report.importer.name == "guidellm"
    one, four = report.tree["runs"]
    assert one == {
        "id": "synchronous",
        "configuration": "server",
        "workload": "synchronous",
        "throughput": {
            "tok_s": 190.5,
            "requests_per_s": 0.4,
            "seconds": 30.0,
            "completed_requests": 12,
            "failed_requests": 0,
        },
        "prefill": {
            "ttft_ms": {
                "value": 31.5,
                "percentiles": {"p50": 30.5, "p95": 45.5},
                "estimator": "mean",
            }
        },
        "decode": {
            "time_per_output_token_ms": {
                "value": 5.25,
                "percentiles": {"p50": 5.0, "p95": 6.4},
                "estimator": "pooled",
            }
        },
        "conditions": {"concurrency": 1},
        "measurement": {"by": "client", "tool": "guidellm"},
    }
    assert four["conditions"] == {"concurrency": 4}
    assert four["throughput"] == {
        "seconds": 29.5,
        "completed_requests": 40,
        "failed_requests": 1,
    }
    assert place(report, "/runs/1/decode/time_per_output_token_ms/value") == (19, "7.25")
    assert place(report, "/runs/0/prefill/ttft_ms/value") == (18, "31.5")
