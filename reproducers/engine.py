"""The one interface behind which every engine stands, and the plain data that passes it.

An engine is set up for one arm, generates answers one at a time, and says of each what it
counted and when. It records what was in effect, not what was asked for. What an engine cannot
tell is None: never zero, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from benchlint.checker.errors import CannotRunError


class ReproduceError(CannotRunError):
    """What a user can meet when a report is run again; the message says what to do.

    ReproduceError
    ├── EngineError          the engine could not be started, or failed while measuring
    │   └── EngineGoneError  it stopped answering; what was measured so far holds
    ├── JournalError         samples.jsonl cannot be written, or is no journal of this plan
    ├── WorkloadError        prompts that were asked for cannot be used
    └── UnsupportedError     this engine cannot do what the arm asks for
    """


class EngineError(ReproduceError):
    """The engine could not be started, or failed while measuring."""


class EngineGoneError(EngineError):
    """The engine stopped answering. Samples that were taken before stay valid."""


class UnsupportedError(ReproduceError):
    """This engine cannot do what an arm asks for. Such an arm is not testable here."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampler parameters to ask for; None leaves a parameter to the engine."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """How an engine is to be set up for one side of a comparison.

    method: "draft_model", "prompt_lookup", "ngram", …; None for plain decoding.
    draft_length: most draft tokens a verify step (K); p_min: stop drafting under it.
    draft_selection: where the argmax of the drafter runs.
    context_tokens: size of the KV cache, at least the filled position plus the output.
    kv_types: of the target's keys and of its values; None leaves them to the engine.
    """

    name: str
    method: str | None = None
    draft_length: int | None = None
    p_min: float = 0.0
    draft_selection: Literal["gpu", "cpu"] | None = None
    sampling: Sampling = field(default_factory=Sampling)
    context_tokens: int = 4096
    kv_types: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to be answered.

    prompt: raw text. chat: apply the model's chat template to it as one user message.
    max_tokens: most output tokens, the first one included. ignore_eos: answer with all of them;
    an end token is never drawn (llama.cpp) or gone on from (vLLM).
    """

    prompt: str
    max_tokens: int
    chat: bool = False
    ignore_eos: bool = False
    prompt_id: str = ""


@dataclass(frozen=True, slots=True)
class Counters:
    """What the engine counted over one answer; None where it does not tell.

    verify_steps: target passes that carried a draft; plain_steps: those that did not.
    at_least[i]: verify steps that accepted at least i + 1 draft tokens.
    """

    drafted: int | None = None
    accepted: int | None = None
    verify_steps: int | None = None
    plain_steps: int | None = None
    at_least: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer, as it was measured.

    prompt_tokens: processed in prefill; cached_tokens: taken from a cache instead.
    output_tokens: the first one, which comes from prefill, included.
    prefill_s, decode_s: as the engine timed them, apart; ttft_s, total_s: as the client saw them.
    chunk_s: arrival times of streamed chunks after the request was sent; a chunk is not a token.
    token_ids: the output's tokens, where the engine gives them.
    timed_by: whose clock decode_s is from.
    """

    text: str
    output_tokens: int
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    total_s: float | None = None
    chunk_s: tuple[float, ...] = ()
    token_ids: tuple[int, ...] | None = None
    finish_reason: str | None = None
    counters: Counters = field(default_factory=Counters)
    timed_by: Literal["engine", "client"] = "engine"

    @property
    def decode_tok_s(self) -> float | None:
        """Decode speed in tokens per second; the first token belongs to prefill."""
        if not self.decode_s or self.output_tokens < 2:
            return None
        return (self.output_tokens - 1) / self.decode_s


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two greedy outputs of one prompt part, and by how little.

    position: of the first differing token in the output, from 0. margin: logit of the first
    output's token less that of the second's (nats), as plain decoding of the common tokens has
    it; a near-tie that batching decides is small.
    """

    position: int
    first_token: int
    second_token: int
    margin: float


@dataclass(frozen=True, slots=True)
class Description:
    """What an engine says of itself once it runs; the effective settings, not the wished ones.

    sampler: parameters in effect by the report format's names. speculation: what is in effect,
    by the engine's own names. model: what it says of target and drafter (name, size in bytes,
    quantization, parameters).
    """

    engine: str
    version: str | None = None
    commit: str | None = None
    backend: str | None = None
    command_line: tuple[str, ...] = ()
    sampler: Mapping[str, float | int | None] = field(default_factory=dict)
    speculation: Mapping[str, str | float | int | None] = field(default_factory=dict)
    target: Mapping[str, str | float | int | None] = field(default_factory=dict)
    drafter: Mapping[str, str | float | int | None] = field(default_factory=dict)
    context_tokens: int | None = None
    threads: int | None = None
    telemetry: str = "none"


class Engine(Protocol):
    """An engine that can be set up, asked, and stopped."""

    @property
    def scores_texts(self) -> bool:
        """Whether it tells the likelihood of given tokens: `perplexity` and `divergence`."""

    def start(self, arm: Arm) -> Description:
        """Set the engine up for an arm and say what is in effect.

        A started engine may be started again for another arm. Raises EngineError where it
        cannot be started and UnsupportedError where it cannot do what the arm asks for.
        """

    def generate(self, request: Request) -> Sample:
        """Answer one prompt; no caching across calls, no retry. Raises EngineError."""

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """Negative log-likelihood (nats a token) of each full window of the text.

        Windows of `context_tokens`, the second half of each scored, as llama-perplexity does
        (tools/perplexity/perplexity.cpp). Raises UnsupportedError where there is no such way.
        """

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """Where two greedy outputs of a request part; None where one begins with the other.

        Of an engine that is set up for plain decoding. Raises EngineError where a sample has no
        tokens, and UnsupportedError where there is no such way.
        """

    def close(self) -> None:
        """Stop the engine and free what it holds. May be called at any time, also twice."""
