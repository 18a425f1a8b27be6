"""An engine that names the user's files without their folders, and servers without addresses.

What an engine says of itself, and why it failed, goes into files that are published. Where
somebody keeps models, and which hosts are in their network, is nobody's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchlint.reproducers.engine import (
    Arm,
    Description,
    Divergence,
    Engine,
    ReproduceError,
    Request,
    Sample,
)


class DiscreetEngine:
    """Another engine with some texts replaced in all that it says. Implements Engine.

    words: what to write instead of each text.
    """

    def __init__(self, engine: Engine, words: Mapping[str, str]) -> None:
        self.engine = engine
        self._words = words

    @property
    def scores_texts(self) -> bool:
        """As the engine does."""
        return self.engine.scores_texts

    def start(self, arm: Arm) -> Description:
        """As the engine does; its command line comes without folders."""
        with self._discreet():
            description = self.engine.start(arm)
        command_line = tuple(map(self.said, description.command_line))
        return replace(description, command_line=command_line)

    def generate(self, request: Request) -> Sample:
        """As the engine does."""
        with self._discreet():
            return self.engine.generate(request)

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """As the engine does."""
        with self._discreet():
            return self.engine.perplexity(text, context_tokens)

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """As the engine does."""
        with self._discreet():
            return self.engine.divergence(request, first, second)

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def said(self, text: str) -> str:
        """The text as it may be published."""
        return replaced(text, self._words)

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        try:
            yield
        except ReproduceError as error:
            error.args = (self.said(str(error)), *error.args[1:])
            raise


def replaced(text: str, words: Mapping[str, str]) -> str:
    """The text with each of the words in place of what it stands for, the longest first."""
    for private in sorted(words, key=len, reverse=True):
        text = text.replace(private, words[private])
    return text


def names_of_files(paths: Iterable[Path]) -> dict[str, str]:
    """The words for paths: their names, and ~ for the user's home.

    Files beside them, which a log may name, lose their folder too.
    """
    words: dict[str, str] = {}
    for path in paths:
        for form in (path, path.absolute(), path.resolve()):
            words |= {str(form): form.name, **_within(form.parent, "")}
    words |= _within(Path.home(), "~/")
    return {form: word for pair in words.items() for form, word in _both_ways(*pair)}


def _within(folder: Path, word: str) -> dict[str, str]:
    """The word for the beginning of all paths in a folder; none where it is no secret."""
    is_plain = not folder.is_absolute() or folder == folder.parent
    return {} if is_plain else {f"{folder}/": word}


def _both_ways(private: str, public: str) -> Iterator[tuple[str, str]]:
    """A text as it is, and as it stands in JSON."""
    if private != public:
        yield private, public
        yield json.dumps(private)[1:-1], json.dumps(public)[1:-1]
