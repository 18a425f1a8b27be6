"""`benchlint reproduce` against servers that answer well, badly, and not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlint.__main__ import _without_interrupts
from benchlint.app import app
from benchlint.reproducers import verdict_files
from benchlint.reproducers.journal import End, Measured, Void, read
from tests.loopback import STREAM, Reply, body, streamed
from tests.scripted_server import SAME, Scripted, report, running


@dataclass
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str
    folder: Path
    prompts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "verdict.json").read_text("utf-8"))
        return found

    @property
    def outcomes(self) -> dict[str, str]:
        rulings = [*self.verdict["claims"], *self.verdict["numbers"]]
        return {each["pointer"]: each["outcome"] for each in rulings}

    @property
    def voids(self) -> list[Void]:
        return list(self.records(Void))

    @property
    def end(self) -> str:
        return list(self.records(End))[-1].reason

    def records(self, kind: Any) -> Iterator[Any]:
        journal = read(self.folder / "samples.jsonl")
        assert not journal.warning
        return iter(journal.of_kind(kind))


@dataclass
class Bench:
    """A folder with a report, and servers for its arms."""

    folder: Path

    def reproduce(
        self,
        *arguments: str,
        plain: Scripted | None = None,
        fast: Scripted | None = None,
        text: str | None = None,
        same: tuple[str, ...] = SAME,
        **routes: Any,
    ) -> Ran:
        """Run the command. routes: of the speculating server."""
        plain, fast = plain or Scripted(), fast or Scripted(speculates=True, tok_s=100.0)
        (self.folder / "a.json").write_text(text or report(), "utf-8")
        with ExitStack() as servers:
            first = servers.enter_context(running(fast, **routes))
            second = servers.enter_context(running(plain))
            ran = self.run(*self.arguments(first.url, second.url, same), *arguments)
        ran.prompts = {"plain": plain.prompts, "fast": fast.prompts}
        return ran

    def arguments(self, fast: str, plain: str, same: tuple[str, ...] = SAME) -> list[str]:
        """The command line. fast, plain: addresses of the servers."""
        return [
            *("reproduce", str(self.folder / "a.json"), "--out", str(self.folder / "out")),
            *("--endpoint", f"{fast}/v1", "--baseline-endpoint", plain),
            *(f"--same={name}" for name in same),
        ]

    def run(self, *arguments: str) -> Ran:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert "Traceback" not in done.output
        assert "by its own fault" not in done.stderr
        return Ran(done.exit_code, done.stdout, done.stderr, self.folder / "out")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Without pages: drawing takes a second, and most of these tests are not about it."""
    monkeypatch.setattr(verdict_files, "_page", lambda _: "<!doctype html>")
    return Bench(tmp_path)


# A report that is true, and one that is not


def test_a_true_report_is_reproduced(tmp_path: Path) -> None:
    ran = Bench(tmp_path).reproduce()
    assert ran.code == 0, ran.err
    assert set(ran.outcomes.values()) == {"reproduced"}
    assert len(ran.outcomes) == 4
    assert ran.out.startswith("Reproduced: the claim that could be tested here holds.")
    assert "more rounds would change no verdict" in ran.err
    assert "whole rounds at least" not in ran.err
    assert sorted(p.name for p in ran.folder.iterdir()) == [
        "samples.jsonl",
        "verdict.html",
        "verdict.json",
        "verdict.md",
    ]
    assert "A scripted pair" in (ran.folder / "verdict.html").read_text("utf-8")


