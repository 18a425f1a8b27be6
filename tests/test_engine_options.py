"""The engine options of a command arrive as one argument."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from benchlint import completion
from benchlint.engine_options import EngineOptions, with_engine_options
from benchlint.reproducers.engine_choice import ENGINES, OPTIONS


def _app(seen: list[object]) -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @with_engine_options
    def measure(
        report: Annotated[str, typer.Argument()],
        engine: EngineOptions,
        seed: Annotated[int, typer.Option("--seed")] = 0,
    ) -> None:
        """Measure it."""
        seen.extend((report, engine, seed))

    return app


def test_the_options_of_a_command_and_of_its_engine_stand_side_by_side() -> None:
    seen: list[object] = []
    line = ["a.json", "--endpoint", "http://127.0.0.1:9", "--seed", "3", "--threads", "2"]
    assert CliRunner().invoke(_app(seen), line).exit_code == 0
    assert seen == ["a.json", EngineOptions(endpoint="http://127.0.0.1:9", threads=2), 3]


def test_every_way_to_choose_an_engine_is_an_option() -> None:
    shown = CliRunner().invoke(_app([]), ["--help"], terminal_width=200).output
    assert "Measure it." in shown
    assert [name for name in OPTIONS.values() if f"{name} " not in shown] == []


def test_options_become_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "value-of-it")
    options = EngineOptions(endpoint="http://127.0.0.1:9/v1", api_key_env="KEY_OF_TEST")
    with options.chosen() as chosen:
        assert chosen.secrets == ("value-of-it",)


def test_the_words_that_are_completed_are_those_that_are_known() -> None:
    assert completion.ENGINES == ENGINES
