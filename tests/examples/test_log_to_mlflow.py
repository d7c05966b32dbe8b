"""The example that logs results to MLflow, with a small stand-in for MLflow."""

from __future__ import annotations

import runpy
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import equipoise

EXAMPLE = Path(__file__).parents[2] / "examples" / "log_to_mlflow.py"


class StandIn(ModuleType):
    """What the example uses of MLflow, which refuses what is no number and no short text, as MLflow does."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.metrics: dict[str, float] = {}
        self.tags: dict[str, Any] = {}
        self.artifacts: list[str] = []

    @contextmanager
    def start_run(self, run_name: str) -> Any:
        self.tags["name"] = run_name
        yield

    def log_metrics(self, metrics: dict[str, float]) -> None:
        assert all(float(value) == value for value in metrics.values())
        self.metrics |= metrics

    def set_tag(self, name: str, value: Any) -> None:
        self.tags[name] = str(value)

    def log_artifact(self, path: str) -> None:
        self.artifacts.append(Path(path).name)


def test_values_intervals_and_marks_are_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, mlflow = tmp_path / "run.equipoise", StandIn()
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum"], sample=30, out=run)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(run)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    result = equipoise.Run.open(run).result("jobs_lum")
    for name, estimate, mark in result.marked():
        logged = [mlflow.metrics[f"jobs_lum.{name}{end}"] for end in ("", ".low", ".high")]
        assert logged == [estimate.value, estimate.low, estimate.high]
        assert mlflow.tags[f"jobs_lum.{name}.mark"] == str(mark)
    assert mlflow.tags["name"] == "simulated/stereotyping"
    assert mlflow.artifacts == ["run.equipoise"]


def test_mlflow_itself_takes_what_is_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mlflow = pytest.importorskip("mlflow")
    run = tmp_path / "run.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum"], sample=30, out=run)
    # A folder of files needs no server and no database.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(run)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    (logged,) = mlflow.search_runs(output_format="list")
    assert logged.data.tags["jobs_lum.stereotype_rate.mark"]
    assert logged.data.metrics["jobs_lum.stereotype_rate"] > 0
