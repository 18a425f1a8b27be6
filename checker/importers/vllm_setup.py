"""What vLLM's log says of how the engine was set up.

Sources: vLLM vllm/v1/engine/core.py, vllm/config/speculative.py, vllm/entrypoints/utils.py
(non-default args), vllm/v1/core/kv_cache_utils.py; vllm/engine/llm_engine.py for V0.
"""

from __future__ import annotations

import re

from benchlint.checker.importers.building import Building
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    TEXT,
    TRUTH,
    Field,
    Kind,
    fill,
    number,
    text,
)
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.printed_values import named_values, unset_names
from benchlint.checker.importers.serving_fields import MODEL

# --- values ----------------------------------------------------------------------------------

#: vLLM's names of methods (vllm/config/speculative.py) → the format's.
_METHODS = {
    "ngram": "ngram",
    "ngram_gpu": "ngram",
    "[ngram]": "ngram",
    "suffix": "suffix",
    "draft_model": "draft_model",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "medusa": "medusa",
    "mtp": "mtp",
    "dflash": "dflash",
    "dspark": "dspark",
}

_DTYPES = {"bfloat16": "BF16", "float16": "F16", "half": "F16", "float32": "F32", "float": "F32"}


def method_of(value: object) -> str | None:
    """A method by the format's name; `deepseek_mtp` and the like are mtp."""
    name = (text(value) or "").lower()
    if name.endswith(("_mtp", "mtp")):
        return "mtp"
    return _METHODS.get(name, "other") if name else None


def _dtype(value: object) -> str | None:
    """torch.bfloat16 → BF16."""
    return _DTYPES.get((text(value) or "").rpartition(".")[2])


def _not_auto(value: object) -> str | None:
    found = text(value)
    return None if found in ("auto", None) else found


METHOD = Kind("its names → those of the format", method_of)
DTYPE = Kind("torch.bfloat16 → BF16", _dtype)
NOT_AUTO = Kind("auto is none", _not_auto)

# --- setup -----------------------------------------------------------------------------------

