"""`benchlint measure`: its options, its report, and a real pair measured and run again."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlint import completion
from benchlint.app import app
from benchlint.checker.check import check_tree
from benchlint.checker.numbers import reported
from benchlint.checker.one_report import read_one
from benchlint.checker.registry import all_rules
from benchlint.checker.tree import Digits
from benchlint.engine_options import EngineOptions
from benchlint.measure_run import WORKLOADS, Options, _repeat
from benchlint.measured_text import said_of, table
from benchlint.reproducers import measurement, verdict_files
from benchlint.reproducers.design import BLOCK
from benchlint.reproducers.journal import Told, read
from benchlint.reproducers.judgement import judge
from benchlint.reproducers.plan import UNSTEADY, Check
from benchlint.reproducers.plan_data import journal_plan
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.reproduction import Task, run_again
from benchlint.reproducers.verdict_files import judged
from benchlint.reproducers.verdicts import Outcome
from benchlint.reproducers.workloads import BUNDLED, bundled
from benchlint.what_is_missing import findings_of, missing_in
from tests.loopback import body
from tests.scripted_server import Scripted, report, running

MODELS = Path(__file__).parent / "models"
PAIR = (
    *("--target-model", str(MODELS / "target-q8_0.gguf")),
    *("--draft-model", str(MODELS / "draft-q8_0.gguf")),
)

needs_xllamacpp = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"
)


@dataclass
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def report(self) -> Any:
        text = (self.folder / "report.json").read_text("utf-8")
        return json.loads(text, parse_float=Digits)


def benchlint(folder: Path, *arguments: str) -> Ran:
    done = CliRunner().invoke(app, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert "Traceback" not in done.output
    assert "by its own fault" not in done.stderr
    return Ran(done.exit_code, done.stdout, done.stderr, folder)


def measure(folder: Path, *arguments: str) -> Ran:
    return benchlint(folder, "measure", "--out", str(folder), *arguments)


def measure_scripted(
    folder: Path,
    *arguments: str,
    plain: Scripted | None = None,
    fast: Scripted | None = None,
) -> Ran:
    """Two servers whose speeds are known, with two prompts and four rounds."""
    fast = fast or Scripted(speculates=True, tok_s=100.0)
    with running(fast) as first, running(plain or Scripted()) as second:
        return measure(
            folder,
            *("--endpoint", first.url, "--baseline-endpoint", second.url),
            *("--method", "draft_model", "--draft-max", "4", "--pairs", "4"),
            *("--workload", "code", "--prompts-per-set", "2", "--max-tokens", "31"),
            *arguments,
        )


# Servers of somebody's own


def test_two_servers_become_a_report(tmp_path: Path) -> None:
    ran = measure_scripted(tmp_path / "out")
    assert ran.code == 0, ran.err
    plain, fast = ran.report["runs"]
    assert (plain["id"], fast["id"]) == ("plain on code", "k4 on code")
    assert plain["decode"]["tok_s"]["value"] == 50.0
    assert fast["decode"]["tok_s"]["value"] == 100.0
    assert fast["speedup"]["value"] == 2.0
    assert fast["speculation"]["accepted_length"]["value"] == 3.0
    assert fast["speculation"]["acceptance_rate"]["value"] == 0.5
    assert ran.report["workloads"]["code"]["prompt_count"] == 2
    assert [f for f in check_tree(ran.report) if f.severity != "note"] == []
    assert "127.0.0.1" not in json.dumps(ran.report)


def test_what_a_server_does_not_tell_is_asked_of_the_user(tmp_path: Path) -> None:
    ran = measure_scripted(tmp_path / "out")
    asked = {f.code for f in findings_of(ran.report)}
    assert "p_min" not in ran.report["configurations"]["k4"]["draft_length"]
    assert "devices" not in ran.report.get("machine", {})
    for option in (
        "--set configurations.k4.draft_selection.placement=gpu",
        "--set configurations.k4.drafter.model=Qwen3.8-27B-DFlash2",
        "--set 'machine.devices.0.name=NVIDIA GeForce RTX 4090'",
        "--set configurations.plain.kv_cache.target_type=q8_0",
    ):
        assert option in ran.err
    assert "configurations.plain.kv_cache.drafter_type" not in ran.err
    options = [line.strip() for line in ran.err.splitlines() if " --set " in f" {line}"]
    told = [word for line in options for word in shlex.split(line.partition(": ")[2].strip())]
    again = measure(ran.folder, "--resume", *told)
    assert again.code == 0, again.err
    command = f"`benchlint measure --resume --out {ran.folder}`"
    assert f"still missing; {command} takes it with (values are examples)" in ran.err
    left = {f.code for f in findings_of(again.report)}
    assert {"BL102", "BL110", "BL112", "BL118"} <= asked - left
    assert left - asked <= {"BL122"}, "a device that is named may have a power limit"
    assert not {f.code for f in findings_of(again.report) if f.severity == "warning"} & asked
    assert len(read(ran.folder / "samples.jsonl").of_kind(Told)) == 1


def test_the_table_and_the_file_are_told(tmp_path: Path) -> None:
    ran = measure_scripted(tmp_path / "out")
    assert ran.out.splitlines() == [
        "run            tok/s  accepted length  speed-up",
        "plain on code  50.00",
        "k4 on code     100.0  3.0000           2.000",
    ]
    assert f"wrote {tmp_path / 'out' / 'report.json'}: 2 runs, 0 claims" in ran.err


def test_it_can_be_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_files, "_page", lambda _: "")
    ran = measure_scripted(tmp_path / "out")
    fast = Scripted(speculates=True, tok_s=100.0)
    with running(fast) as first, running(Scripted()) as second:
        again = benchlint(
            tmp_path / "again",
            *("reproduce", str(ran.folder / "report.json"), "--out", str(tmp_path / "again")),
            *("--endpoint", first.url, "--baseline-endpoint", second.url),
        )
    assert again.code in (0, 3), again.out + again.err
    verdict = json.loads((tmp_path / "again" / "verdict.json").read_text("utf-8"))
    assert verdict["counts"]["refuted"] == 0
    open_ = [each["metric"] for each in verdict["numbers"] if each["outcome"] != "reproduced"]
    assert set(open_) <= {"prefill.ttft_ms"}, "the one that this side's clock takes"


def test_a_server_that_drafts_is_no_baseline(tmp_path: Path) -> None:
    with running(Scripted(speculates=True, tok_s=100.0)) as server:
        ran = measure(
            tmp_path,
            *("--endpoint", server.url, "--method", "draft_model", "--pairs", "1"),
            *("--workload", "chat", "--prompts-per-set", "1", "--max-tokens", "31"),
        )
    assert ran.code == 0, ran.err
    assert "no baseline: name a server without a drafter with --baseline-endpoint URL" in ran.err
    assert [run["id"] for run in ran.report["runs"]] == ["draft_model on chat"]


def test_one_that_drafts_though_nobody_asked_is_withdrawn(tmp_path: Path) -> None:
    liar = Scripted(speculates=True, says=False)
    ran = measure_scripted(tmp_path, plain=liar)
    [plain, _] = ran.report["runs"]
    assert plain["void"] == "the engine drafts though no drafter is asked for"
    assert "plain on code was not measured: the engine drafts" in ran.err
    assert ran.code == 0


@pytest.mark.parametrize("number_of_signal", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_there_is_a_report_of_what_there_was(
    number_of_signal: signal.Signals, tmp_path: Path
) -> None:
    before = signal.getsignal(number_of_signal)

    def stop(number: int) -> None:
        if number == 8:
            os.kill(os.getpid(), number_of_signal)

    ran = measure_scripted(tmp_path, fast=Scripted(speculates=True, tok_s=100.0, before=stop))
    assert ran.code == 130
    assert ran.report["notes"][0].startswith("Measuring was interrupted before all rounds")
    assert "interrupted; the report is of what was measured so far" in ran.err
    assert "go on with the same command and --resume" in ran.err
    assert signal.getsignal(number_of_signal) is before
    again = measure_scripted(tmp_path, "--resume")
    assert again.code == 0, again.err
    assert "notes" not in again.report


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    ran = measure(tmp_path / "out", "--endpoint", "http://127.0.0.1:9", "--workload", "code")
    assert ran.code == 2
    assert ran.err == "benchlint: nothing was measured: no server answers at http://127.0.0.1:9\n"
    assert not ran.folder.exists()


def test_arms_that_all_fail_before_the_first_answer(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    broken = dict.fromkeys(range(1, 100), body({"error": {"message": "out of memory"}}, 500))
    plain, fast = Scripted(script=broken), Scripted(speculates=True, script=broken)
    ran = measure_scripted(tmp_path, plain=plain, fast=fast)
    assert ran.code == 2
    assert ran.err.startswith("benchlint: nothing was measured: ")
    assert "out of memory" in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_interrupted_before_the_first_answer_there_is_no_report(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    ran = measure_scripted(tmp_path / "out", plain=Scripted(before=stop))
    assert ran.code == 130
    assert ran.err == "benchlint: interrupted before anything was measured\n"
    assert not ran.folder.exists()


def test_a_server_that_ends_in_its_warm_up_leaves_its_answers_to_go_on_with(
    tmp_path: Path,
) -> None:
    def stop(number: int) -> None:
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    ran = measure_scripted(tmp_path, plain=Scripted(before=stop))
    assert ran.code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["samples.jsonl"]
    again = benchlint(tmp_path, "measure", "--out", str(tmp_path), "--resume")
    assert again.code == 2
    assert again.err.startswith("benchlint: nothing was measured: ")
    assert measure_scripted(tmp_path, "--resume").code == 0


def test_a_report_that_somebody_changed_is_told(tmp_path: Path) -> None:
    ran = measure_scripted(tmp_path)
    assert "the report that was there" not in ran.err
    (tmp_path / "report.json").write_text("mine", "utf-8")
    again = measure(tmp_path, "--resume", "--set", "title=T")
    assert again.code == 0
    kept = tmp_path / "report-changed-1.json"
    assert f"report that was there is not what samples.jsonl gives; it is now {kept}" in again.err
    assert kept.read_text("utf-8") == "mine"


def test_that_no_round_is_whole_yet_is_said(tmp_path: Path) -> None:
    def stop(number: int) -> None:
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    ran = measure_scripted(tmp_path, fast=Scripted(speculates=True, tok_s=100.0, before=stop))
    assert ran.code == 130
    assert "runs" not in ran.report
    assert "report.json: 0 runs, 0 claims" in ran.err
    said = "it has no runs yet, since no round of all arms is whole"
    assert said in ran.err
    assert said not in measure_scripted(tmp_path, "--resume").err


def test_a_report_that_cannot_be_written_can_be_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, _: bytes) -> None:
        raise OSError(28, "No space left on device", path)

    with monkeypatch.context() as patch:
        patch.setattr(measurement, "write", full)
        ran = measure_scripted(tmp_path)
    assert ran.code == 2
    again = f"`benchlint measure --resume --out {tmp_path}` writes the report from samples.jsonl"
    assert again in ran.err
    assert "report.json: No space left on device" in ran.err
    assert benchlint(tmp_path, "measure", "--resume", "--out", str(tmp_path)).code == 0
    assert len(ran.report["runs"]) == 2


# What is in the folder


def test_a_report_of_somebody_elses_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("mine", "utf-8")
    for more in ((), ("--resume",)):
        ran = measure_scripted(tmp_path, *more)
        assert ran.code == 2
        assert "report.json exists, is of no run in " in ran.err
        assert ran.err.endswith("and would be replaced: --out names another folder\n")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert (tmp_path / "report.json").read_text("utf-8") == "mine"


def test_the_users_own_prompts_are_not_replaced_by_their_copy(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text('{"prompt": "Say one thing.", "note": "kept"}\n', "utf-8")
    ran = measure_scripted(tmp_path, "--prompts", str(own))
    assert ran.code == 2
    assert "own.jsonl exists, is of no run in " in ran.err
    assert own.read_text("utf-8") == '{"prompt": "Say one thing.", "note": "kept"}\n'
    elsewhere = measure_scripted(tmp_path / "out", "--prompts", str(own))
    assert elsewhere.code == 0, elsewhere.err
    # A copy that is just what would be written is no obstacle.
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "own.jsonl").write_bytes((elsewhere.folder / "own.jsonl").read_bytes())
    again = measure_scripted(copied, "--prompts", str(copied / "own.jsonl"))
    assert again.code == 0, again.err


def test_a_run_of_reproduce_is_no_run_of_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_files, "_page", lambda _: "")
    (tmp_path / "a.json").write_text(report(), "utf-8")
    out = str(tmp_path / "out")
    with running(Scripted()) as server:
        benchlint(
            tmp_path, "reproduce", str(tmp_path / "a.json"), "--out", out, "--endpoint", server.url
        )
    for more in (("--endpoint", "http://127.0.0.1:9"), ("--resume",)):
        ran = benchlint(tmp_path, "measure", "--out", out, *more)
        assert ran.code == 2
        is_of = "samples.jsonl is of `benchlint reproduce`: --out names another folder\n"
        assert ran.err.endswith(is_of)
    assert not (tmp_path / "out" / "report.json").exists()


# Options


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name what measures: --endpoint URL, or --target-model FILE.gguf"),
        ((*PAIR, "--draft-max", "0"), "--draft-max takes whole numbers from 1 to 1024, not '0'"),
        ((*PAIR, "--draft-max", "2,x"), "not 'x'"),
        ((*PAIR[:2], "--draft-max", "2"), "--draft-max is for arms with a drafter: say which"),
        ((*PAIR, "--method", "dflsh"), "did you mean 'dflash'?"),
        ((*PAIR, "--workload", "cod"), "did you mean 'code'?"),
        ((*PAIR, "--argmax", "tpu"), "--argmax is one of gpu, cpu, not 'tpu'"),
        ((*PAIR, "--filled", "-1"), "--filled takes whole numbers from 0"),
        ((*PAIR, "--set", "title"), "--set takes path=value"),
        ((*PAIR, "--set", "titel=x"), "--set titel: "),
        ((*PAIR, "--budget", "soon"), "--budget is a time such as"),
        ((*PAIR, "--prompts", "absent.jsonl"), "absent.jsonl"),
        ((*PAIR, "--text", "absent.txt"), "absent.txt"),
        ((*PAIR[:2], "--no-baseline"), "--no-baseline leaves nothing to measure"),
        (("--endpoint", "http://x", "--kv-type", "q8_0"), "--kv-type is for model files"),
        (("--resume",), "samples.jsonl"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    ran = measure(tmp_path / "out", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_plan_is_printed_and_nothing_is_contacted(tmp_path: Path) -> None:
    ran = measure(tmp_path / "out", *PAIR, "--plan", "--draft-max", "2,8", "--filled", "0,4096")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "code: 13 prompts of code, 256 output tokens, up to 8 rounds"
    assert "k8 on prose at 4096: draft_model, K 8, temperature 0.0, KV f16/f16" in ran.out
    assert len([line for line in lines if line.startswith("  ")]) == 3 * 2 * 3
    assert not (tmp_path / "out").exists()


def test_the_words_are_those_that_are_known() -> None:
    assert completion.WORKLOADS == BUNDLED
    assert set(WORKLOADS) <= set(BUNDLED)


def test_the_command_can_be_repeated_by_somebody_else() -> None:
    engine = EngineOptions()
    assert list(_repeat(Options(engine))) == []
    options = Options(
        engine,
        draft_lengths=("2", "4"),
        prompts=("/home/me/own.jsonl",),
        text="/home/me/t.txt",
        baseline=False,
        temperature=0.7,
        pairs=4,
        filled=("0", "512"),
    )
    assert shlex.join(_repeat(options)) == (
        "--draft-max 2,4 --filled 0,512 --prompts own.jsonl --text t.txt --no-baseline "
        "--temperature 0.7 --pairs 4"
    )


def test_every_rule_on_what_is_missing_says_how_to_tell_it() -> None:
    report = {
        "benchlint": "1",
        "configurations": {"c": {}, "s": {"drafter": {"method": "draft_model"}}},
        "workloads": {"w": {}},
        "runs": [
            {"id": "r", "configuration": "c", "workload": "w", "decode": {"tok_s": 20.5}},
            {"id": "q", "configuration": "s", "workload": "w", "decode": {"tok_s": 30.5}},
        ],
    }
    missing = missing_in(report, findings_of(report))
    assert len(missing) > 15
    untold = {each.code for each in missing if not each.lacking}
    assert untold == set()
    assert {each.code for each in missing} <= {rule.code for rule in all_rules()}
    weights = [each.weighs.rank for each in missing]
    assert weights == sorted(weights, reverse=True)


def test_that_an_arm_has_no_drafter_is_not_offered_as_something_to_tell() -> None:
    report = {
        "benchlint": "1",
        "configurations": {"k3": {"drafter": {"method": "mtp"}}},
        "runs": [{"id": "k3", "configuration": "k3", "decode": {"tok_s": 30.5}}],
    }
    findings = findings_of(report)
    (plain,) = (each for each in missing_in(report, findings) if each.code == "BL114")
    assert plain.lacking == ()
    (line,) = (each for each in said_of(findings, [plain], Path()) if "BL114" in each)
    assert "--baseline-endpoint" in line


def test_names_in_the_table_cannot_act_on_a_terminal() -> None:
    run = {"id": "\x1b[2J" + "x" * 200, "decode": {"tok_s": {"value": 1}}}
    text = table({"runs": [run]})
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 120
    assert table({}) == ""


def test_what_the_spread_in_the_table_is_stands_below_it() -> None:
    def run(name: str, repeats: int) -> dict[str, Any]:
        speed = {"value": 9, "stdev": 2, "repeats": repeats}
        return {"id": name, "decode": {"tok_s": speed}}

    one = table({"runs": [run("a", 8), {"id": "b", "decode": {"tok_s": {"value": 8}}}]})
    assert one.splitlines()[1].rstrip() == "a    9 ± 2"
    assert one.splitlines()[-1] == (
        "±: standard deviation between the 8 rounds of a run, no confidence interval"
    )
    assert "the 3 to 8 rounds" in table({"runs": [run("a", 8), run("b", 3)]})


# A real pair


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The tiny pair in the llama-server of xllamacpp."""
    return measure(
        tmp_path_factory.mktemp("real") / "out",
        *PAIR,
        *("--draft-max", "2", "--workload", "tool_call", "--prompts-per-set", "3"),
        *("--max-tokens", "48", "--pairs", "4", "--threads", "1"),
    )


