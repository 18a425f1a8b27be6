"""What changed between two reports, and how it is shown."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.compare import Comparison, compare, result_metrics, settings_of
from benchlint.checker.compare_text import as_markdown, as_text, headline
from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.finding import Severity
from benchlint.checker.model import Report

Tree = dict[str, Any]

BENCH: Tree = {
    "benchlint": "1",
    "machine": {"devices": [{"name": "NVIDIA L4", "count": 1}]},
    "engine": {"name": "llama.cpp", "version": "b11549"},
    "configurations": {
        "plain": {"drafter": None, "sampler": {"temperature": 0}},
        "k7": {"based_on": "plain", "drafter": {"method": "mtp"}, "draft_length": 7},
    },
    "workloads": {"code": {"mix": {"code": 1.0}}},
    "runs": [
        {"id": "base", "configuration": "plain", "workload": "code", "decode": {"tok_s": 29.4}},
        {
            "id": "mtp",
            "configuration": "k7",
            "workload": "code",
            "conditions": {"concurrency": 1},
            "decode": {"tok_s": 59.2},
            "speculation": {"accepted_length": 4.82},
        },
    ],
    "quality": [
        {"metric": "perplexity", "dataset": "WikiText-2", "configuration": "plain", "value": 5.542}
    ],
    "claims": [
        {
            "id": "twice",
            "metric": "decode.tok_s",
            "of": "mtp",
            "relation": "ratio",
            "to": "base",
            "value": 2.01,
        }
    ],
}


def bench() -> Tree:
    return copy.deepcopy(BENCH)


def compared(old: Tree, new: Tree) -> Comparison:
    """The comparison of two trees, with the findings of their checks."""
    trees = [json.loads(json.dumps(t), parse_float=Digits) for t in (old, new)]
    facts = [ReportFacts(Report.model_validate(t)) for t in trees]
    return compare(facts[0], facts[1], check_tree(trees[0]), check_tree(trees[1]))


def test_a_report_and_itself() -> None:
    found = compared(BENCH, BENCH)
    assert found.empty
    assert not found.regressions
    assert found.runs_compared == 2
    assert headline(found) == "nothing changed (2 runs compared)"


# --- numbers ------------------------------------------------------------------------------------


def test_a_slower_run_is_a_regression() -> None:
    new = bench()
    new["runs"][1]["decode"]["tok_s"] = 48.8
    found = compared(BENCH, new)
    [change] = found.numbers
    assert (change.subject, change.metric, change.direction) == ("mtp", "decode.tok_s", "worse")
    assert (change.old, change.new) == ("59.2", "48.8")
    assert change.change == pytest.approx(-0.1757, abs=1e-4)
    assert found.regressions


@pytest.mark.parametrize(
    ("run", "speed", "moved"),
    [
        (1, 56.1, False),  # 5 % with speculation, single runs
        (1, 53.9, True),
        (0, 28.8, False),  # 2 % without
        (0, 28.1, True),
    ],
)
def test_noise_is_larger_with_speculation(run: int, speed: float, moved: bool) -> None:
    new = bench()
    new["runs"][run]["decode"]["tok_s"] = speed
    assert bool(compared(BENCH, new).numbers) is moved


def test_stated_spread_comes_before_the_default() -> None:
    old, new = bench(), bench()
    old["runs"][1]["decode"]["tok_s"] = {"value": 59.2, "stdev": 0.3, "repeats": 9}
    new["runs"][1]["decode"]["tok_s"] = {"value": 57.9, "stdev": 0.3, "repeats": 9}
    assert [n.direction for n in compared(old, new).numbers] == ["worse"]
    new["runs"][1]["decode"]["tok_s"] = {"value": 48.8, "stdev": 30.0}
    assert compared(old, new).numbers == ()


def test_repeats_make_the_default_smaller() -> None:
    old, new = bench(), bench()
    new["runs"][1]["decode"]["tok_s"] = 56.1
    for tree in (old, new):
        tree["runs"][1]["conditions"]["repeats"] = 9
    assert compared(old, new).regressions


def test_a_number_that_its_digits_do_not_tell_apart() -> None:
    old, new = bench(), bench()
    old["runs"][1]["decode"]["tok_s"] = 60
    new["runs"][1]["decode"]["tok_s"] = 50
    assert compared(old, new).numbers == ()


def test_better_is_no_regression_and_less_latency_is_better() -> None:
    old, new = bench(), bench()
    for tree, ttft in ((old, 157.0), (new, 112.0)):
        tree["runs"][0]["prefill"] = {"ttft_ms": ttft}
    new["runs"][1]["speculation"]["accepted_length"] = 5.4
    found = compared(old, new)
    assert {(n.metric, n.direction) for n in found.numbers} == {
        ("prefill.ttft_ms", "better"),
        ("speculation.accepted_length", "better"),
    }
    assert not found.regressions


def test_the_gap_between_chunks_has_no_better_direction() -> None:
    old, new = bench(), bench()
    for tree, gap in ((old, 22.4), (new, 159.6)):
        tree["runs"][1]["decode"]["inter_token_latency_ms"] = gap
    found = compared(old, new)
    assert [n.direction for n in found.numbers] == ["changed"]
    assert not found.regressions


def test_failures_count_without_noise() -> None:
    old, new = bench(), bench()
    old["runs"][1]["throughput"] = {"failed_requests": 0, "completed_requests": 100}
    new["runs"][1]["throughput"] = {"failed_requests": 2, "completed_requests": 98}
    [change] = compared(old, new).moved("worse")
    assert change.metric == "throughput.failed_requests"
    assert change.change is None


def test_quality_rows_are_matched_by_what_they_are_about() -> None:
    new = bench()
    new["quality"].insert(0, {"metric": "accuracy", "configuration": "plain", "value": 0.7})
    new["quality"][1]["value"] = 5.70
    [change] = compared(BENCH, new).numbers
    assert change.metric == "perplexity"
    assert change.direction == "worse"
    new["quality"][1]["value"] = 5.546  # 0.07 %
    assert compared(BENCH, new).numbers == ()


def test_sizes_and_counts_are_not_results() -> None:
    metrics = result_metrics()
    assert "decode.tok_s" in metrics
    assert "losslessness.match_rate" in metrics
    assert not {m for m in metrics if m.startswith(("conditions", "speculation.counts"))}
    assert not {m for m in metrics if m.endswith((".tokens", ".seconds"))}


# --- settings -----------------------------------------------------------------------------------


def test_a_setting_is_named_once_with_its_runs() -> None:
    new = bench()
    new["engine"]["version"] = "b11600"
    new["configurations"]["k7"]["draft_length"] = {"max": 5, "policy": "fixed"}
    new["runs"][1]["conditions"] = {"concurrency": 8, "kv_position": {"filled_tokens": 2048}}
    changes = {(s.name, s.old, s.new): s.runs for s in compared(BENCH, new).settings}
    assert changes == {
        ("engine.version", "b11549", "b11600"): ("base", "mtp"),
        ("draft_length.max", "7", "5"): ("mtp",),
        ("draft_length.policy", None, "fixed"): ("mtp",),
        ("conditions.concurrency", "1", "8"): ("mtp",),
        ("conditions.kv_position.filled_tokens", None, "2048"): ("mtp",),
    }


def test_how_a_setting_is_written_does_not_matter() -> None:
    new = bench()
    new["configurations"]["k7"] = {
        "drafter": [{"method": "mtp"}],
        "draft_length": {"max": 7},
        "sampler": {"temperature": 0.0},
    }
    new["configurations"]["plain"]["machine"] = new.pop("machine")
    new["configurations"]["k7"]["machine"] = new["configurations"]["plain"]["machine"]
    assert compared(BENCH, new).settings == ()


def test_a_drafter_that_is_gone() -> None:
    new = bench()
    new["configurations"]["k7"]["drafter"] = None
    changes = {(s.name, s.old, s.new) for s in compared(BENCH, new).settings}
    assert changes == {("drafter", None, "none"), ("drafter.method", "mtp", None)}


def test_settings_are_flat_and_know_nothing_of_extensions() -> None:
    tree = bench()
    tree["engine"] |= {"environment": {"A": "1"}, "patches": ["x", "y"], "extensions": {"b": 2}}
    run = ReportFacts(Report.model_validate(tree)).runs[1]
    found = settings_of(run)
    assert found["engine.environment.A"] == "1"
    assert found["engine.patches"] == "x, y"
    assert found["machine.devices.name"] == "NVIDIA L4"
    assert not [name for name in found if "extensions" in name]


# --- runs, claims and findings ------------------------------------------------------------------


def test_runs_and_claims_come_and_go() -> None:
    new = bench()
    new["runs"][0]["void"] = "throttled"
    new["runs"].append({"id": "ngram", "configuration": "k7", "decode": {"tok_s": 31.0}})
    new["claims"] = [
        {"of": "ngram", "relation": "at_least", "value": 30.0, "metric": "decode.tok_s"}
    ]
    found = compared(BENCH, new)
    assert (found.runs_added, found.runs_removed) == (("ngram",), ("base",))
    assert found.claims_added == ("ngram, at_least of decode.tok_s",)
    assert found.claims_removed == ("twice",)


def test_a_claim_that_is_contradicted_now() -> None:
    new = bench()
    new["claims"][0]["value"] = 2.51
    found = compared(BENCH, new)
    assert found.contradicted == ("twice",)
    assert [(c.claim, c.old, c.new) for c in found.claims_changed] == [("twice", "2.01", "2.51")]
    assert [(f.code, f.subject) for f in found.new_errors] == [("BL601", "claim twice")]
    assert found.regressions
    assert not compared(new, new).regressions


def test_an_old_contradiction_is_no_regression() -> None:
    old, new = bench(), bench()
    for tree in (old, new):
        tree["claims"][0]["value"] = 2.51
    new["engine"]["version"] = "b11600"
    assert not compared(old, new).regressions
    assert [f.code for f in compared(old, bench()).findings_gone] == ["BL601"]


def test_findings_do_not_depend_on_the_order_of_runs() -> None:
    old, new = bench(), bench()
    for tree in (old, new):
        tree["runs"][1]["speculation"]["accepted_length"] = 8.4  # over K + 1
    new["runs"].insert(0, {"id": "other", "configuration": "plain", "workload": "code"})
    found = compared(old, new)
    assert "BL201" not in {f.code for f in (*found.findings_new, *found.findings_gone)}


def test_a_new_error_is_a_regression() -> None:
    new = bench()
    new["runs"][1]["speculation"]["acceptance_rate"] = 1.7
    found = compared(BENCH, new)
    assert found.new_errors
    assert all(f.severity is Severity.ERROR for f in found.new_errors)
    assert found.regressions
    assert not compared(new, BENCH).regressions


def test_ids_that_are_used_twice_do_not_stop_it() -> None:
    old, new = bench(), bench()
    for tree in (old, new):
        tree["runs"].append({**tree["runs"][1], "id": "mtp (2)"})
        tree["runs"].append(tree["runs"][1])
    found = compared(old, new)
    assert found.empty
    assert found.runs_compared == 4


# --- in words -----------------------------------------------------------------------------------


def changed() -> Comparison:
    new = bench()
    new["runs"][1]["decode"]["tok_s"] = 48.8
    new["engine"]["version"] = "b11600"
    return compared(BENCH, new)


def test_text_names_what_moved() -> None:
    text = as_text(changed(), "old.json", "new.json")
    lines = text.splitlines()
    assert lines[0] == "old.json → new.json"
    assert "  mtp  decode.tok_s  59.2  48.8  -17.6 %  8.86 %" in lines
    assert any(re.fullmatch(r" *engine\.version +b11549 +b11600 +all runs", x) for x in lines)
    assert lines[-1].startswith("regression: 1 number worse, 1 claim contradicted now")
    assert "\x1b" not in text


def test_a_better_number_that_cannot_be_is_marked() -> None:
    new = bench()
    new["runs"][1]["speculation"]["accepted_length"] = 9.5
    new["runs"][0]["decode"]["tok_s"] = 35.0
    found = compared(BENCH, new)
    better = {each.metric: each.errors for each in found.moved("better")}
    assert better == {"decode.tok_s": (), "speculation.accepted_length": ("BL201",)}
    assert "2 numbers better (1 in an error)" in headline(found)
    text = as_markdown(found, "old.json", "new.json")
    row = next(line for line in text.splitlines() if "accepted_length" in line)
    assert row.endswith("| `error BL201` |")
    assert "error BL201" in as_text(found, "old.json", "new.json")


def test_a_percentage_that_became_a_share_is_neither_better_nor_worse() -> None:
    old, new = bench(), bench()
    old["runs"][1]["speculation"]["acceptance_rate"] = 61.7
    new["runs"][1]["speculation"]["acceptance_rate"] = 0.617
    found = compared(old, new)
    assert [each.metric for each in found.moved("changed")] == ["speculation.acceptance_rate"]
    assert not found.regressions
    assert compared(new, old).new_errors


def test_a_claim_that_does_not_fit_makes_no_number_doubtful() -> None:
    assert changed().contradicted
    assert all(not each.errors for each in changed().numbers)


def test_color_is_the_only_difference() -> None:
    plain = as_text(changed(), "a", "b")
    colored = as_text(changed(), "a", "b", color=True)
    assert colored != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_markdown_tables_have_rows_as_wide_as_their_heads() -> None:
    text = as_markdown(changed(), "old.json", "new.json")
    assert text.startswith("❌ **regression: ")
    assert "| `mtp` | `decode.tok_s` | `59.2` | `48.8` | `-17.6 %` | `8.86 %` |" in text
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") for row in table.splitlines()}) == 1


def test_markdown_is_cut_to_rows() -> None:
    new = bench()
    new["runs"] += [{"id": f"r{i}", "configuration": "plain"} for i in range(30)]
    text = as_markdown(compared(BENCH, new), "a", "b", max_rows=10)
    assert "| `r9` |" in text
    assert "r10" not in text
    assert "… and 20 more runs, left out to keep this short." in text


HOSTILE = "\x1b[2J\u202e|`@team <img src=x>\n::error::![a](http://x)"


def hostile() -> tuple[Tree, Tree]:
    old, new = bench(), bench()
    for tree, speed in ((old, 90.0), (new, 40.0)):
        tree["runs"][1]["id"] = HOSTILE
        tree["runs"][1]["decode"]["tok_s"] = speed
        tree["claims"] = []
    new["engine"]["version"] = HOSTILE
    new["runs"].append({"id": HOSTILE + "2", "configuration": "plain"})
    new["claims"] = [{"text": HOSTILE}]
    return old, new


def test_hostile_text_stays_on_its_line() -> None:
    found = compared(*hostile())
    for text in (as_text(found, HOSTILE, HOSTILE), as_markdown(found, HOSTILE, HOSTILE)):
        assert all(c == "\n" or c.isprintable() for c in text)
        assert not any(line.startswith("::") for line in text.splitlines())


def test_hostile_text_is_code_in_markdown() -> None:
    text = as_markdown(compared(*hostile()), HOSTILE, HOSTILE)
    bare = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "@team" in text
    assert not any(mark in bare for mark in ("@", "<", "![", "::"))


def test_the_comparison_is_json() -> None:
    found = compared(*hostile()).as_dict()
    back = json.loads(json.dumps(found))
    assert back["regressions"] is True
    assert back["numbers"][0]["direction"] == "worse"


# --- laws ---------------------------------------------------------------------------------------

speeds = st.floats(0.5, 5000).map(lambda x: Digits(f"{x:.3f}"))


def of_speed(speed: float) -> Tree:
    return {"benchlint": "1", "runs": [{"id": "a", "decode": {"tok_s": speed}}]}


def moves(old: Tree, new: Tree) -> Comparison:
    facts = [ReportFacts(Report.model_validate(t)) for t in (old, new)]
    return compare(facts[0], facts[1])


@given(speeds, speeds)
def test_turned_round_better_is_worse(a: Digits, b: Digits) -> None:
    there, back = moves(of_speed(a), of_speed(b)), moves(of_speed(b), of_speed(a))
    opposite = {"better": "worse", "worse": "better"}
    assert [opposite[n.direction] for n in there.numbers] == [n.direction for n in back.numbers]


@given(speeds, st.floats(1.1, 50))
def test_ten_percent_slower_is_always_seen(speed: Digits, factor: float) -> None:
    new = Digits(f"{speed / factor:.6f}")
    assert moves(of_speed(speed), of_speed(new)).regressions


@given(speeds, st.floats(0.93, 1.07))
def test_what_single_runs_may_differ_by_is_never_a_regression(speed: Digits, factor: float) -> None:
    assert not moves(of_speed(speed), of_speed(Digits(f"{speed * factor:.3f}"))).regressions
