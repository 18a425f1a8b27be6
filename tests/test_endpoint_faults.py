"""What goes wrong at an endpoint while it is measured: the journal is whole and says what.

A scripted server, the real engine and the real measuring. Nothing that failed is asked again,
since an answer that was slow enough to fail would be replaced by a faster one.
"""

from __future__ import annotations

import gzip
import json
import socket
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from benchlint.reproducers.endpoint_engine import EndpointEngine
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.http_client import Limits
from benchlint.reproducers.journal import (
    End,
    Header,
    Journal,
    Measured,
    Reading,
    Started,
    Void,
    create,
    read,
    resume,
)
from benchlint.reproducers.measuring import Settings, measure
from benchlint.reproducers.plan import Cell, Circumstances, Plan
from benchlint.reproducers.workloads import Prompt, PromptSet
from tests.loopback import STREAM, Loopback, Reply, Route, body, serving, streamed

TEXTS = {"a": "import os", "b": "def f("}
PROMPTS = PromptSet("two", tuple(Prompt(name, text) for name, text in TEXTS.items()))
GREEDY = Sampling(temperature=0.0)
PLAIN = Arm("plain", sampling=GREEDY)
FAST = Arm("K=4", "draft_model", 4, sampling=GREEDY)
WHERE = Circumstances(max_tokens=8, chat=False)
PLAN = Plan(tuple(Cell(arm.name, "two", arm, PROMPTS, WHERE, 4) for arm in (PLAIN, FAST)))
HEADER = Header(PLAN.sha256, "0", 0.0)
LIMITS = Limits(idle_s=5, total_s=20)

#: All rounds, by arm and number.
ALL = [(arm.name, pair) for arm in (FAST, PLAIN) for pair in range(4)]


def events(*parts: object) -> str:
    """A stream of these objects and `[DONE]`."""
    return "".join(f"data: {json.dumps(p)}\n\n" for p in parts) + "data: [DONE]\n\n"


def said(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 8}}
ANSWER = streamed(events(said("x"), said("y", "length"), USAGE))
MODELS = body({"data": [{"id": "m"}]})


class Script:
    """What a server answers to each prompt, by how often it was asked for it before."""

    def __init__(
        self, faults: Mapping[tuple[str, int], Reply] | None = None, usual: Reply = ANSWER
    ) -> None:
        self.asked = Counter[str]()
        self.faults = faults or {}
        self.usual = usual

    def __call__(self, sent: Any) -> Reply:
        names = (name for name, text in TEXTS.items() if text == sent["prompt"])
        name = next(names, "warm-up")
        self.asked[name] += 1
        return self.faults.get((name, self.asked[name] - 1), self.usual)

    @property
    def routes(self) -> dict[str, Route]:
        """A server that is nothing but OpenAI-compatible."""
        return {"/v1/models": MODELS, "/v1/completions": self}


