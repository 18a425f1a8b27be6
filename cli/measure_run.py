"""`benchlint measure`: from options to an exit code."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast, get_args

from benchlint import __version__
from benchlint.asking import answers
from benchlint.checker.errors import CannotRunError
from benchlint.checker.formats.base import plural
from benchlint.checker.model import Drafter
from benchlint.durations import seconds_of
from benchlint.ending import CANNOT_RUN, INTERRUPTED, say
from benchlint.engine_options import EngineOptions
from benchlint.measured_text import said_of, table, withdrawn
from benchlint.measuring_end import tell_end
from benchlint.measuring_progress import MeasuringProgress
from benchlint.outputs import DEFAULT_FORMAT, standard_output
from benchlint.reproducers.engine import Sampling
from benchlint.reproducers.journal import End
from benchlint.reproducers.measure_arms import ArmWishes, Placement
from benchlint.reproducers.measurement import (
    Task,
    Written,
    forget_nothing,
    measure_task,
    plan_of_task,
    tell_more,
    why_nothing,
    write_report,
)
from benchlint.reproducers.plan import Circumstances
from benchlint.reproducers.told_values import Assignment, assignment
from benchlint.reproducers.workloads import BUNDLED, PromptSet, bundled, first_of, read_prompts
from benchlint.reproducers.workloads.texts import bundled_text, read_text
from benchlint.verdict_output import draws_bar
from benchlint.what_is_missing import findings_of, missing_in

#: Draft length where files are measured and nobody says another.
DRAFT_LENGTH = 4

#: Sets of prompts where nobody says others: hard, harder and easy to draft.
WORKLOADS = ("code", "prose", "tool_call")

#: Seed of the sampler where it draws and nobody says another.
SEED = 1

_LONGEST_DRAFT = 1024
_FURTHEST = 1 << 24


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `benchlint measure`; None and () where one was not given.

    ask: whether somebody is there to be asked for what is missing.
    """

    engine: EngineOptions
    methods: tuple[str, ...] = ()
    draft_lengths: tuple[str, ...] = ()
    p_min: float = 0.0
    placements: tuple[str, ...] = ()
    baseline: bool = True
    workloads: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    prompts_per_set: int | None = None
    filled: tuple[str, ...] = ()
    max_tokens: int = 256
    ignore_eos: bool = False
    raw: bool = False
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    kv_type: str | None = None
    text: str | None = None
    pairs: int = 8
    budget: str | None = None
    plan: bool = False
    out: str = "measured"
    resume: bool = False
    values: tuple[str, ...] = ()
    ask: bool = False


def run(options: Options) -> int:
    """Measure what the options name and write the report; the exit code.

    Raises CannotRunError when that cannot be done, OSError when a file cannot be written.
    """
    folder, assignments = Path(options.out), tuple(map(assignment, options.values))
    if options.resume and options.engine == EngineOptions():
        tell_more(folder, assignments)
        return _give(folder, ask=options.ask)
    progress = MeasuringProgress(sys.stderr, bar=draws_bar())
    task = _task(options, assignments, progress)
    if options.plan:
        return _print_plan(options, task)
    was_there = folder.exists()
    with options.engine.chosen() as chosen:
        try:
            end = measure_task(task, chosen, folder, go_on=options.resume)
        finally:
            progress.clear()
    if nothing := why_nothing(folder):
        forget_nothing(folder, was_there=was_there)
        return _tell_nothing(end, nothing)
    tell_end(
        end,
        folder,
        settled="all rounds are measured",
        interrupted="the report is of what was measured so far",
    )
    return _give(folder, ask=options.ask and end.reason not in _BROKEN_OFF)


def _print_plan(options: Options, task: Task) -> int:
    scores = options.engine != EngineOptions() and options.engine.chosen().main.scores_texts
    standard_output(DEFAULT_FORMAT).write(f"{plan_of_task(task, scores_texts=scores)}\n")
    return 0


# From options


