"""Log the marked metrics of runs to MLflow: python examples/log_to_mlflow.py RUN… (pip install mlflow-skinny)."""

import sys

import mlflow

import equipoise

for path in sys.argv[1:]:
    run = equipoise.Run.open(path)
    with mlflow.start_run(run_name=run.model):
        for probe, result in run.results().items():
            mlflow.set_tag(f"{probe}.version", result.setup.probe.version)
            for name, estimate, mark in result.marked():
                ends = {"": estimate.value, ".low": estimate.low, ".high": estimate.high}
                mlflow.log_metrics({f"{probe}.{name}{end}": value for end, value in ends.items() if value == value})
                mlflow.set_tag(f"{probe}.{name}.mark", str(mark or "not computable"))
        mlflow.log_artifact(path)
