"""Lines about a request that llama.cpp's programs print, and what goes where of them.

They name their numbers as `timings` in llama-server's replies does: prompt_n, predicted_ms,
draft_n_accepted.

Sources: llama.cpp tools/server/server-context.cpp `print_timings` (examples/server/server.cpp
before 2025), src/llama-context.cpp `llama_perf_context_print` (`llama_print_timings` in llama.cpp
before 2024-09), common/sampling.cpp `common_perf_print`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import (
    COUNT,
    NUMBER,
    S_FROM_MS,
    Field,
    Kind,
    fill,
    number,
    whole,
)
from benchlint.checker.importers.found import Found, Line, Record
from benchlint.checker.importers.table_rows import Row

# --- times -----------------------------------------------------------------------------------

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|inf|nan(?:\(\w*\))?)"


def _times(name: str) -> str:
    """How many tokens in how many milliseconds; early builds print no speed."""
    return (
        rf" *= *(?P<{name}_ms>{_NUMBER}) ms */ *(?P<{name}_n>\d+) (?:tokens|runs) *\("
        rf" *{_NUMBER} ms per (?:token|run)"
        rf"(?:, *(?P<{name}_per_second>{_NUMBER}) tokens per second)?\)"
    )


PROMPT_TIME = re.compile(r"prompt eval time" + _times("prompt"))
DECODE_TIME = re.compile(r"(?<!prompt )\beval time" + _times("predicted"))

# --- speculation -----------------------------------------------------------------------------

#: All four forms: `draft acceptance rate = r (…)`; without `rate`; with `mean acceptance length`
#: and `acceptance rate per position`; with `mean len`.
ACCEPTANCE = re.compile(
    r"draft acceptance(?: rate)? *= *(?P<acceptance>[\d.]+) *\( *(?P<draft_n_accepted>\d+) accepted"
    r" */ *(?P<draft_n>\d+) generated\)"
    r"(?:, *mean (?:acceptance length|len) *= *(?P<mean_len>[\d.]+))?"
    r"(?:, *acceptance rate per position *= *\((?P<positions>[\d., ]*)\))?"
)
POSITIONS = re.compile(r"acc per pos *= *\((?P<positions>[\d., ]*)\)")

#: Cumulative over the process.
STATISTICS = re.compile(
    r"statistics +(?P<type>[\w-]+): #calls\(b,g,a\) = *(?P<calls>\d+) +\d+ +\d+,"
    r" *#gen drafts = *(?P<drafts>\d+), *#acc drafts = *\d+,"
    r" *#gen tokens = *(?P<drafted>\d+), *#acc tokens = *(?P<accepted>\d+)"
)


def positions(value: object) -> list[object] | None:
    """The numbers of a list that is printed with commas."""
    found: list[object] = [number(each) for each in str(value).split(",")]
    return None if None in found else found


# --- what goes where -------------------------------------------------------------------------

TIMES = (
    Field("prompt_n", "run.prefill.tokens", COUNT, "processed, without those from the cache"),
    Field("prompt_ms", "run.prefill.seconds", S_FROM_MS),
    Field("prompt_per_second", "run.prefill.tok_s", NUMBER),
    Field("predicted_n", "run.decode.tokens", COUNT),
    Field(
        "predicted_ms",
        "run.decode.seconds",
        S_FROM_MS,
        "from the first token on; its own time is the prompt's",
    ),
    Field(
        "predicted_per_second",
        "run.decode.tok_s",
        NUMBER,
        "predicted_n / predicted_ms, or (predicted_n - 1) / predicted_ms in newer builds",
    ),
)

COUNTS = (
    Field("predicted_n", "run.speculation.counts.output_tokens", COUNT),
    Field("draft_n", "run.speculation.counts.drafted", COUNT, "sent to verification"),
    Field(
        "draft_n_accepted",
        "run.speculation.counts.accepted",
        COUNT,
        "without the target's own; what an end of the text cuts off is counted",
    ),
)

ACCEPTED = (
    Field("acceptance", "run.speculation.acceptance_rate.value", NUMBER),
    Field("mean_len", "run.speculation.accepted_length.value", NUMBER, "1 + A/s"),
    Field(
        "positions",
        "run.speculation.per_position.values",
        Kind("a list", positions),
        "cumulative: steps that accepted at least so many over all verify steps",
    ),
)


def put_times(building: Building, run: Path, record: Record) -> None:
    """Take over the times of a request; those of nothing are none.

    A prompt of which nothing was processed is printed as 1 token in 0 ms, and an output of one
    token has no time of its own.
    """
    prompt = _took_time(record, "prompt")
    decode = _took_time(record, "predicted") and not _is_one(record.get("predicted_n"))
    for field in TIMES:
        is_prompt = field.source.startswith("prompt")
        if (prompt if is_prompt else decode) or field.source == "predicted_n":
            fill(building, (field,), _Finite(record), {"run": run})
    if decode:
        building.put((*run, "measurement", "window"), Found("decode_only"))


def put_speculation(building: Building, run: Path, record: Record) -> None:
    """Take over counts, rate, length and positions, with llama.cpp's definition of each."""
    drafted = record.get("draft_n")
    if drafted is None:
        return
    at = {"run": run}
    fill(building, COUNTS, record, at)
    building.put((*run, "speculation", "counts", "requests"), drafted.to(1))
    if not _positive(drafted):
        return
    fill(building, ACCEPTED, record, at)
    for block, name, said in _DEFINITIONS:
        if building.has((*run, "speculation", block)):
            building.put((*run, "speculation", block, name), Found(said))


