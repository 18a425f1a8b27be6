"""`benchlint render`: a report as a table to paste, with the footnotes that a reader needs.

The Markdown form ends in a folded block that carries the whole report, so that `check` can
read the page back. Everything from the report is hostile and escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape as escape_html

from benchlint.checker.facts import (
    ConfigurationFacts,
    QualityFacts,
    ReportFacts,
    RunFacts,
)
from benchlint.checker.formats import escape
from benchlint.checker.model import Sampler
from benchlint.checker.numbers import Reported
from benchlint.checker.rules.bl50_quality import same_quality

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
    """The report's runs as a table. Columns in which nothing is known are left out.

    So are conditions that are the same for all runs: those are footnotes.
    """
    cells = {**_COLUMNS, **_differing_conditions(report), "quality": _quality}
    columns = [(name, [cell(r) for r in report.runs]) for name, cell in cells.items()]
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
    """The stated ratio, else the one that follows from the matched baseline's speed."""
    if run.speedup is not None:
        return f"{run.speedup}×"
    speeds = _compared_speeds(run)
    if speeds is None:
        return _speculative(run, UNKNOWN)
    own, base = speeds
    return f"{own.value / base.value:.2f}×{_ALL_STREAMS if own is run.throughput_tok_s else ''}"


#: Marks ratios of aggregate throughput.
_ALL_STREAMS = " (all streams)"


def _compared_speeds(run: RunFacts) -> tuple[Reported, Reported] | None:
    """Speeds of a run and its baseline: of one stream, else of all where there are several."""
    base = _baseline(run)
    if base is None:
        return None
    own, other = run.decode_tok_s, base.decode_tok_s
    several = run.concurrency is not None and run.concurrency > 1
    if (own is None or other is None) and several and run.concurrency == base.concurrency:
        own, other = run.throughput_tok_s, base.throughput_tok_s
    return None if own is None or other is None or not other.value else (own, other)


def _baseline(run: RunFacts) -> RunFacts | None:
    """The matched plain run; of several the only one with the same target, weights included."""
    if run.baseline is not None or not run.speculates or run.model.workload is None:
        return run.baseline
    if run.configuration.target is None:
        return None
    setting = _setting(run)
    found = [r for r in run.report.plain_runs if _setting(r) == setting]
    return found[0] if len(found) == 1 else None


def _setting(run: RunFacts) -> tuple[object, ...]:
    """Workload, concurrency, KV position, machine, target and sampler."""
    filled = None if run.filled_tokens is None else run.filled_tokens.value
    of = run.configuration
    placed = of.machine, of.target, of.sampler
    blocks = (None if each is None else each.model for each in placed)
    return run.model.workload, run.concurrency, filled, *blocks


def _recipe(configuration: ConfigurationFacts) -> str:
    target = configuration.target
    quantization = None if target is None else target.model.quantization
    return (quantization.recipe if quantization else None) or UNKNOWN


def _quality(run: RunFacts) -> str:
    rows = [q for q in run.report.quality if q.value is not None and _holds_for(q, run)]
    return ", ".join(_quality_figure(q, run) for q in rows) or UNKNOWN


def _holds_for(row: QualityFacts, run: RunFacts) -> bool:
    """Whether the row is of the run's configuration, or of one with the same output.

    Lossless speculation leaves the output as it is: then the weights and the KV cache decide.
    """
    of, ran = row.configuration, run.configuration
    if row.model.configuration == run.model.configuration:
        return True
    if not of.known or not ran.known or UNKNOWN in (_recipe(of), _recipe(ran)):
        return False
    return (
        same_quality(ran, of)
        and _keeps_output(of)
        and _keeps_output(ran)
        and _cache_type(of) == _cache_type(ran)
    )


def _keeps_output(configuration: ConfigurationFacts) -> bool:
    rule = configuration.acceptance_rule
    return rule is None or rule.model.kind in (None, "lossless")


def _cache_type(configuration: ConfigurationFacts) -> str | None:
    cache = configuration.kv_cache
    return None if cache is None else cache.model.target_type


def _quality_figure(row: QualityFacts, run: RunFacts) -> str:
    """Metric and value, with error, dataset, size, and whose it is where not the run's own."""
    model = row.model
    error = None if model.error is None else f" ± {_digits(model.error)}"
    details = (
        model.dataset,
        None if model.sample_size is None else f"n {model.sample_size}",
        None if model.configuration == run.model.configuration else f"of {model.configuration}",
    )
    told = ", ".join(each for each in details if each)
    figure = f"{model.metric or UNKNOWN} {row.value}{error or ''}"
    return f"{figure} ({told})" if told else figure


