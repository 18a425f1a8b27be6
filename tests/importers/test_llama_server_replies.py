"""llama-server's replies: every form, field by field, and what they do not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Severity
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.llama_server_replies import MOST_RUNS
from tests.importers.reading import findings, imported, place, value

TIMINGS: dict[str, Any] = {
    "cache_n": 30,
    "prompt_n": 170,
    "prompt_ms": 42.5,
    "prompt_per_token_ms": 0.25,
    "prompt_per_second": 4000.0,
    "predicted_n": 301,
    "predicted_ms": 2500.125,
    "predicted_per_token_ms": 8.33375,
    "predicted_per_second": 119.9940002999850,
    "draft_n": 320,
    "draft_n_accepted": 212,
}

CHAT: dict[str, Any] = {
    "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Well…"}}],
    "created": 1790000000,
    "model": "/srv/gguf/Aurora-9B-Q5_K_M.gguf",
    "system_fingerprint": "b9107-7c3e1ab",
    "object": "chat.completion",
    "usage": {"completion_tokens": 301, "prompt_tokens": 200, "total_tokens": 501},
    "id": "chatcmpl-hT4Kq",
    "timings": TIMINGS,
}

NATIVE: dict[str, Any] = {
    "index": 0,
    "content": "Well…",
    "stop": True,
    "model": "Aurora-9B-Q5_K_M.gguf",
    "tokens_predicted": 301,
    "tokens_evaluated": 200,
    "stop_type": "limit",
    "generation_settings": {
        "seed": 4294967295,
        "temperature": 0.699999988079071,
        "top_k": 20,
        "top_p": 0.949999988079071,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "speculative.n_max": 16,
        "n_predict": 301,
    },
    "timings": {k: v for k, v in TIMINGS.items() if not k.startswith(("draft", "cache"))},
}


def _read(folder: Path, content: object, name: str = "reply.json") -> ImportedDocument:
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    (report,) = imported(folder, text, name)
    assert report.importer.name == "llama-server"
    return report


def _run(report: ImportedDocument, index: int = 0) -> Any:
    return value(report, f"/runs/{index}")


RUN = {
    "id": "reply",
    "configuration": "Aurora-9B-Q5_K_M.gguf",
    "conditions": {"kv_position": {"filled_tokens": 200}, "prompt_cache": True},
    "prefill": {"tokens": 170, "seconds": 0.0425, "tok_s": 4000.0},
    "decode": {"tokens": 301, "seconds": 2.500125, "tok_s": 119.994000299985},
    "speculation": {
        "counts": {"output_tokens": 301, "drafted": 320, "accepted": 212, "requests": 1}
    },
    "finish_reasons": {"stop": 1},
    "measurement": {"by": "engine_counter", "counters": "per_run", "window": "decode_only"},
}


def test_every_field_of_a_chat_completion(tmp_path: Path) -> None:
    report = _read(tmp_path, CHAT)
    assert report.tree == {
        "benchlint": "1",
        "date": "2026-09-21",
        "engine": {"name": "llama.cpp"},
        "configurations": {
            "Aurora-9B-Q5_K_M.gguf": {
                "target": {"name": "Aurora-9B-Q5_K_M.gguf"},
                "engine": {"version": "b9107", "commit": "7c3e1ab"},
            }
        },
        "runs": [RUN],
    }
    assert [f for f in check_tree(report.tree) if f.severity is Severity.ERROR] == []


def test_every_field_of_a_native_reply(tmp_path: Path) -> None:
    report = _read(tmp_path, NATIVE)
    assert value(report, "/configurations/Aurora-9B-Q5_K_M.gguf") == {
        "target": {"name": "Aurora-9B-Q5_K_M.gguf"},
        "sampler": {
            "temperature": 0.7,
            "top_k": 20,
            "top_p": 0.95,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        },
    }
    assert _run(report)["conditions"] == {"kv_position": {"filled_tokens": 200}}
    assert _run(report)["finish_reasons"] == {"limit": 1}
    assert "date" not in report.tree


def test_a_draft_length_that_a_request_asked_for_is_not_what_ran(tmp_path: Path) -> None:
    """The server ignores it: `speculative.n_max` needs a restart."""
    assert "draft_length" not in str(_read(tmp_path, NATIVE).tree)


def test_places_are_in_the_original(tmp_path: Path) -> None:
    report = _read(tmp_path, CHAT)
    lines = json.dumps(CHAT, indent=1).splitlines()
    for pointer, marked in (
        ("/runs/0/decode/tok_s", "119.994000299985"),
        ("/runs/0/speculation/counts/drafted", "320"),
        ("/runs/0/conditions/prompt_cache", "30"),
        ("/date", "1790000000"),
    ):
        line, text = place(report, pointer)
        assert text == marked, pointer
        assert marked in lines[line - 1]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"cache_n": 0}, ("conditions", "prompt_cache")),
        ({"draft_n": None, "draft_n_accepted": None}, ("speculation",)),
        ({"prompt_ms": 0.0}, ("prefill",)),
        ({"prompt_n": 0, "prompt_ms": 0, "prompt_per_second": None}, ("prefill",)),
        ({"predicted_per_second": None}, ("decode", "tok_s")),
        ({"predicted_n": 1, "predicted_per_second": 1e6}, ("decode", "tok_s")),
        ({"predicted_per_second": 0.0}, ("decode", "tok_s")),
        ({"draft_n_accepted": "many"}, ("speculation", "counts", "accepted")),
    ],
)
def test_what_a_reply_does_not_say_is_absent(
    change: dict[str, object], path: tuple[str, ...], tmp_path: Path
) -> None:
    timings = {k: v for k, v in {**TIMINGS, **change}.items() if v is not None}
    run: Any = _run(_read(tmp_path, {**CHAT, "timings": timings}))
    *blocks, last = path
    for block in blocks:
        run = run[block]
    assert last not in run


def test_nothing_drafted_is_a_count(tmp_path: Path) -> None:
    timings = {**TIMINGS, "draft_n": 0, "draft_n_accepted": 0}
    assert _run(_read(tmp_path, {**CHAT, "timings": timings}))["speculation"]["counts"] == {
        "output_tokens": 301,
        "drafted": 0,
        "accepted": 0,
        "requests": 1,
    }


@pytest.mark.parametrize(
    ("fingerprint", "engine"),
    [
        ("b8000-unknown", {"version": "b8000"}),
        ("b1-7c3e1ab", {"commit": "7c3e1ab"}),
        ("fp_44709d6fcb", None),
        (7, None),
    ],
)
def test_builds(fingerprint: object, engine: object, tmp_path: Path) -> None:
    report = _read(tmp_path, {**CHAT, "system_fingerprint": fingerprint})
    configuration = value(report, "/configurations/Aurora-9B-Q5_K_M.gguf")
    assert isinstance(configuration, dict)
    assert configuration.get("engine") == engine


def test_a_model_that_the_client_named_is_none(tmp_path: Path) -> None:
    report = _read(tmp_path, {**CHAT, "model": "gpt-3.5-turbo"})
    assert value(report, "/configurations/llama-server") == {
        "engine": {"version": "b9107", "commit": "7c3e1ab"}
    }


# --- many ------------------------------------------------------------------------------------


def test_a_list_of_replies(tmp_path: Path) -> None:
    other = {**CHAT, "system_fingerprint": "b9200-7c3e1ab"}
    report = _read(tmp_path, [CHAT, NATIVE, other])
    assert [_run(report, i)["id"] for i in range(3)] == ["reply 1", "reply 2", "reply 3"]
    assert [_run(report, i)["configuration"] for i in range(3)] == [
        "Aurora-9B-Q5_K_M.gguf",
        "Aurora-9B-Q5_K_M.gguf (2)",
        "Aurora-9B-Q5_K_M.gguf (3)",
    ]


def test_a_reply_in_each_line(tmp_path: Path) -> None:
    lines = "".join(
        f"{json.dumps(each)}\n" for each in (CHAT, {**CHAT, "id": "chatcmpl-2"}, NATIVE)
    )
    report = _read(tmp_path, lines, "replies.jsonl")
    assert [_run(report, i)["decode"]["tokens"] for i in range(3)] == [301] * 3
    assert place(report, "/runs/2/decode/tokens") == (3, "301")


def test_replies_that_lines_of_a_harness_wrap(tmp_path: Path) -> None:
    lines = "".join(
        f"{json.dumps({'name': name, 'response': NATIVE})}\n" for name in ("prose", "code")
    )
    report = _read(tmp_path, lines, "replies.jsonl")
    assert [_run(report, i)["configuration"] for i in (0, 1)] == ["Aurora-9B-Q5_K_M.gguf"] * 2


def test_arms_of_a_harness_are_kept_apart(tmp_path: Path) -> None:
    """Its lists are no arms, its members are; nothing else of it is taken over."""
    rows = [{"w": "code", "timings": TIMINGS, "text": "…"}]
    report = _read(tmp_path, {"plain": {"args": [], "rows": rows}, "k3": {"rows": [*rows, *rows]}})
    assert [(_run(report, i)["id"], _run(report, i)["configuration"]) for i in range(3)] == [
        ("plain 1", "plain"),
        ("k3 1", "k3"),
        ("k3 2", "k3"),
    ]
    assert value(report, "/configurations") == {"plain": {}, "k3": {}}


def test_members_of_timings_beside_a_prompt(tmp_path: Path) -> None:
    rows = [
        {
            "name": "sonnet",
            "wall_s": 3.1,
            "predicted_n": 40,
            "predicted_per_second": 13.5,
            "draft_n": 30,
            "draft_n_accepted": 21,
            "accept_rate": 0.7,
        }
    ]
    report = _read(tmp_path, {"mode": "k3", "results": rows, "aggregate": {"n_requests": 1}})
    run = _run(report)
    assert run["id"] == "sonnet"
    assert run["decode"] == {"tokens": 40, "tok_s": 13.5}
    assert run["speculation"]["counts"]["accepted"] == 21
    assert "acceptance_rate" not in run["speculation"]


# --- streams ---------------------------------------------------------------------------------


def _events(*, name: str = "chatcmpl-1", each: bool = False, prefix: str = "data: ") -> str:
    """A stream of three pieces; each: every event has the timings so far."""
    shared = {"id": name, "model": "Aurora-9B-Q5_K_M.gguf", "system_fingerprint": "b9107-7c3e1ab"}
    events: list[dict[str, Any]] = [
        {"choices": [{"finish_reason": None, "delta": {"content": word}}], **shared}
        for word in ("One", " two")
    ]
    events.append({"choices": [{"finish_reason": "length", "delta": {}}], **shared})
    if each:
        events = [{**e, "timings": {**TIMINGS, "predicted_n": 1 + i}} for i, e in enumerate(events)]
    events.append({"choices": [], **shared, "usage": CHAT["usage"], "timings": TIMINGS})
    return "".join(f"{prefix}{json.dumps(e)}\n\n" for e in events) + f"{prefix}[DONE]\n\n"


@pytest.mark.parametrize("each", [False, True])
def test_a_stream_is_one_reply(each: bool, tmp_path: Path) -> None:
    report = _read(tmp_path, _events(each=each), "stream.txt")
    assert value(report, "/runs") == [{**RUN, "finish_reasons": {"length": 1}}]
    line, marked = place(report, "/runs/0/decode/tokens")
    assert (line, marked) == (7, "301")
    assert _events(each=each).splitlines()[line - 1][6:].startswith('{"choices": []')


def test_streams_one_after_another(tmp_path: Path) -> None:
    text = "HTTP/1.1 200 OK\n\n" + _events() + _events(name="chatcmpl-2").replace("[DONE]", "")
    report = _read(tmp_path, text + _events(name="chatcmpl-3"), "streams.txt")
    assert [_run(report, i)["id"] for i in range(3)] == ["reply", "reply (2)", "reply (3)"]


def test_events_without_the_word_data(tmp_path: Path) -> None:
    report = _read(tmp_path, _events(prefix=""), "stream.jsonl")
    assert len(value(report, "/runs")) == 1  # type: ignore[arg-type]


def test_a_native_stream(tmp_path: Path) -> None:
    pieces = [{"index": 0, "content": w, "stop": False, "tokens_evaluated": 200} for w in "abc"]
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in (*pieces, NATIVE, *pieces, NATIVE))
    report = _read(tmp_path, text, "stream.txt")
    assert [_run(report, i)["decode"]["tokens"] for i in (0, 1)] == [301, 301]
    assert _run(report)["finish_reasons"] == {"limit": 1}


def test_a_stream_that_was_cut_says_nothing(tmp_path: Path) -> None:
    cut = _events().split('data: {"choices": []')[0]
    assert [f.code for f in findings(tmp_path, cut, "stream.txt")] == ["BL014"]


# --- bounds ----------------------------------------------------------------------------------


def test_of_very_many_replies_the_last_are_left_out(tmp_path: Path) -> None:
    report = _read(tmp_path, [CHAT] * (MOST_RUNS + 3))
    assert len(value(report, "/runs")) == MOST_RUNS  # type: ignore[arg-type]
    assert report.imported.remarks == ("3 more replies were left out",)


@pytest.mark.parametrize(
    "content",
    [
        {**CHAT, "timings": []},
        {**CHAT, "timings": {"predicted_n": {}, "predicted_ms": [], "predicted_per_second": "x"}},
        {**CHAT, "timings": {**TIMINGS, "predicted_n": 10**400, "draft_n": -5}},
        {**CHAT, "created": 1e300, "model": ["x"], "choices": {"0": 1}, "usage": 3},
        {**CHAT, "created": -1, "choices": [[]], "model": {"a": 1}},
        {"timings": {"timings": {"timings": TIMINGS}}},
        [[[[[[[[[[[[CHAT]]]]]]]]]]]],
        {"": TIMINGS, "\x1b[2J": TIMINGS, "/": [TIMINGS]},
        {**NATIVE, "generation_settings": [1, 2], "stop_type": "x" * 999},
    ],
)
def test_hostile_replies_never_raise(content: object, tmp_path: Path) -> None:
    text = json.dumps(content)
    findings(tmp_path, text, "reply.json", tool="llama-server")
    findings(tmp_path, f"data: {text}\n\n" * 2, "stream.txt", tool="llama-server")
    findings(tmp_path, f"{text}\n" * 2, "replies.jsonl", tool="llama-server")


def test_a_harness_names_its_arms(tmp_path: Path) -> None:
    def arm(method: str, **drafts: object) -> dict[str, Any]:
        times = {"predicted_n": 300, "predicted_ms": 3000.0, "predicted_per_second": 100.0}
        return {"backend": "cuda", "method": method, "records": [{"id": "code", **times, **drafts}]}

    arms = [arm("baseline", draft_n=None), arm("ngram", draft_n=50, draft_n_accepted=20)]
    report = _read(tmp_path, {"meta": {"gpu": "one"}, "runs": [*arms, arm("big")]})
    assert report.tree["configurations"] == {
        "arm 1: cuda, baseline": {"drafter": None},
        "arm 2: cuda, ngram": {"drafter": {"method": "ngram"}},
        "arm 3: cuda, big": {},
    }
    assert [run["configuration"] for run in report.tree["runs"]] == [
        "arm 1: cuda, baseline",
        "arm 2: cuda, ngram",
        "arm 3: cuda, big",
    ]
    assert place(report, "/configurations/arm 2: cuda, ngram/drafter/method")[1] == '"ngram"'
