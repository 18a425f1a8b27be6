"""llama.cpp in this process: the engine with exact counts.

The loop is this project's (`speculative_loop`), the models are llama.cpp's. Every answer starts
from an empty KV cache. Prefill and decode are timed apart by this process's monotonic clock;
llama.cpp's own counters take a verify step for prompt processing and are not used.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from benchlint.reproducers.engine import (
    Arm,
    Description,
    Divergence,
    EngineError,
    Request,
    Sample,
    UnsupportedError,
)
from benchlint.reproducers.llama_cpp_build import backend, commit
from benchlint.reproducers.llama_cpp_model import (
    KV_TYPES,
    Context,
    ContextSettings,
    SelectingContext,
    Weights,
    bindings,
)
from benchlint.reproducers.llama_cpp_perplexity import negative_log_likelihoods
from benchlint.reproducers.llama_cpp_sampler import GREEDY, SamplerSettings, settings_for
from benchlint.reproducers.prompt_lookup import DRAFT_LENGTH as LOOKUP_LENGTH
from benchlint.reproducers.prompt_lookup import PromptLookup
from benchlint.reproducers.speculative_loop import Answer, Drafter, ModelDrafter, Task, answer

#: llama.cpp's default of --spec-draft-n-max.
DRAFT_LENGTH = 3


@dataclass(frozen=True, slots=True)
class Options:
    """What an arm does not say.

    gpu_layers: layers to offload, negative for all. threads: CPU threads; None for half of the
    processors, as llama-cpp-python takes. batch_tokens, pass_tokens: llama.cpp's n_batch and
    n_ubatch. draft_method: whether a draft model's most probable token is taken, as llama.cpp
    does, or one is drawn from its distribution as in Leviathan et al. 2023.
    flash_attention: None leaves it to llama.cpp.
    """

    gpu_layers: int = -1
    threads: int | None = None
    batch_tokens: int = 2048
    pass_tokens: int = 512
    draft_method: Literal["argmax", "sampled"] = "argmax"
    flash_attention: bool | None = None

    @property
    def threads_in_effect(self) -> int:
        """The number of CPU threads."""
        return self.threads or max(1, (os.cpu_count() or 1) // 2)


@dataclass(frozen=True, slots=True)
class LlamaCppSample(Sample):
    """An answer, and how many tokens an end token that its draft ended with cut off: 0 or 1.

    output_tokens = 1 + verify steps + plain steps + accepted - cut.
    """

    cut: int = 0


class LlamaCppEngine:
    """An `Engine` for a target and, where arms draft with a model, a drafter: GGUF files."""

    scores_texts = True

    def __init__(
        self,
        target: Path,
        drafter: Path | None = None,
        options: Options | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._paths = {"target": target, "drafter": drafter}
        self._options = options or Options()
        self._clock = clock
        self._weights: dict[str, Weights] = {}
        self._contexts: list[Context] = []
        self._drafter: Drafter | None = None
        self._seed = 0
        self._kv_types = (KV_TYPES["f16"], KV_TYPES["f16"])

    def start(self, arm: Arm) -> Description:
        """Set contexts up for an arm; models stay loaded from one arm to the next.

        Sampler parameters that the arm leaves open are the model file's recommendation, else
        llama.cpp's defaults. A seed left open is drawn, and told. Raises EngineError and
        UnsupportedError.
        """
        self._release()
        _refuse(arm, self._options)
        target = self._load("target")
        sampler = _sampler_for(arm, target)
        self._kv_types = _kv_types(arm)
        wish = arm.sampling.seed
        self._seed = random.SystemRandom().getrandbits(32) if wish is None else wish
        context = self._open(target, arm.context_tokens, sampler)
        self._drafter = self._make_drafter(arm, target, sampler)
        return self._describe(arm, sampler, context)

    def _load(self, role: str) -> Weights:
        path = self._paths[role]
        if path is None:
            raise UnsupportedError("the arm needs a draft model and none was given")
        if role not in self._weights:
            self._weights[role] = Weights(path, self._options.gpu_layers)
        return self._weights[role]

    def _settings(self, context_tokens: int, kv_types: tuple[int, int]) -> ContextSettings:
        options = self._options
        batch = min(options.batch_tokens, context_tokens)
        return ContextSettings(
            context_tokens=context_tokens,
            batch_tokens=batch,
            pass_tokens=min(options.pass_tokens, batch),
            threads=options.threads_in_effect,
            kv_types=kv_types,
            flash_attention=options.flash_attention,
        )

    def _open(self, weights: Weights, context_tokens: int, sampler: SamplerSettings) -> Context:
        settings = self._settings(context_tokens, self._kv_types)
        self._contexts.append(Context(weights, settings, sampler))
        return self._contexts[-1]

    def _make_drafter(self, arm: Arm, target: Weights, sampler: SamplerSettings) -> Drafter | None:
        length = _draft_length(arm)
        if arm.method is None:
            return None
        if not target.rolls_back:
            raise UnsupportedError(
                f"{target.path.name} is recurrent: a rejected draft cannot be taken back here"
            )
        if arm.method == "prompt_lookup":
            return PromptLookup(length)
        return ModelDrafter(self._open_drafter(arm, target, sampler), length, arm.p_min)

    def _open_drafter(self, arm: Arm, target: Weights, sampler: SamplerSettings) -> Context:
        """A context of f16, llama.cpp's default for drafters whatever the target has."""
        weights = self._load("drafter")
        if not weights.rolls_back:
            raise UnsupportedError(f"{weights.path.name} is recurrent and cannot draft here")
        if not weights.drafts_for(target):
            raise UnsupportedError(
                f"{weights.path.name} cannot draft for {target.path.name}: "
                "their vocabularies differ"
            )
        settings = self._settings(arm.context_tokens, (KV_TYPES["f16"], KV_TYPES["f16"]))
        shared = min(weights.size, target.size)
        self._contexts.append(
            SelectingContext(weights, settings, shared)
            if arm.draft_selection == "gpu"
            else Context(weights, settings, self._drafting_sampler(sampler), shared)
        )
        return self._contexts[-1]

    def _drafting_sampler(self, sampler: SamplerSettings) -> SamplerSettings:
        """Without penalties, which would have to be taken back with rejected drafts."""
        if self._options.draft_method == "argmax":
            return GREEDY
        return SamplerSettings(sampler.temperature, sampler.top_k, sampler.top_p, sampler.min_p)

    def _describe(self, arm: Arm, sampler: SamplerSettings, context: Context) -> Description:
        drafter = self._weights["drafter"] if arm.method == "draft_model" else None
        in_effect = {k: v for k, v in asdict(sampler).items() if k != "penalty_tokens"}
        return Description(
            engine="llama.cpp",
            version=f"llama-cpp-python {bindings().__version__}",
            commit=commit(),
            backend=backend(self._options.gpu_layers),
            sampler={**in_effect, "seed": self._seed},
            speculation=self._speculation(arm),
            target=self._weights["target"].description(),
            drafter=drafter.description() if drafter else {},
            context_tokens=context.capacity,
            threads=self._options.threads_in_effect,
            telemetry="in process",
        )

    def _speculation(self, arm: Arm) -> Mapping[str, str | float | int | None]:
        drafter = self._drafter
        if drafter is None:
            return {"method": "none"}
        common = {
            "method": arm.method,
            "draft_length": drafter.draft_length,
            "acceptance_rule": "lossless",
        }
        if isinstance(drafter, PromptLookup):
            return {**common, "longest_ngram": drafter.longest}
        method = self._options.draft_method
        return {
            **common,
            "p_min": arm.p_min,
            "draft_selection": arm.draft_selection or "cpu",
            "draft_method": method,
            "drafter_kv_type": "f16",
        }

    def generate(self, request: Request) -> LlamaCppSample:
        """Answer one prompt from an empty KV cache, with the arm's seed.

        Raises EngineError where prompt and output do not fit into the context.
        """
        context, target = self._started()
        sent = self._clock()
        task = self._task(request, context, target)
        found = answer(context, self._drafter, task)
        return self._sample(found, len(task.prompt), sent)

    def _started(self) -> tuple[Context, Weights]:
        if not self._contexts:
            raise EngineError("the engine is not started")
        return self._contexts[0], self._weights["target"]

    def _task(self, request: Request, context: Context, target: Weights) -> Task:
        text = target.chat_prompt(request.prompt) if request.chat else request.prompt
        prompt = target.tokenize(text)
        _check_room(request, len(prompt), context.capacity)
        # As llama-server does it: an ignored end token is never drawn (logit_bias_eog).
        context.forbid(target.end_tokens if request.ignore_eos else ())
        return Task(
            prompt=prompt,
            max_tokens=request.max_tokens,
            end_tokens=target.end_tokens,
            uniform=random.Random(self._seed).random,  # noqa: S311  a seeded one is wanted
            clock=self._clock,
        )

    def _sample(self, found: Answer, prompt_tokens: int, sent: float) -> LlamaCppSample:
        return LlamaCppSample(
            text=self._weights["target"].detokenize(found.tokens),
            output_tokens=len(found.tokens),
            prompt_tokens=prompt_tokens,
            cached_tokens=0,
            prefill_s=found.prefill_s,
            decode_s=found.decode_s,
            ttft_s=found.marks[1] - sent,
            total_s=found.marks[-1] - sent,
            chunk_s=tuple(mark - sent for mark in found.marks[1:]),
            token_ids=found.tokens,
            finish_reason=found.finish_reason,
            counters=found.counters,
            cut=found.cut,
        )

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """Where two greedy outputs of a request part; None where one begins with the other.

        Raises EngineError where a sample has no tokens.
        """
        if first.token_ids is None or second.token_ids is None:
            raise EngineError("outputs without tokens cannot be compared")
        pairs = enumerate(zip(first.token_ids, second.token_ids, strict=False))
        parting = next((i for i, (a, b) in pairs if a != b), None)
        if parting is None:
            return None
        context, target = self._started()
        self._replay(request, first.token_ids[:parting], context, target)
        a, b = first.token_ids[parting], second.token_ids[parting]
        logits = context.logits(0)
        return Divergence(parting, a, b, float(logits[a]) - float(logits[b]))

    def _replay(
        self, request: Request, output: Sequence[int], context: Context, target: Weights
    ) -> None:
        """Bring the KV cache to where plain decoding had it after these tokens."""
        context.clear()
        context.prefill(self._task(request, context, target).prompt)
        for token in output:
            context.evaluate([token])

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """Negative log-likelihood (nats a token) of each full window of the text.

        With the KV types of the arm in effect, see `llama_cpp_perplexity`. Raises EngineError for
        windows below 4 tokens.
        """
        target = self._load("target")
        return negative_log_likelihoods(
            target, self._settings(context_tokens, self._kv_types), text
        )

    def _release(self) -> None:
        while self._contexts:
            self._contexts.pop().close()
        self._drafter = None

    def close(self) -> None:
        """Free contexts and models. May be called at any time, also twice."""
        self._release()
        while self._weights:
            self._weights.popitem()[1].close()


