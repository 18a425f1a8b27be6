"""llama-server's arguments, by the help texts of builds that name them differently."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.engine import Arm, EngineError, UnsupportedError
from benchlint.reproducers.server_flags import (
    ServerSetup,
    drafts_by_model,
    embedded_settings,
    read_help,
    server_arguments,
)
from tests.loopback import recorded

BUILDS = ("b6301", "b8672", "b10434", "0c1e570")
NEW = ("b10434", "0c1e570")
HELP = {build: recorded(f"help/{build}.txt") for build in BUILDS}

PAIR = ServerSetup(Path("t.gguf"), Path("d.gguf"))
PLAIN = Arm("plain")
K4 = Arm("K=4", method="draft_model", draft_length=4)
LOOKUP = Arm("lookup", method="prompt_lookup", draft_length=8)


def arguments(arm: Arm, build: str, setup: ServerSetup = PAIR) -> tuple[str, ...]:
    return server_arguments(arm, setup, HELP[build], "8080")


def speculative(arm: Arm, build: str, setup: ServerSetup = PAIR) -> tuple[str, ...]:
    """What an arm adds to plain decoding."""
    plain = arguments(PLAIN, build, setup)
    whole = arguments(arm, build, setup)
    assert whole[: len(plain)] == plain
    return whole[len(plain) :]


def test_a_help_text_lists_its_flags() -> None:
    flags = read_help(HELP["0c1e570"])
    assert {"-c", "--ctx-size", "-md", "--spec-draft-model", "--no-ui", "--port"} <= set(flags)
    assert "size of the prompt context" in flags["--ctx-size"].text
    assert flags["--draft-max"].removed
    assert flags["--spec-ngram-size-m"].removed
    assert not flags["--spec-draft-n-max"].removed
    assert "--spec-ngram-mod-n-max" not in flags, "named in a description only"
    assert read_help("") == {}


def test_flags_may_stand_seven_deep() -> None:
    flags = read_help("-np,   --parallel N    slots\n       --port PORT     port to listen\n")
    assert set(flags) == {"-np", "--parallel", "--port"}
    assert flags["--port"].text == "PORT port to listen"


def test_the_arguments_of_a_plain_arm() -> None:
    assert arguments(Arm("plain", context_tokens=2048), "0c1e570") == (
        *("--host", "127.0.0.1", "--port", "8080", "--model", "t.gguf"),
        *("--ctx-size", "2048", "--parallel", "1", "--metrics", "--slots", "--offline"),
        *("--no-cache-prompt", "--cache-ram", "0", "--no-ui"),
    )
    assert "--no-webui" in arguments(PLAIN, "b6301")


@pytest.mark.parametrize("build", NEW)
def test_a_draft_model_by_the_new_names(build: str) -> None:
    assert speculative(K4, build) == (
        *("--spec-type", "draft-simple", "--spec-draft-model", "d.gguf"),
        *("--spec-draft-n-max", "4", "--spec-draft-n-min", "0", "--spec-draft-p-min", "0"),
    )


@pytest.mark.parametrize("build", ["b6301", "b8672"])
def test_a_draft_model_by_the_old_names(build: str) -> None:
    arm = Arm("K=4", method="draft_model", draft_length=4, p_min=0.75)
    assert speculative(arm, build) == (
        *("--model-draft", "d.gguf"),
        *("--draft-max", "4", "--draft-min", "0", "--draft-p-min", "0.75"),
    )


def test_lookup_by_either_name() -> None:
    setup = ServerSetup(Path("t.gguf"), ngram_size=3)
    new = ("--spec-ngram-simple-size-n", "3", "--spec-ngram-simple-size-m", "8")
    old = ("--spec-ngram-size-n", "3", "--spec-ngram-size-m", "8")
    assert speculative(LOOKUP, "0c1e570", setup) == ("--spec-type", "ngram-simple", *new)
    assert speculative(LOOKUP, "b8672", setup) == ("--spec-type", "ngram-simple", *old)
    with pytest.raises(UnsupportedError, match="does not know --spec-type ngram-simple"):
        arguments(LOOKUP, "b6301", setup)


def test_where_the_argmax_runs() -> None:
    gpu = Arm("gpu", method="draft_model", draft_length=4, draft_selection="gpu")
    cpu = Arm("cpu", method="draft_model", draft_length=4, draft_selection="cpu")
    assert arguments(gpu, "0c1e570")[-1] == "--spec-draft-backend-sampling"
    assert arguments(cpu, "0c1e570")[-1] == "--no-spec-draft-backend-sampling"
    assert arguments(cpu, "b8672") == arguments(K4, "b8672"), "it was always there"
    with pytest.raises(UnsupportedError, match="on the CPU only"):
        arguments(gpu, "b8672")


def test_threads_and_layers_go_to_both_models() -> None:
    setup = ServerSetup(Path("t.gguf"), Path("d.gguf"), threads=2, gpu_layers="all")
    both = arguments(K4, "0c1e570", setup)
    for flag, value in (
        ("--threads", "2"),
        ("--threads-batch", "2"),
        ("--spec-draft-threads", "2"),
        ("--gpu-layers", "all"),
        ("--spec-draft-ngl", "all"),
    ):
        assert both[both.index(flag) + 1] == value
    assert "--spec-draft-ngl" not in arguments(PLAIN, "0c1e570", setup)
    old = arguments(K4, "b8672", setup)
    assert old[old.index("--threads-draft") + 1] == "2"


def test_the_rest_is_passed_on() -> None:
    setup = ServerSetup(Path("t.gguf"), extra=("--flash-attn", "on"))
    arm = Arm("q8", kv_types=("q8_0", "q4_0"))
    whole = arguments(arm, "0c1e570", setup)
    assert whole[-6:] == ("--cache-type-k", "q8_0", "--cache-type-v", "q4_0", *setup.extra)


@pytest.mark.parametrize("build", BUILDS)
def test_what_no_build_can_do(build: str) -> None:
    with pytest.raises(UnsupportedError, match="no way to draft by medusa"):
        arguments(Arm("m", method="medusa"), build)
    with pytest.raises(UnsupportedError, match="draft_model needs a drafter"):
        arguments(K4, build, ServerSetup(Path("t.gguf")))


@pytest.mark.parametrize("name", ["--rpc", "-m", "", "q8_0 --rpc x", "q8_0\n", "x" * 17])
def test_a_cache_type_of_a_report_cannot_be_a_flag(name: str) -> None:
    arm = Arm("a", kv_types=("f16", name))
    with pytest.raises(UnsupportedError, match="no KV cache of type"):
        arguments(arm, "0c1e570")
    with pytest.raises(UnsupportedError, match="no KV cache of type"):
        embedded_settings(arm, PAIR)


def test_heads_inside_the_target_need_no_drafter() -> None:
    arm = Arm("mtp", method="mtp", draft_length=2)
    alone = ServerSetup(Path("t.gguf"))
    assert speculative(arm, "0c1e570", alone)[:4] == (
        *("--spec-type", "draft-mtp", "--spec-draft-n-max", "2"),
    )
    assert not drafts_by_model(arm, alone)
    with pytest.raises(UnsupportedError, match="--spec-type draft-mtp"):
        arguments(arm, "b8672", alone)


def test_another_program_is_not_taken_for_it() -> None:
    with pytest.raises(EngineError, match="names another program"):
        server_arguments(PLAIN, PAIR, "usage: cat [FILE]...\n  -n  number lines\n", "1")


ARMS = st.builds(
    Arm,
    name=st.just("arm"),
    method=st.sampled_from([None, "draft_model", "eagle3", "mtp", "dflash", "ngram", "suffix"]),
    draft_length=st.none() | st.integers(1, 64),
    p_min=st.sampled_from([0.0, 0.5, 0.75]),
    draft_selection=st.sampled_from([None, "gpu", "cpu"]),
    context_tokens=st.integers(64, 131072),
    kv_types=st.sampled_from([None, ("f16", "q8_0")]),
)
SETUPS = st.builds(
    ServerSetup,
    target=st.just(Path("t.gguf")),
    drafter=st.sampled_from([None, Path("d.gguf")]),
    threads=st.none() | st.integers(1, 64),
    gpu_layers=st.sampled_from([None, "all", "auto", "12"]),
    ngram_size=st.none() | st.integers(1, 12),
)


@given(ARMS, SETUPS, st.sampled_from(BUILDS))
def test_no_flag_is_used_that_the_build_does_not_list(
    arm: Arm, setup: ServerSetup, build: str
) -> None:
    flags = read_help(HELP[build])
    try:
        used = [part for part in arguments(arm, build, setup) if part.startswith("--")]
    except EngineError:
        used = []
    except UnsupportedError:
        used = []
    assert [name for name in used if name not in flags or flags[name].removed] == []
    assert len(used) == len(set(used)), "no flag twice"


@given(ARMS, SETUPS)
def test_the_embedded_server_is_told_the_same(arm: Arm, setup: ServerSetup) -> None:
    try:
        by_flags = arguments(arm, "0c1e570", setup)
    except (EngineError, UnsupportedError) as error:
        with pytest.raises(type(error)):
            embedded_settings(arm, setup)
        return
    settings = embedded_settings(arm, setup)
    assert settings["n_ctx"] == arm.context_tokens
    assert ("--spec-type" in by_flags) is ("speculative.types" in settings)
    assert ("d.gguf" in by_flags) is ("speculative.draft.mparams.path" in settings)
    assert (str(arm.draft_length) in by_flags) or arm.method is None or arm.draft_length is None


def test_the_settings_of_an_embedded_draft_model() -> None:
    setup = ServerSetup(Path("t.gguf"), Path("d.gguf"), gpu_layers="all")
    arm = Arm("K=4", "draft_model", 4, p_min=0.5, draft_selection="cpu", kv_types=("f16", "q8_0"))
    settings = embedded_settings(arm, setup)
    expected = {
        "speculative.types": "draft-simple",
        "speculative.draft.n_max": 4,
        "speculative.draft.n_min": 0,
        "speculative.draft.p_min": 0.5,
        "speculative.draft.backend_sampling": False,
        "speculative.draft.n_gpu_layers": -2,
        "n_gpu_layers": -2,
        "cache_type_k": "f16",
        "cache_type_v": "q8_0",
        "cache_prompt": False,
    }
    assert expected.items() <= settings.items()
    with pytest.raises(UnsupportedError, match="need a llama-server binary"):
        embedded_settings(PLAIN, ServerSetup(Path("t.gguf"), extra=("--x",)))
    with pytest.raises(EngineError, match="GPU layers are"):
        embedded_settings(PLAIN, ServerSetup(Path("t.gguf"), gpu_layers="most"))
