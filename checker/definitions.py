"""What "acceptance rate" and "accepted length" mean where, and how each becomes another.

One word means half a dozen things. Here every meaning has a name, a formula in canonical
counts (s verify steps with a draft, s0 plain passes, D drafted, A accepted, N output tokens, K
draft length; see `counts`), a conversion to accepted length τ = 1 + A/s and back, and the list
of sources that use it. What a report states (engine, version, denominator, bonus token) only
takes readings away; with nothing stated all remain.

Conversions take plain numbers or `Interval`s. Sources are named beside each entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Literal, TypeVar

from benchlint.checker.engines import engine_kind, version_at_least
from benchlint.checker.numbers import Interval

Value = TypeVar("Value", float, Interval)

PositionKind = Literal["cumulative", "conditional"]

#: What identity 5 (τ = 1 + K·rate) allows on top of rounding: last drafts are cut short.
#: A published run has τ 6.39 beside 1 + 15 × 0.3618 = 6.43, which is 0.6 %.
RATE_SLACK = 0.01


class _Reading(Enum):
    """A meaning with its words and its formula, for messages."""

    #: There is one object for each; the hash of Enum, made of its name, is a call of Python.
    __hash__ = object.__hash__

    def __init__(self, words: str, formula: str) -> None:
        self.words = words
        self.formula = formula


class RateReading(_Reading):
    """What a printed acceptance rate may be a share of."""

    DRAFTED = ("accepted over drafted tokens", "A/D")
    CONFIGURED = ("accepted tokens over K × verify steps", "A/(K·s)")
    SLOTS = ("emitted tokens over (K + 1) × verify steps", "τ/(K + 1)")
    OUTPUT = ("share of the output that came from drafts", "(τ - 1)/τ")
    PER_TOKEN = ("per-token acceptance α, taken as independent", "τ = (1 - α^(K+1))/(1 - α)")
    FIRST = ("acceptance at the first position", "p₁")
    REACHED = ("accepted over reached draft positions", "A/(A + rejections)")
    ANY_POSITION = ("accepted at any position, even after a rejection", "≥ A/D")
    ROOT = ("accepted tokens over (K + 1) × verify steps", "(τ - 1)/(K + 1)")


class LengthReading(_Reading):
    """What a printed accepted length may count."""

    PER_STEP = ("tokens per verify step with the target's own", "1 + A/s")
    OVER_VERIFY = ("output tokens over verify steps", "N/s")
    PER_PASS = ("tokens per target pass, plain passes included", "1 + A/(s + s0)")
    PER_CYCLE = ("tokens per cycle of a plain and a verify pass", "2 + A/s")
    DRAFTS_ONLY = ("accepted draft tokens per verify step", "A/s")


ALL_RATES = tuple(RateReading)
ALL_LENGTHS = tuple(LengthReading)

# --- conversions to accepted length ----------------------------------------------------------
# One for each definition, so that any source's number can be had as τ. Those of slots, of the
# output and of completion tokens no rule needs so far: rules ask the other way round, what a
# rate can be beside τ.


def tau_from_rate(rate: Value, k: float) -> Value:
    """τ = 1 + K·A/D where every draft has K tokens; SGLang's new rate is the same with K."""
    return 1 + rate * k


def rate_from_tau(tau: Value, k: float) -> Value:
    """A/D = (τ - 1)/K where every draft has K tokens; the least A/D can be otherwise."""
    return (tau - 1) / k


def tau_from_slots(rate: Value, k: float) -> Value:
    """τ = ρ·(K + 1): old SGLang with D_cfg = K + 1, vLLM V0's system efficiency."""
    return rate * (k + 1)


def slots_from_tau(tau: Value, k: float) -> Value:
    """ρ = τ/(K + 1)."""
    return tau / (k + 1)


def tau_from_output_share(share: Value) -> Value:
    """τ = 1/(1 - φ) where no pass was plain; MLX and LM Studio print φ."""
    return 1 / (1 - share)


def output_share_from_tau(tau: Value) -> Value:
    """φ = 1 - 1/τ where no pass was plain; less where some were."""
    return 1 - 1 / tau


def tau_from_per_token(alpha: float, k: float) -> float:
    """τ = 1 + α + … + α^K = (1 - α^(K+1))/(1 - α) (Leviathan et al., arXiv 2211.17192)."""
    if 1 - alpha > 1e-6:
        return float((1 - alpha ** (k + 1.0)) / (1 - alpha))
    return k + 1.0


