"""The arms of a comparison, and in what more than speculation they differ.

A speculative run is compared with the plain run that its speed-up or a claim names, else with
the only plain run of the same setting. Left out of account is what a drafter forces: its
memory makes the KV cache smaller and may push layers off the device, its method may need a
patched engine or another attention kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from benchlint.checker.command_line import command_line
from benchlint.checker.engines import engine_kind, parse_version
from benchlint.checker.facts import ConfigurationFacts, M, Placed, ReportFacts, RunFacts
from benchlint.checker.metrics import is_about_speed
from benchlint.checker.model import Conditions, Engine, Sampler
from benchlint.checker.numbers import Reported, printed
from benchlint.checker.sampler_defaults import PARAMETERS, neutral
from benchlint.checker.tables import kv_type

#: KV positions further apart than this factor are two settings.
_POSITIONS_APART = 2.0

#: Measured so often, an arm has a spread; measured once, it has none.
_REPEATED = 3

#: Flags that slow an engine down, and flags whose values change its arithmetic.
_HANDICAPS = ("--enforce-eager", "--disable-cuda-graph")
_ARITHMETIC = ("--dtype", "--quantization", "--kv-cache-dtype")

_QUANTIZATION = {"recipe": "target quantization", "converted_at_load": "conversion at load"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two arms state differently: what it is, both values, where they stand."""

    name: str
    spec: str
    plain: str
    spec_at: str
    plain_at: str

    def __str__(self) -> str:
        return f"{self.name} {self.spec} against {self.plain}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A speculative run and the plain run it is compared with.

    stated: the report compares them itself; otherwise they merely match.
    """

    spec: RunFacts
    plain: RunFacts
    stated: bool


def pairs(report: ReportFacts) -> Iterator[Pair]:
    """Every speculative run with each of its plain runs, once; stated pairs first."""
    seen: set[tuple[str, str]] = set()
    for pair in chain(_of_speedups(report), _of_claims(report), _matching(report)):
        key = (pair.spec.pointer, pair.plain.pointer)
        if key not in seen:
            seen.add(key)
            yield pair


def _of_speedups(report: ReportFacts) -> Iterator[Pair]:
    for run in report.runs:
        over = None if run.model.speedup is None else run.speedup_over
        if over is not None and run.speculates and _is_plain(over):
            yield Pair(run, over, stated=True)


def _of_claims(report: ReportFacts) -> Iterator[Pair]:
    for claim in report.claims:
        if claim.model.to is None or not is_about_speed(claim):
            continue
        of, to = claim.of, claim.to
        if not isinstance(of, RunFacts) or not isinstance(to, RunFacts):
            continue
        spec, plain = (of, to) if of.speculates else (to, of)
        if spec.speculates and spec.model.void is None and _is_plain(plain):
            yield Pair(spec, plain, stated=True)


def _matching(report: ReportFacts) -> Iterator[Pair]:
    for run in report.speculative_runs:
        plain = run.baseline
        if plain is not None and _is_plain(plain):
            yield Pair(run, plain, stated=False)


def _is_plain(run: RunFacts) -> bool:
    return run.speculates is False and run.model.void is None


# --- differences -----------------------------------------------------------------------------


def differences(spec: RunFacts, plain: RunFacts) -> list[Difference]:
    """What both runs state and state differently, apart from what the drafter forces."""
    a, b = spec.configuration, plain.configuration
    of_setup = [] if a is b else [*_sampler(a, b), *_engine(a, b), *_target(a, b), *_kv_types(a, b)]
    return [*of_setup, *_conditions(spec, plain)]


def _between(
    name: str, a: Placed[M] | None, b: Placed[M] | None, *path: str
) -> Iterator[Difference]:
    """The difference at a path inside two blocks, where both have a value there."""
    if a is None or b is None or a.model is b.model:
        return
    left, right = _inside(a.model, path), _inside(b.model, path)
    if left is not None and right is not None and left != right:
        yield Difference(name, _shown(left), _shown(right), a.at(*path), b.at(*path))


def _inside(value: object, path: Sequence[str]) -> object:
    for part in path:
        value = getattr(value, part, None)
    return value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return printed(value) if isinstance(value, (int, float)) else str(value)


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _sampler(a: ConfigurationFacts, b: ConfigurationFacts) -> Iterator[Difference]:
    if a.sampler is None or b.sampler is None or a.sampler.model is b.sampler.model:
        return
    left, right = a.sampler.model, b.sampler.model
    for name in PARAMETERS:
        if getattr(left, name) == getattr(right, name):
            continue
        for found in _between(name, a.sampler, b.sampler, name):
            if name == "temperature" or not _both_idle(left, right, name):
                yield found


def _both_idle(a: Sampler, b: Sampler, name: str) -> bool:
    """Whether the parameter does nothing in either arm, as top_k 0 and -1, or under greedy."""
    return all(neutral(name, getattr(s, name), s.temperature) for s in (a, b))


def _alike(a: Placed[M] | None, b: Placed[M] | None) -> bool:
    """Whether two blocks cannot differ: one is not there, or both are the same."""
    return a is None or b is None or a.model is b.model


def _engine(a: ConfigurationFacts, b: ConfigurationFacts) -> Iterator[Difference]:
    if a.engine is None or b.engine is None or a.engine.model == b.engine.model:
        return
    for name in _between("engine", a.engine, b.engine, "name"):
        if not _same_engine(name):
            yield name
            return  # nothing else of two engines can be compared
    yield from _version(a.engine, b.engine)
    yield from _between("backend", a.engine, b.engine, "backend")
    yield from _spread(a.engine, b.engine)
    yield from _offload(a, b)
    yield from _flags(a.engine, b.engine)


def _same_engine(names: Difference) -> bool:
    kinds = engine_kind(names.spec), engine_kind(names.plain)
    if None in kinds:
        return _letters(names.spec) == _letters(names.plain)
    return kinds[0] == kinds[1]


def _version(a: Placed[Engine], b: Placed[Engine]) -> Iterator[Difference]:
    patched = bool(a.model.patches or b.model.patches)
    for version in _between("engine version", a, b, "version"):
        if not _same_version(version, patched=patched):
            yield version
    for commit in _between("engine commit", a, b, "commit"):
        if not patched and not _same_commit(commit):
            yield commit


def _same_version(versions: Difference, *, patched: bool) -> bool:
    """A patched build carries a version of its own: only its numbers count."""
    a, b = parse_version(versions.spec), parse_version(versions.plain)
    if a is None or b is None:
        return patched
    return a.numbers == b.numbers and (patched or not (a.before_release or b.before_release))


def _same_commit(commits: Difference) -> bool:
    a, b = commits.spec.casefold(), commits.plain.casefold()
    return a.startswith(b) or b.startswith(a)


def _spread(a: Placed[Engine], b: Placed[Engine]) -> Iterator[Difference]:
    """Threads and how the model is spread over devices."""
    if isinstance(a.model.threads, int) and isinstance(b.model.threads, int):
        yield from _between("threads", a, b, "threads")
    for name in ("decode", "batch"):
        yield from _between(f"{name} threads", a, b, "threads", name)
    for name in ("tensor", "pipeline", "data", "expert"):
        yield from _between(f"{name} parallelism", a, b, "parallelism", name)


def _offload(a: ConfigurationFacts, b: ConfigurationFacts) -> Iterator[Difference]:
    """A plain arm that has less of the target on the device than the speculative one."""
    if a.offload is None or b.offload is None:
        return
    spec, plain = a.offload.model, b.offload.model
    if spec.kind == "none" and plain.kind != "unknown":
        yield from _between("offload", a.offload, b.offload, "kind")
    elif (spec.gpu_layers or 0) > (plain.gpu_layers or 0):
        yield from _between("layers on the device", a.offload, b.offload, "gpu_layers")


def _flags(a: Placed[Engine], b: Placed[Engine]) -> Iterator[Difference]:
    if a.model.command_line is None or b.model.command_line is None:
        return
    spec, plain = command_line(a.model.command_line), command_line(b.model.command_line)
    at = a.at("command_line"), b.at("command_line")
    for flag in _HANDICAPS:
        if plain.value(flag) is not None and spec.value(flag) is None:
            yield Difference(flag, "not set", "set", *at)
    for flag in _ARITHMETIC:
        left, right = spec.value(flag), plain.value(flag)
        if left and right and left != right:
            yield Difference(flag, left, right, *at)


def _target(a: ConfigurationFacts, b: ConfigurationFacts) -> Iterator[Difference]:
    if _alike(a.target, b.target):
        return
    for found in _between("target", a.target, b.target, "name"):
        if _last(found.spec) != _last(found.plain):
            yield found
    for field, text in _QUANTIZATION.items():
        for found in _between(text, a.target, b.target, "quantization", field):
            if _letters(found.spec) != _letters(found.plain):
                yield found


def _last(name: str) -> str:
    """The model's name without the owner before it."""
    return _letters(name.rpartition("/")[2])


