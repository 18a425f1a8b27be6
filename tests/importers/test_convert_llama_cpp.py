"""Replies, a server's log and a perplexity log into one report, from files to `check`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from tests.importers.llama_server_logs import (
    ACCEPTANCE,
    POSITIONS,
    SAMPLER,
    START,
    request,
    statistics,
)
from tests.importers.test_llama_perplexity import PERPLEXITY
from tests.importers.test_llama_server_metrics import METRICS
from tests.importers.test_llama_server_props import PROPS

LATE = ACCEPTANCE["late 2026"]
MODEL = "Aurora-9B-Q5_K_M.gguf"


def _reply(milliseconds: float = 960.0042) -> dict[str, Any]:
    """The reply to the request that the log of the tests is about; it has more digits."""
    return {
        "choices": [{"finish_reason": "length", "message": {"content": "…"}}],
        "created": 1790000000,
        "model": MODEL,
        "system_fingerprint": "b9107-7c3e1ab",
        "usage": {"prompt_tokens": 400, "completion_tokens": 49},
        "timings": {
            "prompt_n": 400,
            "prompt_ms": 80.00004,
            "prompt_per_second": 4999.9975,
            "predicted_n": 49,
            "predicted_ms": milliseconds,
            "predicted_per_second": 48000 / milliseconds,
            "draft_n": 60,
            "draft_n_accepted": 27,
        },
    }


class Files:
    """Files in a folder, and what `convert` makes of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "report.json"

    def write(self, name: str, content: object) -> str:
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def convert(self, *files: str) -> str:
        result = CliRunner().invoke(app, ["convert", *files, "-o", str(self.out)])
        assert result.exit_code == 0, result.output
        return result.output

    def converted(self, *files: str) -> Any:
        self.convert(*files)
        return json.loads(self.out.read_text(encoding="utf-8"))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


LOG = START + SAMPLER.format(temp="0.600")
ONE = LOG + request(7, LATE, POSITIONS, statistics(1, drafts=20, drafted=60, accepted=27))


def test_a_result_a_log_and_a_perplexity_log(files: Files) -> None:
    report = files.converted(
        files.write("reply.json", _reply()),
        files.write("server.log", ONE),
        files.write("perplexity.log", PERPLEXITY),
    )
    assert list(report["configurations"]) == [MODEL]
    configuration = report["configurations"][MODEL]
    assert configuration["engine"]["version"] == "b9107"  # both say it
    assert configuration["drafter"] == {"model": "Aurora-0.4B.gguf", "method": "draft_model"}
    assert configuration["draft_length"]["max"] == 3
    assert configuration["kv_cache"]["target_type"] == "q8_0/q4_0"
    assert report["date"] == "2026-09-21"
    (run,) = report["runs"]
    assert run["id"] == "reply"
    assert run["finish_reasons"] == {"length": 1}  # the reply alone
    assert run["decode"]["seconds"] == 0.9600042  # the reply, with more digits
    assert run["conditions"] == {
        "kv_position": {"filled_tokens": 400},
        "concurrency": 1,
        "warm": False,
    }
    assert run["speculation"]["accepted_length"] == {"value": 2.35, "counts_bonus_token": True}
    assert run["speculation"]["counts"]["verify_steps"] == 20  # the log alone
    assert report["quality"][0]["value"] == 7.4405
    assert report["quality"][0]["context_tokens"] == 2048


def test_the_report_is_without_reproach_and_says_what_is_missing(files: Files) -> None:
    names = [
        files.write("reply.json", _reply()),
        files.write("server.log", ONE),
        files.write("perplexity.log", PERPLEXITY),
    ]
    told = files.convert(*names)
    assert f"{names[1]}:4" in told  # where fields come from
    assert "BL125 no command line: llama-server does not print the command" in told
    assert "BL111" not in told  # the quality is there
    result = CliRunner().invoke(app, ["check", str(files.out), "--format", "json"])
    found = json.loads(result.output)["files"][0]["findings"]
    assert [f["code"] for f in found if f["severity"] == "error"] == []


def test_requests_of_a_log_find_their_replies(files: Files) -> None:
    """Not by their order: by their times, to the digits that the log has."""
    slow = request(8, LATE).replace("960.00 ms", "975.00 ms").replace("50.00 tok", "49.23 tok")
    report = files.converted(
        files.write("replies.json", [_reply(975.0008), _reply()]),
        files.write("server.log", LOG + request(7, LATE, POSITIONS) + slow),
    )
    first, second, total = report["runs"]
    assert (first["id"], first["decode"]["seconds"]) == ("reply 1", 0.9750008)
    assert "per_position" not in first["speculation"]
    assert second["speculation"]["per_position"]["values"] == [0.6, 0.5, 0.25]
    assert total["id"] == "all requests"
    assert total["parts"] == ["reply 2", "reply 1"]


def test_a_request_that_no_reply_is_of_stands_for_itself(files: Files) -> None:
    report = files.converted(
        files.write("replies.json", [_reply(), _reply(940.0)]),
        files.write("server.log", LOG + request(7, LATE) + request(8, LATE, slot=1)),
    )
    assert [run["id"] for run in report["runs"]] == [
        "reply 1",
        "reply 2",
        "task 8",
        "all requests",
    ]
    assert report["runs"][3]["parts"] == ["reply 1", "task 8"]


