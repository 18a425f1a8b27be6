"""samples.jsonl: everything that was measured, one JSON object a line, as it was measured.

Each line is on the disk before the next measurement starts, so that a killed run loses one
sample at most. Estimates, verdicts and reports are functions of this file alone. A line that
was cut off at the end is dropped with a warning; any other damage is an error, since a file
that somebody changed is no evidence. Lines are ASCII, secrets in them are blanked, and kinds of
lines that this version does not know are kept. The format is schemas/samples-v1.json.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from io import FileIO
from itertools import count, takewhile
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Literal, Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from benchlint.checker.finding import Finding
from benchlint.checker.secrets import REDACTED, redact
from benchlint.checker.source import read_source
from benchlint.reproducers.engine import Description, ReproduceError, Sample

#: Version of the format. A reader of version 1 takes any file that says "1".
VERSION = "1"

#: A journal may not be larger, in bytes.
LIMIT_BYTES = 1 << 32

#: A secret that the caller names is blanked everywhere when it has at least this many characters.
SHORTEST_SECRET = 4

#: What to do where a journal is of something else.
ANOTHER = "--out names another folder"

#: What becomes of a run whose disk is full.
_KEPT = "what it holds is whole, and once it can be written, --resume goes on with it"

#: What can be known of the machine: texts, numbers, yes or no, or nothing.
Known = str | int | float | bool | None


class JournalError(ReproduceError):
    """The journal cannot be written, or read as what it should be; the message says where."""


# Kinds of lines


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what was to be measured, with what, on what.

    plan: hash of the plan. tool: version of benchlint. machine: what is known of it, by name,
    and does not change while it measures.
    time, here and elsewhere: seconds since 1970 in UTC.
    """

    kind: ClassVar[str] = "header"
    plan: str
    tool: str
    time: float
    machine: Mapping[str, Known] = field(default_factory=dict)
    version: str = VERSION


@dataclass(frozen=True, slots=True)
class ReportText:
    """A report as it was read, without secrets.

    name: of its file, for display alone. language: of the text. line_offset: how many lines
    stand before it in its file.
    """

    text: str
    name: str
    language: Literal["json", "yaml", "toml"] = "json"
    line_offset: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """The second line: what is measured and what it is held against, so that a verdict needs
    nothing but this file.

    plan: the plan as plain data, see `plan_data`. report: the one that is run again; None where
    nothing is. repeat: command lines that measure the same, without addresses and folders.
    """

    kind: ClassVar[str] = "plan"
    plan: Mapping[str, object]
    report: ReportText | None = None
    repeat: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """An engine was started (or started again) for a cell; what it says is in effect."""

    kind: ClassVar[str] = "engine"
    cell: str
    arm: str
    time: float
    description: Description


@dataclass(frozen=True, slots=True)
class Measured:
    """One answer.

    cell, arm: what was measured. prompt: id of the prompt. pair: number of the round, from 0.
    position: number of the measurement in its series, from 0. warm_up: not to be counted.
    time: when the answer was complete.
    """

    kind: ClassVar[str] = "sample"
    cell: str
    arm: str
    prompt: str
    pair: int
    position: int
    time: float
    sample: Sample
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """The likelihood of a text under a target, window by window.

    scoring, arm: what was measured. text_sha256: of the text. context_tokens: of a window.
    nll: negative log-likelihood in nats, the mean over the scored tokens of each full window.
    """

    kind: ClassVar[str] = "perplexity"
    scoring: str
    arm: str
    text_sha256: str
    context_tokens: int
    nll: tuple[float, ...]
    time: float


@dataclass(frozen=True, slots=True)
class Parted:
    """Where a cell's answer to a prompt parts from plain decoding, see `engine.Divergence`.

    cell, baseline, prompt, pair: whose answers in which round. The first token is the
    baseline's.
    """

    kind: ClassVar[str] = "divergence"
    cell: str
    baseline: str
    prompt: str
    pair: int
    position: int
    first_token: int
    second_token: int
    margin: float
    time: float


