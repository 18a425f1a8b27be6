"""What a report says once its references are followed: the view that rules work on.

A run names a configuration, which may be based on another and may lay partial machine, engine
and target blocks over the report's. Facts resolve that once and keep, for every value, the
pointer of the place it really came from. Numbers are `Reported` intervals. Nothing here
judges; what is absent or dangling is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from benchlint.checker.engines import EngineKind, engine_kind
from benchlint.checker.given import Absent, Given, given_by, given_by_parts
from benchlint.checker.lazy import cached_property
from benchlint.checker.model import (
    AcceptanceRateObject,
    AcceptanceRule,
    AcceptedLengthObject,
    Block,
    Claim,
    Conditions,
    Configuration,
    Counts,
    Decode,
    Drafter,
    DraftLength,
    DraftSelection,
    KvCache,
    Losslessness,
    Measured,
    MeasuredObject,
    Measurement,
    Memory,
    Offload,
    Prefill,
    Quality,
    Report,
    Run,
    Sampler,
    Speculation,
    SpeedupObject,
    Throughput,
    Workload,
)
from benchlint.checker.numbers import Reported, reported
from benchlint.checker.pointers import pointer as make_pointer
from benchlint.checker.readings import Readings
from benchlint.checker.timings import timed_members

if TYPE_CHECKING:
    from benchlint.checker.claims import Gap, Statement

M = TypeVar("M", bound=Block)

Tri = bool | None


#: So many configurations may be based on one another. Each is looked through for every fact.
MAX_LAYERS = 32

#: Of more runs, not each is compared with each.
MANY_RUNS = 1_000


@dataclass(slots=True)
class Placed(Generic[M]):
    """A block and where it stands.

    overlaid: fields that came from elsewhere, with the pointer of the block they came from.
    bare: the block was written as a bare value, so that all its fields stand at its pointer.
    """

    model: M
    pointer: str
    overlaid: Mapping[str, str] | None = None
    bare: bool = False

    def at(self, name: str, *rest: str | int) -> str:
        """Pointer of a field of this block, or of something inside it."""
        if self.bare:
            return self.pointer
        block = self.overlaid.get(name, self.pointer) if self.overlaid else self.pointer
        at = f"{block}/{name}"  # the name of a field needs no escape
        return at + make_pointer(*rest) if rest else at


# The blocks that bare values stand for. There are few, and nobody changes them.


@lru_cache(maxsize=64)
def _bare_length(k: int) -> DraftLength:
    return DraftLength.model_construct(max=k)


@lru_cache(maxsize=64)
def _bare_rule(kind: str) -> AcceptanceRule:
    return _RULE.model_copy(update={"kind": kind})


@lru_cache(maxsize=64)
def _bare_offload(kind: str) -> Offload:
    return _OFFLOAD.model_copy(update={"kind": kind})


_RULE = AcceptanceRule.model_construct()
_OFFLOAD = Offload.model_construct()


class TreeFacts:
    """The tree of a report as it was read, for what is asked of every text in it."""

    pointer = ""

    def __init__(self, tree: object) -> None:
        self.tree = tree


class ConfigurationFacts:
    """A configuration with everything it inherits."""

    def __init__(self, report: ReportFacts, name: str | None) -> None:
        self.__dict__ = {}  # see `_RUN`
        self.report = report
        self.name = name
        self.layers = report.configuration_layers(name)
        #: The nearest layer that gives each member, be it as null.
        self._givers: dict[str, Placed[Configuration]] = {}
        for layer in reversed(self.layers):
            self._givers.update(dict.fromkeys(layer.model.__pydantic_fields_set__, layer))
        #: Machine, engine and target of the report, with what the configuration lays over them.
        self.machine = self._overlaid("machine", report.machine)
        self.engine = self._overlaid("engine", report.engine)
        self.target = self._overlaid("target", report.target)
        #: The sampler and KV-cache blocks in effect.
        self.sampler = self._block("sampler", Sampler)
        self.kv_cache = self._block("kv_cache", KvCache)
        #: The drafters in order; empty when there is none or it is not said.
        self.drafters = self._drafters()
        #: True with a drafter, False where it is null (a baseline), None when not said.
        self.speculates: Tri = bool(self.drafters) if "drafter" in self._givers else None

    @property
    def known(self) -> bool:
        """Whether the configuration exists in the report."""
        return bool(self.layers)

    @property
    def pointer(self) -> str:
        """Pointer of the configuration itself, or of the whole report when unknown."""
        return self.layers[0].pointer if self.layers else ""

    def _block(self, name: str, kind: type[M]) -> Placed[M] | None:
        layer = self._givers.get(name)
        value = getattr(layer.model, name) if layer is not None else None
        if layer is None or not isinstance(value, kind):
            return None
        return Placed(value, layer.at(name))

    def _overlaid(self, name: str, base: Placed[M] | None) -> Placed[M] | None:
        """The report's block with each layer's partial block laid over it, field by field."""
        if name not in self._givers:
            return base
        merged, pointers = None if base is None else base.model, dict[str, str]()
        for layer in reversed(self.layers):
            partial = getattr(layer.model, name)
            if partial is None:
                continue
            given = partial.model_fields_set
            pointers.update(dict.fromkeys(given, layer.at(name)))
            update = {each: getattr(partial, each) for each in given}
            merged = partial if merged is None else merged.model_copy(update=update)
        return None if merged is None else Placed(merged, f"/{name}", pointers)

    @cached_property
    def engine_kind(self) -> EngineKind | None:
        """Which engine its name means, where it is a known one."""
        return None if self.engine is None else engine_kind(self.engine.model.name)

    @cached_property
    def draft_selection(self) -> Placed[DraftSelection] | None:
        """The draft-selection block in effect."""
        return self._block("draft_selection", DraftSelection)

    @cached_property
    def acceptance_rule(self) -> Placed[AcceptanceRule] | None:
        """The acceptance rule; a bare word counts as its kind."""
        layer = self._givers.get("acceptance_rule")
        if layer is None or layer.model.acceptance_rule is None:
            return None
        rule, at = layer.model.acceptance_rule, layer.at("acceptance_rule")
        if isinstance(rule, str):
            return Placed(_bare_rule(rule), at, bare=True)
        return Placed(rule, at)

    def _drafters(self) -> tuple[Placed[Drafter], ...]:
        layer = self._givers.get("drafter")
        drafter = None if layer is None else layer.model.drafter
        if layer is None or drafter is None:
            return ()
        if isinstance(drafter, list):
            return tuple(Placed(d, layer.at("drafter", i)) for i, d in enumerate(drafter))
        return (Placed(drafter, layer.at("drafter")),)

    @cached_property
    def drafter_pointer(self) -> str:
        """Pointer of the drafter member, or of the configuration."""
        layer = self._givers.get("drafter")
        return self.pointer if layer is None else layer.at("drafter")

    @cached_property
    def draft_length(self) -> Placed[DraftLength] | None:
        """The draft-length block; a bare number counts as its maximum."""
        layer = self._givers.get("draft_length")
        if layer is None or layer.model.draft_length is None:
            return None
        length, at = layer.model.draft_length, layer.at("draft_length")
        if isinstance(length, int):
            return Placed(_bare_length(length), at, bare=True)
        return Placed(length, at)

    @cached_property
    def k(self) -> Reported | None:
        """Configured maximum draft length K in tokens, exact. For a tree see `max_accepted`."""
        placed = self.draft_length
        if placed is None or placed.model.max is None:
            return None
        return reported(placed.model.max, placed.at("max"), count=True)

    @cached_property
    def max_accepted(self) -> Reported | None:
        """Most draft tokens one verify step can accept: a tree's depth, else K; exact."""
        placed = self.draft_length
        tree = None if placed is None else placed.model.tree
        if placed is not None and tree is not None:
            return reported(tree.depth, placed.at("tree", "depth"), count=True)
        return self.k

    @cached_property
    def drafts_a_tree(self) -> bool:
        """Whether drafts are (or by their method may be) trees rather than chains."""
        if self.draft_length is not None and self.draft_length.model.tree is not None:
            return True
        return any(
            d.model.method in ("eagle", "eagle2", "medusa", "other", None) for d in self.drafters
        )

    @cached_property
    def fixed_k(self) -> Tri:
        """True where the report says every draft has K tokens, False where it says otherwise.

        None when it is not said; an n-gram or suffix drafter, a p_min over 0 and a minimum
        under the maximum all mean that drafts may be shorter.
        """
        placed = self.draft_length
        if placed is None:
            return None
        length = placed.model
        if length.policy == "adaptive" or (length.p_min or 0) > 0:
            return False
        if any(d.model.method in ("ngram", "suffix", "prompt_lookup") for d in self.drafters):
            return False
        return True if length.policy == "fixed" else None

    @cached_property
    def offload(self) -> Placed[Offload] | None:
        """The engine's offload block; a bare word counts as its kind."""
        engine = self.engine
        if engine is None or engine.model.offload is None:
            return None
        offload, at = engine.model.offload, engine.at("offload")
        if isinstance(offload, str):
            return Placed(_bare_offload(offload), at, bare=True)
        return Placed(offload, at)


