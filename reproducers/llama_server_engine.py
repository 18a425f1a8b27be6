"""A llama-server that is started, asked and stopped for each arm.

Either a binary of the user's own or the server inside the prebuilt xllamacpp wheel. It listens
on a free loopback port, and it ends with this process however this process ends
(server_guard.py).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from benchlint.checker.extras import how_to_install
from benchlint.reproducers.endpoint_engine import EndpointEngine
from benchlint.reproducers.engine import (
    Arm,
    Description,
    Divergence,
    EngineError,
    EngineGoneError,
    Request,
    Sample,
    UnsupportedError,
)
from benchlint.reproducers.gguf import quantization_of
from benchlint.reproducers.http_client import HttpClient, Limits, StatusError
from benchlint.reproducers.server_devices import backend_of_binary, backend_of_wheel, listed
from benchlint.reproducers.server_flags import (
    ServerSetup,
    drafts_by_model,
    embedded_settings,
    server_arguments,
    speculation_in_effect,
)

_PYTHON = (sys.executable, "-P", "-m")  # -P: no module out of the working directory
_GUARD = (*_PYTHON, "benchlint.reproducers.server_guard")
_EMBEDDED = (*_PYTHON, "benchlint.reproducers.embedded_server")
_HELP_S = 60.0
_STOP_S = 15.0
_LOG_TAIL = 8192
_PORTS_TRIED = 3


@dataclass(frozen=True, slots=True)
class _Launch:
    """How one arm's server is started, and what of it a description shows.

    command: without the port; `shown` stands for it in a description. version: where the
    server itself does not tell.
    """

    command: tuple[str, ...]
    shown: tuple[str, ...]
    version: str | None = None

    def on(self, port: int) -> tuple[str, ...]:
        """The command with a port in the place left for it."""
        return tuple(part.replace(_PORT, str(port)) for part in self.command)


_PORT = "\N{SYMBOL FOR SUBSTITUTE}port"  # no path and no flag holds it


class LlamaServerEngine:
    """llama-server, managed. Implements Engine.

    setup: models and machine settings, the same for all arms. binary: a llama-server; without
    one the server inside xllamacpp is used. start_s: how long loading the models may take.
    """

    scores_texts = False

    def __init__(
        self,
        setup: ServerSetup,
        binary: Path | None = None,
        limits: Limits | None = None,
        start_s: float = 1800.0,
    ) -> None:
        self._setup = setup
        self._binary = binary
        self._limits = limits or Limits()
        self._start_s = start_s
        self._help: str | None = None
        self._backend: tuple[str | None] | None = None  # None until it was asked for
        self._launch: _Launch | None = None
        self._server: _Server | None = None
        self._endpoint: EndpointEngine | None = None

    def start(self, arm: Arm) -> Description:
        """Start the server for an arm; one that runs already as it asks is kept.

        Raises UnsupportedError where this build cannot do it, EngineError where it does not
        start, with what its log says.
        """
        for path in filter(None, (self._setup.target, self._setup.drafter, self._binary)):
            if not path.is_file():
                raise EngineError(f"no such file: {path}")
        launch = self._plan(arm)
        self._refuse_placement(arm)
        if launch != self._launch or self._server is None or not self._server.alive():
            self._restart(launch)
        description = self._running().start(arm)
        return self._completed(description, arm, launch)

    def generate(self, request: Request) -> Sample:
        """Answer one prompt. Raises EngineError; EngineGoneError when the server has ended."""
        endpoint = self._running()
        try:
            return endpoint.generate(request)
        except EngineGoneError:
            if self._server is not None and not self._server.alive():
                raise EngineGoneError(f"llama-server ended: {self._server.complaint()}") from None
            raise

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """Raises UnsupportedError: llama-server does not give a text's likelihood."""
        del text, context_tokens
        raise UnsupportedError("llama-server does not tell the likelihood of a given text")

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """Raises UnsupportedError: asking llama-server for probabilities slows it down."""
        del request, first, second
        raise UnsupportedError("llama-server does not tell the likelihood of given tokens")

    def close(self) -> None:
        """Stop the server. May be called twice."""
        if self._endpoint is not None:
            self._endpoint.close()
        if self._server is not None:
            self._server.stop()
        self._endpoint = self._server = self._launch = None

    def _running(self) -> EndpointEngine:
        if self._endpoint is None:
            raise EngineError("the engine is not started")
        return self._endpoint

    def _plan(self, arm: Arm) -> _Launch:
        if self._binary is None:
            return _embedded_launch(arm, self._setup)
        if self._help is None:
            self._help = _help_text(self._binary)
        arguments = server_arguments(arm, self._setup, self._help, _PORT)
        command = (str(self._binary.absolute()), *arguments)
        return _Launch(command, tuple(part for part in command if part not in ("--port", _PORT)))

    def _restart(self, launch: _Launch) -> None:
        self.close()
        self._server = _started(launch, self._start_s)
        self._endpoint = EndpointEngine(self._server.url, limits=self._limits)
        self._launch = launch

    def _completed(self, description: Description, arm: Arm, launch: _Launch) -> Description:
        """With what only the one who started the server knows."""
        drafter = self._setup.drafter if drafts_by_model(arm, self._setup) else None
        backend = self._asked_backend()
        return replace(
            description,
            version=description.version or launch.version,
            backend=backend,
            command_line=launch.shown,
            speculation={
                **description.speculation,
                **speculation_in_effect(arm, self._setup, backend),
            },
            drafter=_description_of(drafter) if drafter else {},
            threads=self._setup.threads,
        )

    def _refuse_placement(self, arm: Arm) -> None:
        """Raise UnsupportedError for drafts selected on a GPU that is not there.

        The server would select them on the CPU, by another way, and say nothing.
        """
        on_gpu = arm.draft_selection == "gpu" and drafts_by_model(arm, self._setup)
        if on_gpu and self._asked_backend() == "CPU":
            raise UnsupportedError(
                "draft tokens cannot be selected on a GPU: this llama-server uses none"
            )

    def _asked_backend(self) -> str | None:
        """What the server computes on, by its own word; None where it does not tell."""
        if self._setup.gpu_layers == "0":
            return "CPU"
        if self._backend is None:
            self._backend = (self._told_backend(),)
        return self._backend[0]

    def _told_backend(self) -> str | None:
        environment = _clean_environment()
        if self._binary is None:
            text = listed((*_EMBEDDED, "--list-devices"), environment)
            return None if text is None else backend_of_wheel(text)
        if "--list-devices" not in (self._help or ""):
            return None
        text = listed((str(self._binary.absolute()), "--list-devices"), environment)
        return None if text is None else backend_of_binary(text)


