"""llama-server's log: every wording, field by field, and what it does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.llama_cpp_setup import MOST_TYPES
from benchlint.checker.importers.llama_server_log import MOST_CONFIGURATIONS, MOST_RUNS
from tests.importers.llama_server_logs import (
    ACCEPTANCE,
    POSITIONS,
    SAMPLER,
    START,
    TIMES,
    each_line,
    old_request,
    request,
    statistics,
)
from tests.importers.reading import findings, imported, place, value

LATE = ACCEPTANCE["late 2026"]
FIRST = statistics(1, drafts=20, drafted=60, accepted=27)


def _read(folder: Path, text: str) -> ImportedDocument:
    (report,) = imported(folder, text, "server.log")
    assert report.importer.name == "llama-server-log"
    return report


def _run(report: ImportedDocument, index: int = 0) -> Any:
    return value(report, f"/runs/{index}")


def _errors(report: ImportedDocument) -> list[str]:
    return [f.code for f in check_tree(report.tree) if f.severity is Severity.ERROR]


# --- all there is ----------------------------------------------------------------------------

EVERYTHING = START + SAMPLER.format(temp="0.600") + request(7, LATE, POSITIONS, FIRST)


def test_every_field_of_the_setup(tmp_path: Path) -> None:
    report = _read(tmp_path, EVERYTHING)
    assert value(report, "/engine") == {"name": "llama.cpp"}
    assert value(report, "/configurations") == {
        "Aurora-9B-Q5_K_M.gguf": {
            "target": {
                "name": "Aurora-9B-Q5_K_M.gguf",
                "quantization": {
                    "recipe": "Q5_K_M",
                    "file_size_gib": 6.07,
                    "bits_per_weight": 5.69,
                },
                "layers": 36,
                "architecture": "dense",
                "parameters_b": 9.17,
            },
            "engine": {
                "version": "b9107",
                "commit": "7c3e1ab",
                "backend": "CUDA",
                "threads": {"decode": 6, "batch": 12},
                "batch": {"logical": 1024, "physical": 256},
                "offload": {"gpu_layers": 37},
                "attention_backend": "flash_attn",
            },
            "kv_cache": {
                "max_context_tokens": 8192,
                "target_type": "q8_0/q4_0",
                "drafter_type": "f16",
            },
            "machine": {
                "devices": [{"name": "NVIDIA L40S", "count": 1}],
                "cpu": "AMD EPYC 9354",
            },
            "sampler": {
                "temperature": 0.6,
                "top_k": 20,
                "top_p": 0.9,
                "min_p": 0.02,
                "repetition_penalty": 1.05,
                "presence_penalty": 0.1,
                "frequency_penalty": 0.0,
            },
            "drafter": {"model": "Aurora-0.4B.gguf", "method": "draft_model"},
            "draft_length": {"max": 3, "p_min": 0.25},
        }
    }


def test_every_field_of_a_request(tmp_path: Path) -> None:
    report = _read(tmp_path, EVERYTHING)
    assert value(report, "/runs") == [
        {
            "id": "task 7",
            "configuration": "Aurora-9B-Q5_K_M.gguf",
            "conditions": {
                "kv_position": {"filled_tokens": 400},
                "concurrency": 1,
                "warm": False,
            },
            "prefill": {"tokens": 400, "seconds": 0.08, "tok_s": 5000.0},
            "decode": {"tokens": 49, "seconds": 0.96, "tok_s": 50.0},
            "speculation": {
                "counts": {
                    "output_tokens": 49,
                    "drafted": 60,
                    "accepted": 27,
                    "requests": 1,
                    "verify_steps": 20,
                },
                "acceptance_rate": {"value": 0.45, "of": "drafted"},
                "accepted_length": {"value": 2.35, "counts_bonus_token": True},
                "per_position": {"values": [0.6, 0.5, 0.25], "kind": "cumulative"},
            },
            "measurement": {
                "by": "engine_counter",
                "counters": "per_run",
                "window": "decode_only",
            },
        }
    ]
    assert _errors(report) == []


def test_places_are_in_the_log(tmp_path: Path) -> None:
    report = _read(tmp_path, EVERYTHING)
    lines = EVERYTHING.splitlines()
    for pointer, marked in (
        ("/runs/0/decode/tok_s", "50.00"),
        ("/runs/0/speculation/counts/accepted", "27"),
        ("/runs/0/speculation/accepted_length/value", "2.35"),
        ("/runs/0/speculation/per_position/values", "0.600, 0.500, 0.250"),
        ("/runs/0/speculation/counts/verify_steps", "20"),
        ("/configurations/Aurora-9B-Q5_K_M.gguf/draft_length/max", "3"),
    ):
        line, text = place(report, pointer)
        assert text == marked, pointer
        assert marked in lines[line - 1]


# --- the four wordings -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ACCEPTANCE)
def test_counts_and_rate_in_every_wording(form: str, tmp_path: Path) -> None:
    write = old_request if form == "2025" else request
    speculation = _run(_read(tmp_path, write(3, ACCEPTANCE[form])))["speculation"]
    assert speculation["counts"] == {
        "output_tokens": 49,
        "drafted": 60,
        "accepted": 27,
        "requests": 1,
    }
    assert speculation["acceptance_rate"] == {"value": 0.45, "of": "drafted"}


@pytest.mark.parametrize(("form", "has"), [("2025", False), ("early 2026", False)])
def test_older_wordings_have_no_length(form: str, has: bool, tmp_path: Path) -> None:
    speculation = _run(_read(tmp_path, request(3, ACCEPTANCE[form])))["speculation"]
    assert ("accepted_length" in speculation) is has
    assert "per_position" not in speculation


def test_positions_in_the_line_of_acceptance(tmp_path: Path) -> None:
    speculation = _run(_read(tmp_path, request(3, ACCEPTANCE["June 2026"])))["speculation"]
    assert speculation["accepted_length"] == {"value": 2.35, "counts_bonus_token": True}
    assert speculation["per_position"] == {"values": [0.6, 0.5, 0.25], "kind": "cumulative"}


def test_a_request_without_drafts_says_nothing_of_speculation(tmp_path: Path) -> None:
    report = _read(tmp_path, old_request(3))
    assert "speculation" not in _run(report)
    context = {"max_context_tokens": 8192}
    assert value(report, "/configurations") == {"llama-server": {"kv_cache": context}}


# --- verify steps ----------------------------------------------------------------------------

TWO = statistics(2, drafts=40, drafted=120, accepted=54)


def test_the_statistics_are_differences(tmp_path: Path) -> None:
    """They run since the start of the process; a request's own counts are in its own line."""
    text = request(1, LATE, FIRST) + request(2, LATE, TWO)
    report = _read(tmp_path, text)
    counts = [value(report, f"/runs/{i}/speculation/counts") for i in (0, 1)]
    assert [c["verify_steps"] for c in counts if isinstance(c, dict)] == [20, 20]
    assert [c["accepted"] for c in counts if isinstance(c, dict)] == [27, 27]


