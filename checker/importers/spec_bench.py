"""Spec-Bench: the answers of a method, a line of JSON for each question.

Source: hemingkx/Spec-Bench evaluation/eval.py (get_model_answers), evaluation/speed.py,
evaluation/inference_baseline.py. See `answer_files`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlint.checker.importers.answer_files import (
    FIELDS,
    Answer,
    AnswerReport,
    Tally,
    imported_answers,
    is_count,
    put_counts,
)
from benchlint.checker.importers.fields import COUNT, TEXT, Field, text
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source

NAME = "spec-bench"

_FIELDS = (
    *FIELDS,
    Field("category", "workload.mix", TEXT, "a run for each, and one for all together"),
    Field(
        "choices.0.accept_lengths",
        "run.speculation.counts.verify_steps",
        COUNT,
        "how many; a step's number has the target's own token in it",
    ),
    Field("choices.0.accept_lengths", "run.speculation.counts.accepted", COUNT, "each less 1"),
    Field("choices.0.accept_lengths", "run.speculation.histogram", COUNT, "each less 1"),
)


def _steps(choice: JsonRecord) -> tuple[int, Sequence[int]] | None:
    found = choice.get("accept_lengths")
    lengths = found.value if found is not None and isinstance(found.value, list) else []
    if not lengths or not all(is_count(n) and 1 <= n <= _LONGEST for n in lengths):
        return None
    return len(lengths), [n - 1 for n in lengths]


#: No step gives out more tokens.
_LONGEST = 4096


def _category(answer: Answer) -> str:
    found = answer.record.get("category")
    return (None if found is None else text(found.value)) or "questions"


def _add_model(report: AnswerReport, model: str, tally: Tally, *, several: bool) -> None:
    """The runs of one method: of each category, and of all where there are several."""
    parts: dict[str, Tally] = {}
    for answer in tally.answers:
        parts.setdefault(_category(answer), Tally()).answers.append(answer)
    names = [
        _add(report, f"{name}, {model}" if several else name, part, [name])
        for name, part in parts.items()
    ]
    if len(parts) > 1:
        name = f"all, {model}" if several else "all"
        _add(report, name, tally, list(parts))
        run = report.building.tree["runs"][-1]
        run["parts"] = names


def _add(report: AnswerReport, name: str, tally: Tally, categories: list[str]) -> str:
    building = report.building
    run = report.add(name, tally)
    workload = "all" if len(categories) > 1 else categories[0]
    building.put((*run, "workload"), Found(workload))
    found = tally.answers[0].record.get("category")
    mix = Found(categories, None if found is None else found.place)
    building.put((*building.workload(workload), "mix"), mix)
    lengths = tally.answers[0].record.get("choices.0.accept_lengths")
    if tally.drafts and lengths is not None:
        put_counts(building, run, tally, lengths, sum(sum(a.accepted) for a in tally.answers))
        building.put((*run, "speculation", "histogram"), lengths.to(tally.histogram))
    return str(building.value((*run, "id")))


def _recognise(head: Head) -> Confidence:
    choices = head.record.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    known = isinstance(first, dict) and {"accept_lengths", "new_tokens", "wall_time"} <= set(first)
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    return imported_answers(NAME, AnswerReport(NAME), source, _steps, _add_model)


_SCRIPT = "Spec-Bench's answer files have only what `--model-id` says: name it, and the script"

IMPORTER = Importer(
    name=NAME,
    title="Spec-Bench",
    reads="answer files (data/spec_bench/model_answer/*.jsonl)",
    recognise=_recognise,
    read=_read,
    engines=("spec-bench",),
    fields=_FIELDS,
    hints={
        "target": _SCRIPT,
        "engine": _SCRIPT,
        "machine": "Spec-Bench does not say where it ran: give the device",
        "configurations.*.drafter": _SCRIPT,
        "configurations.*.draft_length": _SCRIPT,
        "configurations.*.sampler": "`--temperature`, which eval.sh writes into `--model-id`",
        "workloads.*.prompts": "name Spec-Bench's question.jsonl and the commit it is of",
        "workloads.*.stop_rule": "`--max-new-tokens` of the script, which no file has",
        "runs[].decode": "its time has the prefill in it: there is no speed of decode alone",
        "runs[].conditions.warm": "eval.py has its warm-up commented out",
        "runs[].conditions.repeats": "run it three times, as `speed.py --mean-report` wants",
        "configurations.*.drafter.method": _SCRIPT,
    },
    never=(
        "Speed of decode alone, and time to first token.",
        "Drafted tokens, so that there is no acceptance rate.",
        "The speedup of speed.py, which counts the baseline's tokens anew, one less a turn: give "
        "both answer files to `benchlint convert`, one after the other, and compare.",
    ),
)