def test_a_page_that_cannot_be_drawn_costs_no_verdict(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(verdict_files, "_page", draw)
    ran = bench.reproduce()
    assert ran.code == 0, ran.err
    assert set(ran.outcomes.values()) == {"reproduced"}
    assert "no page: drawing it failed (RecursionError); `benchlint verdict " in ran.err
    assert not (ran.folder / "verdict.html").exists()
    assert "Traceback" not in ran.err
    shown = CliRunner().invoke(app, ["verdict", "--debug", str(ran.folder)])
    assert shown.exit_code == 0
    assert "raise RecursionError" in shown.stderr
    assert "no page: drawing it failed (RecursionError)" in shown.stderr


def test_debug_shows_at_once_why_a_page_cannot_be_drawn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(verdict_files, "_page", draw)
    (bench.folder / "a.json").write_text(report(), "utf-8")
    with running(Scripted()) as server:
        arguments = bench.arguments(server.url, server.url)
        shown = CliRunner().invoke(app, [*arguments, "--debug"])
    assert shown.exit_code in (0, 1, 3)
    assert "raise RecursionError" in shown.stderr
    assert "and --debug shows where" not in shown.stderr


def test_a_lie_is_refuted_and_the_rest_stands(bench: Bench) -> None:
    ran = bench.reproduce(text=report(fast="150", times="3.0"))
    assert ran.code == 1, ran.err
    assert ran.outcomes["/claims/0"] == "refuted"
    assert ran.outcomes["/runs/0/decode/tok_s"] == "reproduced"
    assert "`benchlint check` finds" not in ran.err
    assert "✗ refuted" in ran.out


def test_what_contradicts_itself_is_told_and_run_all_the_same(bench: Bench) -> None:
    ran = bench.reproduce(text=report(length="9.0"))
    assert "`benchlint check` finds 1 error in it; BL201: " in ran.err
    assert ran.outcomes["/runs/1/speculation/accepted_length/value"] == "refuted"
    assert ran.outcomes["/claims/0"] == "reproduced"
    assert ran.code == 1


def test_a_number_of_a_run_counts_like_a_claim(bench: Bench) -> None:
    ran = bench.reproduce(text=report(plain="60.0"))
    assert ran.outcomes["/claims/0"] == "reproduced"
    assert ran.outcomes["/runs/0/decode/tok_s"] == "refuted"
    assert ran.code == 1


# Places that are not the report's


def test_another_quantization_is_told_of_each_run(bench: Bench) -> None:
    ran = bench.reproduce(same=(), text=report().replace("Q8_0", "Q4_K_M"))
    assert ran.code == 3
    assert set(ran.outcomes.values()) == {"not testable here"}
    assert "has another quantization than the target here" in ran.out
    assert "has another quantization than the target here" in (ran.folder / "verdict.md").read_text(
        "utf-8"
    )
    assert len(ran.prompts["fast"]) <= 1


def test_another_engine_is_told_of_each_speed(bench: Bench) -> None:
    same = tuple(name for name in SAME if name != "engine")
    text = report(times="3.0").replace('"llama.cpp"', '"vllm"')
    ran = bench.reproduce(same=same, text=text)
    assert ran.code == 3
    assert ran.outcomes["/runs/0/decode/tok_s"] == "not testable here"
    assert "other engine" in ran.out
    assert ran.outcomes["/claims/0"] == "inconclusive"
    assert "but these are not known to be equal: engine" in ran.out
    assert ran.outcomes["/runs/1/speculation/accepted_length/value"] == "reproduced"


def test_what_is_not_known_of_the_place_keeps_a_lie_from_being_refuted(bench: Bench) -> None:
    ran = bench.reproduce(same=(), text=report(times="3.0", length="4.5"))
    assert ran.code == 3
    claims = {each["pointer"]: each for each in ran.verdict["claims"]}
    assert "weights, drafter" in claims["/claims/0"]["reason"]
    assert "weights" in ran.out


HOSTILE = """
{"benchlint": "1", "title": "</title><script>alert(1)</script>\\u001b[2J",
 "source": "http://127.0.0.1:1/steal",
 "engine": {"name": "llama.cpp", "command_line": ["sh", "-c", "touch /tmp/benchlint-owned"],
            "environment": {"LLAMA_ARG_MODEL": "/etc/passwd"}},
 "configurations": {
   "--api-key": {"drafter": null, "sampler": {"temperature": 0},
                 "kv_cache": {"target_type": "--rpc"}},
   "k3y0fTh1sP1ace8810": {"based_on": "--api-key", "drafter": {"method": "draft_model",
                          "model": "../../etc/passwd"}, "draft_length": 4}},
 "workloads": {"\\u202e|`a`\\n::error::": {"prompts": {"file": "../../../../etc/passwd"},
                                     "chat_template": "{{ 7*7 }}", "output_tokens": 5}},
 "runs": [{"id": "\\u001b]0;x\\u0007", "configuration": "--api-key",
           "workload": "\\u202e|`a`\\n::error::", "decode": {"tok_s": 50}},
          {"id": "b", "configuration": "k3y0fTh1sP1ace8810",
           "workload": "\\u202e|`a`\\n::error::", "decode": {"tok_s": 1e300}}],
 "claims": [{"metric": "decode.tok_s", "of": "b", "relation": "ratio", "to": "\\u001b]0;x\\u0007",
             "value": 2}]}
"""


def test_a_report_is_no_source_of_commands_flags_addresses_and_files(tmp_path: Path) -> None:
    ran = Bench(tmp_path).reproduce(text=HOSTILE, same=())
    assert ran.code in (1, 3)
    assert not Path("/tmp/benchlint-owned").exists()  # noqa: S108
    for text in (ran.out, ran.err, (ran.folder / "verdict.md").read_text("utf-8")):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert not any(line.startswith("::") for line in text.splitlines())
    assert "<script>alert" not in (ran.folder / "verdict.html").read_text("utf-8")
    journal = (ran.folder / "samples.jsonl").read_text("utf-8")
    assert "root:" not in journal
    printed = Bench(tmp_path).reproduce("--plan", text=HOSTILE, same=())
    assert "\x1b" not in printed.out
    assert "\u202e" not in printed.out


# Servers that cannot be measured


def test_nobody_answers(bench: Bench) -> None:
    (bench.folder / "a.json").write_text(report(), "utf-8")
    arguments = "--out", str(bench.folder / "out"), "--endpoint", "http://127.0.0.1:9"
    ran = bench.run("reproduce", str(bench.folder / "a.json"), *arguments)
    assert ran.code == 2
    assert ran.err == "benchlint: no server answers at http://127.0.0.1:9\n"
    assert not ran.folder.exists()


def _error(message: str, status: int) -> Reply:
    return body({"error": {"message": message}}, status)


_NO_USAGE = 'data: {"choices": [{"text": "a", "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
UNUSABLE: dict[str, tuple[dict[str, Reply], str]] = {
    "401": (
        {"v1_models": _error("no key", 401)},
        "/v1/models answered 401: no key (the server wants an API key",
    ),
    "no models": ({"v1_models": body({"data": []})}, "name the one that is served"),
    "two models": (
        {"v1_models": body({"data": [{"id": "a"}, {"id": "b"}]})},
        "the endpoint serves 2 models (a, b): name one",
    ),
    "404": (
        dict.fromkeys(("v1_completions", "v1_chat_completions"), _error("no model m", 404)),
        "/v1/chat/completions answered 404: no model m",
    ),
    "429": ({"v1_completions": body("busy", 429)}, "/v1/completions answered 429: busy"),
    "500": ({"v1_completions": body("boom", 500)}, "/v1/completions answered 500: boom"),
    "garbage": ({"v1_completions": streamed("data: {nonsense\n\n")}, "is no valid JSON"),
    "html": ({"v1_completions": body("<html>")}, "/v1/completions did not stream: <html>"),
    "no usage": ({"v1_completions": streamed(_NO_USAGE)}, "the server sent no usage"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_server_that_cannot_be_measured_is_told_in_one_line(bench: Bench, name: str) -> None:
    routes, line = UNUSABLE[name]
    ran = bench.reproduce(**routes)
    assert ran.code == 2
    assert line in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not ran.folder.exists()


# Servers that fail while they are measured


#: Completions of the speculating server before its first answer that counts: one to see who it
#: is, one as it is set up, and three that warm it up.
BEFORE = 5

FAULTS: dict[str, tuple[Reply, str]] = {
    "429": (Reply([b"slow down"], 429, headers={"retry-after": "1"}), "answered 429: slow down"),
    "500": (body("boom", 500), "answered 500: boom"),
    "garbage": (streamed("data: }{\n\n"), "no valid JSON"),
    "error event": (streamed('data: {"error": {"message": "cuda"}}\n\n'), "broke off: cuda"),
    "html": (body("<html>"), "did not stream"),
}


def _failing(script: dict[int, Reply]) -> Scripted:
    return Scripted(speculates=True, tok_s=100.0, script=script)


@pytest.mark.parametrize("name", FAULTS)
def test_a_round_that_failed_is_void_and_nothing_is_asked_twice(bench: Bench, name: str) -> None:
    reply, reason = FAULTS[name]
    ran = bench.reproduce(fast=_failing({BEFORE + 1: reply}))
    [void] = ran.voids
    assert void.pair == 0
    assert reason in void.reason
    asked = [prompt for prompt in ran.prompts["fast"] if prompt.startswith("Say")]
    answered = [m for m in ran.records(Measured) if m.arm == "fast" and not m.warm_up]
    assert len(asked) == len(answered) + 1
    assert {(m.pair, m.prompt) for m in answered if m.pair == 0} == {(0, "1")}
    assert ran.code == 0
    assert ran.outcomes["/claims/0"] == "reproduced"


def test_a_server_that_fails_from_then_on_leaves_the_verdict_so_far(bench: Bench) -> None:
    ran = bench.reproduce(fast=_failing(dict.fromkeys(range(BEFORE, 99), body("boom", 500))))
    assert ran.code == 3
    assert ran.end == "error"
    assert "measuring ended early: /v1/completions answered 500: boom" in ran.err
    assert set(ran.outcomes.values()) == {"inconclusive"}


def test_where_nothing_could_be_measured_it_could_not_be_run(bench: Bench) -> None:
    reply = body("boom", 500)
    plain = Scripted(script=dict.fromkeys(range(2, 99), reply))
    ran = bench.reproduce(plain=plain, fast=_failing(dict.fromkeys(range(2, 99), reply)))
    assert ran.code == 2
    assert "nothing could be measured: /v1/completions answered 500: boom" in ran.err


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (Reply([b'data: {"choices": [{"te'], kind=STREAM, cut=True), "closed the connection"),
        (streamed('data: {"choices": [{"text": "a"}]}\n\n'), "before the answer was finished"),
    ],
)
def test_a_stream_that_is_cut_leaves_the_verdict_so_far(
    bench: Bench, reply: Reply, line: str
) -> None:
    ran = bench.reproduce(fast=_failing({BEFORE + 1: reply}))
    assert ran.code == 3
    assert ran.end == "engine_gone"
    assert "measuring ended early" in ran.err
    assert line in ran.err
    assert "go on with the same command and --resume" in ran.err


def test_a_server_that_stalls_is_waited_for_as_long_as_was_said(bench: Bench) -> None:
    over = threading.Event()

    def stall() -> Iterator[bytes]:
        yield b": wait\n\n"
        over.wait(30)

    try:
        reply = Reply(stall(), kind=STREAM)
        ran = bench.reproduce("--timeout", "0.3", fast=_failing({BEFORE + 1: reply}))
    finally:
        over.set()
    assert ran.code == 3
    assert ran.end == "engine_gone"
    assert "in 0.3 s" in ran.err or "for 0.3 s" in ran.err


def test_a_server_that_was_started_again_counts_from_zero(bench: Bench) -> None:
    """Its counters fell, so one answer lacks what only they tell; the rest stands."""
    ran = bench.reproduce(fast=Scripted(True, tok_s=100.0, counters_lost_at=BEFORE + 3))
    assert ran.code == 0, ran.out
    unknown = [m for m in ran.records(Measured) if m.arm == "fast" and not m.warm_up]
    assert sum(m.sample.counters.verify_steps is None for m in unknown) == 1


# Measurements that say something else than they seem to


def test_others_on_the_server_make_it_void(bench: Bench) -> None:
    ran = bench.reproduce(fast=Scripted(True, tok_s=100.0, others_from=BEFORE + 2))
    assert "others use this server" in ran.voids[0].reason
    assert ran.outcomes["/claims/0"] == "not testable here"
    assert ran.code == 3
    assert "others use this server" in ran.out


def test_speculation_that_never_ran_is_not_reproduced(bench: Bench) -> None:
    """The server says that it speculates, and drafts nothing."""
    ran = bench.reproduce(fast=Scripted(says=True, tok_s=100.0))
    assert "speculation never ran" in ran.voids[0].reason
    assert ran.outcomes["/runs/0/decode/tok_s"] == "reproduced"
    assert ran.code == 3
    assert ran.out.startswith("Left open: measurements that were to be made are void")
    assert "speculation never ran" in ran.out


def test_a_prompt_from_a_cache_makes_it_void(bench: Bench) -> None:
    ran = bench.reproduce(fast=Scripted(True, tok_s=100.0, cached_from=BEFORE + 1))
    assert "3 tokens of a prompt came from a cache" in ran.voids[0].reason
    assert ran.code == 3


def test_an_endpoint_that_speculates_cannot_be_its_own_baseline(bench: Bench) -> None:
    with running(Scripted(speculates=True)) as server:
        (bench.folder / "a.json").write_text(report(), "utf-8")
        ran = bench.run(
            *("reproduce", str(bench.folder / "a.json"), "--out", str(bench.folder / "out")),
            *("--endpoint", server.url),
        )
    assert ran.code == 3
    assert "this endpoint speculates: give another one for plain decoding" in ran.out


# Broken off and gone on with


@pytest.mark.parametrize("moment", [BEFORE - 2, BEFORE, BEFORE + 1, BEFORE + 4])
def test_ctrl_c_ends_it_with_the_verdict_so_far(bench: Bench, moment: int) -> None:
    ran = bench.reproduce(fast=_interrupting(moment))
    assert ran.code == 3
    assert ran.end == "interrupted"
    assert "interrupted; this is the verdict on what was measured so far" in ran.err
    assert set(ran.outcomes.values()) == {"inconclusive"}
    again = bench.reproduce("--resume")
    assert again.code == 0
    assert set(again.outcomes.values()) == {"reproduced"}


def test_being_told_to_end_is_a_verdict_so_far_too(bench: Bench) -> None:
    ran = bench.reproduce(fast=_interrupting(BEFORE + 1, signal.SIGTERM))
    assert ran.code == 3
    assert ran.end == "interrupted"
    assert (ran.folder / "verdict.html").exists()
    assert bench.reproduce("--resume").code == 0


def test_ctrl_c_before_anything_is_measured_leaves_nothing(bench: Bench) -> None:
    ran = bench.reproduce(fast=_interrupting(0))
    assert ran.code == 130
    assert ran.err == "benchlint: interrupted\n"
    assert not ran.folder.exists()


def _interrupting(moment: int, number_of_signal: int = signal.SIGINT) -> Scripted:
    def interrupt(number: int) -> None:
        if number == moment:
            os.kill(os.getpid(), number_of_signal)

    return Scripted(speculates=True, tok_s=100.0, before=interrupt)


def test_a_spent_budget_is_a_verdict_too(bench: Bench) -> None:
    ran = bench.reproduce("--budget", "0.001s")
    assert ran.code == 3
    assert ran.end == "budget"
    assert "the budget of 0.001 s is spent" in ran.err
    assert "verdicts take 4 whole rounds at least, and 0 were measured so far" in ran.err


def test_a_run_that_was_killed_goes_on_to_the_same_verdict(bench: Bench) -> None:
    whole = bench.reproduce().verdict
    (bench.folder / "out").rename(bench.folder / "whole")
    children: list[subprocess.Popen[bytes]] = []

    def kill(number: int) -> None:
        if number == BEFORE + 3:
            children[0].kill()

    with running(Scripted(True, tok_s=100.0, before=kill)) as fast, running(Scripted()) as plain:
        command = [sys.executable, "-m", "benchlint", *bench.arguments(fast.url, plain.url)]
        children.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        assert children[0].wait() == -signal.SIGKILL
    path = bench.folder / "out" / "samples.jsonl"
    assert not (bench.folder / "out" / "verdict.json").exists()
    path.write_bytes(path.read_bytes() + b'{"kind": "sample", "ce')  # as if it died in a line
    resumed = bench.reproduce("--resume")
    assert "dropped the last 22 bytes, which are no whole line" in resumed.err
    for part in ("outcome", "claims", "numbers", "counts"):
        assert resumed.verdict[part] == whole[part]


def test_a_full_disk_leaves_whole_lines(bench: Bench) -> None:
    (bench.folder / "a.json").write_text(report(), "utf-8")
    with running(Scripted(True, tok_s=100.0)) as fast, running(Scripted()) as plain:
        program = (
            "import resource, runpy, signal\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))\n"
            "runpy.run_module('benchlint', run_name='__main__')\n"
        )
        command = [sys.executable, "-c", program, *bench.arguments(fast.url, plain.url)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "samples.jsonl cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert read(bench.folder / "out" / "samples.jsonl").records
    assert bench.reproduce("--resume").code == 0


def test_files_that_cannot_be_written_cost_no_verdict(bench: Bench) -> None:
    def fill(number: int) -> None:
        if number == BEFORE:
            (bench.folder / "out" / "verdict.json").mkdir()

    ran = bench.reproduce(fast=Scripted(speculates=True, tok_s=100.0, before=fill))
    assert ran.code == 2
    assert "reproduced" in ran.out
    assert "`benchlint verdict" in ran.err
    assert "verdict.json: Is a directory" in ran.err


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_ctrl_c_that_falls_into_c_code_shows_no_traceback(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(sys, "__unraisablehook__", shown.append)
    _without_interrupts(SimpleNamespace(exc_type=error))  # type: ignore[arg-type]
    assert bool(shown) == (error is ValueError)


# What is in the folder


def test_a_run_is_not_written_over(bench: Bench) -> None:
    bench.reproduce()
    before = (bench.folder / "out" / "samples.jsonl").read_bytes()
    ran = bench.reproduce()
    assert ran.code == 2
    assert "--resume goes on with it, --out names another folder" in ran.err
    assert (bench.folder / "out" / "samples.jsonl").read_bytes() == before
    assert ran.prompts["fast"] == []


def test_a_run_of_something_else_is_not_gone_on_with(bench: Bench) -> None:
    bench.reproduce()
    other = bench.reproduce("--resume", text=report(times="2.1"))
    assert other.code == 2
    is_of = "samples.jsonl is of another report (a.json), or of this one before it was changed"
    assert other.err.endswith(f"{is_of}: --out names another folder\n")
    stricter = bench.reproduce("--resume", "--tolerance", "1%")
    assert stricter.code == 2
    begun = "was begun with other options or another engine (benchlint reproduce a.json --same "
    assert begun in stricter.err
    assert stricter.err.endswith("): give the same ones, or --out names another folder\n")


def test_a_report_of_the_same_name_is_told_from_a_second_run_of_the_same_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder)
    for folder, text in (("one", report()), ("two", report(times="2.1"))):
        Path(folder).mkdir()
        (Path(folder) / "report.json").write_text(text, "utf-8")
    with running(Scripted()) as server:
        for folder, says in (
            ("one", "the verdict with its evidence is in report-verdict/verdict.html"),
            ("one", "report-verdict/samples.jsonl exists: --resume goes on with it, --out names"),
            ("two", "report-verdict/samples.jsonl is of another report (report.json), or of"),
        ):
            report_file = str(Path(folder) / "report.json")
            ran = bench.run("reproduce", report_file, "--endpoint", server.url, "--run", "p")
            assert says in ran.err
        before = Path("report-verdict/samples.jsonl").read_bytes()
        ran = bench.run("reproduce", "two/report.json", "--endpoint", server.url, "--out", "own")
        assert ran.code in (0, 3), ran.err
    assert Path("report-verdict/samples.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["verdict.json", "verdict.md", "verdict.html"])
def test_a_verdict_whose_samples_are_elsewhere_is_not_replaced(bench: Bench, name: str) -> None:
    (bench.folder / "out").mkdir()
    (bench.folder / "out" / name).write_text("kept", "utf-8")
    ran = bench.reproduce()
    assert ran.code == 2
    assert f"{name} exists, is of no run in " in ran.err
    assert ran.err.endswith("and would be replaced: --out names another folder\n")
    assert [path.name for path in ran.folder.iterdir()] == [name]
    assert (ran.folder / name).read_text("utf-8") == "kept"
    assert ran.prompts["fast"] == []


def test_a_run_without_any_answer_is_no_obstacle(bench: Bench) -> None:
    other = report().replace("Q8_0", "Q4_K_M")
    first = bench.reproduce(text=other, same=())
    assert first.code == 3
    assert not list(first.records(Measured))
    vouched = bench.reproduce(text=other)
    assert vouched.code == 0, vouched.err
    assert set(vouched.outcomes.values()) == {"reproduced"}
    again = bench.reproduce(text=other)
    assert "samples.jsonl exists: --resume goes on with it" in again.err


def test_a_word_that_is_no_colour_is_told_before_anything_is_measured(bench: Bench) -> None:
    for more in ((), ("--plan",)):
        ran = bench.reproduce("--color", "nope", *more)
        assert ran.code == 2
        assert ran.err == "benchlint: --color is auto, always or never, not 'nope'\n"
        assert not ran.folder.exists()


def test_a_damaged_run_says_what_to_do(bench: Bench) -> None:
    (bench.folder / "out").mkdir()
    (bench.folder / "out" / "samples.jsonl").write_bytes(b"{}\n")
    for more in ((), ("--resume",)):
        ran = bench.reproduce(*more)
        assert ran.code == 2
        assert ran.err.endswith("samples.jsonl:1: no kind of record: --out names another folder\n")


def test_a_file_is_no_folder_to_write_to(bench: Bench) -> None:
    (bench.folder / "out").touch()
    ran = bench.reproduce()
    assert ran.code == 2
    assert ran.err.endswith("/out is no folder: --out names another folder\n")


def test_a_folder_that_cannot_be_made_says_what_to_do(bench: Bench) -> None:
    (bench.folder / "out").symlink_to(bench.folder / "absent" / "further")
    ran = bench.reproduce()
    assert ran.code == 2
    assert ran.err.endswith("/out cannot be made: File exists: --out names another folder\n")
    assert not [prompt for prompt in ran.prompts["fast"] if prompt.startswith("Say")]


def test_that_there_is_nothing_to_go_on_with_is_said(bench: Bench) -> None:
    ran = bench.reproduce("--resume")
    assert ran.code == 0, ran.err
    assert "/out has no run to go on with: a new one begins" in ran.err


def test_a_verdict_comes_out_again_from_the_journal_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first = bench.reproduce(text=report(fast="150.0", times="3.0"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "samples.jsonl").write_bytes((first.folder / "samples.jsonl").read_bytes())
    again = bench.run("verdict", str(elsewhere))
    assert again.code == first.code == 1
    assert again.out == first.out
    for name in ("verdict.json", "verdict.md", "verdict.html"):
        assert (elsewhere / name).read_bytes() == (first.folder / name).read_bytes()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "samples.jsonl: "),
        (b"", "carries no plan"),
        (b'{"a": 1}\n', "samples.jsonl:1: no kind of record"),
    ],
)
def test_a_folder_without_a_run_gives_no_verdict(
    bench: Bench, content: bytes | None, line: str
) -> None:
    if content is not None:
        (bench.folder / "samples.jsonl").write_bytes(content)
    ran = bench.run("verdict", str(bench.folder))
    assert ran.code == 2
    assert line in ran.err
    assert not (bench.folder / "verdict.json").exists()


# Secrets, folders and hosts


def test_no_key_and_no_folder_gets_into_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "topsecretvalue")
    bench = Bench(tmp_path)
    text = report().replace(
        '"A scripted pair"', '"Used topsecretvalue and sk-proj-Zq81kfWm20bRt64xT"'
    )
    echo = _error("bad key topsecretvalue", 500)
    ran = bench.reproduce("--api-key-env", "MY_KEY", text=text, fast=_failing({BEFORE + 1: echo}))
    assert ran.code == 0, ran.err
    for path in sorted(ran.folder.iterdir()):
        content = path.read_bytes()
        assert b"topsecretvalue" not in content, path.name
        assert b"Zq81kfWm" not in content, path.name
        assert str(tmp_path).encode() not in content, path.name
    assert "topsecretvalue" not in ran.out + ran.err
    assert "***" in ran.voids[0].reason


