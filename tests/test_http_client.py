"""Requests to servers, most of which misbehave."""

from __future__ import annotations

import re
import socket
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.reproducers.engine import EngineError, EngineGoneError
from benchlint.reproducers.http_client import (
    EventParser,
    HttpClient,
    Limits,
    StatusError,
    is_loopback,
)
from tests.loopback import STREAM, Loopback, Reply, answering, body, serving, streamed

SHORT = Limits(connect_s=2, idle_s=5, total_s=0.3, body_bytes=4096, line_bytes=1024)


def parsed(*chunks: bytes) -> list[str]:
    parser = EventParser(1 << 20)
    return [data for chunk in chunks for data in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("chunks", "events"),
    [
        ([b"data: a\n\ndata: b\n\n"], ["a", "b"]),
        ([b"data:a\n\n"], ["a"]),
        ([b"data:  a\n\n"], [" a"]),
        ([b"data: a\ndata: b\n\n"], ["a\nb"]),
        ([b"data\n\n"], [""]),
        ([b": ping\n\ndata: a\n\n"], ["a"]),
        ([b"event: x\nid: 7\nretry: 1\n\n"], []),
        ([b"event: x\ndata: a\n\n"], ["a"]),
        ([b"database: a\n\n"], []),
        ([b'error: {"code": 400}\n\ndata: [DONE]\n\n'], ['{"error":{"code": 400}}', "[DONE]"]),
        ([b"error\n\n"], ['{"error":"?"}']),
        ([b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"], ["a", "b", "c"]),
        ([b"data: a\r", b"\n\r", b"\ndata: b\n\n"], ["a", "b"]),
        ([b"\xef\xbb\xbfdata: a\n\n"], ["a"]),
        ([b"data: a\n\ndata: unfinished\n"], ["a"]),
        ([b"data: a\n\n", b"", b"data: b\n\n"], ["a", "b"]),
        ([b"data: \xc3", b"\xa9\n\n"], ["é"]),
        ([b"data: \xff\n\n"], ["\ufffd"]),
    ],
)
def test_events_are_read_by_the_rules(chunks: list[bytes], events: list[str]) -> None:
    assert parsed(*chunks) == events


def by_the_standard(stream: bytes) -> list[str]:
    """Events of a whole stream, after the wording of the standard and nothing else."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    events, data = list[str](), list[str]()
    for line in re.split("\r\n|\r|\n", text)[:-1]:  # what is after the last end is no line
        if not line and data:
            events.append("\n".join(data))
            data = []
        field, _, value = line.partition(":")
        if line and field == "data":
            data.append(value.removeprefix(" "))
    return events


#: What streams are made of, so that line ends of all kinds meet, and some that are not valid.
PIECES = st.sampled_from([b"data: ", b"data:", b"data", b": ping", b"event: x", b"id", b"\xff"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
WORDS = st.text(max_size=6).map(lambda text: text.encode("utf-8", "replace"))
STREAMS = st.lists(PIECES | ENDS | ENDS | WORDS, max_size=30).map(b"".join)


def split(stream: bytes, data: st.DataObject) -> list[bytes]:
    """The stream in pieces, some of them empty."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(STREAMS, st.data())
@example(b"data: a\r\n\ndata: b\n\n", None)
def test_events_do_not_depend_on_where_chunks_end(
    stream: bytes, data: st.DataObject | None
) -> None:
    single = [stream[i : i + 1] for i in range(len(stream))]
    assert parsed(*single) == by_the_standard(stream)
    assert parsed(stream) == by_the_standard(stream)
    if data is not None:
        assert parsed(*split(stream, data)) == by_the_standard(stream)


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_no_bytes_break_the_parser(chunks: list[bytes]) -> None:
    assert all("\r" not in event for event in parsed(*chunks))


def test_a_line_that_never_ends_is_refused() -> None:
    parser = EventParser(100)
    assert parser.feed(b"data: " + b"a" * 90) == []
    with pytest.raises(EngineError, match="more than 100 bytes"):
        parser.feed(b"a" * 90)


def test_an_event_of_endless_lines_is_refused() -> None:
    parser = EventParser(100)
    with pytest.raises(EngineError, match="more than 100 bytes"):
        parser.feed(b"data: aaaa\n" * 100)


def test_events_come_with_the_times_they_came_at() -> None:
    with (
        serving({"/s": streamed("data: a\n\ndata: b\n\ndata: [DONE]\n\n")}) as server,
        HttpClient(server.url) as client,
    ):
        events = client.stream("/s", {"x": 1}, most_events=10)
    assert [event.data for event in events] == ["a", "b", "[DONE]"]
    assert 0 < events[0].at_s <= events[1].at_s <= events[2].at_s
    assert server.bodies("/s") == [{"x": 1}]


def test_nothing_after_done_is_read() -> None:
    with serving({}) as server, HttpClient(server.url, limits=SHORT) as client:
        pieces = iter([b"data: [DONE]\n\n"])
        server.routes["/s"] = lambda _: Reply(_then(pieces, server), kind=STREAM)
        assert [event.data for event in client.stream("/s", {}, 10)] == ["[DONE]"]


def _then(pieces: Iterator[bytes], server: Loopback) -> Iterator[bytes]:
    yield from pieces
    yield from server.drip(b"data: more\n\n")


@pytest.mark.parametrize("piece", [b": ping\n", b"d", b"data: {}\n\n"])
def test_a_stream_that_drips_ends_with_its_time(piece: bytes) -> None:
    with serving({}) as server, HttpClient(server.url, limits=SHORT) as client:
        server.routes["/s"] = lambda _: Reply(server.drip(piece), kind=STREAM)
        with pytest.raises(EngineGoneError, match=r"did not finish in 0\.3 s"):
            client.stream("/s", {}, most_events=100_000)


def test_a_body_that_drips_ends_with_its_time() -> None:
    with serving({}) as server, HttpClient(server.url, limits=SHORT) as client:
        server.routes["/b"] = lambda _: Reply(server.drip(b" "))
        with pytest.raises(EngineGoneError, match=r"did not finish in 0\.2 s"):
            client.get_json("/b", total_s=0.2)


def test_headers_that_never_come_end_with_their_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            HttpClient(url, limits=SHORT) as client,
            pytest.raises(EngineGoneError, match=r"did not finish in 0\.3 s"),
        ):
            client.get_text("/")


def test_silence_ends_with_the_idle_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        limits = Limits(idle_s=0.1, total_s=10)
        with (
            HttpClient(url, limits=limits) as client,
            pytest.raises(EngineGoneError, match=r"sent nothing for 0\.1 s"),
        ):
            client.get_text("/")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (streamed("data: {}\n\n" * 100), "more than 50 events"),
        (Reply([b"data: " + b"a" * 2000], kind=STREAM), "more than 1024 bytes"),
        (Reply([b": " + b"a" * 500 + b"\n"] * 200, kind=STREAM), "streamed more than"),
        (streamed("data: {}\n\n", cut=True), "closed the connection midway"),
        (body("plain"), "did not stream: plain"),
        (Reply([b"x" * 5000]), "more than 4096 bytes"),
        (Reply([b"x"], kind=STREAM, headers={"content-encoding": "gzip"}), "came compressed"),
    ],
)
def test_a_hostile_stream_is_one_clear_error(reply: Reply, says: str) -> None:
    limits = Limits(total_s=20, body_bytes=4096, line_bytes=1024, stream_bytes=50_000)
    with (
        serving({"/s": reply}) as server,
        HttpClient(server.url, limits=limits) as client,
        pytest.raises(EngineError, match=says) as caught,
    ):
        client.stream("/s", {}, most_events=50)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, "\x1b[31mno"])
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    with (
        serving({"/j": body(text)}) as server,
        HttpClient(server.url) as client,
        pytest.raises(EngineError, match="/j is no valid JSON") as caught,
    ):
        client.get_json("/j")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"error": {"message": "min_p is not supported", "code": 400}}, "min_p is not supported"),
        ({"error": "Unexpected endpoint"}, "Unexpected endpoint"),
        ({"message": "no such model"}, "no such model"),
        ("<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        ("", "nothing more"),
        ([1, 2], r"\[1, 2\]"),
        ("x" * 3000, "x…"),
    ],
)
def test_an_http_error_is_told_in_the_servers_words(answer: object, says: str) -> None:
    with (
        serving({"/e": body(answer, 400)}) as server,
        HttpClient(server.url) as client,
        pytest.raises(StatusError, match=f"/e answered 400: .*{says}") as caught,
    ):
        client.stream("/e", {}, 10)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("status", "headers", "says"),
    [
        (401, {}, "answered 401: no (the server wants an API key; an environment variable gives"),
        (403, {}, "answered 403: no (the server wants an API key"),
        (429, {"retry-after": "30"}, "429: no (the server asks to wait: retry-after 30)"),
        (503, {"retry-after": "Wed, 21"}, "503: no (the server asks to wait: retry-after Wed, 21)"),
        (503, {"retry-after": "9" * 900}, f"retry-after {'9' * 40})"),
        (503, {}, "answered 503: no"),
        (500, {}, "answered 500: no"),
    ],
)
def test_what_an_error_asks_for_is_told(status: int, headers: dict[str, str], says: str) -> None:
    reply = Reply([b'{"error": "no"}'], status, headers=headers)
    with (
        serving({"/e": reply}) as server,
        HttpClient(server.url) as client,
        pytest.raises(StatusError, match=re.escape(says)),
    ):
        client.stream("/e", {}, 10)
    assert len(server.requests) == 1, "nothing is sent again"


