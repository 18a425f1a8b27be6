"""The badge of a verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchlint.checker.errors import CannotRunError
from benchlint.reproducers.badge import badge_of, badge_svg
from benchlint.reproducers.verdicts import Outcome


def _verdict(outcome: Outcome, **counts: int) -> dict[str, object]:
    names = {each.value: 0 for each in Outcome}
    given = {name.replace("_", " "): count for name, count in counts.items()}
    return {"outcome": outcome.value, "counts": {**names, **given}}


@pytest.mark.parametrize(
    ("outcome", "counts", "message"),
    [
        (Outcome.REPRODUCED, {"reproduced": 7, "not_testable_here": 3}, "reproduced 7 of 7"),
        (Outcome.REFUTED, {"reproduced": 7, "refuted": 2}, "refuted 2 of 9"),
        (Outcome.INCONCLUSIVE, {"reproduced": 7, "inconclusive": 1}, "inconclusive 1 of 8"),
        (Outcome.NOT_TESTABLE, {"not_testable_here": 4}, "not testable here"),
    ],
)
def test_what_it_says(outcome: Outcome, counts: dict[str, int], message: str) -> None:
    badge = badge_of(_verdict(outcome, **counts))
    assert badge.message == message
    root = ET.fromstring(badge_svg(badge))  # noqa: S314 - our own
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["benchlint", message]
    assert "href" not in badge_svg(badge)


@pytest.mark.parametrize(
    "verdict",
    [None, [], {}, {"outcome": "<b>", "counts": {}}, _verdict(Outcome.REFUTED, refuted=-1)],
)
def test_no_verdict(verdict: object) -> None:
    with pytest.raises(CannotRunError, match=r"no verdict\.json"):
        badge_of(verdict)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps(_verdict(Outcome.REPRODUCED, reproduced=2)))
    command = [sys.executable, "-m", "benchlint", "badge", "verdict.json", "-o", "badge.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reproduced 2 of 2" in (tmp_path / "badge.svg").read_text("utf-8")
