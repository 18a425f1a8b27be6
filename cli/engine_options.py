"""The options by which every command that measures is told what to measure with.

A command takes them as one argument:

    @app.command()
    @with_engine_options
    def measure(engine: EngineOptions, …) -> None:
        with engine.chosen() as chosen:
            …
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from benchlint.completion import DRAFT_METHODS, ENGINES, completes

if TYPE_CHECKING:
    from benchlint.reproducers.engine_choice import ChosenEngines


def _option(name: str, metavar: str, text: str, *words: str) -> Any:
    completion = completes(*words) if words else None
    return typer.Option(
        name, metavar=metavar, show_default=False, help=text, autocompletion=completion
    )


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine options as they were given; None where one was not."""

    endpoint: Annotated[
        str | None,
        _option(
            "--endpoint",
            "URL",
            "An OpenAI-compatible server to measure, with or without /v1.",
        ),
    ] = None
    baseline_endpoint: Annotated[
        str | None,
        _option("--baseline-endpoint", "URL", "Another one for the arms without a drafter."),
    ] = None
    model: Annotated[
        str | None,
        _option("--model", "NAME", "The model to ask for, where a server has several."),
    ] = None
    baseline_model: Annotated[
        str | None,
        _option("--baseline-model", "NAME", "The same at --baseline-endpoint (--model)."),
    ] = None
    api_key_env: Annotated[
        str | None,
        _option(
            "--api-key-env",
            "NAME",
            "The environment variable that holds the API key of --endpoint. The key is sent "
            "there alone and written nowhere.",
        ),
    ] = None
    baseline_api_key_env: Annotated[
        str | None,
        _option("--baseline-api-key-env", "NAME", "The same for --baseline-endpoint."),
    ] = None
    target_model: Annotated[
        str | None, _option("--target-model", "FILE", "The target, a GGUF file.")
    ] = None
    draft_model: Annotated[
        str | None, _option("--draft-model", "FILE", "The drafter, a GGUF file.")
    ] = None
    engine: Annotated[
        str | None,
        _option(
            "--engine",
            "ENGINE",
            "What runs the files: server (a llama-server that is started and stopped; the "
            "default where there is one) or llama-cpp (llama.cpp in this process).",
            *ENGINES,
        ),
    ] = None
    llama_server: Annotated[
        str | None,
        _option("--llama-server", "FILE", "A llama-server binary, instead of the prebuilt one."),
    ] = None
    server_arg: Annotated[
        list[str] | None,
        _option(
            "--server-arg",
            "ARG",
            "One more argument for that binary, as in --server-arg=--no-mmap; repeat it.",
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", metavar="N", min=1, show_default=False, help="CPU threads of the engine."
        ),
    ] = None
    gpu_layers: Annotated[
        str | None,
        _option("--gpu-layers", "N", "Layers on the GPU: a number, all, or auto (server only)."),
    ] = None
    ngram_size: Annotated[
        int | None,
        typer.Option(
            "--ngram-size",
            metavar="N",
            min=1,
            show_default=False,
            help="Tokens of a looked-up n-gram, for arms that draft by n-grams.",
        ),
    ] = None
    draft_method: Annotated[
        str | None,
        _option(
            "--draft-method",
            "METHOD",
            "Of llama-cpp: argmax (default) or sampled draft tokens.",
            *DRAFT_METHODS,
        ),
    ] = None
    timeout: Annotated[
        float | None,
        _option("--timeout", "SECONDS", "Longest that a server may take for one answer (1800)."),
    ] = None

    def chosen(self) -> ChosenEngines:
        """The engines that these options name. Raises CannotRunError in one line."""
        from pathlib import Path

        from benchlint.reproducers.engine_choice import EngineChoice, chosen_engines

        def path(text: str | None) -> Path | None:
            return None if text is None else Path(text)

        choice = EngineChoice(
            endpoint=self.endpoint,
            baseline_endpoint=self.baseline_endpoint,
            model=self.model,
            baseline_model=self.baseline_model,
            key_variable=self.api_key_env,
            baseline_key_variable=self.baseline_api_key_env,
            target=path(self.target_model),
            drafter=path(self.draft_model),
            engine=self.engine,
            llama_server=path(self.llama_server),
            server_arguments=tuple(self.server_arg or ()),
            threads=self.threads,
            gpu_layers=self.gpu_layers,
            ngram_size=self.ngram_size,
            draft_method=self.draft_method,
            timeout_s=self.timeout,
        )
        return chosen_engines(choice)


def with_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """A function for Typer that takes each engine option, in place of one `engine`.

    Typer reads options out of a signature. The engine options stand where `engine` stood.
    """
    hints = get_type_hints(EngineOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = {
        each.name: inspect.Parameter(
            each.name, keyword, default=each.default, annotation=hints[each.name]
        )
        for each in fields(EngineOptions)
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        engine = EngineOptions(**{name: given.pop(name) for name in options})
        command(engine=engine, **given)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        place = [each.replace(kind=keyword)] if each.name != "engine" else options.values()
        parameters.extend(place)
    # functools.wraps set attributes that Typer would follow to the command itself.
    del run.__wrapped__
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
