"""Configuration: `benchlint.toml`, or `[tool.benchlint]` in `pyproject.toml`.

The nearest one above a file holds for it. In one folder `benchlint.toml` comes first. What the
command line says replaces what the configuration says, key by key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import Globs, absolute
from benchlint.checker.finding import Severity
from benchlint.checker.profiles import Profile
from benchlint.checker.select import Selection
from benchlint.checker.suppressions import Suppression

if TYPE_CHECKING:
    from benchlint.checker.toml_config import Table

#: Names of the configuration files, the first found in a folder holds.
NAMES = ("benchlint.toml", "pyproject.toml")

#: `fail-on` where no finding makes the run fail.
NEVER = "never"

_SEVERITIES = tuple(severity.value for severity in Severity)
FAIL_ON = (*_SEVERITIES, NEVER)
PROFILES = tuple(profile.value for profile in Profile)

DEFAULT_MAX_SIZE_MB = 64.0

_CACHED_FOLDERS = 512


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of a folder.

    file: the configuration file, "" where there is none; folder: where its globs start.
    severity: severities by code or prefix; the longest prefix decides.
    per_file_ignores: for files that match, further rules to ignore.
    max_size_mb: larger files (or records) are not read, in MB (10⁶ bytes).
    schema, baseline: absolute paths, "" for none.
    """

    file: str = ""
    folder: str = ""
    selection: Selection = field(default_factory=Selection)
    profile: Profile = Profile.DEFAULT
    fail_on: str = Severity.ERROR.value
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_file_ignores: tuple[tuple[Globs, tuple[str, ...]], ...] = ()
    max_size_mb: float = DEFAULT_MAX_SIZE_MB
    include: Globs = field(default_factory=Globs)
    exclude: Globs = field(default_factory=Globs)
    schema: str = ""
    baseline: str = ""
    suppressions: tuple[Suppression, ...] = ()

    @property
    def max_bytes(self) -> int:
        """The size limit in bytes."""
        return int(self.max_size_mb * 1_000_000)

    def selection_for(self, path: str) -> Selection:
        """The selection with what is ignored for this file."""
        further = [c for globs, codes in self.per_file_ignores if globs.match(path) for c in codes]
        if not further:
            return self.selection
        return replace(self.selection, ignore=(*self.selection.ignore, *further))

    def severity_of(self, code: str) -> Severity | None:
        """The severity that the configuration gives to a code, if it does."""
        prefixes = [each for each in self.severity if code.startswith(each)]
        return self.severity[max(prefixes, key=len)] if prefixes else None

    def fails(self, severity: Severity) -> bool:
        """Whether a finding this severe makes the run fail."""
        return self.fail_on != NEVER and severity.rank >= Severity(self.fail_on).rank


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says; None leaves the configuration as it is."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    profile: Profile | None = None
    fail_on: str | None = None
    max_size_mb: float | None = None
    schema: str | None = None
    baseline: str | None = None

    def over(self, settings: Settings) -> Settings:
        """The settings with these in their place."""
        own = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("select", "ignore") and getattr(self, each.name) is not None
        }
        selection = settings.selection
        if self.select is not None:
            selection = replace(selection, select=self.select)
        if self.ignore is not None:
            selection = replace(selection, ignore=self.ignore)
        return replace(settings, selection=selection, **own)


