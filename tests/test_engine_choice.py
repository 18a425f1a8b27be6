"""Engines out of what a user names, and one clear line where that makes none."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchlint.reproducers import engine_choice
from benchlint.reproducers.endpoint_engine import EndpointEngine
from benchlint.reproducers.engine import Arm, EngineError
from benchlint.reproducers.engine_choice import OPTIONS, EngineChoice, chosen_engines
from benchlint.reproducers.llama_server_engine import LlamaServerEngine

MODELS = Path(__file__).parent / "models"
TARGET, DRAFTER = MODELS / "target-q8_0.gguf", MODELS / "draft-q8_0.gguf"
URL = "http://127.0.0.1:9"
PLAIN, FAST = Arm("plain"), Arm("fast", method="draft_model")


def _line(**said: Any) -> str:
    with pytest.raises(EngineError) as raised:
        chosen_engines(EngineChoice(**said))
    return str(raised.value)


def test_one_endpoint_serves_every_arm() -> None:
    with chosen_engines(EngineChoice(endpoint=URL)) as chosen:
        assert isinstance(chosen.main.engine, EndpointEngine)
        assert chosen.engines(PLAIN) is chosen.engines(FAST) is chosen.main


def test_a_baseline_endpoint_serves_the_plain_arms() -> None:
    choice = EngineChoice(endpoint=URL, baseline_endpoint="http://127.0.0.1:10/v1")
    with chosen_engines(choice) as chosen:
        assert chosen.engines(PLAIN) is chosen.baseline
        assert chosen.engines(FAST) is chosen.main


def test_model_files_run_in_a_llama_server_where_there_is_one() -> None:
    with chosen_engines(EngineChoice(target=TARGET, drafter=DRAFTER)) as chosen:
        assert isinstance(chosen.main.engine, LlamaServerEngine)
        assert (chosen.here.target, chosen.here.drafter) == (TARGET.name, DRAFTER.name)
        assert chosen.here.target_quantization == chosen.here.drafter_quantization == "Q8_0"


def test_what_somebody_else_would_type_has_no_folders_addresses_and_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONE_KEY", "first-key-0")
    choice = EngineChoice(endpoint="http://10.1.2.3:8000", model="m", key_variable="ONE_KEY")
    with chosen_engines(choice) as chosen:
        assert chosen.repeat == ("--endpoint", "URL", "--model", "m")
        assert not chosen.is_here
    choice = EngineChoice(
        target=TARGET,
        drafter=DRAFTER,
        llama_server=Path(__file__),
        threads=2,
        server_arguments=(f"--lora={MODELS}/x.bin", "--no-mmap"),
    )
    with chosen_engines(choice) as chosen:
        assert chosen.repeat == (
            *("--target-model", TARGET.name, "--draft-model", DRAFTER.name),
            *("--llama-server", Path(__file__).name, "--threads", "2"),
            *("--server-arg=--lora=x.bin", "--server-arg=--no-mmap"),
        )
        assert chosen.is_here
        assert chosen.here.threads == 2


def test_keys_are_secrets_and_go_to_their_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", "first-key-0")
    monkeypatch.setenv("OTHER_KEY", "other-key-0")
    choice = EngineChoice(
        endpoint=URL,
        baseline_endpoint=URL,
        key_variable="ONE_KEY",
        baseline_key_variable="OTHER_KEY",
    )
    with chosen_engines(choice) as chosen:
        assert chosen.secrets == ("first-key-0", "other-key-0")
        assert "key-0" not in repr(chosen)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({}, "name what measures: --endpoint URL, or --target-model"),
        ({"endpoint": URL, "target": TARGET}, "choose one"),
        ({"endpoint": URL, "threads": 2}, "--threads is for model files"),
        ({"target": TARGET, "model": "a"}, "--model belongs to --endpoint"),
        ({"endpoint": URL, "baseline_model": "a"}, "belongs to --baseline-endpoint"),
        ({"target": Path("/")}, "--target-model: not a file: /"),
        ({"target": Path("no/such.gguf")}, "--target-model: no such file: no/such.gguf"),
        ({"target": Path(__file__)}, "test_engine_choice.py is no GGUF file"),
        ({"target": TARGET, "drafter": Path("no")}, "--draft-model: no such file: no"),
        ({"target": TARGET, "llama_server": Path("no")}, "--llama-server: no such file: no"),
        ({"target": TARGET, "engine": "vllm"}, "--engine is server or llama-cpp, not 'vllm'"),
        ({"target": TARGET, "server_arguments": ("-x",)}, "--server-arg is for a binary"),
        ({"target": TARGET, "draft_method": "argmax"}, "--draft-method belongs to --engine"),
        ({"endpoint": "127.0.0.1:9"}, "begins with http:// or https://"),
        ({"endpoint": "http://a:b"}, "no valid address"),
        ({"endpoint": "http://u:p@127.0.0.1"}, "no user or password in an address"),
        ({"endpoint": URL, "baseline_endpoint": "ftp://a"}, "begins with http:// or https://"),
        ({"endpoint": URL, "timeout_s": 0.0}, "--timeout is a number of seconds over 0"),
        ({"endpoint": URL, "timeout_s": float("nan")}, "--timeout is a number of seconds over 0"),
        ({"endpoint": URL, "key_variable": "NO_SUCH_KEY"}, "NO_SUCH_KEY for the API key is empty"),
    ],
)
def test_a_choice_that_is_none_is_told_in_one_line(said: dict[str, Any], line: str) -> None:
    told = _line(**said)
    assert line in told
    assert "\n" not in told


def test_a_key_in_place_of_its_variable_is_not_quoted() -> None:
    told = _line(endpoint=URL, key_variable="sk-1a2b3c4d5e6f")
    assert "never the key itself" in told
    assert "1a2b" not in told


@pytest.mark.parametrize(
    ("missing", "said", "command"),
    [
        ("httpx", {"endpoint": URL}, "pip install '.[reproduce]'"),
        ("scipy", {"target": TARGET}, "pip install '.[reproduce]'"),
        ("xllamacpp", {"target": TARGET, "engine": "server"}, "pip install '.[server]'"),
        ("llama_cpp", {"target": TARGET, "engine": "llama-cpp"}, "pip install '.[llama]'"),
        ("xllamacpp llama_cpp", {"target": TARGET}, "pip install '.[server]'"),
    ],
)
def test_a_missing_extra_comes_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch, missing: str, said: dict[str, Any], command: str
) -> None:
    def find(name: str) -> object:
        return None if name in missing.split() else find_spec(name)

    monkeypatch.setattr(engine_choice, "find_spec", find)
    assert command in _line(**said)


def test_every_field_has_the_name_that_users_give() -> None:
    assert set(OPTIONS) == set(EngineChoice.__dataclass_fields__)
