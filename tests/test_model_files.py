"""Hashes and sizes of model files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.engine import EngineError
from benchlint.reproducers.model_files import model_files, sha256_of, with_files

MODELS = Path(__file__).parent / "models"


def test_files_are_known_by_hash_and_size() -> None:
    target, drafter = MODELS / "target-q8_0.gguf", MODELS / "draft-q8_0.gguf"
    known = model_files(target, drafter)
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (target, drafter)]
    assert known == {
        "target sha256": hashes[0],
        "target file_bytes": target.stat().st_size,
        "target quantization": "Q8_0",
        "drafter sha256": hashes[1],
        "drafter file_bytes": drafter.stat().st_size,
        "drafter quantization": "Q8_0",
    }
    here = with_files(Here(target="t.gguf"), known)
    assert here == Here(target="t.gguf", target_sha256=hashes[0], drafter_sha256=hashes[1])


def test_reading_a_file_is_told_from_its_start_to_its_end(tmp_path: Path) -> None:
    for size in (0, 5, (8 << 20) + 1):
        path, told = tmp_path / "m.gguf", list[tuple[str, float]]()
        path.write_bytes(bytes(size))
        found = sha256_of(path, lambda name, share, told=told: told.append((name, share)))
        assert found == hashlib.sha256(bytes(size)).hexdigest()
        assert told[0] == ("m.gguf", 0.0)
        assert told[-1] == ("m.gguf", 1.0 if size else 0.0)
        assert told == sorted(told)


def test_one_part_of_a_model_says_nothing_of_the_rest(tmp_path: Path) -> None:
    part = tmp_path / "big-00001-of-00002.gguf"
    part.write_bytes(b"half")
    assert model_files(part) == {}
    assert model_files(None) == {}
    assert with_files(Here(), {}) == Here()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"absent\.gguf cannot be read: No such file"):
        model_files(tmp_path / "absent.gguf")
