"""An endpoint as an engine, against recorded answers of real servers and against bad ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.endpoint_engine import EndpointEngine, _Reader
from benchlint.reproducers.engine import (
    Arm,
    Counters,
    EngineError,
    EngineGoneError,
    Request,
    Sample,
    Sampling,
    UnsupportedError,
)
from benchlint.reproducers.http_client import Event, EventParser, HttpClient, Limits
from benchlint.reproducers.journal import Measured, line_of
from tests.loopback import STREAM, Loopback, Reply, Route, body, recorded, serving, streamed

GREEDY = Sampling(temperature=0.0)
PLAIN = Arm("plain", sampling=GREEDY)
K4 = Arm("K=4", method="draft_model", draft_length=4, sampling=GREEDY)
MODELS = body({"object": "list", "data": [{"id": "m", "owned_by": "someone"}]})


def chunks(*parts: object) -> str:
    """A stream of these chunks, each an object or a text, and `[DONE]`."""
    texts = [part if isinstance(part, str) else json.dumps(part) for part in parts]
    return "".join(f"data: {text}\n\n" for text in [*texts, "[DONE]"])


def said(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}


def used(prompt: int, completion: int) -> dict[str, object]:
    return {
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
    }


HELLO = chunks(said("Hel"), said("lo", "length"), used(3, 2))


def plain_routes(stream: str = HELLO) -> dict[str, Route]:
    """A server that is nothing but OpenAI-compatible."""
    return {"/v1/models": MODELS, "/v1/completions": streamed(stream)}


def alternating(first: str, then: str) -> Route:
    """One body for the first request and another for every later one."""
    bodies: Iterator[str] = iter([first])
    return lambda _: body(next(bodies, then))


def llama_routes() -> dict[str, Route]:
    """llama-server with a drafter, in the middle of its work."""
    return {
        "/props": body(recorded("llama-server-props.json")),
        "/slots": body(recorded("llama-server-slots.json")),
        "/v1/models": body(recorded("llama-server-models.json")),
        "/v1/completions": streamed(recorded("llama-server-draft.sse")),
        "/v1/chat/completions": streamed(recorded("llama-server-plain-chat.sse")),
    }


def vllm_routes() -> dict[str, Route]:
    """vLLM with a draft model and per-request metrics."""
    return {
        "/version": body({"version": "0.32.0"}),
        "/v1/models": body(recorded("vllm-models.json")),
        "/v1/completions": streamed(recorded("vllm-draft.sse")),
        "/v1/chat/completions": streamed(recorded("vllm-ngram-chat.sse")),
    }


def sglang_routes() -> dict[str, Route]:
    """SGLang with EAGLE-3 and three draft tokens, without metrics."""
    info = {
        "version": "0.5.23",
        "model_path": "org/target",
        "context_length": 8192,
        "speculative_algorithm": "EAGLE3",
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
    }
    return {
        "/server_info": body(info),
        "/v1/models": body({"data": [{"id": "org/target", "owned_by": "sglang"}]}),
        "/v1/completions": streamed(recorded("sglang-eagle.sse")),
        "/v1/chat/completions": streamed(recorded("sglang-eagle-chat.sse")),
    }


def lm_studio_routes() -> dict[str, Route]:
    """LM Studio with a draft model; a path that it does not know it answers with 200."""
    unknown = body({"error": "Unexpected endpoint or method. (GET /props)"})
    loaded = {"id": "m", "object": "model", "state": "loaded", "quantization": "Q8_0"}
    return {
        **dict.fromkeys(("/props", "/version", "/server_info", "/get_server_info"), unknown),
        "/v1/models": body({"data": [{"id": "m", "owned_by": "organization_owner"}]}),
        "/api/v0/models": body({"object": "list", "data": [loaded]}),
        "/v1/completions": streamed(HELLO),
        "/v1/chat/completions": streamed(recorded("lm-studio-draft-chat.sse")),
    }


_opened: list[EndpointEngine] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    """Closes what a test has opened."""
    yield
    while _opened:
        _opened.pop().close()


def opened(url: str, model: str | None = None, limits: Limits | None = None) -> EndpointEngine:
    _opened.append(EndpointEngine(url, model, limits=limits))
    return _opened[-1]


def started(server: Loopback, arm: Arm = PLAIN) -> EndpointEngine:
    engine = opened(server.url)
    engine.start(arm)
    return engine


def test_an_answer_of_an_unknown_server() -> None:
    with serving(plain_routes()) as server:
        engine = opened(f"{server.url}/v1/")
        description = engine.start(PLAIN)
        sample = engine.generate(Request("Say hello", max_tokens=2))
        engine.close()
    assert description.engine == "openai-compatible"
    assert description.telemetry == "none"
    assert description.sampler == {"temperature": 0.0}
    assert (sample.text, sample.output_tokens, sample.prompt_tokens) == ("Hello", 2, 3)
    assert sample.finish_reason == "length"
    assert sample.counters == Counters()
    assert sample.timed_by == "client"
    assert sample.ttft_s == sample.chunk_s[0]
    assert sample.decode_s == pytest.approx(sample.chunk_s[1] - sample.chunk_s[0])
    assert sample.total_s is not None
    assert sample.total_s >= sample.chunk_s[-1]


def test_what_an_unknown_server_is_asked() -> None:
    with serving(plain_routes()) as server:
        started(server).generate(Request("Say hello", max_tokens=7))
        sent = server.bodies("/v1/completions")[-1]
    assert sent == {
        "model": "m",
        "prompt": "Say hello",
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
    }


def test_a_chat_goes_the_chats_way() -> None:
    routes = plain_routes()
    delta = [{"role": "assistant", "content": None}, {"reasoning_content": "Hm"}, {"content": "Hi"}]
    stream = chunks(
        *({"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in delta),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        used(9, 2),
    )
    routes["/v1/chat/completions"] = streamed(stream)
    with serving(routes) as server:
        sample = started(server).generate(Request("Say hi", max_tokens=5, chat=True))
        sent = server.bodies("/v1/chat/completions")[-1]
    assert sent["messages"] == [{"role": "user", "content": "Say hi"}]
    assert "prompt" not in sent
    assert sample.text == "HmHi"
    assert len(sample.chunk_s) == 2, "the role alone is no text"
    assert sample.finish_reason == "stop"


def chat_of(*deltas: dict[str, object], usage: dict[str, object]) -> Route:
    """A streamed chat that ends properly."""
    said_so = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return streamed(chunks(*said_so, end, {"choices": [], "usage": usage}))


def asked_in_chat(reply: Route) -> Sample:
    routes = plain_routes() | {"/v1/chat/completions": reply}
    with serving(routes) as server:
        return started(server).generate(Request("Say hi", max_tokens=20, chat=True))


def test_calls_of_tools_are_output() -> None:
    calls = [
        {"tool_calls": [{"index": 0, "function": {"name": "look_up", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"content": None, "tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]},
        {"tool_calls": [None, {}, {"function": 3}, "x"]},
    ]
    usage = {"prompt_tokens": 9, "completion_tokens": 8}
    sample = asked_in_chat(chat_of({"role": "assistant"}, *calls, usage=usage))
    assert sample.text == 'look_up{"a": 1}'
    assert len(sample.chunk_s) == 3
    assert sample.decode_s is not None


HIDDEN = {"completion_tokens_details": {"reasoning_tokens": 40}}


@pytest.mark.parametrize(
    ("deltas", "usage", "timed"),
    [
        ([{"content": "So"}, {"content": "."}], HIDDEN, False),
        ([{"content": "So"}, {"content": "."}], {"reasoning_tokens": 40}, False),
        ([{"content": "So"}, {"content": "."}], {"reasoning_tokens": 0}, True),
        ([{"reasoning": "Hm"}, {"content": "So."}], HIDDEN, True),
        ([{"reasoning_content": "Hm"}, {"content": "So."}], HIDDEN, True),
        ([{"content": f"{i}"} for i in range(9)], HIDDEN, True),
    ],
)
def test_tokens_that_were_not_shown_are_not_timed(
    deltas: list[dict[str, object]], usage: dict[str, object], timed: bool
) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 42, **usage}
    sample = asked_in_chat(chat_of(*deltas, usage=usage))
    assert sample.output_tokens == 42
    assert len(sample.chunk_s) == len(deltas), "what came is kept"
    assert (sample.decode_s is not None, sample.ttft_s is not None) == (timed, timed)


def test_usage_may_be_null_and_may_come_twice() -> None:
    early = {"prompt_tokens": 9, "completion_tokens": 1}
    with_usage = [said(word) | {"usage": early} for word in ("a", "b")]
    stream = chunks(said("x") | {"usage": None}, *with_usage, said("", "stop"), used(9, 3))
    with serving(plain_routes(stream)) as server:
        sample = started(server).generate(Request("Say", max_tokens=4))
    assert (sample.text, sample.output_tokens, len(sample.chunk_s)) == ("xab", 3, 3)


def test_text_that_is_no_valid_unicode() -> None:
    routes = plain_routes()
    with serving(routes) as server:
        engine = started(server)
        broken = (
            json.dumps(said("\ud83d")).encode() + b"\n\ndata: " + b'{"choices":[{"text":"\xff"}]}'
        )
        end = chunks(said("é", "stop"), used(1, 3)).encode()
        routes["/v1/completions"] = Reply([b"data: " + broken + b"\n\n" + end], kind=STREAM)
        sample = engine.generate(Request("Hello", max_tokens=4))
    assert sample.text == "\ud83d\ufffdé"
    line = line_of(Measured("c", "a", "p", 0, 0, 0.0, sample))
    assert b'"text": "?\\ufffd\\u00e9"' in line, "a journal can hold it"


HOSTILE = "\x1b[2J" + "SECRET" * 40


@pytest.mark.parametrize(
    "usage",
    [
        {"completion_tokens": HOSTILE},
        {"completion_tokens": [HOSTILE]},
        {"completion_tokens": 10**400},
        {"completion_tokens": 1e300},
        {"completion_tokens": 2, "prompt_tokens": {HOSTILE: 1}},
        {"completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": HOSTILE}},
        {"completion_tokens": 0},
    ],
)
def test_counts_that_are_none_are_told_harmlessly(usage: dict[str, object]) -> None:
    routes = plain_routes()
    with serving(routes) as server:
        engine = started(server)
        end = {"choices": [], "usage": usage}
        routes["/v1/completions"] = streamed(chunks(said("a"), said("b", "stop"), end))
        with pytest.raises(EngineError, match="the server says") as caught:
            engine.generate(Request("Hello", max_tokens=4))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 120
    assert "SECRET" not in str(caught.value)


def test_names_of_models_are_told_harmlessly() -> None:
    models = body({"data": [{"id": HOSTILE}, {"id": "\u202e" * 900}]})
    with (
        serving(plain_routes() | {"/v1/models": models}) as server,
        pytest.raises(EngineError, match="serves 2 models") as caught,
    ):
        opened(server.url).start(PLAIN)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_llama_servers_own_counts() -> None:
    routes = llama_routes()
    with serving(routes) as server:
        engine = opened(server.url)
        description = engine.start(K4)
        before = recorded("llama-server-metrics-before.txt")
        routes["/metrics"] = alternating(before, recorded("llama-server-metrics-after.txt"))
        sample = engine.generate(Request("Write a stack", max_tokens=128, ignore_eos=True))
        sent = server.bodies("/v1/completions")[-1]
    assert description.engine == "llama.cpp"
    assert description.version is None, "b1 is what sources without a history say"
    assert description.commit == "0c1e570"
    assert description.speculation["speculative"] == "on"
    assert description.speculation["speculative.types"] == "none,draft-simple"
    assert description.sampler["temperature"] == 0.8, "what the slot says, not what was asked"
    assert description.sampler["min_p"] == 0.05
    assert description.target["quantization"] == "Q4_1"
    assert description.context_tokens == 4096
    assert sent["cache_prompt"] is False
    assert sent["ignore_eos"] is True
    assert sample.output_tokens == 128
    assert (sample.prompt_tokens, sample.cached_tokens) == (23, 0)
    assert sample.counters == Counters(144, 90, 36, 1, (31, 23, 19, 17))
    assert sample.counters.at_least is not None
    assert sum(sample.counters.at_least) == sample.counters.accepted
    assert sample.timed_by == "engine"
    assert sample.decode_s == pytest.approx(4.197144)
    assert sample.prefill_s == pytest.approx(0.195405)
    assert sample.decode_tok_s == pytest.approx(30.258671), "predicted_per_second of the server"


def test_a_server_that_drafted_nothing_says_nothing_of_drafts() -> None:
    routes = llama_routes()
    routes["/slots"] = body([{"id": 0, "n_ctx": 4096, "speculative": False}])
    routes["/v1/completions"] = routes["/v1/chat/completions"]
    with serving(routes) as server:
        sample = started(server).generate(Request("Write", max_tokens=128, chat=True))
    assert sample.counters == Counters(0, 0, 0, 127, ())


def test_vllms_counts_of_one_request() -> None:
    with serving(vllm_routes()) as server:
        engine = opened(server.url)
        description = engine.start(K4)
        sample = engine.generate(Request("import os", max_tokens=48))
        salts = [sent["cache_salt"] for sent in server.bodies("/v1/completions")]
    assert (description.engine, description.version) == ("vllm", "0.32.0")
    assert description.context_tokens == 1024
    assert sample.output_tokens == 48
    assert sample.counters == Counters(72, 29, 18, None, (12, 10, 5, 2))
    assert sample.token_ids is not None
    assert len(sample.token_ids) == 48
    assert len(sample.chunk_s) == 19, "a chunk is not a token"
    assert sample.decode_s == pytest.approx(0.080557306)
    assert len(set(salts)) == len(salts) == 2, "no request finds another's prefix"


def test_vllms_drafts_by_n_gram() -> None:
    with serving(vllm_routes()) as server:
        sample = started(server, K4).generate(Request("import os", max_tokens=96, chat=True))
    assert sample.output_tokens == 96
    assert sample.counters.drafted is not None
    assert sample.counters.accepted is not None
    assert sample.counters.at_least is not None
    assert sample.counters.accepted == sum(sample.counters.at_least)
    assert sample.counters.drafted <= 4 * (sample.counters.verify_steps or 0)


K3 = Arm("K=3", method="draft_model", draft_length=3, sampling=GREEDY)


def test_sglangs_counts_of_one_request() -> None:
    with serving(sglang_routes()) as server:
        engine = opened(server.url)
        description = engine.start(K3)
        sample = engine.generate(Request("import", max_tokens=12))
        sent = server.bodies("/v1/completions")
    assert (description.engine, description.version) == ("sglang", "0.5.23")
    assert (sample.output_tokens, sample.prompt_tokens, sample.cached_tokens) == (12, 9, 0)
    assert sample.counters == Counters(12, 7, 4, None, (3, 2, 2))
    assert sample.output_tokens == 1 + 4 + 7, "prefill's token, the steps' own and the accepted"
    assert len(sample.chunk_s) == 5
    assert sample.timed_by == "client"
    assert sent[0]["return_spec_tokens_details"] is True
    assert sent[0]["cache_salt"] != sent[1]["cache_salt"]


def test_sglang_in_a_chat_with_thoughts_and_a_cache_hit() -> None:
    with serving(sglang_routes()) as server:
        sample = started(server, K3).generate(Request("Sure?", max_tokens=9, chat=True))
    assert sample.text == "Hm, soYes."
    assert len(sample.chunk_s) == 4
    assert (sample.prompt_tokens, sample.cached_tokens) == (11, 3)
    assert sample.counters == Counters(12, 0, 4, None, ()), "nothing reached even one token"


def test_lm_studios_counts_of_one_request() -> None:
    with serving(lm_studio_routes()) as server:
        engine = opened(server.url)
        description = engine.start(K4)
        sample = engine.generate(Request("SQL", max_tokens=24, chat=True))
    assert description.engine == "lm-studio"
    assert description.target == {"name": "m", "quantization": "Q8_0"}
    assert sample.text == "HmCREATE OR REPLACE FUNCTION"
    assert sample.counters == Counters(20, 17)
    assert (sample.output_tokens, sample.prompt_tokens, sample.cached_tokens) == (24, 109, None)
    assert sample.timed_by == "client"


def test_a_server_that_only_chats() -> None:
    routes = plain_routes()
    del routes["/v1/completions"]
    stream = chunks(
        {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}, used(4, 1)
    )
    routes["/v1/chat/completions"] = streamed(stream)
    with serving(routes) as server:
        engine = started(server)
        assert engine.generate(Request("Hello", 4, chat=True)).text == "Hi"
        with pytest.raises(EngineError, match="/v1/completions answered 404"):
            engine.generate(Request("Hello", 4))


def test_others_on_the_server_void_the_answer() -> None:
    routes = llama_routes()
    with serving(routes) as server:
        engine = started(server, K4)
        before = recorded("llama-server-metrics-before.txt")
        after = recorded("llama-server-metrics-after.txt").replace(
            "llamacpp:tokens_predicted_total 944", "llamacpp:tokens_predicted_total 1000"
        )
        routes["/metrics"] = alternating(before, after)
        with pytest.raises(
            EngineError, match=r"others use this server: .* rose by 184 .* took 128"
        ):
            engine.generate(Request("Write", max_tokens=128))


def test_others_still_at_work_void_the_answer() -> None:
    routes = llama_routes()
    with serving(routes) as server:
        engine = started(server, K4)
        routes["/metrics"] = body("llamacpp:requests_processing 2\n")
        with pytest.raises(EngineError, match="others use this server: it has 2 more at work"):
            engine.generate(Request("Write", max_tokens=128))


def test_the_server_is_held_to_the_arm() -> None:
    routes = llama_routes()
    with serving(routes) as server:
        with pytest.raises(UnsupportedError, match="this endpoint speculates"):
            opened(server.url).start(PLAIN)
        routes["/slots"] = body([{"id": 0, "speculative": False}])
        with pytest.raises(UnsupportedError, match="does not speculate, and draft_model"):
            opened(server.url).start(K4)
    routes = vllm_routes() | {"/metrics": body(recorded("vllm-draft-metrics-before.txt"))}
    with serving(routes) as server, pytest.raises(UnsupportedError, match="drafts 4 tokens, not 8"):
        opened(server.url).start(Arm("K=8", "draft_model", 8))


@pytest.mark.parametrize(
    ("sampling", "says"),
    [
        (Sampling(temperature=1.0, top_k=20), "top_k"),
        (Sampling(temperature=1.0, min_p=0.05), "min_p"),
        (Sampling(temperature=0.0, repetition_penalty=1.1), "repetition_penalty"),
    ],
)
def test_no_parameter_is_sent_that_may_be_ignored(sampling: Sampling, says: str) -> None:
    with (
        serving(plain_routes()) as server,
        pytest.raises(UnsupportedError, match=f"not known to heed {says}"),
    ):
        opened(server.url).start(Arm("sampled", sampling=sampling))


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.0, top_k=20, min_p=0.1),
        Sampling(temperature=1.0, top_k=0, min_p=0.0, repetition_penalty=1.0),
        Sampling(temperature=1.0, top_p=0.9, seed=4),
    ],
)
def test_parameters_without_effect_are_no_obstacle(sampling: Sampling) -> None:
    with serving(plain_routes()) as server:
        started(server, Arm("sampled", sampling=sampling))
        sent = server.bodies("/v1/completions")[-1]
    assert not {"top_k", "min_p", "repetition_penalty"} & set(sent)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], "lists no model"),
        (["a", "b"], r"serves 2 models \(a, b\): name one"),
        ([f"m{i}" for i in range(9)], "and 4 more"),
    ],
)
def test_one_model_must_be_meant(names: list[str], says: str) -> None:
    routes = plain_routes() | {"/v1/models": body({"data": [{"id": name} for name in names]})}
    with serving(routes) as server:
        with pytest.raises(EngineError, match=says):
            opened(server.url).start(PLAIN)
        opened(server.url, model="mine").start(PLAIN)
        assert server.bodies("/v1/completions")[-1]["model"] == "mine"


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (chunks(said("a", "stop")), "sent no usage"),
        (chunks(said("a", "stop"), used(1, -3)), "completion_tokens is -3, which is no count"),
        (chunks(said("a", "stop"), used(-1, 3)), "prompt_tokens is -1"),
        (chunks("not json"), "a streamed chunk is no valid JSON: not json"),
        (chunks({"error": {"message": "out of\nmemory"}}), "the server broke off: out of memory"),
        (chunks(said("a", "abort"), used(1, 1)), "its finish reason is abort"),
        (chunks({"error": "overloaded"}), "the server broke off: overloaded"),
        (chunks({"object": "error", "message": "too long"}), "the server broke off: too long"),
        ('error: {"code":400,"message":"exceeds the context"}\n\n', "off: exceeds the context"),
        ("data: {}\n\n", "ended the stream before the answer was finished"),
        ("", "ended the stream before the answer was finished"),
    ],
)
def test_a_bad_answer_is_one_clear_error(stream: str, says: str) -> None:
    routes = plain_routes()
    with serving(routes) as server:
        engine = started(server)
        routes["/v1/completions"] = streamed(stream)
        with pytest.raises(EngineError, match=says) as caught:
            engine.generate(Request("Hello", max_tokens=4))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "timings",
    [
        {"predicted_n": -1},
        {"predicted_n": "many"},
        {"predicted_n": True},
        {"predicted_n": 1.5},
        {"predicted_n": 4, "predicted_ms": -1.0},
        {"predicted_n": 4, "predicted_ms": "fast"},
        {"predicted_n": 4, "draft_n": 3, "draft_n_accepted": 4},
    ],
)
def test_absurd_timings_are_refused(timings: dict[str, object]) -> None:
    routes = llama_routes()
    with serving(routes) as server:
        engine = started(server, K4)
        routes["/v1/completions"] = streamed(chunks(said("a", "stop") | {"timings": timings}))
        with pytest.raises(EngineError, match="the server says"):
            engine.generate(Request("Hello", max_tokens=4))


def test_a_server_that_closes_midway_is_gone() -> None:
    routes = plain_routes()
    with serving(routes) as server:
        engine = started(server)
        routes["/v1/completions"] = Reply(
            [f"data: {json.dumps(said('a'))}\n\n".encode()], kind="text/event-stream", cut=True
        )
        with pytest.raises(EngineGoneError, match="closed the connection midway"):
            engine.generate(Request("Hello", max_tokens=4))


def test_an_endless_answer_ends() -> None:
    routes = plain_routes()
    piece = f"data: {json.dumps(said('a'))}\n\n".encode()
    with serving(routes) as server:
        engine = opened(server.url, limits=Limits(total_s=20))
        engine.start(PLAIN)
        routes["/v1/completions"] = Reply([piece] * 2000, kind="text/event-stream")
        with pytest.raises(EngineError, match="more than 272 events"):
            engine.generate(Request("Hello", max_tokens=4))


def test_a_dead_server_is_gone() -> None:
    with serving(plain_routes()) as server:
        engine = started(server)
    with pytest.raises(EngineGoneError):
        engine.generate(Request("Hello", max_tokens=4))
    engine.close()
    engine.close()


def test_nothing_is_answered_before_the_start() -> None:
    with pytest.raises(EngineError, match="not started"):
        opened("http://127.0.0.1:1").generate(Request("Hello", max_tokens=4))
    with pytest.raises(UnsupportedError):
        opened("http://127.0.0.1:1").perplexity("text", 64)


RECORDED = {
    name: recorded(f"{name}.sse").encode()
    for name in ("llama-server-draft", "llama-server-plain-chat", "vllm-draft", "vllm-ngram-chat")
}


def text_of(stream: Iterable[bytes]) -> tuple[str, int]:
    """Text and number of text chunks in a stream that comes in these pieces."""
    parser, client = EventParser(1 << 20), HttpClient("http://127.0.0.1:1")
    with client:
        events = tuple(Event(0.0, data) for piece in stream for data in parser.feed(piece))
        answer = _Reader(client).read(events)
    return answer.text, len(answer.chunk_s)


@given(st.sampled_from(sorted(RECORDED)), st.integers(1, 700), st.sampled_from(["\n", "\r\n"]))
def test_a_text_does_not_depend_on_how_it_came(name: str, size: int, end: str) -> None:
    stream = RECORDED[name].replace(b"\n", end.encode())
    pieces = (stream[i : i + size] for i in range(0, len(stream), size))
    assert text_of(pieces) == text_of([stream])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "usage", "delta", "text", "timings", "error", "completion_tokens"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[tuple[dict[str, Route], EndpointEngine]]:
    routes = plain_routes()
    with serving(routes) as server:
        engine = EndpointEngine(server.url)
        engine.start(PLAIN)
        yield routes, engine
        engine.close()


@given(st.lists(JSON, max_size=4))
def test_no_json_breaks_it(
    fuzzed: tuple[dict[str, Route], EndpointEngine], parts: list[object]
) -> None:
    routes, engine = fuzzed
    routes["/v1/completions"] = streamed(chunks(*parts, said("", "stop"), used(1, 2)))
    try:
        told = str(engine.generate(Request("Hello", max_tokens=4)).output_tokens)
    except EngineError as error:
        told = str(error)
    assert told.isprintable()
    assert len(told) < 300