SETUP = (
    Field("model", "configuration.target.name", MODEL, "where nothing else is served"),
    Field(
        "quantization",
        "configuration.target.quantization.recipe",
        TEXT,
        "else the type that weights are loaded as",
    ),
    Field("dtype", "configuration.target.quantization.recipe", DTYPE),
    Field("max_seq_len", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("kv_cache_dtype", "configuration.kv_cache.target_type", NOT_AUTO),
    Field("tensor_parallel_size", "configuration.engine.parallelism.tensor", COUNT),
    Field("pipeline_parallel_size", "configuration.engine.parallelism.pipeline", COUNT),
    Field("data_parallel_size", "configuration.engine.parallelism.data", COUNT),
    Field("device_config", "configuration.engine.backend", TEXT),
)
SERVED = Field("served_model_name", "configuration.target.name", MODEL)
PREFIX_CACHE = Field("enable_prefix_caching", "run.conditions.prompt_cache", TRUTH)

DRAFTER = (
    Field("method", "configuration.drafter.method", METHOD),
    Field("model", "configuration.drafter.model", MODEL),
    Field("draft_model", "configuration.drafter.model", MODEL, "V0"),
    Field("num_spec_tokens", "configuration.draft_length.max", COUNT),
    Field("num_speculative_tokens", "configuration.draft_length.max", COUNT),
)

ENGINE = re.compile(r"Initializing an? (?:V[01] )?LLM engine \(v(?P<version>[^)]{1,80})\)")
_SERVER = re.compile(r"vLLM API server version (?P<version>\d\S{0,60})")
_BANNER = re.compile(r"\bversion (?P<version>\d+\.\d+\S{0,60})\s*$")
_POOL = re.compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")
_BUDGET = re.compile(r"Available KV cache memory: (?P<gib>\d+(?:\.\d+)?) GiB")
_LENGTH = re.compile(r"Using max model len (?P<tokens>\d+)")
_BACKEND = re.compile(
    r"Using (?P<name>Flash Attention|[A-Z][A-Z0-9_]{3,40}) (?:attention )?backend"
)

#: Settings by which acceptance is no longer the target's (`rejection_sample_method: synthetic`).
_ACCEPTANCE = (
    "rejection_sample_method",
    "synthetic_acceptance_length",
    "synthetic_acceptance_rate",
    "posterior_threshold",
    "posterior_alpha",
)


class Setup:
    """What a log says of how the engine was started."""

    def __init__(self, building: Building) -> None:
        self._building = building
        self.configuration = building.configuration("server")
        self.prompt_cache: Found | None = None
        building.put((*self.configuration, "engine", "name"), Found("vllm"))

    @property
    def says_anything(self) -> bool:
        """Whether the log told more than that it is vLLM's."""
        return len(self._building.places) > 0

    def take(self, line: Line) -> None:
        """Read a line of the start."""
        engine = ENGINE.search(line.text)
        if engine is not None:
            self._version(line, engine)
            self._config(line, engine.end())
        elif "non-default args:" in line.text:
            self._arguments(line)
        else:
            self._others(line)

    def _put(self, to: str, found: Found | None) -> None:
        self._building.put((*self.configuration, *to.split(".")), found)

    def _version(self, line: Line, match: re.Match[str]) -> None:
        self._put("engine.version", line.group(match, "version"))

    def _config(self, line: Line, start: int) -> None:
        """The whole configuration in one line; that of speculation stands inside of it."""
        at = {"configuration": self.configuration}
        speculation = line.text.find("SpeculativeConfig(", start)
        names = [f.source for f in (*SETUP, SERVED, PREFIX_CACHE)]
        values = named_values(line, names, start)
        self.prompt_cache = values.get(PREFIX_CACHE.source)
        fill(self._building, (SERVED, *SETUP), values, at)
        if speculation >= 0:
            self._speculation(line, speculation)
        elif unset_names(line, ["speculative_config"], start):
            self._building.put_null((*self.configuration, "drafter"))

    def _speculation(self, line: Line, start: int) -> None:
        """The drafter: `SpeculativeConfig(method=…, model=…, num_spec_tokens=4)`, or a dict."""
        end = min((i for i in (line.text.find(c, start) for c in ")}") if i >= 0), default=-1)
        inside = Line(line.number, line.text[:end] if end >= 0 else line.text)
        values = named_values(inside, [f.source for f in DRAFTER], start)
        drafted_by = values.get("draft_model")
        if "method" not in values and drafted_by is not None:
            is_lookup = drafted_by.value in ("[ngram]", "ngram")
            values["method"] = drafted_by.to("ngram" if is_lookup else "draft_model")
        if values.get("method") and METHOD.convert(values["method"].value) == "ngram":
            values = {n: v for n, v in values.items() if n not in ("model", "draft_model")}
        fill(self._building, DRAFTER, values, {"configuration": self.configuration})

    def _arguments(self, line: Line) -> None:
        """What was given on the command line; keys and tokens may be in it, and are left there."""
        start = line.text.find("'speculative_config': {")
        if start < 0:
            return
        self._speculation(line, start + len("'speculative_config': "))
        for name, value in named_values(line, _ACCEPTANCE, start).items():
            printed = number(value.value)
            setting = value.to(text(value.value) if printed is None else printed)
            self._put(f"acceptance_rule.settings.{name}", setting)

    def _others(self, line: Line) -> None:
        for pattern, name, to, kind in _OTHER_LINES:
            match = pattern.search(line.text)
            found = None if match is None else line.group(match, name)
            if found is not None:
                self._put(to, found.to(kind.convert(found.value)))


#: What the other lines say, for the page.
OTHER_FIELDS = (
    Field("version", "configuration.engine.version", TEXT),
    Field("KV cache size", "configuration.kv_cache.pool_tokens", COUNT),
    Field("Available KV cache memory", "configuration.kv_cache.budget_gib_per_device", NUMBER),
    Field("Using … backend", "configuration.engine.attention_backend", TEXT),
    Field(
        "rejection_sample_method, …",
        "configuration.acceptance_rule.settings",
        TEXT,
        "settings by which acceptance is not the target's",
    ),
)

_OTHER_LINES: tuple[tuple[re.Pattern[str], str, str, Kind], ...] = (
    (_SERVER, "version", "engine.version", TEXT),
    (_BANNER, "version", "engine.version", TEXT),
    (_POOL, "tokens", "kv_cache.pool_tokens", COUNT),
    (_BUDGET, "gib", "kv_cache.budget_gib_per_device", NUMBER),
    (_LENGTH, "tokens", "kv_cache.max_context_tokens", COUNT),
    (_BACKEND, "name", "engine.attention_backend", TEXT),
)
