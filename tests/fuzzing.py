"""Files that nobody would write, and what must hold of their findings all the same.

The number of cases is small enough for every test run, and the cases are the same in each.
`BENCHLINT_FUZZ=20 pytest tests/test_fuzz.py` tries twenty times as many, new ones each time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from benchlint.checker.document import Document, Parsed
from benchlint.checker.encoding import decode, encoding_of
from benchlint.checker.files import Found
from benchlint.checker.finding import Finding, Location
from benchlint.checker.pointers import split
from benchlint.checker.profiles import Profile
from benchlint.checker.reading import reports
from benchlint.checker.registry import rule_by_code
from benchlint.checker.runner import Checked, Checker, Job
from benchlint.checker.settings import Overrides
from tests.mutations import complete_report
from tests.simulator import Printed, dumps

Tree = dict[str, Any]

TIMES = int(os.environ.get("BENCHLINT_FUZZ", "0"))
LIMIT_MB = 16.0
SUFFIXES = (".json", ".yaml", ".toml", ".jsonl", ".md")


def cases(count: int) -> settings:
    """Settings for so many cases, the same in every run unless BENCHLINT_FUZZ is set."""
    return settings(
        max_examples=count * max(1, TIMES),
        derandomize=not TIMES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# --- what must hold --------------------------------------------------------------------------


class Subject:
    """A folder with one file at a time, checked as the command does it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        overrides = Overrides(profile=Profile.STRICT, max_size_mb=LIMIT_MB, baseline="names")
        self._checker = Checker(Job(overrides, search=False, debug=True))
        self._fixer = Checker(Job(overrides, search=False, debug=True, fix="write"))

    def check(self, suffix: str, data: bytes) -> list[Checked]:
        """The results of a file with these bytes; every finding in them is looked at."""
        path = self._folder / f"report{suffix}"
        path.write_bytes(data)
        results = list(self._checker.check(Found(str(path), named=True)))
        parts = list(reports(path, limit_bytes=int(LIMIT_MB * 1e6)))
        lines = _lines(suffix, data)
        assert len(results) == len(parts) > 0
        for checked, parsed in zip(results, parts, strict=True):
            assert len(checked.names) == len(checked.result.findings)
            for finding in checked.result.findings:
                _look_at(finding, parsed, lines)
        return results

    def fix(self, data: bytes) -> bytes:
        """What `--fix` makes of a JSON file with these bytes."""
        path = self._folder / "fixed.json"
        path.write_bytes(data)
        list(self._fixer.check(Found(str(path), named=True)))
        return path.read_bytes()

    def codes(self, tree: object) -> list[str]:
        """The codes of the findings about a report."""
        (checked,) = self.check(".json", dumps(tree).encode())
        return [finding.code for finding in checked.result.findings]


def _lines(suffix: str, data: bytes) -> list[str]:
    """The lines of the file as an editor would show them.

    JSON Lines are read one by one, so that their encoding shows in the first line alone.
    """
    first = data[: data.find(b"\n") + 1] or data
    if suffix == ".jsonl" and not encoding_of(first[:16]).is_wide:
        ended = [*(line + b"\n" for line in data.split(b"\n")[:-1]), data.rpartition(b"\n")[2]]
        return [decode(line).text.removesuffix("\n") if line else "" for line in ended]
    return decode(data).text.split("\n")


def _look_at(finding: Finding, parsed: Parsed, lines: list[str]) -> None:
    rule = rule_by_code(finding.code)
    assert rule is not None
    assert finding.name == rule.name
    assert finding.message.strip()
    places = [(finding.pointer, finding.location)]
    places += [(each.pointer, each.location) for each in finding.related]
    for pointer, location in places:
        if finding.code not in ("BL002", "BL003"):  # their members are not in the tree
            assert leads_somewhere(parsed.document, pointer), (finding.code, pointer)
        if finding.code not in ("BL008", "BL013"):
            assert location is not None, (finding.code, pointer)
        if location is not None:
            _stands_in(location, lines)


def leads_somewhere(document: Document | None, pointer: str) -> bool:
    """Whether the pointer is one (RFC 6901), and there is a value at it."""
    if not pointer:
        return True
    value: object = None if document is None else document.tree
    for part in split(pointer):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return pointer.startswith("/")


def _stands_in(at: Location, lines: list[str]) -> None:
    assert 1 <= at.line <= len(lines)
    line = lines[at.line - 1]
    assert 1 <= at.column <= at.end_column <= len(line) + 1, (at, line[:99])
    assert at.excerpt_column >= 1
    first = at.column - at.excerpt_column
    shown = line[first : first + len(at.excerpt)]
    assert len(shown) == len(at.excerpt), (at, line[:99])
    assert all(a in (b, "•") for a, b in zip(at.excerpt, shown, strict=True))


