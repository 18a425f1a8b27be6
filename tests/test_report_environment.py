"""What a report states of its environment stands beside what was found here."""

from __future__ import annotations

from pathlib import Path

from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.checker.one_report import read_one
from benchlint.reproducers.engine import Description
from benchlint.reproducers.journal import Header, Journal, Started
from benchlint.reproducers.judgement import environment_here
from benchlint.reproducers.machine import machine
from benchlint.reproducers.report_environment import stated_environment
from benchlint.reproducers.report_writer import _machine

EXAMPLE = Path(__file__).parents[1] / "examples" / "h200-llama-server.json"


def test_an_example_states_its_environment() -> None:
    stated = stated_environment(read_one(str(EXAMPLE), limit_bytes=10**6).facts)
    assert stated["device"] == "NVIDIA H200"
    assert stated["device count"] == 1
    assert stated["engine"] == "llama.cpp"
    assert stated["engine commit"] == "0c1e57098"
    assert stated["target parameters"] == 7_260_000_000
    assert stated["drafter quantization"] == "Q8_0"
    assert stated["sampler temperature"] == "0, 1"
    assert "engine version" not in stated


def test_the_names_are_those_of_a_journal() -> None:
    description = Description(
        "llama.cpp",
        "b1",
        "c",
        "cuda",
        sampler=dict.fromkeys(("temperature", "top_p", "top_k", "min_p", "seed"), 1),
        target={"name": "t", "quantization": "Q8_0", "parameters": 7},
        drafter={"name": "d", "quantization": "Q8_0", "parameters": 7},
    )
    header = Header("p", "0", 0.0, {**machine(), "device": "a", "device count": 1})
    here = environment_here(Journal((header, Started("a", "a", 0.0, description))))
    stated = stated_environment(read_one(str(EXAMPLE), limit_bytes=10**6).facts)
    assert set(stated) - set(here) == {"device memory_gb"}


def test_a_measured_report_states_driver_and_system_as_a_journal_has_them() -> None:
    known = {"driver": "575.57", "cuda": "13.0", "os": "Debian 12", "kernel": "Linux 6.18.44-x"}
    journal = Journal((Header("p", "0", 0.0, known),))
    written = {"machine": _machine(journal, []), "runs": [{"id": "1"}]}
    assert stated_environment(ReportFacts(Report.model_validate(written))) == known


def test_other_texts_of_driver_and_system_stay_whole() -> None:
    machine = {"driver": "CUDA 13.0", "os": "Ubuntu 24.04, in a container"}
    stated = stated_environment(
        ReportFacts(Report.model_validate({"machine": machine, "runs": [{"id": "1"}]}))
    )
    assert stated == machine


def test_configurations_that_differ_are_listed() -> None:
    tree = {
        "machine": {"cpu": {"name": "C", "cores": 8, "memory_gb": 64.5}, "os": "Linux"},
        "configurations": {
            "a": {"sampler": {"temperature": 0}},
            "b": {"sampler": {"temperature": 0.7}},
        },
        "runs": [{"id": "1", "configuration": "a"}, {"id": "2", "configuration": "b"}],
    }
    stated = stated_environment(ReportFacts(Report.model_validate(tree)))
    assert stated == {
        "cpu": "C",
        "cpu cores": 8,
        "cpu memory_gb": 64.5,
        "os": "Linux",
        "sampler temperature": "0, 0.7",
    }


def test_a_report_that_says_nothing_states_nothing() -> None:
    assert stated_environment(ReportFacts(Report.model_validate({}))) == {}