class Bench:
    """One journal, measured in one session or several."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "samples.jsonl"

    def run(self, *urls: str, limits: Limits = LIMITS, **settings: Any) -> End:
        """Measure at one address, or at one for each arm."""
        engines = [EndpointEngine(url, limits=limits) for url in urls]
        with ExitStack() as stack:
            for engine in engines:
                stack.callback(engine.close)
            writer = stack.enter_context(self._writer())
            return measure(
                PLAN,
                lambda arm: engines[arm is FAST and len(urls) > 1],
                writer,
                Settings(**settings),
            )

    def _writer(self) -> Any:
        return resume(self.path, HEADER)[0] if self.path.exists() else create(self.path, HEADER)

    @property
    def journal(self) -> Journal:
        """The journal, which is whole and ends as measuring did."""
        journal = read(self.path)
        assert journal.warning == ""
        assert isinstance(journal.records[-1], End)
        return journal

    @property
    def voids(self) -> list[tuple[str, int | None]]:
        return [(void.cell, void.pair) for void in self.journal.of_kind(Void)]

    def said(self) -> str:
        """What the journal says went wrong, one line that can be printed."""
        voids = [void.reason for void in self.journal.of_kind(Void)]
        texts = [*voids, *(end.message for end in self.journal.of_kind(End))]
        assert all(text.isprintable() and len(text) < 300 for text in texts)
        return " | ".join(filter(None, texts))

    @property
    def rounds(self) -> list[tuple[str, int]]:
        """The rounds that are whole and count."""
        found = Counter((each.cell, each.pair) for each in self.journal.samples)
        return sorted(turn for turn, answers in found.items() if answers == len(TEXTS))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_without_a_fault_everything_is_measured_once(bench: Bench) -> None:
    script = Script()
    with serving(script.routes) as server:
        assert bench.run(server.url).reason == "last_look"
    assert (bench.said(), bench.rounds) == ("", ALL)
    assert (script.asked["a"], script.asked["b"]) == (8, 8)


# One request fails: its round is void, and measuring goes on


GZIPPED = gzip.compress(events(said("x", "stop"), USAGE).encode())
UNCOUNTED = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (body({"error": {"message": "overloaded"}}, 500), "/v1/completions answered 500: overl"),
        (
            Reply([b'{"error": "slow down"}'], 429, headers={"retry-after": "3600"}),
            "answered 429: slow down (the server asks to wait: retry-after 3600)",
        ),
        (body("<html>Bad Gateway</html>", 502), "answered 502: <html>Bad Gateway</html>"),
        (body({"error": "Invalid key"}, 401), "answered 401: Invalid key (the server wants an"),
        (Reply(status=307, headers={"location": "http://other/v1"}), "redirects to http://other"),
        (streamed("data: garbage\n\n"), "a streamed chunk is no valid JSON: garbage"),
        (streamed("data: \x1b[2J{\n\n"), "a streamed chunk is no valid JSON: [2J{"),
        (streamed(events([1, 2], "x", None)), "no usage: its tokens cannot be counted"),
        (streamed(events(said("x", "length"))), "no usage: its tokens cannot be counted"),
        (streamed(events(said("x", "length"), {"usage": None})), "no usage: its tokens"),
        (streamed(events(said("x", "length"), UNCOUNTED)), "says that no token made its text"),
        (streamed(events(said("x"), {"error": {"message": "CUDA error"}})), "off: CUDA error"),
        (streamed(events(said("x", "abort"), USAGE)), "its finish reason is abort"),
        (body({"choices": [{"text": "x"}]}), "/v1/completions did not stream: "),
        (
            Reply([GZIPPED], kind=STREAM, headers={"content-encoding": "gzip"}),
            "/v1/completions came compressed though no compression was asked for",
        ),
        (Reply([b"data: " + b"x" * (10 << 20)], kind=STREAM), "line of more than 4194304 bytes"),
        (Reply([b": ping\n\n"] * 9, kind="text/html"), "did not stream: : ping"),
        (streamed(events(*[said("x")] * 500)), "the server sent more than 288 events"),
    ],
)
def test_a_request_that_fails_voids_its_round(bench: Bench, fault: Reply, says: str) -> None:
    script = Script({("a", 1): fault})
    with serving(script.routes) as server:
        assert bench.run(server.url).reason == "last_look"
    assert says in bench.said()
    assert bench.voids == [("K=4", 0)]
    assert bench.rounds == [turn for turn in ALL if turn != ("K=4", 0)]
    assert (script.asked["a"], script.asked["b"]) == (8, 7), "the rest of the round is not asked"


def test_a_server_that_fails_again_and_again_is_given_up(bench: Bench) -> None:
    failing = body({"error": "out of memory"}, 500)
    plain, fast = Script(), Script({("b", nth): failing for nth in range(9)})
    with serving(plain.routes) as server, serving(fast.routes) as other:
        assert bench.run(server.url, other.url).reason == "last_look"
    assert bench.voids == [("K=4", 0), ("K=4", 1), ("K=4", None)]
    assert "2 rounds failed, the last one so: /v1/completions answered 500: out of" in bench.said()
    assert bench.rounds == [turn for turn in ALL if turn[0] == "plain"]
    assert fast.asked["b"] == 2


# The server is gone: measuring ends, and goes on when it is asked to


BEGUN = f"data: {json.dumps(said('x'))}\n\n".encode()


def events_then(end: bytes, cut: bool = False) -> Reply:
    return Reply([BEGUN, end], kind=STREAM, cut=cut)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (events_then(b'data: {"choices": [{"te', cut=True), "closed the connection midway"),
        (events_then(b'data: {"choices": [{"te'), "ended the stream before the answer was fini"),
        (events_then(b""), "the server ended the stream before the answer was finished"),
        (Reply(kind=STREAM, cut=True), "closed the connection midway"),
    ],
)
def test_a_stream_that_ends_early_ends_measuring(bench: Bench, fault: Reply, says: str) -> None:
    script = Script({("a", 1): fault})
    with serving(script.routes) as server:
        assert bench.run(server.url).reason == "engine_gone"
        assert says in bench.said()
        assert bench.rounds == [("plain", 0)]
        assert bench.run(server.url).reason == "last_look"
    assert bench.voids == [("K=4", 0)]
    assert bench.rounds == [turn for turn in ALL if turn != ("K=4", 0)]
    assert (script.asked["a"], script.asked["b"]) == (8, 7), "what failed is not asked again"


@pytest.mark.parametrize(
    ("piece", "limits", "says"),
    [
        (b"", Limits(idle_s=0.2, total_s=20), "sent nothing for 0.2 s"),
        (b"d", Limits(idle_s=5, total_s=0.4), "did not finish in 0.4 s"),
        (b": ping\n\n", Limits(idle_s=5, total_s=0.4), "did not finish in 0.4 s"),
        (b'data: {"choices": []}\n\n', Limits(idle_s=5, total_s=0.4), "did not finish in 0.4 s"),
    ],
)
def test_a_stall_and_a_trickle_end_measuring(
    bench: Bench, piece: bytes, limits: Limits, says: str
) -> None:
    script = Script()
    with serving(script.routes) as server:
        script.faults = {("a", 1): Reply(chain([BEGUN], server.drip(piece)), kind=STREAM)}
        assert bench.run(server.url, limits=limits).reason == "engine_gone"
    assert says in bench.said()
    assert (bench.voids, bench.rounds) == ([("K=4", 0)], [("plain", 0)])


def test_a_server_that_went_away_between_turns(bench: Bench) -> None:
    with serving(Script().routes) as server:
        end = bench.run(server.url, readings=lambda: stopped(server))
    assert (end.reason, end.message) == ("engine_gone", f"no server answers at {server.url}")
    assert (bench.voids, bench.rounds) == ([], [("plain", 0)])
    with serving(Script().routes) as server:
        assert bench.run(server.url).reason == "last_look"
    assert (bench.voids, bench.rounds) == ([], ALL)


def stopped(server: Loopback) -> tuple[Reading, ...]:
    server.stop()
    return ()


class Restarts:
    """A server that is started anew, at the same address, after some turns."""

    def __init__(self, stack: ExitStack, script: type[Script], after: Collection[int]) -> None:
        self._stack, self._script, self._after = stack, script, after
        self._turns = 0
        self._server = Loopback({})
        self.url = self._start(0)

    def _start(self, port: int) -> str:
        self._server = self._stack.enter_context(serving(self._script().routes, port=port))
        return self._server.url

    def turn(self) -> tuple[Reading, ...]:
        """A turn is over."""
        self._turns += 1
        if self._turns in self._after:
            self._server.stop()
            assert self._start(int(self.url.rpartition(":")[2])) == self.url
        return ()


def test_a_server_that_is_restarted_while_it_has_its_turns(bench: Bench) -> None:
    """The arms have their turns as P F F P F P P F: the third one ends with a restart."""
    with ExitStack() as stack, serving(Script().routes) as plain:
        fast = Restarts(stack, Counting, after={1, 3})
        assert bench.run(plain.url, fast.url, readings=fast.turn).reason == "last_look"
    assert bench.voids == [("K=4", 2)]
    assert bench.said() == "the server was restarted while it was measured, and is cold again"
    assert bench.rounds == [turn for turn in ALL if turn != ("K=4", 2)]
    starts = [each.cell for each in bench.journal.of_kind(Started)]
    assert starts.count("K=4") == 2, "it is set up and warmed up anew"


def test_a_server_without_counters_may_be_restarted_unseen(bench: Bench) -> None:
    with ExitStack() as stack:
        server = Restarts(stack, Script, after=range(9))
        assert bench.run(server.url, readings=server.turn).reason == "last_look"
    assert (bench.said(), bench.rounds) == ("", ALL)


# The server does not answer as an endpoint does: nothing is measured, nothing is void


def unauthorized() -> Reply:
    return body({"error": {"message": "Unauthorized"}}, 401)


@pytest.mark.parametrize(
    ("routes", "says"),
    [
        ({"/v1/models": unauthorized()}, "/v1/models answered 401: Unauthorized (the server want"),
        ({"/v1/models": body("<html>")}, "/v1/models is no valid JSON: <html>"),
        ({"/v1/models": body({"data": []})}, "the endpoint lists no model: name the one that is"),
        ({"/v1/models": body({}, 404)}, "name the model that is served"),
        ({"/v1/completions": body({}, 404)}, "/v1/chat/completions answered 404"),
        (
            {
                "/v1/completions": body({"message": "The model `m` does not exist."}, 404),
                "/v1/chat/completions": body({"message": "The model `m` does not exist."}, 404),
            },
            "/v1/chat/completions answered 404: The model `m` does not exist.",
        ),
        ({"/v1/completions": body({"error": "loading"}, 503)}, "answered 503: loading"),
        ({"/v1/completions": streamed(events(said("x", "stop")))}, "no usage: its tokens"),
        ({"/v1/completions": body({"choices": []})}, "/v1/completions did not stream"),
    ],
)
def test_a_server_that_cannot_be_measured(
    bench: Bench, routes: dict[str, Route], says: str
) -> None:
    with serving(Script().routes | routes) as server:
        end = bench.run(server.url)
    assert end.reason == "error"
    assert says in bench.said()
    assert [type(each) for each in bench.journal.records] == [Header, End]
    with serving(Script().routes) as server:
        assert bench.run(server.url).reason == "last_look"
    assert bench.rounds == ALL, "what did not start can be measured later"


def test_nobody_listens(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        end = bench.run(url)
    assert (end.reason, end.message) == ("engine_gone", f"no server answers at {url}")
    assert [type(each) for each in bench.journal.records] == [Header, End]


# What is measured cannot count: the cell is void, and the other arm is measured


class Counting(Script):
    """A llama-server that counts as a real one does, for itself and for others."""

    def __init__(self, *, drafts: bool = True, cached: int = 0) -> None:
        super().__init__()
        self.drafts, self.cached = drafts, cached
        self.others = self.busy = self.predicted = self.drafted = 0

    def __call__(self, sent: Any) -> Reply:
        tokens = sent["max_tokens"]
        self.predicted += tokens
        timings = {"prompt_n": 3, "cache_n": self.cached, "predicted_n": tokens}
        timings |= {"prompt_ms": 5.0, "predicted_ms": 40.0}
        if self.drafts:
            self.drafted += 8
            timings |= {"draft_n": 8, "draft_n_accepted": 2}
        super().__call__(sent)
        return streamed(events(said("x"), said("y", "length") | {"timings": timings}))

    def metrics(self, _: Any) -> Reply:
        """The counters of the whole server."""
        return body(
            f"llamacpp:tokens_predicted_total {self.predicted + self.others}\n"
            f"llamacpp:requests_processing {self.busy}\n"
            f"llamacpp:spec_decode_num_draft_tokens_total {self.drafted}\n"
        )

    @property
    def routes(self) -> dict[str, Route]:
        """llama-server that shows no slots."""
        known = {"/props": body({"default_generation_settings": {"n_ctx": 4096}})}
        return {**super().routes, **known, "/metrics": self.metrics}


def run_both(bench: Bench, fast: Counting, **settings: Any) -> End:
    plain = Counting(drafts=False)
    with serving(plain.routes) as server, serving(fast.routes) as other:
        return bench.run(server.url, other.url, **settings)


def test_both_arms_are_measured_where_nothing_is_wrong(bench: Bench) -> None:
    assert run_both(bench, Counting()).reason == "last_look"
    assert (bench.said(), bench.rounds) == ("", ALL)


class Shared(Counting):
    """Somebody else's request of 100 tokens is answered beside each of prompt b."""

    def __call__(self, sent: Any) -> Reply:
        if sent["prompt"] == TEXTS["b"]:
            self.others += 100
        return super().__call__(sent)


