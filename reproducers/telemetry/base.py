"""What every kind of server telemetry shares: the answer it reads and what it says of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Protocol

from benchlint.reproducers.engine import (
    Counters,
    Description,
    EngineError,
    EngineGoneError,
    Request,
    Sampling,
)
from benchlint.reproducers.http_client import HttpClient, Json, StatusError
from benchlint.reproducers.telemetry.prometheus import Metrics, delta, read_metrics

#: A probe for what a server is; it answers at once or it is not meant.
PROBE_S = 15.0

#: No count or time is larger than what a float holds exactly.
_MOST = 1 << 53
_MOST_DIGITS = 20

_LOOKS = 20
_BETWEEN_LOOKS_S = 0.05

Setting = str | float | int | None
Parameter = float | int | None


#: How requests name the fields of Sampling, where a server keeps to OpenAI's and vLLM's words.
SAMPLER_NAMES: Mapping[str, str] = {each.name: each.name for each in fields(Sampling)}


class SharedServerError(EngineError):
    """Others use the server: its counters moved by more than this request. The cell is void."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A streamed answer as it came, before an engine's counters are read out of it.

    usage: OpenAI's counts. extras: the engine's own objects beside them, by name (`timings`,
    `metrics`, `meta_info`, `stats`, …), the last of each kind. thought: whether thoughts are
    in the text, since they came as such or since nothing is set apart from it.
    """

    text: str
    finish_reason: str | None
    usage: Mapping[str, Json] | None
    extras: Mapping[str, Mapping[str, Json]]
    token_ids: tuple[int, ...] | None
    chunk_s: tuple[float, ...]
    total_s: float
    thought: bool = True

    def hides_tokens(self) -> bool:
        """Whether thoughts were counted that did not come: no chunk tells when they were made.

        More chunks than the tokens that are no thoughts show that the thoughts are among them.
        """
        usage = self.usage or {}
        details = as_object(usage.get("completion_tokens_details"))
        thoughts = count(details, "reasoning_tokens") or count(usage, "reasoning_tokens") or 0
        others = (count(usage, "completion_tokens") or 0) - thoughts
        return bool(thoughts) and not self.thought and len(self.chunk_s) <= others


@dataclass(frozen=True, slots=True)
class Measured:
    """What the engine counted and timed over one answer; None where it does not tell."""

    output_tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    counters: Counters = field(default_factory=Counters)


@dataclass(frozen=True, slots=True)
class Speculation:
    """What a server tells of its speculation: on or off, and K; None where it does not tell."""

    on: bool | None = None
    draft_length: int | None = None


class Telemetry(Protocol):
    """Who answers behind an endpoint, and how its counters are read."""

    @property
    def name(self) -> str:
        """The kind of telemetry, as a verdict names it."""

    @property
    def sampler_names(self) -> Mapping[str, str]:
        """How requests name the fields of Sampling; what is missing, the server ignores."""

    @property
    def generated(self) -> str:
        """The counter of all output tokens in a snapshot; "" where there are none."""

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """What is in effect, after a request with the sampler parameters `sent` was answered."""

    def speculation(self) -> Speculation:
        """What the server tells of its speculation before a request."""

    def fields(self, request: Request) -> Mapping[str, object]:
        """Request fields of this engine's own: no cache, all counters, ignore_eos."""

    def snapshot(self) -> Metrics | None:
        """The counters of the whole server, None where it shows none."""

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:
        """Counters of one answer. Raises SharedServerError, and EngineError for absurd counts."""


def probe(client: HttpClient, path: str) -> Mapping[str, Json]:
    """The JSON object at a path, empty where there is none. Raises EngineGoneError."""
    try:
        return as_object(client.get_json(path, PROBE_S))
    except EngineGoneError:
        raise
    except EngineError:  # another kind of server may answer anything at a path that it lacks
        return {}


def shown_metrics(client: HttpClient) -> Metrics | None:
    """`/metrics`, None where a server or a proxy does not show it."""
    try:
        return read_metrics(client.get_text("/metrics", PROBE_S))
    except StatusError:
        return None


