"""What may import what, and what `check` must not import."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("checker", "cli", "reproducers", "schemas", "templates", "tests", "docs", "benchmarks")

#: Nothing of these is on the way of checking a JSON report.
NOT_FOR_CHECK = {"httpx", "jinja2", "numpy", "rich", "yaml", "tomllib", "jsonschema", "llama_cpp"}

#: Nor are these of the standard library, which are slow to import.
SLOW = {"multiprocessing", "concurrent", "asyncio", "unittest"}


def _modules_after(*arguments: str) -> set[str]:
    """The modules that are loaded when the command has run in a process of its own."""
    program = (
        "import sys\n"
        "from benchlint.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code in (0, 1), end.code\n"
        "sys.stderr.write('\\n'.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def _top(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_check_of_a_json_report_imports_no_extras(tmp_path: Path, output: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"benchlint": "1", "runs": [{"id": "a", "decod": {}}]}))
    modules = _modules_after("check", "--no-config", "--quiet", "--format", output, str(path))
    assert "benchlint.checker.rules" in modules
    assert _top(modules) & NOT_FOR_CHECK == set()
    assert _top(modules) & SLOW == set()
    assert not {m for m in modules if m.startswith("benchlint.reproducers")}
    assert not {m for m in modules if m.startswith("benchlint.checker.importers")}


def test_version_does_not_import_pydantic() -> None:
    assert "pydantic" not in _top(_modules_after("--version"))


def _sources() -> list[Path]:
    return [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))]


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", _sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_source_imports_only_what_it_may(path: Path) -> None:
    imported = set(_imported(path))
    folder = path.relative_to(ROOT).parts[0]
    plain = {"checker", "cli", "reproducers", "schemas", "templates"}
    assert _top(imported) & plain == set(), "import benchlint.checker and so on"
    if folder == "checker":
        assert not {m for m in imported if m.startswith("benchlint.reproducers")}
    if folder in ("checker", "reproducers"):
        ours = {m.split(".")[1] for m in imported if m.startswith("benchlint.")}
        assert ours <= {"checker", "reproducers", "schemas", "templates"}, "cli is the top"
