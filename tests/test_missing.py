"""What the examples lack, checked by hand; and that help says what would help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlint.checker import missing
from benchlint.checker.check import check_tree
from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.finding import Finding
from benchlint.checker.model import Report
from benchlint.checker.rules import bl10_setup, bl11_conditions, bl12_publication

EXAMPLES = Path(__file__).parent.parent / "examples"
CASES = Path(__file__).parent / "cases"


def missing_in(tree: object) -> dict[str, Finding]:
    """Findings about what is missing, by code; each code at most once."""
    found = [f for f in check_tree(tree) if f.code.startswith("BL1")]
    assert len({f.code for f in found}) == len(found), "a code speaks twice"
    return {f.code: f for f in found}


def example(name: str) -> object:
    return json.loads((EXAMPLES / name).read_text("utf-8"), parse_float=Digits)


# Nothing else is missing in the first example. Silent, with the reason: BL101 name and recipe
# are given; BL102 `drafter: null` and a DFlash drafter with its model; BL103 K is 15; BL110
# gpu or cpu everywhere; BL111 two perplexities; BL112 the card is named; BL114 plain-code is
# plain; BL117 dflash-far was measured after fill; BL118 q8_0 and f16; BL122 70 W; BL124 the
# only τ says that it counts the bonus token.
DFLASH = {
    # "mixed" names four kinds without shares; two runs name no workload
    "BL104": "no shares of the mix in workload 'mixed'; "
    "no workload in runs 'dflash-far' and 'nvfp4'",
    # the only speculative runs without a rate; K = 15 is not said to be fixed
    "BL105": "no acceptance rate in runs 'dflash-mixed-cpu-argmax', 'dflash-far' and 'nvfp4'",
    # all seven speculative runs but dflash-code, which gives 6.39
    "BL106": "no accepted length τ in runs 'dflash-code-before', 'dflash-code-tuned' and 4 more",
    # temperature, top_p, top_k and min_p are given in every configuration
    "BL107": "no repetition_penalty (llama.cpp: 1 or 1.1), presence_penalty (llama.cpp: 0), "
    "frequency_penalty (llama.cpp: 0) or seed in all 5 configurations",
    # dflash-far has a prefill speed
    "BL108": "no prefill speed in runs 'plain-code', 'dflash-code' and 5 more",
    # dflash-far was filled to 262116, no workload gives a prompt length
    "BL109": "no filled KV position in runs 'plain-code', 'dflash-code' and 5 more",
    # llama.cpp, of which build is not said
    "BL113": "no engine version",
    "BL115": "no word on warm-up or number of repeats in all 8 runs",
    "BL116": "no concurrency in all 8 runs",
    "BL119": "no prompts in workloads 'code' and 'mixed' and runs 'dflash-far' and 'nvfp4'",
    "BL120": "no output length or stop rule in all 8 runs",
    # four speculative configurations; perplexity was not measured with the drafter on
    "BL121": "no comparison of the output with a plain run's in all 4 speculative configurations",
    "BL123": "no thinking mode in workloads 'code' and 'mixed' and runs 'dflash-far' and 'nvfp4'",
    "BL125": "no command line",
}

# Silent: BL101 BF16; BL102 null, dflash with a model, mtp, which needs none; BL103 K is 7;
# BL104 all OCR; BL105 and BL106 τ with K fixed at 7; BL107 temperature 0; BL109 the prompt has
# about 2000 tokens; BL112, BL113, BL114, BL116 given; BL121 both compared with the baseline;
# BL124 said, and vLLM has one definition.
DFLASH2 = {
    "BL108": "no prefill speed in all 3 runs",
    # the baseline selects no drafts and is not asked
    "BL110": "no placement of draft selection in configurations 'dflash2-k7' and 'mtp-k7'",
    "BL111": "no quality metric",
    # warm is said, how often is not; one of the speeds has a range, of nobody knows how many
    "BL115": "no number of repeats in all 3 runs",
    "BL117": "no device memory in use after the KV cache was filled",
    # vLLM has one type for both caches
    "BL118": "no KV-cache type in all 3 configurations",
    "BL119": "no prompts in workload 'ocr'",
    "BL120": "no output length or stop rule in all 3 runs",
    "BL122": "no power limit",
    "BL123": "no thinking mode in workload 'ocr'",
    "BL125": "no command line",
}


@pytest.mark.parametrize(
    ("name", "expected"), [("dflash.json", DFLASH), ("dflash2-vs-mtp.json", DFLASH2)]
)
def test_what_the_examples_lack(name: str, expected: dict[str, str]) -> None:
    assert {c: f.message for c, f in missing_in(example(name)).items()} == expected


def test_all_places_are_pointed_at() -> None:
    found = missing_in(example("dflash.json"))["BL104"]
    assert found.pointer == "/workloads/mixed"
    assert [r.pointer for r in found.related] == ["/runs/6", "/runs/7"]


def test_a_report_without_runs_is_asked_for_runs_only() -> None:
    assert list(missing_in({"benchlint": "1"})) == ["BL108"]
    assert list(missing_in({"benchlint": "1", "runs": []})) == ["BL108"]
    withdrawn = {"benchlint": "1", "runs": [{"id": "a", "void": "cold"}]}
    assert list(missing_in(withdrawn)) == ["BL108"]


def test_an_empty_run_lacks_what_any_run_needs() -> None:
    codes = list(missing_in({"benchlint": "1", "runs": [{"id": "a"}]}))
    # What only speculation needs (BL103, 105, 106, 110, 114, 121, 124) is not asked of a run
    # that may have been plain, and the power limit (BL122) not of an unknown device.
    expected = (101, 102, 104, 107, 108, 109, 111, 112, 113, 115, 116, 117, 118, 119, 120, 123)
    assert codes == [f"BL{n}" for n in (*expected, 125)]


def test_related_places_are_bounded() -> None:
    runs = [{"id": f"r{i}"} for i in range(500)]
    for finding in missing_in({"benchlint": "1", "runs": runs}).values():
        assert len(finding.related) <= missing.MAX_RELATED


def test_long_names_are_cut() -> None:
    found = missing_in({"benchlint": "1", "runs": [{"id": "r" * 10_000}]})
    assert max(len(f.message) for f in found.values()) < 300


def test_what_does_not_fit_is_not_called_missing() -> None:
    tree = {
        "benchlint": "1",
        "runs": [{"id": "a", "decode": {"tok_s": "80.87"}}, {"id": "b"}],
    }
    found = missing_in(tree)
    assert found["BL108"].message == "no decode speed or prefill speed in run 'b'"


def test_a_misspelt_field_is_not_called_missing() -> None:
    tree = {
        "benchlint": "1",
        "configurations": {"c": {"drafter": {"method": "mtp"}, "draft_lenght": 7}},
        "runs": [{"id": "a", "configuration": "c"}],
    }
    assert "BL103" not in missing_in(tree)


def test_dangling_references_are_not_followed_by_notes() -> None:
    tree = {
        "benchlint": "1",
        "runs": [{"id": "a", "configuration": "x", "workload": "y", "decode": {"tok_s": 1.5}}],
    }
    assert {"BL101", "BL102", "BL104", "BL107", "BL118", "BL119"}.isdisjoint(missing_in(tree))


@pytest.mark.parametrize(
    ("void", "codes"),
    [(None, {"a": True, "all": False}), ("cold", {"a": False, "all": True})],
)
def test_a_pooled_run_speaks_where_its_parts_do_not(
    void: str | None, codes: dict[str, bool]
) -> None:
    part = {"id": "a"} if void is None else {"id": "a", "void": void}
    found = missing_in({"benchlint": "1", "runs": [part, {"id": "all", "parts": ["a"]}]})
    message = found["BL116"].message
    assert {name: repr(name) in message for name in codes} == codes


def test_a_run_that_pools_itself_still_speaks() -> None:
    tree = {"benchlint": "1", "runs": [{"id": "a", "parts": ["a"]}]}
    assert missing_in(tree)["BL116"].message == "no concurrency in run 'a'"


# --- help ------------------------------------------------------------------------------------

MODULES = (bl10_setup, bl11_conditions, bl12_publication)
ITEMS = [v for m in MODULES for v in vars(m).values() if isinstance(v, missing.Item)]
ADVICE = re.compile(r"add `([^`]+)`, for example `([^`]+)`")


def advised() -> Iterator[tuple[str, str]]:
    """Every field and example that help names, in the constants and in all case files."""
    for item in ITEMS:
        yield item.path, item.example
    for path in sorted(CASES.glob("BL1*.yaml")):
        for case in yaml.safe_load(path.read_text("utf-8"))["fires"]:
            for finding in missing_in({"benchlint": "1", **case["report"]}).values():
                yield from ADVICE.findall(finding.help)


def test_help_names_fields_of_the_format_with_values_they_take() -> None:
    pairs = set(advised())
    assert len(pairs) > 25
    for path, member in sorted(pairs):
        Report.model_validate(_tree(path, member))


def _tree(path: str, member: str) -> object:
    """The report in which only the advised member stands."""
    *above, last = path.split(".")
    value: Any = json.loads(f"{{{member}}}")
    assert list(value) == [last.removesuffix("[]")]
    for part in reversed(above):
        name = part.removesuffix("[]")
        if part.endswith("[]"):
            value = [{"id": "a", **value}] if name == "runs" else [value]
        value = {name: value}
    return {"benchlint": "1", **value}


def test_every_finding_says_what_to_add() -> None:
    for name in ("dflash.json", "dflash2-vs-mtp.json"):
        for finding in missing_in(example(name)).values():
            assert ADVICE.search(finding.help), finding.code


def test_who_is_asked_is_not_kept_over_reports() -> None:
    first = ReportFacts(Report.model_validate({"runs": [{"id": "a"}]}))
    second = ReportFacts(Report.model_validate({"runs": [{"id": "b"}]}))
    assert [r.id for r in missing.asked_runs(first)] == ["a"]
    assert [r.id for r in missing.asked_runs(second)] == ["b"]
    assert [a.name for a in missing.by_run(missing.asked_runs(first))] == ["a"]


def test_help_for_a_baseline_fits_toml() -> None:
    tree = {"configurations": {"a": {}}, "runs": [{"id": "x", "configuration": "a"}]}
    (found,) = [f for f in check_tree(tree) if f.code == "BL102"]
    assert "`drafter = []`" in found.help
    none = {"configurations": {"a": {"drafter": []}}, "runs": tree["runs"]}
    assert [f for f in check_tree(none) if f.code == "BL102"] == []
