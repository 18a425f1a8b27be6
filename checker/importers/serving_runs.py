"""From a result of a serving benchmark to a run: what vLLM's and SGLang's have in common."""

from __future__ import annotations

from benchlint.checker.importers.building import Building, Path
from benchlint.checker.importers.fields import COUNT, NUMBER, Field, fill, text, truth
from benchlint.checker.importers.found import Found, Record
from benchlint.checker.importers.serving_console import Block
from benchlint.checker.importers.serving_fields import (
    LATENCIES,
    LATENCIES_IN_SECONDS,
    THROUGHPUT,
    WORKLOAD,
    Setups,
    engine_of_backend,
    file_name,
    fill_concurrency,
    fill_failures,
    fill_first_tokens,
    fill_latencies,
    fill_lengths,
    model_name,
    run_name,
)
from benchlint.checker.sampler_defaults import PARAMETERS

#: Sets whose prompts are made of random tokens, or of one text again and again.
_MADE_UP = frozenset(
    {"random-ids", "random-mm", "random-rerank", "prefix_repetition", "generated-shared-prefix"}
)


#: What is the same for runs of one workload, and its words where workloads differ.
_SAME_WORKLOAD = {
    "dataset_name": "set",
    "num_prompts": "prompts",
    "total_input_tokens": "input tokens",
    "total_output_tokens": "output tokens",
}


class ServingReport:
    """A report that results are put into.

    tool: what the client is called in `measurement.tool`.
    """

    def __init__(self, tool: str) -> None:
        self.building = Building()
        self._tool = tool
        self._setups = Setups()
        self._workloads = Setups()

    def add(self, record: Record, fallback: str, differs: dict[str, object]) -> dict[str, Path]:
        """Begin a run for the record; the paths of run, configuration and workload.

        differs: what tells its configuration from others of the same model.
        """
        building = self.building
        model = record.get("model_id")
        name = None if model is None else model_name(model.value)
        configuration = self._setups.name(name or "server", differs)
        run = building.run(run_name(record, fallback), configuration)
        at = {
            "run": run,
            "configuration": building.configuration(configuration),
            "workload": self._workload(record, run),
        }
        if model is not None:
            building.put((*at["configuration"], "target", "name"), model.to(name))
        fill(building, (*THROUGHPUT, *WORKLOAD), record, at)
        self._fill_rest(record, at)
        return at

    def _workload(self, record: Record, run: Path) -> Path:
        """The workload of a run; results in one file with equal prompts and outputs share it."""
        values = {words: record.get(name) for name, words in _SAME_WORKLOAD.items()}
        said = {words: value.value for words, value in values.items() if value is not None}
        dataset = text(said.pop("set", None))
        name = self._workloads.name(dataset or "prompts", said)
        self.building.put((*run, "workload"), Found(name))
        return self.building.workload(name)

    def _fill_rest(self, record: Record, at: dict[str, Path]) -> None:
        building, run = self.building, at["run"]
        for fields in (LATENCIES, LATENCIES_IN_SECONDS):
            fill_latencies(building, run, record, fields)
        fill_lengths(building, at["workload"], record)
        fill_failures(building, run, record)
        fill_first_tokens(building, run, record)
        fill_concurrency(building, run, record)
        backend = record.get("backend") or record.get("endpoint_type")
        if backend is not None:
            engine = (*at["configuration"], "engine", "name")
            building.put(engine, backend.to(engine_of_backend(backend.value)))
        building.put((*run, "measurement", "by"), Found("client"))
        building.put((*run, "measurement", "tool"), Found(self._tool))


def fill_arguments(building: Building, at: dict[str, Path], block: Block) -> None:
    """What the arguments say that were printed in front of a block."""
    values, run, workload = block.values, at["run"], at["workload"]
    fill(building, ARGUMENTS, values, at)
    for name, found in block.sampler.items():
        sent = COUNT if name == "top_k" else NUMBER
        value = sent.convert(found.value)
        building.put((*at["configuration"], "sampler", name), found.to(value))
    _fill_unset(building, at["configuration"], block)
    _fill_set(building, workload, block)
    for name, forces in (("ignore_eos", True), ("disable_ignore_eos", False)):
        said = values.get(name)
        if said is not None and truth(said.value) is forces:
            building.put((*workload, "stop_rule"), said.to("ignore_eos"))
    kind = values.get("dataset_name")
    if kind is not None and kind.value in _MADE_UP:
        building.put((*run, "measurement", "prompt_kind"), kind.to("synthetic"))


def _fill_unset(building: Building, configuration: Path, block: Block) -> None:
    """Parameters that were left to the server; a temperature only where the client says so."""
    names = block.unset.value if block.unset is not None else None
    kept = [
        name
        for name in (names if isinstance(names, list) else [])
        if name != "temperature" or block.sends_no_temperature
    ]
    if block.unset is not None and kept:
        building.put((*configuration, "sampler", "left_to_engine"), block.unset.to(kept))


#: Arguments that are printed on the console, and in no result file.
ARGUMENTS = (
    Field("num_warmups", "run.conditions.warmup_requests", COUNT, "console only"),
    Field("warmup_requests", "run.conditions.warmup_requests", COUNT, "console only"),
)
SAMPLER_FIELDS = tuple(
    Field(name, f"configuration.sampler.{name}", NUMBER, "console only: as sent")
    for name in PARAMETERS
)


def _fill_set(building: Building, workload: Path, block: Block) -> None:
    """The name of the prompts: of a set on Hugging Face its own, of a file the file's."""
    name, path = block.values.get("dataset_name"), block.values.get("dataset_path")
    if name is None or path is None or not text(path.value):
        return
    prompts = building.value((*workload, "prompts"))
    published = text(path.value) if name.value == "hf" else file_name(path.value)
    if name.value in ("hf", "custom", "custom_mm") and isinstance(prompts, dict):
        prompts.pop("set", None)
        building.put((*workload, "prompts", "set"), path.to(published))
