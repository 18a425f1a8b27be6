"""The cell that repeats a run of a report: its arm, prompts and conditions, or why not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Literal, TypeVar

from benchlint.checker.facts import ConfigurationFacts, Placed, RunFacts
from benchlint.checker.model import Block, Quantization
from benchlint.checker.numbers import reported
from benchlint.reproducers.conditions import NO_TEMPLATE, Here, of_configuration, same_conditions
from benchlint.reproducers.design import FULL
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.plan import (
    OUTPUT_TOKENS,
    WINDOW_TOKENS,
    Cell,
    Circumstances,
    context_for,
)
from benchlint.reproducers.workloads import BUNDLED, PromptSet, bundled
from benchlint.reproducers.workloads.published import Published, published
from benchlint.reproducers.workloads.texts import Text

M = TypeVar("M", bound=Block)

#: Prompts used in place of those that a report does not publish.
STAND_INS = 12

#: The same where each of them takes long to prefill: beyond this many tokens.
STAND_INS_FAR = 3
_FAR = 1 << 15

#: The longest answer that is asked for, in tokens.
_LONGEST_OUTPUT = 32768

#: What a report may call a machine on which nothing else ran.
_NO_LOAD = frozenset({"none", "nothing", "no", "idle"})

#: The stop rules that a request can express.
_STOP_RULES = (None, "length", "eos", "ignore_eos")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user says beside the report.

    folder: where the report lies, for files beside it. prompts: a set to be used; it is the
    report's where it has its hash. here: what is known of the place. pairs: most rounds.
    max_tokens: length of answers where the report does not say. text: to be scored for
    perplexity; it is the report's where it has its hash. context_tokens: its window where the
    report does not say. seed: of the sampler where the report states none. runs: ids of the
    runs to be tested, with the claims about them; all where there are none. tolerance: a share,
    in place of that of speeds, speed-ups, acceptance and memory.
    """

    folder: Path | None = None
    prompts: PromptSet | None = None
    here: Here = field(default_factory=Here)
    pairs: int = FULL
    max_tokens: int = OUTPUT_TOKENS
    text: Text | None = None
    context_tokens: int = WINDOW_TOKENS
    seed: int | None = None
    runs: frozenset[str] = frozenset()
    tolerance: float | None = None


