"""BL001 to BL009: files that cannot be read as a report, or not by everyone.

The reading stage finds these; BL004 to BL006, which need the tree, are in `bl00_schema`.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchlint.checker.finding import Severity
from benchlint.checker.registry import Problem, rule


@rule("BL001", "not-json", Severity.ERROR, "file")
def not_json(_: object) -> Iterator[Problem]:
    """A file that is not the JSON (or YAML, or TOML) that its name says.

    What it does:
        Reports what was met that the language does not have, and where. It also fires on an
        empty file, a binary one, one that is not UTF-8, text after the end of the report, and
        a file that holds a single value. Of files that are no report at all BL014 speaks.
    Why it matters:
        What cannot be read cannot be checked, and readers that mend such files each mend them
        in their own way.
    Example:
        `{"decode": {"tok_s": 80.87,}}`
    Instead:
        `{"decode": {"tok_s": 80.87}}`
    Sources:
        RFC 8259 (JSON); YAML 1.2.2, section 10.3 (the core schema); TOML 1.0.0.
    """
    yield from ()  # found where the file is read


@rule("BL002", "duplicate-key", Severity.ERROR, "file")
def duplicate_key(_: object) -> Iterator[Problem]:
    """The same member name twice in one object.

    What it does:
        Reports each repetition at its own place, with the first one beside it. Names are
        compared after unescaping. The first value is the one that is judged.
    Why it matters:
        Some readers take the first value, some the last, some refuse the file: two people read
        two different reports.
    Example:
        `{"tok_s": 80.87, "tok_s": 17.98}`
    Instead:
        Keep one of them. Two measurements are two runs, or `samples` of one.
    Sources:
        RFC 8259, section 4; YAML 1.2.2, section 3.2.1.3; TOML 1.0.0, "Keys".
    """
    yield from ()  # found where the file is read


@rule("BL003", "number-not-finite", Severity.ERROR, "file")
def number_not_finite(_: object) -> Iterator[Problem]:
    """A number that is none, or that no double can hold.

    What it does:
        Reports NaN and the infinities in the spelling of each language, and numbers over
        1.8e308, as 1e999 or an integer of 400 digits. The member is left out of what is
        checked further; a list with such an item is left out as a whole.
    Why it matters:
        JSON has no such numbers: strict readers refuse the file, others read null or infinity.
        NaN usually stands for a division by zero in a script, that is, for no measurement.
    Example:
        `"acceptance_rate": NaN`
    Instead:
        Leave the member out; what is absent counts as unknown.
    Sources:
        RFC 8259, section 6; IEEE 754 binary64.
    """
    yield from ()  # found where the file is read


@rule("BL007", "unsupported-version", Severity.ERROR, "file")
def unsupported_version(_: object) -> Iterator[Problem]:
    """A version of the report format that this release does not read.

    What it does:
        Compares the member `benchlint` with the one version there is, "1". Nothing else of
        such a report is checked. A report without the member is read as version 1.
    Why it matters:
        In another version the same name may mean something else.
    Example:
        `"benchlint": "2"`
    Instead:
        `"benchlint": "1"`, or a release that reads the newer version.
    Sources:
        The report format, version 1 (`benchlint schema`).
    """
    yield from ()  # found where the file is read


@rule("BL008", "too-large-or-deep", Severity.ERROR, "file")
def too_large_or_deep(_: object) -> Iterator[Problem]:
    """A file over the size limit, or nested deeper than any report.

    What it does:
        Reports files over the size limit without reading them (in .jsonl files the limit is
        that of a line), more than 100 containers inside one another, more than 4,000,000
        values (by the commas and brackets), and YAML aliases that multiply to more than
        100,000 values.
    Why it matters:
        A report has some kilobytes and about ten levels. Such a file is something else, or was
        made to exhaust its reader.
    Example:
        A file that starts with `[[[[[[[[`, and so on for 100,000 characters.
    Instead:
        Keep raw samples in a file of their own, and name it in the report.
    Sources:
        RFC 8259, section 9 (readers may limit size and depth).
    """
    yield from ()  # found where the file is read


@rule("BL009", "encoding", Severity.WARNING, "file")
def encoding(_: object) -> Iterator[Problem]:
    """Text in an encoding that many readers of JSON refuse.

    What it does:
        Reports a byte-order mark, UTF-16 and UTF-32, with a mark or without. The file is
        decoded and checked all the same.
    Why it matters:
        JSON is exchanged as UTF-8 without a mark, and Python's own reader refuses a file that
        starts with one. Redirecting output in Windows PowerShell writes UTF-16.
    Example:
        The bytes `EF BB BF 7B 7D`.
    Instead:
        The bytes `7B 7D`: save as "UTF-8", not as "UTF-8 with BOM" or "Unicode".
    Sources:
        RFC 8259, section 8.1.
    """
    yield from ()  # found where the file is read
