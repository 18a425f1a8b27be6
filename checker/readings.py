"""What the numbers of one run may mean: the readings that its words leave, and τ under them.

A stated engine, version, denominator or kind only takes readings away (see `definitions`). A
client of one's own may define anything, so `measurement.by: client` takes none away, unless
the tool is one that hands on the engine's counters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlint.checker.counts import from_histogram
from benchlint.checker.definitions import (
    PREFILL_TOKEN,
    LengthReading,
    PositionKind,
    RateReading,
    Source,
    hands_on_counters,
    length_readings,
    position_readings,
    rate_readings,
    rates_of_others,
    sources_of,
    tau_from_conditional,
    tau_from_cumulative,
    tau_from_rate,
    tau_range,
)
from benchlint.checker.engines import engine_kind
from benchlint.checker.finding import Severity
from benchlint.checker.given import Absent
from benchlint.checker.lazy import cached_property
from benchlint.checker.numbers import Interval, Reported, shown

if TYPE_CHECKING:
    from benchlint.checker.facts import RunFacts, Tri
    from benchlint.checker.model import Measurement

Evidence = tuple[tuple[Reported | str, str], ...]

#: Methods that draft in every step, a whole chain at a time.
_ALWAYS_DRAFT = frozenset({"mtp", "dflash", "dspark", "eagle", "eagle2", "eagle3", "medusa"})

#: Methods whose drafts are chains; the others draft trees, or may.
_CHAINS = frozenset({"draft_model", "mtp", "dflash", "dspark", "ngram", "suffix", "prompt_lookup"})
_LOOKUPS = frozenset({"ngram", "suffix", "prompt_lookup"})
_LLAMA = frozenset({"llama.cpp", "ik_llama.cpp"})
_TREES = frozenset({"eagle", "eagle2", "medusa"})

#: How far a stated mean over requests may lie from the pooled figure before a warning is fair,
#: and what is granted to one that is neither stated nor known to be over several requests
#: (published pairs, mean of means and pooled: 6.39 and 5.95; 3.01 and 2.80).
MEAN_OF_MEANS = 0.2
UNSAID_MEAN = 0.075


@dataclass(frozen=True, slots=True)
class Tau:
    """Accepted length with the target's own token, and what it was worked out from.

    span: what an accusation must respect. near: what is expected.
    at: the number it rests on; related: the others. words: puts it in words; few are ever said.
    """

    span: Interval
    near: Interval
    at: Reported | str
    related: Evidence
    words: Callable[[], str]

    @property
    def text(self) -> str:
        """For messages, as "τ 4.82"."""
        return self.words()

    @property
    def evidence(self) -> Evidence:
        """All numbers it was worked out from."""
        return ((self.at, "accepted length"), *self.related)


_COUNTED = "speculation.counts | speculation.histogram"

#: What nothing can be read of, with the members it would need.
_ABSENT = Absent(
    {
        "rate": ("speculation.acceptance_rate", None),
        "positions": ("speculation.per_position.values", ()),
        "steps": (_COUNTED, None),
        "accepted": (_COUNTED, None),
        "counted_tau": (_COUNTED, None),
        "draft_share": ("speculation.counts", None),
        "length": ("speculation.accepted_length", None),
        "taus": ("speculation.accepted_length", ()),
        "tau": ("speculation", None),
    },
    always=("run",),
)


class Readings:
    """The meanings that one run's words leave to its numbers."""

    def __init__(self, run: RunFacts) -> None:
        self.__dict__ = _ABSENT.of(run.given)
        self.run = run

    # who measured

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Entries of the table of definitions that hold; empty where anything may be meant."""
        run = self.run
        measurement: Measurement | None = run.members["measurement"]
        by_client = measurement is not None and measurement.by == "client"
        if by_client and not hands_on_counters(measurement.tool if measurement else None):
            return ()
        placed = run.configuration.engine
        engine = None if placed is None else placed.model
        found = () if engine is None else sources_of(engine.name, engine.version)
        if not found or measurement is None or measurement.tool is None:
            return found
        return found + sources_of(measurement.tool, None)

    @cached_property
    def steps_per_request(self) -> bool:
        """Whether a verify step is known to count once for every request in a batch."""
        if self.run.concurrency == 1:
            return True
        return any(s.steps_per_request for s in self.sources)

    @cached_property
    def requests(self) -> float | None:
        """Requests behind the run's figures: as counted, else as many as there are prompts."""
        counts, workload = self.run.counts, self.run.workload
        found = None if counts is None else counts.model.requests
        if found is None and workload is not None:
            found = workload.model.prompt_count
        return None if found is None else float(found)

    @property
    def single(self) -> bool:
        """Whether all figures are known to be of one prompt."""
        return self.requests == 1

    @property
    def _are_several(self) -> bool:
        """Whether something says that there were several requests."""
        return self.requests is not None or (self.run.concurrency or 1) > 1

    @property
    def by_a_tool(self) -> bool:
        """Whether a client took the numbers, which may average over requests (AIPerf does)."""
        measurement = self.run.model.measurement
        if measurement is None or measurement.by == "engine_counter":
            return False
        return measurement.tool is not None

    def mean_of_means(self, number: Reported | None) -> bool:
        """Whether a figure is, or is by its source, a mean or median over several requests."""
        if number is None or self.single:
            return False
        if number.estimator is not None:
            return number.estimator != "pooled"
        return any(s.mean_of_requests for s in self.sources)

    def verdict(
        self, fits: Callable[[float], bool], *numbers: Reported | None, beside_sums: bool = False
    ) -> Severity | None:
        """How severe it is that figures do not fit; None where averaging may explain it.

        fits: whether they do with this share of slack. A mean over requests need not equal the
        pooled figure: where one is stated it is a warning beyond 20 %. Where a client or a
        harness of one's own does not say which it prints, it is a note, and beyond 20 % a
        warning; or an error beyond 7.5 % when nothing says that there were several requests,
        and the figures stand in one row. beside_sums: they are compared with sums (counts,
        parts, a histogram), which are of any number of requests as a rule.
        """
        if fits(0.0):
            return None
        if any(self.mean_of_means(n) for n in numbers):
            return None if fits(MEAN_OF_MEANS) else Severity.WARNING
        if not self.may_be_a_mean(*numbers):
            return Severity.ERROR
        if not (beside_sums or self._are_several or self.by_a_tool):
            return Severity.NOTE if fits(UNSAID_MEAN) else Severity.ERROR
        return Severity.NOTE if fits(MEAN_OF_MEANS) else Severity.WARNING

    def or_mean(self, advice: str, *numbers: Reported | None) -> str:
        """The advice, with what to say of a figure that may be a mean over requests."""
        return f"{advice}; or state estimator: mean" if self.may_be_a_mean(*numbers) else advice

    def may_be_a_mean(self, *numbers: Reported | None) -> bool:
        """Whether a figure may be a mean over requests that does not say so.

        That an engine's counters are behind it says nothing: all engines print figures of
        single requests or intervals too, and whoever has several may have averaged one figure
        and summed up the other.
        """
        if self.single:
            return False
        return any(n is not None and n.estimator is None for n in numbers)

    # how it drafts

    @cached_property
    def methods(self) -> frozenset[str | None]:
        """The methods of its drafters; empty where no drafter is described."""
        return frozenset(d.model.method for d in self.run.configuration.drafters)

    @cached_property
    def k(self) -> Reported | None:
        """The most draft tokens that one step can accept: K, a tree's depth, else its size.

        None where several drafters take turns, since the length may be one's own.
        """
        configuration = self.run.configuration
        if len(configuration.drafters) > 1:
            return None
        found = configuration.max_accepted or configuration.k
        return found if found is not None and found.value >= 1 else None

    @property
    def k_value(self) -> int | None:
        """K as a number."""
        return None if self.k is None else int(self.k.value)

    @cached_property
    def k_name(self) -> str:
        """What bounds accepted drafts, for messages."""
        length = self.run.configuration.draft_length
        tree = None if length is None else length.model.tree
        return "K" if tree is None or tree.depth is None else "the tree's depth"

    @cached_property
    def k_values(self) -> tuple[int, ...]:
        """What K may be: SGLang's number of draft tokens counts the root, so one less too."""
        k = self.k_value
        if k is None:
            return ()
        placed = self.run.configuration.engine  # whose setting it is, whoever measured
        sglang = placed is not None and engine_kind(placed.model.name) == "sglang"
        return (k, k - 1) if k > 1 and sglang else (k,)

    @cached_property
    def k_is_a_cap(self) -> bool:
        """False for llama.cpp's n-gram methods, whose own caps reach 64 whatever K is set to."""
        engines = {s.engine for s in self.sources}
        return not (self.methods & _LOOKUPS and engines & _LLAMA)

    @cached_property
    def chain(self) -> Tri:
        """True where drafts are chains of at most K tokens, False for trees, None unsaid."""
        length = self.run.configuration.draft_length
        if length is not None and length.model.tree is not None:
            return False
        if self.methods & _TREES:
            return False
        if self.methods <= _CHAINS:
            return True
        fixed = length is not None and length.model.policy == "fixed"
        only_chains = {s.engine for s in self.sources} & {"vllm", "llama.cpp", "ik_llama.cpp"}
        return True if self.methods == {"eagle3"} and (fixed or only_chains) else None

    @cached_property
    def plain_passes(self) -> bool:
        """Whether some target passes may have carried no draft."""
        counts = self.run.counts
        if counts is not None and counts.model.plain_steps is not None:
            return counts.model.plain_steps > 0
        fixed = self.run.configuration.fixed_k
        if fixed is not None:
            return not fixed
        return not self.methods or bool(self.methods - _ALWAYS_DRAFT)

    # acceptance rate

    @cached_property
    def rate(self) -> Reported | None:
        """The acceptance rate where it can be a share: 0 to 1."""
        return usable_share(self.run.acceptance_rate)

    @cached_property
    def rates(self) -> tuple[RateReading, ...]:
        """What the rate may be a share of."""
        return rate_readings(self.sources, self.run.acceptance_rate_of)

    @cached_property
    def other_rates(self) -> tuple[RateReading, ...]:
        """Definitions of other engines, where the denominator is not stated."""
        return () if self.run.acceptance_rate_of is not None else rates_of_others(self.rates)

    @cached_property
    def prints_drafted(self) -> bool:
        """Whether the rate is likely accepted over drafted: stated, its engine's, or unsaid."""
        own = {rate for s in self.sources for rate in s.rates}
        if self.run.acceptance_rate_of is not None or not own:
            return RateReading.DRAFTED in self.rates
        return RateReading.DRAFTED in own

    @cached_property
    def full_drafts(self) -> bool:
        """Whether its engine gives every draft K tokens, and nothing says otherwise."""
        if not self.sources or self.run.configuration.fixed_k is False:
            return False
        return all(s.full_drafts for s in self.sources)

    # positions

    @cached_property
    def positions(self) -> tuple[Reported, ...]:
        """The per-position list where all of it can be shares.

        A list is printed with one number of digits, of which JSON drops trailing zeros: 0.7
        beside 0.75 is 0.70.
        """
        found = self.run.positions
        if not all(usable_share(p) is not None for p in found):
            return ()
        unit = min((p.span.high - p.value for p in found), default=0.0)
        return tuple(_to_the_digit(p, unit) for p in found)

    @cached_property
    def kinds(self) -> tuple[PositionKind, ...]:
        """What the per-position list may be."""
        return position_readings(self.sources, self.run.positions_kind)

    @cached_property
    def all_positions(self) -> Tri:
        """Whether the list has every position; None where K is unknown."""
        k = self.k_value
        if k is not None:
            if self.run.configuration.draft_length is not None and not self.k_is_a_cap:
                return None
            return len(self.positions) >= k
        histogram = self.histogram
        return None if not histogram else len(self.positions) >= len(histogram) - 1

    # histogram and counts

    @property
    def histogram(self) -> list[int]:
        """Steps by accepted tokens, or an empty list."""
        block = self.run.model.speculation
        return [] if block is None or block.histogram is None else block.histogram

    @cached_property
    def steps(self) -> tuple[float, Reported | str] | None:
        """Verify steps with where they stand: counted, else from the histogram."""
        return self._counted("verify_steps")

    @cached_property
    def accepted(self) -> tuple[float, Reported | str] | None:
        """Accepted draft tokens with where they stand: counted, else from the histogram."""
        return self._counted("accepted")

    @cached_property
    def steps_are_certain(self) -> bool:
        """False where a step may be a pass over a whole batch, so that A/s overstates."""
        counted = self.run.count("verify_steps") is not None
        return self.steps_per_request or not counted

    def _counted(self, name: str) -> tuple[float, Reported | str] | None:
        number = self.run.count(name)
        if number is not None:
            return (number.value, number) if number.value >= 0 else None
        histogram = self.histogram
        if not histogram or min(histogram) < 0:
            return None
        sums = from_histogram(histogram)
        value = sums.steps if name == "verify_steps" else sums.accepted
        at = self.run.at("speculation", "histogram")
        return (value, at) if value is not None and math.isfinite(value) else None

    # accepted length

    @cached_property
    def length(self) -> Reported | None:
        """Accepted length as printed, where it can be one."""
        found = self.run.accepted_length
        return found if found is not None and found.span.high >= 0 else None

    @cached_property
    def lengths(self) -> tuple[LengthReading, ...]:
        """What the accepted length may count, the likeliest first."""
        found = length_readings(
            self.sources, self.run.counts_bonus_token, skips_drafts=self._skips_drafts
        )
        return tuple(r for r in found if self._possible(r))

    @cached_property
    def _skips_drafts(self) -> bool:
        """Whether passes without a draft are counted, or its drafter may find none."""
        plain = self.run.count("plain_steps")
        if plain is not None:
            return plain.value > 0
        fixed = self.run.configuration.fixed_k
        if fixed is not None:
            return not fixed
        return bool(self.methods & (_LOOKUPS | self._stopped_early))

    @property
    def _stopped_early(self) -> frozenset[str]:
        """Drafters that stop below a probability by default: llama.cpp's p_min was 0.75."""
        llama = any(s.engine in _LLAMA for s in self.sources)
        return frozenset({"draft_model"}) if llama else frozenset()

    def _possible(self, reading: LengthReading) -> bool:
        if reading is LengthReading.PER_PASS:
            return self.plain_passes
        if reading is LengthReading.PER_CYCLE:
            return bool(self.sources) and self.methods <= {"draft_model", None}
        return True

    @cached_property
    def taus(self) -> tuple[tuple[LengthReading, Interval], ...]:
        """τ under each meaning that the printed length may have; empty without a length."""
        length = self.length
        if length is None:
            return ()
        k = self.k_value
        bound = float("inf") if k is None else float(k)
        steps = self._steps_of_one_request()
        found: list[tuple[LengthReading, Interval]] = [
            (r, self._tau_of_passes(length.span, bound))
            if r is LengthReading.PER_PASS
            else (r, tau_range(r, length.span, bound, steps))
            for r in self.lengths
        ]
        own = not any(s.lengths for s in self.sources)
        if own and (steps or self.sources):
            found = [_or_with_prefill(each, steps) for each in found]
        if own and self.plain_passes and LengthReading.DRAFTS_ONLY in self.lengths:
            # Accepted tokens per pass, plain passes included.
            found.append((LengthReading.DRAFTS_ONLY, self._tau_of_passes(length.span + 1, bound)))
        return tuple(found)

    def _tau_of_passes(self, length: Interval, k: float) -> Interval:
        """τ behind a length over all passes: exact where both kinds of passes are counted."""
        share = self.draft_share
        if share is None:
            return tau_range(LengthReading.PER_PASS, length, k, None)
        return 1 + (length - 1) / share

    @cached_property
    def draft_share(self) -> float | None:
        """Share of target passes that carried a draft, s/(s + s0); None where not counted."""
        plain, steps = self.run.count("plain_steps"), self.steps
        if plain is None or steps is None or steps[0] <= 0 or plain.value < 0:
            return None
        return steps[0] / (steps[0] + plain.value)

    def _steps_of_one_request(self) -> float | None:
        """Verify steps of a request: counted, else as many as the output tokens take."""
        steps, requests = self.steps, self.requests
        if not requests:
            return None
        if steps is not None and self.steps_are_certain:
            return steps[0] / requests if steps[0] >= requests else None
        output = self.run.count("output_tokens") or self.run.decode_tokens
        if output is None or self.length is None or self.length.span.high <= 0:
            return None
        return max(output.value / requests / self.length.span.high, 1.0)

    @cached_property
    def bonus_unsaid(self) -> bool:
        """Whether the length may or may not hold the target's own token."""
        return self.run.counts_bonus_token is None

    @cached_property
    def tau(self) -> Tau | None:
        """τ for comparison with speed: printed, counted, from positions, or from the rate."""
        return (
            self._printed_tau()
            or self.counted_tau
            or self._tau_of_positions()
            or self._tau_of_rate()
        )

    def _printed_tau(self) -> Tau | None:
        length = self.length
        if length is None:
            return None
        if self.run.counts_bonus_token is False:
            return Tau(length.span + 1, length.near + 1, length, (), lambda: f"τ {length} + 1")
        high = length.span.high + (1 if self.bonus_unsaid else 0)
        if self.draft_share is not None and LengthReading.PER_PASS in self.lengths:
            high = max(high, 1 + (length.span.high - 1) / self.draft_share)
        return Tau(Interval(length.span.low, high), length.near, length, (), lambda: f"τ {length}")

    @cached_property
    def counted_tau(self) -> Tau | None:
        """τ = 1 + A/s from counters or the histogram, exact."""
        steps, accepted = self.steps, self.accepted
        if steps is None or accepted is None or steps[0] <= 0:
            return None
        value = 1 + accepted[0] / steps[0]
        exact = Interval(value, value)

        def words() -> str:
            return f"τ = 1 + {accepted[0]:.0f}/{steps[0]:.0f} = {shown(value)}"

        return Tau(exact, exact, accepted[1], ((steps[1], "verify steps"),), words)

    def _tau_of_positions(self) -> Tau | None:
        positions = self.positions
        if not positions or not self.all_positions or "conditional" in self.kinds:
            return None
        span = tau_from_cumulative([p.span for p in positions])
        near = tau_from_cumulative([p.near for p in positions])
        related = tuple((p, "acceptance by position") for p in positions[1:])
        return Tau(span, near, positions[0], related, lambda: f"τ = 1 + Σp = {shown(near.middle)}")

    def _tau_of_rate(self) -> Tau | None:
        """At most 1 + K·rate, and that where every draft has K tokens."""
        rate, k = self.rate, self.k
        usual = {RateReading.DRAFTED, RateReading.CONFIGURED}
        if rate is None or k is None or not self.chain or not set(self.rates) <= usual:
            return None
        near = tau_from_rate(rate.near, k.value)
        high = tau_from_rate(rate.span.high, k.value)

        def words() -> str:
            return f"τ = 1 + {k} × {rate} = {shown(near.middle)}"

        return Tau(Interval(1, high), near, rate, ((k, "draft length K"),), words)


