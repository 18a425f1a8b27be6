"""Which conditions of a report are known to be equal where it is run again.

The conditions are those of `verdicts.CONDITIONS`. Each is True where both sides say enough to
know that they are equal, False where they cannot be, None where one side is silent: a model of
the same name may be other weights, an engine of the same name another version. A baseline has
no drafter, so nothing about one can differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchlint.checker.engines import engine_kind
from benchlint.checker.facts import ConfigurationFacts, RunFacts
from benchlint.checker.model import (
    Cpu,
    Device,
    Drafter,
    Engine,
    Quantization,
    Sampler,
    Target,
    Threads,
)
from benchlint.checker.tables import device, quantization

#: Drafters that need no model of their own.
MODEL_FREE = frozenset({"ngram", "suffix", "prompt_lookup"})

#: What a report may call the template that the model brings, and having none.
OWN_TEMPLATE = frozenset({"default", "model", "model default", "built-in", "tokenizer"})
NO_TEMPLATE = frozenset({"none", "raw", "no"})

#: What a report may call the thinking mode that a template has when nothing switches it.
_UNSWITCHED = frozenset({"default", "model default", "template default"})

#: Engines in which no draft is stopped for a low probability.
_WITHOUT_P_MIN = frozenset({"vllm", "sglang", "tensorrt-llm", "transformers"})

#: Engines in which the drafter's KV cache has a type of its own.
_WITH_DRAFTER_TYPE = frozenset({"llama.cpp", "llama-cpp-python", "ik_llama.cpp"})

#: Sampler parameters that shape the distribution, beside the penalties.
_SHAPES = ("temperature", "top_p", "top_k", "min_p")


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of the place where a report is run again; None where it is not known.

    target, drafter: names as the user or the engine gives them, with quantization recipe and
    SHA-256 of the weight file. vouched: conditions that the user says are equal. cores: of the
    processor, where it does the work. threads: how many the engine is told to use there.
    """

    device: str | None = None
    device_count: int | None = None
    power_limit_w: float | None = None
    engine: str | None = None
    version: str | None = None
    commit: str | None = None
    target: str | None = None
    target_parameters_b: float | None = None
    target_quantization: str | None = None
    target_sha256: str | None = None
    drafter: str | None = None
    drafter_quantization: str | None = None
    drafter_sha256: str | None = None
    thinking: bool | str | None = None
    vouched: frozenset[str] = frozenset()
    cores: int | None = None
    threads: int | None = None


def same_conditions(run: RunFacts, here: Here, prompts: bool | None) -> dict[str, bool | None]:
    """For each condition whether it is equal here; what the user vouches for is.

    prompts: whether the prompts are the report's.
    """
    same = {"prompts": prompts, **of_configuration(run.configuration, here)}
    same["chat template"] = _same_template(run)
    same["thinking mode"] = _same_thinking(run, here)
    return _vouched(same, here)


def _vouched(same: dict[str, bool | None], here: Here) -> dict[str, bool | None]:
    return same | dict.fromkeys(same.keys() & here.vouched, True)


def of_configuration(found: ConfigurationFacts, here: Here) -> dict[str, bool | None]:
    """The conditions that a configuration states, beside those of a workload."""
    return _vouched(_of_configuration(found, here), here)


def _of_configuration(found: ConfigurationFacts, here: Here) -> dict[str, bool | None]:
    target = None if found.target is None else found.target.model
    quantized = None if target is None else target.quantization
    return {
        "weights": _same_weights(target, here),
        "quantization": _same_quantization(quantized, here.target_quantization, here.target_sha256),
        "sampler": _same_sampler(None if found.sampler is None else found.sampler.model),
        "KV cache types": _same_kv_types(found),
        "device": _same_device(found, here),
        "engine": _same_engine(None if found.engine is None else found.engine.model, here),
        **_of_speculation(found, here),
    }


def _of_speculation(found: ConfigurationFacts, here: Here) -> Mapping[str, bool | None]:
    names = ("drafter", "draft length", "p_min")
    if found.speculates is False:
        return dict.fromkeys(names, True)
    if not found.drafters:
        return dict.fromkeys(names)
    drafter = _same_drafter(found.drafters[0].model, here)
    return dict(zip(names, (drafter, _same_length(found), _same_p_min(found)), strict=True))


# Models


def _same_weights(target: Target | None, here: Here) -> bool | None:
    if target is None:
        return None
    if _same_hash(target.quantization, here.target_sha256):
        return True
    # Other names may be other spellings, and one name may cover several uploads.
    return False if _other_size(target.parameters_b, here.target_parameters_b) else None


def _other_size(stated: float | None, actual: float | None) -> bool:
    """Whether the numbers of parameters are not two roundings of one (4 and 4.02 billion)."""
    if stated is None or actual is None:
        return False
    return abs(stated - actual) > 0.2 * max(stated, actual)


def _same_quantization(
    stated: Quantization | None, recipe: str | None, sha256: str | None
) -> bool | None:
    if stated is None:
        return None
    if _same_hash(stated, sha256):
        return True
    return _same_recipe(stated.recipe, recipe)


def _same_recipe(a: str | None, b: str | None) -> bool | None:
    """Recipes are other ones only where both are known by name."""
    if not a or not b:
        return None
    if _letters(a) == _letters(b):
        return True
    known = quantization(a), quantization(b)
    return None if None in known or known[0] == known[1] else False


