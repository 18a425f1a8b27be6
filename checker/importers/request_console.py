"""The tables that AIPerf and GenAI-Perf print, and the command that AIPerf prints below them.

Sources: ai-dynamo/aiperf exporters/console_metrics_exporter.py (ConsoleMetricsExporter),
controller/system_controller.py (the command, the duration); triton-inference-server/perf_analyzer
genai_perf/export_data/console_exporter.py. See `request_statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchlint.checker.command_line import command_line
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.request_statistics import metric_name
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.importers.text_tables import console_tables

#: Above each table. Other titles of AIPerf are of the server, of errors, of connections.
TITLE = re.compile(
    r"(?m)^[^\S\n]*NVIDIA (?P<tool>AIPerf|GenAI-Perf) \| LLM Metrics(?:: [\w ]+?)?[^\S\n]*$"
)

_DURATION = re.compile(
    r"Benchmark Duration: (?P<value>[\d.,]{1,30}) (?P<unit>\w{1,20})"
    r"(?P<early> \(cancelled early\))?\s*"
)
_INCOMPLETE = re.compile(r"\s*NVIDIA AIPerf \| INCOMPLETE RESULTS\s*")
_COMMAND = re.compile(r"CLI Command: (?P<command>aiperf profile .*)")

#: No command is printed over more lines.
_MOST_LINES = 100


@dataclass
class Printed:
    """A run as it was printed.

    cells: its numbers, by the names of the JSON. command: line by line.
    """

    cells: Row = field(default_factory=dict)
    was_cancelled: bool = False
    is_complete: bool = True
    command: list[Line] = field(default_factory=list)
    titles: set[str] = field(default_factory=set)


def is_console(text: str, tool: str) -> bool:
    """Whether the text has a table of that tool."""
    return any(match["tool"] == tool for match in TITLE.finditer(text))


def printed_runs(lines: Iterable[Line]) -> list[Printed]:
    """The runs of a console; a title that comes again begins another."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    reader.end()
    return reader.runs


class _Reader:
    """What a console has been so far: in a table, in a command, or in neither."""

    def __init__(self) -> None:
        self.runs: list[Printed] = []
        self._table: list[Line] | None = None
        self._in_command = False
        self._next_is_complete = True

    def take(self, line: Line) -> None:
        """Read one line."""
        if TITLE.match(line.text):
            self._begin(line.text.strip())
        elif self._table is not None:
            if line.text.strip():
                self._table.append(line)
            else:
                self.end()
        elif _INCOMPLETE.fullmatch(line.text):
            self._next_is_complete = False
        elif self.runs:
            self._below(line, self.runs[-1])

    def end(self) -> None:
        """Read the table that ends here, if there is one."""
        if self._table is not None:
            self.runs[-1].cells |= _cells(self._table) | self.runs[-1].cells
        self._table = None

    def _begin(self, title: str) -> None:
        self.end()
        if not self.runs or title in self.runs[-1].titles:
            self.runs.append(Printed(is_complete=self._next_is_complete))
            self._next_is_complete = True
        self.runs[-1].titles.add(title)
        self._table, self._in_command = [], False

    def _below(self, line: Line, run: Printed) -> None:
        if match := _DURATION.fullmatch(line.text):
            for part, name in (("value", "avg"), ("unit", "unit")):
                found = line.group(match, part)
                if found is not None:
                    run.cells.setdefault(f"benchmark_duration.{name}", found)
            run.was_cancelled = match["early"] is not None
            self._in_command = False
        elif match := _COMMAND.match(line.text):
            run.command = [line]
            self._in_command = True
        elif self._in_command and line.text.strip() and len(run.command) < _MOST_LINES:
            run.command.append(line)
        else:
            self._in_command = False


def _cells(lines: list[Line]) -> Row:
    """The numbers of one table by the names of the JSON: "time_to_first_token.avg"."""
    cells: Row = {}
    for table in console_tables(lines):
        if table.words[0] not in ("Metric", "Statistic"):
            continue
        for label, row in _rows(table.rows):
            name, unit = metric_name(str(label.value))
            cells.setdefault(f"{name}.unit", label.to(unit))
            for column, cell in zip(table.words[1:], row, strict=True):
                value = str(cell.value).replace(",", "")
                if value not in ("", "N/A"):
                    cells.setdefault(f"{name}.{column}", cell.to(value))
    return cells


def _rows(rows: Iterable[list[Found]]) -> Iterator[tuple[Found, list[Found]]]:
    """Rows with their labels; one that is too long goes on in the row below, without numbers."""
    label: Found | None = None
    numbers: list[Found] = []
    for first, *others in rows:
        if label is not None and not any(cell.value for cell in others):
            label = label.to(f"{label.value} {first.value}")
            continue
        if label is not None:
            yield label, numbers
        label, numbers = first, others
    if label is not None:
        yield label, numbers


# --- the command -----------------------------------------------------------------------------

#: Its flags, by the names that the JSON had for them before 0.8.
_FLAGS = {
    "input_config.endpoint.model_names.0": ("--model", "--model-names", "-m"),
    "input_config.loadgen.concurrency": ("--concurrency",),
    "input_config.loadgen.warmup_request_count": (
        "--warmup-request-count",
        "--num-warmup-requests",
    ),
}
_EXTRA = "--extra-inputs"


def asked(run: Printed) -> Row:
    """What the command below the tables asked for, by the names of the JSON."""
    text = " ".join(line.text.strip() for line in run.command).removeprefix("CLI Command: ")
    command = command_line(text)
    row: Row = {}
    for name, flags in _FLAGS.items():
        if value := command.value(*flags):
            row[name] = _line_of(run, flags).to(value)
    for value in command.values(_EXTRA):
        name, colon, given = value.partition(":")
        if colon and name.isidentifier():
            row[f"input_config.endpoint.extra.{name}"] = _line_of(run, (value, _EXTRA)).to(given)
    return row


def _line_of(run: Printed, words: Iterable[str]) -> Found:
    """Where the first of these words stands."""
    for word in words:
        for line in run.command:
            at = line.text.find(word)
            if at >= 0:
                return line.found(word, (at, at + len(word)))
    return Found(None)
