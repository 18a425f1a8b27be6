"""The published JSON Schema of the report format, generated from the models.

`python -m benchlint.checker.json_schema` prints it; `make docs` writes it into schemas/.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from benchlint.checker.model import Report

DRAFT = "https://json-schema.org/draft/2020-12/schema"

#: A name and no address: nothing is served there, and nothing fetches it.
ID = "urn:benchlint:report:1"

TITLE = "A benchmark report of speculative decoding, version 1"

DESCRIPTION = (
    "What was set up once, named configurations and workloads, runs that join one of each with "
    "conditions and results, quality, and claims about the runs. Units are in the field names, "
    "shares are fractions of 1, and what is unknown is left out. The schema sets no bounds on "
    "values: those are rules of benchlint, which can explain. Only numbers that no quantity "
    "reaches, over 1e60 or under 1e-60 in size and not 0, are refused without being named here."
)


class _Generator(GenerateJsonSchema):
    """Without what says nothing: titles made from field names, and null as the default."""

    def field_title_should_be_set(self, _: object) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if "default" in made and made["default"] is None:
            del made["default"]
        return made


def report_schema() -> dict[str, Any]:
    """The schema as a dictionary, with the report itself at its root."""
    made = Report.model_json_schema(schema_generator=_Generator)
    head = {"$schema": DRAFT, "$id": ID, "title": TITLE, "description": DESCRIPTION}
    definitions = {"$defs": made.pop("$defs")}
    return {**head, **{k: v for k, v in made.items() if k not in head}, **definitions}


def report_schema_text() -> str:
    """The schema as it stands in schemas/report-v1.json."""
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(report_schema_text())
