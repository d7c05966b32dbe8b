"""Where the answers of a run come from, in words: who was asked, when, how, how much, and what failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from equipoise.runs.run import Run
from equipoise.runs.spec import RunRecord
from equipoise.schema import MEASURED, Status

Facts = tuple[tuple[str, str], ...]
NOT_KNOWN = "not known"
MAX_SERVED = 10
"""How many served models are listed."""


def describe_provenance(run: Run) -> Facts:
    """Headings with what an auditor wants to know."""
    found = run.provenance
    if run.settings.imported:
        return (
            ("Who was asked", "; ".join(_describe_model(run.settings))),
            ("Who answered", NOT_KNOWN),
            ("When", f"{NOT_KNOWN}; imported {run.settings.created} (UTC)"),
            ("How", f"{NOT_KNOWN}; the prompts are those of the suite {run.settings.spec.suite}, as below"),
            ("How much", f"{run.ended:,} of {run.size:,} planned attempts; tokens are {NOT_KNOWN}"),
            ("What failed", "; ".join(_describe_failures(run))),
            *_describe_content(run),
        )
    asked = f"first attempt ended {found.first}, last {found.last}" if found.first else "nothing has been answered yet"
    return (
        ("Who was asked", "; ".join(_describe_model(run.settings))),
        ("Who answered", "; ".join(_describe_served(run))),
        ("When", f"planned {run.settings.created}; {asked} (UTC)"),
        ("How", "; ".join(describe_settings(run))),
        ("How much", _describe_usage(run)),
        ("What failed", "; ".join(_describe_failures(run))),
        *_describe_content(run),
    )


def _describe_content(run: Run) -> Facts:
    """The digest of the run file; nothing if there is no file to hold against it."""
    if run.temporary:
        return ()
    digest = run.provenance.digest
    return (("Content of the run", f"SHA-256 {digest}"),)


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


def _describe_served(run: Run) -> Iterator[str]:
    served = run.provenance.served
    for entry in served[:MAX_SERVED]:
        fingerprint = f", fingerprint {entry.fingerprint}" if entry.fingerprint else ""
        yield f"{entry.model or 'no name was given'}{fingerprint}: {entry.attempts:,} attempts"
    if len(served) > MAX_SERVED:
        yield f"and {len(served) - MAX_SERVED:,} more"
    if not served:
        yield "nobody yet"


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


def _describe_usage(run: Run) -> str:
    prompts, answers = run.usage
    if not prompts and not answers:
        return f"{run.ended:,} of {run.size:,} planned attempts; tokens were not counted"
    return f"{run.ended:,} of {run.size:,} planned attempts; {prompts:,} tokens of prompts, {answers:,} of answers"


def _describe_failures(run: Run) -> Iterator[str]:
    counts = {status: run.counts[status] for status in Status if status not in MEASURED and run.counts[status]}
    for status, count in counts.items():
        reasons = [entry.detail for entry in run.provenance.failures if entry.status == status and entry.detail]
        yield f"{count:,} {status}" + (f" (most often: {reasons[0]})" if reasons else "")
    if run.provenance.earlier_failures:
        yield f"{run.provenance.earlier_failures:,} failures that were asked again"
    if not counts:
        yield "no attempt"
