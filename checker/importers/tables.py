"""Tables that people publish: Markdown pages, console output, CSV; in three languages.

A table whose heads speak of speed, acceptance, accepted length, draft length or speed-up becomes
a report of its own: each row (or, where metrics are the rows, each column) a run, and where a row
holds several arms side by side, each arm one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from benchlint.checker.document import parse_text
from benchlint.checker.importers import llama_bench, llama_benchy, table_runs
from benchlint.checker.importers.found import Line
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.json_tables import json_table
from benchlint.checker.importers.llama_bench import DELIMITER
from benchlint.checker.importers.registry import candidates
from benchlint.checker.importers.table_columns import is_of_results, speaks
from benchlint.checker.importers.text_tables import (
    HTML_TABLE,
    Fence,
    Table,
    console_tables,
    csv_table,
    page_parts,
)

NAME = "tables"

#: So many tables and blocks of a page are looked at.
MOST_PARTS = 500


def _recognise(head: Head) -> Confidence:
    """MAYBE where some table gives a run: other importers may know the text better."""
    if head.document is not None:
        lines = _numbered(head.text)
        document = None if _is_json_lines(lines) else head.document
        table = json_table(Source("", lambda: iter(lines), document))
        known = table is not None and table_runs.has_runs(table)
        return Confidence.MAYBE if known else Confidence.NO
    lines = _numbered(head.text)
    if _is_page(head.text):
        found = any(_has_results("", part) for part in islice(page_parts(lines), MOST_PARTS))
    else:
        found = any(map(table_runs.has_runs, _plain_tables(lines)))
    return Confidence.MAYBE if found else Confidence.NO


def _is_json_lines(lines: Sequence[Line]) -> bool:
    """Whether the first two lines are objects of their own."""
    return len(lines) > 1 and all(each.text.lstrip()[:1] == "{" for each in lines[:2])


def _numbered(text: str) -> list[Line]:
    return [Line(i, each.rstrip("\r")) for i, each in enumerate(text.split("\n"), 1)]


_FENCED = re.compile(r"(?m)^[ \t>]*+(?:```|~~~)")


def _is_page(text: str) -> bool:
    return any(each.search(text) is not None for each in (DELIMITER, _FENCED, HTML_TABLE))


def _has_results(name: str, part: Table | Fence) -> bool:
    if isinstance(part, Table):
        return _reader_of(part) is not None or table_runs.has_runs(part)
    return any(map(table_runs.has_runs, _tables_of(part))) or _known(name, part) is not None


def _reader_of(table: Table) -> Callable[[Iterator[Line]], Iterator[Imported]] | None:
    """Who reads a table that a tool printed, and whose rows are not runs of their own."""
    if table.form == "html":
        return None
    if llama_bench.is_llama_bench_head(table.words):
        return llama_bench.read_markdown
    return llama_benchy.read_markdown if llama_benchy.is_head(table.words) else None


def _plain_tables(lines: Sequence[Line]) -> Iterator[Table]:
    """The tables of a text that is no page: CSV, or what a program printed."""
    first = next((line for line in lines if line.text.strip()), None)
    table = csv_table(lines) if first is not None and "," in first.text else None
    if table is not None and speaks(table) and table_runs.has_runs(table):
        yield table
    else:
        yield from filter(is_of_results, console_tables(lines))


def _read(source: Source) -> Iterator[Imported]:
    source, lines = source.held()
    if source.document is not None or (lines and lines[0].text.lstrip()[:1] == "{"):
        table = json_table(source)
        return table_runs.imported(NAME, [] if table is None else [table])
    if _is_page("\n".join(line.text for line in lines)):
        return _of_page(source.name, lines)
    return table_runs.imported(NAME, islice(_plain_tables(lines), MOST_PARTS))


def _of_page(name: str, lines: Sequence[Line]) -> Iterator[Imported]:
    """The tables of a page as one report; other tools' output in it as reports of their own."""
    tables: list[Table] = []
    others: list[Iterator[Imported]] = []
    for part in islice(page_parts(lines), MOST_PARTS):
        if isinstance(part, Table):
            if (reader := _reader_of(part)) is not None:
                others.append(reader(iter(part.lines)))
            else:
                tables.append(part)
        elif (known := _known(name, part)) is not None:
            others.append(known)
        else:
            tables += _tables_of(part)
    yield from table_runs.imported(NAME, tables)
    yield from chain.from_iterable(others)


def _known(name: str, fence: Fence) -> Iterator[Imported] | None:
    """The reports of another tool's output that was pasted into a page."""
    head = _head_of(name, fence)
    known = [each for each in candidates(head) if each.name != NAME]
    if len(known) != 1:
        return None
    return known[0].read(Source(name, lambda: iter(fence.lines), head.document))


def _tables_of(fence: Fence) -> Iterator[Table]:
    for table in filter(is_of_results, console_tables(fence.lines)):
        table.title = fence.title
        yield table


def _head_of(name: str, fence: Fence) -> Head:
    text = "\n".join(line.text for line in fence.lines)
    if text.lstrip()[:1] not in ("{", "["):
        return Head(text)
    offset = fence.lines[0].number - 1 if fence.lines else 0
    parsed = parse_text(text, name, line_offset=offset)
    return Head(text, parsed.document)


IMPORTER = Importer(
    name=NAME,
    title="tables in Markdown pages, consoles, CSV and JSON files",
    reads="README files, issues, pull requests and articles (English, Japanese, Chinese heads), "
    "tables in HTML among them, what programs print with bars or in columns, `key=value` lines, "
    "CSV, lists of flat JSON objects; output of other tools that is pasted into a page is read as "
    "such",
    recognise=_recognise,
    read=_read,
    fields=table_runs.FIELDS,
    hints={
        "engine": "a table of results rarely says it: give engine, version and command line",
        "machine.devices[].name": "a table of results rarely says it: give the device and how "
        "many there were",
    },
    never=(
        "What a head without a unit means: a number is taken only where its head or cell says "
        "what it is.",
        "Which definition of acceptance rate and accepted length was used: all remain open.",
        "Whether rows differ in anything that is not in a column.",
    ),
)
