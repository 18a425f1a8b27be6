"""llama-server's replies: the `timings` that each of them carries.

One reply or many, native (/completion) or in OpenAI's form, whole or as captured streams; also
files of others that keep `timings`, or its members, beside each prompt.

Source: llama.cpp tools/server/server-common.cpp `to_json` of the timings and
tools/server/server-task.cpp (examples/server/server.cpp before 2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchlint.checker.document import Document, parse_text
from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.columns import is_plain, method_of
from benchlint.checker.importers.fields import COUNT, TEXT, Field, Kind, fill, number, text
from benchlint.checker.importers.found import Found, JsonRecord, Line, Record
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.json_objects import objects
from benchlint.checker.importers.llama_bench import file_name
from benchlint.checker.importers.llama_cpp_hints import SERVER_HINTS, SERVER_NEVER
from benchlint.checker.importers.llama_cpp_lines import COUNTS, TIMES, put_speculation, put_times
from benchlint.checker.importers.llama_cpp_setup import single
from benchlint.checker.importers.unique_names import unused
from benchlint.checker.pointers import pointer

NAME = "llama-server"

#: So many replies become runs.
MOST_RUNS = 500

# --- what goes where -------------------------------------------------------------------------


def _model(value: object) -> str | None:
    """A file name or alias; what a client asked of OpenAI is no model here."""
    found = file_name(value)
    return None if found is None or found.startswith("gpt-") else found


_FINGERPRINT = re.compile(r"b(?P<build>\d+)-(?P<commit>[0-9a-f]{5,40}|unknown)")


def build_of(value: object) -> str | None:
    """The build of "b8672-1a2b3c4"; 0 and 1 are what a shallow checkout has."""
    found = _FINGERPRINT.fullmatch(str(value))
    return f"b{found['build']}" if found and found["build"] not in ("0", "1") else None


def commit_of(value: object) -> str | None:
    """The commit of the same."""
    found = _FINGERPRINT.fullmatch(str(value))
    return found["commit"] if found and found["commit"] != "unknown" else None


def _day(value: object) -> str | None:
    """The day of a time in seconds since 1970, in UTC."""
    seconds = number(value)
    if seconds is None or not 0 < seconds < 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def seed(value: object) -> object:
    """A seed that was set; the largest is drawn anew for each request (LLAMA_DEFAULT_SEED)."""
    found = COUNT.convert(value)
    return None if found in (0xFFFFFFFF, -1) else found


SINGLE = Kind("a 32-bit float → its seven digits", single)
SEED = Kind("4294967295 is none", seed)

#: Parameters of llama-server by their names in replies, /props and /slots.
SAMPLER = (
    ("temperature", "temperature", SINGLE),
    ("top_k", "top_k", COUNT),
    ("top_p", "top_p", SINGLE),
    ("min_p", "min_p", SINGLE),
    ("repeat_penalty", "repetition_penalty", SINGLE),
    ("presence_penalty", "presence_penalty", SINGLE),
    ("frequency_penalty", "frequency_penalty", SINGLE),
    ("seed", "seed", SEED),
)

_SETUP = (
    Field("model", "configuration.target.name", Kind("without folders", _model)),
    Field(
        "system_fingerprint",
        "configuration.engine.version",
        Kind("b8672-1a2b3c4 → b8672", build_of),
    ),
    Field("system_fingerprint", "configuration.engine.commit", Kind("→ 1a2b3c4", commit_of)),
    *(
        Field(f"generation_settings.{theirs}", f"configuration.sampler.{ours}", kind)
        for theirs, ours, kind in SAMPLER
    ),
)

_REPLY = (
    Field("created", "date", Kind("seconds since 1970 → day", _day)),
    Field("usage.prompt_tokens", "run.conditions.kv_position.filled_tokens", COUNT),
    Field("tokens_evaluated", "run.conditions.kv_position.filled_tokens", COUNT),
)

_FINISH = (
    Field("choices.0.finish_reason", "run.finish_reasons", TEXT),
    Field("stop_type", "run.finish_reasons", TEXT),
)

_CACHED = Field(
    "timings.cache_n",
    "run.conditions.prompt_cache",
    Kind("over 0 → true", lambda v: True if number(v) else None),
)

_TIMINGS = tuple(
    Field(f"timings.{f.source}", f.to, f.kind, f.meaning) for f in dict.fromkeys((*TIMES, *COUNTS))
)

#: Two of these in one object are llama-server's.
_OWN = frozenset(
    {
        "predicted_n",
        "predicted_ms",
        "predicted_per_second",
        "predicted_per_token_ms",
        "prompt_per_second",
        "prompt_per_token_ms",
        "draft_n_accepted",
    }
)


def _are_timings(tree: object) -> bool:
    return isinstance(tree, dict) and "predicted_n" in tree and len(_OWN & tree.keys()) >= 2


# --- into a report ---------------------------------------------------------------------------


class _Replies:
    """A report of replies, one run each."""

    def __init__(self) -> None:
        self.building = Building()
        self._left_out = 0
        self._configurations: dict[tuple[str, ...], str] = {}

    def add(
        self, reply: Record, timings: JsonRecord, name: str = "", arm: _Arm | None = None
    ) -> None:
        """Add a reply. name: what its file calls it. arm: what the file has it under."""
        building = self.building
        if len(building.tree.get("runs", ())) >= MOST_RUNS:
            self._left_out += 1
            return
        building.put(("engine", "name"), Found("llama.cpp"))
        configuration = self._configuration(reply, arm or _Arm())
        run = building.run(name or "reply", configuration)
        fill(building, _REPLY, reply, {"run": run})
        put_times(building, run, timings)
        put_speculation(building, run, timings)
        self._put_cache(run, timings)
        self._put_finish(run, reply)
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))

    def imported(self) -> Iterator[Imported]:
        """The report, unless there was no reply."""
        if self._left_out:
            self.building.remarks.append(f"{self._left_out:,} more replies were left out")
        if "runs" in self.building.tree:
            yield Imported.of(NAME, self.building)

    def _configuration(self, reply: Record, arm: _Arm) -> str:
        """One for each setup that replies state."""
        stated = [(f.source, reply.get(f.source)) for f in _SETUP]
        key = (arm.name, *(f"{n}={found.value}" for n, found in stated if found is not None))
        if key not in self._configurations:
            model = reply.get("model")
            base = arm.name or (None if model is None else _model(model.value)) or NAME
            known = self.building.tree.get("configurations", {})
            name = unused(base, known)
            fill(
                self.building,
                _SETUP,
                reply,
                {"configuration": self.building.configuration(name)},
            )
            self._configurations[key] = name
            _put_method(self.building, ("configurations", name), arm.said)
        return self._configurations[key]

    def _put_cache(self, run: Path, timings: JsonRecord) -> None:
        """How much of the prompt was in the cache, and how full that is before decode."""
        cached, prompt = timings.get("cache_n"), timings.get("prompt_n")
        held = None if cached is None else COUNT.convert(cached.value)
        if cached is not None and held:
            self.building.put((*run, "conditions", "prompt_cache"), cached.to(True))
        new = None if prompt is None else COUNT.convert(prompt.value)
        if prompt is not None and isinstance(held, int) and isinstance(new, int):
            place = (*run, "conditions", "kv_position", "filled_tokens")
            self.building.put(place, prompt.to(held + new))

    def _put_finish(self, run: Path, reply: Record) -> None:
        for field in _FINISH:
            found = reply.get(field.source)
            reason = None if found is None else text(found.value)
            if found is not None and reason and len(reason) < 40:
                self.building.put((*run, "finish_reasons", reason), found.to(1))
                return


# --- replies in JSON -------------------------------------------------------------------------


def _add_all(replies: _Replies, document: Document, number: str = "") -> None:
    """All replies in a JSON text, however it holds them. number: of its line, to name them."""
    for record, path in objects(document):
        timings = record.record("timings")
        if timings is not None and _are_timings(timings.tree):
            replies.add(record, timings, _name(record, path, number), _arm(document, path))
        elif _are_timings(record.tree) and path[-1:] != ("timings",):
            replies.add(record, record, _name(record, path, number), _arm(document, path))


def _put_method(building: Building, configuration: Path, said: Found | None) -> None:
    """The drafter that an arm is named for, or that it has none."""
    if said is None:
        return
    method = method_of(str(said.value))
    if method is not None:
        building.put((*configuration, "drafter", "method"), said.to(method))
    elif is_plain(str(said.value)):
        building.put_null((*configuration, "drafter"))


@dataclass(frozen=True, slots=True)
class _Arm:
    """What of the file a reply stands in, as arms are kept apart; "" where that is all of it.

    said: what the file calls it, where it does.
    """

    name: str = ""
    said: Found | None = None


def _arm(document: Document, path: tuple[str | int, ...]) -> _Arm:
    words = _words(path[:-1])
    if not words or not all(map(str.isdecimal, words)):
        return _Arm(" ".join(words))
    name, said = f"arm {' '.join(words)}", _said(document, path[:-2])
    return _Arm(name if said is None else f"{name}: {said.value}", said)


#: Members by which people's harnesses name what they compare.
_NAMED_BY = ("backend", "method", "mode", "config", "cfg")


def _said(document: Document, path: tuple[str | int, ...]) -> Found | None:
    """The words of the object at the path that name an arm."""
    tree: Any = document.tree
    for part in path:
        tree = tree[part]
    if not isinstance(tree, dict):
        return None
    record = JsonRecord(document, tree, pointer(*path))
    found = [each for name in _NAMED_BY if (each := record.get(name)) is not None]
    words = [word for each in found if (word := text(each.value)) and len(word) <= _LONGEST_NAME]
    return found[-1].to(", ".join(words)) if words else None


def _words(path: tuple[str | int, ...]) -> list[str]:
    """A path for people: lists count from 1, and need not be named."""
    words = [str(each + 1 if isinstance(each, int) else each) for each in path]
    return [each for each in words if each not in _LISTS]


_LISTS = frozenset({"results", "rows", "records", "runs", "replies", "responses", "data"})


def _name(record: JsonRecord, path: tuple[str | int, ...], number: str) -> str:
    """What the file calls the reply; ids of completions are no names."""
    for member in ("name", "id"):
        found = record.get(member)
        said = None if found is None else text(found.value)
        if said and len(said) <= _LONGEST_NAME and not said.startswith(_IDS):
            return said
    words = _words(path) or [number] * bool(number)
    return " ".join(["reply", *words] if all(each.isdecimal() for each in words) else words)


_LONGEST_NAME = 60
_IDS = ("chatcmpl-", "cmpl-", "resp_", "msg_")


# --- streams ---------------------------------------------------------------------------------


class _Lines:
    """Events of streams, one after another, or a reply in each line."""

    def __init__(self, replies: _Replies, source: str) -> None:
        self._replies = replies
        self._source = source
        self._id: object = None
        self._last: JsonRecord | None = None
        self._finish: JsonRecord | None = None

    def take(self, line: Line) -> None:
        """Read a line."""
        text_of = line.text
        if "[DONE]" in text_of[:20]:
            self.end()
        elif any(word in text_of for word in _WORDS):
            document = self._parsed(line)
            if document is not None and _is_event(document.tree):
                self._event(JsonRecord(document, _object(document.tree)))
            elif document is not None:
                self.end()
                _add_all(self._replies, document, str(line.number))

    def end(self) -> None:
        """A stream ends; the last timings in it are those of the whole."""
        last, self._last = self._last, None
        finish, self._finish = self._finish, None
        if last is not None and (timings := last.record("timings")) is not None:
            self._replies.add(_Joined(last, finish or last), timings)

    def _event(self, event: JsonRecord) -> None:
        if event.tree.get("id") != self._id:
            self.end()
            self._id = event.tree.get("id")
        if _are_timings(event.tree.get("timings")):
            self._last = event
        reason = event.get("choices.0.finish_reason")
        if reason is not None and text(reason.value):
            self._finish = event
        if event.tree.get("stop") is True:
            self.end()

    def _parsed(self, line: Line) -> Document | None:
        """The JSON in a line. Places are its columns, so blanks stay for what is in front."""
        at = line.text.find("{")
        if at < 0 or line.text[:at].strip() not in ("", "data:"):
            return None
        json = " " * at + line.text[at:]
        return parse_text(json, self._source, line_offset=line.number - 1).document


class _Joined:
    """The last event of a stream, and what only an earlier one has."""

    def __init__(self, last: Record, earlier: Record) -> None:
        self._last = last
        self._earlier = earlier

    def get(self, name: str) -> Found | None:
        """See Record."""
        found = self._last.get(name)
        return self._earlier.get(name) if found is None else found


def _object(tree: object) -> Mapping[str, object]:
    return tree if isinstance(tree, dict) else {}


def _is_event(tree: object) -> bool:
    """Whether it is an event of a stream, or a reply that reads like one."""
    return isinstance(tree, dict) and ("choices" in tree or isinstance(tree.get("stop"), bool))


#: Lines that have none of these hold a piece of the text only.
_WORDS = ('"predicted_n"', '"finish_reason":"', '"finish_reason": "', '"stop":true', '"stop": true')

# --- its forms -------------------------------------------------------------------------------

_STREAM = re.compile(
    r'(?m)^data: ?\{.*(?:"predicted_per_second"|"system_fingerprint": ?"b\d+-|'
    r'"tokens_predicted": ?\d+, ?"tokens_evaluated")'
)


def _recognise(head: Head) -> Confidence:
    if head.document is not None and _holds_replies(head.document):
        return Confidence.SURE
    if _FINGERPRINT.fullmatch(str(head.record.get("system_fingerprint", ""))):
        return Confidence.SURE
    found = head.document is None and _STREAM.search(head.text)
    return Confidence.SURE if found else Confidence.NO


def _holds_replies(document: Document) -> bool:
    return any(_are_timings(record.tree) for record, _ in objects(document))


def _read(source: Source) -> Iterator[Imported]:
    replies = _Replies()
    if source.document is not None:
        _add_all(replies, source.document)
        return replies.imported()
    lines = _Lines(replies, source.name)
    for line in source.lines():
        lines.take(line)
    lines.end()
    return replies.imported()


IMPORTER = Importer(
    name=NAME,
    title="llama-server's replies",
    reads="replies with `timings` (/completion, /v1/completions, /v1/chat/completions): one, a "
    "list, JSON Lines, streams captured to a file, and other files that keep `timings` or its "
    "members beside each prompt",
    recognise=_recognise,
    read=_read,
    streams=True,
    engines=("llama.cpp",),
    fields=(*_REPLY, *_SETUP, *_TIMINGS, _CACHED, *_FINISH),
    hints=SERVER_HINTS,
    never=(
        "Accepted length by itself: no reply counts verify steps. The log has it, and so has "
        "/metrics.",
        *SERVER_NEVER,
    ),
)
