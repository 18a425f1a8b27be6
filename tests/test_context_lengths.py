"""Context lengths are found in prose, and only context lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.context_lengths import longest_context


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Muse Glimmer 30B, 256K context and DFlash on one card", 256_000),
        ("decode at 128k-token context", 128_000),
        ("runs with a context of 262,144 tokens", 262_144),
        ("context length: 131072", 131_072),
        ("1.5M context", 1_500_000),
        ("8K context, then 64K context", 64_000),
        ("256Kコンテキストで動かす", 256_000),
        ("256Kの文脈", 256_000),
        ("ctx 32768", 32_768),
        ("32 K context", 32_000),
    ],
)
def test_the_longest_length(text: str, tokens: int) -> None:
    found = longest_context(text)
    assert found is not None
    assert found.tokens == tokens
    assert found.text in text


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "Phi-3-mini-128k-instruct with EAGLE-3",
        "K = 15 on code",
        "a long context, 2026-08-20",
        "long context 2026",
        "1,024 tokens of output",
        "context: 2 models compared",
        "4K video descriptions",
        "Phi-3-mini-128k context",
    ],
)
def test_other_numbers(text: str | None) -> None:
    assert longest_context(text) is None


@given(st.text(alphabet="0123456789kKmM,. -contexf\n"))
def test_nothing_is_raised(text: str) -> None:
    found = longest_context(text)
    assert found is None or found.tokens >= 0
