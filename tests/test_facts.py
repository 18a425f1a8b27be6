"""References are followed, blocks laid over each other, and pointers say where from."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report

EXAMPLES = Path(__file__).parents[1] / "examples"


def facts(tree: dict[str, Any]) -> ReportFacts:
    return ReportFacts(Report.model_validate(tree))


def example(name: str) -> ReportFacts:
    return facts(json.loads((EXAMPLES / name).read_text("utf-8")))


def test_a_configuration_inherits_what_it_does_not_give() -> None:
    run = example("dflash.json").run("dflash-code-tuned")
    assert run is not None
    assert run.k is not None
    assert run.k.value == 15
    assert run.k.pointer == "/configurations/dflash-k15/draft_length"
    assert run.configuration.sampler is not None
    assert run.configuration.sampler.model.min_p == 0
    assert run.configuration.sampler.pointer == "/configurations/dflash-k15-min-p-0/sampler"


def test_partial_targets_are_laid_over_the_report() -> None:
    run = example("dflash.json").run("nvfp4")
    assert run is not None
    target = run.configuration.target
    assert target is not None
    assert target.model.quantization is not None
    assert target.model.quantization.recipe == "NVFP4 hybrid"
    assert target.at("quantization") == "/configurations/nvfp4/target/quantization"
    assert target.model.parameters_b == 30
    assert target.at("parameters_b") == "/target/parameters_b"


def test_null_and_absent_drafters_differ() -> None:
    report = example("dflash.json")
    assert report.configuration("plain").speculates is False
    assert report.configuration("dflash-k15").speculates is True
    assert facts({"configurations": {"a": {}}}).configuration("a").speculates is None


def test_a_baseline_is_the_only_plain_run_in_the_same_setting() -> None:
    report = example("dflash2-vs-mtp.json")
    mtp = report.run("mtp-k7")
    assert mtp is not None
    assert mtp.baseline is report.run("baseline")
    dflash = example("dflash.json")
    mixed = dflash.run("dflash-mixed")
    assert mixed is not None
    assert mixed.baseline is None  # the only plain run is on code


def test_several_plain_runs_are_nobody_s_baseline() -> None:
    report = facts(
        {
            "configurations": {"p": {"drafter": None}, "s": {"drafter": {}}},
            "workloads": {"w": {}},
            "runs": [
                {"id": "a", "configuration": "p", "workload": "w"},
                {"id": "b", "configuration": "p", "workload": "w"},
                {"id": "c", "configuration": "s", "workload": "w"},
                {"id": "d", "configuration": "s", "workload": "w", "speedup": {"over": "b"}},
            ],
        }
    )
    c, d = report.run("c"), report.run("d")
    assert c is not None
    assert c.baseline is None
    assert d is not None
    assert d.baseline is report.run("b")


def test_circles_and_dangling_names_say_nothing() -> None:
    report = facts(
        {
            "configurations": {"a": {"based_on": "b"}, "b": {"based_on": "a", "draft_length": 3}},
            "runs": [{"id": "x", "configuration": "a"}, {"id": "y", "configuration": "zz"}],
        }
    )
    x, y = report.runs
    assert x.k is not None
    assert x.k.value == 3
    assert not y.configuration.known
    assert y.k is None


def test_void_runs_are_left_out_but_found_by_name() -> None:
    report = facts({"runs": [{"id": "x", "void": "the clock was reset"}]})
    assert report.runs == ()
    assert report.run("x") is not None


def test_names_with_slashes_point_right() -> None:
    report = facts({"configurations": {"a/b~c": {"draft_length": {"max": 2}}}})
    k = report.configuration("a/b~c").k
    assert k is not None
    assert k.pointer == "/configurations/a~1b~0c/draft_length/max"


def test_a_tree_accepts_its_depth() -> None:
    tree = {"draft_length": {"max": 64, "tree": {"depth": 6, "draft_tokens": 60}}}
    configuration = facts({"configurations": {"t": tree}}).configuration("t")
    assert configuration.max_accepted is not None
    assert configuration.max_accepted.value == 6
    assert configuration.drafts_a_tree


def test_fixed_k_is_only_what_is_said() -> None:
    def fixed(**configuration: Any) -> bool | None:
        return facts({"configurations": {"c": configuration}}).configuration("c").fixed_k

    assert fixed(draft_length=7) is None
    assert fixed(draft_length={"max": 7, "policy": "fixed"}) is True
    assert fixed(draft_length={"max": 7, "policy": "adaptive"}) is False
    assert fixed(draft_length={"max": 7, "policy": "fixed", "p_min": 0.5}) is False
    assert fixed(draft_length={"max": 7, "policy": "fixed"}, drafter={"method": "ngram"}) is False


def test_what_is_released_is_gone_without_the_collector() -> None:
    """Memory stays flat over any number of reports, whenever the collector of cycles comes."""
    gc.disable()
    try:
        report = facts({"runs": [{"id": "a", "configuration": "c"}]})
        readings = weakref.ref(report.runs[0].readings)
        configuration = weakref.ref(report.runs[0].configuration)
        report.release()
        del report
        assert readings() is None
        assert configuration() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ({"id": "twice", "text": "twice as fast"}, "claim 'twice'"),
        (
            {"of": "a", "to": "b", "relation": "ratio", "metric": "decode.tok_s"},
            "claim 'a → b, ratio of decode.tok_s'",
        ),
        ({"of": "a", "relation": "best", "text": "the best"}, "claim 'a, best'"),
        ({"text": "twice as fast"}, "claim 'twice as fast'"),
        ({"text": "very " * 40}, f"claim '{('very ' * 16)[:79]}…'"),
        ({}, "claim 1"),
    ],
)
def test_a_claim_is_called_by_what_it_is_about(claim: dict[str, Any], name: str) -> None:
    report = Report.model_validate({"benchlint": "1", "claims": [claim]})
    assert str(ReportFacts(report).claims[0]) == name
