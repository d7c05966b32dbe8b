"""Whether what a command prints as JSON fits its schema."""

from __future__ import annotations

import functools
from typing import Any

import jsonschema
from output_shapes import output_schema


def check_output(printed: dict[str, Any]) -> str:
    """Fail unless a JSON value fits the schema that it names, and has nothing that is not in it; its kind."""
    kind = str(printed["schema"]).removeprefix("equipoise/")
    problems = list(_validator(kind).iter_errors(printed))
    assert not problems, problems
    return kind


@functools.cache
def _validator(kind: str) -> Any:
    schema = output_schema(kind, closed=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
