"""No importer fails, whatever is cut out of a tool's output, put in twice, or put in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from benchlint.checker.check import check_tree
from benchlint.checker.reading import reports

_FOLDER = Path(__file__).parent

#: What is put into the middle of a file.
_STRANGE = (
    *'<>|"{}[],:%-=\n\t\0',
    *("1e999", "-5", "NaN", "null", "true", "9" * 400, "||||", "</table>", "<td colspan=99>"),
    *("```\n", "\n\n", "±", "→", "∞", "é", "\u202e"),
)

#: So many versions of each file are tried.
_VERSIONS = 10


def _inputs() -> Iterator[Any]:
    for path in sorted(_FOLDER.glob("*.yaml")):
        for i, each in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))):
            yield pytest.param(each["file"], each["text"], id=f"{path.stem} {i + 1}")


def _mutated(text: str, random: Random) -> str:
    for _ in range(random.randint(1, 12)):
        at, width = random.randrange(len(text) + 1), random.randint(1, 60)
        kind = random.random()
        if kind < 0.35:
            text = text[:at] + text[at + width :]
        elif kind < 0.65:
            again = random.randrange(len(text) + 1)
            text = text[:at] + text[again : again + width] + text[at:]
        else:
            text = text[:at] + random.choice(_STRANGE) + text[at + random.randint(0, 1) :]
    return text


@pytest.mark.parametrize(("name", "text"), list(_inputs()))
def test_every_version_is_read_or_refused(name: str, text: str, tmp_path: Path) -> None:
    random = Random(f"{name} {text}")
    path = tmp_path / name
    for _ in range(_VERSIONS):
        path.write_text(_mutated(text, random), encoding="utf-8", newline="")
        found = list(reports(path, limit_bytes=1_000_000))
        assert found
        for parsed in found:
            if parsed.report is None:
                assert parsed.findings
                continue
            for finding in check_tree(parsed.report.tree):
                assert parsed.report.locate(finding.pointer).line >= 1