#: What every run has, and what one says nothing of, with the members it would need: as far as
#: many rules ask for it.
_RUN = Absent(
    {
        "conditions": ("conditions", None),
        "speculation": ("speculation", None),
        "counts_bonus_token": ("speculation.accepted_length.counts_bonus_token", None),
        "acceptance_rate": ("speculation.acceptance_rate", None),
        "acceptance_rate_of": ("speculation.acceptance_rate.of", None),
        "positions": ("speculation.per_position.values", ()),
        "counts": ("speculation.counts", None),
        "prefill_tokens": ("prefill.tokens", None),
        "decode_tokens": ("decode.tokens", None),
        "throughput_tok_s": ("throughput.tok_s", None),
        "speedup": ("speedup", None),
        "speedup_over": ("speedup", None),
        "measurement": ("measurement", None),
        "parts": ("parts", ()),
    },
    always=(
        *("given", "report", "index", "model", "members", "pointer", "id", "configuration"),
        "_numbers",
        *("workload", "speculates", "concurrency", "filled_tokens"),
        *("decode_tok_s", "accepted_length"),
    ),
)


class RunFacts:
    """A run with its configuration, workload and numbers."""

    def __init__(self, report: ReportFacts, index: int, model: Run) -> None:
        given = given_by(model)
        self.__dict__ = _RUN.of(given)
        #: The members that it gives.
        self.given = given
        self.report = report
        self.index = index
        self.model = model
        #: The same as the model's attributes, which pydantic hands out ten times slower.
        self.members: dict[str, Any] = model.__dict__
        self.pointer = f"/runs/{index}"
        self.id: str = self.members["id"]
        #: The resolved configuration; an unknown one has no layers and says nothing.
        self.configuration = report.configuration(self.members["configuration"])
        self._numbers: dict[tuple[str, str, bool], Reported | None] = {}
        #: The workload, where it exists.
        self.workload = report.workload(self.members["workload"])
        #: Whether a drafter ran: by configuration, else by what speculation reports. None when
        #: neither says.
        self.speculates = self._speculates()
        #: Requests in flight at once, where stated.
        conditions: Conditions | None = self.members["conditions"]
        self.concurrency = None if conditions is None else conditions.concurrency
        #: KV position in tokens before decode, exact.
        self.filled_tokens = None if conditions is None else self._filled_tokens(conditions)
        #: Decode speed of one stream in tokens per second.
        self.decode_tok_s = self.number("decode", "tok_s")
        #: Accepted length τ as printed, in tokens per verify step.
        self.accepted_length = self.number("speculation", "accepted_length")

    def __str__(self) -> str:
        return f"run {self.id!r}"

    def at(self, *parts: str | int) -> str:
        """Pointer of something inside this run."""
        return self.pointer + make_pointer(*parts)

    def _block(self, name: str) -> Placed[Any] | None:
        value = self.members[name]
        return None if value is None else Placed(value, f"{self.pointer}/{name}")

    def number(self, block: str, name: str, *, count: bool = False) -> Reported | None:
        """A measured field of a block of the run, by name. count: it was counted, hence exact."""
        parent = self.members[block]
        value: Measured | None = None if parent is None else parent.__dict__[name]
        if value is None:
            return None
        key = block, name, count
        found = self._numbers.get(key)
        if found is None:
            found = reported(value, f"{self.pointer}/{block}/{name}", count=count)
            self._numbers[key] = found
        return found

    def member(self, path: str) -> Any:
        """The member at a path that it gives: "decode" or "decode.tok_s"."""
        name, _, inner = path.partition(".")
        found = self.members[name]
        return found.__dict__[inner] if inner else found

    # what it ran

    @cached_property
    def conditions(self) -> Placed[Conditions] | None:
        """The conditions block."""
        return self._block("conditions")

    def _filled_tokens(self, conditions: Conditions) -> Reported | None:
        position = conditions.kv_position
        if position is None:
            return None
        at = f"{self.pointer}/conditions/kv_position/filled_tokens"
        return reported(position.filled_tokens, at, count=True)

    def _speculates(self) -> Tri:
        said = self.configuration.speculates
        if said is not None:
            return said
        if self.members["speculation"] is not None or self.configuration.k is not None:
            return True
        return None

    # speculation

    @cached_property
    def readings(self) -> Readings:
        """What the numbers of this run may mean, by what is stated of engine and definitions."""
        return Readings(self)

    @cached_property
    def speculation(self) -> Placed[Speculation] | None:
        """The speculation block."""
        return self._block("speculation")

    @cached_property
    def counts_bonus_token(self) -> Tri:
        """Whether τ counts the target's own token, where stated."""
        block = self.model.speculation
        length = None if block is None else block.accepted_length
        return length.counts_bonus_token if isinstance(length, AcceptedLengthObject) else None

    @cached_property
    def acceptance_rate(self) -> Reported | None:
        """Acceptance rate as printed, a share of 1."""
        block = self.model.speculation
        if block is None:
            return None
        at = f"{self.pointer}/speculation/acceptance_rate"
        return reported(block.acceptance_rate, at, share=True)

    @cached_property
    def acceptance_rate_of(self) -> Literal["drafted", "output", "configured"] | None:
        """The stated denominator of the acceptance rate."""
        block = self.model.speculation
        rate = None if block is None else block.acceptance_rate
        return rate.of if isinstance(rate, AcceptanceRateObject) else None

    @cached_property
    def positions(self) -> tuple[Reported, ...]:
        """Per-position acceptance as printed, from position 1 on; shares of 1."""
        block = self.model.speculation
        per_position = None if block is None else block.per_position
        if per_position is None or per_position.values is None:
            return ()
        at = f"{self.pointer}/speculation/per_position/values"
        numbers = (reported(p, f"{at}/{i}", share=True) for i, p in enumerate(per_position.values))
        return tuple(n for n in numbers if n is not None)

    @cached_property
    def positions_kind(self) -> Literal["cumulative", "conditional"] | None:
        """The stated kind of the per-position list."""
        block = self.model.speculation
        per_position = None if block is None else block.per_position
        return None if per_position is None else per_position.kind

    @cached_property
    def counts(self) -> Placed[Counts] | None:
        """The engine's counters."""
        block = self.model.speculation
        if block is None or block.counts is None:
            return None
        return Placed(block.counts, f"{self.pointer}/speculation/counts")

    def count(self, name: str) -> Reported | None:
        """One counter (drafted, accepted, verify_steps, …), exact."""
        counts = self.counts
        value = None if counts is None else getattr(counts.model, name)
        if counts is None or value is None:
            return None
        key = "counts", name, True
        found = self._numbers.get(key)
        if found is None:
            found = reported(value, counts.at(name), count=True)
            self._numbers[key] = found
        return found

    @property
    def k(self) -> Reported | None:
        """Configured maximum draft length K in tokens, exact."""
        return self.configuration.k

    # speeds

    @cached_property
    def prefill(self) -> Placed[Prefill] | None:
        """The prefill block."""
        return self._block("prefill")

    @cached_property
    def decode(self) -> Placed[Decode] | None:
        """The decode block."""
        return self._block("decode")

    @cached_property
    def throughput(self) -> Placed[Throughput] | None:
        """The throughput block."""
        return self._block("throughput")

    @cached_property
    def prefill_tok_s(self) -> Reported | None:
        """Prefill speed in tokens per second."""
        return self.number("prefill", "tok_s")

    @cached_property
    def prefill_tokens(self) -> Reported | None:
        """Prefilled tokens; exact where a plain whole number."""
        return self.number("prefill", "tokens", count=True)

    @cached_property
    def prefill_seconds(self) -> Reported | None:
        """Prefill time in seconds."""
        return self.number("prefill", "seconds")

    @cached_property
    def ttft_ms(self) -> Reported | None:
        """Time to first token in ms."""
        return self.number("prefill", "ttft_ms")

    @cached_property
    def decode_tokens(self) -> Reported | None:
        """Decoded tokens; exact where a plain whole number."""
        return self.number("decode", "tokens", count=True)

    @cached_property
    def time_per_output_token_ms(self) -> Reported | None:
        """TPOT in ms."""
        return self.number("decode", "time_per_output_token_ms")

    @cached_property
    def inter_token_latency_ms(self) -> Reported | None:
        """Inter-token latency in ms, as the report calls it."""
        return self.number("decode", "inter_token_latency_ms")

    @cached_property
    def throughput_tok_s(self) -> Reported | None:
        """Aggregate output tokens per second."""
        return self.number("throughput", "tok_s")

    @cached_property
    def peak_tok_s(self) -> Reported | None:
        """Peak aggregate tokens (or chunks) per second."""
        return self.number("throughput", "peak_tok_s")

    @cached_property
    def step_time_ms(self) -> Reported | None:
        """Wall time of one verify step in ms."""
        value = self.model.step_time_ms
        return None if value is None else reported(value, f"{self.pointer}/step_time_ms")

    @cached_property
    def timed(self) -> tuple[tuple[str, Measured], ...]:
        """Every speed and time of the run as written, with its path; decode first."""
        members = self.members
        return tuple(
            [
                (path, members[block].__dict__[name] if name else members[block])
                for path, block, name in timed_members(self.given)
            ]
        )

    @cached_property
    def speedup(self) -> Reported | None:
        """The stated ratio to a named baseline."""
        value = self.model.speedup
        return None if value is None else reported(value, f"{self.pointer}/speedup")

    @cached_property
    def speedup_over(self) -> RunFacts | None:
        """The run that the stated speed-up is over."""
        value = self.model.speedup
        if not isinstance(value, SpeedupObject) or value.over is None:
            return None
        return self.report.run(value.over)

    # the rest

    @cached_property
    def memory(self) -> Placed[Memory] | None:
        """The memory block."""
        return self._block("memory")

    @cached_property
    def losslessness(self) -> Placed[Losslessness] | None:
        """The losslessness block."""
        return self._block("losslessness")

    @cached_property
    def measurement(self) -> Placed[Measurement] | None:
        """How the numbers were taken."""
        return self._block("measurement")

    @cached_property
    def parts(self) -> tuple[RunFacts, ...]:
        """The runs that this one pools; empty unless every one of them exists."""
        found = [self.report.run(each) for each in self.model.parts or ()]
        return tuple(r for r in found if r is not None) if all(found) else ()

    @cached_property
    def baseline(self) -> RunFacts | None:
        """The plain run to compare with: same workload and conditions, no drafter.

        The run that `speedup.over` names comes first. Else the only plain run that has the
        same workload, concurrency, KV position and machine; None when there are none or
        several with different speeds, since nobody said which.
        """
        if self.speedup_over is not None:
            return self.speedup_over
        if not self.speculates:
            return None
        if self.model.workload is None:
            return None
        machine = _model(self.configuration.machine)
        plain = self.report.plain_by_setting.get(_setting(self), ())
        alike = (r for r in plain if _model(r.configuration.machine) == machine)
        found = list(islice(alike, 2))
        return found[0] if len(found) == 1 else None


