"""What `benchlint check` says where it found no report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from benchlint.checker.files import matches_nothing, passed_over
from benchlint.checker.settings import Settings

#: So many files are looked into for results of other tools, and so many are counted: each takes
#: some milliseconds, and nobody waits for a number that says no more than "many".
_LOOKED_INTO = 100
_COUNTED = 20


def nothing_found(paths: Sequence[str], settings_of: Callable[[str], Settings]) -> str:
    """One line that says that no report was found, and what would have been one.

    Where there are results of other tools in the folders that were searched, it says how many,
    and what can be done with them. settings_of: the configuration for the files of a folder.
    """
    return f"nothing to check in {', '.join(paths)}: {_reason(paths, settings_of)}"


def _reason(paths: Sequence[str], settings_of: Callable[[str], Settings]) -> str:
    if all(map(matches_nothing, paths)):
        return "no file matches"
    settings = [settings_of(path) for path in paths]
    for each in settings:
        if each.include:
            return f"no file there is one that `include` in {each.file} names"
    if others := _results_among(passed_over(paths, settings_of)):
        return f"no report, but {_counted(others)}"
    file = next((each.file for each in settings if each.exclude), "")
    left = f", and that `exclude` in {file} does not name" if file else ""
    return (
        f"from folders, files are taken that have a `benchlint` member (JSON, YAML, TOML) or block "
        f"(Markdown){left}; name other files"
    )


def _results_among(files: Iterable[str]) -> list[str]:
    from benchlint.checker.importers.reading import looks_like_results

    return list(islice(filter(looks_like_results, islice(files, _LOOKED_INTO)), _COUNTED))


def _counted(files: Sequence[str]) -> str:
    first = files[0]
    if len(files) == 1:
        found = f"{first} looks like results of another tool: name it to check it as it is"
    else:
        number = f"{_COUNTED} or more" if len(files) == _COUNTED else str(len(files))
        found = (
            f"{number} files look like results of other tools, such as {first}: name them to "
            "check them as they are"
        )
    return f"{found}, or make a report with `benchlint convert FILE`"
