"""verdict.html: what it says, that it is well formed, and that it asks for nothing outside."""

from __future__ import annotations

import json
from typing import Any

from benchlint.reproducers.verdict_json import verdict_bytes
from benchlint.reproducers.verdict_page import verdict_page
from tests import verdict_samples as samples


def page(data: dict[str, Any] | None = None, **more: Any) -> str:
    values = {"findings": samples.FINDINGS, "repeat": samples.REPEAT} | more
    return verdict_page(samples.whole() if data is None else data, **values)


def test_the_page_can_be_made_again_from_the_file() -> None:
    judgement = samples.judgement()
    data = json.loads(verdict_bytes(judgement))
    assert page(data) == page()


def test_the_headline_says_how_many_claims_do_not_hold() -> None:
    assert "Refuted: 1 of 4 claims does not hold when run again." in page()
    assert "Reproduced: the claim that could be tested here holds." in page(samples.good())
