"""The page about importers, made of what they declare: docs/importers.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from benchlint.checker.definitions import LengthReading, RateReading, Source, sources_of
from benchlint.checker.importers.fields import Field, report_path
from benchlint.checker.importers.importer import Importer


def sections(importers: tuple[Importer, ...]) -> Iterator[str]:
    """The table of all importers, then one section for each."""
    rows = [
        f"| [{each.name}](#{each.name}) | {_cell(each.title)} | {_cell(each.reads)} |"
        for each in importers
    ]
    yield "\n".join(["| `--from` | tool | what is read |", "|---|---|---|", *rows])
    for each in importers:
        yield from _section(each)


def _section(importer: Importer) -> Iterator[str]:
    yield f"## {importer.name}"
    limit = " Read line by line: files of any size." if importer.streams else ""
    yield f"{importer.title}. Reads {importer.reads}.{limit}"
    yield "\n".join(_fields(importer.fields))
    definitions = chain.from_iterable(sources_of(name, None) for name in importer.engines)
    if lines := [_definition(each) for each in definitions]:
        yield "What it means by acceptance rate and accepted length:"
        yield "\n".join(dict.fromkeys(lines))
    if importer.hints:
        yield "What it leaves out, and how to come by it:"
        yield "\n".join(f"- `{path}`: {hint}" for path, hint in importer.hints.items())
    if importer.never:
        yield "What it can never tell:"
        yield "\n".join(f"- {each}" for each in importer.never)


def _fields(fields: tuple[Field, ...]) -> Iterator[str]:
    yield "| its field | in a report | |"
    yield "|---|---|---|"
    for each in dict.fromkeys(fields):
        words = "; ".join(filter(None, (each.kind.words, each.meaning)))
        yield f"| `{_cell(each.source)}` | `{report_path(each.to)}` | {_cell(words)} |"


def _definition(source: Source) -> str:
    versions = [f"from {source.since}"] * bool(source.since)
    versions += [f"before {source.before}"] * bool(source.before)
    meanings = [_meaning("rate", source.rates), _meaning("length", source.lengths)]
    meanings += [f"positions: {source.positions}"] * bool(source.positions)
    trap = f". {source.trap[:1].upper()}{source.trap[1:]}" if source.trap else ""
    who = " ".join([source.engine, *versions])
    return f"- {who}: {'; '.join(filter(None, meanings))}{trap}. Source: {source.where}."


def _meaning(what: str, readings: Sequence[RateReading | LengthReading]) -> str:
    """What a number is, in words and as a formula; "" where the source prints none."""
    words = " or ".join(f"{each.words} ({each.formula})" for each in readings)
    return words and f"{what}: {words}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
