"""Where values stand: every value is found at text that says that value."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from math import isinf, isnan

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.checker.document import Document, Language, parse_text
from benchlint.checker.finding import Location
from benchlint.checker.lines import EXCERPT, Lines
from benchlint.checker.pointers import pointer, split
from benchlint.checker.positions import NodePositions
from benchlint.checker.positions_json import JsonPositions
from benchlint.checker.positions_toml import scan
from benchlint.checker.read_yaml import load as load_yaml

# What both JSON and YAML print as it is, and what is awkward in a pointer or a TOML key.
TEXT = st.text(st.sampled_from("ab é😀~/.\\\"'#:-[]{},=09"), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
FINITE_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


Path = tuple[str, ...]


def paths(tree: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every value of a tree with its path, the tree itself first."""
    yield path, tree
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from paths(value, (*path, name))
    if isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from paths(value, (*path, str(index)))


def members(tree: object) -> set[Path]:
    """The paths of values that have a name."""
    objects = [(path, value) for path, value in paths(tree) if isinstance(value, dict)]
    return {(*path, name) for path, value in objects for name in value}


def document(text: str, language: Language = "json", line_offset: int = 0) -> Document:
    parsed = parse_text(text, "report", language=language, line_offset=line_offset)
    assert parsed.document is not None
    return parsed.document


class TestPointers:
    @given(st.lists(st.text()))
    def test_split_undoes_pointer(self, parts: list[str]) -> None:
        assert split(pointer(*parts)) == parts

    def test_escapes(self) -> None:
        assert pointer("a/b", "m~n", 0, "~1") == "/a~1b/m~0n/0/~01"


class TestLines:
    def test_columns_count_characters(self) -> None:
        text = '{"é😀": 1}'
        assert Lines(text).location((7, 8)) == Location(1, 8, 9, text, 8)

    def test_a_span_over_lines_ends_with_the_first(self) -> None:
        assert Lines("ab\ncd").location((1, 5)) == Location(1, 2, 3, "ab", 2)

    def test_carriage_returns_are_no_part_of_a_line(self) -> None:
        assert Lines("ab\r\ncd\r\n").location((0, 7)) == Location(1, 1, 3, "ab", 1)
        assert Lines("ab\r\ncd\r\n").location((4, 6)) == Location(2, 1, 3, "cd", 1)

    def test_line_offset(self) -> None:
        assert Lines("a\nb", 10).location((2, 3)).line == 12

    def test_beyond_the_end(self) -> None:
        assert Lines("ab\n").location((99, 100)) == Location(2, 1, 1, "", 1)

    def test_a_long_line_is_cut_around_the_place(self) -> None:
        text = "x" * 1000 + "!" + "y" * 1000
        at = Lines(text).location((1000, 1001))
        assert (at.column, len(at.excerpt)) == (1001, EXCERPT)
        assert at.excerpt[at.excerpt_column - 1] == "!"

    @given(st.text(st.sampled_from("ab\r\n"), max_size=400), st.data())
    def test_the_excerpt_holds_the_place(self, text: str, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(text)))
        at = Lines(text).location((start, start + 1))
        assert at.line == text.count("\n", 0, start) + 1
        assert at.column == start - text.rfind("\n", 0, start)
        assert "\n" not in at.excerpt
        assert len(at.excerpt) <= EXCERPT
        if text[start : start + 1] not in ("", "\r", "\n"):
            assert at.excerpt[at.excerpt_column - 1] == text[start]


class TestJson:
    @given(TREES, st.sampled_from([None, 0, 3]), st.booleans())
    @example({"a": {"b": [1, {"c": 2.50}]}}, None, True)
    def test_every_value_is_found(self, tree: object, indent: int | None, ascii_: bool) -> None:
        text = json.dumps(tree, indent=indent, ensure_ascii=ascii_, allow_nan=True)
        positions = JsonPositions(text)
        for path, value in paths(tree):
            start, end = positions.span(path, key=False)
            assert json.loads(text[start:end]) == value

    @given(TREES, st.data())
    def test_places_are_found_in_any_order(self, tree: object, data: st.DataObject) -> None:
        text, named = json.dumps(tree), members(tree)
        positions = JsonPositions(text)
        for path, value in data.draw(st.permutations(list(paths(tree)))):
            start, end = positions.span(path, key=path in named)
            assert json.loads(text[start:end]) == (path[-1] if path in named else value)

    def test_white_space_anywhere(self) -> None:
        text = '\r\n{ "a"\t: [ 1 ,\n 2 ] , "b" : { } }\n'
        for path, value in paths(json.loads(text)):
            start, end = JsonPositions(text).span(path, key=False)
            assert json.loads(text[start:end]) == value

    def test_of_two_members_with_one_name_the_first(self) -> None:
        text = '{"a": 1, "a": 2}'
        assert JsonPositions(text).span(["a"], key=False) == (6, 7)

    def test_numbers_of_any_length_are_passed_over(self) -> None:
        text = f'{{"a": {"9" * 5000}, "b": 1e999, "c": NaN, "d": 7}}'
        start, end = JsonPositions(text).span(["d"], key=False)
        assert text[start:end] == "7"


