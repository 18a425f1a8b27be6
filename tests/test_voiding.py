"""Faults that answers show."""

from __future__ import annotations

import pytest

from benchlint.reproducers.engine import Arm, Counters, Sample
from benchlint.reproducers.voiding import fault_of

PLAIN = Arm("plain")
FAST = Arm("K=4", "draft_model", 4)


@pytest.mark.parametrize(
    ("arm", "drafted", "whole", "fault"),
    [
        (PLAIN, [0, 3], False, "the engine drafts though no drafter is asked for"),
        (PLAIN, [0, None], True, ""),
        (FAST, [0, 0], True, "speculation never ran"),
        (FAST, [0, 0], False, ""),
        (FAST, [0, 1], True, ""),
        (FAST, [0, None], True, ""),
        (FAST, [], True, ""),
    ],
)
def test_faults_of_counts(arm: Arm, drafted: list[int | None], whole: bool, fault: str) -> None:
    samples = [Sample("", 8, counters=Counters(drafted=each)) for each in drafted]
    found = fault_of(arm, samples, whole)
    assert found.startswith(fault)
    assert bool(found) == bool(fault)


@pytest.mark.parametrize("arm", [PLAIN, FAST], ids=["plain", "fast"])
def test_a_cache_hit_is_a_fault_and_silence_is_none(arm: Arm) -> None:
    cached = [Sample("", 8, cached_tokens=each) for each in (0, 16, None)]
    assert fault_of(arm, cached, whole=False) == "16 tokens of a prompt came from a cache"
    assert fault_of(arm, cached[::2], whole=True) == ""
