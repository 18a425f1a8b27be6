"""A managed llama-server: a stand-in's life and death, and the real one in xllamacpp."""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchlint.reproducers.engine import (
    Arm,
    EngineError,
    EngineGoneError,
    Request,
    Sampling,
    UnsupportedError,
)
from benchlint.reproducers.http_client import HttpClient
from benchlint.reproducers.llama_server_engine import LlamaServerEngine
from benchlint.reproducers.server_flags import ServerSetup
from benchlint.reproducers.telemetry.prometheus import delta, read_metrics

HERE = Path(__file__).parent
TARGET = HERE / "models" / "target-q8_0.gguf"
DRAFTER = HERE / "models" / "draft-q8_0.gguf"
SETUP = ServerSetup(TARGET, DRAFTER, threads=1)
GREEDY = Sampling(temperature=0.0)
PLAIN = Arm("plain", sampling=GREEDY, context_tokens=1024)
K4 = Arm("K=4", "draft_model", 4, sampling=GREEDY, context_tokens=1024)
PROMPTS = (
    "import os\nimport sys\n\n\ndef main(",
    'def read(path):\n    """Return the',
    "class Stack:\n    def __init__(self",
)

needs_xllamacpp = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"
)

Opener = Callable[..., LlamaServerEngine]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Makes engines and closes them."""
    engines: list[LlamaServerEngine] = []

    def make(setup: ServerSetup = SETUP, binary: Path | None = None) -> LlamaServerEngine:
        engines.append(LlamaServerEngine(setup, binary, start_s=60))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A binary that stands in for llama-server."""
    script = tmp_path / "llama-server"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_llama_server.py"} "$@"\n')
    script.chmod(0o755)
    return script


def url_of(engine: LlamaServerEngine) -> str:
    assert engine._server is not None
    return engine._server.url


def answers(url: str) -> bool:
    """Whether somebody listens at an address."""
    at = urlsplit(url)
    with socket.socket() as client:
        return client.connect_ex((at.hostname or "", at.port or 0)) == 0


def falls_silent(url: str) -> bool:
    """Whether nobody listens there any more, within twenty seconds."""
    pause = threading.Event()
    return any(not answers(url) or pause.wait(0.02) for _ in range(1000))


def test_it_is_started_asked_and_stopped(fake: Path, opened: Opener) -> None:
    engine = opened(binary=fake)
    description = engine.start(PLAIN)
    assert description.command_line[0] == str(fake)
    assert "--port" not in description.command_line
    assert description.threads == 1
    assert engine.generate(Request("Hello", 2)).output_tokens == 2
    url = url_of(engine)
    assert answers(url)
    engine.close()
    assert not answers(url)
    engine.close()
    with pytest.raises(EngineError, match="not started"):
        engine.generate(Request("Hello", 2))


def test_another_arm_restarts_it_and_the_same_does_not(fake: Path, opened: Opener) -> None:
    engine = opened(binary=fake)
    engine.start(PLAIN)
    first = engine._server
    engine.start(PLAIN)
    assert engine._server is first
    description = engine.start(K4)
    assert engine._server is not first
    assert description.drafter == {
        "name": DRAFTER.name,
        "size_bytes": DRAFTER.stat().st_size,
        "quantization": "Q8_0",
    }
    assert description.speculation["draft_length"] == 4
    assert "--spec-draft-n-max" in description.command_line


