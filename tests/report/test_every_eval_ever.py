"""Records of Every Eval Ever. SCHEMA says in our words what version 0.3.0 of that format demands of such a record.

Beside the JSON Schema, its checks demand finite scores within their bounds, and that `additional_details` of a model
say how it was deployed and whether its weights are open.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

import equipoise
from equipoise.errors import InputError
from equipoise.runs.run import Run

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
BOUND = {"anyOf": [NUMBER, {"enum": ["Infinity", "-Infinity"]}]}


def demand(**properties: Any) -> dict[str, Any]:
    """An object that must have these members."""
    return {"type": "object", "required": list(properties), "properties": properties}


CONTINUOUS = demand(score_type={"const": "continuous"}, min_score=BOUND, max_score=BOUND)
LEVELS = demand(score_type={"const": "levels"}, level_names={"type": "array", "items": TEXT}, has_unknown_level=FLAG)
METRIC = {
    **demand(lower_is_better=FLAG),
    "properties": {
        "lower_is_better": FLAG,
        **dict.fromkeys(("evaluation_description", "metric_id", "metric_name", "metric_kind"), TEXT),
    },
}
INTERVAL = demand(lower=NUMBER, upper=NUMBER)
INTERVAL["properties"] |= {"confidence_level": {"type": "number", "minimum": 0, "maximum": 1}, "method": TEXT}
UNCERTAINTY = {
    "type": "object",
    "properties": {"confidence_interval": INTERVAL, "num_samples": {"type": "integer"}},
}
MODEL_DETAILS = demand(
    deployment_type={"enum": ["self_deployed", "externally_managed", "unknown"]},
    model_availability={"enum": ["open_weights", "closed_weights", "unknown"]},
)
RESULT = demand(
    evaluation_name=TEXT,
    source_data={
        **demand(dataset_name=TEXT, source_type={"const": "other"}),
        "properties": {"additional_details": TEXTS},
    },
    metric_config={"allOf": [METRIC, {"anyOf": [CONTINUOUS, LEVELS]}]},
    score_details={
        **demand(score=NUMBER),
        "properties": {"score": NUMBER, "details": TEXTS, "uncertainty": UNCERTAINTY},
    },
    generation_config={
        "type": "object",
        "properties": {
            "additional_details": TEXTS,
            "generation_args": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "temperature": NUMBER,
                    "top_p": NUMBER,
                    "max_tokens": {"type": "integer", "minimum": 1},
                    "execution_command": TEXT,
                },
            },
        },
    },
)
SCHEMA = demand(
    schema_version={"const": "0.3.0"},
    evaluation_id=TEXT,
    retrieved_timestamp={"type": "string", "pattern": r"^\d+$"},
    source_metadata=demand(
        source_type={"enum": ["documentation", "evaluation_run"]},
        source_organization_name=TEXT,
        evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
    ),
    eval_library=demand(name=TEXT, version=TEXT),
    model_info=demand(name=TEXT, id=TEXT, additional_details={"allOf": [TEXTS, MODEL_DETAILS]}),
    evaluation_results={"type": "array", "items": RESULT, "minItems": 1},
)
SCHEMA["properties"]["evaluation_timestamp"] = TEXT
SCHEMA["additionalProperties"] = False


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One probe that has a D, one with unbounded values, and one with too few items for an interval."""
    path = tmp_path_factory.mktemp("eee") / "run.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum", "salary_advice"], suite="ci", out=path, sample=30)
    return Run.open(path)


def export(run: Run, folder: Path, **options: Any) -> dict[str, Any]:
    equipoise.export(run, folder / "record.json", form="every-eval-ever", **options)
    record: dict[str, Any] = orjson.loads((folder / "record.json").read_bytes())
    return record


def test_a_record_fits_the_schema_and_its_scores_lie_within_their_limits(run: Run, tmp_path: Path) -> None:
    record = export(run, tmp_path)
    jsonschema.validate(record, SCHEMA)
    for result in record["evaluation_results"]:
        config, score = result["metric_config"], result["score_details"]["score"]
        if config["score_type"] == "continuous":
            assert config["min_score"] <= score <= float(config["max_score"])
        else:
            assert score in range(-1, len(config["level_names"]))


def test_every_marked_metric_is_a_distance_and_a_level(run: Run, tmp_path: Path) -> None:
    found = {each["evaluation_result_id"]: each for each in export(run, tmp_path)["evaluation_results"]}
    for probe in run.planned:
        result = run.result(probe)
        for name, bands in result.setup.probe.marked_metrics().items():
            estimate, mark = result.metrics[name], result.marks[name]
            distance = found.pop(f"equipoise.{probe}.{name}.distance")["score_details"]
            level = found.pop(f"equipoise.{probe}.{name}.mark")["score_details"]
            assert mark is not None
            assert distance["score"] == pytest.approx(abs(estimate.value - bands.centre))
            interval = distance["uncertainty"]["confidence_interval"]
            assert 0 <= interval["lower"] <= distance["score"] <= interval["upper"]
            assert (interval["lower"] == 0) == (estimate.low <= bands.centre <= estimate.high)
            assert distance["uncertainty"]["num_samples"] == estimate.n
            assert level["score"] == ("ABCD".index(mark.mark) if mark.mark else -1)
            assert float(level["details"]["value"]) == estimate.value
    assert found == {}


def test_what_has_no_interval_has_no_level(tmp_path: Path) -> None:
    path = tmp_path / "few.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum"], out=path, sample=6)
    record = export(Run.open(path), tmp_path)
    jsonschema.validate(record, SCHEMA)
    levels = [r for r in record["evaluation_results"] if r["metric_config"]["score_type"] == "levels"]
    assert [level["score_details"]["score"] for level in levels] == [-1] * len(levels)
    assert all("confidence_interval" not in str(r["score_details"]) for r in record["evaluation_results"])


def test_only_metrics_have_this_format(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="metrics only"):
        export(run, tmp_path, what="attempts")
    assert {r["evaluation_name"] for r in export(run, tmp_path, probe="jobs_lum")["evaluation_results"]} == {
        "equipoise.jobs_lum"
    }
