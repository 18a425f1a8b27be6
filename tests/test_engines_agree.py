"""The loop in this process and llama-server count the same, for one build of llama.cpp.

Greedy, the same pair, prompts and draft lengths. What may differ, and what is done about it:

- near-ties: llama-server splits a prompt's last tokens off, and its drafter evaluates a whole
  verify step's tokens at once where ours goes on from what it has, so that two logits that nearly
  tie may fall the other way. Counts are compared where both wrote the same text, as they must for
  most prompts; where they did not, the two most probable tokens are less than NEAR_TIE apart;
- steps without a draft: llama-server does not count them. They are told from the number of output
  tokens, and that only where the answer was not stopped;
- the last step may draft no more than is left to be written, and both bound it alike: left - 1;
- the token that the target gives besides the accepted ones counts as accepted in neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchlint.reproducers.engine import Arm, Counters, Engine, Request, Sample, Sampling
from benchlint.reproducers.llama_cpp_engine import LlamaCppEngine, Options
from benchlint.reproducers.llama_cpp_model import Context, ContextSettings, Weights
from benchlint.reproducers.llama_cpp_sampler import GREEDY as GREEDY_SAMPLER
from benchlint.reproducers.llama_server_engine import LlamaServerEngine
from benchlint.reproducers.server_flags import ServerSetup

pytestmark = pytest.mark.engine

MODELS = Path(__file__).parent / "models"
TARGET, DRAFTER = MODELS / "target-q8_0.gguf", MODELS / "draft-q8_0.gguf"
GREEDY = Sampling(temperature=0.0)
CONTEXT = 1024
#: Nats. Seen: 0.05 and less.
NEAR_TIE = 0.2
PROMPTS = (
    'def read(self, size=-1):\n    """Read at most size bytes."""\n',
    "import os\nimport sys\n\n\ndef main(",
    "class Stack:\n    def __init__(self",
    "The following functions are provided:",
    "Return a new list that",
    '{"name": "open", "arguments": {"file": "a.txt"',
    '{"name": "json.dumps", "arguments": {"obj": ',
    "for line in lines:\n    print(line)\n" * 8,
)
#: An answer to it ends by itself, inside an accepted draft where drafts are long enough.
ENDING = '    main()\n\n\nif __name__ == "__main__":\n    sys'
TOKENS = 64


@pytest.fixture(scope="module")
def in_process() -> Iterator[Engine]:
    engine = LlamaCppEngine(TARGET, DRAFTER, Options(gpu_layers=0, threads=1))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def weights() -> Iterator[Weights]:
    loaded = Weights(TARGET, gpu_layers=0)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def server(llama_cpp: Path) -> Iterator[Engine]:
    setup = ServerSetup(TARGET, DRAFTER, threads=1, gpu_layers="0")
    engine = LlamaServerEngine(setup, llama_cpp / "llama-server", start_s=60)
    yield engine
    engine.close()


def drafting(length: int, p_min: float = 0.0) -> Arm:
    return Arm(f"K={length}", "draft_model", length, p_min, sampling=GREEDY, context_tokens=CONTEXT)


def margin(weights: Weights, prompt: str, ours: Sample, theirs: Sample) -> float:
    """By how much plain decoding prefers its token where two texts part (nats)."""
    tokens = ours.token_ids or ()
    texts = ((i, weights.detokenize(tokens[: i + 1])) for i in range(len(tokens)))
    parting = next(i for i, text in texts if not theirs.text.startswith(text))
    context = Context(weights, ContextSettings(CONTEXT, 512, 512, 1), GREEDY_SAMPLER)
    context.prefill(weights.tokenize(prompt))
    for token in tokens[:parting]:
        context.evaluate([token])
    second, first = np.partition(context.logits(0), -2)[-2:]
    context.close()
    return float(first - second)


def compared(
    weights: Weights, ours: list[Sample], theirs: list[Sample]
) -> list[tuple[Sample, Sample]]:
    """Pairs with the same text, which most must have; the others part at near-ties."""
    pairs = list(zip(PROMPTS, ours, theirs, strict=True))
    for prompt, a, b in pairs:
        assert a.text == b.text or margin(weights, prompt, a, b) < NEAR_TIE
    same = [(a, b) for _, a, b in pairs if a.text == b.text]
    assert len(same) > len(PROMPTS) / 2
    return same


def answers(engine: Engine, arm: Arm) -> list[Sample]:
    engine.start(arm)
    return [engine.generate(Request(prompt, TOKENS, ignore_eos=True)) for prompt in PROMPTS]


def pooled(samples: list[Sample]) -> tuple[float, float]:
    """Accepted length and acceptance rate over all samples."""
    drafted, accepted, steps = (
        sum(getattr(sample.counters, name) or 0 for sample in samples)
        for name in ("drafted", "accepted", "verify_steps")
    )
    return 1 + accepted / steps, accepted / drafted


@pytest.mark.parametrize(
    "arm",
    [drafting(2), drafting(4), drafting(8), drafting(4, p_min=0.5)],
    ids=lambda arm: f"{arm.name}, p_min {arm.p_min}",
)
def test_both_count_the_same(
    in_process: Engine, server: Engine, weights: Weights, arm: Arm
) -> None:
    same = compared(weights, answers(in_process, arm), answers(server, arm))
    for a, b in same:
        assert a.counters == b.counters
        assert (a.output_tokens, a.prompt_tokens) == (b.output_tokens, b.prompt_tokens)
        assert a.finish_reason == b.finish_reason == "length"
    first, second = ([each[i] for each in same] for i in (0, 1))
    assert pooled(first) == pooled(second)


def test_both_bound_the_last_draft_alike(in_process: Engine, server: Engine) -> None:
    """With K = 8 and few tokens left, drafts are cut to what is left less one."""
    found: list[list[Counters]] = []
    for engine in (in_process, server):
        engine.start(drafting(8))
        requests = [Request(PROMPTS[5], most, ignore_eos=True) for most in range(1, 12)]
        found.append([engine.generate(request).counters for request in requests])
    assert [c.drafted for c in found[0]] == [c.drafted for c in found[1]]
    assert [c.plain_steps for c in found[0]] == [c.plain_steps for c in found[1]]
    assert [c.drafted for c in found[0]][:4] == [0, 0, 1, 2], "1 token left: a plain step"


def test_a_stop_inside_a_draft_is_counted_alike(in_process: Engine, server: Engine) -> None:
    samples = []
    for engine in (in_process, server):
        engine.start(drafting(8))
        samples.append(engine.generate(Request(ENDING, TOKENS)))
    ours, theirs = samples
    assert ours.finish_reason == theirs.finish_reason == "stop"
    assert ours.text == theirs.text
    assert ours.output_tokens == theirs.output_tokens
    assert theirs.counters.plain_steps is None, "a stop hides how many there were"
    for name in ("drafted", "accepted", "verify_steps", "at_least"):
        assert getattr(ours.counters, name) == getattr(theirs.counters, name)


def test_plain_decoding_is_the_same(in_process: Engine, server: Engine, weights: Weights) -> None:
    plain = Arm("plain", sampling=GREEDY, context_tokens=CONTEXT)
    for a, b in compared(weights, answers(in_process, plain), answers(server, plain)):
        assert a.counters == b.counters


def test_an_ignored_end_is_never_written_by_either(in_process: Engine, server: Engine) -> None:
    for arm in (drafting(4), Arm("plain", sampling=GREEDY, context_tokens=CONTEXT)):
        texts = []
        for engine in (in_process, server):
            engine.start(arm)
            sample = engine.generate(Request(ENDING, 24, ignore_eos=True))
            assert sample.output_tokens == 24
            texts.append(sample.text)
        assert texts[0] == texts[1]
