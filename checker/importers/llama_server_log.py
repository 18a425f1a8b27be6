"""llama-server's log: what each request took, what was drafted and accepted, what was set up.

All four wordings of acceptance, from 2025 to 2026, as text, as JSON lines (`--log-jsonl`, and the
server's own form of 2024), behind what containers, routers and journals put in front.

Source: llama.cpp tools/server/server-context.cpp, `print_timings`, `launch_slot_with_task` and
`release`; common/speculative.cpp, `common_speculative_print_stats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, Field, fill, whole
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_lines,
)
from benchlint.checker.importers.llama_cpp_hints import LOG_HINTS, SERVER_NEVER
from benchlint.checker.importers.llama_cpp_lines import (
    ACCEPTANCE,
    ACCEPTED,
    COUNTS,
    DECODE_TIME,
    POSITIONS,
    PROMPT_TIME,
    STATISTICS,
    TIMES,
    first_match,
    groups,
    is_pasted,
    put_speculation,
    put_times,
)
from benchlint.checker.importers.llama_cpp_setup import (
    MOST_TYPES,
    SETUP_FIELDS,
    Setup,
    put_sampler,
)
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.importers.unique_names import unused

NAME = "llama-server-log"

#: So many requests become runs; of the rest only the sums are kept.
MOST_RUNS = 500

#: So many samplers of one server become configurations.
MOST_CONFIGURATIONS = 50

#: So many servers in one log are told apart: starts, or children of a router by their port.
MOST_SERVERS = 50

# --- lines -----------------------------------------------------------------------------------

_SLOT = re.compile(r"\bid +(?P<slot>\d+) \| task (?P<task>-?\d+) \|")
_PROMPT_TOKENS = re.compile(r"(?:task\.n_tokens|n_prompt_tokens) = (?P<prompt_tokens>\d+)")
_CACHED = re.compile(
    r"(?:cached n_tokens = (?P<a>\d+)|\| n_tokens = (?P<b>\d+), memory_seq_rm"
    r"|kv cache rm \[(?P<c>\d+), end\))"
)
_CHILD = re.compile(r"(?:^|\| )\[(\d{4,5})\] ")

_REQUEST = (
    Field("task.n_tokens", "run.conditions.kv_position.filled_tokens", COUNT, "of the prompt"),
    Field(
        "requests in flight",
        "run.conditions.concurrency",
        COUNT,
        "the most between `processing task` and `stop processing`",
    ),
)

_STATISTICS = Field(
    "#gen drafts",
    "run.speculation.counts.verify_steps",
    COUNT,
    "what the line of one type rose by, where its tokens rose as the request's did",
)


@dataclass
class _Task:
    """A request that a slot works on. most: requests in flight at once, as far as seen."""

    launched: Found
    most: int = 1
    prompt_tokens: Found | None = None
    cached: Found | None = None


@dataclass
class _Request:
    """What was printed at the end of a request. steps: verify steps, where they are certain."""

    row: Row
    line: Line
    label: str | None = None
    task: _Task | None = None
    statistics: dict[str, Row] = field(default_factory=dict)
    steps: Found | None = None
    sampler: Row = field(default_factory=dict)

    def get(self, name: str) -> Found | None:
        """See Record."""
        return self.row.get(name)

    def number(self, name: str) -> int:
        """A count; 0 where it was not printed."""
        found = self.row.get(name)
        return (0 if found is None else whole(found.value)) or 0


@dataclass
class _Sums:
    """Over all requests of one configuration. last: where the last of them stands."""

    requests: int = 0
    drafted: int = 0
    accepted: int = 0
    output: int = 0
    steps: int | None = 0
    last: Found | None = None
    runs: list[str] = field(default_factory=list)

    def add(self, request: _Request) -> None:
        """Count a request."""
        self.requests += 1
        self.drafted += request.number("draft_n")
        self.accepted += request.number("draft_n_accepted")
        self.output += request.number("predicted_n")
        if request.number("draft_n"):
            known = None if request.steps is None else whole(request.steps.value)
            self.steps = None if known is None or self.steps is None else self.steps + known
        self.last = request.get("draft_n") or request.get("predicted_n") or self.last

    @property
    def is_whole(self) -> bool:
        """Whether every request has become a run."""
        return len(self.runs) == self.requests

    def counts(self) -> dict[str, int | None]:
        """The sums by their names in a report."""
        return {
            "drafted": self.drafted,
            "accepted": self.accepted,
            "output_tokens": self.output,
            "requests": self.requests,
            "verify_steps": self.steps,
        }


# --- one server ------------------------------------------------------------------------------


class _Server:
    """One server from its start to the next."""

    def __init__(self, building: Building) -> None:
        self._building = building
        self.setup = Setup()
        self._sums: dict[str | None, _Sums] = {}
        self._last: Found | None = None
        self._drafted = False
        self._told: set[str] = set()
        self._tasks: dict[int, _Task] = {}
        self._active: set[int] = set()
        self._label: tuple[int, str] | None = None
        self._request: _Request | None = None
        self._before: dict[str, tuple[int, int, int]] = {}
        self._started: Found | None = None
        self._configurations: dict[tuple[str, ...], str] = {}

    @property
    def has_served(self) -> bool:
        """Whether a request was seen."""
        return self._request is not None or bool(self._sums)

    def take(self, line: Line) -> None:
        """Read a line."""
        text = line.text
        for marker, handler in _HANDLERS:
            if marker in text:
                handler(self, line)
                return
        self.setup.take(line)

    # requests

    def launch(self, line: Line) -> None:
        """A slot begins with a request."""
        self._end_request()
        slot = self._slot(line)
        if slot is None:
            return
        self._active.add(slot)
        self._tasks[slot] = _Task(line.found(True, (0, len(line.text))))
        for each in self._active & self._tasks.keys():
            self._tasks[each].most = max(self._tasks[each].most, len(self._active))

    def release(self, line: Line) -> None:
        """A slot has ended; builds before 2026 print the times afterwards."""
        slot = self._slot(line)
        if slot is not None:
            self._active.discard(slot)

    def prompt(self, line: Line) -> None:
        """A slot says how long its prompt is, or how much of it was in the cache."""
        slot = self._slot(line)
        task = None if slot is None else self._tasks.get(slot)
        if task is None:
            self.setup.take(line)
            return
        task.prompt_tokens = groups(line, _PROMPT_TOKENS).get("prompt_tokens", task.prompt_tokens)
        for found in groups(line, _CACHED).values():
            task.cached = found
        self.setup.take(line)

    def prompt_time(self, line: Line) -> None:
        """The first line at the end of a request."""
        row = groups(line, PROMPT_TIME)
        if row:
            self._end_request()
            self._begin(line, row)

    def decode_time(self, line: Line) -> None:
        """The line below it."""
        row = groups(line, DECODE_TIME)
        if row and self._request is not None and "predicted_n" in self._request.row:
            self._end_request()
        self._add(line, row)

    def acceptance(self, line: Line) -> None:
        """What was drafted and accepted."""
        row = groups(line, ACCEPTANCE)
        if row and self._request is not None and "draft_n" in self._request.row:
            self._end_request()
        self._add(line, row)

    def positions(self, line: Line) -> None:
        """Acceptance by position, in a line of its own."""
        if self._request is not None and "positions" not in self._request.row:
            self._add(line, groups(line, POSITIONS))

    def statistics(self, line: Line) -> None:
        """What one type of speculation did since the start of the process."""
        row = groups(line, STATISTICS)
        name = str(row["type"].value) if row else ""
        if name not in self._before and len(self._before) >= MOST_TYPES:
            return
        if row and self._request is not None:
            self._request.statistics[name] = row
        if row and whole(row["drafts"].value):
            self.setup.implementation(row["type"])

    def header(self, line: Line) -> None:
        """A line that only says which request the next lines are about."""
        self._slot(line)

    def start(self, line: Line) -> None:
        """The model is loaded."""
        self._started = line.found(False, (0, len(line.text)))

    def end(self) -> None:
        """The log ends, or the server does."""
        self._end_request()
        has_drafter = self.setup.speculates or self.setup.loaded_drafter
        for configuration, sums in self._sums.items():
            if has_drafter and not self._drafted:
                self._put_idle_drafter(configuration, sums)
            if sums.requests > 1 and (has_drafter or self._drafted):
                self._put_sums(configuration, sums)

    def _slot(self, line: Line) -> int | None:
        match = _SLOT.search(line.text)
        if match is None or len(match["slot"]) > 4:  # a server has a few slots
            return None
        slot = int(match["slot"])
        self._label = (slot, match["task"])
        return slot

    def _begin(self, line: Line, row: Row) -> None:
        self._slot(line)
        request = _Request(row, line, sampler=dict(self.setup.sampler))
        if self._label is not None:
            slot, task = self._label
            request.task = self._tasks.get(slot)
            request.label = None if task == "-1" else f"task {task}"
        self._request = request

    def _add(self, line: Line, row: Row) -> None:
        if not row:
            return
        if self._request is None:
            self._begin(line, row)
        else:
            self._request.row |= row

    # into a report

    def _end_request(self) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        request.steps = self._steps(request)
        self._drafted = self._drafted or bool(request.number("draft_n"))
        configuration = self._configuration(request)
        sums = self._sums.setdefault(configuration, _Sums())
        sums.add(request)
        if len(self._building.tree.get("runs", ())) < MOST_RUNS:
            sums.runs.append(self._put(request, configuration))
        self._last = sums.last

    def _put(self, request: _Request, configuration: str | None) -> str:
        """Make a run of a request; its id."""
        building = self._building
        building.put(("engine", "name"), Found("llama.cpp"))
        run = building.run(request.label or "request", configuration)
        self._put_conditions(run, request)
        warm = self._started if self._last is None else self._last.to(True)
        building.put((*run, "conditions", "warm"), warm)
        put_times(building, run, request)
        put_speculation(building, run, request)
        if request.number("draft_n"):
            building.put((*run, "speculation", "counts", "verify_steps"), request.steps)
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))
        return str(building.value((*run, "id")))

    def _put_conditions(self, run: Path, request: _Request) -> None:
        task = request.task
        if task is None:
            return
        row: Row = {"requests in flight": task.launched.to(task.most)}
        if task.prompt_tokens is not None:
            row["task.n_tokens"] = task.prompt_tokens
        fill(self._building, _REQUEST, row, {"run": run})
        if task.cached is not None and whole(task.cached.value):
            place = (*run, "conditions", "prompt_cache")
            self._building.put(place, task.cached.to(True))

    def _configuration(self, request: _Request) -> str | None:
        """The configuration of a request: one for each sampler that was asked for."""
        words = tuple(f"{name}={found.value}" for name, found in sorted(request.sampler.items()))
        if words not in self._configurations:
            if len(self._configurations) >= MOST_CONFIGURATIONS:
                return None
            self._configurations[words] = self._new_configuration(words, request)
        name = self._configurations[words]
        if name not in self._told:
            self._put_drafter(name)
        return name

    def _put_drafter(self, name: str) -> None:
        """Say what drafts, or that nothing does, once it is known."""
        place = ("configurations", name)
        if self.setup.speculates or (self.setup.loaded_drafter and self._drafted):
            self.setup.put_drafter(self._building, place)
            self._told.add(name)
        elif self.setup.is_plain and not self.setup.loaded_drafter:
            self._building.put_null((*place, "drafter"))

    def _new_configuration(self, words: tuple[str, ...], request: _Request) -> str:
        model = self.setup.get("model")
        base = str(model.value).replace("\\", "/").rpartition("/")[2] if model else "llama-server"
        first = next(iter(self._configurations), ())
        name = ", ".join([base, *(each for each in words if first and each not in first)])
        name = unused(name, self._building.tree.get("configurations", {}))
        place = self._building.configuration(name)
        self.setup.put(self._building, place)
        put_sampler(self._building, place, request.sampler)
        return name

    def _steps(self, request: _Request) -> Found | None:
        """Verify steps by the statistics: by how much the drafts of the one type rose.

        They count drafts before some are cut or dropped, so the tokens have to rise as the
        request's did.
        """
        rises: list[tuple[tuple[int, int, int], Found]] = []
        for name, row in request.statistics.items():
            now = tuple(whole(row[each].value) or 0 for each in ("drafts", "drafted", "accepted"))
            is_first = whole(row["calls"].value) == 1
            before = self._before.get(name, (0, 0, 0) if is_first else None)
            if len(self._before) < MOST_TYPES or name in self._before:
                self._before[name] = (now[0], now[1], now[2])
            if before is None:
                return None
            rise = (now[0] - before[0], now[1] - before[1], now[2] - before[2])
            if any(rise):
                rises.append((rise, row["drafts"]))
        if len(rises) != 1:
            return None
        (drafts, drafted, accepted), found = rises[0]
        counted = (request.number("draft_n"), request.number("draft_n_accepted"))
        return found.to(drafts) if (drafted, accepted) == counted else None

    def _put_idle_drafter(self, configuration: str | None, sums: _Sums) -> None:
        """A drafter that never drafted: acceptance is not printed where nothing was drafted."""
        building = self._building
        if configuration is not None:
            self.setup.put_drafter(building, ("configurations", configuration))
        if sums.requests == len(sums.runs) == 1 and sums.last is not None:
            index = [run["id"] for run in building.tree["runs"]].index(sums.runs[0])
            place = ("runs", index, "speculation", "counts", "drafted")
            building.put(place, sums.last.to(0))

    def _put_sums(self, configuration: str | None, sums: _Sums) -> None:
        """All requests together: what a client's run over them can be laid beside."""
        building, last = self._building, sums.last
        if not sums.is_whole:
            more = sums.requests - len(sums.runs)
            building.remarks.append(f"{more:,} more requests are in the sums only")
        if last is None:
            return
        run = building.run("all requests", configuration)
        if sums.is_whole:
            building.put((*run, "parts"), last.to(list(sums.runs)))
        for name, value in sums.counts().items():
            building.put((*run, "speculation", "counts", name), last.to(value))
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))