def per_token_from_tau(tau: float, k: float) -> float:
    """The α that gives τ with K independent draft tokens, by bisection; 0 to 1."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tau_from_per_token(middle, k) < tau else (low, middle)
    return (low + high) / 2


def tau_from_cumulative(shares: Iterable[Value]) -> Value:
    """τ = 1 + Σ p_i over all K positions, p_i = share of steps that accepted at least i."""
    return sum(shares, start=1)  # type: ignore[return-value]  # 1 for an empty list


def tau_from_conditional(shares: Sequence[Value]) -> Value:
    """τ = 1 + Σ_i Π_{j ≤ i} c_j, c_i = p_i/p_{i-1}."""
    total: Value | int = 1
    for share in reversed(shares):
        total = 1 + share * total
    return total  # type: ignore[return-value]  # 1 for an empty list


def tau_from_completion(length: Value, steps: float, cut: float = 0) -> Value:
    """τ from completion tokens over verify steps, which hold the prefill token: -(1 - cut)/s.

    Source: SGLang managers/tokenizer_manager.py, `spec_accept_length`. `steps` of one request.
    """
    return length - (1 - cut) / steps


def tau_from_accepted_per_step(accepted: Value) -> Value:
    """τ = accepted draft tokens per step + the target's own token."""
    return accepted + 1


# --- what a rate can be, given accepted length -----------------------------------------------


def rate_range(
    reading: RateReading, tau: Interval, k: int, *, plain_passes: bool = False
) -> Interval:
    """The values that a rate of this meaning can have beside accepted length τ.

    tau: 1 + A/s, within [1, K + 1]. k: draft length, at least 1. plain_passes: there may have
    been passes without a draft. Drafts may be shorter than K: A/D has no upper bound but 1.
    """
    if reading in (RateReading.DRAFTED, RateReading.ANY_POSITION):
        return Interval(rate_from_tau(tau.low, k), 1.0)
    if reading is RateReading.CONFIGURED:
        return rate_from_tau(tau, k)
    if reading is RateReading.SLOTS:
        return slots_from_tau(tau, k)
    if reading is RateReading.ROOT:
        return (tau - 1) / (k + 1)
    if reading is RateReading.OUTPUT:
        share = output_share_from_tau(tau)
        return Interval(0.0, share.high) if plain_passes else share
    return _rate_of_positions(reading, tau, k)


def _rate_of_positions(reading: RateReading, tau: Interval, k: int) -> Interval:
    least = rate_from_tau(tau.low, k)
    if reading is RateReading.FIRST:
        return Interval(least, min(1.0, tau.high - 1))
    if reading is RateReading.PER_TOKEN:
        return Interval(per_token_from_tau(tau.low, k), per_token_from_tau(tau.high, k))
    # Every step but the s·p_K full ones ends in a rejection, and p_K is between 0 and (τ - 1)/K.
    full = rate_from_tau(tau.high, k)
    return Interval(1 - 1 / tau.low, (tau.high - 1) / max(tau.high - full, tau.high - 1))


def tau_range(reading: LengthReading, length: Interval, k: float, steps: float | None) -> Interval:
    """Accepted length τ = 1 + A/s behind a printed length of this meaning.

    steps: verify steps of one request, where known; without it at least ten are taken for the
    token from prefill and fifty for a draft that the end of the text cuts.
    """
    if reading is LengthReading.DRAFTS_ONLY:
        return tau_from_accepted_per_step(length)
    if reading is LengthReading.PER_CYCLE:
        return length - 1
    if reading is LengthReading.PER_PASS:
        return Interval(length.low, max(length.high, k + 1)) if length.high >= 1 else length
    if reading is LengthReading.OVER_VERIFY and length.high >= 1:
        if steps is None:
            return Interval(length.low - PREFILL_TOKEN, length.high + min(k, MOST_CUT) * CUT)
        # Beside the token from prefill there may be a last pass with no room for a draft.
        return Interval(length.low - 2 / steps, length.high + min(k, MOST_DRAFTED) / steps)
    return length


#: The longest drafts of any engine, whatever K is set to (llama.cpp ngram-mod).
MOST_DRAFTED = 64

