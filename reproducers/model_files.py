"""What a model file is known by wherever it goes: its SHA-256, its size, its quantization."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.engine import EngineError
from benchlint.reproducers.gguf import quantization_of
from benchlint.reproducers.journal import Known

#: A model in several files; the hash of one of them says nothing of the others.
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


#: Told the name of a file that is read to its end, and the share of it that is read.
Hashing = Callable[[str, float], None]

#: Bytes that are read at once.
_BLOCK = 8 << 20


def model_files(
    target: Path | None, drafter: Path | None = None, hashing: Hashing = lambda *_: None
) -> dict[str, Known]:
    """Hashes, sizes and quantizations of the files, by name, for the header of a journal.

    They are read to their end, which takes some ten seconds for 20 GB: hashing is told of it.
    Raises EngineError.
    """
    told: dict[str, Known] = {}
    for role, path in (("target", target), ("drafter", drafter)):
        if path is not None and not _PART.search(path.name):
            told[f"{role} sha256"] = sha256_of(path, hashing)
            told[f"{role} file_bytes"] = path.stat().st_size
            told[f"{role} quantization"] = quantization_of(path)
    return {name: value for name, value in told.items() if value is not None}


def sha256_of(path: Path, hashing: Hashing = lambda *_: None) -> str:
    """SHA-256 of a file in hexadecimal. Raises EngineError where it cannot be read."""
    found = hashlib.sha256()
    try:
        size = max(path.stat().st_size, 1)
        hashing(path.name, 0.0)
        for number, block in enumerate(_blocks(path), 1):
            found.update(block)
            hashing(path.name, min(number * _BLOCK / size, 1.0))
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}") from None
    return found.hexdigest()


def _blocks(path: Path) -> Iterator[memoryview]:
    """The bytes of a file, in a buffer that is used again."""
    buffer = memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            yield buffer[:count]


def with_files(here: Here, known: Mapping[str, Known]) -> Here:
    """What is known of the place, with the hashes of the model files.

    known: as `model_files` gives it.
    """
    hashes = (known.get(f"{role} sha256") for role in ("target", "drafter"))
    target, drafter = (each if isinstance(each, str) else None for each in hashes)
    return replace(here, target_sha256=target, drafter_sha256=drafter)
