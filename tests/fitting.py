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
    problems = list(_validator(kind).iter_errors(printed))
    assert not problems, problems
    return kind


@functools.cache
def _validator(kind: Kind) -> Any:
    schema = output_schema(kind, closed=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
