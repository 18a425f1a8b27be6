"""A table of a TOML configuration, read with types, and with the line of every key.

Every way in which a value can be wrong raises CannotRunError with one line that says where.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Location
from benchlint.checker.named_pointers import PointerPattern
from benchlint.checker.select import rule_prefix
from benchlint.checker.small_file import read_small

Path_ = tuple[str | int, ...]

_IN_PYPROJECT: Path_ = ("tool", "benchlint")


def read_table(file: str) -> Table:
    """The configuration in a file: all of it, or `[tool.benchlint]` of a pyproject.toml."""
    try:
        text = read_small(file).decode("utf-8-sig")
        tree: object = tomllib.loads(text.replace("\r\n", "\n"))
    except OSError as error:
        raise CannotRunError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CannotRunError(f"{file}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise CannotRunError(_not_toml(file, str(error), text.count("\n") + 1)) from None
    except RecursionError:
        raise CannotRunError(f"{file}: is nested too deep") from None
    path = _IN_PYPROJECT if Path(file).name == "pyproject.toml" else ()
    for part in path:
        tree = tree.get(part, {}) if isinstance(tree, dict) else {}
    if not isinstance(tree, dict):
        raise CannotRunError(f"{file}: tool.benchlint should be a table")
    return Table(file, tree, Lines(text), path)


def _not_toml(file: str, message: str, last_line: int) -> str:
    what, _, place = message.partition(" (at ")
    line = re.match(r"line (\d+)", place)
    return f"{file}:{line[1] if line else last_line}: is not TOML: {what}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table at `path` of the file. Keys that are absent give None or nothing."""

    file: str
    members: Mapping[str, object]
    lines: Lines
    path: Path_ = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def problem(self, key: str, text: str) -> str:
        """One line: file, line, key, and what is wrong with it."""
        line = self.lines.of((*self.path, key))
        own = self.path[len(_IN_PYPROJECT) :] if self.path[:2] == _IN_PYPROJECT else self.path
        name = ".".join(str(part) for part in (*own, key) if isinstance(part, str))
        return f"{self.file}:{line}: {name} {text}"

    def location(self) -> Location:
        """Where the table starts."""
        return self.lines.location(self.lines.of(self.path))

    def only(self, known: Collection[str]) -> None:
        """Raise for a key that is not known, with the nearest that is."""
        for key in self.members:
            if key not in known:
                near = difflib.get_close_matches(key.replace("_", "-"), known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise CannotRunError(self.problem(key, f"is not a known key; {hint}"))

    def _wrong(self, key: str, expected: str) -> CannotRunError:
        return CannotRunError(self.problem(key, f"should be {expected}"))

    def string(self, key: str) -> str | None:
        """A string."""
        value = self.members.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(key, "a string")

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings; one string counts as a list of one."""
        value = self.members.get(key)
        if value is None:
            return None
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(each, str) and each for each in items):
            return tuple(str(each) for each in items)
        raise self._wrong(key, "a list of strings")

    def word(self, key: str, known: Collection[str]) -> str | None:
        """One of a few words."""
        value = self.string(key)
        if value is None or value in known:
            return value
        near = difflib.get_close_matches(value, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise self._wrong(key, f"one of {', '.join(known)}, not {value[:60]!r}{hint}")

    def positive(self, key: str) -> float | None:
        """A number over 0."""
        value = self.members.get(key)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e12:
            return float(value)
        raise self._wrong(key, "a number over 0")

    def date(self, key: str) -> date | None:
        """A day, as a TOML date or as an ISO 8601 string."""
        value = self.members.get(key)
        if isinstance(value, datetime):
            return value.date()
        if value is None or isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value if isinstance(value, str) else "")
        except ValueError:
            raise self._wrong(key, "a date such as 2027-01-31") from None

    def pointer(self, key: str) -> PointerPattern | None:
        """A pattern for pointers."""
        text = self.string(key)
        if text is None:
            return None
        try:
            return PointerPattern.of(text)
        except ValueError as error:
            raise CannotRunError(self.problem(key, f"is wrong: {error}")) from None

    def table(self, key: str) -> Table:
        """A table within this one; an empty one where it is absent."""
        value = self.members.get(key, {})
        if isinstance(value, dict):
            return Table(self.file, value, self.lines, (*self.path, key))
        raise self._wrong(key, "a table")

    def tables(self, key: str) -> list[Table]:
        """The tables of an array of tables, `[[key]]`."""
        items = self.members.get(key, [])
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            raise self._wrong(key, f"tables, each under [[{key}]]")
        return [
            Table(self.file, each, self.lines, (*self.path, key, i)) for i, each in enumerate(items)
        ]

    def rules(self, key: str) -> tuple[str, ...] | None:
        """A list of rules, as prefixes of codes."""
        words = self.strings(key)
        return None if words is None else tuple(self._rule(key, word) for word in words)

    def rule(self, key: str) -> str:
        """One rule, as a prefix of codes."""
        return self._rule(key, self.string(key) or "")

    def rule_in_key(self, key: str) -> str:
        """The rule that a key of this table names."""
        return self._rule(key, key)

    def _rule(self, key: str, word: str) -> str:
        try:
            return rule_prefix(word)
        except CannotRunError as error:
            raise CannotRunError(self.problem(key, f"is wrong: {error}")) from None


_HEADER = re.compile(r"^\s*\[(\[)?([^\[\]\n]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"^\s*((?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:\s*\.\s*(?:[\w-]+|\"[^\"\n]*\"))*)\s*="
)
_KEY_PART = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")


@dataclass(slots=True)
class Lines:
    """In which line of a TOML text the tables and keys stand.

    tomllib does not say. Keys within inline tables are given the line of their parent; a line
    within a multi-line string that looks like a key can only mislead a message.
    """

    text: str
    _found: dict[Path_, int] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list)

    def of(self, path: Path_) -> int:
        """The line (from 1) of the key, or of the nearest thing around it."""
        if not self._found:
            self._scan()
        while path and path not in self._found:
            path = path[:-1]
        return self._found[path]

    def location(self, line: int) -> Location:
        """The line as a place, without the blanks around it."""
        source = self._split()[line - 1]
        start = len(source) - len(source.lstrip()) + 1
        return Location(line, start, max(start + 1, len(source.rstrip()) + 1), source, start)

    def _split(self) -> list[str]:
        if not self._lines:
            self._lines = self.text.splitlines() or [""]
        return self._lines

    def _scan(self) -> None:
        self._found[()] = 1
        table: Path_ = ()
        counts: dict[Path_, int] = {}
        for number, line in enumerate(self.text.splitlines(), 1):
            header = _HEADER.match(line)
            if header is not None:
                table = self._header(_parts(header[2]), counts, array=bool(header[1]))
                self._note(table, number)
            elif key := _KEY.match(line):
                self._note((*table, *_parts(key[1])), number)

    def _header(self, name: Path_, counts: dict[Path_, int], *, array: bool) -> Path_:
        if not array:
            return name
        counts[name] = counts.get(name, -1) + 1
        return (*name, counts[name])

    def _note(self, path: Path_, number: int) -> None:
        for end in range(1, len(path) + 1):
            self._found.setdefault(path[:end], number)


def _parts(name: str) -> Path_:
    return tuple(part.strip("\"'") for part in _KEY_PART.findall(name))
