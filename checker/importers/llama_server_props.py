"""What a llama-server says of itself: /props, /slots and /v1/models.

Source: llama.cpp tools/server/server-context.cpp (`get_props`, `slot.to_json`, `get_models`) and
tools/server/server-task.cpp, `task_params::to_json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    BILLIONS,
    COUNT,
    GB_FROM_BYTES,
    Field,
    Kind,
    fill,
    text,
    whole,
)
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.llama_bench import file_name, recipe
from benchlint.checker.importers.llama_cpp_hints import SERVER_HINTS, SERVER_NEVER
from benchlint.checker.importers.llama_cpp_setup import METHODS
from benchlint.checker.importers.llama_server_replies import SAMPLER, build_of, commit_of

NAME = "llama-server-props"

_CONTEXT = "configuration.kv_cache.max_context_tokens"
_FILE = Kind("without folders", file_name)
_RECIPE = Kind("name of the file type → recipe", recipe)


def _sampler(start: str, meaning: str) -> tuple[Field, ...]:
    return tuple(
        Field(f"{start}.{theirs}", f"configuration.sampler.{ours}", kind, meaning)
        for theirs, ours, kind in SAMPLER
    )


_DEFAULT = "for requests that do not set it; gives way to what another file says"

_PROPS = (
    Field("model_path", "configuration.target.name", _FILE),
    Field("default_generation_settings.model", "configuration.target.name", _FILE, "until 2025"),
    Field("model_ftype", "configuration.target.quantization.recipe", _RECIPE),
    Field("build_info", "configuration.engine.version", Kind("b8672-1a2b3c4 → b8672", build_of)),
    Field("build_info", "configuration.engine.commit", Kind("→ 1a2b3c4", commit_of)),
    Field("default_generation_settings.n_ctx", _CONTEXT, COUNT, "of each slot"),
    *_sampler("default_generation_settings.params", _DEFAULT),
    *_sampler("default_generation_settings", _DEFAULT),
)

_SLOT = (
    Field("n_ctx", _CONTEXT, COUNT, "of each slot"),
    *_sampler("params", "of the request that came last; gives way to what another file says"),
)

_DRAFTER = (
    Field("speculative", "configuration.drafter", COUNT, "false → null; /props does not tell"),
    Field(
        "params.speculative.types",
        "configuration.drafter.method",
        Kind("draft-simple → draft_model, ngram-* → ngram", lambda v: METHODS.get(str(v))),
    ),
)

_MODEL = (
    Field("id", "configuration.target.name", _FILE),
    Field("meta.n_params", "configuration.target.parameters_b", BILLIONS),
    Field("meta.size", "configuration.target.quantization.file_size_gb", GB_FROM_BYTES),
    Field("meta.ftype", "configuration.target.quantization.recipe", _RECIPE),
)


def _recognise(head: Head) -> Confidence:
    if head.document is None:
        return Confidence.NO
    props = head.has("default_generation_settings") and head.has("total_slots")
    slots = head.has("id", "n_ctx", "is_processing") and isinstance(head.document.tree, list)
    models = head.has("data") and '"owned_by"' in head.document.text[:100_000]
    own = props or slots or (models and _is_llama_cpp(head))
    return Confidence.SURE if own else Confidence.NO


def _is_llama_cpp(head: Head) -> bool:
    data = head.record.get("data")
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and first.get("owned_by") == "llamacpp"


def _read(source: Source) -> Iterator[Imported]:
    building = Building()
    records = [*source.records()]
    configuration: Path = ("configurations", _name(records))
    at = {"configuration": configuration}
    for record in records:
        if record.get("default_generation_settings") is not None:
            fill(building, _PROPS, record, at)
        for model in islice(record.records("data"), 1):
            fill(building, _MODEL, model, at)
    _read_slots(building, records, configuration)
    if "configurations" in building.tree:
        building.put(("engine", "name"), Found("llama.cpp"))
        yield Imported.of(NAME, building)


def _name(records: list[JsonRecord]) -> str:
    """The model's file, as the log and the replies call their configurations."""
    for record in records:
        for member in ("model_path", "default_generation_settings.model", "data.0.id"):
            found = record.get(member)
            name = None if found is None else file_name(found.value)
            if name:
                return name
    return "llama-server"


def _read_slots(building: Building, records: list[JsonRecord], configuration: Path) -> None:
    """The slot that worked last; before a request none has parameters."""
    slots = [each for each in records if each.get("is_processing") is not None]
    if not slots:
        return
    slot = max(slots, key=lambda each: _task(each))
    fill(building, _SLOT, slot, {"configuration": configuration})
    runs = slot.get("speculative")
    if runs is None or not isinstance(runs.value, bool):
        return
    if not runs.value:
        building.put_null((*configuration, "drafter"))
        return
    types = slot.get("params.speculative.types") or _types(slot)
    names = [] if types is None else [n for n in _listed(types.value) if n != "none"]
    if types is not None and len(names) == 1 and names[0] in METHODS:
        building.put((*configuration, "drafter", "method"), types.to(METHODS[names[0]]))
    elif types is not None and names:
        for i, name in enumerate(names):
            place = (*configuration, "drafter", i, "method")
            building.put(place, types.to(METHODS.get(name, "other")))
    else:
        building.put((*configuration, "drafter"), runs.to({}))


def _task(slot: JsonRecord) -> int:
    found = slot.get("id_task")
    return (None if found is None else whole(found.value)) or 0


def _types(slot: JsonRecord) -> Found | None:
    """The member `speculative.types`, whose name has a dot."""
    params = slot.record("params")
    return None if params is None else params.get("speculative.types")


def _listed(value: object) -> list[str]:
    return [each.strip() for each in (text(value) or "").split(",") if each.strip()]


IMPORTER = Importer(
    name=NAME,
    title="what a llama-server says of itself",
    reads="the JSON that `curl http://HOST:PORT/props`, `/slots` and `/v1/models` give",
    recognise=_recognise,
    read=_read,
    companion=True,
    gives_way=("sampler",),
    engines=("llama.cpp",),
    fields=(*_PROPS, *_SLOT, *_DRAFTER, *_MODEL),
    hints={
        **SERVER_HINTS,
        "runs[].decode.tok_s": "this is the setup alone: give the replies, or the server's log, "
        "to `benchlint convert` too",
    },
    never=(
        "What was measured.",
        "Draft length: no request of these has it; `llama-server -lv 4` logs it.",
        *SERVER_NEVER[:2],
    ),
)
