"""An OpenAI-style server that streams tokens at an exact pace and remembers what it sent when.

    python benchmarks/stream_server.py        (prints its address, runs until its input ends)

The model's name chooses the pace (`PACES`), `max_tokens` the number of tokens. Raw sockets and
bodies made beforehand, so that it keeps up; nothing of it is shared with the clients that are
measured. `GET /sent` tells of each answer so far its model, its tokens and the seconds from the
first token to the last, as they left; `GET /book.txt` is some text, for clients that want one.
"""

from __future__ import annotations

import ctypes
import json
import socketserver
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

#: By model: tokens that leave together, and seconds from one such burst to the next.
PACES: Mapping[str, tuple[int, float]] = {
    "every-100us": (1, 0.0001),
    "every-1ms": (1, 0.001),
    "four-every-4ms": (4, 0.004),
}
BOOK = "A server that keeps an exact pace reads this aloud, one word after another. " * 4000
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_END = b"0\r\n\r\n"
_PR_SET_TIMERSLACK = 29


@dataclass(frozen=True)
class Sent:
    """One answer: `seconds` from its first token to its last."""

    model: str
    tokens: int
    seconds: float


class Handler(socketserver.StreamRequestHandler):
    """One connection, kept open from request to request."""

    disable_nagle_algorithm = True
    sent: list[Sent] = []  # noqa: RUF012, shared by all connections on purpose

    def handle(self) -> None:
        """Answer until the client goes."""
        _sleep_exactly()
        try:
            while line := self.rfile.readline():
                method, path, _ = line.decode().split(" ", 2)
                self._answer(method, path, self.rfile.read(self._length()))
        except OSError:
            return

    def _length(self) -> int:
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return length

    def _answer(self, method: str, path: str, body: bytes) -> None:
        pages = {
            "/health": "{}",
            "/v1/models": json.dumps({"data": [{"id": name} for name in PACES]}),
            "/sent": json.dumps([vars(each) for each in self.sent]),
            "/book.txt": BOOK,
        }
        if method == "POST" and path in ("/v1/completions", "/v1/chat/completions"):
            self._complete(json.loads(body), chat="chat" in path)
        else:
            self._plain(pages.get(path))

    def _plain(self, text: str | None, kind: str = "application/json") -> None:
        status = "404 Not Found" if text is None else "200 OK"
        body = (text or "{}").encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def _complete(self, asked: dict[str, object], *, chat: bool) -> None:
        tokens = int(str(asked.get("max_tokens") or asked.get("max_completion_tokens") or 16))
        model = str(asked["model"])
        self.wfile.write(_STREAM)
        seconds = self._tokens(model, tokens, _event(_token(model, chat)))
        end = {**_token(model, chat, finish="length"), "choices": _choices(chat, "", "length")}
        usage = {**_token(model, chat), "choices": [], "usage": _usage(tokens)}
        self.wfile.write(_event(end) + _event(usage) + _chunk(b"data: [DONE]\n\n") + _END)
        self.sent.append(Sent(model, tokens, seconds))

    def _tokens(self, model: str, tokens: int, event: bytes) -> float:
        """Send that many events at the model's pace. Seconds from the first to the last."""
        write, clock = self.connection.sendall, time.perf_counter
        burst, period_s = PACES[model]
        began_s = last_s = clock()
        for number, count in enumerate(_bursts(tokens, burst)):
            ahead_s = began_s + number * period_s - clock()
            if ahead_s > 0:
                time.sleep(ahead_s)
            last_s = clock()
            write(event * count)
        return last_s - began_s


def _bursts(tokens: int, burst: int) -> Iterator[int]:
    for first in range(0, tokens, burst):
        yield min(burst, tokens - first)


def _token(model: str, chat: bool, finish: str | None = None) -> dict[str, object]:
    return {
        "id": "chatcmpl-0123456789abcdef0123456789abcdef",
        "object": "chat.completion.chunk" if chat else "text_completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": _choices(chat, " the", finish),
    }


def _choices(chat: bool, text: str, finish: str | None) -> list[dict[str, object]]:
    said: dict[str, object] = {"delta": {"content": text}} if chat else {"text": text}
    return [{"index": 0, **said, "logprobs": None, "finish_reason": finish}]


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 16, "completion_tokens": tokens, "total_tokens": 16 + tokens}


def _event(value: object) -> bytes:
    return _chunk(f"data: {json.dumps(value, separators=(',', ':'))}\n\n".encode())


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _sleep_exactly() -> None:
    """Linux rounds a thread's sleep up by 50 µs unless asked not to."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


class Server(socketserver.ThreadingTCPServer):
    """A thread a connection."""

    daemon_threads = True
    allow_reuse_address = True


def main() -> None:
    """Serve on a free loopback port until standard input ends."""
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