_Setting = tuple[str | None, int | None, float | None]


def _setting(run: RunFacts) -> _Setting:
    """Workload, concurrency and KV position as a run states them."""
    return run.members["workload"], run.concurrency, _value(run.filled_tokens)


def _value(number: Reported | None) -> float | None:
    return None if number is None else number.value


def _model(placed: Placed[M] | None) -> M | None:
    return None if placed is None else placed.model


class QualityFacts:
    """A quality row."""

    def __init__(self, report: ReportFacts, index: int, model: Quality) -> None:
        self.__dict__ = {}  # see `_RUN`
        self.report = report
        self.index = index
        self.model = model
        self.pointer = f"/quality/{index}"
        self.id = model.id
        #: The members that it gives.
        self.given = given_by(model)

    def __str__(self) -> str:
        return f"quality row {self.id!r}" if self.id else f"quality row {self.index + 1}"

    def at(self, *parts: str | int) -> str:
        """Pointer of something inside this row."""
        return self.pointer + make_pointer(*parts)

    @cached_property
    def value(self) -> Reported | None:
        """The figure as printed."""
        return reported(self.model.value, self.at("value"))

    @cached_property
    def configuration(self) -> ConfigurationFacts:
        """The configuration it was measured for."""
        return self.report.configuration(self.model.configuration)


