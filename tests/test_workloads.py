"""Sets of prompts, their hash, and the prompts that a report publishes."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.model import Prompts, ScoredText
from benchlint.checker.secrets import find_secrets
from benchlint.reproducers.workloads import (
    BUNDLED,
    Prompt,
    PromptSet,
    WorkloadError,
    bundled,
    canonical,
    first_of,
    parse_prompts,
    read_prompts,
)
from benchlint.reproducers.workloads.filler import runs_of, words_of
from benchlint.reproducers.workloads.published import (
    Published,
    inside,
    published,
    published_text,
)
from benchlint.reproducers.workloads.texts import Text, bundled_text, read_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
PROMPTS = st.lists(
    st.builds(Prompt, TEXTS, TEXTS), min_size=1, max_size=5, unique_by=lambda prompt: prompt.id
).map(tuple)


# The bundled sets


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_set_has_a_dozen_prompts_that_say_enough(name: str) -> None:
    prompts = bundled(name)
    assert prompts.name == name
    assert len(prompts) >= 12
    lengths = [len(p.text.split()) for p in prompts.prompts]
    assert min(lengths) >= 40
    assert max(lengths) <= 300
    assert not [p.id for p in prompts.prompts if find_secrets(p.text) or "@" in p.text]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_hash_of_a_bundled_set_is_that_of_its_file(name: str) -> None:
    data = (files("benchlint.reproducers.workloads") / f"{name}.jsonl").read_bytes()
    assert bundled(name).sha256 == hashlib.sha256(data).hexdigest()


def test_the_kinds_of_workloads_are_bundled_and_no_others() -> None:
    folder = files("benchlint.reproducers.workloads")
    assert {each.name for each in folder.iterdir() if each.name.endswith(".jsonl")} == {
        f"{name}.jsonl" for name in BUNDLED
    }


def test_every_passage_question_has_its_passages() -> None:
    assert all("[4] " in p.text and "\n\nQuestion: " in p.text for p in bundled("rag").prompts)


def test_no_two_bundled_prompts_share_a_run_of_words() -> None:
    owners: dict[tuple[str, ...], set[str]] = {}
    for name in BUNDLED:
        for prompt in bundled(name).prompts:
            # Calls and questions about passages share the sentence that says how to answer.
            owner = name if name in ("tool_call", "rag") else prompt.id
            for run in runs_of(words_of(prompt.text), 8):
                owners.setdefault(run, set()).add(owner)
    assert not [run for run, names in owners.items() if len(names) > 1]


def test_a_set_of_another_name_is_not_there() -> None:
    with pytest.raises(WorkloadError, match="no bundled set is called 'codes'; there are code, "):
        bundled("codes")


# The bundled text


def test_the_bundled_text_fills_several_windows_and_stays_as_it_is() -> None:
    text = bundled_text()
    data = (files("benchlint.reproducers.workloads") / "essay.txt").read_bytes()
    assert text.sha256 == hashlib.sha256(data).hexdigest()
    assert text.sha256 == "0b0baeed4426a9bbffc9c713611b43afbc11bed313c50fce73a8cf682ee7d1c6"
    assert len(text.text.split()) > 4 * 512, "a word is a token at least"
    assert not find_secrets(text.text)
    assert b"\r" not in data


def test_a_text_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "wiki.txt"
    path.write_bytes("\N{BYTE ORDER MARK}a\r\nb\n".encode())
    assert read_text(path) == Text("wiki.txt", "a\r\nb\n")
    for data, message in ((b"\xff", "not UTF-8 at byte 0"), (b" \n", "no text in it")):
        path.write_bytes(data)
        with pytest.raises(WorkloadError, match=f"wiki.txt: {message}"):
            read_text(path)
    with pytest.raises(WorkloadError, match=r"absent\.txt"):
        read_text(tmp_path / "absent.txt")


ESSAY = bundled_text()


@pytest.mark.parametrize(
    ("stated", "same", "name"),
    [
        (None, False, None),
        (ScoredText(), False, None),
        (ScoredText(file="t.txt", sha256=ESSAY.sha256), True, "t.txt"),
        (ScoredText(file="t.txt", sha256=f"SHA256:{ESSAY.sha256.upper()}"), True, "t.txt"),
        (ScoredText(file="t.txt"), None, "t.txt"),
        (ScoredText(file="t.txt", sha256="0" * 64), False, None),
        (ScoredText(file="../t.txt", sha256=ESSAY.sha256), False, None),
        (ScoredText(file="no.txt", sha256=ESSAY.sha256), False, None),
        (ScoredText(name="essay", sha256=ESSAY.sha256), True, "essay"),
        (ScoredText(name="essay"), None, "essay"),
        (ScoredText(name="essay", sha256="0" * 64), False, None),
        (ScoredText(name="wikitext", sha256=ESSAY.sha256), False, None),
    ],
)
def test_the_text_that_a_report_publishes(
    stated: ScoredText | None, same: bool | None, name: str | None, tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_text(ESSAY.text, "utf-8")
    found = published_text(stated, tmp_path)
    assert (found.same, found.text and found.text.name) == (same, name)
    assert bool(found.reason) == (not same)


def test_a_text_that_a_user_brings_is_the_reports_where_it_has_its_hash() -> None:
    mine = Text("mine", "other words")
    assert published_text(ScoredText(sha256=mine.sha256), None, mine).same is True
    for stated in (None, ScoredText(sha256="0" * 64), ScoredText(name="wikitext")):
        found = published_text(stated, None, mine)
        assert (found.text, found.same) == (mine, False)
        assert found.reason.endswith("another one is used")
    assert published_text(ScoredText(name="essay"), None, mine).text == ESSAY


# Reading and hashing


@given(PROMPTS)
def test_the_canonical_form_reads_back(prompts: tuple[Prompt, ...]) -> None:
    again = parse_prompts(canonical(prompts), "p.jsonl")
    assert again.prompts == prompts
    assert again.sha256 == PromptSet("another name", prompts).sha256


@given(PROMPTS, st.booleans())
def test_the_hash_does_not_depend_on_how_the_file_is_written(
    prompts: tuple[Prompt, ...], ascii_only: bool
) -> None:
    lines = [
        json.dumps({"more": 1, "prompt": p.text, "id": p.id}, ensure_ascii=ascii_only, indent=None)
        for p in prompts
    ]
    data = b"\xef\xbb\xbf" + "\r\n\n".join(lines).encode()
    assert parse_prompts(data, "p.jsonl").sha256 == PromptSet("", prompts).sha256


@given(PROMPTS, PROMPTS)
def test_other_prompts_have_another_hash(a: tuple[Prompt, ...], b: tuple[Prompt, ...]) -> None:
    assert (PromptSet("", a).sha256 == PromptSet("", b).sha256) == (a == b)


def test_a_prompt_without_an_id_is_called_by_its_line() -> None:
    found = parse_prompts(b'{"prompt": "one"}\n\n"three"\n{"id": 7, "prompt": "four"}', "p")
    assert found.prompts == (Prompt("1", "one"), Prompt("3", "three"), Prompt("7", "four"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "p: no prompts in it"),
        (b"\n \n", "p: no prompts in it"),
        (b'"a"\n{', "p:2: not JSON; prompts are JSON Lines, one a line"),
        (b"[" * 100_000, "p:1: not JSON"),
        (b'{"text": "a"}', "p:1: no text under `prompt`"),
        (b'{"prompt": 3}', "p:1: no text under `prompt`"),
        (b'{"prompt": "a", "id": [1]}', "p:1: `id` should be a text"),
        (b'{"prompt": "a", "id": true}', "p:1: `id` should be a text"),
        (b'{"prompt": " "}', "p:1: the prompt or its id is empty"),
        (b'{"prompt": "\\ud800"}', "p:1: half of a surrogate pair"),
        (b'"a"\n{"prompt": "b", "id": "1"}', "p: two prompts have the id '1'"),
        (b'"a"\xff', "p: not UTF-8 at byte 3"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        parse_prompts(data, "p")
    assert str(error.value).startswith(message)


@given(st.binary(max_size=60))
def test_any_bytes_give_prompts_or_a_message(data: bytes) -> None:
    assert _outcome(data).startswith(("p:", "read"))


def _outcome(data: bytes) -> str:
    try:
        return f"read {len(parse_prompts(data, 'p'))}"
    except WorkloadError as error:
        return str(error)


def test_a_users_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_bytes(canonical(bundled("code").prompts))
    found = read_prompts(tmp_path / "mine.jsonl")
    assert (found.name, found.sha256) == ("mine.jsonl", bundled("code").sha256)


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkloadError) as error:
        read_prompts(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path))


# What a report publishes


def in_report(**members: object) -> Prompts:
    return Prompts.model_validate(members)


def test_inline_prompts_are_the_reports() -> None:
    found = published(in_report(inline=["one", "two"]), None)
    assert found.same is True
    assert found.prompts is not None
    assert found.prompts.prompts == (Prompt("1", "one"), Prompt("2", "two"))


@pytest.mark.parametrize(
    "prompts", [None, in_report(), in_report(sha256="0" * 64), in_report(inline=[])]
)
def test_nothing_published(prompts: Prompts | None) -> None:
    found = published(prompts, Path())
    assert (found.prompts, found.same) == (None, False)
    assert found.reason.startswith("prompts not published")


def test_a_file_beside_the_report_with_either_hash(tmp_path: Path) -> None:
    data = b'{"prompt":"one"}\n'
    (tmp_path / "p.jsonl").write_bytes(data)
    raw, parsed = hashlib.sha256(data).hexdigest(), parse_prompts(data, "p").sha256
    assert raw != parsed
    for sha256 in (raw, parsed, f"SHA256:{raw}", raw.upper()):
        found = published(in_report(file="p.jsonl", sha256=sha256), tmp_path)
        assert (found.same, found.reason) == (True, "")
        assert found.prompts is not None


def test_a_file_without_its_hash_may_be_another(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('"one"')
    found = published(in_report(file="p.jsonl"), tmp_path)
    assert found.prompts is not None
    assert (found.same, found.reason) == (None, "p.jsonl is published without its hash")


def test_a_file_with_another_hash_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('"one"')
    found = published(in_report(file="p.jsonl", sha256="0" * 64), tmp_path)
    assert (found.prompts, found.same) == (None, False)
    assert "does not have the hash" in found.reason


@pytest.mark.parametrize(
    "name",
    ["../p.jsonl", "a/../../p.jsonl", "/etc/hostname", "C:\\p.jsonl", "\\\\host\\p", "..", "a\0b"],
)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "p.jsonl").write_text('"secret"')
    folder = tmp_path / "report"
    folder.mkdir()
    found = published(in_report(file=name), folder)
    assert (found.prompts, found.same) == (None, False)
    assert "secret" not in found.reason


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('"secret"')
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(tmp_path / "p.jsonl")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "up").symlink_to(tmp_path)
    for name in ("link.jsonl", "circle", "up/p.jsonl"):
        assert published(in_report(file=name), folder).prompts is None


@given(st.text(st.sampled_from("./\\ab:~\0"), max_size=12))
def test_a_path_that_is_accepted_lies_below_the_folder(name: str) -> None:
    folder = Path("nowhere")
    try:
        path = inside(folder, name)
    except WorkloadError:
        return
    assert path.is_relative_to(folder.resolve())


def test_a_report_from_standard_input_has_nothing_beside_it() -> None:
    found = published(in_report(file="p.jsonl"), None)
    assert (found.prompts, found.same) == (None, False)


def test_a_bundled_set_with_its_hash_counts_as_published() -> None:
    code = bundled("code")
    found = published(in_report(set="code", sha256=code.sha256), None)
    assert (found.prompts, found.same) == (code, True)
    assert published(in_report(set="code"), None).same is None
    assert published(in_report(set="code", sha256="0" * 64), None).same is False
    assert published(in_report(set="humaneval", sha256=code.sha256), None).same is False


def test_prompts_that_a_user_brings_are_the_reports_by_their_hash() -> None:
    mine = PromptSet("mine", (Prompt("1", "one"),))
    found = published(in_report(set="humaneval", sha256=mine.sha256), None, mine)
    assert (found.prompts, found.same) == (mine, True)
    assert published(in_report(set="humaneval", sha256="0" * 64), None, mine).same is False


def test_the_first_prompts_of_a_bundled_set_are_named_by_their_own_hash() -> None:
    whole = bundled("code")
    some = first_of(whole, 3)
    assert (some.name, some.prompts) == ("code", whole.prompts[:3])
    assert first_of(whole, None) == whole
    stated = Prompts(set="code", sha256=some.sha256)
    assert published(stated, None, count=3) == Published(some, same=True)
    assert published(stated, None, count=4).same is False
    assert published(Prompts(set="code", sha256=whole.sha256), None, count=3).prompts == whole


def test_a_prompt_with_an_api_key_is_not_sent() -> None:
    line = json.dumps({"prompt": "use sk-proj-Zq81kfWm20bRt64xTy7d"})
    with pytest.raises(WorkloadError, match="what looks like an API key") as raised:
        parse_prompts(line.encode(), "a")
    assert "Zq81" not in str(raised.value)


def test_prompts_in_which_a_secret_was_blanked_are_not_known_to_be_the_reports() -> None:
    found = published(Prompts(inline=["use <redacted> here"]), None)
    assert found.same is None
    assert found.prompts is not None
    assert found.reason == "a secret was taken out of a prompt"
