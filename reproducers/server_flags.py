"""How llama-server is told what an arm asks for, by the flags that the binary itself lists.

Its speculative flags were renamed (`--draft-max` became `--spec-draft-n-max`) and the old ones
end it with an error, so no name is used that its `--help` does not show. Nothing here starts
or reads anything.

Source: common/arg.cpp of llama.cpp, from b6301 to b11549.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlint.reproducers.engine import Arm, EngineError, UnsupportedError

#: What llama.cpp keeps a drafter's KV cache in unless told otherwise, whatever the target has.
DRAFTER_KV_TYPE = "f16"

_NAMES = re.compile(r"--?[A-Za-z][\w-]*(?:,\s*--?[A-Za-z][\w-]*)*")
_REMOVED = "the argument has been removed"

#: Methods of the report format by llama.cpp's types of speculation.
_TYPES = {
    "draft_model": "draft-simple",
    "eagle3": "draft-eagle3",
    "mtp": "draft-mtp",
    "dflash": "draft-dflash",
    "dspark": "draft-dspark",
    "ngram": "ngram-simple",
    "prompt_lookup": "ngram-simple",
}
#: Of these the drafter may be part of the target's own file.
_DRAFTER_INSIDE = {"draft-mtp"}

_DRAFT_MAX = ("--spec-draft-n-max", "--draft-max")
_DRAFT_MIN = ("--spec-draft-n-min", "--draft-min")
_P_MIN = ("--spec-draft-p-min", "--draft-p-min")
_NGRAM_N = ("--spec-ngram-simple-size-n", "--spec-ngram-size-n")
_NGRAM_M = ("--spec-ngram-simple-size-m", "--spec-ngram-size-m")
_PLACEMENT = "--spec-draft-backend-sampling"


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """What a managed llama-server runs, the same for all its arms.

    threads: of target and drafter, None for the engine's choice. gpu_layers: offloaded layers
    of both ("all", "auto" or a number). ngram_size: length of the looked-up n-gram. extra: more
    arguments for the binary, as they are.
    """

    target: Path
    drafter: Path | None = None
    threads: int | None = None
    gpu_layers: str | None = None
    ngram_size: int | None = None
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a help text: its value's placeholder and its description, in one string."""

    text: str
    removed: bool


def read_help(text: str) -> Mapping[str, Flag]:
    """Every flag that a help text lists, each of its names apart.

    A flag begins a line or stands seven spaces deep beside the short ones; its description may
    go on for several lines.
    """
    flags: dict[str, Flag] = {}
    names: list[str] = []
    lines: list[str] = []
    for line in [*text.splitlines(), "-"]:
        indent = len(line) - len(line.lstrip(" "))
        if line.lstrip(" ").startswith("-") and indent < 10:
            described = " ".join(" ".join(lines).split())
            flags.update((n, Flag(described, _REMOVED in described)) for n in names)
            found = _NAMES.match(line.strip())
            names = re.split(r",\s*", found[0]) if found else []
            lines = [line.strip()[found.end() :]] if found else []
        else:
            lines.append(line)
    return flags


def server_arguments(arm: Arm, setup: ServerSetup, help_text: str, port: str) -> tuple[str, ...]:
    """The arguments for one arm, without the binary's own name.

    Raises UnsupportedError where this build has no way to do what the arm asks for, or a drafter
    is missing, and EngineError where it is no llama-server.
    """
    flags = _Flags(read_help(help_text))
    if not flags.has("--model"):
        raise EngineError("its --help lists no --model: --llama-server names another program")
    spec_type = speculation_type(arm, setup)
    return (
        *("--host", "127.0.0.1", "--port", port, "--model", str(setup.target)),
        *("--ctx-size", str(arm.context_tokens), "--parallel", "1"),
        *flags.bare("--metrics"),
        *flags.bare("--slots"),
        *flags.bare("--offline"),
        *flags.bare("--no-cache-prompt"),
        *flags.valued(("--cache-ram",), "0"),
        *(flags.bare("--no-ui") or flags.bare("--no-webui")),
        *_machine(setup, flags, with_drafter=drafts_by_model(arm, setup)),
        *_kv_types(arm, flags),
        *(_speculation(arm, setup, spec_type, flags) if spec_type else ()),
        *setup.extra,
    )


def speculation_type(arm: Arm, setup: ServerSetup) -> str | None:
    """llama.cpp's name of an arm's method, None for plain decoding."""
    if arm.method is None:
        return None
    if arm.method not in _TYPES:
        raise UnsupportedError(f"llama-server has no way to draft by {arm.method}")
    spec_type = _TYPES[arm.method]
    if spec_type.startswith("draft-") and spec_type not in _DRAFTER_INSIDE and not setup.drafter:
        raise UnsupportedError(f"{arm.method} needs a drafter: name its file with --draft-model")
    return spec_type