#: By a word that stands in the line; the first that does decides.
_HANDLERS: tuple[tuple[str, Callable[[_Server, Line], None]], ...] = (
    ("prompt eval time", _Server.prompt_time),
    ("eval time", _Server.decode_time),
    ("draft acceptance", _Server.acceptance),
    ("acc per pos", _Server.positions),
    ("#calls(b,g,a)", _Server.statistics),
    ("processing task", _Server.launch),
    ("stop processing", _Server.release),
    ("task.n_tokens", _Server.prompt),
    ("n_prompt_tokens = ", _Server.prompt),
    ("seq_rm", _Server.prompt),
    ("kv cache rm", _Server.prompt),
    ("print_timing", _Server.header),
    ("model loaded", _Server.start),
)

# --- the log ---------------------------------------------------------------------------------


class _Log:
    """A log of one server after another, or of several that a router started."""

    def __init__(self) -> None:
        self.building = Building()
        self._servers: dict[str, _Server] = {}
        self._count = 0

    def take(self, line: Line) -> None:
        """Read a line."""
        child = _CHILD.search(line.text, 0, 200) if "[" in line.text[:100] else None
        server = self._server("" if child is None else child[1], "loading model '" in line.text)
        if server is not None:
            server.take(line)

    def end(self) -> None:
        """The log ends."""
        for server in self._servers.values():
            server.end()

    def _server(self, child: str, loads: bool) -> _Server | None:
        known = self._servers.get(child)
        if known is not None and not (loads and known.has_served):
            return known
        if known is not None:
            known.end()
        if self._count >= MOST_SERVERS:
            return None
        self._count += 1
        self._servers[child] = _Server(self.building)
        return self._servers[child]


