"""MLX LM: what `mlx_lm.generate` and `mlx_lm.benchmark` print.

Source: ml-explore/mlx-lm mlx_lm/generate.py (generate, stream_generate, batch_generate),
mlx_lm/benchmark.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchlint.checker.command_line import command_line
from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, GIB_FROM_GB, NUMBER, TEXT, Field, fill, number
from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.table_rows import Row

NAME = "mlx-lm"

_PREFILL = (
    Field("Prompt: N tokens", "run.prefill.tokens", COUNT),
    Field("Prompt: x tokens-per-sec", "run.prefill.tok_s", NUMBER, "to the first token"),
)
_DECODE = (
    Field("Generation: N tokens", "run.decode.tokens", COUNT),
    Field(
        "Generation: x tokens-per-sec",
        "run.decode.tok_s",
        NUMBER,
        "all tokens over the time after the first: n/(n - 1) too much",
    ),
)
_BATCH = (
    Field("Generation: N tokens", "run.throughput.tokens", COUNT, "batch_generate"),
    Field("Generation: x tokens-per-sec", "run.throughput.tok_s", NUMBER, "batch_generate"),
)
_MEMORY = (Field("Peak memory", "run.memory.device_used_gib", GIB_FROM_GB, "most that MLX held"),)
_COMMAND = (
    Field("--model", "configuration.target.name", TEXT, "of a command line above"),
    Field("--draft-model", "configuration.drafter.model", TEXT, "of a command line above"),
    Field("--num-draft-tokens", "configuration.draft_length.max", COUNT, "likewise"),
    Field("--temp", "configuration.sampler.temperature", NUMBER, "likewise"),
    Field("--top-p", "configuration.sampler.top_p", NUMBER, "likewise"),
    Field("--min-p", "configuration.sampler.min_p", NUMBER, "likewise"),
)
_TIMING = (
    Field("prompt_tokens", "workload.prompt_tokens", COUNT, "`mlx_lm.benchmark`"),
    Field("batch_size", "run.conditions.concurrency", COUNT, "`mlx_lm.benchmark`"),
)

# --- what it prints --------------------------------------------------------------------------

_SPEED = r"(?:(?P<tokens>\d{1,12}) tokens, )?(?P<speed>[\d.]{1,30}) tokens-per-sec\s*"
_PRINTED = re.compile(rf"\s*(?P<batch>\[batch_generate\] )?(?P<what>Prompt|Generation): {_SPEED}")
_PEAK = re.compile(r"\s*(?:\[batch_generate\] )?Peak memory: (?P<gb>[\d.]{1,30}) GB\s*")
_RUNS = re.compile(r"(?:mlx_lm[. ]|-m mlx_lm\.?\s*)(?P<tool>generate|benchmark)\b(?P<rest>.*)")
_TIMED = re.compile(
    r"\s*Timing with prompt_tokens=(?P<prompt_tokens>\d{1,12}), "
    r"generation_tokens=(?P<generation_tokens>\d{1,12}), batch_size=(?P<batch_size>\d{1,9})\.\s*"
)
_TRIAL = re.compile(r"\s*(?:Trial (?P<trial>\d{1,9}): +|(?P<averages>Averages): )(?P<rest>.*)")
_PAIR = re.compile(r"(?P<name>prompt_tps|generation_tps|peak_memory)=(?P<value>[\d.]{1,30})")


@dataclass
class _Console:
    """The reading of a console, line by line."""

    building: Building = field(default_factory=Building)
    arguments: Row = field(default_factory=dict)
    command: Found | None = None
    run: Path | None = None
    is_batch: bool = False
    timing: Row = field(default_factory=dict)
    trials: dict[str, list[Found]] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """Read one line."""
        if match := _PRINTED.fullmatch(line.text):
            self._speed(line, match)
        elif match := _PEAK.fullmatch(line.text):
            self._peak(line.group(match, "gb"))
        elif match := _TIMED.fullmatch(line.text):
            self.timing, self.trials = line.groups(match), {}
        elif self.timing and (match := _TRIAL.fullmatch(line.text)):
            self._trial(line, match)
        elif match := _RUNS.search(line.text):
            self._arguments(line, match)

    def _begin(self, name: str) -> dict[str, Path]:
        model = self.arguments.get("--model")
        drafter = self.arguments.get("--draft-model")
        setup = str(model.value) if model is not None else "model"
        setup += "" if drafter is None else f" with {drafter.value}"
        self.building.put(("engine", "name"), Found("mlx-lm"))
        self.run = self.building.run(name, setup)
        at = {"run": self.run, "configuration": self.building.configuration(setup)}
        fill(self.building, _COMMAND, self.arguments, at)
        if self.building.has((*at["configuration"], "drafter", "model")):
            method = (*at["configuration"], "drafter", "method")
            self.building.put(method, Found("draft_model"))
        elif self.command is not None:
            self.building.put_null((*at["configuration"], "drafter"))
        put = self.building.put
        put((*self.run, "measurement", "tool"), Found(NAME))
        put((*self.run, "measurement", "window"), Found("decode_only"))
        return at

    # generate

    def _speed(self, line: Line, match: re.Match[str]) -> None:
        """A line of prompt or generation; "Prompt:" begins a run."""
        is_prompt = match["what"] == "Prompt"
        if is_prompt or self.run is None or self._has_decode():
            self.is_batch = match["batch"] is not None
            self._begin("generate")
        if self.run is None:
            return
        fields = _PREFILL if is_prompt else _BATCH if self.is_batch else _DECODE
        if is_prompt and self.is_batch:
            return
        groups = line.groups(match)
        named = {fields[0].source: groups.get("tokens"), fields[1].source: groups.get("speed")}
        row = {name: found for name, found in named.items() if found is not None}
        fill(self.building, fields, row, {"run": self.run})

    def _has_decode(self) -> bool:
        return self.run is not None and any(
            self.building.has((*self.run, *place))
            for place in (("decode", "tok_s"), ("throughput", "tok_s"))
        )

    def _peak(self, found: Found | None) -> None:
        if self.run is not None and found is not None:
            fill(self.building, _MEMORY, {"Peak memory": found}, {"run": self.run})

    # benchmark

    def _trial(self, line: Line, match: re.Match[str]) -> None:
        start = match.start("rest")
        pairs = {
            p["name"]: line.found(p["value"], (start + p.start("value"), start + p.end("value")))
            for p in _PAIR.finditer(match["rest"])
        }
        if match["averages"] is None:
            for name, found in pairs.items():
                self.trials.setdefault(name, []).append(found)
        else:
            self._averages(pairs)
            self.timing = {}

    def _averages(self, pairs: Row) -> None:
        at = self._begin("benchmark")
        run = at["run"]
        workload = str(self.building.value((*run, "id")))
        at["workload"] = self.building.workload(workload)
        self.building.put((*run, "workload"), Found(workload))
        fill(self.building, _TIMING, self.timing, at)
        one = self.timing["batch_size"].value == "1"
        self._mean((*run, "decode" if one else "throughput", "tok_s"), "generation_tps", pairs)
        if one:
            self._mean((*run, "prefill", "tok_s"), "prompt_tps", pairs)
            generated, prompt = self.timing["generation_tokens"], self.timing["prompt_tokens"]
            self.building.put((*run, "decode", "tokens"), generated.to(int(str(generated.value))))
            self.building.put((*run, "prefill", "tokens"), prompt.to(int(str(prompt.value))))
        self._peak(pairs.get("peak_memory"))
        self._conditions(run, at["configuration"])

    def _mean(self, path: Path, name: str, pairs: Row) -> None:
        found = pairs.get(name)
        samples = [number(each.value) for each in self.trials.get(name, [])]
        if found is None:
            return
        self.building.put((*path, "value"), found.to(number(found.value)))
        if len(samples) > 1 and None not in samples:
            place = self.trials[name][0]
            self.building.put((*path, "samples"), place.to(samples))
        self.building.put((*path, "estimator"), Found("mean"))

    def _conditions(self, run: Path, configuration: Path) -> None:
        """What holds of every run of `mlx_lm.benchmark`."""
        put = self.building.put
        put((*run, "conditions", "warm"), Found(value=True))
        trials = self.trials.get("generation_tps", [])
        if trials:
            put((*run, "conditions", "repeats"), trials[-1].to(len(trials)))
        put((*run, "measurement", "by"), Found("micro_benchmark"))
        put((*run, "measurement", "prompt_kind"), Found("synthetic"))
        self.building.put_null((*configuration, "drafter"))

    # command lines

    def _arguments(self, line: Line, match: re.Match[str]) -> None:
        """The flags of a command line that is pasted above its output."""
        self.arguments, self.command = {}, line.group(match, "tool")
        command = command_line(match["rest"])
        for flag in (each.source for each in _COMMAND):
            value = command.value(flag)
            if value:
                self.arguments[flag] = line.found(value, match.span("rest"))


# --- its forms -------------------------------------------------------------------------------

_OWN = (
    re.compile(r"(?m)^[ \t]*(?:\[batch_generate\] )?Generation: .{0,40}tokens-per-sec[ \t]*\r?$"),
    re.compile(r"(?m)^[ \t]*Timing with prompt_tokens=\d+, generation_tokens=\d+, batch_size="),
)


def _recognise(head: Head) -> Confidence:
    if head.document is not None:
        return Confidence.NO
    return Confidence.SURE if any(p.search(head.text) for p in _OWN) else Confidence.NO


def _read(source: Source) -> Iterator[Imported]:
    return Imported.of_runs(NAME, _read_console(source.lines()).building)


def _read_console(lines: Iterable[Line]) -> _Console:
    console = _Console()
    for line in lines:
        console.take(line)
    return console


_ABOVE = "keep the command line above the output: `mlx_lm.generate "

IMPORTER = Importer(
    name=NAME,
    title="MLX LM",
    reads="what `mlx_lm.generate` (also of several prompts) and `mlx_lm.benchmark` print, with "
    "the command line where it stands above",
    recognise=_recognise,
    read=_read,
    engines=("mlx-lm",),
    fields=(*_COMMAND, *_PREFILL, *_DECODE, *_BATCH, *_MEMORY, *_TIMING),
    hints={
        "target": _ABOVE + "--model MODEL`",
        "engine.version": "`mlx_lm --version`; `pip show mlx mlx-lm`",
        "engine.command_line": _ABOVE + "…`",
        "machine": "`sysctl -n machdep.cpu.brand_string`, and its memory",
        "configurations.*.drafter": _ABOVE + "--draft-model MODEL`",
        "configurations.*.draft_length": _ABOVE + "--num-draft-tokens N`",
        "configurations.*.sampler": _ABOVE + "--temp 0`",
        "workloads.*.prompts": "publish what `--prompt` was",
        "runs[].speculation": "no command prints it: count the responses of `stream_generate` "
        "that are from_draft",
        "runs[].conditions.warm": "`mlx_lm.benchmark` warms up; `mlx_lm.generate` does not",
        "runs[].conditions.repeats": "`mlx_lm.benchmark --num-trials N`",
        "runs[].losslessness": "compare the text with and without `--draft-model`",
        "quality": "`mlx_lm.perplexity --model MODEL`",
    },
    never=(
        "Acceptance: `from_draft` of a token is in the Python API only, and its share of the "
        "output is no acceptance rate: 0.75 means 4 tokens for each verify step.",
        "Verify steps and drafted tokens.",
        "Speeds of `mlx_lm.benchmark` with a draft model: it has none.",
    ),
)
