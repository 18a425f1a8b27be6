"""Evaluations of EAGLE and Medusa: a line of JSON for each question.

Sources: SafeAILab/EAGLE eagle/evaluation/gen_ea_answer_*.py, gen_baseline_answer_*.py,
gen_ea_alpha_*.py, alpha.py, eagle/model/utils.py; FasterDecoding/Medusa
llm_judge/gen_model_answer_medusa.py. See `answer_files`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlint.checker.importers.answer_files import (
    FIELDS,
    AnswerReport,
    Tally,
    imported_answers,
    is_count,
    put_counts,
)
from benchlint.checker.importers.building import Building
from benchlint.checker.importers.fields import COUNT, NUMBER, Field
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.serving_fields import quotient

NAME = "eagle"

_FIELDS = (
    *FIELDS,
    Field(
        "choices.0.idxs",
        "run.speculation.counts.verify_steps",
        COUNT,
        "added up; each is the index of the last step, counted from 0, and is one less",
    ),
    Field(
        "choices.0.new_tokens, idxs",
        "run.speculation.counts.accepted",
        COUNT,
        "tokens less steps: a step gives out its own token and those it accepted",
    ),
    Field(
        "choices.0.alpha, alpha_num",
        "run.speculation.per_position.values",
        NUMBER,
        "accepted over reached at each depth, added up; of the last turn of each question, so "
        "that they are a run of their own",
    ),
)


def _steps(choice: JsonRecord) -> tuple[int, Sequence[int]] | None:
    found = choice.get("idxs")
    indices = found.value if found is not None and isinstance(found.value, list) else []
    if not indices or not all(is_count(each) for each in indices):
        return None
    return sum(index + 1 for index in indices), ()


def _add(report: AnswerReport, model: str, tally: Tally, *, several: bool) -> None:
    run = report.add(model if several else "answers", tally)
    first = tally.answers[0].record
    indices = first.get("choices.0.idxs")
    if tally.drafts and indices is not None:
        put_counts(report.building, run, tally, indices, tally.tokens - tally.steps)
    _add_depths(report.building, model, tally)


def _add_depths(building: Building, model: str, tally: Tally) -> None:
    """Acceptance by depth of those answers that have it."""
    reached = [_sums(answer.record, "alpha_num") for answer in tally.answers]
    accepted = [_sums(answer.record, "alpha") for answer in tally.answers]
    place = tally.answers[0].record.get("choices.0.alpha")
    depth = min((len(each) for each in (*reached, *accepted)), default=0)
    if place is None or not depth:
        return
    values = []
    for i in range(depth):
        share = quotient(sum(a[i] for a in accepted), sum(n[i] for n in reached), 6)
        if share is None:
            break
        values.append(share)
    run = building.run(f"last turns of {model}", model)
    positions = (*run, "speculation", "per_position")
    building.put((*positions, "values"), place.to(values or None))
    building.put((*positions, "kind"), Found("conditional"))


def _sums(record: JsonRecord, name: str) -> list[int]:
    found = record.get(f"choices.0.{name}")
    values = found.value if found is not None and isinstance(found.value, list) else []
    return list(values) if len(values) <= _DEEPEST and all(is_count(n) for n in values) else []


#: No tree is deeper.
_DEEPEST = 256


def _recognise(head: Head) -> Confidence:
    choices = head.record.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or "accept_lengths" in first:
        return Confidence.NO
    known = {"idxs", "new_tokens", "wall_time"} <= set(first)
    return Confidence.SURE if known else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    return imported_answers(NAME, AnswerReport("llm_judge"), source, _steps, _add)


_SCRIPT = "the script prints its arguments (`gen_ea_answer_*.py`), and no answer file has them"

IMPORTER = Importer(
    name=NAME,
    title="evaluations of EAGLE and Medusa",
    reads="answer files of gen_ea_answer_*.py, gen_baseline_answer_*.py, gen_ea_alpha_*.py and "
    "gen_model_answer_medusa.py (`--answer-file FILE.jsonl`)",
    recognise=_recognise,
    read=_read,
    engines=("eagle", "medusa"),
    fields=_FIELDS,
    hints={
        "target": _SCRIPT + ": `--base-model-path`",
        "engine": "name the repository and its commit",
        "machine": "the scripts do not say where they ran: give the device",
        "configurations.*.drafter": _SCRIPT + ": `--ea-model-path`",
        "configurations.*.draft_length": _SCRIPT + ": `--depth`, `--top-k` and `--total-token`, or "
        "`--tree-choices`",
        "configurations.*.sampler": _SCRIPT + ": `--temperature`",
        "workloads.*.prompts": "`--bench-name` names the questions",
        "runs[].workload": "`--bench-name` names the questions, and no answer file has it",
        "runs[].decode": "the time has the prefill in it: there is no speed of decode alone",
        "runs[].conditions.warm": "the scripts answer the first question three times first",
        "runs[].conditions.repeats": "`--num-choices` answers again; only the first counts here",
        "runs[].losslessness": "the answer files of both arms have the texts: compare them",
    },
    never=(
        "Speed of decode alone, and time to first token.",
        "Drafted tokens: trees draft more than any path has, so that there is no acceptance rate.",
        "Which of the two wrote it: EAGLE's scripts are Medusa's, changed.",
    ),
)