def _task(
    options: Options, assignments: tuple[Assignment, ...], progress: MeasuringProgress
) -> Task:
    return Task(
        arms=_arms(options),
        sets=_sets(options),
        tool=__version__,
        positions=_positions(options.filled),
        circumstances=Circumstances(
            max_tokens=options.max_tokens, ignore_eos=options.ignore_eos, chat=not options.raw
        ),
        pairs=options.pairs,
        text=bundled_text() if options.text is None else read_text(options.text),
        assignments=assignments,
        options=tuple(_repeat(options)),
        budget_s=math.inf if options.budget is None else seconds_of(options.budget, "--budget"),
        progress=progress.show,
        notice=say,
        hashing=progress.hash,
    )


def _arms(options: Options) -> ArmWishes:
    methods = _methods(options)
    baseline = options.baseline and _can_measure_baseline(options, methods)
    if not methods and not baseline:
        raise CannotRunError("--no-baseline leaves nothing to measure: name a drafter or --method")
    if not methods:
        _refuse_what_drafting_needs(options)
    return ArmWishes(
        methods,
        _draft_lengths(options),
        options.p_min,
        _placements(options.placements),
        _sampling(options),
        _kv_types(options),
        baseline,
    )


def _refuse_what_drafting_needs(options: Options) -> None:
    """Raise CannotRunError where an option is given that only arms with a drafter have."""
    of_drafting = {
        "--draft-max": options.draft_lengths,
        "--baseline-endpoint": options.engine.baseline_endpoint,
    }
    for name, value in of_drafting.items():
        if value:
            raise CannotRunError(f"{name} is for arms with a drafter: say which with --method")


def _methods(options: Options) -> tuple[str, ...]:
    words, _ = get_args(Drafter.model_fields["method"].annotation)  # the other one is None
    known = [name for name in get_args(words) if name != "other"]
    for name in options.methods:
        _refuse_unknown("--method", name, known)
    default = () if options.engine.draft_model is None else ("draft_model",)
    return tuple(dict.fromkeys(options.methods)) or default


def _can_measure_baseline(options: Options, methods: Sequence[str]) -> bool:
    """Whether some engine drafts nothing: a server that drafts always does."""
    engine = options.engine
    if engine.endpoint is None or engine.baseline_endpoint is not None or not methods:
        return True
    say("no baseline: name a server without a drafter with --baseline-endpoint URL")
    return False


