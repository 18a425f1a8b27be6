"""/metrics of vLLM: one reply, several, and what lies between two files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.reading import reports
from tests.importers.reading import findings, imported, place, value

LABELS = 'engine="0",model_name="acme/Tern-7B"'


def _series(name: str, value_of: float, more: str = "") -> str:
    return f"vllm:{name}{{{LABELS}{more}}} {value_of}\n"


def reply(
    *,
    drafts: float = 500,
    drafted: float = 1500,
    accepted: float = 610,
    positions: tuple[float, ...] = (320, 190, 100),
    output: float = 1300,
    requests: float = 10,
    passes: float = 680,
) -> str:
    """A reply of the server, cut down to what matters and some of what does not."""
    text = "# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.\n"
    text += 'python_info{implementation="CPython"} 1.0\n'
    text += _series("num_requests_running", 3.0)
    text += _series("spec_decode_num_drafts_total", drafts)
    text += _series("spec_decode_num_drafts_created", 1.77e9)
    text += _series("spec_decode_num_draft_tokens_total", drafted)
    text += _series("spec_decode_num_accepted_tokens_total", accepted)
    for i, each in enumerate(positions):
        text += _series("spec_decode_num_accepted_tokens_per_pos_total", each, f',position="{i}"')
    text += _series("generation_tokens_total", output)
    for reason, count in (("stop", requests - 2), ("length", 2), ("abort", 0)):
        text += _series("request_success_total", count, f',finished_reason="{reason}"')
    for name, total, count in (
        ("time_to_first_token_seconds", 0.05 * requests, requests),
        ("request_time_per_output_token_seconds", 0.0125 * requests, requests),
        ("inter_token_latency_seconds", 0.025 * passes, passes),
    ):
        text += _series(f"{name}_bucket", count, ',le="0.1"')
        text += _series(f"{name}_bucket", count, ',le="+Inf"')
        text += _series(f"{name}_count", count)
        text += _series(f"{name}_sum", total)
    return text + (
        'vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",'
        'engine="0"} 1.0\n'
    )


def _report(folder: Path, text: str, name: str = "metrics.txt") -> ImportedDocument:
    (report,) = imported(folder, text, name)
    return report


def _run(report: ImportedDocument, number: int = 0) -> dict[str, Any]:
    return cast("dict[str, Any]", cast("dict[str, Any]", report.tree)["runs"][number])


def test_every_field_of_one_reply(tmp_path: Path) -> None:
    report = _report(tmp_path, reply())
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "vllm"},
        "target": {"name": "acme/Tern-7B"},
        "configurations": {
            "acme/Tern-7B": {"draft_length": {"max": 3}, "kv_cache": {"target_type": "fp8"}}
        },
        "runs": [
            {
                "id": "server",
                "configuration": "acme/Tern-7B",
                "speculation": {
                    "counts": {
                        "verify_steps": 500,
                        "drafted": 1500,
                        "accepted": 610,
                        "output_tokens": 1300,
                        "requests": 10,
                        "plain_steps": 180,
                    },
                    "histogram": [180, 130, 90, 100],
                },
                "prefill": {"ttft_ms": {"value": 50.0, "estimator": "mean"}},
                "decode": {
                    "time_per_output_token_ms": {"value": 12.5, "estimator": "mean"},
                    "inter_token_latency_ms": {"value": 25.0, "estimator": "mean"},
                },
                "finish_reasons": {"stop": 8, "length": 2},
                "conditions": {"prompt_cache": True},
                "measurement": {"by": "engine_counter", "counters": "server_cumulative"},
            }
        ],
    }
    assert not [f for f in check_tree(report.tree) if f.severity is Severity.ERROR]


def test_places_are_the_values_of_the_series(tmp_path: Path) -> None:
    report = _report(tmp_path, reply(drafts=501.0))
    assert place(report, "/runs/0/speculation/counts/verify_steps") == (4, "501.0")
    assert place(report, "/target/name")[0] == 4


def test_a_server_without_speculation_says_nothing_of_it(tmp_path: Path) -> None:
    text = "".join(line for line in reply().splitlines(True) if "spec_decode" not in line)
    report = _report(tmp_path, text)
    assert "speculation" not in _run(report)
    assert "drafter" not in json.dumps(report.tree)
    assert "draft_length" not in json.dumps(report.tree)


@pytest.mark.parametrize(
    ("left_out", "at"),
    [
        ("inter_token_latency_seconds_count", "/runs/0/speculation/counts/plain_steps"),
        ("time_to_first_token_seconds_sum", "/runs/0/prefill"),
        ("request_time_per_output_token", "/runs/0/decode/time_per_output_token_ms"),
        ("request_success", "/runs/0/finish_reasons"),
        ("request_success", "/runs/0/speculation/counts/requests"),
        ("cache_config_info", "/runs/0/conditions"),
        ('position="1"', "/runs/0/speculation/histogram"),
        ('position="1"', "/configurations/acme~1Tern-7B/draft_length"),
    ],
)
def test_what_a_reply_lacks_is_absent(tmp_path: Path, left_out: str, at: str) -> None:
    text = "".join(line for line in reply().splitlines(True) if left_out not in line)
    with pytest.raises(KeyError):
        value(_report(tmp_path, text), at)


def test_requests_under_way_are_not_counted_as_served(tmp_path: Path) -> None:
    text = reply().replace(
        _series("time_to_first_token_seconds_count", 10),
        _series("time_to_first_token_seconds_count", 12),
    )
    assert "requests" not in _run(_report(tmp_path, text))["speculation"]["counts"]


def test_engines_of_one_model_are_summed(tmp_path: Path) -> None:
    both = reply() + reply(drafts=100, drafted=300, accepted=90, positions=(60, 20, 10)).replace(
        'engine="0"', 'engine="1"'
    )
    counts = _run(_report(tmp_path, both))["speculation"]["counts"]
    assert (counts["verify_steps"], counts["drafted"], counts["accepted"]) == (600, 1800, 700)


def test_positions_that_do_not_add_up_are_kept_as_shares(tmp_path: Path) -> None:
    report = _report(tmp_path, reply(positions=(320, 330, 100)))
    assert _run(report)["speculation"]["per_position"] == {
        "values": [0.64, 0.66, 0.2],
        "kind": "cumulative",
    }
    assert "BL203" in {f.code for f in check_tree(report.tree)}


def test_two_replies_are_what_came_between(tmp_path: Path) -> None:
    before = reply(drafts=0, drafted=0, accepted=0, positions=(0, 0, 0), output=0, requests=2)
    report = _report(tmp_path, before + reply())
    run = _run(report)
    assert run["id"] == "run"
    assert run["measurement"]["counters"] == "per_run"
    assert run["speculation"]["counts"]["verify_steps"] == 500
    assert run["finish_reasons"] == {"stop": 8}
    assert "requests" in run["speculation"]["counts"]
    assert "BL415" not in {f.code for f in check_tree(report.tree)}


def test_each_of_many_replies_counts_from_the_one_before(tmp_path: Path) -> None:
    replies = [reply(drafts=100 * i, output=300.0 * i, requests=3 * i) for i in range(4)]
    report = _report(tmp_path, "".join(replies))
    counts = [_run(report, i)["speculation"]["counts"] for i in range(3)]
    assert [each["verify_steps"] for each in counts] == [100, 100, 100]


def test_a_server_that_was_started_anew_between_two_replies(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, reply(drafts=900) + reply())
    assert "runs" not in cast("dict[str, Any]", report.tree)
    assert "falls" in report.imported.remarks[0]


def test_two_files_are_subtracted_by_convert(tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(reply(drafts=100, drafted=300, accepted=150, positions=(80, 50, 20)))
    after.write_text(reply())
    out = tmp_path / "out.json"
    result = CliRunner().invoke(app, ["convert", str(before), str(after), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert f"{after} counts from {before} on" in result.output
    (run,) = json.loads(out.read_text())["runs"]
    assert run["speculation"]["counts"]["drafted"] == 1200
    assert run["speculation"]["histogram"] == [160, 100, 60, 80]
    assert run["measurement"]["counters"] == "per_run"


def test_two_files_in_the_wrong_order_are_left_as_they_are(tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(reply(drafts=100))
    after.write_text(reply())
    result = CliRunner().invoke(app, ["convert", str(after), str(before)])
    assert "is not subtracted from" in result.output
    assert '"server_cumulative"' in result.output


def test_v0_counts_past_a_rejection_so_that_its_accepted_tokens_are_left_out(
    tmp_path: Path,
) -> None:
    text = (
        'vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.625\n'
        'vllm:spec_decode_efficiency{model_name="m"} 0.55\n'
        'vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 750.0\n'
        'vllm:spec_decode_num_draft_tokens_total{model_name="m"} 1200.0\n'
        'vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 880.0\n'
        'vllm:generation_tokens_total{model_name="m"} 890.0\n'
    )
    assert _run(_report(tmp_path, text))["speculation"] == {
        "counts": {"drafted": 1200, "output_tokens": 890},
        "acceptance_rate": 0.625,
    }


@pytest.mark.parametrize(
    "text",
    [
        _series("generation_tokens_total", 1e308) * 3,
        _series("spec_decode_num_drafts_total", float("nan")),
        _series("spec_decode_num_drafts_total", float("inf")) + _series("x_total", 1),
        reply().replace("500", "-500"),
        reply().replace("500", "9" * 5000),
        reply().replace("500", "0.5"),
        reply().replace('position="1"', 'position="' + "9" * 400 + '"'),
        "".join(f'vllm:generation_tokens_total{{model_name="m{i}"}} {i}\n' for i in range(300)),
        reply() * 600,
        'vllm:generation_tokens_total{model_name="' + '\\"' * 4000 + '"} 1.0\n',
        reply().replace("acme/Tern-7B", "\x1b[31m"),
    ],
    ids=range(11),
)
def test_hostile_replies_never_raise(tmp_path: Path, text: str) -> None:
    findings(tmp_path, text, "m.txt", tool="vllm-metrics")
    for parsed in reports(tmp_path / "m.txt", limit_bytes=10_000_000, tool="vllm-metrics"):
        if parsed.document is not None:
            check_tree(parsed.document.tree)
