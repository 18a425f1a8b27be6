"""vLLM: per-request metrics where they are on, else the rise of `/metrics`.

Source: vllm/v1/spec_decode/metrics.py and vllm/v1/metrics/loggers.py of vLLM 0.32.0.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TypeVar

from benchlint.reproducers.engine import Counters, Description, Request
from benchlint.reproducers.http_client import HttpClient, Json
from benchlint.reproducers.telemetry.base import (
    SAMPLER_NAMES,
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
    histogram_at_least,
    only_ours,
    probe,
    prompt_counts,
    seconds,
    settled,
    shown_metrics,
)
from benchlint.reproducers.telemetry.prometheus import Metrics, delta, position_deltas

_DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
_DRAFTS = "vllm:spec_decode_num_drafts_total"
_POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_GENERATED = "vllm:generation_tokens_total"
_DECODE_STEPS = "vllm:inter_token_latency_seconds_count"
_REQUESTS = "vllm:request_prefill_time_seconds_count"
_PREFILL = "vllm:request_prefill_time_seconds_sum"
_DECODE = "vllm:request_decode_time_seconds_sum"
_CACHED = "vllm:prefix_cache_hits_total"
_T = TypeVar("_T", int, float)


def identify(client: HttpClient, model: str) -> Vllm | None:
    """vLLM, if `/version` answers and its models or metrics bear its name."""
    version = as_text(probe(client, "/version").get("version"))
    if version is None:
        return None
    telemetry = Vllm(client, model, version)
    return telemetry if telemetry.is_vllm() else None


class Vllm:
    """The counters of one vLLM server."""

    name = "vllm"
    sampler_names = SAMPLER_NAMES
    generated = _GENERATED

    def __init__(self, client: HttpClient, model: str, version: str) -> None:
        self._client = client
        self._model = model
        self._version = version

    def is_vllm(self) -> bool:
        """Whether the model list or the metrics are vLLM's."""
        if self._listed().get("owned_by") == "vllm":
            return True
        metrics = self.snapshot()
        return metrics is not None and metrics.has(_GENERATED)

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """What was sent is in effect; what was not may come from generation_config.json."""
        listed = self._listed()
        told = self.speculation()
        settings: dict[str, Setting] = {}
        if told.on is not None:
            settings["speculative"] = "on" if told.on else "off"
        if told.draft_length is not None:
            settings["num_speculative_tokens"] = told.draft_length
        return Description(
            engine="vllm",
            version=self._version,
            sampler=dict(sent),
            speculation=settings,
            target={"name": as_text(listed.get("root")) or self._model},
            context_tokens=count(listed, "max_model_len"),
            telemetry=self.name,
        )

    def speculation(self) -> Speculation:
        """On if `/metrics` shows its counters; K is the number of positions it counts."""
        metrics = self.snapshot()
        if metrics is None or not metrics.has(_GENERATED):
            return Speculation()
        on = metrics.has(_DRAFTED)
        return Speculation(on, len(metrics.by_position(_POSITIONS)) or None)

    def fields(self, request: Request) -> Mapping[str, object]:
        """A salt of its own keeps each request from finding another's prefix in the cache."""
        return {
            "ignore_eos": request.ignore_eos,
            "return_token_ids": True,
            "cache_salt": secrets.token_hex(16),
        }

    def snapshot(self) -> Metrics | None:
        """`/metrics`, None where a proxy hides it."""
        return shown_metrics(self._client)

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:
        """Per-request metrics first; the rise of the server's counters where they are off.

        Accepted tokens are counted before the answer is cut at its end, so they may be a few
        more than came out.
        """
        output = count(answer.usage or {}, "completion_tokens")
        after = settled(self.snapshot, before, _GENERATED, output)
        only_ours(before, after, {_GENERATED: output})
        prompt, cached = prompt_counts(answer.usage)
        hits = delta(before, after, _CACHED)
        if cached is None and prompt is not None and hits is not None:
            prompt, cached = max(prompt - hits, 0), hits
        told = answer.extras.get("metrics", {})
        prefill, decode = _times(told, before, after)
        counters = _counters(as_object(told.get("speculative_decoding")), before, after)
        return Measured(output, prompt, cached, prefill, decode, check_counters(counters, output))

    def _listed(self) -> Mapping[str, Json]:
        models = probe(self._client, "/v1/models")
        listed = [as_object(model) for model in as_list(models.get("data"))]
        return next((model for model in listed if model.get("id") == self._model), {})


def _counters(told: Mapping[str, Json], before: Metrics | None, after: Metrics | None) -> Counters:
    drafted = _first(count(told, "num_draft_tokens"), delta(before, after, _DRAFTED))
    accepted = _first(count(told, "num_accepted_draft_tokens"), delta(before, after, _ACCEPTED))
    steps = _first(count(told, "num_spec_steps"), delta(before, after, _DRAFTS))
    # The histogram of gaps holds one per step, whether it had a draft or not.
    all_steps = delta(before, after, _DECODE_STEPS)
    if drafted is None and after is not None and after.has(_GENERATED):
        drafted, accepted, steps = 0, 0, 0  # no such counter: speculation is off
    plain = max(all_steps - steps, 0) if all_steps is not None and steps is not None else None
    at_least = histogram_at_least(told.get("acceptance_histogram"))
    if at_least is None and before and after:
        at_least = position_deltas(before, after, _POSITIONS)
    return Counters(drafted, accepted, steps, plain, at_least)


def _times(
    told: Mapping[str, Json], before: Metrics | None, after: Metrics | None
) -> tuple[float | None, float | None]:
    """Prefill and decode in seconds, as the engine timed them."""
    prefill = decode = None
    if before and after and delta(before, after, _REQUESTS) == 1:
        prefill = _rise(before, after, _PREFILL)
        decode = _rise(before, after, _DECODE)
    return prefill, _first(seconds(told, "generation_time_ms", 1000), decode)


def _rise(before: Metrics, after: Metrics, name: str) -> float | None:
    last = after.total(name)
    rise = last - (before.total(name) or 0.0) if last is not None else -1.0
    return rise if rise >= 0 else None


def _first(told: _T | None, otherwise: _T | None) -> _T | None:
    return told if told is not None else otherwise
