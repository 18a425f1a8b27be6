"""llama-speculative, llama-speculative-simple and llama-lookup: what they print at the end.

Source: llama.cpp examples/speculative/speculative.cpp, examples/speculative-simple/
speculative-simple.cpp and examples/lookup/lookup.cpp, since 2023. The blocks of times below
"draft:" and "target:" are not taken over: a pass over several tokens counts as prompt there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, PERCENT, Field, fill, whole
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import (
    Confidence,
    Head,
    Imported,
    Importer,
    Source,
    imported_lines,
)
from benchlint.checker.importers.llama_cpp_lines import STATISTICS, groups, is_pasted
from benchlint.checker.importers.llama_cpp_setup import SETUP_FIELDS, Setup, put_sampler
from benchlint.checker.importers.table_rows import Row
from benchlint.checker.importers.unique_names import unused

NAME = "llama-speculative"

#: So many runs of a program in one file become runs.
MOST_RUNS = 500

_FIELDS = (
    Field("encoded", "run.prefill.tokens", COUNT),
    Field("encoded in", "run.prefill.seconds", NUMBER),
    Field(
        "encoded speed",
        "run.prefill.tok_s",
        NUMBER,
        "not of llama-lookup, which divides prompt and output by the prompt's time",
    ),
    Field("decoded", "run.decode.tokens", COUNT),
    Field("decoded in", "run.decode.seconds", NUMBER),
    Field("decoded speed", "run.decode.tok_s", NUMBER, "the first token counts"),
    Field("n_predict", "run.speculation.counts.output_tokens", COUNT),
    Field("n_drafted", "run.speculation.counts.drafted", COUNT, "without drafts that were dropped"),
    Field("n_accept", "run.speculation.counts.accepted", COUNT),
    Field("accept", "run.speculation.acceptance_rate.value", PERCENT, "n_accept / n_drafted"),
)

_K = Field(
    "n_draft",
    "configuration.draft_length.max",
    COUNT,
    "with a draft model, and of llama-lookup: n-gram types draft other lengths",
)

_STEPS = Field(
    "#gen drafts",
    "run.speculation.counts.verify_steps",
    COUNT,
    "of the one type that drafted, where its tokens are those above",
)

_CODED = re.compile(
    r"(?P<what>encoded|decoded|generated) +(?P<n>\d+) tokens in +(?P<seconds>[\d.]+) seconds,"
    r" speed: +(?P<speed>[\d.]+|inf|nan) t/s"
)
#: The counts stand below these; above them stands what the model wrote.
_DECODED = frozenset({"decoded", "generated"})

_COUNT = re.compile(
    r"\b(?P<name>n_draft|n_predict|n_drafted|n_accept|accept|t_draft_flat) +="
    r" *(?P<value>-?[\d.]+|-?nan|inf)(?P<percent>%)?"
)
_SECTION = re.compile(r"(?:^| I )(?P<name>draft|target):\s*$")
_TIMES = re.compile(r"llama_(?:perf_context_print|print_timings): ")
_THREADS = "llama threadpool init"


class _Output:
    """The output of one program after another."""

    def __init__(self) -> None:
        self.building = Building()
        self._setup = Setup()
        self._row: Row = {}
        self._statistics: list[Row] = []
        self._section = ""
        self._contexts = 0
        self._draft_model = False

    def take(self, line: Line) -> None:
        """Read a line."""
        text = line.text
        if " tokens in " in text and self._coded(line):
            return
        if " = " in text and self._row.keys() & _DECODED and self._count(line):
            return
        if "#calls(b,g,a)" in text and (row := groups(line, STATISTICS)):
            self._statistics.append(row)
            self._setup.implementation(row["type"])
        elif "draft:" in text or "target:" in text:
            self._section = _section(line)
        elif _THREADS in text:
            self._begin()
            self._contexts += 1
        elif self._section == "draft" and _TIMES.search(text):
            self._draft_model = True
        else:
            self._setup.take(line)

    def end(self) -> None:
        """The output of a program ends."""
        row, self._row = self._row, {}
        if "n_drafted" in row and "n_predict" in row:
            self._put(row)
        self._statistics, self._section = [], ""
        self._draft_model, self._contexts = False, 0
        self._setup = Setup()

    def _begin(self) -> None:
        """A program begins where another has told its counts."""
        if "n_drafted" in self._row:
            self.end()

    def _coded(self, line: Line) -> bool:
        row = groups(line, _CODED)
        if not row:
            return False
        what = str(row["what"].value)
        if what in self._row or (what != "decoded" and "n_drafted" in self._row):
            self.end()
        self._row[what] = row["n"]
        self._row[f"{what} in"], self._row[f"{what} speed"] = row["seconds"], row["speed"]
        return True

    def _count(self, line: Line) -> bool:
        match = _COUNT.search(line.text)
        if match is None or (match["name"] == "accept") != bool(match["percent"]):
            return False
        found = line.found(match["value"], match.span("value"))
        self._row.setdefault(match["name"], found)
        return True

    # into a report

    def _put(self, row: Row) -> None:
        building = self.building
        if len(building.tree.get("runs", ())) >= MOST_RUNS:
            building.remarks[:] = [f"only the first {MOST_RUNS} runs were taken over"]
            return
        building.put(("engine", "name"), Found("llama.cpp"))
        configuration = self._configuration(row)
        run = building.run("prompt", configuration[-1])
        self._put_run(run, row)

    def _put_run(self, run: Path, row: Row) -> None:
        building, at = self.building, {"run": run}
        if "t_draft_flat" in row:
            row.pop("encoded speed", None)
        fill(building, _FIELDS, _with_generated(row), at)
        building.put((*run, "speculation", "counts", "requests"), row["n_drafted"].to(1))
        if building.has((*run, "speculation", "acceptance_rate")):
            building.put((*run, "speculation", "acceptance_rate", "of"), Found("drafted"))
        if (steps := self._steps(row)) is not None:
            building.put((*run, "speculation", "counts", "verify_steps"), steps)
        building.put((*run, "conditions", "concurrency"), Found(1))
        building.put((*run, "measurement", "by"), Found("engine_counter"))
        building.put((*run, "measurement", "counters"), Found("per_run"))
        if "decoded" in row:
            building.put((*run, "measurement", "window"), Found("decode_only"))

    def _steps(self, row: Row) -> Found | None:
        """Verify steps, where the one type that drafted counts the same tokens."""
        active = [each for each in self._statistics if whole(each["drafts"].value)]
        if len(active) != 1:
            return None
        (only,) = active
        counted = [whole(only[name].value) for name in ("drafted", "accepted")]
        return (
            only["drafts"].to(whole(only["drafts"].value))
            if counted == [whole(row[name].value) for name in ("n_drafted", "n_accept")]
            else None
        )

    def _configuration(self, row: Row) -> tuple[str, str]:
        building, setup = self.building, self._setup
        model = setup.get("model")
        base = str(model.value).replace("\\", "/").rpartition("/")[2] if model else NAME
        name = unused(base, building.tree.get("configurations", {}))
        building.configuration(name)
        place = ("configurations", name)
        setup.put(building, place)
        put_sampler(building, place, setup.sampler)
        self._put_drafter(place, row)
        return place

    def _put_drafter(self, place: Path, row: Row) -> None:
        building, setup = self.building, self._setup
        if "t_draft_flat" in row:
            building.put((*place, "drafter", "method"), row["t_draft_flat"].to("ngram"))
        elif setup.speculates:
            setup.put_drafter(building, place)
            return
        elif self._draft_model or setup.loaded_drafter or self._contexts > 1:
            setup.put_drafter(building, place)
            building.put((*place, "drafter", "method"), Found("draft_model"))
        else:
            return
        fill(building, (_K,), row, {"configuration": place})


def _section(line: Line) -> str:
    """The name of the section that begins with a line; "" for none."""
    match = _SECTION.search(line.text)
    return "" if match is None else match["name"]


def _with_generated(row: Row) -> Row:
    """The first version did not tell the prompt's time apart."""
    words = ("", " in", " speed")
    renamed = {f"decoded{w}": row[f"generated{w}"] for w in words if f"generated{w}" in row}
    return {**renamed, **row}


