"""What a model file is known by wherever it goes: its SHA-256, its size, its quantization."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.engine import EngineError
from benchlint.reproducers.gguf import quantization_of
from benchlint.reproducers.journal import Known

#: A model in several files; the hash of one of them says nothing of the others.
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


def model_files(target: Path | None, drafter: Path | None = None) -> dict[str, Known]:
    """Hashes, sizes and quantizations of the files, by name, for the header of a journal.

    They are read to their end, which takes some ten seconds for 20 GB. Raises EngineError.
    """
    told: dict[str, Known] = {}
    for role, path in (("target", target), ("drafter", drafter)):
        if path is not None and not _PART.search(path.name):
            told[f"{role} sha256"] = sha256_of(path)
            told[f"{role} file_bytes"] = path.stat().st_size
            told[f"{role} quantization"] = quantization_of(path)
    return {name: value for name, value in told.items() if value is not None}


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Raises EngineError where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}") from None


def with_files(here: Here, known: Mapping[str, Known]) -> Here:
    """What is known of the place, with the hashes of the model files.

    known: as `model_files` gives it.
    """
    hashes = (known.get(f"{role} sha256") for role in ("target", "drafter"))
    target, drafter = (each if isinstance(each, str) else None for each in hashes)
    return replace(here, target_sha256=target, drafter_sha256=drafter)
