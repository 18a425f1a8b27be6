"""Which files are meant by paths, folders and globs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchlint.checker.files import HEAD_BYTES, Found, Globs, find, is_report, looks_like_report
from benchlint.reproducers.journal import Header, line_of

REPORT = '{"benchlint": "1"}'


@dataclass
class Rules:
    """Include and exclude of a configuration."""

    include: Globs
    exclude: Globs


def _find(*paths: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> list[str]:
    folder = str(Path.cwd())
    rules = Rules(Globs(folder, include), Globs(folder, exclude))
    return [Path(each.path).as_posix() for each in find(paths, lambda _: rules)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reports and with what is none, which is the current one."""
    reports = ("a.json", "b/c.json", "b/d/e.json", ".hidden/f.json", "node_modules/g.json")
    for name in reports:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(REPORT)
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "note.txt").write_text(REPORT)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "env" / "h.json").write_text(REPORT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestFolder:
    def test_reports_are_found_in_order(self) -> None:
        assert _find(".") == ["a.json", "b/c.json", "b/d/e.json"]

    def test_a_named_file_is_taken_whatever_it_holds(self) -> None:
        assert _find("note.txt", "package.json") == ["note.txt", "package.json"]

    def test_a_path_that_is_not_there_is_kept(self) -> None:
        assert _find("absent.json") == ["absent.json"]

    def test_globs_are_expanded(self) -> None:
        assert _find("*.json") == ["a.json", "package.json"]
        assert _find("**/*.json")[:3] == ["a.json", "b/c.json", "b/d/e.json"]
        assert _find("b*") == ["b/c.json", "b/d/e.json"]
        assert _find("nothing*.json") == []

    def test_each_file_comes_once(self) -> None:
        assert _find("b", "b/c.json", "./b/../a.json", "a.json") == [
            "b/c.json",
            "b/d/e.json",
            "b/../a.json",
        ]

    def test_excluded_files_and_folders_are_left_out(self) -> None:
        assert _find(".", exclude=("b",)) == ["a.json"]
        assert _find(".", exclude=("d/",)) == ["a.json", "b/c.json"]
        assert _find(".", exclude=("b/**",)) == ["a.json"]

    def test_a_named_file_is_not_excluded(self) -> None:
        assert _find("b/c.json", exclude=("b",)) == ["b/c.json"]

    def test_included_files_are_taken_whatever_they_hold(self) -> None:
        assert _find(".", include=("*.txt", "b/*.json")) == ["note.txt", "b/c.json"]


def test_a_name_with_brackets_is_first_taken_as_it_is(folder: Path) -> None:
    (folder / "x[1].json").write_text(REPORT)
    assert _find("x[1].json") == ["x[1].json"]


def test_links_to_folders_do_not_go_in_circles(folder: Path) -> None:
    (folder / "b" / "loop").symlink_to(folder)
    assert _find("b") == ["b/c.json", "b/d/e.json"]


def test_links_in_a_circle_are_passed_over(folder: Path) -> None:
    (folder / "b" / "x.json").symlink_to("y.json")
    (folder / "b" / "y.json").symlink_to("x.json")
    assert _find("b") == ["b/c.json", "b/d/e.json"]
    assert _find("b/x.json") == ["b/x.json"]


@pytest.mark.usefixtures("folder")
def test_a_name_that_no_file_can_have_is_kept() -> None:
    assert _find("x" * 5_000) == ["x" * 5_000]


def test_a_glob_over_folders_names_each_file_once(folder: Path) -> None:
    (folder / "b" / "loop").symlink_to(folder)
    (folder / "b" / "here").symlink_to("../b")
    assert _find("b/**") == ["b/c.json", "b/d/e.json"]
    assert _find("**/e.json") == ["b/d/e.json"]


def test_a_folder_that_cannot_be_read_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path) == Path("b"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    rules = Rules(Globs(), Globs())
    found = list(find(["b"], lambda _: rules))
    assert found == [Found("b", named=True, problem="the folder cannot be read: Permission denied")]
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("a.json", '{"benchlint": "1"}', True),
        ("a.json", '{"runs": [], "configurations": {}}', True),
        ("a.json", '{"runs": []}', False),
        ("launch.json", '{"configurations": []}', False),
        ("broken.json", '{"benchlint": "1", ', True),
        ("a.json", '["benchlint"]', False),
        ("a.yaml", "benchlint: '1'\nruns: []\n", True),
        ("a.yaml", "name: x\nbenchlint-like: 1\n", False),
        (".gitlab-ci.yml", "benchlint:\n  script: [benchlint check .]\n", False),
        ("a.yml", "benchlint: # a job\n  image: python\ntarget: x\n", False),
        ("a.json", '{"benchlint": {"extends": ".job"}}', False),
        ("a.toml", '[benchlint]\nselect = ["BL2"]\n', False),
        ("a.toml", "[[runs]]\n[target]\n", True),
        ("a.yml", "runs:\n- id: a\ntarget: {name: x}\n", True),
        ("a.toml", 'benchlint = "1"\n', True),
        ("a.toml", '[[runs]]\nid = "a"\n[target]\nname = "x"\n', True),
        ("a.toml", '[tool.benchlint]\nselect = ["BL2"]\n', False),
        ("README.md", "# x\n\n```benchlint\n{}\n```\n", True),
        ("README.md", "Run `benchlint check`.\n\n```json\n{}\n```\n", False),
        ("a.jsonl", '{"benchlint": "1"}\n{"benchlint": "1"}\n', True),
    ],
)
def test_what_looks_like_a_report(tmp_path: Path, name: str, text: str, taken: bool) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert looks_like_report(str(path)) is taken


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml", "a.md"])
@pytest.mark.parametrize("text", ["\n", " ", "`", '"runs"', "runs ", "[", '"runs"\n', "   ```"])
def test_no_text_takes_long_to_look_at(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text * (HEAD_BYTES // len(text)))
    assert not looks_like_report(str(path))


def test_utf_16_looks_like_a_report_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(REPORT, "utf-16")
    assert looks_like_report(str(path))


def test_a_journal_carries_a_report_and_is_none(tmp_path: Path) -> None:
    header = line_of(Header("0", "0", 0.0)).decode()
    path = tmp_path / "samples.jsonl"
    path.write_text(f'{header}{{"kind": "plan", "plan": {{"benchlint": "1"}}}}\n', "utf-8")
    assert not looks_like_report(str(path))


def test_only_objects_are_reports() -> None:
    assert is_report({"benchlint": "9"})
    assert not is_report(["benchlint"])
    assert not is_report({"extensions": {"benchlint": 1}})


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("*.json", "deep/down/a.json", True),
        ("/*.json", "a.json", True),
        ("results/*.json", "results/a.json", True),
        ("results/*.json", "results/b/a.json", False),
        ("results/**/*.json", "results/a.json", True),
        ("results/**/*.json", "results/b/c/a.json", True),
        ("results", "results/b/c/a.json", True),
        ("results/", "x/results/c.json", True),
        ("re?ults/[ab].json", "results/a.json", True),
        ("results/[!ab].json", "results/a.json", False),
        ("a.json", "aXjson", False),
        ("*.json", "../a.json", True),
        ("./results/*", "results/a.json", True),
    ],
)
def test_globs(pattern: str, path: str, matched: bool) -> None:
    root = str(Path("/root/folder"))
    assert Globs(root, (pattern,)).match(str(Path(root, path))) is matched


def test_no_pattern_matches_nothing() -> None:
    assert not Globs("", ()).match("a.json")