def settled(
    look: Callable[[], Metrics | None], before: Metrics | None, generated: str, output: int | None
) -> Metrics | None:
    """The metrics once they hold this request, which some servers write a moment after it ends.

    generated: the counter of output tokens. None where there are no metrics, or they do not
    come within a second.
    """
    if before is None or output is None:
        return None
    for attempt in range(_LOOKS):
        if attempt:
            time.sleep(_BETWEEN_LOOKS_S)
        after = look()
        rise = delta(before, after, generated)
        if rise is None or rise >= output:
            return after
    return None


def only_ours(before: Metrics | None, after: Metrics | None, own: Mapping[str, int | None]) -> None:
    """Raises SharedServerError if a counter rose by more than our own request."""
    for name, ours in own.items():
        rise = delta(before, after, name)
        if rise is not None and ours is not None and rise > ours:
            raise SharedServerError(
                f"others use this server: {name} rose by {rise} where this request took {ours}"
            )


def as_object(value: Json) -> Mapping[str, Json]:
    """A JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """A JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str | None:
    """A JSON string that says something, else None."""
    return value if isinstance(value, str) and value else None


def count(source: Mapping[str, Json], name: str) -> int | None:
    """A count of tokens or steps: 0 to 2⁵³, None where it is missing. Raises EngineError."""
    value = source.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise EngineError(f"the server says {name} is {_shown(value)}, which is no count")
    return value


def _shown(value: Json) -> str:
    """A value in a message: a number as it is, of all else its kind, for it may be hostile."""
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "no number"
    digits = f"{value:.6g}" if isinstance(value, float) else str(value)
    return digits if len(digits) <= _MOST_DIGITS else f"{digits[:_MOST_DIGITS]}…"


def seconds(source: Mapping[str, Json], name: str, per_second: float = 1.0) -> float | None:
    """A time that is given in 1/per_second s, in seconds. Raises EngineError where it is none."""
    value = source.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EngineError(f"the server says {name} is {_shown(value)}, which is no time")
    if not 0 <= value <= _MOST:
        raise EngineError(f"the server says {name} is {_shown(value)}, which is no time")
    return value / per_second


def histogram_at_least(histogram: Json) -> tuple[int, ...] | None:
    """From counts of steps by accepted tokens (0, 1, …, K): steps that accepted at least 1 … K.

    Numbers of accepted tokens that no step reached may be left out at the end.
    """
    if not isinstance(histogram, list) or not histogram:
        return None
    counts = [count({"histogram": entry}, "histogram") or 0 for entry in histogram]
    return tuple(sum(counts[i:]) for i in range(1, len(counts)))


def check_counters(counters: Counters, output_tokens: int | None) -> Counters:
    """The same counters, where they can be true. Raises EngineError where they cannot."""
    drafted, accepted = counters.drafted, counters.accepted
    if drafted is not None and accepted is not None and accepted > drafted:
        raise EngineError(f"the server says {accepted} of {drafted} draft tokens were accepted")
    steps = counters.verify_steps
    if steps is not None and drafted is not None and steps > drafted:
        raise EngineError(f"the server says {steps} steps verified {drafted} draft tokens")
    if steps is not None and output_tokens is not None and steps > output_tokens:
        raise EngineError(f"the server says {steps} verify steps made {output_tokens} tokens")
    return counters


def prompt_counts(usage: Mapping[str, Json] | None) -> tuple[int | None, int | None]:
    """Prompt tokens that were processed, and those taken from a cache, by OpenAI's usage."""
    usage = usage or {}
    prompt = count(usage, "prompt_tokens")
    cached = count(as_object(usage.get("prompt_tokens_details")), "cached_tokens")
    if prompt is None or cached is None:
        return prompt, cached
    if cached > prompt:
        raise EngineError(f"the server says {cached} of {prompt} prompt tokens were cached")
    return prompt - cached, cached


def asked(sampling: Sampling) -> dict[str, Parameter]:
    """The sampler parameters that are asked for, by the report format's names."""
    names = Sampling.__dataclass_fields__
    return {name: value for name in names if (value := getattr(sampling, name)) is not None}
