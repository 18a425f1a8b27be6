"""Sets of prompts: the bundled ones, those a user gives, and their hash.

A set is a JSON Lines file, one object a line: {"id": "lru-cache", "prompt": "Write a …"}. Its
hash is the SHA-256 of its canonical form, which for the bundled sets is the file itself, so
that `sha256sum` gives it too. A report that names a set and its hash names the prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from benchlint.checker.finding import Finding
from benchlint.checker.secrets import find_secrets
from benchlint.checker.source import read_source
from benchlint.reproducers.engine import ReproduceError

#: Names of the bundled sets: the kinds of a workload's mix.
BUNDLED = ("code", "prose", "planning", "chat", "tool_call", "infra", "rag")

#: A file of prompts may not be larger, in bytes.
LIMIT_BYTES = 1 << 26


class WorkloadError(ReproduceError):
    """Prompts that were asked for cannot be used; the message says why, and of which line."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt and its name, which is unique within its set."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts in the order in which they are sent.

    name: for people; it is not part of the hash.
    """

    name: str
    prompts: tuple[Prompt, ...]

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical form in hexadecimal."""
        return hashlib.sha256(canonical(self.prompts)).hexdigest()

    def __len__(self) -> int:
        return len(self.prompts)


def canonical(prompts: Iterable[Prompt]) -> bytes:
    """The prompts as JSON Lines in UTF-8: `id`, then `prompt`, no ASCII escapes, `\\n` ends."""
    lines = (json.dumps({"id": p.id, "prompt": p.text}, ensure_ascii=False) for p in prompts)
    return "".join(f"{line}\n" for line in lines).encode()


@cache
def bundled(name: str) -> PromptSet:
    """A bundled set by its name. Raises WorkloadError where there is none of that name."""
    if name not in BUNDLED:
        raise WorkloadError(f"no bundled set is called {name!r}; there are {', '.join(BUNDLED)}")
    data = (files("benchlint.reproducers.workloads") / f"{name}.jsonl").read_bytes()
    return parse_prompts(data, name)


def first_of(prompts: PromptSet, count: int | None) -> PromptSet:
    """The first prompts of a set under its name; all of them where `count` is None."""
    return PromptSet(prompts.name, prompts.prompts[:count] if count else prompts.prompts)


def read_prompts(path: str | Path) -> PromptSet:
    """The prompts of a JSON Lines file that a user names. Raises WorkloadError."""
    return parse_prompts(read_bytes(path), str(path), name=Path(path).name)


def read_bytes(path: str | Path, name: str | None = None) -> bytes:
    """The bytes of a regular file of at most 64 MiB. Raises WorkloadError.

    name: what to call it in messages, where its path is nobody's business.
    """
    source = read_source(path, limit_bytes=LIMIT_BYTES)
    if isinstance(source, Finding):
        raise WorkloadError(f"{name or path}: {source.message}")
    return source.data


def parse_prompts(data: bytes, path: str, *, name: str = "") -> PromptSet:
    """The set that the bytes of a JSON Lines file hold.

    A line is an object with `prompt` and perhaps `id`, or a text alone; other members are not
    looked at and empty lines are skipped. A prompt without an id is called by its line's
    number. path: what to call the file in messages. Raises WorkloadError.
    """
    prompts = tuple(_prompts(_text(data, path), path))
    return named_set(name or path, prompts, path)


def named_set(name: str, prompts: tuple[Prompt, ...], path: str) -> PromptSet:
    """A set, once it is certain that it holds prompts and that no id occurs twice."""
    if not prompts:
        raise WorkloadError(f"{path}: no prompts in it")
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise WorkloadError(f"{path}: two prompts have the id {prompt.id!r}")
        seen.add(prompt.id)
    return PromptSet(name, prompts)


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path}: not UTF-8 at byte {error.start}") from None


def _prompts(text: str, path: str) -> Iterator[Prompt]:
    # Not splitlines(): JSON may hold U+2028 and others that it takes for ends of lines.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _prompt(line, number, f"{path}:{number}")


def _prompt(line: str, number: int, at: str) -> Prompt:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise WorkloadError(f"{at}: not JSON; prompts are JSON Lines, one a line") from None
    if isinstance(value, str):
        value = {"prompt": value}
    if not isinstance(value, dict) or not isinstance(value.get("prompt"), str):
        raise WorkloadError(f"{at}: no text under `prompt`")
    return checked(_name(value.get("id"), number, at), value["prompt"], at)


def _name(value: object, number: int, at: str) -> str:
    if value is None:
        return str(number)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise WorkloadError(f"{at}: `id` should be a text")
    return str(value)


def checked(prompt_id: str, text: str, at: str) -> Prompt:
    """A prompt that can be sent: not blank, no key in it, no halves of surrogate pairs.

    What is sent stands in the journal, where no key may stand.
    """
    if not text.strip() or not prompt_id.strip():
        raise WorkloadError(f"{at}: the prompt or its id is empty")
    try:
        (prompt_id + text).encode()
    except UnicodeEncodeError:
        raise WorkloadError(f"{at}: half of a surrogate pair, which no tokenizer takes") from None
    if find_secrets(text, forms_only=True):
        raise WorkloadError(f"{at}: the prompt holds what looks like an API key: take it out")
    return Prompt(prompt_id, text)
