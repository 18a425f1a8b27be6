"""From arms to a report, from the report to a verdict on it, and what changes in it are found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.errors import CannotRunError
from benchlint.checker.one_report import json_with_digits, read_one
from benchlint.checker.profiles import under_profile
from benchlint.checker.tree import Digits
from benchlint.reproducers import machine
from benchlint.reproducers.conditions import Here
from benchlint.reproducers.engine import Sampling
from benchlint.reproducers.journal import End, Header, JournalError, Told, create, read
from benchlint.reproducers.judgement import Judgement
from benchlint.reproducers.measure_arms import ArmWishes
from benchlint.reproducers.measurement import (
    REPORT,
    Task,
    Written,
    files_beside,
    measure_task,
    plan_of_task,
    tell_more,
    try_out,
    write_report,
)
from benchlint.reproducers.measuring import Progress
from benchlint.reproducers.plan import Circumstances, measure_plan
from benchlint.reproducers.plan_data import planned
from benchlint.reproducers.report_cells import Wishes
from benchlint.reproducers.reproduction import Task as Reproduction
from benchlint.reproducers.reproduction import run_again
from benchlint.reproducers.told_values import assignment
from benchlint.reproducers.verdict_files import SAMPLES, judged
from benchlint.reproducers.verdicts import Outcome
from benchlint.reproducers.workloads import Prompt, PromptSet, bundled, first_of
from benchlint.reproducers.workloads.texts import Text, bundled_text
from tests.bench_engine import BenchEngine, chosen

F16 = ("f16", "f16")


@pytest.fixture(autouse=True, scope="module")
def alone() -> Iterator[None]:
    """Nothing else runs here, whatever else runs here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "share_of_others", lambda *_: 0.0)
        yield


GREEDY = ArmWishes(("draft_model",), (2, 4), sampling=Sampling(temperature=0.0), kv_types=F16)
DRAWN = ArmWishes(("draft_model",), (4,), sampling=Sampling(temperature=0.8, seed=1), kv_types=F16)
CODE, CHAT = (first_of(bundled(name), 3) for name in ("code", "chat"))


def task(arms: ArmWishes = GREEDY, **more: Any) -> Task:
    where = Circumstances(max_tokens=400)
    settings = {"sets": (CODE, CHAT), "circumstances": where, "pairs": 4, **more}
    return Task(arms, tool="0", **settings)


def measured(
    folder: Path, wanted: Task | None = None, engine: BenchEngine | None = None
) -> Written:
    end = measure_task(wanted or task(), chosen(engine), folder, go_on=(folder / SAMPLES).exists())
    assert end.reason in ("last_look", "interrupted", "budget")
    return write_report(folder)


def reproduced(
    folder: Path, report: Path, engine: BenchEngine | None = None, *same: str
) -> Judgement:
    """The verdict on a report that is run again on another day.

    same: conditions that are vouched for.
    """
    read_back = read_one(str(report), limit_bytes=1 << 24)
    here = Here(vouched=frozenset(same))
    again = Reproduction(read_back, Wishes(folder=report.parent, here=here), "0")
    run_again(again, chosen(engine or BenchEngine(seed=2)), folder, go_on=False)
    return judged(folder).judgement


def outcomes(judgement: Judgement) -> dict[str, Outcome]:
    return {each.pointer: each.verdict.outcome for each in judgement.rulings}


# The report


