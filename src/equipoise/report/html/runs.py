"""What a report is made of: each run as a plain value, from a run file or from anywhere else."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import polars as pl

from equipoise.measuring.result import Audit
from equipoise.report.text import describe_reasoning
from equipoise.runs.file.settings import WRITTEN_BY_THE_FILE
from equipoise.runs.run import Run
from equipoise.schema import replace_surrogates


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """One run of a model as the report shows it. The settings hold no secret."""

    name: str
    """The name of the run file."""
    created: str
    """ISO 8601."""
    equipoise: str
    """The version that made the run."""
    results: Audit
    transcripts: Callable[[str], pl.DataFrame] = field(repr=False)
    """Of a probe: `id`, `item`, `repetition`, `prompt`, `answer`, `status`, the covariates, `label` or the counts."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What a reader must know, for example that another model was served than was asked for."""
    command: str = ""
    """The command line that repeats the run, if there is one."""
    correct_detector: bool = False
    """Whether the marked metrics are also shown corrected for the error of the detector."""


def describe_run(run: Run, *, correct_detector: bool = False) -> ReportedRun:
    """What the report shows of a run file."""
    settings = run.settings
    return ReportedRun(
        name=run.path.name,
        created=settings.created,
        equipoise=settings.equipoise,
        results=run.results(),
        transcripts=run.transcripts,
        settings={name: value for name, value in settings.to_json().items() if name not in WRITTEN_BY_THE_FILE},
        notes=(*settings.notes, *islice(describe_reasoning(run), 1)),
        command=_run_command(run),
        correct_detector=correct_detector,
    )


def name_models(runs: Sequence[ReportedRun]) -> list[str]:
    """A different name for each run: its model, with the file or a number where several runs are of one model."""
    models = [replace_surrogates(run.results.model) for run in runs]
    names = [
        model if models.count(model) == 1 else f"{model} ({replace_surrogates(run.name)})"
        for model, run in zip(models, runs, strict=True)
    ]
    used: Counter[str] = Counter()
    unique = []
    for name in names:
        used[name] += 1
        unique.append(name if names.count(name) == 1 else f"{name} {used[name]}")
    return unique


def _run_command(run: Run) -> str:
    """The command line that asks the same again; empty for imported answers and for functions, which it cannot ask."""
    settings, sampling = run.settings, run.settings.sampling
    if settings.imported or "function" in settings.model_settings:
        return ""
    options = {
        "--suite": settings.suite,
        "--base-url": settings.base_url,
        "--temperature": sampling.temperature,
        "--top-p": sampling.top_p,
        "--max-tokens": sampling.max_tokens,
        "--model-seed": sampling.seed,
        "--system": sampling.system,
        "--judge": settings.judge.model if settings.judge else None,
        "--judge-base-url": settings.judge.base_url if settings.judge else None,
    }
    words = ["equipoise", "run", run.model, *(word for name in run.planned for word in ("--probe", name))]
    words += [str(word) for name, value in options.items() if value is not None for word in (name, value)]
    words += ["--probabilities"] if any(planned.asking.probabilities for planned in run.planned.values()) else []
    words += [word for name in settings.model_settings.get("headers", ()) for word in ("--header", f"{name}=…")]
    return shlex.join(words)
