"""Stands in for a llama-server binary: lists flags, then serves, or fails in a chosen way.

FAKE_MODE: "serve", "fail" (ends with an error), "taken" (its port is taken, the first time),
"silent" (never ready), "dies" (ends at the first completion).
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

HELP = Path(__file__).parent / "replies" / "help" / "0c1e570.txt"
MODE = os.environ.get("FAKE_MODE", "serve")
ANSWER = [
    {"choices": [{"text": "a", "finish_reason": "length"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
]


class Handler(BaseHTTPRequestHandler):
    """Just enough of the interface for an engine to start."""

    def do_GET(self) -> None:
        paths = {"/health": {"status": "ok"}, "/v1/models": {"data": [{"id": "fake"}]}}
        known = self.path in paths and MODE != "silent"
        self._send(200 if known else 503, "application/json", json.dumps(paths.get(self.path, {})))

    def do_POST(self) -> None:
        if MODE == "dies":
            say("error: out of memory")
            os._exit(3)
        lines = [*map(json.dumps, ANSWER), "[DONE]"]
        self._send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in lines))

    def _send(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


def say(*lines: str) -> None:
    """Print at once."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def main() -> None:
    """Answer --help, or do what the mode says."""
    if "--help" in sys.argv:
        say(HELP.read_text("utf-8"))
        return
    variables = [name for name in os.environ if name.startswith("LLAMA_")]
    if MODE == "fail" or variables:
        say("loading", "error: failed to load model", *variables)
        sys.exit(1)
    once = Path(os.environ.get("FAKE_ONCE", "once"))
    if MODE == "taken" and not once.exists():
        once.touch()
        say("error: couldn't bind to the port")
        sys.exit(1)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