_DEFINITIONS = (
    ("acceptance_rate", "of", "drafted"),
    ("accepted_length", "counts_bonus_token", True),
    ("per_position", "kind", "cumulative"),
)


class _Finite:
    """A record without speeds that are infinite, or 0."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def get(self, name: str) -> Found | None:
        """See Record."""
        found = self._record.get(name)
        is_speed = name.endswith("_per_second")
        return None if is_speed and not _positive(found) else found


def _took_time(record: Record, name: str) -> bool:
    """Whether it is not said that it took none."""
    seconds = record.get(f"{name}_ms")
    return _positive(seconds) or (seconds is None and record.get(f"{name}_per_second") is not None)


def _positive(found: Found | None) -> bool:
    value = None if found is None else number(found.value)
    return value is not None and value > 0


def _is_one(found: Found | None) -> bool:
    return found is not None and whole(found.value) == 1


# --- texts that were pasted ------------------------------------------------------------------

_FENCE = re.compile(r"(?m)^[ \t>]*(?:```|~~~)")

#: How lines of a log begin, of which a page has none outside its blocks.
_LOGGED = re.compile(
    r"(?m)^(?:[\d.]+ [IWED] |(?:llama|ggml|common|load|print_info|sched|slot|srv|init|main|build)"
    r"\w* *[:=] )"
)


def is_pasted(text: str, at: int) -> bool:
    """Whether the place stands in a block of a Markdown page, which is for whoever reads pages.

    A text that a model wrote may have an open block in front of what a program prints below.
    """
    fences = [match.start() for match in _FENCE.finditer(text, 0, at)]
    if len(fences) % 2 == 0 or _FENCE.search(text, at) is None:
        return False
    return _LOGGED.search(text, 0, fences[0]) is None


def groups(line: Line, pattern: re.Pattern[str]) -> Row:
    """What the named groups of a pattern hold in a line; empty where it does not match."""
    match = pattern.search(line.text)
    return {} if match is None else line.groups(match)


def first_match(text: str, patterns: Iterable[re.Pattern[str]]) -> re.Match[str] | None:
    """The match that stands first in a text."""
    found: Iterator[re.Match[str] | None] = (pattern.search(text) for pattern in patterns)
    return min((m for m in found if m is not None), key=lambda m: m.start(), default=None)