def _description_of(drafter: Path) -> Mapping[str, str | float | int | None]:
    """What is known of a drafter, of which the server tells nothing."""
    recipe = quantization_of(drafter)
    known = {} if recipe is None else {"quantization": recipe}
    return {"name": drafter.name, "size_bytes": drafter.stat().st_size, **known}


class _Server:
    """One llama-server process under its guard, with its log."""

    def __init__(self, command: tuple[str, ...], port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed in stop()
        self._guard = subprocess.Popen(  # noqa: S603, the user's own binary or our module
            (*_GUARD, *command),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=_clean_environment(),
            start_new_session=True,  # an interrupt at the terminal is for us, not for the server
        )

    def alive(self) -> bool:
        """Whether the server still runs."""
        return self._guard.poll() is None

    def wait_until_healthy(self, seconds: float) -> None:
        """Raises EngineError when the server ends or is not ready in time."""
        end_s = time.monotonic() + seconds
        pause_s = 0.02
        with HttpClient(self.url) as client:
            while not _healthy(client):
                if not self.alive():
                    raise EngineError(f"llama-server did not start: {self.complaint()}")
                if time.monotonic() > end_s:
                    raise EngineError(f"llama-server was not ready in {seconds:g} s")
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 0.5)
        if not self.alive():  # another server answered on its port
            raise EngineError(f"llama-server did not start: {self.complaint()}")

    def complaint(self) -> str:
        """The line of its log that most likely says why it ended."""
        log = self._log.fileno()
        # The server writes at the offset it shares with us, so that is left where it is.
        tail = os.pread(log, _LOG_TAIL, max(os.fstat(log).st_size - _LOG_TAIL, 0))
        text = tail.decode("utf-8", "replace")
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower() or "fail" in line.lower()]
        line = (telling or lines or ["its log is empty"])[-1]
        return "".join(c for c in line if c.isprintable())[:300]

    def stop(self) -> None:
        """Let the guard end the server; end both by force where that takes too long."""
        if self._guard.stdin is not None:
            with suppress(OSError):
                self._guard.stdin.close()
        try:
            self._guard.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()
        self._log.close()


def _started(launch: _Launch, seconds: float) -> _Server:
    """A healthy server; another port is tried when one was taken meanwhile."""
    for attempt in range(_PORTS_TRIED):
        port = _free_port()
        server = _Server(launch.on(port), port)
        try:
            server.wait_until_healthy(seconds)
        except BaseException as error:
            server.stop()
            if not isinstance(error, EngineError) or "bind" not in str(error):
                raise
            if attempt + 1 == _PORTS_TRIED:
                raise
        else:
            return server
    raise AssertionError("unreachable")


def _embedded_launch(arm: Arm, setup: ServerSetup) -> _Launch:
    if importlib.util.find_spec("xllamacpp") is None:
        raise EngineError(
            "no llama-server: name one, or install the one in xllamacpp: "
            + how_to_install("server")
        )
    settings = embedded_settings(arm, setup)
    version = importlib.metadata.version("xllamacpp")
    shown = ("xllamacpp", version, json.dumps(settings, sort_keys=True))
    with_port = {**settings, "hostnames": ["127.0.0.1"], "port": _PORT}
    # The last part of xllamacpp's version is the build of llama.cpp it carries.
    build = version.split(".")[2] if version.count(".") >= 2 else ""
    return _Launch(
        (*_EMBEDDED, json.dumps(with_port, ensure_ascii=False)),
        shown,
        f"b{build}" if len(build) >= 4 and build.isdecimal() else None,
    )


def _help_text(binary: Path) -> str:
    try:
        run = subprocess.run(  # noqa: S603, the user's own binary
            (str(binary.absolute()), "--help"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_HELP_S,
            env=_clean_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"{binary} --help did not end in {_HELP_S:g} s") from None
    except OSError as error:
        raise EngineError(f"{binary} cannot be run: {error.strerror}") from None
    return (run.stdout + b"\n" + run.stderr).decode("utf-8", "replace")


def _clean_environment() -> Mapping[str, str]:
    """Ours without the variables that set llama-server's flags behind the command line."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LLAMA_ARG_") and name != "LLAMA_API_KEY"
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _healthy(client: HttpClient) -> bool:
    try:
        client.get_text("/health", 5.0)
    except (StatusError, EngineGoneError):  # 503: still loading
        return False
    return True
