"""LM Studio: `stats` in each answer, `/api/v0/models` for what is loaded.

It is closed, so its documentation was read (lmstudio-ai/docs) and nothing was run:
1_developer/api-changelog.md, 0.3.10: `stats` with `total_draft_tokens_count` and
    `accepted_draft_tokens_count`; 0.3.18 and 0.3.19: `usage` in a stream, and right; 0.3.23:
    thoughts in `reasoning`;
1_developer/2_rest/endpoints.md: `/api/v0/models` with `state`, `quantization` and
    `compatibility_type`;
1_developer/3_openai-compat/chat-completions.md: the sampler parameters that it heeds.
Server logs of 0.4.24 have the draft counts in `stats` for /v1 and in `usage` for /api/v0.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchlint.reproducers.engine import Counters, Description, Request
from benchlint.reproducers.http_client import HttpClient, Json
from benchlint.reproducers.telemetry.base import (
    Answer,
    Measured,
    Parameter,
    Setting,
    Speculation,
    as_list,
    as_object,
    as_text,
    check_counters,
    count,
    probe,
    prompt_counts,
)
from benchlint.reproducers.telemetry.prometheus import Metrics

_SAMPLER_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "repetition_penalty": "repeat_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "seed": "seed",
}


def identify(client: HttpClient, model: str) -> LmStudio | None:
    """LM Studio, if `/api/v0/models` lists models with the state they are in."""
    listed = as_list(probe(client, "/api/v0/models").get("data"))
    models = [as_object(entry) for entry in listed]
    if not any("state" in entry for entry in models):
        return None
    return LmStudio(model, next((m for m in models if m.get("id") == model), {}))


class LmStudio:
    """The counters of one LM Studio server."""

    name = "lm-studio"
    sampler_names: Mapping[str, str] = _SAMPLER_NAMES
    generated = ""

    def __init__(self, model: str, listed: Mapping[str, Json]) -> None:
        self._model = model
        self._listed = listed

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """What is loaded; presets may set sampler parameters that were not sent."""
        target: dict[str, Setting] = {"name": self._model}
        if quantization := as_text(self._listed.get("quantization")):
            target["quantization"] = quantization
        return Description(
            engine="lm-studio",
            backend=as_text(self._listed.get("compatibility_type")),
            sampler=dict(sent),
            target=target,
            context_tokens=count(self._listed, "loaded_context_length"),
            telemetry=self.name,
        )

    def speculation(self) -> Speculation:
        """Not told before a request."""
        return Speculation()

    def fields(self, request: Request) -> Mapping[str, object]:  # noqa: ARG002
        """None of its own: it goes on after an end token for nobody."""
        return {}

    def snapshot(self) -> Metrics | None:
        """None: it has no counters over all requests."""
        return None

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:  # noqa: ARG002
        """Counts from `stats`, or from `usage`, where some versions put them.

        Its `generation_time` is left alone: whether it holds prefill is not documented.
        """
        stats = answer.extras.get("stats", {})
        usage = answer.usage or {}
        places = (stats, usage)
        drafted = _found(places, "total_draft_tokens_count")
        accepted = _found(places, "accepted_draft_tokens_count")
        output = count(usage, "completion_tokens")
        prompt, cached = prompt_counts(answer.usage)
        counters = check_counters(Counters(drafted, accepted), output)
        return Measured(output, prompt, cached, counters=counters)


def _found(places: tuple[Mapping[str, Json], ...], name: str) -> int | None:
    return next((found for place in places if (found := count(place, name)) is not None), None)