@dataclass(frozen=True, slots=True)
class Void:
    """What was measured in a cell does not count, as when others used the same server.

    cell: or a scoring. pair: only this round is void; None for all of the cell, also what is
    measured later.
    """

    kind: ClassVar[str] = "void"
    cell: str
    reason: str
    time: float
    pair: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a device said of itself while it worked: power, clocks, memory, reasons to throttle.

    values: by names that carry the unit (power_w, core_mhz, memory_used_mib, …).
    """

    kind: ClassVar[str] = "machine"
    device: str
    time: float
    values: Mapping[str, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """What a person told of the measurement, to be written into its report.

    assignments: each as "path=value", see `told_values`; of one path the last one counts.
    """

    kind: ClassVar[str] = "told"
    assignments: tuple[str, ...]
    time: float


@dataclass(frozen=True, slots=True)
class End:
    """Measuring ended here; a verdict was given on what there was. It may go on after it."""

    kind: ClassVar[str] = "end"
    reason: Literal["settled", "last_look", "budget", "interrupted", "engine_gone", "error"]
    time: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of a kind that this version does not know, as it stands in the file."""

    kind: str
    data: Mapping[str, object]


KnownRecord = Header | Planned | Started | Measured | Scored | Parted | Void | Reading | Told | End
Record = KnownRecord | Unknown

KINDS: Mapping[str, type[KnownRecord]] = {
    each.kind: each
    for each in (Header, Planned, Started, Measured, Scored, Parted, Void, Reading, Told, End)
}

R = TypeVar(
    "R", Header, Planned, Started, Measured, Scored, Parted, Void, Reading, Told, End, Unknown
)

#: Names by which lines are found again: only secrets of a known form are blanked in them.
_NAMES = frozenset({"kind", "cell", "baseline", "scoring", "arm", "prompt", "plan", "text_sha256"})


# Writing


def line_of(record: Record, secrets: Collection[str] = ()) -> bytes:
    """A record as a line of the file.

    secrets: texts to be blanked wherever they occur, beside what looks like a secret.
    """
    data = dict(record.data) if isinstance(record, Unknown) else _plain(record)
    given = sorted((s for s in secrets if len(s) >= SHORTEST_SECRET), key=len, reverse=True)
    if not isinstance(data, dict):
        raise TypeError(record)
    blanked = {key: _blanked(value, key, given) for key, value in data.items() if key != "kind"}
    return json.dumps({"kind": record.kind, **blanked}, allow_nan=False).encode() + b"\n"


def _plain(value: object) -> object:
    """Dataclasses as objects without what is None; a number that is none is not known."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((f.name, _plain(getattr(value, f.name))) for f in fields(value))
        return {name: member for name, member in members if member is not None}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_plain(each) for each in value]
        return None if None in items else items
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _blanked(value: object, name: str, secrets: Sequence[str]) -> object:
    """The value without secrets and halves of surrogate pairs."""
    if isinstance(value, str):
        return _blanked_text(value, name, secrets)
    if isinstance(value, list):
        before = ["", *value]
        pairs = zip(before, value, strict=False)
        return [_blanked(each, _option(last) or name, secrets) for last, each in pairs]
    if isinstance(value, dict):
        named = {k: _blanked(v, k, secrets) for k, v in value.items()}
        return {_blanked_text(k, "", secrets): v for k, v in named.items()}
    return value


def _option(text: object) -> str:
    """The option that a text in a list is, whose value the next text is; else ""."""
    return text if isinstance(text, str) and text.startswith("-") and "=" not in text else ""


def _blanked_text(text: str, name: str, secrets: Sequence[str]) -> str:
    clean = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    if name not in _NAMES:
        for secret in secrets:
            clean = clean.replace(secret, REDACTED)
    # A model's answer may be code, in which `token = …` is no secret.
    return redact(clean, "" if name in _NAMES else name, forms_only=name in {"text", *_NAMES})


class Writer:
    """A journal that is being written. Use it as a context manager, or close it."""

    def __init__(self, file: FileIO, path: str, secrets: Collection[str] = ()) -> None:
        """Append to a file at its position. It has no buffer, which could hold half a line."""
        self._file = file
        self._path = path
        self._secrets = tuple(secrets)

    def write(self, record: Record) -> None:
        """Append a record; it is on the disk when this returns. Raises JournalError.

        After an error, and after Ctrl-C, the file ends with the last whole line. A record that
        could not be read again (an engine gave a text for a number) is not written.
        """
        line = _readable(record, self._secrets)
        end = self._end()
        try:
            _write_all(self._file, line)
            os.fsync(self._file.fileno())
        except OSError as error:
            self._take_back(end)
            raise JournalError(f"{_cannot(self._path, 'written', error)}; {_KEPT}") from None
        except BaseException:  # Ctrl-C in the middle of a line: the next record must not join it
            self._take_back(end)
            raise

    def _end(self) -> int:
        try:
            return self._file.tell()
        except ValueError as error:  # closed
            raise _cannot(self._path, "written", error) from None

    def _take_back(self, end: int) -> None:
        with contextlib.suppress(OSError):  # a reader drops the part of a line
            self._file.seek(end)
            self._file.truncate()

    @property
    def path(self) -> str:
        """Where the journal is."""
        return self._path

    def close(self) -> None:
        """Close the file; may be called twice."""
        try:
            self._file.close()
        except OSError as error:
            raise _cannot(self._path, "written", error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _readable(record: Record, secrets: Collection[str]) -> bytes:
    try:
        line = line_of(record, secrets)
        _record(line, f"this {record.kind} record")
    except (TypeError, ValueError) as error:
        raise JournalError(f"this {record.kind} record cannot be written: {error}") from None
    return line


def _write_all(file: FileIO, line: bytes) -> None:
    """Write all of a line; one call may write a part of it."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _cannot(path: object, done: str, error: Exception) -> JournalError:
    reason = getattr(error, "strerror", None) or str(error)
    return JournalError(f"{path} cannot be {done}: {reason}")


