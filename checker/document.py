"""From bytes to documents: a tree, its text, and where in the text each value stands.

documents(path)  the reports of a file, one by one: what `check` reads with
parse(source)    the one document in some bytes
parse_text(text) the one document in a text, as in a code block of a larger file
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from benchlint.checker.encoding import decode, encoding_of
from benchlint.checker.finding import Finding, Location, Related
from benchlint.checker.lines import Lines
from benchlint.checker.loaded import Fault, Loaded, empty_fault, listed, not_read, size_fault
from benchlint.checker.pointers import split
from benchlint.checker.positions import Node, NodePositions, Positions
from benchlint.checker.read_json import load as load_json
from benchlint.checker.registry import Problem
from benchlint.checker.source import (
    Source,
    file_finding,
    open_source,
    read_lines,
    read_source,
    read_stdin,
)
from benchlint.checker.tree import MAX_VALUES, Digits

__all__ = ["Digits", "Document", "Language", "Parsed", "documents", "parse", "parse_text"]

Language = Literal["json", "yaml", "toml"]

#: Files with these endings hold one report a line.
LINE_SUFFIXES = (".jsonl", ".ndjson")

#: Pages with these endings carry reports in fenced blocks.
PAGE_SUFFIXES = (".md", ".markdown")

#: The version of the report format that is read.
VERSION = "1"

_LANGUAGES: dict[str, Language] = {".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


@dataclass(slots=True)
class Document:
    """A parsed text.

    path: the name to show. text: as read, without a byte-order mark.
    tree: nested dict, list, str, int, Digits, bool and None. Numbers that are not finite are
    left out of it (a list that holds one as a whole), and of members with the same name the
    first stays. Lone surrogates (`"\\ud800"` is legal JSON) are U+FFFD in it, so that every
    string of it can be encoded.
    line_offset: how many lines stand before the text in its file.
    """

    path: str
    text: str
    tree: object
    language: Language
    line_offset: int = 0
    _positions: Callable[[], Positions] | None = field(default=None, repr=False, compare=False)
    _places: tuple[Positions, Lines] | None = field(default=None, repr=False, compare=False)
    _located: dict[tuple[str, bool], Location] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def is_original(self) -> bool:
        """Whether the text is the report itself, and not what the report was made of."""
        return True

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of how the report was made of the file."""
        return ()

    def advised(self, findings: list[Finding]) -> list[Finding]:
        """The findings with the help that fits where the report comes from."""
        return findings

    def locate(self, pointer: str, *, key: bool = False) -> Location:
        """Where the value at a JSON Pointer stands, or its nearest ancestor that exists.

        key: the member's name instead of its value; the value where it has no name.
        Of a value over several lines the part in the first line is meant.
        """
        # Findings about a report share most of their places: runs, and numbers in them.
        found = self._located.get((pointer, key))
        if found is None:
            found = self._located[pointer, key] = self._locate(pointer, key=key)
        return found

    def placed(self, finding: Finding) -> Finding:
        """The finding with its place and those of the numbers it is related to."""
        related = tuple(
            Related(each.pointer, each.message, each.location or self.locate(each.pointer))
            for each in finding.related
        )
        return finding.placed(self.locate(finding.pointer, key=finding.at_key), related)

    def _locate(self, pointer: str, *, key: bool) -> Location:
        if self._places is None:
            positions = self._positions() if self._positions else NodePositions(Node((0, 0)))
            self._places = positions, Lines(self.text, self.line_offset)
        positions, lines = self._places
        return lines.location(positions.span(split(pointer), key=key))


@dataclass(slots=True)
class Parsed:
    """What one report of a file came to.

    document: None when the text has no tree.
    syntax: findings about the text, whatever it is: BL001, 002, 003, 008, 009, 013.
    top: findings that the tree is no report of this version: BL001 when it is no object, and
    BL007. A reader of other tools' files decides by the tree and passes over these.
    All findings have their location, except where no text could be read.
    """

    path: str
    document: Document | None = None
    syntax: list[Finding] = field(default_factory=list)
    top: list[Finding] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        """All findings, those about the text first."""
        return [*self.syntax, *self.top]

    @property
    def report(self) -> Document | None:
        """The document, if its tree can be checked as a report of this version."""
        return None if self.top else self.document


