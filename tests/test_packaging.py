"""What is installed is what is in the tree: setuptools drops unlisted packages in silence."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"][
    "package-dir"
]
#: Files that are for whoever reads the tree.
NOT_INSTALLED = {".pyc"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _tree() -> Iterator[str]:
    """Every file below a mapped folder, under its installed name."""
    roots = {folder: name for name, folder in FOLDERS.items()}
    for folder in ("cli", "checker", "reproducers", "schemas", "templates"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in NOT_INSTALLED:
                inside = path.relative_to(ROOT / folder)
                yield f"{roots[folder].replace('.', '/')}/{inside.as_posix()}"


def test_the_wheel_holds_the_tree(wheel: zipfile.ZipFile) -> None:
    installed = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert installed == set(_tree())


def test_the_wheel_is_typed_and_licensed(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "benchlint/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_no_folder_shadows_the_package() -> None:
    assert not (ROOT / "benchlint").exists()
