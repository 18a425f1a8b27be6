"""Entry point of the `benchlint` command and of `python -m benchlint`."""

from __future__ import annotations


def main() -> None:
    """Run the command line; ends the process with the command's exit code."""
    from benchlint.app import app

    app(prog_name="benchlint")


if __name__ == "__main__":
    main()