def _digits(number: float) -> str:
    """A number as it is printed in the report."""
    return str(getattr(number, "text", number))


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
    "concurrency": lambda run: _condition(run, "concurrency"),
}

#: Further conditions by the names they have in the table.
_CONDITIONS = {
    "warm": "warm",
    "warm-up requests": "warmup_requests",
    "repeats": "repeats",
    "restarts": "restarts",
    "prompt cache": "prompt_cache",
    "arm order": "arm_order",
}


def _condition(run: RunFacts, name: str) -> str:
    value = None if run.conditions is None else getattr(run.conditions.model, name)
    return (
        str(value).lower() if isinstance(value, bool) else str(UNKNOWN if value is None else value)
    )


def _differing_conditions(report: ReportFacts) -> dict[str, Callable[[RunFacts], str]]:
    return {
        label: partial(_condition, name=name)
        for label, name in _CONDITIONS.items()
        if len({_condition(run, name) for run in report.runs}) > 1
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
    yield from _common_conditions(report)
    yield (
        "Accepted length τ is tokens per verify step, the target's own token included; "
        "speed-ups without a stated value are ratios of the decode speeds shown"
        f"{_where_marked(report)}."
    )


def _where_marked(report: ReportFacts) -> str:
    marked = any(_speedup(run).endswith(_ALL_STREAMS) for run in report.runs)
    return ", or where so marked of the throughput of all streams" if marked else ""


def _common_conditions(report: ReportFacts) -> Iterator[str]:
    """Conditions that are the same for all runs, and the two that must not be left unsaid."""
    if all(run.concurrency is None for run in report.runs):
        yield "Concurrency: not stated."
    for label, name in _CONDITIONS.items():
        values = {_condition(run, name) for run in report.runs} or {UNKNOWN}
        if values == {UNKNOWN}:
            if name == "warm":
                yield "Warm: not stated."
        elif len(values) == 1:
            yield f"{label.capitalize()}: {values.pop()}."


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
        if d.name or d.count
    ]
    return _joined(*devices, _driver(machine.model.driver), machine.model.os)


def _driver(driver: str | None) -> str | None:
    """The driver, called so; a bare version says nothing to a reader."""
    return driver if driver is None or "driver" in driver.lower() else f"driver {driver}"


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
    """One line for each different sampler, with the configurations that use it where not all do."""
    users: dict[str, list[str]] = {}
    for name in report.model.configurations or {}:
        sampler = report.configuration(name).sampler
        text = UNKNOWN if sampler is None else _sampler(sampler.model)
        users.setdefault(text, []).append(name)
    of_all = len(users) == 1 and all(run.model.configuration for run in report.all_runs)
    for text, names in users.items():
        stated = "not stated" if text == UNKNOWN else text
        yield f"Sampler{'' if of_all else _of(names)}: {stated}."


def _of(names: Sequence[str]) -> str:
    """Of which configurations; in quotes where a name holds a comma itself."""
    mark = "'" if any("," in name for name in names) else ""
    return f" of {', '.join(f'{mark}{name}{mark}' for name in names)}"


def _sampler(sampler: Sampler) -> str:
    given = sampler.model_dump(exclude_none=True, exclude={"extensions", "others"})
    left = given.pop("left_to_engine", ())
    parts = [", ".join(f"{name} {value}" for name, value in given.items())]
    parts.append(f"left to the engine: {', '.join(left)}" if left else "")
    return "; ".join(p for p in parts if p) or UNKNOWN


# --- output ----------------------------------------------------------------------------------


def as_markdown(shown_table: Table, report_text: str) -> str:
    """The table in Markdown, then a folded block that carries `report_text` (JSON)."""
    parts = [f"**{_plain(shown_table.title)}**", ""]
    parts += _markdown_rows(shown_table)
    parts += ["", *(f"- {_plain(note)}" for note in shown_table.footnotes), ""]
    fence = _fence(report_text)
    parts += ["<details><summary>The report, for <code>benchlint check</code></summary>", ""]
    carried = escape.json_uncommanded(report_text.rstrip("\n"))
    parts += [f"{fence}benchlint", carried, fence, "", "</details>"]
    return "\n".join(parts) + "\n"


def _markdown_rows(shown_table: Table) -> Iterator[str]:
    if not shown_table.headers:
        yield "The report has no runs."
        return
    yield "| " + " | ".join(shown_table.headers) + " |"
    yield "|" + "---|" * len(shown_table.headers)
    for row in shown_table.rows:
        yield "| " + " | ".join(map(_plain, row)) + " |"


_HARMLESS = frozenset(" .,:;+-–?×≈±%/()_'τ")
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
