"""Reports in which every text is hostile, through the command, in every format.

What a format makes of hostile findings is tested in test_formats.py; here the text has to get
through reading, rules and command line first, and the name of the file is hostile as well.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.protocols import Validator
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from benchlint.app import app
from benchlint.checker.formats import FORMATS
from tests.fuzzing import Tree, honest_reports, report_schema
from tests.html_checks import check_page
from tests.mutations import complete_report
from tests.poisons import POISONS
from tests.simulator import Printed, dumps


def poisoned(tree: Any, poison: str, name: str = "") -> Any:
    """The tree with the poison behind every text and every name that is free."""
    if isinstance(tree, dict):
        free = name in FREE_NAMES
        return {
            (key + poison if free else key): poisoned(value, poison, "" if free else key)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [poisoned(each, poison, name) for each in tree]
    if isinstance(tree, Printed) or not isinstance(tree, str):
        return tree
    return tree if name in CHOICES else tree + poison


#: Members whose own members have any name, and members that are one of a few words.
FREE_NAMES = frozenset(
    {"configurations", "workloads", "mix", "environment", "extensions", "finish_reasons", "others"}
)


def _choices() -> frozenset[str]:
    schema = report_schema()
    models = [schema, *schema["$defs"].values()]
    members = [each for model in models for each in model["properties"].items()]
    return frozenset(name for name, member in members if '"enum"' in json.dumps(member))


CHOICES = _choices() | {"benchlint"}


def hostile_reports(poison: str) -> list[Tree]:
    """Honest reports made hostile, with something wrong of every kind: names in messages."""
    trees = honest_reports()
    return [hostile(tree, poison) for tree in (trees[0], trees[1], trees[-1])]


def hostile(tree: Tree, poison: str) -> Tree:
    """The report with every text hostile, and much wrong with it."""
    return _with_faults(poisoned(tree, poison), poison)


def _with_faults(tree: Tree, poison: str) -> Tree:
    first = tree["runs"][0]
    for each in tree.get("claims", []):
        each["of"] += poison  # a choice of a few words elsewhere, a name here
    wrong = {
        "id": first["id"],
        "configuration": f"none{poison}",
        "workload": f"none{poison}",
        "parts": [f"none{poison}"],
        "decode": {"tok_s": f"80{poison}", f"tok_s{poison}": 1, poison: [poison]},
        "speculation": {"acceptance_rate": 36.5, "accepted_length": 99.5},
        "notes": f"key sk-{'a1B2c3D4' * 4} of /home/someone{poison}/x at 10.0.0.7{poison}",
        "conditions": {"warm": poison, "arm_order": poison},
    }
    claim = {
        "id": f"c{poison}",
        "text": f"2.5 times as fast{poison}",
        "metric": f"decode.tok_s{poison}",
        "of": f"none{poison}",
        "to": first["id"],
        "relation": "ratio",
        "value": 9.5,
    }
    claims = [claim, {**claim, "metric": "decode.tok_s", "of": first["id"]}]
    return {
        **tree,
        "runs": [*tree["runs"], wrong],
        "claims": [*tree.get("claims", []), *claims],
        f"extra{poison}": poison,
    }


# --- the command, and what it may write ------------------------------------------------------


def is_shown(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def check_lines(output: str) -> None:
    """Nothing hides, and the log of a workflow finds no legacy command, wherever in a line."""
    assert "##[" not in output
    line = output.replace("\n", "")
    assert line.isprintable() or all(map(is_shown, line))


def check_text(output: str) -> None:
    """Nothing acts on a terminal, and no line is a command of a workflow."""
    check_lines(output)
    assert not any(line.lstrip().startswith("::") for line in output.split("\n"))
    check_lines(re.sub(r"\x1b\[[0-9;]*m", "", output))


def check_json(output: str) -> None:
    check_lines(output)
    parsed = json.loads(output)
    findings_schema().validate(parsed)
    json.dumps(parsed, ensure_ascii=False).encode()  # raises where there is half a character
    assert all(each["findings"] for each in parsed["files"])


def check_jsonl(output: str) -> None:
    check_lines(output)
    for line in output.splitlines():
        assert json.loads(line)["code"].startswith("BL")


def check_sarif(output: str) -> None:
    check_lines(output)
    log = json.loads(output)
    sarif_schema().validate(log)
    assert log["runs"][0]["results"]


def check_github(output: str) -> None:
    """Each line is one of ours, and none holds another (actions/runner, ActionCommand.cs)."""
    check_lines(output)
    for line in output.splitlines():
        command = re.fullmatch(r"::(?:error|warning|notice) ([^:\r\n]*)::(.*)", line)
        assert command is not None, line
        names = [each.partition("=")[0] for each in command[1].split(",")]
        assert set(names) <= {"file", "line", "col", "endColumn", "title"}


def check_gitlab(output: str) -> None:
    check_lines(output)
    issues = json.loads(output)
    assert issues
    for issue in issues:
        assert issue["severity"] in ("major", "minor", "info")
        assert issue["location"]["lines"]["begin"] > 0


def check_junit(output: str) -> None:
    check_lines(output)
    root = ET.fromstring(output)  # noqa: S314 - written by us a moment ago
    assert {each.tag for each in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "system-out")
    }
    assert root.findall("testsuite/testcase/failure")


def check_markdown(output: str) -> None:
    """Only code spans quote the report; all else is ours."""
    check_lines(output)
    for token in MarkdownIt("commonmark").enable("table").parse(output):
        if token.type == "html_block":
            assert OUR_BLOCK.fullmatch(token.content.strip())
        for child in token.children or []:
            assert child.type in MARKDOWN_PARTS, child.content
            if child.type == "html_inline":
                assert child.content == "<br>"
            if child.type == "text":
                assert OUR_TEXT.fullmatch(child.content), child.content


MARKDOWN_PARTS = ("text", "code_inline", "html_inline", "strong_open", "strong_close")
OUR_BLOCK = re.compile(r"</details>|<details><summary>[\w ,:]+</summary>")
OUR_TEXT = re.compile(r"[\w ,:()…❌⚠️ℹ]*")

CHECKS = {
    "text": check_text,
    "json": check_json,
    "jsonl": check_jsonl,
    "sarif": check_sarif,
    "github": check_github,
    "gitlab": check_gitlab,
    "junit": check_junit,
    "markdown": check_markdown,
    "html": check_page,
}


@cache
def findings_schema() -> Validator:
    text = (files("benchlint.schemas") / "findings-v1.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


@cache
def sarif_schema() -> Validator:
    file = Path(__file__).parent / "fixtures" / "sarif-schema-2.1.0.json"
    return Draft4Validator(json.loads(file.read_text("utf-8")))


def file_name(poison: str, suffix: str) -> str:
    """A name that a file can have, with as much of the poison as has room."""
    name = poison.replace("/", "").replace("\0", "").replace("\ud800", "").replace("\udfff", "")
    while len(os.fsencode(name)) > 200:
        name = name[:-1]
    return f"r{name}{suffix}"


def run(*arguments: str, stdin: bytes = b"", code: int = 1) -> str:
    """What the command writes; what it says beside can be shown as well."""
    result = CliRunner().invoke(app, arguments, input=stdin, prog_name="benchlint")
    assert result.exit_code == code, result.stderr
    check_lines(result.stderr)
    return result.stdout_bytes.decode("utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


any_name = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are not any bytes")
each_poison = pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)


def test_every_format_is_checked() -> None:
    assert set(CHECKS) == set(FORMATS)


@any_name
@each_poison
@pytest.mark.parametrize("output_format", FORMATS)
def test_hostile_reports(folder: Path, poison: str, output_format: str) -> None:
    for number, tree in enumerate(hostile_reports(poison)):
        name = file_name(poison, f"{number}.json")
        (folder / name).write_text(dumps(tree), "utf-8")
    CHECKS[output_format](run("check", "--format", output_format, "--color", "never", "."))


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_large_report_with_everything_hostile(folder: Path, output_format: str) -> None:
    largest = max(honest_reports(), key=lambda tree: len(dumps(tree)))
    (folder / "a.json").write_text(dumps(hostile(largest, "".join(POISONS.values()))), "utf-8")
    CHECKS[output_format](run("check", "--format", output_format, "--color", "never", "a.json"))


@each_poison
def test_hostile_colours(poison: str) -> None:
    report = dumps(hostile(honest_reports()[0], poison)).encode()
    output = run("check", "--color", "always", "-", stdin=report)
    check_lines(re.sub(r"\x1b\[[0-9;]*m", "", output))


@each_poison
@pytest.mark.parametrize("suffix", [".json", ".yaml", ".toml", ".md", ".jsonl"])
def test_hostile_texts_that_are_no_reports(folder: Path, poison: str, suffix: str) -> None:
    text = f'{{"benchlint": "1",\n "runs": [{{"id": "{poison}", {poison}'
    text = f"```benchlint\n{text}" if suffix == ".md" else text
    (folder / f"a{suffix}").write_bytes(text.encode("utf-8", "surrogatepass"))
    for output_format in FORMATS:
        output = run("check", "--format", output_format, "--color", "never", f"a{suffix}")
        CHECKS[output_format](output)


@any_name
@each_poison
def test_hostile_names_of_what_is_not_there(folder: Path, poison: str) -> None:
    (folder / "a.json").write_text('{"benchlint": "1"}')
    name = re.sub(r"[\[*?]", "", file_name(poison, ""))  # no glob
    for output_format in FORMATS:
        CHECKS[output_format](run("check", "--format", output_format, f"absent{name}"))
    for start in ("::", " ::", "##[", ""):
        check_text(run("check", start.replace("[", "") + name))
    run("check", "--format", name, "a.json", code=2)
    run("check", "--select", name, "a.json", code=2)
    run("check", "--config", f"absent{name}", "a.json", code=2)
    run("check", "--schema", f"absent{name}", "a.json", code=2)
    run("check", "--baseline", f"absent{name}", "a.json", code=2)
    run("explain", name, code=2)


@each_poison
def test_hostile_diffs_and_fixes(folder: Path, poison: str) -> None:
    (folder / "a.json").write_text(dumps(hostile(honest_reports()[0], poison)), "utf-8")
    assert "+" in run("check", "--diff", "a.json")
    run("check", "--fix", "--quiet", "a.json")
    assert "36.5" not in (folder / "a.json").read_text("utf-8")


@each_poison
def test_hostile_configurations(folder: Path, poison: str) -> None:
    text = poison.encode("utf-8", "replace").decode()
    reason = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    lines = ["[[suppress]]", 'rule = "BL2"', f"reason = {reason}", "expires = 2001-01-01"]
    (folder / "benchlint.toml").write_text("\n".join(lines), "utf-8")
    (folder / "a.json").write_text(dumps(hostile(honest_reports()[0], poison)), "utf-8")
    for output_format in FORMATS:
        CHECKS[output_format](run("check", "--format", output_format, "--color", "never", "a.json"))


@each_poison
def test_hostile_schemas(folder: Path, poison: str) -> None:
    schema = {"properties": {"runs": {"items": {"not": {}, "description": poison}}}}
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "a.json").write_text(dumps(hostile(honest_reports()[0], poison)), "utf-8")
    for output_format in FORMATS:
        options = ("--schema", "schema.json", "--format", output_format, "--color", "never")
        CHECKS[output_format](run("check", *options, "a.json"))


# --- texts of any length ---------------------------------------------------------------------

#: Bytes of output for one report, whatever is in it.
MOST = {"github": 60_000, "markdown": 400_000}
MOST_OF_ALL = 1_500_000


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_megabyte_of_text_does_not_come_out_again(folder: Path, output_format: str) -> None:
    tree = _with_faults(complete_report(1), "x\x1b`|推" * 200_000)
    (folder / "a.json").write_text(dumps(tree))
    output = run("check", "--format", output_format, "--color", "never", "a.json")
    assert len(output.encode()) < MOST.get(output_format, MOST_OF_ALL)


@pytest.mark.parametrize("output_format", FORMATS)
def test_long_names_do_not_come_out_with_each_finding(folder: Path, output_format: str) -> None:
    name = "x" * 100_000
    unknown = {f"unknown{i}": 1 for i in range(1_500)}
    tree = {"benchlint": "1", "configurations": {name: {**unknown, "machine": unknown}}}
    (folder / "a.json").write_text(json.dumps(tree))
    output = run("check", "--format", output_format, "--color", "never", "a.json")
    assert len(output.encode()) < 10_000_000  # the names alone would make 150 MB