#: What the prefill token adds to tokens over verify steps at ten steps, the fewest that count.
PREFILL_TOKEN = 0.1

#: What the end of a text takes from tokens over fifty verify steps for each token it cuts.
CUT = 0.02
MOST_CUT = 16

# --- who means what --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """What one engine, tool or paper means by its numbers.

    engine: canonical name (see `engines`), or the name of a tool or research code.
    since, before: versions [since, before) for which this holds; None for no limit. Where the
    change was not located to one version, entries overlap.
    rates, lengths: meanings of its acceptance rate and length; empty: it prints none.
    positions: meaning of its per-position list; None: it prints none.
    percent: it prints rates in percent.
    steps_per_request: a batched pass counts once for every request in it.
    full_drafts: every draft has K tokens, but for the last of a text.
    mean_of_requests: its length is a mean of per-request means.
    trap: what misleads.
    where: file, page or thread.
    """

    engine: str
    rates: tuple[RateReading, ...]
    lengths: tuple[LengthReading, ...]
    where: str
    since: str | None = None
    before: str | None = None
    positions: PositionKind | None = None
    percent: bool = False
    steps_per_request: bool = False
    full_drafts: bool = False
    mean_of_requests: bool = False
    trap: str = ""


_R, _L = RateReading, LengthReading

SOURCES: tuple[Source, ...] = (
    Source(
        "llama.cpp",
        (_R.DRAFTED,),
        (_L.PER_STEP,),
        "tools/server/server-common.cpp to_json; common/speculative.cpp statistics",
        positions="cumulative",
        steps_per_request=True,
        trap="steps with an empty draft are in neither drafted nor verify steps; "
        "the statistics line is cumulative over the process",
    ),
    Source(
        "llama.cpp",
        (_R.DRAFTED,),
        (_L.PER_STEP, _L.PER_CYCLE),
        "tools/server/server.cpp, read in August 2025",
        before="b8672",
        positions="cumulative",
        steps_per_request=True,
        trap="each cycle is one plain pass and one verify pass",
    ),
    Source(
        "ik_llama.cpp",
        (_R.DRAFTED,),
        (_L.PER_STEP,),
        "ikawrakow/ik_llama.cpp#2156",
        positions="cumulative",
        steps_per_request=True,
    ),
    Source(
        "vllm",
        (_R.DRAFTED,),
        (_L.PER_STEP,),
        "vllm/v1/spec_decode/metrics.py, vllm/v1/metrics/stats.py",
        since="0.8",
        positions="cumulative",
        percent=True,
        steps_per_request=True,
        trap="percent in the log and in `vllm bench serve`, fraction per request; drafts that a "
        "grammar invalidates are not counted as drafted",
    ),
    Source(
        "vllm",
        (_R.ANY_POSITION, _R.SLOTS),
        (),
        "vllm/model_executor/layers/spec_decode_base_sampler.py (V0)",
        before="0.10",
        trap="counts accepted tokens at all positions, even after a rejection; "
        "system efficiency is emitted over the most that could be",
    ),
    Source(
        "sglang",
        (_R.CONFIGURED,),
        (_L.OVER_VERIFY, _L.PER_STEP),
        "python/sglang/srt/managers/tokenizer_manager.py (each request, since 0.5.5), "
        "metrics_reporter.py (log, since 0.5.11)",
        since="0.5.5",
        steps_per_request=True,
        full_drafts=True,
        trap="avg_spec_accept_length is cumulative over the server; the length holds the token "
        "from prefill",
    ),
    Source(
        "sglang",
        (_R.SLOTS,),
        (_L.OVER_VERIFY, _L.PER_STEP),
        "python/sglang/srt/managers/scheduler_metrics_mixin.py (log)",
        before="0.5.11",
        steps_per_request=True,
        full_drafts=True,
        trap="the rate counts the target's own token: a run without any acceptance shows "
        "1/(K + 1), never 0",
    ),
    Source(
        "tensorrt-llm",
        (_R.DRAFTED,),
        (_L.PER_STEP, _L.DRAFTS_ONLY),
        "cpp/include/tensorrt_llm/executor/types.h",
        trap="some notes by others drop the + 1",
    ),
    Source(
        "eagle",
        (_R.REACHED, _R.PER_TOKEN),
        (_L.PER_STEP, _L.OVER_VERIFY),
        "SafeAILab/EAGLE eagle/model/utils.py, alpha.py",
        positions="conditional",
        trap="the step index is zero-based, so that new tokens over it overstate; trees",
    ),
    Source(
        "medusa",
        (),
        (_L.PER_STEP,),
        "arXiv 2401.10774: acceleration rate, tokens per step",
        trap="trees",
    ),
    Source(
        "spec-bench",
        (),
        (_L.PER_STEP,),
        "hemingkx/Spec-Bench evaluation/speed.py",
        trap="speed is a mean of per-question rates and its time includes prefill",
    ),
    Source(
        "dflash",
        (),
        (_L.PER_STEP,),
        "z-lab/dflash dflash/model.py",
        mean_of_requests=True,
        trap="K is the block size less one",
    ),
    Source(
        "mlx-lm",
        (_R.OUTPUT,),
        (),
        "mlx_lm/generate.py, from_draft",
        full_drafts=True,
        trap="a share of 0.75 means τ = 4",
    ),
    Source(
        "lm-studio",
        (_R.OUTPUT, _R.DRAFTED),
        (),
        "lmstudio-ai/docs: acceptedDraftTokensCount/predictedTokensCount",
        trap="its counts give accepted over drafted too",
    ),
    Source(
        "aiperf",
        (_R.DRAFTED,),
        (_L.PER_STEP,),
        "ai-dynamo/aiperf docs/reference/spec-decode-acceptance.md",
        positions="cumulative",
    ),
    Source(
        "nemo-skills",
        (_R.DRAFTED,),
        (_L.PER_STEP,),
        "NVIDIA/NeMo-Skills docs",
        positions="conditional",
        trap="calls conditional acceptance per-position",
    ),
    Source(
        "leviathan",
        (_R.PER_TOKEN,),
        (_L.PER_STEP,),
        "arXiv 2211.17192, arXiv 2302.01318",
        trap="a theory of independent tokens, not a count",
    ),
)


@lru_cache(maxsize=256)
def sources_of(engine: str | None, version: str | None) -> tuple[Source, ...]:
    """The entries that hold for an engine; all of its versions' when the version is unknown.

    Empty for an engine that is not in the table, or not stated.
    """
    name = engine_kind(engine) or _tool(engine)
    if name is None:
        return ()
    return tuple(s for s in _by_name()[name] if _may_hold(s, version or engine))


@cache
def _by_name() -> dict[str, tuple[Source, ...]]:
    found = defaultdict[str, tuple[Source, ...]](tuple)
    for source in SOURCES:
        found[source.engine] += (source,)
    return found


def _tool(name: str | None) -> str | None:
    """The tool or research code that a name means, where it is no engine."""
    letters = "".join(c for c in (name or "")[:80].casefold() if c.isalpha())
    return next((tool for start, tool in _TOOLS.items() if letters.startswith(start)), None)


_TOOLS = {
    "aiperf": "aiperf",
    "nemoskills": "nemo-skills",
    "specbench": "spec-bench",
    "eagle": "eagle",
    "safeailabeagle": "eagle",
    "medusa": "medusa",
    "dflash": "dflash",
    "zlabdflash": "dflash",
}


def hands_on_counters(tool: str | None) -> bool:
    """Whether a client reports the counters of the engine that it measures, as that means them.

    `vllm bench serve` reads /metrics before and after, SGLang's bench_serving the server's own
    accepted length; any other client may have definitions of its own.
    """
    letters = "".join(c for c in (tool or "")[:80].casefold() if c.isalpha())
    return letters.startswith(("vllmbenchserve", "sglangbenchserving"))


def _may_hold(source: Source, version: str | None) -> bool:
    too_old = source.since is not None and version_at_least(version, source.since) is False
    too_new = source.before is not None and version_at_least(version, source.before) is True
    return not too_old and not too_new


def rate_readings(
    sources: Sequence[Source], of: Literal["drafted", "output", "configured"] | None = None
) -> tuple[RateReading, ...]:
    """The meanings a rate may have: what is stated, else its sources' own, else all.

    A source takes away only the definitions of others: whatever an engine prints, its counters
    give accepted over drafted, and an author may have divided them.
    """
    if of is not None:
        return (_OF[of],)
    own = dict.fromkeys(r for s in sources for r in s.rates)
    return (*dict.fromkeys((*own, _R.DRAFTED)),) if own else ALL_RATES


def rates_of_others(rates: Sequence[RateReading]) -> tuple[RateReading, ...]:
    """Definitions which some source prints, that give one number, and that are not in `rates`."""
    return tuple(r for r in _EXACT if r not in rates)


#: Definitions of sources that fix a rate by τ and K.
_EXACT = (_R.OUTPUT, _R.CONFIGURED, _R.SLOTS, _R.PER_TOKEN)


def printed_by(reading: RateReading) -> tuple[str, ...]:
    """The engines, tools and papers whose rate has this meaning."""
    return tuple(dict.fromkeys(s.engine for s in SOURCES if reading in s.rates))


_OF = {"drafted": _R.DRAFTED, "output": _R.OUTPUT, "configured": _R.CONFIGURED}


def length_readings(
    sources: Sequence[Source],
    counts_bonus_token: bool | None = None,
    *,
    skips_drafts: bool = False,
) -> tuple[LengthReading, ...]:
    """The meanings a length may have, the likeliest first.

    Whether the target's own token is counted is a choice that anyone may make beside any
    engine's counters: unless it is stated, "without" remains. skips_drafts: some passes are
    known to carry no draft, so that anyone may divide by all passes too.
    """
    if counts_bonus_token is False:
        return (_L.DRAFTS_ONLY,)
    own = dict.fromkeys(r for s in sources for r in s.lengths)
    if own and skips_drafts:
        own[_L.PER_PASS] = None
    with_bonus = tuple(r for r in own or ALL_LENGTHS if r is not _L.DRAFTS_ONLY)
    return with_bonus if counts_bonus_token else (*with_bonus, _L.DRAFTS_ONLY)


def position_readings(
    sources: Sequence[Source], kind: PositionKind | None = None
) -> tuple[PositionKind, ...]:
    """The meanings a per-position list may have, the likeliest first.

    Cumulative stays unless another kind is stated: that is what counters by position give.
    """
    if kind is not None:
        return (kind,)
    own = dict.fromkeys(s.positions for s in sources if s.positions is not None)
    return (*dict.fromkeys((*own, "cumulative")),) if own else ("cumulative", "conditional")


# --- which definition a rate follows ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """The pair of meanings under which a rate and a length agree, and the factor it needed.

    factor: 1, or 100 where a fraction was divided by 100 twice, 0.01 where it is in percent.
    """

    rate: RateReading
    length: LengthReading
    factor: float = 1.0


def infer_definition(
    rate: Interval,
    length: Interval,
    k: int,
    *,
    first: Interval | None = None,
    rates: Sequence[RateReading] = ALL_RATES,
    lengths: Sequence[LengthReading] = ALL_LENGTHS,
) -> Definition | None:
    """The first definition, in order of how common it is, that makes rate and length agree.

    rate, length: as printed, with the rounding to be allowed. k: draft length, taken as fixed.
    first: acceptance at the first position, where known. The order: 1 + Kρ; Kρ reported
    without the bonus token; φ; τ/(K + 1); per-token α; p₁; the same in percent.
    """
    allowed = [(r, n) for r, n in _ORDER if r in rates and n in lengths]
    for factor in (1.0, 0.01, 100.0):
        scaled = rate * factor
        for reading, counted in allowed:
            tau = length + 1 if counted is _L.DRAFTS_ONLY else length
            possible = tau.meets(Interval(1, k + 1))
            if possible and scaled.meets(_exact(reading, tau.clamped(1, k + 1), k, first)):
                return Definition(reading, counted, factor)
    return None


_ORDER = (
    (_R.DRAFTED, _L.PER_STEP),
    (_R.CONFIGURED, _L.PER_STEP),
    (_R.DRAFTED, _L.DRAFTS_ONLY),
    (_R.OUTPUT, _L.PER_STEP),
    (_R.SLOTS, _L.PER_STEP),
    (_R.PER_TOKEN, _L.PER_STEP),
    (_R.FIRST, _L.PER_STEP),
)

_NOTHING = Interval(float("inf"), float("inf"))


def _exact(reading: RateReading, tau: Interval, k: int, first: Interval | None) -> Interval:
    """What the rate is when every draft has K tokens."""
    if reading is _R.FIRST:
        return _NOTHING if first is None else first
    if reading is _R.DRAFTED:
        return rate_from_tau(tau, k)
    return rate_range(reading, tau, k)