def test_a_file_that_is_missing_is_called_as_the_report_calls_it(bench: Bench) -> None:
    inline = '"inline": ["Say one thing.", "Say another thing."]'
    assert inline in report()
    ran = bench.reproduce(text=report().replace(inline, '"file": "prompts.jsonl"'), same=())
    assert ran.code == 3
    reason = "prompts.jsonl beside the report: there is no such file"
    assert reason in ran.out
    for path in sorted(ran.folder.iterdir()):
        assert str(bench.folder) not in path.read_text("utf-8"), path.name


# Options


def test_a_plan_is_printed_and_nothing_is_contacted(bench: Bench) -> None:
    ran = bench.reproduce("--plan")
    assert ran.code == 0
    assert "fast on 'two': draft_model, K 4, temperature 0.0" in ran.out
    assert "nothing was contacted" in ran.err
    assert ran.prompts == {"plain": [], "fast": []}
    assert not ran.folder.exists()


def test_a_plan_needs_no_engine(bench: Bench) -> None:
    (bench.folder / "a.json").write_text(report(), "utf-8")
    ran = bench.run("reproduce", str(bench.folder / "a.json"), "--plan")
    assert ran.code == 0
    assert "plain on 'two': no drafter" in ran.out


def test_that_nothing_can_be_tested_is_said_before_it_is_measured(bench: Bench) -> None:
    inline = '"prompts": {"inline": ["Say one thing.", "Say another thing."]},'
    unpublished = report().replace(inline, "")
    said = "nothing of the report can be tested: prompts not published"
    assert said in bench.reproduce("--plan", text=unpublished, same=()).err
    ran = bench.reproduce(text=unpublished, same=())
    assert ran.code == 3
    assert "--prompts FILE --same prompts" in ran.err
    assert ran.err.index(said) < ran.err.index("the verdict with its evidence")
    (bench.folder / "own.jsonl").write_text('"Say one thing."\n', "utf-8")
    own = ("--prompts", str(bench.folder / "own.jsonl"), "--same=prompts", "--plan")
    assert said not in bench.reproduce(*own, text=unpublished, same=()).err


