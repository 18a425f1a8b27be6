"""Reports that a Markdown page carries: fenced blocks with the info string `benchlint`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: CommonMark 0.31, section 4.5: up to three spaces, three or more of one fence character.
_OPENING = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,})")


@dataclass(frozen=True, slots=True)
class Block:
    """The text of a block, and how many lines of the page stand before it."""

    text: str
    line_offset: int


def benchlint_blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that carry a report, in order. An unclosed block ends with the page.

    Blocks in other fences are only shown, not carried, and are passed over.
    """
    return (block for info, block in _blocks(page) if info == "benchlint")


def json_blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that show JSON, in order."""
    return (block for info, block in _blocks(page) if info.lower() == "json")


def _blocks(page: str) -> Iterator[tuple[str, Block]]:
    """All fenced blocks of a page, each with its info string."""
    lines = page.split("\n")
    at = 0
    while at < len(lines):
        fence = lines[at].rstrip("\r")
        opening = _OPENING.match(fence)
        if opening is None:
            at += 1
            continue
        end = _closing(lines, at + 1, opening[1])
        # Of a page that ends with the fence, the fence is the last line there is.
        block = Block("\n".join(lines[at + 1 : end]), min(at + 1, len(lines) - 1))
        yield fence[opening.end() :].strip(" \t"), block
        at = end + 1


def _closing(lines: list[str], start: int, fence: str) -> int:
    """The index of the line that closes the fence, or one past the last line."""
    for at in range(start, len(lines)):
        line = lines[at].strip(" \t\r")
        if len(line) >= len(fence) and set(line) == {fence[0]}:
            return at
    return len(lines)
