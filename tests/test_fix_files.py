"""Fixes in their files: what is written, and how much of the file that touches."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from benchlint.checker.check import check_tree
from benchlint.checker.document import documents
from benchlint.checker.fix_files import FileFix, Mode, diff, fix_file, rewritten
from benchlint.checker.fixes import Fixed, UncertainError

PERCENT = (
    '{"benchlint": "1",\n "title": "τ",\n'
    ' "runs": [{"id": "a", "speculation": {"acceptance_rate": 36.18}}]}\n'
)
FRACTION = PERCENT.replace("36.18", "0.3618")


def _fix(path: Path, mode: Mode = "write") -> FileFix:
    reports = [
        (parsed.document, check_tree(parsed.document.tree))
        for parsed in documents(path, limit_bytes=10**7)
        if parsed.document is not None
    ]
    return fix_file(str(path), reports, lambda _: True, mode)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(tmp_path: Path, encoding: str, line_end: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(PERCENT.replace("\n", line_end).encode(encoding))
    assert _fix(path).count == 1
    assert path.read_bytes() == FRACTION.replace("\n", line_end).encode(encoding)


def test_a_file_without_a_last_line_end_gets_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(PERCENT.rstrip("\n"), "utf-8")
    _fix(path)
    assert path.read_text("utf-8") == FRACTION.rstrip("\n")


@pytest.mark.skipif(sys.platform == "win32", reason="modes are others there")
def test_the_mode_stays_and_links_are_followed(tmp_path: Path) -> None:
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    path.write_text(PERCENT, "utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    assert _fix(link).count == 1
    assert link.is_symlink()
    assert path.read_text("utf-8") == FRACTION
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "link.json"]


def test_only_the_lines_with_a_fix_change(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    one = PERCENT.replace("\n", "") + "\n"
    clean = '{"benchlint":"1"}\n'
    path.write_text(clean + one + "\nnot json\n" + one + clean.rstrip(), "utf-8")
    assert _fix(path).count == 2
    fixed = FRACTION.replace("\n", "") + "\n"
    assert path.read_text("utf-8") == clean + fixed + "\nnot json\n" + fixed + clean.rstrip()


def test_a_diff_writes_nothing_and_can_be_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(PERCENT, "utf-8")
    fix = _fix(path, "diff")
    assert path.read_text("utf-8") == PERCENT
    changed = [line for line in fix.diff.splitlines() if line[0] in "+-"]
    assert len(changed) == 4  # two names, one line out and one in
    if shutil.which("patch"):
        subprocess.run(["patch", path], input=fix.diff.encode(), check=True, capture_output=True)
        assert path.read_text("utf-8") == FRACTION


def test_a_diff_says_where_a_last_line_has_no_end() -> None:
    lines = list(diff("a", "x\u2028y", "x\u2028z"))
    assert lines[-2:] == [
        "-x\u2028y\n\\ No newline at end of file\n",
        "+x\u2028z\n\\ No newline at end of file\n",
    ]


def test_a_hostile_name_cannot_act_in_a_diff() -> None:
    head = next(iter(diff("a\x1b[31m\n+++ b", "x\n", "y\n")))
    assert head == "--- a\\x1b[31m\\n+++ b\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "benchlint: '1'\nruns:\n- id: a\n  speculation: {acceptance_rate: 36.18}\n"),
        ("a.md", f"```benchlint\n{PERCENT}```\n"),
    ],
)
def test_other_languages_are_left_and_that_is_said(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    fix = _fix(path)
    assert fix.count == 0
    assert fix.notices == (f"{path}: BL208 not fixed: --fix writes JSON files only",)
    assert path.read_text("utf-8") == text


def test_a_file_that_changed_meanwhile_is_left() -> None:
    with pytest.raises(UncertainError, match="changed meanwhile"):
        rewritten(b"other", {0: Fixed("before", "after", 1)})
    with pytest.raises(UncertainError, match="changed meanwhile"):
        rewritten(b"before", {3: Fixed("before", "after", 1)})


def test_a_file_that_cannot_be_replaced_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.json"
    path.write_text(PERCENT, "utf-8")
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        _fix(path)
    assert path.read_text("utf-8") == PERCENT
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