def test_one_run_is_measured_with_what_it_is_compared_with(bench: Bench) -> None:
    ran = bench.reproduce("--run", "p")
    assert ran.code == 0
    assert list(ran.outcomes) == ["/runs/0/decode/tok_s"]
    assert ran.prompts["fast"] == []


def test_a_tolerance_of_ones_own_decides(bench: Bench) -> None:
    text = report(times="2.5", fast="125.0")
    assert bench.reproduce("--tolerance", "0.4", text=text).code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--run", "x"], "--run: no run is called 'x'; there are f, p"),
        (["--same", "weight"], "did you mean 'weights'?"),
        (["--tolerance", "5"], "--tolerance is a share up to 0.5, such as 5% or 0.05, not '5'"),
        (["--tolerance", "x"], "--tolerance is a share"),
        (["--budget", "soon"], "--budget is a time such as 90s, 10m or 1h30m, not 'soon'"),
        (["--budget", "0"], "--budget is a time"),
        (["--prompts", "no/such"], "no/such: "),
        (["--text", "no/such"], "no/such: "),
        (["--target-model", "a.gguf"], "--endpoint and --target-model are two engines"),
        (["--threads", "2"], "--threads is for model files"),
    ],
)
def test_options_that_cannot_be_are_told(bench: Bench, arguments: list[str], line: str) -> None:
    ran = bench.reproduce(*arguments)
    assert ran.code == 2
    assert line in ran.err
    assert not ran.folder.exists()


def test_a_report_that_is_none_is_told(bench: Bench) -> None:
    ran = bench.reproduce(text="{")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


def test_a_report_of_nothing_is_not_reproduced(bench: Bench) -> None:
    ran = bench.reproduce(text='{"benchlint": "1", "runs": []}')
    assert ran.code == 3
    assert "nothing of this report can be measured here" in ran.err
    assert ran.out.startswith("Nothing to test")
