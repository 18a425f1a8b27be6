"""From a file that is no report of our own to what can be made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from benchlint.checker.document import (
    LINE_SUFFIXES,
    PAGE_SUFFIXES,
    Document,
    Parsed,
    documents,
    parse_text,
)
from benchlint.checker.files import is_report, names_a_version
from benchlint.checker.finding import Finding, Location, Severity
from benchlint.checker.importers.feed import Feed
from benchlint.checker.importers.found import Line
from benchlint.checker.importers.imported import ImportedDocument
from benchlint.checker.importers.importer import Head, Importer, Source
from benchlint.checker.importers.registry import candidates, importer_named
from benchlint.checker.model import Block, Report, Run
from benchlint.checker.read_markdown import benchlint_blocks, json_blocks
from benchlint.checker.registry import Problem
from benchlint.checker.source import file_finding, open_source, too_large

_START = Location(1, 1, 1)


def read(
    path: str | Path, limit_bytes: int, stdin: BinaryIO | None, tool: str = ""
) -> Iterator[Parsed]:
    """The reports in a file of any kind; see `checker.reading.reports`."""
    name = str(path)
    if stdin is not None:
        feed = Feed(stdin)
        yield from _Reading(
            name,
            feed,
            limit_bytes,
            lambda: documents(name, limit_bytes=limit_bytes, stdin=feed.replay()),
            expected=not PurePath(name).suffix,
        ).of(tool)
        return
    opened = open_source(path)
    if isinstance(opened, Finding):
        yield Parsed(name, syntax=[opened])
        return
    with opened:
        yield from _Reading(
            name, Feed(opened), limit_bytes, lambda: documents(path, limit_bytes=limit_bytes)
        ).of(tool)


#: So much of a text is looked at to see whether a tool may have written it, in characters.
_LOOKED_AT = 1 << 16


def looks_like_results(path: str) -> bool:
    """Whether a file looks, by its beginning, like what a known tool writes.

    Of JSON that is larger than what is read to recognise a tool (`feed.HEAD_BYTES`) nothing is
    known, and it does not look like anything.
    """
    opened = open_source(path)
    if isinstance(opened, Finding):
        return False
    with opened:
        feed = Feed(opened)
    if not _is_one_json(feed):
        return bool(candidates(Head(feed.text[:_LOOKED_AT], _first_line(feed))))
    document = parse_text(feed.text, path).document if feed.is_whole else None
    return document is not None and bool(candidates(_head_of_json(document)))


def _head_of_json(document: Document) -> Head:
    return Head(document.text[:1000], document)


def instead_of(parsed: Parsed, limit_bytes: int) -> Iterator[Parsed]:
    """What a file that has the ending of a report holds instead of one.

    parsed: what reading it as a report of our own came to.
    """
    if parsed.document is not None:
        yield from _of_document(parsed)
        return
    if [finding.code for finding in parsed.syntax] == ["BL001"]:
        found = list(_of_file_as_text(parsed.path, limit_bytes))
        if found:
            yield from found
            return
    yield parsed


def _of_document(parsed: Parsed) -> Iterator[Parsed]:
    document = parsed.document
    if document is None or _is_ours(document.tree):
        yield parsed
        return
    found = candidates(_head_of_json(document))
    if found:
        yield from _imported(document.path, found, _source_of(document))
    elif isinstance(document.tree, (dict, list)):
        yield _unknown(document.path)
    else:
        yield parsed


def _of_file_as_text(path: str, limit_bytes: int) -> Iterator[Parsed]:
    opened = open_source(path)
    if not isinstance(opened, Finding):
        with opened:
            feed = Feed(opened)
            head = _head_of_text(feed)
            if found := candidates(head):
                yield from _import(path, found, feed, limit_bytes)


# --- of a stream -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """The reading of a stream that may hold anything.

    as_reports: reads the same stream as reports of our own, from its beginning.
    expected: what it holds can only be meant as a report.
    """

    name: str
    feed: Feed
    limit_bytes: int
    as_reports: Callable[[], Iterator[Parsed]]
    expected: bool = False

    def of(self, tool: str) -> Iterator[Parsed]:
        """What the stream holds. tool: the importer to read it with, "" for whichever knows it."""
        if tool:
            yield from self._by_force(importer_named(tool))
        elif _is_ours_at_first_sight(self.name, self.feed):
            yield from self.as_reports()
        elif _is_one_json(self.feed):
            for parsed in self._one_json():
                yield from _of_document(parsed)
        elif found := candidates(_head_of_text(self.feed)):
            yield from _import(self.name, found, self.feed, self.limit_bytes)
        else:
            yield from self._not_recognised()

    def _by_force(self, importer: Importer) -> Iterator[Parsed]:
        if not _is_one_json(self.feed):
            yield from _import(self.name, (importer,), self.feed, self.limit_bytes)
            return
        for parsed in self._one_json():
            if parsed.document is None:
                yield parsed
            else:
                yield from _imported(self.name, (importer,), _source_of(parsed.document))

    def _one_json(self) -> Iterator[Parsed]:
        """One JSON text, also over several lines of a file that is called JSON Lines."""
        if not self.name.lower().endswith(LINE_SUFFIXES) or "\n" not in self.feed.text.strip():
            yield from self.as_reports()
            return
        data = self.feed.replay().read(self.limit_bytes + 1)
        if len(data) > self.limit_bytes:
            yield Parsed(self.name, syntax=[too_large("the file has more bytes", self.limit_bytes)])
        else:
            yield parse_text(Feed.of(data).text, self.name)

    def _not_recognised(self) -> Iterator[Parsed]:
        """The finding of a text that nothing is known to write."""
        lower, start = self.name.lower(), self.feed.text.lstrip()[:1]
        if lower.endswith(LINE_SUFFIXES) and _first_line(self.feed) is not None:
            yield _unknown(self.name)
        elif lower.endswith(PAGE_SUFFIXES):
            yield _unknown(self.name, _NO_TABLE, _hint_of_page(self.feed.text))
        elif lower.endswith(LINE_SUFFIXES) or start == "{":
            yield from self.as_reports()
        elif "\0" in self.feed.text or self.expected:
            yield from self.as_reports()
        else:
            yield _unknown(self.name)


def _source_of(document: Document) -> Source:
    return Source(document.path, lambda: _lines_of(document), document)


def _lines_of(document: Document) -> Iterator[Line]:
    return (Line(i, each) for i, each in enumerate(document.text.split("\n"), 1))


def _is_ours_at_first_sight(name: str, feed: Feed) -> bool:
    """Whether the stream carries reports of our own, or is empty or binary."""
    lower = name.lower()
    if lower.endswith(PAGE_SUFFIXES):
        return any(True for _ in benchlint_blocks(feed.text))
    if lower.endswith((".yaml", ".yml", ".toml")):
        return True
    if not feed.text.strip():
        return True
    first = _first_line(feed)
    return first is not None and is_report(first.tree)


def _is_one_json(feed: Feed) -> bool:
    """Whether the stream is JSON as far as it was looked at, and not JSON Lines."""
    text = feed.text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        return not feed.is_whole and error.pos > len(text) - 1000
    except RecursionError:
        return True
    return end == len(text)


def _first_line(feed: Feed) -> Document | None:
    """The first line where it is a JSON object of its own."""
    lines = feed.text.lstrip().split("\n", 1)
    if lines[0][:1] != "{":
        return None
    return parse_text(lines[0], "").document


def _head_of_text(feed: Feed) -> Head:
    return Head(feed.text, _first_line(feed))


def _import(name: str, found: Sequence[Importer], feed: Feed, limit_bytes: int) -> Iterator[Parsed]:
    if all(each.streams for each in found):
        yield from _imported(name, found, Source(name, feed.lines))
        if feed.is_whole and found[0].name in _SERVER_LOGS:
            yield from _printed_beside(name, feed)
        return
    if not feed.is_whole:
        data = feed.replay().read(limit_bytes + 1)
        if len(data) > limit_bytes:
            yield Parsed(name, syntax=[too_large("the file has more bytes", limit_bytes)])
            return
        feed = Feed.of(data)
    yield from _imported(name, found, Source(name, feed.lines))


#: Logs of servers whose clients have been seen to print into the same file.
_SERVER_LOGS = ("vllm-log", "sglang-log")

#: How their lines begin.
_LOGGED = re.compile(
    r"\s*(?:\(\w+ pid=\d+\)|\[?\d{4}-\d\d-\d\d|\[\d{4}|(?:INFO|WARN|ERROR|DEBUG)\b|\w+: |#)"
)


def _printed_beside(name: str, feed: Feed) -> Iterator[Parsed]:
    """What a client printed in tables into the same file as the server's log."""
    tables = importer_named("tables")
    lines = [line for line in Feed.of(feed.text.encode()).lines() if not _LOGGED.match(line.text)]
    if tables.recognise(Head("\n".join(line.text for line in lines))):
        yield from _imported(name, (tables,), Source(name, lambda: iter(lines)))


