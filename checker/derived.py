"""Which figures of speculation a run gives without stating them.

Only presence is judged here: the arithmetic that checks them against one another is in the
rules. (Conversions: vLLM `v1/spec_decode/metrics.py`, llama.cpp `common/speculative.cpp`.)
"""

from __future__ import annotations

from benchlint.checker.facts import RunFacts
from benchlint.checker.model import Counts, Measured


def is_given(measured: Measured | None) -> bool:
    """Whether a measured field holds any figure, be it only a range or percentiles."""
    if measured is None or isinstance(measured, (int, float)):
        return measured is not None
    return measured.value is not None or bool(
        measured.range or measured.samples or measured.percentiles
    )


def gives_accepted_length(run: RunFacts) -> bool:
    """Whether accepted length τ follows from what else the run reports.

    From accepted tokens and verify steps (1 + A/s) or output tokens ((N − n)/(N − n − A) over
    n requests), a histogram, a complete list of positions (1 + Σp), or an acceptance rate
    that is a share of K times the steps (1 + K·rate).
    """
    block = run.model.speculation
    if block is None:
        return False
    return (
        bool(block.histogram)
        or (block.counts is not None and _counts_give_length(block.counts))
        or has_all_positions(run)
        or (run.acceptance_rate_of == "configured" and run.k is not None)
    )


def _counts_give_length(counts: Counts) -> bool:
    if counts.accepted is None:
        return False
    return bool(counts.verify_steps) or counts.output_tokens is not None


def has_all_positions(run: RunFacts) -> bool:
    """Whether the per-position list has a value for each of the K positions."""
    length = run.configuration.max_accepted
    return length is not None and 0 < length.value <= len(run.positions)


def gives_acceptance_rate(run: RunFacts) -> bool:
    """Whether the acceptance rate is stated or follows from what else the run reports.

    From drafted and accepted tokens, or from accepted length where every draft has K tokens.
    For a draft tree the rate says little, so there accepted length is enough.
    """
    if run.model.speculation is None:
        return False
    if run.acceptance_rate is not None:
        return True
    counts = None if run.counts is None else run.counts.model
    if counts is not None and None not in (counts.drafted, counts.accepted):
        return True
    if run.accepted_length is None and not gives_accepted_length(run):
        return False
    return _is_tree(run) or _has_one_length(run)


def _has_one_length(run: RunFacts) -> bool:
    """Whether every draft has K tokens. A verify step has at least one, so at K = 1 it must."""
    k = run.configuration.k
    return k is not None and (run.configuration.fixed_k is True or k.value == 1)


def _is_tree(run: RunFacts) -> bool:
    placed = run.configuration.draft_length
    return placed is not None and placed.model.tree is not None
