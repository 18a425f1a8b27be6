"""Entry point of the `benchlint` command and of `python -m benchlint`."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line; ends the process with the command's exit code."""
    # pydantic would read the metadata of every installed package in search of plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    from benchlint.app import app

    app(prog_name="benchlint")


if __name__ == "__main__":
    main()