@pytest.mark.parametrize(
    "lines",
    [
        [TWO],  # what came before is unknown
        [statistics(1, drafts=22, drafted=66, accepted=27)],  # drafts that were cut
        [FIRST, statistics(1, drafts=4, drafted=32, accepted=2, kind="ngram-mod")],
    ],
)
def test_steps_that_are_not_certain_are_not_there(lines: list[str], tmp_path: Path) -> None:
    speculation = _run(_read(tmp_path, request(1, LATE, *lines)))["speculation"]
    assert "verify_steps" not in speculation["counts"]


def test_a_type_that_drafted_nothing_leaves_the_steps_certain(tmp_path: Path) -> None:
    idle = statistics(1, drafts=0, drafted=0, accepted=0, kind="ngram-mod")
    report = _read(tmp_path, request(1, LATE, idle, FIRST))
    assert _run(report)["speculation"]["counts"]["verify_steps"] == 20
    assert value(report, "/configurations/llama-server/drafter") == {"method": "draft_model"}


# --- the drafter -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "limits", "method", "k"),
    [
        ("draft-mtp", "- n_max=2, n_min=0, p_min=0.00, n_embd=64, backend_sampling=1", "mtp", 2),
        ("draft-dflash", "- n_max=15, n_min=0, p_min=0.00", "dflash", 15),
        ("draft-eagle3", "- n_max=5, n_min=0, p_min=0.000000", "eagle3", 5),
        ("ngram-simple", "- size_n=12, size_m=48, min_hits=1", "ngram", 48),
        ("ngram-mod", "- n_match=24, n_max=64, n_min=48", "ngram", 64),
        ("ngram-map-k", "- size_key=8, size_value=16, key_only=1, min_hits=1", "ngram", 16),
        ("ngram-cache", "- n_draft=8, cache_static=, cache_dynamic=", "ngram", 8),
    ],
)
def test_types_of_speculation(name: str, limits: str, method: str, k: int, tmp_path: Path) -> None:
    adding = f"spec common_specu: adding speculative implementation '{name}'\n"
    report = _read(tmp_path, adding + f"spec common_specu: {limits}\n" + request(1, LATE))
    configuration = value(report, "/configurations/llama-server")
    assert isinstance(configuration, dict)
    assert configuration["drafter"] == {"method": method}
    assert configuration["draft_length"]["max"] == k


