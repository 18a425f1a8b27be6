"""`benchlint render`: a report as a table to paste, with the footnotes that a reader needs.

The Markdown form ends in a folded block that carries the whole report, so that `check` can
read the page back. Everything from the report is hostile and escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape as escape_html

from benchlint.checker.facts import ConfigurationFacts, QualityFacts, ReportFacts, RunFacts
from benchlint.checker.formats import escape
from benchlint.checker.model import Sampler
from benchlint.checker.numbers import Reported, shown

#: Where nothing is known. A dash could be read as zero or as "does not apply".
UNKNOWN = "?"
#: Where the figure cannot exist, as the accepted length of a plain run.
NONE = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """What is shown: headers, one row a run, and the footnotes under them. All text is raw."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...]


def table(report: ReportFacts) -> Table:
    """The report's runs as a table. Columns in which nothing is known are left out."""
    columns = [(name, [cell(r) for r in report.runs]) for name, cell in _COLUMNS.items()]
    kept = [(name, cells) for name, cells in columns if set(cells) - {UNKNOWN, NONE}]
    rows = tuple(zip(*(cells for _, cells in kept), strict=True)) if kept else ()
    title = report.model.title or "Benchmark of speculative decoding"
    return Table(title, tuple(name for name, _ in kept), rows, tuple(_footnotes(report)))


# --- cells -----------------------------------------------------------------------------------


def _number(value: Reported | None) -> str:
    if value is None:
        return UNKNOWN
    return f"≈ {value}" if value.approx else str(value)


def _drafter(run: RunFacts) -> str:
    if run.speculates is False:
        return "none"
    named = [d.model.model or d.model.method or UNKNOWN for d in run.configuration.drafters]
    return " + ".join(named) or UNKNOWN


def _speculative(run: RunFacts, text: str) -> str:
    return NONE if run.speculates is False else text


def _draft_length(run: RunFacts) -> str:
    placed = run.configuration.draft_length
    if placed is None or run.k is None:
        return _speculative(run, UNKNOWN)
    return f"{run.k} {placed.model.policy}" if placed.model.policy else str(run.k)


def _acceptance(run: RunFacts) -> str:
    rate = run.acceptance_rate
    if rate is None:
        return _speculative(run, UNKNOWN)
    return f"{rate} of {run.acceptance_rate_of}" if run.acceptance_rate_of else str(rate)


def _accepted_length(run: RunFacts) -> str:
    length = _number(run.accepted_length)
    if run.counts_bonus_token is False:
        return f"{length} + 1"
    return _speculative(run, length)


def _speedup(run: RunFacts) -> str:
    """The stated ratio, else the one that follows from the matched baseline's decode speed."""
    if run.speedup is not None:
        return f"{run.speedup}×"
    base = None if run.baseline is None else run.baseline.decode_tok_s
    if run.decode_tok_s is None or base is None or not base.value:
        return _speculative(run, UNKNOWN)
    return f"{shown(run.decode_tok_s.value / base.value, 3)}×"


def _recipe(configuration: ConfigurationFacts) -> str:
    target = configuration.target
    quantization = None if target is None else target.model.quantization
    return (quantization.recipe if quantization else None) or UNKNOWN


def _quality(run: RunFacts) -> str:
    rows = [q for q in run.report.quality if _same_weights(q, run) and q.value is not None]
    return ", ".join(f"{q.model.metric or UNKNOWN} {q.value}" for q in rows) or UNKNOWN


def _same_weights(row: QualityFacts, run: RunFacts) -> bool:
    return row.model.configuration == run.model.configuration


def _kv_position(run: RunFacts) -> str:
    return UNKNOWN if run.filled_tokens is None else f"{run.filled_tokens}"


_COLUMNS: dict[str, Callable[[RunFacts], str]] = {
    "run": lambda run: run.id,
    "quantization": lambda run: _recipe(run.configuration),
    "workload": lambda run: run.model.workload or UNKNOWN,
    "drafter": _drafter,
    "K": _draft_length,
    "decode tok/s": lambda run: _number(run.decode_tok_s),
    "speed-up": _speedup,
    "acceptance rate": _acceptance,
    "accepted length τ": _accepted_length,
    "prefill tok/s": lambda run: _number(run.prefill_tok_s),
    "KV position": _kv_position,
    "all streams tok/s": lambda run: _number(run.throughput_tok_s),
    "quality": _quality,
}


# --- footnotes -------------------------------------------------------------------------------


def _footnotes(report: ReportFacts) -> Iterator[str]:
    whole = report.configuration(None)
    for label, text in (
        ("Target", _target(whole)),
        ("Machine", _machine(whole)),
        ("Engine", _engine(whole)),
    ):
        yield f"{label}: {text or 'not stated'}."
    yield from _samplers(report)
    yield f"Concurrency: {_stated(report, lambda r: r.concurrency)}."
    yield f"Warm: {_stated(report, lambda r: r.conditions and r.conditions.model.warm)}."
    yield (
        "Accepted length τ is tokens per verify step, the target's own token included; "
        "speed-ups without a stated value are ratios of the decode speeds shown."
    )


