"""What a report is made of: each run as a plain value, from a run file or from anywhere else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import polars as pl

from equipoise.measuring.audit import Audit
from equipoise.measuring.exam import ExamResult
from equipoise.report.html.provenance import Facts, describe_provenance
from equipoise.report.text import describe_reasoning, number_repeated
from equipoise.runs.file.settings import WRITTEN_BY_THE_FILE
from equipoise.runs.run import Run
from equipoise.runs.suites import find_suites
from equipoise.schema import replace_surrogates

KNOWN_OF_IMPORTS = ("model", "model_settings", "suite")
"""The settings of a run of imported answers that somebody knows."""


class Transcripts(Protocol):
    """Reads the attempts at a probe in parts, whole items each: all, or those at the prompts with these ids.

    Columns: `id`, `item`, `repetition`, `prompt`, `answer`, `status`, the covariates, `label` or the counts.
    """

    def __call__(self, probe: str, among: Sequence[str] | None = None, /) -> Iterable[pl.DataFrame]: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """One run of a model as the report shows it. The settings hold no secret."""

    name: str
    """The name of the run file; empty if it was not kept."""
    created: str
    """ISO 8601."""
    equipoise: str
    """The version that made the run."""
    results: Audit
    transcripts: Transcripts = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What a reader must know, for example that another model was served than was asked for."""
    command: str = ""
    """The command line that repeats the run, if there is one."""
    provenance: Facts = ()
    """Who was asked, when, how, how much, and what failed."""
    digest: str = ""
    """SHA-256 of the content of the run file."""
    exams: Mapping[str, ExamResult] = field(default_factory=dict)
    """How the judge did in its exam, for each probe."""
    reading: str | None = None
    """The reading that was asked for; None: that of the probes."""
    judged: bool = True
    """Whether the verdicts of a judge were used, if there are any."""


def describe_run(run: Run) -> ReportedRun:
    """What the report shows of a run file."""
    settings = run.settings
    return ReportedRun(
        name="" if run.temporary else run.path.name,
        created=settings.created,
        equipoise=settings.equipoise,
        results=run.results(),
        transcripts=run.transcript_batches,
        settings={
            name: value
            for name, value in settings.to_json().items()
            if name not in WRITTEN_BY_THE_FILE and (name in KNOWN_OF_IMPORTS or not settings.imported)
        },
        notes=(*settings.notes, *islice(describe_reasoning(run), 1)),
        command=_run_command(run),
        provenance=describe_provenance(run),
        digest="" if run.temporary else run.provenance.digest or "",
        exams=run.exams,
        reading=run.reading,
        judged=run.judged,
    )


def name_models(runs: Sequence[ReportedRun]) -> list[str]:
    """A different name for each run: its model, with the file or a number where several runs are of one model."""
    models = [replace_surrogates(run.results.model) for run in runs]
    names = [
        model if models.count(model) == 1 else f"{model} ({replace_surrogates(run.name)})"
        for model, run in zip(models, runs, strict=True)
    ]
    return number_repeated(names)


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
        "--extra": json.dumps(dict(sampling.extra)) if sampling.extra else None,
        "--judge": settings.judge.model if settings.judge else None,
        "--judge-base-url": settings.judge.base_url if settings.judge else None,
    }
    command = ["equipoise", "run", run.model, *(word for name in run.planned for word in ("--probe", name))]
    command += [str(word) for name, value in options.items() if value is not None for word in (name, value)]
    command += [word for given in _list_parameters(run) for word in ("--set", given)]
    command += ["--until-certain"] if settings.looks else []
    command += ["--probabilities"] if any(planned.asking.probabilities for planned in run.planned.values()) else []
    command += [word for name in settings.model_settings.get("headers", ()) for word in ("--header", f"{name}=…")]
    return shlex.join(command)


def _list_parameters(run: Run) -> Iterator[str]:
    """The parameters that are not those of the suite, as they are typed: "jobs_lum.sample=6"."""
    suite = find_suites().get(run.settings.suite)
    for name in run.planned:
        setup = run.setup(name)
        usual = setup.probe.resolve(suite.parameters(setup.probe)) if suite else {}
        changed = {key: value for key, value in setup.parameters.items() if key not in usual or usual[key] != value}
        if run.settings.looks:
            changed.pop("sample", None)  # it has grown with the looks
        elif "sample" in changed:
            # Whoever says how many items to draw also sets how often.
            changed["repeat"] = setup.parameters["repeat"]
        for key, value in changed.items():
            yield f"{name}.{key}={value if isinstance(value, str) else json.dumps(value)}"
