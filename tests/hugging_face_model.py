"""The tiny pair in tests/models in Hugging Face's format, which vLLM reads.

python -m tests.hugging_face_model tests/models/target-q8_0.gguf FOLDER
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

_Matrix = NDArray[np.float32]

#: Parts of a layer by llama.cpp's names and by transformers' (LlamaForCausalLM).
_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


def write_model(source: Path, folder: Path) -> Path:
    """Write a GGUF file of Llama architecture as a folder of vLLM's; returns the folder."""
    model = gguf.GGUFReader(source)
    facts = {name: field.contents() for name, field in model.fields.items()}
    folder.mkdir(parents=True, exist_ok=True)
    weights = {_name(t.name): _weights(t, facts) for t in model.tensors}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for name, content in (
        ("config.json", _config(facts)),
        ("tokenizer.json", _tokenizer(facts)),
        ("tokenizer_config.json", _tokenizer_config(facts)),
    ):
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _name(name: str) -> str:
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if layer:
        return f"model.layers.{layer[1]}.{_PARTS[layer[2]]}.weight"
    return f"{_OUTSIDE[name.removesuffix('.weight')]}.weight"


def _weights(tensor: gguf.ReaderTensor, facts: Mapping[str, Any]) -> _Matrix:
    values = np.ascontiguousarray(gguf.dequantize(tensor.data, tensor.tensor_type), np.float32)
    for part, heads in (("attn_q", "head_count"), ("attn_k", "head_count_kv")):
        if part in tensor.name:
            return _halves(values, facts[f"llama.attention.{heads}"])
    return values


def _halves(values: _Matrix, heads: int) -> _Matrix:
    """Rows of pairs that are rotated together, as transformers has them: half a head apart.

    llama.cpp has them side by side (conversion/llama.py, permute).
    """
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(rows, columns))


def _config(facts: Mapping[str, Any]) -> dict[str, object]:
    epsilon = facts["llama.attention.layer_norm_rms_epsilon"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": facts["llama.attention.key_length"],
        "max_position_embeddings": facts["llama.context_length"],
        "rope_theta": facts["llama.rope.freq_base"],
        "rms_norm_eps": float(f"{epsilon:.6g}"),
        "vocab_size": facts["llama.vocab_size"],
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
    }


def _tokenizer(facts: Mapping[str, Any]) -> dict[str, object]:
    """Byte-level BPE with GPT-2's way to part words."""
    tokens = facts["tokenizer.ggml.tokens"]
    kinds = facts["tokenizer.ggml.token_type"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    special = [
        {"id": number, "content": token, "special": True, **flags}
        for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind == gguf.TokenType.CONTROL
    ]
    bytewise = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "added_tokens": special,
        "pre_tokenizer": {**bytewise, "use_regex": True},
        "decoder": {**bytewise, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": facts["tokenizer.ggml.merges"],
        },
    }


def _tokenizer_config(facts: Mapping[str, Any]) -> dict[str, object]:
    tokens = facts["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[facts["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[facts["tokenizer.ggml.eos_token_id"]],
        "chat_template": facts["tokenizer.chat_template"],
    }


if __name__ == "__main__":
    write_model(Path(sys.argv[1]), Path(sys.argv[2]))
