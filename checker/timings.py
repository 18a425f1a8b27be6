"""Which numbers of a run come from a clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchlint.checker.numbers import Reported

if TYPE_CHECKING:
    from benchlint.checker.facts import RunFacts
    from benchlint.checker.model import Measured, Run

#: Blocks of a run and their fields that are speeds or times.
TIMED = {
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


def timed_fields(run: Run) -> Iterator[tuple[str, Measured]]:
    """The run's speeds and times as written, with their paths ("decode.tok_s"), decode first."""
    for block, names in TIMED.items():
        parent = getattr(run, block)
        if parent is not None:
            for name in names:
                measured = getattr(parent, name)
                if measured is not None:
                    yield f"{block}.{name}", measured
    if run.step_time_ms is not None:
        yield "step_time_ms", run.step_time_ms


def timed_number(run: RunFacts, path: str) -> Reported | None:
    """One of them in its interval form."""
    block, _, name = path.partition(".")
    return run.number(block, name) if name else run.step_time_ms
