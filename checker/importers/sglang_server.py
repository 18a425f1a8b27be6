"""SGLang's /server_info, and the `meta_info` of its replies.

Sources: SGLang python/sglang/srt/entrypoints/http_server.py (/get_server_info before 0.5.6),
srt/managers/tokenizer_manager.py, srt/managers/scheduler_components/internal_state.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, Field, Kind, fill, number, text, whole
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.json_objects import any_object, objects_of
from benchlint.checker.importers.serving_fields import POSITIVE
from benchlint.checker.importers.sglang_settings import (
    ALGORITHM,
    DRAFT_LENGTH,
    FIELDS,
    INFO_FIELDS,
    RUN_FIELDS,
    put_settings,
)

NAME = "sglang"

# --- /server_info ----------------------------------------------------------------------------

_LENGTH = Field(
    "internal_states[].avg_spec_accept_length",
    "run.speculation.accepted_length",
    NUMBER,
    "tokens per verify step since the start; of several data-parallel ranks the smallest and the "
    "largest",
)
_CAPACITY = Field(
    "internal_states[].memory_usage.token_capacity", "configuration.kv_cache.pool_tokens", COUNT
)
_VARIABLES = Field(
    "internal_states[].env_vars.SGLANG_SIMULATE_ACC_LEN",
    "configuration.engine.environment",
    Kind("", text),
)


def is_server_info(tree: object) -> bool:
    """Whether an object is a reply of /server_info, or the arguments in one."""
    if not isinstance(tree, dict):
        return False
    return _are_states(tree.get("internal_states")) or tree.keys() >= _ARGUMENTS


_ARGUMENTS = frozenset({"model_path", "tp_size", ALGORITHM})


def _are_states(states: object) -> bool:
    names = ("last_gen_throughput", "avg_spec_accept_length", "memory_usage")
    return isinstance(states, list) and any(
        isinstance(each, dict) and any(name in each for name in names) for each in states
    )


def put_server_info(building: Building, at: dict[str, Path], info: JsonRecord) -> None:
    """Take over how the server was set up."""
    off = ALGORITHM in info.tree and info.tree[ALGORITHM] is None
    put_settings(building, at, info, without_drafter=off)
    fill(building, INFO_FIELDS, info, at)
    for state in info.records("internal_states"):
        pool = (*at["configuration"], "kv_cache", "pool_tokens")
        capacity = state.get("memory_usage.token_capacity")
        building.put(pool, None if capacity is None else capacity.to(whole(capacity.value)))
        variable = state.get("env_vars.SGLANG_SIMULATE_ACC_LEN")
        if variable is not None:
            environment = (*at["configuration"], "engine", "environment")
            setting = (*environment, "SGLANG_SIMULATE_ACC_LEN")
            building.put(setting, variable.to(text(str(variable.value)[:40])))


def lengths_of(info: JsonRecord) -> list[Found]:
    """Accepted length of every rank that has one."""
    found = [state.get("avg_spec_accept_length") for state in info.records("internal_states")]
    known = [(each, number(each.value)) for each in found if each is not None]
    return [each.to(value) for each, value in known if value is not None and value > 0]


def put_cumulative_length(building: Building, run: Path, lengths: list[Found]) -> None:
    """The length since the server's start; several ranks give it only within two ends."""
    at = (*run, "speculation", "accepted_length")
    if not lengths:
        return
    if len(lengths) == 1:
        building.put((*at, "value"), lengths[0])
        building.put((*at, "estimator"), Found("pooled"))
    else:
        ordered = sorted(lengths, key=_value)
        building.put((*at, "range", 0), ordered[0])
        building.put((*at, "range", 1), ordered[-1])
        building.remarks.append(
            f"{len(lengths)} data-parallel ranks have accepted lengths of their own: only counters "
            "could be pooled"
        )
    building.put((*at, "counts_bonus_token"), Found(True))
    building.put((*run, "measurement", "counters"), Found("server_cumulative"))


def _value(found: Found) -> float:
    return found.value if isinstance(found.value, float) else 0.0


# --- meta_info -------------------------------------------------------------------------------

