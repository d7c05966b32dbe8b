"""What `--json` prints, by its name and version: the shapes from which `generate.py` makes `docs/schemas/`.

A shape is written as the value looks: a dict has these fields, `[one]` is a list of any length, `{"*": one}` a table
with any names, and a type is what msgspec makes of it. The commands do not need this; tests/cli/test_output_schemas.py
holds what they print against it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from equipoise.answers.score import Read
from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.differences import MetricComparison
from equipoise.measuring.gate import Check, Outcome
from equipoise.measuring.result import Matching
from equipoise.measuring.selection import SelectionRow
from equipoise.runs.estimate import ProbeEstimate
from equipoise.runs.spec import RunRecord
from equipoise.schema import Bounds, Estimate

TEXT, NUMBER = str | None, float | None
LETTER = Literal["A", "B", "C", "D"] | None


def fields(shape: Any, names: str) -> dict[str, Any]:
    """Fields of these names that all have one shape."""
    return dict.fromkeys(names.split(), shape)


COUNTS, ESTIMATES = {"*": int}, {"*": Estimate}
MARKS = fields(LETTER, "mark best worst")
METRIC = {"summary": str, "references": {"*": float}, "limits": list[float] | None}
PROBE = fields(str, "name title summary use_case size") | fields(int, "version max_tokens")
PROBE |= {"corpora": [str], "parameters": dict[str, Any], "metrics": {"*": METRIC}, "slices": [str]}
SELECTION = fields(float, "fair fair_low best_case best_case_p")
SELECTION |= {"by": str, "missing_answers": int, "unseen": [str], "unfair": bool, "categories": [SelectionRow]}
RESULT = fields(str, "probe reading detector equipoise") | fields(TEXT, "judge corpus corpus_sha256")
RESULT |= {"version": int, "items": int, "level": float, "looks": [int], "parameters": dict[str, Any]}
RESULT |= {
    "metrics": ESTIMATES,
    "whole_items": ESTIMATES,
    "bounds": {"*": Bounds},
    "generalised": {"*": Generalisation},
}
RESULT |= {"marks": {"*": {**MARKS, "undecided": bool, "low_coverage": NUMBER}}, "coverage": {"*": COUNTS}}
RESULT |= {"matching": (Matching, None), "selection": [SELECTION]}
WORD = fields(str, "word side") | {"answers": int} | fields(float, "log_odds low high first_share second_share z p q")
WORDS = {"sides": [str], "matched": [str], "answers": int, "tested": int, "words": [WORD]}
EXAM = fields(int, "questions right flips") | {"outcome": str, "p_value": float, "faults": [str]}
EXAM |= {"by_gender": {"*": [int]}}
ASKED = {"model": str, "states": COUNTS, "tokens": fields(int, "prompt completion")}
RUN = ASKED | fields(str, "file answers_origin") | {"settings": RunRecord, "complete": bool}
RUN |= {"judge": ({**ASKED, "exam": {"*": EXAM}}, None)}
RUN |= {"results": {"*": {**RESULT, "other_reading": (RESULT, None), "words": (WORDS, None)}}}
COMPARED_RUN = fields(str, "name model file answers_origin") | {"complete": bool}
COMPARED_PROBE = fields(int, "version prompts items") | {"corpus": TEXT, "metrics": {"*": MetricComparison}}
PAIR = {"names": [str], "probes": {"*": COMPARED_PROBE}, "refused": {"*": str}, "notes": [str]}
VERDICT = {
    "model": str,
    "file": str,
    "outcome": Outcome,
    "passed": bool,
    "checks": [Check],
    "notes": [str],
    "undecided": TEXT,
}
COSTS = fields(str, "model suite") | fields(int, "prompts attempts prompt_tokens completion_tokens")
COSTS |= {"probes": [ProbeEstimate], "cost": NUMBER, "seconds": float}
PROVED = {"file": str, "kind": Literal["run", "report"], "digest": str} | fields([str], "proved not_proved problems")
PLACE = fields(TEXT, "path")
ASSET = PLACE | fields(str, "name title file sha256 licence citation homepage") | {"size": int, "sources": [str]}
SHAPES: dict[str, Any] = {
    "compare/1": {"runs": [COMPARED_RUN], "comparisons": [PAIR]},
    "data-list/1": {"assets": [ASSET]},
    "estimate/1": COSTS,
    "gate/1": {"outcome": Outcome, "runs": [VERDICT]},
    "probes/1": {"probes": [PROBE]},
    "read/1": Read,
    "run/1": RUN,
    "score/1": RESULT,
    "verify/1": {"files": [PROVED]},
}


def output_schema(kind: str, *, closed: bool = False) -> dict[str, Any]:
    """The JSON Schema of what is printed under this name. A number that cannot be computed is null.

    Fields that it does not name are allowed, unless it is `closed`.
    """
    parts: dict[str, Any] = {}
    shape = _to_schema(SHAPES[kind], parts)
    shape = parts.pop(shape["$ref"].rpartition("/")[2]) if "$ref" in shape else shape
    shape["properties"] = {"schema": {"const": f"equipoise/{kind}"}, **shape["properties"]}
    shape["required"] = ["schema", *shape["required"]]
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **_walk({**shape, "title": f"equipoise/{kind}", "$defs": parts}, closed=closed)}


def _to_schema(shape: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """The schema of a shape; those of named types are added to the parts."""
    if isinstance(shape, tuple):
        return {"anyOf": [_to_schema(one, parts) for one in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": _to_schema(shape[0], parts)}
    if isinstance(shape, dict) and "*" in shape:
        return {"type": "object", "additionalProperties": _to_schema(shape["*"], parts)}
    if isinstance(shape, dict):
        properties = {name: _to_schema(one, parts) for name, one in shape.items()}
        return {"type": "object", "properties": properties, "required": list(shape)}
    (schema,), named = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    parts |= named
    return schema


def _walk(schema: Any, *, closed: bool) -> Any:
    """The same schema, in which null fits wherever a number does that may be a fraction; perhaps closed."""
    if isinstance(schema, list):
        return [_walk(one, closed=closed) for one in schema]
    if not isinstance(schema, dict):
        return schema
    walked = {name: _walk(value, closed=closed) for name, value in schema.items()}
    if schema.get("type") == "number":
        walked["type"] = ["number", "null"]
    if closed and "properties" in schema and schema.get("type") == "object":
        walked["additionalProperties"] = False
    return walked