def test_two_types_at_once_draft_as_much_as_the_longer(tmp_path: Path) -> None:
    adding = START + (
        "0.00.410.030 I spec common_specu: adding speculative implementation 'ngram-simple'\n"
        "0.00.410.040 I spec common_specu: - size_n=3, size_m=8, min_hits=1\n"
    )
    report = _read(tmp_path, adding + request(1, LATE))
    configuration = value(report, "/configurations/Aurora-9B-Q5_K_M.gguf")
    assert isinstance(configuration, dict)
    assert configuration["drafter"] == [{"method": "draft_model"}, {"method": "ngram"}]
    assert configuration["draft_length"]["max"] == 8


def test_k_is_absent_where_one_of_two_types_does_not_say_it(tmp_path: Path) -> None:
    adding = START + "spec common_specu: adding speculative implementation 'draft-new'\n"
    report = _read(tmp_path, adding + request(1, LATE))
    configuration = value(report, "/configurations/Aurora-9B-Q5_K_M.gguf")
    assert isinstance(configuration, dict)
    assert configuration["drafter"] == [{"method": "draft_model"}, {"method": "other"}]
    assert "draft_length" not in configuration


PLAIN = "".join(
    line
    for line in START.splitlines(keepends=True)
    if "speculative" not in line and "n_max=" not in line and "cache_k=" not in line
)


def test_a_server_that_names_no_type_at_level_4_is_plain(tmp_path: Path) -> None:
    report = _read(tmp_path, PLAIN + request(1))
    assert value(report, "/configurations/Aurora-9B-Q5_K_M.gguf/drafter") is None


def test_at_level_3_nobody_knows(tmp_path: Path) -> None:
    report = _read(tmp_path, PLAIN.replace("verbosity = 4", "verbosity = 3") + request(1))
    with pytest.raises(KeyError):
        value(report, "/configurations/Aurora-9B-Q5_K_M.gguf/drafter")


@pytest.mark.parametrize("requests", [1, 3])
def test_a_drafter_that_never_drafts_is_warned_of(requests: int, tmp_path: Path) -> None:
    loaded = PLAIN + "srv  load_model: loading draft model 'small.gguf'\n"
    report = _read(tmp_path, loaded + "".join(request(i) for i in range(requests)))
    assert "BL412" in [f.code for f in check_tree(report.tree)]


def test_acceptance_that_was_set_is_synthetic(tmp_path: Path) -> None:
    said = (
        "W spec: synthetic speculative acceptance is enabled for benchmarking; generated output\n"
    )
    report = _read(tmp_path, START + said + request(1, LATE))
    rule = value(report, "/configurations/Aurora-9B-Q5_K_M.gguf/acceptance_rule")
    assert rule == {"kind": "synthetic"}
    assert "BL413" in [f.code for f in check_tree(report.tree)]


# --- the machine -----------------------------------------------------------------------------


def _machine(folder: Path, log: str) -> object:
    report = _read(folder, log + request(1))
    return value(report, "/configurations/Aurora-9B-Q5_K_M.gguf/machine")


WITHOUT_GPU = "".join(x for x in START.splitlines(keepends=True) if "CUDA0" not in x)