# --- values ----------------------------------------------------------------------------------

COUNTS = (0, 1, 2, 3, 4, 5, 7, 16, 32, 100, 384, 512, 1000, 4096, 8192, 131_072)
ODD_COUNTS = (-1, -7, 10**9, -(10**18), 10**40, 10**59)
FRACTIONS = tuple(
    map(Printed, ("0.5", "1.0", "0.72", "0.9", "2.3", "5.3", "24.0", "80.87", "99.99", "1250.5"))
)
ODD_FRACTIONS = tuple(
    map(
        Printed,
        (
            *("0.0", "-0.0", "-3.5", "1e-300", "-1e-300", "5e-324", "1e60", "-1e60", "1E+2"),
            *("0.1e1", "0." + "3" * 400),
        ),
    )
)
TOO_LARGE = (
    *(10**61, 10**308, -(10**308)),
    *map(Printed, ("1e308", "-1e308", "1.7976931348623157e308", "1" + "0" * 400, "1e999")),
    *map(Printed, ("-1e999", "NaN", "Infinity")),
)
NUMBERS = COUNTS + ODD_COUNTS + FRACTIONS + ODD_FRACTIONS + TOO_LARGE
#: What the numbers of one report are taken from: likely ones, odd ones, anything.
POOLS: tuple[tuple[tuple[int, ...], tuple[int | Printed, ...]], ...] = (
    (COUNTS, COUNTS + FRACTIONS),
    (COUNTS + ODD_COUNTS, COUNTS + FRACTIONS + ODD_COUNTS + ODD_FRACTIONS),
    (ODD_COUNTS, ODD_FRACTIONS),
    (COUNTS, NUMBERS),
)
REFERENCES = frozenset(
    {
        "id",
        "of",
        "to",
        "among",
        "over",
        "parts",
        "baseline",
        "configuration",
        "workload",
        "based_on",
    }
)
WORDS = (
    *("", " ", "\0", "\x1b[31mred", "]]>", "::error::x", "\u202e", "\ufeff", "\ud800", "a\nb\r\n"),
    *("null", "1.5", "50 %", "1e5", "-", "--", "/", "~0~1", "a/b~c", "[id=x]", "*", "é", "推論"),
    *("llama.cpp", "vllm", "sglang", "b1", "v0.1.0", "Q4_K_M", "f16", "q8_0", "fp8", "UD-Q4_K_XL"),
    *("NVIDIA H200", "RTX 4090", "Apple M4 Max", "Qwen3-8B", "gpt-oss-120b", "2025-02-30"),
    *("llama-server -m a.gguf --draft-max 8 -c 4096", "vllm serve a --speculative-config '{'"),
    *("decode.tok_s", "speculation.acceptance_rate", "2.3 times faster", "up to 5x, 80 tok/s"),
    *("code", "prose", "length", "eos", "perplexity", "stop", "sk-" + "a1B2" * 12, "/home/x/y"),
)
LENGTHS = (0, 1, 1, 2, 2, 3, 7, 30)
#: Names that configurations, workloads, runs and claims may have and refer to.
NAMES = ("a", "b", "c", "plain", "spec", "all", "w1", "")

#: What some members hold, so that rules look further.
LIKELY = {
    "name": ("llama.cpp", "vllm", "sglang", "NVIDIA H200", "RTX 4090", "Apple M4 Max", "Qwen3-8B"),
    "version": ("b9000", "b11549", "v0.11.0", "0.32.0", "abcdef0", "1"),
    "recipe": ("Q4_K_M", "Q8_0", "fp8", "bf16", "nvfp4", "UD-Q4_K_XL", "awq"),
    "target_type": ("f16", "q8_0", "fp8", "bf16", "q4_0"),
    "metric": ("decode.tok_s", "speculation.accepted_length", "speedup", "runs", "", "perplexity"),
    "text": ("2.3 times faster", "up to 5x at 80 tok/s", "twice as fast", "lossless", "\0"),
    "command": (
        "llama-server -m a.gguf -md b.gguf --draft-max 8 --draft-min 1 -c 4096 -ngl 99 -np 4",
        'vllm serve a --speculative-config \'{"num_speculative_tokens": 5, "method": "eagle3"}\'',
        "python -m sglang.launch_server --speculative-num-steps 3 --speculative-eagle-topk 4 '",
        "MODEL=a ./run.sh --temp 0 --spec-type draft-mtp && rm -rf /",
    ),
    "mix": ("code", "prose", "chat", "rag"),
}

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(NUMBERS)
    | st.sampled_from(WORDS)
    | st.text(max_size=8)
)


