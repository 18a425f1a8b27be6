"""A small server on a loopback port that answers as it is told, well or badly."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

REPLIES = Path(__file__).parent / "replies"

STREAM = "text/event-stream"


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, handler: type[socketserver.BaseRequestHandler], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._open: list[socket.socket] = []
        super().__init__((host, port), handler)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.append(connection)
        return connection, address

    def stop(self) -> None:
        """Go away as a process does: nobody listens, and no connection stays."""
        self.shutdown()
        self.server_close()
        self._thread.join()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def answering(*pieces: bytes) -> Iterator[str]:
    """The address of a server that answers each connection with these bytes and ends it."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the client went away
                self.request.recv(1 << 16)
                for piece in pieces:
                    self.request.sendall(piece)

    server = _Server(Handler)
    try:
        yield server.url
    finally:
        server.stop()


def recorded(name: str) -> str:
    """A recorded reply."""
    return (REPLIES / name).read_text("utf-8")


@dataclass(frozen=True)
class Reply:
    """What to answer: pieces of a body, each one chunk of the transfer encoding.

    cut: close the connection where the body should end properly.
    """

    pieces: Iterable[bytes] = ()
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


def body(value: object, status: int = 200) -> Reply:
    """A JSON body, or text as it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Reply((text.encode(),), status)


def streamed(text: str, *, cut: bool = False) -> Reply:
    """An event stream, an event in each chunk."""
    return Reply([f"{e}\n\n".encode() for e in text.split("\n\n") if e], kind=STREAM, cut=cut)


Route = Reply | Callable[[Any], Reply]


@dataclass
class Loopback:
    """A running server: its address, what it was sent, and a signal that it is to end.

    stop: end it before the test does; may be called again.
    """

    routes: dict[str, Route]
    url: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    stop: Callable[[], None] = lambda: None

    def bodies(self, path: str) -> list[Any]:
        """What was posted to a path."""
        return [sent for at, _, sent in self.requests if at == path]

    def drip(self, piece: bytes) -> Iterator[bytes]:
        """A piece again and again, slowly, until the test is over."""
        while not self.over.wait(0.005):
            yield piece


@contextmanager
def serving(routes: dict[str, Route], host: str = "127.0.0.1", port: int = 0) -> Iterator[Loopback]:
    """Answer by path; a path that is not there gets 404. Port 0 is any that is free."""
    loopback = Loopback(routes)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # the client went away
                self.close_connection = True

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"]))
            self._answer(json.loads(text))

        def _answer(self, sent: Any) -> None:
            loopback.requests.append((self.path, dict(self.headers), sent))
            route = loopback.routes.get(self.path, body({"error": "no such path"}, 404))
            reply = route if isinstance(route, Reply) else route(sent)
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            self.send_header("transfer-encoding", "chunked")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in filter(None, reply.pieces):  # an empty chunk would end the body
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if reply.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = _Server(Handler, host, port)
    loopback.url, loopback.stop = server.url, server.stop
    try:
        yield loopback
    finally:
        loopback.over.set()
        server.stop()
