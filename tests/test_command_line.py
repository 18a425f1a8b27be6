"""Command lines are split as a shell would split them, whatever they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.command_line import LONGEST, command_line


@pytest.mark.parametrize(
    "text",
    [
        "llama-server --spec-draft-n-max 8 -m x.gguf",
        "llama-server --spec-draft-n-max=8",
        "llama-server --spec_draft_n_max 8",
        "llama-server --spec-draft-n-max 3 --spec-draft-n-max 8",
        "llama-server \\\n  --spec-draft-n-max \\\r\n  8",
        ["llama-server", "--spec-draft-n-max", "8"],
        ["llama-server --spec-draft-n-max 8", "vllm bench serve --model x"],
        'llama-server --alias "never closed --spec-draft-n-max 8',
    ],
)
def test_the_value_of_a_flag(text: str | list[str]) -> None:
    assert command_line(text).value("--spec-draft-n-max") == "8"


def test_a_flag_that_is_not_there() -> None:
    assert command_line("llama-server -m x.gguf").value("-md") is None
    assert command_line(None).value("-md") is None


@pytest.mark.parametrize("text", ["serve --eager", "serve --eager --port 1"])
def test_a_flag_without_a_value(text: str) -> None:
    assert command_line(text).value("--eager") == ""


def test_a_negative_number_is_a_value() -> None:
    assert command_line("llama-server --top-k -1").value("--top-k") == "-1"


def test_a_flag_in_quotes_is_text() -> None:
    assert command_line("run -p 'say --seed 3 please'").value("--seed") is None
    assert command_line(["run", "-p", "--seed"]).value("--seed") == ""


@pytest.mark.parametrize(
    "text",
    [
        "SGLANG_X=3 python -m sglang.launch_server --model-path m",
        "docker run -e SGLANG_X=3 image",
        "env SGLANG_X=3 python",
    ],
)
def test_variables(text: str) -> None:
    assert command_line(text).assignments()["SGLANG_X"] == "3"


@pytest.mark.parametrize(
    "text",
    [
        """vllm serve m --speculative-config '{"method": "mtp"}'""",
        """vllm serve m --speculative_config='{"method": "mtp"}'""",
        "vllm serve m --speculative-config.method mtp",
        "vllm serve m --speculative-config.method=mtp",
    ],
)
def test_members_of_a_json_value(text: str) -> None:
    assert command_line(text).json("--speculative-config") == {"method": "mtp"}


@pytest.mark.parametrize("value", ["{", "[1]", "{" + '"a":{' * 3000, "not json"])
def test_what_is_no_json_object_has_no_members(value: str) -> None:
    assert command_line(["vllm", "--speculative-config", value]).json("--speculative-config") == {}


def test_only_the_start_of_a_long_command_is_read() -> None:
    text = "x " * LONGEST + "--seed 3"
    assert command_line(text).value("--seed") is None


@given(st.text() | st.lists(st.text()))
def test_nothing_is_raised(text: str | list[str]) -> None:
    line = command_line(text)
    line.value("--seed")
    line.assignments()
    line.json("--speculative-config")


@given(st.lists(st.text(min_size=1), min_size=1))
def test_words_survive_quoting(words: list[str]) -> None:
    import shlex

    text = shlex.join(words)
    if "\\\n" not in text and "\\\r\n" not in text and len(text) <= LONGEST:
        assert command_line(text).words == tuple(words)