class Busy(Counting):
    """Somebody else's request is at work after prompt b was asked for once."""

    def __call__(self, sent: Any) -> Reply:
        self.busy = 2 * (self.asked["b"] > 0)
        return super().__call__(sent)


@pytest.mark.parametrize(
    ("fast", "says", "answers"),
    [
        (
            Shared(),
            "others use this server: llamacpp:tokens_predicted_total rose by 108 where this "
            "request took 8",
            1,
        ),
        (Busy(), "others use this server: it has 2 more at work", 2),
        (Counting(cached=16), "16 tokens of a prompt came from a cache", 1),
        (
            Counting(drafts=False),
            "speculation never ran: nothing was drafted in a whole round",
            2,
        ),
    ],
    ids=["shared", "busy", "cached", "off"],
)
def test_a_cell_that_cannot_count_is_void(
    bench: Bench, fast: Counting, says: str, answers: int
) -> None:
    assert run_both(bench, fast).reason == "last_look"
    assert bench.said() == says
    assert bench.voids == [("K=4", None)]
    assert bench.rounds == [turn for turn in ALL if turn[0] == "plain"]
    measured = [each for each in bench.journal.of_kind(Measured) if not each.warm_up]
    assert sum(each.cell == "K=4" for each in measured) == answers, "what came is kept"