def test_a_report_lies_beside_its_journal(tmp_path: Path) -> None:
    written = measured(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [REPORT, SAMPLES]
    report = json.loads(written.path.read_text("utf-8"), parse_float=Digits)
    assert report == written.report
    assert [run["id"] for run in report["runs"]] == [
        *("plain on code", "k2 on code", "k4 on code"),
        *("plain on chat", "k2 on chat", "k4 on chat"),
    ]
    assert [each["value"] for each in report.get("quality", [])] == []
    assert "command_line" in report["engine"]
    assert str(Path(__file__).parent) not in written.path.read_text("utf-8")


def test_nothing_is_missing_but_what_only_a_person_can_know(tmp_path: Path) -> None:
    report = measured(tmp_path, task(text=bundled_text()), BenchEngine(scores=True)).report
    found = under_profile(check_tree(report), "publish")
    assert found == [], "not even a note"
    assert report["quality"][0]["metric"] == "perplexity"
    without = under_profile(check_tree(measured(tmp_path / "b").report), "publish")
    assert [f.code for f in without if f.severity != "note"] == ["BL111"]


def test_it_can_be_written_again_from_the_journal_alone(tmp_path: Path) -> None:
    first = measured(tmp_path).path.read_bytes()
    (tmp_path / REPORT).unlink()
    assert write_report(tmp_path).path.read_bytes() == first


def test_prompts_and_texts_of_ones_own_are_kept_beside_it(tmp_path: Path) -> None:
    own = PromptSet("mine.jsonl", (Prompt("a", "import os"), Prompt("b", "def f(x):")))
    wanted = task(sets=(own,), text=Text("notes.txt", "some words " * 4000), pairs=4)
    report = measured(tmp_path, wanted, BenchEngine(scores=True)).report
    assert (tmp_path / "mine.jsonl").read_text("utf-8").count("\n") == 2
    assert (tmp_path / "notes.txt").read_text("utf-8") == "some words " * 4000
    judgement = reproduced(tmp_path / "again", tmp_path / REPORT, BenchEngine(scores=True))
    assert Outcome.REPRODUCED in outcomes(judgement).values()
    assert report["workloads"]["mine.jsonl"]["prompts"]["file"] == "mine.jsonl"
    assert all(not each.withheld for each in judgement.rulings)


@pytest.mark.parametrize("name", ["../x.jsonl", REPORT, SAMPLES, ".hidden", "a/b", "a\\b", "a\nb"])
def test_no_name_leads_to_another_file(name: str, tmp_path: Path) -> None:
    false = measure_plan([], [])
    assert files_beside(false) == {}
    own = PromptSet(name, (Prompt("a", "import os"),))
    with pytest.raises(CannotRunError, match="cannot be kept beside the report"):
        measure_task(task(sets=(own,)), chosen(), tmp_path / "out", go_on=False)
    assert not (tmp_path / "out").exists(), "before anything is measured"


# The same report run again


def test_it_is_reproduced_on_the_same_machine(tmp_path: Path) -> None:
    report = measured(tmp_path / "first").path
    judgement = reproduced(tmp_path / "second", report)
    assert judgement.exit_code in (0, 3)
    found = outcomes(judgement)
    assert Outcome.REFUTED not in found.values()
    exact = ("/speculation/", "/losslessness/")
    assert {o for p, o in found.items() if any(e in p for e in exact)} == {Outcome.REPRODUCED}
    claims = [o for p, o in found.items() if p.startswith("/claims/")]
    assert claims == [Outcome.REPRODUCED] * 4
    speeds = [o for p, o in found.items() if p.endswith("/decode/tok_s/value")]
    assert set(speeds) == {Outcome.REPRODUCED}


@pytest.mark.parametrize(
    ("arms", "raw", "positions"),
    [(GREEDY, True, (None,)), (DRAWN, False, (None,)), (GREEDY, False, (512,))],
    ids=["greedy", "drawn", "filled"],
)
def test_no_condition_is_unknown_on_the_same_machine(
    tmp_path: Path, arms: ArmWishes, raw: bool, positions: tuple[int | None, ...]
) -> None:
    where = Circumstances(max_tokens=40, chat=not raw, ignore_eos=raw)
    wanted = task(arms, sets=(CODE,), circumstances=where, positions=positions, pairs=4)
    report = measured(tmp_path / "first", wanted).path
    judgement = reproduced(tmp_path / "second", report)
    assert judgement.rulings
    assert {name for each in judgement.rulings for name in each.withheld} == set()


def test_what_is_looked_up_has_settings_that_no_report_holds(tmp_path: Path) -> None:
    lookup = ArmWishes(("prompt_lookup",), (4,), sampling=GREEDY.sampling, kv_types=F16)
    report = measured(tmp_path / "first", task(lookup, pairs=4)).path
    judgement = reproduced(tmp_path / "second", report)
    assert {name for each in judgement.rulings for name in each.withheld} == {"drafter"}
    assert judgement.exit_code in (0, 3)


Change = Callable[[Any], None]


def scaled(path: str, factor: float) -> Change:
    """A number of the report times a factor, its digits and its samples alike."""

    def change(report: Any) -> None:
        *parents, last = path.split(".")
        node = report
        for part in parents:
            node = node[int(part)] if isinstance(node, list) else node[part]
        key: Any = int(last) if isinstance(node, list) else last
        value = node[key]
        measured_object = value if isinstance(value, dict) else {"value": value}
        measured_object["value"] = Digits(f"{float(measured_object['value']) * factor:.4g}")
        if "samples" in measured_object:
            samples = measured_object["samples"]
            measured_object["samples"] = [Digits(f"{float(s) * factor:.4g}") for s in samples]
        node[key] = measured_object if isinstance(value, dict) else measured_object["value"]

    return change


def test_what_is_looked_up_is_refuted_where_its_drafter_is_vouched_for(tmp_path: Path) -> None:
    lookup = ArmWishes(("prompt_lookup",), (4,), sampling=GREEDY.sampling, kv_types=F16)
    report = measured(tmp_path / "first", task(lookup, pairs=4)).path
    tree = json.loads(report.read_text("utf-8"), parse_float=Digits)
    scaled("runs.1.speculation.accepted_length", 1.3)(tree)
    report.write_text(json_with_digits(tree), "utf-8")
    refuted = {"/runs/1/speculation/accepted_length/value"}
    for same, expected in (((), set()), (("drafter",), refuted)):
        judgement = reproduced(tmp_path / f"again{len(same)}", report, None, *same)
        found = {p for p, outcome in outcomes(judgement).items() if outcome is Outcome.REFUTED}
        assert found == expected


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Outcome]]:
    """A measured report, and the verdict on it as it stands."""
    folder = tmp_path_factory.mktemp("honest")
    report = measured(folder / "first", task(sets=(CODE,))).path
    return report, outcomes(reproduced(folder / "second", report))


