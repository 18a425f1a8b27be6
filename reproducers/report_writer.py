"""From a plan and a journal to a report of what was measured.

A pure function: the same journal gives the same report. What was in effect is written, not what
was asked for; what neither the engine nor the machine tells is left out and can be told by a
person (`told_values`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from benchlint.checker.model import Sampler
from benchlint.checker.scored_tokens import scored_tokens
from benchlint.checker.tree import Digits
from benchlint.reproducers.cell_readings import other_load
from benchlint.reproducers.conditions import MODEL_FREE
from benchlint.reproducers.engine import Arm, Description, Sampling
from benchlint.reproducers.journal import End, Journal, Known, Reading, Void
from benchlint.reproducers.perplexity import windows_of
from benchlint.reproducers.plan import Cell, Plan
from benchlint.reproducers.printed_numbers import rounded, share, summed_up
from benchlint.reproducers.report_runs import (
    Found,
    claims_of,
    output_lengths,
    prompt_length,
    runs_of,
)
from benchlint.reproducers.statistics import mean_of
from benchlint.reproducers.workloads import BUNDLED, PromptSet, bundled, first_of
from benchlint.reproducers.workloads.texts import Text, bundled_text

Json = dict[str, Any]
T = TypeVar("T")

#: What a setting of the engine may be.
Setting = str | float | int | None

#: Names by which engines tell their draft length.
_LENGTHS = ("draft_length", "num_speculative_tokens")

#: A share of the processors' time that is worth a word.
_NOTABLE_LOAD = 0.05

#: Sampler parameters that also act on the most probable token.
_PENALTIES = frozenset({"repetition_penalty", "presence_penalty", "frequency_penalty"})

#: How measuring may have ended before it was through, in words.
_ENDS = {
    "budget": "Measuring ended before all rounds were done: its time was up.",
    "interrupted": "Measuring was interrupted before all rounds were done.",
    "engine_gone": "Measuring ended before all rounds were done: the engine was gone.",
    "error": "Measuring ended before all rounds were done: an engine failed.",
}


def written_report(plan: Plan, journal: Journal) -> Json:
    """The report as plain data; numbers with the digits to be printed are `Digits`.

    Raises JournalError for a journal of another plan.
    """
    found = Found(plan, journal)
    arms = {cell.arm.name: cell.arm for cell in plan.cells if _is_told(found, cell)}
    told = {name: _Told(found, arm) for name, arm in arms.items()}
    shared = _common([each.engine for each in told.values()])
    report = {
        "benchlint": "1",
        "title": _title(plan, told),
        "date": _date(journal),
        "notes": list(_notes(found)),
        "machine": _machine(journal, [each.backend for each in told.values()]),
        "engine": shared,
        "target": _common([each.target for each in told.values()]),
        "configurations": {name: each.configuration(shared) for name, each in told.items()},
        "workloads": {each.name: _workload(found, each) for each in _sets(found)},
        "runs": list(runs_of(found)),
        "quality": list(_quality(found)),
        "claims": list(claims_of(found)),
    }
    return {name: value for name, value in report.items() if value not in (None, [], {})}


def _is_told(found: Found, cell: Cell) -> bool:
    """Whether the report has a run of a cell."""
    return found.is_measured(cell) or cell.name in found.rounds.void


def _sets(found: Found) -> Iterator[PromptSet]:
    yield from {c.prompts.name: c.prompts for c in found.plan.cells if _is_told(found, c)}.values()


def _known(members: Mapping[str, Any]) -> Json:
    return {name: value for name, value in members.items() if value not in (None, {}, ())}


def _common(blocks: Sequence[Json]) -> Json:
    """The members that are the same in all blocks."""
    if not blocks:
        return {}
    first, *rest = blocks
    return {k: v for k, v in first.items() if all(each.get(k) == v for each in rest)}


# The report itself


def _title(plan: Plan, told: Mapping[str, _Told]) -> str | None:
    names = {each.target.get("name") for each in told.values()} - {None}
    if not told:
        return None
    target = f"{', '.join(sorted(map(str, names)))}: " if names else ""
    sets = dict.fromkeys(cell.prompts.name for cell in plan.cells)
    return f"{target}{', '.join(told)} on {', '.join(sets)}"


def _date(journal: Journal) -> str | None:
    if journal.header is None:
        return None
    return datetime.fromtimestamp(journal.header.time, UTC).date().isoformat()


def _notes(found: Found) -> Iterator[str]:
    """What a reader should know of the measurement as a whole."""
    ends = found.journal.of_kind(End)
    reason = ends[-1].reason if ends else "interrupted"
    if reason in _ENDS:
        yield f"{_ENDS[reason]} {'; '.join(_progress(found))}."
    yield from found.judgement.warnings
    failed = [each for each in found.journal.of_kind(Void) if each.pair is not None]
    if failed:
        yield f"{len(failed)} rounds do not count; their runs say why."


def _progress(found: Found) -> Iterator[str]:
    for name, cells in found.plan.series.items():
        most = max(cell.pairs for cell in cells)
        yield f"{found.rounds.whole[name]} of {most} rounds on {name}"


# Quality


def _quality(found: Found) -> Iterator[Json]:
    """A row for each text that was scored; half of each window is."""
    for each in found.plan.scorings:
        windows = windows_of(found.rounds, each.name)
        if not windows:
            continue
        mean = mean_of(windows)
        perplexity = math.exp(mean.value)
        error = perplexity * mean.error if math.isfinite(mean.error) else None
        yield _known(
            {
                "metric": "perplexity",
                "dataset": each.text.name,
                "text": _text_published_as(each.text),
                "context_tokens": each.context_tokens,
                "sample_size": len(windows) * scored_tokens(each.context_tokens),
                "value": share(perplexity),  # the same text gives the same figure again
                "error": None if error is None else rounded(error, error),
                "configuration": each.arm.name,
                "drafter_on": False,
                "higher_is_better": False,
            }
        )


def _text_published_as(text: Text) -> Json:
    where = "name" if is_bundled_text(text) else "file"
    return {where: text.name, "sha256": text.sha256}


def is_bundled_text(text: Text) -> bool:
    """Whether it is the bundled one, which needs no file beside the report."""
    return text == bundled_text()


# Machine


def _machine(journal: Journal, backends: Sequence[str | None]) -> Json:
    known = journal.header.machine if journal.header is not None else {}
    on_cpu = bool(backends) and set(backends) == {"CPU"}
    driver = [known.get("driver"), f"CUDA {known['cuda']}" if "cuda" in known else None]
    os = [known.get("os"), known.get("kernel")]
    return _known(
        {
            "devices": [device] if (device := _device(known, on_cpu, None in backends)) else None,
            "driver": ", ".join(str(each) for each in driver if each) or None,
            "cpu": _known(
                {
                    "name": known.get("cpu"),
                    "cores": known.get("cpu cores"),
                    "memory_gb": _number(known.get("cpu memory_gb")),
                }
            ),
            "os": ", ".join(str(each) for each in os if each) or None,
            "other_load": _other_load(journal) if on_cpu else None,
        }
    )


def _other_load(journal: Journal) -> str | None:
    """What other programs took of the processors that did the work, where it matters."""
    share = other_load(journal.of_kind(Reading))
    if share is None or share < _NOTABLE_LOAD:
        return None
    return f"other programs took {100 * share:.0f} % of the processors' time"


def _device(known: Mapping[str, Known], on_cpu: bool, unsure: bool) -> Json:
    """What did the work; nothing where the engine does not tell what it computes on."""
    if unsure:
        return {}
    if on_cpu:
        return {"name": known["cpu"], "count": 1} if "cpu" in known else {}
    return _known(
        {
            "name": known.get("device"),
            "count": known.get("device count"),
            "memory_gb": _number(known.get("device memory_gb")),
            "power_limit_w": _number(known.get("device power_limit_w")),
        }
    )


def _number(value: Known) -> Known:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# Configurations


class _Told:
    """What an engine told of itself each time that it was started for an arm."""

    def __init__(self, found: Found, arm: Arm) -> None:
        self._arm = arm
        self._told = found.descriptions(arm.name)
        header = found.journal.header
        self._files = {} if header is None else header.machine

    def _same(self, read: Callable[[Description], T]) -> T | None:
        """What it told each time alike; None where it told nothing or one thing and another."""
        values = [read(each) for each in self._told]
        return values[0] if values and all(each == values[0] for each in values) else None

    @property
    def backend(self) -> str | None:
        """What the engine computed on."""
        return self._same(lambda told: told.backend)

    @property
    def engine(self) -> Json:
        """The engine as it was run for this arm."""
        command = self._same(lambda told: told.command_line)
        return _known(
            {
                "name": self._same(lambda told: told.engine),
                "version": self._same(lambda told: told.version),
                "commit": self._same(lambda told: told.commit),
                "backend": self._same(lambda told: told.backend),
                "threads": self._same(lambda told: told.threads),
                "command_line": list(command or ()) or None,
            }
        )

    @property
    def target(self) -> Json:
        """The model, as its file and the engine describe it."""
        return self._model("target")

    def _model(self, role: str) -> Json:
        told = self._same(lambda each: each.target if role == "target" else each.drafter) or {}
        size = self._files.get(f"{role} file_bytes") or told.get("file_bytes")
        parameters = told.get("parameters")
        quantization = {
            "recipe": told.get("quantization") or self._files.get(f"{role} quantization"),
            "file_size_gb": rounded(float(size) / 1e9) if size else None,
            "sha256": self._files.get(f"{role} sha256"),
        }
        return _known(
            {
                "name" if role == "target" else "model": _model_name(told.get("name")),
                "parameters_b": rounded(float(parameters) / 1e9) if parameters else None,
                "quantization": _known(quantization) if told or role == "target" else None,
            }
        )

    def configuration(self, shared: Json) -> Json:
        """The arm's own part of the report. shared: what stands in the report's engine."""
        own = {name: each for name, each in self.engine.items() if name not in shared}
        return {"drafter": self._drafter, **_known({**self._speculation, **self._rest(own)})}

    def _rest(self, engine: Json) -> Json:
        kv_types = self._arm.kv_types
        return {
            "sampler": self._sampler,
            "kv_cache": _known(
                {
                    "target_type": "/".join(dict.fromkeys(kv_types)) if kv_types else None,
                    "drafter_type": self._setting("drafter_kv_type"),
                    "max_context_tokens": self._same(lambda told: told.context_tokens),
                }
            ),
            "engine": engine,
        }

    @property
    def _drafter(self) -> Json | None:
        if self._arm.method is None:
            return None
        return {"method": self._arm.method, **self._model("drafter")}

    @property
    def _speculation(self) -> Json:
        if self._arm.method is None:
            return {}
        selection = {
            "placement": self._setting("draft_selection"),
            "method": self._setting("draft_method"),
        }
        return {
            "draft_length": self._draft_length,
            "draft_selection": _known(selection),
            "acceptance_rule": self._setting("acceptance_rule"),
        }

    @property
    def _draft_length(self) -> Json:
        told = (self._setting(name) for name in _LENGTHS)
        length = next((each for each in told if each is not None), self._arm.draft_length)
        p_min = self._setting("p_min")
        fixed = p_min == 0 and self._arm.method not in MODEL_FREE
        return _known({"max": length, "policy": "fixed" if fixed else None, "p_min": p_min})

    def _setting(self, name: str) -> Setting:
        return self._same(lambda told: told.speculation.get(name))

    def _parameter(self, name: str) -> float | int | None:
        return self._same(lambda told: told.sampler.get(name))

    @property
    def _sampler(self) -> Json:
        """The parameters in effect, and those that only the engine knows."""
        names = [each for each in Sampling.__dataclass_fields__ if each in Sampler.model_fields]
        in_effect = {name: self._parameter(name) for name in names}
        wished = {name: getattr(self._arm.sampling, name) for name in names}
        unknown = [n for n in names if in_effect[n] is None and wished[n] is None]
        if self._arm.sampling.temperature == 0:
            unknown = [name for name in unknown if name in _PENALTIES]  # nothing is drawn
        return _known({**in_effect, "left_to_engine": unknown or None})


def _model_name(name: Setting) -> str | None:
    return None if name is None else str(name).removesuffix(".gguf")


# Workloads


def _workload(found: Found, prompts: PromptSet) -> Json:
    cells = [c for c in found.plan.cells if c.prompts.name == prompts.name]
    where = cells[0].circumstances
    alone = [a for c in cells if c.circumstances.filled_tokens is None for a in found.answers(c)]
    lengths = [length for a in alone if (length := prompt_length(a)) is not None]
    answers = [answer for cell in cells for answer in found.answers(cell)]
    return _known(
        {
            "mix": {prompts.name: Digits("1.0")} if prompts.name in BUNDLED else None,
            "prompt_count": len(prompts),
            "prompts": published_as(prompts),
            "prompt_tokens": summed_up(lengths) if alone and len(lengths) == len(alone) else None,
            "output_tokens": output_lengths(answers) if answers else None,
            "stop_rule": "ignore_eos" if where.ignore_eos else "eos",
            # No request switches the thinking mode of a template, and raw text has none.
            "thinking": "default" if where.chat else False,
            "chat_template": "model" if where.chat else "none",
        }
    )


def published_as(prompts: PromptSet) -> Json:
    """How a report names the prompts: a bundled set or a file beside it, and their hash."""
    if is_bundled(prompts):
        return {"set": prompts.name, "sha256": prompts.sha256}
    return {"file": prompts.name, "sha256": prompts.sha256}


def is_bundled(prompts: PromptSet) -> bool:
    """Whether these are a bundled set, or its first prompts."""
    if prompts.name not in BUNDLED:
        return False
    return first_of(bundled(prompts.name), len(prompts)).prompts == prompts.prompts