def drafts_by_model(arm: Arm, setup: ServerSetup) -> bool:
    """Whether the arm loads the drafter's file."""
    spec_type = speculation_type(arm, setup)
    return setup.drafter is not None and spec_type is not None and spec_type.startswith("draft-")


def speculation_in_effect(
    arm: Arm, setup: ServerSetup, backend: str | None
) -> dict[str, str | float | int | None]:
    """What the flags for an arm set, beside what the server tells of itself.

    backend: what the server computes on, where it is known. More arguments of the user's may
    set anything else, so what goes without saying is then not known.
    """
    if arm.method is None:
        return {}
    told: dict[str, str | float | int | None] = {}
    if arm.draft_length is not None:
        told["draft_length"] = arm.draft_length
    if drafts_by_model(arm, setup):
        told["p_min"] = arm.p_min
        placement = arm.draft_selection or ("cpu" if backend == "CPU" else None)
        told |= {} if placement is None else {"draft_selection": placement}
    return told | ({} if setup.extra else _by_default(arm, setup))


def _by_default(arm: Arm, setup: ServerSetup) -> dict[str, str | float | int | None]:
    """What llama.cpp does unless told otherwise (common/speculative.cpp, common/sampling.cpp).

    Each position is sampled from the target, and a draft is accepted as far as it is the same.
    """
    told: dict[str, str | float | int | None] = {"acceptance_rule": "lossless"}
    if drafts_by_model(arm, setup):
        told["drafter_kv_type"] = DRAFTER_KV_TYPE
    if arm.method == "draft_model":
        told["draft_method"] = "argmax"
    return told


def embedded_settings(arm: Arm, setup: ServerSetup) -> dict[str, object]:
    """The same for the llama-server inside xllamacpp, by its attributes' dotted paths.

    A value for `speculative.types` names a member of its enumeration; those that end in
    `cache_type_k` and the like name a ggml type.
    """
    if setup.extra:
        raise UnsupportedError("extra arguments need a llama-server binary")
    settings: dict[str, object] = {
        "model.path": str(setup.target),
        "n_ctx": arm.context_tokens,
        "n_parallel": 1,
        "endpoint_metrics": True,
        "endpoint_slots": True,
        "cache_prompt": False,
        "cache_ram_mib": 0,
        "offline": True,
        "ui": False,
    }
    if setup.threads is not None:
        for place in ("", "speculative.draft."):
            settings[f"{place}cpuparams.n_threads"] = setup.threads
            settings[f"{place}cpuparams_batch.n_threads"] = setup.threads
    if setup.gpu_layers is not None:
        layers = _layer_count(setup.gpu_layers)
        settings["n_gpu_layers"] = settings["speculative.draft.n_gpu_layers"] = layers
    if kv_types := _types_of_cache(arm):
        settings["cache_type_k"], settings["cache_type_v"] = kv_types
    return settings | _embedded_speculation(arm, setup)


def _layer_count(layers: str) -> int:
    """llama.cpp's number for them (common/arg.cpp)."""
    named = {"auto": -1, "all": -2}
    if layers not in named and not layers.isdecimal():
        raise EngineError(f'GPU layers are "auto", "all" or a number, not {layers!r}')
    return named[layers] if layers in named else int(layers)


def _embedded_speculation(arm: Arm, setup: ServerSetup) -> dict[str, object]:
    spec_type = speculation_type(arm, setup)
    if spec_type is None:
        return {}
    settings: dict[str, object] = {"speculative.types": spec_type}
    if spec_type == "ngram-simple":
        if arm.draft_length is not None:
            settings["speculative.ngram_simple.size_m"] = arm.draft_length
        if setup.ngram_size is not None:
            settings["speculative.ngram_simple.size_n"] = setup.ngram_size
        return settings
    if setup.drafter is not None:
        settings["speculative.draft.mparams.path"] = str(setup.drafter)
    if arm.draft_length is not None:
        settings["speculative.draft.n_max"] = arm.draft_length
    settings["speculative.draft.n_min"] = 0
    settings["speculative.draft.p_min"] = arm.p_min
    if arm.draft_selection is not None:
        settings["speculative.draft.backend_sampling"] = arm.draft_selection == "gpu"
    return settings


