"""Which numbers of a run come from a clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from benchlint.checker.numbers import Reported

if TYPE_CHECKING:
    from benchlint.checker.facts import RunFacts
    from benchlint.checker.model import Measured

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


def timed_fields(given: Mapping[str, object]) -> list[tuple[str, Measured]]:
    """Those of a run's members by path that are speeds and times, decode first."""
    return [(path, cast("Measured", given[path])) for path in TIMED if path in given]


def timed_number(run: RunFacts, path: str) -> Reported | None:
    """One of them in its interval form."""
    block, _, name = path.partition(".")
    return run.number(block, name) if name else run.step_time_ms