def test_a_key_that_is_refused_is_told_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret-of-mine")
    with (
        serving({"/e": body({"error": "no"}, 401)}) as server,
        HttpClient(server.url, "SOME_KEY") as client,
        pytest.raises(StatusError, match="refuses this API key"),
    ):
        client.get_text("/e")


def test_no_redirect_takes_the_key_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret-of-mine")
    with serving({"/s": streamed("data: [DONE]\n\n")}) as other, serving({}) as server:
        for status in (301, 302, 303, 307, 308):
            place = {"location": other.url.replace("127.0.0.1", "localhost") + "/s"}
            server.routes["/s"] = Reply(status=status, headers=place)
            with (
                HttpClient(server.url, "SOME_KEY") as client,
                pytest.raises(StatusError, match="redirects to http://localhost"),
            ):
                client.stream("/s", {"prompt": "mine"}, 10)
        assert other.requests == []
        assert len(server.requests) == 5


def test_no_redirect_is_followed() -> None:
    with serving({"/there": body({})}) as server, HttpClient(server.url) as client:
        server.routes["/here"] = Reply(status=307, headers={"location": f"{server.url}/there"})
        with pytest.raises(StatusError, match=r"redirects to .*/there: give that address"):
            client.stream("/here", {}, 10)
    assert [path for path, _, _ in server.requests] == ["/here"]


OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], "does not speak HTTP"),
        ([b"\x15\x03\x01\x00\x02\x02\x16"], "does not speak HTTP"),
        ([b"\x00" * 300_000], "does not speak HTTP"),
        ([OK, b"x: " + b"y" * 300_000 + b"\r\n\r\n{}"], "does not speak HTTP"),
        ([OK, *[b"x-%d: y\r\n" % i for i in range(30_000)], b"\r\n{}"], "does not speak HTTP"),
        ([OK, b"content-length: 5\r\ncontent-length: 6\r\n\r\n{}   "], "does not speak HTTP"),
        ([OK, b"content-length: -5\r\n\r\n{}"], "does not speak HTTP"),
        ([OK, b"bad header\r\n\r\n{}"], "does not speak HTTP"),
        ([OK, b"transfer-encoding: chunked\r\n\r\nzz\r\n{}"], "does not speak HTTP"),
        ([OK, b"content-length: 500\r\n\r\n{}"], "closed the connection midway"),
        ([b"HTTP/1.1 200"], "closed the connection midway"),
        ([], "closed the connection midway"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000, "closed the connection midway"),
        ([b"HTTP/1.1 302 Found\r\nlocation: http://[bad\r\n\r\n"], "redirects to"),
        ([b"HTTP/1.1 302 Found\r\nlocation: \xff\x1b[31m\r\n\r\n"], "does not speak HTTP"),
        ([b"HTTP/1.1 999 What\r\n\r\n"], "answered 999"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"], "does not speak HTTP"),
    ],
)
def test_heads_of_death(pieces: list[bytes], says: str) -> None:
    with (
        answering(*pieces) as url,
        HttpClient(url, limits=Limits(idle_s=5, total_s=5)) as client,
        pytest.raises(EngineError, match=says) as caught,
    ):
        client.get_json("/")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


HEADS = st.lists(
    st.binary(max_size=12)
    | st.sampled_from(
        [
            *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 x\r\n", b"HTTP/1.0 500\r\n", b"\r\n"),
            *(b"location: ", b"set-cookie: a=", b"content-type: text/event-stream\r\n"),
            *(b"content-encoding: br\r\n", b"transfer-encoding: chunked\r\n", b"5\r\n"),
            *(b"content-length: 2\r\n", b"retry-after: ", b"data: {}\n\n", b"connection: "),
        ]
    ),
    max_size=10,
)


@given(HEADS)
@example([b"HTTP/1.1 200 OK\r\n", b"set-cookie: a=", b"\x80", b"\n\n"])
def test_no_bytes_break_the_client(pieces: list[bytes]) -> None:
    with answering(*pieces) as url, HttpClient(url, limits=Limits(total_s=5)) as client:
        for ask in (lambda: client.get_text("/"), lambda: client.stream("/", {}, 10)):
            try:
                told = str(ask())
            except EngineError as error:
                told = str(error)
                assert told.isprintable()
            assert len(told) < 500


def test_nothing_that_a_server_wants_remembered_is_sent_back() -> None:
    reply = Reply((b"{}",), headers={"set-cookie": "a=1; Path=/"})
    with serving({"/": reply}) as server, HttpClient(server.url) as client:
        client.get_json("/")
        client.get_json("/")
    assert len(server.requests) == 2
    assert not [name for _, sent, _ in server.requests for name in sent if name.lower() == "cookie"]


