"""Generated files are what the code gives, and documents keep their promises."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchlint.checker.check import check_tree
from docs.generate import PAGES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", PAGES)
def test_generated_files_are_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_field_of_the_format_is_described() -> None:
    rows = [x for x in PAGES["docs/format.md"]().splitlines() if x.startswith("| `")]
    assert rows
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_faulty_example_has_the_errors_of_the_picture_and_no_others() -> None:
    tree = json.loads((ROOT / "examples/faulty/too-good.json").read_text("utf-8"))
    found = [f for f in check_tree(tree) if not f.code.startswith("BL1")]
    assert [(f.code, f.severity) for f in found] == [("BL201", "error"), ("BL601", "error")]