def _or_with_prefill(
    reading: tuple[LengthReading, Interval], steps: float | None
) -> tuple[LengthReading, Interval]:
    """With prefill and a last pass that had no room for a draft counted as steps of a request.

    That is what tokens/(tokens - accepted) gives. Without the steps at least ten are taken.
    """
    counted, tau = reading
    if counted is not LengthReading.PER_STEP or tau.high < 1:
        return reading
    share = PREFILL_TOKEN if steps is None else 2 / steps
    return counted, Interval(tau.low, tau.high + (tau.high - 1) * share)


def _to_the_digit(p: Reported, unit: float) -> Reported:
    span, near = Interval.around(p.value, unit), Interval.around(p.value, unit / 2)
    return Reported(p.value, span, near, p.text, p.pointer)


def usable_share(number: Reported | None) -> Reported | None:
    """The number where it can be a share of 1, else None: other rules say what is wrong."""
    if number is None or number.span.low > 1 or number.span.high < 0:
        return None
    return number


def tau_of_positions(positions: tuple[Reported, ...], kind: PositionKind) -> Interval:
    """τ that a complete list gives when it is of this kind, with each number's last digit."""
    if not positions:
        return Interval(1.0, 1.0)
    spans = [p.span.clamped(0, 1) for p in positions]
    return tau_from_cumulative(spans) if kind == "cumulative" else tau_from_conditional(spans)
