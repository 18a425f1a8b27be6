"""Settings of engines by which drafts are accepted otherwise than by what the target says.

Synthetic acceptance accepts at a set rate, whatever the tokens are: the text is meaningless
and the speed is that of an imagined drafter. Relaxed acceptance takes tokens that the target
would not have sampled, within a threshold. Both are looked for in the acceptance rule's own
settings, on the command line and in the environment. Nothing is run.

Sources: llama.cpp#27711 (`--spec-synth-len`, `--spec-synth-rates`), vLLM
`vllm/config/speculative.py` (`rejection_sample_method`), SGLang `SGLANG_SIMULATE_ACC_LEN` and
`speculative_accept_threshold_*` in `srt/server_args.py`, TensorRT-LLM
`_torch/speculative/interface.py` (`TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS`) and
NVIDIA/TensorRT-LLM#3865 (relaxed acceptance), Medusa `medusa/model/utils.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchlint.checker.command_line import CommandLine, command_line
from benchlint.checker.engines import EngineKind
from benchlint.checker.facts import ConfigurationFacts

#: Engine families by the letters that their names and their forks' names hold.
_FAMILIES = {
    "llama.cpp": ("llamacpp", "llamaserver", "llamacli", "ikllama"),
    "vllm": ("vllm",),
    "sglang": ("sglang",),
    "tensorrt-llm": ("tensorrtllm", "trtllm"),
}
_FAMILY_OF_KIND: dict[EngineKind, str] = {
    "ik_llama.cpp": "llama.cpp",
    "llama-cpp-python": "llama.cpp",
}

_SYNTHETIC_VARIABLES = {
    "SGLANG_SIMULATE_ACC_LEN": "sglang",
    "LLAMA_ARG_SPEC_SYNTH_LEN": "llama.cpp",
    "LLAMA_ARG_SPEC_SYNTH_RATES": "llama.cpp",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "tensorrt-llm",
}
_SYNTHETIC_FLAGS = ("--spec-synth-len", "--spec-synth-rates")

#: Stands for a setting that several engines have.
ANY = "any"

#: Names under `acceptance_rule.settings`, and whose they are.
_SYNTHETIC_SETTINGS = {
    "sglang_simulate_acc_len": "sglang",
    "simulate_acc_len": "sglang",
    "spec_synth_len": "llama.cpp",
    "spec_synth_rates": "llama.cpp",
    "synth_len": "llama.cpp",
    "synth_rates": "llama.cpp",
    "tllm_spec_decode_force_num_accepted_tokens": "tensorrt-llm",
}
_VLLM_LENGTHS = frozenset(
    {"synthetic_acceptance_length", "synthetic_acceptance_rate", "synthetic_acceptance_rates"}
)
_VLLM_CONFIG = ("--speculative-config", "-sc")

_THRESHOLDS = ("--speculative-accept-threshold-single", "--speculative-accept-threshold-acc")
_METHODS = ("--spec-decoding-acceptance-method",)
_THINKING = ("--use-relaxed-acceptance-for-thinking",)

#: Names under which the rule of acceptance itself is named.
_RULE_NAMES = frozenset(
    {
        "kind",
        "method",
        "rule",
        "type",
        "acceptance",
        "acceptance_method",
        "spec_decoding_acceptance_method",
        "rejection_sample_method",
    }
)

#: The program stands within this many words of a command line (after `docker run …`).
_PROGRAM = 12

#: Words by which prose discloses it, beside the word "accept".
_SYNTHETIC_WORDS = ("synthetic", "simulat", "forced", "fake")
_RELAXED_WORDS = ("relaxed", "typical", "lossy", "threshold")

_OFF = frozenset({"", "0", "false", "no", "none", "off", "null", "-1"})


@dataclass(frozen=True, slots=True)
class Setting:
    """An acceptance setting in force: where it stands, how it was written, whose it is.

    certain: it is known to act. A variable of one engine under an engine that is not named may
    not.
    """

    at: str
    text: str
    certain: bool = True


def may_have_settings(configuration: ConfigurationFacts) -> bool:
    """Whether there is a place where a setting of acceptance could stand."""
    engine = configuration.engine
    if configuration.acceptance_rule is not None:
        return True
    return engine is not None and bool(engine.model.environment or engine.model.command_line)


def synthetic_settings(configuration: ConfigurationFacts) -> Iterator[Setting]:
    """Settings that accept drafts at a set rate."""
    yield from _synthetic_rule(configuration)
    engine = configuration.engine
    if engine is None:
        return
    for name, value in (engine.model.environment or {}).items():
        yield from _variable(configuration, name, value, engine.at("environment", name))
    if engine.model.command_line is not None:
        line, at = command_line(engine.model.command_line), engine.at("command_line")
        for name, value in line.assignments().items():
            yield from _variable(configuration, name, value, at)
        yield from _synthetic_flags(configuration, line, at)


def _synthetic_rule(configuration: ConfigurationFacts) -> Iterator[Setting]:
    settings = list(_rule_settings(configuration))
    methods = {_word(value) for name, value, _ in settings if name == "rejection_sample_method"}
    for name, value, at in settings:
        if name == "rejection_sample_method":
            acts, family = _word(value) == "synthetic", "vllm"
        elif name in _VLLM_LENGTHS:  # idle under another method
            acts, family = enabled(value) and methods <= {"synthetic"}, ANY
        else:
            acts, family = enabled(value), _SYNTHETIC_SETTINGS.get(name, "")
        if acts and family and _may_be(configuration, family):
            yield Setting(at, f"{name} {_shown(value)}")


def _variable(
    configuration: ConfigurationFacts, name: str, value: str, at: str
) -> Iterator[Setting]:
    family = _SYNTHETIC_VARIABLES.get(name)
    if family is not None and enabled(value) and _may_be(configuration, family):
        yield Setting(at, f"{name}={_shown(value)}", certain=_is(configuration, family))


def _synthetic_flags(
    configuration: ConfigurationFacts, line: CommandLine, at: str
) -> Iterator[Setting]:
    for flag in _SYNTHETIC_FLAGS:
        value = line.value(flag)
        if value is not None and enabled(value) and _may_be(configuration, "llama.cpp"):
            yield Setting(at, f"{flag} {_shown(value)}")
    method = _word(line.json(*_VLLM_CONFIG).get("rejection_sample_method"))
    if method == "synthetic" and _may_be(configuration, "vllm"):
        yield Setting(at, "rejection_sample_method synthetic")


def relaxed_settings(configuration: ConfigurationFacts) -> Iterator[Setting]:
    """Settings that accept drafts which the target would not have sampled.

    At temperature 0 thresholds do not act: SGLang and Medusa compare tokens there.
    """
    greedy = configuration.sampler is not None and configuration.sampler.model.temperature == 0
    for name, value, at in _rule_settings(configuration):
        if _relaxes(name, value) and not (greedy and not _for_thinking(name)):
            yield Setting(at, f"{name} {_shown(value)}")
    engine = configuration.engine
    if engine is None or engine.model.command_line is None:
        return
    line = command_line(engine.model.command_line)
    for name, value in _relaxing_flags(line):
        if not (greedy and not _for_thinking(name)):
            yield Setting(engine.at("command_line"), f"{name} {value}".strip())


def _relaxing_flags(line: CommandLine) -> Iterator[tuple[str, str]]:
    for flag in (*_THRESHOLDS, *_METHODS, *_THINKING):
        value = line.value(flag)
        if value is None:
            continue
        bare = flag in _THINKING and value == ""
        if bare or _relaxes(flag.lstrip("-").replace("-", "_"), value):
            yield flag, value
    for name, member in line.json(*_VLLM_CONFIG).items():
        if _relaxes(name, member):
            yield name, _shown(member)


def _relaxes(name: str, value: object) -> bool:
    number = _number(value)
    if "accept_threshold" in name:
        return number is not None and 0 <= number < 1
    if name.endswith(("posterior_threshold", "posterior_alpha")):
        return number is not None and number > 0
    if name == "typical_acceptance" or _for_thinking(name):
        return enabled(value)
    return name in _RULE_NAMES and _word(value).startswith("typical")


def _for_thinking(name: str) -> bool:
    return "use_relaxed_acceptance_for_thinking" in name.replace("-", "_")


def discloses(texts: Iterable[str], *, relaxed: bool = False) -> bool:
    """Whether prose says that acceptance was synthetic, or relaxed."""
    words = _RELAXED_WORDS if relaxed else _SYNTHETIC_WORDS
    about = (text.casefold() for text in texts)
    return any("accept" in text and any(word in text for word in words) for text in about)


# --- values and engines ----------------------------------------------------------------------


def _rule_settings(configuration: ConfigurationFacts) -> Iterator[tuple[str, object, str]]:
    """Settings of the acceptance rule: name in lower case with underscores, value, pointer."""
    rule = configuration.acceptance_rule
    if rule is None or rule.model.settings is None:
        return
    for name, value in rule.model.settings.items():
        yield name.lstrip("-").lower().replace("-", "_"), value, rule.at("settings", name)


def enabled(value: object) -> bool:
    """Whether a setting's value switches it on: true, a number over 0, a list that has one.

    A word that is no number ("$LEN") switches nothing on that could be proved.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return any(enabled(each) for each in value)
    if isinstance(value, str):
        text = value.strip().lower()
        return text not in _OFF and (text in ("true", "yes", "on") or _any_number(text))
    return isinstance(value, (int, float)) and value > 0


def _any_number(text: str) -> bool:
    numbers = [_number(part) for part in text.strip("[]").split(",")[:1000]]
    return any(number is not None and number > 0 for number in numbers)


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (str, int, float)) else None
    except (ValueError, OverflowError):
        return None


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _letters(name: str) -> str:
    return "".join(c for c in name[:200].casefold() if c.isalnum())


def _is(configuration: ConfigurationFacts, family: str) -> bool:
    """Whether the engine is of this family, by its name or its command line."""
    kind, engine = configuration.engine_kind, configuration.engine
    if kind is not None:
        return _FAMILY_OF_KIND.get(kind, kind) == family
    if engine is None:
        return False
    words = " ".join(command_line(engine.model.command_line).words[:_PROGRAM])
    said = _letters(engine.model.name or "") or _letters(words)
    return any(part in said for part in _FAMILIES[family])


def _may_be(configuration: ConfigurationFacts, family: str) -> bool:
    """Whether the engine may be of this family: it is not known to be of another."""
    if family == ANY or _is(configuration, family):
        return True
    known = configuration.engine_kind is not None
    return not known and not any(_is(configuration, other) for other in _FAMILIES)