def test_a_machine_with_a_cpu_alone(tmp_path: Path) -> None:
    cpu = "AMD EPYC 9354"
    assert _machine(tmp_path, WITHOUT_GPU) == {"cpu": cpu, "devices": [{"name": cpu}]}


def test_a_device_that_is_listed_and_not_used(tmp_path: Path) -> None:
    log = "".join(x for x in START.splitlines(keepends=True) if "using device" not in x)
    assert _machine(tmp_path, log) == {"cpu": "AMD EPYC 9354"}


def test_devices_are_counted_by_kind(tmp_path: Path) -> None:
    using = "0.00.090.000 I llama_prepare_model: using device {} ({}) - 45000 MiB free\n"
    more = using.format("CUDA1", "NVIDIA L40S") + using.format("CUDA2", "NVIDIA L4")
    again = using.format("CUDA0", "NVIDIA L40S")  # for the drafter
    assert _machine(tmp_path, START + more + again) == {
        "cpu": "AMD EPYC 9354",
        "devices": [{"name": "NVIDIA L40S", "count": 2}, {"name": "NVIDIA L4", "count": 1}],
    }


# --- conditions ------------------------------------------------------------------------------


def test_later_requests_are_warm(tmp_path: Path) -> None:
    report = _read(tmp_path, START + request(1, LATE) + request(2, LATE))
    assert [_run(report, i)["conditions"]["warm"] for i in (0, 1)] == [False, True]


def test_the_first_request_of_a_piece_of_a_log_may_be_warm(tmp_path: Path) -> None:
    assert "warm" not in _run(_read(tmp_path, request(1, LATE)))["conditions"]


def test_requests_in_flight(tmp_path: Path) -> None:
    first, second = request(1, LATE), request(2, LATE, slot=1)
    launch, rest = first.split("\n", 1)
    launched, after = second.split("\n", 1)
    report = _read(tmp_path, f"{launch}\n{launched}\n{rest}{after}" + request(3, LATE))
    assert [_run(report, i)["conditions"]["concurrency"] for i in range(3)] == [2, 2, 1]


def test_a_prompt_from_the_cache(tmp_path: Path) -> None:
    cached = "| cached n_tokens = 390, memory_seq_rm [390, end)\n"
    text = request(1, LATE)
    head, tail = text.split("slot print_timing", 1)
    prefix = head.rsplit("\n", 1)[1]
    text = f"{head}slot   operator(): id  0 | task 1 {cached}{prefix}slot print_timing{tail}"
    assert _run(_read(tmp_path, text))["conditions"]["prompt_cache"] is True


def test_an_empty_cache_does_not_say_that_it_is_off(tmp_path: Path) -> None:
    assert "prompt_cache" not in _run(_read(tmp_path, old_request(1)))["conditions"]


def test_another_sampler_is_another_configuration(tmp_path: Path) -> None:
    text = START + SAMPLER.format(temp="0.000") + request(1, LATE)
    report = _read(tmp_path, text + SAMPLER.format(temp="0.700") + request(2, LATE))
    assert [_run(report, i)["configuration"] for i in (0, 1)] == [
        "Aurora-9B-Q5_K_M.gguf",
        "Aurora-9B-Q5_K_M.gguf, temp=0.700",
    ]
    configurations = value(report, "/configurations")
    assert isinstance(configurations, dict)
    assert [c["sampler"]["temperature"] for c in configurations.values()] == [0.0, 0.7]


# --- what may stand around -------------------------------------------------------------------

