"""Baselines: the findings that a project has today, so that only new ones count.

A finding is known by its file, its code and its pointer with ids in place of indices, never by
its line: inserting a run or reformatting the file changes nothing. Findings that are alike in
all three (the records of one JSON Lines file) are counted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import absolute, relative
from benchlint.checker.finding import Finding
from benchlint.checker.small_file import read_small

VERSION = "1"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What makes a finding the same one: path below the baseline's folder, code, pointer."""

    path: str
    code: str
    pointer: str


class Baseline:
    """The known findings of one baseline file, and those that this run found."""

    def __init__(self, file: str, known: Counter[Key] | None = None) -> None:
        self.file = file
        self._folder = os.path.dirname(absolute(file))  # noqa: PTH120
        self._known = known or Counter()
        self._left = Counter(self._known)
        self._found: Counter[Key] = Counter()
        self._checked: set[str] = set()

    def path(self, file: str) -> str:
        """How the baseline calls a file."""
        return relative(file, self._folder)

    def new(self, file: str, findings: Sequence[Finding], names: Sequence[str]) -> list[Finding]:
        """The findings that are not known, of one report of a file.

        names: the pointer of each finding with ids in place of indices.
        """
        path = self.path(file)
        self._checked.add(path)
        fresh = []
        for finding, name in zip(findings, names, strict=True):
            key = Key(path, finding.code, name)
            self._found[key] += 1
            if self._left[key] > 0:
                self._left[key] -= 1
            else:
                fresh.append(finding)
        return fresh

    @property
    def gone(self) -> int:
        """How many known findings of the files checked did not occur."""
        return sum(n for key, n in self._left.items() if key.path in self._checked)

    def updated(self) -> Counter[Key]:
        """What this run found, and what is known of files that it did not check and exist."""
        kept = {
            key: count
            for key, count in self._known.items()
            if key.path not in self._checked and Path(self._folder, key.path).exists()
        }
        return self._found + Counter(kept)

    def save(self) -> int:
        """Write what `updated` gives; how many findings that are. Raises OSError."""
        from benchlint.checker.atomic import write

        counts = self.updated()
        write(self.file, text(counts).encode())
        return counts.total()


def read(file: str, *, anew: bool = False) -> Baseline:
    """The baseline in a file. Raises CannotRunError when it cannot be used.

    anew: it will be written, so that a file that is absent or no baseline is an empty one.
    """
    try:
        return _read(file)
    except CannotRunError:
        if anew:
            return Baseline(file)
        raise


def _read(file: str) -> Baseline:
    try:
        tree: object = json.loads(read_small(file))
    except OSError as error:
        hint = "; --update-baseline makes it" if isinstance(error, FileNotFoundError) else ""
        raise CannotRunError(f"{file}: {error.strerror or error}{hint}") from None
    except (ValueError, RecursionError):
        raise CannotRunError(f"{file}: is not JSON; --update-baseline writes it anew") from None
    try:
        return Baseline(file, Counter(dict(_entries(tree))))
    except (TypeError, KeyError, ValueError):
        raise CannotRunError(f"{file}: is not a baseline; --update-baseline writes one") from None


def _entries(tree: object) -> Iterator[tuple[Key, int]]:
    """Raises TypeError, KeyError or ValueError for what is no baseline."""
    if not isinstance(tree, dict) or tree["version"] != VERSION:
        raise ValueError(tree)
    for each in tree["findings"]:
        path, code, pointer, count = each["path"], each["code"], each["pointer"], each["count"]
        if not all(isinstance(text, str) for text in (path, code, pointer)):
            raise TypeError(each)
        if type(count) is not int or count < 1:
            raise TypeError(each)
        yield Key(path, code, pointer), count


def text(counts: Counter[Key]) -> str:
    """A baseline file: sorted, one finding a line, so that its changes can be read."""
    lines = [
        json.dumps({"path": k.path, "code": k.code, "pointer": k.pointer, "count": counts[k]})
        for k in sorted(counts)
    ]
    inner = ",\n    ".join(lines)
    listed = f"[\n    {inner}\n  ]" if lines else "[]"
    return f'{{\n  "version": "{VERSION}",\n  "findings": {listed}\n}}\n'