def _kv_types(a: ConfigurationFacts, b: ConfigurationFacts) -> Iterator[Difference]:
    if _alike(a.kv_cache, b.kv_cache):
        return
    for found in _between("KV cache type", a.kv_cache, b.kv_cache, "target_type"):
        sizes = kv_type(found.spec), kv_type(found.plain)
        same_size = None not in sizes and sizes[0] == sizes[1]
        if not same_size and _letters(found.spec) != _letters(found.plain):
            yield found


def _conditions(spec: RunFacts, plain: RunFacts) -> Iterator[Difference]:
    a, b = spec.conditions, plain.conditions
    if _alike(a, b):
        return  # without conditions there is no KV position either
    yield from _between("concurrency", a, b, "concurrency")
    yield from _between("prompt cache", a, b, "prompt_cache")
    yield from _warm_up(a, b)
    if _far_apart(spec.filled_tokens, plain.filled_tokens):
        yield from _between("KV position", a, b, "kv_position", "filled_tokens")


def _warm_up(a: Placed[Conditions] | None, b: Placed[Conditions] | None) -> Iterator[Difference]:
    """One arm warm and the other cold, or one measured once and the other again and again."""
    if a is None or b is None:
        return
    yield from _between("warm", a, b, "warm")
    if not (a.model.warm and b.model.warm):  # there are other ways to warm an engine up
        for found in _between("warm-up requests", a, b, "warmup_requests"):
            if 0 in (a.model.warmup_requests, b.model.warmup_requests):
                yield found
    for found in _between("repeats", a, b, "repeats"):
        counts = sorted((a.model.repeats or 0, b.model.repeats or 0))
        if counts[0] == 1 and counts[1] >= _REPEATED:
            yield found


def _far_apart(a: Reported | None, b: Reported | None) -> bool:
    if a is None or b is None:
        return False
    return max(a.value, b.value) > _POSITIONS_APART * max(min(a.value, b.value), 1)
