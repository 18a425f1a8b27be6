"""What is known about the numbers a run can hold: their paths, and which direction is better."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from benchlint.checker.facts import ClaimFacts, QualityFacts
from benchlint.checker.lazy import once
from benchlint.checker.model import Block, MeasuredObject, Run

#: Blocks whose numbers a drafter cannot move: speculation does not shorten prefill.
_PLAIN_BLOCKS = frozenset({"prefill"})

#: Blocks whose numbers are speeds or times.
_SPEED_BLOCKS = frozenset({"prefill", "decode", "throughput", "step_time_ms", "speedup"})

_HIGHER = frozenset(
    {
        "tok_s",
        "peak_tok_s",
        "end_to_end_tok_s",
        "requests_per_s",
        "goodput_requests_per_s",
        "tokens_per_joule",
        "accepted_length",
        "acceptance_rate",
        "match_rate",
        "speedup",
    }
)
_LOWER = frozenset(
    {
        "seconds",
        "ttft_ms",
        "time_per_output_token_ms",
        "step_time_ms",
        "device_used_mib",
        "device_used_gib",
        "watts",
        "failed_requests",
    }
)

#: Words in the name of a quality metric by which lower is better, or higher.
_LOWER_WORDS = frozenset({"perplexity", "ppl", "loss", "divergence", "kld", "bits", "wer", "cer"})
_HIGHER_WORDS = frozenset(
    {"accuracy", "acc", "pass", "exact", "f1", "bleu", "rouge", "score", "winrate"}
)
_LIKELIHOOD_WORDS = frozenset({"perplexity", "ppl", "divergence", "kld", "likelihood", "bits"})


def block_of(path: str) -> str:
    """The first part of a metric's path: "decode" of "decode.tok_s"."""
    return path.partition(".")[0]


def higher_is_better(path: str) -> bool | None:
    """Whether more of this metric of a run is better; None where that cannot be said.

    Inter-token latency has none: where it is the gap between streamed chunks it grows with
    accepted length (vllm#48892).
    """
    name = path.removesuffix(".value").rpartition(".")[2]
    if name in _HIGHER:
        return True
    return False if name in _LOWER else None


def quality_higher_is_better(row: QualityFacts) -> bool | None:
    """Whether more is better in this quality row: as it says, else by its metric's name."""
    if row.model.higher_is_better is not None:
        return row.model.higher_is_better
    words = _words(row)
    if words & _LOWER_WORDS:
        return False
    return True if words & _HIGHER_WORDS else None


def _words(row: QualityFacts) -> frozenset[str]:
    """The words of the row's metric in lower case: pass@1 gives pass and 1."""
    name = (row.model.metric or "").casefold()
    return frozenset("".join(c if c.isalnum() else " " for c in name).split())


def is_perplexity(row: QualityFacts) -> bool:
    """Whether the row's figure is a perplexity."""
    return bool(_words(row) & {"perplexity", "ppl"})


def is_likelihood(row: QualityFacts) -> bool:
    """Whether the row's figure is worked out from probabilities of a given text."""
    return bool(_words(row) & _LIKELIHOOD_WORDS)


@once
def is_about_speed(claim: ClaimFacts) -> bool:
    """Whether a claim's metric is a speed or a time."""
    return claim.model.metric is not None and is_speed(claim.model.metric)


def is_speed(path: str) -> bool:
    """Whether the metric is a speed or a time, which differ from run to run."""
    return block_of(path) in _SPEED_BLOCKS and higher_is_better(path) is not None


def drafter_moves(path: str) -> bool:
    """Whether a drafter changes this metric."""
    return block_of(path) not in _PLAIN_BLOCKS


@cache
def known_metrics() -> tuple[str, ...]:
    """Paths of all numbers that a run can hold, sorted."""
    return tuple(sorted(_paths(Run, "")))


def _paths(model: type[Block], prefix: str) -> Iterator[str]:
    for name, info in model.model_fields.items():
        if name == "extensions":
            continue
        parts = set(_parts(info.annotation))
        blocks = [p for p in parts if issubclass(p, Block) and not issubclass(p, MeasuredObject)]
        for block in blocks:
            yield from _paths(block, f"{prefix}{name}.")
        if not blocks and parts & {int, float} and not parts & {list, dict, bool}:
            yield prefix + name


def _parts(annotation: Any) -> Iterator[type]:
    """Every class named in an annotation; an alias of list or dict gives list or dict."""
    origin = getattr(annotation, "__origin__", None)
    if origin in (list, dict):
        yield origin
    elif isinstance(annotation, type):
        yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)
