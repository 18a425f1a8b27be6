"""SGLang: `sglext` or `meta_info` in each answer, `/server_info` for the settings.

Source: python/sglang/srt/ of SGLang 0.5.23, read and not run:
entrypoints/openai/serving_completions.py, `_generate_completion_stream`, and serving_chat.py:
    a chunk without choices carries `sglext` before the one with `usage`;
entrypoints/openai/utils.py, `spec_tokens_details_from_meta_info`: the names in `sglext`;
managers/tokenizer_manager.py, `_calculate_spec_decoding_metrics`: what they count;
entrypoints/openai/usage_processor.py, `_details_if_cached` and `_details_if_spec`: `usage`;
observability/metrics_collector.py, `observe_one_finished_request`: `/metrics`.
"""

from __future__ import annotations

import secrets
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
_CACHED = "sglang:cached_tokens_total"
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
    generated = _GENERATED

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
        """The request's counters, and a salt that keeps its prefix out of the cache.

        `return_meta_info` and, in a chat, `return_token_ids` are refused where an answer is
        streamed. What a version does not know it ignores.
        """
        return {
            "ignore_eos": request.ignore_eos,
            "cache_salt": secrets.token_hex(16),
            "return_spec_tokens_details": True,
            "return_cached_tokens_details": True,
        }

    def snapshot(self) -> Metrics | None:
        """`/metrics`, None where the server was started without it."""
        return shown_metrics(self._client)

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:
        """Counts of the request; of `/metrics`, which has no draft tokens, the verify steps.

        `spec_accept_length` is left alone: it counts prefill's token too. Drafted tokens are
        the verify steps times the draft length that is set, also where a draft was shorter.
        """
        extension = answer.extras.get("sglext", {})
        meta = answer.extras.get("meta_info") or as_object(extension.get("spec_tokens_details"))
        usage = answer.usage or {}
        output = count(usage, "completion_tokens")
        if output is None:
            output = count(meta, "completion_tokens")
        after = settled(self.snapshot, before, _GENERATED, output)
        only_ours(before, after, {_GENERATED: output})
        counters = self._counters(meta, usage, delta(before, after, _VERIFIED))
        prompt, cached = _prompt(usage, meta, extension, _hits(before, after))
        return Measured(output, prompt, cached, counters=check_counters(counters, output))

    def _counters(
        self, meta: Mapping[str, Json], usage: Mapping[str, Json], verified: int | None
    ) -> Counters:
        steps = count(meta, "spec_verify_ct")
        if steps is None and self.speculation().on is False:
            return Counters(0, 0, 0)
        if steps is None:
            return Counters(*_predicted(usage), verify_steps=verified)
        accepted = _named_count(meta, "spec_num_correct_drafts", "spec_accepted_drafts")
        drafted = _named_count(meta, "spec_num_proposed_drafts", "spec_proposed_drafts")
        at_least = histogram_at_least(meta.get("spec_correct_drafts_histogram"))
        return Counters(drafted, accepted, steps, None, at_least if steps else ())


def _prompt(
    usage: Mapping[str, Json],
    meta: Mapping[str, Json],
    extension: Mapping[str, Json],
    hits: int | None,
) -> tuple[int | None, int | None]:
    """Prompt tokens that were processed, and those found in the prefix cache.

    `usage` tells of the cache only under `--enable-cache-report`, and only of hits.
    """
    prompt, cached = prompt_counts(usage)
    if cached is not None:
        return prompt, cached
    found = next((n for n in (_cached(meta, extension), hits) if n is not None), None)
    if prompt is None or found is None:
        return prompt, found
    return max(prompt - found, 0), found


def _cached(meta: Mapping[str, Json], extension: Mapping[str, Json]) -> int | None:
    """Prompt tokens found in the prefix cache, wherever it was kept."""
    details = as_object(extension.get("cached_tokens_details"))
    kept = [count(details, place) for place in ("device", "host", "storage")]
    told = [hits for hits in kept if hits is not None]
    return sum(told) if told else count(meta, "cached_tokens")


def _hits(before: Metrics | None, after: Metrics | None) -> int | None:
    """The rise of the counter of cached tokens, which is not shown before the first hit."""
    if after is not None and after.has(_GENERATED) and not after.has(_CACHED):
        return 0
    return delta(before, after, _CACHED)


def _predicted(usage: Mapping[str, Json]) -> tuple[int | None, int | None]:
    """Drafted and accepted tokens where `usage` tells them by OpenAI's names."""
    details = as_object(usage.get("completion_tokens_details"))
    accepted = count(details, "accepted_prediction_tokens")
    rejected = count(details, "rejected_prediction_tokens")
    if accepted is None or rejected is None:
        return None, None
    return accepted + rejected, accepted


def _named_count(meta: Mapping[str, Json], *names: str) -> int | None:
    """A count by the first of its names, which changed between versions, that is there."""
    return next((found for name in names if (found := count(meta, name)) is not None), None)


def _named(path: str | None) -> dict[str, Setting]:
    return {"name": path} if path else {}