@needs_xllamacpp
def test_a_real_pair_becomes_a_complete_report(real: Ran) -> None:
    assert real.code == 0, real.err
    report = real.report
    assert {run["id"] for run in report["runs"]} == {"plain on tool_call", "k2 on tool_call"}
    assert report["target"]["quantization"]["recipe"] == "Q8_0"
    assert report["configurations"]["k2"]["draft_length"] == {
        "max": 2,
        "policy": "fixed",
        "p_min": 0.0,
    }
    found = findings_of(report)
    assert {f.code for f in found if f.severity == "warning"} == {"BL111"}
    assert not [f for f in found if f.severity == "error"]
    assert str(MODELS) not in (real.folder / "report.json").read_text("utf-8")
    some = bundled("tool_call").prompts[:3]
    assert report["workloads"]["tool_call"]["prompt_count"] == len(some)


@needs_xllamacpp
def test_run_again_its_acceptance_is_the_same_and_a_false_one_is_found(
    real: Ran, tmp_path: Path
) -> None:
    report = read_one(str(real.folder / "report.json"), limit_bytes=1 << 24)
    engine = EngineOptions(target_model=PAIR[1], draft_model=PAIR[3], threads=1)
    with engine.chosen() as chosen:
        task = Task(report, Wishes(folder=real.folder, pairs=BLOCK), "0")
        end = run_again(task, chosen, tmp_path, go_on=False)
    assert end is not None
    judgement = judged(tmp_path).judgement
    assert judgement.exit_code in (0, 3)
    withheld = {name for each in judgement.rulings for name in each.withheld}
    assert withheld <= {"what else runs here", "other load", UNSTEADY}, "but for a busy machine"
    exact = {
        each.pointer: each.verdict.outcome
        for each in judgement.rulings
        if "/speculation/" in each.pointer or "/losslessness/" in each.pointer
    }
    assert len(exact) == 5
    assert set(exact.values()) == {Outcome.REPRODUCED}
    _assert_a_false_length_is_refuted(tmp_path)


def _assert_a_false_length_is_refuted(folder: Path) -> None:
    """The same samples against a report that claims three tenths more."""
    journal = read(folder / "samples.jsonl")
    plan = journal_plan(journal, "samples.jsonl")
    pointer = "/runs/1/speculation/accepted_length/value"
    checks = [_more(each, 1.3) if each.pointer == pointer else each for each in plan.checks]
    before, after = judge(plan, journal), judge(replace(plan, checks=tuple(checks)), journal)
    changed = [
        (b.pointer, b.verdict.outcome)
        for a, b in zip(before.rulings, after.rulings, strict=True)
        if a.verdict.outcome is not b.verdict.outcome
    ]
    assert changed == [(pointer, Outcome.REFUTED)]
    assert after.exit_code == 1


def _more(check: Check, factor: float) -> Check:
    assert check.claimed is not None
    printed = Digits(f"{factor * check.claimed.value:.4f}")
    return replace(check, claimed=reported(printed, check.pointer))
