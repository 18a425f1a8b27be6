"""llama-server as `make llama-server` builds it: its flags, its counters, its clock."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchlint.reproducers.engine import (
    Arm,
    Counters,
    EngineError,
    Request,
    Sample,
    Sampling,
    UnsupportedError,
)
from benchlint.reproducers.http_client import HttpClient
from benchlint.reproducers.llama_server_engine import LlamaServerEngine, _help_text
from benchlint.reproducers.server_flags import ServerSetup, read_help
from benchlint.reproducers.telemetry.prometheus import Metrics, delta, read_metrics
from tests.loopback import recorded

pytestmark = pytest.mark.engine

MODELS = Path(__file__).parent / "models"
TARGET, DRAFTER = MODELS / "target-q8_0.gguf", MODELS / "draft-q8_0.gguf"
PLAIN = Arm("plain", sampling=Sampling(temperature=0.0), context_tokens=1024)
K4 = replace(PLAIN, name="K=4", method="draft_model", draft_length=4)
LOOKUP = replace(PLAIN, name="lookup", method="prompt_lookup", draft_length=5)
PROMPTS = ("import os\nimport sys\n\n\ndef main(", 'def read(path):\n    """Return the')

Opener = Callable[..., LlamaServerEngine]


@pytest.fixture
def opened(llama_cpp: Path) -> Iterator[Opener]:
    """Makes engines and closes them."""
    engines: list[LlamaServerEngine] = []

    def make(arm: Arm, **setup: object) -> LlamaServerEngine:
        chosen = replace(ServerSetup(TARGET, DRAFTER, threads=1, gpu_layers="0"), **setup)
        engines.append(LlamaServerEngine(chosen, llama_cpp / "llama-server", start_s=60))
        engines[-1].start(arm)
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def metrics_of(engine: LlamaServerEngine) -> Metrics:
    assert engine._server is not None
    with HttpClient(engine._server.url) as client:
        return read_metrics(client.get_text("/metrics"))


def answers(engine: LlamaServerEngine, tokens: int = 64) -> list[Sample]:
    return [engine.generate(Request(p, tokens, ignore_eos=True)) for p in PROMPTS]


def test_the_recorded_help_is_a_part_of_its_help(llama_cpp: Path) -> None:
    text = _help_text(llama_cpp / "llama-server")
    now = read_help(re.sub(r"\(env:\s+\w+\)", "", text))  # left out of what is recorded
    for name, flag in read_help(recorded("help/0c1e570.txt")).items():
        assert name in now
        assert now[name].removed == flag.removed
        assert now[name].text == flag.text


@pytest.mark.parametrize("arm", [PLAIN, K4, LOOKUP], ids=lambda arm: arm.name)
def test_our_counts_are_its_counters(opened: Opener, arm: Arm) -> None:
    engine = opened(arm, ngram_size=2)
    before = metrics_of(engine)
    counters = [sample.counters for sample in answers(engine)]
    after = metrics_of(engine)
    for name, ours in (
        ("num_draft_tokens", total(counters, "drafted")),
        ("num_accepted_tokens", total(counters, "accepted")),
        ("num_drafts", total(counters, "verify_steps")),
    ):
        assert (delta(before, after, f"llamacpp:spec_decode_{name}_total") or 0) == ours
        assert bool(ours) is (arm.method is not None)
    passes = total(counters, "verify_steps") + total(counters, "plain_steps")
    # Prefill is a decode of the target too.
    assert delta(before, after, "llamacpp:n_decode_total") == passes + len(PROMPTS)


def total(counters: list[Counters], name: str) -> int:
    counted = [getattr(each, name) for each in counters]
    assert None not in counted
    return sum(counted)


@pytest.mark.parametrize("arm", [PLAIN, K4], ids=lambda arm: arm.name)
def test_our_times_are_its_times(opened: Opener, arm: Arm) -> None:
    engine = opened(arm)
    before = metrics_of(engine)
    samples = answers(engine)
    after = metrics_of(engine)
    for name, ours in (
        ("tokens_predicted_seconds", sum(sample.decode_s or 0 for sample in samples)),
        ("prompt_seconds", sum(sample.prefill_s or 0 for sample in samples)),
    ):
        first, last = (m.total(f"llamacpp:{name}_total") or 0 for m in (before, after))
        assert last - first == pytest.approx(ours, abs=0.01)


def test_the_clients_clock_agrees_with_its_clock(opened: Opener) -> None:
    """Over one answer, from the first token to the last: no speed is judged, only the clock."""
    engine = opened(PLAIN)
    ratios = []
    for _ in range(9):
        sample = engine.generate(Request(PROMPTS[0], 512, ignore_eos=True))
        assert sample.timed_by == "engine"
        assert sample.decode_s
        assert len(sample.chunk_s) > 400
        ratios.append((sample.chunk_s[-1] - sample.chunk_s[0]) / sample.decode_s)
    assert statistics.median(ratios) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("types", [("f32", "f32"), ("q8_0", "q8_0"), ("f16", "q4_0")], ids=str)
def test_it_takes_the_types_of_a_kv_cache(opened: Opener, types: tuple[str, str]) -> None:
    engine = opened(replace(PLAIN, kv_types=types))
    assert [sample.output_tokens for sample in answers(engine, 8)] == [8, 8]


def test_it_refuses_a_type_it_does_not_have(opened: Opener) -> None:
    with pytest.raises(EngineError, match="did not start"):
        opened(replace(PLAIN, kv_types=("q9_9", "f16")))


@pytest.mark.parametrize(
    "where", ["--spec-draft-backend-sampling", "--no-spec-draft-backend-sampling"]
)
def test_it_drafts_the_same_wherever_drafts_are_selected(opened: Opener, where: str) -> None:
    by_default = [(sample.text, sample.counters) for sample in answers(opened(K4))]
    found = [(sample.text, sample.counters) for sample in answers(opened(K4, extra=(where,)))]
    assert found == by_default


def test_it_has_no_gpu_to_select_drafts_on(opened: Opener) -> None:
    with pytest.raises(UnsupportedError, match="uses none"):
        opened(replace(K4, draft_selection="gpu"), gpu_layers=None)


@pytest.mark.parametrize("arm", [PLAIN, K4], ids=lambda arm: arm.name)
def test_the_context_can_be_filled(opened: Opener, arm: Arm) -> None:
    engine = opened(arm)
    prompt = " ".join(f"item {n} of {n * 7919 % 1000};" for n in range(130))
    size = engine.generate(Request(prompt, 1, ignore_eos=True)).prompt_tokens
    assert size is not None
    assert 1024 > size > 700
    filled = engine.generate(Request(prompt, 1024 - size, ignore_eos=True))
    assert size + filled.output_tokens == 1024
    assert filled.finish_reason == "length"
    counts = filled.counters
    assert None not in (counts.verify_steps, counts.plain_steps, counts.accepted)
    passes = (counts.verify_steps or 0) + (counts.plain_steps or 0)
    assert 1 + passes + (counts.accepted or 0) == filled.output_tokens
    with pytest.raises(EngineError, match="context"):
        engine.generate(Request(2 * prompt, 8))
