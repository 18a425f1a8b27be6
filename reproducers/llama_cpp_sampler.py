"""llama.cpp's own samplers, asked for the distribution instead of a token.

The order is llama-server's (common/common.h, common_params_sampling.samplers): penalties over
the last tokens, top-k, top-p, min-p, temperature. Samplers that it has beside these are neutral
by default and left out. At temperature 0 or below the argmax after the penalties has it all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchlint.reproducers.engine import Sampling
from benchlint.reproducers.rejection import Distribution, certain, softmax

#: llama_token_data (include/llama.h).
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """The sampler in effect; the defaults are llama.cpp's (common/common.h).

    temperature: 0 or below is greedy. top_k: 0 or below is off. top_p: 1 is off. min_p: 0 is off.
    repetition_penalty: 1 is off. penalty_tokens: how far back penalties look, prompt included.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_tokens: int = 64

    @property
    def greedy(self) -> bool:
        """Whether the most probable token is always taken."""
        return self.temperature <= 0

    @property
    def penalizes(self) -> bool:
        """Whether tokens that were there already count for less."""
        penalties = (self.repetition_penalty, self.presence_penalty, self.frequency_penalty)
        return penalties != (1.0, 0.0, 0.0)


GREEDY = SamplerSettings(temperature=0.0)


def settings_for(asked: Sampling, metadata: Mapping[str, str]) -> SamplerSettings:
    """What was asked for; else what the model file recommends; else llama.cpp's defaults.

    As in common_init_from_params (common/common.cpp), which reads `general.sampling.*`. Raises
    ValueError for a recommendation that is not a number.
    """
    default = SamplerSettings()

    def choose(wish: float | None, key: str, fallback: float) -> float:
        return float(metadata.get(f"general.sampling.{key}", fallback)) if wish is None else wish

    return SamplerSettings(
        temperature=choose(asked.temperature, "temp", default.temperature),
        top_k=int(choose(asked.top_k, "top_k", default.top_k)),
        top_p=choose(asked.top_p, "top_p", default.top_p),
        min_p=choose(asked.min_p, "min_p", default.min_p),
        repetition_penalty=choose(asked.repetition_penalty, "penalty_repeat", 1.0),
        presence_penalty=choose(asked.presence_penalty, "", 0.0),
        frequency_penalty=choose(asked.frequency_penalty, "", 0.0),
        penalty_tokens=int(choose(None, "penalty_last_n", default.penalty_tokens)),
    )


class Sampler:
    """One sampler chain; `close` frees it."""

    def __init__(self, llama: ModuleType, vocabulary: int, settings: SamplerSettings) -> None:
        self._llama = llama
        self._settings = settings
        self._candidates = np.zeros(vocabulary, dtype=_CANDIDATE)
        self._ids = np.arange(vocabulary, dtype=np.int32)
        self._chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for link in self._links():
            llama.llama_sampler_chain_add(self._chain, link)

    def _links(self) -> list[object]:
        llama, settings = self._llama, self._settings
        penalties = llama.llama_sampler_init_penalties(
            len(self._ids),
            settings.penalty_tokens,
            settings.repetition_penalty,
            settings.frequency_penalty,
            settings.presence_penalty,
        )
        if settings.greedy:
            return [penalties]
        return [
            penalties,
            llama.llama_sampler_init_top_k(settings.top_k),
            llama.llama_sampler_init_top_p(settings.top_p, 0),
            llama.llama_sampler_init_min_p(settings.min_p, 0),
            llama.llama_sampler_init_temp(settings.temperature),
        ]

    def reset(self) -> None:
        """Forget which tokens were accepted."""
        self._llama.llama_sampler_reset(self._chain)

    def accept(self, token: int) -> None:
        """Let penalties count a token."""
        if self._settings.penalizes:
            self._llama.llama_sampler_accept(self._chain, token)

    def distribution(self, logits: NDArray[np.float32]) -> Distribution:
        """What the next token is drawn from, for logits of shape (vocabulary,)."""
        logits = logits[: len(self._ids)]
        if self._settings.greedy and not self._settings.penalizes:
            return certain(int(logits.argmax()))
        left = self._apply(logits)
        if self._settings.greedy:
            return certain(int(left["id"][left["logit"].argmax()]))
        return softmax(left["id"], left["logit"])

    def _apply(self, logits: NDArray[np.float32]) -> NDArray[np.void]:
        """The candidates that the chain leaves."""
        llama, candidates = self._llama, self._candidates
        candidates["id"], candidates["logit"] = self._ids, logits
        array = llama.llama_token_data_array(
            data=candidates.ctypes.data_as(llama.llama_token_data_p),
            size=len(candidates),
            selected=-1,
            sorted=False,
        )
        llama.llama_sampler_apply(self._chain, ctypes.byref(array))
        # Samplers may point the array at memory of their own.
        raw = ctypes.string_at(array.data, array.size * _CANDIDATE.itemsize)
        return np.frombuffer(raw, dtype=_CANDIDATE)

    def close(self) -> None:
        """Free the chain and the samplers in it."""
        if self._chain:
            self._llama.llama_sampler_free(self._chain)
        self._chain = None