@pytest.mark.parametrize(
    ("path", "factor", "refuted"),
    [
        ("runs.1.speculation.accepted_length", 1.3, "/runs/1/speculation/accepted_length/value"),
        ("runs.2.speculation.accepted_length", 1.3, "/runs/2/speculation/accepted_length/value"),
        ("runs.2.speculation.acceptance_rate", 1.3, "/runs/2/speculation/acceptance_rate/value"),
        ("runs.2.decode.tok_s", 1.5, "/runs/2/decode/tok_s/value"),
        ("runs.0.decode.tok_s", 1 / 1.5, "/runs/0/decode/tok_s/value"),
        ("runs.1.step_time_ms", 0.7, "/runs/1/step_time_ms/value"),
        ("runs.1.prefill.ttft_ms", 0.5, "/runs/1/prefill/ttft_ms/value"),
        ("runs.1.speedup", 1.5, "/runs/1/speedup/value"),
        ("claims.1.value", 1.5, "/claims/1"),
        (
            "runs.2.speculation.per_position.values.0",
            0.7,
            "/runs/2/speculation/per_position/values/0",
        ),
    ],
)
def test_one_false_number_is_refuted_and_the_others_are_not(
    honest: tuple[Path, dict[str, Outcome]],
    path: str,
    factor: float,
    refuted: str,
    tmp_path: Path,
) -> None:
    report, before = honest
    tree = json.loads(report.read_text("utf-8"), parse_float=Digits)
    scaled(path, factor)(tree)
    false = tmp_path / "false.json"
    false.write_text(json_with_digits(tree), "utf-8")
    judgement = reproduced(tmp_path / "again", false)
    after = outcomes(judgement)
    assert judgement.exit_code == 1
    assert [pointer for pointer, o in after.items() if o is Outcome.REFUTED] == [refuted]
    assert {p: o for p, o in after.items() if p != refuted} == {
        p: o for p, o in before.items() if p != refuted
    }


def test_another_speed_of_the_machine_refutes_speeds_and_leaves_acceptance(
    honest: tuple[Path, dict[str, Outcome]], tmp_path: Path
) -> None:
    report, _ = honest
    after = outcomes(reproduced(tmp_path, report, BenchEngine(seed=2, speed=2.0)))
    refuted = {pointer for pointer, o in after.items() if o is Outcome.REFUTED}
    assert any(pointer.endswith("/decode/tok_s/value") for pointer in refuted)
    assert not any("/speculation/" in pointer for pointer in refuted)
    assert not any(pointer.startswith("/claims/") for pointer in refuted)