def test_a_baseline_that_drafts_is_void(bench: Bench) -> None:
    drafting = Counting()
    with serving(drafting.routes) as server:
        assert bench.run(server.url).reason == "last_look"
    assert bench.said() == "the engine drafts though no drafter is asked for"
    assert bench.voids == [("plain", None)]
    assert bench.rounds == [turn for turn in ALL if turn[0] == "K=4"]


def test_an_endpoint_that_is_set_up_otherwise_is_void(bench: Bench) -> None:
    slots: dict[str, Route] = {"/slots": body([{"id": 0, "speculative": True}])}
    with serving(Counting().routes | slots) as server:
        assert bench.run(server.url).reason == "last_look"
    assert bench.said() == "this endpoint speculates: give another one for plain decoding"
    assert bench.voids == [("plain", None)]
    assert {each.cell for each in bench.journal.of_kind(Started)} == {"K=4"}


class Vllm(Script):
    """vLLM with counters of the whole server alone, which others use, or which finds prefixes."""

    def __init__(self, *, drafts: bool = True, others: int = 0, hits: int = 0) -> None:
        super().__init__()
        self.drafts, self.others, self.hits = drafts, others, hits
        self.counted = Counter[str]()

    def __call__(self, sent: Any) -> Reply:
        super().__call__(sent)
        is_measured = sent["prompt"] in TEXTS.values()
        self.counted["generation_tokens"] += 8 + self.others * is_measured
        self.counted["prefix_cache_hits"] += self.hits * is_measured
        if self.drafts:
            for name, rise in (("drafts", 4), ("draft_tokens", 16), ("accepted_tokens", 3)):
                self.counted[f"spec_decode_num_{name}"] += rise
        return streamed(events(said("x"), said("y", "length"), USAGE))

    def metrics(self, _: Any) -> Reply:
        """What was counted so far; all of it is there from the start."""
        names = ["generation_tokens", "prefix_cache_hits"]
        if self.drafts:
            names += [f"spec_decode_num_{n}" for n in ("drafts", "draft_tokens", "accepted_tokens")]
        return body("".join(f"vllm:{name}_total {self.counted[name]}\n" for name in names))

    @property
    def routes(self) -> dict[str, Route]:
        """vLLM."""
        models = body({"data": [{"id": "m", "owned_by": "vllm"}]})
        known = {"/version": body({"version": "0.32.0"}), "/v1/models": models}
        return {**super().routes, **known, "/metrics": self.metrics}


@pytest.mark.parametrize(
    ("fast", "says"),
    [
        (Vllm(), ""),
        (Vllm(others=5), "others use this server: vllm:generation_tokens_total rose by 13 where"),
        (Vllm(hits=2), "2 tokens of a prompt came from a cache"),
        (Vllm(drafts=False), "this endpoint does not speculate, and draft_model is asked for"),
    ],
    ids=["well", "shared", "cached", "off"],
)
def test_vllm_by_its_counters_alone(bench: Bench, fast: Vllm, says: str) -> None:
    with serving(Vllm(drafts=False).routes) as server, serving(fast.routes) as other:
        assert bench.run(server.url, other.url).reason == "last_look"
    assert bench.said().startswith(says)
    assert bench.voids == ([("K=4", None)] if says else [])
    assert bench.rounds == (ALL if not says else [turn for turn in ALL if turn[0] == "plain"])
    drafted = [each.sample.counters.drafted for each in bench.journal.samples]
    assert set(drafted) == ({0} if says else {0, 16})
