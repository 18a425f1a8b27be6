"""Which numbers of a run come from a clock."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from benchlint.checker.given import Given
from benchlint.checker.numbers import Reported

if TYPE_CHECKING:
    from benchlint.checker.facts import RunFacts

_BLOCKS = {
    "decode": (
        "tok_s",
        "seconds",
        "time_per_output_token_ms",
        "inter_token_latency_ms",
        "inter_chunk_latency_ms",
    ),
    "prefill": ("tok_s", "seconds", "ttft_ms"),
    "throughput": (
        "tok_s",
        "end_to_end_tok_s",
        "requests_per_s",
        "goodput_requests_per_s",
        "peak_tok_s",
        "seconds",
    ),
}

#: Paths in a run of its speeds and times, decode first.
TIMED = (*(f"{block}.{name}" for block, names in _BLOCKS.items() for name in names), "step_time_ms")


@lru_cache(maxsize=256)
def timed_members(given: Given) -> tuple[tuple[str, str, str], ...]:
    """Those of a run's members that are speeds and times, decode first.

    Each with its path, its block and its name there; "" where it stands in no block.
    """
    parted = ((path, *path.partition(".")) for path in TIMED if path in given.paths)
    return tuple((path, block, name) for path, block, _, name in parted)


def timed_number(run: RunFacts, path: str) -> Reported | None:
    """One of them in its interval form."""
    block, _, name = path.partition(".")
    return run.number(block, name) if name else run.step_time_ms