PREFIXES = {
    "none": "",
    "docker": "2026-05-14 22:40:29.046 | ",
    "compose": "llama-1  | ",
    "router": "[40455] ",
    "both": "llama-cpp       | [42049] ",
    "journal": "May 14 22:40:29 box llama-server[811]: ",
    "colours": "\x1b[90m0.01.002.003\x1b[0m \x1b[32mI \x1b[0m",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_what_others_put_in_front(prefix: str, tmp_path: Path) -> None:
    for text in (old_request(3, ACCEPTANCE["2025"]), EVERYTHING):
        report = _read(tmp_path, each_line(text, lambda line: prefix + line))
        run = _run(report)
        assert run["decode"] == {"tokens": 49, "seconds": 0.96, "tok_s": 50.0}
        assert run["speculation"]["counts"]["drafted"] == 60


def test_lines_of_json(tmp_path: Path) -> None:
    text = each_line(
        EVERYTHING,
        lambda line: json.dumps({"type": "log", "time": 17, "level": "info", "msg": f"{line}\n"}),
    )
    report = _read(tmp_path, text)
    assert _run(report)["speculation"]["accepted_length"]["value"] == 2.35
    assert value(report, "/configurations/Aurora-9B-Q5_K_M.gguf/target/layers") == 36


OF_2024 = (
    "INFO [           print_timings] prompt eval time     =      80.00 ms /   400 tokens (    0.20 "
    'ms per token,  5000.00 tokens per second) | tid="139" timestamp=1723569622 id_slot=0 '
    "id_task=0 n_prompt_tokens_processed=400\n"
    "INFO [           print_timings] generation eval time =     960.00 ms /    48 runs   (   20.00 "
    'ms per token,    50.00 tokens per second) | tid="139" id_slot=0 id_task=0 n_decoded=48\n'
    "INFO [           print_timings]           total time =    1040.00 ms\n"
)


def test_the_form_of_2024(tmp_path: Path) -> None:
    run = _run(_read(tmp_path, OF_2024))
    assert run["prefill"] == {"tokens": 400, "seconds": 0.08, "tok_s": 5000.0}
    assert run["decode"] == {"tokens": 48, "seconds": 0.96, "tok_s": 50.0}


def test_the_form_of_2024_in_json(tmp_path: Path) -> None:
    def as_json(line: str) -> str:
        message = line.partition("] ")[2].partition(" |")[0]
        return json.dumps({"tid": "1", "level": "INFO", "msg": message, "id_slot": 0})

    run = _run(_read(tmp_path, each_line(OF_2024, as_json)))
    assert run["decode"] == {"tokens": 48, "seconds": 0.96, "tok_s": 50.0}


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    text = request(1, LATE).split("\n", 3)[3]
    run = _run(_read(tmp_path, text))
    assert run["id"] == "task 1"
    assert "prefill" not in run
    assert run["decode"]["tok_s"] == 50.0


def test_two_servers_of_a_router(tmp_path: Path) -> None:
    one = each_line(START + request(1, LATE), lambda line: f"[40001] {line}").splitlines()
    other = START.replace("Aurora", "Borealis") + request(1, ACCEPTANCE["2025"])
    two = each_line(other, lambda line: f"[40002] {line}").splitlines()
    mixed = "".join(f"{a}\n{b}\n" for a, b in zip(one, two, strict=True))
    report = _read(tmp_path, mixed)
    names = [_run(report, i)["configuration"] for i in (0, 1)]
    assert sorted(names) == ["Aurora-9B-Q5_K_M.gguf", "Borealis-9B-Q5_K_M.gguf"]


def test_a_restart_begins_anew(tmp_path: Path) -> None:
    other = START.replace("Aurora", "Borealis")
    report = _read(tmp_path, START + request(1, LATE) + other + request(1, LATE))
    assert [_run(report, i)["id"] for i in (0, 1)] == ["task 1", "task 1 (2)"]
    assert [_run(report, i)["conditions"]["warm"] for i in (0, 1)] == [False, False]
    assert _run(report, 1)["configuration"] == "Borealis-9B-Q5_K_M.gguf"


def test_a_page_with_a_piece_of_a_log_is_a_page(tmp_path: Path) -> None:
    page = f"# How fast\n\n```\n{old_request(3, ACCEPTANCE['2025'])}```\n\nNot bad.\n"
    (report,) = imported(tmp_path, page, "page.md")
    assert report.importer.name == "llama-server-log"
    assert place(report, "/runs/0/decode/tok_s")[0] == 10
    assert _run(report)["decode"]["tok_s"] == 50.0


# --- sums and bounds -------------------------------------------------------------------------


def test_all_requests_together(tmp_path: Path) -> None:
    report = _read(tmp_path, START + request(1, LATE, FIRST) + request(2, LATE, TWO) + request(3))
    assert _run(report, 3) == {
        "id": "all requests",
        "configuration": "Aurora-9B-Q5_K_M.gguf",
        "parts": ["task 1", "task 2", "task 3"],
        "speculation": {
            "counts": {
                "drafted": 120,
                "accepted": 54,
                "output_tokens": 147,
                "requests": 3,
                "verify_steps": 40,
            }
        },
        "measurement": {"by": "engine_counter", "counters": "per_run"},
    }
    assert _errors(report) == []


def test_of_very_many_requests_the_last_are_in_the_sums_only(tmp_path: Path) -> None:
    (tmp_path / "many.log").write_text("".join(old_request(i, LATE) for i in range(MOST_RUNS + 7)))
    (report,) = imported(tmp_path, (tmp_path / "many.log").read_text(), "many.log")
    runs = value(report, "/runs")
    assert isinstance(runs, list)
    assert len(runs) == MOST_RUNS + 1
    assert runs[-1]["speculation"]["counts"]["requests"] == MOST_RUNS + 7
    assert "parts" not in runs[-1]
    assert report.imported.remarks == ("7 more requests are in the sums only",)


def test_very_many_samplers_do_not_fill_the_memory(tmp_path: Path) -> None:
    each = [SAMPLER.format(temp=f"{i / 1000:.3f}") + request(i, LATE) for i in range(1, 60)]
    report = _read(tmp_path, "".join(each))
    configurations = value(report, "/configurations")
    assert isinstance(configurations, dict)
    assert len(configurations) == MOST_CONFIGURATIONS
    assert "configuration" not in _run(report, 58)


def test_very_many_types_of_speculation_do_not_fill_the_memory(tmp_path: Path) -> None:
    lines = [statistics(1, drafts=1, drafted=1, accepted=1, kind=f"t{i}") for i in range(99)]
    adding = [f"spec: adding speculative implementation 'draft-{i}'\n" for i in range(99)]
    report = _read(tmp_path, "".join(adding) + request(1, LATE, *lines) + request(2, LATE, *lines))
    drafters = value(report, "/configurations/llama-server/drafter")
    assert isinstance(drafters, list)
    assert len(drafters) == MOST_TYPES


# --- what is no request ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        ("960.00 ms /    49", "0.00 ms /    49"),
        ("  50.00 tokens per second", "   inf tokens per second"),
        ("  50.00 tokens per second", "   nan tokens per second"),
    ],
)
def test_a_speed_that_is_none_is_absent(change: tuple[str, str], tmp_path: Path) -> None:
    run = _run(_read(tmp_path, request(1).replace(*change)))
    assert "tok_s" not in run["decode"]


