"""Answer files of research code: one line of JSON for each question, as FastChat's llm_judge.

    {"question_id": 81, "model_id": "…", "choices": [{"turns": […], "new_tokens": […],
     "wall_time": […], …}]}

Medusa, EAGLE and Spec-Bench began with lm-sys/FastChat fastchat/llm_judge/gen_model_answer.py
and added how many steps each answer took.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, TEXT, Field, number, text
from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Imported, Source

#: Fields that both files have.
FIELDS = (
    Field("model_id", "configurations", TEXT, "names the configuration; not the model"),
    Field(
        "-temperature-0.0 in model_id",
        "configuration.sampler.temperature",
        NUMBER,
        "as the scripts name their files",
    ),
    Field("choices.0.new_tokens", "run.throughput.tokens", COUNT, "added up"),
    Field("choices.0.wall_time", "run.throughput.seconds", NUMBER, "added up; with prefill"),
    Field("choices.0.turns", "run.throughput.completed_requests", COUNT, "how many"),
    Field(
        "choices.0.new_tokens, wall_time",
        "run.throughput.end_to_end_tok_s",
        NUMBER,
        "mean of the speeds of the questions, as speed.py prints it",
    ),
)


@dataclass(frozen=True)
class Answer:
    """What the first choice of a question says. The lists have one number for each turn.

    steps: verify steps of the question. accepted: draft tokens accepted in each of them, where
    that is said.
    """

    record: JsonRecord
    tokens: Sequence[int]
    seconds: Sequence[Decimal]
    steps: int
    accepted: Sequence[int] = ()

    @property
    def model(self) -> str:
        """What the script was told to call the run; "answers" where that is nothing."""
        found = self.record.get("model_id")
        return (None if found is None else text(found.value)) or "answers"


#: Verify steps of a choice and what each accepted; None where it does not say them.
StepsOf = Callable[[JsonRecord], tuple[int, Sequence[int]] | None]


def answer_of(record: JsonRecord, steps_of: StepsOf) -> Answer | None:
    """The answer of a line, or None where it is none, or one that failed.

    steps_of: verify steps of a choice and what each accepted. A turn that failed is "ERROR",
    and its numbers are those of the turn before.
    """
    choice = next(record.records("choices"), None)
    if choice is None:
        return None
    tokens, times = _counts(choice, "new_tokens"), _times(choice)
    steps = steps_of(choice)
    turns = choice.get("turns")
    failed = turns is not None and isinstance(turns.value, list) and "ERROR" in turns.value
    if steps is None or failed or not tokens or len(tokens) != len(times) or not sum(times):
        return None
    return Answer(record, tokens, times, *steps)


def _counts(choice: JsonRecord, name: str) -> list[int]:
    found = choice.get(name)
    values = found.value if found is not None and isinstance(found.value, list) else []
    return list(values) if all(is_count(each) for each in values) else []


def _times(choice: JsonRecord) -> list[Decimal]:
    found = choice.get("wall_time")
    values = found.value if found is not None and isinstance(found.value, list) else []
    times = [number(each) for each in values]
    known = [Decimal(each.text) for each in times if each is not None and 0 <= each < 10**9]
    return known if len(known) == len(times) else []


def is_count(value: object) -> bool:
    """Whether a value counts tokens or steps of one answer."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


# --- from answers to runs --------------------------------------------------------------------


