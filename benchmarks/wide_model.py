"""A wide model that computes what the tiny target in tests/models computes, at a larger one's cost.

    python -m benchmarks.wide_model OUT.gguf
    python -m benchmarks.wide_model OUT.gguf --channels 4096 --layers 32 --feed-forward 14336 --f16

The second one has 7.26 B parameters in 14.5 GB: what makes speculation pay on a GPU.

Every matrix is padded with zeros, so that what the tiny model computes stands in the first
channels and nothing else is added to them. RMSNorm divides by the mean over all channels, most of
which are zero: its weights and its epsilon are smaller by as much. Layers beyond the tiny model's
cost what a layer costs and add nothing, for what they write is multiplied by zero.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

TINY = Path(__file__).parents[1] / "tests" / "models" / "target-q8_0.gguf"
_Q8_0 = gguf.GGMLQuantizationType.Q8_0
_F16 = gguf.GGMLQuantizationType.F16
_FILE_TYPES = {_Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0, _F16: gguf.LlamaFileType.MOSTLY_F16}
_Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Width:
    """A size to inflate to; 1024 × 16 layers × 3072 is 206 M parameters, 219 MB as Q8_0.

    channels: a multiple of the tiny model's, as the heads must be.
    """

    channels: int = 1024
    layers: int = 16
    feed_forward: int = 3072


def write_wide_model(
    out: Path, width: Width | None = None, matrices: gguf.GGMLQuantizationType = _Q8_0
) -> None:
    """Write the wide model, its matrices as Q8_0 or F16."""
    tiny = gguf.GGUFReader(TINY)
    inflated = _Inflated(tiny, width or Width(), matrices)
    writer = gguf.GGUFWriter(out, "llama")
    _write_metadata(writer, tiny, inflated.metadata())
    for name, shape in inflated.shapes().items():
        writer.add_tensor(name, inflated.tensor(name, shape), raw_dtype=inflated.dtype(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_metadata(
    writer: gguf.GGUFWriter, tiny: gguf.GGUFReader, changed: dict[str, int | float | str]
) -> None:
    for name, field in tiny.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = changed.get(name, field.contents())
        inner = field.types[-1] if len(field.types) > 1 else None
        writer.add_key_value(name, value, field.types[0], inner)


class _Inflated:
    """The tiny model's tensors at another width; shapes are (rows, columns)."""

    def __init__(
        self, tiny: gguf.GGUFReader, width: Width, matrices: gguf.GGMLQuantizationType
    ) -> None:
        self._tensors = {tensor.name: tensor for tensor in tiny.tensors}
        self._numbers = {name: field.contents() for name, field in tiny.fields.items()}
        self._width = width
        self._times = width.channels // self._number("embedding_length")
        self._matrices = matrices

    def _number(self, name: str) -> int:
        return int(self._numbers[f"llama.{name}"])

    def metadata(self) -> dict[str, int | float | str]:
        """What differs from the tiny model's."""
        epsilon = "llama.attention.layer_norm_rms_epsilon"
        return {
            "general.name": "benchlint-wide-target",
            "general.file_type": int(_FILE_TYPES[self._matrices]),
            "llama.embedding_length": self._width.channels,
            "llama.block_count": self._width.layers,
            "llama.feed_forward_length": self._width.feed_forward,
            "llama.attention.head_count": self._heads("head_count"),
            "llama.attention.head_count_kv": self._heads("head_count_kv"),
            epsilon: self._numbers[epsilon] / self._times,
        }

    def _heads(self, name: str) -> int:
        return self._number(f"attention.{name}") * self._times

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor by name."""
        channels, inner = self._width.channels, self._width.feed_forward
        size = self._number("attention.key_length")
        queries, keys = (size * self._heads(n) for n in ("head_count", "head_count_kv"))
        layer: dict[str, tuple[int, ...]] = {
            "attn_norm": (channels,),
            "attn_q": (queries, channels),
            "attn_k": (keys, channels),
            "attn_v": (keys, channels),
            "attn_output": (channels, queries),
            "ffn_norm": (channels,),
            "ffn_gate": (inner, channels),
            "ffn_up": (inner, channels),
            "ffn_down": (channels, inner),
        }
        layers = range(self._width.layers)
        return {
            "token_embd.weight": (self._number("vocab_size"), channels),
            "output_norm.weight": (channels,),
            **{f"blk.{i}.{part}.weight": shape for i in layers for part, shape in layer.items()},
        }

    def dtype(self, shape: tuple[int, ...]) -> gguf.GGMLQuantizationType:
        """Matrices are quantized, vectors are not."""
        return self._matrices if len(shape) == 2 else gguf.GGMLQuantizationType.F32

    def tensor(self, name: str, shape: tuple[int, ...]) -> NDArray[np.generic]:
        """One tensor as the file holds it."""
        values = self._values(name, shape)
        if len(shape) == 2:
            return gguf.quantize(values, self._matrices)
        return values / np.float32(np.sqrt(self._times)) if name in self._tensors else values

    def _values(self, name: str, shape: tuple[int, ...]) -> _Matrix:
        if name not in self._tensors:
            return self._beyond(name, shape)
        tensor = self._tensors[name]
        known = gguf.dequantize(tensor.data, tensor.tensor_type)
        padding = [(0, to - now) for now, to in zip(known.shape, shape, strict=True)]
        return np.pad(known, padding).astype(np.float32)

    def _beyond(self, name: str, shape: tuple[int, ...]) -> _Matrix:
        """A layer that the tiny model does not have."""
        if len(shape) == 1:
            return np.ones(shape, np.float32)
        if "attn_output" in name or "ffn_down" in name:
            return np.zeros(shape, np.float32)
        return _noise(shape)


@cache
def _noise(shape: tuple[int, ...]) -> _Matrix:
    """The same for every layer: drawing billions of numbers takes longer than using them."""
    drawn = np.random.default_rng(0).standard_normal(shape, np.float32)
    return drawn * np.float32(0.02)


def main() -> None:
    """Write the model that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    for name, default in (("channels", 1024), ("layers", 16), ("feed-forward", 3072)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--f16", action="store_true", help="F16 instead of Q8_0")
    given = parser.parse_args()
    width = Width(given.channels, given.layers, given.feed_forward)
    write_wide_model(given.out, width, _F16 if given.f16 else _Q8_0)


if __name__ == "__main__":
    main()