class SettingsFinder:
    """The settings for any file, each configuration read once (of the last few hundred)."""

    def __init__(
        self, overrides: Overrides | None = None, file: str | None = None, *, search: bool = True
    ) -> None:
        """Use `file` for everything, or search upwards; with `search` off, use none."""
        self._overrides = overrides or Overrides()
        self._search = search and file is None
        self._fixed = self._overrides.over(load(file) if file is not None else Settings())
        self._known: dict[str, Settings] = {}

    def for_file(self, path: str) -> Settings:
        """The settings that hold for the file at `path`."""
        return self.for_folder(os.path.dirname(path))  # noqa: PTH120 - keeps "" for the current one

    def for_folder(self, folder: str) -> Settings:
        """The settings that hold for the files of a folder. Raises CannotRunError."""
        if not self._search:
            return self._fixed
        if folder not in self._known:
            if len(self._known) >= _CACHED_FOLDERS:
                self._known.clear()
            self._known[folder] = self._above(Path(absolute(folder or os.curdir)))
        return self._known[folder]

    def _above(self, folder: Path) -> Settings:
        key = str(folder)
        if key not in self._known:
            file = configuration_in(folder)
            if file is not None:
                self._known[key] = self._overrides.over(load(str(file)))
            elif folder.parent == folder:
                self._known[key] = self._fixed
            else:
                self._known[key] = self._above(folder.parent)
        return self._known[key]


def configuration_in(folder: Path) -> Path | None:
    """The configuration file of a folder, if it has one."""
    for name in NAMES:
        file = folder / name
        try:
            if file.is_file() and (name == NAMES[0] or _has_our_table(file)):
                return file
        except OSError:
            continue  # a pyproject.toml that cannot be read is not known to be ours
    return None


_OUR_TABLE = re.compile(rb"tool.{0,6}benchlint")


def _has_our_table(pyproject: Path) -> bool:
    return _OUR_TABLE.search(pyproject.read_bytes()) is not None


def load(file: str) -> Settings:
    """The settings in a configuration file.

    Raises CannotRunError, with file, line and key, for anything that is not as it should be.
    """
    from benchlint.checker.toml_config import read_table

    table = read_table(file)
    return settings_in(table, absolute(os.path.dirname(file) or os.curdir))  # noqa: PTH120


def settings_in(table: Table, folder: str) -> Settings:
    """The settings in a table that was read from a file in `folder`."""
    table.only(_KEYS)
    return Settings(
        file=table.file,
        folder=folder,
        selection=Selection(table.rules("select"), table.rules("ignore") or ()),
        profile=Profile(table.word("profile", PROFILES) or Profile.DEFAULT),
        fail_on=table.word("fail-on", FAIL_ON) or Severity.ERROR.value,
        severity=_severities(table.table("severity")),
        per_file_ignores=tuple(_per_file_ignores(table.table("per-file-ignores"), folder)),
        max_size_mb=table.positive("max-size-mb") or DEFAULT_MAX_SIZE_MB,
        include=Globs(folder, table.strings("include") or ()),
        exclude=Globs(folder, table.strings("exclude") or ()),
        schema=_path(table, "schema", folder),
        baseline=_path(table, "baseline", folder),
        suppressions=tuple(_suppression(each, folder) for each in table.tables("suppress")),
    )


_KEYS = (
    "select",
    "ignore",
    "profile",
    "fail-on",
    "severity",
    "per-file-ignores",
    "max-size-mb",
    "include",
    "exclude",
    "schema",
    "baseline",
    "suppress",
)

_SUPPRESSION_KEYS = ("rule", "files", "pointer", "reason", "expires")


def _severities(table: Table) -> dict[str, Severity]:
    return {table.rule_in_key(key): Severity(table.word(key, _SEVERITIES) or "") for key in table}


def _per_file_ignores(table: Table, folder: str) -> Iterator[tuple[Globs, tuple[str, ...]]]:
    for pattern in table:
        yield Globs(folder, (pattern,)), table.rules(pattern) or ()


def _path(table: Table, key: str, folder: str) -> str:
    text = table.string(key)
    return str(Path(folder, text)) if text else ""


def _suppression(table: Table, folder: str) -> Suppression:
    table.only(_SUPPRESSION_KEYS)
    for required in ("rule", "reason"):
        if not (table.string(required) or "").strip():
            raise CannotRunError(table.problem(required, "is required in a suppression"))
    written = table.string("rule") or ""
    return Suppression(
        rule=table.rule("rule"),
        written=written,
        reason=table.string("reason") or "",
        files=Globs(folder, table.strings("files") or ()),
        pointer=table.pointer("pointer"),
        expires=table.date("expires"),
        location=table.location(),
    )
