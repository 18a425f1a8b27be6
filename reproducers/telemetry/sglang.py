"""SGLang: `sglext` or `meta_info` in each answer, `/server_info` for the settings.

Source: managers/tokenizer_manager.py and entrypoints/openai/protocol.py of SGLang 0.5.23.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchlint.reproducers.engine import Counters, Description, Request
from benchlint.reproducers.http_client import HttpClient, Json
from benchlint.reproducers.telemetry.base import (
    SAMPLER_NAMES,
    Answer,
    Measured,
    Parameter,
    Setting,
    Speculation,
    as_object,
    as_text,
    check_counters,
    count,
    histogram_at_least,
    only_ours,
    probe,
    prompt_counts,
    settled,
    shown_metrics,
)
from benchlint.reproducers.telemetry.prometheus import Metrics, delta

_GENERATED = "sglang:generation_tokens_total"
_VERIFIED = "sglang:spec_verify_calls_total"
_SETTINGS = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_draft_model_path",
)


def identify(client: HttpClient, model: str) -> Sglang | None:
    """SGLang, if `/server_info` (`/get_server_info` before 0.5.6) shows its arguments."""
    for path in ("/server_info", "/get_server_info"):
        info = probe(client, path)
        if "speculative_algorithm" in info or "mem_fraction_static" in info:
            return Sglang(client, model, info)
    return None


class Sglang:
    """The counters of one SGLang server."""

    name = "sglang"
    sampler_names = SAMPLER_NAMES

    def __init__(self, client: HttpClient, model: str, info: Mapping[str, Json]) -> None:
        self._client = client
        self._model = model
        self._info = info

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """The server's arguments; sampler parameters that were not sent are not shown."""
        settings = {name: self._info[name] for name in _SETTINGS if self._info.get(name)}
        return Description(
            engine="sglang",
            version=as_text(self._info.get("version")),
            sampler=dict(sent),
            speculation={k: v for k, v in settings.items() if isinstance(v, str | int | float)},
            target={"name": as_text(self._info.get("model_path")) or self._model},
            drafter=_named(as_text(self._info.get("speculative_draft_model_path"))),
            context_tokens=count(self._info, "context_length"),
            telemetry=self.name,
        )

    def speculation(self) -> Speculation:
        """On if an algorithm is named; `num_draft_tokens` counts the root too: K + 1."""
        on = as_text(self._info.get("speculative_algorithm")) not in (None, "NONE")
        tokens = count(self._info, "speculative_num_draft_tokens") if on else None
        chain = self._info.get("speculative_eagle_topk") in (None, 1)
        return Speculation(on, tokens - 1 if tokens and chain else None)

    def fields(self, request: Request) -> Mapping[str, object]:
        """The request's counters. `return_meta_info` is refused where an answer is streamed."""
        return {
            "ignore_eos": request.ignore_eos,
            "return_spec_tokens_details": True,
            "return_cached_tokens_details": True,
        }

    def snapshot(self) -> Metrics | None:
        """`/metrics`, None where the server was started without it."""
        return shown_metrics(self._client)

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:
        """Counts of the request; of `/metrics`, which has no draft tokens, the verify steps.

        `spec_accept_length` is left alone: it counts prefill's token too.
        """
        extension = answer.extras.get("sglext", {})
        meta = answer.extras.get("meta_info") or as_object(extension.get("spec_tokens_details"))
        output = count(answer.usage or {}, "completion_tokens")
        if output is None:
            output = count(meta, "completion_tokens")
        prompt, cached = prompt_counts(answer.usage)
        if cached is None and (hits := _cached(meta, extension)) is not None:
            prompt = max(prompt - hits, 0) if prompt is not None else None
            cached = hits
        after = settled(self.snapshot, before, _GENERATED, output)
        only_ours(before, after, {_GENERATED: output})
        counters = self._counters(meta, delta(before, after, _VERIFIED))
        return Measured(output, prompt, cached, counters=check_counters(counters, output))

    def _counters(self, meta: Mapping[str, Json], verified: int | None) -> Counters:
        steps = count(meta, "spec_verify_ct")
        if steps is None:
            on = self.speculation().on
            return Counters(verify_steps=verified) if on else Counters(0, 0, 0)
        accepted = _named_count(meta, "spec_num_correct_drafts", "spec_accepted_drafts")
        drafted = _named_count(meta, "spec_num_proposed_drafts", "spec_proposed_drafts")
        histogram = meta.get("spec_correct_drafts_histogram")
        return Counters(drafted, accepted, steps, None, histogram_at_least(histogram))


def _cached(meta: Mapping[str, Json], extension: Mapping[str, Json]) -> int | None:
    """Prompt tokens found in the prefix cache, wherever it was kept."""
    details = as_object(extension.get("cached_tokens_details"))
    kept = [count(details, place) for place in ("device", "host")]
    told = [hits for hits in kept if hits is not None]
    return sum(told) if told else count(meta, "cached_tokens")


def _named_count(meta: Mapping[str, Json], *names: str) -> int | None:
    """A count by the first of its names, which changed between versions, that is there."""
    return next((found for name in names if (found := count(meta, name)) is not None), None)


def _named(path: str | None) -> dict[str, Setting]:
    return {"name": path} if path else {}
