"""Tables that people publish: shapes of real ones, with values of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.importers.building import Building
from benchlint.checker.importers.columns import SPEEDS, column
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.text_tables import Table, page_parts
from tests.importers.reading import findings, imported, place

#: Codes about what is absent, which is most of a report in a table.
_MISSING = "BL1"


def _report(folder: Path, text: str, name: str = "page.md") -> ImportedDocument:
    (report,) = imported(folder, text, name)
    return report


def _runs(folder: Path, text: str, name: str = "page.md") -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = _report(folder, text, name).tree["runs"]
    return runs


def _said(report: ImportedDocument) -> list[Finding]:
    return [f for f in check_tree(report.tree) if not f.code.startswith(_MISSING)]


def _table(*rows: str) -> str:
    head, *others = rows
    rule = "|".join(["", *["---"] * (head.count("|") - 1), ""])
    return "\n".join(["# Results", "", head, rule, *others, ""])


# --- shapes that hold: no error, no warning --------------------------------------------------

CONSISTENT = {
    "arms in columns, units in cells": _table(
        "| Model | Tokens | Baseline | DFlash | Speedup | Acceptance |",
        "| A-7B | 512 | 41.20 tok/s | 123.60 tok/s | 3.00x | 86.50% |",
        "| A-7B | 2048 | 40.00 tok/s | 84.00 tok/s | 2.10x | 84.25% |",
    ),
    "speed-ups by task, with medals and bold": _table(
        "| Models | Conversation | Summa-rization | RAG | #Mean Accepted Tokens | Overall |",
        "| [Fast[Two]](https://example.org)🏅 | **2.40x** | **2.90x** | 2.00x | **4.10** | 2.45x |",
        "| [PLD](https://example.org/pld) | 1.55x | 2.60x | 1.70x | 1.80 | 1.90x |",
    ),
    "rows that are headings, two arms, gains": _table(
        "| Concurrency | Avg Input | Base TPOT(ms) | Base Throughput(TPS) | Suffix TPOT(ms) "
        "| Suffix Throughput(TPS) | Accept Rate | TPOT Gain | TPS Gain |",
        "| **Code** | | | | | | | | |",
        "| 1 | 200 | 50.0 | 20.0 | 40.0 | 25.0 | 28.0% | 25.0% | 25.0% |",
        "| 16 | 200 | 60.0 | 240.0 | 48.0 | 312.0 | 28.0% | 25.0% | 30.0% |",
        "| **Prose** | | | | | | | | |",
        "| 1 | 90 | 51.0 | 19.6 | 42.5 | 23.5 | 20.1% | 20.0% | 19.9% |",
    ),
    "Chinese": _table(
        "| γ | TTFT | 单请求 decode | 4 并发吞吐 | 接受率 α | 平均接受长度 |",
        "| 5 | 210 ms | 88.4 tok/s | 240 tok/s | 60.0% | 4.00 |",
        "| 7 | 214 ms | 96.1 tok/s | 262 tok/s | 55.0% | 4.85 |",
    ),
    "Japanese": _table(
        "| ワークロード | 最大ドラフト長 | Decode | 受理率 | 平均受理長 |",
        "| 通常デコード（コード） | n/a | 21.50 tok/s | n/a | n/a |",
        "| DFlash（コード） | 15 | 75.25 tok/s | 40.00% | 7.00 |",
    ),
    "counters, positions in one cell": _table(
        "| task | run | stage | tokens | stop | time(s) | tok/s | rounds | accepted | rate "
        "| a.len | pos accept |",
        "| code | 1 | mtp | 601 | eog | 10.000 | 60.10 | 200 | 400/600 | 66.67% | 3.00 "
        "| 80.0% 70.0% 50.0% |",
    ),
    "positions in columns": _table(
        "| subset | acceptance_length | pos_0 | pos_1 | pos_2 |",
        "| easy | 2.900 | 82.0% | 62.0% | 46.0% |",
        "| hard | 1.750 | 45.0% | 20.0% | 10.0% |",
    ),
    "rates of requests": _table(
        "| QPS | Baseline TPOT | k=1 TPOT | Speedup |",
        "| 1 | 60.0 ms | 40.0 ms | 1.50x |",
        "| 5 | 66.0 ms | 55.0 ms | 1.20x |",
    ),
    "metrics as rows": _table(
        "| Metric | MTP 1 | MTP 4 | Δ |",
        "| Benchmark duration (s) | 300.00 | 250.00 | -16.7% |",
        "| Output token throughput (tok/s) | 1500.00 | 1800.00 | +20.0% |",
        "| Median TTFT (ms) | 310.00 | 370.00 | +19.4% (worse) |",
        "| Acceptance rate (%) | 80.00 | 50.00 | -30.00 pts |",
        "| Acceptance length | 1.80 | 3.00 | +66.7% |",
        "| Draft tokens | 250,000 | 600,000 | +140.0% |",
        "| Accepted tokens | 200,000 | 300,000 | +50.0% |",
        "| Per-position acceptance (%) — Pos 0 | 80.00 | 75.00 | -5.00 pts |",
        "| Per-position acceptance (%) — Pos 1 | — | 55.00 | — |",
        "| Per-position acceptance (%) — Pos 2 | — | 40.00 | — |",
        "| Per-position acceptance (%) — Pos 3 | — | 30.00 | — |",
    ),
    "a user's speed and all users'": _table(
        "| Source | ISL | OSL | Concurrency | N Req | TTFT (ms) | TPOT (ms) | Tput User (TPS) "
        "| Tput Decode (TPS) | Tput Prefill (TPS) | E2EL (ms) | Req Tput (RPS) |",
        "| tool | 128 | 128 | 16 | 64 | 400.0 | 40.0 | 25.00 | 400.0 | 5120.0 | 5400.0 | n/a |",
    ),
    "before and after in one cell": _table(
        "| Slot | Model | Mechanism | n_max | Decode Δ |",
        "| `chat` | B-8B Q6_K | embedded head | 2 | 20.0 → 30.0 (+50%) |",
        "| `code` | C-12B | separate Q8 draft | 1 | 40.0 → 50.0 (+25%) |",
    ),
    "arms as columns of a head without words": _table(
        "| | AR | MTP |",
        "| tokens generated | 100 | 100 |",
        "| decode throughput (`generation_tps`) | 20.00 tok/s | 32.00 tok/s |",
        "| wall time (`generation_s`) | 6.00 s | 4.10 s |",
        "| prefill, 30 prompt tokens (`prompt_tps`) | 30.0 tok/s | 31.0 tok/s |",
    ),
    "quoted, two averages": "\n".join(
        f"> {line}" if line else ">"
        for line in _table(
            "| run | cache | pp tok/s | tg tok/s | e2e tok/s | TTFT s | p_tok | c_tok |",
            "| w | miss | 500.0 | 70.00 | 55.0 | 2.000 | 1000 | 512 |",
            "| 2 | miss | 505.0 | 71.20 | 55.6 | 1.980 | 1000 | 512 |",
        ).split("\n")
    ),
    "ranges, about, two values in a cell": _table(
        "| Config | Rig | Mean tok/s | AL | Accept % | Notes |",
        "| DFlash | one card | ~85 | 5.50 | 30.0 % | fast on code, slow on prose |",
        "| ngram | one card | 30-45 | - | - | depends |",
        "| both | two cards | 80 / 90 | 5.0 / 5.2 | n/a | see above |",
    ),
    "key=value lines": (
        "== branch one\n"
        "  code_a    pred= 101 draft= 150 acc=  60 rate=0.400 tok/s= 20.1\n"
        "  prose_b   pred= 101 draft= 160 acc=  40 rate=0.250 tok/s= 15.0\n"
    ),
    "forced lengths": _table(
        "| TP | Requested AL | Eager mean | Graph mean | tok/s |",
        "| 1 | 2.6 | 2.6 | 2.6 | 88.0 |",
        "| 2 | off | — | — | 51.0 |",
    ),
    "a console's table": (
        "┌──────────┬─────────┬────────────┐\n"
        "│ method   │ tok/s   │ acceptance │\n"
        "├──────────┼─────────┼────────────┤\n"
        "│ baseline │  30.00  │     -      │\n"
        "│ eagle3   │  75.00  │   61.0 %   │\n"
        "└──────────┴─────────┴────────────┘\n"
    ),
    "columns of blanks": (
        "method     tok/s    accept rate    tau\n"
        "-------    -----    -----------    ----\n"
        "vanilla    30.0     -              1.00\n"
        "eagle3     75.0     0.61           3.05\n"
    ),
    "CSV": (
        "dataset,category,acc_tau,acc_speedup,acc_baseline_tps,acc_dflash_tps\r\n"
        "one,math,5.20,3.50,90.0,315.0\r\n"
        "two,chat,2.10,1.40,91.0,127.4\r\n"
    ),
}


@pytest.mark.parametrize("text", CONSISTENT.values(), ids=CONSISTENT)
def test_an_honest_table_is_accused_of_nothing(text: str, tmp_path: Path) -> None:
    name = "page.md" if "|---" in text else "page.txt"
    report = _report(tmp_path, text, name)
    assert report.tree["runs"]
    assert [f.message for f in _said(report) if f.severity is not Severity.NOTE] == []


# --- shapes that do not: what is said about them ---------------------------------------------


def _codes(folder: Path, text: str) -> dict[str, Finding]:
    return {f.code: f for f in _said(_report(folder, text))}


def test_a_ratio_that_is_not_the_quotient(tmp_path: Path) -> None:
    text = _table(
        "| Model | Baseline | DFlash | Speedup |", "| A-7B | 40.00 tok/s | 90.00 tok/s | 2.50x |"
    )
    said = _codes(tmp_path, text)
    assert "2.50 ≠ 90.00/40.00 = 2.25" in said["BL209"].message


def test_a_rate_that_is_a_share_of_the_output(tmp_path: Path) -> None:
    text = _table("| K | tok/s | acceptance | τ |", "| 15 | 80.0 tok/s | 80.0% | 5.00 |")
    said = [f.message for f in _said(_report(tmp_path, text))]
    assert any("share of the output" in message for message in said)


def test_an_accepted_length_that_no_draft_length_allows(tmp_path: Path) -> None:
    text = _table("| method | k | tok/s | accept len |", "| eagle3 | 3 | 90.0 | 4.60 |")
    severities = {f.severity for f in _said(_report(tmp_path, text))}
    assert Severity.ERROR in severities


def test_counters_that_cannot_be(tmp_path: Path) -> None:
    text = _table("| task | tok/s | accepted | draft tokens |", "| a | 60.0 | 700 | 660 |")
    severities = {f.severity for f in _said(_report(tmp_path, text))}
    assert Severity.ERROR in severities


def test_a_percentage_that_the_two_numbers_do_not_give(tmp_path: Path) -> None:
    text = _table("| Model | Decode Δ |", "| A | 20.0 → 30.0 (+80%) |")
    said = _said(_report(tmp_path, text))
    assert any(f.code.startswith("BL6") and f.severity is Severity.ERROR for f in said)


def test_gaps_of_chunks_are_not_a_regression(tmp_path: Path) -> None:
    text = _table(
        "| Metric | MTP 1 | MTP 8 |",
        "| Mean TPOT (ms) | 30.00 | 20.00 |",
        "| Mean ITL (ms) | 55.00 | 84.00 |",
        "| Acceptance length | 1.83 | 4.20 |",
    )
    said = _said(_report(tmp_path, text))
    assert any("chunks" in f.message for f in said)


# --- what becomes of what --------------------------------------------------------------------


def test_two_arms_of_a_row_are_two_runs(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["arms in columns, units in cells"])
    base, fast, *_ = report.tree["runs"]
    assert base["decode"] == {"tok_s": 41.2}
    assert fast["decode"] == {"tok_s": 123.6}
    assert fast["speculation"] == {"acceptance_rate": 0.865}
    assert fast["speedup"] == {"value": 3.0, "over": base["id"]}
    setups = report.tree["configurations"]
    assert setups[base["configuration"]] == {"drafter": None}
    assert report.tree["target"] == {"name": "A-7B"}
    assert setups[fast["configuration"]]["drafter"] == {"method": "dflash"}
    assert report.tree["workloads"][fast["workload"]] == {"output_tokens": 512}
    assert report.tree["title"] == "Results"


def test_findings_stand_in_the_cell(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["arms in columns, units in cells"])
    assert place(report, "/runs/1/decode/tok_s") == (5, "123.60 tok/s")
    assert place(report, "/runs/1/speculation/acceptance_rate") == (5, "86.50%")
    assert place(report, "/runs/3/speedup/value") == (6, "2.10x")


def test_a_heading_row_names_the_workload(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["rows that are headings, two arms, gains"])
    mixes = [each["mix"] for each in report.tree["workloads"].values()]
    assert mixes == [["Code"], ["Prose"]]
    first = report.tree["runs"][0]
    assert first["conditions"] == {"concurrency": 1}
    claim = report.tree["claims"][0]
    assert (claim["metric"], claim["relation"], claim["value"]) == (
        "throughput.tok_s",
        "percent_more",
        25.0,
    )
    assert len(report.tree["claims"]) == 3


def test_a_column_of_another_concurrency_is_another_run(tmp_path: Path) -> None:
    one, four, *_ = _runs(tmp_path, CONSISTENT["Chinese"])
    assert one["decode"] == {"tok_s": 88.4}
    assert one["prefill"] == {"ttft_ms": 210}
    assert one["speculation"] == {
        "acceptance_rate": 0.6,
        "accepted_length": {"value": 4.0, "estimator": "mean"},
    }
    assert four["conditions"] == {"concurrency": 4}
    assert four["throughput"] == {"tok_s": 240}


def test_tasks_that_are_named_with_their_drafter_are_arms(tmp_path: Path) -> None:
    text = _table(
        "| workload | tok/s | acceptance |",
        "| prose, no draft | 80.5 | - |",
        "| prose, MTP k=2 | 91.5 | 62 % |",
        "| copy, MTP k=2 | 191.5 | 98 % |",
    )
    report = _report(tmp_path, text)
    setups = [report.tree["configurations"][r["configuration"]] for r in report.tree["runs"]]
    fast = {"drafter": {"method": "mtp"}, "draft_length": {"max": 2}}
    assert setups == [{"drafter": None}, fast, fast]
    assert [run["id"] for run in report.tree["runs"]] == [
        "prose, no draft",
        "prose, MTP k=2",
        "copy, MTP k=2",
    ]


def test_what_a_null_stands_for_is_not_overwritten() -> None:
    building = Building()
    building.put_null(("configurations", "a", "drafter"))
    building.put(("configurations", "a", "drafter", "method"), Found("mtp"))
    building.put(("title",), Found("x"))
    building.put(("title", "y", "z"), Found("mtp"))
    assert building.tree["configurations"] == {"a": {"drafter": None}}
    assert building.tree["title"] == "x"


def test_a_plain_row_has_no_drafter_and_names_no_draft_length(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["Japanese"])
    plain, fast = report.tree["runs"]
    setups = report.tree["configurations"]
    assert setups[plain["configuration"]] == {"drafter": None}
    assert setups[fast["configuration"]] == {
        "drafter": {"method": "dflash"},
        "draft_length": {"max": 15},
    }
    assert "speculation" not in plain


def test_counters_and_positions(tmp_path: Path) -> None:
    (run,) = _runs(tmp_path, CONSISTENT["counters, positions in one cell"])
    assert run["speculation"] == {
        "counts": {"output_tokens": 601, "verify_steps": 200, "accepted": 400, "drafted": 600},
        "acceptance_rate": 0.6667,
        "accepted_length": 3.0,
        "per_position": {"values": [0.8, 0.7, 0.5]},
    }


def test_metrics_as_rows_become_runs_of_columns(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["metrics as rows"])
    one, four = report.tree["runs"]
    assert (one["id"], four["id"]) == ("MTP 1", "MTP 4")
    assert four["speculation"]["counts"] == {"drafted": 600_000, "accepted": 300_000}
    assert four["speculation"]["per_position"]["values"] == [0.75, 0.55, 0.4, 0.3]
    assert four["prefill"]["ttft_ms"] == {"value": 370.0, "estimator": "median"}
    assert report.tree["configurations"]["MTP 4"]["draft_length"] == {"max": 4}
    assert place(report, "/runs/1/throughput/tok_s") == (6, "1800.00")


def test_what_all_users_get_is_not_what_one_gets(tmp_path: Path) -> None:
    (run,) = _runs(tmp_path, CONSISTENT["a user's speed and all users'"])
    assert run["decode"]["tok_s"] == 25.0
    assert run["throughput"] == {"tok_s": 400.0}


def test_two_numbers_in_a_cell_are_two_runs_and_a_claim(tmp_path: Path) -> None:
    report = _report(tmp_path, CONSISTENT["before and after in one cell"])
    before, after, *_ = report.tree["runs"]
    assert (before["decode"]["tok_s"], after["decode"]["tok_s"]) == (20, 30)
    assert report.tree["claims"][0] == {
        "text": "20.0 → 30.0 (+50%)",
        "metric": "decode.tok_s",
        "of": after["id"],
        "relation": "percent_more",
        "to": before["id"],
        "value": 50,
    }
    setups = report.tree["configurations"]
    assert setups[after["configuration"]]["draft_length"] == {"max": 2}
    assert "draft_length" not in setups[before["configuration"]]


def test_ranges_and_about(tmp_path: Path) -> None:
    first, second = _runs(tmp_path, CONSISTENT["ranges, about, two values in a cell"])
    assert first["decode"]["tok_s"] == {"value": 85, "approx": True, "estimator": "mean"}
    assert second["decode"]["tok_s"] == {"range": [30, 45]}


def test_words_that_all_heads_share_name_no_arm(tmp_path: Path) -> None:
    base, fast, *_ = _runs(tmp_path, CONSISTENT["CSV"], "page.csv")
    assert (base["configuration"], fast["configuration"]) == ("baseline", "dflash")
    assert fast["speculation"] == {"accepted_length": 5.2}


def test_tables_of_a_page_do_not_share_names(tmp_path: Path) -> None:
    table = _table("| method | tok/s | acceptance |", "| base | 30.0 | - |", "| mtp | 60.0 | 50% |")
    report = _report(tmp_path, table + table.replace("# Results", "# More"))
    assert [run["configuration"] for run in report.tree["runs"]] == [
        "base (Results)",
        "mtp (Results)",
        "base (More)",
        "mtp (More)",
    ]


def test_what_was_pasted_into_a_page_is_read_by_its_own_importer(tmp_path: Path) -> None:
    record = {"build_commit": "abc", "build_number": 9000, "model_type": "llama 8B Q8_0"}
    record |= {"n_prompt": 0, "n_gen": 256, "avg_ns": 8 * 10**9, "avg_ts": 32.0}
    block = json.dumps([record], indent=1)
    page = f"# Slow?\n\n```json\n{block}\n```\n\nWhat is wrong?\n"
    (report,) = imported(tmp_path, page, "issue.md")
    assert report.importer.name == "llama-bench"
    line = page.splitlines().index('  "avg_ts": 32.0') + 1
    assert place(report, "/runs/0/decode/tok_s/value") == (line, "32.0")


def test_a_page_with_another_table_beside_llama_bench(tmp_path: Path) -> None:
    bench = _table("| model | size | test | t/s |", "| llama 8B Q8_0 | 8 GiB | tg128 | 30.0 |")
    bench = bench.replace("# Results\n\n", "")
    other = _table("| method | tok/s |", "| base | 30.0 |")
    found = imported(tmp_path, f"{bench}\nbuild: abc (9000)\n\n{other}", "page.md")
    assert [each.importer.name for each in found] == ["tables", "llama-bench"]
    assert found[1].tree["engine"]["version"] == "b9000"


SEVERAL_LINES = """
+----------+-----------------+-----------------+
| method   | code           || prose          ||
|          | tok/s  | tau    | tok/s  | tau    |
+----------+-----------------+-----------------+
| baseline | 41.5   | -      | 42.5   | -      |
| eagle3   | 90.5   | 3.25   | 70.5   | 2.5    |
+----------+-----------------+-----------------+
"""


def test_a_console_table_whose_head_has_several_lines(tmp_path: Path) -> None:
    report = _report(tmp_path, SEVERAL_LINES, "output.txt")
    _, plain, code, prose = report.tree["runs"]
    assert plain["decode"] == {"tok_s": 42.5}
    assert (code["decode"], code["speculation"]) == ({"tok_s": 90.5}, {"accepted_length": 3.25})
    assert prose["decode"] == {"tok_s": 70.5}
    assert place(report, "/runs/2/decode/tok_s") == (7, "90.5")


CAPTIONS = """
=== warm-ups (2) ===
  first      ttft= 500ms  tok/s= 41.5
  second     ttft= 150ms  tok/s= 42.5

