"""The draft length that a command line sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.command_draft_length import draft_length_of
from benchlint.checker.command_line import command_line


def k_of(text: str) -> int | None:
    """K of a command line."""
    found = draft_length_of(command_line(text))
    return None if found is None else found.k


@pytest.mark.parametrize(
    ("text", "k"),
    [
        ("llama-server --draft-max 8", 8),
        ("llama-server --spec-draft-n-max=8", 8),
        ("vllm serve m --num_speculative_tokens 5", 5),
        ("""vllm serve m --speculative-config '{"num_speculative_tokens": 3}'""", 3),
        ("vllm serve m --speculative-config.num_speculative_tokens 3", 3),
        ("launch --speculative-num-steps 3", 3),
        ("launch --speculative-num-draft-tokens 4", 3),
        ("launch --speculative-num-steps 3 --speculative-num-draft-tokens 4", 3),
        ("launch --speculative-num-steps 3 --speculative-num-draft-tokens 9", None),
        ("launch --speculative-num-steps 3 --speculative-eagle-topk 4", None),
        ("llama-server --draft-max 4 --draft-max 8", None),
        ("llama-server --draft-max auto", None),
        ("llama-server --draft-max", None),
        ("llama-server --draft-max 0", None),
        ("launch --speculative-num-draft-tokens 1", None),
        ("llama-server -m t.gguf", None),
    ],
)
def test_the_draft_length_of_a_command_line(text: str, k: int | None) -> None:
    assert k_of(text) == k


@given(st.text(max_size=200))
def test_no_command_line_upsets_it(text: str) -> None:
    k = k_of(f"llama-server --draft-max {text}")
    assert k is None or 1 <= k <= 999_999


@given(st.integers(1, 999_998))
def test_the_root_is_no_draft(k: int) -> None:
    assert k_of(f"launch --speculative-num-draft-tokens {k + 1}") == k
