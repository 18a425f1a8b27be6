"""llama-perplexity: perplexity, divergence from a base model, and multiple-choice scores.

Source: llama.cpp tools/perplexity/perplexity.cpp (examples/perplexity before 2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building
from benchlint.checker.importers.fields import COUNT, NUMBER, PERCENT, TEXT, Field, fill, whole
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_lines,
)
from benchlint.checker.importers.llama_cpp_lines import first_match, groups, is_pasted
from benchlint.checker.importers.llama_cpp_setup import MODEL_FIELDS, Setup
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.importers.unique_names import unused
from benchlint.checker.scored_tokens import scored_tokens

NAME = "llama-perplexity"

#: So many figures of one file are taken over.
MOST_ROWS = 500

_ROW = (
    Field("metric", "quality_row.metric", TEXT, "perplexity, kl_divergence, same_top_p, accuracy"),
    Field("dataset", "quality_row.dataset", TEXT, "of HellaSwag and Winogrande only"),
    Field("n_ctx", "quality_row.context_tokens", COUNT),
    Field(
        "chunks",
        "quality_row.sample_size",
        COUNT,
        "tokens that are scored: those behind the middle of each chunk; tasks, of tasks",
    ),
    Field("PPL", "quality_row.value", NUMBER),
    Field("+/-", "quality_row.error", NUMBER, "of the perplexity by itself, not paired"),
    Field("KLD", "quality_row.value", NUMBER, "mean over tokens"),
    Field("Same top p", "quality_row.value", PERCENT, "share of tokens with the same first choice"),
    Field("acc_norm, score", "quality_row.value", PERCENT),
)

_N = r"[\d.]+"
_PLUS = r" *(?:±|\+/-) *"

_START = re.compile(
    r"calculating perplexity over (?P<chunks>\d+) chunks(?:, n_ctx=(?P<n_ctx>\d+))?"
    r"|kl_divergence: computing over (?P<kl_chunks>\d+) chunks, n_ctx=(?P<kl_n_ctx>\d+)"
    r"|perplexity_v2: computing over (?P<strided>\d+) chunks, n_ctx=(?P<strided_n_ctx>\d+)"
    r"|(?P<hellaswag>calculating hellaswag score)"
    r"|calculating TruthfulQA score over (?P<tasks>\d+) tasks"
)

#: Lines with a figure. The metric, its number of digits as printed, and its standard error.
_FIGURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "perplexity",
        re.compile(rf"Final estimate: PPL = (?P<value>{_N}){_PLUS}(?P<error>{_N})"),
    ),
    (
        "perplexity",
        re.compile(rf"Mean PPL\(Q\) *: *(?P<value>{_N}){_PLUS}(?P<error>{_N})"),
    ),
    ("kl_divergence", re.compile(rf"Mean +KLD: *(?P<value>{_N}){_PLUS}(?P<error>{_N})")),
    (
        "same_top_p",
        re.compile(rf"Same top p: *(?P<value>{_N}){_PLUS}(?P<error>{_N}) *%"),
    ),
    (
        "winogrande",
        re.compile(
            rf"Final Winogrande score\((?P<tasks>\d+) tasks\): (?P<value>{_N})"
            rf"{_PLUS}(?P<error>{_N})"
        ),
    ),
    ("accuracy", re.compile(rf"Final result: (?P<value>{_N}){_PLUS}(?P<error>{_N})")),
)
_SHARES = frozenset({"same_top_p", "winogrande", "accuracy"})
_HELLASWAG = re.compile(rf"(?P<tasks>\d+)\t(?P<value>{_N})%?(?:\t|$)")
_STRIDED = re.compile(rf"\[(?P<chunk>\d+)\](?P<value>{_N}),")


class _Log:
    """A log of one evaluation after another."""

    def __init__(self) -> None:
        self.building = Building()
        self._setup = Setup()
        self._has_rows = False
        self._configuration: str | None = None
        self._what: Row = {}
        self._hellaswag: Row = {}

    def take(self, line: Line) -> None:
        """Read a line."""
        text = line.text
        if "hellaswag" in self._what and "\t" in text and (row := groups(line, _HELLASWAG)):
            self._hellaswag = row
            return
        if "strided" in self._what and "[" in text:
            self._strided(line)
            return
        if (" over " in text or "hellaswag" in text) and (row := groups(line, _START)):
            self.end()
            self._what = row
            return
        for metric, pattern in _FIGURES:
            if row := groups(line, pattern):
                self._put(metric, row)
                return
        self._model(line)

    def end(self) -> None:
        """An evaluation ends."""
        if self._hellaswag:
            self._put("hellaswag", self._hellaswag)
        self._what, self._hellaswag = {}, {}

    def _model(self, line: Line) -> None:
        """Another model is loaded after figures of the one before."""
        if self._has_rows and ("loaded meta data" in line.text or "build: " in line.text):
            self.end()
            self._setup, self._configuration, self._has_rows = Setup(), None, False
        self._setup.take(line)

    def _strided(self, line: Line) -> None:
        """With --ppl-stride only the running figure is printed; the last is that of all."""
        last = self._what["strided"].value
        for match in _STRIDED.finditer(line.text):
            if match["chunk"] == last:
                value = line.found(match["value"], match.span("value"))
                self._put("strided perplexity", {"value": value})

    # into a report

    def _put(self, metric: str, row: Row) -> None:
        building = self.building
        rows = building.tree.get("quality", ())
        if len(rows) >= MOST_ROWS:
            building.remarks[:] = [f"only the first {MOST_ROWS} figures were taken over"]
            return
        self._has_rows = True
        place = ("quality", len(rows))
        value = row["value"]
        named = "accuracy" if metric in ("winogrande", "hellaswag") else metric
        fields = {"metric": value.to(named)}
        if named != metric:
            fields["dataset"] = value.to(metric)
        fields |= self._context(metric, row)
        fill(building, _ROW[:4], fields, {"quality_row": place})
        kind = PERCENT if metric in (*_SHARES, "hellaswag") else NUMBER
        for name in ("value", "error"):
            if (found := row.get(name)) is not None:
                building.put((*place, name), found.to(kind.convert(found.value)))
        if named != "accuracy":
            building.put((*place, "drafter_on"), Found(False))
        self._put_model(place)

    def _context(self, metric: str, row: Row) -> Row:
        """Window and sample: chunks of one length, or tasks."""
        if (tasks := row.get("tasks") or self._what.get("tasks")) is not None:
            return {"chunks": tasks}
        prefix = {"perplexity": "", "strided perplexity": "strided_"}.get(metric, "kl_")
        if "kl_n_ctx" in self._what:
            prefix = "kl_"
        window = self._what.get(f"{prefix}n_ctx")
        chunks = self._what.get(f"{prefix}chunks")
        found: Row = {} if window is None else {"n_ctx": window}
        if window is not None and chunks is not None:
            each = scored_tokens(whole(window.value) or 0)
            found["chunks"] = chunks.to((whole(chunks.value) or 0) * each or None)
        return found

    def _put_model(self, place: tuple[str | int, ...]) -> None:
        """The configuration that the row is of, where the log names a model."""
        building, model = self.building, self._setup.get("model")
        if model is None and self._setup.get("file type") is None:
            return
        if self._configuration is None:
            base = str(model.value if model else NAME).replace("\\", "/").rpartition("/")[2]
            name = unused(base, building.tree.get("configurations", {}))
            self._setup.put_model(building, building.configuration(name))
            self._configuration = name
        building.put((*place, "configuration"), Found(self._configuration))


_OWN = (
    re.compile(r"(?m)^.*\bFinal estimate: PPL = "),
    re.compile(r"\bcalculating perplexity over \d+ chunks"),
    re.compile(r"\b(?:kl_divergence|perplexity_v2): computing over \d+ chunks"),
    re.compile(r"\bMean PPL\(Q\) *:"),
    re.compile(r"\bFinal Winogrande score\("),
    re.compile(r"\bcalculating (?:hellaswag|TruthfulQA) score "),
)


def _recognise(head: Head) -> Confidence:
    first = None if head.document is not None else first_match(head.text, _OWN)
    if first is None or is_pasted(head.text, first.start()):
        return Confidence.NO
    return Confidence.SURE


def _read(source: Source) -> Iterator[Imported]:
    return imported_lines(NAME, _Log(), source, "quality")


IMPORTER = Importer(
    name=NAME,
    title="llama-perplexity (llama.cpp)",
    reads="its log: perplexity, `--kl-divergence`, `--ppl-stride`, `--hellaswag`, `--winogrande`, "
    "`--multiple-choice`",
    recognise=_recognise,
    read=_read,
    streams=True,
    companion=True,
    engines=("llama.cpp",),
    fields=(*_ROW, *MODEL_FIELDS),
    hints={
        "target": "`llama-perplexity -lv 4` logs the model's file, type and size",
        "engine.version": "`llama-perplexity --version`; the speeds' engine is what matters here",
        "runs[].decode.tok_s": "llama-perplexity measures quality: give the file with the speeds "
        "to `benchlint convert` too",
        "quality[].dataset": "the text is not printed: write down what `-f FILE` was",
        "quality[].text": "`sha256sum FILE` of what `-f FILE` was",
    },
    never=(
        "Which text it was.",
        "The error of a difference between two models: `--kl-divergence` compares them paired.",
    ),
)