@cache
def field_names() -> tuple[str, ...]:
    """Every member name that the format has."""
    schema = report_schema()
    models = [schema, *schema["$defs"].values()]
    return tuple(sorted({name for model in models for name in model["properties"]}))


@cache
def report_schema() -> dict[str, Any]:
    """The published schema of a report."""
    text = (files("benchlint.schemas") / "report-v1.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


member_names = st.deferred(lambda: st.sampled_from(field_names())) | st.text(max_size=6)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(member_names, inner, max_size=4),
    max_leaves=12,
)


# --- reports by the schema -------------------------------------------------------------------


class Shaper:
    """Makes reports of the right shape, with any values at all in them."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._fullness = rng.choice((0.15, 0.4, 0.8))
        self._integers, self._numbers = rng.choice(POOLS)

    def report(self) -> Tree:
        """A report; its members refer to each other more often than not."""
        schema = report_schema()
        tree = self._members(schema)
        for name, model in (("configurations", "Configuration"), ("workloads", "Workload")):
            definition = schema["$defs"][model]
            tree[name] = {
                each: self._members(definition) for each in NAMES[: self._rng.randint(0, 4)]
            }
        for name, model in (("runs", "Run"), ("quality", "Quality"), ("claims", "Claim")):
            definition = schema["$defs"][model]
            tree[name] = [self._members(definition) for _ in range(self._rng.randint(0, 3))]
        return {**tree, "benchlint": "1"}

    def _members(self, schema: Tree) -> Tree:
        required = schema.get("required", ())
        return {
            name: self._value(member, name)
            for name, member in schema["properties"].items()
            if name in required or self._rng.random() < self._fullness
        }

    def _value(self, schema: Tree, name: str) -> object:
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._value(self._rng.choice(schema[key]), name)
        if "$ref" in schema:
            return self._members(report_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        make: Callable[[Tree, str], object] = getattr(self, f"_{schema.get('type', 'string')}")
        return make(schema, name)

    def _object(self, schema: Tree, name: str) -> object:
        inner = schema.get("additionalProperties")
        keys = self._rng.sample(WORDS + NAMES, self._rng.randint(0, 3))
        return {key: self._value(inner if isinstance(inner, dict) else {}, name) for key in keys}

    def _array(self, schema: Tree, name: str) -> object:
        return [self._value(schema["items"], name) for _ in range(self._rng.choice(LENGTHS))]

    def _string(self, _: Tree, name: str) -> object:
        if name in REFERENCES:
            return self._rng.choice(NAMES[:4] if self._rng.random() < 0.9 else NAMES)
        return self._rng.choice(LIKELY.get(name, WORDS))

    def _integer(self, _: Tree, __: str) -> object:
        return self._rng.choice(self._integers)

    def _number(self, _: Tree, __: str) -> object:
        return self._rng.choice(self._numbers)

    def _boolean(self, _: Tree, __: str) -> object:
        return self._rng.random() < 0.5

    def _null(self, _: Tree, __: str) -> object:
        return None


# A seed each, since a draw for every value would take most of the time.
shaped_reports = st.integers(0, 2**63).map(lambda seed: Shaper(Random(seed)).report())


# --- reports with something else in the place of something -----------------------------------


@cache
def honest_reports() -> tuple[Tree, ...]:
    """The examples, and some complete reports."""
    shown = [json.loads(path.read_text("utf-8"), parse_float=Printed) for path in _examples()]
    return (*shown, *map(complete_report, range(6)))


def _examples() -> list[Path]:
    return sorted((Path(__file__).parent.parent / "examples").glob("*.json"))


Place = tuple[str | int, ...]


def places(tree: object, at: Place = ()) -> Iterator[Place]:
    """The paths of all values of a tree, the outermost first."""
    yield at
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from places(value, (*at, name))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from places(value, (*at, index))


def value_at(tree: Any, place: Place) -> Any:
    """The value at a path."""
    for part in place:
        tree = tree[part]
    return tree


def changed(tree: Any, place: Place, value: object) -> Any:
    """A copy of the tree with the value at the path; without the member where it is ABSENT."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    if value is ABSENT and not rest:
        del copy[first]
    else:
        copy[first] = changed(tree[first], rest, value)
    return copy