-- measured --

  first      ttft= 140ms  tok/s= 43.5
  second     ttft= 145ms  tok/s= 44.5
"""


def test_lines_above_printed_tables_tell_them_apart(tmp_path: Path) -> None:
    report = _report(tmp_path, CAPTIONS, "output.txt")
    assert [run["id"] for run in report.tree["runs"]] == [
        "first (warm-ups (2))",
        "second (warm-ups (2))",
        "first (measured)",
        "second (measured)",
    ]
    assert "title" not in report.tree


@pytest.mark.parametrize(
    "head",
    [
        "Output Tok Per Stream",
        "tok per sample",
        "Input Tokens Per Sec",
        "Total Tokens Per Sec",
        "tok/s/W",
        "tokens/s per GPU",
        "throughput/GPU",
        "accepted tok/s",
        "Drafted throughput (tok/s)",
        "decode time (s)",
        "draft time (ms)",
    ],
)
def test_heads_that_are_no_speed_of_decoding(head: str) -> None:
    assert column(head).meaning not in {*SPEEDS, "seconds"}


def test_a_speed_in_capitals_keeps_its_unit() -> None:
    assert column("Output Tokens Per Sec").meaning == "speed"


@pytest.mark.parametrize("head", ["n_accept", "num accept", "draft_n_accepted"])
def test_how_many_were_accepted_is_no_rate(head: str, tmp_path: Path) -> None:
    text = _table(f"| run | tok/s | {head} | drafted |", "| MTP | 28.8 | 128 | 481 |")
    (run,) = _runs(tmp_path, text)
    assert run["speculation"] == {"counts": {"accepted": 128, "drafted": 481}}


def test_the_number_of_something_is_no_draft_length(tmp_path: Path) -> None:
    text = _table("| method | n | tok/s | draft-max |", "| MTP | 1 | 28.8 | 7 |")
    (configuration,) = _report(tmp_path, text).tree["configurations"].values()
    assert configuration["draft_length"] == {"max": 7}
    (configuration,) = (
        _report(tmp_path, text.replace("draft-max", "x")).tree["configurations"].values()
    )
    assert "draft_length" not in configuration


def test_numbers_over_100_without_a_sign_are_no_rates(tmp_path: Path) -> None:
    text = _table("| run | tok/s | accept |", "| MTP | 28.8 | 128 |", "| EAGLE | 20.5 | 1 |")
    assert not any("speculation" in run for run in _runs(tmp_path, text))


def test_a_small_number_among_percentages_may_be_a_share_and_is_no_rate(tmp_path: Path) -> None:
    text = _table("| run | tok/s | acceptance |", "| MTP | 28 | 61.5% |", "| EAGLE | 20 | 0.83 |")
    first, second = _runs(tmp_path, text)
    assert first["speculation"]["acceptance_rate"] == 0.615
    assert "speculation" not in second


def test_a_small_number_without_a_sign_may_be_a_length_and_is_no_rate(tmp_path: Path) -> None:
    text = _table("| method | tok/s | accept |", "| eagle3 | 90.0 | 3.25 |", "| mtp | 70.0 | 2.5 |")
    assert all("speculation" not in run for run in _runs(tmp_path, text))
    percent = text.replace("3.25", "61.5").replace("2.5", "9.5")
    rates = [run["speculation"]["acceptance_rate"] for run in _runs(tmp_path, percent)]
    assert rates == [0.615, 0.095]


@pytest.mark.parametrize(
    "text",
    [
        _table("| Name | Value |", "| colour | red |", "| size | 12 |"),
        _table("| File | Speedup of the build |", "| a | fast |"),
        _table("| tok/s |", "| — |"),
        "A page without a table, at 80 tok/s.\n",
    ],
)
def test_a_table_of_something_else_is_none_of_ours(text: str, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, text, "page.md")
    assert finding.code == "BL014"


# --- the reader of pages against a parser of CommonMark --------------------------------------

PAGES = [
    "a | b\n--|--\n1 | 2\n",
    "| a | b |\n| --- | :-: |\n| 1 | 2 | 3 |\n| x |\n\nafter\n",
    "> | a | b |\n> |---|---|\n> | 1 | 2 |\n",
    "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n",
    "| a \\| b | c |\n|---|---|\n| 1 | 2 |\n",
    "text\n\n|a|b|\n|-|-|\n|1|2|\ntext\n",
    "| a | b |\n|---|\n| 1 | 2 |\n",
    "# t\n| a | b |\n|:--|--:|\n| **1** | `2` |\n| 3 | 4 |\n\n| c | d |\n|---|---|\n| 5 | 6 |\n",
]


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_those_that_markdown_has(page: str) -> None:
    lines = [Line(i, text) for i, text in enumerate(page.split("\n"), 1)]
    found = [each for each in page_parts(lines) if isinstance(each, Table)]
    mine = [
        [len(table.head), *(len(row) for row in table.rows if any(c.value for c in row))]
        for table in found
    ]
    assert mine == _widths(page)


def _widths(page: str) -> list[list[int]]:
    """For each table of the page, how many cells each row has, the head first."""
    tables: list[list[int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append(0)
        elif token.type in ("th_open", "td_open"):
            tables[-1][-1] += 1
    return tables


# --- what stands in columns of setup -----------------------------------------------------------

_SETUPS = _table(
    "| GPU | Engine | Model | Quant | Method | tok/s | Speedup |",
    "| 2x RTX 3090 | vLLM 0.11.0 | Aurora-9B | AWQ | baseline | 92.0 | 1.00x |",
    "| 2x RTX 3090 | vLLM 0.11.0 | Aurora-9B | AWQ | EAGLE-3 | 184.0 | 2.00x |",
    "| RTX 4090 | llama.cpp b9107 | Aurora-9B | Q4_K_M | baseline | 120.0 | 1.00x |",
    "| RTX 4090 | llama.cpp b9107 | Aurora-9B | Q4_K_M | EAGLE-3 | 180.0 | 1.50x |",
)


def test_device_engine_and_quantization_are_those_of_the_row(tmp_path: Path) -> None:
    report = _report(tmp_path, _SETUPS)
    setups = [*report.tree["configurations"].values()]
    assert [s["machine"]["devices"] for s in setups] == [
        *[[{"name": "RTX 3090", "count": 2}]] * 2,
        *[[{"name": "RTX 4090"}]] * 2,
    ]
    assert [s["engine"] for s in setups] == [
        *[{"name": "vLLM", "version": "0.11.0"}] * 2,
        *[{"name": "llama.cpp", "version": "b9107"}] * 2,
    ]
    recipes = [s["target"]["quantization"]["recipe"] for s in setups]
    assert recipes == ["AWQ", "AWQ", "Q4_K_M", "Q4_K_M"]
    found = {finding.code for finding in check_tree(report.tree)}
    assert not found & {"BL101", "BL112", "BL113"}


def test_a_speed_up_is_over_the_baseline_of_the_same_setup(tmp_path: Path) -> None:
    runs = _runs(tmp_path, _SETUPS)
    over = [run.get("speedup", {}).get("over") for run in runs]
    assert over == [None, runs[0]["id"], None, runs[2]["id"]]


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("Precision", ("0.91", "0.93")),
        ("Precision", ("high", "low")),
        ("GPUs", ("1", "2")),
        ("Engine", ("plain", "vLLM + EAGLE-3")),
        ("Draft quant", ("Q8_0", "Q8_0")),
        ("KV quant", ("q8_0", "q8_0")),
    ],
)
def test_a_column_of_something_else_names_no_setup(
    head: str, cells: tuple[str, str], tmp_path: Path
) -> None:
    rows = [f"| {cell} | arm {i} | {40 + i}.5 |" for i, cell in enumerate(cells)]
    tree = _report(tmp_path, _table(f"| {head} | Method | tok/s |", *rows)).tree
    for setup in [tree, *tree["configurations"].values()]:
        assert not {"machine", "engine", "target"} & setup.keys()


@pytest.mark.parametrize(
    "text",
    [
        _table(
            "| Model | Draft | Gen t/s | Accept % |",
            "| Aurora-9B Q4_K_M | none | 21.2 | - |",
            "| Aurora-9B Q4_K_M | Aurora-0.5B Q8_0 | 46.3 | 78.4 |",
        ),
        _table(
            "| num_speculative_tokens | tok/s | Acceptance rate | Acceptance length | Speedup |",
            "| 0 (baseline) | 62.0 | N/A | 1.0 | 1.0× |",
            "| 3 | 124.0 | 65.3% | 2.96 | 2.00× |",
        ),
        _table("| K | tok/s | acceptance |", "| 0 | 62.0 | - |", "| 3 | 124.0 | 65.3% |"),
        _table("| Draft | K | tok/s |", "| – | – | 34.0 |", "| Aurora-0.5B | 5 | 51.0 |"),
    ],
)
def test_a_row_without_a_draft_is_the_baseline(text: str, tmp_path: Path) -> None:
    tree = _report(tmp_path, text).tree
    plain, fast = tree["configurations"].values()
    assert plain.get("drafter", ...) is None
    assert "draft_length" not in plain
    assert "drafter" in fast or "draft_length" in fast
    assert not {f.code for f in check_tree(tree)} & {"BL114", "BL427"}
    missing = [f for f in check_tree(tree) if f.code in ("BL105", "BL106")]
    assert not any("baseline" in f.message for f in missing)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("Aurora-9B Q4_K_M", "Q4_K_M"),
        ("Aurora 9B (AWQ)", "AWQ"),
        ("Aurora 9B Q4_K_M + 0.5B Q8_0", None),
        ("Aurora 9B", None),
    ],
)
def test_a_quantization_beside_the_model_is_the_models(
    name: str, recipe: str | None, tmp_path: Path
) -> None:
    tree = _report(tmp_path, _table("| Model | tok/s |", f"| {name} | 62.5 |")).tree
    assert tree["target"].get("quantization", {}).get("recipe") == recipe


def test_a_dash_for_a_draft_model_leaves_open_whether_there_was_one(tmp_path: Path) -> None:
    rows = ("| – | 21.2 |", "| Aurora-0.5B | 46.3 |")
    tree = _report(tmp_path, _table("| Draft | tok/s |", *rows)).tree
    assert [setup.get("drafter", ...) for setup in tree["configurations"].values()] == [
        ...,
        {"model": "Aurora-0.5B"},
    ]


def test_a_colon_after_a_value_is_no_part_of_it(tmp_path: Path) -> None:
    lines = ("draft_max=2: accept=0.81 tau=2.6", "draft_max=4: accept=0.70 tau=3.8", "")
    tree = _report(tmp_path, "\n".join(lines), "out.txt").tree
    assert [*tree["configurations"]] == ["draft_max=2", "draft_max=4"]


def test_a_column_of_arms_is_known_by_its_cells(tmp_path: Path) -> None:
    text = _table(
        "| Spec | TPOT | tok/s | AL |",
        "| off | 11.4 ms | 87.7 | 1 |",
        "| MTP-1 | 6.9 ms | 144.9 | 1.83 |",
        "| EAGLE3 (k=3) | 5.0 ms | 200.0 | 2.71 |",
    )
    setups = [*_report(tmp_path, text).tree["configurations"].values()]
    assert setups == [
        {"drafter": None},
        {"drafter": {"method": "mtp"}, "draft_length": {"max": 1}},
        {"drafter": {"method": "eagle3"}, "draft_length": {"max": 3}},
    ]


def test_units_in_cells_are_enough_to_make_a_table_one_of_speeds(tmp_path: Path) -> None:
    text = _table(
        "| Concurrency | no spec | MTP | gain |",
        "| 1 | 98 tok/s | 171 tok/s | +74% |",
        "| 8 | 512 tok/s | 702 tok/s | +37% |",
    )
    runs = _runs(tmp_path, text)
    assert [run["conditions"]["concurrency"] for run in runs] == [1, 1, 8, 8]
    assert runs[0]["decode"]["tok_s"] == 98
    assert _said(_report(tmp_path, text)) == []


def test_other_units_in_cells_make_none(tmp_path: Path) -> None:
    text = _table("| option | before | after |", "| a | 98 MB/s | 171 MB/s |", "| b | 3 | 4 |")
    assert [f.code for f in findings(tmp_path, text, "page.md")] == ["BL014"]


def test_a_table_of_factors_by_method_is_one_of_speed_ups(tmp_path: Path) -> None:
    text = _table("| Model | Baseline | Medusa | EAGLE |", "| A-7B | 1.00x | 1.91x | 2.13x |")
    runs = _runs(tmp_path, text)
    assert [run.get("speedup", {}).get("value") for run in runs] == [None, 1.91, 2.13]
    others = _table("| Size | small | large |", "| A-7B | 1.00x | 1.91x |")
    assert [f.code for f in findings(tmp_path, others, "other.md")] == ["BL014"]


def test_perplexity_and_accuracy_are_quality_beside_the_speed(tmp_path: Path) -> None:
    text = _table(
        "| Quantization | PPL | Accuracy | tok/s (plain) | tok/s (spec) |",
        "| Q8_0 | 6.51 | 71.5% | 71.2 | 120.4 |",
        "| Q4_K_M | 6.62 | 70.25% | 110.0 | 171.3 |",
    )
    report = _report(tmp_path, text)
    quality = [(row["metric"], row["value"]) for row in report.tree["quality"]]
    assert quality == [
        ("perplexity", 6.51),
        ("accuracy", 0.715),
        ("perplexity", 6.62),
        ("accuracy", 0.7025),
    ]
    assert [run["decode"]["tok_s"] for run in report.tree["runs"]] == [71.2, 120.4, 110.0, 171.3]
    assert not {f.code for f in check_tree(report.tree)} & {"BL111", "BL501", "BL502", "BL509"}


@pytest.mark.parametrize(
    ("cell", "drafter"),
    [
        ("MTP n=2", {"method": "mtp"}),
        ("EAGLE-3 (k=4)", {"method": "eagle3"}),
        ("EAGLE3-Aurora-9B", {"model": "EAGLE3-Aurora-9B"}),
    ],
)
def test_a_drafter_may_be_a_method_or_a_model(
    cell: str, drafter: dict[str, str], tmp_path: Path
) -> None:
    text = _table("| Drafter | t/s |", "| off | 41.0 |", f"| {cell} | 66.0 |")
    plain, fast = _report(tmp_path, text).tree["configurations"].values()
    assert plain == {"drafter": None}
    assert fast["drafter"] == drafter


@pytest.mark.parametrize(
    ("head", "is_quality"), [("HumanEval accuracy", True), ("Draft accuracy", False)]
)
def test_the_accuracy_of_drafts_is_no_quality(head: str, is_quality: bool, tmp_path: Path) -> None:
    text = _table(f"| Method | {head} | tok/s |", "| baseline | 71.3 | 50.1 |")
    assert ("quality" in _report(tmp_path, text).tree) is is_quality