def endless(piece: bytes) -> Iterator[bytes]:
    """A gigabyte, in pieces."""
    return (piece for _ in range((1 << 30) // len(piece)))


@pytest.mark.parametrize(
    ("piece", "says"),
    [
        (b"a" * (10 << 20), "a streamed line of more than 500000"),
        (b"data: " + b"a" * 100_000, "a streamed line of more than 500000"),
        (b"data: aaaa\n" * 10_000, "a streamed line of more than 500000"),
        (b": ping\n\n" * 10_000, "streamed more than"),
        (b"\n" * 100_000, "streamed more than"),
    ],
)
def test_a_gigabyte_of_garbage_is_not_kept(piece: bytes, says: str) -> None:
    limits = Limits(line_bytes=500_000, stream_bytes=1 << 20, body_bytes=1 << 20)
    tracemalloc.start()
    try:
        with serving({}) as server, HttpClient(server.url, limits=limits) as client:
            server.routes["/s"] = lambda _: Reply(endless(piece), kind=STREAM)
            with pytest.raises(EngineError, match=says):
                client.stream("/s", {}, most_events=1000)
            server.routes["/b"] = lambda _: Reply(endless(piece))
            with pytest.raises(EngineError, match="more than 1048576 bytes"):
                client.get_json("/b")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20, "what is kept, some copies, and what the server has in hand"


def test_a_failed_request_is_not_sent_again() -> None:
    with serving({"/s": streamed("data: {}\n\n", cut=True)}) as server:
        with HttpClient(server.url) as client, pytest.raises(EngineGoneError):
            client.stream("/s", {}, 10)
        assert len(server.requests) == 1


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with HttpClient(url) as client, pytest.raises(EngineGoneError, match="no server answers"):
            client.get_text("/")


def test_the_key_goes_to_the_server_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("SOME_KEY", "secret-of-mine")
    with serving({"/e": body({"error": "bad key secret-of-mine"}, 401)}) as server:
        with (
            HttpClient(server.url, "SOME_KEY") as client,
            pytest.raises(StatusError, match=r"bad key \*\*\*") as caught,
        ):
            client.get_text("/e")
        assert "secret" not in str(caught.value)
        assert server.requests[0][1]["authorization"] == "Bearer secret-of-mine"
        assert "secret" not in caplog.text


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "naïve"])
def test_a_key_must_be_one(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", value)
    with pytest.raises(EngineError, match="environment variable SOME_KEY"):
        HttpClient("http://127.0.0.1:1", "SOME_KEY")


def test_no_proxy_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with serving({"/t": body("yes")}) as server, HttpClient(server.url) as client:
        assert client.get_text("/t") == "yes"


@pytest.mark.parametrize("kind", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "nonsense"])
def test_a_proxy_of_the_environment_is_used_for_others_alone(
    kind: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kind, proxy)
    with serving({"/t": body("yes")}) as server, HttpClient(server.url) as client:
        assert client.get_text("/t") == "yes"
    with pytest.raises(EngineError) as caught, HttpClient("https://host.invalid") as client:
        client.get_text("/t")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_an_address_of_version_6(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    try:
        with serving({"/t": body("yes")}, "::1") as server, HttpClient(server.url) as client:
            assert server.url.startswith("http://[::1]:")
            assert client.get_text("/t") == "yes"
    except OSError:
        pytest.skip("this machine has no IPv6")


def test_a_server_without_the_promised_security() -> None:
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url,
        HttpClient(url.replace("http:", "https:")) as client,
        pytest.raises(EngineGoneError, match=r"no secure connection: .*SSL"),
    ):
        client.get_text("/")


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("http://h:1", "http://h:1"),
        ("http://h:1/", "http://h:1"),
        ("http://h:1/v1", "http://h:1"),
        ("http://h:1/v1/", "http://h:1"),
        (" https://h/api/v1 ", "https://h/api"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
    ],
)
def test_v1_may_be_written_or_left_out(written: str, root: str) -> None:
    with HttpClient(written) as client:
        assert client.base_url == root


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "begins with http"),
        ("localhost:8080", "begins with http"),
        ("file:///etc/passwd", "begins with http"),
        ("http://", "begins with http"),
        ("http://h:port", "no valid address"),
        ("http://me:word@h", "no user or password"),
        ("http://h/?key=1", "no query"),
    ],
)
def test_a_bad_address_is_refused(url: str, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        HttpClient(url)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://0.0.0.0:8000", True),
        ("http://LocalHost.", True),
        ("http://me.localhost", True),
        ("http://localhost.example.org", False),
        ("http://[2001:db8::1]", False),
        ("http://127.0.0.1.example.org", False),
        ("http://10.0.0.1", False),
    ],
)
def test_loopback_is_told_apart(url: str, own: bool) -> None:
    assert is_loopback(url) is own
