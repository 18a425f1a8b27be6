"""The objects in JSON, wherever they stand: in files, lists, lines and captured streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchlint.checker.document import Document, parse_text
from benchlint.checker.importers.found import JsonRecord
from benchlint.checker.importers.importer import Source
from benchlint.checker.pointers import pointer

#: So many objects of a text are looked at, and so deep.
MOST_OBJECTS = 200_000
DEEPEST = 8

Path = tuple[str | int, ...]


def objects(document: Document) -> Iterator[tuple[JsonRecord, Path]]:
    """The objects in a JSON text with their paths, outermost first."""
    waiting: list[tuple[object, Path]] = [(document.tree, ())]
    for _ in range(MOST_OBJECTS):
        if not waiting:
            return
        tree, path = waiting.pop()
        if isinstance(tree, dict):
            yield JsonRecord(document, tree, pointer(*path)), path
        if len(path) < DEEPEST:
            inner = tree.items() if isinstance(tree, dict) else enumerate(_list(tree))
            containers = [(v, (*path, k)) for k, v in inner if isinstance(v, (dict, list))]
            waiting += containers[::-1]


def _list(tree: object) -> list[object]:
    return tree if isinstance(tree, list) else []


def objects_of(source: Source, words: tuple[str, ...]) -> Iterator[JsonRecord]:
    """The objects of a source: of the JSON it is, or of its lines that hold one of these words.

    A line is JSON, or an event of a captured stream (`data: {…}`).
    """
    if source.document is not None:
        yield from (record for record, _ in objects(source.document))
        return
    for line in source.lines():
        start = line.text.find("{")
        if 0 <= start <= _MOST_PREFIX and any(word in line.text for word in words):
            # Blanks in front keep the columns.
            text = " " * start + line.text[start:]
            parsed = parse_text(text, source.name, line_offset=line.number - 1)
            if parsed.document is not None:
                yield from (record for record, _ in objects(parsed.document))


#: `data: ` of a stream, or a time stamp of whoever captured it.
_MOST_PREFIX = 80


def any_object(document: Document | None, holds: Callable[[JsonRecord], bool]) -> bool:
    """Whether some object in a JSON text is what is looked for."""
    return document is not None and any(holds(record) for record, _ in objects(document))
