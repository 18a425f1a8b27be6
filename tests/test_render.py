"""A rendered report says what the report says, and nothing in it can act."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.checker.render import as_html, as_markdown, table

EXAMPLES = Path(__file__).parents[1] / "examples"
HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "@everyone",
        "<img src=x onerror=alert(1)>",
        "a|b",
        "```\n# x",
        "![x](http://a.b)",
        "www.a.b",
        "#12",
    ]
)


def facts(tree: Any) -> ReportFacts:
    return ReportFacts(Report.model_validate(tree))


def example(name: str) -> ReportFacts:
    text = (EXAMPLES / name).read_text("utf-8")
    return facts(json.loads(text, parse_float=Digits))


def test_digits_are_shown_as_reported() -> None:
    rows = {row[0]: row for row in table(example("dflash.json")).rows}
    assert "36.300" in rows["dflash-mixed-cpu-argmax"]


def test_speedups_come_from_the_matched_baseline_only() -> None:
    shown = table(example("dflash.json"))
    column = shown.headers.index("speed-up")
    by_run = {row[0]: row[column] for row in shown.rows}
    assert by_run["plain-code"] == "–"
    assert by_run["dflash-code"] == "4.50×"
    assert by_run["dflash-mixed"] == "?"  # there is no plain run on that mix


CONFIGURATIONS = {
    "plain": {"drafter": None},
    "fast": {"drafter": {"method": "mtp"}, "acceptance_rule": "lossless"},
    "loose": {"drafter": {"method": "mtp"}, "acceptance_rule": "relaxed"},
    "other": {"drafter": {"method": "mtp"}, "target": {"quantization": {"recipe": "Q4_K_M"}}},
}


def cells(tree: Any, header: str) -> dict[str, str]:
    """The column of that name by run; empty where there is none."""
    shown = table(facts({"configurations": CONFIGURATIONS, **tree}))
    if header not in shown.headers:
        return {}
    return {row[0]: row[shown.headers.index(header)] for row in shown.rows}


def run(name: str, **members: Any) -> dict[str, Any]:
    return {"id": name, "configuration": name, "workload": "code", **members}


def test_concurrency_is_a_column_where_it_is_stated() -> None:
    conditions = {"concurrency": 8}
    runs = [run("plain", conditions=conditions), run("fast")]
    assert cells({"runs": runs}, "concurrency") == {"plain": "8", "fast": "?"}
    assert cells({"runs": [run("plain")]}, "concurrency") == {}
    assert "Concurrency: not stated." in table(facts({"runs": [run("plain")]})).footnotes


def test_conditions_that_differ_are_columns_and_others_footnotes() -> None:
    runs = [
        run("plain", conditions={"warm": True, "repeats": 5}),
        run("fast", conditions={"warm": False, "repeats": 5}),
    ]
    assert cells({"runs": runs}, "warm") == {"plain": "true", "fast": "false"}
    assert cells({"runs": runs}, "repeats") == {}
    assert "Repeats: 5." in table(facts({"runs": runs})).footnotes
    assert not any(x.startswith("Warm:") for x in table(facts({"runs": runs})).footnotes)


def test_quality_says_of_what_and_how_sure_it_is() -> None:
    row = {
        "metric": "perplexity",
        "dataset": "wikitext-2",
        "sample_size": 245000,
        "value": Digits("6.620"),
        "error": Digits("0.040"),
        "configuration": "plain",
    }
    tree = {
        "target": {"name": "t", "quantization": {"recipe": "Q5_K_M"}},
        "runs": [run(name) for name in CONFIGURATIONS],
        "quality": [row],
    }
    figure = "perplexity 6.620 ± 0.040 (wikitext-2, n 245000"
    assert cells(tree, "quality") == {
        "plain": f"{figure})",
        "fast": f"{figure}, of plain)",
        "loose": "?",  # its output is another
        "other": "?",  # and so are its weights
    }


def test_quality_of_unnamed_weights_is_of_their_configuration_alone() -> None:
    row = {"metric": "accuracy", "value": 0.5, "configuration": "plain"}
    tree = {"runs": [run("plain"), run("fast")], "quality": [row]}
    assert cells(tree, "quality") == {"plain": "accuracy 0.5", "fast": "?"}


def test_speedups_have_the_same_digits() -> None:
    runs = [
        run("plain", decode={"tok_s": 20.0}),
        run("fast", decode={"tok_s": 90.0}),
        run("loose", decode={"tok_s": 9.87}),
        run("other", speedup=Digits("2.1")),
    ]
    assert cells({"runs": runs}, "speed-up") == {
        "plain": "–",
        "fast": "4.50×",
        "loose": "0.49×",
        "other": "2.1×",  # stated
    }


@pytest.mark.parametrize(("concurrency", "shown"), [(8, "1.50× (all streams)"), (1, "?")])
def test_speedups_of_several_streams(concurrency: int, shown: str) -> None:
    conditions = {"concurrency": concurrency}
    runs = [
        run("plain", conditions=conditions, throughput={"tok_s": 200}),
        run("fast", conditions=conditions, throughput={"tok_s": 300}),
    ]
    assert cells({"runs": runs}, "speed-up").get("fast", "?") == shown
    notes = table(facts({"configurations": CONFIGURATIONS, "runs": runs})).footnotes
    assert ("all streams" in notes[-1]) == (concurrency > 1)


def test_of_several_plain_runs_the_one_of_the_same_weights_is_the_baseline() -> None:
    quantized = {"target": {"quantization": {"recipe": "Q4_K_M"}}}
    names = {"plain": {"drafter": None}, "plain-q4": {"drafter": None, **quantized}}
    fast = {"fast": {"drafter": {"method": "mtp"}, **quantized}}
    runs = [
        run("plain", decode={"tok_s": 10}),
        run("plain-q4", decode={"tok_s": 20}),
        run("fast", decode={"tok_s": 30}),
    ]
    tree = {"configurations": names | fast, "runs": runs, "target": {"name": "t"}}
    assert cells(tree, "speed-up")["fast"] == "1.50×"


def test_footnotes_group_what_is_left_to_the_engine_and_name_the_driver() -> None:
    sampler = {"temperature": 1, "left_to_engine": ["top_k", "top_p"]}
    tree: Any = {
        "machine": {"driver": "550.90", "os": "Linux"},
        "configurations": {"plain": {"sampler": sampler}},
    }
    notes = table(facts(tree)).footnotes
    assert "Sampler: temperature 1; left to the engine: top_k, top_p." in notes
    assert "Machine: driver 550.90, Linux." in notes
    tree["machine"]["driver"] = "NVIDIA driver 550.90"
    assert "Machine: NVIDIA driver 550.90, Linux." in table(facts(tree)).footnotes


def test_a_sampler_is_said_of_its_configurations_where_there_are_others() -> None:
    one, other = {"sampler": {"temperature": 0}}, {"sampler": {"temperature": 1}}
    tree: Any = {"configurations": {"a, b": one, "c": one}, "runs": [run("a, b"), run("c")]}
    assert "Sampler: temperature 0." in table(facts(tree)).footnotes
    tree["configurations"]["d"] = other
    notes = table(facts(tree)).footnotes
    assert "Sampler of 'a, b', 'c': temperature 0." in notes
    assert "Sampler of d: temperature 1." in notes
    del tree["configurations"]["d"]
    tree["runs"].append({"id": "of no configuration"})
    assert "Sampler of 'a, b', 'c': temperature 0." in table(facts(tree)).footnotes


def test_columns_without_a_known_value_are_left_out() -> None:
    assert "prefill tok/s" not in table(example("dflash2-vs-mtp.json")).headers


def test_no_runs_is_said() -> None:
    assert "no runs" in as_markdown(table(facts({})), "{}")


def test_the_block_carries_the_report() -> None:
    text = json.dumps({"title": "``` `````"}, indent=1)
    page = as_markdown(table(facts({"title": "``` `````"})), text)
    tokens = MarkdownIt().parse(page)
    blocks = [t.content for t in tokens if t.type == "fence" and t.info == "benchlint"]
    assert blocks == [text + "\n"]


@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_in_a_report_acts_in_markdown(title: str, run: str, model: str) -> None:
    tree = {
        "title": title,
        "configurations": {"c": {"drafter": {"model": model}}},
        "runs": [{"id": run, "configuration": "c", "workload": model, "decode": {"tok_s": 1.5}}],
        "engine": {"name": model},
    }
    page = as_markdown(table(facts(tree)), "{}")
    html = MarkdownIt("js-default", {"html": False}).render(page)
    visible = re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL)
    assert "<img" not in visible
    assert "<a " not in visible
    assert "@" not in visible
    assert html.count("<tr>") == 2


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.add(tag)


@given(HOSTILE, HOSTILE)
def test_nothing_in_a_report_acts_in_html(title: str, run: str) -> None:
    page = as_html(table(facts({"title": title, "runs": [{"id": run, "decode": {"tok_s": 2}}]})))
    parser = _Tags()
    parser.feed(page)
    assert parser.seen <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}