def as_read(record: R, secrets: Collection[str] = ()) -> R:
    """The record as a reader gets it: without secrets. Raises JournalError."""
    found = _record(_readable(record, secrets).rstrip(b"\n"), f"this {record.kind} record")
    if not isinstance(found, type(record)):
        raise TypeError(record)
    return found


def create(
    path: str | Path,
    header: Header,
    secrets: Collection[str] = (),
    *,
    planned: Planned | None = None,
) -> Writer:
    """Start a journal. Raises JournalError, also where there is a file.

    planned: what a verdict needs besides the measurements; without it the journal gives none.
    """
    try:
        file = FileIO(path, "x")
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, ValueError) as error:
        raise _cannot(path, "written", error) from None
    _lock(file, path)
    writer = Writer(file, str(path), secrets)
    _begin(writer, Journal(), header, planned)
    return writer


def begin_again(
    path: str | Path,
    header: Header,
    secrets: Collection[str] = (),
    *,
    planned: Planned | None = None,
) -> Writer:
    """Start a journal in place of one without answers. Raises JournalError, also where it has some.

    planned: as of `create`.
    """
    file, alone = _locked(path)
    try:
        if not alone or read(path).has_answers:
            raise _there_already(path)
        _cut(file, 0, path)
    except BaseException:
        file.close()
        raise
    writer = Writer(file, str(path), secrets)
    _begin(writer, Journal(), header, planned)
    return writer


def _there_already(path: str | Path) -> JournalError:
    return JournalError(f"{path} exists: --resume goes on with it, {ANOTHER}")


def _lock(file: FileIO, path: str | Path) -> bool:
    """Raise JournalError where another process writes the file; the lock ends with this one.

    False where that cannot be known.
    """
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:  # no such locks on Windows
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise JournalError(
            f"{path} is being written by another run, which has to end first"
        ) from None
    except OSError:  # a file system without locks
        return False
    return True


def _begin(writer: Writer, journal: Journal, header: Header, planned: Planned | None) -> None:
    """Write what a journal begins with, as far as it does not."""
    if journal.header is None:
        writer.write(header)
    if planned is not None and len(journal.records) < 2:
        writer.write(planned)