class TestYaml:
    @given(FINITE_TREES)
    def test_flow_style_stands_where_json_does(self, tree: object) -> None:
        text = json.dumps(tree, ensure_ascii=False)
        loaded = load_yaml(text)
        assert loaded.tree == tree
        assert loaded.positions is not None
        in_json, in_yaml = JsonPositions(text), loaded.positions()
        for path, _ in paths(tree):
            for key in (False, True):
                assert in_yaml.span(path, key=key) == in_json.span(path, key=key)

    @given(FINITE_TREES)
    def test_every_scalar_of_block_style_is_found(self, tree: object) -> None:
        text = yaml.safe_dump(tree, allow_unicode=True, width=1000)
        loaded = load_yaml(text)
        assert loaded.positions is not None
        positions, named = loaded.positions(), members(tree)
        for path, value in paths(loaded.tree):
            if not isinstance(value, (dict, list)):
                start, end = positions.span(path, key=False)
                assert load_yaml(text[start:end] or "~").tree == value
                if path in named:
                    start, end = positions.span(path, key=True)
                    assert load_yaml(f"? {text[start:end]}").tree == {path[-1]: None}

    def test_an_alias_stands_where_it_is_written(self) -> None:
        doc = document("a: &x {n: 1}\nb: *x\n", "yaml")
        assert doc.locate("/b").line == 2
        assert doc.locate("/b", key=True) == Location(2, 1, 2, "b: *x", 1)
        assert doc.locate("/b/n").line == 1

    def test_a_merged_member_stands_where_it_comes_from(self) -> None:
        doc = document("a: &x {n: 1, m: 2}\nb:\n  <<: *x\n  m: 3\n", "yaml")
        assert (doc.locate("/b/n").line, doc.locate("/b/m").line) == (1, 4)

    def test_lines_break_as_they_do_for_the_other_languages(self) -> None:
        doc = document('a: "x\u2028y"\r\nb: 1\r\n', "yaml")
        assert doc.locate("/b") == Location(2, 4, 5, "b: 1", 4)


class TestToml:
    TEXT = (
        'title = "a"\n'
        "a.b . 'c d' = 1_0\n"
        "[engine]  # a comment\n"
        'list = [ 1, # one\n  { x = 1, "y.z" = [true] }, ]\n'
        "when = 1979-05-27 07:32:00Z # then\n"
        'long = """\nx "" y\\\n   z"""""\n'
        "raw = '''it's ''quoted''''\n"
        "[[runs]]\nid = 'one'\n[runs.decode]\ntok_s = 80.870\n"
        "[[runs]]\nid = 'two'\ndecode.tok_s = 17.98\n"
        "[[runs.parts]]\nn = 1\n"
    )

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_every_leaf_is_found(self, end: str) -> None:
        _leaves_are_found(self.TEXT.replace("\n", end))

    @pytest.mark.parametrize(
        ("at", "value", "key"),
        [
            ("/engine", "[engine]", "engine"),
            ("/runs/1", "[[runs]]", "[[runs]]"),
            ("/runs/0/decode", "[runs.decode]", "decode"),
            ("/runs/1/decode", "decode", "decode"),
            ("/a/b", "b", "b"),
            ("/a/b/c d", "1_0", "'c d'"),
            ("/engine/list/1/y.z", "[true]", '"y.z"'),
        ],
    )
    def test_tables_stand_at_their_headers(self, at: str, value: str, key: str) -> None:
        positions = NodePositions(scan(self.TEXT)[0])
        assert self.TEXT[slice(*positions.span(split(at), key=False))] == value
        assert self.TEXT[slice(*positions.span(split(at), key=True))] == key

    @given(st.data())
    def test_every_leaf_of_any_document_is_found(self, data: st.DataObject) -> None:
        text = ""
        for _ in range(data.draw(st.integers(1, 8))):
            longer = text + data.draw(STATEMENTS) + data.draw(st.sampled_from(["\n", "\r\n"]))
            text = longer if _is_toml(longer) else text
        _leaves_are_found(text)

    @given(st.text(st.sampled_from("ab.=[]{}\"'\\#, \r\n1-:"), max_size=60))
    def test_any_text_is_scanned(self, text: str) -> None:
        root, _ = scan(text)
        assert root.span == (0, 0)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _leaves_are_found(text: str) -> None:
    tree = tomllib.loads(text)
    positions, named = NodePositions(scan(text)[0]), members(tree)
    for path, value in paths(tree):
        found = text[slice(*positions.span(path, key=False))]
        key = text[slice(*positions.span(path, key=True))]
        if path in named and not found.startswith("[["):
            assert tomllib.loads(f"{key} = 1") == {path[-1]: 1}
        if path and not isinstance(value, dict) and not found.startswith("[["):
            assert tomllib.loads(f"x = {found}")["x"] == value


