"""The journal: what is written is read back, whatever happens to the end of the file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from importlib.resources import files
from io import FileIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlint.reproducers import journal as journal_module
from benchlint.reproducers.engine import Counters, Description, Sample
from benchlint.reproducers.journal import (
    KINDS,
    End,
    Header,
    Journal,
    JournalError,
    Measured,
    Parted,
    Planned,
    Reading,
    Record,
    ReportText,
    Scored,
    Started,
    Unknown,
    Void,
    Writer,
    as_read,
    begin_again,
    create,
    line_of,
    parse,
    read,
    resume,
)

SCHEMA = json.loads((files("benchlint.schemas") / "samples-v1.json").read_text("utf-8"))
HEADER = Header(plan="p" * 64, tool="0.1.0", time=1.5, machine={"cores": 8})
KEY = "sk-proj-Zq81kfWm20bRt64xTy7d"

# No text of these alphabets looks like a secret.
TEXTS = st.text(st.sampled_from('ab\n\r"\\é\u2028\U0001f642\0{} '), max_size=12)
NAMES = st.text(st.sampled_from("ab-é"), min_size=1, max_size=6)
COUNTS = st.integers(0, 10**12)
TIMES = st.floats(0, 1e10)
KNOWN: st.SearchStrategy[Any] = st.dictionaries(NAMES, st.none() | TEXTS | COUNTS | TIMES)
MAYBE_COUNTS = st.none() | COUNTS
MAYBE_TIMES = st.none() | TIMES

SAMPLES = st.builds(
    Sample,
    text=TEXTS,
    output_tokens=COUNTS,
    prompt_tokens=MAYBE_COUNTS,
    cached_tokens=MAYBE_COUNTS,
    prefill_s=MAYBE_TIMES,
    decode_s=MAYBE_TIMES,
    ttft_s=MAYBE_TIMES,
    total_s=MAYBE_TIMES,
    chunk_s=st.lists(TIMES, max_size=3).map(tuple),
    token_ids=st.none() | st.lists(COUNTS, max_size=3).map(tuple),
    finish_reason=st.none() | NAMES,
    counters=st.builds(
        Counters,
        drafted=MAYBE_COUNTS,
        accepted=MAYBE_COUNTS,
        verify_steps=MAYBE_COUNTS,
        plain_steps=MAYBE_COUNTS,
        at_least=st.none() | st.lists(COUNTS, max_size=3).map(tuple),
    ),
    timed_by=st.sampled_from(["engine", "client"]),
)
DESCRIPTIONS = st.builds(
    Description,
    engine=NAMES,
    version=st.none() | NAMES,
    command_line=st.lists(TEXTS, max_size=3).map(tuple),
    sampler=st.dictionaries(NAMES, st.none() | COUNTS | TIMES, max_size=3),
    speculation=st.dictionaries(NAMES, st.none() | TEXTS | COUNTS | TIMES, max_size=3),
    context_tokens=MAYBE_COUNTS,
)
PAIRS = st.integers(0, 3)
SHAS = st.text("0123456789abcdef", min_size=64, max_size=64)
MEASURED = st.builds(
    Measured, NAMES, NAMES, NAMES, PAIRS, COUNTS, TIMES, SAMPLES, warm_up=st.booleans()
)
UNKNOWN = st.builds(
    lambda kind, data: Unknown(kind, {"kind": kind, **data}),
    NAMES.filter(lambda kind: kind not in KINDS),
    st.dictionaries(NAMES, st.none() | TEXTS | COUNTS, max_size=3),
)
LATER: st.SearchStrategy[Record] = st.one_of(
    MEASURED,
    st.builds(Started, NAMES, NAMES, TIMES, DESCRIPTIONS),
    st.builds(Scored, NAMES, NAMES, SHAS, COUNTS, st.lists(TIMES).map(tuple), TIMES),
    st.builds(Parted, NAMES, NAMES, NAMES, PAIRS, COUNTS, COUNTS, COUNTS, TIMES, TIMES),
    st.builds(Void, NAMES, TEXTS, TIMES, st.none() | PAIRS),
    st.builds(Reading, NAMES, TIMES, KNOWN),
    st.builds(End, st.sampled_from(["settled", "budget", "interrupted"]), TIMES, TEXTS),
    UNKNOWN,
)
PLAN_DATA: dict[str, object] = {"cells": [], "checks": [], "untestable": [], "scorings": []}
PLANNED = st.builds(
    Planned,
    st.just(PLAN_DATA),
    st.none() | st.builds(ReportText, TEXTS, NAMES, st.just("yaml"), COUNTS),
    st.lists(TEXTS, max_size=2).map(tuple),
)
JOURNALS = st.builds(
    lambda second, later: (HEADER, *second, *later),
    st.lists(PLANNED, max_size=1),
    st.lists(LATER, max_size=5),
)


def written(records: tuple[Record, ...]) -> bytes:
    return b"".join(map(line_of, records))


def answer(cell: str, pair: int, prompt: str = "a", **more: Any) -> Measured:
    return Measured(cell, cell, prompt, pair, 0, 0.0, Sample("", 2), **more)


def journal_of(*records: Record) -> Journal:
    return parse(written((HEADER, *records)), "s.jsonl")


# What is written is read


@given(JOURNALS)
def test_what_is_written_is_read(records: tuple[Record, ...]) -> None:
    data = written(records)
    journal = parse(data, "s.jsonl")
    assert journal.records == records
    assert (journal.warning, journal.end) == ("", len(data))
    assert data.isascii()
    assert data.count(b"\n") == len(records)


@given(JOURNALS, st.data())
def test_a_file_cut_at_any_byte_gives_a_prefix(records: tuple[Record, ...], data: Any) -> None:
    whole = written(records)
    cut = data.draw(st.integers(0, len(whole)))
    journal = parse(whole[:cut], "s.jsonl")
    assert journal.records == records[: whole[:cut].count(b"\n")]
    assert bool(journal.warning) == (whole[:cut].rpartition(b"\n")[2] != b"")
    assert whole[:cut].startswith(whole[: journal.end])


def test_every_byte_of_one_journal() -> None:
    records = (HEADER, answer("plain", 0), Void("plain", "näh", 1.0), End("budget", 2.0))
    whole = written(records)
    for cut in range(len(whole) + 1):
        journal = parse(whole[:cut], "s.jsonl")
        assert journal.records == records[: len(journal.records)]
        assert (journal.header is None) == (cut < len(line_of(HEADER)))


@given(JOURNALS)
def test_every_line_fits_the_schema(records: tuple[Record, ...]) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for line in written(records).splitlines():
        validator.validate(json.loads(line))


def test_the_schema_is_a_schema_and_knows_every_member() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    answers = definitions["answer"]["properties"]
    nested: Mapping[str, tuple[Any, Any]] = {
        "answer": (definitions["answer"], Sample),
        "counters": (answers["counters"], Counters),
        "description": (definitions["engine"]["properties"]["description"], Description),
        "report": (definitions["plan"]["properties"]["report"], ReportText),
    }
    kinds = {kind: (definitions[kind], each) for kind, each in KINDS.items()}
    for schema, cls in [*kinds.values(), *nested.values()]:
        assert set(schema["properties"]) == {f.name for f in fields(cls)}
        needed = {
            f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING
        }
        assert needed <= set(schema.get("required", ()))
    assert {each["then"]["$ref"] for each in SCHEMA["allOf"]} == {f"#/$defs/{k}" for k in KINDS}


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind": "end", "reason": "tired", "time": 1}',
        b'{"kind": "sample", "cell": "a"}',
        b'{"kind": "machine", "device": "d", "time": "noon"}',
        b'{"kind": "plan", "plan": []}',
        b'{"kind": "plan", "plan": {}, "report": {"text": "{}"}}',
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(line: bytes) -> None:
    with pytest.raises(JournalError):
        parse(line_of(HEADER) + line + b"\n", "s.jsonl")
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(line))


def test_members_that_a_later_version_adds_are_not_looked_at() -> None:
    line = line_of(End("budget", 2.0)).replace(b"{", b'{"mood": "calm", ', 1)
    assert parse(line_of(HEADER) + line, "s.jsonl").records[1] == End("budget", 2.0)


def test_numbers_that_are_none_are_not_known() -> None:
    sample = Sample("", 2, decode_s=float("inf"), chunk_s=(0.1, float("nan")))
    [found] = journal_of(replace(answer("a", 0), sample=sample)).samples
    assert found.sample.decode_s is None
    assert found.sample.chunk_s == ()


def test_half_a_surrogate_pair_is_replaced() -> None:
    [found] = journal_of(replace(answer("a", 0), sample=Sample("a\ud800b", 2))).samples
    assert found.sample.text == "a?b"


# What is damaged is said


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b"\n", "s:1: not JSON in ASCII, so the file was damaged or changed"),
        (b"{}\n", "s:1: no kind of record"),
        (b"[]\n", "s:1: not an object"),
        (b'{"kind": "header", "version": "2"}\n', "s:1: version '2' of the format; this reads 1"),
        (b'{"kind": "end", "reason": "budget", "time": 1}\n', "s:1: no header in the first line"),
        (line_of(HEADER) * 2, "s:2: a second header, so this is no journal"),
        (line_of(HEADER) + line_of(Planned({})) * 2, "s:3: a plan that is not in the second line"),
        (line_of(HEADER) + b"\0\0\0\n", "s:2: not JSON"),
        (line_of(HEADER) + b"\n", "s:2: not JSON"),
        (line_of(HEADER) + b'{"kind": "end"}\n', "s:2: reason: "),
        (line_of(HEADER) + '{"kind": "é"}\n'.encode(), "s:2: not JSON in ASCII"),
        (line_of(HEADER) + b'{"kind": "later", "a": NaN}\n', "s:2: not JSON"),
        (line_of(HEADER) + b'{"kind": "later", "a": 1e999}\n', "s:2: not JSON"),
        (line_of(HEADER) + b"[" * 100_000 + b"\n", "s:2: not JSON"),
    ],
)
def test_damage_anywhere_else_is_an_error(lines: bytes, message: str) -> None:
    with pytest.raises(JournalError) as error:
        parse(lines, "s")
    assert str(error.value).startswith(message)


@given(st.binary(max_size=80))
def test_any_bytes_give_a_journal_or_a_message(data: bytes) -> None:
    assert _outcome(line_of(HEADER) + data).startswith(("s:", "read"))


def _outcome(data: bytes) -> str:
    try:
        return f"read {len(parse(data, 's').records)}"
    except JournalError as error:
        return str(error)


@given(JOURNALS, st.data())
def test_a_line_that_is_lost_or_changed_in_the_middle_is_no_traceback(
    records: tuple[Record, ...], data: Any
) -> None:
    whole = bytearray(written(records))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    assert _outcome(bytes(whole)).startswith(("s:", "read"))


# Secrets


def holders(secret: str) -> Iterator[Record]:
    yield replace(HEADER, machine={"note": f"Bearer {secret}", secret: 1})
    yield Started("a", "a", 0.0, Description("e", command_line=("serve", "--api-key", secret)))
    yield Started("a", "a", 0.0, Description("e", command_line=(f"serve --api-key={secret}",)))
    yield Started("a", "a", 0.0, Description("e", speculation={"HF_TOKEN": secret}))
    yield Started(secret, secret, 0.0, Description(secret))
    yield replace(answer(secret, 0, secret), sample=Sample(f"{secret}\né", 2, finish_reason=secret))
    yield Void("a", f"no answer from https://me:{secret}@host/", 0.0)
    yield Reading(secret, 0.0, {"a": secret})
    yield End("error", 0.0, f"the server said: wrong key {secret}")
    yield Unknown("later", {"kind": "later", "deep": [{"er": [secret]}]})


@pytest.mark.parametrize("index", range(10))
def test_a_secret_by_its_form_is_never_written(index: int) -> None:
    line = line_of(list(holders(KEY))[index])
    assert KEY.encode() not in line
    assert b"redacted" in line


@pytest.mark.parametrize("index", [0, 1, 2, 3, 6, 7, 8, 9])
def test_a_secret_that_is_named_is_never_written(index: int) -> None:
    key = 'pw"é'
    line = line_of(list(holders(key))[index], [key, ""])
    assert key not in json.dumps(json.loads(line), ensure_ascii=False)
    assert "redacted" in line.decode()


def test_code_in_an_answer_stays_as_it_is() -> None:
    code = 'token = "a1b2c3d4e5f6a7b8c9d0"'
    [found] = journal_of(replace(answer("a", 0), sample=Sample(code, 2))).samples
    assert found.sample.text == code


def test_blanking_names_does_not_lose_what_was_done() -> None:
    journal = journal_of(answer(KEY, 0, KEY))
    assert journal.is_done(KEY, 0, KEY)
    assert not journal.is_done(KEY, 1, KEY)
    assert journal.whole_pairs({KEY: [KEY]}) == 1


# What is done


def test_warm_ups_and_void_measurements_do_not_count() -> None:
    journal = journal_of(
        answer("a", 0, warm_up=True),
        answer("a", 0),
        answer("a", 1),
        answer("b", 0),
        Void("a", "cache hit", 1.0, pair=1),
        Void("b", "requests by others", 2.0),
        answer("b", 1),
    )
    assert journal.samples == (answer("a", 0),)
    assert journal.void_cells == {"b": "requests by others"}
    assert journal.is_done("a", 1, "a")


def test_an_answer_that_stands_twice_counts_once() -> None:
    first, again = answer("a", 0), replace(answer("a", 0), time=9.0)
    assert journal_of(first, again).samples == (first,)


def test_a_round_is_whole_when_every_cell_has_answered_every_prompt() -> None:
    wanted = {"plain": ["a", "b"], "fast": ["a", "b"]}
    answers = [answer(c, pair, p) for pair in range(3) for c in wanted for p in ("a", "b")]
    assert journal_of(*answers).whole_pairs(wanted) == 3
    assert journal_of(*answers[:-1]).whole_pairs(wanted) == 2
    assert journal_of(*answers[1:]).whole_pairs(wanted) == 0
    assert journal_of(*answers).whole_pairs({}) == 0


def test_each_end_is_known_by_its_rounds() -> None:
    first, second = End("budget", 1.0), End("interrupted", 2.0)
    journal = journal_of(answer("a", 0), first, answer("a", 1), second, answer("a", 2))
    assert journal.pairs_at_ends({"a": ["a"]}) == (1, 2)


def test_the_last_description_of_a_cell_holds() -> None:
    old, new = Description("e", version="1"), Description("e", version="2")
    journal = journal_of(Started("a", "a", 0.0, old), Started("a", "a", 1.0, new))
    assert journal.descriptions == {"a": new}


# Files


@given(JOURNALS, st.data())
@settings(max_examples=30)
def test_a_run_that_was_killed_goes_on_where_it_was(
    tmp_path_factory: pytest.TempPathFactory, records: tuple[Record, ...], data: Any
) -> None:
    path = tmp_path_factory.mktemp("journal") / "samples.jsonl"
    whole = written(records)
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    writer, journal = resume(path, HEADER)
    with writer:
        for record in records[max(len(journal.records), 1) :]:
            writer.write(record)
    assert path.read_bytes() == whole


def test_each_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with create(path, HEADER) as writer:
        assert read(path).records == (HEADER,)
        writer.write(answer("a", 0))
        assert read(path).samples == (answer("a", 0),)
    assert read(path).warning == ""


def test_each_record_is_on_the_disk_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    path = tmp_path / "samples.jsonl"
    monkeypatch.setattr("os.fsync", lambda _: sizes.append(path.stat().st_size))
    with create(path, HEADER) as writer:
        writer.write(answer("a", 0))
    assert sizes == [len(line_of(HEADER)), len(line_of(HEADER) + line_of(answer("a", 0)))]


def test_secrets_of_a_writer_do_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with create(path, HEADER, ["local-key"]) as writer:
        writer.write(End("error", 0.0, "401 for local-key"))
    assert read(path).records[1] == End("error", 0.0, "401 for <redacted>")


def test_a_journal_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    create(path, HEADER).close()
    with pytest.raises(
        JournalError, match="exists: --resume goes on with it, --out names another folder"
    ):
        create(path, HEADER)


def test_a_journal_without_answers_can_be_begun_again_and_no_other(tmp_path: Path) -> None:
    path, other = tmp_path / "samples.jsonl", replace(HEADER, tool="2")
    with create(path, HEADER) as writer:
        writer.write(End("error", 0.0, "nobody answers"))
    begin_again(path, other).close()
    assert read(path).records == (other,)
    with begin_again(path, HEADER) as writer:
        writer.write(replace(answer("a", 0), warm_up=True))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="exists: --resume goes on with it"):
        begin_again(path, other)
    assert path.read_bytes() == before


def test_where_files_cannot_be_locked_none_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "samples.jsonl"
    create(path, HEADER).close()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(JournalError, match="exists: --resume goes on with it"):
        begin_again(path, replace(HEADER, tool="2"))
    assert read(path).records == (HEADER,)


def test_another_plan_is_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    create(path, HEADER).close()
    with pytest.raises(JournalError, match="was measured for another plan"):
        resume(path, replace(HEADER, plan="q"))
    with pytest.raises(JournalError, match=r"another machine, or one that changed \(cores\)"):
        resume(path, replace(HEADER, machine={"cores": 9}))
    assert read(path).records == (HEADER,)


def test_nobody_writes_between_reading_and_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "samples.jsonl"
    create(path, HEADER).close()

    def read_meanwhile(name: Path) -> Journal:
        monkeypatch.setattr(journal_module, "read", read)
        with pytest.raises(JournalError, match="being written by another run, which has to end"):
            resume(path, HEADER)
        return read(name)

    monkeypatch.setattr(journal_module, "read", read_meanwhile)
    resume(path, HEADER)[0].close()
    resume(path, HEADER)[0].close()


def test_a_machine_that_is_named_by_a_secret_is_the_same_machine(tmp_path: Path) -> None:
    header = replace(HEADER, machine={"host": KEY})
    create(tmp_path / "samples.jsonl", header).close()
    writer, journal = resume(tmp_path / "samples.jsonl", header)
    writer.close()
    assert journal.header is not None


def test_a_plan_stands_in_the_second_line(tmp_path: Path) -> None:
    path, planned = tmp_path / "samples.jsonl", Planned(PLAN_DATA, ReportText("{}", "a.json"))
    with create(path, HEADER, planned=planned) as writer:
        writer.write(End("budget", 0.0))
    assert read(path).planned == planned
    resume(path, HEADER, planned=planned)[0].close()
    assert len(read(path).records) == 3


@pytest.mark.parametrize("cut", [0, 5, len(line_of(HEADER)), len(line_of(HEADER)) + 9])
def test_a_journal_that_was_cut_before_its_plan_gets_it(tmp_path: Path, cut: int) -> None:
    path, planned = tmp_path / "samples.jsonl", Planned(PLAN_DATA)
    create(path, HEADER, planned=planned).close()
    path.write_bytes(path.read_bytes()[:cut])
    resume(path, HEADER, planned=planned)[0].close()
    assert read(path).records == (HEADER, planned)


def test_a_record_as_a_reader_gets_it_has_no_secrets() -> None:
    given = Planned(PLAN_DATA, ReportText(f'{{"note": "{KEY}"}}', "a.json"), ("local-key",))
    found = as_read(given, ["local-key"])
    assert found.report == ReportText('{"note": "<redacted>"}', "a.json")
    assert found.repeat == ("<redacted>",)
    assert as_read(found) == found


@pytest.mark.parametrize("name", ["absent/samples.jsonl", ".", "a\0b"])
def test_a_file_that_cannot_be_is_said(tmp_path: Path, name: str) -> None:
    for use in (lambda: create(tmp_path / name, HEADER), lambda: resume(tmp_path / name, HEADER)):
        with pytest.raises(JournalError, match=re.escape(str(tmp_path))):
            use()


class _Full(FileIO):
    """A file whose disk is full in the middle of a line, and then has room again."""

    def __init__(self, path: Path, room: int, error: BaseException) -> None:
        super().__init__(path, "w")
        self.room = room
        self.error = error

    def write(self, data: Any) -> int:
        if not self.room:
            self.room = 10**6
            raise self.error
        taken = bytes(data)[: min(self.room, 10)]
        self.room -= len(taken)
        return super().write(taken)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    path, size = tmp_path / "samples.jsonl", len(line_of(HEADER))
    full = OSError(28, "No space left on device")
    with Writer(_Full(path, size + 25, full), str(path)) as writer:
        writer.write(HEADER)
        with pytest.raises(JournalError, match="No space left on device; what it holds is whole"):
            writer.write(answer("a", 0))
    assert path.read_bytes() == line_of(HEADER)


def test_what_follows_an_interrupted_line_does_not_join_it(tmp_path: Path) -> None:
    path, size, end = tmp_path / "samples.jsonl", len(line_of(HEADER)), End("interrupted", 1.0)
    with Writer(_Full(path, size + 25, KeyboardInterrupt()), str(path)) as writer:
        writer.write(HEADER)
        with pytest.raises(KeyboardInterrupt):
            writer.write(answer("a", 0))
        writer.write(end)
    assert read(path).records == (HEADER, end)


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    odd: Any = "seven"
    unwritable: Any = object()
    with create(path, HEADER) as writer:
        for sample in (Sample("", odd), Sample("", 2, decode_s=odd), Sample("", unwritable)):
            with pytest.raises(JournalError, match="this sample record"):
                writer.write(replace(answer("a", 0), sample=sample))
    assert read(path).records == (HEADER,)


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    writer = create(tmp_path / "samples.jsonl", HEADER)
    writer.close()
    with pytest.raises(JournalError, match="cannot be written"):
        writer.write(HEADER)