def _target(facts: ConfigurationFacts) -> str:
    target = facts.target
    if target is None:
        return ""
    size = f"{target.model.parameters_b} B" if target.model.parameters_b else None
    return _joined(target.model.name, size, target.model.architecture, _known(_recipe(facts)))


def _machine(facts: ConfigurationFacts) -> str:
    machine = facts.machine
    if machine is None:
        return ""
    devices = [
        _joined(f"{d.count or 1} × {d.name or UNKNOWN}", _watts(d.power_limit_w))
        for d in machine.model.devices or ()
    ]
    return _joined(*devices, machine.model.driver, machine.model.os)


def _watts(limit: float | None) -> str | None:
    return None if limit is None else f"limited to {limit} W"


def _engine(facts: ConfigurationFacts) -> str:
    engine = facts.engine
    if engine is None:
        return ""
    model = engine.model
    return _joined(model.name, model.version, model.commit, model.backend, *(model.patches or ()))


def _joined(*parts: str | None) -> str:
    return ", ".join(p for p in parts if p)


def _known(text: str) -> str | None:
    return None if text == UNKNOWN else text


def _samplers(report: ReportFacts) -> Iterator[str]:
    """One line for each different sampler, with the configurations that use it."""
    users: dict[str, list[str]] = {}
    for name in report.model.configurations or {}:
        sampler = report.configuration(name).sampler
        text = UNKNOWN if sampler is None else _sampler(sampler.model)
        users.setdefault(text, []).append(name)
    for text, names in users.items():
        stated = "not stated" if text == UNKNOWN else text
        yield f"Sampler of {', '.join(names)}: {stated}."


def _sampler(sampler: Sampler) -> str:
    given = sampler.model_dump(exclude_none=True, exclude={"extensions", "others"})
    left = given.pop("left_to_engine", ())
    parts = [f"{name} {value}" for name, value in given.items()]
    parts += [f"{name} left to the engine" for name in left]
    return ", ".join(parts) or UNKNOWN


def _stated(report: ReportFacts, read: Callable[[RunFacts], object]) -> str:
    values = {str(v).lower() for v in map(read, report.runs) if v is not None}
    return ", ".join(sorted(values)) or "not stated"


# --- output ----------------------------------------------------------------------------------


def as_markdown(shown_table: Table, report_text: str) -> str:
    """The table in Markdown, then a folded block that carries `report_text` (JSON)."""
    parts = [f"**{_plain(shown_table.title)}**", ""]
    parts += _markdown_rows(shown_table)
    parts += ["", *(f"- {_plain(note)}" for note in shown_table.footnotes), ""]
    fence = _fence(report_text)
    parts += ["<details><summary>The report, for <code>benchlint check</code></summary>", ""]
    parts += [f"{fence}benchlint", report_text.rstrip("\n"), fence, "", "</details>"]
    return "\n".join(parts) + "\n"


def _markdown_rows(shown_table: Table) -> Iterator[str]:
    if not shown_table.headers:
        yield "The report has no runs."
        return
    yield "| " + " | ".join(shown_table.headers) + " |"
    yield "|" + "---|" * len(shown_table.headers)
    for row in shown_table.rows:
        yield "| " + " | ".join(map(_plain, row)) + " |"


_HARMLESS = frozenset(" .,:;+-–?×≈%/()_'τ")
#: GitHub makes links of these without being asked.
_LINKS = ("://", "www.")


def _plain(text: str) -> str:
    """Text that means the same in Markdown as in the report; a code span where it would not."""
    harmless = all(c.isalnum() or c in _HARMLESS for c in text) and len(text) < 300
    linked = any(each in text.lower() for each in _LINKS)
    return text if harmless and not linked else escape.markdown(text)


def _fence(text: str) -> str:
    """A fence longer than any run of backticks in the text."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)


def as_html(shown_table: Table) -> str:
    """The table as a fragment of HTML with a caption and footnotes; no script, no link."""
    head = "".join(f'<th scope="col">{_html(h)}</th>' for h in shown_table.headers)
    body = "".join(_html_row(row) for row in shown_table.rows)
    notes = "".join(f"<li>{_html(note)}</li>" for note in shown_table.footnotes)
    return (
        f"<table>\n<caption>{_html(shown_table.title)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n<ul>{notes}</ul>\n"
    )


def _html_row(row: tuple[str, ...]) -> str:
    first = f'<th scope="row">{_html(row[0])}</th>'
    return "<tr>" + first + "".join(f"<td>{_html(cell)}</td>" for cell in row[1:]) + "</tr>\n"


def _html(text: str) -> str:
    return escape_html(escape.terminal(text))
