"""How an SGLang server was set up: its arguments, as /server_info and its log give them.

Sources: SGLang python/sglang/srt/server_args.py, srt/managers/tokenizer_manager.py,
srt/managers/scheduler_components/metrics_reporter.py (what the draft tokens are counted by).
"""

from __future__ import annotations

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    TEXT,
    Field,
    Kind,
    fill,
    number,
    text,
    truth,
    whole,
)
from benchlint.checker.importers.found import Found, Record
from benchlint.checker.importers.serving_fields import MODEL

#: SGLang's algorithms → the format's methods.
_METHODS = {
    "EAGLE": "eagle",
    "EAGLE3": "eagle3",
    "NEXTN": "mtp",
    "STANDALONE": "draft_model",
    "NGRAM": "ngram",
    "LOOKAHEAD": "ngram",
    "DFLASH": "dflash",
    "DSPARK": "dspark",
}

_DTYPES = {"bfloat16": "BF16", "float16": "F16", "half": "F16", "float32": "F32"}


def _method(value: object) -> str | None:
    name = text(value)
    return None if name is None else _METHODS.get(name.upper(), "other")


def _not_auto(value: object) -> str | None:
    found = text(value)
    return None if found in ("auto", None) else found


def _dtype(value: object) -> str | None:
    return _DTYPES.get(text(value) or "")


def _not(value: object) -> bool | None:
    found = truth(value)
    return None if found is None else not found


ALGORITHM = "speculative_algorithm"
_DRAFT_TOKENS = "speculative_num_draft_tokens"
_STEPS = "speculative_num_steps"
_TOP_K = "speculative_eagle_topk"

#: What /server_info adds to the arguments.
INFO_FIELDS = (
    Field("version", "configuration.engine.version", TEXT),
    Field("launch_command", "configuration.engine.command_line", TEXT),
    Field("max_total_num_tokens", "configuration.kv_cache.pool_tokens", COUNT),
)

FIELDS = (
    Field("device", "configuration.engine.backend", TEXT),
    Field("attention_backend", "configuration.engine.attention_backend", TEXT),
    Field("tp_size", "configuration.engine.parallelism.tensor", COUNT),
    Field("pp_size", "configuration.engine.parallelism.pipeline", COUNT),
    Field("dp_size", "configuration.engine.parallelism.data", COUNT),
    Field("ep_size", "configuration.engine.parallelism.expert", COUNT),
    Field("model_path", "configuration.target.name", MODEL),
    Field("revision", "configuration.target.revision", TEXT),
    Field(
        "quantization",
        "configuration.target.quantization.recipe",
        TEXT,
        "else the type that weights are loaded as",
    ),
    Field(
        "dtype",
        "configuration.target.quantization.recipe",
        Kind("bfloat16 → BF16; auto is none", _dtype),
    ),
    Field("context_length", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("kv_cache_dtype", "configuration.kv_cache.target_type", Kind("auto is none", _not_auto)),
    Field("speculative_draft_model_path", "configuration.drafter.model", MODEL),
    Field("speculative_draft_model_revision", "configuration.drafter.revision", TEXT),
    Field(
        ALGORITHM,
        "configuration.drafter.method",
        Kind("its names → those of the format", _method),
        "null: there is no drafter",
    ),
)
RUN_FIELDS = (
    Field("disable_radix_cache", "run.conditions.prompt_cache", Kind("false → true", _not)),
)
DRAFT_LENGTH = (
    Field(
        _DRAFT_TOKENS,
        "configuration.draft_length.max",
        Kind("less 1", whole),
        "counts the root; of trees, which have a top-k over 1, the steps are the most",
    ),
    Field(_STEPS, "configuration.draft_length.tree.depth", COUNT, "where top-k is over 1"),
    Field(_TOP_K, "configuration.draft_length.tree.width", COUNT, "where it is over 1"),
    Field(
        "speculative_accept_threshold_single, _acc",
        "configuration.acceptance_rule.settings",
        TEXT,
        "where they are not 1",
    ),
)

_THRESHOLDS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")

#: What to look for in a text that has all arguments.
NAMES = (
    *(field.source for field in (*FIELDS, *RUN_FIELDS)),
    *(_DRAFT_TOKENS, _STEPS, _TOP_K),
    *_THRESHOLDS,
)


def put_settings(
    building: Building, at: dict[str, Path], record: Record, *, without_drafter: bool
) -> None:
    """Take over the arguments. without_drafter: they say that there is no algorithm."""
    configuration = at["configuration"]
    building.put((*configuration, "engine", "name"), Found("sglang"))
    if without_drafter:
        building.put_null((*configuration, "drafter"))
        plain = [field for field in FIELDS if not field.to.startswith("configuration.drafter")]
        fill(building, (*plain, *RUN_FIELDS), record, at)
        return
    fill(building, (*FIELDS, *RUN_FIELDS), record, at)
    algorithm = record.get(ALGORITHM)
    if algorithm is not None and text(algorithm.value):
        _put_draft_length(building, (*configuration, "draft_length"), record)
        _put_thresholds(building, configuration, record)


def _put_draft_length(building: Building, at: Path, record: Record) -> None:
    tokens, steps, width = (_positive(record.get(n)) for n in (_DRAFT_TOKENS, _STEPS, _TOP_K))
    drafted = None if tokens is None else tokens.to(_number(tokens) - 1)
    if width is None or _number(width) == 1:
        building.put((*at, "max"), _positive(drafted) or steps)
        algorithm = record.get(ALGORITHM)
        if width is not None and algorithm is not None:
            building.put((*at, "policy"), width.to("fixed"))
        return
    building.put((*at, "max"), steps)
    building.put((*at, "tree", "depth"), steps)
    building.put((*at, "tree", "width"), width)
    building.put((*at, "tree", "draft_tokens"), _positive(drafted))


def _positive(found: Found | None) -> Found | None:
    value = None if found is None else whole(found.value)
    return None if found is None or value is None or value < 1 else found.to(value)


def _number(found: Found) -> int:
    return found.value if isinstance(found.value, int) else 0


def _put_thresholds(building: Building, configuration: Path, record: Record) -> None:
    for name in _THRESHOLDS:
        found = record.get(name)
        value = None if found is None else number(found.value)
        if found is not None and value is not None and float(value) != 1.0:
            setting = (*configuration, "acceptance_rule", "settings", name)
            building.put(setting, found.to(value))
