"""Which engines measure, from what a user names: endpoints, or model files and how to run them.

There is one engine behind each address and one for all model files; it is started again for
each arm. Nothing is contacted or loaded before an engine is started.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, cast

from benchlint.checker.extras import how_to_install
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.discreet_engine import DiscreetEngine, names_of_files, replaced
from benchlint.reproducers.engine import Arm, Engine, EngineError
from benchlint.reproducers.gguf import quantization_of

if TYPE_CHECKING:
    from benchlint.reproducers.http_client import Limits

#: Engines that run model files, by the names that users give.
ENGINES = ("server", "llama-cpp")

#: Extras of this package and the modules that each of them brings.
_EXTRAS = {
    "reproduce": ("httpx", "jinja2", "matplotlib", "psutil", "scipy"),
    "server": ("xllamacpp",),
    "llama": ("llama_cpp",),
}

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """What a user names; None and () where nothing was said.

    endpoint, baseline_endpoint: addresses of OpenAI-compatible servers, the second one for arms
    without a drafter. model, baseline_model: what to ask them for. key_variable and
    baseline_key_variable: environment variables that hold their API keys; each key goes to its
    own server alone. target, drafter: GGUF files. engine: what runs them. llama_server: a binary.
    gpu_layers: "all", "auto" or a number. ngram_size: length of a looked-up n-gram in tokens.
    server_arguments: more arguments for the binary. draft_method: "argmax" or "sampled", of
    llama.cpp in process. timeout_s: longest one answer may take, in seconds.
    """

    endpoint: str | None = None
    baseline_endpoint: str | None = None
    model: str | None = None
    baseline_model: str | None = None
    key_variable: str | None = None
    baseline_key_variable: str | None = None
    target: Path | None = None
    drafter: Path | None = None
    engine: str | None = None
    llama_server: Path | None = None
    threads: int | None = None
    gpu_layers: str | None = None
    ngram_size: int | None = None
    server_arguments: tuple[str, ...] = ()
    draft_method: str | None = None
    timeout_s: float | None = None


#: Fields of `EngineChoice` by how users name them, and what each of them goes with.
OPTIONS = {
    "endpoint": "--endpoint",
    "baseline_endpoint": "--baseline-endpoint",
    "model": "--model",
    "baseline_model": "--baseline-model",
    "key_variable": "--api-key-env",
    "baseline_key_variable": "--baseline-api-key-env",
    "target": "--target-model",
    "drafter": "--draft-model",
    "engine": "--engine",
    "llama_server": "--llama-server",
    "threads": "--threads",
    "gpu_layers": "--gpu-layers",
    "ngram_size": "--ngram-size",
    "server_arguments": "--server-arg",
    "draft_method": "--draft-method",
    "timeout_s": "--timeout",
}
_OF_ENDPOINTS = (
    *("baseline_endpoint", "model", "baseline_model"),
    *("key_variable", "baseline_key_variable"),
)
_OF_BASELINES = ("baseline_model", "baseline_key_variable")
_OF_FILES = (
    *("drafter", "engine", "llama_server", "threads", "gpu_layers"),
    *("ngram_size", "server_arguments", "draft_method"),
)
_OF_SERVERS = ("llama_server", "ngram_size", "server_arguments", "timeout_s")


@dataclass(frozen=True, slots=True)
class ChosenEngines:
    """Engines that can be asked for. Use it as a context manager, or close it.

    main: for every arm, or for those with a drafter where there is a `baseline` for the others.
    target, drafter: the model files, None behind an endpoint. here: what is known before
    anything is started. is_here: whether they work on this machine, as far as addresses show.
    repeat: the options that choose such engines, without folders, addresses and keys.
    secrets: API keys, which may stand in no file.
    """

    main: DiscreetEngine
    baseline: DiscreetEngine | None = None
    target: Path | None = None
    drafter: Path | None = None
    here: Here = field(default_factory=Here)
    is_here: bool = True
    repeat: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def engines(self, arm: Arm) -> DiscreetEngine:
        """The engine for an arm: the same one each time that it is asked for."""
        return self.baseline if self.baseline is not None and arm.method is None else self.main

    def close(self) -> None:
        """Stop what runs. May be called twice."""
        for engine in filter(None, (self.main, self.baseline)):
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def require(extra: str, purpose: str) -> None:
    """Raise EngineError, with the command to install it, where an extra is not installed."""
    missing = [name for name in _EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise EngineError(f"{purpose} needs {' and '.join(missing)}: {how_to_install(extra)}")


def chosen_engines(choice: EngineChoice) -> ChosenEngines:
    """The engines that a user named.

    Raises EngineError where the choice is none or contradicts itself, where a file or an extra
    is missing, an address is malformed, or the variable of an API key is empty.
    """
    _refuse_contradictions(choice)
    require("reproduce", "measuring")
    return _endpoints(choice) if choice.endpoint is not None else _local(choice)


# What goes together


def _refuse_contradictions(choice: EngineChoice) -> None:
    if choice.endpoint is None and choice.target is None:
        raise EngineError(
            "name what measures: --endpoint URL, or --target-model FILE.gguf "
            "(and --draft-model FILE.gguf)"
        )
    if choice.endpoint is not None and choice.target is not None:
        raise EngineError("--endpoint and --target-model are two engines: choose one")
    if choice.endpoint is not None:
        _refuse(choice, _OF_FILES, "is for model files; the server at --endpoint is set up already")
    else:
        _refuse(choice, _OF_ENDPOINTS, "belongs to --endpoint")
    if choice.baseline_endpoint is None:
        _refuse(choice, _OF_BASELINES, "belongs to --baseline-endpoint")
    if choice.timeout_s is not None and not 0 < choice.timeout_s < math.inf:
        raise EngineError(f"--timeout is a number of seconds over 0, not {choice.timeout_s:g}")
    for name in ("key_variable", "baseline_key_variable"):
        variable = getattr(choice, name)
        if variable is not None and not _VARIABLE.fullmatch(variable):
            # It may be the key, so it is not quoted.
            raise EngineError(f"{OPTIONS[name]} takes the name of a variable, never the key itself")


def _refuse(choice: EngineChoice, names: Sequence[str], why: str) -> None:
    """Raise EngineError where one of these was said."""
    for name in names:
        if _said(choice, name):
            raise EngineError(f"{OPTIONS[name]} {why}")


def _said(choice: EngineChoice, name: str) -> bool:
    default = next(each.default for each in fields(choice) if each.name == name)
    return bool(getattr(choice, name) != default)


# Endpoints


def _endpoints(choice: EngineChoice) -> ChosenEngines:
    variables = (choice.key_variable, choice.baseline_key_variable)
    main = _endpoint(choice.endpoint or "", choice.model, variables[0], choice)
    baseline = None
    if choice.baseline_endpoint is not None:
        model = choice.baseline_model or choice.model
        baseline = _endpoint(choice.baseline_endpoint, model, variables[1], choice)
    return ChosenEngines(
        main,
        baseline,
        is_here=all(map(_is_here, (choice.endpoint, choice.baseline_endpoint))),
        repeat=_repeat(choice),
        secrets=tuple(os.environ[name].strip() for name in variables if name is not None),
    )


def _endpoint(
    url: str, model: str | None, variable: str | None, choice: EngineChoice
) -> DiscreetEngine:
    from benchlint.reproducers.endpoint_engine import EndpointEngine

    engine = EndpointEngine(url, model, variable, _limits(choice))
    return DiscreetEngine(engine, {} if _is_here(url) else {engine.url: "the endpoint"})


def _is_here(url: str | None) -> bool:
    from benchlint.reproducers.http_client import is_loopback

    return url is None or is_loopback(url)


def _limits(choice: EngineChoice) -> Limits:
    from benchlint.reproducers.http_client import Limits

    if choice.timeout_s is None:
        return Limits()
    return Limits(idle_s=min(choice.timeout_s, Limits().idle_s), total_s=choice.timeout_s)


# Model files


def _local(choice: EngineChoice) -> ChosenEngines:
    for name in ("target", "drafter", "llama_server"):
        path = cast("Path | None", getattr(choice, name))
        if path is not None and not path.is_file():
            problem = "not a file" if path.exists() else "no such file"
            raise EngineError(f"{OPTIONS[name]}: {problem}: {path}")
    make = {"server": _server, "llama-cpp": _in_process}[_engine_name(choice)]
    return ChosenEngines(
        DiscreetEngine(make(choice), names_of_files(_files(choice))),
        target=choice.target,
        drafter=choice.drafter,
        here=_here(choice),
        repeat=_repeat(choice),
    )


def _here(choice: EngineChoice) -> Here:
    """What the model files say of themselves. Raises EngineError where one is no model."""
    files = (choice.target, choice.drafter)
    names = [None if path is None else path.name for path in files]
    recipes = [None if path is None else quantization_of(path) for path in files]
    return Here(
        target=names[0],
        target_quantization=recipes[0],
        drafter=names[1],
        drafter_quantization=recipes[1],
        threads=choice.threads,
    )


def _files(choice: EngineChoice) -> Iterator[Path]:
    """All paths that were named, also those in arguments for a binary."""
    yield from filter(None, (choice.target, choice.drafter, choice.llama_server))
    for argument in choice.server_arguments:
        value = argument.partition("=")[2] if argument.startswith("-") else argument
        if os.sep in value:
            yield Path(value)


def _engine_name(choice: EngineChoice) -> str:
    """The named engine, else the first one that is there."""
    if choice.engine is not None:
        if choice.engine not in ENGINES:
            raise EngineError(f"--engine is {' or '.join(ENGINES)}, not {choice.engine!r}")
        return choice.engine
    if choice.llama_server is not None or find_spec("xllamacpp") is not None:
        return "server"
    if find_spec("llama_cpp") is not None:
        return "llama-cpp"
    raise EngineError(
        "nothing here runs model files: name a llama-server with --llama-server PATH, or "
        + how_to_install("server")
    )


def _server(choice: EngineChoice) -> Engine:
    from benchlint.reproducers.llama_server_engine import LlamaServerEngine
    from benchlint.reproducers.server_flags import ServerSetup

    if choice.llama_server is None:
        require("server", "--engine server without --llama-server PATH")
        _refuse(choice, ("server_arguments",), "is for a binary: name one with --llama-server")
    _refuse(choice, ("draft_method",), "belongs to --engine llama-cpp")
    setup = ServerSetup(
        cast("Path", choice.target),
        choice.drafter,
        choice.threads,
        choice.gpu_layers,
        choice.ngram_size,
        choice.server_arguments,
    )
    return LlamaServerEngine(setup, choice.llama_server, _limits(choice))


def _in_process(choice: EngineChoice) -> Engine:
    require("llama", "--engine llama-cpp")
    _refuse(choice, _OF_SERVERS, "is for servers, not for --engine llama-cpp")
    from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options

    method = choice.draft_method or "argmax"
    if method not in ("argmax", "sampled"):
        raise EngineError(f"--draft-method is argmax or sampled, not {method!r}")
    options = Options(
        gpu_layers=_layers(choice.gpu_layers),
        threads=choice.threads,
        draft_method=cast('Literal["argmax", "sampled"]', method),
    )
    return LlamaCppEngine(cast("Path", choice.target), choice.drafter, options)


def _layers(said: str | None) -> int:
    """llama-cpp-python's number of offloaded layers: negative for all, which is its default."""
    if said in (None, "all"):
        return -1
    if not said.isdecimal():
        raise EngineError(f"--gpu-layers is all or a number for llama-cpp, not {said!r}")
    return int(said)


# To be repeated


def _repeat(choice: EngineChoice) -> tuple[str, ...]:
    """The options as somebody else would give them: files by name, addresses and keys left out."""
    parts: list[str] = []
    for name, option in OPTIONS.items():
        if not _said(choice, name) or name.endswith("key_variable") or name == "timeout_s":
            continue
        value = getattr(choice, name)
        if name in ("endpoint", "baseline_endpoint"):
            parts += [option, "URL"]
        elif name == "server_arguments":
            parts += (f"{option}={argument}" for argument in value)
        else:
            parts += [option, value.name if isinstance(value, Path) else str(value)]
    words = names_of_files(_files(choice))
    return tuple(replaced(part, words) for part in parts)
