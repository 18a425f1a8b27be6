"""A stand-in for the part of GitHub's REST API that comments need, on a loopback port."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-job"  # noqa: S105
BOT = "github-actions[bot]"


class FakeGithub:
    """Comments of one pull request, by id. allowed: whether the token may write.

    pulls: what `GET /pulls` answers. moved: answer everything with a redirect to there.
    """

    def __init__(self, *, allowed: bool = True, moved: str = "") -> None:
        self.allowed = allowed
        self.moved = moved
        self.comments: list[dict[str, Any]] = []
        self.pulls: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.tokens: list[str] = []
        handler = type("Handler", (_Handler,), {"github": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def add(self, body: str, author: str = BOT) -> dict[str, Any]:
        comment = {"id": 100 + len(self.comments), "body": body, "user": {"login": author}}
        self.comments.append(comment)
        return comment

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    github: FakeGithub

    def do_GET(self) -> None:
        if not self._admitted(writes=False):
            return
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        everything = self.github.pulls if url.path.endswith("/pulls") else self.github.comments
        page, size = int(query.get("page", "1")), int(query.get("per_page", "30"))
        self._answer(200, everything[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        if self._admitted(writes=True):
            self._answer(201, self.github.add(self._body()["body"]))

    def do_PATCH(self) -> None:
        if self._admitted(writes=True):
            number = int(self.path.rpartition("/")[2])
            found = next(c for c in self.github.comments if c["id"] == number)
            found["body"] = self._body()["body"]
            self._answer(200, found)

    def _admitted(self, *, writes: bool) -> bool:
        self.github.calls.append(f"{self.command} {self.path}")
        self.github.tokens.append(self.headers.get("Authorization", ""))
        if self.github.moved:
            self.send_response(302)
            self.send_header("Location", self.github.moved)
            self.end_headers()
            return False
        if writes and not self.github.allowed:
            self._body()
            self._answer(403, {"message": "Resource not accessible by integration"})
            return False
        return True

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, data: object) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""