def test_on_a_busy_machine_no_speed_is_refuted(
    honest: tuple[Path, dict[str, Outcome]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, _ = honest
    monkeypatch.setattr(machine, "share_of_others", lambda *_: 0.4)
    judgement = reproduced(tmp_path, report, BenchEngine(seed=2, speed=0.4))
    assert Outcome.REFUTED not in outcomes(judgement).values()
    assert judgement.exit_code == 3
    speeds = [r for r in judgement.rulings if r.pointer.endswith("/decode/tok_s/value")]
    assert all("what else runs here" in each.verdict.reason for each in speeds)


def test_speeds_of_a_busy_machine_are_reported_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as busy:
        busy.setattr(machine, "share_of_others", lambda *_: 0.4)
        report = measured(tmp_path / "first", task(sets=(CODE,)))
    load = "other programs took 40 % of the processors' time"
    assert report.report["machine"]["other_load"] == load
    judgement = reproduced(tmp_path / "second", report.path, BenchEngine(seed=2, speed=3.0))
    assert Outcome.REFUTED not in outcomes(judgement).values()
    assert {name for each in judgement.rulings for name in each.withheld} == {"other load"}


def test_a_speed_that_its_own_repeats_leave_open_is_not_refuted(tmp_path: Path) -> None:
    wild = measured(tmp_path / "first", task(sets=(CODE,)), BenchEngine(noise=1.5))
    judgement = reproduced(tmp_path / "second", wild.path, BenchEngine(seed=2, speed=3.0))
    assert Outcome.REFUTED not in outcomes(judgement).values()
    told = {name for each in judgement.rulings for name in each.withheld}
    assert told == {"what disturbed the report's repeats"}


# Broken off, resumed, told


def test_interrupted_it_writes_what_there_is_and_goes_on(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 40:
            raise KeyboardInterrupt

    first = measured(tmp_path, task(progress=stop))
    assert first.end is not None
    assert first.end.reason == "interrupted"
    assert first.report["notes"][0].startswith("Measuring was interrupted")
    assert [f for f in check_tree(first.report) if f.severity != "note"] == []
    last = measured(tmp_path)
    assert "notes" not in last.report
    assert {run["conditions"]["repeats"] for run in last.report["runs"]} == {4}


def test_a_folder_is_not_measured_into_twice_by_accident(tmp_path: Path) -> None:
    measured(tmp_path)
    with pytest.raises(CannotRunError, match="--resume goes on with it"):
        measure_task(task(), chosen(), tmp_path, go_on=False)
    with pytest.raises(JournalError, match="other options"):
        measure_task(task(DRAWN), chosen(), tmp_path, go_on=True)


def test_an_arm_that_the_engine_refuses_is_withdrawn(tmp_path: Path) -> None:
    engine = BenchEngine(draft_lengths=(2,))
    report = measured(tmp_path, engine=engine).report
    void = {run["id"]: run["void"] for run in report["runs"] if "void" in run}
    assert void == {f"k4 on {name}": "a draft length of 4 is too long" for name in ("code", "chat")}
    assert [f for f in check_tree(report) if f.severity != "note"] == []


def test_what_was_told_is_kept_with_the_journal(tmp_path: Path) -> None:
    wanted = task(assignments=(assignment("target.name=Tiny"), assignment("title=A title")))
    assert measured(tmp_path, wanted).report["target"]["name"] == "Tiny"
    tell_more(tmp_path, (assignment("target.name=Tinier"),))
    report = write_report(tmp_path).report
    assert (report["target"]["name"], report["title"]) == ("Tinier", "A title")
    assert report["notes"] == ["Told by the author, not measured: target.name, title"]
    with pytest.raises(CannotRunError, match="that was measured"):
        tell_more(tmp_path, (assignment("runs.0.decode.tok_s=999.5"),))
    assert write_report(tmp_path).report == report


def test_a_report_that_somebody_changed_is_kept(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 40:
            raise KeyboardInterrupt

    first = measured(tmp_path, task(progress=stop))
    written = measured(tmp_path, task(assignments=(assignment("title=T"),)))
    assert (first.kept, written.kept) == (None, None)
    for number, note in enumerate(("by hand", "again"), 1):
        written.path.write_text(json.dumps({"notes": [note]}), "utf-8")
        tell_more(tmp_path, (assignment(f"title=Title {number}"),))
        again = write_report(tmp_path)
        assert again.kept == tmp_path / f"report-changed-{number}.json"
        assert json.loads(again.kept.read_text("utf-8")) == {"notes": [note]}
        assert again.report["title"] == f"Title {number}"
        assert write_report(tmp_path).kept is None


def test_a_slip_of_the_pen_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    for text in ("target.nam=x", "workloads.cod.x.y=1", "configurations.plain.drafter.model=x"):
        with pytest.raises(CannotRunError, match="--set"):
            measure_task(task(assignments=(assignment(text),)), chosen(), tmp_path, go_on=False)
    assert list(tmp_path.iterdir()) == []
    plan = plan_of_task(task(), scores_texts=False)
    try_out(plan, (assignment("configurations.*.drafter.model=D"),))
    try_out(plan, (assignment("runs.k4 on code.notes=warm day"),))


def test_what_no_longer_fits_is_left_out_and_told(tmp_path: Path) -> None:
    plan = plan_of_task(task(), scores_texts=False)
    record, plan = planned(plan)
    with create(tmp_path / SAMPLES, Header(plan.sha256, "0", 1e9), planned=record) as writer:
        writer.write(Told(("runs.k4 on code.notes=x", "title=T"), 1e9))
        writer.write(End("interrupted", 1e9))
    written = write_report(tmp_path)
    assert written.report["title"] == "T"
    assert written.refused == ("--set runs.k4 on code.notes: runs has no item 'k4 on code'",)
    assert len(read(tmp_path / SAMPLES).of_kind(Told)) == 1