_SURE = (
    re.compile(r"draft acceptance(?: rate)? *= *[\d.]+ *\( *\d+ accepted */"),
    re.compile(r"statistics +[\w-]+: #calls"),
    re.compile(r"\bslot +(?:print_timing|launch_slot_|release|update_slots|get_availabl)"),
    re.compile(r"\bsrv +(?:llama_server|load_model|update_slots|init|operator\(\)):"),
    re.compile(
        r"(?m)^(?!.*(?:llama_perf_context_print|llama_print_timings|common_perf_print):)"
        r".*prompt eval time *= *[\d.]+ ms */"
    ),
)
_OTHER_TOOL = re.compile(r"\bn_drafted +=")


def _recognise(head: Head) -> Confidence:
    if head.document is not None and not _is_log_line(head):
        return Confidence.NO
    first = first_match(head.text, _SURE)
    if first is None or _OTHER_TOOL.search(head.text) or is_pasted(head.text, first.start()):
        return Confidence.NO
    return Confidence.SURE


def _is_log_line(head: Head) -> bool:
    """Whether the JSON object is a line of a log."""
    return head.has("msg", "level")


def _read(source: Source) -> Iterator[Imported]:
    return imported_lines(NAME, _Log(), source)


IMPORTER = Importer(
    name=NAME,
    title="llama-server's log",
    reads="what llama-server writes to its console or to `--log-file`, old and new, plain or "
    "`--log-jsonl`, with or without what a container or a router puts in front",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    engines=("llama.cpp",),
    fields=(*TIMES, *COUNTS, *ACCEPTED, _STATISTICS, *_REQUEST, *SETUP_FIELDS),
    hints=LOG_HINTS,
    never=SERVER_NEVER,
)
