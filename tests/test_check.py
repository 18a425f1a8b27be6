"""What one report can cost is bounded."""

from __future__ import annotations

from typing import Any

from benchlint.checker.check import LISTED, check_tree
from benchlint.checker.facts import MANY_RUNS, MAX_LAYERS
from benchlint.checker.registry import MAX_RELATED, MAX_TEXT

Tree = dict[str, Any]


def found(tree: Tree, code: str) -> list[str]:
    return [f.message for f in check_tree(tree) if f.code == code]


def test_so_many_findings_of_a_rule_are_listed() -> None:
    runs = [{"id": f"r{i}", "configuration": "none"} for i in range(LISTED + 5)]
    messages = found({"runs": runs}, "BL006")
    assert len(messages) == LISTED + 1
    assert messages[-1] == "and more of the same, which are not listed after the first 1,000"
    assert len(found({"runs": runs[:LISTED]}, "BL006")) == LISTED


def test_a_name_of_any_length_leaves_messages_short() -> None:
    name = "x" * 100_000
    tree = {
        "configurations": {name: {"based_on": name}},
        "runs": [{"id": name, "configuration": name + "x", "workload": name, "parts": [name, "y"]}],
        "claims": [{"id": name, "of": name, "text": name, "metric": name, "relation": "greater"}],
        name: 1,
    }
    findings = check_tree(tree)
    assert {"BL004", "BL006", "BL602"} <= {f.code for f in findings}
    for finding in findings:
        texts = [finding.message, finding.help, *(each.message for each in finding.related)]
        assert max(map(len, texts)) <= MAX_TEXT
        assert len(finding.related) <= MAX_RELATED


def test_layers_of_configurations_have_an_end() -> None:
    def chain(length: int) -> Tree:
        names = [f"c{i}" for i in range(length)]
        bases = [*names[1:], None]
        pairs = zip(names, bases, strict=True)
        return {"configurations": {name: {"based_on": base} for name, base in pairs}}

    assert found(chain(MAX_LAYERS), "BL006") == []
    assert found(chain(MAX_LAYERS + 1), "BL006") == [
        "configuration 'c0' is based on more than 31 others in a row"
    ]


def test_claims_about_more_runs_than_are_compared_are_left_alone() -> None:
    def tree(count: int, speed: float) -> Tree:
        runs = [{"id": f"r{i}", "decode": {"tok_s": 10.5}} for i in range(count)]
        claim = {"relation": "up_to", "metric": "decode.tok_s", "value": speed}
        return {"runs": runs, "claims": [{"of": "r0", **claim}, claim]}

    assert len(found(tree(MANY_RUNS, 99.5), "BL601")) == 2
    assert found(tree(MANY_RUNS + 1, 99.5), "BL601") == []
    assert found(tree(MANY_RUNS + 1, 99.5), "BL602") == []


def test_cold_runs_among_more_runs_than_are_compared_are_left_alone() -> None:
    def tree(count: int) -> Tree:
        run = {"conditions": {"warm": False}, "decode": {"tok_s": 10.5}}
        return {"runs": [{"id": f"r{i}", **run} for i in range(count)]}

    assert len(found(tree(MANY_RUNS), "BL401")) == MANY_RUNS
    assert found(tree(MANY_RUNS + 1), "BL401") == []
