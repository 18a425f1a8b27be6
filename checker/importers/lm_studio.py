"""LM Studio: what it says of a prediction, in replies, by its SDKs and by `lms chat --stats`.

Sources: lmstudio-ai/docs 1_developer/2_rest/endpoints.md (REST v0: `stats`, `model_info`,
`runtime`), chat.md (REST v1), api-changelog (0.3.10: counts of draft tokens); lmstudio-ai/
lmstudio.js and lmstudio-python LLMPredictionStats; lmstudio-ai/lms src/subcommands/chat/
util.ts displayVerboseStats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchlint.checker.importers.building import Building
from benchlint.checker.importers.fields import (
    COUNT,
    DATE_FROM_S,
    MS_FROM_S,
    NUMBER,
    TEXT,
    Field,
    Kind,
    fill,
    text,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord, Line, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.table_rows import Row

NAME = "lm-studio"

# --- fields ----------------------------------------------------------------------------------


#: Names of the SDKs and of REST v0, v1 → where they go. The first that is there counts.
_STATS: tuple[tuple[tuple[str, ...], str, Kind, str], ...] = (
    (
        ("tokensPerSecond", "tokens_per_second"),
        "run.decode.tok_s",
        NUMBER,
        "",
    ),
    (
        (
            "timeToFirstTokenSec",
            "time_to_first_token_sec",
            "time_to_first_token_seconds",
            "time_to_first_token",
        ),
        "run.prefill.ttft_ms",
        MS_FROM_S,
        "",
    ),
    (
        ("predictedTokensCount", "predicted_tokens_count", "total_output_tokens"),
        "run.decode.tokens",
        COUNT,
        "",
    ),
    (
        ("promptTokensCount", "prompt_tokens_count", "input_tokens"),
        "workload.prompt_tokens",
        COUNT,
        "",
    ),
    (
        ("totalDraftTokensCount", "total_draft_tokens_count"),
        "run.speculation.counts.drafted",
        COUNT,
        "with those that it calls ignored",
    ),
    (
        ("acceptedDraftTokensCount", "accepted_draft_tokens_count"),
        "run.speculation.counts.accepted",
        COUNT,
        "",
    ),
    (
        ("usedDraftModelKey", "used_draft_model_key", "draft_model"),
        "configuration.drafter.model",
        TEXT,
        "",
    ),
)

#: As every form has them after `_Flat`: the first name stands for all.
_OF_STATS = tuple(Field(names[0], to, kind, words) for names, to, kind, words in _STATS)

_USAGE = (
    Field("usage.completion_tokens", "run.decode.tokens", COUNT, "REST v0"),
    Field("usage.prompt_tokens", "workload.prompt_tokens", COUNT, "REST v0"),
)

_REPLY = (
    Field("created", "date", DATE_FROM_S),
    Field("model", "configuration.target.name", TEXT, "REST v0"),
    Field("model_instance_id", "configuration.target.name", TEXT, "REST v1"),
    Field("modelInfo.modelKey", "configuration.target.name", TEXT, "SDKs"),
    Field("model_info.quant", "configuration.target.quantization.recipe", TEXT, "REST v0"),
    Field("model_info.context_length", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("runtime.name", "configuration.engine.backend", TEXT, "REST v0"),
)

_DRAFTS = ("accepted", "rejected", "ignored", "total")


@dataclass(frozen=True)
class _Flat:
    """A `stats` object under the names of the SDKs, and beside it the reply around it."""

    stats: Record
    reply: Record | None = None

    def get(self, name: str) -> Found | None:
        """See Record."""
        for names in (names for names, *_ in _STATS if names[0] == name):
            for each in names:
                found = self.stats.get(each)
                if found is None and self.reply is not None:
                    found = self.reply.get(f"usage.{each}")
                if found is not None:
                    return found
        return None if self.reply is None else self.reply.get(name)

    def drafts(self, kind: str) -> Found | None:
        """Draft tokens: total, accepted, rejected or ignored."""
        for name in (f"{kind}DraftTokensCount", f"{kind}_draft_tokens_count"):
            found = self.stats.get(name) or (self.reply and self.reply.get(f"usage.{name}"))
            if found:
                return found
        return None


# --- from a prediction to a run --------------------------------------------------------------


def _add(building: Building, record: _Flat) -> None:
    """A prediction as a run; none where it says neither a speed nor drafts."""
    if record.get("tokensPerSecond") is None and record.drafts("total") is None:
        return
    name = _model(record) or "model"
    drafter = record.get("usedDraftModelKey")
    setup = name if drafter is None else f"{name} with {drafter.value}"
    run = building.run("prediction", setup)
    workload = str(building.value((*run, "id")))
    at = {
        "run": run,
        "configuration": building.configuration(setup),
        "workload": building.workload(workload),
    }
    building.put((*run, "workload"), Found(workload))
    building.put(("engine", "name"), Found("lm-studio"))
    fill(building, (*_OF_STATS, *_REPLY, *_USAGE), record, at)
    _rest(building, record, at)


def _model(record: _Flat) -> str | None:
    names = [f.source for f in _REPLY if f.to == "configuration.target.name"]
    found = next((f for name in names if (f := record.get(name)) is not None), None)
    return None if found is None else text(found.value)


def _rest(building: Building, record: _Flat, at: Mapping[str, tuple[str | int, ...]]) -> None:
    run, put = at["run"], building.put
    put((*run, "measurement", "by"), Found("engine_counter"))
    put((*run, "measurement", "tool"), Found("LM Studio"))
    if building.has((*run, "decode", "tok_s")):
        put((*run, "measurement", "window"), Found("decode_only"))
    if building.has((*at["configuration"], "drafter", "model")):
        put((*at["configuration"], "drafter", "method"), Found("draft_model"))
    if building.has((*run, "speculation", "counts")):
        tokens = record.get("predictedTokensCount") or record.get("usage.completion_tokens")
        counts = (*run, "speculation", "counts")
        put((*counts, "output_tokens"), tokens and tokens.to(whole(tokens.value)))
        put((*counts, "requests"), Found(1))
        put((*run, "measurement", "counters"), Found("per_run"))
    reason = record.stats.get("stopReason") or record.stats.get("stop_reason")
    if reason is not None and (name := text(reason.value)) is not None:
        put((*run, "finish_reasons", name[:80]), reason.to(1))
    _check_sum(building, record)


def _check_sum(building: Building, record: _Flat) -> None:
    """Every draft token is accepted, rejected or ignored."""
    found = [record.drafts(kind) for kind in _DRAFTS]
    counts = [None if each is None else whole(each.value) for each in found]
    *parts, total = counts
    known = [part for part in parts if part is not None]
    if total is not None and len(known) == len(parts) and sum(known) != total:
        building.remarks.append(
            f"accepted, rejected and ignored draft tokens are {sum(known)} together, not {total}"
        )


# --- its forms -------------------------------------------------------------------------------

_SDK = frozenset({"tokensPerSecond", "predictedTokensCount", "promptTokensCount"})
_PYTHON = frozenset({"tokens_per_second", "predicted_tokens_count", "prompt_tokens_count"})
_OF_V1 = frozenset({"total_output_tokens", "tokens_per_second", "time_to_first_token_seconds"})
_OF_V0 = frozenset({"tokens_per_second", "time_to_first_token", "generation_time"})
_OF_DRAFTS = frozenset({"total_draft_tokens_count", "accepted_draft_tokens_count"})


def _stats_of(tree: Mapping[str, object]) -> Mapping[str, object] | None:
    """The statistics in an object: a member of it, or the object itself."""
    for each in (tree.get("stats"), tree):
        if isinstance(each, dict):
            names = set(each)
            if any(own <= names for own in (_SDK, _PYTHON, _OF_V1, _OF_V0, _OF_DRAFTS)):
                return each
    return None


def _of_json(records: Iterable[JsonRecord]) -> Building:
    building = Building()
    for record in records:
        if _stats_of(record.tree) is None:
            continue
        stats = record.record("stats")
        inner = stats is not None and _stats_of({"stats": stats.tree}) is not None
        _add(building, _Flat(stats, record) if inner and stats is not None else _Flat(record))
    return building


_BLOCK = re.compile(r"\s*Prediction Stats:\s*")
_LINES = tuple(
    re.compile(rf"\s*{words}\s*")
    for words in (
        r"Stop Reason: (?P<stopReason>\w{1,60})",
        r"Tokens/Second: (?P<tokensPerSecond>[\d.]{1,30})",
        r"Time to First Token: (?P<timeToFirstTokenSec>[\d.]{1,30})s",
        r"Prompt Tokens: (?P<promptTokensCount>\d{1,15})",
        r"Predicted Tokens: (?P<predictedTokensCount>\d{1,15})",
    )
)


def _of_console(lines: Iterable[Line]) -> Building:
    building = Building()
    block: Row | None = None
    for line in lines:
        if _BLOCK.fullmatch(line.text):
            _end(building, block)
            block = {}
        elif block is not None:
            for pattern in _LINES:
                match = pattern.fullmatch(line.text)
                if match is not None:
                    block |= {k: v for k, v in line.groups(match).items() if k not in block}
    _end(building, block)
    return building


def _end(building: Building, block: Row | None) -> None:
    if block:
        _add(building, _Flat(block))


def _recognise(head: Head) -> Confidence:
    if head.document is None:
        known = re.search(r"(?m)^[ \t]*Prediction Stats:[ \t]*\r?$", head.text)
        return Confidence.SURE if known else Confidence.NO
    return Confidence.SURE if _stats_of(head.record) is not None else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    source, lines = source.held()
    return Imported.of_runs(NAME, _of_json(source.records()), _of_console(lines))


_V0 = "`curl http://localhost:1234/api/v0/chat/completions` says it, v1 and the SDKs do not"

IMPORTER = Importer(
    name=NAME,
    title="LM Studio",
    reads="replies of its REST API v0 and v1 (one, or one a line), `stats` of its SDKs as JSON, "
    "and what `lms chat --stats` prints",
    recognise=_recognise,
    read=_read,
    engines=("lm-studio",),
    fields=(*_OF_STATS, *_REPLY, *_USAGE),
    hints={
        "target.quantization": _V0,
        "target.name": "the whole reply has the model, its `stats` have not",
        "engine.version": "`lms version`",
        "engine.backend": _V0,
        "machine": "LM Studio's replies do not say what it ran on: give the device",
        "configurations.*.drafter": 'send "draft_model" with a request to /api/v0: the reply '
        "names it, from 0.3.10 on",
        "configurations.*.draft_length": "LM Studio's settings for speculative decoding have it "
        "(most draft tokens), no reply has",
        "configurations.*.sampler": "send the parameters with the request, and say so",
        "configurations.*.kv_cache": _V0,
        "workloads.*.prompts": "keep the requests",
        "runs[].speculation": 'send "draft_model" with a request to /api/v0: the reply counts '
        "draft tokens, from 0.3.10 on",
        "runs[].conditions.warm": "LM Studio loads a model at the first request: send one before",
        "runs[].conditions.repeats": "send the request again",
        "runs[].conditions.concurrency": "send one request at a time, and say so",
    },
    never=(
        "Verify steps: passes follow from predicted less accepted tokens.",
        "What generation_time of REST v0 is: it is not predicted tokens over tokens_per_second, "
        "and is not taken over.",
        "Where the draft model ran: LM Studio may have put it on the CPU.",
        "What it counts as ignored: these draft tokens are in the total.",
    ),
)
