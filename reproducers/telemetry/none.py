"""A server that is known by nothing but the OpenAI interface: acceptance is not testable."""

from __future__ import annotations

from collections.abc import Mapping

from benchlint.reproducers.engine import Description, Request
from benchlint.reproducers.http_client import HttpClient
from benchlint.reproducers.telemetry.base import (
    Answer,
    Measured,
    Parameter,
    Speculation,
    count,
    prompt_counts,
)
from benchlint.reproducers.telemetry.prometheus import Metrics

#: What OpenAI's interface names; a server may ignore anything else in silence.
_SAMPLER_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "seed": "seed",
}


class NoTelemetry:
    """Tokens and the client's clock, and nothing else."""

    name = "none"
    sampler_names: Mapping[str, str] = _SAMPLER_NAMES
    generated = ""

    def __init__(self, client: HttpClient, model: str) -> None:
        self._client = client
        self._model = model

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """What was sent is taken to be in effect: there is nothing to hold against it."""
        return Description(
            engine="openai-compatible",
            sampler=dict(sent),
            target={"name": self._model},
            telemetry=self.name,
        )

    def speculation(self) -> Speculation:
        """Not told."""
        return Speculation()

    def fields(self, request: Request) -> Mapping[str, object]:  # noqa: ARG002
        """None: an unknown server may refuse what it does not know."""
        return {}

    def snapshot(self) -> Metrics | None:
        """None: there are no counters."""
        return None

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:  # noqa: ARG002
        """Token counts of `usage`."""
        output = count(answer.usage or {}, "completion_tokens")
        return Measured(output, *prompt_counts(answer.usage))
