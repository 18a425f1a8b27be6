"""Every command line that README.md and docs/ show is one that benchlint takes.

All are parsed, and those that need no engine are run beside small files of the names they use.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchlint.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

#: What such a line has beside its words: a prompt or a pipe before it, a place and more behind.
_BEFORE = re.compile(r"^(?:\$ |.* \| )?(?=benchlint )")
_BEHIND = re.compile(r" (?:>>?|&&) .*| {3,}.*")

#: Words that stand for something of the reader's own.
_PLACEHOLDERS = re.compile(r"…|\b[A-Z]{2,}\b(?<!BL)")

NEED_AN_ENGINE = {"measure", "reproduce", "verdict", "ci"}


def commands_in(page: str) -> Iterator[str]:
    """Command lines of code blocks and code spans, each without what the shell does with it."""
    joined = page.replace("\\\n", " ")
    blocks = re.findall(r"^```.*?^```|(?<=\n\n)(?: {4}.*\n)+", joined, re.DOTALL | re.MULTILINE)
    lines = [
        line.strip()
        for block in blocks
        for line in block.splitlines()
        if line.startswith(("$ ", "    "))  # less is the text of a help
    ]
    spans = re.findall(r"`(benchlint [a-z]+ [^`\n]+)`", joined)
    for line in [*(each for each in lines if _BEFORE.match(each)), *spans]:
        yield _BEHIND.sub("", _BEFORE.sub("", line))


def documented() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for line in dict.fromkeys(commands_in(page.read_text("utf-8"))):
            yield line, shlex.split(line)[1:]


DOCUMENTED = dict(documented())


def test_command_lines_are_found() -> None:
    assert len(DOCUMENTED) > 50
    for line in (
        "benchlint reproduce run1/report.json --target-model 8b.gguf --draft-model 1b.gguf",
        "benchlint compare - report.json",
        "benchlint init report.toml",
        "benchlint explain BL201",
    ):
        assert line in DOCUMENTED


@pytest.mark.parametrize("line", DOCUMENTED)
def test_a_documented_command_line_is_taken(line: str) -> None:
    group = typer.main.get_command(app)
    name, *words = DOCUMENTED[line]
    if name == "--help" or words[-1:] == ["--help"]:
        return  # its output is what the page shows, which tests/test_docs.py compares
    context = group.make_context("benchlint", [name, *words])
    command = group.get_command(context, name)  # type: ignore[attr-defined]
    assert command is not None, line
    command.make_context(name, words, parent=context)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of each name that is used."""
    report = ROOT / "examples" / "dflash.json"
    for name in ("report.json", "old.json", "new.json", "run1/report.json", "results/bench.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(report, tmp_path / name)
    for name in ("verdict.json", "verdict/verdict.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "examples" / "h200" / "verdict" / "verdict.json", tmp_path / name)
    for name in ("before", "after"):
        metrics = ROOT / "tests" / "replies" / f"vllm-draft-metrics-{name}.txt"
        shutil.copy(metrics, tmp_path / f"{name}.txt")
    (tmp_path / "package.json").write_text('{"name": "demo", "version": "1.0.0"}', "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: Command lines with results of tools, which tests/importers has files of.
_OF_TOOLS = ("bench.json", "plain.json", "result.json", "answers.jsonl", "server.log")


#: What is shown since it cannot run.
_CANNOT_RUN = ("benchlint check package.json", "benchlint check --update-baseline")


def _runs_alone(line: str) -> bool:
    name, *words = DOCUMENTED[line]
    if name in NEED_AN_ENGINE and "--plan" not in words:
        return False
    if any(_PLACEHOLDERS.search(word) for word in words if not word.startswith("BL")):
        return False
    return not any(word in _OF_TOOLS for word in words)


@pytest.mark.parametrize("line", [each for each in DOCUMENTED if _runs_alone(each)])
@pytest.mark.usefixtures("folder")
def test_a_documented_command_line_runs(line: str) -> None:
    said = (ROOT / "examples" / "dflash.json").read_text("utf-8")
    if line == "benchlint init":
        Path("report.json").unlink()
    result = CliRunner().invoke(app, DOCUMENTED[line], input=said)
    assert result.exception is None or isinstance(result.exception, SystemExit), line
    assert (result.exit_code == 2) == (line in _CANNOT_RUN), result.output
