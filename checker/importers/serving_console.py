"""The block that `vllm bench serve` and SGLang's `bench_serving` print when they are done.

    ============ Serving Benchmark Result ============
    Successful requests:                     80

Names are those that the same numbers have in the JSON files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from benchlint.checker.importers.found import Found, Line
from benchlint.checker.importers.printed_values import named_values, unset_names
from benchlint.checker.lines import Span
from benchlint.checker.sampler_defaults import PARAMETERS

HEAD = "= Serving Benchmark Result ="

#: What SGLang's client prints and vLLM's does not.
OF_SGLANG = re.compile(r"(?m)^[ \t#>/|*]*(?:Backend:  |Total generated tokens \(retokenized\):)")

#: Blocks are pasted into comments and quotes.
_MARGIN = r"^[\s#>/|*]*"
_PAIR = re.compile(_MARGIN + r"(?P<label>[A-Za-z][^:=]{0,80}):\s+(?P<value>\S.{0,200})")
_END = re.compile(_MARGIN + r"={20,}\s*$")
_NAMESPACE = re.compile(r"\bNamespace\(")

#: `vllm bench serve` since 0.14, where no temperature is given; before, it sent 0.
_NO_TEMPERATURE = "no longer sets temperature==0"

#: Where no model is given, the client asks the server.
_FIRST_MODEL = re.compile(r"^First model name: .{1,200}?, first model id: (?P<id>\S{1,200})")

_LABELS = {
    "backend": "backend",
    "successful requests": "completed",
    "failed requests": "failed",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "max reqeuest concurrency": "max_concurrency",
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "concurrency": "concurrency",
    "accept length": "accept_length",
    "acceptance rate (%)": "spec_decode_acceptance_rate",
    "acceptance length": "spec_decode_acceptance_length",
    "drafts": "spec_decode_num_drafts",
    "draft tokens": "spec_decode_draft_tokens",
    "accepted tokens": "spec_decode_accepted_tokens",
}
_STATISTIC = re.compile(r"(mean|median|std|p\d+(?:\.\d+)?) (ttft|tpot|itl) \(ms\)")
_POSITION = re.compile(r"position (\d{1,3})")

#: What is taken from the arguments that the clients print first, under the names of the files.
_ARGUMENTS = {
    "model": "model_id",
    "label": "label",
    "tag": "tag",
    "num_prompts": "num_prompts",
    "dataset_name": "dataset_name",
    "dataset_path": "dataset_path",
    "num_warmups": "num_warmups",
    "warmup_requests": "warmup_requests",
    "ignore_eos": "ignore_eos",
    "disable_ignore_eos": "disable_ignore_eos",
    "flush_cache": "flush_cache",
}


@dataclass
class Block:
    """The numbers of one run.

    values: by name. positions: acceptance at each draft position, in percent.
    sampler: sampling parameters that were sent. unset: those that were left to the server.
    sends_no_temperature: the client says so; older ones sent 0 where none was given.
    """

    values: dict[str, Found] = field(default_factory=dict)
    positions: list[Found] = field(default_factory=list)
    sampler: dict[str, Found] = field(default_factory=dict)
    unset: Found | None = None
    sends_no_temperature: bool = False


def blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """The blocks of a text, each with what was printed in front of it."""
    before, block = Block(), None
    for line in lines:
        if HEAD in line.text:
            if block is not None:
                yield block
            block = replace(before, values=dict(before.values), positions=[])
        elif block is None:
            _read_before(before, line)
        elif _END.match(line.text):
            yield block
            before, block = Block(), None
        else:
            _read_pair(block, line)
    if block is not None:
        yield block


def _read_before(before: Block, line: Line) -> None:
    """Arguments, and the rate and concurrency that are printed when the run starts."""
    arguments = _NAMESPACE.search(line.text)
    if arguments is not None:
        _read_arguments(before, line, arguments.span())
        return
    if _NO_TEMPERATURE in line.text:
        before.sends_no_temperature = True
    if (model := _FIRST_MODEL.search(line.text)) is not None:
        before.values.setdefault("model_id", line.found(model["id"], model.span("id")))
    pair = _PAIR.match(line.text)
    name = None if pair is None else _LABELS.get(pair["label"].lower())
    if pair is not None and name in ("request_rate", "max_concurrency"):
        before.values[name] = _value(line, pair)


def _value(line: Line, pair: re.Match[str]) -> Found:
    """What stands behind the colon, without the blanks that fill the column."""
    start, value = pair.start("value"), pair["value"].rstrip()
    return line.found(value, (start, start + len(value)))


def _read_arguments(before: Block, line: Line, span: Span) -> None:
    start, end = span
    found = named_values(line, _ARGUMENTS, end)
    before.values = {_ARGUMENTS[name]: value for name, value in found.items()}
    before.sampler = named_values(line, PARAMETERS, end)
    unset = unset_names(line, PARAMETERS, end)
    before.unset = line.found(unset, (start, end - 1)) if unset else None


def _read_pair(block: Block, line: Line) -> None:
    """One line of a block; what stands in it counts before what was printed in front of it."""
    pair = _PAIR.match(line.text)
    if pair is None:
        return
    label, value = pair["label"].strip().lower(), _value(line, pair)
    position, statistic = _POSITION.fullmatch(label), _STATISTIC.fullmatch(label)
    name = _LABELS.get(label) if statistic is None else f"{statistic[1]}_{statistic[2]}_ms"
    if position is not None and int(position[1]) == len(block.positions):
        block.positions.append(value)
    elif name is not None:
        block.values[name] = value
