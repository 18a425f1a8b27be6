"""vLLM's replies with the metrics of their request, and what they say of its drafts.

`vllm serve --enable-per-request-metrics --per-request-spec-decode-metrics summary` adds them.
Source: vLLM vllm/v1/metrics/stats.py, vllm/entrypoints/openai/engine/protocol.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    S_FROM_MS,
    Field,
    Kind,
    fill,
    number,
    text,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.json_objects import any_object, objects_of
from benchlint.checker.importers.serving_fields import MODEL, POSITIVE

NAME = "vllm-requests"

#: So many replies become runs.
_MOST_RUNS = 500

_FINGERPRINT = re.compile(r"vllm-(?P<version>\d+\.\d+[\w.+]*)-[0-9a-f]{6,40}")


def _version(value: object) -> str | None:
    """The version in "vllm-0.15.1-7805d19b"."""
    found = _FINGERPRINT.fullmatch(str(value)[:200])
    return None if found is None else found["version"]


#: No draft has more tokens.
_LONGEST = 4096


def _histogram(value: object) -> list[int] | None:
    """Steps by accepted tokens; a map by number is spread out, as an early form had it."""
    if isinstance(value, dict):
        known = {int(k): v for k, v in value.items() if str(k).isdecimal() and len(str(k)) < 5}
        if len(known) < len(value) or max(known, default=0) > _LONGEST:
            return None
        value = [known.get(i, 0) for i in range(max(known, default=-1) + 1)]
    if not isinstance(value, list) or not value:
        return None
    counts = [whole(each) for each in value]
    found = [each for each in counts if each is not None]
    return found if len(found) == len(counts) else None


def _cached(value: object) -> bool | None:
    return True if number(value) else None


_SETUP = (
    Field("model", "configuration.target.name", MODEL),
    Field(
        "system_fingerprint",
        "configuration.engine.version",
        Kind("vllm-0.15.1-7805d19b → 0.15.1", _version),
    ),
    Field("metrics.speculative_decoding.num_spec_tokens", "configuration.draft_length.max", COUNT),
)

_REPLY = (
    Field("usage.prompt_tokens", "run.conditions.kv_position.filled_tokens", COUNT),
    Field(
        "usage.prompt_tokens_details.cached_tokens",
        "run.conditions.prompt_cache",
        Kind("over 0 → true", _cached),
    ),
    Field("usage.completion_tokens", "run.decode.tokens", COUNT, "the first one included"),
)

_TIMES = (
    Field("metrics.time_to_first_token_ms", "run.prefill.ttft_ms", POSITIVE),
    Field(
        "metrics.generation_time_ms",
        "run.decode.seconds",
        S_FROM_MS,
        "from the first token to the last",
    ),
    Field(
        "metrics.mean_itl_ms",
        "run.decode.time_per_output_token_ms",
        POSITIVE,
        "called inter-token; generation time over tokens - 1",
    ),
    Field(
        "metrics.tokens_per_second",
        "run.throughput.end_to_end_tok_s",
        POSITIVE,
        "output tokens over the whole time, prefill included",
    ),
)

_DRAFTS = tuple(
    Field(f"metrics.speculative_decoding.{source}", f"run.speculation.{to}", kind, meaning)
    for source, to, kind, meaning in (
        ("draft_acceptance_rate", "acceptance_rate.value", NUMBER, "accepted over drafted tokens"),
        ("mean_acceptance_length", "accepted_length.value", NUMBER, "1 + accepted over steps"),
        ("num_spec_steps", "counts.verify_steps", COUNT, "steps that carried a draft"),
        ("num_draft_tokens", "counts.drafted", COUNT, ""),
        ("num_accepted_draft_tokens", "counts.accepted", COUNT, ""),
        ("acceptance_histogram", "histogram", Kind("a map → a list", _histogram), ""),
    )
)
_OUTPUT = Field("usage.completion_tokens", "run.speculation.counts.output_tokens", COUNT)
_FINISH = Field("choices.0.finish_reason", "run.finish_reasons", Kind("", text))

#: Two of these beside one another are vLLM's.
_OWN_TIMES = frozenset({"time_to_first_token_ms", "generation_time_ms", "mean_itl_ms"})
_OWN_DRAFTS = frozenset({"num_spec_steps", "num_accepted_draft_tokens", "draft_acceptance_rate"})


def _is_reply(record: JsonRecord) -> bool:
    """Whether a reply carries the metrics of its request, with something in them."""
    metrics = record.tree.get("metrics")
    if not isinstance(metrics, dict):
        return False
    drafts = metrics.get("speculative_decoding")
    named = isinstance(drafts, dict) and len(_OWN_DRAFTS & drafts.keys()) >= 2
    timed = len(_OWN_TIMES & metrics.keys()) >= 2
    return named or (timed and any(metrics.get(name) is not None for name in _OWN_TIMES))


class _Replies:
    """A report of replies, one run each."""

    def __init__(self) -> None:
        self.building = Building()
        self._left_out = 0
        self._names: dict[tuple[str, ...], str] = {}

    def add(self, reply: JsonRecord) -> None:
        """Add a reply."""
        building = self.building
        if len(building.tree.get("runs", ())) >= _MOST_RUNS:
            self._left_out += 1
            return
        configuration = self._configuration(reply)
        run = building.run(f"reply {len(building.tree.get('runs', ())) + 1}", configuration)
        at = {"run": run, "configuration": building.configuration(configuration)}
        building.put((*at["configuration"], "engine", "name"), Found("vllm"))
        fill(building, (*_SETUP, *_REPLY, *_TIMES, *_DRAFTS), reply, at)
        self._define(run, reply, at)
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))

    def _configuration(self, reply: JsonRecord) -> str:
        """One for each setup that replies state."""
        stated = [reply.get(field.source) for field in _SETUP]
        key = tuple("" if found is None else str(found.value) for found in stated)
        if key not in self._names:
            model = MODEL.convert(key[0])
            name = model if isinstance(model, str) else "server"
            taken = set(self._names.values())
            self._names[key] = name if name not in taken else f"{name} ({len(taken) + 1})"
        return self._names[key]

    def _define(self, run: Path, reply: JsonRecord, at: dict[str, Path]) -> None:
        """What vLLM means by its numbers; all of them are of one request."""
        building, speculation = self.building, (*run, "speculation")
        reason = reply.get(_FINISH.source)
        said = None if reason is None else text(reason.value)
        if reason is not None and said and len(said) < 40:
            building.put((*run, "finish_reasons", said), reason.to(1))
        for name, to, value in _DEFINED:
            if building.has((*speculation, name)):
                building.put((*speculation, name, to), Found(value))
                building.put((*speculation, name, "estimator"), Found("pooled"))
        if building.has((*speculation, "counts")):
            fill(building, (_OUTPUT,), reply, at)
            building.put((*speculation, "counts", "requests"), Found(1))

    def imported(self) -> Iterator[Imported]:
        """The report, unless there was no reply."""
        if self._left_out:
            self.building.remarks.append(f"{self._left_out:,} more replies were left out")
        if "runs" in self.building.tree:
            self.building.hoist()
            yield Imported.of(NAME, self.building)


_DEFINED = (("acceptance_rate", "of", "drafted"), ("accepted_length", "counts_bonus_token", True))

_IN_TEXT = re.compile(
    r'"metrics": ?\{[^{}]{0,600}(?:"speculative_decoding": ?\{[^{}]{0,300}"(?:num_spec_steps'
    r'|mean_acceptance_length)"|"time_to_first_token_ms": ?[\d.])'
)


def _recognise(head: Head) -> Confidence:
    found = any_object(head.document, _is_reply)
    if not found and not isinstance(head.document and head.document.tree, list):
        found = _IN_TEXT.search(head.text) is not None
    return Confidence.SURE if found else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    replies = _Replies()
    for record in objects_of(source, ('"metrics"',)):
        if _is_reply(record):
            replies.add(record)
    return replies.imported()


_FLAGS = "`vllm serve --enable-per-request-metrics --per-request-spec-decode-metrics summary`"
_LOG = "the server's log says it: give it to `benchlint convert` too"
_SENT = "write down what the client sent; it is not in the reply"

IMPORTER = Importer(
    name=NAME,
    title="replies of vLLM with the metrics of each request",
    reads="replies, one or many, in JSON or JSON Lines, and captured streams (`curl -N`), of "
    f"{_FLAGS}",
    recognise=_recognise,
    read=_read,
    engines=("vllm",),
    fields=(*_SETUP, *_REPLY, *_TIMES, *_DRAFTS, _OUTPUT, _FINISH),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target.quantization": _LOG,
        "engine.version": "`curl http://HOST:PORT/version`",
        "engine.command_line": "write it down; " + _LOG,
        "configurations.*.drafter": _LOG,
        "configurations.*.draft_length": _FLAGS,
        "configurations.*.sampler": _SENT,
        "configurations.*.kv_cache": _LOG,
        "workloads.*.mix": _SENT,
        "runs[].workload": _SENT,
        "runs[].prefill": "`vllm serve --enable-per-request-metrics`",
        "runs[].decode": "`vllm serve --enable-per-request-metrics`",
        "runs[].speculation": _FLAGS,
        "runs[].conditions.concurrency": "how many requests the client had in flight",
        "runs[].conditions.warm": "send a request before those that count",
        "runs[].conditions.repeats": "send each request several times, with the prompt cache off",
        "runs[].memory": "`nvidia-smi` after the run; vLLM takes its share at the start",
        "runs[].losslessness": "compare the texts with those of a server without speculation",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "What was asked: prompt, sampler and limits stand in the request.",
        "Requests with n over 1, whose metrics are null.",
        "Passes without a draft.",
    ),
)
