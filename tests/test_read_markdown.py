"""Pages that carry reports: what `render` writes, `check` reads back, in its own place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.document import documents
from benchlint.checker.read_markdown import benchlint_blocks

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT = 10**7


def check(path: Path) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, ["check", "--format", "json", str(path)])
    files = json.loads(result.output)["files"]
    return [finding for file in files for finding in file["findings"]]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.json")), ids=lambda p: p.name)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_rendered_page_is_checked_like_its_report(
    example: Path, line_end: str, tmp_path: Path
) -> None:
    page = CliRunner().invoke(app, ["render", str(example)]).output
    path = tmp_path / "README.md"
    path.write_bytes(("# A page\n\n" + page).replace("\n", line_end).encode())
    offset = page.partition("```benchlint")[0].count("\n") + 3
    expected = [(f["code"], f["pointer"], f["line"] + offset) for f in check(example)]  # type: ignore[operator]
    assert [(f["code"], f["pointer"], f["line"]) for f in check(path)] == expected


def test_blocks_that_only_show_a_report_are_passed_over() -> None:
    page = "````\n```benchlint\n{}\n```\n````\n\n```json\n{}\n```\n~~~benchlint\n{1}\n~~~\n"
    assert [(b.text, b.line_offset) for b in benchlint_blocks(page)] == [("{1}", 10)]


def test_a_page_without_a_report_says_how_to_carry_one(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("# no report\n", "utf-8")
    (parsed,) = documents(path, limit_bytes=LIMIT)
    (finding,) = parsed.findings
    assert finding.code == "BL001"
    assert "```benchlint" in finding.help


@given(st.text("`~ \nbenchlint{}a", max_size=80))
def test_blocks_are_those_that_markdown_has(page: str) -> None:
    tokens = MarkdownIt().parse(page)
    fences = [t for t in tokens if t.type == "fence" and t.level == 0]
    expected = [t.content.rstrip("\n") for t in fences if t.info.strip() == "benchlint"]
    found = [b.text.rstrip("\n") for b in benchlint_blocks(page)]
    if all(t.type in ("fence", "paragraph_open", "paragraph_close", "inline") for t in tokens):
        indented = any(line.startswith(" ") for line in page.split("\n"))
        assert indented or found == expected


def test_a_page_that_ends_with_the_fence_has_an_empty_block_in_its_last_line() -> None:
    assert [(b.text, b.line_offset) for b in benchlint_blocks("# x\n```benchlint")] == [("", 1)]


def test_no_fence_takes_long() -> None:
    assert list(benchlint_blocks("`" * 300_000 + "x`")) == []
