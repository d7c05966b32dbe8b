"""What a report is made of: each run as a plain value, with where its answers come from in words."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import polars as pl
from msgspec.structs import replace

from equipoise.measuring.accuracy import ExamResult
from equipoise.measuring.result import Audit
from equipoise.report.text import describe_reasoning, number_repeated
from equipoise.runs.run import Run
from equipoise.runs.spec import RunRecord, to_plain
from equipoise.schema import MEASURED, Status, replace_surrogates

NOT_KNOWN, NOTHING_YET = "not known", "nothing has been answered yet"
ReadTranscripts = Callable[..., Iterable[pl.DataFrame]]
"""Reads the attempts at a probe in parts, whole items each: all, or those at the prompts with these ids.

Columns: `id`, `item`, `repetition`, `prompt`, `answer`, `status`, the covariates, `label` or the counts."""


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
    transcripts: ReadTranscripts = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What a reader must know, for example that another model was served than was asked for."""
    command: str = ""
    """The command line that repeats the run, if there is one."""
    provenance: tuple[tuple[str, str], ...] = ()
    """Who was asked, when, how, how much, and what failed."""
    digest: str = ""
    """SHA-256 of the content of the run file."""
    exams: Mapping[str, ExamResult] = field(default_factory=dict)
    """How the judge did in its exam, for each probe."""
    reading: str | None = None
    """The reading that was asked for; None: that of the probes."""
    judged: bool = True
    """Whether the verdicts of a judge were used, if there are any."""


def report_run(run: Run) -> ReportedRun:
    """What the report shows of a run file."""
    settings = run.settings
    return ReportedRun(
        name="" if run.temporary else run.path.name,
        created=settings.created,
        equipoise=settings.equipoise,
        results=run.results(),
        transcripts=run.transcript_batches,
        settings={**to_plain(settings.spec), "model_settings": settings.model_settings},
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


def describe_provenance(run: Run) -> tuple[tuple[str, str], ...]:
    """Headings with what an auditor wants to know."""
    settings, found, attempts = run.settings, run.provenance, f"{run.ended:,} of {run.size:,} planned attempts"
    prompts, answers = found.usage
    if settings.imported:
        served, how = NOT_KNOWN, f"{NOT_KNOWN}; the prompts are those of the suite {settings.spec.suite}, as below"
        when, tokens = f"{NOT_KNOWN}; imported {settings.created} (UTC)", f"tokens are {NOT_KNOWN}"
    else:
        answered = [
            f"{entry.model or 'no name was given'}{f', fingerprint {entry.fingerprint}' if entry.fingerprint else ''}: "
            f"{entry.attempts:,} attempts"
            for entry in found.served
        ]
        served, how = "; ".join(answered) or "nobody yet", "; ".join(describe_settings(run))
        ended = f"first attempt ended {found.first}, last {found.last}" if found.first else NOTHING_YET
        when = f"planned {settings.created}; {ended} (UTC)"
        counted = prompts or answers
        tokens = f"{prompts:,} tokens of prompts, {answers:,} of answers" if counted else "tokens were not counted"
    failures = []
    for status in (status for status in Status if status not in MEASURED and run.counts[status]):
        reasons = [entry.detail for entry in found.failures if entry.status == status and entry.detail]
        failures.append(f"{run.counts[status]:,} {status}" + (f" (most often: {reasons[0]})" if reasons else ""))
    failures = failures or ["no attempt"]
    if found.earlier_failures:
        failures.append(f"{found.earlier_failures:,} failures that were asked again")
    facts = {
        "Who was asked": "; ".join(_describe_model(settings)),
        "Who answered": served,
        "When": when,
        "How": how,
        "How much": f"{attempts}; {tokens}",
        "What failed": "; ".join(failures),
    }
    if not run.temporary:
        facts["Content of the run"] = f"SHA-256 {found.digest}"
    return tuple(facts.items())


def _describe_model(settings: RunRecord) -> Iterator[str]:
    yield settings.model
    if settings.imported:
        yield "the answers were imported, so how they were asked for is not known"
        return
    if settings.spec.base_url:
        yield f"at {settings.spec.base_url}"
    # What was asked for is said under "How"; here stands what the model itself brings.
    said = {"base_url": settings.spec.base_url, **asdict(settings.spec.sampling)}
    for name, value in settings.model_settings.items():
        if value in (None, {}, []) or said.get(name) == value:
            continue
        yield f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def describe_settings(run: Run) -> Iterator[str]:
    """Every setting that shapes the answers, in words."""
    settings, sampling = run.settings, run.settings.spec.sampling
    yield f"suite {settings.spec.suite}"
    for name, value in (("temperature", sampling.temperature), ("top p", sampling.top_p), ("seed", sampling.seed)):
        yield f"{name} {'left to the endpoint' if value is None else value}"
    limit = sampling.max_tokens
    yield (
        "the limit of each probe for the tokens of an answer"
        if limit is None
        else f"at most {limit:,} tokens an answer"
    )
    yield f"system message “{sampling.system}”" if sampling.system else "no system message but those of the prompts"
    for name, value in sampling.extra.items():
        yield f"{name} = {json.dumps(value, ensure_ascii=False)}"
    if settings.looks:
        yield "asked until the marks were certain"
    if run.judge:
        yield f"answers that were not read were judged by {run.judge}"
