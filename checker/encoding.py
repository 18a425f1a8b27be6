"""From bytes to text: UTF-8, or what can be told to be another Unicode encoding."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass

from benchlint.checker.loaded import Fault, empty_fault

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "a UTF-8 byte-order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),  # before UTF-16, whose mark starts the same
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)

_KINDS = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GGUF", "a model file"),
    (b"SQLite format 3", "a database"),
    (b"\x7fELF", "a program"),
)

_HINT = "save it as UTF-8 without a byte-order mark"


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, and what was wrong with the bytes. Not `usable`: the text is for excerpts only."""

    text: str
    faults: tuple[Fault, ...] = ()
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file is encoded. `mark`: length of its byte-order mark; `oddity`: what to warn of."""

    name: str
    mark: int = 0
    oddity: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether a line feed is more than one byte."""
        return self.name != "utf-8"


_UTF_8 = Encoding("utf-8")


def encoding_of(head: bytes) -> Encoding:
    """The encoding of a text that starts so, by its mark, or by where its zero bytes lie."""
    for mark, name, what in _MARKS:
        if head.startswith(mark):
            oddity = what if name == "utf-8" else f"{what} text"
            return Encoding(name, len(mark), oddity)
    return _by_zero_bytes(head)


def _by_zero_bytes(head: bytes) -> Encoding:
    """As RFC 4627, section 3, told the encodings of JSON apart."""
    name = json.detect_encoding(head[:4]) if len(head) > 1 and 0 in head[:4] else "utf-8"
    if name == "utf-8":
        return _UTF_8
    start = head[:16].decode(name, "replace").lstrip()[:1]
    shown = f"{name[:6].upper()} text without a byte-order mark"
    return Encoding(name, 0, shown) if start.isascii() and start.isprintable() else _UTF_8


def decode(data: bytes) -> Decoded:
    """The text in `data`, with every fault of its encoding."""
    encoding = encoding_of(data[:16])
    try:
        text = data[encoding.mark :].decode(encoding.name)
    except UnicodeDecodeError as error:
        return _undecodable(encoding, data, encoding.mark + error.start)
    if "\0" in text:
        return _binary(text, data)
    if not text.strip():
        return Decoded(text, (empty_fault(),), usable=False)
    if encoding.oddity:
        return Decoded(text, (_oddity(encoding.oddity),))
    return Decoded(text)


def _oddity(what: str) -> Fault:
    return Fault("BL009", f"the file is or holds {what}; other readers refuse it", (0, 0), _HINT)


def _binary(text: str, data: bytes) -> Decoded:
    at = text.index("\0")
    what = f"the file is {_kind(data)}, not text: there is a zero byte in it"
    hint = "give the report itself, as JSON, YAML or TOML"
    return Decoded(text, (Fault("BL001", what, (at, at + 1), hint),), usable=False)


def _kind(data: bytes) -> str:
    return next((kind for start, kind in _KINDS if data.startswith(start)), "binary")


def _undecodable(encoding: Encoding, data: bytes, offset: int) -> Decoded:
    """The bytes cannot be this encoding. The offset counts bytes from 0."""
    start = len(data[encoding.mark : offset].decode(encoding.name, "replace"))
    kind = _kind(data)
    if kind != "binary" or (0 in data[:4096] and not encoding.is_wide):
        what, hint = f"the file is {kind}, not text", "give the report itself, as text"
    else:
        name = encoding.name[:6].upper().rstrip("-")
        what = f"byte 0x{data[offset]:02x} at offset {offset:,} is not {name}"
        hint = "save the file as UTF-8"
    text = data[encoding.mark :].decode(encoding.name, "replace")
    return Decoded(text, (Fault("BL001", what, (start, start + 1), hint),), usable=False)