def documents(
    path: str | Path, *, limit_bytes: int, stdin: BinaryIO | None = None
) -> Iterator[Parsed]:
    """What the file holds: one Parsed, or one for each line of a .jsonl or .ndjson file.

    Such a file is read line by line, so memory does not grow with it, and the limit is that of
    a line. Lines are told apart by `document.line_offset` and the findings' locations.

    limit_bytes: largest size of a file, or of a line, in bytes.
    stdin: a stream to read instead of the file; `path` is then only its name, whose ending
    says the language as for a file (JSON where there is none).
    """
    name = str(path)
    if name.lower().endswith(LINE_SUFFIXES):
        yield from _line_documents(path, limit_bytes, stdin)
        return
    if stdin is not None:
        source = read_stdin(name, limit_bytes, stdin)
    else:
        source = read_source(path, limit_bytes=limit_bytes)
    if isinstance(source, Finding):
        yield Parsed(name, syntax=[source])
    elif name.lower().endswith(PAGE_SUFFIXES):
        yield from _page_documents(source)
    elif stdin is not None and not PurePath(name).suffix:
        yield _unnamed(source)
    else:
        yield parse(source)


def _unnamed(source: Source) -> Parsed:
    """What was piped in without a name that says its language."""
    parsed = parse(source)
    if parsed.document is None:
        from benchlint.checker.stdin_language import with_advice

        parsed.syntax = with_advice(parsed.syntax, decode(source.data[:10_000]).text)
    return parsed


def _page_documents(source: Source) -> Iterator[Parsed]:
    """The reports that a Markdown page carries in `benchlint` blocks."""
    from benchlint.checker.read_markdown import benchlint_blocks

    decoded = decode(source.data)
    if decoded.faults:
        lines = Lines(decoded.text)
        yield Parsed(source.path, syntax=_findings(decoded.faults, lines))
    if not decoded.usable:
        return
    blocks = list(benchlint_blocks(decoded.text))
    for block in blocks:
        yield parse_text(block.text, source.path, line_offset=block.line_offset)
    if not blocks:
        yield Parsed(source.path, syntax=[_no_block(Lines(decoded.text))])


def _no_block(lines: Lines) -> Finding:
    hint = "a page carries a report in a fenced block that begins with ```benchlint"
    problem = Problem("", "no report: the page has no `benchlint` block", help=hint)
    return file_finding("BL001", problem, lines.location((0, 0)))


def _line_documents(path: str | Path, limit_bytes: int, stdin: BinaryIO | None) -> Iterator[Parsed]:
    name = str(path)
    if stdin is not None:
        yield from _reports_of_lines(name, stdin, limit_bytes)
        return
    opened = open_source(path)
    if isinstance(opened, Finding):
        yield Parsed(name, syntax=[opened])
        return
    with opened:
        yield from _reports_of_lines(name, opened, limit_bytes)


def _reports_of_lines(name: str, stream: BinaryIO, limit: int) -> Iterator[Parsed]:
    is_empty = True
    for number, line in enumerate(read_lines(stream, limit), 1):
        if isinstance(line, Finding):
            yield Parsed(name, syntax=[line])
        elif number == 1 and encoding_of(line[:16]).is_wide:
            yield from _wide_lines(name, line, stream, limit)
        elif line.strip():
            yield parse(Source(name, line), line_offset=number - 1)
        else:
            continue
        is_empty = False
    if is_empty:
        yield Parsed(name, syntax=_findings([empty_fault()], Lines("")))


