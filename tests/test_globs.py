"""Globs: what they match, and that no pattern takes long."""

from __future__ import annotations

import itertools
from fnmatch import fnmatch
from pathlib import Path

import pytest

from benchlint.checker.globs import covers, expanded, is_glob, parts_of


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("a", "a", True),
        ("a", "a/b", True),
        ("a", "b/a", False),
        ("**/a", "a", True),
        ("**/a", "b/c/a", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("**", "a", True),
        ("**/**/a", "a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/c/d/b/e", True),
        ("a/**/b", "a/c", False),
        ("*", ".hidden", True),
        ("a**b", "axb", True),
        ("[z-a]", "b", False),
        ("[!a]", "b", True),
        ("[", "[", True),
        ("", "a", False),
    ],
)
def test_what_a_pattern_covers(pattern: str, path: str, matched: bool) -> None:
    assert covers(parts_of(pattern), path) is matched


def test_a_whole_path_is_not_only_a_folder_of_it() -> None:
    assert covers(parts_of("a"), "a/b")
    assert not covers(parts_of("a"), "a/b", whole=True)


def plainly(parts: list[str], names: list[str]) -> bool:
    """The same by trying everything."""
    if not parts:
        return not names
    first, *others = parts
    if first == "**":
        rests = [names[i:] for i in range(len(names) + 1)]
        return any(plainly(others, rest) for rest in rests) if others else bool(names)
    return bool(names) and fnmatch(names[0], first) and plainly(others, names[1:])


def test_stars_match_as_if_all_was_tried() -> None:
    patterns = [list(each) for each in itertools.product(("**", "a", "*"), repeat=3)]
    paths = [list(each) for n in range(1, 5) for each in itertools.product("ab", repeat=n)]
    for parts, names in itertools.product(patterns, paths):
        pattern, path = "/".join(parts), "/".join(names)
        assert covers(parts_of(pattern), path, whole=True) is plainly(parts, names), (pattern, path)


@pytest.mark.parametrize("pattern", ["*a" * 300 + "b", "**/" * 300 + "b", "*/" * 300 + "b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert not covers(parts_of(pattern), "/".join(["a" * 200] * 40))


def test_a_path_without_magic_is_no_glob() -> None:
    assert [is_glob(each) for each in ("a.json", "a*", "a?", "[a]")] == [False, True, True, True]


class TestExpanded:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("a.json", "b/c.json", "b/.d/e.json", "b/f/g.json", ".h.json"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
        (tmp_path / "b" / "up").symlink_to(tmp_path)
        (tmp_path / "b" / "here").symlink_to(tmp_path / "b")
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("pattern", "paths"),
        [
            ("*.json", ["a.json"]),
            ("**/*.json", ["a.json", "b/c.json", "b/f/g.json"]),
            ("b/**/*.json", ["b/c.json", "b/f/g.json"]),
            ("b/**", ["b/c.json", "b/f", "b/f/g.json", "b/here", "b/up"]),
            ("**/.d/*", ["b/.d/e.json"]),
            ("x/**", []),
        ],
    )
    def test_links_to_folders_are_named_and_not_followed(
        self, pattern: str, paths: list[str]
    ) -> None:
        assert expanded(pattern) == paths

    def test_paths_from_the_root_stay_so(self) -> None:
        top = Path.cwd().as_posix()
        assert expanded(f"{top}/**/g.json") == [f"{top}/b/f/g.json"]