class _Flags:
    """The flags of one build, by what of them can be used."""

    def __init__(self, flags: Mapping[str, Flag]) -> None:
        self._flags = flags

    def has(self, name: str) -> bool:
        return name in self._flags and not self._flags[name].removed

    def text(self, name: str) -> str:
        return self._flags[name].text if self.has(name) else ""

    def bare(self, name: str) -> tuple[str, ...]:
        """The flag alone, or nothing where this build lacks it."""
        return (name,) if self.has(name) else ()

    def valued(self, names: tuple[str, ...], value: str) -> tuple[str, ...]:
        """The first of the names that this build has, with its value; or nothing."""
        return next(((name, value) for name in names if self.has(name)), ())

    def required(self, names: tuple[str, ...], value: str, what: str) -> tuple[str, ...]:
        """The same, but without any of the names the arm cannot be run."""
        found = self.valued(names, value)
        if not found:
            raise UnsupportedError(f"this llama-server has no flag to set {what}")
        return found


def _machine(setup: ServerSetup, flags: _Flags, *, with_drafter: bool) -> tuple[str, ...]:
    arguments: tuple[str, ...] = ()
    if setup.threads is not None:
        threads = str(setup.threads)
        arguments += ("--threads", threads, "--threads-batch", threads)
        if with_drafter:
            arguments += flags.valued(("--spec-draft-threads", "--threads-draft"), threads)
    if setup.gpu_layers is not None:
        layers = setup.gpu_layers
        arguments += flags.required(("--gpu-layers",), layers, "GPU layers")
        if with_drafter:
            arguments += flags.valued(("--spec-draft-ngl", "--gpu-layers-draft"), layers)
    return arguments


def _types_of_cache(arm: Arm) -> tuple[str, str] | None:
    """The arm's types of keys and values. They come from a report: nothing else gets through."""
    for name in arm.kv_types or ():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,15}", name):
            raise UnsupportedError(f"llama-server has no KV cache of type {name[:40]!r}")
    return arm.kv_types


def _kv_types(arm: Arm, flags: _Flags) -> tuple[str, ...]:
    types = _types_of_cache(arm)
    if types is None:
        return ()
    key, value = types
    return (
        *flags.required(("--cache-type-k",), key, "the KV cache's types"),
        *flags.required(("--cache-type-v",), value, "the KV cache's types"),
    )


def _speculation(arm: Arm, setup: ServerSetup, spec_type: str, flags: _Flags) -> tuple[str, ...]:
    chosen = _type_arguments(spec_type, flags)
    if spec_type == "ngram-simple":
        return (*chosen, *_ngram(arm, setup, flags))
    drafter: tuple[str, ...] = ()
    if setup.drafter is not None:
        drafter = flags.required(
            ("--spec-draft-model", "--model-draft"), str(setup.drafter), "a drafter"
        )
    return (*chosen, *drafter, *_draft_settings(arm, flags), *_placement(arm, flags))


def _type_arguments(spec_type: str, flags: _Flags) -> tuple[str, ...]:
    """`--spec-type`, without which newer builds load a drafter and never ask it.

    Before it knew draft-simple, a drafter alone switched speculation on.
    """
    known = re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", flags.text("--spec-type"))
    if spec_type in known:
        return ("--spec-type", spec_type)
    if spec_type == "draft-simple":
        return ()
    raise UnsupportedError(f"this llama-server does not know --spec-type {spec_type}")


def _ngram(arm: Arm, setup: ServerSetup, flags: _Flags) -> tuple[str, ...]:
    arguments: tuple[str, ...] = ()
    if setup.ngram_size is not None:
        arguments += flags.required(_NGRAM_N, str(setup.ngram_size), "the n-gram's length")
    if arm.draft_length is not None:
        arguments += flags.required(_NGRAM_M, str(arm.draft_length), "the draft length")
    return arguments


def _draft_settings(arm: Arm, flags: _Flags) -> tuple[str, ...]:
    """K, and p_min and the shortest draft even at 0: their defaults were 0.75 and 5 once."""
    arguments: tuple[str, ...] = ()
    if arm.draft_length is not None:
        arguments += flags.required(_DRAFT_MAX, str(arm.draft_length), "the draft length")
    arguments += flags.valued(_DRAFT_MIN, "0")
    return arguments + flags.required(_P_MIN, f"{arm.p_min:g}", "p_min")


def _placement(arm: Arm, flags: _Flags) -> tuple[str, ...]:
    """Where the drafter's argmax runs; builds without the flag have it on the CPU."""
    if arm.draft_selection is None:
        return ()
    if flags.has(_PLACEMENT):
        return (_PLACEMENT if arm.draft_selection == "gpu" else f"--no-{_PLACEMENT[2:]}",)
    if arm.draft_selection == "cpu":
        return ()
    raise UnsupportedError("this llama-server picks draft tokens on the CPU only")
