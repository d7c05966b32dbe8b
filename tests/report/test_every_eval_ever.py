"""Records of Every Eval Ever, held against the JSON Schema 0.3.0 of that format.

Beside the schema, its checks demand finite scores within their bounds, and that `additional_details` of a model say how
it was deployed and whether its weights are open.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

import equipoise
from equipoise.assets.fetch import _pip_download
from equipoise.errors import AssetUnavailable, InputError
from equipoise.report.every_eval_ever import SCHEMA_VERSION
from equipoise.runs.run import Run

WHEEL, SCHEMA = "every-eval-ever==0.3.0", "every_eval_ever/schemas/eval.schema.json"


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The format's own JSON Schema, out of the wheel of the package that publishes it. Nothing of it is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    try:
        _pip_download(WHEEL, folder)
    except AssetUnavailable as problem:
        pytest.skip(f"The schema cannot be had: {problem}")
    (wheel,) = folder.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        schema = orjson.loads(archive.read(SCHEMA))
    assert schema["version"] == SCHEMA_VERSION
    return jsonschema.Draft7Validator(schema)


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


def test_a_record_fits_the_schema_and_its_scores_lie_within_their_limits(
    run: Run, validator: Any, tmp_path: Path
) -> None:
    record = export(run, tmp_path)
    validator.validate(record)
    details = record["model_info"]["additional_details"]
    assert details["deployment_type"] in ("self_deployed", "externally_managed", "unknown")
    assert details["model_availability"] in ("open_weights", "closed_weights", "unknown")
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


def test_what_has_no_interval_has_no_level(validator: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum"], out=path, sample=6)
    record = export(Run.open(path), tmp_path)
    validator.validate(record)
    levels = [r for r in record["evaluation_results"] if r["metric_config"]["score_type"] == "levels"]
    assert [level["score_details"]["score"] for level in levels] == [-1] * len(levels)
    assert all("confidence_interval" not in str(r["score_details"]) for r in record["evaluation_results"])


def test_details_that_have_no_value_are_left_out(run: Run, tmp_path: Path) -> None:
    for result in export(run, tmp_path, probe="jobs_lum")["evaluation_results"]:
        read = result["generation_config"]["additional_details"]
        about = result["source_data"]["additional_details"]
        assert read.keys() == {"reading", "detector"}, "no judge was asked"
        assert about.keys() == {"probe", "version", "parameters"}, "the probe has no corpus"


def test_only_metrics_have_this_format(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="metrics only"):
        export(run, tmp_path, what="attempts")
    assert {r["evaluation_name"] for r in export(run, tmp_path, probe="jobs_lum")["evaluation_results"]} == {
        "equipoise.jobs_lum"
    }
