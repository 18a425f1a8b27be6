"""Baselines: known findings stay known when a file changes around them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker.baseline import Baseline, Key, read, text
from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Finding, Severity
from benchlint.checker.named_pointers import PointerNames


def _finding(code: str, pointer: str) -> Finding:
    return Finding(code, "name", Severity.ERROR, "message", pointer)


def _new(baseline: Baseline, file: Path, tree: object, *findings: Finding) -> list[str]:
    names = PointerNames(tree)
    found = baseline.new(str(file), findings, [names.name(f.pointer) for f in findings])
    return [f"{f.code} {f.pointer}" for f in found]


def test_a_known_finding_stays_known_when_a_run_is_inserted(tmp_path: Path) -> None:
    before = {"runs": [{"id": "a"}]}
    after = {"runs": [{"id": "new"}, {"id": "a"}]}
    file, report = tmp_path / "base.json", tmp_path / "a.json"
    report.write_text("")
    first = read(str(file), anew=True)
    assert _new(first, report, before, _finding("BL201", "/runs/0/x")) == ["BL201 /runs/0/x"]
    assert first.save() == 1
    second = read(str(file))
    found = [_finding("BL201", "/runs/0/x"), _finding("BL201", "/runs/1/x")]
    assert _new(second, report, after, *found) == ["BL201 /runs/0/x"]
    assert second.gone == 0


def test_what_is_alike_is_counted(tmp_path: Path) -> None:
    report = tmp_path / "a.jsonl"
    report.write_text("")
    first = Baseline(str(tmp_path / "base.json"))
    for _ in range(2):  # two records with the same finding
        _new(first, report, {}, _finding("BL201", "/runs/0"))
    first.save()
    second = read(first.file)
    assert [_new(second, report, {}, _finding("BL201", "/runs/0")) for _ in range(3)] == [
        [],
        [],
        ["BL201 /runs/0"],
    ]


def test_another_code_or_file_is_new(tmp_path: Path) -> None:
    known = Counter({Key("a.json", "BL201", "/runs/0"): 1})
    baseline = Baseline(str(tmp_path / "base.json"), known)
    assert _new(baseline, tmp_path / "a.json", {}, _finding("BL202", "/runs/0"))
    assert _new(baseline, tmp_path / "b.json", {}, _finding("BL201", "/runs/0"))
    assert baseline.gone == 1


def test_files_that_were_not_checked_are_kept_while_they_exist(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("")
    keys = [Key(name, "BL201", "") for name in ("there.json", "deleted.json", "checked.json")]
    baseline = Baseline(str(tmp_path / "base.json"), Counter(keys))
    _new(baseline, tmp_path / "checked.json", {}, _finding("BL202", ""))
    assert baseline.updated() == Counter(
        [Key("there.json", "BL201", ""), Key("checked.json", "BL202", "")]
    )


def test_paths_are_those_below_the_baselines_folder(tmp_path: Path) -> None:
    baseline = Baseline(str(tmp_path / "known" / "base.json"))
    assert baseline.path(str(tmp_path / "results" / "a.json")) == "../results/a.json"


def test_the_file_is_sorted_with_a_finding_a_line() -> None:
    counts = Counter({Key("b", "BL2", "/x"): 1, Key("a", "BL3", ""): 2})
    lines = text(counts).splitlines()
    assert lines[3] == '    {"path": "a", "code": "BL3", "pointer": "", "count": 2},'
    assert lines[4] == '    {"path": "b", "code": "BL2", "pointer": "/x", "count": 1}'
    assert json.loads(text(Counter())) == {"version": "1", "findings": []}


@given(
    st.dictionaries(
        st.builds(Key, st.text(), st.sampled_from(["BL201", "BL3"]), st.text()),
        st.integers(1, 5),
        max_size=4,
    )
)
def test_what_is_written_is_read_back(counts: dict[Key, int]) -> None:
    from benchlint.checker.baseline import _entries

    assert dict(_entries(json.loads(text(Counter(counts))))) == counts


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"version": "2", "findings": []}',
        '{"version": "1"}',
        '{"version": "1", "findings": 3}',
        '{"version": "1", "findings": [3]}',
        '{"version": "1", "findings": [{"path": 1, "code": "", "pointer": "", "count": 1}]}',
        '{"version": "1", "findings": [{"path": "", "code": "", "pointer": "", "count": 0}]}',
        '{"version": "1", "findings": [{"path": "", "code": "", "pointer": "", "count": true}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_baseline_is_refused_and_can_be_written_anew(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "base.json"
    file.write_text(content)
    with pytest.raises(CannotRunError, match="--update-baseline"):
        read(str(file))
    assert read(str(file), anew=True).updated() == Counter()


def test_an_absent_one_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="--update-baseline makes it"):
        read(str(tmp_path / "absent.json"))
