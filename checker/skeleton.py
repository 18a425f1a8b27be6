"""`benchlint init`: a report to fill in, with every field that the publish profile asks for.

Values are null, which means not yet known: `check` then names what is still missing and
accuses the skeleton of nothing. The comments of the YAML and TOML forms are the models'
descriptions and the words that a field takes; TOML has no null, so that there a field that is
not yet known is a comment itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from benchlint.checker.model import Block, Report, models_in

_CONDITIONS: dict[str, Any] = {
    "warm": None,
    "warmup_requests": None,
    "repeats": None,
    "restarts": None,
    "concurrency": None,
    "prompt_cache": None,
    "kv_position": {"filled_tokens": None},
}
_PREFILL: dict[str, Any] = {"tokens": None, "tok_s": None, "ttft_ms": None}
_DECODE: dict[str, Any] = {"tokens": None, "seconds": None, "tok_s": None}
_MEMORY: dict[str, Any] = {"device_used_mib": None, "device_total_mib": None, "measured": None}
_MEASUREMENT: dict[str, Any] = {"by": None, "window": None, "prompt_kind": None}

SKELETON: dict[str, Any] = {
    "benchlint": "1",
    "title": None,
    "date": None,
    "source": None,
    "machine": {
        "devices": [{"name": None, "count": None, "memory_gb": None, "power_limit_w": None}],
        "driver": None,
        "cpu": None,
        "os": None,
    },
    "engine": {
        "name": None,
        "version": None,
        "backend": None,
        "command_line": None,
        "offload": None,
    },
    "target": {
        "name": None,
        "revision": None,
        "parameters_b": None,
        "architecture": None,
        "quantization": {"recipe": None, "file_size_gb": None},
        "documented_sampler": {"temperature": None, "top_p": None, "top_k": None},
        "documented_context_tokens": None,
    },
    "configurations": {
        "plain": {
            "drafter": None,
            "sampler": {
                "temperature": None,
                "top_p": None,
                "top_k": None,
                "min_p": None,
                "repetition_penalty": None,
                "presence_penalty": None,
                "frequency_penalty": None,
                "seed": None,
            },
            "kv_cache": {"target_type": None, "max_context_tokens": None},
        },
        "speculative": {
            "based_on": "plain",
            "drafter": {"method": None, "model": None, "quantization": {"recipe": None}},
            "draft_length": {"max": None, "policy": None, "p_min": None},
            "draft_selection": {"placement": None, "method": None},
            "acceptance_rule": None,
            "kv_cache": {"target_type": None, "drafter_type": None, "max_context_tokens": None},
        },
    },
    "workloads": {
        "code": {
            "mix": None,
            "prompt_count": None,
            "prompts": {"set": None, "sha256": None, "file": None},
            "prompt_tokens": None,
            "output_tokens": None,
            "stop_rule": None,
            "thinking": None,
            "chat_template": None,
        }
    },
    "runs": [
        {
            "id": "plain-code",
            "configuration": "plain",
            "workload": "code",
            "conditions": _CONDITIONS,
            "prefill": _PREFILL,
            "decode": _DECODE,
            "memory": _MEMORY,
            "measurement": _MEASUREMENT,
        },
        {
            "id": "speculative-code",
            "configuration": "speculative",
            "workload": "code",
            "conditions": _CONDITIONS,
            "prefill": _PREFILL,
            "decode": _DECODE,
            "speculation": {
                "acceptance_rate": {"value": None, "of": None},
                "accepted_length": {"value": None, "counts_bonus_token": None},
                "counts": {
                    "drafted": None,
                    "accepted": None,
                    "verify_steps": None,
                    "plain_steps": None,
                    "output_tokens": None,
                },
            },
            "memory": _MEMORY,
            "losslessness": {
                "baseline": "plain-code",
                "compared": None,
                "match_rate": None,
                "n": None,
                "repeat_identical": None,
            },
            "measurement": _MEASUREMENT,
        },
    ],
    "quality": [
        {
            "metric": None,
            "dataset": None,
            "sample_size": None,
            "configuration": "plain",
            "value": None,
            "error": None,
        }
    ],
    "claims": [],
}

_HEAD = """\
# A benchmark report of speculative decoding, to be checked with `benchlint check`.
# Fill in what you know and leave null (or delete) what you do not: unknown is never guessed.
# Shares are fractions of 1; units are in the names.
"""


def skeleton_json() -> str:
    """The skeleton as JSON text."""
    return json.dumps(SKELETON, indent=2, ensure_ascii=False) + "\n"


def skeleton_yaml() -> str:
    """The skeleton as YAML text, each field with its description as a comment."""
    return _HEAD + "\n".join(_object_lines(SKELETON, Report, 0)) + "\n"


def skeleton_toml() -> str:
    """The skeleton as TOML text, each field as a comment to fill in, with its description."""
    return _TOML_HEAD + "\n".join(_table_lines(SKELETON, Report, "")) + "\n"


_TOML_HEAD = """\
# A benchmark report of speculative decoding, to be checked with `benchlint check`.
# Fill in what you know: take the # before its name away and write a value. Leave the rest:
# unknown is never guessed. Shares are fractions of 1; units are in the names.
"""


def _table_lines(members: dict[str, Any], model: type[Block] | None, path: str) -> Iterator[str]:
    """Fields of a table, and then the tables below it."""
    below: list[tuple[str, type[Block] | None, Any]] = []
    for name, value in members.items():
        inner, text = _field(model, name)
        if isinstance(value, dict) or (isinstance(value, list) and value):
            below.append((f"{path}.{name}" if path else name, inner, value))
        else:
            yield _toml_field(name, value, text)
    for at, inner, value in below:
        for each in value if isinstance(value, list) else [value]:
            yield f"\n[[{at}]]" if isinstance(value, list) else f"\n[{at}]"
            yield from _table_lines(each, inner, at)


#: A member of an example in a description, and the same in TOML.
_MEMBER, _AS_KEY = re.compile(r'"(\w+)": '), r"\1 = "


def _toml_field(name: str, value: Any, text: str) -> str:
    """A known value as it is; what is unknown as a comment, but for a baseline's drafter."""
    comment = f"  # {_MEMBER.sub(_AS_KEY, text)}" if text else ""
    if value:
        return f"{name} = {json.dumps(value)}{comment}"
    return f"{name} = []{comment}" if name == "drafter" else f"# {name} ={comment}"