_META = (
    Field("prompt_tokens", "run.conditions.kv_position.filled_tokens", COUNT),
    Field("completion_tokens", "run.decode.tokens", COUNT, "the first one included"),
    Field(
        "decode_throughput",
        "run.decode.tok_s",
        POSITIVE,
        "all output tokens over the time from the first to the last",
    ),
    Field("e2e_latency", "run.throughput.seconds", POSITIVE, "prefill included"),
    Field(
        "spec_accept_length",
        "run.speculation.accepted_length.value",
        POSITIVE,
        "output tokens over verify steps, the token from prefill included",
    ),
    Field(
        "spec_accept_rate",
        "run.speculation.acceptance_rate.value",
        NUMBER,
        "accepted tokens over K × verify steps",
    ),
    Field("spec_verify_ct", "run.speculation.counts.verify_steps", COUNT),
)
#: Names of the two counters since 0.5.12, in 0.5.11, and from 0.5.6 on.
_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_DRAFTS = (
    *(Field(name, "run.speculation.counts.accepted", COUNT) for name in _ACCEPTED),
    *(Field(name, "run.speculation.counts.drafted", COUNT) for name in _PROPOSED),
)
_HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
_OTHERS = (
    Field("cached_tokens", "run.conditions.prompt_cache", Kind("over 0 → true", lambda v: v)),
    Field("finish_reason.type", "run.finish_reasons", Kind("", text)),
    Field(_HISTOGRAMS[0], "run.speculation.histogram", COUNT),
    Field(_HISTOGRAMS[1], "run.speculation.histogram", COUNT, "0.5.10 and 0.5.11"),
    Field(
        _PROPOSED[0],
        "configuration.draft_length.max",
        Kind("÷ spec_verify_ct", whole),
    ),
)

_OWN = frozenset({"spec_verify_ct", "spec_accept_rate", "spec_accept_length", *_ACCEPTED})


def _is_meta_info(tree: object) -> bool:
    if not isinstance(tree, dict):
        return False
    return bool(_OWN & tree.keys()) and ("completion_tokens" in tree or len(_OWN & tree.keys()) > 1)


#: So many replies become runs.
_MOST_RUNS = 500


