"""A rendered report says what the report says, and nothing in it can act."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

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
    assert by_run["dflash-code"] == "4.5×"
    assert by_run["dflash-mixed"] == "?"  # there is no plain run on that mix


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