def _same_hash(stated: Quantization | None, sha256: str | None) -> bool | None:
    """Equal files are equal; other files may hold the same weights in another order."""
    if stated is None or not stated.sha256 or not sha256:
        return None
    return True if stated.sha256.strip().lower() == sha256.strip().lower() else None


def _same_drafter(stated: Drafter, here: Here) -> bool | None:
    """An n-gram drafter has settings that no report format holds, so it is never known."""
    if stated.method in MODEL_FREE:
        return None
    if _same_hash(stated.quantization, here.drafter_sha256):
        return True
    recipe = None if stated.quantization is None else stated.quantization.recipe
    return False if _same_recipe(recipe, here.drafter_quantization) is False else None


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


# Settings


def _same_length(found: ConfigurationFacts) -> bool | None:
    """A controller that goes by time chooses other lengths on other machines."""
    placed = found.draft_length
    adaptive = placed is not None and placed.model.policy == "adaptive"
    return True if found.k is not None and not adaptive else None


def _same_p_min(found: ConfigurationFacts) -> bool | None:
    if all(each.model.method in MODEL_FREE for each in found.drafters):
        return True  # no probability stops what is looked up
    placed = found.draft_length
    stated = placed is not None and placed.model.p_min is not None
    return True if stated or found.engine_kind in _WITHOUT_P_MIN else None


def _same_sampler(sampler: Sampler | None) -> bool | None:
    """The arm asks for what is stated. At temperature 0 nothing else shapes the output."""
    if sampler is None or sampler.temperature is None or sampler.others:
        return None
    if sampler.temperature == 0:
        return True
    stated = all(getattr(sampler, name) is not None for name in _SHAPES)
    return True if stated and not sampler.left_to_engine else None


def _same_kv_types(found: ConfigurationFacts) -> bool | None:
    cache = None if found.kv_cache is None else found.kv_cache.model
    if cache is None or cache.target_type is None:
        return None
    has_own = any(each.model.method not in MODEL_FREE for each in found.drafters)
    return True if not has_own or _is_drafters_own(cache.drafter_type, found) else None


def _is_drafters_own(kv_type: str | None, found: ConfigurationFacts) -> bool:
    """Whether drafters have this type here; llama.cpp's are not set to any other than its own."""
    if found.engine_kind in _WITH_DRAFTER_TYPE:
        return kv_type is not None and _letters(kv_type) == "f16"
    return kv_type is not None


def _same_template(run: RunFacts) -> bool | None:
    stated = None if run.workload is None else run.workload.model.chat_template
    known = stated is not None and stated.strip().casefold() in OWN_TEMPLATE | NO_TEMPLATE
    return True if known else None


def _same_thinking(run: RunFacts, here: Here) -> bool | None:
    workload = None if run.workload is None else run.workload.model
    if workload is None:
        return None
    if (workload.chat_template or "").strip().casefold() in NO_TEMPLATE:
        return True
    if isinstance(workload.thinking, str) and workload.thinking.strip().casefold() in _UNSWITCHED:
        return True  # nothing is sent from here that would switch it
    if workload.thinking is None or here.thinking is None:
        return None
    return workload.thinking == here.thinking


# The place


def _same_device(found: ConfigurationFacts, here: Here) -> bool | None:
    """Equal where one kind of device is stated, with its number, and no other power limit."""
    devices = [] if found.machine is None else found.machine.model.devices or []
    if len(devices) != 1 or here.device is None:
        return None
    same = _same_part(devices[0], here)
    counts = devices[0].count, here.device_count
    if same is False or (None not in counts and counts[0] != counts[1]):
        return False
    alike = _same_power(devices[0], here) and _same_processor(found, here)
    return same if None not in counts and alike else None


def _same_processor(found: ConfigurationFacts, here: Here) -> bool:
    """Whether as many threads run on as many cores, where the processor does the work."""
    if here.cores is None:
        return True
    cpu = None if found.machine is None else found.machine.model.cpu
    threads = None if found.engine is None else found.engine.model.threads
    stated = threads.decode if isinstance(threads, Threads) else threads
    return isinstance(cpu, Cpu) and (cpu.cores, stated) == (here.cores, here.threads)


def _same_part(stated: Device, here: Here) -> bool | None:
    if not stated.name or here.device is None:
        return None
    if _letters(stated.name) == _letters(here.device):
        return True
    known = device(stated.name, stated.memory_gb), device(here.device)
    if known[0] is not None and known[0].is_card and here.cores is not None:
        return False
    if known[0] is None or known[1] is None:
        return None
    if known[0].name != known[1].name:
        return False
    return None if known[0].variants else True


def _same_power(stated: Device, here: Here) -> bool:
    limits = stated.power_limit_w, here.power_limit_w
    return limits[0] is None or limits[0] == limits[1]


def _same_engine(stated: Engine | None, here: Here) -> bool | None:
    """Another engine is False; another or an unknown version only is not known to be equal."""
    kinds = engine_kind(None if stated is None else stated.name), engine_kind(here.engine)
    if stated is None or None in kinds:
        return None
    if kinds[0] != kinds[1]:
        return False
    same = stated.version is not None and stated.version == here.version
    same = same or (stated.commit is not None and stated.commit == here.commit)
    return True if same and not stated.patches else None
