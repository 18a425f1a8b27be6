"""What a GGUF file says of itself in its header; nothing is loaded.

Source: docs/gguf.md of ggml (versions 2 and 3, little-endian), enum llama_ftype in
include/llama.h of llama.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from benchlint.reproducers.engine import EngineError

#: llama_ftype by its number. Others, and those that were only guessed, are not known.
_FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
}

#: Sizes in bytes of the types of values, by their numbers (enum gguf_metadata_value_type).
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_UINT32, _TEXT, _ARRAY = 4, 8, 9

_LONGEST_KEY = 1 << 16


def quantization_of(path: Path) -> str | None:
    """The recipe that a file names for itself: "Q4_K_M"; None where it names none.

    Raises EngineError where it is no GGUF file or cannot be read.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(4) != b"GGUF":
                raise EngineError(f"{path} is no GGUF file")
            return _FILE_TYPES.get(_file_type(stream))
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}") from None


def _file_type(stream: BinaryIO) -> int:
    """`general.file_type`, -1 where it is not among what can be read."""
    try:
        _version, _tensors, count = struct.unpack("<IQQ", _taken(stream, 20))
        return next(_file_types(stream, count), -1)
    except (ValueError, OverflowError):
        return -1


def _file_types(stream: BinaryIO, count: int) -> Iterator[int]:
    for _ in range(count):
        key, kind = _taken(stream, _length(stream)), _number(stream, 4)
        if key == b"general.file_type" and kind == _UINT32:
            yield _number(stream, 4)
        _skip(stream, kind)


def _skip(stream: BinaryIO, kind: int) -> None:
    """Pass over one value. Raises ValueError for a type that is not known."""
    if kind == _TEXT:
        stream.seek(_number(stream, 8), 1)
    elif kind == _ARRAY:
        inner, count = _number(stream, 4), _number(stream, 8)
        if inner in _SIZES:
            stream.seek(_SIZES[inner] * count, 1)
        else:
            for _ in range(count):
                _skip(stream, inner)
    elif kind in _SIZES:
        stream.seek(_SIZES[kind], 1)
    else:
        raise ValueError(kind)


def _length(stream: BinaryIO) -> int:
    """The length of a key, within reason."""
    length = _number(stream, 8)
    if length > _LONGEST_KEY:
        raise ValueError(length)
    return length


def _number(stream: BinaryIO, size: int) -> int:
    return int.from_bytes(_taken(stream, size), "little")


def _taken(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ValueError("the file ends within its header")
    return data
