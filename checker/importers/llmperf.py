"""LLMPerf: the summary of a run.

Source: ray-project/llmperf token_benchmark_ray.py (metrics_summary), src/llmperf/utils.py
(LLMPerfResults, which joins the names of nested members with `_`), src/llmperf/ray_clients/
openai_chat_completions_client.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

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
    times,
)
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.summaries import Parts, Summary, fill_summaries, page_fields

NAME = "llmperf"

_PARTS = Parts(
    "mean",
    "stddev",
    low="min",
    high="max",
    percentiles={p: f"quantiles_{p}" for p in ("p25", "p50", "p75", "p90", "p95", "p99")},
    joined="results_{}_{}",
    words="{mean,stddev,min,max,quantiles_p25…p99}",
)


_SUMMARIES = (
    Summary("ttft_s", "run.prefill.ttft_ms", MS_FROM_S),
    Summary(
        "request_output_throughput_token_per_s",
        "run.throughput.end_to_end_tok_s",
        NUMBER,
        "output tokens over latency of each request",
    ),
    Summary("number_input_tokens", "workload.prompt_tokens", NUMBER),
    Summary(
        "number_output_tokens",
        "workload.output_tokens",
        NUMBER,
        "by the tokenizer of Llama 2, whatever the model",
    ),
)

_RUN = (
    Field("timestamp", "date", DATE_FROM_S),
    Field("model", "target.name", TEXT, "as the server calls it"),
    Field("num_concurrent_requests", "run.conditions.concurrency", COUNT),
    Field(
        "results_mean_output_throughput_token_per_s",
        "run.throughput.tok_s",
        NUMBER,
        "output tokens over the wall time, prefill and queueing included",
    ),
    Field("results_num_completed_requests", "run.throughput.completed_requests", COUNT),
    Field("results_number_errors", "run.throughput.failed_requests", COUNT),
    Field(
        "results_num_completed_requests_per_min",
        "run.throughput.requests_per_s",
        Kind("per minute → per second", lambda v: times(v, Decimal(1) / 60)),
    ),
    *(
        Field(
            f"additional_sampling_params_{name}", f"configuration.sampler.{name}", kind, "as sent"
        )
        for name, kind in (("temperature", NUMBER), ("top_p", NUMBER), ("top_k", COUNT))
    ),
)

#: In every summary.
_ALWAYS = ("mean_input_tokens", "num_concurrent_requests", "results_ttft_s_mean")


def _of(record: JsonRecord) -> Building:
    building = Building()
    streams = record.get("num_concurrent_requests")
    name = "run" if streams is None else f"concurrency {streams.value}"
    run = building.run(name, "server")
    at = {
        "run": run,
        "configuration": building.configuration("server"),
        "workload": building.workload("prompts"),
    }
    building.put((*run, "workload"), Found("prompts"))
    fill(building, _RUN, record, at)
    fill_summaries(building, _SUMMARIES, _PARTS, record, at)
    building.put((*run, "measurement", "by"), Found("client"))
    building.put((*run, "measurement", "tool"), Found(NAME))
    return building


def _recognise(head: Head) -> Confidence:
    return Confidence.SURE if head.has(*_ALWAYS) else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    for record in source.records():
        if all(name in record.tree for name in _ALWAYS):
            yield Imported.of(NAME, _of(record))


_SERVER = "the server's log says it: give it to `benchlint convert` too"

IMPORTER = Importer(
    name=NAME,
    title="LLMPerf",
    reads="summaries (`--results-dir DIR`, *_summary.json)",
    recognise=_recognise,
    read=_read,
    fields=(*_RUN, *page_fields(_PARTS, _SUMMARIES)),
    hints={
        "target.quantization": _SERVER,
        "machine": "LLMPerf knows a network address only: `--metadata` can say what it was",
        "engine": _SERVER,
        "configurations.*.drafter": _SERVER,
        "configurations.*.draft_length": _SERVER,
        "configurations.*.sampler": "`--additional-sampling-params '{\"temperature\": 0}'`",
        "configurations.*.kv_cache": _SERVER,
        "workloads.*.mix": "LLMPerf asks for lines of Shakespeare's sonnets to be chosen",
        "workloads.*.prompts": "`--log-prompts` prints them",
        "workloads.*.stop_rule": "LLMPerf sends max_tokens, and answers may end before",
        "runs[].speculation": "the server's /metrics before and after",
        "runs[].decode": "LLMPerf has no time of decode alone: vllm bench serve, GuideLLM and "
        "AIPerf have",
        "runs[].conditions.warm": "LLMPerf sends no request before: send some",
        "runs[].conditions.repeats": "run it again",
        "quality": "`lm_eval --model local-completions` against the same server",
    },
    never=(
        "Acceptance: it reads no counters of the server.",
        "Time per output token: what it calls inter-token latency is the whole latency of a "
        "request, time to first token included, over its tokens, and is not taken over.",
        "Tokens of the model itself: it counts with the tokenizer of Llama 2.",
    ),
)
