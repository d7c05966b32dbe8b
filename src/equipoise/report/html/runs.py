"""What a report is made of: each run as a plain value, from a run file or from anywhere else."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import polars as pl
from msgspec.structs import replace

from equipoise.measuring.audit import Audit
from equipoise.measuring.exam import ExamResult
from equipoise.report.html.provenance import Facts, describe_provenance
from equipoise.report.text import describe_reasoning, number_repeated
from equipoise.runs.run import Run
from equipoise.schema import replace_surrogates


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
        settings={**settings.spec.to_json(), "model_settings": settings.model_settings},
        notes=(*settings.notes, *islice(describe_reasoning(run), 1)),
        command=run_command(run),
        provenance=describe_provenance(run),
        digest="" if run.temporary else run.provenance.digest,
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


def run_command(run: Run) -> str:
    """The command line that asks the same again; empty for imported answers and for functions, which it cannot ask."""
    if run.settings.imported or run.settings.is_function:
        return ""
    return shlex.join(replace(run.settings.spec, probes=tuple(run.planned)).command())