class RunCell:
    """A run of a report with the cell that repeats it."""

    def __init__(self, run: RunFacts, wishes: Wishes) -> None:
        self.run = run
        self.wishes = wishes

    @cached_property
    def published(self) -> Published:
        """The run's prompts, as far as the report publishes them."""
        placed = self.run.workload
        if placed is None:
            return published(None, self.wishes.folder)
        count = placed.model.prompt_count
        prompts = placed.model.prompts
        return published(prompts, self.wishes.folder, self.wishes.prompts, count)

    @cached_property
    def same(self) -> dict[str, bool | None]:
        """For each condition whether it is known to be equal here."""
        return same_conditions(self.run, self.wishes.here, self.published.same)

    @cached_property
    def barrier(self) -> str:
        """Why the run cannot be repeated at all, or ""."""
        if self.run.parts:
            return "pools other runs, which are tested themselves"
        return next(_barriers(self.run.configuration), "") or next(_other_models(self.same), "")

    @cached_property
    def series(self) -> str:
        """Workload and conditions as the name of a series; quoted, so that no two are alike."""
        workload, filled = self.run.model.workload, self.circumstances.filled_tokens
        name = "no stated workload" if workload is None else repr(workload)
        return name if filled is None else f"{name} at {filled}"

    @property
    def name(self) -> str:
        """Name of the cell. Runs that differ in nothing that is measured share it."""
        return f"{self.run.model.configuration} on {self.series}"

    @cached_property
    def cell(self) -> Cell:
        """The cell; only where there is no barrier."""
        arm = _seeded(arm_of(self.run.configuration), self.wishes.seed)
        arm = _placed(arm, self.wishes.here)
        prompts, where = self.prompts, self.circumstances
        context = context_for(prompts, where, self._stated_context)
        return Cell(
            self.name,
            self.series,
            replace(arm, context_tokens=context),
            prompts,
            where,
            self.wishes.pairs,
            self.published.same,
            (self.run.id,),
        )

    @property
    def _stated_context(self) -> int | None:
        """The stated size of the KV cache, where memory was measured with it."""
        cache = self.run.configuration.kv_cache
        if self.run.memory is None or cache is None:
            return None
        return cache.model.max_context_tokens

    @cached_property
    def prompts(self) -> PromptSet:
        """The report's prompts, else the user's, else bundled ones of the same kinds."""
        far = (self.circumstances.filled_tokens or 0) > _FAR
        found = self.published.prompts or self.wishes.prompts
        return found or stand_ins(self._kinds, STAND_INS_FAR if far else STAND_INS)

    @property
    def _kinds(self) -> tuple[str, ...]:
        placed = self.run.workload
        return () if placed is None else tuple(placed.model.mix or ())

    @cached_property
    def circumstances(self) -> Circumstances:
        """The conditions to be measured under."""
        placed = self.run.workload
        workload = None if placed is None else placed.model
        template = "" if workload is None else (workload.chat_template or "").strip().casefold()
        return Circumstances(
            filled_tokens=self._filled_tokens,
            max_tokens=self._stated_output or self.wishes.max_tokens,
            ignore_eos=workload is not None and workload.stop_rule == "ignore_eos",
            chat=template not in NO_TEMPLATE,
        )

    @property
    def _filled_tokens(self) -> int | None:
        """Up to where the cache is to be filled: as it was meant, else as it was measured."""
        conditions, filled = self.run.model.conditions, self.run.filled_tokens
        position = None if conditions is None else conditions.kv_position
        if position is not None and position.fill_to_tokens is not None:
            return max(position.fill_to_tokens, 0)
        return None if filled is None else max(int(filled.value), 0)

    @cached_property
    def _stated_output(self) -> int | None:
        placed = self.run.workload
        length = None if placed is None else reported(placed.model.output_tokens, "", count=True)
        if length is None:
            return None
        # Answers of several lengths were limited by no less than the longest.
        most = max((length.value, *((length.detail and length.detail.range) or ())))
        return round(most) if 1 <= most <= _LONGEST_OUTPUT else None

    @property
    def unknown(self) -> Iterator[str]:
        """Conditions beside those of `same` that are not known to be equal."""
        if self._stated_output is None:
            yield "output length"
        workload = self.run.workload
        if workload is not None and workload.model.stop_rule not in _STOP_RULES:
            yield "stop rule"
        if self.run.concurrency is None:
            yield "concurrency"
        machine = self.run.configuration.machine
        load = None if machine is None else machine.model.other_load
        if load and load.strip().casefold() not in _NO_LOAD:
            yield "other load"

    @property
    def states_context(self) -> bool:
        """Whether the size of the KV cache is stated, on which memory depends."""
        return self._stated_context is not None


# Prompts


def stand_ins(kinds: tuple[str, ...], number: int = STAND_INS) -> PromptSet:
    """Some bundled prompts of these kinds in turn, of all kinds where none is known."""
    names = [kind for kind in kinds if kind in BUNDLED] or list(BUNDLED)
    sets = [[replace(p, id=f"{n}/{p.id}") for p in bundled(n).prompts] for n in names]
    mixed = (p for each in zip_longest(*sets) for p in each if p is not None)
    return PromptSet("+".join(names), tuple(islice(mixed, number)))


# Arms


def arm_of(found: ConfigurationFacts) -> Arm:
    """How an engine is set up for a configuration."""
    name, sampling = str(found.name), sampling_of(found)
    kv_types = kv_types_of(found)
    if not found.speculates:
        return Arm(name, sampling=sampling, kv_types=kv_types)
    length = found.draft_length
    p_min = None if length is None else length.model.p_min
    return Arm(
        name,
        method=found.drafters[0].model.method or "draft_model",
        draft_length=None if length is None else length.model.max,
        p_min=float(p_min or 0.0),
        draft_selection=_placement(found),
        sampling=sampling,
        kv_types=kv_types,
    )


def _seeded(arm: Arm, seed: int | None) -> Arm:
    """The arm with this seed where it has none."""
    if seed is None or arm.sampling.seed is not None:
        return arm
    return replace(arm, sampling=replace(arm.sampling, seed=seed))


def _placed(arm: Arm, here: Here) -> Arm:
    """The arm without a GPU to select drafts on where the processor does the work.

    What is drafted and accepted is the same; speeds are of another device anyway.
    """
    no_gpu = here.cores is not None
    return replace(arm, draft_selection=None) if no_gpu and arm.draft_selection == "gpu" else arm


def sampling_of(found: ConfigurationFacts) -> Sampling:
    """The sampler parameters that a configuration states, without their printed digits."""
    if found.sampler is None:
        return Sampling()
    sampler = found.sampler.model
    return Sampling(
        temperature=_float(sampler.temperature),
        top_p=_float(sampler.top_p),
        top_k=sampler.top_k,
        min_p=_float(sampler.min_p),
        repetition_penalty=_float(sampler.repetition_penalty),
        presence_penalty=_float(sampler.presence_penalty),
        frequency_penalty=_float(sampler.frequency_penalty),
        seed=sampler.seed,
    )


