"""Configuration files: found upwards, read with types, wrong ones refused in one line."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from benchlint.checker.errors import CannotRunError
from benchlint.checker.finding import Severity
from benchlint.checker.profiles import Profile
from benchlint.checker.settings import (
    _KEYS,
    _SUPPRESSION_KEYS,
    DEFAULT_MAX_SIZE_MB,
    FAIL_ON,
    PROFILES,
    Overrides,
    SettingsFinder,
    load,
)

ROOT = Path(__file__).parents[1]

ALL_KEYS = """
select = ["BL2", "unknown-field"]
ignore = "BL204"
profile = "publish"
fail-on = "warning"
max-size-mb = 2.5
include = ["results/*.json"]
exclude = ["old"]
schema = "house.json"
baseline = "known/baseline.json"

[severity]
BL2 = "warning"
BL201 = "error"

[per-file-ignores]
"draft/*" = ["BL201", "BL0"]

[[suppress]]
rule = "percent-for-fraction"
files = ["a.json", "b.json"]
pointer = "/runs[id=x]"
reason = "known"
expires = 2027-01-31

[[suppress]]
rule = "BL0"
reason = "all of them"
expires = "2027-02-01"
"""


def _write(folder: Path, text: str, name: str = "benchlint.toml") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, "utf-8")
    return str(file)


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = load(_write(tmp_path, ALL_KEYS))
    assert settings.selection.select == ("BL2", "BL004")
    assert settings.selection.ignore == ("BL204",)
    assert settings.profile is Profile.PUBLISH
    assert settings.max_bytes == 2_500_000
    assert settings.include.match(str(tmp_path / "results" / "a.json"))
    assert settings.exclude.match(str(tmp_path / "x" / "old" / "a.json"))
    assert settings.schema == str(tmp_path / "house.json")
    assert settings.baseline == str(tmp_path / "known" / "baseline.json")
    assert settings.severity_of("BL201") is Severity.ERROR
    assert settings.severity_of("BL202") is Severity.WARNING
    assert settings.severity_of("BL301") is None
    assert settings.fails(Severity.WARNING)
    assert not settings.fails(Severity.NOTE)


def test_the_schema_of_the_configuration_has_the_same_keys(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "benchlint-toml-v1.json").read_text("utf-8"))
    properties = schema["properties"]
    assert tuple(properties) == _KEYS
    assert tuple(schema["$defs"]["suppression"]["properties"]) == _SUPPRESSION_KEYS
    assert tuple(properties["profile"]["enum"]) == PROFILES
    assert tuple(properties["fail-on"]["enum"]) == FAIL_ON
    assert Draft202012Validator(schema).is_valid(tomllib.loads(ALL_KEYS))
    wrong = ALL_KEYS.replace("reason", "raison")
    assert not Draft202012Validator(schema).is_valid(tomllib.loads(wrong))
    load(_write(tmp_path, ALL_KEYS))
    with pytest.raises(CannotRunError):
        load(_write(tmp_path, wrong))


def test_suppressions_are_read_with_their_place(tmp_path: Path) -> None:
    first, second = load(_write(tmp_path, ALL_KEYS)).suppressions
    assert (first.rule, first.written, first.reason) == ("BL208", "percent-for-fraction", "known")
    assert first.expires == date(2027, 1, 31)
    assert second.expires == date(2027, 2, 1)
    assert first.location is not None
    assert ALL_KEYS.splitlines()[first.location.line - 1] == "[[suppress]]"
    assert second.location is not None
    assert second.location.line == first.location.line + 7


def test_per_file_ignores_are_for_their_files(tmp_path: Path) -> None:
    settings = load(_write(tmp_path, ALL_KEYS))
    assert settings.selection_for(str(tmp_path / "a.json")).wants("BL201")
    assert not settings.selection_for(str(tmp_path / "draft" / "a.json")).wants("BL201")
    # The longer prefix decides: unknown-field is selected by its whole code.
    assert settings.selection_for(str(tmp_path / "draft" / "a.json")).wants("BL004")


def test_the_table_of_a_pyproject_is_read(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n[tool.benchlint]\nselect = ["BL2"]\n'
    _write(tmp_path, text, "pyproject.toml")
    found = SettingsFinder().for_file(str(tmp_path / "a.json"))
    assert found.selection.select == ("BL2",)


@pytest.mark.parametrize("text", ['[project]\nname = "x"\n', "this is not [TOML"])
def test_a_pyproject_without_our_table_is_passed_over(tmp_path: Path, text: str) -> None:
    _write(tmp_path, 'select = ["BL2"]')
    _write(tmp_path / "sub", text, "pyproject.toml")
    found = SettingsFinder().for_file(str(tmp_path / "sub" / "a.json"))
    assert found.selection.select == ("BL2",)


def test_the_nearest_configuration_holds(tmp_path: Path) -> None:
    _write(tmp_path, 'profile = "publish"')
    _write(tmp_path / "sub", 'profile = "strict"')
    finder = SettingsFinder()
    assert finder.for_file(str(tmp_path / "a.json")).profile is Profile.PUBLISH
    assert finder.for_file(str(tmp_path / "sub" / "a.json")).profile is Profile.STRICT
    assert finder.for_file(str(tmp_path / "sub" / "x" / "y.json")).profile is Profile.STRICT
    assert finder.for_file(str(tmp_path / "other" / "y.json")).profile is Profile.PUBLISH


def test_benchlint_toml_comes_before_pyproject(tmp_path: Path) -> None:
    _write(tmp_path, 'profile = "strict"')
    _write(tmp_path, '[tool.benchlint]\nprofile = "publish"', "pyproject.toml")
    assert SettingsFinder().for_file(str(tmp_path / "a.json")).profile is Profile.STRICT


def test_a_relative_path_is_looked_up_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, 'profile = "strict"')
    monkeypatch.chdir(tmp_path)
    assert SettingsFinder().for_file("a.json").profile is Profile.STRICT


def test_a_configuration_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchlint.checker import settings

    reads: list[str] = []
    real = settings.load
    monkeypatch.setattr(settings, "load", lambda file: (reads.append(file), real(file))[1])
    _write(tmp_path, 'profile = "strict"')
    finder = SettingsFinder()
    for name in ("a.json", "b.json", "sub/c.json", "sub/sub/d.json"):
        finder.for_file(str(tmp_path / name))
    assert len(reads) == 1


def test_no_search_and_a_given_file(tmp_path: Path) -> None:
    _write(tmp_path, 'profile = "strict"')
    other = _write(tmp_path / "other", 'profile = "publish"')
    path = str(tmp_path / "a.json")
    assert SettingsFinder(search=False).for_file(path).profile is Profile.DEFAULT
    assert SettingsFinder(file=other).for_file(path).profile is Profile.PUBLISH


def test_the_command_line_replaces_key_by_key(tmp_path: Path) -> None:
    _write(tmp_path, ALL_KEYS)
    overrides = Overrides(select=("BL3",), fail_on="never", max_size_mb=1.0)
    found = SettingsFinder(overrides).for_file(str(tmp_path / "a.json"))
    assert found.selection.select == ("BL3",)
    assert found.selection.ignore == ("BL204",)
    assert found.fail_on == "never"
    assert not found.fails(Severity.ERROR)
    assert found.max_bytes == 1_000_000
    assert found.profile is Profile.PUBLISH


def test_defaults(tmp_path: Path) -> None:
    found = SettingsFinder(search=False).for_file(str(tmp_path / "a.json"))
    assert found.max_size_mb == DEFAULT_MAX_SIZE_MB
    assert found.fails(Severity.ERROR)
    assert not found.fails(Severity.WARNING)
    assert found.suppressions == ()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\nselct = []", 2, "selct is not a known key; did you mean 'select'?"),
        ("max_size_mb = 1", 1, "did you mean 'max-size-mb'?"),
        ("zzz = 1", 1, "known are select, ignore"),
        ("select = 1", 1, "select should be a list of strings"),
        ('select = ["BL2", 3]', 1, "select should be a list of strings"),
        ('select = ["BL99"]', 1, "select is wrong: there is no rule 'BL99'"),
        ('profile = "publsh"', 1, "not 'publsh'; did you mean 'publish'?"),
        ("profile = 3", 1, "profile should be a string"),
        ('fail-on = "fatal"', 1, "fail-on should be one of error, warning, note, never"),
        ("max-size-mb = 0", 1, "max-size-mb should be a number over 0"),
        ("max-size-mb = true", 1, "max-size-mb should be a number over 0"),
        ("max-size-mb = inf", 1, "max-size-mb should be a number over 0"),
        ("severity = 1", 1, "severity should be a table"),
        ('[severity]\nBL2 = "bad"', 2, "severity.BL2 should be one of error"),
        ('[severity]\nBL999 = "note"', 2, "there is no rule 'BL999'"),
        ("suppress = 1", 1, "suppress should be tables"),
        ('[[suppress]]\nrule = "BL2"', 1, "suppress.reason is required"),
        ('[[suppress]]\nreason = "x"', 1, "suppress.rule is required"),
        ('[[suppress]]\nrule = "BL2"\nreason = " "', 3, "suppress.reason is required"),
        ('[[suppress]]\nrule="BL2"\nreason="x"\nfile="a"', 4, "did you mean 'files'?"),
        ('[[suppress]]\nrule="BL2"\nreason="x"\nexpires="soon"', 4, "a date such as 2027-01-31"),
        ('[[suppress]]\nrule="BL2"\nreason="x"\nexpires=5', 4, "a date such as 2027-01-31"),
        ('[[suppress]]\nrule="BL2"\nreason="x"\npointer="a//b"', 4, "suppress.pointer is wrong"),
        ("select = [", 1, "is not TOML"),
        ("a = 1\na = 2", 2, "is not TOML"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    file = _write(tmp_path, text)
    with pytest.raises(CannotRunError) as caught:
        load(file)
    said = str(caught.value)
    assert said.startswith(f"{file}:{line}:")
    assert message in said
    assert "\n" not in said


def test_lines_are_told_within_a_pyproject(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n\n[tool.benchlint]\nprofile = 1\n'
    with pytest.raises(CannotRunError, match=r"pyproject\.toml:5: profile should be a string"):
        load(_write(tmp_path, text, "pyproject.toml"))


def test_a_file_that_is_absent_or_not_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="No such file"):
        load(str(tmp_path / "absent.toml"))
    (tmp_path / "bad.toml").write_bytes(b'profile = "\xff"')
    with pytest.raises(CannotRunError, match="is not UTF-8"):
        load(str(tmp_path / "bad.toml"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root reads everything")
def test_a_configuration_without_permission_is_told(tmp_path: Path) -> None:
    file = _write(tmp_path, 'profile = "strict"')
    Path(file).chmod(0)
    with pytest.raises(CannotRunError, match="Permission denied"):
        SettingsFinder().for_file(str(tmp_path / "a.json"))