def _object_lines(members: dict[str, Any], model: type[Block] | None, depth: int) -> Iterator[str]:
    for name, value in members.items():
        inner, text = _field(model, name)
        comment = f"  # {text}" if text else ""
        yield from _member_lines(name, value, inner, comment, depth)


def _member_lines(
    name: str, value: Any, inner: type[Block] | None, comment: str, depth: int
) -> Iterator[str]:
    pad = "  " * depth
    if isinstance(value, dict):
        yield f"{pad}{name}:{comment}"
        yield from _object_lines(value, inner, depth + 1)
    elif isinstance(value, list):
        yield f"{pad}{name}:{comment}" if value else f"{pad}{name}: []{comment}"
        for item in value:
            lines = list(_object_lines(item, inner, depth + 2))
            yield f"{pad}  - {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield f"{pad}{name}: {json.dumps(value)}{comment}"


def _field(model: type[Block] | None, name: str) -> tuple[type[Block] | None, str]:
    """The model below a field, and what to write there. Free names stay at their model."""
    info = None if model is None else model.model_fields.get(name)
    if info is None:
        return model, ""
    models = list(models_in(info.annotation))
    # The object form with the most fields is the one that a skeleton spells out.
    largest = max(models, key=lambda m: len(m.model_fields), default=None)
    words = ", ".join(_words_in(info.annotation))
    text = (info.description or "").rstrip()
    return largest, f"{text} One of: {words}".lstrip() if words else text


def _words_in(annotation: Any) -> Iterator[str]:
    """The words that a field takes, of its own and not of the objects in it."""
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    for argument in get_args(annotation):
        yield from _words_in(argument)
