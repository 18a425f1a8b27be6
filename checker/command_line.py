"""What a command line in a report says. It is split into words and never run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchlint.checker.lazy import cached_property

#: Of a longer command line only the start is read: splitting costs about a second a megabyte.
LONGEST = 32_768

#: A value in JSON that is longer than this is not read.
_LONGEST_JSON = 8_192


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, quotes taken away."""

    words: tuple[str, ...]

    @cached_property
    def _uses(self) -> dict[str, list[int]]:
        """Which words are which flag: rules ask for dozens of flags of each command line."""
        found: dict[str, list[int]] = {}
        for i, word in enumerate(self.words):
            if word.startswith("-"):
                found.setdefault(word.partition("=")[0].replace("_", "-"), []).append(i)
        return found

    def values(self, *flags: str) -> Iterator[str]:
        """What follows each use of one of these flags; "" where nothing does.

        Flags are given with dashes; `--top_p 1`, `--top-p=1` and `--top-p 1` are the same.
        """
        for i in sorted(i for flag in {*flags} for i in self._uses.get(flag, ())):
            _, equals, value = self.words[i].partition("=")
            yield value if equals else self._after(i)

    def value(self, *flags: str) -> str | None:
        """What follows the last use of one of these flags, or None where none is used."""
        return next(reversed(list(self.values(*flags))), None)

    def _after(self, index: int) -> str:
        following = self.words[index + 1] if index + 1 < len(self.words) else ""
        is_flag = following.startswith("-") and not following[1:2].isdigit()
        return "" if is_flag else following

    def assignments(self) -> dict[str, str]:
        """Variables set on the command line: `NAME=value command`, `docker run -e NAME=value`."""
        pairs = (word.partition("=") for word in self.words if not word.startswith("-"))
        return {name: value for name, equals, value in pairs if equals and name.isidentifier()}

    def json(self, *flags: str) -> dict[str, object]:
        """The members of the JSON object after a flag, and those given as `--flag.name value`."""
        members = _object(self.value(*flags) or "")
        for i, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            flag, dot, member = name.partition(".")
            if dot and flag.replace("_", "-") in flags:
                members[member] = value if equals else self._after(i)
        return members


def _object(text: str) -> dict[str, object]:
    if not text.startswith("{") or len(text) > _LONGEST_JSON:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def command_line(text: str | Sequence[str] | None) -> CommandLine:
    """The command line in a report's field: a string, or a list of words or of commands."""
    if text is None:
        return CommandLine(())
    return _parsed((text,) if isinstance(text, str) else tuple(text), isinstance(text, str))


@lru_cache(maxsize=256)
def _parsed(parts: tuple[str, ...], is_string: bool) -> CommandLine:
    words: list[str] = []
    for part in parts:
        # An item of a list is one word, unless it is visibly a whole command.
        words += _split(part) if is_string or " -" in part else [part[:LONGEST]]
    return CommandLine(tuple(words))


def _split(text: str) -> list[str]:
    text = text[:LONGEST].replace("\\\r\n", " ").replace("\\\n", " ")
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is never closed
        return text.split()
