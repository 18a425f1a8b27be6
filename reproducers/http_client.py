"""Requests to an engine's server: bounded in time and size, never repeated.

The only module that imports httpx. Every failure is an EngineError with one line that says what
the server did, and no server, however hostile, keeps a caller waiting past `Limits.total_s`.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import NamedTuple

import httpx

from benchlint.reproducers.engine import EngineError, EngineGoneError

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

# What they log below warnings has headers in it, and a server may send a key back in one.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_MOST_QUOTED = 200

#: Servers close a connection that is idle for some seconds, five in uvicorn and cpp-httplib. One
#: that they close as a request goes out on it would cost that request: it is given up before.
_ONE_CONNECTION = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=1.0)

#: No request depends on an answer before it, and what a server sends as one need not be a header.
_NO_COOKIES = DefaultCookiePolicy(allowed_domains=())

#: How h11 and httpcore say that a connection ended too early, among all that is no HTTP.
_CLOSED = re.compile("closed|disconnected")


class StatusError(EngineError):
    """The server answered with an HTTP error; `status` is its code, 300 or above."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a request may take (seconds) and how much may come back (bytes).

    total_s: from sending to the last byte. idle_s: without a byte. line_bytes: of one streamed
    line or event.
    """

    connect_s: float = 10.0
    idle_s: float = 300.0
    total_s: float = 1800.0
    body_bytes: int = 16 << 20
    line_bytes: int = 4 << 20
    stream_bytes: int = 64 << 20


class Event(NamedTuple):
    """One server-sent event and when it came, in seconds after the request was sent.

    A named tuple, since one is made for each token while the next is on its way.
    """

    at_s: float
    data: str


class EventParser:
    """Server-sent events from bytes, by the rules of the HTML standard (section 9.2.6).

    Only `data` is kept. An event that the stream ends within is dropped, as the rules say. One
    thing is beside them: llama-server before September 2025 (ggml-org/llama.cpp#16109) told of
    an error in a field `error`, which is read as what it sends since.
    """

    __slots__ = ("_after_cr", "_data", "_most", "_size", "_started", "_unfinished")

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._unfinished = bytearray()
        self._data: list[str] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[str]:
        """The data of each event that this chunk completes. Raises EngineError."""
        if not chunk:
            return []
        if self._started and not (self._unfinished or self._data) and _is_one_event(chunk):
            self._after_cr = False
            self._bound(len(chunk) - 2)
            return [chunk[6:-2].decode("utf-8", "replace")]
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk[-1:] == b"\r"
        self._unfinished += chunk
        if b"\n" not in chunk and b"\r" not in chunk:
            self._bound(len(self._unfinished))
            return []
        return self._events()

    def _events(self) -> list[str]:
        lines = bytes(self._unfinished).splitlines(keepends=True)
        self._unfinished.clear()
        if not lines[-1].endswith((b"\n", b"\r")):
            self._unfinished += lines.pop()
        done: list[str] = []
        for line in lines:
            self._line(line.rstrip(b"\r\n"), done)
        return done

    def _line(self, line: bytes, done: list[str]) -> None:
        if not self._started:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._started = True
        if not line:
            if self._data:
                done.append("\n".join(self._data))
            self._data, self._size = [], 0
            return
        name, _, value = line.partition(b":")
        if name == b"error":
            name, value = b"data", b'{"error":%b}' % (value.strip() or b'"?"')
        if name == b"data":
            self._size += len(line)
            self._bound(self._size)
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))

    def _bound(self, size: int) -> None:
        if size > self._most:
            raise EngineError(f"the server sent a streamed line of more than {self._most} bytes")


def _is_one_event(chunk: bytes) -> bool:
    """Whether these bytes are one line of data and the empty line, as nearly all chunks are."""
    ends = chunk[:6] == b"data: " and chunk[-2:] == b"\n\n"
    return ends and chunk.find(b"\n") == len(chunk) - 2 and b"\r" not in chunk


class _Watchdog:
    """Shuts the connection when a request runs past its time, whatever it waits for.

    A read timeout alone is no bound: a server that drips one byte at a time resets it.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self.seconds = 0.0
        self.sent_s = 0.0
        self.expired = False

    def note(self, event: str, info: Mapping[str, object]) -> None:
        """httpx's `trace` extension: the socket in use, and when the request went out on it."""
        if event == "http11.send_request_headers.started":
            self.sent_s = time.perf_counter()
        elif event.endswith(("connect_tcp.complete", "start_tls.complete")):
            get = getattr(info.get("return_value"), "get_extra_info", None)
            self._socket = get("socket") if get else None
            if self.expired:
                self._shut()

    def start(self, seconds: float) -> None:
        """Give the request that is about to be sent so many seconds."""
        self.expired = False
        self.seconds = seconds
        self.sent_s = time.perf_counter()
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The request is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        self.expired = True
        self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class HttpClient:
    """Requests to one server, one at a time. Not for use by several threads.

    base_url: where its paths begin; "/v1" at the end may be left out or written.
    key_variable: the environment variable that holds the API key; the key itself is sent to
    this server alone and appears in no message. Raises EngineError for a bad address or when
    the variable is empty.
    """

    def __init__(
        self, base_url: str, key_variable: str | None = None, limits: Limits | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.base_url = _root(base_url)
        self._key = _key(key_variable)
        self._watchdog = _Watchdog()
        self._client = self._opened()

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._client.close()

    def get_text(self, path: str, total_s: float | None = None) -> str:
        """The body at a path, as text. Raises StatusError and EngineError."""
        with self._send("GET", path, None, total_s) as response:
            return self._body(response).decode("utf-8", "replace")

    def get_json(self, path: str, total_s: float | None = None) -> Json:
        """The JSON at a path. Raises StatusError and EngineError."""
        return self.parse(self.get_text(path, total_s), path)

    def stream(self, path: str, body: Mapping[str, object], most_events: int) -> tuple[Event, ...]:
        """Every event of a streamed answer up to `[DONE]`, which ends it and is kept.

        Nothing is parsed before the stream has ended, so that reading one event does not delay
        the time stamp of the next. Raises StatusError, EngineError and EngineGoneError.
        """
        events: list[Event] = []
        with self._send("POST", path, body, None) as response:
            kind = response.headers.get("content-type", "")
            if not kind.lower().startswith("text/event-stream"):
                text = self._body(response).decode("utf-8", "replace")
                raise EngineError(f"{path} did not stream: {self.quote(text)}")
            for event in self._events(response):
                events.append(event)
                if event.data == "[DONE]":
                    break
                if len(events) >= most_events:
                    raise EngineError(f"the server sent more than {most_events} events")
            if self._watchdog.expired:  # a stream that ends with its connection looks whole
                raise self._failed(None)
        return tuple(events)

    def parse(self, text: str, what: str) -> Json:
        """JSON from the server's text; `what` names it in the EngineError."""
        try:
            parsed: Json = _JSON.decode(text)
        except (ValueError, RecursionError):
            raise EngineError(f"{what} is no valid JSON: {self.quote(text)}") from None
        return parsed

    def quote(self, text: str) -> str:
        """A server's text fit for a message: short, one line, without the key."""
        if self._key:
            text = text.replace(self._key, "***")
        line = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
        return line if len(line) <= _MOST_QUOTED else f"{line[:_MOST_QUOTED]}…"

    def _opened(self) -> httpx.Client:
        try:
            return httpx.Client(
                headers=_headers(self._key),
                timeout=httpx.Timeout(self.limits.idle_s, connect=self.limits.connect_s),
                limits=_ONE_CONNECTION,
                # Certificates take 30 ms to load, and plain HTTP has no use for them.
                verify=self.base_url.startswith("https:"),
                follow_redirects=False,  # one would carry the prompt and the key elsewhere
                cookies=CookieJar(_NO_COOKIES),
                trust_env=not is_loopback(self.base_url),  # no proxy reaches this machine's ports
            )
        except (ImportError, ValueError, OSError) as error:
            # A proxy of a kind that is not installed, or certificates that cannot be read.
            problem = self.quote(str(error)).partition(". ")[0]
            raise EngineError(f"the proxy or certificates of the environment: {problem}") from None

    def _events(self, response: httpx.Response) -> Iterator[Event]:
        parser = EventParser(self.limits.line_bytes)
        sent_s = self._watchdog.sent_s  # after the connection stood
        received = 0
        for chunk in response.iter_raw():
            at_s = time.perf_counter() - sent_s
            received += len(chunk)
            if received > self.limits.stream_bytes:
                raise EngineError(f"the server streamed more than {self.limits.stream_bytes} bytes")
            for data in parser.feed(chunk):
                yield Event(at_s, data)

    @contextmanager
    def _send(
        self, method: str, path: str, body: Mapping[str, object] | None, total_s: float | None
    ) -> Iterator[httpx.Response]:
        """A response whose headers have come."""
        request = self._client.build_request(
            method,
            self.base_url + path,
            json=body,
            extensions={"trace": self._watchdog.note},
        )
        self._watchdog.start(min(total_s or self.limits.total_s, self.limits.total_s))
        try:
            response = self._client.send(request, stream=True)
            try:
                self._refuse(response, path)
                yield response
            finally:
                response.close()
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise self._failed(error) from None
        finally:
            self._watchdog.stop()

    def _refuse(self, response: httpx.Response, path: str) -> None:
        status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise EngineError(f"{path} came compressed though no compression was asked for")
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            place = self.quote(response.headers.get("location", "elsewhere"))
            raise StatusError(f"{path} redirects to {place}: give that address instead", status)
        text = self.quote(_error_text(self._body(response).decode("utf-8", "replace")))
        advice = self._advice(response)
        raise StatusError(f"{path} answered {status}: {text or 'nothing more'}{advice}", status)

    def _advice(self, response: httpx.Response) -> str:
        """What to do about an error, where its status tells."""
        if response.status_code in (401, 403):
            words = "refuses this API key" if self._key else "wants an API key"
            return f" (the server {words}; an environment variable gives it)"
        if wait := response.headers.get("retry-after"):
            return f" (the server asks to wait: retry-after {self.quote(wait)[:40]})"
        return ""

    def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > self.limits.body_bytes:
                raise EngineError(f"the server sent more than {self.limits.body_bytes} bytes")
        if self._watchdog.expired:  # a body that ends with its connection looks whole
            raise self._failed(None)
        return bytes(body)

    def _failed(self, error: Exception | None) -> EngineError:
        if self._watchdog.expired:
            return EngineGoneError(
                f"{self.base_url} did not finish in {self._watchdog.seconds:g} s"
            )
        if isinstance(error, httpx.ConnectError) and "SSL" in str(error):
            return EngineGoneError(f"no secure connection: {self.quote(str(error))}")
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return EngineGoneError(f"no server answers at {self.base_url}")
        if isinstance(error, httpx.TimeoutException):
            return EngineGoneError(f"{self.base_url} sent nothing for {self.limits.idle_s:g} s")
        if isinstance(error, httpx.RemoteProtocolError) and not _CLOSED.search(str(error)):
            return EngineError(f"{self.base_url} does not speak HTTP: {self.quote(str(error))}")
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
            return EngineGoneError(f"{self.base_url} closed the connection midway")
        return EngineError(f"{self.base_url}: {self.quote(str(error))}")


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own: localhost, 127.0.0.0/8, ::1, or 0.0.0.0.

    The last one is where servers say that they listen; connecting to it reaches this machine.
    """
    host = httpx.URL(url).host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761, section 6.3
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def _root(base_url: str) -> str:
    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, TypeError, ValueError):
        raise EngineError(f"no valid address: {base_url[:_MOST_QUOTED]!r}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise EngineError(
            f"an address begins with http:// or https://, not {base_url[:_MOST_QUOTED]!r}"
        )
    if url.userinfo:
        raise EngineError("no user or password in an address: name an environment variable")
    if url.query or url.fragment:
        raise EngineError("an endpoint's address has no query and no fragment")
    return str(url).rstrip("/").removesuffix("/v1").rstrip("/")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EngineError(f"the environment variable {variable} for the API key is empty")
    if not (key.isascii() and key.isprintable()):
        raise EngineError(f"the environment variable {variable} holds no API key")
    return key


def _headers(key: str | None) -> dict[str, str]:
    # Compression would delay tokens and let a small body grow without bound.
    headers = {"accept-encoding": "identity", "user-agent": "benchlint"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers


def _error_text(text: str) -> str:
    """The message inside an OpenAI-style error, else the text as it is."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    message = error.get("message", error) if isinstance(error, dict) else error
    return message if isinstance(message, str) else text


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


#: Made once: `json.loads` with a hook makes a decoder for each text.
_JSON = json.JSONDecoder(parse_constant=_no_constant)