def resume(
    path: str | Path,
    header: Header,
    secrets: Collection[str] = (),
    *,
    planned: Planned | None = None,
) -> tuple[Writer, Journal]:
    """Go on with a journal of the same plan and machine, and what it holds so far.

    A part of a line at the end is cut off. A file without a whole line is begun afresh. Raises
    JournalError, also where the journal is of another plan or machine.
    """
    file, _ = _locked(path)
    try:
        journal = read(path)
        _check_same(journal.header, header, path)
        _cut(file, journal.end, path)
    except BaseException:
        file.close()
        raise
    writer = Writer(file, str(path), secrets)
    _begin(writer, journal, header, planned)
    return writer, journal


def _locked(path: str | Path) -> tuple[FileIO, bool]:
    """The file, once no other process writes it any more: what is read of it then is all.

    And whether that is certain, see `_lock`.
    """
    try:
        file = FileIO(path, "r+")
    except (OSError, ValueError) as error:
        raise _cannot(path, "written", error) from None
    return file, _lock(file, path)


def _cut(file: FileIO, end: int, path: str | Path) -> None:
    try:
        file.seek(end)
        file.truncate()
    except OSError as error:
        raise _cannot(path, "written", error) from None


def _check_same(found: Header | None, header: Header, path: str | Path) -> None:
    """Measurements of another plan or machine cannot be pairs of one series."""
    wanted = parse(line_of(header), str(path)).header
    if found is None or wanted is None:
        return
    if found.plan != wanted.plan:
        raise JournalError(f"{path} was measured for another plan: {ANOTHER}")
    if found.machine != wanted.machine:
        names = sorted(dict(found.machine.items() ^ wanted.machine.items()))
        words = f"on another machine, or one that changed ({', '.join(names)})"
        raise JournalError(f"{path} was measured {words}: {ANOTHER}")


# Reading


@dataclass(frozen=True)
class Journal:
    """What a journal holds.

    warning: what was dropped at the end, or "". end: length of the whole lines in bytes.
    """

    records: tuple[Record, ...] = ()
    warning: str = ""
    end: int = 0

    @property
    def header(self) -> Header | None:
        """The first line; None where not even that was written whole."""
        first = self.records[0] if self.records else None
        return first if isinstance(first, Header) else None

    @property
    def planned(self) -> Planned | None:
        """The second line, where it says what is measured."""
        second = self.records[1] if len(self.records) > 1 else None
        return second if isinstance(second, Planned) else None

    @property
    def has_answers(self) -> bool:
        """Whether anything was measured, if only in a warm-up and void."""
        return bool(self.of_kind(Measured) or self.of_kind(Scored))

    @cached_property
    def samples(self) -> tuple[Measured, ...]:
        """The answers that count: no warm-up, nothing void."""
        voids = {(v.cell, v.pair) for v in self.of_kind(Void)}
        return tuple(s for s in self.measured if not {(s.cell, None), (s.cell, s.pair)} & voids)

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """The answers beside the warm-up, also void ones. One that was given twice counts once."""
        found: dict[tuple[str, int, str], Measured] = {}
        for each in self.of_kind(Measured):
            if not each.warm_up:
                found.setdefault((each.cell, each.pair, each.prompt), each)
        return tuple(found.values())

    @cached_property
    def done(self) -> frozenset[tuple[str, int, str]]:
        """Cell, pair and prompt of each answer that need not be measured again; see `is_done`."""
        return frozenset((s.cell, s.pair, s.prompt) for s in self.measured)

    @cached_property
    def void_cells(self) -> dict[str, str]:
        """Cells that are void as a whole, and why."""
        return {v.cell: v.reason for v in self.of_kind(Void) if v.pair is None}

    @cached_property
    def descriptions(self) -> Mapping[str, Description]:
        """What the engine said last of each cell."""
        return {each.cell: each.description for each in self.of_kind(Started)}

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """How often an engine was set up for each cell, by the name that it has here."""
        return Counter(each.cell for each in self.of_kind(Started))

    @cached_property
    def _kinds(self) -> Mapping[type[Record], tuple[Record, ...]]:
        # Asked for of every cell of a plan, so looked through once.
        found: dict[type[Record], list[Record]] = {}
        for each in self.records:
            found.setdefault(type(each), []).append(each)
        return {kind: tuple(records) for kind, records in found.items()}

    def of_kind(self, kind: type[R]) -> tuple[R, ...]:
        """All records of one kind, in order."""
        return cast("tuple[R, ...]", self._kinds.get(kind, ()))

    def is_done(self, cell: str, pair: int, prompt: str) -> bool:
        """Whether an answer is there, so that a resumed run need not measure it again."""
        return (name_in_journal(cell), pair, name_in_journal(prompt)) in self.done

    def whole_pairs(self, prompts: Mapping[str, Collection[str]]) -> int:
        """How many rounds of a series are complete, counted from the first one.

        A cell in which a round is void needs no more answers for it.
        prompts: for each cell of the series the ids of its prompts.
        """
        return _whole_pairs(self, prompts)

    def pairs_at_ends(self, prompts: Mapping[str, Collection[str]]) -> tuple[int, ...]:
        """How many rounds of a series were complete each time that measuring ended."""
        return tuple(_whole_pairs(each, prompts) for each in self._at_ends)

    @cached_property
    def _at_ends(self) -> tuple[Journal, ...]:
        """What there was each time that measuring ended."""
        ends = (i for i, each in enumerate(self.records) if isinstance(each, End))
        return tuple(Journal(self.records[:end]) for end in ends)


