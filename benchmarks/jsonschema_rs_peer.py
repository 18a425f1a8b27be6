"""Validate every JSON file of a folder with jsonschema-rs, as a peer of `benchlint check`.

    python benchmarks/jsonschema_rs_peer.py schema.json folder

It prints a line for each file that does not fit; a program of one's own around this library does
no less.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema_rs


def main(schema: str, folder: str) -> None:
    """Print the first error of each file that has one."""
    validator = jsonschema_rs.validator_for(json.loads(Path(schema).read_text("utf-8")))
    for path in sorted(Path(folder).glob("*.json")):
        tree = json.loads(path.read_text("utf-8"))
        error = next(iter(validator.iter_errors(tree)), None)
        if error is not None:
            print(f"{path}: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