def _refuse(arm: Arm, options: Options) -> None:
    """Raise UnsupportedError for what this engine cannot do."""
    if arm.context_tokens < 2:
        raise UnsupportedError(f"a context of {arm.context_tokens} tokens holds no answer")
    if arm.method is None:
        return
    if arm.method not in ("draft_model", "prompt_lookup"):
        raise UnsupportedError(
            f"llama.cpp in process drafts by draft_model or prompt_lookup, not by {arm.method}"
        )
    most = min(options.pass_tokens, options.batch_tokens, arm.context_tokens) - 1
    if not 1 <= _draft_length(arm) <= most:
        raise UnsupportedError(f"a draft length of {arm.draft_length} is not within 1 to {most}")
    if arm.method == "draft_model" and arm.draft_selection == "gpu":
        _refuse_device(options)


def _refuse_device(options: Options) -> None:
    """Raise UnsupportedError where draft tokens cannot be selected on a GPU."""
    if options.draft_method == "sampled":
        raise UnsupportedError("llama.cpp in process samples draft tokens on the CPU alone")
    if backend(options.gpu_layers) == "CPU":
        raise UnsupportedError("draft tokens cannot be selected on a GPU: llama.cpp uses none")


def _draft_length(arm: Arm) -> int:
    default = LOOKUP_LENGTH if arm.method == "prompt_lookup" else DRAFT_LENGTH
    return default if arm.draft_length is None else arm.draft_length


def _sampler_for(arm: Arm, target: Weights) -> SamplerSettings:
    try:
        return settings_for(arm.sampling, target.metadata)
    except ValueError as error:
        raise EngineError(f"{target.path.name} recommends a sampler in vain: {error}") from error


def _kv_types(arm: Arm) -> tuple[int, int]:
    names = arm.kv_types or ("f16", "f16")
    unknown = [name for name in names if name.lower() not in KV_TYPES]
    if unknown:
        raise UnsupportedError(f"llama.cpp has no KV cache of type {unknown[0]}")
    return KV_TYPES[names[0].lower()], KV_TYPES[names[1].lower()]


def _check_room(request: Request, prompt_tokens: int, capacity: int) -> None:
    if not prompt_tokens:
        raise EngineError("the prompt is empty")
    if request.max_tokens < 1:
        raise EngineError("max_tokens must be at least 1")
    if prompt_tokens + request.max_tokens > capacity:
        raise EngineError(
            f"{prompt_tokens} prompt tokens and {request.max_tokens} output tokens do not fit "
            f"into a context of {capacity}"
        )