class _Server:
    """A report of /server_info and of replies."""

    def __init__(self) -> None:
        self.building = Building()
        self._left_out = 0

    def add(self, record: JsonRecord) -> None:
        """Add an object, if it is one of the two."""
        if is_server_info(record.tree):
            self._add_info(record)
        elif _is_meta_info(record.tree):
            self._add_reply(record)

    def _add_info(self, info: JsonRecord) -> None:
        building = self.building
        at = {"configuration": building.configuration("server")}
        lengths = lengths_of(info)
        if lengths:
            at["run"] = building.run("server", "server")
            put_cumulative_length(building, at["run"], lengths)
            building.put((*at["run"], "measurement", "by"), Found("engine_counter"))
        put_server_info(building, at, info)

    def _add_reply(self, meta: JsonRecord) -> None:
        building = self.building
        count = len(building.tree.get("runs", ()))
        if count >= _MOST_RUNS:
            self._left_out += 1
            return
        configuration = building.configuration("server")
        building.put((*configuration, "engine", "name"), Found("sglang"))
        run = building.run(f"reply {count + 1}", "server")
        fill(building, (*_META, *_DRAFTS), meta, {"run": run})
        self._put_rest(run, meta)
        self._define(run, meta)
        self._put_k(configuration, meta)

    def _put_rest(self, run: Path, meta: JsonRecord) -> None:
        building = self.building
        cached, reason = meta.get("cached_tokens"), meta.get("finish_reason.type")
        if cached is not None and whole(cached.value):
            building.put((*run, "conditions", "prompt_cache"), cached.to(True))
        said = None if reason is None else text(reason.value)
        if reason is not None and said and len(said) < 40:
            building.put((*run, "finish_reasons", said), reason.to(1))
        for name in _HISTOGRAMS:
            found = meta.get(name)
            counts = found.value if found is not None and isinstance(found.value, list) else []
            if found is not None and counts and all(isinstance(each, int) for each in counts):
                building.put((*run, "speculation", "histogram"), found)

    def _define(self, run: Path, meta: JsonRecord) -> None:
        """What SGLang means by its numbers; all of them are of one request."""
        building, speculation = self.building, (*run, "speculation")
        for name, to, value in _DEFINED:
            if building.has((*speculation, name)):
                building.put((*speculation, name, to), Found(value))
                building.put((*speculation, name, "estimator"), Found("pooled"))
        output = meta.get("completion_tokens")
        if building.has((*speculation, "counts")) and output is not None:
            building.put((*speculation, "counts", "output_tokens"), output.to(whole(output.value)))
            building.put((*speculation, "counts", "requests"), Found(1))
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))

    def _put_k(self, configuration: Path, meta: JsonRecord) -> None:
        """K, which SGLang multiplies verify steps with to count proposed tokens."""
        steps = meta.get("spec_verify_ct")
        proposed = next((found for name in _PROPOSED if (found := meta.get(name))), None)
        s = None if steps is None else whole(steps.value)
        d = None if proposed is None else whole(proposed.value)
        if proposed is not None and s and d and d > 0 and d % s == 0:
            maximum = (*configuration, "draft_length", "max")
            self.building.put(maximum, proposed.to(d // s))

    def imported(self) -> Iterator[Imported]:
        """The report, unless there was nothing."""
        if self._left_out:
            self.building.remarks.append(f"{self._left_out:,} more replies were left out")
        if "configurations" in self.building.tree:
            self.building.hoist()
            yield Imported.of(NAME, self.building)


_DEFINED = (
    ("acceptance_rate", "of", "configured"),
    ("accepted_length", "counts_bonus_token", True),
)

_IN_TEXT = re.compile(r'"spec_verify_ct": ?\d|"internal_states": ?\[\s*\{')


def _holds(record: JsonRecord) -> bool:
    return is_server_info(record.tree) or _is_meta_info(record.tree)


def _is_a_bench(tree: object) -> bool:
    """Whether it is a result of bench_serving, which keeps /server_info inside of it."""
    return isinstance(tree, dict) and "total_output_tokens" in tree


def _recognise(head: Head) -> Confidence:
    if _is_a_bench(head.record):
        return Confidence.NO
    found = any_object(head.document, _holds)
    if not found and head.document is None:
        found = _IN_TEXT.search(head.text) is not None and '"output_throughput"' not in head.text
    return Confidence.SURE if found else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    server = _Server()
    for record in objects_of(source, ("spec_verify_ct", "internal_states", "meta_info")):
        server.add(record)
    return server.imported()


_SENT = "write down what the client sent; it is not in the reply"
_INFO = "`curl http://HOST:PORT/server_info` (`/get_server_info` before 0.5.6)"

IMPORTER = Importer(
    name=NAME,
    title="/server_info of SGLang, and meta_info of its replies",
    reads="the JSON of `curl http://HOST:PORT/server_info`; replies of `/generate`, of the OpenAI "
    "routes with `return_meta_info` and `return_spec_tokens_details`, one or many, in JSON or "
    "JSON Lines, and captured streams",
    recognise=_recognise,
    read=_read,
    engines=("sglang",),
    fields=(
        *INFO_FIELDS,
        *FIELDS,
        *RUN_FIELDS,
        *DRAFT_LENGTH,
        _CAPACITY,
        _LENGTH,
        _VARIABLES,
        *_META,
        *_DRAFTS,
        *_OTHERS,
    ),
    hints={
        "machine": "`nvidia-smi -L`, and `nvidia-smi -q -d POWER` for the limit",
        "target": _INFO,
        "engine.version": _INFO,
        "engine.command_line": "`launch_command` in /server_info of newer versions; else write it "
        "down",
        "configurations.*.drafter": _INFO,
        "configurations.*.draft_length": _INFO,
        "configurations.*.sampler": _SENT,
        "configurations.*.kv_cache": _INFO + "; `auto` is the model's type",
        "workloads.*.mix": _SENT,
        "runs[].workload": _SENT,
        "runs[].prefill": "`python -m sglang.bench_serving --backend sglang` measures TTFT",
        "runs[].decode": "`python -m sglang.bench_serving --backend sglang` measures TPOT",
        "runs[].speculation": "OpenAI routes: send `return_meta_info: true`",
        "runs[].conditions.concurrency": "how many requests the client had in flight",
        "runs[].conditions.warm": "send a request before those that count",
        "runs[].conditions.repeats": "send each request several times, and flush the cache between",
        "runs[].memory": "`nvidia-smi` after the run; SGLang takes its share at the start",
        "runs[].losslessness": "compare the texts with those of a server without speculation",
        "quality": "`python -m sglang.test.few_shot_gsm8k` against the same server",
    },
    never=(
        "One run alone, in /server_info: its accepted length goes on from the start, or from the "
        "last `curl -X POST http://HOST:PORT/flush_cache`.",
        "Accepted length over several data-parallel ranks: it gives no counters to pool them.",
        "What was asked: prompt, sampler and limits stand in the request.",
    ),
)