def test_a_prompt_of_nothing_is_absent(tmp_path: Path) -> None:
    text = request(1).replace("80.00 ms /   400", "0.00 ms /     1")
    assert "prefill" not in _run(_read(tmp_path, text))


def test_one_token_has_no_speed(tmp_path: Path) -> None:
    """Its time is in the prompt's; older builds printed a million tokens per second."""
    text = (
        request(1)
        .replace("960.00 ms /    49", "0.00 ms /     1")
        .replace("  50.00 t", "1000000.00 t")
    )
    assert _run(_read(tmp_path, text))["decode"] == {"tokens": 1}


@pytest.mark.parametrize(
    "text",
    [
        START,
        "slot print_timing: id 99999999999999999999 | task 1 | \n",
        "draft acceptance rate = 1.2.3 ( 4 accepted / 5 generated)\n",
        "statistics x: #calls(b,g,a) = 1 2 3, #gen drafts = 9\n",
        "[12345] " * 3000,
        TIMES.format(p="").replace("400 tokens", "4" * 400 + " tokens"),
        TIMES.format(p="").replace("960.00", "9" * 500),
        request(
            1, "draft acceptance = 9.99999 (99999 accepted /     1 generated), mean len = 0.00"
        ),
        "draft acceptance = 0 (0 accepted / 0 generated)\n" + POSITIONS,
    ],
)
def test_hostile_logs_never_raise(text: str, tmp_path: Path) -> None:
    findings(tmp_path, text, "server.log", tool="llama-server-log")
    findings(tmp_path, text + EVERYTHING, "server.log", tool="llama-server-log")