ABSENT = object()


@st.composite
def grafted_reports(draw: DrawFn) -> object:
    """An honest report with up to four values replaced, taken out, or put in another place."""
    tree: object = draw(st.sampled_from(honest_reports()))
    for _ in range(draw(st.integers(1, 4))):
        here = list(places(tree))
        other = value_at(tree, here[draw(st.integers(0, len(here) - 1))])
        value = draw(st.just(other) | st.just(ABSENT) | scalars | trees)
        place = here[draw(st.integers(0, len(here) - 1))]
        tree = changed(tree, place, value) if place else tree
    return tree


# --- texts -----------------------------------------------------------------------------------


def in_toml(value: object, *, top: bool = True) -> str:
    """A tree as TOML text, without what TOML cannot say."""
    if isinstance(value, dict):
        members = [
            f"{json.dumps(name)} = {in_toml(member, top=False)}"
            for name, member in value.items()
            if member is not None
        ]
        return "\n".join(members) + "\n" if top else "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(in_toml(each, top=False) for each in value) + "]"
    return dumps(value)


@cache
def honest_texts(suffix: str) -> tuple[bytes, ...]:
    """Honest reports in the language of the suffix."""
    trees_of = honest_reports()[:4] if suffix in (".yaml", ".toml") else honest_reports()
    texts = [_text(suffix, tree) for tree in trees_of]
    return tuple(text.encode() for text in texts)


def _text(suffix: str, tree: Tree) -> str:
    if suffix == ".toml":
        return in_toml(tree)
    if suffix == ".yaml":
        return yaml.safe_dump(json.loads(dumps(tree)), sort_keys=False)
    if suffix == ".jsonl":
        return f"{dumps(tree)}\n\n{dumps(tree)}\n"
    if suffix == ".md":
        return f"# A page\n\n```benchlint\n{dumps(tree)}\n```\n"
    return json.dumps(json.loads(dumps(tree)), indent=2)


_TOKENS = (
    *('{"', '": ', "{", "}", "[", "]", ",", ":", '"', "'", "\n", "\r\n", "\r", "\t", " ", "  "),
    *('"runs": [{"id": "a"}]', '"benchlint": "1"', "null", "true", "True", "NaN", "-", "- "),
    *("0", "-0", "00", "1.", ".5", "1e", "1e999", "0x1F", "0o7", "1_000", "9" * 400, "+1"),
    *('"\\ud800"', '"\\u0000"', "\\", "\\x", "/*", "//", "#", "%", "---\n", "...\n", "%YAML 1.2\n"),
    *("&a ", "*a", "*a ", "<<: ", "!!int ", "!!binary ", "!<x> ", "? ", ": ", "| ", ">-\n", "@"),
    *("a = ", "a.b.c = ", "[a]\n", "[[a]]\n", "[a.b]\n", '"""', "'''", "1979-05-27T07:32:00Z"),
    *("inf", "nan", "2024-01-01", "07:32:00", "`", "```benchlint\n", "```\n", "~~~\n"),
    *("\0", "\x1b", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "é", "\U0001f600", "\ud800"),
)
TOKENS = (
    *(token.encode("utf-8", "surrogatepass") for token in _TOKENS),
    *(
        b"\xff",
        b"\xfe\xff",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x80",
        b"\xc3",
        b"\xf0\x9f",
        b"\x1f\x8b",
    ),
)

soups = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=4), max_size=40).map(b"".join)
in_other_encodings = st.builds(
    lambda text, encoding: text.encode(encoding, "surrogatepass"),
    st.text(max_size=40) | soups.map(lambda data: data.decode("utf-8", "ignore")),
    st.sampled_from(["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]),
)
raw_bytes = st.binary(max_size=120) | soups | in_other_encodings


@st.composite
def mutated_texts(draw: DrawFn, suffix: str) -> bytes:
    """An honest report of which bytes were deleted, repeated, swapped or put in."""
    data = draw(st.sampled_from(honest_texts(suffix)))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 40))
        part = data[start : start + length]
        change = draw(st.sampled_from(("delete", "repeat", "swap", "insert", "cut")))
        if change == "delete":
            data = data[:start] + data[start + length :]
        elif change == "repeat":
            data = data[:start] + part * draw(st.integers(2, 5)) + data[start + length :]
        elif change == "swap":
            to = draw(st.integers(0, len(data)))
            data = data[:to] + part + data[to:]
        elif change == "insert":
            data = data[:start] + draw(st.sampled_from(TOKENS)) + data[start:]
        else:
            data = data[:start]
    return data
