"""What engines apply to sampler parameters that nobody set, and which values do nothing."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.engines import EngineKind, engine_kind, version_at_least
from benchlint.checker.sampler_defaults import PARAMETERS, defaults, neutral
from benchlint.checker.tables import rows_of


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("llama.cpp", "llama.cpp"),
        ("llama-server", "llama.cpp"),
        ("llamacpp", "llama.cpp"),
        ("ggml-org/llama.cpp", "llama.cpp"),
        ("llama.cpp b8672", "llama.cpp"),
        ("llama.cpp (CUDA)", "llama.cpp"),
        ("ik_llama.cpp", "ik_llama.cpp"),
        ("llama-cpp-python", "llama-cpp-python"),
        ("vllm", "vllm"),
        ("vLLM 0.8.5", "vllm"),
        ("vllm/vllm-openai:v0.9.1", "vllm"),
        ("SGLang", "sglang"),
        ("TensorRT-LLM", "tensorrt-llm"),
        ("trtllm-serve", "tensorrt-llm"),
        ("Ollama", "ollama"),
        ("LM Studio", "lm-studio"),
        ("mlx-lm", "mlx-lm"),
        ("mlx_lm", "mlx-lm"),
        ("transformers", "transformers"),
        ("vllm-mlx", None),
        ("my engine", None),
        ("", None),
        (None, None),
    ],
)
def test_engine_names(written: str | None, kind: str | None) -> None:
    assert engine_kind(written) == kind


@pytest.mark.parametrize(
    ("version", "minimum", "expected"),
    [
        ("0.8.0", "0.8.0", True),
        ("v0.8.5.post1", "0.8.0", True),
        ("0.7.3", "0.8.0", False),
        ("0.10.0", "0.9.0", True),
        ("0.27.2rc1.dev77+gac7509e2b", "0.8.0", True),
        ("0.27.2rc1.dev77+gac7509e2b", "0.27.2", None),
        ("0.8.0rc1", "0.8.0", None),
        ("0.8.0+cu128", "0.8.0", True),
        ("vllm 0.8.5", "0.8.0", True),
        ("1.2", "1.2.0", True),
        ("b8672", "b8672", True),
        ("b8672", "b9000", False),
        ("8672", "b8000", True),
        ("version: 8672 (abcdef0)", "b8000", True),
        ("b8672", "0.8.0", None),
        ("0.8.0", "b8672", None),
        ("b1", "b8000", None),
        ("0c1e57098", "b8000", None),
        ("ac7509e2b", "b8000", None),
        ("main", "0.8.0", None),
        ("", "0.8.0", None),
        (None, "0.8.0", None),
    ],
)
def test_versions(version: str | None, minimum: str, expected: bool | None) -> None:
    assert version_at_least(version, minimum) is expected


@given(st.tuples(*[st.integers(0, 99)] * 3), st.tuples(*[st.integers(0, 99)] * 3))
def test_releases_compare_as_their_numbers(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    text_a, text_b = (".".join(map(str, v)) for v in (a, b))
    assert version_at_least(text_a, text_b) is (a >= b)


@given(st.text(max_size=40))
def test_any_version_is_read_without_trouble(text: str) -> None:
    assert version_at_least(text, "0.8.0") in (True, False, None)
    assert engine_kind(text) in (*get_args(EngineKind), None)


def test_llama_cpp_truncates_by_default() -> None:
    found = defaults("llama.cpp", "b10434")
    assert found is not None
    expected = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05}
    assert {p: found.value(p) for p in expected} == expected
    assert found.value("repetition_penalty") == 1.0
    assert found.model_override is not None
    assert "GGUF" in found.model_override


def test_an_old_llama_cpp_reads_no_sampler_from_the_model() -> None:
    found = defaults("llama.cpp", "b4000")
    assert found is not None
    assert found.model_override is None
    assert found.value("min_p") == 0.05


def test_an_unknown_version_gives_what_holds_for_all() -> None:
    for version in (None, "0c1e57098", "master"):
        found = defaults("llama.cpp", version)
        assert found is not None
        assert found.value("min_p") == 0.05
        assert found.values["repetition_penalty"] == (1.0, 1.1)
        assert found.value("repetition_penalty") is None
        assert "1.1 (server / main, before 2024-03)" in found.text("repetition_penalty")


def test_vllm_is_neutral_but_takes_the_model_s_own() -> None:
    found = defaults("vLLM", "0.27.2rc1.dev77+gac7509e2b")
    assert found is not None
    assert found.model_override is not None
    assert "generation_config" in found.model_override
    assert not any(found.certainly_acts(p) for p in PARAMETERS)
    old = defaults("vllm", "0.7.3")
    assert old is not None
    assert old.model_override is None


def test_ollama_penalises_in_older_releases() -> None:
    old, new, unknown = (defaults("Ollama", v) for v in ("0.5.0", "0.40.0", None))
    assert old is not None
    assert new is not None
    assert unknown is not None
    assert (old.value("repetition_penalty"), new.value("repetition_penalty")) == (1.1, 1.0)
    assert old.certainly_acts("repetition_penalty")
    assert not unknown.certainly_acts("repetition_penalty")


def test_surfaces_of_one_engine_may_differ() -> None:
    found = defaults("llama-cpp-python", "0.3.36")
    assert found is not None
    assert found.values["temperature"] == (0.2, 0.8)
    assert "create_chat_completion" in found.text("temperature")


def test_greedy_by_default_makes_the_rest_idle() -> None:
    found = defaults("transformers", "5.0.0")
    assert found is not None
    assert found.value("temperature") == 0
    assert not found.certainly_acts("top_k")
    assert found.certainly_acts("top_k", temperature=0.7)


def test_default_text() -> None:
    found = defaults("llama-server")
    assert found is not None
    assert found.text("min_p") == "0.05"
    assert found.text("no such parameter") == "unknown"


@pytest.mark.parametrize("name", [None, "", "unknown engine", "ik_llama.cpp"])
def test_engines_without_a_row(name: str | None) -> None:
    assert defaults(name) is None


def test_every_row_is_of_a_known_engine_and_reachable() -> None:
    for row in rows_of("sampler_defaults"):
        assert row["engine"] in get_args(EngineKind)
        found = defaults(row["engine"])
        assert found is not None
        assert row["source"] in found.sources
        for parameter in PARAMETERS:
            assert float(row[parameter]) in found.values[parameter]


@pytest.mark.parametrize(
    ("parameter", "value", "temperature", "expected"),
    [
        ("top_p", 1.0, 1.0, True),
        ("top_p", 0.95, 1.0, False),
        ("top_p", 0.95, 0, True),
        ("top_k", 0, 1.0, True),
        ("top_k", -1, 1.0, True),
        ("top_k", 151936, 1.0, True),
        ("top_k", 40, None, False),
        ("top_k", 40, 0.0, True),
        ("min_p", 0, 1.0, True),
        ("min_p", 0.05, 1.0, False),
        ("min_p", 0.05, 0, True),
        ("repetition_penalty", 1.0, 1.0, True),
        ("repetition_penalty", 1.1, 1.0, False),
        ("repetition_penalty", 1.1, 0, False),
        ("presence_penalty", 0, 1.0, True),
        ("presence_penalty", 1.5, 0, False),
        ("frequency_penalty", 0, None, True),
        ("frequency_penalty", -0.1, None, False),
        ("seed", 42, 0, True),
        ("temperature", 1.0, 1.0, True),
        ("temperature", 0.8, 0.8, False),
    ],
)
def test_neutral(parameter: str, value: float, temperature: float | None, expected: bool) -> None:
    assert neutral(parameter, value, temperature) is expected
