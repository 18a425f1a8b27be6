"""BL410 to BL419: whether what was measured is what the report speaks of."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence

from benchlint.checker.acceptance_settings import (
    Setting,
    discloses,
    may_have_settings,
    relaxed_settings,
    synthetic_settings,
)
from benchlint.checker.arms import differences
from benchlint.checker.command_line import command_line
from benchlint.checker.definitions import PREFILL_TOKEN
from benchlint.checker.engines import version_at_least
from benchlint.checker.facts import (
    ClaimFacts,
    ConfigurationFacts,
    Placed,
    ReportFacts,
    RunFacts,
)
from benchlint.checker.finding import Severity
from benchlint.checker.model import Engine, Workload
from benchlint.checker.numbers import Reported, printed, reported
from benchlint.checker.registry import Problem, rule

# --- BL410 -----------------------------------------------------------------------------------

#: Names of sets and kinds of prompts that no person would send.
_UNNATURAL = frozenset(
    {
        "random",
        "random tokens",
        "random ids",
        "random mm",
        "lorem",
        "lorem ipsum",
        "filler",
        "gibberish",
        "repeated",
        "repeated text",
        "prefix repetition",
    }
)

#: Text that shrinks below this share is one passage again and again: 40 times the same
#: sentence gives 0.034, 200 times 0.01, logs and tables 0.05 and more, prose 0.3.
_REPETITIVE = 0.04
_LONG_ENOUGH = 1_000


@rule(
    "BL410",
    "prompts-unnatural",
    Severity.WARNING,
    "report",
    needs=["configurations.drafter | runs.speculation | configurations.draft_length"],
)
def prompts_unnatural(report: ReportFacts) -> Iterator[Problem]:
    """Speculation was measured on prompts that nobody would send.

    What it does:
        Warns where a speculative run says that its prompts were synthetic or repeated, or its
        workload is of random tokens, filler, one prompt several times, or one passage again
        and again. Silent where acceptance is stated to be synthetic.
    Why it matters:
        Acceptance is a property of the text. On random tokens a drafter is nearly always
        wrong, on repeated text nearly always right: a sentence repeated 200 times gave an
        accepted length of 5.00 with K = 4, where prose gives half of that.
    Example:
        `"measurement": {"prompt_kind": "synthetic"}`
    Instead:
        prompts of the kind that the report speaks of: `"prompt_kind": "natural"`
    Sources:
        vllm#55605 (length 5.00, 1.000 at all four positions); SemiAnalysisAI/InferenceX#1630
        (chat formatting alone moved throughput by +75 and -37 %).
    """
    blamed: set[str] = set()
    looked_at: set[str] = set()
    for run in report.speculative_runs:
        subject = run.pointer if run.workload is None else run.workload.pointer
        if subject in blamed or (run.measurement is None and subject in looked_at):
            continue
        if _is_synthetic(run):
            continue
        found = _said_unnatural(run)
        if found is None and subject not in looked_at and not _said_natural(run):
            looked_at.add(subject)  # texts may be long: each workload is read once
            found = _unnatural_workload(run.workload)
        if found is not None:
            blamed.add(subject)
            yield _unnatural(run, *found, subject)


def _unnatural(run: RunFacts, at: str, what: str, subject: str) -> Problem:
    return Problem(
        at,
        f"{run} measures speculation on {what}: acceptance there says little about real text",
        help="measure on prompts of the kind that the report speaks of",
        subject=subject,
    )


def _is_synthetic(run: RunFacts) -> bool:
    """Whether acceptance is stated to be set, so that prompts do not matter to it."""
    rule_of = run.configuration.acceptance_rule
    return rule_of is not None and rule_of.model.kind == "synthetic"


def _said_natural(run: RunFacts) -> bool:
    measurement = run.measurement
    return measurement is not None and measurement.model.prompt_kind == "natural"


def _said_unnatural(run: RunFacts) -> tuple[str, str] | None:
    measurement = run.measurement
    if measurement is None:
        return None
    kind = measurement.model.prompt_kind
    if kind in ("synthetic", "repeated"):
        return measurement.at("prompt_kind"), f"{kind} prompts"
    name = command_line(measurement.model.tool).value("--dataset-name")
    if name is not None and _plain(name) in _UNNATURAL:
        return measurement.at("tool"), f"the data set {name!r}"
    return None


def _unnatural_workload(workload: Placed[Workload] | None) -> tuple[str, str] | None:
    if workload is None:
        return None
    kinds = [kind for kind in workload.model.mix or () if _plain(kind) in _UNNATURAL]
    if kinds:
        return workload.at("mix"), f"prompts of the kind {kinds[0]!r}"
    prompts = workload.model.prompts
    if prompts is None:
        return None
    if prompts.set is not None and _plain(prompts.set) in _UNNATURAL:
        return workload.at("prompts", "set"), f"the prompts {prompts.set!r}"
    return _unnatural_texts(workload, prompts.inline or [])


def _plain(name: str) -> str:
    return name[:80].strip().casefold().replace("-", " ").replace("_", " ")


def _unnatural_texts(workload: Placed[Workload], texts: list[str]) -> tuple[str, str] | None:
    if len(texts) > 1 and len(set(texts)) == 1:
        return workload.at("prompts", "inline"), f"one prompt {len(texts)} times"
    for i, text in enumerate(texts):
        if _is_repetitive(text):
            return workload.at("prompts", "inline", i), "a prompt that repeats one passage"
    return None


def _is_repetitive(text: str) -> bool:
    raw = text.encode("utf-8", "replace")
    return len(raw) >= _LONG_ENOUGH and len(zlib.compress(raw, 1)) < _REPETITIVE * len(raw)


# --- BL411 -----------------------------------------------------------------------------------


@rule(
    "BL411",
    "forced-length",
    Severity.NOTE,
    "report",
    needs=["workloads.stop_rule | runs.measurement.tool | engine.command_line"],
)
def forced_length(report: ReportFacts) -> Iterator[Problem]:
    """Speculation was measured past the natural end of the answers.

    What it does:
        Notes a speculative run whose workload ignores the end token, by its stop rule, the
        engine's command line or the benchmark tool's.
    Why it matters:
        Past its end token a model repeats itself or wanders off. Drafts of such text are
        accepted more (or less) often than drafts of the answer, and the share of it grows with
        the forced length.
    Example:
        `"stop_rule": "ignore_eos"`
    Instead:
        `"stop_rule": "eos"` with a limit, and the mean output length
    Sources:
        vLLM `vllm bench serve --ignore-eos`; llama.cpp `--ignore-eos`; guidellm (sets it
        always).
    """
    seen: set[str] = set()
    for run in report.speculative_runs:
        at = None if _is_synthetic(run) else _ignores_eos(run)
        if at is not None and at not in seen:
            seen.add(at)
            yield Problem(
                at,
                f"{run} generates past the end token: text that no answer would have is "
                "drafted and accepted too",
                help="let answers end, or give acceptance up to the end token",
                subject=at,
            )


def _ignores_eos(run: RunFacts) -> str | None:
    """Where the run says that the end token is ignored."""
    workload = run.workload
    rule_text = None if workload is None else workload.model.stop_rule
    if workload is not None and rule_text is not None and _is_forced(rule_text):
        return workload.at("stop_rule")
    measurement, engine = run.measurement, run.configuration.engine
    if measurement is not None and _has_flag(measurement.model.tool):
        return measurement.at("tool")
    if engine is not None and _has_flag(engine.model.command_line):
        return engine.at("command_line")
    return None


def _is_forced(stop_rule: str) -> bool:
    text = _plain(stop_rule)
    denied = text.endswith(("false", "off", "no", "0")) or text.startswith(("no", "do not"))
    return ("ignore eos" in text or "ignores eos" in text) and not denied


def _has_flag(text: str | Sequence[str] | None) -> bool:
    value = command_line(text).value("--ignore-eos") if text is not None else None
    return value is not None and value.lower() not in ("false", "0", "no", "off")


# --- BL412 -----------------------------------------------------------------------------------

#: A speed-up up to here may be noise.
_NOISE = 1.2

#: Seen from here on: a draft model without `--spec-type` is loaded and never used.
_NEEDS_SPEC_TYPE = "b10434"
_DRAFT_MODEL_FLAGS = ("-md", "--model-draft", "--spec-draft-model")
_SPEC_TYPE_FLAGS = ("--spec-type", "--spec-default", "--models-preset")


@rule(
    "BL412",
    "speculation-not-engaged",
    Severity.WARNING,
    "report",
    needs=["runs.speculation.counts | engine.command_line"],
)
def speculation_not_engaged(report: ReportFacts) -> Iterator[Problem]:
    """A speculative run in which nothing was drafted.

    What it does:
        Warns where a run with a drafter counts no drafted tokens, and where llama.cpp was
        started with a draft model but without `--spec-type`, which leaves the model loaded and
        unused. It is an error where the same run reports an accepted length over 1 (by more
        than the token from prefill adds to tokens per step) or a speed-up over a baseline that
        differs in nothing else: no draft can have been accepted.
    Why it matters:
        Engines switch speculation off without a word: a missing flag, a minimum draft length,
        a vocabulary that does not fit. What was measured then is the plain model.
    Example:
        `"counts": {"drafted": 0}` in a run with `"drafter": {"method": "ngram"}`
    Instead:
        check the engine's counters before measuring; llama.cpp: `-md draft.gguf --spec-type
        draft-simple`
    Sources:
        llama.cpp#25345 and llama.cpp#26814 (a draft model without a type is never used);
        NVIDIA/TensorRT-LLM#17082 (acceptance silently 0); llama.cpp `ngram-mod` drafts nothing
        under its minimum of 48 tokens.
    """
    for run in report.runs:
        drafted = run.count("drafted")
        if drafted is not None and drafted.value == 0 and _has_drafter(run):
            yield _nothing_drafted(run, drafted)
    for runs in report.runs_by_configuration.values():
        engine = runs[0].configuration.engine
        commanded = engine is not None and engine.model.command_line is not None
        if commanded and not any(_accepts(run) for run in runs):
            yield from _draft_model_unused(runs[0].configuration)


def _has_drafter(run: RunFacts) -> bool:
    return bool(run.configuration.speculates) and not _is_zero(run.decode_tok_s)


def _is_zero(number: Reported | None) -> bool:
    return number is not None and number.value == 0


def _nothing_drafted(run: RunFacts, drafted: Reported) -> Problem:
    length = run.accepted_length
    if length is not None and length.span.above(1 + PREFILL_TOKEN):
        return _contradiction(run, drafted, length, f"τ {length} > 1")
    faster = _faster(run)
    if faster is not None:
        return _contradiction(run, drafted, faster[0], faster[1])
    return Problem(
        drafted,
        f"{run} has a drafter but drafted 0 tokens: what it measures is the plain model",
        help="check that speculation is engaged, or call the run a baseline",
        subject=run.pointer,
    )


def _contradiction(run: RunFacts, drafted: Reported, other: Reported, what: str) -> Problem:
    return Problem(
        drafted,
        f"{run} drafted 0 tokens and reports {what}: without drafts none can be accepted",
        related=[(other, what)],
        help="take counts and figures from the same run, or leave out what was not counted",
        severity=Severity.ERROR,
        subject=run.pointer,
    )


def _faster(run: RunFacts) -> tuple[Reported, str] | None:
    """A speed-up that the report states for a run, beyond noise."""
    speedup, over = run.speedup, run.speedup_over
    over_plain = over is None or (over.speculates is not True and not differences(run, over))
    if speedup is not None and over_plain and speedup.span.above(_NOISE):
        return speedup, f"a speed-up of {speedup}"
    found = (_claimed(claim) for claim in run.report.claims if claim.of is run)
    return next((each for each in found if each is not None), None)


def _claimed(claim: ClaimFacts) -> tuple[Reported, str] | None:
    value, relation, to = claim.value, claim.model.relation, claim.to
    if value is None or claim.model.metric not in ("decode.tok_s", "throughput.tok_s"):
        return None
    if not isinstance(to, RunFacts) or to.speculates is not False:
        return None
    if not isinstance(claim.of, RunFacts) or differences(claim.of, to):
        return None
    if relation == "ratio" and value.span.above(_NOISE):
        return value, f"{value} times its baseline's speed"
    if relation == "percent_more" and value.span.above((_NOISE - 1) * 100):
        return value, f"{value} % more than its baseline"
    return None


def _accepts(run: RunFacts) -> bool:
    """Whether the run shows that drafts were accepted, so that speculation was engaged."""
    accepted, rate, length = run.count("accepted"), run.acceptance_rate, run.accepted_length
    return any(
        (
            accepted is not None and accepted.value > 0,
            rate is not None and rate.value > 0,
            length is not None and length.value > 1,
            any(position.value > 0 for position in run.positions),
        )
    )


def _draft_model_unused(configuration: ConfigurationFacts) -> Iterator[Problem]:
    engine = configuration.engine
    methods = {drafter.model.method for drafter in configuration.drafters}
    if engine is None or methods != {"draft_model"} or configuration.engine_kind != "llama.cpp":
        return
    text = engine.model.command_line
    if text is None or not _needs_spec_type(engine.model) or _engaged_by_variable(engine.model):
        return
    line = command_line(text)
    if line.value(*_DRAFT_MODEL_FLAGS) is None or line.value(*_SPEC_TYPE_FLAGS) is not None:
        return
    yield Problem(
        engine.at("command_line"),
        "llama-server is given a draft model without `--spec-type`: it is loaded and never used",
        related=[(configuration.drafter_pointer, "the drafter")],
        help="add `--spec-type draft-simple`",
        subject=configuration.pointer,
    )


def _needs_spec_type(engine: Engine) -> bool:
    version = engine.version or ""
    known_commit = "0c1e57098" in (engine.commit or "") or "0c1e57098" in version
    return known_commit or version_at_least(version, _NEEDS_SPEC_TYPE) is True


def _engaged_by_variable(engine: Engine) -> bool:
    return "LLAMA_ARG_SPEC_TYPE" in (engine.environment or {})


# --- BL413 -----------------------------------------------------------------------------------


@rule(
    "BL413",
    "synthetic-acceptance",
    Severity.ERROR,
    "report",
    needs=["configurations.acceptance_rule | engine.environment | engine.command_line"],
)
def synthetic_acceptance(report: ReportFacts) -> Iterator[Problem]:
    """Drafts were accepted at a set rate, whatever the target said.

    What it does:
        Looks for the settings by which engines fake acceptance, in the acceptance rule's
        settings, the command line and the environment: llama.cpp `--spec-synth-len` and
        `--spec-synth-rates`, vLLM `rejection_sample_method` synthetic, SGLang
        `SGLANG_SIMULATE_ACC_LEN`, TensorRT-LLM `TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS`.
        It is an error unless `acceptance_rule` says that acceptance is synthetic; then it is a
        note, for the reader. A variable of one engine under an engine that is not named is a
        warning.
    Why it matters:
        The text is meaningless and the accepted length is the one that was asked for. Such
        figures show what a step costs, never what a drafter does.
    Example:
        `"environment": {"SGLANG_SIMULATE_ACC_LEN": "3.24"}`
    Instead:
        `"acceptance_rule": {"kind": "synthetic", "settings": {"SGLANG_SIMULATE_ACC_LEN": 3.24}}`
    Sources:
        llama.cpp#27711, vllm#38045, vllm#39359, SGLang `environ.py`, TensorRT-LLM
        `_torch/speculative/interface.py`.
    """
    seen: set[str] = set()
    for runs in report.runs_by_configuration.values():
        if not may_have_settings(runs[0].configuration):
            continue
        speculative = [run for run in runs if run.speculates]
        if not speculative:
            continue
        problem = _synthetic(speculative[0].configuration, speculative)
        place = None if problem is None else str(problem.at)
        if problem is not None and place is not None and place not in seen:
            seen.add(place)
            yield problem


def _synthetic(configuration: ConfigurationFacts, runs: Sequence[RunFacts]) -> Problem | None:
    found = next(synthetic_settings(configuration), None)
    rule = configuration.acceptance_rule
    disclosed = rule is not None and rule.model.kind == "synthetic"
    if rule is not None and disclosed:
        return _disclosed(rule.at("kind"), found, configuration)
    if found is None:
        return None
    if _told(runs, relaxed=False):
        return _disclosed(found.at, found, configuration)
    return _undisclosed(found, configuration, runs)


def _disclosed(at: str, found: Setting | None, configuration: ConfigurationFacts) -> Problem:
    by = "" if found is None else f" ({found.text})"
    return Problem(
        at,
        f"acceptance is synthetic{by}: the figures show what a step costs, not what the "
        "drafter does",
        related=[(found.at, "the setting")] if found is not None and found.at != at else [],
        help='say so with every figure, and in `"acceptance_rule": {"kind": "synthetic"}`',
        severity=Severity.NOTE,
        subject=configuration.pointer,
    )


def _undisclosed(
    found: Setting, configuration: ConfigurationFacts, runs: Sequence[RunFacts]
) -> Problem:
    rule = configuration.acceptance_rule
    kind = None if rule is None else rule.model.kind
    says = "nothing says so" if kind is None else f"`acceptance_rule` says {kind}"
    names = runs[0] if len(runs) == 1 else f"{runs[0]} and {len(runs) - 1} more"
    return Problem(
        found.at,
        f"{found.text} accepts drafts at a set rate, and {says}: acceptance and speed of "
        f"{names} are not measured",
        related=[] if rule is None or kind is None else [(rule.at("kind"), "the stated rule")],
        help='state `"acceptance_rule": {"kind": "synthetic"}`, or measure without the setting',
        severity=Severity.ERROR if found.certain else Severity.WARNING,
        subject=configuration.pointer,
    )


def _told(runs: Sequence[RunFacts], *, relaxed: bool) -> bool:
    """Whether a title or a note tells the reader in words."""
    report = runs[0].report.model
    texts = [report.title, report.notes]
    texts += [layer.model.notes for layer in runs[0].configuration.layers]
    texts += [run.model.notes for run in runs]
    lines = ([text] if isinstance(text, str) else text or [] for text in texts)
    return discloses((line for each in lines for line in each), relaxed=relaxed)


# --- BL414 -----------------------------------------------------------------------------------


@rule(
    "BL414",
    "relaxed-acceptance-undisclosed",
    Severity.WARNING,
    "report",
    needs=["configurations.acceptance_rule | engine.environment | engine.command_line"],
)
def relaxed_acceptance_undisclosed(report: ReportFacts) -> Iterator[Problem]:
    """Drafts are accepted that the target would not have sampled, and nothing says so.

    What it does:
        Looks for lossy acceptance in the acceptance rule's settings and the command line:
        SGLang's `speculative_accept_threshold_single` and `_acc` under 1, Medusa's typical
        acceptance, TensorRT-LLM's relaxed acceptance for thinking. At temperature 0 the
        thresholds do not act. Silent where the acceptance rule is stated as relaxed.
    Why it matters:
        Relaxing acceptance buys speed with quality. Lossless speculative decoding leaves the
        output's distribution as it is; this does not, so quality has to be shown again.
    Example:
        `"command_line": "… --speculative-accept-threshold-acc 0.7"`
    Instead:
        `"acceptance_rule": {"kind": "relaxed", "settings":
        {"speculative_accept_threshold_acc": 0.7}}` with a quality figure
    Sources:
        SGLang `srt/server_args.py`; Medusa, arXiv 2401.10774, section 2.3.1;
        NVIDIA/TensorRT-LLM#3865.
    """
    seen: set[str] = set()
    for runs in report.runs_by_configuration.values():
        configuration = runs[0].configuration
        if not may_have_settings(configuration):
            continue
        rule = configuration.acceptance_rule
        if not runs[0].speculates or (
            rule is not None and rule.model.kind in ("relaxed", "synthetic")
        ):
            continue
        found = next(relaxed_settings(configuration), None)
        if found is not None and found.at not in seen and not _told(runs, relaxed=True):
            seen.add(found.at)
            yield _relaxed(found, configuration)


def _relaxed(found: Setting, configuration: ConfigurationFacts) -> Problem:
    rule = configuration.acceptance_rule
    kind = None if rule is None else rule.model.kind
    says = "nothing says so" if kind is None else f"`acceptance_rule` says {kind}"
    return Problem(
        found.at,
        f"{found.text} accepts drafts that the target would not have sampled, and {says}",
        related=[] if rule is None or kind is None else [(rule.at("kind"), "the stated rule")],
        help='state `"acceptance_rule": {"kind": "relaxed"}` and show a quality figure',
        subject=configuration.pointer,
    )


# --- BL415 -----------------------------------------------------------------------------------


@rule(
    "BL415", "server-cumulative-counters", Severity.WARNING, "run", needs=["measurement.counters"]
)
def server_cumulative_counters(run: RunFacts) -> Iterator[Problem]:
    """Acceptance is from counters that run since the server started.

    What it does:
        Warns where a run reports acceptance and says that its counters are cumulative over the
        server's life. Silent where nothing was drafted since the server started.
    Why it matters:
        Such counters hold the warm-up and every run before, so that they are no figure of this
        run, and later runs look more and more alike.
    Example:
        `"measurement": {"counters": "server_cumulative"}`
    Instead:
        read the counters before and after the run and subtract: `"counters": "per_run"`
    Sources:
        SGLang `bench_serving.py` (`accept_length` is `avg_spec_accept_length` of the whole
        server); llama.cpp `common/speculative.cpp` (the `statistics` line).
    """
    measurement = run.measurement
    if measurement is None or measurement.model.counters != "server_cumulative":
        return
    number = run.accepted_length or run.acceptance_rate or next(iter(run.positions), None)
    number = number or run.count("drafted") or run.count("accepted")
    drafted = run.count("drafted")
    if number is not None and (drafted is None or drafted.value):
        yield Problem(
            number,
            f"acceptance of {run} is counted since the server started, warm-up and earlier runs "
            "included",
            related=[(measurement.at("counters"), "what the counters cover")],
            help="subtract the counters before the run from those after it",
        )


# --- BL416 -----------------------------------------------------------------------------------


@rule("BL416", "single-stream-for-server", Severity.NOTE, "claim", needs=["scope.serving"])
def single_stream_for_server(claim: ClaimFacts) -> Iterator[Problem]:
    """A claim about serving rests on a run with one request at a time.

    What it does:
        Notes a claim whose scope is a server and whose run had concurrency 1.
    Why it matters:
        Speculation spends compute that stands idle for one stream. Under load other requests
        need it, so that the gain shrinks and may turn into a loss.
    Example:
        `"scope": {"serving": "server"}` of a run with `"concurrency": 1`
    Instead:
        `"scope": {"serving": "single_stream"}`, or a run at the server's concurrency
    Sources:
        vllm#17202 (1.65 times offline, 1.14 times in serving); vLLM documentation,
        "Speculative decoding" (gains are for low request rates).
    """
    scope, run = claim.model.scope, claim.of
    if scope is None or scope.serving != "server" or not isinstance(run, RunFacts):
        return
    if run.concurrency == 1:
        yield Problem(
            claim.at("scope", "serving"),
            f"{claim} is said of a server, but {run} had 1 request in flight",
            related=[(run.at("conditions", "concurrency"), f"concurrency of {run}")],
            help="claim a single stream, or measure at the concurrency of the server",
        )


# --- BL417 -----------------------------------------------------------------------------------

_SHORTEST_TOKENS = 256
_FEWEST_STEPS = 50

_OUTPUT = frozenset({"decode.tokens", "throughput.tokens", "speculation.counts"})


@rule("BL417", "short-output", Severity.NOTE, "run", yields_to=("BL311",))
def short_output(run: RunFacts) -> Iterator[Problem]:
    """A decode speed or acceptance rests on few tokens.

    What it does:
        Notes a run whose output is under 256 tokens in all, or under 50 verify and plain
        steps, as far as it says. A speed with a standard deviation and without the number of
        repeats may rest on any number of them.
    Why it matters:
        A dozen steps have no usable precision: one rejected draft moves the mean, and the
        first token's time is a large share.
    Example:
        `"decode": {"tok_s": 21.56, "tokens": 28}`
    Instead:
        at least 256 tokens and 50 steps in each run
    Sources:
        llama.cpp `tools/llama-bench` (first token counted: 0.8 % at 128 tokens, 11 % at 10);
        accepted lengths of single requests spread by 20 % over 12 prompts.
    """
    if not _states_output(run):
        return
    tokens, steps = _most_tokens(run), _steps(run)
    if tokens is None and steps is None:
        return
    at = run.decode_tok_s or run.accepted_length or run.acceptance_rate
    if at is None:
        return
    if tokens is not None and tokens[0] < _SHORTEST_TOKENS:
        text = f"{tokens[0]:.0f} output tokens"
        yield _short(run, at, text, _SHORTEST_TOKENS, [tokens[1]])
    elif steps is not None and steps[0] < _FEWEST_STEPS:
        yield _short(run, at, f"{steps[0]:.0f} steps", _FEWEST_STEPS, steps[1])


def _short(run: RunFacts, at: Reported, text: str, least: int, of: list[Reported]) -> Problem:
    return Problem(
        at,
        f"{at} of {run} rests on {text}, fewer than {least}",
        related=[(each, "what it rests on") for each in of],
        help=f"measure at least {_SHORTEST_TOKENS} tokens and {_FEWEST_STEPS} steps",
    )


def _states_output(run: RunFacts) -> bool:
    """Whether the run may say how much it rests on; few runs do."""
    workload = run.workload
    answers = workload is not None and workload.model.output_tokens is not None
    return answers or not _OUTPUT.isdisjoint(run.given.paths)


def _most_tokens(run: RunFacts) -> tuple[float, Reported] | None:
    """The most output that the run's figures allow, over all its prompts and repeats."""
    totals = [run.count("output_tokens"), run.number("throughput", "tokens", count=True)]
    singles = [] if _repeats_are_unsaid(run) else [run.decode_tokens, _answer_length(run)]
    found = [(n.span.high, n) for n in totals if n is not None]
    found += [(n.span.high * _requests(run), n) for n in singles if n is not None]
    return max(found, key=lambda pair: pair[0]) if found else None


def _answer_length(run: RunFacts) -> Reported | None:
    """The output tokens of one request, as the workload has them."""
    workload = run.workload
    if workload is None or workload.model.output_tokens is None:
        return None
    return reported(workload.model.output_tokens, workload.at("output_tokens"), count=True)


def _requests(run: RunFacts) -> int:
    """The most requests that may be behind a figure."""
    workload, counts, conditions = run.workload, run.counts, run.conditions
    prompts = None if workload is None else workload.model.prompt_count
    counted = None if counts is None else counts.model.requests
    completed = None if run.throughput is None else run.throughput.model.completed_requests
    repeats = None if conditions is None else conditions.model.repeats
    measured = max(repeats or 1, _repeats_of_speed(run), 1)
    return max(prompts or 1, counted or 1, completed or 1) * measured


def _repeats_of_speed(run: RunFacts) -> int:
    """How often the decode speed itself says that it was measured; 0 where it does not."""
    detail = None if run.decode_tok_s is None else run.decode_tok_s.detail
    return 0 if detail is None else max(detail.repeats or 0, len(detail.samples or ()))


def _repeats_are_unsaid(run: RunFacts) -> bool:
    """Whether the speed has a spread, and nobody says over how many measurements."""
    detail = None if run.decode_tok_s is None else run.decode_tok_s.detail
    spread = detail is not None and detail.stdev is not None
    said = run.conditions is not None and run.conditions.model.repeats is not None
    return spread and not said and not _repeats_of_speed(run)


def _steps(run: RunFacts) -> tuple[float, list[Reported]] | None:
    verify, plain = run.count("verify_steps"), run.count("plain_steps")
    if verify is None:
        return None
    parts = [verify] if plain is None else [verify, plain]
    return sum(each.value for each in parts), parts


# --- BL418 -----------------------------------------------------------------------------------

_LOOKUPS = frozenset({"ngram", "suffix", "prompt_lookup"})
_CPU_NAMES = ("cpu", "xeon", "epyc", "ryzen", "threadripper", "core ultra", "graviton", "altra")


@rule(
    "BL418",
    "draft-selection-on-cpu",
    Severity.NOTE,
    "report",
    needs=["configurations.draft_selection.placement"],
)
def draft_selection_on_cpu(report: ReportFacts) -> Iterator[Problem]:
    """Draft tokens are chosen on the CPU while the models run on a GPU.

    What it does:
        Notes a configuration whose draft selection is placed on the CPU. Silent where another
        run of the report has it on the GPU (then the two are compared), where everything runs
        on the CPU, and for n-gram and other lookups, which have no logits to choose from.
    Why it matters:
        Every drafted token then waits for a copy from the device and a synchronisation. Moving
        the argmax onto the device took a mixed benchmark from 36.30 to 38.34 tok/s.
    Example:
        `"draft_selection": {"placement": "cpu"}`
    Instead:
        `"draft_selection": {"placement": "gpu"}` (llama.cpp: `--spec-draft-backend-sampling`)
    Sources:
        The field report "DFlashでtok/sの意味が変わる"; llama.cpp `common/arg.cpp`
        (`--spec-draft-backend-sampling`).
    """
    placements = {_placement(runs[0]) for runs in report.runs_by_configuration.values()}
    if "cpu" not in placements or "gpu" in placements:
        return
    seen: set[str] = set()
    for run in report.speculative_runs:
        placed = run.configuration.draft_selection
        if placed is None or placed.pointer in seen or _placement(run) != "cpu":
            continue
        seen.add(placed.pointer)
        if not _all_on_cpu(run.configuration) and not _only_lookups(run.configuration):
            yield Problem(
                placed.at("placement"),
                f"{run} chooses draft tokens on the CPU: each waits for a copy from the device",
                help="keep the choice on the device, or measure both placements",
                subject=run.configuration.pointer,
            )


def _placement(run: RunFacts) -> str | None:
    placed = run.configuration.draft_selection
    return None if placed is None else placed.model.placement


def _all_on_cpu(configuration: ConfigurationFacts) -> bool:
    engine, machine = configuration.engine, configuration.machine
    if engine is not None and "cpu" in (engine.model.backend or "").casefold():
        return True
    devices = [] if machine is None else machine.model.devices or []
    return bool(devices) and all(_is_cpu(device.name or "") for device in devices)


def _is_cpu(name: str) -> bool:
    return any(part in name.casefold() for part in _CPU_NAMES)


def _only_lookups(configuration: ConfigurationFacts) -> bool:
    methods = {drafter.model.method for drafter in configuration.drafters}
    return bool(methods) and methods <= _LOOKUPS


# --- BL419 -----------------------------------------------------------------------------------

_PENALTIES: dict[str, Callable[[float], bool]] = {
    "repetition_penalty": lambda value: value != 1,
    "presence_penalty": lambda value: value != 0,
    "frequency_penalty": lambda value: value != 0,
}


@rule(
    "BL419",
    "penalties-with-speculation",
    Severity.WARNING,
    "report",
    needs=[
        "configurations.sampler.repetition_penalty"
        " | configurations.sampler.presence_penalty"
        " | configurations.sampler.frequency_penalty"
    ],
)
def penalties_with_speculation(report: ReportFacts) -> Iterator[Problem]:
    """A penalty is in force while the drafter drafts without it.

    What it does:
        Warns where a speculative configuration states a repetition, presence or frequency
        penalty that is not neutral. Silent where the model's documented sampler has the same
        penalty.
    Why it matters:
        Penalties change the target's choice with every token of a draft, and the drafter
        usually does not know them: acceptance falls. A repetition penalty of 1.1 cost 13 to
        16 % of DFlash throughput.
    Example:
        `"sampler": {"temperature": 0.7, "repetition_penalty": 1.1}` with a drafter
    Instead:
        `"repetition_penalty": 1.0`, or both settings measured
    Sources:
        ollama/ollama#17679; llama.cpp `common/sampling.cpp` (penalties see accepted tokens
        only).
    """
    seen: set[str] = set()
    for run in report.speculative_runs:
        sampler = run.configuration.sampler
        if sampler is None or sampler.pointer in seen:
            continue
        seen.add(sampler.pointer)
        found = [name for name in _PENALTIES if _penalises(run.configuration, name)]
        if found:
            values = ", ".join(f"{n} {printed(getattr(sampler.model, n))}" for n in found)
            yield Problem(
                sampler.at(found[0]),
                f"{run} speculates under {values}: the drafter does not know the penalty, so "
                "fewer drafts are accepted",
                related=[(sampler.at(name), name) for name in found[1:]],
                help="measure with neutral penalties too, and say which the figures are for",
                subject=sampler.pointer,
            )


def _penalises(configuration: ConfigurationFacts, name: str) -> bool:
    sampler, target = configuration.sampler, configuration.target
    value = None if sampler is None else getattr(sampler.model, name)
    if value is None or not _PENALTIES[name](value):
        return False
    documented = None if target is None else target.model.documented_sampler
    return documented is None or getattr(documented, name) != value