def _whole_pairs(journal: Journal, prompts: Mapping[str, Collection[str]]) -> int:
    wanted = [
        (name_in_journal(cell), name_in_journal(prompt))
        for cell, each in prompts.items()
        for prompt in each
    ]
    void = {(v.cell, v.pair) for v in journal.of_kind(Void)}
    complete = takewhile(
        lambda pair: all(
            (cell, pair, prompt) in journal.done or (cell, pair) in void for cell, prompt in wanted
        ),
        count(),
    )
    return len(list(complete)) if wanted else 0


def name_in_journal(text: str) -> str:
    """A name of a cell, an arm or a prompt as it stands in a journal."""
    return _blanked_text(text, "cell", ())


def read(path: str | Path) -> Journal:
    """What a journal file holds. Raises JournalError."""
    source = read_source(path, limit_bytes=LIMIT_BYTES)
    if isinstance(source, Finding):
        raise JournalError(f"{path}: {source.message}")
    return parse(source.data, str(path))


def parse(data: bytes, path: str) -> Journal:
    """What the bytes of a journal hold.

    path: what to call it in messages. Raises JournalError for any line that is not a record,
    except for the part of a line after the last line end.
    """
    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    records = tuple(_record(line, f"{path}:{number}") for number, line in enumerate(lines, 1))
    _check_headers(records, path)
    rest = len(data) - end
    warning = f"{path}: dropped the last {rest} bytes, which are no whole line" if rest else ""
    return Journal(records, warning, end)


def _check_headers(records: Sequence[Record], path: str) -> None:
    for number, record in enumerate(records, 1):
        if isinstance(record, Header) != (number == 1):
            words = "no header in the first line" if number == 1 else "a second header"
            raise JournalError(f"{path}:{number}: {words}, so this is no journal")
        if isinstance(record, Planned) and number != 2:
            raise JournalError(f"{path}:{number}: a plan that is not in the second line")


def _record(line: bytes, at: str) -> Record:
    data = _object(line, at)
    kind = data.get("kind")
    if not isinstance(kind, str):
        raise JournalError(f"{at}: no kind of record")
    if kind == Header.kind and data.get("version") != VERSION:
        raise JournalError(f"{at}: version {data.get('version')!r} of the format; this reads 1")
    if kind not in KINDS:
        return Unknown(kind, data)
    try:
        return _adapter(kind).validate_json(line, strict=True)
    except ValidationError as error:
        raise JournalError(f"{at}: {_first_problem(error)}") from None


def _object(line: bytes, at: str) -> dict[str, object]:
    try:
        text = line.decode("ascii")
        data = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        raise JournalError(f"{at}: not JSON in ASCII, so the file was damaged or changed") from None
    if not isinstance(data, dict):
        raise JournalError(f"{at}: not an object")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


@cache
def _adapter(kind: str) -> TypeAdapter[KnownRecord]:
    return TypeAdapter(KINDS[kind])


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, problem["loc"]))
    return f"{where}: {problem['msg']}" if where else problem["msg"]