#: Characters of a claim's name in a message.
_LONGEST_NAME = 80


class ClaimFacts:
    """A claim with the runs or quality rows it names."""

    def __init__(self, report: ReportFacts, index: int, model: Claim) -> None:
        self.__dict__ = {}  # see `_RUN`
        self.report = report
        self.index = index
        self.model = model
        self.pointer = f"/claims/{index}"
        self.id = model.id
        #: The members that it gives.
        self.given = given_by(model)
        #: What the claim is about.
        self.of = report.run_or_quality(model.of)
        #: What it is compared with.
        self.to = report.run_or_quality(model.to)

    def __str__(self) -> str:
        name = self.name
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        return f"claim {short!r}" if name else f"claim {self.index + 1}"

    @property
    def name(self) -> str:
        """Its id, else what it is about ("k4 → plain, ratio of decode.tok_s"), else its text.

        Empty where it has none of them.
        """
        model = self.model
        if model.id:
            return model.id
        if model.of is None or model.relation is None:
            return model.text or ""
        to = "" if model.to is None else f" → {model.to}"
        of = "" if model.metric is None else f" of {model.metric}"
        return f"{model.of}{to}, {model.relation}{of}"

    def at(self, *parts: str | int) -> str:
        """Pointer of something inside this claim."""
        return self.pointer + make_pointer(*parts)

    @cached_property
    def value(self) -> Reported | None:
        """The claimed value as printed."""
        return reported(self.model.value, self.at("value"))

    @cached_property
    def among(self) -> tuple[RunFacts | QualityFacts, ...]:
        """What it is said to be best among; empty unless every one exists."""
        found = [self.report.run_or_quality(each) for each in self.model.among or ()]
        return tuple(f for f in found if f is not None) if all(found) else ()

    @cached_property
    def statement(self) -> Statement | Gap:
        """What the claim states about the numbers it names, or why that cannot be told."""
        from benchlint.checker.claims import statement_of  # claims are made of facts

        return statement_of(self)

    def metric_of(self, subject: RunFacts | QualityFacts | None) -> Reported | None:
        """The number that the claim's metric names in a run or quality row."""
        if isinstance(subject, QualityFacts):
            return subject.value
        if subject is None or self.model.metric is None:
            return None
        return metric(subject, self.model.metric)