NAMES = st.sampled_from(
    ["a", "b", "c", "-", "_1", '"a"', "'b'", '"x.y"', '"\\u00e9"', "'~/'", '""', '"\\""']
)
KEYS = st.lists(NAMES, min_size=1, max_size=3).map(".".join) | st.just("a . b")
LEAVES = st.sampled_from(
    [
        "1",
        "-1_000",
        "0xFF",
        "1.50",
        "6e-2",
        "+inf",
        "true",
        "1979-05-27",
        "1979-05-27 07:32:00Z",
        "1979-05-27T07:32:00.5-07:00",
        "07:32:00",
        '""',
        "''",
        '"a # \\" ] , } = \\\\"',
        "'a # \\'",
        '""""""',
        '""""a"" b \\""""',
        '"""\na\\\n\n   b"""""',
        "'''\n'a' ''b'''",
        "'''''''",
    ]
)
GAPS = st.sampled_from(["", " ", "\n", " # ] , }\n", "\r\n\t"])


def _list(items: list[str], gap: str, last: str) -> str:
    return f"[{gap}{f'{gap},{gap}'.join(items)}{last if items else ''}{gap}]"


def _inline(members: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in members) + " }"


VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(_list, st.lists(inner, max_size=3), GAPS, st.sampled_from(["", ","]))
        | st.lists(st.tuples(KEYS, inner), max_size=3).map(_inline)
    ),
    max_leaves=6,
)
STATEMENTS = (
    st.builds("{} = {}".format, KEYS, VALUES)
    | st.builds("[{}]".format, KEYS)
    | st.builds("[[ {} ]] # [x]".format, KEYS)
    | st.just("# a = 1")
)


class TestDocument:
    TEXT = '{\n  "runs": [\n    {"id": "a", "decode": {"tok_s": 80.87}}\n  ]\n}\n'

    def test_a_value(self) -> None:
        line = '    {"id": "a", "decode": {"tok_s": 80.87}}'
        found = document(self.TEXT).locate("/runs/0/decode/tok_s")
        assert found == Location(3, 37, 42, line, 37)

    def test_a_name(self) -> None:
        found = document(self.TEXT).locate("/runs/0/decode/tok_s", key=True)
        assert (found.line, found.column, found.end_column) == (3, 28, 35)

    def test_a_value_over_lines(self) -> None:
        found = document(self.TEXT).locate("/runs")
        assert (found.line, found.column, found.end_column) == (2, 11, 12)

    @pytest.mark.parametrize(
        "missing", ["/runs/0/nope", "/runs/0/nope/deeper", "/runs/0/id/x", "/runs/0/00"]
    )
    def test_what_is_missing_stands_at_its_nearest_ancestor(self, missing: str) -> None:
        doc = document(self.TEXT)
        parent = "/runs/0/id" if missing.endswith("x") else "/runs/0"
        assert doc.locate(missing) == doc.locate(parent)

    @pytest.mark.parametrize("wrong", ["runs", "/", "/~2", "/runs/-1", "/runs/9", "/runs/1e0"])
    def test_any_pointer_is_answered(self, wrong: str) -> None:
        assert document(self.TEXT).locate(wrong).line in (1, 2)

    def test_in_a_larger_file(self) -> None:
        assert document(self.TEXT, line_offset=100).locate("/runs/0/id").line == 103

    def test_the_root_has_no_name(self) -> None:
        doc = document(self.TEXT)
        assert doc.locate("", key=True) == doc.locate("") == Location(1, 1, 2, "{", 1)

    @given(st.floats())
    def test_not_finite_numbers_have_a_place(self, number: float) -> None:
        parsed = parse_text(json.dumps({"a": [1], "b": number}), "report")
        places = [f.location for f in parsed.findings if f.code == "BL003"]
        assert len(places) == (isinf(number) or isnan(number))
        assert all(place is not None and place.column == 17 for place in places)
