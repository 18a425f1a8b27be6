"""What blocks give by their shape, and what facts know from that without looking."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchlint.checker.facts import ReportFacts
from benchlint.checker.given import Absent, given_by, needs_of
from benchlint.checker.model import Report, Run
from benchlint.checker.readings import Readings
from benchlint.checker.validate import validate

CASES = Path(__file__).parent / "cases"


def reports() -> Iterator[ReportFacts]:
    """The reports of every fourth case, as far as they fit the format."""
    files = (yaml.safe_load(path.read_text("utf-8")) for path in sorted(CASES.glob("BL*.yaml")))
    cases = (case for file in files for kind in ("fires", "silent") for case in file[kind])
    trees = [{"benchlint": "1", **case["report"]} for case in cases if "report" in case]
    found = (validate(tree)[0] for tree in trees[::4])
    return (ReportFacts(report) for report in found if report is not None)


def test_what_is_known_to_be_absent_is_what_looking_finds() -> None:
    looked_for = set()
    for run in (run for report in reports() for run in report.runs):
        for facts, absent in [(each, absent_of(each)) for each in (run, Readings(run))]:
            for name, value in absent.items():
                del facts.__dict__[name]
                assert getattr(facts, name) == value, name
                looked_for.add(name)
    assert {"acceptance_rate", "counts", "positions", "counted_tau", "tau"} <= looked_for


def absent_of(facts: Any) -> dict[str, object]:
    """The attributes that new facts have before anybody asks, computed ones alone."""
    kind = type(facts)
    return {name: value for name, value in facts.__dict__.items() if name in vars(kind)}


def test_alternatives_are_absent_together() -> None:
    absent = Absent({"speed": ("decode | throughput", None), "parts": ("parts", ())})
    run = given_by(Run.model_validate({"id": "a", "throughput": {"tok_s": 1.5}}))
    assert absent.of(run) == {"parts": ()}
    assert absent.of(given_by(Run.model_validate({"id": "a"}))) == {"speed": None, "parts": ()}


def test_paths_of_members() -> None:
    run = Run.model_validate(
        {
            "id": "a",
            "decode": {"tok_s": {"value": 1.5, "stdev": 0.5}, "seconds": 2, "tokens": None},
            "conditions": {"kv_position": {"filled_tokens": 9}},
        }
    )
    given = given_by(run)
    assert given.paths == {
        *("id", "decode", "decode.tok_s", "decode.tok_s.value", "decode.tok_s.stdev"),
        *("*.value", "*.stdev", "decode.seconds"),
        *("conditions", "conditions.kv_position", "conditions.kv_position.filled_tokens"),
    }
    assert given.measured == ("decode.tok_s",)
    assert given_by(Run.model_validate({"id": "b"})).paths == {"id"}


def test_measured_objects_are_in_order_of_the_format() -> None:
    number = {"value": 1.5}
    blocks = {"speedup": number, "decode": {"seconds": number, "tok_s": number}}
    given = given_by(Run.model_validate({"id": "a", "step_time_ms": number, **blocks}))
    assert given.measured == ("decode.tok_s", "decode.seconds", "step_time_ms", "speedup")


def test_a_report_gives_what_its_parts_give() -> None:
    tree = {
        "engine": {"name": "vllm"},
        "machine": {"devices": [{"name": "A"}, {"count": 2}]},
        "configurations": {
            "a": {"drafter": [{"method": "mtp"}]},
            "b": {"engine": {"version": "1"}},
        },
        "runs": [{"id": "a", "decode": {"tok_s": 1.5}}, {"id": "b", "void": "-", "memory": {}}],
        "claims": [{"of": "a"}, {"to": "a"}],
    }
    paths = ReportFacts(Report.model_validate(tree)).given.paths
    assert {"engine.name", "engine.version", "configurations.engine.version"} <= paths
    assert {"machine.devices.name", "machine.devices.count"} <= paths
    assert {"configurations.drafter.method", "runs.decode.tok_s", "claims.of", "claims.to"} <= paths
    assert "runs.memory" not in paths


def test_needs_are_paths_with_alternatives() -> None:
    given = given_by(Run.model_validate({"id": "a", "decode": {"tok_s": 1.5}}))
    assert given.meets(needs_of(["decode.tok_s"]))
    assert given.meets(needs_of(["prefill | decode.tok_s", "decode"]))
    assert not given.meets(needs_of(["prefill | decode.tok_s", "workload"]))
    assert given.meets(needs_of([]))