def _float(number: float | None) -> float | None:
    return None if number is None else float(number)


def _placement(found: ConfigurationFacts) -> Literal["gpu", "cpu"] | None:
    placement = None if found.draft_selection is None else found.draft_selection.model.placement
    return placement if placement in ("gpu", "cpu") else None


def kv_types_of(found: ConfigurationFacts) -> tuple[str, str] | None:
    """Types of the target's keys and values, which a report may name apart: "q8_0/q4_0"."""
    cache = None if found.kv_cache is None else found.kv_cache.model
    if cache is None or cache.target_type is None:
        return None
    keys, _, values = cache.target_type.partition("/")
    return keys.strip(), (values or keys).strip()


def plain_cell(speculative: Cell, taken: Collection[str]) -> Cell:
    """The baseline of a series that has none: the same without a drafter.

    taken: names of other arms.
    """
    arm = Arm(
        next(name for name in ("baseline" + "'" * i for i in count()) if name not in taken),
        sampling=speculative.arm.sampling,
        context_tokens=speculative.arm.context_tokens,
        kv_types=speculative.arm.kv_types,
    )
    return replace(speculative, name=f"baseline of {speculative.series}", arm=arm, runs=())


def _barriers(found: ConfigurationFacts) -> Iterator[str]:
    """What no arm can express."""
    if not found.known:
        yield "names no configuration of the report"
    elif found.speculates is None:
        yield "does not say whether a drafter ran"
    if len(found.drafters) > 1:
        yield "chains several drafters"
    if any(d.model.method == "other" for d in found.drafters):
        yield "drafts by a method that is not known here"
    if found.draft_length is not None and found.draft_length.model.tree is not None:
        yield "drafts trees"
    rule = None if found.acceptance_rule is None else found.acceptance_rule.model.kind
    if rule in ("relaxed", "synthetic"):
        yield f"accepts drafts by a {rule} rule"
    if found.k is not None and not 1 <= found.k.value <= 1024 and found.speculates:
        yield f"drafts {found.k} tokens a step"


def _other_models(same: dict[str, bool | None]) -> Iterator[str]:
    """Models that are not those here: nothing of them can even be shown."""
    words = {
        "weights": "has other weights than the target here",
        "quantization": "has another quantization than the target here",
        "drafter": "has another drafter than the one here",
    }
    yield from (word for name, word in words.items() if same[name] is False)


# What two runs have in common


def apart(a: RunFacts, b: RunFacts) -> str:
    """Why one engine on one machine cannot stand for both runs, or ""."""
    first, second = a.configuration, b.configuration
    if first is second:
        return ""
    if _model(first.machine) != _model(second.machine):
        return "compares two machines"
    if _model(first.target) != _model(second.target):
        return "compares two targets"
    if _engine(first) != _engine(second):
        return "compares two engines"
    return _drafters_apart(first, second)


def _model(placed: Placed[M] | None) -> M | None:
    return None if placed is None else placed.model


def _engine(found: ConfigurationFacts) -> tuple[object, ...]:
    """What one engine has one of. A patch may be what brings the drafter."""
    if found.engine is None:
        return ()
    engine = found.engine.model
    return engine.name, engine.version, engine.commit, engine.backend, engine.attention_backend


def _drafters_apart(a: ConfigurationFacts, b: ConfigurationFacts) -> str:
    models = {(d.model.model, _recipe(d.model.quantization)) for c in (a, b) for d in c.drafters}
    if len({m for m in models if m != (None, None)}) > 1:
        return "compares two drafters"
    return "compares setups that differ in what cannot be set here" if _alike(a, b) else ""


def _recipe(quantized: Quantization | None) -> str | None:
    return None if quantized is None else quantized.recipe


def _alike(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    return replace(arm_of(a), name="") == replace(arm_of(b), name="")


def scoring_barrier(found: ConfigurationFacts, here: Here) -> str:
    """Why nothing can be scored with a configuration's target, or ""."""
    if not found.known:
        return "names no configuration of the report"
    return next(_other_models({**of_configuration(found, here), "drafter": None}), "")


def scorings_apart(a: ConfigurationFacts, b: ConfigurationFacts) -> str:
    """Why scoring a text with one engine says nothing of how two setups differ, or ""."""
    if _model(a.target) != _model(b.target):
        return "compares two targets"
    alike = kv_types_of(a) == kv_types_of(b)
    return "compares setups whose difference takes no part in scoring a text" if alike else ""
