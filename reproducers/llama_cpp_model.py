"""Models and contexts of llama.cpp through the low-level functions of llama-cpp-python.

The bindings are imported when an engine starts, never before: they load a shared library.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchlint.checker.extras import how_to_install
from benchlint.reproducers.engine import EngineError, UnsupportedError
from benchlint.reproducers.llama_cpp_sampler import GREEDY, Sampler, SamplerSettings
from benchlint.reproducers.rejection import Distribution, certain

#: ggml types a KV cache can have (ggml.h, enum ggml_type; kv_cache_types in common/arg.cpp).
KV_TYPES = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}

#: What llama.cpp said last, for the one line an error has.
_said: deque[str] = deque(maxlen=8)
_WARNING, _ERROR = 2, 3

#: As many tokens as draft-simple looks at when it says how sure it is (common/speculative.cpp).
_MOST_PROBABLE = 10

#: llama.cpp's bounds on how far vocabularies may differ (common/speculative.cpp,
#: SPEC_VOCAB_MAX_SIZE_DIFFERENCE and SPEC_VOCAB_CHECK_START_TOKEN_ID).
_VOCABULARY_SLACK, _FIRST_COMPARED = 128, 5


@cache
def bindings() -> ModuleType:
    """llama-cpp-python with its log kept to itself. Raises EngineError where it is missing."""
    share_cxx_runtime()
    try:
        llama = importlib.import_module("llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            f"llama-cpp-python does not load ({error}): {how_to_install('llama')}"
        ) from error
    llama.llama_log_set(_listener(llama), None)
    llama.llama_backend_init()
    return llama


def share_cxx_runtime() -> None:
    """Let all libraries of this process find one copy of the C++ runtime; without one, nothing.

    numpy loads it for itself alone. A llama.cpp for CUDA can carry a second copy and show it
    (nvcc 13.0 links libggml-cuda.so so), whose locales then meet those of the first, and loading
    a model ends the process.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)


@cache
def _listener(llama: ModuleType) -> Callable[..., None]:
    """The log's callback, kept alive by the cache for as long as llama.cpp may call it."""

    def listen(level: int, text: bytes, _: object) -> None:
        if level in (_WARNING, _ERROR) and text.strip():
            _said.append(text.decode("utf-8", "replace").strip())

    wrapped: Callable[..., None] = llama.llama_log_callback(listen)
    return wrapped


def _failure(what: str) -> EngineError:
    return EngineError(f"{what}: llama.cpp said {_said[-1]!r}" if _said else what)