# --- what was found --------------------------------------------------------------------------


def _imported(name: str, found: Sequence[Importer], source: Source) -> Iterator[Parsed]:
    if len(found) > 1:
        yield _ambiguous(name, found)
        return
    importer = found[0]
    nothing, why = True, list[str]()
    for imported in importer.read(source):
        if imported.is_empty:
            why += imported.remarks
            continue
        nothing = False
        # A page may hold what other tools wrote.
        tool = importer if imported.tool == importer.name else importer_named(imported.tool)
        yield Parsed(name, ImportedDocument(name, imported, tool))
    if nothing:
        yield _nothing_in(name, importer, why)


def _is_ours(tree: object) -> bool:
    """Whether a tree in a file that was named is a report, if one with mistakes."""
    if not isinstance(tree, dict):
        return False
    return names_a_version(tree) or (_is_mostly(Report, tree) and _has_our_runs(tree))


def _has_our_runs(tree: dict[str, object]) -> bool:
    """Whether its runs, where there are any, have the members of runs."""
    runs = tree.get("runs")
    first = runs[0] if isinstance(runs, list) and runs else None
    return not isinstance(first, dict) or _is_mostly(Run, first)


def _is_mostly(model: type[Block], tree: dict[str, object]) -> bool:
    return 2 * len(model.model_fields.keys() & tree.keys()) >= len(tree)


