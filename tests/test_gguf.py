"""What a GGUF file says of itself, and files that say nothing or anything."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.engine import EngineError
from benchlint.reproducers.gguf import quantization_of

MODELS = Path(__file__).parent / "models"


def _text(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def _pair(key: bytes, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _file(*pairs: bytes, count: int | None = None) -> bytes:
    number = len(pairs) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", 3, 0, number) + b"".join(pairs)


NAME = _pair(b"general.name", 8, _text(b"a"))
TOKENS = _pair(b"tokens", 9, struct.pack("<IQ", 8, 2) + _text(b"one") + _text(b"two"))
SCORES = _pair(b"scores", 9, struct.pack("<IQ", 6, 2) + bytes(8))
NESTED = _pair(b"nested", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 0, 3) + b"abc")
FLAGS = _pair(b"flag", 7, b"\1") + _pair(b"long", 10, bytes(8))


def _type(number: int) -> bytes:
    return _pair(b"general.file_type", 4, struct.pack("<I", number))


@pytest.mark.parametrize("name", ["target-q8_0.gguf", "draft-q8_0.gguf"])
def test_a_real_file_names_its_recipe(name: str) -> None:
    assert quantization_of(MODELS / name) == "Q8_0"


def test_it_is_found_behind_values_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(_file(NAME, TOKENS, SCORES, NESTED, FLAGS, _type(15), count=7))
    assert quantization_of(path) == "Q4_K_M"


@pytest.mark.parametrize(
    "data",
    [
        b"GGUF",
        _file(),
        _file(NAME),
        _file(_type(1024)),
        _file(_pair(b"general.file_type", 8, _text(b"Q8_0"))),
        _file(_pair(b"x", 99, b""), _type(7)),
        _file(NAME, count=2**63),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62),
        _file(_pair(b"x", 8, struct.pack("<Q", 2**63)), _type(7)),
    ],
)
def test_a_file_that_names_none_has_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    assert quantization_of(path) is None


def test_another_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"PK\3\4")
    with pytest.raises(EngineError, match=r"a\.bin is no GGUF file"):
        quantization_of(path)
    with pytest.raises(EngineError, match="cannot be read: Is a directory"):
        quantization_of(tmp_path)


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF" + data)
    assert quantization_of(path) is None or isinstance(quantization_of(path), str)