@pytest.mark.parametrize(
    ("mode", "says"),
    [("fail", "did not start: error: failed to load model"), ("silent", "not ready in 0.3 s")],
)
def test_one_that_does_not_start(
    mode: str, says: str, fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", mode)
    engine = LlamaServerEngine(SETUP, fake, start_s=0.3 if mode == "silent" else 60)
    with pytest.raises(EngineError, match=says):
        engine.start(PLAIN)
    engine.close()


def test_a_taken_port_is_tried_again(
    fake: Path, opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", "taken")
    monkeypatch.setenv("FAKE_ONCE", str(tmp_path / "once"))
    opened(binary=fake).start(PLAIN)
    assert (tmp_path / "once").exists()


def test_one_that_ends_while_measuring_says_why(
    fake: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", "dies")
    with pytest.raises(EngineGoneError):
        opened(binary=fake).start(PLAIN)


def test_no_variable_sets_its_flags(
    fake: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "99")
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    opened(binary=fake).start(PLAIN)


def test_files_that_are_not_there(fake: Path, tmp_path: Path, opened: Opener) -> None:
    with pytest.raises(EngineError, match=r"no such file: .*none.gguf"):
        opened(ServerSetup(tmp_path / "none.gguf"), fake).start(PLAIN)
    with pytest.raises(EngineError, match=r"no such file: .*none"):
        opened(SETUP, tmp_path / "none").start(PLAIN)
    with pytest.raises(EngineError, match="cannot be run: Permission denied"):
        opened(SETUP, TARGET).start(PLAIN)
    with pytest.raises(EngineError, match="names another program"):
        opened(SETUP, Path("/bin/echo")).start(PLAIN)


def test_what_it_cannot_do(fake: Path, opened: Opener) -> None:
    engine = opened(binary=fake)
    with pytest.raises(UnsupportedError, match="medusa"):
        engine.start(Arm("m", "medusa"))
    with pytest.raises(UnsupportedError):
        engine.perplexity("text", 64)


def test_drafts_are_not_selected_on_a_gpu_that_is_not_there(fake: Path, opened: Opener) -> None:
    engine = opened(ServerSetup(TARGET, DRAFTER, gpu_layers="0"), fake)
    with pytest.raises(UnsupportedError, match="this llama-server uses none"):
        engine.start(replace(K4, draft_selection="gpu"))
    assert engine._server is None
    found = engine.start(replace(K4, draft_selection="cpu"))
    assert found.speculation["draft_selection"] == "cpu"


KILLED = """
import os, signal, sys
from pathlib import Path
from benchlint.reproducers.engine import Arm
from benchlint.reproducers.llama_server_engine import LlamaServerEngine
from benchlint.reproducers.server_flags import ServerSetup
binary = Path(sys.argv[2]) if len(sys.argv) > 2 else None
engine = LlamaServerEngine(ServerSetup(Path(sys.argv[1])), binary)
engine.start(Arm("plain", context_tokens=1024))
print(engine._server.url, engine._server._guard.pid, flush=True)
os.kill(int(sys.stdin.readline()), signal.SIGKILL)
sys.stdin.read()
"""


def killed(who: str, binary: Path | None) -> str:
    """The address of a server whose starter, or whose guard, was killed."""
    command = [sys.executable, "-c", KILLED, str(TARGET), *([str(binary)] if binary else [])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        url, guard = parent.stdout.readline().split()
        assert answers(url)
        parent.stdin.write(f"{parent.pid if who == 'starter' else guard}\n")
        parent.stdin.flush()
        silent = falls_silent(url)
        if who == "guard":
            parent.send_signal(signal.SIGKILL)
        assert silent, "the server outlived its " + who
        parent.communicate()
    assert parent.returncode == -signal.SIGKILL
    return url


@pytest.mark.parametrize("who", ["starter", "guard"])
def test_no_server_outlives_a_killed_run(who: str, fake: Path) -> None:
    if who == "guard" and sys.platform != "linux":
        pytest.skip("only Linux tells a child of its parent's death")
    killed(who, fake)


@needs_xllamacpp
def test_the_real_one_ends_with_a_killed_run() -> None:
    killed("starter", None)


@needs_xllamacpp
def test_the_real_ones_counters_are_its_own(opened: Opener) -> None:
    engine = opened()
    description = engine.start(K4)
    assert description.engine == "llama.cpp"
    assert description.speculation["speculative"] == "on"
    in_effect = {"draft_length": 4, "p_min": 0.0, "acceptance_rule": "lossless"}
    in_effect |= {"drafter_kv_type": "f16", "draft_method": "argmax"}
    assert in_effect.items() <= description.speculation.items()
    on_cpu = description.backend == "CPU"
    assert description.speculation.get("draft_selection") == ("cpu" if on_cpu else None)
    assert description.sampler["temperature"] == 0.0
    assert description.context_tokens == 1024
    assert (description.target["name"], description.target["quantization"]) == (TARGET.name, "Q8_0")
    with HttpClient(url_of(engine)) as client:
        before = read_metrics(client.get_text("/metrics"))
        samples = [engine.generate(Request(p, 64, ignore_eos=True)) for p in PROMPTS]
        after = read_metrics(client.get_text("/metrics"))
    counters = [sample.counters for sample in samples]
    for name, ours in (
        ("num_draft_tokens", sum(c.drafted or 0 for c in counters)),
        ("num_accepted_tokens", sum(c.accepted or 0 for c in counters)),
        ("num_drafts", sum(c.verify_steps or 0 for c in counters)),
    ):
        assert delta(before, after, f"llamacpp:spec_decode_{name}_total") == ours > 0
    for sample, counter in zip(samples, counters, strict=True):
        assert sample.output_tokens == 64
        assert sample.cached_tokens == 0
        assert None not in (counter.accepted, counter.verify_steps, counter.plain_steps)
        assert counter.at_least is not None
        assert sum(counter.at_least) == counter.accepted
        # Every pass gives one token besides those accepted, and the first is prefill's.
        passes = (counter.verify_steps or 0) + (counter.plain_steps or 0)
        assert 1 + passes + (counter.accepted or 0) == sample.output_tokens


@needs_xllamacpp
def test_greedy_text_is_the_same_with_and_without_drafts(opened: Opener) -> None:
    engine = opened()
    texts: dict[str, list[str]] = {}
    for arm in (PLAIN, K4):
        engine.start(arm)
        samples = [engine.generate(Request(p, 48, ignore_eos=True)) for p in PROMPTS]
        texts[arm.name] = [sample.text for sample in samples]
        drafted = [sample.counters.drafted or 0 for sample in samples]
        assert all(drafted) if arm.method else not any(drafted)
    # Q8_0 targets were exact at every batch width in this build; where rounding differs with
    # the width, as it may on another machine, texts part at a near-tie and never at the start.
    for plain, speculative in zip(texts["plain"], texts["K=4"], strict=True):
        shared = [
            a
            for a, _ in takewhile(lambda ab: ab[0] == ab[1], zip(plain, speculative, strict=False))
        ]
        assert plain == speculative or len(shared) > 20


@needs_xllamacpp
def test_the_real_one_looks_up_its_prompt(opened: Opener) -> None:
    engine = opened(ServerSetup(TARGET, threads=1, ngram_size=2))
    engine.start(Arm("lookup", "prompt_lookup", 5, sampling=GREEDY, context_tokens=1024))
    text = "self.name = name\nself.value = value\n" * 8
    counters = engine.generate(Request(text, 64, ignore_eos=True)).counters
    assert (counters.drafted or 0) > 0
    assert (counters.verify_steps or 0) > 0
    assert len(counters.at_least or ()) <= 5


@needs_xllamacpp
def test_the_real_one_answers_a_chat(opened: Opener) -> None:
    engine = opened()
    engine.start(PLAIN)
    sample = engine.generate(Request("import os", 8, chat=True))
    plain = engine.generate(Request("import os", 8))
    assert sample.output_tokens <= 8
    assert (sample.prompt_tokens or 0) > (plain.prompt_tokens or 0), "a template was applied"


@needs_xllamacpp
def test_the_real_one_refuses_a_file_that_is_no_model(opened: Opener, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(EngineError, match="did not start: "):
        opened(ServerSetup(bad)).start(PLAIN)
