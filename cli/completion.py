"""Completion of words that an option knows, for the shell.

The words stand here and not where they are used, since `--help` and completion import nothing
of the checker; `tests/test_completion.py` holds them to what the checker knows.
"""

from __future__ import annotations

from collections.abc import Callable

FORMATS = ("text", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "html")
PROFILES = ("default", "publish", "strict")
FAIL_ON = ("error", "warning", "note", "never")
COLORS = ("auto", "always", "never")
CONDITIONS = (
    *("weights", "quantization", "drafter", "draft length", "p_min", "sampler"),
    *("chat template", "thinking mode", "prompts", "KV cache types", "device", "engine"),
)
WORKLOADS = ("code", "prose", "planning", "chat", "tool_call", "infra", "rag")
PLACEMENTS = ("gpu", "cpu")
ENGINES = ("server", "llama-cpp")
DRAFT_METHODS = ("argmax", "sampled")


def completes(*words: str) -> Callable[[str], list[str]]:
    """A completion of these words by their beginning."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete
