"""Lists of flat JSON objects, as people's own harnesses write them, as tables.

The names of members are the heads, and each object is a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from benchlint.checker.importers.found import Found, JsonRecord
from benchlint.checker.importers.importer import Source
from benchlint.checker.importers.text_tables import MOST_COLUMNS, MOST_ROWS, Table
from benchlint.checker.tree import Digits

#: JSON holds anything: of these words at least one has to be among the names.
_OF_DECODING = re.compile(r"accept|draft|specul|tok(?:en)?s?(?:_per)?_?s|tps|tpot|ttft", re.I)


def json_table(source: Source) -> Table | None:
    """The table of a list of objects, of JSON Lines, or of the one list of objects in an object.

    An object alone is no table.
    """
    rows = list(islice(_rows(source), MOST_ROWS))
    names = _names(record.tree for record in rows)
    if not rows or len(names) > MOST_COLUMNS or not any(map(_OF_DECODING.search, names)):
        return None
    if len(names) * len(rows) > 2 * sum(len(row.tree) for row in rows):
        return None  # events of several kinds, and no rows of one table
    head = [Found(name) for name in names]
    return Table(head, [[_cell(row, n) for n in names] for row in rows], form="json")


def _rows(source: Source) -> Iterator[JsonRecord]:
    tree = None if source.document is None else source.document.tree
    if not isinstance(tree, dict):
        yield from source.records()
        return
    lists = [name for name, value in tree.items() if _is_rows(value)]
    for record in source.records() if len(lists) == 1 else ():
        yield from record.records(lists[0])


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) for e in value)


def _names(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Names of members that are plain values, in the order in which they come."""
    names = (n for row in rows for n, v in row.items() if not isinstance(v, (dict, list)))
    return list(dict.fromkeys(names))


def _cell(row: JsonRecord, name: str) -> Found:
    value = row.tree.get(name)
    found = row.get(name)
    if found is None or isinstance(value, (dict, list, bool)):
        return Found("")
    return found.to(value.text if isinstance(value, Digits) else str(value))
