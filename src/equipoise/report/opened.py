"""A run file as the value that a report is made of."""

from __future__ import annotations

import shlex

from equipoise.report.values import ReportedRun
from equipoise.run import Run


def reported(run: Run) -> ReportedRun:
    """What the report shows of a run."""
    return ReportedRun(
        name=run.path.name,
        model=run.model,
        created=str(run.settings.get("created", "")),
        equipoise=str(run.settings.get("equipoise", "")),
        planned=run.size,
        answered=run.ended,
        complete=run.complete,
        results=run.results(),
        transcripts=run.transcripts,
        settings={name: value for name, value in run.settings.items() if name not in ("created", "equipoise", "notes")},
        notes=[str(note) for note in run.settings.get("notes", [])],
        command=repeat(run),
    )


def repeat(run: Run) -> str:
    """The command line that asks the same again."""
    sampling = run.settings.get("sampling", {})
    options = {
        "--suite": run.settings.get("suite"),
        "--base-url": run.settings.get("base_url"),
        "--temperature": sampling.get("temperature"),
        "--top-p": sampling.get("top_p"),
        "--max-tokens": sampling.get("max_tokens"),
        "--model-seed": sampling.get("seed"),
        "--system": sampling.get("system"),
    }
    words = ["equipoise", "run", run.model, *(word for name in run.planned for word in ("--probe", name))]
    words += [str(word) for name, value in options.items() if value is not None for word in (name, value)]
    return shlex.join(words)
