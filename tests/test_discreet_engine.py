"""What engines say goes into files without the user's folders and hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchlint.reproducers.discreet_engine import DiscreetEngine, names_of_files, replaced
from benchlint.reproducers.engine import Arm, Description, EngineError, Request
from benchlint.reproducers.http_client import StatusError
from tests.fake_engine import FakeEngine, World

ARM = Arm("a")


class _Talkative(FakeEngine):
    """Tells where everything lies."""

    def start(self, arm: Arm) -> Description:
        super().start(arm)
        settings = json.dumps({"model.path": "/home/jo/mödels/a.gguf"})
        return Description(
            "fake", command_line=("/opt/x/serve", "-m", "/home/jo/m/a.gguf", settings)
        )


def _engine(**world: object) -> DiscreetEngine:
    paths = (Path("/home/jo/m/a.gguf"), Path("/home/jo/mödels/a.gguf"), Path("/opt/x/serve"))
    return DiscreetEngine(_Talkative(World(**world)), names_of_files(paths))  # type: ignore[arg-type]


def test_a_command_line_names_files_without_folders() -> None:
    description = _engine().start(ARM)
    assert description.command_line == ("serve", "-m", "a.gguf", '{"model.path": "a.gguf"}')


def test_answers_are_the_engines() -> None:
    engine = _engine()
    engine.start(ARM)
    assert engine.generate(Request("p", 3)).output_tokens == 3
    assert engine.perplexity("abcd", 2) == (2.0, 2.0)
    engine.close()


def test_failures_are_told_without_folders_and_stay_what_they_are() -> None:
    failure = StatusError("error: cannot open /home/jo/m/vocab.bin", 500)
    engine = _engine(script={0: failure}, at_starts={1: EngineError("no /home/jo/m/a.gguf")})
    engine.start(ARM)
    with pytest.raises(StatusError) as raised:
        engine.generate(Request("p", 3))
    assert (str(raised.value), raised.value.status) == ("error: cannot open vocab.bin", 500)
    with pytest.raises(EngineError, match=r"^no a\.gguf$"):
        engine.start(ARM)


def test_a_home_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/jo")
    assert replaced("at /home/jo/x and /home/john", names_of_files(())) == "at ~/x and /home/john"
    monkeypatch.setenv("HOME", "/")
    words = names_of_files((Path("/a.gguf"), Path("b.gguf")))
    assert replaced("http://x/y and /a.gguf", words) == "http://x/y and a.gguf"


def test_a_host_is_no_name() -> None:
    url = "http://10.1.2.3:8000"
    failure = EngineError(f"{url} closed the connection midway")
    engine = DiscreetEngine(FakeEngine(World(at_starts={0: failure})), {url: "the endpoint"})
    with pytest.raises(EngineError, match=r"^the endpoint closed the connection midway$"):
        engine.start(ARM)
