"""What is read from a real vLLM is what it counted and timed itself."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchlint.reproducers.endpoint_engine import EndpointEngine
from benchlint.reproducers.engine import Arm, EngineGoneError, Request, Sample, Sampling
from benchlint.reproducers.http_client import HttpClient, StatusError
from benchlint.reproducers.telemetry.prometheus import Metrics, delta, position_deltas, read_metrics

pytestmark = pytest.mark.vllm

MODELS = Path(__file__).parent / "models"
GREEDY = Sampling(temperature=0.0)
K = 4
DRAFTING = Arm("K=4", "draft_model", K, sampling=GREEDY, context_tokens=1024)
LOOKUP = Arm("lookup", "ngram", K, sampling=GREEDY, context_tokens=1024)
PLAIN = Arm("plain", sampling=GREEDY, context_tokens=1024)
PROMPTS = (
    'def read(self, size=-1):\n    """Read at most size bytes."""\n',
    '{"name": "open", "arguments": {"file": "a.txt"',
    "for line in lines:\n    print(line)\n" * 8,
)
_FEW = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
_START_S = 600


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny pair as vLLM reads it."""
    from tests.hugging_face_model import write_model  # its needs are those of this target

    folder = tmp_path_factory.mktemp("models")
    for role in ("target", "draft"):
        write_model(MODELS / f"{role}-q8_0.gguf", folder / role)
    return folder


@contextmanager
def serving(vllm: Path, models: Path, *options: str) -> Iterator[str]:
    """The address of a server; its log is shown where it does not start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    guard = (sys.executable, "-m", "benchlint.reproducers.server_guard")
    command = (str(vllm), "serve", str(models / "target"), "--host", "127.0.0.1", "--port", port)
    settings = ("--dtype", "bfloat16", "--max-model-len", "1024", "--enforce-eager")
    log = models / "log.txt"
    with log.open("wb") as out:
        server = subprocess.Popen(
            (*guard, *command, *settings, *options),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | _FEW,
        )
    try:
        _wait(server, f"http://127.0.0.1:{port}", log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.communicate()  # closes its standard input, which ends it


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    with HttpClient(url) as client:
        for _ in range(_START_S):
            try:
                client.get_text("/health", 5.0)
            except (StatusError, EngineGoneError):
                pass
            else:
                return
            try:
                server.wait(1)
            except subprocess.TimeoutExpired:
                continue
            break
    raise AssertionError(log.read_text("utf-8", "replace")[-4000:])


@pytest.fixture(scope="module")
def drafting(vllm: Path, models: Path) -> Iterator[str]:
    drafter = {"method": "draft_model", "model": str(models / "draft")}
    setting = json.dumps({**drafter, "num_speculative_tokens": K})
    detailed = ("--per-request-spec-decode-metrics", "detailed")
    with serving(vllm, models, "--speculative-config", setting, *detailed) as url:
        yield url


@pytest.fixture(scope="module")
def looking_up(vllm: Path, models: Path) -> Iterator[str]:
    lookup = {"method": "ngram", "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    setting = json.dumps({**lookup, "num_speculative_tokens": K})
    with serving(vllm, models, "--speculative-config", setting) as url:
        yield url


@pytest.fixture(scope="module")
def plain(vllm: Path, models: Path) -> Iterator[str]:
    with serving(vllm, models) as url:
        yield url


def measured(url: str, arm: Arm, tokens: int = 64) -> tuple[list[Sample], Metrics, Metrics]:
    """Samples, and the server's counters before and after them."""
    engine = EndpointEngine(url)
    description = engine.start(arm)
    assert description.engine == "vllm"
    with HttpClient(url) as client:
        before = read_metrics(client.get_text("/metrics"))
        samples = [engine.generate(Request(p, tokens, ignore_eos=True)) for p in PROMPTS]
        after = read_metrics(client.get_text("/metrics"))
    engine.close()
    return samples, before, after


def assert_counts_are_its_own(samples: list[Sample], before: Metrics, after: Metrics) -> None:
    counters = [sample.counters for sample in samples]
    drafted, accepted, steps = (
        sum(getattr(each, name) for each in counters)
        for name in ("drafted", "accepted", "verify_steps")
    )
    theirs = [
        delta(before, after, f"vllm:spec_decode_num_{name}_total")
        for name in ("draft_tokens", "accepted_tokens", "drafts")
    ]
    assert theirs == [drafted, accepted, steps]
    assert min(drafted, accepted, steps) > 0
    at_least = [sum(column) for column in zip(*(c.at_least or () for c in counters), strict=True)]
    positions = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    assert tuple(at_least) == position_deltas(before, after, positions)
    assert sum(at_least) == accepted


def assert_counts_add_up(sample: Sample) -> None:
    """Each pass gives one token and those accepted, of which the end may cut some off."""
    counts = sample.counters
    passes = (counts.verify_steps or 0) + (counts.plain_steps or 0)
    cut = 1 + passes + (counts.accepted or 0) - sample.output_tokens
    assert 0 <= cut <= K
    assert sample.output_tokens == 64


def test_its_counts_with_a_draft_model(drafting: str) -> None:
    samples, before, after = measured(drafting, DRAFTING)
    assert_counts_are_its_own(samples, before, after)
    for sample in samples:
        assert_counts_add_up(sample)
        assert (sample.counters.at_least or ())[:1] <= (sample.counters.verify_steps,)


def test_its_counts_with_looked_up_drafts(looking_up: str) -> None:
    samples, before, after = measured(looking_up, LOOKUP)
    assert_counts_are_its_own(samples, before, after)
    for sample in samples:
        assert_counts_add_up(sample)
    assert any(sample.counters.plain_steps for sample in samples)


def test_its_counts_without_speculation(plain: str) -> None:
    samples, before, after = measured(plain, PLAIN)
    for sample in samples:
        counts = sample.counters
        assert (counts.drafted, counts.accepted, counts.verify_steps) == (0, 0, 0)
        assert counts.plain_steps == 63
    assert delta(before, after, "vllm:generation_tokens_total") == 3 * 64


def test_greedy_text_is_that_without_drafts(plain: str, drafting: str) -> None:
    """But for near-ties, which bfloat16 has more of; they never part at once."""
    expected, *_ = measured(plain, PLAIN)
    found, *_ = measured(drafting, DRAFTING)
    for one, other in zip(expected, found, strict=True):
        assert one.text[:8] == other.text[:8]


def test_the_clients_clock_agrees_with_its_clock(plain: str) -> None:
    """Over one answer, from the first token to the last: no speed is judged, only the clock."""
    engine = EndpointEngine(plain)
    engine.start(PLAIN)
    ratios = []
    for _ in range(9):
        sample = engine.generate(Request(PROMPTS[0], 256, ignore_eos=True))
        assert sample.timed_by == "engine"
        assert sample.decode_s
        ratios.append((sample.chunk_s[-1] - sample.chunk_s[0]) / sample.decode_s)
    engine.close()
    assert statistics.median(ratios) == pytest.approx(1, abs=0.02)