def _refuse_unknown(option: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        near = difflib.get_close_matches(word, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise CannotRunError(f"{option} is one of {', '.join(known)}, not {word[:40]!r}{hint}")


def _draft_lengths(options: Options) -> tuple[int | None, ...]:
    """Those of an endpoint are the server's own where nobody says them."""
    if not options.draft_lengths:
        return (None,) if options.engine.endpoint is not None else (DRAFT_LENGTH,)
    return _whole("--draft-max", options.draft_lengths, 1, _LONGEST_DRAFT)


def _whole(option: str, words: Sequence[str], least: int, most: int) -> tuple[int, ...]:
    """Whole numbers, each once. Raises CannotRunError."""
    for word in words:
        if not (word.isascii() and word.isdecimal() and least <= int(word[:20]) <= most):
            raise CannotRunError(
                f"{option} takes whole numbers from {least} to {most}, not {word[:40]!r}"
            )
    return tuple(dict.fromkeys(map(int, words)))


def _placements(words: Sequence[str]) -> tuple[Placement, ...]:
    for word in words:
        _refuse_unknown("--argmax", word, ("gpu", "cpu"))
    return cast("tuple[Placement, ...]", tuple(dict.fromkeys(words))) or (None,)


def _sampling(options: Options) -> Sampling:
    names = {each.name for each in fields(Sampling)}
    asked = {name: getattr(options, name) for name in names}
    if options.seed is None and options.temperature > 0:
        asked["seed"] = SEED
    return Sampling(**asked)


def _kv_types(options: Options) -> tuple[str, str] | None:
    """llama.cpp's own default is asked for by name, so that it is known to be in effect."""
    if options.engine.endpoint is not None:
        if options.kv_type is not None:
            raise CannotRunError("--kv-type is for model files; the server has a cache of its own")
        return None
    keys, _, values = (options.kv_type or "f16").partition("/")
    return keys.strip(), (values or keys).strip()


def _sets(options: Options) -> tuple[PromptSet, ...]:
    for name in options.workloads:
        _refuse_unknown("--workload", name, BUNDLED)
    names = options.workloads or (() if options.prompts else WORKLOADS)
    found = [bundled(name) for name in dict.fromkeys(names)]
    found += [read_prompts(file) for file in dict.fromkeys(options.prompts)]
    each_once = {each.name for each in found}
    if len(each_once) < len(found):
        raise CannotRunError("two files of --prompts have one name: rename one")
    return tuple(first_of(each, options.prompts_per_set) for each in found)


def _positions(words: Sequence[str]) -> tuple[int | None, ...]:
    """KV positions; 0 is the prompt alone."""
    return tuple(each or None for each in _whole("--filled", words, 0, _FURTHEST)) or (None,)


def _repeat(options: Options) -> Iterator[str]:
    """The options that shape what is measured, for somebody else; files without folders."""
    for option, words in (
        ("--method", options.methods),
        ("--draft-max", options.draft_lengths),
        ("--argmax", options.placements),
        ("--workload", options.workloads),
        ("--filled", options.filled),
    ):
        yield from ((option, ",".join(words)) if words else ())
    for file in options.prompts:
        yield from ("--prompts", Path(file).name)
    yield from (("--text", Path(options.text).name) if options.text is not None else ())
    for option, on in (
        ("--no-baseline", not options.baseline),
        ("--ignore-eos", options.ignore_eos),
        ("--raw", options.raw),
    ):
        yield from ((option,) if on else ())
    yield from _numbers(options)


def _numbers(options: Options) -> Iterator[str]:
    """Options with one value, where it is not the default."""
    plain = Options(options.engine)
    names = (
        *("p_min", "prompts_per_set", "max_tokens", "temperature", "top_p", "top_k", "min_p"),
        *("repetition_penalty", "presence_penalty", "frequency_penalty", "seed"),
        *("kv_type", "pairs"),
    )
    for name in names:
        value = getattr(options, name)
        if value != getattr(plain, name):
            yield from (f"--{name.replace('_', '-')}", str(value))


# What is said

_FAILED = ("engine_gone", "error")

#: After these nobody wants questions.
_BROKEN_OFF = ("interrupted", *_FAILED)


def _tell_nothing(end: End, why: str) -> int:
    """Say in one line why there is no report; the exit code."""
    if end.reason == "interrupted":
        say("interrupted before anything was measured")
        return INTERRUPTED
    say(f"nothing was measured: {why}")
    return CANNOT_RUN


def _give(folder: Path, *, ask: bool) -> int:
    """Write the report, print what was measured and what is missing; the exit code."""
    if nothing := why_nothing(folder):
        raise CannotRunError(f"nothing was measured: {nothing}")
    written = _written(folder)
    report = written.report
    out = standard_output(DEFAULT_FORMAT)
    out.write(table(report))
    out.flush()
    for line in (*withdrawn(report), *written.refused):
        say(line)
    if written.kept is not None:
        say(f"the report that was there is not what samples.jsonl gives; it is now {written.kept}")
    runs = [each for each in report.get("runs", ()) if "void" not in each]
    claims = len(report.get("claims", ()))
    say(f"wrote {written.path}: {plural(len(runs), 'run')}, {plural(claims, 'claim')}")
    if runs:  # nobody can tell what was not measured
        _tell_missing(_completed(folder, report) if ask else report, folder)
    elif not report.get("runs"):
        say("it has no runs yet, since no round of all arms is whole")
    return _exit_code(written, measured=bool(runs))


def _written(folder: Path) -> Written:
    try:
        return write_report(folder)
    except OSError:  # hours of measuring are not lost to a full disk
        say(f"`benchlint measure --resume --out {folder}` writes the report from samples.jsonl")
        raise


def _completed(folder: Path, report: dict[str, Any]) -> dict[str, Any]:
    """The report, written again with what the user answers."""
    given = answers(report, missing_in(report, findings_of(report)))
    if not given:
        return report
    tell_more(folder, given)
    written = _written(folder)
    say(f"wrote {written.path} again, with {plural(len(given), 'answer')}")
    return written.report


def _tell_missing(report: dict[str, Any], folder: Path) -> None:
    findings = findings_of(report)
    for line in said_of(findings, missing_in(report, findings), folder):
        say(line)


def _exit_code(written: Written, *, measured: bool) -> int:
    reason = None if written.end is None else written.end.reason
    if reason == "interrupted":
        return INTERRUPTED
    return CANNOT_RUN if reason in _FAILED or written.refused or not measured else 0
