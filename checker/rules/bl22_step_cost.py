"""BL220 to BL223: what a verify step costs, and numbers that are out of range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchlint.checker.facts import MANY_RUNS, ConfigurationFacts, ReportFacts, RunFacts
from benchlint.checker.finding import Severity
from benchlint.checker.lazy import once
from benchlint.checker.model import Block, Engine
from benchlint.checker.noise import noise_of, of_difference
from benchlint.checker.numbers import Interval, Reported, shown, shown_interval
from benchlint.checker.ranges import out_of_range_numbers
from benchlint.checker.readings import Readings, Tau
from benchlint.checker.registry import Problem, rule

Related = list[tuple[Reported | str, str]]

#: Noise that a fair author may claim before a speed-up is said to be above τ.
NOISE = 0.02

#: A verify step that costs more plain steps than this is unusual (observed: 1.0 to 3).
MOST_PLAIN_STEPS = 4.0

#: Step times within this of each other are equal.
SAME_STEP = 0.05

#: Throughput may exceed concurrency/TPOT by so much, since long answers run faster.
TPOT_MEAN = 0.15


@dataclass(slots=True)
class _Speedup:
    """Speed-up of a run over plain decoding of the same workload, at concurrency 1.

    digits: what is expected by the printed digits alone.
    arms: the run and its baseline where it is worked out from their speeds.
    """

    digits: Interval
    at: Reported
    plain: Reported | None = None
    arms: tuple[RunFacts, RunFacts] | None = None

    @property
    def near(self) -> Interval:
        """What is expected, with the spreads that the speeds state. Asked for few speed-ups."""
        return self.digits if self.arms is None else self.digits.widened(_spread(*self.arms))

    @property
    def text(self) -> str:
        """The quotient, or the number as stated."""
        if self.plain is None:
            return str(self.at)
        return f"{self.at}/{self.plain} = {shown(self.at.value / self.plain.value)}"

    @property
    def related(self) -> Related:
        """What the speed is compared with."""
        return [] if self.plain is None else [(self.plain, "plain decoding")]


@once
def _speedup(run: RunFacts) -> _Speedup | None:
    """From the two decode speeds, else as stated; None where the arms are not matched."""
    if (run.concurrency or 1) != 1:
        return None
    base = run.baseline
    if base is not None and (base.model.void is not None or not _matched(run, base)):
        return None
    speed, plain = run.decode_tok_s, None if base is None else base.decode_tok_s
    arms = None if base is None else (run, base)
    if speed is not None and plain is not None and speed.span.low > 0 < plain.span.low:
        return _Speedup(speed.near / plain.near, speed, plain, arms)
    stated = run.speedup
    if stated is None or stated.span.low <= 0:
        return None
    return _Speedup(stated.near, stated)


def _spread(run: RunFacts, base: RunFacts) -> float:
    """Twice the standard error of the ratio, as a share: its own, or that of both speeds.

    0 where they state none: then nothing but the digits is known of them.
    """
    own = None if run.speedup is None else noise_of(run.speedup, run, "speedup")
    if own is not None and own.stated and run.speedup_over is base:
        return 2 * own.share
    speeds = ((each, each.decode_tok_s) for each in (run, base))
    found = [noise_of(s, each, "decode.tok_s") for each, s in speeds if s is not None]
    stated = [noise for noise in found if noise is not None and noise.stated]
    return 2 * of_difference(*stated) if len(stated) == 2 else 0.0


def _matched(run: RunFacts, base: RunFacts) -> bool:
    """Whether two arms may be compared: nothing stated says that they differ."""
    if (base.concurrency or 1) != 1 or base.speculates:
        return False
    workloads = {run.model.workload, base.model.workload}
    return len(workloads) == 1 and _same(run.configuration, base.configuration, ("machine",))


def _same(a: ConfigurationFacts, b: ConfigurationFacts, names: Sequence[str]) -> bool:
    pairs = ((getattr(a, name), getattr(b, name)) for name in names)
    return all(one is other or _model(one) == _model(other) for one, other in pairs)


def _model(placed: object) -> object:
    """A block as it is compared: an engine without its command line, which holds K."""
    if isinstance(placed, tuple):
        return tuple(_model(each) for each in placed)
    model = getattr(placed, "model", None)
    if isinstance(model, Engine):
        return model.model_copy(update={"command_line": None})
    return model if isinstance(model, Block) else None


# --- BL220 -----------------------------------------------------------------------------------


@rule(
    "BL220",
    "step-cost-implausible",
    Severity.WARNING,
    "report",
    yields_to=["BL201", "BL221"],
    needs=["runs.speculation | runs.step_time_ms"],
)
def step_cost_implausible(report: ReportFacts) -> Iterator[Problem]:
    """A verify step that costs too many plain steps, or less with more tokens to verify.

    What it does:
        r = τ/S is the time of a verify step in plain steps. Warns where r > 4 (0.95 to 4 is
        honest; less is BL221's, since r < 1 means S > τ), and where the step time
        τ/(tok/s) falls by more than 5 % as K grows in an otherwise equal configuration.
        On a processor, which computes a pass over K + 1 tokens hardly faster than K + 1
        passes, where r > 2K + 1. Stated spreads of the speeds count for the author. A note
        where τ follows from the rate alone, as if every draft had K tokens, and nothing says
        that they have. Silent where some passes may have carried no draft, and at concurrency
        over 1.
    Why it matters:
        Speed, acceptance and step cost are one equation. A step that costs too much is a
        drafter on the wrong device, a counter that misses tokens, or τ of another run.
    Example:
        K = 4, every draft accepted (τ 5.0) and a speed-up of 1.18: r = 4.24.
    Instead:
        Print step times, and check where the drafter runs.
    Sources:
        Leviathan et al., arXiv 2211.17192; ggml-org/llama.cpp#27788 and #14132 (verify costs of
        1.3 to 3.1 plain steps).
    """
    for run in report.speculative_runs:
        if run.speculation is not None:
            yield from _dear_step(run)
    yield from _falling_steps(report)


def _dear_step(run: RunFacts) -> Iterator[Problem]:
    if run.readings.plain_passes:
        return
    speedup, tau = _speedup(run), run.readings.tau or _tau_of_all_accepted(run.readings)
    if speedup is None or tau is None:
        return
    most = _most_plain_steps(run)
    # Spreads only widen it, so that they need not be known where the digits leave room.
    if (tau.near / speedup.digits).low <= most or speedup.near.low <= 0:
        return
    cost, is_close = tau.near / speedup.near, _tau_is_close(run)
    if cost.low > most:
        yield Problem(
            speedup.at,
            f"a verify step costs τ/S = {shown(tau.near.middle)}/{shown(speedup.near.middle)} = "
            f"{shown_interval(cost, 3)} plain steps"
            f"{'' if is_close else _IF_FULL} ({tau.text}, speed-up {speedup.text})",
            related=[*speedup.related, *tau.evidence],
            help=_CHECK if is_close else f"say whether drafts end early; {_CHECK}",
            severity=None if is_close else Severity.NOTE,
            subject=run.pointer,
        )


def _tau_of_all_accepted(r: Readings) -> Tau | None:
    """K + 1 where the rate is 1, whatever it is a share of."""
    if r.rate is None or r.k is None or not r.chain or r.rate.value != 1:
        return None
    k, near = r.k, 1 + r.k.value * r.rate.near
    return Tau(near, near, r.rate, ((k, "draft length K"),), lambda: f"τ = 1 + {k} × {r.rate}")


_IF_FULL = ", if every draft has K tokens"
_CHECK = "1 to 3 is usual: check where the drafter runs and what the counters count"


def _most_plain_steps(run: RunFacts) -> float:
    """On a processor nothing is gained by a batch, and a drafter costs up to a pass a token."""
    engine, k = run.configuration.engine, run.configuration.k
    on_cpu = engine is not None and (engine.model.backend or "").lower() == "cpu"
    return max(MOST_PLAIN_STEPS, 2 * k.value + 1) if on_cpu and k is not None else MOST_PLAIN_STEPS


def _tau_is_close(run: RunFacts) -> bool:
    """Whether τ is more than an upper bound: printed, counted, or of fixed drafts."""
    r = run.readings
    if r.length is not None or r.counted_tau is not None:
        return True
    return bool(run.configuration.fixed_k) or r.methods == {"dflash"}


@dataclass(frozen=True, slots=True)
class _Step:
    """A run's step time in ms at its draft length, with the numbers behind it.

    at: the step time as stated, or the speed that it follows from with τ.
    """

    run: RunFacts
    k: Reported
    near: Interval
    at: Reported
    tau: Tau | None = None

    @property
    def text(self) -> str:
        """How it follows, in words."""
        if self.tau is None:
            return f"{self.at} ms"
        milliseconds = shown(self.near.middle, 3)
        return f"1000 × {shown(self.tau.near.middle)}/{self.at} = {milliseconds} ms"

    @property
    def related(self) -> Related:
        """The numbers that it follows from."""
        return [*(() if self.tau is None else self.tau.evidence), (self.k, "K")]


def _falling_steps(report: ReportFacts) -> Iterator[Problem]:
    steps = [s for s in map(_step, _with_different_k(report)) if s is not None]
    falls: dict[str, tuple[float, _Step, _Step]] = {}
    for a, b in combinations(steps[:MANY_RUNS], 2):
        if a.k.value == b.k.value:
            continue
        short, long = (a, b) if a.k.value < b.k.value else (b, a)
        ratio = short.near.low / long.near.high
        if ratio <= 1 + SAME_STEP or not _same_but_k(a.run, b.run):
            continue
        falls[short.run.pointer] = max(
            falls.get(short.run.pointer, (0.0, short, long)), (ratio, short, long), key=_ratio_of
        )
    for _, short, long in falls.values():
        yield _fall(short, long)


def _with_different_k(report: ReportFacts) -> Sequence[RunFacts]:
    """The runs that may have a step time; none where all draft the same number of tokens."""
    asked = [r for r in report.runs if _may_have_step(r)]
    lengths = {None if (k := r.readings.k) is None else k.value for r in asked}
    return asked if len(lengths - {None}) > 1 else ()


def _may_have_step(run: RunFacts) -> bool:
    return run.members["speculation"] is not None or run.members["step_time_ms"] is not None


def _ratio_of(fall: tuple[float, _Step, _Step]) -> float:
    return fall[0]


def _fall(short: _Step, long: _Step) -> Problem:
    return Problem(
        short.at,
        f"the step time falls from {short.text} at K = {shown(short.k.value)} to {long.text} "
        f"at K = {shown(long.k.value)}, though more tokens are verified",
        related=[*short.related, (long.at, str(long.run)), *long.related],
        help="noise, another text, or drafts that are not of fixed length: repeat the sweep",
        subject=short.run.pointer,
    )


def _step(run: RunFacts) -> _Step | None:
    """Stated, else τ over decode speed, at concurrency 1 and with a draft in every pass."""
    r, stated = run.readings, run.step_time_ms
    if (run.concurrency or 1) != 1 or r.k is None or r.plain_passes or r.chain is not True:
        return None
    if stated is not None and stated.near.low > 0:
        return _Step(run, r.k, stated.near, stated)
    tau, speed = r.tau, run.decode_tok_s
    if tau is None or speed is None or speed.near.low <= 0 or tau.near.low < 1:
        return None
    return _Step(run, r.k, 1000 * tau.near / speed.near, speed, tau)


_ALL_BUT_K = (
    "machine",
    "engine",
    "target",
    "sampler",
    "drafters",
    "draft_selection",
    "acceptance_rule",
    "kv_cache",
)


def _same_but_k(a: RunFacts, b: RunFacts) -> bool:
    """Whether two runs differ in draft length alone, as far as is stated."""
    if a.model.workload != b.model.workload or a.model.conditions != b.model.conditions:
        return False
    return _same(a.configuration, b.configuration, _ALL_BUT_K)


# --- BL221 -----------------------------------------------------------------------------------


@rule(
    "BL221",
    "speedup-above-accepted-length",
    Severity.WARNING,
    "run",
    yields_to=["BL201"],
    needs=["speculation", "decode.tok_s | speedup"],
)
def speedup_above_accepted_length(run: RunFacts) -> Iterator[Problem]:
    """A speed-up larger than the accepted length of the same run.

    What it does:
        At concurrency 1, S = τ/r with r the time of a verify step in plain steps, and a step
        that verifies K + 1 tokens and drafts is no shorter than a plain one. Warns where S > τ
        by more than rounding, twice the standard error that the speeds state, and 2 %. Only for
        a run and its own τ: a per-task speed-up may exceed a τ over all tasks.
    Why it matters:
        The baseline was handicapped (another build, no CUDA graphs, colder), or τ is of
        another run.
    Example:
        80.87/17.98 = 4.50 with τ 3.92.
    Instead:
        A baseline of the same build, flags, context and warm-up.
    Sources:
        Leviathan et al., arXiv 2211.17192; sgl-project/sglang#4247 (37 % from CUDA graphs).
    """
    if not run.speculates:
        return
    speedup, tau = _speedup(run), run.readings.tau
    if speedup is None or tau is None or tau.span.high < 1:
        return
    r = run.readings
    most = tau.span.high
    if r.length is not None and r.bonus_unsaid and any(s.lengths for s in r.sources):
        most = r.length.span.high  # as that engine counts it
    if speedup.digits.low <= most:
        return
    noise = 0.1 if r.mean_of_means(r.length) or r.mean_of_means(run.decode_tok_s) else NOISE
    if speedup.near.low > most * (1 + noise):
        yield Problem(
            speedup.at,
            f"speed-up {speedup.text} > {tau.text}: "
            "a verify step would be shorter than a plain one",
            related=[*speedup.related, *tau.evidence],
            help="compare with a baseline of the same build, flags, context and warm-up",
        )


# --- BL222 -----------------------------------------------------------------------------------


@rule(
    "BL222",
    "throughput-above-concurrency",
    Severity.WARNING,
    "run",
    yields_to=["BL223"],
    needs=["throughput.tok_s", "conditions.concurrency"],
)
def throughput_above_concurrency(run: RunFacts) -> Iterator[Problem]:
    """More aggregate throughput than the streams can add up to.

    What it does:
        Warns where aggregate tok/s is more than 15 % above concurrency/TPOT, or above
        concurrency × decode speed where no time per output token is given. A mean of TPOT
        over requests explains less than that, since long answers run faster.
    Why it matters:
        More requests were in flight than stated, or input tokens are counted as output.
    Example:
        Concurrency 8, 25 ms a token: 8 × 1000/25 = 320 tok/s, and 480 stated.
    Instead:
        Output tokens over wall time, with the concurrency that was reached.
    Sources:
        Public tables of 1000·c/TPOT against throughput: 0.76 to 1.14.
    """
    total, concurrency = run.throughput_tok_s, run.concurrency
    if total is None or concurrency is None or concurrency < 1:
        return
    stream = _stream(run)
    if stream is None:
        return
    most, words, number = stream
    if total.span.low > most.high * concurrency * (1 + TPOT_MEAN):
        yield Problem(
            total,
            f"throughput {total} tok/s > {concurrency} streams × {words} = "
            f"{shown(most.middle * concurrency)} tok/s",
            related=[(number, "one stream"), (run.at("conditions", "concurrency"), "concurrency")],
            help="count output tokens only, and state the requests that were in flight",
        )


def _stream(run: RunFacts) -> tuple[Interval, str, Reported] | None:
    """tok/s of one stream, in words, and the number it rests on."""
    token = run.time_per_output_token_ms
    if token is not None and token.span.low > 0:
        return 1000 / token.span, f"1000/{token} ms", token
    speed = run.decode_tok_s
    return None if speed is None else (speed.span, f"{speed} tok/s", speed)


# --- BL223 -----------------------------------------------------------------------------------


@rule("BL223", "out-of-range", Severity.ERROR, "report", yields_to=["BL208"])
def out_of_range(report: ReportFacts) -> Iterator[Problem]:
    """A number that its field allows and sense does not.

    What it does:
        Reports negative speeds, times, counts and sizes, shares under 0 or over 1 (that are no
        percentage: BL208), and zero where at least one is needed, as devices, concurrency,
        prompts and parameters. Values that engines use for "off" or "automatic" pass: top_k -1,
        threads -1, a negative seed.
    Why it matters:
        Such a number is a slip, and everything computed from it is void.
    Example:
        `"acceptance_rate": 1.15`
    Instead:
        Accepted draft tokens over drafted ones, without the target's own token: 0 to 1.
    Sources:
        The report format, version 1.
    """
    for found in out_of_range_numbers(report):
        yield Problem(found.pointer, found.text, help=found.advice, subject=found.subject)
