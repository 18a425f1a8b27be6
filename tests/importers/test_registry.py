"""What holds of every importer: names, fields, hints, and that nothing makes it raise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.definitions import sources_of
from benchlint.checker.errors import CannotRunError
from benchlint.checker.importers.fields import STANDINS, report_path
from benchlint.checker.importers.importer import Confidence, Head, Importer
from benchlint.checker.importers.registry import importer_named, importers
from benchlint.checker.model import Block, Report, models_in
from tests.importers.reading import findings

EACH = pytest.mark.parametrize("importer", importers(), ids=lambda each: each.name)


def test_names_are_used_once() -> None:
    names = [each.name for each in importers()]
    assert len(set(names)) == len(names)


def _exists(path: str) -> bool:
    """Whether the format has a field at a path such as `runs[].decode.tok_s.value`."""
    models: list[type[Block]] = [Report]
    for part in path.split("."):
        if part == "*" or part.isdecimal():
            continue
        name = part.removesuffix("[]")
        fields = [m.model_fields[name] for m in models if name in m.model_fields]
        if not fields:
            return False
        models = [m for field in fields for m in models_in(field.annotation)] or models
    return True


@EACH
def test_fields_and_hints_are_about_what_the_format_has(importer: Importer) -> None:
    assert importer.fields
    for field in importer.fields:
        assert _exists(report_path(field.to)), field.to
        first = field.to.partition(".")[0]
        assert first in STANDINS or first in Report.model_fields, field.to
    for path in importer.hints:
        assert _exists(path), path


@EACH
def test_its_definitions_are_in_the_table(importer: Importer) -> None:
    for engine in importer.engines:
        assert sources_of(engine, None), engine


def test_the_help_of_convert_names_every_tool() -> None:
    shown = CliRunner().invoke(app, ["convert", "--help"]).stdout
    listed = shown.partition("(--from):")[2].partition("Exit codes")[0]
    assert sorted(listed.replace(",", " ").split()) == sorted(each.name for each in importers())


def test_a_name_that_is_none_gets_the_nearest() -> None:
    with pytest.raises(CannotRunError, match="did you mean 'llama-bench'"):
        importer_named("lama-bench")


#: Texts that make a careless pattern try the same thing again and again.
_LARGE = 100_000

HOSTILE = [
    "|" * _LARGE,
    "|-" * _LARGE,
    "> " * _LARGE + "| tok/s |\n|---|\n| 1 |",
    "# " + "#" * _LARGE + " x",
    " " * _LARGE + "x",
    "| tok/s | " + "[a](" * _LARGE + " |\n|---|---|\n| 1 | 2 |",
    "```\nacc = 1 tok/s = 2\n```\n" * 500,
    'tok/s,acceptance,"' + '""' * _LARGE + "\n1,2\n",
    "| tok/s | τ |\n|---|---|\n| " + "1" * _LARGE + " | 1" + ",111" * _LARGE + " |",
    "| tok/s |\n|---|\n" + "| 1e999 |\n| -0 |\n| ٣ |\n| ² |\n| 1_0 |\n",
    "",
    "\n\n\n",
    "[" * 2000,
    '{"a":' * 2000,
    "| a |\n|---|\n" + "| b |\n" * 100,
    '{"build_commit": [], "model_type": {}, "n_prompt": "x", "n_gen": -1, "avg_ts": "nan"}',
    "\x00\x01\x02" * 50,
    "a,b,c\n1,2\n" * 20,
    '"' * 5000,
    "τ" * 5000,
]


@EACH
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_never_raises(importer: Importer, text: str, tmp_path: Path) -> None:
    assert importer.recognise(Head(text)) in Confidence
    findings(tmp_path, text, tool=importer.name)


@EACH
def test_random_lines_never_raise(importer: Importer, tmp_path: Path) -> None:
    words = [
        "|",
        "---",
        "12.5",
        "tok/s",
        '"',
        "'",
        ",",
        "{",
        "}",
        "[",
        ":",
        "±",
        "build:",
        "\t",
        "(",
    ]
    for seed in range(30):
        made = random.Random(seed)
        text = "".join(made.choice([*words, " ", "\n", "x1"]) for _ in range(400))
        assert importer.recognise(Head(text)) in Confidence
        findings(tmp_path, text, tool=importer.name)


@EACH
@pytest.mark.parametrize("sign", ["\n", " ", "=", "|", "#", "{", '"'])
def test_a_long_text_of_one_sign_takes_no_time(importer: Importer, sign: str) -> None:
    """A pattern that tries each place anew would never come to an end here."""
    assert importer.recognise(Head(sign * 400_000)) in Confidence
