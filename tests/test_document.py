"""From bytes to documents: trees, digits, and one finding for whatever is wrong with a file."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
import tracemalloc
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.checker.document import (
    Digits,
    Document,
    Language,
    Parsed,
    documents,
    parse,
    parse_text,
)
from benchlint.checker.finding import Finding
from benchlint.checker.lines import Lines
from benchlint.checker.loaded import MAX_FAULTS
from benchlint.checker.read_json import without_lone_surrogates
from benchlint.checker.source import Source

LIMIT = 1 << 20
CASES = Path(__file__).parent / "cases"
FILE_CODES = ("BL001", "BL002", "BL003", "BL007", "BL008", "BL009", "BL013")
NAMES = ("r.json", "r.yaml", "r.toml", "r.jsonl", "-")


def tree(text: str, language: Language = "json") -> Any:
    """The tree of a text in which nothing is wrong."""
    parsed = parse_text(text, "report", language=language)
    assert parsed.syntax == []
    assert parsed.document is not None
    return parsed.document.tree


def read(data: bytes, name: str = "report.json") -> list[Parsed]:
    """What a file of these bytes comes to."""
    return list(documents(name, limit_bytes=LIMIT, stdin=io.BytesIO(data)))


def only(data: bytes | str, name: str = "report.json") -> Finding:
    """The one finding about a file."""
    raw = data.encode() if isinstance(data, str) else data
    (finding,) = [finding for parsed in read(raw, name) for finding in parsed.findings]
    return finding


def place(finding: Finding) -> tuple[int, int]:
    """Line and column of a finding."""
    assert finding.location is not None
    return finding.location.line, finding.location.column


class TestDigits:
    def test_they_stay_as_printed(self) -> None:
        digits = Digits("80.870")
        assert (digits, digits.text) == (80.87, "80.870")

    def test_copies_remember_them(self) -> None:
        for twin in (copy.deepcopy(Digits("1.50")), pickle.loads(pickle.dumps(Digits("1.50")))):  # noqa: S301
            assert (twin, twin.text) == (1.5, "1.50")

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_a_number_is_its_digits(self, number: float) -> None:
        assert Digits(number) == number == float(Digits(number).text)

    @pytest.mark.parametrize(
        ("language", "text"),
        [("json", '{"a": 1.50}'), ("yaml", "a: 1.50"), ("toml", "a = 1.50")],
    )
    def test_every_language_keeps_them(self, language: Language, text: str) -> None:
        assert tree(text, language)["a"].text == "1.50"


class TestJson:
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=30,
        )
    )
    def test_the_tree_is_what_the_standard_parser_makes(self, value: object) -> None:
        text = json.dumps(value)
        parsed = parse_text(text, "report")
        not_finite: list[str] = []
        json.loads(text, parse_constant=not_finite.append)
        if not_finite:
            assert {f.code for f in parsed.syntax} == {"BL003"}
        else:
            assert parsed.document is not None
            assert parsed.document.tree == json.loads(without_lone_surrogates(text))

    def test_types(self) -> None:
        assert [type(v) for v in tree('[1, 1.0, 1e2, true, null, "1"]')] == [
            int,
            Digits,
            Digits,
            bool,
            type(None),
            str,
        ]

    @pytest.mark.parametrize(
        ("text", "message", "at"),
        [
            ('{"a": 1,}', "a comma after the last member", (1, 8)),
            ("[1,\n]", "a comma after the last member", (1, 3)),
            ('{"a": 1 "b": 2}', '`"` where a comma or the end', (1, 9)),
            ('{"a" 1}', "`1` where a colon should be", (1, 6)),
            ("{a: 1}", "`a` where a member name should be", (1, 2)),
            ('{"a": None}', "`None` where a value should be", (1, 7)),
            ('{"a": 5.}', "`.` where a comma", (1, 8)),
            ('{"a": "x', "the string that starts here has no end", (1, 7)),
            ('{"a": "x\ny"}', "runs past the end of its line", (1, 9)),
            ('{"a": "\x07"}', "a control character in a string", (1, 8)),
            ('{"a": "C:\\models"}', "`\\m` in a string is no escape", (1, 10)),
            ('{"a": "\\u12"}', "`\\u` in a string is no escape", (1, 8)),
            ('{"a": 1}\n}', "`}` after the end of the report", (2, 1)),
            ("[1,\n[2", "ends inside an object or a list", (2, 2)),
        ],
    )
    def test_syntax_errors_in_words(self, text: str, message: str, at: tuple[int, int]) -> None:
        finding = only(text)
        assert finding.code == "BL001"
        assert message in finding.message
        assert place(finding) == at

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ('{"a": 01}', "no leading zeros"),
            ('{"a": 80%}', "a number stands alone"),
            ('{"a": .5}', "before the decimal point"),
            ('{"a": nan}', "leave out"),
            ('{"a": +1}', "no plus sign"),
            ('{"a": True}', "small letters"),
            ("benchlint: 1\n", ".yaml"),
            ('benchlint = "1"\n', ".toml"),
            ("[engine]\nname = 1\n", ".toml"),
            ("```json\n{}\n```", "markup"),
            ('{"benchlint": "1"}\n{}\n', ".jsonl"),
        ],
    )
    def test_help_says_what_to_do(self, text: str, hint: str) -> None:
        assert hint in only(text).help

    def test_a_cut_off_text_shows_what_is_open(self) -> None:
        (related,) = only('{"a": [1,\n {"b": 2}, {"c": 3\n').related
        assert related.location is not None
        assert (related.location.line, related.location.column) == (2, 12)

    @pytest.mark.parametrize("bracket", ["[", '{"a":'])
    @pytest.mark.parametrize("depth", [101, 990, 100_000])
    def test_deep_nesting_is_a_finding(self, bracket: str, depth: int) -> None:
        close = "]" if bracket == "[" else "}"
        finding = only(bracket * depth + "1" + close * depth)
        assert finding.code == "BL008"
        assert place(finding) == (1, 100 * len(bracket) + 1)

    def test_deep_nesting_that_never_ends(self) -> None:
        assert only("[" * 100_000).code == "BL008"

    def test_a_hundred_levels_are_read(self) -> None:
        assert tree("[" * 100 + "]" * 100) != []


class TestDuplicates:
    def test_the_first_is_kept_and_each_other_found(self) -> None:
        (parsed,) = read(b'{"a": 1,\n "a": 2,\n "a": [{"b": 1, "b": 2}]}')
        assert parsed.document is not None
        assert parsed.document.tree == {"a": 1}
        assert [(f.pointer, place(f)) for f in parsed.syntax] == [
            ("/a", (2, 2)),
            ("/a", (3, 2)),
            ("/a/0/b", (3, 17)),
        ]
        for finding in parsed.syntax[:2]:
            assert finding.related[0].location is not None
            assert finding.related[0].location.line == 1

    def test_places_are_those_of_the_value_kept(self) -> None:
        (parsed,) = read(b'{"a": 1,\n "a": 2}')
        assert parsed.document is not None
        assert parsed.document.locate("/a").line == 1

    def test_toml_says_where_the_first_is(self) -> None:
        finding = only("a = 1\n[b]\nc = 2\n[x]\n[b]\n", "r.toml")
        assert (finding.code, finding.pointer, place(finding)) == ("BL002", "/b", (5, 2))
        assert finding.related[0].location is not None
        assert finding.related[0].location.line == 2

    @pytest.mark.parametrize("text", ["a = 1\na.b = 2\n", "a = [1]\n[[a]]\n", "[[a]]\n[a]\n"])
    def test_toml_names_given_two_kinds_of_value(self, text: str) -> None:
        assert only(text, "r.toml").code in ("BL001", "BL002")


class TestNotFinite:
    def test_members_and_lists_are_left_out(self) -> None:
        (parsed,) = read(b'{"a": NaN, "b": [1, 1e999], "c": {"d": -Infinity, "e": 1}}')
        assert parsed.document is not None
        assert parsed.document.tree == {"c": {"e": 1}}
        assert [f.pointer for f in parsed.syntax] == ["/a", "/b/1", "/c/d"]

    @pytest.mark.parametrize("digits", [309, 400, 4300, 4301, 5000, 100_000])
    @pytest.mark.parametrize("name", ["r.json", "r.yaml", "r.toml"])
    def test_integers_of_any_length(self, digits: int, name: str) -> None:
        text = f"a = {'9' * digits}" if name == "r.toml" else f'{{"a": {"9" * digits}}}'
        finding = only(text, name)
        assert finding.code == "BL003"
        assert f"{digits:,} digits" in finding.message
        assert place(finding) == (1, 5 if name == "r.toml" else 7)

    @given(st.integers(min_value=10**306, max_value=10**310))
    def test_an_integer_passes_if_a_double_can_hold_it(self, number: int) -> None:
        parsed = parse_text(f"[{number}, 1]", "report")
        try:
            fits = isfinite(float(number))
        except OverflowError:
            fits = False
        assert fits == (parsed.syntax == [])

    def test_a_file_of_them_is_not_listed_to_the_end(self) -> None:
        (parsed,) = read(b"[" + b"NaN," * 5000 + b"1]")
        assert len(parsed.syntax) == MAX_FAULTS + 1
        assert parsed.syntax[-1].message == "and 4,900 more like this one"

    def test_alone_in_a_file(self) -> None:
        (parsed,) = read(b"NaN")
        assert parsed.document is None
        assert [f.code for f in parsed.findings] == ["BL003"]


class TestLongNames:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (f'{{"{"n" * 10_000}": 1, "{"n" * 10_000}": 2}}', "r.json"),
            (f"a: !{'n' * 10_000} 1", "r.yaml"),
            (f"a: *{'n' * 10_000}", "r.yaml"),
            (f"{'n' * 10_000}: 1", "r.json"),
            ('{"a": ' + "9" * 10_000 + "}", "r.json"),
        ],
    )
    def test_messages_stay_short(self, text: str, name: str) -> None:
        assert len(only(text, name).message) < 160


class TestSurrogates:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (r'"\ud800"', "\ufffd"),
            (r'"\uDFFF x"', "\ufffd x"),
            (r'"\ud83d\ude00"', "😀"),
            (r'"\ud83d\ud83d\ude00"', "\ufffd😀"),
            (r'"\ude00\ud83d"', "\ufffd\ufffd"),
            (r'"\\ud800"', r"\ud800"),
            (r'"\\\ud800"', "\\\ufffd"),
        ],
    )
    def test_halves_are_replaced_and_pairs_kept(self, text: str, value: str) -> None:
        assert tree(text) == value

    def test_names_too_and_their_places_are_found(self) -> None:
        (parsed,) = read(rb'{"a": "\ud800", "\udc00": 7}')
        assert parsed.document is not None
        assert parsed.document.tree == {"a": "\ufffd", "\ufffd": 7}
        assert parsed.document.locate("/\ufffd").column == 27

    @given(st.text(st.characters(codec=None), max_size=20))
    def test_every_string_can_be_encoded(self, text: str) -> None:
        assert isinstance(tree(json.dumps([text]))[0].encode("utf-8"), bytes)


class TestYaml:
    def test_the_core_schema(self) -> None:
        text = """
            words: [no, off, yes, y, 2024-05-01, 1:30, 1_000, nan, .e3, "5", ! 5, !!str 5, 0b1]
            numbers: [10, 010, +5, -0, 0o17, 0x1F, 1e3, .5, 5., -1.50, !!float 5, !!int 5]
            rest: [true, False, null, ~, NULL, , "", !!null ""]
        """.replace(", ,", ", null,")
        found = tree(text, "yaml")
        assert all(isinstance(word, str) for word in found["words"])
        assert found["numbers"] == [10, 10, 5, 0, 15, 31, 1000, 0.5, 5, -1.5, 5, 5]
        assert [type(n) for n in found["numbers"][:6]] == [int] * 6
        assert [n.text for n in found["numbers"][6:11]] == ["1e3", ".5", "5.", "-1.50", "5"]
        assert found["rest"] == [True, False, None, None, None, None, "", None]

    def test_names_are_text(self) -> None:
        text = "no: 1\n35: 2\ntrue: 3\n1.50: 4\nnull: 5\n"
        assert tree(text, "yaml") == {"no": 1, "35": 2, "true": 3, "1.50": 4, "null": 5}

    def test_merging(self) -> None:
        text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {x: 9, <<: [*b, *a]}\n"
        assert tree(text, "yaml")["c"] == {"x": 9, "y": 3, "z": 4}

    def test_a_quoted_merge_key_is_a_name(self) -> None:
        assert tree('{"<<": 1}', "yaml") == {"<<": 1}

    @pytest.mark.parametrize(
        "text",
        ["? [a]\n: 1", "? {a: 1}\n: 2", "!!int 5: 1", "a: !!binary aGk=", "a: !!int x", "<<: 5"],
    )
    def test_what_reports_may_not_use(self, text: str) -> None:
        assert only(text, "r.yaml").code == "BL001"

    @pytest.mark.parametrize(
        "text",
        [
            "a: !!python/object/apply:os.system [exit]",
            "a: !!python/name:os.system",
            "a: !!python/object/new:os.system [exit]",
        ],
    )
    def test_no_tag_constructs_anything(self, text: str) -> None:
        finding = only(text, "r.yaml")
        assert finding.code == "BL001"
        assert "is not read" in finding.message

    @pytest.mark.parametrize("merge", ["*{}", "{{x: {{<<: *{}}}}}", "{{x: {{<<: [*{}]}}}}"])
    def test_aliases_cannot_multiply(self, merge: str) -> None:
        lines = ["a0: &a0 {x: {y: {z: 1}}}"]
        for level in range(1, 40):
            each = merge.format(f"a{level - 1}")
            lines.append(f"a{level}: &a{level} {{k: {each}, l: {each}}}")
        assert only("\n".join(lines), "r.yaml").code == "BL008"

    def test_aliases_cannot_deepen(self) -> None:
        lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 120))]
        finding = only("\n".join(lines), "r.yaml")
        assert finding.message == "nested deeper than 100 levels"

    @pytest.mark.parametrize("depth", [101, 100_000])
    def test_deep_nesting_is_a_finding(self, depth: int) -> None:
        assert only("[" * depth + "]" * depth, "r.yaml").code == "BL008"

    def test_without_pyyaml(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "yaml", None)
        finding = only("a: 1", "r.yaml")
        assert finding.code == "BL013"
        assert finding.help == "pip install '.[yaml]' in a checkout of benchlint"

    @pytest.mark.parametrize(
        "text",
        ['a: "\\ud83d\\ude00 \\ud800"', 'a: "\\UFFFFFFFF"', "[" * 500, "a: \x07", "a: [", "*"],
    )
    def test_the_parser_without_c_answers_too(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
        (parsed,) = read(text.encode(), "r.yaml")
        if parsed.document is None:
            assert parsed.syntax[0].code in ("BL001", "BL008")
        else:
            assert parsed.document.tree == {"a": "😀 \ufffd"}


class TestToml:
    def test_dates_become_strings(self) -> None:
        text = "a = 2025-05-01\nb = 07:32:00\nc = 2025-05-01 07:32:00Z\nd = [2025-05-01T07:32:00]"
        assert tree(text, "toml") == {
            "a": "2025-05-01",
            "b": "07:32:00",
            "c": "2025-05-01T07:32:00+00:00",
            "d": ["2025-05-01T07:32:00"],
        }

    def test_errors_have_a_place(self) -> None:
        finding = only('a = 1\r\nb = "x" y\r\n', "r.toml")
        assert place(finding) == (2, 9)

    @pytest.mark.parametrize(
        "text",
        [
            "a = " + "[" * 100_000,
            "a = " + "{a=" * 100_000,
            "a = " + "[" * 101 + "]" * 101,
            ".".join("a" * 100_000) + " = 1",
            "[" + " . ".join(["'a'"] * 102) + "]",
        ],
    )
    def test_deep_nesting_is_a_finding(self, text: str) -> None:
        assert only(text, "r.toml").code == "BL008"

    def test_a_long_word_is_no_deep_key(self) -> None:
        assert tree(f"{'a' * 100_000} = '{'a.b ' * 200}'", "toml")


class TestEncoding:
    @pytest.mark.parametrize(
        "codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
    )
    def test_other_encodings_are_read_with_a_warning(self, codec: str) -> None:
        (parsed,) = read('{"benchlint": "1", "title": "é😀"}'.encode(codec))
        assert [f.code for f in parsed.findings] == ["BL009"]
        assert parsed.document is not None
        assert parsed.document.tree == {"benchlint": "1", "title": "é😀"}
        assert parsed.document.locate("/title").column == 29

    @pytest.mark.parametrize("name", NAMES)
    def test_a_file_of_zeros(self, name: str) -> None:
        finding = only(b"\0" * 100, name)
        assert finding.code == "BL001"
        assert "binary" in finding.message

    def test_the_offset_counts_bytes(self) -> None:
        finding = only('{"é": "'.encode() + b'\xff"}')
        assert "byte 0xff at offset 8 is not UTF-8" in finding.message
        assert place(finding) == (1, 8)

    def test_half_a_character_at_the_end(self) -> None:
        assert "not UTF-16" in only(b"\xff\xfe{\0}").message


class TestTop:
    def test_a_list_is_a_document_and_no_report(self) -> None:
        (parsed,) = read(b"[1]")
        assert parsed.document is not None
        assert parsed.report is None
        assert parsed.syntax == []
        assert [f.code for f in parsed.top] == ["BL001"]

    def test_another_version_is_a_document_and_no_report(self) -> None:
        (parsed,) = read(b'{"benchlint": "9"}')
        assert parsed.document is not None
        assert parsed.report is None
        assert [f.code for f in parsed.top] == ["BL007"]

    def test_a_report_with_a_fault_is_still_one(self) -> None:
        (parsed,) = read(b'{"benchlint": "1", "a": NaN}')
        assert parsed.report is parsed.document is not None


REPORT = json.dumps({"benchlint": "1", "title": "x" * 4000}).encode()


class Counting(io.BytesIO):
    """A stream that knows how many lines were taken from it."""

    taken = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.taken += 1
        return super().readline(size)


class TestLines:
    def test_one_report_a_line(self) -> None:
        first, second = read(b'{"benchlint": "1"}\n\n{"a": NaN}\n', "r.jsonl")
        assert first.document is not None
        assert second.document is not None
        assert (first.document.line_offset, second.document.line_offset) == (0, 2)
        assert second.document.locate("").line == 3
        assert first.path == second.path == "r.jsonl"
        assert place(second.syntax[0]) == (3, 7)

    def test_a_broken_line_does_not_stop_the_next(self) -> None:
        broken, whole = read(b'{"a": \n{"benchlint": "1"}', "r.ndjson")
        assert [f.code for f in broken.findings] == ["BL001"]
        assert whole.findings == []

    def test_the_limit_is_of_a_line(self, tmp_path: Path) -> None:
        file = tmp_path / "r.jsonl"
        file.write_bytes(b'{"a": 1}\n' * 10 + b'{"a": "' + b"x" * 100 + b'"}\n{"a": 1}\n')
        parsed = list(documents(file, limit_bytes=20))
        assert [[f.code for f in each.findings] for each in parsed] == [
            *([] for _ in range(10)),
            ["BL008"],
            [],
        ]
        assert place(parsed[10].findings[0]) == (11, 1)

    def test_lines_are_read_as_they_are_asked_for(self) -> None:
        stream = Counting(b'{"benchlint": "1"}\n' * 1000)
        reports = documents("r.jsonl", limit_bytes=LIMIT, stdin=stream)
        for count in (1, 2, 3):
            next(reports)
            assert stream.taken == count

    def test_memory_does_not_grow_with_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "r.jsonl"
        file.write_bytes((REPORT + b"\n") * 500)
        tracemalloc.start()
        try:
            count = sum(parsed.report is not None for parsed in documents(file, limit_bytes=LIMIT))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert count == 500
        assert peak < 20 * len(REPORT) < file.stat().st_size / 20

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"  \n"])
    def test_nothing_in_it(self, data: bytes) -> None:
        assert only(data, "r.jsonl").message == "the file is empty"

    @pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
    def test_other_encodings_warn_once(self, codec: str) -> None:
        parsed = read('{"benchlint": "1"}\n{"benchlint": "1"}\n'.encode(codec), "r.jsonl")
        assert [[f.code for f in each.findings] for each in parsed] == [["BL009"], []]

    def test_an_absent_file(self, tmp_path: Path) -> None:
        (parsed,) = documents(tmp_path / "none.jsonl", limit_bytes=LIMIT)
        assert [f.code for f in parsed.findings] == ["BL013"]


SEEDS = (
    b'{"benchlint": "1", "runs": [{"id": "a", "decode": {"tok_s": 80.87}}], "a": "\\ud800"}',
    b'benchlint: "1"\nruns:\n  - &a {id: a, n: 1.50}\n  - <<: *a\n    b: |\n      text\n',
    b'benchlint = "1"\n[[runs]]\nid = "a"\ndecode.tok_s = 80.87\nx = """a\n"""\n',
    '{"a": "é😀"}'.encode("utf-16"),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A readable file with some of its bytes cut out, doubled or replaced."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        put = draw(
            st.sampled_from([b"", data[start:end] * 2, b"[", b'"', b"\n", b": ", b"*a", b"<<"])
        )
        data = data[:start] + put + data[end:]
    return data


class TestAnything:
    """Whatever the bytes are, the answer is a document or findings, and all can be printed."""

    @given(st.binary(max_size=200), st.sampled_from(NAMES))
    @example(b"\xff\xfe\x00\xd8", "r.json")
    @example(b'{"a": "\\', "r.json")
    def test_bytes(self, data: bytes, name: str) -> None:
        self._answers(data, name)

    @given(st.text(max_size=100), st.sampled_from(NAMES))
    def test_text(self, text: str, name: str) -> None:
        self._answers(text.encode("utf-8"), name)

    @given(mutated(), st.sampled_from(NAMES))
    def test_broken_reports(self, data: bytes, name: str) -> None:
        self._answers(data, name)

    @staticmethod
    def _answers(data: bytes, name: str) -> None:
        answers = read(data, name)
        assert answers
        for parsed in answers:
            assert parsed.document is not None or parsed.findings
            for finding in parsed.findings:
                _is_printable(finding)
            if parsed.document is not None:
                _answers_pointers(parsed.document)


def _is_printable(finding: Finding) -> None:
    assert finding.code in FILE_CODES
    assert finding.location is not None
    assert finding.location.line >= 1
    assert finding.location.end_column >= finding.location.column >= 1
    shown = (finding.message, finding.pointer, finding.help, finding.location.excerpt)
    assert all(text.encode("utf-8") is not None for text in shown)


def _answers_pointers(document: Document) -> None:
    json.dumps(document.tree, ensure_ascii=False, allow_nan=False).encode("utf-8")
    for pointer in ("", "/runs/0/id", "/a", "/0"):
        assert document.locate(pointer).line >= 1
        assert document.locate(pointer, key=True).line >= 1


def test_the_language_is_known_from_the_ending() -> None:
    names = ("a.json", "a.YAML", "a.yml", "a.toml", "a", "-", "a.txt")
    sources = [Source(name, b'{"a": 1}') for name in names if name != "a.toml"]
    languages = [parsed.document.language for parsed in map(parse, sources) if parsed.document]
    assert languages == ["json", "yaml", "yaml", "json", "json", "json"]
    (parsed,) = read(b"a = 1", "a.toml")
    assert parsed.document is not None
    assert parsed.document.language == "toml"


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\r\n\r\nbc\n\n", "é\n€uro\r", "\r\n"])
def test_places_are_the_same_however_many_are_asked_for(text: str) -> None:
    spans = [(a, b) for a in range(len(text) + 2) for b in range(a, len(text) + 2)]
    many = Lines(text)
    for _ in range(100):
        many.location((0, 0))
    assert [Lines(text).location(span) for span in spans] == [many.location(s) for s in spans]
