"""What is known about the numbers of a run."""

from __future__ import annotations

import pytest

from benchlint.checker.facts import ReportFacts
from benchlint.checker.metrics import (
    higher_is_better,
    is_likelihood,
    is_perplexity,
    is_speed,
    known_metrics,
    quality_higher_is_better,
)
from benchlint.checker.model import Report


def test_paths_are_those_of_numbers() -> None:
    known = known_metrics()
    assert {"decode.tok_s", "step_time_ms", "speedup", "speculation.counts.drafted"} <= set(known)
    assert not {"decode", "id", "void", "speculation.histogram", "finish_reasons"} & set(known)
    assert not [path for path in known if "extensions" in path or "per_position" in path]


@pytest.mark.parametrize(
    ("path", "higher"),
    [
        ("decode.tok_s", True),
        ("decode.tok_s.value", True),
        ("throughput.failed_requests", False),
        ("prefill.ttft_ms", False),
        ("step_time_ms", False),
        ("memory.device_used_gib", False),
        ("decode.inter_token_latency_ms", None),
        ("speculation.counts.drafted", None),
    ],
)
def test_directions(path: str, higher: bool | None) -> None:
    assert higher_is_better(path) is higher


def test_speeds_are_speeds() -> None:
    assert is_speed("throughput.tok_s")
    assert is_speed("speedup")
    assert not is_speed("speculation.accepted_length")
    assert not is_speed("decode.tokens")


@pytest.mark.parametrize(
    ("name", "higher", "perplexity", "likelihood"),
    [
        ("perplexity", False, True, True),
        ("PPL (WikiText-2)", False, True, True),
        ("KL divergence", False, False, True),
        ("bits_per_byte", False, False, True),
        ("pass@1", True, False, False),
        ("accuracy", True, False, False),
        ("lossless answers", None, False, False),
        (None, None, False, False),
    ],
)
def test_quality_by_name(
    name: str | None, higher: bool | None, perplexity: bool, likelihood: bool
) -> None:
    row = ReportFacts(Report.model_validate({"quality": [{"metric": name}]})).quality[0]
    assert quality_higher_is_better(row) is higher
    assert is_perplexity(row) is perplexity
    assert is_likelihood(row) is likelihood
