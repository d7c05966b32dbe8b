"""The marked metrics of a run as a record of Every Eval Ever, the shared format of the EvalEval coalition.

That format must know whether a lower score is better, and most of our metrics are best in the middle. So each becomes
two scores: its distance from even-handed, and its mark as a level. The value itself stands among the details.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson

from equipoise.authoring import Bands
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.result import Result
from equipoise.report.html.notes import run_command
from equipoise.runs.run import Run
from equipoise.runs.spec import EMBEDDED
from equipoise.schema import Estimate, replace_surrogates

FORM = "every-eval-ever"
SCHEMA_VERSION = "0.3.0"
UNKNOWN_LEVEL = -1
"""The level of a mark that is not decided, as the format wants it."""


def describe_record(run: Run, probes: list[str]) -> dict[str, Any]:
    """The record of a run. What is not computable is left out: a score must be a number."""
    settings = run.record
    model, embedded = replace_surrogates(run.model), run.model.startswith(EMBEDDED)
    details = {
        "deployment_type": "self_deployed" if embedded else "unknown",
        "model_availability": "open_weights" if embedded else "unknown",
        "answers_origin": settings.origin,
        "run_sha256": run.provenance.digest,
    }
    record = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"equipoise/{model}/{_to_epoch(settings.created)}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "equipoise",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "equipoise", "version": settings.equipoise},
        "model_info": {"name": model, "id": model, "additional_details": details},
        "evaluation_results": [score for name in probes for score in _describe_scores(run, run.result(name))],
    }
    if not settings.imported:
        record["evaluation_timestamp"] = _to_epoch(settings.created)
    return record


def _describe_scores(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    """Two scores for each marked metric that is computable: its distance from even-handed, and its mark."""
    metrics = {metric.name: metric for metric in result.setup.probe.metrics}
    for name, estimate, mark in result.marked():
        bands = metrics[name].bands
        if mark is None or bands is None:
            continue
        details = {**asdict(estimate), **mark.to_dict(), "even_handed": bands.centre, "limits": bands.limits}
        farthest = max(abs(end - bands.centre) for end in metrics[name].domain)
        distance = {
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": "Infinity" if math.isinf(farthest) else farthest,
        }
        level = {"score_type": "levels", "level_names": list(MARKS), "has_unknown_level": True}
        uncertainty = _describe_uncertainty(bands, estimate, result.level)
        for kind, configuration, score in (
            ("distance", distance, {"score": bands.distance(estimate.value), "uncertainty": uncertainty}),
            ("mark", level, {"score": UNKNOWN_LEVEL if mark.mark is None else MARKS.index(mark.mark)}),
        ):
            identity = f"equipoise.{result.probe}.{name}.{kind}"
            yield {
                "evaluation_result_id": identity,
                "evaluation_name": f"equipoise.{result.probe}",
                "source_data": _describe_data(result),
                "generation_config": _describe_generation(run, result),
                "metric_config": {
                    "evaluation_description": metrics[name].summary,
                    "metric_id": identity,
                    "metric_name": f"{name}: {kind}",
                    "metric_kind": kind,
                    "lower_is_better": True,
                    **configuration,
                },
                "score_details": {**score, "details": _to_strings(details)},
            }


def _describe_uncertainty(bands: Bands, estimate: Estimate, level: float) -> dict[str, Any]:
    """The interval of the distance: it begins at 0 where that of the value holds the even-handed one."""
    if math.isnan(estimate.low):
        return {"num_samples": estimate.n}
    ends = sorted(bands.distance(end) for end in (estimate.low, estimate.high))
    interval = {
        "lower": 0.0 if estimate.low <= bands.centre <= estimate.high else ends[0],
        "upper": ends[1],
        "confidence_level": level,
        "method": "Taylor linearisation over items",
    }
    return {"confidence_interval": interval, "num_samples": estimate.n}


def _describe_data(result: Result) -> dict[str, Any]:
    details = {
        "probe": result.probe,
        "version": result.setup.probe.version,
        "corpus_sha256": result.setup.corpus_sha256,
        "parameters": result.parameters,
    }
    return {
        "dataset_name": f"equipoise {result.probe}{f' on {result.setup.corpus}' if result.setup.corpus else ''}",
        "source_type": "other",
        "additional_details": _to_strings(details),
    }


def _describe_generation(run: Run, result: Result) -> dict[str, Any]:
    """How the answers were asked for, and how they were read. Of imported answers only the second is known."""
    read = {"reading": result.reading, "detector": result.setup.probe.detector.title, "judge": result.setup.judge}
    described: dict[str, Any] = {"additional_details": _to_strings(read)}
    if not run.record.imported:
        sampling = run.record.spec.sampling
        arguments = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens or result.setup.probe.max_tokens,
            "execution_command": run_command(run) or None,
        }
        described["generation_args"] = {name: value for name, value in arguments.items() if value is not None}
    return described


def _to_strings(values: dict[str, Any]) -> dict[str, str]:
    """Details as the format wants them: text only, and nothing where there is no value."""
    written = {
        name: replace_surrogates(value) if isinstance(value, str) else orjson.dumps(value, default=str).decode()
        for name, value in values.items()
    }
    return {name: text for name, text in written.items() if text != "null"}


def _to_epoch(created: str) -> str:
    """A time in seconds since 1970, as text; as it is if it is no ISO 8601 time."""
    try:
        return str(int(datetime.fromisoformat(created).timestamp()))
    except ValueError:
        return replace_surrogates(created)
