"""Generated files are what the code gives, and documents keep their promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
