"""The draft length K that a command line sets, where it can be told from the flags alone.

Sources: llama.cpp `common/arg.cpp` (`--draft-max`, `--spec-draft-n-max`), vLLM
`vllm/config/speculative.py` (`num_speculative_tokens`), SGLang `python/sglang/srt/server_args.py`
(`--speculative-num-draft-tokens` counts the root, so that a chain has one fewer), mlx-lm
`mlx_lm/generate.py` (`--num-draft-tokens`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchlint.checker.command_line import CommandLine

_TOKENS = (
    "--draft-max",
    "--draft-n",
    "--spec-draft-n-max",
    "--num-speculative-tokens",
    "--num-draft-tokens",
)
_CONFIG = ("--speculative-config", "-sc")
_STEPS = "--speculative-num-steps"
_WITH_ROOT = "--speculative-num-draft-tokens"
_BRANCHES = "--speculative-eagle-topk"


@dataclass(frozen=True, slots=True)
class CommandDraftLength:
    """K as a command line sets it, in tokens of a chain; text: the flags that say so."""

    k: int
    text: str


def draft_length_of(line: CommandLine) -> CommandDraftLength | None:
    """The K of a command line; None where none is set, drafts are trees, or flags disagree."""
    if (_whole(line.value(_BRANCHES)) or 1) > 1:
        return None
    found = list(_stated(line))
    return found[0] if found and len({each.k for each in found}) == 1 else None


def _stated(line: CommandLine) -> Iterator[CommandDraftLength]:
    for flag in (*_TOKENS, _STEPS):
        for text in line.values(flag):
            yield from _positive(_whole(text), f"{flag} {text}")
    member = line.json(*_CONFIG).get("num_speculative_tokens")
    yield from _positive(_whole(member), f"num_speculative_tokens {member}")
    for text in line.values(_WITH_ROOT):
        tokens = _whole(text)
        if tokens is not None:
            yield from _positive(tokens - 1, f"{_WITH_ROOT} {text}, the root included")


def _positive(k: int | None, text: str) -> Iterator[CommandDraftLength]:
    if k is not None and k >= 1:
        yield CommandDraftLength(k, text)


def _whole(value: object) -> int | None:
    """A whole number as written on a command line or in its JSON."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None
