"""Texts whose perplexity is measured: the bundled one and those that a user or a report brings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from benchlint.reproducers.workloads import WorkloadError, read_bytes

#: Name of the text that is bundled, about 2,700 tokens of English prose.
BUNDLED_TEXT = "essay"


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be scored.

    name: for people; it is not part of the hash.
    """

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """SHA-256 in hexadecimal, of the text in UTF-8: of the file, as `sha256sum` gives it."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def bundled_text() -> Text:
    """The bundled text."""
    path = files("benchlint.reproducers.workloads") / f"{BUNDLED_TEXT}.txt"
    return decoded(path.read_bytes(), BUNDLED_TEXT)


def read_text(path: str | Path) -> Text:
    """The text in a file that a user names, in UTF-8. Raises WorkloadError."""
    return decoded(read_bytes(path), Path(path).name)


def decoded(data: bytes, name: str) -> Text:
    """The text in the bytes of a file, its line ends as they are. Raises WorkloadError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{name}: not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise WorkloadError(f"{name}: no text in it")
    return Text(name, text)
