"""The output formats: what they say, and that nothing in a report can make them say more."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tracemalloc
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.protocols import Validator
from markdown_it import MarkdownIt

from benchlint.checker import html_pages
from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import FileResult, Finding, Location, Related, Severity
from benchlint.checker.formats import (
    FORMATS,
    Options,
    Summary,
    escape,
    html,
    make_format,
    sarif,
    spool,
)
from tests.html_checks import Element, check_page

FIXTURES = Path(__file__).parent / "fixtures"
SGR = re.compile(r"\x1b\[[0-9;]*m")

DRAFT_LENGTH = Related(
    "/configurations/a/draft_length",
    'K = 4 ("draft_length": 4)',
    Location(12, 21, 22, '    "draft_length": 4,', 21),
)
OUT_OF_BOUNDS = Finding(
    code="BL201",
    name="accepted-length-out-of-bounds",
    severity=Severity.ERROR,
    message="τ 5.3 > K + 1 = 5",
    pointer="/runs/0/speculation/accepted_length",
    related=(DRAFT_LENGTH,),
    help="report the mean over verify steps",
    location=Location(41, 26, 29, '      "accepted_length": 5.3', 26),
)
UNREADABLE = Finding("BL013", "unreadable-file", Severity.ERROR, "no such file")
COLD = Finding("BL401", "cold-run", Severity.WARNING, "the run was cold", "/runs/0")
NO_DEVICE = Finding("BL112", "device", Severity.NOTE, "no device is named", help="name it")
NO_VERSION = Finding("BL113", "engine-version", Severity.NOTE, "llama.cpp without a version")


def result(*findings: Finding, path: str = "report.json", suppressed: int = 0) -> FileResult:
    return FileResult(path, findings, suppressed)


def render(name: str, *results: FileResult, **options: Any) -> str:
    stream = io.StringIO(newline="")
    writer = make_format(name, stream, Options(**options))
    summary = Summary()
    writer.begin()
    for each in results:
        summary.add(each)
        writer.add(each)
    writer.end(summary)
    return stream.getvalue()


# Hostile input: every string of a finding, its excerpts and its path.

NASTY = [
    *("\x00", "\x07", "\x1b[31m", "\x1b]0;title\x07", "\x7f", "\x85", "\x9b31m", "\r", "\n"),
    *("\u061c", "\u200b", "\u200f", "\u2028", "\u2029", "\u202e", "\u2066", "\ufeff", "\ufffe"),
    *("\ud800", "\udc80", "\udfff", "\U000e0041", "\U0001f600", "e\u0301", "推論", "\t", "\u3000"),
    *("]]>", "<![CDATA[", "<!--", "&#0;", "&", "<img src=x onerror=alert(1)>", "</details>"),
    *("\n::error::x", "\r\n::set-output name=a::b", "##[error]x", "##[##[add-mask]x", "%0A::x"),
    *("`", "``", "```\n", "|", "\\|", "\\\\|", "\\", "@everyone", "#123", "![a](http://b/c.png)"),
    *("[x](javascript:alert(1))", "https://example.org", "<!-- -->", "{0}", "::", ",", "%", "'"),
    *('"', " ", "a", "../", "/", ":", "~~", "$", "- ", "| a | b |", "BL107", "\n\n# h\n"),
]
hostile = st.lists(st.sampled_from(NASTY) | st.characters(), max_size=8).map("".join)
codes = st.sampled_from(["BL001", "BL107", "BL112", "BL201", "BL601"]) | hostile
numbers = st.integers(1, 10**6)
columns = st.tuples(st.integers(1, 40), st.integers(1, 40))
locations = st.builds(
    lambda line, span, excerpt, at: Location(line, span[0], sum(span), excerpt, at),
    *(numbers, columns, hostile, st.integers(1, 60)),
)
relateds = st.builds(Related, hostile, hostile, st.none() | locations)
findings = st.builds(
    Finding,
    code=codes,
    name=hostile,
    severity=st.sampled_from(Severity),
    message=hostile,
    pointer=hostile,
    related=st.lists(relateds, max_size=3).map(tuple),
    help=hostile,
    location=st.none() | locations,
)
results = st.builds(FileResult, hostile, st.lists(findings, max_size=4).map(tuple), numbers)
reports = st.lists(results, max_size=3)

with_hostile = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def is_visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def check_text(output: str, *, color: bool) -> None:
    plain = SGR.sub("", output) if color else output
    assert all(is_visible(char) for char in plain.replace("\n", ""))


def check_github(output: str) -> list[tuple[str, dict[str, str], str]]:
    assert "##[" not in output
    assert all(is_visible(char) for char in output.replace("\n", ""))
    commands = [parse_command(line) for line in output.splitlines()]
    for name in ("error", "warning", "notice"):
        assert sum(command[0] == name for command in commands) <= 10
    return commands


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """As actions/runner does it, src/Runner.Common/ActionCommand.cs, TryParseV2."""
    assert line.startswith("::")
    end = line.index("::", 2)
    name, _, listed = line[2:end].partition(" ")
    assert name in ("error", "warning", "notice")
    pairs = [pair.partition("=") for pair in listed.split(",")]
    properties = {key: unescape(value, ":,") for key, _, value in pairs}
    assert set(properties) <= {"file", "line", "col", "endColumn", "title"}
    return name, properties, unescape(line[end + 2 :], "")


def unescape(text: str, special: str) -> str:
    for char in "\r\n" + special:
        text = text.replace(f"%{ord(char):02X}", char)
    return text.replace("%25", "%")


@cache
def findings_schema() -> Validator:
    """The published schema, closed: it must describe each member that is written."""
    schema = json.loads((files("benchlint.schemas") / "findings-v1.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    for each in [schema, schema["properties"]["tool"], *schema["$defs"].values()]:
        if each.get("type") == "object":
            each["additionalProperties"] = False
    return Draft202012Validator(schema)


@cache
def sarif_schema() -> Validator:
    text = (FIXTURES / "sarif-schema-2.1.0.json").read_text("utf-8")
    return Draft4Validator(json.loads(text))


def check_sarif(output: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(output)
    sarif_schema().validate(log)
    run = log["runs"][0]
    for each in run["results"]:
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
        (location,) = each["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(file:///)?[A-Za-z0-9._~%/-]*", uri)
        region = location["physicalLocation"]["region"]
        assert region["startLine"] == region["endLine"]
        assert region["startColumn"] <= region["endColumn"]
        assert "](" not in each["message"]["text"]
    return run


def check_markdown(output: str, reported: list[FileResult]) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(output)
    for token in tokens:
        if token.type == "html_block":
            assert re.fullmatch(
                r"<details><summary>[\w ,:]*</summary>|</details>", token.content.strip()
            )
        for child in token.children or []:
            assert child.type in (
                "text",
                "code_inline",
                "html_inline",
                "strong_open",
                "strong_close",
            )
            if child.type == "html_inline":
                assert child.content == "<br>"
            if child.type == "text":
                assert re.fullmatch(r"[\w ,:()…❌⚠️ℹ]*", child.content), child.content
            if child.type == "code_inline":
                assert all(map(is_visible, child.content))
    kinds = [token.type for token in tokens]
    every = [finding for each in reported for finding in each.findings]
    missing = sum(finding.code.startswith("BL1") for finding in every)
    assert kinds.count("list_item_open") == missing
    tables = kinds.count("table_open")
    assert kinds.count("tr_open") == len(every) - missing + tables
    assert kinds.count("td_open") == 3 * (len(every) - missing)


def check_junit(output: str, reported: list[FileResult]) -> ET.Element:
    root = ET.fromstring(output)  # noqa: S314 - expat refuses nothing that is well-formed here
    assert len(root) == len(reported)
    for suite, each in zip(root, reported, strict=True):
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.attrib["tests"]) == max(1, len(each.findings))
        assert len(suite.findall("testcase/failure")) == int(suite.attrib["failures"])
        assert all(is_visible(char) for char in suite.attrib["name"])
    return root


def _items(of: Element) -> list[Element]:
    return of.inside if of.attributes.get("class") == "list" else []


class TestHostileText:
    @given(reports, st.booleans())
    @with_hostile
    def test_a_terminal_is_given_no_control(self, reported: list[FileResult], color: bool) -> None:
        check_text(render("text", *reported, color=color), color=color)

    @given(reports)
    @with_hostile
    def test_no_command_is_smuggled_into_a_workflow(self, reported: list[FileResult]) -> None:
        written = check_github(render("github", *reported))
        assert len(written) == sum(len(each.findings) for each in reported)

    @given(reports)
    @with_hostile
    def test_json_parses_and_keeps_its_schema(self, reported: list[FileResult]) -> None:
        output = render("json", *reported)
        parsed = json.loads(output)
        findings_schema().validate(parsed)
        json.dumps(parsed, ensure_ascii=False).encode()  # raises where there is a lone surrogate
        assert all(is_visible(char) for char in output.replace("\n", ""))
        assert [len(each["findings"]) for each in parsed["files"]] == [
            len(each.findings) for each in reported
        ]

    @given(reports)
    @with_hostile
    def test_a_json_line_is_a_finding_with_its_path(self, reported: list[FileResult]) -> None:
        definitions = {"$defs": findings_schema().schema["$defs"]}
        one = Draft202012Validator({"$ref": "#/$defs/finding", **definitions})
        lines = render("jsonl", *reported).splitlines()
        assert len(lines) == sum(len(each.findings) for each in reported)
        for line in lines:
            parsed = json.loads(line)
            assert isinstance(parsed.pop("path"), str)
            one.validate(parsed)

    @given(reports)
    @with_hostile
    def test_sarif_keeps_its_schema(self, reported: list[FileResult]) -> None:
        run = check_sarif(render("sarif", *reported))
        assert len(run["results"]) == sum(len(each.findings) for each in reported)

    @given(reports)
    @with_hostile
    def test_xml_parses(self, reported: list[FileResult]) -> None:
        check_junit(render("junit", *reported), reported)

    @given(reports)
    @with_hostile
    def test_markdown_is_ours_alone(self, reported: list[FileResult]) -> None:
        check_markdown(render("markdown", *reported), reported)

    @given(reports)
    @with_hostile
    def test_a_page_holds_what_is_ours_and_no_more(self, reported: list[FileResult]) -> None:
        root = check_page(render("html", *reported))
        found = [finding for each in reported for finding in each.findings]
        shown = root.all("article") + [li for ul in root.all("ul") for li in _items(ul)]
        assert len(shown) == len(found)

    @pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("json", "jsonl")])
    def test_a_megabyte_of_text_is_cut(self, name: str) -> None:
        huge = "\x1b`|@\ud800<" * 170_000
        place = Location(1, 500_000, 500_004, huge, 500_000)
        finding = Finding(
            huge,
            huge,
            Severity.ERROR,
            huge,
            huge,
            (Related(huge, huge, place),),
            huge,
            "",
            False,
            place,
        )
        output = render(name, result(finding, path="\x1b`|" * 1_300))
        assert len(output.encode()) < 120_000

    @pytest.mark.parametrize("name", ["json", "jsonl"])
    def test_data_is_not_cut(self, name: str) -> None:
        huge = "\x1b`|@<" * 200_000
        output = render(name, result(Finding("BL201", "n", Severity.ERROR, huge)))
        parsed = json.loads(output)
        found = parsed if name == "jsonl" else parsed["files"][0]["findings"][0]
        assert found["message"] == huge


class TestGitlab:
    """A code quality report of GitLab."""

    @given(reports)
    @with_hostile
    def test_an_array_of_issues_with_what_gitlab_asks_for(self, reported: list[FileResult]) -> None:
        issues = json.loads(render("gitlab", *reported))
        assert len(issues) == sum(len(each.findings) for each in reported)
        for issue in issues:
            assert set(issue) >= {"description", "check_name", "fingerprint", "severity"}
            assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
            assert issue["location"]["lines"]["begin"] >= 1
            assert escape.terminal(issue["description"], 10_000) == issue["description"]

    def test_one_finding(self) -> None:
        [issue] = json.loads(render("gitlab", result(OUT_OF_BOUNDS)))
        assert len(issue.pop("fingerprint")) == 64
        assert issue == {
            "description": "τ 5.3 > K + 1 = 5; help: report the mean over verify steps",
            "check_name": "BL201 accepted-length-out-of-bounds",
            "severity": "major",
            "location": {"path": "report.json", "lines": {"begin": 41}},
        }

    def test_fingerprints_survive_edits_and_tell_repeats_apart(self) -> None:
        moved = replace(OUT_OF_BOUNDS, message="other digits", location=Location(1, 1, 2))
        first, second = json.loads(render("gitlab", result(OUT_OF_BOUNDS, moved)))
        [edited] = json.loads(render("gitlab", result(moved)))
        assert first["fingerprint"] == edited["fingerprint"] != second["fingerprint"]


class TestText:
    def test_a_finding_is_shown_where_its_numbers_stand(self) -> None:
        assert render("text", result(OUT_OF_BOUNDS)) == (
            "report.json:41:26: error BL201 accepted-length-out-of-bounds\n"
            "  τ 5.3 > K + 1 = 5\n"
            '  12 |     "draft_length": 4,\n'
            '     |                     - K = 4 ("draft_length": 4)\n'
            '  41 |       "accepted_length": 5.3\n'
            "     |                          ^^^\n"
            "     = help: report the mean over verify steps\n"
            "\n"
            "1 error in 1 file\n"
            "`benchlint explain BL201` says why this matters and how to fix it\n"
        )

    def test_a_finding_about_the_file_has_no_excerpt(self) -> None:
        lines = render("text", result(UNREADABLE)).splitlines()
        assert lines[:3] == ["report.json: error BL013 unreadable-file", "  no such file", ""]

    def test_what_is_missing_is_one_block_after_the_other_findings(self) -> None:
        output = render("text", result(NO_DEVICE, OUT_OF_BOUNDS, NO_VERSION))
        block = output.split("\n\n")[1].splitlines()
        assert block[0] == "report.json: missing (2 notes)"
        assert block[1] == "  BL112 device          no device is named"
        assert block[2] == "  BL113 engine-version  llama.cpp without a version"
        assert block[3].startswith("  help: ")
        assert len(block) == 4

    def test_what_is_missing_is_sorted_by_severity_and_code(self) -> None:
        worse = Finding("BL119", "prompts-published", Severity.WARNING, "no prompts")
        lines = render("text", result(NO_VERSION, worse, NO_DEVICE)).splitlines()
        assert [line.split()[:2] for line in lines[1:4]] == [
            ["warning", "BL119"],
            ["note", "BL112"],
            ["note", "BL113"],
        ]
        assert len({line.index("BL1") for line in lines[1:4]}) == 1
        assert not any("why this matters" in line for line in lines)

    def test_one_severity_of_what_is_missing_is_said_once(self) -> None:
        lines = render("text", result(NO_VERSION, NO_DEVICE)).splitlines()
        assert [line.split()[0] for line in lines[1:3]] == ["BL112", "BL113"]

    def test_many_of_one_rule_are_a_line_each_after_the_first(self) -> None:
        other = replace(OUT_OF_BOUNDS, code="BL202", name="another")
        blocks = render("text", result(*[OUT_OF_BOUNDS] * 5, other)).split("\n\n")
        assert [block.count("^^^") for block in blocks] == [1, 1, 1, 0, 1, 0]
        assert (
            blocks[3].splitlines()
            == ["report.json:41:26: error BL201 accepted-length-out-of-bounds: τ 5.3 > K + 1 = 5"]
            * 2
        )

    def test_help_of_its_own_stays_in_the_line(self) -> None:
        own = replace(OUT_OF_BOUNDS, help="divide by 100: 0.36")
        output = render("text", result(*[OUT_OF_BOUNDS] * 3, own, OUT_OF_BOUNDS))
        assert output.count("(divide by 100: 0.36)\n") == 1
        assert output.count(OUT_OF_BOUNDS.help) == 3
        assert "divide" not in render("text", result(*[own] * 5), show_help=False)

    def test_each_file_shows_its_first_in_full(self) -> None:
        reports = [result(*[OUT_OF_BOUNDS] * 2, path=path) for path in ("a", "a", "b", "b")]
        output = render("text", *reports)
        assert output.count("^^^") == 6
        assert output.count("help: ") == 6

    def test_what_can_be_fixed_is_counted(self) -> None:
        output = render("text", replace(result(COLD), fixable=2), replace(result(), fixable=1))
        assert "1 warning in 1 file; 3 values fixable with --fix\n" in output

    def test_a_narrow_terminal_gets_no_line_that_wraps(self) -> None:
        help_ = "report the mean over verify steps of the same run and of no other run at all"
        long = '      "accepted_length": 5.3, ' + '"filler": 1, ' * 12
        finding = replace(
            OUT_OF_BOUNDS,
            message="accepted length τ 5.3 is more than K + 1 = 5, which no verify step can give",
            help=help_,
            location=Location(41, 26, 29, long, 26),
        )
        output = render("text", result(finding, NO_DEVICE, NO_VERSION), columns=40)
        body = output.split("\n\n")[0].splitlines()
        assert max(map(escape.width, body)) <= 40
        assert body[1:3] == ["  error BL201", "  accepted-length-out-of-bounds"]
        source, caret = next(pair for pair in pairwise(body) if "^" in pair[1])
        assert source[caret.index("^") :].startswith("5.3")
        assert " ".join(" ".join(body).split()).endswith(f"= help: {help_}")

    @given(
        st.text("ab推\t\x1b\u202e ", min_size=1, max_size=200),
        st.integers(0, 199),
        st.integers(20, 120),
    )
    def test_a_mark_stays_under_its_text_at_any_width(
        self, line: str, start: int, columns: int
    ) -> None:
        start %= len(line)
        marked = line[:start] + "X" + line[start + 1 :]
        at = Location(1, start + 1, start + 2, marked, start + 1)
        finding = replace(OUT_OF_BOUNDS, related=(), location=at)
        lines = render("text", result(finding), columns=columns).splitlines()
        source, caret = next(pair for pair in pairwise(lines) if pair[1].endswith("^"))
        assert escape.width(source[: source.index("X")]) == caret.index("^")
        assert escape.width(source) <= max(columns, 40) or columns > 100

    def test_the_totals_name_what_was_found(self) -> None:
        output = render("text", result(UNREADABLE), result(COLD, NO_DEVICE, path="b", suppressed=2))
        assert "1 error, 1 warning, 1 note in 2 files (2 suppressed)\n" in output

    def test_clean_files_leave_only_the_totals(self) -> None:
        assert render("text", result(), result(path="b")) == "no findings in 2 files\n"

    def test_help_can_be_turned_off(self) -> None:
        output = render("text", result(OUT_OF_BOUNDS, NO_DEVICE), show_help=False)
        assert "help:" not in output
        assert "explain" not in output

    def test_colour_adds_nothing_but_colour(self) -> None:
        plain = render("text", result(OUT_OF_BOUNDS, COLD, NO_DEVICE))
        colored = render("text", result(OUT_OF_BOUNDS, COLD, NO_DEVICE), color=True)
        assert "\x1b" not in plain
        assert SGR.sub("", colored) == plain
        assert colored.count("\x1b[0m") == len(SGR.findall(colored)) / 2

    @pytest.mark.parametrize(
        ("before", "columns"),
        [
            ("", 0),
            ("abc ", 4),
            ("\t", 4),
            ("推論", 4),
            ("e\u0301 ", 2),
            ("τ≥", 2),
            ("\x1b", 4),
            ("\u202e", 8),
            ("\ufeff\t推", 14),
        ],
    )
    def test_the_caret_stands_under_the_marked_text(self, before: str, columns: int) -> None:
        at = Location(1, 1, 4, before + "5.3 rest", len(before) + 1)
        finding = Finding("BL201", "n", Severity.ERROR, "m", location=at)
        source, caret = render("text", result(finding)).splitlines()[2:4]
        assert source.startswith("  1 | ")
        assert caret == "    | " + " " * columns + "^^^"

    def test_a_mark_on_wide_characters_is_wide(self) -> None:
        at = Location(1, 1, 3, "推論 x", 1)
        finding = Finding("BL201", "n", Severity.ERROR, "m", location=at)
        assert render("text", result(finding)).splitlines()[3] == "    | ^^^^"

    def test_a_long_line_is_cut_to_a_window_around_the_mark(self) -> None:
        line = "x" * 5_000 + "5.3" + "y" * 5_000
        finding = Finding(
            "BL201", "n", Severity.ERROR, "m", location=Location(1, 5_001, 5_004, line, 5_001)
        )
        source, caret = render("text", result(finding)).splitlines()[2:4]
        column = caret.index("^")
        assert source[column : column + 3] == "5.3"
        assert source.startswith("  1 | …x")
        assert source.endswith("y…")
        assert len(source) < 110

    def test_a_related_number_of_the_same_line_is_named_below(self) -> None:
        line = '{"draft_length": 4, "accepted_length": 5.3}'
        related = Related("", "K = 4", Location(1, 18, 19, line, 18))
        finding = Finding(
            "BL201",
            "n",
            Severity.ERROR,
            "m",
            "",
            (related,),
            location=Location(1, 40, 43, line, 40),
        )
        output = render("text", result(finding))
        assert output.count("draft_length") == 1
        assert "    = 1:18: K = 4\n" in output

    def test_two_related_numbers_of_one_line_share_its_excerpt(self) -> None:
        line = '  "values": [1.5, 2.5]'
        pair = (
            Related("", "second", Location(3, 19, 22, line, 19)),
            Related("", "first", Location(3, 14, 17, line, 14)),
        )
        finding = Finding("BL211", "n", Severity.ERROR, "m", "", pair)
        assert render("text", result(finding)).splitlines()[2:5] == [
            '  3 |   "values": [1.5, 2.5]',
            "    |              --- first",
            "    |                   --- second",
        ]

    def test_many_related_numbers_are_counted(self) -> None:
        many = tuple(Related("", f"sample {n}") for n in range(100))
        output = render("text", result(Finding("BL213", "n", Severity.ERROR, "m", "", many)))
        assert output.count("sample ") == 8
        assert "= and 92 more numbers\n" in output

    def test_a_label_far_to_the_right_stands_left_of_its_mark(self) -> None:
        line = "x" * 80 + "5.3"
        related = Related("", "a label of thirty characters!!", Location(2, 81, 84, line, 81))
        finding = Finding("BL201", "n", Severity.ERROR, "m", "", (related,))
        mark = render("text", result(finding)).splitlines()[3]
        assert mark == "    | " + f"{'a label of thirty characters!!':>79} ---"


class TestJson:
    def test_no_file_is_valid_too(self) -> None:
        parsed = json.loads(render("json"))
        findings_schema().validate(parsed)
        assert parsed["files"] == []

    def test_a_finding_has_all_its_members(self) -> None:
        parsed = json.loads(render("json", result(OUT_OF_BOUNDS), tool_version="1.2"))
        assert parsed["version"] == "1"
        assert parsed["tool"] == {"name": "benchlint", "version": "1.2"}
        assert parsed["files"][0]["findings"] == [
            {
                "code": "BL201",
                "name": "accepted-length-out-of-bounds",
                "severity": "error",
                "message": "τ 5.3 > K + 1 = 5",
                "pointer": "/runs/0/speculation/accepted_length",
                "line": 41,
                "column": 26,
                "end_column": 29,
                "related": [
                    {
                        "pointer": "/configurations/a/draft_length",
                        "message": 'K = 4 ("draft_length": 4)',
                        "line": 12,
                        "column": 21,
                    }
                ],
                "help": "report the mean over verify steps",
            }
        ]
        assert parsed["summary"] == {
            "files": 1,
            "errors": 1,
            "warnings": 0,
            "notes": 0,
            "suppressed": 0,
        }

    def test_letters_stay_readable_and_controls_lose_nothing(self) -> None:
        finding = Finding("BL703", "n", Severity.WARNING, "τ\x1b\u202e\U000e0041")
        output = render("json", result(finding))
        assert r"τ\u001b\u202e\udb40\udc41" in output
        assert json.loads(output)["files"][0]["findings"][0]["message"] == finding.message

    def test_the_schema_turns_down_a_finding_without_severity(self) -> None:
        parsed = json.loads(render("json", result(COLD)))
        del parsed["files"][0]["findings"][0]["severity"]
        assert not findings_schema().is_valid(parsed)


class TestSarif:
    def test_results_name_place_level_and_rule(self) -> None:
        run = check_sarif(render("sarif", result(NO_DEVICE, COLD, OUT_OF_BOUNDS)))
        assert [each["level"] for each in run["results"]] == ["error", "warning", "note"]
        region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
        assert region == {"startLine": 41, "startColumn": 26, "endLine": 41, "endColumn": 29}
        assert run["results"][0]["relatedLocations"][0]["message"]["text"] == DRAFT_LENGTH.message
        assert run["columnKind"] == "unicodeCodePoints"
        assert {each["id"] for each in run["tool"]["driver"]["rules"]} == {
            "BL112",
            "BL401",
            "BL201",
        }

    def test_an_empty_run_is_valid(self) -> None:
        assert check_sarif(render("sarif", result()))["results"] == []

    def test_a_rule_brings_its_own_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sarif, "rule_by_code", lambda code: _FakeRule() if code else None)
        (rule,) = check_sarif(render("sarif", result(COLD)))["tool"]["driver"]["rules"]
        assert rule["shortDescription"]["text"] == "A summary over two lines."
        assert rule["help"]["text"].endswith("\n\nWhy it matters:\n    Because.")
        assert rule["help"]["markdown"].endswith("\n\n**Why it matters**\n\nBecause.")
        assert rule["defaultConfiguration"]["level"] == "note"

    def test_fingerprints_outlive_moved_lines_and_changed_numbers(self) -> None:
        moved = Finding(
            "BL201",
            OUT_OF_BOUNDS.name,
            Severity.ERROR,
            "τ 5.4 > K + 1 = 5",
            OUT_OF_BOUNDS.pointer,
            OUT_OF_BOUNDS.related,
            location=Location(99, 1, 2),
        )
        assert _fingerprints(result(OUT_OF_BOUNDS)) == _fingerprints(result(moved))
        assert _fingerprints(result(OUT_OF_BOUNDS)) != _fingerprints(result(moved, path="b.json"))

    def test_fingerprints_of_like_findings_differ(self) -> None:
        assert len(set(_fingerprints(result(COLD, COLD, NO_DEVICE)))) == 3

    def test_errors_survive_the_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sarif, "MAX_RESULTS", 4)
        run = check_sarif(render("sarif", *[result(NO_DEVICE, COLD, OUT_OF_BOUNDS)] * 3))
        assert [each["level"] for each in run["results"]] == ["error"] * 3 + ["warning"]
        (notification,) = run["invocations"][0]["toolExecutionNotifications"]
        assert notification["message"]["text"].startswith("5 results of 9 left out")

    @pytest.mark.parametrize(
        ("path", "uri"),
        [
            ("a b/é.json", "a%20b/%C3%A9.json"),
            ("c:d.json", "c%3Ad.json"),
            ("./x/../y.json", "y.json"),
            ("a\udcff.json", "a%FF.json"),
            ("100%#?.json", "100%25%23%3F.json"),
        ],
    )
    def test_paths_are_relative_uris(self, path: str, uri: str) -> None:
        run = check_sarif(render("sarif", result(UNREADABLE, path=path)))
        place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": uri, "uriBaseId": "%SRCROOT%"}

    def test_a_path_elsewhere_is_a_file_uri(self, tmp_path: Path) -> None:
        base = tmp_path / "repository"
        run = check_sarif(render("sarif", result(COLD, path=f"{tmp_path}/x.json"), base=base))
        place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert unquote_to_bytes(place["uri"]) == b"file://" + bytes(tmp_path / "x.json")
        assert "uriBaseId" not in place

    def test_the_same_findings_give_the_same_bytes(self) -> None:
        reported = result(OUT_OF_BOUNDS, COLD, NO_DEVICE)
        assert render("sarif", reported) == render("sarif", reported)


class _FakeRule:
    severity = Severity.NOTE
    text = "A summary\n    over two lines.\n\n    Why it matters:\n        Because.\n    "


def _fingerprints(reported: FileResult) -> list[str]:
    run = check_sarif(render("sarif", reported))
    return [each["partialFingerprints"]["benchlint/v1"] for each in run["results"]]


class TestGithub:
    def test_an_annotation_has_place_title_and_help(self) -> None:
        ((name, properties, message),) = check_github(render("github", result(OUT_OF_BOUNDS)))
        assert name == "error"
        assert properties == {
            "file": "report.json",
            "line": "41",
            "col": "26",
            "endColumn": "29",
            "title": "BL201 accepted-length-out-of-bounds",
        }
        assert message == "τ 5.3 > K + 1 = 5\nhelp: report the mean over verify steps"

    def test_signs_that_end_a_property_are_escaped(self) -> None:
        output = render("github", result(UNREADABLE, path="a:b,c%2C::d.json"))
        assert "file=a%3Ab%2Cc%252C%3A%3Ad.json," in output
        assert check_github(output)[0][1]["file"] == "a:b,c%2C::d.json"

    def test_paths_are_relative_to_the_base(self, tmp_path: Path) -> None:
        path = str(tmp_path / "runs" / "x.json")
        output = render("github", result(COLD, path=path), base=tmp_path)
        assert check_github(output)[0][1]["file"] == "runs/x.json"

    def test_notes_are_notices_and_errors_come_first(self) -> None:
        written = check_github(render("github", result(NO_DEVICE, COLD), result(UNREADABLE)))
        assert [name for name, _, _ in written] == ["error", "warning", "notice"]

    @pytest.mark.parametrize(("count", "last"), [(10, "no such file"), (11, "and 2 more errors")])
    def test_ten_a_severity_at_most(self, count: int, last: str) -> None:
        written = check_github(render("github", result(*[UNREADABLE] * count)))
        assert len(written) == 10
        assert written[-1][2].startswith(last)

    def test_a_legacy_command_is_broken_up(self) -> None:
        finding = Finding("BL703", "n", Severity.ERROR, "see ###[error]x")
        assert check_github(render("github", result(finding)))[0][2] == "see ## #[error]x"

    def test_a_message_is_cut_before_the_runner_cuts_it(self) -> None:
        finding = Finding("BL703", "n", Severity.ERROR, "\U0001f600" * 9_000, help="h" * 9_000)
        message = check_github(render("github", result(finding)))[0][2]
        assert len(message.encode("utf-16-le")) / 2 <= 4_000
        assert message.endswith("…")


class TestJunit:
    def test_errors_fail_and_notes_do_not(self) -> None:
        reported = result(OUT_OF_BOUNDS, COLD, NO_DEVICE)
        suite = check_junit(render("junit", reported), [reported])[0]
        (failure,) = suite.findall("testcase/failure")
        assert failure.attrib == {"type": "BL201", "message": OUT_OF_BOUNDS.message}
        assert "12:21: K = 4" in str(failure.text)
        assert len(suite.findall("testcase/system-out")) == 2

    @pytest.mark.parametrize(
        ("fail_on", "failures"),
        [(None, 0), (Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.NOTE, 3)],
    )
    def test_the_threshold_can_be_moved(self, fail_on: Severity | None, failures: int) -> None:
        reported = result(OUT_OF_BOUNDS, COLD, NO_DEVICE)
        root = check_junit(render("junit", reported, fail_on=fail_on), [reported])
        assert root[0].attrib["failures"] == str(failures)

    def test_a_clean_file_is_a_test_that_passed(self) -> None:
        (case,) = check_junit(render("junit", result()), [result()])[0]
        assert case.attrib["name"] == "no findings"
        assert len(case) == 0


class TestMarkdown:
    def test_a_row_has_the_arithmetic_and_the_help(self) -> None:
        output = render("markdown", result(OUT_OF_BOUNDS))
        assert output.startswith("**1 error** in 1 file\n")
        assert (
            '| ❌ error | `τ 5.3 > K + 1 = 5`<br>12:21 `K = 4 ("draft_length": 4)`'
            "<br>help: `report the mean over verify steps` "
            "| 41:26<br>`BL201` `accepted-length-out-of-bounds` |\n"
        ) in output

    def test_what_is_missing_is_folded(self) -> None:
        reported = [result(NO_DEVICE, COLD, NO_VERSION)]
        output = render("markdown", *reported)
        check_markdown(output, reported)
        assert "<details><summary>missing: 2 notes</summary>" in output

    def test_files_with_errors_come_first(self) -> None:
        output = render("markdown", result(COLD, path="a"), result(COLD, UNREADABLE, path="b"))
        assert output.index("`b`") < output.index("`a`")
        assert output.index("BL013") < output.index("BL401")

    @pytest.mark.parametrize("limit", [600, 1_000, 5_000, 60_000])
    def test_the_limit_holds_and_nothing_is_cut_in_two(self, limit: int) -> None:
        reported = [result(NO_DEVICE, COLD, OUT_OF_BOUNDS, path=f"推{n}") for n in range(300)]
        output = render("markdown", *reported, max_bytes=limit)
        assert len(output.encode()) <= limit
        left_out = re.search(r"… and ([\d,]+) findings more, left out", output)
        rows = output.count("\n| ❌") + output.count("\n| ⚠️") + output.count("\n- ")
        assert left_out
        assert rows + int(left_out[1].replace(",", "")) == 900
        assert output.count("<details>") == output.count("</details>")

    def test_the_cut_is_final(self) -> None:
        long = Finding("BL401", "n", Severity.NOTE, "x" * 300)
        output = render("markdown", result(long, NO_DEVICE), max_bytes=800)
        assert "details" not in output
        assert "… and 2 findings more" in output

    def test_errors_survive_the_cut(self) -> None:
        noise = [result(NO_DEVICE, COLD, path=f"{n}") for n in range(300)]
        output = render("markdown", *noise, result(UNREADABLE, path="last"), max_bytes=2_000)
        assert "BL013" in output

    @pytest.mark.parametrize("text", ["`", "``", "`a`", "a``b", "\\", "\\`", "|", "\\|", "\\\\|x"])
    def test_a_code_span_holds_what_it_was_given(self, text: str) -> None:
        table = f"| a |\n|---|\n| {escape.markdown(text)} |\n"
        tokens = MarkdownIt("commonmark").enable("table").parse(table)
        spans = [c for t in tokens for c in t.children or [] if c.type == "code_inline"]
        assert [span.content.replace("\\ |", "\\|") for span in spans] == [text]


class TestHtml:
    """What the page of findings says; tests/test_pages_in_a_browser.py opens it."""

    def test_the_headline_says_how_bad_it_is(self) -> None:
        clean = [result(path=f"{n}.json") for n in range(3)]
        root = check_page(render("html", *clean, result(OUT_OF_BOUNDS, COLD)))
        assert root.all("h1")[0].words == "1 error in 1 of 4 reports ✗"
        root = check_page(render("html", *clean))
        assert root.all("h1")[0].words == "No findings in 3 reports ✓"
        assert not root.all("article")
        root = check_page(render("html", result(NO_DEVICE, NO_VERSION)))
        assert root.all("h1")[0].words == "2 notes in 1 report i"

    def test_what_is_worst_is_told_first(self) -> None:
        root = check_page(
            render("html", result(COLD, path="a"), result(COLD, OUT_OF_BOUNDS, path="b"))
        )
        rows = [row.words for row in root.all("tbody")[0].inside]
        assert rows == ["b 1 1", "a 1"]
        codes = [article.all("a")[0].text for article in root.all("article")]
        assert codes == ["BL201", "BL401", "BL401"]

    def test_a_finding_is_shown_with_its_place(self) -> None:
        (article,) = check_page(render("html", result(OUT_OF_BOUNDS))).all("article")
        assert [mark.text for mark in article.all("mark")] == ["5.3", "4"]
        assert "line 41, column 26" in article.words
        assert 'K = 4 ("draft_length": 4)' in article.words
        assert "report the mean over verify steps" in article.words
        quiet = render("html", result(OUT_OF_BOUNDS), show_help=False)
        assert "report the mean over verify steps" not in quiet

    def test_related_numbers_of_the_same_line_need_no_second_excerpt(self) -> None:
        beside = replace(DRAFT_LENGTH, location=OUT_OF_BOUNDS.location)
        root = check_page(render("html", result(replace(OUT_OF_BOUNDS, related=(beside,)))))
        assert len(root.all("article")[0].all("pre")) == 1

    def test_the_first_finding_of_a_rule_stands_at_the_top(self) -> None:
        others = [replace(OUT_OF_BOUNDS, message=f"other {n}") for n in range(3)]
        root = check_page(render("html", result(COLD, path="a"), result(OUT_OF_BOUNDS, *others)))
        first = root.all("section")[0].all("li")[0]
        assert first.words.startswith("τ 5.3 > K + 1 = 5")
        assert "4 times, first in" in first.words
        assert first.all("a")[1].attributes["href"] == "#error-1"

    def test_a_rule_is_explained_once_in_the_page(self) -> None:
        root = check_page(render("html", result(*[OUT_OF_BOUNDS] * 9), result(OUT_OF_BOUNDS)))
        links = {link.attributes["href"] for link in root.all("article")[0].all("a")}
        assert links == {"#rule-BL201"}
        (text,) = [d for d in root.all("div") if d.attributes.get("id") == "rule-BL201"]
        assert "Why it matters" in text.words

    def test_many_findings_of_a_rule_are_listed_after_the_first(self) -> None:
        root = check_page(render("html", result(*[OUT_OF_BOUNDS] * 9)))
        assert len(root.all("article")) == 3
        (listed,) = [ul for ul in root.all("ul") if ul.attributes.get("class") == "list"]
        assert [li.words.count("τ 5.3 > K + 1 = 5") for li in listed.inside] == [1] * 6

    def test_the_first_files_are_unfolded_those_with_errors_before_others(self) -> None:
        notes = [result(NO_DEVICE, path=f"note{n}") for n in range(9)]
        root = check_page(render("html", *notes, result(OUT_OF_BOUNDS, path="bad")))
        files = [d for d in root.all("details") if d.attributes.get("class") == "file"]
        unfolded = [d.all("h3")[0].text for d in files if "open" in d.attributes]
        assert unfolded == ["bad", "note0", "note1"]

    def test_many_files_are_cut_at_a_limit_and_counted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(html, "MAX_FINDINGS", 10)
        results = [result(COLD, NO_DEVICE, path=f"{n}") for n in range(20)]
        root = check_page(render("html", *results))
        assert len(root.all("tbody")[0].inside) == 5
        assert "15 more that have some" in root.words
        assert root.all("h1")[0].words == "20 warnings in 20 of 20 reports !"

    def test_five_hundred_files(self) -> None:
        results = [result(OUT_OF_BOUNDS, COLD, NO_DEVICE, path=f"{n}.json") for n in range(500)]
        root = check_page(render("html", *results))
        assert len(root.all("article")) == 1_000

    def test_without_jinja2_one_line_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        html_pages._environment.cache_clear()
        html_pages._template.cache_clear()
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(CannotRunError, match=r"pip install '\.\[html\]'"):
            make_format("html", io.StringIO())


class _Nowhere(io.StringIO):
    def write(self, text: str) -> int:
        return len(text)


class TestStreaming:
    @pytest.mark.parametrize("name", FORMATS)
    def test_memory_does_not_grow_with_the_files(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spool, "IN_MEMORY", 10_000)
        writer = make_format(name, _Nowhere(), Options(max_bytes=10_000))
        summary = Summary()
        writer.begin()
        few, many = (self._peak(writer, summary, count) for count in (300, 3_000))
        writer.end(summary)
        assert summary.files == 3_300
        assert many < few + 100_000

    def _peak(self, writer: Any, summary: Summary, count: int) -> int:
        tracemalloc.start()
        for number in range(count):
            message = f"{number} " + "x" * 200
            noted = Finding("BL401", "n", Severity.NOTE, message, f"/{number}")
            reported = FileResult(f"{count}-{number}.json", (noted,))
            summary.add(reported)
            writer.add(reported)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak


class TestChoosing:
    def test_an_unknown_format_is_a_key_error(self) -> None:
        with pytest.raises(KeyError):
            make_format("yaml", io.StringIO())

    def test_only_the_chosen_format_is_imported(self) -> None:
        script = (
            "import io, sys; from benchlint.checker.formats import make_format; "
            "make_format('text', io.StringIO()); "
            "print(*[m for m in sys.modules if m.startswith('benchlint.checker.formats.')])"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        modules = {name.rpartition(".")[2] for name in done.stdout.split()}
        assert modules == {"base", "escape", "room", "text"}


class TestSummary:
    def test_reports_of_one_file_count_as_one_file(self) -> None:
        summary = Summary()
        for each in (result(COLD), result(NO_DEVICE), result(path="b")):
            summary.add(each)
        assert (summary.files, summary.findings) == (2, 2)


class TestTerminal:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("τ 5.3 > K", "τ 5.3 > K"),
            ("推論\u3000速度", "推論\u3000速度"),
            ("\x1b[31m", r"\x1b[31m"),
            ("a\nb\tc\r", r"a\nb\tc\r"),
            ("\x9b", r"\x9b"),
            ("\u202e", "<U+202E>"),
            ("\ud800", "<U+D800>"),
            ("\u200d", "<U+200D>"),
            ("\u2028", "<U+2028>"),
            ("x" * 500, "x" * 399 + "…"),
        ],
    )
    def test_what_hides_is_shown(self, text: str, shown: str) -> None:
        assert escape.terminal(text) == shown
