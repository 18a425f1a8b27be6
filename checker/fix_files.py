"""Fixes put into their file, or shown as a diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal

from benchlint.checker.atomic import write
from benchlint.checker.document import PAGE_SUFFIXES, Document
from benchlint.checker.encoding import encoding_of
from benchlint.checker.finding import Finding
from benchlint.checker.fixes import Fixed, UncertainError, Wants, fixable, fixed
from benchlint.checker.formats.escape import terminal

Mode = Literal["write", "diff"]


@dataclass(frozen=True, slots=True)
class FileFix:
    """What was fixed in a file, or would be: values, the diff, and why others were left."""

    count: int = 0
    diff: str = ""
    notices: tuple[str, ...] = ()


def fix_file(
    path: str, documents: Iterable[tuple[Document, Sequence[Finding]]], wants: Wants, mode: Mode
) -> FileFix:
    """Fix the documents of one file by their findings. Raises OSError."""
    changes: dict[int, Fixed] = {}
    notices: list[str] = []
    for document, findings in documents:
        try:
            change = _change(path, document, findings, wants, notices)
        except UncertainError:
            notices.append("a fix was left out, since it would change more than it should")
            continue
        if change is not None:
            changes[document.line_offset] = change
    named = tuple(f"{terminal(path)}: {each}" for each in dict.fromkeys(notices))
    if not changes:
        return FileFix(notices=named)
    try:
        return _put(path, changes, mode, named)
    except UncertainError as error:
        return FileFix(notices=(*named, f"{terminal(path)}: nothing was fixed: {error}"))


def _change(
    path: str,
    document: Document,
    findings: Sequence[Finding],
    wants: Wants,
    notices: list[str],
) -> Fixed | None:
    # The table above a page's report would no longer be its table.
    is_json = document.language == "json" and not path.lower().endswith(PAGE_SUFFIXES)
    if is_json and document.is_original:
        return fixed(document, findings, wants)
    left = sorted(set(fixable(document.tree, findings)))
    if left:
        why = "--fix writes JSON files only" if document.is_original else _NOT_OURS
        notices.append(f"{', '.join(left)} not fixed: {why}")
    return None


_NOT_OURS = "other tools' output stays as it is; `benchlint convert` makes a report of it"


def _put(path: str, changes: Mapping[int, Fixed], mode: Mode, notices: tuple[str, ...]) -> FileFix:
    before, after, data = rewritten(Path(path).read_bytes(), changes)
    count = sum(change.count for change in changes.values())
    if mode == "write":
        write(path, data)
        return FileFix(count, notices=notices)
    return FileFix(count, "".join(diff(path, before, after)), notices)


def rewritten(data: bytes, changes: Mapping[int, Fixed]) -> tuple[str, str, bytes]:
    """A file with its fixed texts in it: as text before and after, and as bytes.

    changes: by how many lines stand before the text in the file. Byte-order mark, encoding and
    line ends stay. Raises UncertainError when the file no longer holds what was fixed.
    """
    encoding = encoding_of(data[:16])
    before = data[encoding.mark :].decode(encoding.name, "replace")
    starts = list(accumulate(map(len, lines_of(before)), initial=0))
    pieces: list[str] = []
    at = 0
    for offset, change in sorted(changes.items()):
        start = starts[offset] if offset < len(starts) else -1
        if start < at or not before.startswith(change.before, start):
            raise UncertainError("the file changed meanwhile")
        pieces += (before[at:start], change.after)
        at = start + len(change.before)
    after = "".join((*pieces, before[at:]))
    return before, after, data[: encoding.mark] + after.encode(encoding.name)


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line feeds."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def diff(path: str, before: str, after: str) -> Iterator[str]:
    """The unified diff from `before` to `after`, line by line, as `patch` reads it."""
    name = terminal(path, 4096)
    for line in difflib.unified_diff(lines_of(before), lines_of(after), name, name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