@dataclass
class Tally:
    """What several answers say together."""

    answers: list[Answer] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Output tokens."""
        return sum(sum(each.tokens) for each in self.answers)

    @property
    def steps(self) -> int:
        """Verify steps."""
        return sum(each.steps for each in self.answers)

    @property
    def turns(self) -> int:
        """Requests."""
        return sum(len(each.tokens) for each in self.answers)

    @property
    def seconds(self) -> Decimal:
        """Wall time of all turns, prefill included."""
        return sum((sum(each.seconds, Decimal(0)) for each in self.answers), Decimal(0))

    @property
    def speed(self) -> Decimal:
        """Mean over the questions of tokens over time, tokens per second."""
        rates = [sum(each.tokens) / sum(each.seconds, Decimal(0)) for each in self.answers]
        return sum(rates, Decimal(0)) / len(rates)

    @property
    def histogram(self) -> list[int]:
        """Steps by accepted draft tokens; empty where no answer says them."""
        counted = Counter(n for each in self.answers for n in each.accepted)
        return [counted[i] for i in range(max(counted) + 1)] if counted else []

    @property
    def drafts(self) -> bool:
        """Whether any step gave out more than one token."""
        return self.tokens > self.steps or any(any(each.accepted) for each in self.answers)


class AnswerReport:
    """A report that answers are put into. tool: what wrote them."""

    def __init__(self, tool: str) -> None:
        self.building = Building()
        self._tool = tool

    def add(self, name: str, tally: Tally) -> Path:
        """Begin a run of these answers; its path."""
        building, first = self.building, tally.answers[0]
        configuration = building.configuration(first.model)
        run = building.run(name, first.model)
        _set_up(building, configuration, first.record)
        _measured(building, run, tally)
        put = building.put
        put((*run, "conditions", "concurrency"), Found(1))
        put((*run, "measurement", "window"), Found("with_prefill"))
        put((*run, "measurement", "prompt_kind"), Found("natural"))
        put((*run, "measurement", "tool"), Found(self._tool))
        if not tally.drafts:
            building.put_null((*configuration, "drafter"))
        return run

    def passed_over(self, count: int) -> None:
        """Say how many lines are not what the tool writes for an answer."""
        if count:
            self.building.remarks.append(f"{count} answers failed or are cut off, and do not count")


_TEMPERATURE = re.compile(r"-temp(?:erature)?-(\d{1,3}(?:\.\d{1,6})?)(?![\d.])")
_POSTERIOR = re.compile(r"-posterior_(threshold|alpha)-(\d{1,3}(?:\.\d{1,6})?)(?![\d.])")


def _set_up(building: Building, configuration: Path, record: JsonRecord) -> None:
    """What the scripts write into the name of a run."""
    found = record.get("model_id")
    name = None if found is None else text(found.value)
    match = _TEMPERATURE.search(name or "")
    if found is None or match is None:
        return
    temperature = number(match[1])
    building.put((*configuration, "sampler", "temperature"), found.to(temperature))
    settings = {
        f"posterior_{what}": number(value) for what, value in _POSTERIOR.findall(name or "")
    }
    if settings and temperature:
        # Medusa's typical acceptance; at temperature 0 it takes what greedy decoding takes.
        building.put((*configuration, "acceptance_rule", "kind"), found.to("relaxed"))
        building.put((*configuration, "acceptance_rule", "settings"), found.to(settings))


def _measured(building: Building, run: Path, tally: Tally) -> None:
    choice = next(tally.answers[0].record.records("choices"))
    tokens, seconds = choice.get("new_tokens"), choice.get("wall_time")
    turns = choice.get("turns") or tokens
    if tokens is None or seconds is None or turns is None:
        return
    throughput = (*run, "throughput")
    building.put((*throughput, "tokens"), tokens.to(tally.tokens))
    building.put((*throughput, "seconds"), seconds.to(number(format(tally.seconds, "f"))))
    building.put((*throughput, "completed_requests"), turns.to(tally.turns))
    speed = number(format(tally.speed.quantize(Decimal("0.0001")), "f"))
    building.put((*throughput, "end_to_end_tok_s", "value"), seconds.to(speed))
    building.put((*throughput, "end_to_end_tok_s", "estimator"), Found("mean"))


def put_counts(building: Building, run: Path, tally: Tally, steps: Found, accepted: int) -> None:
    """The counters of a run that drafts. steps: where the number of steps stands."""
    counts = (*run, "speculation", "counts")
    building.put((*counts, "verify_steps"), steps.to(tally.steps))
    building.put((*counts, "accepted"), steps.to(accepted))
    building.put((*counts, "output_tokens"), steps.to(tally.tokens))
    building.put((*counts, "requests"), steps.to(tally.turns))
    building.put((*run, "measurement", "counters"), Found("per_run"))


class AddRuns(Protocol):
    """What puts the runs of one model into a report. several: whether there are other models."""

    def __call__(self, report: AnswerReport, model: str, tally: Tally, *, several: bool) -> None:
        """Add them."""


def imported_answers(
    tool: str, report: AnswerReport, source: Source, steps_of: StepsOf, add: AddRuns
) -> Iterator[Imported]:
    """The report of all answers of a source; none where no line is one. steps_of: see answer_of."""
    found = [answer_of(record, steps_of) for record in source.records()]
    models = by_model(each for each in found if each is not None)
    for model, tally in models.items():
        add(report, model, tally, several=len(models) > 1)
    report.passed_over(found.count(None))
    if models:
        yield Imported.of(tool, report.building)


def by_model(answers: Iterable[Answer]) -> dict[str, Tally]:
    """The answers of each run that is named, in order."""
    found: dict[str, Tally] = {}
    for each in answers:
        found.setdefault(each.model, Tally()).answers.append(each)
    return found
