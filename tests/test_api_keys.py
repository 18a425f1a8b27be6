"""An API key that the environment gives stands in no file, no log and no message.

Whatever a server does with it: it gets the key with each request, and sends it back wherever
a text can stand.
"""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

from benchlint.reproducers.endpoint_engine import EndpointEngine
from benchlint.reproducers.engine import Arm, EngineError, Request, Sampling
from benchlint.reproducers.http_client import HttpClient, Limits
from benchlint.reproducers.journal import End, Header, create, read
from benchlint.reproducers.measuring import measure
from benchlint.reproducers.plan import Cell, Circumstances, Plan
from benchlint.reproducers.workloads import Prompt, PromptSet
from tests.loopback import STREAM, Loopback, Reply, Route, answering, body, serving, streamed

#: No form of a vendor's, so that nothing but the name of its variable makes it a secret.
KEY = "plain-words-as-a-key-0123"
VARIABLE = "ENDPOINT_WORDS"
ARM = Arm("plain", sampling=Sampling(temperature=0.0))
PROMPTS = PromptSet("one", (Prompt("a", "import os"),))
PLAN = Plan((Cell("plain", "one", ARM, PROMPTS, Circumstances(max_tokens=8, chat=False), 4),))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    caplog.set_level("DEBUG")


def events(*parts: object) -> str:
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


def answer(text: str = "x", **more: object) -> dict[str, object]:
    return {"choices": [{"text": text, "finish_reason": "length"}], **more}


USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 8}}
SAID = {"error": {"message": f"the key {KEY} is not mine", "code": KEY}}
WORKING: dict[str, Route] = {
    "/v1/models": body({"data": [{"id": "m"}]}),
    "/v1/completions": streamed(events(answer(), USAGE)),
}

#: Replies that hold the key, by path; each one fails.
FAULTS: list[dict[str, Route]] = [
    *[dict[str, Route]({"/v1/models": body(SAID, n)}) for n in (400, 401, 403, 404, 429, 500)],
    {"/v1/models": body(f"<html>{KEY}</html>")},
    {"/v1/models": body({"data": [{"id": KEY}, {"id": f"Bearer {KEY}"}]})},
    {"/v1/models": Reply(status=307, headers={"location": f"http://other/?key={KEY}"})},
    {"/v1/models": Reply(status=429, headers={"retry-after": KEY})},
    {"/v1/completions": body(SAID, 422)},
    {"/v1/completions": body({"text": KEY})},
    {"/v1/completions": streamed(events(SAID))},
    {"/v1/completions": streamed(f"data: {KEY}\n\n")},
    {"/v1/completions": streamed(events(answer(), {"usage": {"completion_tokens": KEY}}))},
    {"/v1/completions": streamed(events(answer(), {"usage": {"completion_tokens": [KEY]}}))},
    {"/v1/completions": Reply([f"data: {KEY}".encode()], kind=STREAM, cut=True)},
]


def hidden(text: str, secret: str = KEY) -> bool:
    """Whether no part of the key that says anything is in a text."""
    return not any(secret[i : i + 8] in text for i in range(len(secret) - 7))


def told(error: BaseException) -> str:
    """All that anybody can see of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_no_message_shows_the_key(
    fault: dict[str, Route], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(WORKING | fault) as server:
        engine = EndpointEngine(server.url, key_variable=VARIABLE)
        with pytest.raises(EngineError) as caught:
            engine.start(ARM)
        engine.close()
    assert all(KEY in head["authorization"] for _, head, _ in server.requests)
    assert hidden(told(caught.value))
    assert hidden(caplog.text)
    assert hidden("".join(capfd.readouterr()))


@pytest.mark.parametrize(
    "pieces",
    [
        (f"HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n".encode(),),
        (f"{KEY}\r\n\r\n".encode(),),
        (f"HTTP/1.1 302 x\r\nlocation: http://{KEY}\x1b\r\n\r\n".encode(),),
        (f"HTTP/1.1 200 OK\r\nset-cookie: a={KEY}\r\ncontent-length: 9\r\n\r\n".encode(),),
        (f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{KEY}\r\n".encode(),),
    ],
)
def test_no_head_brings_the_key_into_a_message(
    pieces: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with (
        answering(*pieces) as url,
        HttpClient(url, VARIABLE, Limits(total_s=5)) as client,
        pytest.raises(EngineError) as caught,
    ):
        client.get_text("/")
    assert hidden(told(caught.value))
    assert hidden(caplog.text)


def test_nobody_there_is_told_no_key(caplog: pytest.LogCaptureFixture) -> None:
    with serving({}) as server:
        server.stop()
        engine = EndpointEngine(server.url, key_variable=VARIABLE)
        with pytest.raises(EngineError) as caught:
            engine.start(ARM)
        engine.close()
    assert hidden(told(caught.value))
    assert hidden(caplog.text)


def test_the_key_is_in_no_view_of_the_engine() -> None:
    engine = EndpointEngine("http://127.0.0.1:1", key_variable=VARIABLE)
    client = HttpClient("http://127.0.0.1:1", VARIABLE)
    with client:
        assert hidden(repr(engine) + repr(client) + repr(vars(engine)))
        with pytest.raises(TypeError):
            pickle.dumps(client)
        with pytest.raises(TypeError):
            copy.deepcopy(client)
    engine.close()


class Echo:
    """A llama-server that says back what it was sent wherever a text can stand."""

    def __init__(self) -> None:
        self.server = Loopback({})

    def key(self) -> str:
        """What the last request brought."""
        return self.server.requests[-1][1]["authorization"]

    def __call__(self, _: Any) -> Reply:
        timings = {"predicted_n": 8, "prompt_n": 3, "predicted_ms": 9.0, "prompt_ms": 2.0}
        end = answer(f" and {KEY}", timings=timings | {"key": self.key()})
        return streamed(events(answer(f"token = {self.key()}"), end, USAGE))

    def props(self, _: Any) -> Reply:
        params = {"temperature": 0.0, "samplers": [self.key()], KEY: self.key()}
        shown = {"build_info": f"b1-{KEY}", "model_path": f"/models/{KEY}.gguf"}
        settings = {"n_ctx": 4096, "params": params}
        return body({"default_generation_settings": settings, "model_ftype": KEY, **shown})

    def slots(self, _: Any) -> Reply:
        params = {"speculative.types": self.key(), f"speculative.{KEY}": KEY}
        return body([{"id": 0, "params": params}])

    @property
    def routes(self) -> dict[str, Route]:
        known: dict[str, Route] = {"/props": self.props, "/slots": self.slots}
        return {"/v1/models": body({"data": [{"id": "m"}]}), "/v1/completions": self, **known}


def test_no_file_holds_the_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, echo = tmp_path / "samples.jsonl", Echo()
    with serving(echo.routes) as server:
        echo.server = server
        engine = EndpointEngine(server.url, key_variable=VARIABLE)
        with create(path, Header(PLAN.sha256, "0", 0.0), secrets=[KEY]) as writer:
            assert measure(PLAN, lambda _: engine, writer).reason == "last_look"
        description = engine.start(ARM)
        sample = engine.generate(Request("import os", 8))
        engine.close()
    assert KEY in repr(description)
    assert KEY in sample.text, "what comes is not changed before it is written"
    journal = read(path)
    assert len(journal.samples) == 4
    assert isinstance(journal.records[-1], End)
    assert [file.name for file in tmp_path.iterdir()] == ["samples.jsonl"]
    assert hidden(path.read_text("ascii"))
    assert hidden(caplog.text)
