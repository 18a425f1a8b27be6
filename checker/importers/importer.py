"""What an importer is, what it is given, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol

from benchlint.checker.document import Document, parse_text
from benchlint.checker.importers.building import Building
from benchlint.checker.importers.fields import Field
from benchlint.checker.importers.found import JsonRecord, Line, Place, records_of


class Confidence(IntEnum):
    """How sure a recogniser is.

    NO: something else. MAYBE: it has the shape, and others may have it too. SURE: it has names
    or lines that only this tool writes.
    """

    NO = 0
    MAYBE = 1
    SURE = 2


@dataclass
class Head:
    """What a recogniser looks at.

    text: the first 64 KiB. document: the whole of it where it is JSON, or its first line where
    it is JSON Lines; else None.
    """

    text: str
    document: Document | None = None

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """The first JSON object: the file itself, the first of its list, or the first line."""
        tree = None if self.document is None else self.document.tree
        first = next((e for e in tree if e), None) if isinstance(tree, list) else tree
        return first if isinstance(first, dict) else {}

    def has(self, *names: str) -> bool:
        """Whether the first JSON object has all these members."""
        return all(name in self.record for name in names)


@dataclass
class Source:
    """What an importer reads.

    name: what to call the file. document: the whole where it is JSON.
    lines: its lines, one by one; can be asked for once only where the importer streams.
    """

    name: str
    lines: Callable[[], Iterator[Line]]
    document: Document | None = None

    def records(self) -> Iterator[JsonRecord]:
        """The objects of a JSON file (the one, or those of its list), or of JSON Lines.

        Lines that are not JSON, and values that are no objects, are passed over.
        """
        if self.document is not None:
            yield from records_of(self.document, self.document.tree)
            return
        for line in self.lines():
            if line.text.lstrip()[:1] == "{":
                parsed = parse_text(line.text, self.name, line_offset=line.number - 1)
                if parsed.document is not None:
                    yield from records_of(parsed.document, parsed.document.tree)

    def held(self) -> tuple[Source, list[Line]]:
        """A source whose lines can be asked for again, and its lines; none of a JSON file."""
        if self.document is not None:
            return self, []
        lines = list(self.lines())
        return Source(self.name, lambda: iter(lines)), lines


class LineReader(Protocol):
    """What puts a report together line by line."""

    building: Building

    def take(self, line: Line) -> None:
        """Read a line."""

    def end(self) -> None:
        """No further line comes."""


@dataclass(slots=True)
class Imported:
    """A report made of another tool's output.

    tool: the importer's name. tree: the report. places: JSON Pointer → where in the original
    it stands. remarks: what could not be taken over. state: what its importer needs to subtract
    it from another (`Importer.between`).
    """

    tool: str
    tree: dict[str, Any]
    places: Mapping[str, Place]
    remarks: tuple[str, ...] = ()
    state: object = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read; remarks say why."""
        return not self.tree

    @staticmethod
    def of(tool: str, building: Building, state: object = None) -> Imported:
        """What has been built."""
        return Imported(tool, building.tree, building.places, tuple(building.remarks), state)

    @staticmethod
    def of_runs(tool: str, *buildings: Building) -> Iterator[Imported]:
        """What has been built, where there is a run; what all configurations say is said once.

        Where there is none, what was remarked says why.
        """
        for building in buildings:
            if "runs" in building.tree:
                building.hoist()
                yield Imported.of(tool, building)
            elif building.remarks:
                yield Imported(tool, {}, {}, tuple(building.remarks))


class ServerLog(Protocol):
    """What puts the report of one start of a server together."""

    def begins_anew(self, line: Line) -> bool:
        """Whether a line belongs to another start, after this one has worked."""

    def take(self, line: Line) -> None:
        """Read a line."""

    def imported(self) -> Imported | None:
        """The report; None where there is nothing to say."""


def imported_starts(log_of: Callable[[], ServerLog], source: Source) -> Iterator[Imported]:
    """A report for each start of a server that was followed by work."""
    log = log_of()
    for line in source.lines():
        if log.begins_anew(line):
            if (found := log.imported()) is not None:
                yield found
            log = log_of()
        log.take(line)
    if (found := log.imported()) is not None:
        yield found


def imported_lines(
    tool: str, reader: LineReader, source: Source, needed: str = "runs"
) -> Iterator[Imported]:
    """The report of all lines of a source. needed: the member without which it is none."""
    for line in source.lines():
        reader.take(line)
    reader.end()
    if needed in reader.building.tree:
        yield Imported.of(tool, reader.building)


@dataclass(frozen=True)
class Importer:
    """A tool whose output can be read.

    name: what `--from` takes. title: the tool in words. reads: its forms, for people.
    recognise: cheap, and looks at content only. read: a function of its source alone.
    streams: reads line by line in one pass and keeps nothing that grows with the file, so that
    the size limit does not hold for it.
    companion: what it says is about what another tool measured, as a server's log is about the
    client's run: `convert` lays it over the one result that it is given with.
    alone: it loads the model by itself, so that a log with runs in it is of something else, and
    stands beside what this tool measured.
    between: what was counted from one report to a later one, where counters go on; None where
    the two do not fit one another. `convert` does so with two files of such a tool.
    gives_way: members of a configuration that hold only where no other file says otherwise, as
    a server's defaults do: `convert` takes the other file's value.
    engines: whose definitions of acceptance and length hold (names in `definitions.SOURCES`).
    fields: what goes where. hints: what is missing → how this tool can be made to say it; keys
    are paths as `benchlint init` writes them, or the beginning of some.
    never: what no output of this tool can say.
    """

    name: str
    title: str
    reads: str
    recognise: Callable[[Head], Confidence]
    read: Callable[[Source], Iterator[Imported]]
    streams: bool = False
    companion: bool = False
    alone: bool = False
    gives_way: tuple[str, ...] = ()
    between: Callable[[Imported, Imported], Imported | None] | None = None
    engines: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    never: tuple[str, ...] = ()