class Weights:
    """A loaded GGUF file.

    path: the file. gpu_layers: layers to offload, negative for all. Raises EngineError where it
    does not load and UnsupportedError where it is no autoregressive decoder.
    """

    def __init__(self, path: Path, gpu_layers: int) -> None:
        self.llama = bindings()
        self.path = path
        self.handle = self._load(gpu_layers)
        self.vocabulary = self.llama.llama_model_get_vocab(self.handle)
        self.size: int = self.llama.llama_vocab_n_tokens(self.vocabulary)
        self.metadata = dict(self._metadata())

    def _load(self, gpu_layers: int) -> object:
        llama = self.llama
        if not self.path.is_file():
            raise EngineError(f"there is no model file {self.path}")
        parameters = llama.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        _said.clear()
        handle = llama.llama_model_load_from_file(os.fsencode(self.path), parameters)
        if not handle:
            raise _failure(f"{self.path} does not load")
        if llama.llama_model_has_encoder(handle) or llama.llama_model_is_diffusion(handle):
            llama.llama_model_free(handle)
            raise UnsupportedError(f"{self.path} is no model that writes token by token")
        loaded: object = handle
        return loaded

    def _metadata(self) -> list[tuple[str, str]]:
        llama, handle = self.llama, self.handle
        key_at = llama.llama_model_meta_key_by_index
        value_at = llama.llama_model_meta_val_str_by_index
        count = llama.llama_model_meta_count(handle)
        return [(_text(key_at, handle, i), _text(value_at, handle, i)) for i in range(count)]

    @property
    def rolls_back(self) -> bool:
        """Whether a few last tokens can be taken out of its memory again."""
        recurrent = self.llama.llama_model_is_recurrent(self.handle)
        return not (recurrent or self.llama.llama_model_is_hybrid(self.handle))

    def description(self) -> Mapping[str, str | float | int | None]:
        """What the file says of itself: sizes in bytes, quantization by llama.cpp's name."""
        llama = self.llama
        quantization = llama.llama_ftype_name(llama.llama_model_ftype(self.handle)) or b""
        return {
            "name": self.metadata.get("general.name", self.path.stem),
            "file": self.path.name,
            "architecture": self.metadata.get("general.architecture"),
            "parameters": llama.llama_model_n_params(self.handle),
            "size_bytes": llama.llama_model_size(self.handle),
            "file_bytes": self.path.stat().st_size,
            "quantization": quantization.decode().removeprefix("(guessed) ") or None,
            "trained_context_tokens": llama.llama_model_n_ctx_train(self.handle),
        }

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """The tokens of a text, with special tokens parsed and, if `special`, put before it.

        As llama-server tokenizes prompts (tools/server/server-common.cpp).
        """
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 8
        tokens = (self.llama.llama_token * room)()
        count = self.llama.llama_tokenize(
            self.vocabulary, raw, len(raw), tokens, room, special, True
        )
        if count < 0:
            raise EngineError("the prompt could not be tokenized")
        return list(tokens[:count])

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of tokens without special ones; broken UTF-8 is replaced.

        Piece by piece as in llama-server: llama_detokenize takes spaces before full stops out.
        """
        return b"".join(map(self._piece, tokens)).decode("utf-8", "replace")

    def _piece(self, token: int) -> bytes:
        size = 64
        while True:
            raw = ctypes.create_string_buffer(size)
            count = self.llama.llama_token_to_piece(self.vocabulary, token, raw, size, 0, False)
            if count >= 0:
                return raw.raw[:count]
            size = -count

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end an answer."""
        ends = self.llama.llama_vocab_is_eog
        return frozenset(token for token in range(self.size) if ends(self.vocabulary, token))

    def token_text(self, token: int) -> str:
        """A token as the vocabulary writes it; empty where there is none of that number."""
        raw = self.llama.llama_vocab_get_text(self.vocabulary, token) if token >= 0 else b""
        return (raw or b"").decode("utf-8", "replace")

    def chat_prompt(self, message: str) -> str:
        """One user message in the file's own chat template.

        Raises UnsupportedError where the file has none, or one that does not work.
        """
        template = self.llama.llama_model_chat_template(self.handle, None)
        if not template:
            raise UnsupportedError(f"{self.path.name} has no chat template; use raw prompts")
        first = self.token_text(self.llama.llama_vocab_bos(self.vocabulary))
        last = self.token_text(self.llama.llama_vocab_eos(self.vocabulary))
        rendered = _render(template.decode("utf-8", "replace"), message, first, last)
        # The tokenizer puts it there; llama-server takes it away likewise.
        adds = self.llama.llama_vocab_get_add_bos(self.vocabulary)
        return rendered.removeprefix(first) if adds and first else rendered

    def drafts_for(self, target: Weights) -> bool:
        """Whether the vocabularies are equal as far as llama.cpp asks for.

        common_speculative_are_compatible in common/speculative.cpp.
        """
        if self._special() != target._special():
            return False
        if abs(self.size - target.size) > _VOCABULARY_SLACK:
            return False
        shared = range(_FIRST_COMPARED, min(self.size, target.size))
        text, ours, theirs = self.llama.llama_vocab_get_text, self.vocabulary, target.vocabulary
        return all(text(ours, token) == text(theirs, token) for token in shared)

    def _special(self) -> tuple[object, ...]:
        llama, vocabulary = self.llama, self.vocabulary
        first, last = llama.llama_vocab_get_add_bos, llama.llama_vocab_get_add_eos
        return (
            llama.llama_vocab_type(vocabulary),
            first(vocabulary) and llama.llama_vocab_bos(vocabulary),
            last(vocabulary) and llama.llama_vocab_eos(vocabulary),
        )

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            self.llama.llama_model_free(self.handle)
        self.handle = None