def _wide_lines(name: str, first: bytes, stream: BinaryIO, limit: int) -> Iterator[Parsed]:
    """The reports of a UTF-16 or UTF-32 file, read as a whole: its lines end in no one byte."""
    rest = read_stdin(name, max(0, limit - len(first)), stream)
    if isinstance(rest, Finding):
        yield Parsed(name, syntax=[rest])
        return
    decoded = decode(first + rest.data)
    oddities = _findings(decoded.faults, Lines(decoded.text))
    if not decoded.usable:
        yield Parsed(name, syntax=oddities)
        return
    for number, line in enumerate(decoded.text.split("\n")):
        if line.strip():
            parsed = parse_text(line, name, line_offset=number)
            parsed.syntax[:0], oddities = oddities, []
            yield parsed


def language_of(path: str) -> Language:
    """The language of a file by its ending; JSON where that says nothing."""
    return _LANGUAGES.get(os.path.splitext(path)[1].lower(), "json")  # noqa: PTH122 - a Path takes longer


def parse(source: Source, *, line_offset: int = 0) -> Parsed:
    """The one document in these bytes, in the language that the path's ending says."""
    decoded = decode(source.data)
    parsed = Parsed(source.path)
    if decoded.usable:
        language = language_of(source.path)
        parsed = parse_text(decoded.text, source.path, language=language, line_offset=line_offset)
    if decoded.faults:
        parsed.syntax[:0] = _findings(decoded.faults, Lines(decoded.text, line_offset))
    return parsed


def parse_text(
    text: str, path: str, *, language: Language = "json", line_offset: int = 0
) -> Parsed:
    """The one document in this text.

    line_offset: how many lines stand before it in its file.
    """
    loaded = not_read(size_fault()) if _holds_too_much(text, language) else _loader(language)(text)
    parsed = Parsed(path)
    if loaded.has_tree:
        document = Document(path, text, loaded.tree, language, line_offset, loaded.positions)
        parsed.document, parsed.top = document, _not_a_report(document)
    if loaded.faults:
        parsed.syntax = _findings(listed(loaded.faults), Lines(text, line_offset))
    return parsed


def _holds_too_much(text: str, language: Language) -> bool:
    """Whether there are more signs in front of a value than values are read."""
    if len(text) < MAX_VALUES:
        return False
    signs = ",[{" if language == "json" else ",[{\n"
    return sum(map(text.count, signs)) > MAX_VALUES


def _loader(language: Language) -> Callable[[str], Loaded]:
    """Readers are imported when a file needs them; all but JSON's are slow to import."""
    if language == "yaml":
        from benchlint.checker.read_yaml import load as load_yaml

        return load_yaml
    if language == "toml":
        from benchlint.checker.read_toml import load as load_toml

        return load_toml
    return load_json


def _findings(faults: Iterable[Fault], lines: Lines) -> list[Finding]:
    return [_finding(fault, lines) for fault in faults]


def _finding(fault: Fault, lines: Lines) -> Finding:
    problem = Problem(fault.pointer, fault.message, help=fault.help, at_key=fault.at_key)
    found = file_finding(fault.code, problem, lines.location(fault.span))
    related = (Related(at, what, lines.location(span)) for at, what, span in fault.related)
    return replace(found, related=tuple(related))


def _not_a_report(document: Document) -> list[Finding]:
    tree = document.tree
    if not isinstance(tree, dict):
        kind = "a list" if isinstance(tree, list) else "a single value"
        hint = "a report is one object with runs, configurations and so on"
        return [_at_top(document, "BL001", "", f"not a report: the file holds {kind}", hint)]
    version = tree.get("benchlint", VERSION)
    if not _is_other_version(version):
        return []
    shown = getattr(version, "text", version)
    message = f"version {str(shown)[:40]!r} of the report format is not known"
    hint = f'this release reads version "{VERSION}"; a newer one may read the file'
    return [_at_top(document, "BL007", "/benchlint", message, hint)]


def _is_other_version(version: object) -> bool:
    """Whether it names a version at all, and not ours. What names none has the wrong type."""
    if isinstance(version, str):
        return version != VERSION
    return isinstance(version, (int, float)) and not isinstance(version, bool) and version != 1


def _at_top(document: Document, code: str, pointer: str, message: str, hint: str) -> Finding:
    return file_finding(code, Problem(pointer, message, help=hint), document.locate(pointer))