_SUMMARY = re.compile(r"(?m)^.*\bn_drafted +=\s*\d")


def _recognise(head: Head) -> Confidence:
    match = None if head.document is not None else _SUMMARY.search(head.text)
    if match is None or "n_accept" not in head.text or is_pasted(head.text, match.start()):
        return Confidence.NO
    return Confidence.SURE


def _read(source: Source) -> Iterator[Imported]:
    return imported_lines(NAME, _Output(), source)


_LEVEL = "these programs log it at `-lv 4`"

IMPORTER = Importer(
    name=NAME,
    title="llama-speculative, llama-speculative-simple and llama-lookup (llama.cpp)",
    reads="what they print to the console, of one prompt or of several runs one after another",
    recognise=_recognise,
    read=_read,
    streams=True,
    alone=True,
    engines=("llama.cpp",),
    fields=(*_FIELDS, _STEPS, _K, *SETUP_FIELDS),
    hints={
        "target": f"the model: {_LEVEL}",
        "machine": f"the devices: {_LEVEL}",
        "engine.version": "`llama-speculative --version`",
        "engine.command_line": "the programs do not print the command: write it down",
        "configurations.*.drafter": f"`-md` and `--spec-type`: {_LEVEL}",
        "configurations.*.draft_length": f"`--spec-draft-n-max N`, `--spec-ngram-*-size-m N`: "
        f"{_LEVEL}",
        "configurations.*.sampler": "`--temp`, `--top-k`, `--top-p`, `--min-p`; unset, llama.cpp's "
        "defaults hold",
        "configurations.*.kv_cache": f"`-ctk`, `-ctv`, `-ctkd`, `-ctvd`: {_LEVEL}",
        "runs[].speculation.accepted_length": "llama-speculative-simple at `-lv 4` prints "
        "statistics with the drafts; llama-server logs it for each request",
        "runs[].speculation.per_position": "llama-server at `-lv 4` logs `acc per pos`",
        "runs[].conditions.warm": "each start is cold but for the empty run before the prompt",
        "runs[].memory": "`nvidia-smi` while it runs",
        "quality": "`llama-perplexity -m MODEL -f TEXT`; give its log to `benchlint convert` too",
    },
    never=(
        "Verify steps, and how many passes had no draft (llama-speculative, llama-lookup).",
        "Whether drafts were trees: `-np N` of llama-speculative is not printed.",
        "More than one prompt, and what kind of text it was.",
    ),
)