#: Metrics that are shares of 1, and those that are counts.
SHARES = frozenset({"speculation.acceptance_rate", "losslessness.match_rate"})
_COUNT_BLOCKS = frozenset({"speculation.counts"})
_COUNTS = frozenset(
    {
        "decode.tokens",
        "prefill.tokens",
        "throughput.completed_requests",
        "throughput.failed_requests",
        "losslessness.n",
    }
)


def metric(run: RunFacts, path: str) -> Reported | None:
    """The number at a dotted path of a run ("decode.tok_s"), or None where there is none."""
    if path == "decode.tok_s":  # what most claims are about
        return run.decode_tok_s
    value: object = run.model
    for part in path.split("."):
        if not isinstance(value, Block) or part not in value.__dict__:
            return None
        value = getattr(value, part)
    if isinstance(value, bool) or not isinstance(value, (int, float, MeasuredObject)):
        return None
    return reported(
        value,
        run.at(*path.split(".")),
        count=path in _COUNTS or path.rpartition(".")[0] in _COUNT_BLOCKS,
        share=path in SHARES,
    )


class Part(NamedTuple):
    """A block that a report is made of, what it gives, and its path."""

    block: Block
    given: Given
    path: tuple[str, *tuple[str | int, ...]]


class ReportFacts:
    """The whole report, resolved."""

    def __init__(
        self, model: Report, misfits: Iterable[str] = (), unknown: Iterable[str] = ()
    ) -> None:
        self.__dict__ = {}  # see `_RUN`
        self.model = model
        #: Pointers of members that are not in `model` because they do not fit the format.
        self.misfits = frozenset(misfits)
        #: Those of them whose names the format does not have.
        self.unknown = frozenset(unknown)
        self._configurations: dict[str | None, ConfigurationFacts] = {}
        self._layers: dict[str, Placed[Configuration]] = {}
        self._workloads: dict[str, Placed[Workload]] = {}
        #: Machine, engine and target, where no configuration says otherwise.
        self.machine = None if model.machine is None else Placed(model.machine, "/machine")
        self.engine = None if model.engine is None else Placed(model.engine, "/engine")
        self.target = None if model.target is None else Placed(model.target, "/target")
        self.all_runs = tuple(RunFacts(self, i, r) for i, r in enumerate(model.runs or ()))
        #: Runs that were not withdrawn.
        self.runs = tuple([r for r in self.all_runs if r.members["void"] is None])
        self.quality = tuple(QualityFacts(self, i, q) for i, q in enumerate(model.quality or ()))
        self.claims = tuple(ClaimFacts(self, i, c) for i, c in enumerate(model.claims or ()))

    pointer = ""

    @cached_property
    def misfit_places(self) -> frozenset[str]:
        """Pointers of the misfits and of everything that they stand in."""
        parts = [each.split("/") for each in self.misfits]
        return frozenset("/".join(each[:n]) for each in parts for n in range(1, len(each) + 1))

    @cached_property
    def _blocks_with_unknown(self) -> frozenset[str]:
        return frozenset([each.rpartition("/")[0] for each in self.unknown])

    def may_be_misfit(self, block: str, *path: str) -> bool:
        """Whether a value that a block does not give may be one that does not fit the format.

        block: pointer of the block. path: of the value in it, of one name or more. It may be a
        misfit itself or stand in one, or be what stands under an unknown name beside it or
        beside a block around it.
        """
        if not self.misfits:
            return False
        around = [block + make_pointer(*path[:n]) for n in range(len(path))]
        return (
            block + make_pointer(*path) in self.misfit_places
            or not self.misfits.isdisjoint(around[1:])
            or not self._blocks_with_unknown.isdisjoint(around)
        )

    def release(self) -> None:
        """Forget everything, once nobody asks any more.

        Facts point at each other, so that without this all facts of every report wait for
        Python's collector of cycles: it would take a sixth of the time of a check.
        """
        for each in (*self.all_runs, *self.quality, *self.claims, *self._configurations.values()):
            each.__dict__.clear()
        self.__dict__.clear()

    def configuration(self, name: str | None) -> ConfigurationFacts:
        """The configuration of that name, resolved once."""
        found = self._configurations.get(name)
        if found is None:
            found = self._configurations[name] = ConfigurationFacts(self, name)
        return found

    def configuration_layers(self, name: str | None) -> tuple[Placed[Configuration], ...]:
        """The configuration and those it is based on, nearest first.

        Stops at a cycle, and after MAX_LAYERS.
        """
        known = self.model.configurations or {}
        found: dict[str, Placed[Configuration]] = {}
        while name is not None and name in known and name not in found and len(found) < MAX_LAYERS:
            layer = self._layers.get(name)
            if layer is None:
                layer = Placed(known[name], make_pointer("configurations", name))
                self._layers[name] = layer
            found[name] = layer
            name = layer.model.based_on
        return tuple(found.values())

    def workload(self, name: str | None) -> Placed[Workload] | None:
        """The workload of that name, where it exists."""
        if name is None:
            return None
        found = self._workloads.get(name)
        if found is None and name in (known := self.model.workloads or {}):
            found = Placed(known[name], make_pointer("workloads", name))
            self._workloads[name] = found
        return found

    @cached_property
    def _runs_by_id(self) -> dict[str, RunFacts]:
        return {r.id: r for r in reversed(self.all_runs)}

    @cached_property
    def _quality_by_id(self) -> dict[str, QualityFacts]:
        return {q.id: q for q in reversed(self.quality) if q.id is not None}

    def run(self, run_id: str | None) -> RunFacts | None:
        """The run of that id; the first where an id is used twice."""
        return None if run_id is None else self._runs_by_id.get(run_id)

    def run_or_quality(self, name: str | None) -> RunFacts | QualityFacts | None:
        """The run or quality row of that id."""
        if name is None:
            return None
        return self._runs_by_id.get(name) or self._quality_by_id.get(name)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks that the report is made of, withdrawn runs apart."""
        model, found = self.model, list[Part]()
        for name in ("machine", "engine", "target"):
            block: Block | None = getattr(model, name)
            if block is not None:
                found.append(Part(block, given_by(block), (name,)))
        named = ("configurations", model.configurations), ("workloads", model.workloads)
        for name, blocks in named:
            found += [Part(b, given_by(b), (name, key)) for key, b in (blocks or {}).items()]
        listed = ("quality", self.quality), ("claims", self.claims), ("runs", self.runs)
        for name, facts in listed:
            found += [Part(each.model, each.given, (name, each.index)) for each in facts]
        return tuple(found)

    @cached_property
    def given(self) -> Given:
        """The members that it gives, those of withdrawn runs aside."""
        members = self.model.__dict__
        own = [name for name in self.model.model_fields_set if members[name] is not None]
        return given_by_parts(tuple(own), tuple([(p.path[0], p.given) for p in self.parts]))

    @cached_property
    def runs_by_configuration(self) -> dict[str | None, list[RunFacts]]:
        """Runs that were not withdrawn by the configuration they name, in order of the file."""
        found: dict[str | None, list[RunFacts]] = {}
        for run in self.runs:
            found.setdefault(run.members["configuration"], []).append(run)
        return found

    @cached_property
    def speculative_runs(self) -> tuple[RunFacts, ...]:
        """Runs in which a drafter ran, or reported speculation."""
        return tuple(r for r in self.runs if r.speculates)

    @cached_property
    def plain_runs(self) -> tuple[RunFacts, ...]:
        """Runs that are said to have had no drafter."""
        return tuple(r for r in self.runs if r.speculates is False)

    @property
    def comparable_runs(self) -> tuple[RunFacts, ...]:
        """The runs, for rules that compare each with each; none where that would take minutes."""
        return self.runs if len(self.runs) <= MANY_RUNS else ()

    @cached_property
    def plain_by_setting(self) -> dict[_Setting, list[RunFacts]]:
        """The plain runs by workload, concurrency and KV position."""
        found: dict[_Setting, list[RunFacts]] = {}
        for run in self.plain_runs:
            found.setdefault(_setting(run), []).append(run)
        return found
