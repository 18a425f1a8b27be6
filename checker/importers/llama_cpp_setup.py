"""What llama.cpp's programs log of model, engine, drafter and sampler when they start.

Sources: llama.cpp src/llama-model-loader.cpp and src/llama-model.cpp `print_info`
(`llm_load_print_meta` before 2025), src/llama-context.cpp, src/llama-kv-cache.cpp,
common/common.cpp `common_params_print_info`, common/speculative.cpp,
tools/server/server-context.cpp `load_model` and `launch_slot_with_task`.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, Kind, fill, whole
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.llama_bench import billions, file_name, gib, recipe
from benchlint.checker.importers.llama_cpp_lines import groups
from benchlint.checker.importers.table_rows import Row

# --- what goes where -------------------------------------------------------------------------


def build(value: object) -> str | None:
    """The build number as releases are called. 0 and 1 are what a shallow checkout has."""
    found = whole(value)
    return None if found is None or found <= 1 else f"b{found}"


def commit(value: object) -> str | None:
    """A commit that is one; "unknown" is none."""
    return str(value) if re.fullmatch(r"[0-9a-f]{5,40}", str(value)) else None


def single(value: object) -> object:
    """A number that went through a float of 32 bits, to the seven digits that it holds.

    A whole one is written with `.0`: 0 would be anything from -1 to 1.
    """
    if not isinstance(value, float) or not isfinite(value):
        return NUMBER.convert(value)
    text = f"{value:.7g}"
    return NUMBER.convert(f"{text}.0" if text.lstrip("-").isdecimal() else text)


#: So many devices are counted.
MOST_DEVICES = 1000

#: No server runs more types of speculation at once.
MOST_TYPES = 20

#: Which of our methods a speculation type is (common/speculative.cpp, names of the types).
METHODS = {
    "draft": "draft_model",
    "draft-simple": "draft_model",
    "eagle3": "eagle3",
    "draft-eagle3": "eagle3",
    "mtp": "mtp",
    "draft-mtp": "mtp",
    "draft-dflash": "dflash",
    "draft-dspark": "dspark",
    "ngram-simple": "ngram",
    "ngram-map-k": "ngram",
    "ngram-map-k4v": "ngram",
    "ngram-mod": "ngram",
    "ngram-cache": "ngram",
}

_MODEL = (
    Field("model", "configuration.target.name", Kind("without folders", file_name)),
    Field(
        "file type",
        "configuration.target.quantization.recipe",
        Kind("name of the file type → recipe", recipe),
    ),
    Field(
        "file size",
        "configuration.target.quantization.file_size_gib",
        Kind("MiB → GiB", lambda v: gib(str(v))),
    ),
    Field("BPW", "configuration.target.quantization.bits_per_weight", NUMBER),
    Field(
        "model params",
        "configuration.target.parameters_b",
        Kind("K, M, T → billions", lambda v: billions(str(v))),
    ),
    Field("n_layer", "configuration.target.layers", COUNT),
    Field(
        "n_expert",
        "configuration.target.architecture",
        Kind("0 → dense, else moe", lambda v: "moe" if whole(v) else "dense"),
    ),
)

_ENGINE = (
    Field("build", "configuration.engine.version", Kind("1275 → b1275", build)),
    Field("commit", "configuration.engine.commit", Kind("", commit)),
    Field("backend", "configuration.engine.backend", TEXT, "of the device that is used"),
    Field("n_threads", "configuration.engine.threads.decode", COUNT),
    Field("n_threads_batch", "configuration.engine.threads.batch", COUNT),
    Field("n_batch", "configuration.engine.batch.logical", COUNT),
    Field("n_ubatch", "configuration.engine.batch.physical", COUNT),
    Field("offloaded layers", "configuration.engine.offload.gpu_layers", COUNT),
    Field(
        "flash attention",
        "configuration.engine.attention_backend",
        Kind("where it is enabled", lambda _: "flash_attn"),
    ),
    Field("n_ctx_slot", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("n_ctx_seq", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("n_ctx", "configuration.kv_cache.max_context_tokens", COUNT),
    Field("cache type", "configuration.kv_cache.target_type", TEXT),
)

_SAMPLER = (
    Field("temp", "configuration.sampler.temperature", NUMBER),
    Field("top_k", "configuration.sampler.top_k", COUNT),
    Field("top_p", "configuration.sampler.top_p", NUMBER),
    Field("min_p", "configuration.sampler.min_p", NUMBER),
    Field("repeat_penalty", "configuration.sampler.repetition_penalty", NUMBER),
    Field("presence_penalty", "configuration.sampler.presence_penalty", NUMBER),
    Field("frequency_penalty", "configuration.sampler.frequency_penalty", NUMBER),
)

_DRAFTER = (
    Field("draft model", "configuration.drafter.model", Kind("without folders", file_name)),
    Field(
        "speculative implementation",
        "configuration.drafter.method",
        Kind("draft-simple → draft_model, ngram-* → ngram", lambda v: METHODS.get(str(v))),
    ),
    Field(
        "n_max, size_m",
        "configuration.draft_length.max",
        COUNT,
        "the largest where there are several",
    ),
    Field("p_min", "configuration.draft_length.p_min", NUMBER),
    Field(
        "synthetic acceptance",
        "configuration.acceptance_rule.kind",
        Kind("where it is enabled", lambda _: "synthetic"),
    ),
    Field("cache_k", "configuration.kv_cache.drafter_type", TEXT),
)

_MACHINE = (
    Field("using device", "configuration.machine.devices.0.name", TEXT, "the CPU where none is"),
    Field("device_info CPU", "configuration.machine.cpu", TEXT),
)

MODEL_FIELDS = _MODEL
SETUP_FIELDS = (*_MODEL, *_ENGINE, *_SAMPLER, *_DRAFTER, *_MACHINE)

# --- its lines -------------------------------------------------------------------------------

#: Behind it the line ends, or the JSON string that it is in.
_FILE_TYPE = r"(?P<file_type>[\w .-]*\w)\s*(?:$|\\)"

#: Lines with one value or a few, by a word that stands in them: cheap to look for.
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (marker, re.compile(pattern))
    for marker, pattern in (
        ("loading model", r"loading model '(?P<model>[^']+)'"),
        (
            "loaded meta data",
            r"key-value pairs and \d+ tensors from (?P<model>.+) \(version",
        ),
        ("file type ", rf": file type +=+ {_FILE_TYPE}"),
        ("model ftype", rf": model ftype +=+ {_FILE_TYPE}"),
        ("file size ", r": file size +=+ (?P<file_size>[\d.]+ [MG]iB) \((?P<BPW>[\d.]+) BPW\)"),
        ("model size ", r": model size +=+ (?P<file_size>[\d.]+ [MG]iB) \((?P<BPW>[\d.]+) BPW\)"),
        ("model params", r": model params +=+ (?P<model_params>[\d.]+ [KMBT])\b"),
        ("n_layer ", r": n_layer +=+ (?P<n_layer>\d+)\s*(?:$|\\)"),
        ("n_expert ", r": n_expert +=+ (?P<n_expert>\d+)\s*(?:$|\\)"),
        (
            "build",
            r"\bbuild(?:_info)?\s*[:=]?\s*b?(?P<build>\d+)[ -]"
            r"\(?(?P<commit>[0-9a-f]{7,40}\b|unknown)",
        ),
        (
            "n_threads = ",
            r"system_info: n_threads = (?P<n_threads>\d+)"
            r"(?: \(n_threads_batch = (?P<n_threads_batch>\d+)\))?",
        ),
        ("n_ctx_slot = ", r"n_ctx_slot = (?P<n_ctx_slot>\d+)"),
        ("n_ctx_seq ", r": n_ctx_seq +=+ (?P<n_ctx_seq>\d+)"),
        ("n_ctx_per_seq ", r": n_ctx_per_seq +=+ (?P<n_ctx_seq>\d+)"),
        ("n_ctx ", r": n_ctx +=+ (?P<n_ctx>\d+)"),
        ("n_batch ", r": n_batch +=+ (?P<n_batch>\d+)"),
        ("n_ubatch ", r": n_ubatch +=+ (?P<n_ubatch>\d+)"),
        (
            "synthetic speculative",
            r"(?P<synthetic_acceptance>synthetic speculative acceptance) is enabled",
        ),
        ("verbosity = ", r"verbosity = (?P<verbosity>\d+)"),
        ("offloaded ", r"offloaded (?P<offloaded_layers>\d+)/\d+ layers to GPU"),
        ("lash ", r"(?P<flash_attention>Flash Attention (?:was auto, set to )?enabled)"),
        ("flash_attn ", r": flash_attn +=+ (?P<flash_attention>1|enabled)\b"),
        (", V (", r"K \((?P<cache_k_target>\w+)\): .*, V \((?P<cache_v_target>\w+)\)"),
    )
)

_DRAFT_MODEL = re.compile(r"loading draft model '(?P<draft_model>[^']+)'")
_ADDING = re.compile(r"adding speculative implementation '(?P<type>[\w-]+)'")
_LIMITS = re.compile(
    r"- (?:n_match=\d+, )?n_max=(?P<n_max>\d+), n_min=\d+(?:, p_min=(?P<p_min>[\d.]+))?"
    r"|- size_n=\d+, size_m=(?P<size_m>\d+)|- n_draft=(?P<n_draft>\d+), cache"
    r"|- size_key=\d+, size_value=(?P<size_value>\d+)"
)
_CACHE = re.compile(r"cache_k=(?P<cache_k>\w+), cache_v=(?P<cache_v>\w+)")
_DEVICE = re.compile(r"using device (?P<id>[A-Za-z]+\d+) \((?P<name>.+?)\)(?: \(|\s+-)")
_LISTED = re.compile(r"-\s+(?P<id>\w+)\s*: (?P<name>.+?) \(\d+ MiB, \d+ MiB free\)")
_SETTING = re.compile(r"\b(?P<name>[a-z_]+) = (?P<value>-?[\d.]+)")

_SAMPLED = frozenset(field.source for field in _SAMPLER)


class Setup:
    """What a program said of itself so far. The first value of each stays: drafters come later."""

    def __init__(self) -> None:
        self.values: dict[str, Found] = {}
        self.sampler: Row = {}
        self._types: list[Found] = []
        self._limits: dict[str, list[Found]] = {}
        self._devices: dict[str, Found] = {}
        self._has_accelerator = False
        self.loaded_drafter = False

    def get(self, name: str) -> Found | None:
        """See Record."""
        return self.values.get(name)

    @property
    def is_plain(self) -> bool:
        """Whether it would have said that a drafter runs, and has not."""
        told = self.values.get("verbosity")
        return not self._types and told is not None and (whole(told.value) or 0) >= _TELLS_TYPES

    @property
    def speculates(self) -> bool:
        """Whether it says that a drafter runs, and not only that one was loaded."""
        return bool(self._types)

    def take(self, line: Line) -> bool:
        """Take over what a line says; False where it says nothing of this."""
        text = line.text
        if "speculative implementation" in text or "loading draft model" in text:
            self._drafter(line)
            return True
        if "repeat_last_n = " in text or ("top_p = " in text and "temp = " in text):
            self._sampler(line)
            return True
        if self._types and "- " in text and self._limit(line):
            return True
        if "using device" in text or "MiB free)" in text:
            self._device(line)
            return True
        return self._plain(line)

    def _plain(self, line: Line) -> bool:
        for marker, pattern in _LINES:
            if marker in line.text and (row := groups(line, pattern)):
                for name, found in row.items():
                    self.values.setdefault(_NAMES.get(name, name), found)
                return True
        return False

    def _drafter(self, line: Line) -> None:
        adding = _ADDING.search(line.text)
        if adding is not None:
            self.implementation(line.found(adding["type"], adding.span("type")))
        for found in groups(line, _DRAFT_MODEL).values():
            self.loaded_drafter = True
            self.values.setdefault("draft model", found)

    def implementation(self, name: Found) -> None:
        """Take over that a speculation of this type runs."""
        known = [each.value for each in self._types]
        if name.value not in known and len(known) < MOST_TYPES:
            self._types.append(name)

    def _limit(self, line: Line) -> bool:
        """The lines below "adding speculative implementation" have its parameters."""
        row = {**groups(line, _LIMITS), **groups(line, _CACHE)}
        for name, found in row.items():
            if name in ("p_min", "cache_k", "cache_v"):
                self.values.setdefault(name, found)
            elif len(limits := self._limits.setdefault(str(self._types[-1].value), [])) < 3:
                limits.append(found)
        return bool(row)

    def _sampler(self, line: Line) -> None:
        """The last stay: they hold for the requests that follow."""
        for match in _SETTING.finditer(line.text):
            if match["name"] in _SAMPLED:
                self.sampler[match["name"]] = line.found(match["value"], match.span("value"))

    def _device(self, line: Line) -> None:
        used = _DEVICE.search(line.text)
        if used is not None and len(self._devices) < MOST_DEVICES:
            self._devices.setdefault(used["id"], line.found(used["name"], used.span("name")))
        listed = _LISTED.search(line.text)
        if listed is not None and listed["id"] == "CPU":
            found = line.found(listed["name"], listed.span("name"))
            self.values.setdefault("device_info CPU", found)
        elif listed is not None:
            self._has_accelerator = True

    # into a report

    def put(self, building: Building, configuration: Path) -> None:
        """Everything of model, engine, cache and machine."""
        at = {"configuration": configuration}
        self._join_types()
        fill(building, (*_MODEL, *_ENGINE, *_MACHINE), self, at)
        self._put_devices(building, (*configuration, "machine", "devices"))

    def put_model(self, building: Building, configuration: Path) -> None:
        """What it says of the model alone."""
        fill(building, _MODEL, self, {"configuration": configuration})

    def put_drafter(self, building: Building, configuration: Path) -> None:
        """The drafter that runs, with K where every implementation says its own."""
        at = {"configuration": configuration}
        if len(self._types) <= 1:
            fill(building, _DRAFTER[:2], self._with_type(), at)
        else:
            for i, each in enumerate(self._types):
                place = (*configuration, "drafter", i, "method")
                building.put(place, each.to(METHODS.get(str(each.value), "other")))
        if (longest := self._longest()) is not None:
            building.put((*configuration, "draft_length", "max"), longest)
            fill(building, _DRAFTER[3:4], self, at)
        self._join_types()
        fill(building, _DRAFTER[4:], self, at)

    def _with_type(self) -> Row:
        row = dict(self.values)
        for each in self._types:
            row["speculative implementation"] = each
        return row

    def _longest(self) -> Found | None:
        known = [found for each in self._types for found in self._limits.get(str(each.value), ())]
        if not self._types or len(self._limits) < len(self._types):
            return None
        most = max(known, key=lambda each: whole(each.value) or 0)
        return most.to(whole(most.value))

    def _join_types(self) -> None:
        """One type where keys and values have the same, else both."""
        for name, keys, values in (
            ("cache type", "cache_k_target", "cache_v_target"),
            ("cache_k", "cache_k", "cache_v"),
        ):
            k, v = self.values.get(keys), self.values.get(values)
            if k is not None and v is not None and "/" not in str(k.value):
                same = k.value == v.value
                self.values[name] = k.to(k.value if same else f"{k.value}/{v.value}")

    def _put_devices(self, building: Building, place: Path) -> None:
        """Those that are used; the CPU, where none else is listed."""
        cpu = self.values.get("device_info CPU")
        if not self._devices and not self._has_accelerator:
            building.put((*place, 0, "name"), cpu)
        counts = Counter(str(found.value) for found in self._devices.values())
        firsts = {str(found.value): found for found in self._devices.values()}
        for i, (name, count) in enumerate(counts.items()):
            building.put((*place, i, "name"), firsts[name])
            building.put((*place, i, "count"), firsts[name].to(count))
        for identity, found in self._devices.items():
            backend = found.to(identity.rstrip("0123456789"))
            building.put((*place[:-2], "engine", "backend"), backend)


#: Names of groups have no blanks; the fields are called as they are printed.
_NAMES = {
    "file_type": "file type",
    "file_size": "file size",
    "model_params": "model params",
    "offloaded_layers": "offloaded layers",
    "flash_attention": "flash attention",
    "draft_model": "draft model",
    "synthetic_acceptance": "synthetic acceptance",
}

#: From here on the log says which implementations of speculation there are, if any.
_TELLS_TYPES = 4


def put_sampler(building: Building, configuration: Path, sampler: Row) -> None:
    """Sampler parameters by llama.cpp's names."""
    fill(building, _SAMPLER, sampler, {"configuration": configuration})
