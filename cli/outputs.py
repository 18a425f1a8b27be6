"""Where findings are written to: formats by name, each to standard output or to a file."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from benchlint.checker.errors import CannotRunError
from benchlint.checker.formats import FORMATS, Format, Options, make_format

DEFAULT_FORMAT = "text"

#: The format that the ending of a file asks for; of any other it is the default.
#: SARIF 2.1.0 allows .sarif.json as well.
ENDINGS = {
    ".html": "html",
    ".md": "markdown",
    ".sarif": "sarif",
    ".sarif.json": "sarif",
    ".xml": "junit",
    ".json": "json",
    ".jsonl": "jsonl",
}


@dataclass(frozen=True, slots=True)
class Output:
    """A format and the file it goes to; None is standard output."""

    name: str
    file: str | None = None


def outputs_of(values: Sequence[str], output_file: str | None) -> list[Output]:
    """What `--format NAME[=FILE]` and `--output-file` ask for. Raises CannotRunError."""
    outputs = [_output(value) for value in values]
    if output_file is not None:
        outputs = _with_file(outputs, output_file)
    outputs = outputs or [Output(DEFAULT_FORMAT)]
    for file in {output.file for output in outputs}:
        names = [output.name for output in outputs if output.file == file]
        if len(names) > 1:
            where = "standard output" if file is None else file
            raise CannotRunError(
                f"{' and '.join(names)} would both go to {where}; "
                f"give each a file: --format {names[1]}=FILE"
            )
    return outputs


def _output(value: str) -> Output:
    name, _, file = value.partition("=")
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(FORMATS)}"
        raise CannotRunError(f"there is no format {name!r}; {hint}")
    return Output(name, file if file not in ("", "-") else None)


def _with_file(outputs: list[Output], file: str) -> list[Output]:
    """The file is for the format that has none; where each has its own, its ending says which."""
    goes_to = None if file == "-" else file
    open_ones = [output.name for output in outputs if output.file is None]
    if len(open_ones) > 1:
        raise CannotRunError(
            f"--output-file is for one --format, and {' and '.join(open_ones)} have no file; "
            f"give each one: --format {open_ones[0]}=FILE"
        )
    if not open_ones:
        return [*outputs, Output(_format_of(file), goes_to)]
    return [replace(each, file=goes_to) if each.file is None else each for each in outputs]


def _format_of(file: str) -> str:
    """The format that the ending of a file asks for."""
    endings = [ending for ending in ENDINGS if file.lower().endswith(ending)]
    return ENDINGS[endings[0]] if endings else DEFAULT_FORMAT


@contextlib.contextmanager
def opened(outputs: Sequence[Output], options: Options) -> Iterator[list[Format]]:
    """Writers for these outputs. Files appear, whole, when the block ends without an error."""
    with contextlib.ExitStack() as stack:
        yield [
            make_format(output.name, _stream(output, stack), _options(output, options))
            for output in outputs
        ]


def _stream(output: Output, stack: contextlib.ExitStack) -> TextIO:
    if output.file is None:
        return standard_output(output.name)
    return stack.enter_context(_text_file(output.file))


@contextlib.contextmanager
def _text_file(file: str) -> Iterator[TextIO]:
    from benchlint.checker.atomic import replacing

    try:
        with replacing(file) as stream:
            text = io.TextIOWrapper(stream, "utf-8", newline="\n")
            try:
                yield text
                text.flush()
            finally:
                with contextlib.suppress(OSError, ValueError):
                    text.detach()
    except OSError as error:
        if error.filename is None:  # a full disk does not say which file it was
            error.filename = file
        raise


def standard_output(format_name: str) -> TextIO:
    """Standard output, able to take any text: machines get UTF-8, terminals what they can show."""
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        if format_name == DEFAULT_FORMAT and stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def _options(output: Output, options: Options) -> Options:
    return options if output.file is None else replace(options, color=False, columns=None)


def wants_color(when: str, stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write ANSI colours. Raises CannotRunError for a word that is not known.

    Sources: no-color.org, force-color.org.
    """
    if when not in ("auto", "always", "never"):
        raise CannotRunError(f"--color is auto, always or never, not {when!r}")
    if when != "auto":
        return when == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return environment["FORCE_COLOR"] != "0"
    return environment.get("TERM") != "dumb" and stream.isatty()


def columns_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> int | None:
    """The width that lines must fit: of a terminal, or what COLUMNS says; else None."""
    said = environment.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    return shutil.get_terminal_size().columns if stream.isatty() else None