def _text(read: Callable[..., int], handle: object, index: int) -> str:
    """A string that a function of llama.cpp writes into a buffer like snprintf."""
    buffer = ctypes.create_string_buffer(256)
    needed = read(handle, index, buffer, len(buffer))
    if needed >= len(buffer):
        buffer = ctypes.create_string_buffer(needed + 1)
        read(handle, index, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _render(template: str, message: str, first: str, last: str) -> str:
    """A chat template rendered in the bindings' sandbox."""
    formats = importlib.import_module("llama_cpp.llama_chat_format")
    try:
        formatter = formats.Jinja2ChatFormatter(template, eos_token=last, bos_token=first)
        result = formatter(messages=[{"role": "user", "content": message}])
    except Exception as error:  # the template is the model author's program
        raise UnsupportedError(f"the model's chat template fails: {error}") from error
    return str(result.prompt)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is set up.

    context_tokens: size of the KV cache. batch_tokens: most tokens submitted at once.
    pass_tokens: most of them evaluated in one pass. threads: CPU threads, the same for one token
    and for many, so that a verify step has no more of them than a plain one.
    kv_types: ggml types of K and V. flash_attention: None leaves it to llama.cpp.
    """

    context_tokens: int
    batch_tokens: int
    pass_tokens: int
    threads: int
    kv_types: tuple[int, int] = (KV_TYPES["f16"], KV_TYPES["f16"])
    flash_attention: bool | None = None


def _share_of_first(logits: NDArray[np.float32]) -> float:
    """The greatest probability under softmax."""
    return float(1.0 / np.exp(logits - logits.max(), dtype=np.float64).sum())


class Context:
    """A KV cache of one sequence with a sampler: the loop's `DraftingModel`.

    vocabulary: how many tokens count, the first so many. Raises EngineError where there is no
    memory for it.
    """

    def __init__(
        self,
        weights: Weights,
        settings: ContextSettings,
        sampler: SamplerSettings,
        vocabulary: int | None = None,
    ) -> None:
        self._llama = weights.llama
        self._vocabulary = weights.size
        self._handle = self._create(weights, settings)
        self._memory = self._llama.llama_get_memory(self._handle)
        self._batch = self._llama.llama_batch_init(settings.pass_tokens, 0, 1)
        self._sampler = Sampler(self._llama, vocabulary or weights.size, sampler)
        self._settings = settings
        self._forbidden = np.zeros(0, dtype=np.intp)
        self._views: dict[int, NDArray[np.float32]] = {}
        self._length = 0
        self._last_alone = True

    def _create(self, weights: Weights, settings: ContextSettings) -> object:
        llama = self._llama
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = settings.context_tokens
        parameters.n_batch = settings.batch_tokens
        parameters.n_ubatch = settings.pass_tokens
        parameters.n_threads = parameters.n_threads_batch = settings.threads
        parameters.type_k, parameters.type_v = settings.kv_types
        if settings.flash_attention is not None:
            parameters.flash_attn_type = int(settings.flash_attention)
        _said.clear()
        handle = llama.llama_init_from_model(weights.handle, parameters)
        if not handle:
            wanted = f"a context of {settings.context_tokens} tokens for {weights.path.name}"
            raise _failure(f"{wanted} cannot be made")
        created: object = handle
        return created

    @property
    def capacity(self) -> int:
        """How many tokens the KV cache holds; llama.cpp rounds up what was asked for."""
        return int(self._llama.llama_n_ctx(self._handle))

    @property
    def pass_tokens(self) -> int:
        """Most tokens that `evaluate` takes."""
        return self._settings.pass_tokens

    def clear(self) -> None:
        """Empty the KV cache and the sampler; what was in its cells is masked from now on."""
        self._llama.llama_memory_clear(self._memory, False)
        self._sampler.reset()
        self._length = 0

    def forbid(self, tokens: Iterable[int]) -> None:
        """Let these tokens, and these alone, have no probability from now on."""
        self._forbidden = np.fromiter(tokens, dtype=np.intp)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Append tokens in batches, keeping the logits of the last; done when it returns."""
        size = self._settings.batch_tokens
        for start in range(0, len(tokens), size):
            chunk = tokens[start : start + size]
            array = (self._llama.llama_token * len(chunk))(*chunk)
            self._decode(self._llama.llama_batch_get_one(array, len(chunk)), len(chunk))
        self._llama.llama_synchronize(self._handle)
        self._last_alone = True

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Append up to `pass_tokens` tokens in one pass, keeping the logits of each."""
        batch = self._batch
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = self._length + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = 1
        batch.n_tokens = len(tokens)
        self._decode(batch, len(tokens))
        self._last_alone = False

    def _decode(self, batch: object, count: int) -> None:
        _said.clear()
        code = self._llama.llama_decode(self._handle, batch)
        if code:
            place = f"{count} tokens at position {self._length}"
            raise _failure(f"llama_decode failed with code {code} on {place}")
        self._length += count

    def truncate(self, length: int) -> None:
        """Cut the KV cache to its first `length` tokens."""
        if length >= self._length:
            return
        if not self._llama.llama_memory_seq_rm(self._memory, 0, length, -1):
            raise EngineError("this model's memory cannot give up a rejected draft")
        self._length = length

    def logits(self, index: int) -> NDArray[np.float32]:
        """Logits (nats) after the token at `index` of those kept, valid until the next pass."""
        place = -1 if self._last_alone else index
        pointer = self._llama.llama_get_logits_ith(self._handle, place)
        if not pointer:
            raise EngineError(f"llama.cpp kept no logits at {index}")
        found = self._view(pointer)
        if len(self._forbidden):
            found[self._forbidden] = -np.inf
        return found

    def _view(self, pointer: ctypes._Pointer[ctypes.c_float]) -> NDArray[np.float32]:
        """llama.cpp's own array at a pointer; to make a view of it takes longer than its argmax."""
        address = ctypes.addressof(pointer.contents)
        found = self._views.get(address)
        if found is None:
            found = np.ctypeslib.as_array(pointer, shape=(self._vocabulary,))
            self._views[address] = found
        return found

    def distribution(self, index: int) -> Distribution:
        """What the next token is drawn from."""
        return self._sampler.distribution(self.logits(index))

    def confidence(self, index: int) -> float:
        """Probability of the most probable token among the ten most probable.

        As draft-simple says it (common/speculative.cpp): softmax after top-k 10.
        """
        return _share_of_first(np.partition(self.logits(index), -_MOST_PROBABLE)[-_MOST_PROBABLE:])

    def accept(self, token: int) -> None:
        """Let the sampler's penalties count a token."""
        self._sampler.accept(token)

    def close(self) -> None:
        """Free context, batch and sampler."""
        if self._handle:
            self._sampler.close()
            self._llama.llama_batch_free(self._batch)
            self._llama.llama_free(self._handle)
        self._handle = None


class SelectingContext(Context):
    """A drafter's context whose most probable tokens are found where its logits are.

    The device returns ten tokens instead of all logits (llama_set_sampler in include/llama.h, as
    --spec-draft-backend-sampling). Raises UnsupportedError where the backend cannot.
    """

    def __init__(self, weights: Weights, settings: ContextSettings, vocabulary: int) -> None:
        super().__init__(weights, settings, GREEDY, vocabulary)
        llama = self._llama
        self._shared = vocabulary
        self._chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        llama.llama_sampler_chain_add(self._chain, llama.llama_sampler_init_top_k(_MOST_PROBABLE))
        if not llama.llama_set_sampler(self._handle, 0, self._chain):
            self.close()
            raise UnsupportedError("this backend cannot select draft tokens")

    def _most_probable(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Tokens and their logits, unsorted."""
        llama, handle = self._llama, self._handle
        count = llama.llama_get_sampled_candidates_count_ith(handle, -1)
        if not count:
            raise EngineError("the backend selected no draft tokens")
        tokens = llama.llama_get_sampled_candidates_ith(handle, -1)
        logits = llama.llama_get_sampled_logits_ith(handle, -1)
        found = np.ctypeslib.as_array(tokens, shape=(count,))
        known = found < self._shared
        return found[known], np.ctypeslib.as_array(logits, shape=(count,))[known]

    def distribution(self, index: int) -> Distribution:  # noqa: ARG002  the last is all there is
        """The most probable token after the last one."""
        tokens, logits = self._most_probable()
        return certain(int(tokens[logits.argmax()]))

    def confidence(self, index: int) -> float:  # noqa: ARG002
        """Its probability among the ten most probable."""
        return _share_of_first(self._most_probable()[1])

    def close(self) -> None:
        """Free what was attached, and the context."""
        if self._handle and self._chain:
            self._llama.llama_set_sampler(self._handle, 0, None)
            self._llama.llama_sampler_free(self._chain)
            self._chain = None
        super().close()