_NO_OUTPUT = "this is no report, and nothing that a known tool writes"
_NO_TABLE = "the page has no `benchlint` block and no table of speeds or acceptance"
_OTHER_TOOLS = (
    "`benchlint convert --help` names the tools that are read, docs/importers.md what of each; "
    "--from NAME reads it as one of them"
)


def _hint_of_page(page: str) -> str:
    """What to do where nothing is read in a page: it may show a report that it should carry."""
    for block in json_blocks(page):
        document = parse_text(block.text, "").document
        if document is not None and _shows_a_report(document.tree):
            return (
                f"the ```json block in line {block.line_offset} has the members of a report: "
                "`check` reads it where the fence is ```benchlint instead"
            )
    return _OTHER_TOOLS


def _shows_a_report(tree: object) -> bool:
    """Whether a tree that nobody called a report has the members of one."""
    return isinstance(tree, dict) and _is_ours(tree) and ("runs" in tree or names_a_version(tree))


def _unknown(name: str, why: str = _NO_OUTPUT, hint: str = _OTHER_TOOLS) -> Parsed:
    problem = Problem("", f"not a benchmark result: {why}", help=hint)
    return Parsed(name, top=[file_finding("BL014", problem, _START)])


def _nothing_in(name: str, importer: Importer, why: Sequence[str]) -> Parsed:
    text = "; ".join([f"no result in it, read as {importer.title}", *why])
    problem = Problem(
        "", text, help="see that it is that, that the run came to its end and the file is whole"
    )
    return Parsed(name, top=[file_finding("BL014", problem, _START)])


def _ambiguous(name: str, found: Sequence[Importer]) -> Parsed:
    names = " or ".join(each.name for each in found)
    problem = Problem(
        "",
        f"this may be output of {names}",
        help=f"say which, for example --from {found[0].name}",
        severity=Severity.ERROR,
    )
    return Parsed(name, top=[file_finding("BL014", problem, _START)])
