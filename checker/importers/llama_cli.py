"""Times that llama-cli and other programs of llama.cpp print when they end.

Source: llama.cpp src/llama-context.cpp `llama_perf_context_print` (`llama_print_timings` in
llama.cpp before 2024-09), common/sampling.cpp `common_perf_print`, tools/cli/cli-context.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import NUMBER, Field, number
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_lines,
)
from benchlint.checker.importers.llama_cpp_lines import (
    DECODE_TIME,
    PROMPT_TIME,
    TIMES,
    first_match,
    groups,
    is_pasted,
    put_times,
)
from benchlint.checker.importers.llama_cpp_setup import SETUP_FIELDS, Setup, put_sampler
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.importers.unique_names import unused

NAME = "llama-cli"

#: So many blocks of times in one file become runs.
MOST_RUNS = 500

_SHORT = re.compile(
    r"\[ Prompt: (?P<prompt_per_second>[\d.]+) t/s \| "
    r"Generation: (?P<predicted_per_second>[\d.]+) t/s \]"
)
_SPEEDS = (
    Field("Prompt", "run.prefill.tok_s", NUMBER, "[ Prompt: … t/s | Generation: … t/s ]"),
    Field("Generation", "run.decode.tok_s", NUMBER),
)
_PREFIX = re.compile(r"\b(?P<by>llama_perf_context_print|llama_print_timings|common_perf_print):")


class _Output:
    """The output of one program after another."""

    def __init__(self) -> None:
        self.building = Building()
        self._setup = Setup()
        self._has_run = False
        self._configuration: str | None = None
        self._row: Row = {}

    def take(self, line: Line) -> None:
        """Read a line."""
        text = line.text
        if "eval time" in text and _PREFIX.search(text):
            self._times(line)
        elif "[ Prompt: " in text and (row := groups(line, _SHORT)):
            self.end()
            self._put(row)
        else:
            self._set_up(line)

    def end(self) -> None:
        """A block of times ends."""
        row, self._row = self._row, {}
        if row:
            self._put(row)

    def _times(self, line: Line) -> None:
        prompt, decode = groups(line, PROMPT_TIME), groups(line, DECODE_TIME)
        if prompt:
            self.end()
        elif "predicted_ms" in self._row:
            self.end()
        self._row |= prompt | _of_runs(decode)

    def _set_up(self, line: Line) -> None:
        """Another model is loaded after times of the one before."""
        if self._has_run and "loaded meta data" in line.text:
            self.end()
            self._setup, self._configuration, self._has_run = Setup(), None, False
        self._setup.take(line)

    # into a report

    def _put(self, row: Row) -> None:
        building = self.building
        if not _says_something(row):
            return
        if len(building.tree.get("runs", ())) >= MOST_RUNS:
            building.remarks[:] = [f"only the first {MOST_RUNS} blocks were taken over"]
            return
        self._has_run = True
        building.put(("engine", "name"), Found("llama.cpp"))
        run = building.run("prompt", self._named())
        put_times(building, run, row)
        building.put((*run, "conditions", "concurrency"), Found(1))
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))

    def _named(self) -> str:
        """The configuration of the model that is loaded."""
        if self._configuration is None:
            building, model = self.building, self._setup.get("model")
            base = str(model.value if model else NAME).replace("\\", "/").rpartition("/")[2]
            self._configuration = unused(base, building.tree.get("configurations", {}))
            place: Path = building.configuration(self._configuration)
            self._setup.put(building, place)
            put_sampler(building, place, self._setup.sampler)
            if self._setup.speculates:
                self._setup.put_drafter(building, place)
        return self._configuration


def _of_runs(row: Row) -> Row:
    """The times of generation; 1 run in no time is what is printed where there was none."""
    spent = row.get("predicted_ms")
    return row if spent is not None and number(spent.value) else {}


def _says_something(row: Row) -> bool:
    return any(number(row[name].value) for name in row if name.endswith(("_ms", "_per_second")))


_OWN = (
    re.compile(
        r"\b(?:llama_perf_context_print|llama_print_timings|common_perf_print): +"
        r"(?:prompt )?eval time"
    ),
    _SHORT,
)

#: What other programs of llama.cpp print, which end with the same times.
_OTHERS = re.compile(
    r"\bn_drafted +=|\bFinal estimate: PPL|\bcalculating perplexity over|kl_divergence: computing"
    r"|\bcalculating (?:hellaswag|winogrande|TruthfulQA) score|slot +(?:launch_slot_|print_timing)"
    r"|\bprint_timings\]|\|\s+PP \|\s+TG \|"
)


def _recognise(head: Head) -> Confidence:
    first = None if head.document is not None else first_match(head.text, _OWN)
    if first is None or _OTHERS.search(head.text) or is_pasted(head.text, first.start()):
        return Confidence.NO
    return Confidence.SURE


def _read(source: Source) -> Iterator[Imported]:
    return imported_lines(NAME, _Output(), source)


_LEVEL = "llama-cli logs it at `-lv 4`"

IMPORTER = Importer(
    name=NAME,
    title="times that llama-cli and other programs of llama.cpp print",
    reads="blocks of `llama_perf_context_print`, `llama_print_timings` (before September 2024) "
    "and `common_perf_print`, and the line `[ Prompt: … | Generation: … ]`",
    recognise=_recognise,
    read=_read,
    streams=True,
    alone=True,
    engines=("llama.cpp",),
    fields=(*TIMES, *_SPEEDS, *SETUP_FIELDS),
    hints={
        "target": f"the model: {_LEVEL}",
        "machine": f"the devices: {_LEVEL}",
        "engine.version": "`llama-cli --version`",
        "engine.command_line": "llama-cli does not print the command: write it down",
        "configurations.*.drafter": "with a drafter these times mislead: run llama-server with "
        "`--spec-type`, which prints drafted and accepted tokens",
        "configurations.*.sampler": f"`--temp`, `--top-k`, `--top-p`, `--min-p`: {_LEVEL}",
        "configurations.*.kv_cache": f"`-ctk`, `-ctv`: {_LEVEL}",
        "runs[].decode": "`--perf` makes llama-cli print its times",
        "runs[].prefill": "`--perf` makes llama-cli print its times",
        "runs[].conditions.warm": "each start is cold but for the empty run before the prompt",
        "runs[].conditions.repeats": "`llama-bench -r N` repeats and prints the spread",
        "runs[].memory": "`nvidia-smi` while it runs",
        "quality": "`llama-perplexity -m MODEL -f TEXT`; give its log to `benchlint convert` too",
    },
    never=(
        "Speculation: nothing drafted or accepted is printed, and a verify pass counts as prompt.",
        "Which program it was, and what the prompt was.",
        "The spread over repeats.",
    ),
)
