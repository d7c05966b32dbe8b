"""Whether what a command prints as JSON fits its schema."""

from __future__ import annotations

import functools
from typing import Any, get_args

import jsonschema
from output_shapes import output_schema

from equipoise.cli.output import Kind

KINDS: dict[str, Kind] = {f"equipoise/{kind}": kind for kind in get_args(Kind)}


def check_output(printed: dict[str, Any]) -> Kind:
    """Fail unless a JSON value fits the schema that it names, and has nothing that is not in it; its kind."""
    kind = KINDS[printed["schema"]]
    rest = {name: value for name, value in printed.items() if name != "schema"}
    published, closed = _validators(kind)
    problems = [*published.iter_errors(printed), *closed.iter_errors(rest)]
    assert not problems, problems
    return kind


@functools.cache
def _validators(kind: Kind) -> tuple[Any, Any]:
    """One for the schema as it is published, and one that refuses whatever a part of it does not name."""
    schema = output_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    parts = schema["$defs"]
    only = {name: {**part, "additionalProperties": False} for name, part in parts.items() if "properties" in part}
    closed = {"$ref": schema["$ref"], "$defs": parts | only}
    return jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(closed)
