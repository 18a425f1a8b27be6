"""BL010, BL011, BL013, BL014: configuration, a project's own schema, files that are no report."""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker.finding import Severity
from benchlint.checker.registry import Problem, rule


@rule("BL010", "unused-suppression", Severity.WARNING, "file")
def unused_suppression(_: object) -> Iterator[Problem]:
    """A suppression in the configuration that matches nothing, or has expired.

    What it does:
        Reports each `[[suppress]]` table that is about a file of this run and took no finding
        away, and each one whose `expires` date has passed. Stands in the configuration file,
        once a run. Suppressions of rules that were not selected are left alone.
    Why it matters:
        A suppression that nothing needs hides the next finding that happens to match it, and
        one without an end outlives its reason.
    Example:
        `rule = "BL303"` with `files = "old/*.json"`, after the report in `old/` was mended.
    Instead:
        Remove the table. For one that has expired, mend what it hid, or set a new date.
    Sources:
        The configuration, as `benchlint check --help` describes it.
    """
    yield from ()  # found when all files have been checked


@rule("BL011", "house-schema", Severity.ERROR, "file")
def house_schema(_: object) -> Iterator[Problem]:
    """A report does not fit the JSON Schema that its project asks for.

    What it does:
        With `--schema FILE`, or `schema` in the configuration, validates each report against
        that JSON Schema (draft 2020-12) on top of all rules. Nothing is fetched: the schema may
        refer to itself and to the report format (`urn:benchlint:report:1`), to nothing else.
    Why it matters:
        A project may require what the format leaves free: an owner, a ticket, a naming scheme
        for runs, a device from its own list.
    Example:
        A house schema with `"required": ["date"]`, and a report without a date.
    Instead:
        Add the date. Where the schema gives a `description`, the finding's help shows it.
    Sources:
        JSON Schema, draft 2020-12, Core and Validation (json-schema.org).
    """
    yield from ()  # found by benchlint.checker.house_schema


@rule("BL013", "unreadable-file", Severity.ERROR, "file")
def unreadable_file(_: object) -> Iterator[Problem]:
    """A path at which there is no file that can be read.

    What it does:
        Reports paths that lead to nothing, to a folder, a pipe, a device or a socket, files
        without the right to read them, links to nothing, failures of the disk, and YAML files
        where no YAML reader is installed.
    Why it matters:
        A check that passes over a file in silence says "clean" of something it never saw.
    Example:
        `benchlint check reprot.json`
    Instead:
        `benchlint check report.json`. What comes out of a pipe is read with `-`.
    Sources:
        POSIX.1-2024, open() and stat().
    """
    yield from ()  # found where the file is read


@rule("BL014", "not-a-benchmark", Severity.NOTE, "file")
def not_a_benchmark(_: object) -> Iterator[Problem]:
    """A file that is readable, and neither a report nor a benchmark tool's output.

    What it does:
        Reports files that are neither reports nor anything that a known tool writes, and output
        of a known tool that holds no result. Nothing else of such a file is checked. An error
        where the output of more than one tool looks like this: `--from` says which it is.
        Where all files of a run are such, nothing was checked, and the exit code is 2.
    Why it matters:
        Settings and logs often lie beside results. They are no fault, but a reader should know
        that nothing in them was looked at.
    Example:
        `benchlint check package.json`
    Instead:
        `benchlint check results/bench.json`
    Sources:
        The tools that are read: docs/importers.md.
    """
    yield from ()  # found where the file is read
