"""The prompts that a report publishes for a workload, and the text of a perplexity.

Inline prompts are the prompts themselves, unless a secret was blanked in them. A file beside the
report, or what is bundled, is known to be what was measured only where the report gives its
hash; without one it is used, but nothing is refuted with it. No file outside the report's folder
is ever opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from benchlint.checker.model import Prompts, ScoredText
from benchlint.checker.secrets import REDACTED
from benchlint.reproducers.workloads import (
    BUNDLED,
    PromptSet,
    WorkloadError,
    bundled,
    checked,
    first_of,
    named_set,
    parse_prompts,
    read_bytes,
)
from benchlint.reproducers.workloads.texts import BUNDLED_TEXT, Text, bundled_text, decoded

#: Why nothing that depends on prompts can be tested, where a report does not give them.
NO_PROMPTS = "prompts not published"


@dataclass(frozen=True, slots=True)
class Published:
    """What was found of a workload's prompts.

    prompts: None where there are none to be used. same: True when they are known to be the
    report's, None when they may be, False when they are not there. reason: why not True, or "".
    """

    prompts: PromptSet | None
    same: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PublishedText:
    """The text to be scored for a perplexity; the members are those of `Published`."""

    text: Text | None
    same: bool | None
    reason: str = ""


def published(
    prompts: Prompts | None,
    folder: Path | None,
    given: PromptSet | None = None,
    count: int | None = None,
) -> Published:
    """The prompts that a report's workload publishes.

    folder: where the report lies; None where it came from standard input.
    given: prompts that the user brought; they are the report's where they have its hash.
    count: how many the report says were run, which may be the first ones of a bundled set.
    """
    if prompts is None:
        return _not(NO_PROMPTS)
    if prompts.inline:
        return _try(lambda: _inline(prompts.inline or []))
    if given is not None and prompts.sha256 and _same_hash(prompts.sha256, given.sha256):
        return Published(given, same=True)
    if prompts.file is not None:
        return _try(lambda: _from_file(prompts, folder))
    if prompts.set is not None:
        return _from_set(prompts.set, prompts.sha256, count)
    return _not(NO_PROMPTS + (", only their hash" if prompts.sha256 else ""))


def _not(reason: str) -> Published:
    return Published(None, same=False, reason=reason)


def _try(find: Callable[[], Published]) -> Published:
    try:
        return find()
    except WorkloadError as error:
        return _not(str(error))


def _inline(texts: list[str]) -> Published:
    at = "inline prompts"
    prompts = tuple(checked(str(i), text, f"{at}, {i}") for i, text in enumerate(texts, 1))
    found = named_set(at, prompts, at)
    if any(REDACTED in text for text in texts):
        return Published(found, same=None, reason="a secret was taken out of a prompt")
    return Published(found, same=True)


def _from_file(prompts: Prompts, folder: Path | None) -> Published:
    """The file beside the report; its hash may be that of the bytes or of the canonical form."""
    name = prompts.file or ""
    data = _bytes_beside(folder, name)
    found = parse_prompts(data, name)
    if prompts.sha256 is None:
        return Published(found, same=None, reason=f"{name} is published without its hash")
    if _same_hash(prompts.sha256, hashlib.sha256(data).hexdigest(), found.sha256):
        return Published(found, same=True)
    return _not(f"{name} does not have the hash that the report gives")


def _from_set(name: str, sha256: str | None, count: int | None) -> Published:
    if name not in BUNDLED:
        return _not(f"the prompts of the set {name!r} are not here")
    found = bundled(name)
    if sha256 is None:
        return Published(found, same=None, reason=f"the set {name!r} is named without its hash")
    for each in (found, first_of(found, count)):
        if _same_hash(sha256, each.sha256):
            return Published(each, same=True)
    return _not(f"the set {name!r} here does not have the hash that the report gives")


def published_text(
    stated: ScoredText | None, folder: Path | None, given: Text | None = None
) -> PublishedText:
    """The text that a report's quality row publishes, else the one that the user brought.

    given: the user's; it is the report's where it has its hash. A text in its place is not known
    to be the same.
    """
    if given is not None and stated is not None and _is(stated, given):
        return PublishedText(given, same=True)
    found = PublishedText(None, same=False, reason="its text is not published")
    if stated is not None:
        found = _text(stated, folder)
    if found.text is None and given is not None:
        return PublishedText(given, same=False, reason=f"{found.reason}, and another one is used")
    return found


def _text(stated: ScoredText, folder: Path | None) -> PublishedText:
    try:
        found = _found_text(stated, folder)
    except WorkloadError as error:
        return PublishedText(None, same=False, reason=str(error))
    if _is(stated, found):
        return PublishedText(found, same=True)
    if stated.sha256:
        reason = f"{found.name} does not have the hash that the report gives"
        return PublishedText(None, same=False, reason=reason)
    return PublishedText(found, same=None, reason=f"{found.name} is named without its hash")


def _found_text(stated: ScoredText, folder: Path | None) -> Text:
    if stated.file is not None:
        return decoded(_bytes_beside(folder, stated.file), stated.file)
    if stated.name == BUNDLED_TEXT:
        return bundled_text()
    raise WorkloadError(f"the text {stated.name or 'it was measured on'!r} is not here")


def _is(stated: ScoredText, text: Text) -> bool:
    return bool(stated.sha256) and _same_hash(stated.sha256 or "", text.sha256)


def _same_hash(stated: str, *actual: str) -> bool:
    return stated.strip().lower().removeprefix("sha256:") in actual


def _bytes_beside(folder: Path | None, name: str) -> bytes:
    """The bytes of a file beside the report. What is wrong with it stands in the verdict, which
    others read: so messages call it as the report does, and name no folder of this machine.
    """
    return read_bytes(inside(folder, name), f"{name} beside the report")


def inside(folder: Path | None, name: str) -> Path:
    """The path of a file below a folder, links followed. Raises WorkloadError if it is not."""
    if folder is None:
        raise WorkloadError(f"{name}: the report lies in no folder, so no file is beside it")
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or PureWindowsPath(name).drive or not name.isprintable():
        raise WorkloadError(f"{name!r}: not a path below the report's folder")
    try:
        top, path = folder.resolve(), (folder / pure).resolve()
    except (OSError, RuntimeError):  # a circle of links
        raise WorkloadError(f"{name!r}: cannot be found") from None
    if not path.is_relative_to(top):
        raise WorkloadError(f"{name!r}: leads out of the report's folder")
    return path