CLIENT = {
    "benchlint": "1",
    "engine": {"name": "llama.cpp"},
    "configurations": {"served": {"drafter": {"method": "draft_model"}}},
    "runs": [{"id": "client", "configuration": "served", "throughput": {"tok_s": 91.2}}],
}


def test_the_sums_of_a_log_are_laid_over_the_run_of_a_client(files: Files) -> None:
    log = files.write("server.log", START + request(1, LATE) + request(2, LATE))
    told = files.convert(files.write("client.json", CLIENT), log)
    (run,) = json.loads(files.out.read_text())["runs"]
    assert run["throughput"] == {"tok_s": 91.2}
    assert run["speculation"]["counts"]["drafted"] == 120
    assert run["measurement"] == {"counters": "server_cumulative"}
    assert "the sums over its 2 requests, not each" in told


def test_counters_of_the_server_are_laid_over_the_run_of_a_client(files: Files) -> None:
    metrics = files.write("metrics.txt", METRICS)
    (run,) = files.converted(files.write("client.json", CLIENT), metrics)["runs"]
    assert run["id"] == "client"
    assert run["speculation"]["histogram"] == [10, 14, 6, 5, 15]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_defaults_give_way_to_what_was_in_effect(order: tuple[int, int], files: Files) -> None:
    settings = {**PROPS["default_generation_settings"], "n_ctx": 8192}
    props = {**PROPS, "model_path": f"/srv/gguf/{MODEL}", "default_generation_settings": settings}
    logs = [files.write("server.log", ONE), files.write("props.json", props)]
    report = files.converted(files.write("reply.json", _reply()), *(logs[i] for i in order))
    sampler = report["configurations"][MODEL]["sampler"]
    assert sampler["temperature"] == 0.6
    assert sampler["repetition_penalty"] == 1.05


def test_greedy_replies_are_not_taken_for_the_defaults_of_the_server(files: Files) -> None:
    """A temperature of 0 that is written with no digit behind it could be any up to 1."""
    props = {**PROPS, "model_path": f"/srv/gguf/{MODEL}"}
    settings = {"temperature": 0.0, "top_k": 40, "repeat_penalty": 1.0}
    reply = {**_reply(), "generation_settings": settings}
    names = [files.write("reply.json", reply), files.write("props.json", props)]
    sampler = files.converted(*names)["configurations"][MODEL]["sampler"]
    assert (sampler["temperature"], sampler["repetition_penalty"]) == (0.0, 1.0)
    assert sampler["top_p"] == 0.95  # the reply does not say it


def test_other_contradictions_stay_what_they_are(files: Files) -> None:
    other = START.replace("build 9107 (7c3e1ab)", "build 9200 (1111111)") + request(7, LATE)
    result = CliRunner().invoke(
        app, ["convert", files.write("a.json", _reply()), files.write("b.log", other)]
    )
    assert result.exit_code == 2
    assert "b9107" in result.output
    assert "b9200" in result.output


def test_a_log_of_another_model_than_the_result_names_is_refused(files: Files) -> None:
    other = ONE.replace("Aurora-9B-Q5_K_M", "Borealis-27B-Q4_K_M")
    result = CliRunner().invoke(
        app, ["convert", files.write("a.json", _reply()), files.write("b.log", other)]
    )
    assert result.exit_code == 2
    assert f"target.name: {MODEL}" in result.output
    assert "Borealis-27B-Q4_K_M.gguf" in result.output


BENCH = """\
| model | size | params | backend | ngl | test | t/s |
| --- | ---: | ---: | --- | --: | ---: | ---: |
| aurora 9B Q5_K - Medium | 6.10 GiB | 9.24 B | CUDA | 99 | tg128 @ d65536 | 71.32 ± 0.11 |
"""


def test_a_servers_log_is_not_of_a_tool_that_loads_the_model_itself(files: Files) -> None:
    report = files.converted(files.write("bench.md", BENCH), files.write("server.log", ONE))
    plain, drafting = report["configurations"].values()
    assert plain["drafter"] is None
    assert drafting["drafter"]["model"] == "Aurora-0.4B.gguf"
    assert [run["configuration"] for run in report["runs"]] == [*report["configurations"]]
    found = CliRunner().invoke(app, ["check", str(files.out), "--select", "BL306,BL427"])
    assert "no findings" in found.output


def test_a_perplexity_is_of_the_model_that_was_benchmarked(files: Files) -> None:
    report = files.converted(files.write("bench.md", BENCH), files.write("ppl.log", PERPLEXITY))
    assert len(report["configurations"]) == 1
    assert report["quality"][0]["value"] == 7.4405


def test_what_a_device_is_stands_in_the_list_of_what_was_found(files: Files) -> None:
    above = "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes\n"
    found = "ggml_cuda_init: found 1 CUDA devices:\n"
    said = files.convert(files.write("bench.md", found + above + BENCH))
    assert re.search(r"machine\.devices +name NVIDIA GeForce RTX 4090, count 1 ", said)
