"""All importers, and which of them a text is for."""

from __future__ import annotations

import difflib
import importlib
from functools import cache

from benchlint.checker.errors import CannotRunError
from benchlint.checker.importers.importer import Confidence, Head, Importer

#: Modules of this package with an `IMPORTER`, in the order of the page. They are imported only
#: when a file is no report of our own.
MODULES = (
    "llama_bench",
    "llama_server_replies",
    "llama_server_log",
    "llama_server_metrics",
    "llama_server_props",
    "llama_speculative",
    "llama_perplexity",
    "llama_cli",
    "vllm_bench",
    "vllm_metrics",
    "guidellm",
    "llama_benchy",
    "aiperf",
    "genai_perf",
    "llmperf",
    "spec_bench",
    "eagle",
    "mlx_lm",
    "lm_studio",
    "specforge",
    "dflash_mlx",
    "vllm_log",
    "vllm_requests",
    "sglang_bench",
    "sglang_log",
    "sglang_server",
    "tables",
)


@cache
def importers() -> tuple[Importer, ...]:
    """All importers."""
    found = (importlib.import_module(f"{__package__}.{name}").IMPORTER for name in MODULES)
    return tuple(found)


def importer_named(name: str) -> Importer:
    """The importer that `--from` names. Raises CannotRunError where there is none."""
    known = {each.name: each for each in importers()}
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise CannotRunError(f"--from is one of {', '.join(known)}, not {name!r}{hint}")
    return known[name]


def candidates(head: Head) -> tuple[Importer, ...]:
    """The importers that the text may be for: those that are sure, else those that may be."""
    found = [(each.recognise(head), each) for each in importers()]
    most = max((confidence for confidence, _ in found), default=Confidence.NO)
    if most is Confidence.NO:
        return ()
    return tuple(each for confidence, each in found if confidence == most)
